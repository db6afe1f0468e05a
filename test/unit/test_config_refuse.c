/*
 * test_config_refuse.c - every sentence with which a file, an option or a string is refused, and
 * the limits of each.
 */
#include "test.h"
#include "base/buf.h"
#include "ops/config_expand.h"
#include "config_fixture.h"

/* ---- every sentence of refusal ---- */

static const struct {
    const char *text, *says;
} refusals[] = {
    /* syntax */
    { "", "line 1: the file is empty; the least that it holds is { \"mcpServers\": {} }" },
    { " // nothing\n", "line 1: the file is empty" },
    { "{\n \"mcpServers\": {\n  \"a\": \"b\n", "line 3, column 10: a control character" },
    { "{\n  /* x\n}", "line 2, column 3: a key in quotes is missing (a comment does not end" },
    { "{ /* é */ x }", "line 1, column 11: a key in quotes is missing" },
    { "{} # x", "line 1, column 4: something follows the value (a comment begins with //)" },
    { "{'a':1}", "line 1, column 2: a key in quotes is missing (strings stand in double quotes)" },
    { "{\"é\":1,,\n}", "line 1, column 8: a key in quotes is missing" },
    { "{\"é\":[,]}", "line 1, column 7: a value is missing" },
    { "{\"a\":1}}", "line 1, column 8: something follows the value" },
    { "{\"mcpServers\":{\"a\":tru}}", "line 1, column 20: a word is none of" },
    { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply" },
    /* the shape of the file */
    { "[]", "line 1: the file must be an object with \"mcpServers\" in it" },
    { "{}", "line 1: there is no \"mcpServers\" in the file" },
    { "{\n\"mcpServers\": []}", "line 2: mcpServers: found an array; allowed is an object" },
    { "{\n\"servers\": 1}", "line 2: servers: found a number; allowed is an object" },
    { "{\"mcpServers\":{},\n\"holdfast\":1}",
      "line 2: holdfast: found a number; allowed is an object" },
    { "{\"mcpServers\":{},\n\"mcpServers\":{}}", "line 2: mcpServers: it is given twice" },
    { "{\"holdfast\":{},\"mcpServers\":{},\n\"holdfast\":{}}", "line 2: holdfast: it is given" },
    { "{\"a\":1,\n\"mcp_servers\":{}}",
      "line 2: mcp_servers: there is no such key; did you mean \"mcpServers\"?" },
    { "{\"mcpServers\":{},\n\"holdfats\":{}}", "line 2: holdfats: there is no such key; did you" },
    /* servers */
    { "{\"mcpServers\":{\"a\":{},\n\"a\":{}}}",
      "line 2: mcpServers: there are two servers with the name \"a\"" },
    { "{\"mcpServers\":{\"a.b\":{},\n\"a b\":{}}}",
      "line 2: mcpServers: \"a.b\" and \"a b\" are one name in prefixes" },
    { "{\"mcpServers\":{\"a\":{},\n\"\\u0061\":{}}}", "line 2: mcpServers: there are two servers" },
    { "{\"mcpServers\":{\n\"\":{}}}", "line 2: mcpServers: the name of a server has 1 to 128" },
    { "{\"mcpServers\":{\n\"a\\u0000\":{}}}",
      "line 2: mcpServers: the name of a server holds a NUL" },
    { "{\"mcpServers\":{\"a\":\n\"x\"}}",
      "line 2: mcpServers.a: found a string; allowed is an object" },
    { "{\"servers\":{\"a\":\n{\"waitMs\":-1}}}", "line 2: servers.a.waitMs: found -1; allowed is" },
    /* types and bounds */
    { IN_SERVER("\n\"waitMs\": \"soon\""),
      "line 5: mcpServers.a.waitMs: found \"soon\"; allowed is a whole number from 0 to 2147483647 "
      "(ms)" },
    { IN_SERVER("\"waitMs\": 2147483648"), "line 4: mcpServers.a.waitMs: found 2147483648; " },
    { IN_SERVER("\"waitMs\": 1.0"), "found 1.0; allowed is a whole number" },
    { IN_SERVER("\"waitMs\": null"), "found null; allowed is a whole number" },
    { IN_SERVER("\"waitMs\": []"), "found an array; allowed is a whole number" },
    { IN_SERVER("\"waitMs\":1,\n\"waitMs\":2"), "line 5: mcpServers.a.waitMs: it is given twice" },
    { IN_SERVER("\"startTimeoutMs\": 0"), "found 0; allowed is a whole number from 1 to" },
    { IN_SERVER("\"overlap\": 1"), "mcpServers.a.overlap: found 1; allowed is true or false" },
    { IN_SERVER("\"start\": \"now\""), "found \"now\"; allowed is \"eager\" or \"lazy\"" },
    { IN_SERVER("\"retry\": true"), "found true; allowed is \"never\" or \"idempotent\"" },
    { IN_SERVER("\"command\": [\"x\"]"), "a.command: found an array; allowed is a string" },
    { IN_SERVER("\"command\": \"x\\u0000\""), "a.command: a string holds a NUL character" },
    { IN_SERVER("\"args\": \"x\""), "a.args: found \"x\"; allowed is an array of strings" },
    { IN_SERVER("\"args\": [\"x\",\n3]"),
      "line 5: mcpServers.a.args[1]: found a number; allowed is a string: put it in quotes" },
    { IN_SERVER("\"env\": []"), "a.env: found an array; allowed is an object of strings" },
    { IN_SERVER("\"env\": {\"A\":\"\",\n\"PORT\": 80}"),
      "line 5: mcpServers.a.env.PORT: found a number; allowed is a string: put it in quotes" },
    { IN_SERVER("\"env\": {\"A\": null}"), "a.env.A: found null; allowed is a string" },
    { IN_SERVER("\"env\": {\"A\": true}"), "found true; allowed is a string: put it in quotes" },
    { IN_SERVER("\"env\": {\"A=B\": \"\"}"), "a.env.A=B: the name of a variable holds a \"=\"" },
    { IN_SERVER("\"env\": {\"\": \"\"}"), "a name is empty" },
    { IN_SERVER("\"env\": {\"A\":\"1\",\"\\u0041\":\"2\"}"), "it is given twice" },
    { IN_SERVER("\"inheritEnv\": \"*\""), "allowed is true, false or an array of strings" },
    { IN_SERVER("\"inheritEnv\": [1]"), "a.inheritEnv[0]: found a number" },
    { IN_SERVER("\"rename\": {\"a\":\"x\",\"b\":\"x\"}"),
      "line 4: mcpServers.a.rename: \"a\" and \"b\" both become \"x\"" },
    { IN_SERVER("\"rename\": {\"a\":\"\"}"), "a.rename: a new name is empty" },
    { IN_SERVER("\"reconnect\": 5"),
      "line 4: mcpServers.a.reconnect: found a number; allowed is an object" },
    { IN_SERVER("\"reconnect\":{},\n\"reconnect\":{}"),
      "line 5: mcpServers.a.reconnect: it is gi" },
    { IN_SERVER("\"reconnect\":{\n\"jitter\":1.01}"),
      "line 5: mcpServers.a.reconnect.jitter: found 1.01; allowed is a number from 0 to 1" },
    { IN_SERVER("\"reconnect\":{\"attempts\":-2}"), "found -2; allowed is a whole number from -1" },
    { IN_HOLDFAST("\"maxDepth\": 7"), "line 3: holdfast.maxDepth: found 7; allowed is a whole" },
    { IN_HOLDFAST("\"log\":{\n\"level\":\"trace\"}"),
      "line 4: holdfast.log.level: found \"trace\"; allowed is \"debug\" or \"info\" or" },
    { IN_HOLDFAST("\"defaults\":{\"waitMs\":-1}"), "holdfast.defaults.waitMs: found -1" },
    { IN_HOLDFAST("\"defaults\":{\"reconnect\":{\"minMs\":true}}"),
      "holdfast.defaults.reconnect.minMs: found true" },
    /* keys */
    { IN_SERVER("\n\"waitMS\": 1"),
      "line 5: mcpServers.a.waitMS: there is no such key; did you mean \"waitMs\"?" },
    { IN_SERVER("\"wait_ms\": 1"), "did you mean \"waitMs\"?" },
    { IN_SERVER("\"idelMs\": 1"), "did you mean \"idleMs\"?" },
    { IN_SERVER("\"reconnectMinMs\": 1"), "did you mean \"reconnect.minMs\"?" },
    { IN_SERVER("\"cmd\": \"x\""), "a.cmd: there is no such key; did you mean \"command\"?" },
    { IN_SERVER("\"environment\": {}"), "did you mean \"env\"?" },
    { IN_SERVER("\"maxDepth\": 99"),
      "a.maxDepth: it belongs in the top-level object \"holdfast\"" },
    { IN_SERVER("\"reconnect\":{\"minMS\":1}"),
      "a.reconnect.minMS: there is no such key; did you" },
    { IN_SERVER("\"liveness\":{\"x\":1}"), "mcpServers.a.liveness.x: there is no such key" },
    { IN_HOLDFAST("\n\"colour\":1"), "line 4: holdfast.colour: there is no such key" },
    { IN_HOLDFAST("\"max_depth\":1"), "did you mean \"maxDepth\"?" },
    { IN_HOLDFAST("\"default\":{}"), "did you mean \"defaults\"?" },
    { IN_HOLDFAST("\"log\":{\"file\":1}"), "holdfast.log.file: there is no such key" },
    { IN_HOLDFAST("\"waitMs\":1"), "it belongs in \"holdfast.defaults\" or in a server" },
    { IN_HOLDFAST("\"reconnect\":{}"), "it belongs in \"holdfast.defaults\" or in a server" },
    { IN_HOLDFAST("\"defaults\":{\"command\":\"x\"}"), "defaults.command: it belongs in a server" },
    { IN_HOLDFAST("\"defaults\":{\"env\":{}}"), "holdfast.defaults.env: it belongs in a server" },
    { IN_HOLDFAST("\"defaults\":{\"disabled\":true}"), "it belongs in a server" },
    { IN_HOLDFAST("\"defaults\":{\"pageBytes\":1}"), "it belongs in the top-level object" },
    { IN_HOLDFAST("\"defaults\":{\"foo\":1}"), "holdfast.defaults.foo: there is no such key" },
    { IN_HOLDFAST("\"stateDir\":\"\""), "line 3: holdfast.stateDir: the path of a file is empty" },
    { IN_HOLDFAST("\"store\":\"x\""), "holdfast.store: not known to this version" },
    { IN_HOLDFAST("\"parkMs\":0"), "holdfast.parkMs: found 0; allowed is a whole" },
};

TEST(every_mistake_of_the_file_is_told_with_its_line)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_file_refused(refusals[i].text, refusals[i].says);
}

