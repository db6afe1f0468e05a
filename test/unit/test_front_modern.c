/* test_front_modern.c - requests of 2026-07-28 at the endpoints of the HTTP front: which they are,
 * what must stand in their headers, and how they are answered. */
#include "front_fixture.h"

#define JSON     "Content-Type: application/json\r\n"
#define ACCEPT   "Accept: application/json, text/event-stream\r\n"
#define VERSION  "MCP-Protocol-Version: 2026-07-28\r\n"
#define METHOD   "Mcp-Method: "
#define NAMED    METHOD "tools/call\r\nMcp-Name: echo\r\n"
#define LIST     METHOD "tools/list\r\n"
#define SAYS(v)  "\"io.modelcontextprotocol/protocolVersion\":" v
#define CAN      "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META(in) "\"_meta\":{" in "}"
#define MODERN   SAYS("\"2026-07-28\"") "," CAN
#define ASK(id, method, params)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define LISTS ASK("1", "tools/list", META(MODERN))
#define CALL  ASK("1", "tools/call", "\"name\":\"echo\"," META(MODERN))
#define CALLS ASK("1", "tools/call", "\"name\":\"echo\"," META(MODERN ",\"progressToken\":7"))

static struct trip *say(struct front *f, const char *headers, const char *body)
{
    return ask(f, "POST", "/mcp/s", headers, body);
}

static struct trip *say_call(struct front *f)
{
    return say(f, JSON ACCEPT VERSION NAMED, CALLS);
}

static struct child *server_of(struct front *f)
{
    return newest_child(f->w, f->server);
}

static void tell_progress(struct front *f, int value)
{
    struct child *c = server_of(f);
    child_says(c,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":%d}}",
               HF_FMT(child_last_id(c, "tools/call")), value);
    pass(f, 0);
}

static bool has_sessions(struct front *f, int count)
{
    char line[40];
    (void)snprintf(line, sizeof line, "holdfast_sessions %d\n", count);
    return has(ask(f, "GET", "/metrics", "Authorization: Bearer b\r\n", ""), line) == 1;
}

struct row {
    const char *headers, *body;
    int status;
    const char *part; /* of the answer */
};

static void check_rows(struct front *f, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char headers[600];
        (void)snprintf(headers, sizeof headers, JSON ACCEPT "%s", rows[i].headers);
        const struct trip *x = say(f, headers, rows[i].body);
        const bool is_right =
            x->status == rows[i].status && (!rows[i].part || has(x, rows[i].part) == 1);
        if (!is_right)
            printf("# row %zu: %d %.*s\n", i, x->status, HF_FMT(hf_buf_span(&x->out)));
        CHECK(is_right);
        CHECK(!header_of(x, "Mcp-Session-Id").p);
    }
}
#define CHECK_ROWS(f, rows) check_rows(f, rows, sizeof(rows) / sizeof *(rows))

/* ---- what must stand in the headers ---- */

