/*
 * test_config_http.c - remote servers, and who may use the HTTP front: what a file and a command
 * line make of it, and every sentence of refusal.
 */
#include "test.h"
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "config_fixture.h"

#define HEX       "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define OTHER_HEX "10112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

/* ---- remote servers ---- */

TEST(a_server_with_a_url_is_a_remote_one)
{
    static const struct {
        const char *members;
        enum hf_transport transport;
    } rows[] = {
        { "\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"url\":\"https://${HOST}/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"serverUrl\":\"https://${HOST}/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"httpUrl\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"command\":\"\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"serverUrl\":\"https://x\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"type\":\"http\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"type\":\"streamable-http\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"type\":\"streamableHttp\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_AUTO },
        { "\"type\":\"sse\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_SSE },
        { "\"url\":\"https://mcp.test/mcp?k=1\",\"type\":\"sse\"", HF_TRANSPORT_SSE },
        { "\"transport\":\"http\",\"type\":\"sse\",\"url\":\"https://mcp.test/mcp?k=1\"",
          HF_TRANSPORT_HTTP },
        { "\"type\":\"sse\",\"transport\":\"auto\",\"url\":\"https://mcp.test/mcp?k=1\"",
          HF_TRANSPORT_AUTO },
        { "\"transport\":\"sse\",\"url\":\"https://mcp.test/mcp?k=1\"", HF_TRANSPORT_SSE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err;
        char text[300];
        (void)snprintf(text, sizeof text, "{\"mcpServers\":{\"a\":{%s}}}", rows[i].members);
        hf_config_init(&c);
        REQUIRE(parse(&c, text, &err));
        const struct hf_server_config *s = &c.servers[0];
        if (s->problem)
            printf("# %s: %s\n", rows[i].members, s->problem);
        CHECK(!s->problem && is(s->url, "https://mcp.test/mcp?k=1"));
        CHECK(s->settings.transport == rows[i].transport && !c.warnings[0]);
        hf_config_done(&c);
    }
}

TEST(a_server_is_a_command_or_a_url_and_says_so_if_it_is_neither_or_both)
{
    static const char *const rows[][2] = {
        { "\"command\":\"x\",\"url\":\"http://x\"",
          "it has a command and a url; a server has only one of them" },
        { "\"url\":\"\"", "it has no command and no url" },
        { "\"type\":\"http\",\"command\":\"x\"",
          "its type is that of a remote server, but it has no url" },
        { "\"type\":\"stdio\",\"url\":\"http://x\"",
          "its type is \"stdio\", but it has a url and no command" },
        { "\"type\":\"ws\",\"url\":\"http://x\"", "its type is not known to holdfast" },
        { "\"type\":5,\"url\":\"http://x\"", "its type is not known to holdfast" },
        { "\"url\":\"ftp://x\"", "url: a remote server is reached by http:// or https:// only" },
        { "\"url\":\"x.test/mcp\"", "url: a URL begins with a scheme" },
        { "\"url\":\"https://me:pw@x\"", "put it into an Authorization header" },
        { "\"url\":\"https://${NOPE}/\"", "url: the variable NOPE is not set" },
        { "\"serverUrl\":\"https://${NOPE}/\"", "url: the variable NOPE is not set" },
        { "\"url\":\"${FTP}\"", "url: a remote server is reached by http:// or https:// only" },
        { "\"url\":\"http://${BREAK}\"", "url: a URL has no spaces, control characters" },
        { "\"url\":\"http://x\",\"headers\":{\"K\":\"${BREAK}\"}",
          "headers.K: the value of a header holds a line break or another control character" },
        { "\"url\":\"http://x\",\"headers\":{\"K\":\"a\\r\\nX: y\"}", "holds a line break" },
        { "\"url\":\"http://x\",\"headers\":{\"K\":\"a\\u007f\"}", "another control character" },
        { "\"url\":\"http://x\",\"headers\":{\"K\":\"\"}",
          "headers.K: the value of a header is e" },
        { "\"url\":\"http://x\",\"headers\":{\"K\":\"${NOPE}\"}",
          "headers.K: the variable NOPE is not set" },
        { "\"url\":\"http://x\",\"proxy\":\"gopher://x\"", "proxy: a proxy looks like http://" },
        { "\"url\":\"http://x\",\"ca\":\"\"", "ca: the path of a file is empty" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err = { "" };
        char text[300];
        (void)snprintf(text, sizeof text, "{\"mcpServers\":{\"a\":{%s},\"b\":{\"command\":\"x\"}}}",
                       rows[i][0]);
        hf_config_init(&c);
        REQUIRE(parse(&c, text, &err));
        const char *problem = c.servers[0].problem;
        if (!problem || !strstr(problem, rows[i][1]))
            printf("# %s: %s\n", rows[i][0], problem ? problem : "no problem");
        CHECK(problem && strstr(problem, rows[i][1]) && !strstr(problem, "s3cret"));
        CHECK(!c.servers[0].problem_may_pass && !c.servers[1].problem);
        hf_config_done(&c);
    }
}

TEST(a_second_spelling_of_the_url_is_ignored_with_a_warning)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c, IN_SERVER("\"url\":\"http://x\",\n\"serverUrl\":\"http://y\""), &err));
    CHECK(is(c->servers[0].url, "http://x") && !c->servers[0].problem);
    CHECK_STR(c->warnings[0], "line 5: mcpServers.a.serverUrl: not a key of ours; ignored");
}

TEST(proxies_are_those_that_curl_knows)
{
    static const struct {
        const char *proxy;
        bool is_good;
    } rows[] = {
        { "", true },
        { "http://proxy.test:3128", true },
        { "http://proxy.test:3128/", true },
        { "https://me:p@ss@proxy.test", true },
        { "socks4://1.2.3.4:1", true },
        { "socks4a://h", true },
        { "socks5://[::1]:1080", true },
        { "socks5h://h:1080", true },
        { "proxy.test:3128", true },
        { "ftp://h", false },
        { "http://", false },
        { "http://h:x", false },
        { "http://a b", false },
        { "http://h/path", false },
        { "h:1\r\nX", false },
        { "me@", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err;
        hf_config_init(&c);
        const bool taken = hf_config_option(&c, "proxy", rows[i].proxy, &err);
        if (taken != rows[i].is_good)
            printf("# %s\n", rows[i].proxy);
        CHECK_EQ(taken, rows[i].is_good);
        hf_config_done(&c);
    }
}

TEST(headers_of_any_case_are_one_and_the_command_line_beats_the_file)
{
    for (int line_first = 0; line_first < 2; line_first++) {
        struct hf_config c;
        struct hf_err err;
        hf_config_init(&c);
        if (line_first)
            REQUIRE(hf_config_option(&c, "headers", "authorization=Bearer b=c", &err));
        REQUIRE(parse(&c,
                      IN_SERVER("\"url\":\"http://x\",\"headers\":{\"Authorization\":\"Bearer a\","
                                "\"Host\":\"h\",\"X-Key\":\"${TOKEN}\"}"),
                      &err));
        if (!line_first)
            REQUIRE(hf_config_option(&c, "headers", "authorization=Bearer b=c", &err));
        const struct hf_server_config *s = &c.servers[0];
        REQUIRE_EQ(s->headers_count, 3);
        CHECK(strcasecmp(s->headers[0].key, "Authorization") == 0);
        CHECK_STR(s->headers[0].value, "Bearer b=c");
        CHECK(is(s->headers[1].key, "Host") && is(s->headers[2].value, "s3cret"));
        hf_config_done(&c);
    }
}

#define URL "\"url\":\"http://x\""

TEST(what_a_remote_server_was_connected_with_needs_a_new_connection)
{
    static const struct {
        const char *members;
        bool same;
    } rows[] = {
        { URL, true },
        { URL ",\"waitMs\":1,\"keepAliveMs\":1,\"refusedStatus\":[503]", true },
        { URL ",\"headers\":{}", true },
        { URL ",\"headers\":{\"K\":\"v\"}", false },
        { URL ",\"ca\":\"x\"", false },
        { URL ",\"proxy\":\"\"", false },
        { URL ",\"transport\":\"http\"", false },
        { URL ",\"type\":\"sse\"", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_same(URL, rows[i].members, rows[i].same);
}

TEST(a_url_makes_a_server)
{
    static const char *const rows[][2] = {
        { "https://mcp.example.com/mcp", "mcp.example.com" },
        { "http://127.0.0.1:8080", "127.0.0.1" },
        { "http://[::1]:8080/x", "::1" },
    };
    struct hf_config c;
    struct hf_err err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hf_config_init(&c);
        REQUIRE(hf_config_option(&c, "wait-ms", "5", &err));
        REQUIRE(hf_config_option(&c, "headers", "K=v", &err));
        REQUIRE(hf_config_add_url(&c, NULL, rows[i][0], &err));
        REQUIRE(hf_config_add_url(&c, "other", rows[i][0], &err));
        CHECK(is(c.servers[0].name, rows[i][1]) && is(c.servers[1].name, "other"));
        CHECK(is(c.servers[0].url, rows[i][0]) && !c.servers[0].command);
        CHECK(c.servers[1].settings.wait_ms == 5 && c.servers[1].headers_count == 1);
        CHECK(!hf_config_add_url(&c, "other", rows[i][0], &err));
        CHECK_STR(err.text, "there are two servers with the name \"other\"");
        hf_config_done(&c);
    }
}

TEST(what_can_be_no_url_makes_a_server_that_says_what_is_wrong_with_it)
{
    static const char *const rows[][2] = {
        { "", "its URL: it is empty; it looks like https://HOST/PATH" },
        { "ftp://x", "its URL: a remote server is reached by http:// or https:// only; it looks" },
        { "x.test", "its URL: a URL begins with a scheme" },
        { "http://a b", "its URL: a URL has no spaces" },
        { "http://x:99999/", "its URL: its host must be" },
        { "https://me:secret@x/", "its URL: a URL with a user name" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err;
        hf_config_init(&c);
        REQUIRE(hf_config_add_url(&c, i ? NULL : "named", rows[i][0], &err));
        CHECK_STR(c.servers[0].name, i ? "remote" : "named");
        REQUIRE(c.servers[0].problem);
        CHECK(strncmp(c.servers[0].problem, rows[i][1], strlen(rows[i][1])) == 0);
        CHECK(!c.servers[0].problem_may_pass && !strstr(c.servers[0].problem, "secret"));
        hf_config_done(&c);
    }
}

/* ---- every sentence of refusal ---- */

#define IN_TOKENS(tokens) IN_HOLDFAST("\n\"tokens\": [" tokens "]")
#define GOOD_TOKEN        "{\"name\":\"ci\",\"hash\":\"sha256:" HEX "\"}"

static const struct {
    const char *text, *says;
} refusals[] = {
    { IN_SERVER("\"url\": [\"x\"]"), "line 4: mcpServers.a.url: found an array; allowed is a str" },
    { IN_SERVER("\"url\": \"http://x\",\n\"url\": \"http://x\""),
      "line 5: mcpServers.a.url: it is given twice" },
    { IN_SERVER("\n\"Url\": \"http://x\""),
      "line 5: mcpServers.a.Url: there is no such key; did you mean \"url\"?" },
    { IN_SERVER("\"uri\": \"http://x\""), "did you mean \"url\"?" },
    { IN_SERVER("\"header\": {}"), "a.header: there is no such key; did you mean \"headers\"?" },
    { IN_SERVER("\"headers\": {\"A\":\"1\",\n\"B C\": \"2\"}"),
      "line 5: mcpServers.a.headers.B C: the name of a header is made of letters, digits and "
      "!#$%&'*+-.^_`|~" },
    { IN_SERVER("\"headers\": {\"A:\": \"2\"}"), "the name of a header is made of" },
    { IN_SERVER("\"headers\": {\"A\\r\\nB\": \"2\"}"), "the name of a header is made of" },
    { IN_SERVER("\"headers\": {\"\": \"2\"}"), "a name is empty" },
    { IN_SERVER("\"headers\": {\"K\": 2}"), "a.headers.K: found a number; allowed is a string: " },
    { IN_SERVER("\"headers\": {\"K\":\"1\",\"k\":\"2\"}"), "a.headers.k: it is given twice" },
    { IN_SERVER("\"headers\": {\"mcp-session-id\": \"2\"}"),
      "a.headers.mcp-session-id: this header is holdfast's own to set" },
    { IN_SERVER("\"headers\": {\"MCP-Protocol-Version\": \"2\"}"), "is holdfast's own to set" },
    { IN_SERVER("\"headers\": {\"content-type\": \"2\"}"), "is holdfast's own to set" },
    { IN_SERVER("\"headers\": {\"ACCEPT\": \"2\"}"), "is holdfast's own to set" },
    { IN_SERVER("\"headers\": {\"Content-Length\": \"2\"}"), "is holdfast's own to set" },
    { IN_SERVER("\"headers\": {\"Transfer-Encoding\": \"2\"}"), "is holdfast's own to set" },
    { IN_SERVER("\"headers\": {\"Mcp-Param-X\": \"2\"}"), "is holdfast's own to set" },
    { IN_SERVER("\"transport\": \"ws\""),
      "found \"ws\"; allowed is \"auto\" or \"http\" or \"sse\"" },
    { IN_SERVER("\"refusedStatus\": 503"),
      "a.refusedStatus: found 503; allowed is an array of statuses from 400 to 599" },
    { IN_SERVER("\"refusedStatus\": [503,\n200]"),
      "line 5: mcpServers.a.refusedStatus[1]: allowed is a status from 400 to 599" },
    { IN_SERVER("\"refusedStatus\": [600]"), "a.refusedStatus[0]: allowed is a status" },
    { IN_SERVER("\"refusedStatus\": [\"503\"]"), "a.refusedStatus[0]: allowed is a status" },
    { IN_SERVER("\"refusedStatus\": [503.0]"), "a.refusedStatus[0]: allowed is a status" },
    { IN_SERVER("\"keepAliveMs\": -1"), "a.keepAliveMs: found -1; allowed is a whole number" },
    { IN_SERVER("\"listen\": \"x\""), "a.listen: it belongs in the top-level object \"holdfast\"" },
    { IN_HOLDFAST("\"url\": \"http://x\""), "holdfast.url: it belongs in a server" },
    { IN_HOLDFAST("\"defaults\":{\"url\":\"http://x\"}"), "defaults.url: it belongs in a server" },
    { IN_HOLDFAST("\"defaults\":{\"headers\":{}}"), "defaults.headers: it belongs in a server" },
    { IN_HOLDFAST("\"defaults\":{\"proxy\":\n\"gopher://x\"}"),
      "line 4: holdfast.defaults.proxy: a proxy looks like" },
    { IN_HOLDFAST("\"defaults\":{\"ca\":\"${NOPE}\"}"),
      "line 3: holdfast.defaults.ca: the variable NOPE is not set" },
    /* the front */
    { IN_HOLDFAST("\n\"listen\": \"7332\""),
      "line 4: holdfast.listen: it has no port; an address to listen on looks like "
      "127.0.0.1:7332, [::1]:7332 or unix:PATH" },
    { IN_HOLDFAST("\"listen\": \"example.com:80\""), "holdfast.listen: names are not looked up" },
    { IN_HOLDFAST("\"listen\": \"${NOPE}:80\""),
      "line 3: holdfast.listen: the variable NOPE is not set" },
    { IN_HOLDFAST("\"listen\": 7332"), "holdfast.listen: found a number; allowed is a string" },
    { IN_HOLDFAST("\"tls\": \"x\""), "holdfast.tls: found a string; allowed is an object" },
    { IN_HOLDFAST("\"tls\": {\"crt\":\"x\"}"),
      "tls.crt: there is no such key; did you mean \"cert\"" },
    { IN_HOLDFAST("\"tls\": {\"cert\":\"\"}"), "holdfast.tls.cert: the path of a file is empty" },
    { IN_HOLDFAST("\"hosts\": [\"a\",\n\"http://x\"]"),
      "line 4: holdfast.hosts[1]: a host looks like mcp.example.com, mcp.example.com:8443 or "
      "*.example.com, without http://" },
    { IN_HOLDFAST("\"hosts\": [\"x/\"]"), "holdfast.hosts[0]: a host looks like" },
    { IN_HOLDFAST("\"hosts\": [\"*/\"]"), "holdfast.hosts[0]: a host looks like" },
    { IN_HOLDFAST("\"hosts\": [\"\"]"), "holdfast.hosts[0]: a host looks like" },
    { IN_HOLDFAST("\"origins\": [\"https://x/\"]"),
      "holdfast.origins[0]: an origin looks like https://app.example.com or "
      "http://localhost:3000, without a path; \"*\" is any" },
    { IN_HOLDFAST("\"origins\": [\"x.test\"]"), "holdfast.origins[0]: an origin looks like" },
    { IN_HOLDFAST("\"origins\": [\"https://*.test\"]"), "holdfast.origins[0]: an origin looks" },
    { IN_HOLDFAST("\"origins\": [\"null\"]"), "holdfast.origins[0]: an origin looks like" },
    { IN_HOLDFAST("\"maxSessions\": 0"), "holdfast.maxSessions: found 0; allowed is a whole" },
    { IN_HOLDFAST("\"sessionTTL\": 0"), "did you mean \"sessionTtlMs\"?" },
    /* tokens */
    { IN_HOLDFAST("\"tokens\": {}"), "holdfast.tokens: found an object; allowed is an array of" },
    { IN_HOLDFAST("\"token\": []"),
      "holdfast.token: there is no such key; did you mean \"tokens\"" },
    { IN_TOKENS("\n\"s3cret\""),
      "line 5: holdfast.tokens[0]: only the hash of a token stands in a file, as \"sha256:\" and "
      "64 "
      "hex digits; `holdfast token` makes a token and prints the entry for it" },
    { IN_TOKENS("5"), "holdfast.tokens[0]: found a number; allowed is an object" },
    { IN_TOKENS(GOOD_TOKEN ",\n{\"name\":\"b\",\n\"hash\":\"s3cret\"}"),
      "line 6: holdfast.tokens[1].hash: only the hash of a token stands in a file" },
    { IN_TOKENS("{\"name\":\"a\",\"hash\":\"" HEX "\"}"), "[0].hash: only the hash of a token" },
    { IN_TOKENS("{\"name\":\"a\",\"hash\":\"sha256:" HEX "0\"}"), "[0].hash: only the hash" },
    { IN_TOKENS("{\"name\":\"a\",\"hash\":\"sha512:" HEX "\"}"), "[0].hash: only the hash" },
    { IN_TOKENS("{\"name\":\"a\",\"hash\":\"sha256:x0112233445566778899aabbccddeeff"
                "00112233445566778899AABBCCDDEEFF\"}"),
      "[0].hash: only the hash" },
    { IN_TOKENS("{\"name\":\"a\",\"hash\":5}"), "[0].hash: found a number; allowed is a string" },
    { IN_TOKENS("{\"name\":\"a\",\"hash\":\"${NOPE}\"}"),
      "[0].hash: the variable NOPE is not set" },
    { IN_TOKENS("{\"name\":\"a\",\"token\":\"s3cret\"}"), "[0].token: only the hash of a token" },
    { IN_TOKENS("{\"name\":\"a\",\"Secret\":\"s3cret\"}"), "[0].Secret: only the hash of a token" },
    { IN_TOKENS("{\"name\":\"a\"}"), "holdfast.tokens[0]: it has no hash" },
    { IN_TOKENS("{\"hash\":\"sha256:" HEX "\"}"), "holdfast.tokens[0]: it has no name" },
    { IN_TOKENS("{\"name\":\"\"}"), "[0].name: the name of a token has 1 to 64 visible ASCII" },
    { IN_TOKENS("{\"name\":\"a b\"}"), "[0].name: the name of a token has 1 to 64" },
    { IN_TOKENS("{\"name\":\"a\\\"\"}"), "[0].name: the name of a token has 1 to 64" },
    { IN_TOKENS("{\"name\":\"é\"}"), "[0].name: the name of a token has 1 to 64" },
    { IN_TOKENS("{\"name\":\"1234567890123456789012345678901234567890123456789012345678901234"
                "5\"}"),
      "[0].name: the name of a token has 1 to 64" },
    { IN_TOKENS("{\"name\":\"a\",\"name\":\"b\"}"), "[0].name: it is given twice" },
    { IN_TOKENS("{\"nam\":\"a\"}"), "[0].nam: there is no such key; did you mean \"name\"?" },
    { IN_TOKENS("{\"scope\":\"a\"}"),
      "[0].scope: there is no such key; a token has a name, a hash, servers, allow, deny, "
      "errorsAs and limits" },
    { IN_TOKENS("{\"limits\":5}"), "[0].limits: found a number; allowed is an object" },
    { IN_TOKENS("{\"limits\":{\"call\":5}}"),
      "[0].limits.call: there is no such key; did you mean \"calls\"?" },
    { IN_TOKENS("{\"limits\":{\"x\":5}}"),
      "[0].limits.x: there is no such key; limits are calls, sessions, streams, bytes, " },
    { IN_TOKENS("{\"limits\":{\"calls\":0}}"),
      "[0].limits.calls: allowed is a whole number from 1 to 1000000000" },
    { IN_TOKENS("{\"limits\":{\"bytes\":\"1\"}}"), "[0].limits.bytes: allowed is a whole number" },
    { IN_TOKENS("{\"limits\":{\"bytes\":1,\"bytes\":1}}"), "[0].limits.bytes: it is given twice" },
    { IN_TOKENS("{\"servers\":\"a\"}"), "[0].servers: found a string; allowed is an array of" },
    { IN_TOKENS("{\"deny\":[\"a\",\n5]}"), "line 5: holdfast.tokens[0].deny[1]: found a number" },
    { IN_TOKENS(GOOD_TOKEN ",{\"name\":\"ci\",\"hash\":\"sha256:" OTHER_HEX "\"}"),
      "holdfast.tokens[1]: there are two tokens with the name \"ci\"" },
    { IN_TOKENS(GOOD_TOKEN ",{\"name\":\"b\",\"hash\":\"sha256:" HEX "\"}"),
      "holdfast.tokens[1]: \"ci\" and \"b\" are the same token" },
};

TEST(every_mistake_about_http_is_told_with_its_line_and_without_its_secret)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_file_refused(refusals[i].text, refusals[i].says);
}

TEST(wrong_options_about_http_say_what_is_right)
{
    static const struct {
        const char *option, *value, *says;
    } rows[] = {
        { "listen", "x", "--listen: it has no port; an address to listen on looks like" },
        { "headers", "K", "--headers: the value must look like name: value" },
        { "headers", "K=a\nb", "--headers: the value of a header holds a line break" },
        { "headers", "Accept=s3cret", "--headers: this header is holdfast's own to set" },
        { "refused-status", "200", "--refused-status: allowed is a status from 400 to 599" },
        { "refused-status", "many", "--refused-status: allowed is a status from 400 to 599" },
        { "transport", "ws", "--transport: found \"ws\"; allowed is \"auto\" or" },
        { "hosts", "http://x", "--hosts: a host looks like" },
        { "tls-cert", "", "--tls-cert: the path of a file is empty" },
        { "tokens", "s3cret", "there is no option --tokens" },
        { "url", "http://x", "there is no option --url" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_option_refused(rows[i].option, rows[i].value, rows[i].says);
}

TEST(options_about_http_that_add_may_be_repeated)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(hf_config_option(c, "refused-status", "503", &err));
    REQUIRE(hf_config_option(c, "refused-status", "429", &err));
    REQUIRE(hf_config_option(c, "hosts", "A.test", &err));
    REQUIRE(hf_config_option(c, "hosts", "*.test:80", &err));
    REQUIRE(hf_config_option(c, "listen", "[::1]:0", &err));
    REQUIRE(parse(c,
                  "{\"mcpServers\":{\"a\":{\"url\":\"http://x\",\"refusedStatus\":[500]}},"
                  "\"holdfast\":{\"hosts\":[\"b.test\"],\"listen\":\"127.0.0.1:1\"}}",
                  &err));
    const struct hf_status_set *set = &c->servers[0].settings.refused_status;
    CHECK(hf_status_in(set, 503) && hf_status_in(set, 429) && !hf_status_in(set, 500));
    CHECK(is(c->serve.hosts[0], "a.test") && is(c->serve.hosts[1], "*.test:80"));
    CHECK(!c->serve.hosts[2] && is(c->serve.listen, "[::1]:0"));
}

/* ---- who may come in ---- */

TEST(tokens_arrive_with_their_defaults)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c,
                  IN_TOKENS("{\"name\":\"ci@${HOST}\",\"hash\":\"sha256:" HEX
                            "\",\"servers\":[\"pay*\"],\"allow\":[\"payments__*\"],"
                            "\"deny\":[\"payments__refund\"],\"limits\":{\"calls\":1,"
                            "\"sessions\":2,\"streams\":3,\"bytes\":1000000000000000,"
                            "\"subscriptions\":5,\"ratePerMinute\":6}},"
                            "{\"hash\":\"sha256:" OTHER_HEX "\",\"name\":\"b\"}"),
                  &err));
    REQUIRE_EQ(c->serve.token_count, 2);
    const struct hf_token_config *a = &c->serve.tokens[0], *b = &c->serve.tokens[1];
    CHECK(is(a->name, "ci@mcp.test") && is(b->name, "b"));
    CHECK(is(a->servers[0], "pay*") && !a->servers[1]);
    CHECK(is(a->allow[0], "payments__*") && !a->allow[1]);
    CHECK(is(a->deny[0], "payments__refund") && !a->deny[1]);
    CHECK(is(b->servers[0], "*") && !b->servers[1] && is(b->allow[0], "*") && !b->allow[1]);
    CHECK(!b->deny[0]);
    CHECK(a->limits.calls == 1 && a->limits.sessions == 2 && a->limits.streams == 3);
    CHECK(a->limits.bytes == 1000000000000000 && a->limits.subscriptions == 5);
    CHECK(a->limits.rate_per_minute == 6 && b->limits.calls == 0 && b->limits.bytes == 0);
    CHECK(a->hash[0] == 0x00 && a->hash[1] == 0x11 && a->hash[31] == 0xff && b->hash[0] == 0x10);
}

TEST(a_thousand_tokens_are_allowed_and_one_more_is_not)
{
    for (unsigned count = 1000; count <= 1001; count++) {
        struct hf_config c;
        struct hf_err err;
        struct hf_buf text;
        hf_config_init(&c);
        hf_buf_init(&text, 1 << 20);
        hf_buf_add_str(&text, "{\"mcpServers\":{},\"holdfast\":{\"tokens\":[");
        for (unsigned i = 0; i < count; i++)
            hf_buf_printf(&text, "%s{\"name\":\"%u\",\"hash\":\"sha256:%064u\"}", i ? "," : "", i,
                          i);
        hf_buf_add_str(&text, "]}}");
        const bool good = hf_config_parse(&c, hf_buf_span(&text), NULL, NULL, &err);
        CHECK(good == (count == 1000) && c.serve.token_count == (good ? 1000 : 0));
        CHECK(good || strstr(err.text, "tokens[1000]: there are more than 1000 tokens"));
        hf_buf_done(&text);
        hf_config_done(&c);
    }
}

TEST(strings_of_the_front_expand)
{
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c,
                  IN_HOLDFAST("\"listen\":\"${LISTEN:-127.0.0.1:80}\",\"hosts\":[\"${HOST}\"],"
                              "\"origins\":[\"https://${HOST}\"],\"tls\":{\"cert\":\"/${HOST}\"},"
                              "\"defaults\":{\"ca\":\"/${HOST}.pem\"}"),
                  &err));
    CHECK(is(c->serve.listen, "127.0.0.1:80") && is(c->serve.hosts[0], "mcp.test"));
    CHECK(is(c->serve.origins[0], "https://mcp.test") && is(c->serve.tls_cert, "/mcp.test"));
    CHECK_STR(c->defaults.ca, "/mcp.test.pem");
}

