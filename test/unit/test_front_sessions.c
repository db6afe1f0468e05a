/* test_front_sessions.c - sessions of HTTP clients: how they come, whose they are, when they end;
 * and the streams on which they listen. */
#include "front_fixture.h"

static void change_tools(struct front *f, int number)
{
    static char tools[200];
    (void)snprintf(tools, sizeof tools,
                   "[{\"name\":\"echo\",\"inputSchema\":{}},{\"name\":\"t%d\",\"inputSchema\":{}}]",
                   number);
    struct child *child = newest_child(f->w, f->server);
    child->manners.tools = tools;
    child_says(child, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    pass(f, 0);
}

static int ping(struct front *f, const char *session)
{
    return post(f, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")->status;
}

TEST(without_a_session_only_initialize_is_taken_and_what_is_wrong_is_said_with_a_status)
{
    static const struct {
        const char *body;
        int status;
        const char *code;
    } rows[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 400, "-32000" },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"initialize\"}", 400, "-32000" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1", 400, "-32700" },
        { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]", 400, "-32600" },
        { "7", 400, "-32600" },
    };
    struct front *f = front_new(1000000, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trip *x = post(f, NULL, rows[i].body);
        CHECK(x->status == rows[i].status && has(x, rows[i].code) == 1);
        CHECK(!header_of(x, "Mcp-Session-Id").p);
    }
    CHECK_EQ(has(ask(f, "GET", "/metrics", "", ""), "holdfast_sessions 0\n"), 1);
}

TEST(a_session_nobody_uses_ends_after_its_time_and_one_with_a_call_or_a_stream_does_not)
{
    struct front *f = front_new(100000, 10);
    const char *idle = join(f, "2025-11-25"), *calls = join(f, "2025-11-25"),
               *listens = join(f, "2025-11-25"), *uses = join(f, "2025-11-25");
    leave(f, call(f, calls, 1)); /* its client is away, and the call goes on */
    struct trip *listening = get(f, listens, NULL);
    pass(f, 99999);
    CHECK_EQ(ping(f, uses), 200);
    pass(f, 1);
    CHECK(ping(f, idle) == 404 && ping(f, uses) == 200);
    CHECK(!listening->is_over && ping(f, calls) == 200);
    answer_call(f);
    leave(f, listening);
    pass(f, 100000);
    CHECK(ping(f, calls) == 404 && ping(f, listens) == 404 && ping(f, uses) == 404);
}

TEST(a_full_table_refuses_newcomers_until_somebody_was_away_for_a_minute)
{
    struct front *f = front_new(1000000, 2);
    const char *busy = join(f, "2025-11-25"), *idle = join(f, "2025-11-25");
    struct trip *listening = get(f, busy, NULL);
    pass(f, 59999);
    CHECK_STR(join(f, "2025-11-25"), "none");
    pass(f, 1);
    const char *fresh = join(f, "2025-11-25");
    CHECK(ping(f, fresh) == 200 && ping(f, idle) == 404 && ping(f, busy) == 200);
    CHECK(!listening->is_over);
}

TEST(a_client_that_leaves_before_it_was_told_its_session_leaves_none)
{
    struct front *f = front_new(1000000, 10);
    operate(f->w, f->server, HF_OP_REMOVE);
    settle(f->w);
    struct hf_settings settings = default_settings();
    f->server = add_server(f->w, "s", settings);
    manners_of(f->w, f->server)->mute = true; /* so that initialize waits */
    settle(f->w);
    struct trip *x =
        post(f, NULL,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{}}}");
    CHECK_EQ(x->status, 0);
    CHECK_EQ(has(ask(f, "GET", "/metrics", "", ""), "holdfast_sessions 1\n"), 1);
    leave(f, x);
    CHECK_EQ(has(ask(f, "GET", "/metrics", "", ""), "holdfast_sessions 0\n"), 1);
}

