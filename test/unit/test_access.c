/*
 * test_access.c - who may come in by HTTP: every kind of Host, Origin and token, at every kind of
 * endpoint.
 */
#include "test.h"
#include "wire/http_request.h"
#include "front/access.h"

static char *const none[] = { NULL };
static char *const some_hosts[] = { "mcp.test", "gate.test:8443", "*.wild.test", "[2001:db8::7]",
                                    NULL };
static char *const any_host[] = { "*", NULL };
static char *const some_origins[] = { "https://app.test", "http://localhost:3000",
                                      "chrome-extension://abcdef", NULL };
static char *const any_origin[] = { "*", NULL };

static struct hf_access *new_access(const char *url, char *const *hosts, char *const *origins)
{
    struct hf_access *access = hf_access_new(hosts, origins);
    hf_access_set_url(access, url);
    return access;
}

static enum hf_admission place(struct hf_access *access, const char *host, const char *origin)
{
    return hf_access_place(access, hf_span_of(host), hf_span_of(origin));
}

/* ---- Host ---- */

struct host_row {
    const char *host;
    bool is_good;
};

static void check_hosts(const char *url, char *const *hosts, const struct host_row *rows,
                        size_t count)
{
    struct hf_access *access = new_access(url, hosts, none);
    for (size_t i = 0; i < count; i++) {
        const enum hf_admission found = place(access, rows[i].host, NULL);
        if ((found == HF_ADMITTED) != rows[i].is_good)
            printf("# %s at %s\n", rows[i].host ? rows[i].host : "(none)", url);
        CHECK_EQ(found, rows[i].is_good ? HF_ADMITTED : HF_BAD_HOST);
    }
    hf_access_free(access);
}
TEST(a_host_that_was_ours_before_is_judged_anew_with_an_origin_or_when_we_listen_elsewhere)
{
    struct hf_access *access = new_access("http://127.0.0.1:7332", none, none);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(place(access, "localhost:7332", NULL), HF_ADMITTED);
        CHECK_EQ(place(access, "localhost:7332", "http://evil.example"), HF_BAD_ORIGIN);
        CHECK_EQ(place(access, "localhost:7331", NULL), HF_BAD_HOST);
        CHECK_EQ(place(access, "localhost:733", NULL), HF_BAD_HOST);
    }
    hf_access_set_url(access, "http://127.0.0.1:7331");
    CHECK_EQ(place(access, "localhost:7332", NULL), HF_BAD_HOST);
    CHECK_EQ(place(access, "localhost:7331", NULL), HF_ADMITTED);
    hf_access_free(access);
}
#define CHECK_HOSTS(url, hosts, rows) check_hosts(url, hosts, rows, sizeof rows / sizeof rows[0])

TEST(on_loopback_only_the_names_of_this_machine_with_our_port_are_ours)
{
    static const struct host_row rows[] = {
        { "localhost:7332", true },
        { "LocalHost:7332", true },
        { "127.0.0.1:7332", true },
        { "[::1]:7332", true },
        { "localhost", false },
        { "127.0.0.1", false },
        { "localhost:80", false },
        { "localhost:73320", false },
        { "localhost.:7332", false },
        { "127.0.0.2:7332", false },
        { "0.0.0.0:7332", false },
        { "evil.test:7332", false },
        { "localhost.evil.test:7332", false },
        { "evil.test", false },
        { "localhost:7332@evil.test", false },
        { "evil.test/localhost:7332", false },
        { "localhost:7332,evil.test", false },
        { "::1:7332", false },
        { " localhost:7332", false },
        { "", false },
        { NULL, false },
    };
    CHECK_HOSTS("http://127.0.0.1:7332", none, rows);
}

TEST(the_port_may_be_left_out_where_the_scheme_means_it)
{
    static const struct host_row plain[] = {
        { "localhost", true },      { "localhost:80", true }, { "[::1]", true },
        { "localhost:443", false }, { "evil.test", false },
    };
    static const struct host_row tls[] = {
        { "localhost", true },     { "localhost:443", true }, { "127.0.0.1", true },
        { "localhost:80", false }, { "evil.test", false },
    };
    static const struct host_row swapped[] = { { "localhost", false }, { "localhost:80", true } };
    CHECK_HOSTS("http://127.0.0.1:80", none, plain);
    CHECK_HOSTS("http://127.0.0.1", none, plain);
    CHECK_HOSTS("https://127.0.0.1:443", none, tls);
    CHECK_HOSTS("https://127.0.0.1:80", none, swapped);
}

