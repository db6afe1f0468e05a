/*
 * test_config.c - what a file and a command line make of the structs.
 */
#include "test.h"
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/strings.h"
#include "config_fixture.h"

/* ---- defaults: DESIGN 12, typed anew on purpose ---- */

TEST(defaults_are_those_of_the_design)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c, "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", &err));
    REQUIRE_EQ(c->server_count, 1);
    const struct hf_server_config *s = &c->servers[0];
    const struct hf_settings *t = &s->settings;
    CHECK(!t->lazy && t->idle_ms == 0);
    CHECK(t->wait_ms == 45000 && t->call_timeout_ms == 0 && t->call_timeout_max_ms == 0);
    CHECK(t->start_timeout_ms == 120000 && t->list_wait_ms == 10000 && t->relist_ms == 300000);
    CHECK(t->reconnect.min_ms == 250 && t->reconnect.max_ms == 30000);
    CHECK(t->reconnect.jitter == 1.0 && t->reconnect.window_ms == 300000);
    CHECK(t->reconnect.attempts == -1 && t->reconnect.first_attempts == 10);
    CHECK(t->reconnect.probe_ms == 60000 && t->reconnect.waiting_max_ms == 1000);
    CHECK(t->liveness.timeout_ms == 5000 && t->liveness.gap_ms == 10000);
    CHECK_EQ(t->liveness.failures, 3);
    CHECK(t->close_ms == 2000 && t->term_ms == 3000 && t->kill_ms == 5000 && t->eof_ms == 1000);
    CHECK(t->drain_ms == 10000 && t->stall_ms == 60000);
    CHECK(t->overlap && !t->stateful && t->isolation == HF_ISOLATION_SHARED);
    CHECK(t->max_runtimes == 16 && t->max_in_flight == 0 && t->max_waiting == 1000);
    CHECK(t->retry == HF_RETRY_NEVER && t->prefix == HF_PREFIX_ALWAYS);
    CHECK(is(s->allow[0], "*") && !s->allow[1] && !s->deny[0]);
    CHECK(s->rename_count == 0 && s->describe_count == 0 && s->env_count == 0);
    CHECK(s->inherit == HF_INHERIT_LISTED && !s->inherit_globs[0]);
    CHECK(!s->disabled && !s->cwd && !s->args[0] && !s->problem);
    CHECK_EQ(c->limits.max_message_bytes, 64 * 1024 * 1024);
    CHECK_EQ(c->limits.max_buffered_bytes, 256 * 1024 * 1024);
    CHECK(c->limits.max_depth == 512 && c->limits.page_bytes == 1000000);
    CHECK_EQ(c->limits.park_ms, 900000);
    CHECK(c->log_level == HF_LOG_INFO && c->log_format == HF_LOG_TEXT);
    CHECK(!s->url && s->headers_count == 0 && !s->ca && !s->proxy && s->keep_alive_ms == 4000);
    CHECK_EQ(t->transport, HF_TRANSPORT_AUTO);
    for (int status = HF_STATUS_MIN; status <= HF_STATUS_MAX; status++)
        CHECK(!hf_status_in(&t->refused_status, status));
    CHECK(is(c->serve.listen, "127.0.0.1:7332") && !c->serve.tls_cert && !c->serve.tls_key);
    CHECK(c->serve.token_count == 0 && !c->serve.hosts[0] && !c->serve.origins[0]);
    CHECK(c->serve.session_ttl_ms == 86400000 && c->serve.max_sessions == 10000);
    CHECK(!c->warnings[0]);
}

/* ---- every option once ---- */