TEST(news_that_belong_to_no_request_go_into_the_newest_stream_alone)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    change_tools(f, 1); /* nobody listens yet */
    struct trip *first = get(f, session, NULL);
    CHECK_EQ(has(first, "list_changed"), 1);
    struct trip *second = get(f, session, NULL);
    CHECK_EQ(has(second, "list_changed"), 0);
    change_tools(f, 2);
    CHECK(has(first, "list_changed") == 1 && has(second, "list_changed") == 1);
    leave(f, second);
    change_tools(f, 3);
    CHECK_EQ(has(first, "list_changed"), 2);
    leave(f, first);
    change_tools(f, 4);
    struct trip *third = get(f, session, last_id(second));
    CHECK_EQ(has(third, "list_changed"), 2); /* all that came after what this one had seen */
}

TEST(a_session_listens_on_sixteen_streams_and_no_more)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *streams[16];
    for (int i = 0; i < 16; i++)
        streams[i] = get(f, session, NULL);
    CHECK_EQ(get(f, session, NULL)->status, 409);
    leave(f, streams[3]);
    CHECK_EQ(get(f, session, NULL)->status, 200);
    pass(f, 15000);
    CHECK(has(streams[0], ": ping") == 1 && has(streams[15], ": ping") == 1);
    char headers[120];
    (void)snprintf(headers, sizeof headers, "Mcp-Session-Id: %s\r\n", session);
    CHECK_EQ(ask(f, "DELETE", "/mcp/s", headers, "")->status, 204);
    CHECK(streams[0]->is_over && streams[15]->is_over && ping(f, session) == 404);
}

TEST(a_client_that_ends_its_session_is_told_how_far_its_calls_got)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *quiet = call(f, session, 1);
    char headers[120];
    (void)snprintf(headers, sizeof headers, "Mcp-Session-Id: %s\r\n", session);
    CHECK_EQ(ask(f, "DELETE", "/mcp/s", headers, "")->status, 204);
    CHECK(quiet->status == 200 && quiet->is_over && has(quiet, "\"id\":1,") == 1);
    CHECK(has(quiet, "\"code\":-31002,") == 1 && has(quiet, "\"dispatched\":true") == 1);
    CHECK_EQ(child_got(newest_child(f->w, f->server), "notifications/cancelled"), 1);
}