TEST(an_error_never_shows_what_may_be_a_secret)
{
    static const char *const rows[] = {
        IN_SERVER("\"env\": {\"A\": 987654}"),
        IN_SERVER("\"args\": [987654]"),
        IN_SERVER("\"env\": {\"A\": [\"987654\"]}"),
        IN_SERVER("\"env\": {\"A\": \"987654\\u0000\"}"),
        IN_SERVER("\"env\": {\"A\": \"987654\",\"A\": \"987654\"}"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err;
        hf_config_init(&c);
        REQUIRE(!parse(&c, rows[i], &err));
        CHECK(!strstr(err.text, "987654"));
        hf_config_done(&c);
    }
}

TEST(what_an_error_shows_is_short_and_harmless)
{
    struct hf_config c;
    struct hf_err err;
    hf_config_init(&c);
    REQUIRE(!parse(&c, IN_SERVER("\"start\": \"\x7f\xc2\x9b[31m\""), &err));
    CHECK(strstr(err.text, "found \"??[31m\";"));
    hf_config_done(&c);

    hf_config_init(&c);
    REQUIRE(!parse(
        &c, IN_SERVER("\"start\": \"éééééééééééééééééééééééééééééééééééééééééééééééééé\""), &err));
    CHECK(strstr(err.text, "é…; allowed is \"eager\""));
    hf_config_done(&c);
}

/* ---- limits ---- */

/* A file at its bound, or just over it. */
static void check_bound(struct hf_buf *text, bool is_within, const char *says)
{
    struct hf_config c;
    struct hf_err err;
    hf_config_init(&c);
    const bool is_good = hf_config_parse(&c, hf_buf_span(text), NULL, NULL, &err);
    CHECK_EQ(is_good, is_within);
    CHECK(is_good || strstr(err.text, says));
    hf_buf_done(text);
    hf_config_done(&c);
}

static void add_servers(struct hf_buf *text, unsigned count)
{
    hf_buf_add_str(text, "{\"mcpServers\":{");
    for (unsigned i = 0; i < count; i++)
        hf_buf_printf(text, "%s\"s%u\":{\"command\":\"x\"}", i ? ",\n" : "", i);
    hf_buf_add_str(text, "}}");
}

TEST(a_thousand_servers_are_allowed_and_one_more_is_not)
{
    for (unsigned count = 1000; count <= 1001; count++) {
        struct hf_buf text;
        hf_buf_init(&text, 1 << 20);
        add_servers(&text, count);
        check_bound(&text, count == 1000,
                    "line 1001: mcpServers: there are more than 1000 servers");
    }
}

TEST(a_file_over_4_mib_is_refused)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    const size_t size = (4 << 20) + 1;
    char *text = hf_alloc(size);
    memset(text, ' ', size);
    memcpy(text, "{\"mcpServers\":{}}", 17);
    CHECK(!hf_config_parse(c, (struct hf_span) { text, size }, NULL, NULL, &err));
    CHECK_STR(err.text, "the file is larger than 4 MiB");
    CHECK(hf_config_parse(c, (struct hf_span) { text, size - 1 }, NULL, NULL, &err));
    hf_free(text);
}