TEST(the_address_that_is_listened_on_is_ours_with_its_port)
{
    static const struct host_row v4[] = {
        { "192.168.1.5:7332", true },  { "192.168.1.5", false },   { "192.168.1.6:7332", false },
        { "192.168.1.5:7333", false }, { "localhost:7332", true },
    };
    static const struct host_row v6[] = {
        { "[2001:db8::1]:7332", true }, { "[2001:DB8::1]:7332", true }, { "[2001:db8::1]", false },
        { "2001:db8::1:7332", false },  { "[::1]:7332", true },
    };
    CHECK_HOSTS("http://192.168.1.5:7332", none, v4);
    CHECK_HOSTS("http://[2001:db8::1]:7332", none, v6);
}

TEST(hosts_of_the_config_are_ours_with_their_port_or_with_none_or_ours)
{
    static const struct host_row rows[] = {
        { "mcp.test", true },       { "MCP.Test", true },           { "mcp.test:7332", true },
        { "mcp.test:8443", false }, { "xmcp.test", false },         { "mcp.test.evil", false },
        { "gate.test:8443", true }, { "gate.test", false },         { "gate.test:7332", false },
        { "a.wild.test", true },    { "a.b.wild.test:7332", true }, { "a.wild.test:1", false },
        { "wild.test", false },     { "a.wild.test.evil", false },  { "[2001:db8::7]:7332", true },
        { "localhost:7332", true }, { "evil.test", false },
    };
    static const struct host_row any[] = {
        { "evil.test", true }, { "evil.test:1", true }, { "a b", false },
        { "", false },         { NULL, false },
    };
    CHECK_HOSTS("http://127.0.0.1:7332", some_hosts, rows);
    CHECK_HOSTS("http://127.0.0.1:7332", any_host, any);
}

TEST(on_a_unix_socket_any_host_will_do)
{
    static const struct host_row rows[] = {
        { "localhost", true }, { "evil.test:1", true }, { "a b", true },
        { "", true },          { NULL, true },
    };
    CHECK_HOSTS("unix:/run/holdfast.sock", none, rows);
}

TEST(before_it_is_known_where_we_listen_nobody_comes_in)
{
    struct hf_access *access = hf_access_new(none, none);
    CHECK_EQ(place(access, "localhost:7332", NULL), HF_BAD_HOST);
    CHECK_EQ(place(access, "localhost", NULL), HF_BAD_HOST);
    hf_access_free(access);
}

TEST(a_host_longer_than_any_name_is_refused)
{
    char host[400];
    struct hf_access *access = new_access("http://127.0.0.1:7332", any_host, none);
    memset(host, 'a', sizeof host);
    CHECK(hf_access_place(access, (struct hf_span) { host, 255 }, hf_span_of(NULL)) == HF_ADMITTED);
    for (size_t n = 256; n < sizeof host; n++)
        CHECK(hf_access_place(access, (struct hf_span) { host, n }, hf_span_of(NULL)) ==
              HF_BAD_HOST);
    hf_access_free(access);
}

/* ---- Origin ---- */

struct origin_row {
    const char *host, *origin;
    bool is_good;
};

static void check_origins(struct hf_access *access, const struct origin_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const enum hf_admission found = place(access, rows[i].host, rows[i].origin);
        if ((found == HF_ADMITTED) != rows[i].is_good)
            printf("# row %zu: %s\n", i, rows[i].origin);
        CHECK_EQ(found, rows[i].is_good ? HF_ADMITTED : HF_BAD_ORIGIN);
    }
    hf_access_free(access);
}
#define CHECK_ORIGINS(access, rows) check_origins(access, rows, sizeof rows / sizeof rows[0])