TEST(an_http_and_sse_client_is_its_stream_and_ends_with_it)
{
    struct front *f = front_new(1000000, 10);
    struct trip *x = ask(f, "GET", "/sse/s", "", "");
    REQUIRE(x->is_stream && has(x, "event: endpoint\ndata: /sse/s?session=") == 1);
    char path[200];
    const struct hf_span out = hf_buf_span(&x->out);
    (void)snprintf(path, sizeof path, "%.*s", (int)out.n - 24, out.p + 22);
    struct trip *sent =
        ask(f, "POST", path, "", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}");
    CHECK(sent->status == 202 && hf_buf_len(&sent->out) == 0);
    CHECK_EQ(has(x, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n\n"), 1);
    pass(f, 15000);
    CHECK_EQ(has(x, ": ping"), 1);
    leave(f, x);
    CHECK_EQ(ask(f, "POST", path, "", "{}")->status, 404);
}

/* ---- whose it is ---- */

static struct hf_access *access_of(const char *const *tokens, struct hf_policy *policy)
{
    struct hf_access *access = hf_access_new(NULL, NULL);
    uint8_t hash[HF_SHA256_SIZE];
    for (; *tokens; tokens++) {
        hf_sha256(hf_span_of(*tokens), hash);
        hf_access_add_token(access, *tokens, hash, policy, HF_ERRORS_UNSAID);
        policy = NULL;
    }
    return access;
}

static int ping_as(struct front *f, const char *token, const char *session, const char *path)
{
    char headers[400];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nMcp-Session-Id: %s\r\n"
                   "Authorization: Bearer %s\r\n",
                   session, token);
    return ask(f, "POST", path, headers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")
        ->status;
}

static const char *join_as(struct front *f, const char *token)
{
    static char ids[8][80];
    static unsigned next;
    char headers[200], *id = ids[next++ % 8];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nAuthorization: Bearer %s\r\n", token);
    const struct hf_span given =
        header_of(ask(f, "POST", "/mcp/s", headers,
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{}}}"),
                  "Mcp-Session-Id");
    (void)snprintf(id, 80, "%.*s", given.p ? (int)given.n : 0, given.p);
    return id;
}

TEST(a_session_is_known_to_its_own_token_and_at_its_own_endpoint_only)
{
    struct front *f = front_new(1000000, 10);
    static const char *const tokens[] = { "a", "b", NULL };
    REQUIRE(hf_http_front_admit(f->http, access_of(tokens, NULL)));
    const char *session = join_as(f, "a");
    CHECK_EQ(ping_as(f, "a", session, "/mcp/s"), 200);
    CHECK_EQ(ping_as(f, "b", session, "/mcp/s"), 404);
    CHECK_EQ(ping_as(f, "a", session, "/mcp"), 404);
    CHECK_EQ(ping_as(f, "c", session, "/mcp/s"), 401);
    CHECK_EQ(ping_as(f, "a", session, "/mcp/none"), 404);
}

TEST(when_the_tokens_change_only_sessions_of_those_that_changed_are_closed)
{
    struct front *f = front_new(1000000, 10);
    static const char *const before[] = { "a", "b", NULL }, *const after[] = { "b", "c", NULL },
                             *const servers[] = { "s", NULL }, *const narrow[] = { "s", "t", NULL };
    REQUIRE(hf_http_front_admit(f->http, access_of(before, hf_policy_new(servers, NULL, NULL))));
    const char *a = join_as(f, "a"), *b = join_as(f, "b");
    REQUIRE(hf_http_front_admit(f->http, access_of(before, hf_policy_new(servers, NULL, NULL))));
    CHECK(ping_as(f, "a", a, "/mcp/s") == 200 && ping_as(f, "b", b, "/mcp/s") == 200);
    REQUIRE(hf_http_front_admit(f->http, access_of(before, hf_policy_new(narrow, NULL, NULL))));
    CHECK(ping_as(f, "a", a, "/mcp/s") == 404 && ping_as(f, "b", b, "/mcp/s") == 200);
    REQUIRE(hf_http_front_admit(f->http, access_of(after, NULL)));
    CHECK(ping_as(f, "a", a, "/mcp/s") == 401 && ping_as(f, "b", b, "/mcp/s") == 200);
    front_be_remote(f);
    CHECK(!hf_http_front_admit(f->http, hf_access_new(NULL, NULL)));
    CHECK_EQ(ping_as(f, "b", b, "/mcp/s"), 200);
}

TEST(a_token_without_a_server_is_turned_away_at_its_endpoint)
{
    struct front *f = front_new(1000000, 10);
    static const char *const tokens[] = { "a", NULL }, *const servers[] = { "other", NULL };
    REQUIRE(hf_http_front_admit(f->http, access_of(tokens, hf_policy_new(servers, NULL, NULL))));
    CHECK_EQ(ping_as(f, "a", "x", "/mcp/s"), 403);
    struct trip *x = ask(f, "GET", "/mcp", "", "");
    CHECK(x->status == 401 && hf_span_starts(header_of(x, "WWW-Authenticate"), HF_SPAN("Bearer")));
    CHECK_EQ(ask(f, "GET", "/healthz", "", "")->status, 200);
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        CHECK_EQ(ask(f, "GET", "/metrics", "", "")->status, 401);
        CHECK_EQ(ask(f, "GET", "/metrics", "Authorization: Bearer a\r\n", "")->status, 200);
        front_be_remote(f);
    }
}

TEST(a_server_that_was_replaced_has_other_sessions_and_one_that_was_removed_says_so)
{
    static const char *const none[] = { NULL };
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    operate(f->w, f->server, HF_OP_REMOVE);
    settle(f->w);
    REQUIRE(hf_http_front_admit(f->http, access_of(none, NULL)));
    CHECK_EQ(has(call(f, session, 1), "-32602"), 1);
    CHECK_STR(join(f, "2025-11-25"), "none");
    f->server = add_server(f->w, "s", default_settings());
    settle(f->w);
    REQUIRE(hf_http_front_admit(f->http, access_of(none, NULL)));
    CHECK_EQ(ping(f, session), 404);
    CHECK_EQ(ping(f, join(f, "2025-11-25")), 200);
}