TEST(lists_and_objects_have_at_most_1000_items)
{
    static const char *const items[] = { "[\"x\"]", "{\"k0\":\"x\"}" };
    for (size_t kind = 0; kind < 2; kind++) {
        for (unsigned count = 1000; count <= 1001; count++) {
            struct hf_buf text;
            hf_buf_init(&text, 1 << 20);
            hf_buf_printf(&text, "{\"mcpServers\":{\"a\":{\"%s\":%c", kind ? "env" : "args",
                          items[kind][0]);
            for (unsigned i = 0; i < count; i++)
                hf_buf_printf(&text, kind ? "%s\"k%u\":\"x\"" : "%s\"%u\"", i ? "," : "", i);
            hf_buf_printf(&text, "%c}}}", kind ? '}' : ']');
            check_bound(&text, count == 1000, "there are more than 1000");
        }
    }
}

TEST(a_string_is_as_long_as_linux_takes_it)
{
    for (size_t n = 131071; n <= 131072; n++) {
        struct hf_buf text;
        hf_buf_init(&text, 1 << 20);
        hf_buf_add_str(&text, "{\"mcpServers\":{\"a\":{\"command\":\"");
        for (size_t i = 0; i < n; i++)
            hf_buf_add_char(&text, 'x');
        hf_buf_add_str(&text, "\"}}}");
        check_bound(&text, n == 131071, "a.command: a string is longer than 131071 bytes");
    }
}