static const char everything[] =
    "{ \"holdfast\": {\n"
    "    \"maxMessageBytes\": 2000, \"maxBufferedBytes\": 3000, \"maxDepth\": 33,\n"
    "    \"pageBytes\": 4000, \"parkMs\": 5000, \"log\": { \"level\": \"debug\", \"format\": "
    "\"json\" },\n"
    "    \"listen\": \"[::1]:80\", \"tls\": { \"cert\": \"c.pem\", \"key\": \"k.pem\" },\n"
    "    \"hosts\": [\"Mcp.Test\"], \"origins\": [\"https://App.Test\", \"*\"],\n"
    "    \"sessionTtlMs\": 5, \"maxSessions\": 6 },\n"
    "  \"mcpServers\": { \"all\": {\n"
    "    \"command\": \"cmd\", \"args\": [\"-a\", \"b c\"], \"env\": {\"K\": \"v\", \"L\": \"\"},\n"
    "    \"cwd\": \"/tmp\", \"disabled\": true, \"start\": \"lazy\", \"idleMs\": 1,\n"
    "    \"waitMs\": 2, \"callTimeoutMs\": 3, \"callTimeoutMaxMs\": 4, \"startTimeoutMs\": 5,\n"
    "    \"listWaitMs\": 6, \"relistMs\": 7,\n"
    "    \"reconnect\": { \"minMs\": 8, \"maxMs\": 9, \"jitter\": 0.5, \"windowMs\": 10,\n"
    "                   \"attempts\": 11, \"firstAttempts\": -1, \"probeMs\": 12 },\n"
    "    \"liveness\": { \"timeoutMs\": 13, \"gapMs\": 14, \"failures\": 15 },\n"
    "    \"closeMs\": 16, \"termMs\": 17, \"killMs\": 18, \"eofMs\": 19, \"drainMs\": 20,\n"
    "    \"stallMs\": 21, \"overlap\": false, \"stateful\": true, \"isolation\": \"session\",\n"
    "    \"maxRuntimes\": 22, \"maxInFlight\": 23, \"maxWaiting\": 24,\n"
    "    \"retry\": \"idempotent\", \"prefix\": \"never\", \"allow\": [\"a*\", \"b\"],\n"
    "    \"deny\": [\"ab\"], \"rename\": {\"a1\": \"x\"}, \"describe\": {\"b\": \"caf\\u00e9\"},\n"
    "    \"inheritEnv\": [\"AWS_*\"], \"headers\": {\"X-Key\": \"v\"}, \"transport\": \"sse\",\n"
    "    \"refusedStatus\": [400, 503, 599], \"ca\": \"ca.pem\", \"proxy\": \"\",\n"
    "    \"keepAliveMs\": 25 } } }\n";

static void check_remote(const struct hf_server_config *s)
{
    const struct hf_settings *t = &s->settings;
    CHECK(!s->url && is(s->ca, "ca.pem") && is(s->proxy, "") && s->keep_alive_ms == 25);
    REQUIRE_EQ(s->headers_count, 1);
    CHECK(is(s->headers[0].key, "X-Key") && is(s->headers[0].value, "v"));
    CHECK_EQ(t->transport, HF_TRANSPORT_SSE);
    for (int status = 0; status < 1000; status++)
        CHECK_EQ(hf_status_in(&t->refused_status, status),
                 status == 400 || status == 503 || status == 599);
}

static void check_serve(const struct hf_serve_config *serve)
{
    CHECK(is(serve->listen, "[::1]:80") && is(serve->tls_cert, "c.pem"));
    CHECK(is(serve->tls_key, "k.pem") && serve->session_ttl_ms == 5 && serve->max_sessions == 6);
    CHECK(is(serve->hosts[0], "mcp.test") && !serve->hosts[1]);
    CHECK(is(serve->origins[0], "https://app.test") && is(serve->origins[1], "*"));
    CHECK(!serve->origins[2] && serve->token_count == 0);
}

static void check_everything(const struct hf_server_config *s)
{
    const struct hf_settings *t = &s->settings;
    CHECK(is(s->name, "all") && is(s->command, "cmd") && is(s->cwd, "/tmp") && s->disabled);
    CHECK(is(s->args[0], "-a") && is(s->args[1], "b c") && !s->args[2]);
    REQUIRE(s->env_count == 2 && s->rename_count == 1 && s->describe_count == 1);
    CHECK(is(s->env[0].key, "K") && is(s->env[0].value, "v"));
    CHECK(is(s->env[1].key, "L") && is(s->env[1].value, ""));
    CHECK(t->lazy && t->idle_ms == 1 && t->wait_ms == 2 && t->call_timeout_ms == 3);
    CHECK(t->call_timeout_max_ms == 4 && t->start_timeout_ms == 5 && t->list_wait_ms == 6);
    CHECK(t->relist_ms == 7 && t->reconnect.min_ms == 8 && t->reconnect.max_ms == 9);
    CHECK(t->reconnect.jitter == 0.5 && t->reconnect.window_ms == 10);
    CHECK(t->reconnect.attempts == 11 && t->reconnect.first_attempts == -1);
    CHECK(t->reconnect.probe_ms == 12 && t->liveness.timeout_ms == 13);
    CHECK(t->liveness.gap_ms == 14 && t->liveness.failures == 15);
    CHECK(t->close_ms == 16 && t->term_ms == 17 && t->kill_ms == 18 && t->eof_ms == 19);
    CHECK(t->drain_ms == 20 && t->stall_ms == 21 && !t->overlap && t->stateful);
    CHECK(t->isolation == HF_ISOLATION_SESSION && t->max_runtimes == 22);
    CHECK(t->max_in_flight == 23 && t->max_waiting == 24);
    CHECK(t->retry == HF_RETRY_IDEMPOTENT && t->prefix == HF_PREFIX_NEVER);
    CHECK(is(s->allow[0], "a*") && is(s->allow[1], "b") && !s->allow[2]);
    CHECK(is(s->deny[0], "ab") && !s->deny[1]);
    CHECK(is(s->rename[0].key, "a1") && is(s->rename[0].value, "x"));
    CHECK(is(s->describe[0].key, "b") && is(s->describe[0].value, "café"));
    CHECK(s->inherit == HF_INHERIT_LISTED && is(s->inherit_globs[0], "AWS_*"));
    CHECK(!s->inherit_globs[1] && !s->problem);
}

