/* test_front_shares.c - nobody uses up sessions, connections or streams that are there for all: by
 * token, by address behind a proxy, and by session. */
#include "front/http_parts.h"
#include "front_fixture.h"
#include "io/http_connection.h"

enum { SESSIONS = 40, CONNECTIONS = 40 };

static void add_token(struct hf_access *access, const char *token)
{
    uint8_t hash[HF_SHA256_SIZE];
    hf_sha256(hf_span_of(token), hash);
    hf_access_add_token(access, token, hash, NULL, HF_ERRORS_UNSAID);
}

static struct front *guarded(void)
{
    struct front *f = front_new(86400000, SESSIONS);
    struct hf_access *access = hf_access_new(NULL, NULL);
    add_token(access, "one");
    add_token(access, "two");
    if (!hf_http_front_admit(f->http, access))
        abort();
    return f;
}

static struct trip *initialize(struct front *f, const char *headers)
{
    char all[300];
    (void)snprintf(all, sizeof all,
                   "Content-Type: application/json\r\nAccept: application/json\r\n%s", headers);
    return ask(f, "POST", "/mcp/s", all,
               "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"initialize\",\"params\":{"
               "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
               "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
}

#define ONE "Authorization: Bearer one\r\n"
#define TWO "Authorization: Bearer two\r\n"

/* How many get in before one is refused. */
static unsigned fill(struct front *f, const char *headers, struct trip **ret_refused)
{
    for (unsigned count = 0;; count++) {
        struct trip *x = initialize(f, headers);
        if (x->status != 200) {
            *ret_refused = x;
            return count;
        }
    }
}

TEST(one_token_gets_three_quarters_of_the_sessions_and_another_finds_some)
{
    struct front *f = guarded();
    struct trip *x;
    CHECK(fill(f, ONE, &x) == SESSIONS * 3 / 4);
    CHECK(x->status == 429 && has(x, "\"id\":7") && has(x, "\"code\":-31005") &&
          has(x, "its share of the sessions (maxSessions)"));
    CHECK(fill(f, TWO, &x) == 7 && x->status == 429);
    CHECK_EQ(initialize(f, ONE)->status, 429);
    x = ask(f, "GET", "/metrics", TWO, "");
    CHECK(has(x, "holdfast_refused_total{token=\"one\",limit=\"sessions\"} 2\n"));
    CHECK(has(x, "holdfast_refused_total{token=\"two\",limit=\"sessions\"} 1\n"));
}

TEST(two_tokens_get_43_percent_of_the_sessions_each)
{
    struct front *f = guarded();
    unsigned one = 0, two = 0;
    for (int i = 0; i < SESSIONS; i++) {
        one += initialize(f, ONE)->status == 200;
        two += initialize(f, TWO)->status == 200;
    }
    CHECK(one == 17 && two == 17);
}

TEST(a_token_over_its_share_loses_its_own_session_that_was_unused_for_longest)
{
    struct front *f = guarded();
    struct trip *x;
    const struct hf_span id = header_of(initialize(f, TWO), "Mcp-Session-Id");
    char other[200];
    (void)snprintf(other, sizeof other, TWO "Accept: text/event-stream\r\nMcp-Session-Id: %.*s\r\n",
                   HF_FMT(id));
    CHECK(fill(f, ONE, &x) == 29);
    pass(f, 61000);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(initialize(f, ONE)->status, 200);
    CHECK_EQ(hf_session_table_count(&f->http->session_table), 30);
    CHECK_EQ(ask(f, "GET", "/mcp/s", other, "")->status, 200); /* unused for longer, and there */
}

TEST(the_connections_of_one_token_leave_some_to_another_and_say_which_limit_it_was)
{
    struct front *f = guarded();
    f->http->server->connections.limit = CONNECTIONS;
    char headers[300];
    (void)snprintf(headers, sizeof headers,
                   ONE "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
                       "Mcp-Session-Id: %.*s\r\n",
                   HF_FMT(header_of(initialize(f, ONE), "Mcp-Session-Id")));
    struct trip *x;
    unsigned open = 0;
    do { /* each waits for the answer of a call */
        x = ask(f, "POST", "/mcp/s", headers,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"echo\"}}");
        open += x->status == 0;
    } while (x->status == 0 && open < CONNECTIONS);
    CHECK(open >= 20 && open <= 30); /* a session of a token: three quarters of three quarters */
    CHECK(has(x, "its share of the connections") && header_of(x, "Connection").p);
    CHECK_EQ(initialize(f, TWO)->status, 200);
    x = ask(f, "GET", "/metrics", TWO, "");
    CHECK(has(x, "holdfast_refused_total{token=\"one\",limit=\"connections\"} 1\n"));
}

/* ---- addresses ---- */

TEST(behind_a_trusted_proxy_each_address_is_a_party_and_what_a_client_claims_is_not)
{
    struct front *f = front_new(86400000, SESSIONS);
    struct hf_access *access = hf_access_new(NULL, NULL);
    struct trip *x;
    hf_access_trust(access, (char *[]) { "127.0.0.0/8", "10.0.0.0/8", NULL });
    CHECK(hf_http_front_admit(f->http, access));
    /* whatever stands left of the last address that is not a proxy's, anybody may have written */
    unsigned in = 0;
    for (int i = 0; i < SESSIONS; i++) {
        char headers[100];
        (void)snprintf(headers, sizeof headers,
                       "X-Forwarded-For: 192.0.2.%d, 203.0.113.9, 10.1.1.1\r\n", i);
        x = initialize(f, headers);
        in += x->status == 200;
    }
    CHECK(in == SESSIONS * 3 / 4 && x->status == 429);
    CHECK_EQ(initialize(f, "X-Forwarded-For: 203.0.113.10\r\n")->status, 200);
    CHECK_EQ(initialize(f, "X-Forwarded-For: 203.0.113.9\r\n")->status, 429);
}

TEST(without_a_trusted_proxy_nobody_believes_x_forwarded_for)
{
    struct front *f = front_new(86400000, SESSIONS);
    struct trip *x;
    CHECK(fill(f, "X-Forwarded-For: 203.0.113.9\r\n", &x) == SESSIONS); /* each is its connection */
    CHECK_EQ(x->status, 503);
}

TEST(the_address_of_a_request_is_the_last_hop_that_is_no_proxy_of_ours)
{
    static const struct {
        const char *peer, *forwarded, *address; /* NULL: none that tells anything */
    } rows[] = {
        { "203.0.113.5", "", "203.0.113.5" },
        { "203.0.113.5", "X-Forwarded-For: 192.0.2.1\r\n", "203.0.113.5" },
        { "10.0.0.1", "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1" },
        { "10.0.0.1", "x-forwarded-for:  192.0.2.9 ,192.0.2.1\t, 10.2.3.4\r\n", "192.0.2.1" },
        { "10.0.0.1", "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1" },
        { "10.0.0.1", "X-Forwarded-For: 192.0.2.1:5555\r\n", "192.0.2.1" },
        { "10.0.0.1", "X-Forwarded-For: [2001:db8::1]:5\r\n", "2001:db8::1" },
        { "10.0.0.1", "X-Forwarded-For: 192.0.2.1, unknown\r\n", NULL },
        { "10.0.0.1", "X-Forwarded-For: 192.0.2.1, unknown, 10.9.9.9\r\n", NULL },
        { "10.0.0.1", "", NULL },
        { "10.0.0.1", "X-Forwarded-For: \r\n", NULL },
        { "10.0.0.1", "X-Forwarded-For: 127.0.0.1\r\n", NULL },
        { "127.0.0.1", "X-Forwarded-For: 192.0.2.1\r\n", NULL },
        { "", "X-Forwarded-For: 192.0.2.1\r\n", NULL },
    };
    struct hf_access *access = hf_access_new(NULL, NULL);
    hf_access_trust(access, (char *[]) { "10.0.0.0/8", NULL });
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400];
        struct hf_http_request request;
        struct hf_address peer, found, right;
        const char *why;
        (void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", rows[i].forwarded);
        CHECK(hf_http_request_parse(hf_span_of(text), &request, &why) == 0);
        const bool has_peer = hf_address_read(hf_span_of(rows[i].peer), &peer);
        const bool is_there =
            hf_access_address(access, has_peer ? &peer : NULL, &request.head, &found);
        const bool is_right =
            rows[i].address ? is_there && hf_address_read(hf_span_of(rows[i].address), &right) &&
                                  memcmp(&found, &right, sizeof found) == 0
                            : !is_there;
        if (!is_right)
            printf("# row %zu\n", i);
        CHECK(is_right);
    }
    hf_access_free(access);
}