TEST(a_page_of_another_place_may_not_come_in)
{
    static const struct origin_row rows[] = {
        { "localhost:7332", NULL, true },
        { "localhost:7332", "http://localhost:7332", true },
        { "localhost:7332", "http://LOCALHOST:7332", true },
        { "localhost:7332", "http://127.0.0.1:7332", true },
        { "127.0.0.1:7332", "http://[::1]:7332", true },
        { "localhost:7332", "http://localhost", false },
        { "localhost:7332", "http://localhost:3000", false },
        { "localhost:7332", "https://localhost", false },
        { "localhost:7332", "http://evil.test", false },
        { "localhost:7332", "http://evil.test:7332", false },
        { "localhost:7332", "http://localhost:7332.evil.test", false },
        { "localhost:7332", "http://localhost:7332/", false },
        { "localhost:7332", "http://localhost:7332/path", false },
        { "localhost:7332", "http://user@localhost:7332", false },
        { "localhost:7332", "localhost:7332", false },
        { "localhost:7332", "chrome-extension://localhost:7332", false },
        { "localhost:7332", "file://", false },
        { "localhost:7332", "null", false },
        { "localhost:7332", "", false },
        { "localhost:7332", "*", false },
        { "localhost:7332", "http://localhost:7332 http://evil.test", false },
    };
    CHECK_ORIGINS(new_access("http://127.0.0.1:7332", none, none), rows);
}

TEST(a_page_of_a_host_of_ours_may_come_in)
{
    static const struct origin_row rows[] = {
        { "mcp.test", "https://mcp.test", true },
        { "localhost:7332", "https://mcp.test", true },
        { "localhost:7332", "http://mcp.test:7332", true },
        { "localhost:7332", "http://mcp.test:1", false },
        { "localhost:7332", "https://gate.test:8443", true },
        { "localhost:7332", "https://gate.test", false },
        { "localhost:7332", "https://a.wild.test", true },
        { "localhost:7332", "https://wild.test.evil", false },
    };
    CHECK_ORIGINS(new_access("http://127.0.0.1:7332", some_hosts, none), rows);
}

TEST(that_any_host_is_ours_lets_no_page_in_but_its_own)
{
    static const struct origin_row rows[] = {
        { "some.test", "https://some.test", true },
        { "some.test:443", "https://some.test", true },
        { "some.test", "https://some.test:443", true },
        { "some.test", "https://other.test", false },
        { "some.test", "https://some.test:444", false },
        { "some.test:80", "https://some.test", false },
        { "some.test", "http://localhost:7332", true },
    };
    CHECK_ORIGINS(new_access("http://127.0.0.1:7332", any_host, none), rows);
}

TEST(pages_of_the_config_may_come_in_exactly_as_they_are_written)
{
    static const struct origin_row rows[] = {
        { "localhost:7332", "https://app.test", true },
        { "localhost:7332", "HTTPS://App.Test", true },
        { "localhost:7332", "http://app.test", false },
        { "localhost:7332", "https://app.test:443", false },
        { "localhost:7332", "https://app.test/", false },
        { "localhost:7332", "https://app.tes", false },
        { "localhost:7332", "https://app.test.evil", false },
        { "localhost:7332", "http://localhost:3000", true },
        { "localhost:7332", "http://localhost:3001", false },
        { "localhost:7332", "chrome-extension://abcdef", true },
        { "localhost:7332", "chrome-extension://abcdeg", false },
    };
    static const struct origin_row any[] = {
        { "localhost:7332", "https://evil.test", true },
        { "localhost:7332", "null", true },
        { "localhost:7332", "", true },
    };
    CHECK_ORIGINS(new_access("http://127.0.0.1:7332", none, some_origins), rows);
    CHECK_ORIGINS(new_access("http://127.0.0.1:7332", none, any_origin), any);
}

TEST(on_a_unix_socket_a_page_must_come_from_the_host_it_asks_for)
{
    static const struct origin_row rows[] = {
        { "gate.test", NULL, true },
        { "gate.test", "https://gate.test", true },
        { "gate.test", "https://evil.test", false },
        { "gate.test", "http://localhost", false },
        { "gate.test", "http://localhost:0", false },
        { "a b", "https://a b", false },
        { NULL, "https://gate.test", false },
        { "gate.test", "https://app.test", true },
    };
    CHECK_ORIGINS(new_access("unix:/run/holdfast.sock", none, some_origins), rows);
}