TEST(every_option_arrives_in_its_field)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c, everything, &err));
    REQUIRE_EQ(c->server_count, 1);
    check_everything(&c->servers[0]);
    check_remote(&c->servers[0]);
    check_serve(&c->serve);
    CHECK(c->limits.max_message_bytes == 2000 && c->limits.max_buffered_bytes == 3000);
    CHECK(c->limits.max_depth == 33 && c->limits.page_bytes == 4000);
    CHECK_EQ(c->limits.park_ms, 5000);
    CHECK(c->log_level == HF_LOG_DEBUG && c->log_format == HF_LOG_JSON);
    CHECK(!c->warnings[0]);
}

/* ---- other programs' files ---- */

TEST(keys_of_other_programs_are_ignored_with_one_warning_each)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(
        parse(c,
              "{\"inputs\":[],\"$schema\":\"x\",\"mcpServers\":{\n"
              "\"a\":{\"type\":\"stdio\",\"command\":\"x\",\"alwaysAllow\":[],\"timeout\":60},\n"
              "\"b\":{\"command\":\"y\",\"timeout\":1,\"disabledTools\":[],\"description\":\"\",\n"
              "\"trust\":true,\"icon\":\"\",\"autoApprove\":[],\"name\":\"\",\"dev\":{}}}}",
              &err));
    CHECK_EQ(hf_strings_count(c->warnings), 9);
    CHECK_STR(c->warnings[0], "line 2: mcpServers.a.alwaysAllow: not a key of ours; ignored");
    CHECK_STR(c->warnings[1], "line 2: mcpServers.a.timeout: not a key of ours; ignored");
    CHECK_STR(c->warnings[2], "line 3: mcpServers.b.disabledTools: not a key of ours; ignored");
    CHECK(!c->servers[0].problem && !c->servers[1].problem);
}

TEST(warnings_do_not_pile_up)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    struct hf_buf text;
    hf_buf_init(&text, 1 << 20);
    hf_buf_add_str(&text, "{\"mcpServers\":{\"a\":{\"command\":\"x\"");
    for (unsigned i = 0; i < 300; i++)
        hf_buf_printf(&text, ",\"zz%uzz\":1", i);
    hf_buf_add_str(&text, "}}}");
    REQUIRE(hf_config_parse(c, hf_buf_span(&text), NULL, NULL, &err));
    CHECK_EQ(hf_strings_count(c->warnings), 101);
    CHECK(strstr(c->warnings[100], "more keys are ignored"));
    hf_buf_done(&text);
}

TEST(a_file_of_vs_code_is_read_as_well)
{
    struct hf_config c;
    struct hf_err err;
    hf_config_init(&c);
    REQUIRE(parse(&c, "\xef\xbb\xbf{\"servers\":{\"a\":{\"command\":\"x\"}}}", &err));
    CHECK(c.server_count == 1 && is(c.servers[0].command, "x"));
    hf_config_done(&c);

    hf_config_init(&c);
    REQUIRE(parse(&c, "{\"servers\":{\"a\":{}},\"mcpServers\":{\"b\":{}}}", &err));
    CHECK(c.server_count == 1 && is(c.servers[0].name, "b"));
    hf_config_done(&c);
}