/* ---- limits of a token's own ---- */

static struct front *limited(struct hf_token_limits limits)
{
    struct front *f = front_new(86400000, SESSIONS);
    struct hf_access *access = hf_access_new(NULL, NULL);
    add_token(access, "one");
    hf_access_set_limits(access, &limits);
    add_token(access, "two");
    if (!hf_http_front_admit(f->http, access))
        abort();
    return f;
}

TEST(a_token_has_no_more_sessions_than_its_own_limit_and_is_told_so)
{
    struct front *f = limited((struct hf_token_limits) { .sessions = 3 });
    struct trip *x;
    CHECK(fill(f, ONE, &x) == 3 && x->status == 429);
    CHECK(has(x, "(limits.sessions)"));
    CHECK(fill(f, TWO, &x) > 3);
    x = ask(f, "GET", "/metrics", TWO, "");
    CHECK(has(x, "holdfast_token_sessions{token=\"one\"} 3\n"));
    CHECK(has(x, "holdfast_token_answers_total{token=\"one\"} 3\n"));
    CHECK(has(x, "holdfast_token_calls{token=\"one\"} 0\n"));
}

TEST(a_token_that_comes_too_often_is_told_before_its_body_is_read_when_to_come_again)
{
    struct front *f = limited((struct hf_token_limits) { .rate_per_minute = 4 });
    struct trip *x;
    CHECK_EQ(fill(f, ONE, &x), 4);
    CHECK(x->status == 429 && has(x, "(limits.ratePerMinute)"));
    CHECK(hf_span_is(header_of(x, "Retry-After"), "15"));
    CHECK_EQ(initialize(f, TWO)->status, 200);
    pass(f, 14999);
    CHECK_EQ(initialize(f, ONE)->status, 429);
    pass(f, 1);
    CHECK_EQ(initialize(f, ONE)->status, 200);
    CHECK_EQ(initialize(f, ONE)->status, 429);
    x = ask(f, "GET", "/metrics", TWO, "");
    CHECK(has(x, "holdfast_refused_total{token=\"one\",limit=\"rate\"} 3\n"));
}

TEST(other_limits_hold_for_a_token_that_is_there_already)
{
    struct front *f = limited((struct hf_token_limits) { .sessions = 3 });
    struct trip *x;
    CHECK_EQ(fill(f, ONE, &x), 3);
    struct hf_access *access = hf_access_new(NULL, NULL);
    add_token(access, "one");
    hf_access_set_limits(access, &(struct hf_token_limits) { .sessions = 5 });
    REQUIRE(hf_http_front_admit(f->http, access));
    CHECK_EQ(fill(f, ONE, &x), 2);
}