TEST(a_foreign_host_is_told_before_a_foreign_page)
{
    struct hf_access *access = new_access("http://127.0.0.1:7332", none, any_origin);
    CHECK_EQ(place(access, "evil.test", "https://evil.test"), HF_BAD_HOST);
    hf_access_free(access);
}

/* ---- tokens ---- */

static struct hf_access *guarded(void)
{
    static const char *const tokens[] = { "hf_first", "hf_second", "hf_third" };
    struct hf_access *access = new_access("http://127.0.0.1:7332", none, none);
    for (size_t i = 0; i < 3; i++) {
        uint8_t hash[HF_SHA256_SIZE];
        hf_sha256(hf_span_of(tokens[i]), hash);
        hf_access_add_token(access, tokens[i] + 3, hash, NULL, HF_ERRORS_UNSAID);
    }
    return access;
}

TEST(a_token_is_found_by_its_hash_wherever_it_stands)
{
    static const struct {
        const char *authorization, *name;
        enum hf_admission admission;
    } rows[] = {
        { "Bearer hf_first", "first", HF_ADMITTED },
        { "Bearer hf_second", "second", HF_ADMITTED },
        { "Bearer hf_third", "third", HF_ADMITTED },
        { "bearer hf_third", "third", HF_ADMITTED },
        { "BEARER   hf_third", "third", HF_ADMITTED },
        { NULL, NULL, HF_NO_TOKEN },
        { "", NULL, HF_NO_TOKEN },
        { "Bearer", NULL, HF_NO_TOKEN },
        { "Bearerhf_first", NULL, HF_NO_TOKEN },
        { "Basic aGZfZmlyc3Q=", NULL, HF_NO_TOKEN },
        { "hf_first", NULL, HF_NO_TOKEN },
        { " Bearer hf_first", NULL, HF_NO_TOKEN },
        { "Bearer ", NULL, HF_WRONG_TOKEN },
        { "Bearer hf_fourth", NULL, HF_WRONG_TOKEN },
        { "Bearer hf_firs", NULL, HF_WRONG_TOKEN },
        { "Bearer hf_first ", NULL, HF_WRONG_TOKEN },
        { "Bearer hf_first2", NULL, HF_WRONG_TOKEN },
        { "Bearer HF_first", NULL, HF_WRONG_TOKEN },
        { "Bearer hf_first, Bearer hf_second", NULL, HF_WRONG_TOKEN },
    };
    struct hf_access *access = guarded();
    CHECK(hf_access_needs_token(access));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hf_token *token;
        const enum hf_admission found =
            hf_access_token(access, hf_span_of(rows[i].authorization), &token);
        if (found != rows[i].admission)
            printf("# row %zu: %s\n", i, rows[i].authorization);
        CHECK(found == rows[i].admission && (token != NULL) == (rows[i].name != NULL));
        CHECK(!token || strcmp(token->name, rows[i].name) == 0);
    }
    hf_access_free(access);
}

TEST(without_tokens_nobody_needs_one_and_nobody_is_anybody)
{
    const struct hf_token *token;
    struct hf_access *access = new_access("http://127.0.0.1:7332", none, none);
    CHECK(!hf_access_needs_token(access));
    CHECK(hf_access_token(access, hf_span_of(NULL), &token) == HF_ADMITTED && !token);
    CHECK(hf_access_token(access, HF_SPAN("Bearer x"), &token) == HF_ADMITTED && !token);
    hf_access_free(access);
}