/* ---- look ---- */

TEST(looking_finds_missing_ca_files_and_asks_no_network)
{
    char dir[] = "/tmp/holdfast-ca-XXXXXX", file[64], text[600];
    REQUIRE(mkdtemp(dir));
    (void)snprintf(file, sizeof file, "%s/ca.pem", dir);
    fclose(fopen(file, "w"));
    (void)snprintf(text, sizeof text,
                   "{\"mcpServers\":{\"0\":{\"url\":\"https://no.such.host.test:1/x\"},"
                   "\"1\":{\"url\":\"https://x\",\"ca\":\"%s\"},"
                   "\"2\":{\"url\":\"https://x\",\"ca\":\"%s/none\"},"
                   "\"3\":{\"url\":\"https://x\",\"ca\":\"%s\"}}}",
                   file, dir, dir);
    static const char *const problems[] = { NULL, NULL, "/none\": No such file or directory",
                                            "\" is not a file" };
    struct hf_config *c = config_new();
    struct hf_err err;
    REQUIRE(parse(c, text, &err));
    hf_config_look(c);
    for (size_t i = 0; i < 4; i++) {
        const char *problem = c->servers[i].problem;
        CHECK(problems[i] ? problem && strstr(problem, problems[i]) : !problem);
        CHECK(!problem || (strncmp(problem, "the CA file \"", 13) == 0));
        CHECK_EQ(c->servers[i].problem_may_pass, !!problems[i]);
    }
    unlink(file);
    rmdir(dir);
}