TEST(enabled_false_of_other_programs_disables)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c,
                  "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"enabled\":false},"
                  "\"b\":{\"command\":\"x\",\"enabled\":true}}}",
                  &err));
    CHECK(c->servers[0].disabled && !c->servers[1].disabled && !c->warnings[0]);
}

TEST(a_server_that_cannot_run_has_a_problem_and_the_others_do_not)
{
    static const struct {
        const char *members, *problem;
    } rows[] = {
        { "\"args\":[]", "it has no command and no url" },
        { "\"command\":\"\"", "it has no command and no url" },
        { "\"command\":\"${NOPE}\"", "command: the variable NOPE is not set" },
        { "\"command\":\"x\",\"args\":[\"a\",\"${NOPE}\"]",
          "args[1]: the variable NOPE is not set" },
        { "\"command\":\"x\",\"cwd\":\"/${NOPE}\"", "cwd: the variable NOPE is not set" },
        { "\"command\":\"x\",\"env\":{\"K\":\"${9}\"}",
          "env.K: only ${NAME} and ${NAME:-text} are known; a literal ${ is written $${" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err;
        char text[300];
        (void)snprintf(text, sizeof text, "{\"mcpServers\":{\"a\":{%s},\"b\":{\"command\":\"x\"}}}",
                       rows[i].members);
        hf_config_init(&c);
        REQUIRE(parse(&c, text, &err));
        REQUIRE_EQ(c.server_count, 2);
        CHECK(c.servers[0].problem);
        CHECK(c.servers[0].problem && strstr(c.servers[0].problem, rows[i].problem));
        CHECK(!c.servers[1].problem);
        hf_config_done(&c);
    }
}

TEST(strings_that_start_a_process_expand_and_no_others)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(
        parse(c,
              IN_SERVER("\"command\":\"c${TOKEN}\",\"args\":[\"${TOKEN}\"],\"cwd\":\"${TOKEN}\","
                        "\"env\":{\"${TOKEN}\":\"${TOKEN}\"},\"describe\":{\"t\":\"${TOKEN}\"},"
                        "\"rename\":{\"t\":\"${TOKEN}\"},\"allow\":[\"${TOKEN}\"]"),
              &err));
    const struct hf_server_config *s = &c->servers[0];
    CHECK(is(s->command, "cs3cret") && is(s->args[0], "s3cret") && is(s->cwd, "s3cret"));
    CHECK(is(s->env[0].key, "${TOKEN}") && is(s->env[0].value, "s3cret"));
    CHECK(is(s->describe[0].value, "${TOKEN}") && is(s->rename[0].value, "${TOKEN}"));
    CHECK_STR(s->allow[0], "${TOKEN}");
}

/* ---- layers ---- */

TEST(defaults_hold_for_servers_that_say_nothing_else)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(
        parse(c,
              "{\"mcpServers\":{\"a\":{\"command\":\"x\"},\"b\":{\"command\":\"x\",\"waitMs\":2,"
              "\"reconnect\":{\"minMs\":5},\"allow\":[\"q\"],\"rename\":{\"y\":\"m\"},"
              "\"inheritEnv\":false}},"
              "\"holdfast\":{\"defaults\":{\"waitMs\":1,\"reconnect\":{\"maxMs\":7},"
              "\"allow\":[\"p\",\"r\"],\"rename\":{\"x\":\"n\",\"y\":\"o\"},"
              "\"inheritEnv\":true}}}",
              &err));
    const struct hf_server_config *a = &c->servers[0], *b = &c->servers[1];
    CHECK(a->settings.wait_ms == 1 && b->settings.wait_ms == 2);
    CHECK(a->settings.reconnect.max_ms == 7 && a->settings.reconnect.min_ms == 250);
    CHECK(b->settings.reconnect.max_ms == 7 && b->settings.reconnect.min_ms == 5);
    CHECK(hf_strings_count(a->allow) == 2 && hf_strings_count(b->allow) == 1);
    CHECK_STR(b->allow[0], "q");
    REQUIRE_EQ(b->rename_count, 2);
    CHECK(is(b->rename[0].value, "n") && is(b->rename[1].value, "m"));
    CHECK_STR(a->rename[1].value, "o");
    CHECK(a->inherit == HF_INHERIT_ALL && b->inherit == HF_INHERIT_LISTED);
}