TEST(a_token_keeps_its_policy)
{
    static const char *const servers[] = { "pay*", NULL };
    const struct hf_token *token;
    uint8_t hash[HF_SHA256_SIZE];
    struct hf_access *access = new_access("http://127.0.0.1:7332", none, none);
    hf_sha256(HF_SPAN("x"), hash);
    hf_access_add_token(access, "x", hash, hf_policy_new(servers, NULL, NULL), HF_ERRORS_UNSAID);
    REQUIRE_EQ(hf_access_token(access, HF_SPAN("Bearer x"), &token), HF_ADMITTED);
    CHECK(hf_policy_allows_server(token->policy, "payments"));
    CHECK(!hf_policy_allows_server(token->policy, "files"));
    hf_access_free(access);
}

TEST(policies_are_the_same_if_they_say_the_same)
{
    static const char *const one[] = { "a", NULL }, *const other[] = { "b", NULL },
                             *const nothing[] = { NULL };
    static const char *const *const lists[] = { NULL, nothing, one, other };
    for (size_t i = 0; i < 64 * 64; i++) {
        struct hf_policy *a = hf_policy_new(lists[i & 3], lists[i >> 2 & 3], lists[i >> 4 & 3]);
        const size_t j = i >> 6;
        struct hf_policy *b = hf_policy_new(lists[j & 3], lists[j >> 2 & 3], lists[j >> 4 & 3]);
        CHECK_EQ(hf_policy_same(a, b), (i & 63) == j);
        CHECK(!hf_policy_same(a, NULL) && !hf_policy_same(NULL, b));
        hf_policy_unref(a);
        hf_policy_unref(b);
    }
    CHECK(hf_policy_same(NULL, NULL));
}

/* ---- whole heads ---- */

TEST(a_head_is_admitted_only_if_all_three_of_its_headers_are_good)
{
#define POST "POST /mcp HTTP/1.1\r\n"
#define HOST "Host: localhost:7332\r\n"
#define AUTH "Authorization: Bearer hf_second\r\n"
    static const struct {
        const char *text;
        enum hf_admission admission;
    } rows[] = {
        { POST HOST AUTH "\r\n", HF_ADMITTED },
        { POST HOST AUTH "Origin: http://localhost:7332\r\n\r\n", HF_ADMITTED },
        { POST HOST "\r\n", HF_NO_TOKEN },
        { POST HOST "Authorization: Bearer x\r\n\r\n", HF_WRONG_TOKEN },
        { POST HOST AUTH AUTH "\r\n", HF_WRONG_TOKEN },
        { POST "Host: evil.test\r\n" AUTH "\r\n", HF_BAD_HOST },
        { POST HOST AUTH "Origin: http://evil.test\r\n\r\n", HF_BAD_ORIGIN },
        { POST HOST AUTH "Origin: http://localhost:7332\r\nOrigin: http://evil.test\r\n\r\n",
          HF_BAD_ORIGIN },
        { POST HOST "Origin: http://evil.test\r\n\r\n", HF_BAD_ORIGIN },
        { POST HOST AUTH "Origin:\r\n\r\n", HF_BAD_ORIGIN },
    };
    struct hf_access *access = guarded();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_http_request request;
        const struct hf_token *token;
        const char *why;
        REQUIRE_EQ(hf_http_request_parse(hf_span_of(rows[i].text), &request, &why), 0);
        CHECK_EQ(hf_access_decide(access, &request.head, &token), rows[i].admission);
        CHECK_EQ(token != NULL, rows[i].admission == HF_ADMITTED);
        CHECK(!token || strcmp(token->name, "second") == 0);
    }
    hf_access_free(access);
}

TEST(every_refusal_has_a_status_and_a_sentence)
{
    CHECK(hf_admission_status(HF_BAD_HOST) == 403 && hf_admission_status(HF_BAD_ORIGIN) == 403);
    CHECK(hf_admission_status(HF_NO_TOKEN) == 401 && hf_admission_status(HF_WRONG_TOKEN) == 401);
    CHECK_EQ(hf_admission_status(HF_ADMITTED), 200);
    CHECK(strstr(hf_admission_text(HF_BAD_HOST), "holdfast.hosts"));
    CHECK(strstr(hf_admission_text(HF_BAD_ORIGIN), "holdfast.origins"));
    CHECK(strstr(hf_admission_text(HF_NO_TOKEN), "Authorization: Bearer"));
    CHECK(*hf_admission_text(HF_WRONG_TOKEN));
}