TEST(serving_others_needs_tokens_and_tls_needs_both_of_its_files)
{
    static const struct {
        const char *members, *says; /* NULL: it may serve */
    } rows[] = {
        { "\"maxDepth\":99", NULL },
        { "\"listen\":\"[::1]:1\"", NULL },
        { "\"listen\":\"unix:/x\"", NULL },
        { "\"listen\":\"0.0.0.0:7332\"",
          "other machines can reach 0.0.0.0:7332, and there are no tokens: everybody there could "
          "use your servers. Make a token with `holdfast token`" },
        { "\"listen\":\"[::]:1\",\"tokens\":[]", "other machines can reach [::]:1" },
        { "\"listen\":\"0.0.0.0:7332\",\"tokens\":[" GOOD_TOKEN "]", NULL },
        { "\"tls\":{\"cert\":\"/dev/null\"}",
          "TLS needs a certificate and its key, and there is only holdfast.tls.cert" },
        { "\"tls\":{\"key\":\"/dev/null\"}", "there is only holdfast.tls.key" },
        { "\"tls\":{\"cert\":\"/no/cert\",\"key\":\"/no/key\"}",
          "the certificate of holdfast.tls.cert \"/no/cert\": No such file or directory" },
        { "\"tls\":{\"cert\":\"/proc/self/status\",\"key\":\"/no/key\"}",
          "the private key of holdfast.tls.key \"/no/key\": No such file" },
        { "\"tls\":{\"cert\":\"/proc/self/status\",\"key\":\"/proc/self/status\"}", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_config c;
        struct hf_err err = { "" };
        char text[300];
        (void)snprintf(text, sizeof text, "{\"mcpServers\":{},\"holdfast\":{%s}}", rows[i].members);
        hf_config_init(&c);
        REQUIRE(parse(&c, text, &err));
        const bool may = hf_config_may_serve(&c, &err);
        if (rows[i].says ? may || !strstr(err.text, rows[i].says) : !may)
            printf("# %s: %s\n", rows[i].members, err.text);
        CHECK(rows[i].says ? !may && strstr(err.text, rows[i].says) : may);
        hf_config_done(&c);
    }
}