static const char *const line[][2] = {
    { "wait-ms", "5" },
    { "reconnect-min-ms", "0" },
    { "overlap", "false" },
    { "start", "lazy" },
    { "allow", "a" },
    { "allow", "b" },
    { "env", "K=new=2" },
    { "env", "N=3" },
    { "max-depth", "99" },
    { "log-level", "warn" },
    { "reconnect-jitter", "0" },
    { "inherit-env", "A*" },
    { "inherit-env", "B" },
    { "wait-ms", "6" },
    { "cwd", "/" },
};

static void check_line(const struct hf_config *c)
{
    REQUIRE_EQ(c->server_count, 1);
    const struct hf_server_config *s = &c->servers[0];
    CHECK(s->settings.wait_ms == 6 && s->settings.reconnect.min_ms == 0 && !s->settings.overlap);
    CHECK(s->settings.lazy && s->settings.reconnect.jitter == 0 && is(s->cwd, "/"));
    CHECK_EQ(s->settings.idle_ms, 77);
    CHECK(is(s->allow[0], "a") && is(s->allow[1], "b") && !s->allow[2]);
    REQUIRE_EQ(s->env_count, 3);
    CHECK(is(s->env[0].key, "O") || is(s->env[1].key, "O") || is(s->env[2].key, "O"));
    for (size_t i = 0; i < 3; i++) {
        CHECK(!is(s->env[i].key, "K") || is(s->env[i].value, "new=2"));
        CHECK(!is(s->env[i].key, "N") || is(s->env[i].value, "3"));
    }
    CHECK(s->inherit == HF_INHERIT_LISTED && is(s->inherit_globs[0], "A*"));
    CHECK(is(s->inherit_globs[1], "B") && !s->inherit_globs[2]);
    CHECK(c->limits.max_depth == 99 && c->log_level == HF_LOG_WARN);
    CHECK_EQ(c->log_format, HF_LOG_JSON);
}

static const char file_below[] =
    "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"waitMs\":1,\"overlap\":true,\"start\":\"eager\","
    "\"env\":{\"K\":\"old\",\"O\":\"1\"},\"allow\":[\"z\"],\"cwd\":\"/x\",\"inheritEnv\":true}},"
    "\"holdfast\":{\"defaults\":{\"idleMs\":77,\"waitMs\":2},\"maxDepth\":88,"
    "\"log\":{\"level\":\"error\",\"format\":\"json\"}}}";

TEST(the_command_line_beats_the_file_in_either_order)
{
    for (int line_first = 0; line_first < 2; line_first++) {
        struct hf_config c;
        struct hf_err err;
        hf_config_init(&c);
        if (!line_first)
            REQUIRE(parse(&c, file_below, &err));
        for (size_t i = 0; i < sizeof line / sizeof line[0]; i++)
            REQUIRE(hf_config_option(&c, line[i][0], line[i][1], &err));
        if (line_first)
            REQUIRE(parse(&c, file_below, &err));
        check_line(&c);
        hf_config_done(&c);
    }
}

/* ---- a command instead of a file ---- */

TEST(a_command_line_makes_a_server)
{
    static char *const argv[] = { "/usr/bin/thing", "-x", "${TOKEN}", NULL };
    struct hf_config c;
    struct hf_err err;
    hf_config_init(&c);
    REQUIRE(hf_config_option(&c, "wait-ms", "5", &err));
    REQUIRE(hf_config_add_command(&c, NULL, argv, &err));
    REQUIRE(hf_config_add_command(&c, "other", argv, &err));
    REQUIRE_EQ(c.server_count, 2);
    CHECK(is(c.servers[0].name, "thing") && is(c.servers[1].name, "other"));
    CHECK(is(c.servers[0].command, "/usr/bin/thing") && is(c.servers[0].args[0], "-x"));
    CHECK(is(c.servers[0].args[1], "${TOKEN}") && !c.servers[0].args[2]);
    CHECK(c.servers[0].settings.wait_ms == 5 && c.servers[0].settings.drain_ms == 10000);
    CHECK_EQ(c.servers[0].inherit, HF_INHERIT_ALL);
    REQUIRE(hf_config_option(&c, "wait-ms", "6", &err));
    CHECK(c.servers[0].settings.wait_ms == 6 && c.servers[1].settings.wait_ms == 6);

    CHECK(!hf_config_add_command(&c, "other", argv, &err));
    CHECK_STR(err.text, "there are two servers with the name \"other\"");
    CHECK(!hf_config_add_command(&c, "", argv, &err));
    CHECK(!hf_config_add_command(&c, "none", argv + 3, &err));
    CHECK_STR(err.text, "there is no command to run");
    CHECK_EQ(c.server_count, 2);
    hf_config_done(&c);

    hf_config_init(&c);
    REQUIRE(hf_config_option(&c, "inherit-env", "false", &err));
    REQUIRE(hf_config_add_command(&c, NULL, argv, &err));
    CHECK_EQ(c.servers[0].inherit, HF_INHERIT_LISTED);
    hf_config_done(&c);
}