TEST(a_request_is_taken_only_if_its_headers_say_what_its_body_says)
{
    static const struct row rows[] = {
        { VERSION LIST, LISTS, 200, "\"id\":1,\"result\":{\"resultType\":\"complete\"" },
        { "mcp-protocol-version:2026-07-28\r\nMCP-METHOD:  tools/list \r\n", LISTS, 200,
          "\"id\":1" },
        { VERSION LIST "X-Other: 1\r\nMcp-Name: whatever\r\nMcp-Param-Other: 2\r\n", LISTS, 200,
          "\"result\"" },
        /* the version */
        { LIST, LISTS, 400, "\"id\":1,\"error\":{\"code\":-32020," },
        { "MCP-Protocol-Version: 2025-11-25\r\n" LIST, LISTS, 400, "-32020" },
        { VERSION VERSION LIST, LISTS, 400, "-32020" },
        { VERSION LIST, ASK("1", "tools/list", META(SAYS("\"v9\"") "," CAN)), 400, "-32020" },
        { "MCP-Protocol-Version: v9\r\n" LIST, ASK("2", "tools/list", META(SAYS("\"v9\"") "," CAN)),
          400,
          "\"id\":2,\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol version\","
          "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"v9\"}}" },
        { "MCP-Protocol-Version: 2025-11-25\r\n" LIST,
          ASK("1", "tools/list", META(SAYS("\"2025-11-25\"") "," CAN)), 400, "-32022" },
        { VERSION METHOD "initialize\r\n",
          ASK("1", "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}"), 400,
          "-32020" },
        /* the introduction */
        { VERSION LIST, ASK("\"a\"", "tools/list", ""), 400,
          "\"id\":\"a\",\"error\":{\"code\":-32602," },
        { VERSION LIST, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", 400, "-32602" },
        { "MCP-Protocol-Version: v9\r\n" LIST, ASK("1", "tools/list", ""), 400, "-32602" },
        { VERSION LIST, ASK("1", "tools/list", META(CAN)), 400, "-32602" },
        { VERSION LIST, ASK("1", "tools/list", META(SAYS("20260728") "," CAN)), 400, "-32602" },
        { VERSION LIST, ASK("1", "tools/list", META(SAYS("\"2026-07-28\""))), 400, "-32602" },
        { VERSION LIST,
          ASK("1", "tools/list",
              META(SAYS("\"2026-07-28\"") ","
                                          "\"io.modelcontextprotocol/clientCapabilities\":[]")),
          400, "-32602" },
        /* the method */
        { VERSION, LISTS, 400, "-32020" },
        { VERSION METHOD "tools/call\r\n", LISTS, 400, "-32020" },
        { VERSION METHOD "Tools/List\r\n", LISTS, 400, "-32020" },
        { VERSION LIST LIST, LISTS, 400, "-32020" },
    };
    struct front *f = front_new(1000000, 10);
    CHECK_ROWS(f, rows);
}

TEST(the_name_stands_in_a_header_as_it_is_or_as_base64)
{
    static const struct row rows[] = {
        { VERSION METHOD "tools/call\r\n", CALL, 400, "-32020" },
        { VERSION METHOD "tools/call\r\nMcp-Name: Echo\r\n", CALL, 400, "-32020" },
        { VERSION METHOD "tools/call\r\nMcp-Name:\r\n", CALL, 400, "-32020" },
        { VERSION NAMED "Mcp-Name: echo\r\n", CALL, 400, "-32020" },
        { VERSION METHOD "tools/call\r\nMcp-Name: =?base64?ZWNobw?=\r\n", CALL, 400, "-32020" },
        { VERSION METHOD "tools/call\r\nMcp-Name: =?base64?ZWN!bw==?=\r\n", CALL, 400, "-32020" },
        { VERSION METHOD "tools/call\r\nMcp-Name: ZWNobw==\r\n", CALL, 400, "-32020" },
        { VERSION METHOD "resources/read\r\nMcp-Name: a:c\r\n",
          ASK("1", "resources/read", "\"uri\":\"a:b\"," META(MODERN)), 400, "-32020" },
        { VERSION METHOD "prompts/get\r\n", ASK("1", "prompts/get", "\"name\":\"p\"," META(MODERN)),
          400, "-32020" },
        { VERSION METHOD "tasks/get\r\n", ASK("1", "tasks/get", "\"taskId\":\"t\"," META(MODERN)),
          400, "-32020" },
        { VERSION METHOD "tasks/update\r\nMcp-Name: u\r\n",
          ASK("1", "tasks/update", "\"taskId\":\"t\"," META(MODERN)), 400, "-32020" },
        { VERSION METHOD "tasks/cancel\r\nMcp-Name: u\r\n",
          ASK("1", "tasks/cancel", "\"taskId\":\"t\"," META(MODERN)), 400, "-32020" },
        /* without a name there is nothing to compare: what is wrong is something else */
        { VERSION METHOD "tools/call\r\n", ASK("1", "tools/call", META(MODERN)), 200, "-32602" },
    };
    struct front *f = front_new(1000000, 10);
    CHECK_ROWS(f, rows);
    CHECK_EQ(child_got(server_of(f), "tools/call"), 0);
    say(f, JSON ACCEPT VERSION METHOD "tools/call\r\nMcp-Name: =?base64?ZWNobw==?=\r\n", CALL);
    say(f, JSON ACCEPT VERSION NAMED, CALL);
    say(f, JSON ACCEPT VERSION METHOD "tools/call\r\nMcp-Name: \t echo \r\n",
        ASK("1", "tools/call", "\"name\":\"\\u0065cho\"," META(MODERN)));
    CHECK_EQ(child_got(server_of(f), "tools/call"), 3);
}

#define MARKED                                                                                     \
    "[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"                    \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"                                \
    "\"in\":{\"type\":\"object\",\"properties\":{\"count\":{\"type\":\"integer\","                 \
    "\"x-mcp-header\":\"Count\"}}}}}},"                                                            \
    "{\"name\":\"wrong\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"                    \
    "\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}}]"
#define WITH(arguments)                                                                            \
    ASK("1", "tools/call", "\"name\":\"echo\",\"arguments\":{" arguments "}," META(MODERN))

static void change_tools(struct front *f, const char *tools)
{
    struct child *c = server_of(f);
    c->manners.tools = tools;
    child_says(c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    pass(f, 0);
}

TEST(arguments_that_a_tool_marks_stand_in_headers_too)
{
    static const struct row refused[] = {
        { VERSION NAMED, WITH("\"region\":\"eu\""), 400, "-32020" },
        { VERSION NAMED "Mcp-Param-Region: us\r\n", WITH("\"region\":\"eu\""), 400, "-32020" },
        { VERSION NAMED "Mcp-Param-Region: eu\r\nmcp-param-region: eu\r\n",
          WITH("\"region\":\"eu\""), 400, "-32020" },
        { VERSION NAMED "Mcp-Param-Region: =?base64?ZXU?=\r\n", WITH("\"region\":\"eu\""), 400,
          "-32020" },
        { VERSION NAMED "Mcp-Param-Region: gr\xc3\xbcn\r\n", WITH("\"region\":\"gr\xc3\xbcn\""),
          400, "-32020" },
        { VERSION NAMED "Mcp-Param-Count: 3\r\n", WITH("\"in\":{\"count\":2}"), 400, "-32020" },
    };
    static const struct row taken[] = {
        { VERSION NAMED "Mcp-Param-Region: eu\r\n", WITH("\"region\":\"eu\""), 0, NULL },
        { VERSION NAMED "mcp-param-REGION: =?base64?Z3LDvG4=?=\r\n",
          WITH("\"region\":\"gr\xc3\xbcn\""), 0, NULL },
        { VERSION NAMED "Mcp-Param-Count: 2.0\r\n", WITH("\"in\":{\"count\":2}"), 0, NULL },
        { VERSION NAMED, WITH("\"region\":null"), 0, NULL },
        { VERSION NAMED, WITH("\"count\":2"), 0, NULL },
        { VERSION NAMED "Mcp-Param-Region: left over\r\n", WITH(""), 0, NULL },
        { VERSION METHOD "tools/call\r\nMcp-Name: wrong\r\n",
          ASK("1", "tools/call", "\"name\":\"wrong\",\"arguments\":{\"a\":1}," META(MODERN)), 0,
          NULL },
    };
    struct front *f = front_new(1000000, 10);
    change_tools(f, MARKED);
    CHECK_ROWS(f, refused);
    CHECK_EQ(child_got(server_of(f), "tools/call"), 0);
    CHECK_ROWS(f, taken);
    CHECK_EQ(child_got(server_of(f), "tools/call"), sizeof taken / sizeof *taken);
}

TEST(at_the_endpoint_of_all_servers_the_marks_are_found_under_the_names_of_that_endpoint)
{
    struct front *f = front_new(1000000, 10);
    change_tools(f, MARKED);
    static const char body[] = ASK(
        "1", "tools/call", "\"name\":\"s__echo\",\"arguments\":{\"region\":\"eu\"}," META(MODERN));
    static const char head[] = JSON ACCEPT VERSION METHOD "tools/call\r\nMcp-Name: s__echo\r\n";
    CHECK_EQ(ask(f, "POST", "/mcp", head, body)->status, 400);
    CHECK_EQ(child_got(server_of(f), "tools/call"), 0);
    char with[300];
    (void)snprintf(with, sizeof with, "%sMcp-Param-Region: eu\r\n", head);
    CHECK_EQ(ask(f, "POST", "/mcp", with, body)->status, 0);
    CHECK_EQ(child_got(server_of(f), "tools/call"), 1);
}

/* ---- which era? ---- */

TEST(both_eras_are_served_at_one_endpoint_and_a_session_id_means_the_older_one)
{
    struct front *f = front_new(1000000, 10);
    char headers[400];
    const char *session = join(f, "2025-11-25");
    CHECK_EQ(say(f, JSON ACCEPT VERSION LIST, LISTS)->status, 200);
    const struct trip *old =
        post(f, session, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    CHECK(old->status == 200 && !has(old, "resultType"));
    (void)snprintf(headers, sizeof headers,
                   JSON ACCEPT "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n",
                   session);
    CHECK_EQ(say(f, headers, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}")->status, 200);
    /* what has no meaning in the newer version is not looked at */
    const struct trip *both =
        say(f, JSON ACCEPT VERSION LIST "Mcp-Session-Id: none\r\nLast-Event-ID: 1.1\r\n", LISTS);
    CHECK(both->status == 200 && has(both, "resultType") == 1);
    CHECK(has_sessions(f, 2));
}

TEST(only_posts_of_one_message_are_taken)
{
    static const struct row rows[] = {
        { VERSION LIST, "[" LISTS "]", 400, "-32600" },
        { VERSION LIST, "[" LISTS, 400, "-32700" },
        { VERSION LIST, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}", 400, "-32600" },
        { VERSION, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 400, "-32600" },
        { VERSION, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", 400,
          "-32600" },
    };
    struct front *f = front_new(1000000, 10);
    CHECK_ROWS(f, rows);
    const char *session = join(f, "2025-11-25"), *const verbs[] = { "GET", "DELETE" };
    char named[300];
    (void)snprintf(named, sizeof named,
                   "Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n" VERSION, session);
    for (size_t i = 0; i < 2; i++) {
        const struct trip *bare = ask(f, verbs[i], "/mcp/s", ACCEPT, ""),
                          *modern = ask(f, verbs[i], "/mcp/s", ACCEPT VERSION, ""),
                          *mixed = ask(f, verbs[i], "/mcp/s", named, "");
        CHECK(bare->status == 405 && hf_span_is(header_of(bare, "Allow"), "POST"));
        CHECK(modern->status == 405 && hf_span_is(header_of(modern, "Allow"), "POST"));
        CHECK(mixed->status == 405 && hf_span_is(header_of(mixed, "Allow"), "POST"));
    }
    CHECK(has_sessions(f, 1)); /* that DELETE was not for it */
    CHECK_EQ(say(f, ACCEPT VERSION LIST, LISTS)->status, 415);
    CHECK_EQ(say(f, JSON "Accept: text/html\r\n" VERSION LIST, LISTS)->status, 406);
}

TEST(a_notification_is_accepted_and_cancels_nothing_by_an_id_that_others_use_too)
{
    static const struct row rows[] = {
        { VERSION, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", 202, NULL },
        { VERSION METHOD "notifications/x\r\n",
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{" META(MODERN) "}}", 202,
          NULL },
        { VERSION,
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
          "\"requestId\":1}}",
          202, NULL },
        { VERSION METHOD "notifications/y\r\n",
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", 400, "-32020" },
        { VERSION,
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{" META(
              SAYS("\"v9\"")) "}}",
          400, "-32020" },
    };
    struct front *f = front_new(1000000, 10);
    struct trip *x = say_call(f);
    CHECK_ROWS(f, rows);
    CHECK_EQ(child_got(server_of(f), "notifications/x"), 2);
    CHECK(child_got(server_of(f), "notifications/cancelled") == 0 && x->status == 0);
    answer_call(f);
    CHECK(x->status == 200 && has(x, "\"result\"") == 1);
}

/* ---- answers ---- */

TEST(an_answer_that_is_the_first_thing_to_be_said_is_one_json_body_however_late)
{
    struct front *f = front_new(1000000, 10);
    struct trip *x = say_call(f);
    pass(f, 14000);
    CHECK_EQ(x->status, 0);
    answer_call(f);
    CHECK(x->is_over && !x->is_stream && x->status == 200);
    CHECK_SPAN(header_of(x, "Content-Type"), "application/json");
    CHECK_EQ(has(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\""), 1);
    CHECK(!header_of(x, "Mcp-Session-Id").p);
}

TEST(after_something_else_was_said_the_answer_ends_a_stream_of_events_without_ids)
{
    struct front *f = front_new(1000000, 10);
    struct trip *x = say_call(f);
    tell_progress(f, 1);
    CHECK(x->is_stream && !x->is_over && !header_of(x, "Mcp-Session-Id").p);
    CHECK_SPAN(header_of(x, "X-Accel-Buffering"), "no");
    CHECK_EQ(
        has(x, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""),
        1);
    tell_progress(f, 2);
    CHECK_EQ(has(x, "\"progressToken\":7,"), 2);
    answer_call(f);
    CHECK(x->is_over && has(x, "event: message\ndata: ") == 3 && has(x, "\"result\"") == 1);
    CHECK(has(x, "id: ") == 0 && has(x, "retry:") == 0);
}

TEST(whoever_waits_hears_a_sign_of_life_every_15_s)
{
    struct front *f = front_new(1000000, 10);
    struct trip *x = say_call(f);
    pass(f, 15499);
    CHECK_EQ(x->status, 0);
    pass(f, 1);
    CHECK(x->is_stream && has(x, ": ping\n\n") == 1);
    pass(f, 15000);
    CHECK_EQ(has(x, ": ping\n\n"), 2);
    answer_call(f);
    CHECK(x->is_over && has(x, "\"result\"") == 1 && has(x, "id: ") == 0);
}

TEST(a_client_that_takes_only_one_kind_of_answer_gets_that_kind)
{
    struct front *f = front_new(1000000, 10);
    struct trip *json = say(f, JSON "Accept: application/json\r\n" VERSION NAMED, CALLS);
    tell_progress(f, 1);
    pass(f, 60000);
    CHECK_EQ(json->status, 0);
    answer_call(f);
    CHECK(json->status == 200 && !json->is_stream && has(json, "\"result\"") == 1);
    struct trip *events = say(f, JSON "Accept: text/event-stream\r\n" VERSION NAMED, CALLS);
    answer_call(f);
    CHECK(events->is_stream && events->is_over && has(events, "data: {\"jsonrpc\"") == 1);
    const struct trip *listen =
        say(f, JSON "Accept: application/json\r\n" VERSION METHOD "subscriptions/listen\r\n",
            ASK("1", "subscriptions/listen", "\"notifications\":{}," META(MODERN)));
    CHECK_EQ(listen->status, 406);
}

TEST(a_subscription_is_a_stream_from_its_acknowledgement_on_and_its_result_ends_it)
{
    static const char head[] = JSON ACCEPT VERSION METHOD "subscriptions/listen\r\n",
                      body[] = ASK("\"L\"", "subscriptions/listen",
                                   "\"notifications\":{\"toolsListChanged\":true}," META(MODERN));
    struct front *f = front_new(1000, 10);
    struct trip *x = say(f, head, body), *other = say(f, head, body);
    CHECK(x->is_stream && has(x, "data: ") == 1 && has(x, "subscriptions/acknowledged") == 1);
    CHECK_EQ(say(f, JSON ACCEPT VERSION LIST, LISTS)->status, 200);
    change_tools(f, MARKED);
    CHECK(has(x, "notifications/tools/list_changed") == 1 && has(other, "list_changed") == 1);
    leave(f, other);
    pass(f, 60000); /* longer than a session may be unused */
    CHECK(has_sessions(f, 1) && has(x, ": ping\n\n") == 4 && has(x, "id: ") == 0);
    change_tools(f, "[]");
    CHECK(has(x, "notifications/tools/list_changed") == 2 && !x->is_over);
    hf_http_front_stop(f->http);
    hf_engine_stop(f->w->engine, at(f->w->now_ms));
    pass(f, 0);
    CHECK(x->is_over && has(x, "\"id\":\"L\",\"result\":") == 1);
}

TEST(what_is_wrong_with_the_request_as_such_has_a_status_and_our_own_errors_have_none)
{
    static const struct {
        int code, status;
    } rows[] = { { -32601, 404 }, { -32020, 400 }, { -32021, 400 }, { -32022, 400 },
                 { -32602, 200 }, { -32603, 200 }, { -32000, 200 }, { 17, 200 } };
    struct front *f = front_new(1000000, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trip *x = say_call(f);
        child_answers_error(server_of(f), "tools/call", rows[i].code, "no");
        pass(f, 0);
        CHECK(x->status == rows[i].status && has(x, "\"id\":1,\"error\":{\"code\":") == 1);
    }
    struct trip *x = say_call(f); /* the head is out already */
    tell_progress(f, 1);
    child_answers_error(server_of(f), "tools/call", -32601, "no");
    pass(f, 0);
    CHECK(x->status == 200 && x->is_over && has(x, "-32601") == 1);
    static const char *const removed[] = { "ping", "initialize", "logging/setLevel" };
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        char headers[300], body[400];
        (void)snprintf(headers, sizeof headers, JSON ACCEPT VERSION METHOD "%s\r\n", removed[i]);
        (void)snprintf(body, sizeof body, ASK("5", "%s", META(MODERN)), removed[i]);
        x = say(f, headers, body);
        CHECK(x->status == 404 && has(x, "\"id\":5,\"error\":{\"code\":-32601,") == 1);
    }
    operate(f->w, f->server, HF_OP_DISABLE);
    pass(f, 0);
    x = say_call(f);
    CHECK(x->status == 200 && has(x, "-31003") == 1);
    x = say(
        f, JSON ACCEPT VERSION METHOD "prompts/get\r\nMcp-Name: p\r\n",
        ASK("6", "prompts/get", "\"name\":\"p\"," META(MODERN))); /* as an error, not a result */
    CHECK(x->status == 200 && has(x, "\"id\":6,\"error\":{\"code\":-31003,") == 1);
}

/* ---- clients and tokens that go ---- */

TEST(a_client_that_goes_takes_its_own_request_back_and_hears_nothing_more)
{
    struct front *f = front_new(1000000, 10);
    struct trip *x = say_call(f), *other = say_call(f);
    tell_progress(f, 1);
    CHECK(!x->is_stream && other->is_stream);
    leave(f, other);
    CHECK_EQ(child_got(server_of(f), "notifications/cancelled"), 1); /* that is how it cancels */
    const struct hf_span id = hf_json_get(
        child_last(server_of(f), "notifications/cancelled")->msg.params, HF_SPAN("requestId"));
    CHECK(hf_span_eq(id, child_last_id(server_of(f), "tools/call")));
    tell_progress(f, 2);
    answer_call(f);
    CHECK_EQ(x->status, 0);
    child_answers_line(server_of(f), server_of(f)->got.count - 3, "{\"content\":[]}");
    pass(f, 0);
    CHECK(x->status == 200 && has(x, "\"result\"") == 1);
}

TEST(a_client_that_goes_while_its_call_waits_for_the_server_leaves_nothing_to_be_sent)
{
    struct front *f = front_new(1000000, 10);
    manners_of(f->w, f->server)->never_starts = true;
    child_dies(server_of(f));
    pass(f, 0);
    struct trip *x = say_call(f), *other = say_call(f);
    leave(f, x);
    server_of(f)->manners.never_starts = false;
    pass(f, 0);
    CHECK_EQ(child_got(server_of(f), "tools/call"), 1);
    answer_call(f);
    CHECK_EQ(has(other, "\"result\""), 1);
}

TEST(two_clients_of_one_token_share_a_session_and_their_ids_do_not_meet)
{
    struct front *f = front_new(100000, 10);
    struct trip *a = say_call(f), *b = say_call(f);
    CHECK(has_sessions(f, 1));
    tell_progress(f, 1); /* of the newer one */
    CHECK(a->status == 0 && has(b, "progress") > 0);
    child_answers(server_of(f), "tools/call", "{\"content\":[{\"n\":2}]}");
    child_answers_line(server_of(f), server_of(f)->got.count - 2, "{\"content\":[{\"n\":1}]}");
    pass(f, 0);
    CHECK(has(a, "\"id\":1,\"result\"") == 1 && has(a, "{\"n\":1}") == 1);
    CHECK(has(b, "\"id\":1,\"result\"") == 1 && has(b, "{\"n\":2}") == 1);
    CHECK_EQ(ask(f, "POST", "/mcp", JSON ACCEPT VERSION LIST, LISTS)->status, 200);
    CHECK(has_sessions(f, 2)); /* another endpoint */
}

TEST(a_session_nobody_uses_is_dropped_and_one_with_a_request_is_not)
{
    struct front *f = front_new(100000, 10);
    CHECK_EQ(say(f, JSON ACCEPT VERSION LIST, LISTS)->status, 200);
    struct trip *x = say_call(f);
    pass(f, 300000);
    CHECK(has_sessions(f, 1) && !x->is_over);
    answer_call(f);
    CHECK(x->is_over);
    pass(f, 99999);
    CHECK_EQ(say(f, JSON ACCEPT VERSION LIST, LISTS)->status, 200);
    pass(f, 99999);
    CHECK(has_sessions(f, 1));
    pass(f, 2);
    CHECK(has_sessions(f, 0));
    CHECK_EQ(say(f, JSON ACCEPT VERSION LIST, LISTS)->status, 200);
}

static struct hf_access *access_of(const char *const *tokens)
{
    struct hf_access *access = hf_access_new(NULL, NULL);
    uint8_t hash[HF_SHA256_SIZE];
    for (; *tokens; tokens++) {
        hf_sha256(hf_span_of(*tokens), hash);
        hf_access_add_token(access, *tokens, hash, NULL, HF_ERRORS_UNSAID);
    }
    return access;
}

TEST(with_its_token_its_requests_end_and_those_of_others_go_on)
{
    static const char *const before[] = { "a", "b", NULL }, *const after[] = { "b", NULL };
    static const char as_a[] = JSON ACCEPT VERSION NAMED "Authorization: Bearer a\r\n",
                      as_b[] = JSON ACCEPT VERSION NAMED "Authorization: Bearer b\r\n";
    struct front *f = front_new(1000000, 10);
    REQUIRE(hf_http_front_admit(f->http, access_of(before)));
    struct trip *streams = say(f, as_a, CALLS);
    tell_progress(f, 1);
    struct trip *waits = say(f, as_a, CALLS), *other = say(f, as_b, CALLS);
    CHECK(has_sessions(f, 2));
    REQUIRE(hf_http_front_admit(f->http, access_of(after)));
    pass(f, 0);
    CHECK(streams->is_over && has(streams, "\"isError\":true") == 1);
    CHECK(waits->status == 200 &&
          has(waits, "\"id\":1,\"result\":{\"resultType\":\"complete\"") == 1);
    CHECK_EQ(has(waits, "\"" HF_META_OUTCOME "\":{\"code\":-31002,"), 1);
    CHECK_EQ(has(waits, "\"dispatched\":true,\"retrySafe\":false,\"retry\":\"check_first\""), 1);
    CHECK(other->status == 0 && has_sessions(f, 1));
    CHECK_EQ(child_got(server_of(f), "notifications/cancelled"), 2);
    CHECK_EQ(say(f, as_a, CALLS)->status, 401);
    answer_call(f);
    CHECK_EQ(has(other, "\"result\""), 1);
}

TEST(at_the_end_what_was_asked_is_answered_and_the_rest_is_refused)
{
    struct front *f = front_new(1000000, 10);
    struct trip *x = say_call(f);
    hf_http_front_stop(f->http);
    hf_engine_stop(f->w->engine, at(f->w->now_ms));
    pass(f, 0);
    CHECK_EQ(x->status, 0);
    struct trip *late = say_call(f);
    CHECK(late->status == 200 && has(late, "-31001") == 1);
    CHECK_EQ(ask(f, "POST", "/mcp", JSON ACCEPT VERSION LIST, LISTS)->status, 503);
    answer_call(f);
    CHECK(x->status == 200 && has(x, "\"result\"") == 1);
    pass(f, 20000);
    CHECK(hf_http_front_is_stopped(f->http));
}