TEST(a_page_of_a_good_origin_may_ask_first_and_can_read_what_it_gets)
{
    struct front *f = front_new(1000000, 10);
    char origin[] = "https://app.example", *origins[] = { origin, NULL };
    struct hf_access *access = hf_access_new(NULL, origins);
    uint8_t hash[HF_SHA256_SIZE];
    hf_sha256(HF_SPAN("a"), hash);
    hf_access_add_token(access, "a", hash, NULL, HF_ERRORS_UNSAID);
    REQUIRE(hf_http_front_admit(f->http, access));
    struct trip *x = ask(f, "OPTIONS", "/mcp", "Origin: https://app.example\r\n", "");
    CHECK(x->status == 204 && header_of(x, "Access-Control-Allow-Headers").p);
    static const char *const needed[] = { "Authorization", "Mcp-Session-Id", "MCP-Protocol-Version",
                                          "Last-Event-ID", "Mcp-Method",     "Mcp-Name" };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        CHECK(span_has(header_of(x, "Access-Control-Allow-Headers"), needed[i]));
    CHECK(!span_has(header_of(x, "Access-Control-Allow-Headers"), "Param"));
    CHECK_SPAN(header_of(x, "Access-Control-Allow-Origin"), "https://app.example");
    x = ask(f, "OPTIONS", "/mcp", "Origin: https://evil.example\r\n", "");
    CHECK(x->status == 403 && !header_of(x, "Access-Control-Allow-Origin").p);
    x = ask(f, "GET", "/mcp", "Origin: https://app.example\r\n", "");
    CHECK(x->status == 401 && header_of(x, "Access-Control-Allow-Origin").p);
    CHECK(!header_of(ask(f, "GET", "/mcp", "", ""), "Access-Control-Allow-Origin").p);
}

TEST(a_page_may_send_the_arguments_that_it_asks_to_send_in_headers_and_nothing_else)
{
    struct front *f = front_new(1000000, 10);
    char origin[] = "https://app.example", *origins[] = { origin, NULL };
    REQUIRE(hf_http_front_admit(f->http, hf_access_new(NULL, origins)));
    struct trip *x =
        ask(f, "OPTIONS", "/mcp",
            "Origin: https://app.example\r\nAccess-Control-Request-Headers: "
            "content-type,mcp-param-region, Mcp-Param-Zone,x-evil,mcp-param-a b,,mcp-param\r\n",
            "");
    const struct hf_span allowed = header_of(x, "Access-Control-Allow-Headers");
    CHECK(span_has(allowed, ", tracestate, mcp-param-region, Mcp-Param-Zone"));
    CHECK(!span_has(allowed, "evil") && !span_has(allowed, "a b"));
    struct hf_buf many;
    hf_buf_init(&many, 1 << 16);
    hf_buf_add_str(&many, "Origin: https://app.example\r\nAccess-Control-Request-Headers: a");
    for (int i = 0; i < 1000; i++)
        hf_buf_printf(&many, ",mcp-param-%d", i);
    hf_buf_add(&many, (struct hf_span) { "\r\n", 3 });
    x = ask(f, "OPTIONS", "/mcp", hf_buf_span(&many).p, "");
    CHECK(x->status == 204 && header_of(x, "Access-Control-Allow-Headers").n < 9000);
    CHECK_SPAN(header_of(x, "Access-Control-Allow-Origin"), "https://app.example");
    hf_buf_done(&many);
}

/* ---- the end ---- */

TEST(at_the_end_streams_are_ended_what_was_asked_is_answered_and_nobody_comes_in_any_more)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *first = get(f, session, NULL), *second = get(f, session, NULL);
    struct trip *old = ask(f, "GET", "/sse/s", "", "");
    struct trip *x = call(f, session, 1);
    hf_http_front_stop(f->http);
    hf_engine_stop(f->w->engine, at(f->w->now_ms));
    pass(f, 0);
    CHECK(!front_listens(f) && first->is_over && second->is_over && !old->is_over);
    CHECK(x->status == 0 && !hf_http_front_is_stopped(f->http));
    CHECK_EQ(get(f, session, NULL)->status, 503);
    CHECK(ask(f, "GET", "/sse/s", "", "")->status != 200);
    CHECK_EQ(ask(f, "GET", "/readyz", "", "")->status, 503);
    answer_call(f);
    CHECK(x->is_over && has(x, "\"result\"") == 1);
    pass(f, 20000);
    CHECK(hf_engine_is_stopped(f->w->engine));
    CHECK(old->is_over && hf_http_front_is_stopped(f->http));
}