/* ---- reload ---- */

TEST(only_what_a_process_was_started_with_needs_a_restart)
{
    static const struct {
        const char *members;
        bool same;
    } rows[] = {
        { "\"command\":\"x\"", true },
        { "\"command\":\"x\",\"waitMs\":1,\"allow\":[],\"disabled\":true,\"closeMs\":1", true },
        { "\"command\":\"x\",\"args\":[]", true },
        { "\"command\":\"y\"", false },
        { "\"command\":\"x\",\"args\":[\"a\"]", false },
        { "\"command\":\"x\",\"cwd\":\"/\"", false },
        { "\"command\":\"x\",\"env\":{\"A\":\"\"}", false },
        { "\"command\":\"x\",\"inheritEnv\":true", false },
        { "\"command\":\"x\",\"inheritEnv\":[\"A\"]", false },
        { "\"command\":\"x\",\"isolation\":\"session\"", false },
        { "\"url\":\"http://y\"", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_same("\"command\":\"x\"", rows[i].members, rows[i].same);
}

/* ---- look ---- */

TEST(looking_finds_missing_commands_and_directories)
{
    char dir[] = "/tmp/holdfast-look-XXXXXX", tool[64], plain[64], text[1600];
    REQUIRE(mkdtemp(dir));
    (void)snprintf(tool, sizeof tool, "%s/tool", dir);
    (void)snprintf(plain, sizeof plain, "%s/plain", dir);
    fclose(fopen(tool, "w"));
    fclose(fopen(plain, "w"));
    REQUIRE(chmod(tool, 0755) == 0 && chmod(plain, 0644) == 0);
    (void)snprintf(text, sizeof text,
                   "{\"mcpServers\":{"
                   "\"0\":{\"command\":\"sh\"},\"1\":{\"command\":\"no-such-tool\"},"
                   "\"2\":{\"command\":\"tool\",\"env\":{\"PATH\":\"/nowhere:%s\"}},"
                   "\"3\":{\"command\":\"sh\",\"env\":{\"PATH\":\"%s\"}},"
                   "\"4\":{\"command\":\"%s/plain\"},\"5\":{\"command\":\"./tool\",\"cwd\":\"%s\"},"
                   "\"6\":{\"command\":\"sh\",\"cwd\":\"%s/none\"},"
                   "\"7\":{\"command\":\"sh\",\"cwd\":\"%s/tool\"},\"8\":{\"command\":\"%s\"},"
                   "\"9\":{\"command\":\"tool\",\"cwd\":\"%s\",\"env\":{\"PATH\":\"/none:\"}},"
                   "\"10\":{\"url\":\"x\"},\"11\":{\"command\":\"/no/such\"}}}",
                   dir, dir, dir, dir, dir, dir, dir, dir);
    static const char *const problems[] = {
        NULL,
        "there is no command \"no-such-tool\" on PATH",
        NULL,
        "there is no command \"sh\" on PATH",
        "/plain\" is not an executable file",
        NULL,
        "there is no directory \"/tmp/holdfast-look-",
        "/tool\": Not a directory",
        "is a directory: the command is a program in it",
        NULL,
        "url: a URL begins with a scheme",
        "there is no file \"/no/such\": correct the path",
    };
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c, text, &err));
    for (size_t i = 0; i < 10; i++)
        CHECK(!c->servers[i].problem);
    hf_config_look(c);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const char *problem = c->servers[i].problem;
        const bool as_said = problems[i] ? problem && strstr(problem, problems[i]) : !problem;
        if (!as_said)
            printf("# server %zu: %s\n", i, problem ? problem : "no problem");
        CHECK(as_said);
    }
    unlink(tool);
    unlink(plain);
    rmdir(dir);
}
