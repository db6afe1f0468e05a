/* test_front_admission.c - requests that wait until somebody else has decided whether they may come
 * in: held, and released in every way there is. */
#include "front_fixture.h"

static struct { /* what an authorizer was asked, and what it says at once */
    unsigned count;
    uint64_t ticket; /* of the last one */
    bool has_token;
    char path[32];
    enum hf_admission says;
} asked;

static enum hf_admission note(void *context, const struct hf_http_request *request,
                              const struct hf_token *token, uint64_t ticket)
{
    (void)context;
    asked.count++;
    asked.ticket = ticket;
    asked.has_token = token != NULL;
    (void)snprintf(asked.path, sizeof asked.path, "%.*s", HF_FMT(request->path));
    return asked.says;
}

static struct front *front_asking(enum hf_admission says)
{
    static const struct hf_authorizer authorizer = { note, NULL };
    memset(&asked, 0, sizeof asked);
    asked.says = says;
    return front_new_asking(&authorizer);
}

static struct hf_access *access_of(struct hf_span token)
{
    struct hf_access *access = hf_access_new(NULL, NULL);
    uint8_t hash[HF_SHA256_SIZE];
    hf_sha256(token, hash);
    hf_access_add_token(access, "t", hash, NULL, HF_ERRORS_UNSAID);
    return access;
}

static struct trip *initialize(struct front *f, const char *headers)
{
    char all[300];
    (void)snprintf(all, sizeof all,
                   "Content-Type: application/json\r\nAccept: application/json\r\n%s", headers);
    return ask(f, "POST", "/mcp/s", all,
               "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
               "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
               "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
}

TEST(a_request_is_held_until_it_is_admitted_and_then_answered_as_if_it_had_just_come)
{
    struct front *f = front_asking(HF_UNDECIDED);
    struct trip *x = initialize(f, "");
    CHECK(x->status == 0 && asked.count == 1 && strcmp(asked.path, "/mcp/s") == 0);
    pass(f, 60000);
    CHECK_EQ(x->status, 0);
    hf_http_front_decide(f->http, asked.ticket, HF_ADMITTED);
    pass(f, 0);
    CHECK(x->status == 200 && header_of(x, "Mcp-Session-Id").p && asked.count == 1);
    hf_http_front_decide(f->http, asked.ticket, HF_ADMITTED); /* it was decided */
    pass(f, 0);
    CHECK_EQ(x->status, 200);
}

TEST(what_is_decided_at_once_is_not_held)
{
    struct front *f = front_asking(HF_ADMITTED);
    CHECK_EQ(initialize(f, "")->status, 200);
    asked.says = HF_WRONG_TOKEN;
    CHECK(initialize(f, "")->status == 401 && asked.count == 2);
}

TEST(a_request_that_is_refused_later_is_told_so_and_each_is_decided_for_itself)
{
    struct front *f = front_asking(HF_UNDECIDED);
    struct trip *first = initialize(f, "");
    const uint64_t ticket = asked.ticket;
    struct trip *second = initialize(f, "");
    CHECK(asked.ticket != ticket);
    hf_http_front_decide(f->http, asked.ticket, HF_WRONG_TOKEN);
    pass(f, 0);
    CHECK(second->status == 401 && first->status == 0);
    CHECK(hf_span_starts(header_of(second, "WWW-Authenticate"), HF_SPAN("Bearer")));
    hf_http_front_decide(f->http, ticket, HF_ADMITTED);
    pass(f, 0);
    CHECK_EQ(first->status, 200);
}

TEST(a_client_that_leaves_while_it_waits_is_forgotten_and_the_decision_about_it_is_too)
{
    struct front *f = front_asking(HF_UNDECIDED);
    struct trip *x = initialize(f, "");
    leave(f, x);
    hf_http_front_decide(f->http, asked.ticket, HF_ADMITTED);
    pass(f, 0);
    CHECK_EQ(x->status, 0);
}

TEST(a_token_that_is_gone_when_the_decision_comes_does_not_come_in)
{
    struct front *f = front_asking(HF_UNDECIDED);
    CHECK(hf_http_front_admit(f->http, access_of(HF_SPAN("old"))));
    CHECK(initialize(f, "")->status == 401 && asked.count == 0); /* our own rules come first */
    struct trip *x = initialize(f, "Authorization: Bearer old\r\n");
    CHECK(x->status == 0 && asked.count == 1 && asked.has_token);
    CHECK(hf_http_front_admit(f->http, access_of(HF_SPAN("new"))));
    hf_http_front_decide(f->http, asked.ticket, HF_ADMITTED);
    pass(f, 0);
    CHECK_EQ(x->status, 401);
}

TEST(nobody_is_asked_about_what_anybody_may_see_and_about_metrics_only_from_elsewhere)
{
    struct front *f = front_asking(HF_UNDECIDED);
    CHECK_EQ(ask(f, "GET", "/healthz", "", "")->status, 200);
    CHECK(ask(f, "GET", "/metrics", "", "")->status == 200 && asked.count == 0);
    front_be_remote(f);
    struct trip *x = ask(f, "GET", "/metrics", "", "");
    CHECK(x->status == 0 && asked.count == 1);
    hf_http_front_decide(f->http, asked.ticket, HF_ADMITTED);
    pass(f, 0);
    CHECK(x->status == 200 && has(x, "holdfast_sessions") > 0);
}

TEST(a_front_may_end_while_requests_wait)
{
    struct front *f = front_asking(HF_UNDECIDED);
    CHECK(initialize(f, "")->status == 0 && initialize(f, "")->status == 0);
}

TEST(headers_for_web_pages_go_only_to_origins_that_may_come_in)
{
    static const struct {
        const char *method, *path;
        int status;
    } rows[] = {
        { "GET", "/healthz", 200 },  { "GET", "/readyz", 200 },  { "POST", "/healthz", 405 },
        { "GET", "/nowhere", 404 },  { "PUT", "/metrics", 405 }, { "OPTIONS", "/readyz", 405 },
        { "GET", "/metrics", 200 },  { "PUT", "/mcp", 405 },     { "GET", "/mcp/s", 405 },
        { "DELETE", "/mcp/s", 405 },
    };
    struct front *f = front_new(1000000, 10);
    CHECK(hf_http_front_admit(f->http, hf_access_new(NULL, (char *[]) { "https://app.a", NULL })));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct trip *good = ask(f, rows[i].method, rows[i].path,
                                      "Accept: text/event-stream\r\nOrigin: https://app.a\r\n", "");
        const struct trip *evil =
            ask(f, rows[i].method, rows[i].path,
                "Accept: text/event-stream\r\nOrigin: https://evil.a\r\n", "");
        const bool is_right =
            good->status == rows[i].status &&
            (evil->status == rows[i].status || evil->status == 403) &&
            hf_span_is(header_of(good, "Access-Control-Allow-Origin"), "https://app.a") &&
            !strstr(evil->headers, "Access-Control-");
        if (!is_right)
            printf("# %s %s: %d and %d\n", rows[i].method, rows[i].path, good->status,
                   evil->status);
        CHECK(is_right);
    }
}