/* ---- variables ---- */

TEST(variables_expand)
{
    static const char *const rows[][2] = {
        { "plain", "plain" },          { "", "" },
        { "${TOKEN}", "s3cret" },      { "a${TOKEN}b${TOKEN}", "as3cretbs3cret" },
        { "${env:TOKEN}", "s3cret" },  { "${EMPTY}", "" },
        { "${EMPTY:-x}", "x" },        { "${NOPE:-x y}", "x y" },
        { "${NOPE:-}", "" },           { "${TOKEN:-x}", "s3cret" },
        { "${NOPE:-a:-b}", "a:-b" },   { "$${TOKEN}", "${TOKEN}" },
        { "$$${TOKEN}", "$${TOKEN}" }, { "$TOKEN $ $$ $5", "$TOKEN $ $$ $5" },
        { "${DOLLAR}", "${TOKEN}" },   { "}${TOKEN}}", "}s3cret}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_buf out;
        struct hf_err err;
        hf_buf_init(&out, 100);
        CHECK(hf_expand(hf_span_of(rows[i][0]), fake_env, NULL, &out, &err));
        hf_buf_add_char(&out, '\0');
        if (strcmp(out.p, rows[i][1]) != 0)
            printf("# %s gave %s\n", rows[i][0], out.p);
        CHECK(is(out.p, rows[i][1]));
        hf_buf_done(&out);
    }
}

TEST(what_cannot_expand_says_why)
{
    static const char *const rows[][2] = {
        { "${NOPE}", "the variable NOPE is not set" },
        { "x${", "only ${NAME}" },
        { "${}", "only ${NAME}" },
        { "${TOKEN", "only ${NAME}" },
        { "${1A}", "only ${NAME}" },
        { "${TOKEN:x}", "only ${NAME}" },
        { "${TOKEN-x}", "only ${NAME}" },
        { "${A B}", "only ${NAME}" },
        { "${TOKEN}${TOKEN}", "it becomes longer than 10 bytes" },
        { "12345678901", "it becomes longer than 10 bytes" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_buf out;
        struct hf_err err = { "" };
        hf_buf_init(&out, 10);
        CHECK(!hf_expand(hf_span_of(rows[i][0]), fake_env, NULL, &out, &err));
        CHECK(strstr(err.text, rows[i][1]));
        hf_buf_done(&out);
    }
}

/* ---- the command line ---- */

TEST(wrong_options_say_what_is_right)
{
    static const struct {
        const char *option, *value, *says;
    } rows[] = {
        { "wait-ms", "soon", "--wait-ms: found \"soon\"; allowed is a whole number from 0 to" },
        { "wait-ms", "-1", "--wait-ms: found -1; allowed is a whole number" },
        { "wait-ms", "", "--wait-ms: found \"\"; allowed is" },
        { "wait-ms", "5 6", "--wait-ms: found \"5 6\"; allowed is" },
        { "wait-ms", "[]", "--wait-ms: found an array; allowed is" },
        { "wait-ms", NULL, "--wait-ms needs a value" },
        { "overlap", NULL, "--overlap needs a value" },
        { "overlap", "no", "--overlap: found \"no\"; allowed is true or false" },
        { "start", "true", "--start: found \"true\"; allowed is \"eager\" or \"lazy\"" },
        { "env", "K", "--env: the value must look like name=value" },
        { "env", "=v", "--env: a name is empty" },
        { "rename", "a", "--rename: the value must look like tool=name" },
        { "wait-mss", "1", "there is no option --wait-mss; did you mean --wait-ms?" },
        { "waitMs", "1", "there is no option --waitMs; did you mean --wait-ms?" },
        { "reconnect.min-ms", "1", "did you mean --reconnect-min-ms?" },
        { "colour", "1", "there is no option --colour" },
        { "command", "x", "there is no option --command" },
        { "store", "x", "--store is not known to this version of holdfast" },
        { "store", "x", "--store is not known to this version of holdfast" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_option_refused(rows[i].option, rows[i].value, rows[i].says);
}

TEST(two_tools_never_get_one_name)
{
    struct hf_config c;
    struct hf_err err;
    hf_config_init(&c);
    CHECK(hf_config_option(&c, "rename", "a=x", &err));
    CHECK(!hf_config_option(&c, "rename", "b=x", &err));
    CHECK_STR(err.text, "--rename: \"a\" and \"b\" both become \"x\"");
    CHECK(hf_config_option(&c, "rename", "a=y", &err));
    CHECK(hf_config_option(&c, "rename", "b=x", &err));
    hf_config_done(&c);

    hf_config_init(&c);
    CHECK(hf_config_option(&c, "rename", "a=x", &err));
    CHECK(!parse(&c, IN_SERVER("\"rename\":{\"b\":\"x\"}"), &err));
    hf_config_done(&c);
    /* a swap over the defaults is no clash */
    hf_config_init(&c);
    CHECK(parse(&c,
                "{\"holdfast\":{\"defaults\":{\"rename\":{\"a\":\"x\",\"b\":\"y\"}}},"
                "\"mcpServers\":{\"s\":{\"rename\":{\"a\":\"y\",\"b\":\"x\"}}}}",
                &err));
    hf_config_done(&c);
}

/* ---- all mistakes of a file ---- */

TEST(every_mistake_of_a_file_is_told_in_the_order_of_its_lines)
{
    static const char text[] =
        "{ // ours\n\"mcpServers\": {\n\"a\": { \"command\": \"x\",\n"
        "\"waitMs\": \"soon\",\n\"idelMs\": 1, },\n\"b\": 5,\n\"a\": {},\n"
        "\"c\": { \"command\": \"x\" }, },\n\"holdfast\": {\n\"maxDepth\": 1,\n"
        "\"log\": { \"levle\": \"info\" } } }";
    static const char *const lines[] = {
        "line 4: mcpServers.a.waitMs: found \"soon\"",
        "line 5: mcpServers.a.idelMs: there is no such key; did you mean \"idleMs\"?",
        "line 6: mcpServers.b: found a number",
        "line 7: mcpServers: there are two servers with the name \"a\"",
        "line 10: holdfast.maxDepth: found 1",
        "line 11: holdfast.log.levle: there is no such key; did you mean \"level\"?",
    };
    const size_t count = sizeof lines / sizeof lines[0];
    struct hf_config c;
    struct hf_err err = { "" };
    hf_config_init(&c);
    REQUIRE(!parse(&c, text, &err));
    CHECK(strstr(err.text, lines[0]) == err.text);
    CHECK(strstr(err.text, "(and 5 more; `holdfast check FILE` tells them all)"));
    CHECK(c.mistake_count == count);
    for (size_t i = 0; i < count && i < c.mistake_count; i++) {
        if (strstr(c.mistakes[i].text, lines[i]) != c.mistakes[i].text)
            printf("# %zu: %s\n", i, c.mistakes[i].text);
        CHECK(strstr(c.mistakes[i].text, lines[i]) == c.mistakes[i].text);
    }
    CHECK(c.server_count == 3 && c.servers[0].problem && c.servers[1].problem);
    CHECK(!c.servers[2].problem && is(c.servers[2].command, "x"));
    hf_config_done(&c);
}

TEST(a_file_full_of_mistakes_tells_a_hundred)
{
    struct hf_buf text;
    struct hf_config c;
    struct hf_err err = { "" };
    hf_buf_init(&text, 1 << 20);
    hf_buf_add_str(&text, "{\"mcpServers\":{\"a\":{\"command\":\"x\"");
    for (unsigned i = 0; i < 500; i++)
        hf_buf_add_str(&text, ",\n\"waitMS\":1");
    hf_buf_add_str(&text, "}}}");
    hf_config_init(&c);
    REQUIRE(!hf_config_parse(&c, hf_buf_span(&text), fake_env, NULL, &err));
    CHECK(c.mistake_count == 100 && strstr(c.mistakes[99].text, "line 101: "));
    hf_config_done(&c);
    hf_buf_done(&text);
}

TEST(comments_and_trailing_commas_are_no_mistake)
{
    struct hf_config c;
    struct hf_err err = { "" };
    hf_config_init(&c);
    REQUIRE(parse(&c,
                  "// mine\n{ /* all\nof them */ \"mcpServers\": { \"a\": { \"command\": \"sh\", "
                  "\"args\": [\"-c\", \"echo //x, ]\",], }, }, }\n// end",
                  &err));
    CHECK(c.server_count == 1 && is(c.servers[0].args[1], "echo //x, ]"));
    hf_config_done(&c);
}

TEST(what_only_vs_code_knows_is_told_with_what_to_write_instead)
{
    static const char *const rows[][2] = {
        { "${input:key}", "env.K: ${input:…} asks a person" },
        { "${command:x.y}", "${command:…} is run by VS Code only" },
        { "${config:x}", "${config:…} is known to VS Code only" },
        { "${workspaceFolder}/x", "write the path of the folder" },
        { "${userHome}", "write ${HOME}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        struct hf_config c;
        struct hf_err err = { "" };
        (void)snprintf(text, sizeof text, IN_SERVER("\"command\":\"x\",\"env\":{\"K\":\"%s\"}"),
                       rows[i][0]);
        hf_config_init(&c);
        REQUIRE(parse(&c, text, &err));
        if (!c.servers[0].problem || !strstr(c.servers[0].problem, rows[i][1]))
            printf("# %s: %s\n", rows[i][0], c.servers[0].problem);
        CHECK(c.servers[0].problem && strstr(c.servers[0].problem, rows[i][1]));
        hf_config_done(&c);
    }
}

TEST(an_env_file_is_named_with_what_to_do_and_the_server_starts_without_it)
{
    struct hf_config c;
    struct hf_err err = { "" };
    hf_config_init(&c);
    REQUIRE(parse(&c, IN_SERVER("\"command\":\"x\",\n\"envFile\":\".env\""), &err));
    CHECK(!c.servers[0].problem && c.warnings[0]);
    CHECK(strstr(c.warnings[0],
                 "line 5: mcpServers.a.envFile: holdfast reads no such file; put its"));
    hf_config_done(&c);
}