TEST(who_is_turned_away_is_one_line_a_second_of_each_kind_and_a_count)
{
    struct front *f = front_new(1000000, 10);
    CHECK(hf_http_front_admit(f->http, access_of(HF_SPAN("good"))));
    CHECK_EQ(initialize(f, "Authorization: Bearer wrong-and-secret\r\n")->status, 401);
    CHECK_STR(f->log, "refused a request from 127.0.0.1: its token is not known here\n");
    f->log[0] = '\0';
    for (int i = 0; i < 5; i++)
        CHECK_EQ(initialize(f, "Authorization: Bearer wrong-and-secret\r\n")->status, 401);
    CHECK(!*f->log);
    CHECK_EQ(initialize(f, "")->status, 401); /* another kind */
    CHECK_STR(f->log, "refused a request from 127.0.0.1: it has no token\n");
    f->log[0] = '\0';
    pass(f, 1000); /* what was left out is told though nobody knocks any more */
    CHECK_STR(f->log, "refused 5 more requests with a token that we do not know\n");
    f->log[0] = '\0';
    pass(f, 500);
    CHECK(initialize(f, "Authorization: Bearer wrong\r\n")->status == 401 && !*f->log);
    pass(f, 60000);
    f->log[0] = '\0';
    CHECK_EQ(initialize(f, "Origin: https://evil.a\r\n")->status, 403);
    CHECK(!strcmp(f->log,
                  "refused a request from 127.0.0.1: web pages of \"https://evil.a\" are not "
                  "allowed; to allow them, add that to holdfast.origins\n"));
    f->log[0] = '\0';
    CHECK_EQ(ask(f, "GET", "/mcp", "X: y\r\n", "")->status, 401);
    const struct trip *x = ask(f, "GET", "/metrics", "Authorization: Bearer good\r\n", "");
    CHECK(has(x, "holdfast_turned_away_total{reason=\"wrong_token\"} 7\n"));
    CHECK(has(x, "holdfast_turned_away_total{reason=\"origin\"} 1\n"));
    CHECK(has(x, "holdfast_turned_away_total{reason=\"no_token\"} 2\n"));
}

/* ---- what changes between a head and its body ---- */

#define HELLO                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"                         \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"                                      \
    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"

static struct trip *begin_hello(struct front *f, const char *token)
{
    char headers[200];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nAccept: application/json\r\n"
                   "Authorization: Bearer %s\r\n",
                   token);
    return ask_begin(f, "POST", "/mcp/s", headers, "", strlen(HELLO));
}

TEST(a_token_that_is_gone_when_the_body_is_whole_does_not_come_in)
{
    struct front *f = front_new(1000000, 10);
    CHECK(hf_http_front_admit(f->http, access_of(HF_SPAN("old"))));
    struct trip *x = begin_hello(f, "old");
    CHECK_EQ(x->status, 0);
    CHECK(hf_http_front_admit(f->http, access_of(HF_SPAN("new"))));
    ask_more(f, x, HELLO);
    CHECK(x->status == 401 && !header_of(x, "Mcp-Session-Id").p);
    CHECK_EQ(initialize(f, "Authorization: Bearer new\r\n")->status, 200);
}

TEST(bodies_that_come_crosswise_belong_to_their_own_heads)
{
    struct front *f = front_new(1000000, 10);
    struct hf_access *access = access_of(HF_SPAN("one"));
    uint8_t hash[HF_SHA256_SIZE];
    hf_sha256(HF_SPAN("two"), hash);
    hf_access_add_token(access, "two", hash, NULL, HF_ERRORS_UNSAID);
    CHECK(hf_http_front_admit(f->http, access));
    struct trip *one = begin_hello(f, "one"), *two = begin_hello(f, "two");
    ask_more(f, one, HELLO);
    ask_more(f, two, HELLO);
    CHECK(one->status == 200 && two->status == 200);
    char headers[200];
    (void)snprintf(headers, sizeof headers,
                   "Authorization: Bearer two\r\nAccept: text/event-stream\r\n"
                   "Mcp-Session-Id: %.*s\r\n",
                   HF_FMT(header_of(one, "Mcp-Session-Id")));
    CHECK_EQ(ask(f, "GET", "/mcp/s", headers, "")->status, 404); /* it is the other one's */
}
