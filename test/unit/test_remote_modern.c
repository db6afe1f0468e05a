/*
 * test_remote_modern.c - modern servers over HTTP: what each request says of itself in headers, and
 * what becomes of a call whose server does not believe it, or has changed its era.
 */
#include "engine_http.h"

#define CALL     "tools/call"
#define DISCOVER "server/discover"
#define RESULT   "{\"resultType\":\"complete\",\"content\":[]}"
#define MISMATCH "{\"code\":-32020,\"message\":\"Header mismatch\"}"
#define ANOTHER(supported)                                                                         \
    "{\"code\":-32022,\"message\":\"Unsupported protocol "                                         \
    "version\",\"data\":{\"supported\":[\"" supported "\"]}}"
#define MARKED(mark)                                                                               \
    "[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"where\":{"         \
    "\"type\":\"string\",\"x-mcp-header\":\"" mark "\"}}}}]"

static struct scene remote_with(bool is_modern)
{
    struct scene s = { .w = world_new() };
    s.server = add_remote(s.w, "s", SETTINGS(.era = HF_ERA_UNKNOWN, .relist_ms = 0));
    manners_of(s.w, s.server)->is_modern = is_modern;
    manners_of(s.w, s.server)->tools = MARKED("Region");
    settle(s.w);
    s.client = greeted_client(s.w, NULL);
    client_asks(s.client, 900, "tools/list");
    return s;
}

static struct scene remote_modern(void)
{
    return remote_with(true);
}

static void calls(const struct scene *s, int id)
{
    client_says(s->client,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"" CALL "\",\"params\":{\"name\":"
                "\"s__echo\",\"arguments\":{\"where\":\"eu\"}}}",
                id);
}

static bool says(const struct exchange *x, const char *line)
{
    return x->headers && strstr(x->headers, line) != NULL;
}

/* ---- what a request says of itself ---- */

TEST(every_request_names_its_method_and_a_call_also_the_servers_own_tool_and_marked_arguments)
{
    struct scene s = remote_modern();
    CHECK_STR(last_exchange(s.w, DISCOVER)->version, "2026-07-28");
    CHECK_STR(last_exchange(s.w, DISCOVER)->headers, "Mcp-Method: server/discover\n");
    CHECK_STR(last_exchange(s.w, "tools/list")->headers, "Mcp-Method: tools/list\n");
    calls(&s, 1);
    const struct exchange *x = last_exchange(s.w, CALL);
    CHECK(is_text(x->version, "2026-07-28") && !x->session_id);
    CHECK_STR(x->headers, "Mcp-Method: tools/call\nMcp-Name: echo\nMcp-Param-Region: eu\n");
}

TEST(what_a_header_cannot_say_plainly_travels_as_base64_and_what_has_no_word_in_none)
{
    static const struct {
        const char *arguments, *line; /* NULL: none */
    } rows[] = {
        { "{\"where\":\"e u\"}", "Mcp-Param-Region: e u\n" },
        { "{\"where\":\" eu\"}", "Mcp-Param-Region: =?base64?IGV1?=\n" },
        { "{\"where\":\"\\u00fc\"}", "Mcp-Param-Region: =?base64?w7w=?=\n" },
        { "{\"where\":\"a\\r\\nX: 1\"}", "Mcp-Param-Region: =?base64?YQ0KWDogMQ==?=\n" },
        { "{\"where\":\"=?base64?x?=\"}", "Mcp-Param-Region: =?base64?PT9iYXNlNjQ/eD89?=\n" },
        { "{\"where\":\"\"}", "Mcp-Param-Region: =?base64?"
                              "?=\n" },
        { "{\"where\":null}", NULL },
        { "{\"where\":{\"eu\":1}}", NULL },
        { "{\"elsewhere\":\"eu\"}", NULL },
        { "{}", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = remote_modern();
        client_says(s.client,
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" CALL "\",\"params\":{\"name\":"
                    "\"s__echo\",\"arguments\":%s}}",
                    rows[i].arguments);
        const struct exchange *x = last_exchange(s.w, CALL);
        CHECK(rows[i].line ? says(x, rows[i].line) : !says(x, "Mcp-Param"));
        world_end(s.w);
    }
}

TEST(prompts_and_resources_are_named_as_well)
{
    struct scene s = { .w = world_new() };
    s.server = add_remote(s.w, "s", SETTINGS(.era = HF_ERA_UNKNOWN));
    struct manners *m = manners_of(s.w, s.server);
    m->is_modern = true;
    m->prompts = "[{\"name\":\"p\\u00fc\"}]";
    m->resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]";
    settle(s.w);
    s.client = greeted_client(s.w, NULL);
    client_requests(s.client, 1, "resources/read", "{\"uri\":\"a:1\"}");
    CHECK(says(last_exchange(s.w, "resources/read"), "Mcp-Name: a:1\n"));
    client_requests(s.client, 2, "prompts/get", "{\"name\":\"s__p\\u00fc\"}");
    CHECK(says(last_exchange(s.w, "prompts/get"), "Mcp-Name: =?base64?cMO8?=\n"));
}

TEST(tools_with_marks_that_no_header_can_follow_are_left_out_with_a_warning)
{
    for (int is_modern = 0; is_modern <= 1; is_modern++) {
        struct scene s = { .w = world_new() };
        s.server = add_remote(s.w, "s", SETTINGS(.era = HF_ERA_UNKNOWN));
        manners_of(s.w, s.server)->is_modern = is_modern;
        manners_of(s.w, s.server)->tools =
            "[{\"name\":\"good\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"bad\","
            "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\","
            "\"x-mcp-header\":\"no such: name\"}}}}]";
        settle(s.w);
        s.client = greeted_client(s.w, s.server);
        client_asks(s.client, 1, "tools/list");
        CHECK(is_text(names_in(s.client, 1, "tools"), is_modern ? "good" : "good,bad"));
        CHECK_EQ(notes_with(s.w, "TOOLS_LEFT_OUT"), (size_t)is_modern);
        world_end(s.w);
    }
}

TEST(requests_to_a_legacy_server_carry_none_of_these_headers)
{
    struct scene s = remote_scene();
    client_calls(s.client, 1, "echo");
    CHECK(!last_exchange(s.w, CALL)->headers && !last_exchange(s.w, "tools/list")->headers);
}

/* ---- not believed ---- */

TEST(a_call_refused_for_its_headers_goes_out_once_more_after_its_tool_was_listed_again)
{
    struct scene s = remote_modern();
    struct manners *m = manners_of(s.w, s.server);
    m->tools = MARKED("Place");
    calls(&s, 1);
    exchange_answers_error(last_exchange(s.w, CALL), 400, MISMATCH);
    REQUIRE_EQ(exchanges(s.w, CALL), 2);
    CHECK(says(last_exchange(s.w, CALL), "Mcp-Param-Place: eu\n"));
    CHECK(!says(last_exchange(s.w, CALL), "Region"));
    exchange_answers_error(last_exchange(s.w, CALL), 400, MISMATCH);
    CHECK(sent(s.w, CALL) == 2 && exchanges(s.w, "tools/list") == 2);
    CHECK(error_of(s.client, 1) == -32020 && answers_to(s.client, 1) == 1);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
}

TEST(a_code_of_the_revision_in_an_odd_body_proves_nothing_and_is_the_answer)
{
    static const struct {
        const char *type, *format;
    } odd[] = {
        { "application/json", "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":" MISMATCH "} and so on" },
        { "application/json", "[{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":" MISMATCH "}]" },
        { "application/json", "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":" MISMATCH "}" },
        { "application/json",
          "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32022,\"message\":"
          "\"v\",\"data\":{\"supported\":[]}}}" },
        { "application/json",
          "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32022,\"message\":"
          "\"v\",\"data\":{\"supported\":[1]}}}" },
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct scene s = remote_modern();
        calls(&s, 1);
        exchange_fails_with(last_exchange(s.w, CALL), 400, odd[i].type, odd[i].format);
        CHECK(sent(s.w, CALL) == 1 && answers_to(s.client, 1) == 1);
        CHECK_EQ(error_of(s.client, 1), i < 3 ? -32020 : -32022);
        world_end(s.w);
    }
}

TEST(calls_that_come_while_the_tools_are_listed_again_wait_for_it_and_are_sent)
{
    struct scene s = remote_modern();
    struct manners *m = manners_of(s.w, s.server);
    m->stuck_list = true;
    calls(&s, 1);
    exchange_answers_error(last_exchange(s.w, CALL), 400, MISMATCH);
    REQUIRE_EQ(exchanges(s.w, "tools/list"), 2);
    calls(&s, 2);
    CHECK_EQ(exchanges(s.w, CALL), 1);
    exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":" MARKED("Place") "}");
    CHECK_EQ(exchanges(s.w, CALL), 3);
    for (size_t i = 1; i < 3; i++) {
        CHECK(says(nth_exchange(s.w, CALL, i), "Mcp-Param-Place: eu\n"));
        exchange_answers(nth_exchange(s.w, CALL, i), RESULT);
    }
    CHECK(has_result(s.client, 1) && has_result(s.client, 2));
}

TEST(a_list_that_fails_then_keeps_nobody_waiting)
{
    struct scene s = remote_modern();
    struct manners *m = manners_of(s.w, s.server);
    m->stuck_list = true;
    calls(&s, 1);
    exchange_answers_error(last_exchange(s.w, CALL), 400, MISMATCH);
    exchange_answers_error(last_exchange(s.w, "tools/list"), 200,
                           "{\"code\":-32000,\"message\":\"no list\"}");
    CHECK_EQ(exchanges(s.w, CALL), 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
}

/* ---- another era ---- */

TEST(a_server_that_says_it_speaks_another_revision_is_asked_again_and_the_call_goes_there_once)
{
    struct scene s = remote_modern();
    calls(&s, 1);
    manners_of(s.w, s.server)->is_modern = false;
    exchange_answers_error(last_exchange(s.w, CALL), 400, ANOTHER("2025-11-25"));
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    REQUIRE(exchanges(s.w, "initialize") == 1 && sent(s.w, CALL) == 2);
    CHECK(!last_exchange(s.w, CALL)->headers);
    exchange_answers(last_exchange(s.w, CALL), "{\"content\":[]}");
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
}

TEST(a_revision_refused_in_another_form_than_the_revisions_own_is_an_answer)
{
    static const struct {
        int status;
        const char *error;
    } forms[] = {
        { 200, MISMATCH },
        { 404, MISMATCH },
        { 200, ANOTHER("2025-11-25") },
        { 400, ANOTHER("2026-07-28") },
        { 400, "{\"code\":-32022,\"message\":\"no\"}" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct scene s = remote_modern();
        calls(&s, 1);
        exchange_answers_error(last_exchange(s.w, CALL), forms[i].status, forms[i].error);
        CHECK(error_of(s.client, 1) < -32019 && sent(s.w, CALL) == 1);
        CHECK_EQ(status_of(s.server).generation, 1);
        world_end(s.w);
    }
}

TEST(the_codes_of_the_modern_era_from_a_legacy_server_are_its_tools_own)
{
    for (int stateless = 0; stateless < 2; stateless++) {
        struct scene s = remote_scene_of(SETTINGS(), HTTP(.no_session = stateless));
        calls(&s, 1);
        exchange_answers_error(last_exchange(s.w, CALL), 400, MISMATCH);
        calls(&s, 2);
        exchange_answers_error(last_exchange(s.w, CALL), 400, ANOTHER("2025-11-25"));
        CHECK(error_of(s.client, 1) == -32020 && error_of(s.client, 2) == -32022);
        CHECK(sent(s.w, CALL) == 2 && status_of(s.server).generation == 1);
        world_end(s.w);
    }
}

TEST(a_legacy_server_that_says_it_speaks_another_revision_by_now_is_asked_which)
{
    struct scene s = remote_with(false);
    calls(&s, 1);
    REQUIRE(exchanges(s.w, CALL) == 1 && exchanges(s.w, DISCOVER) == 1);
    manners_of(s.w, s.server)->is_modern = true;
    exchange_answers_error(last_exchange(s.w, CALL), 400, ANOTHER("2026-07-28"));
    settle(s.w);
    CHECK(error_of(s.client, 1) == -32022 && sent(s.w, CALL) == 1); /* perhaps its tool's word */
    calls(&s, 2);
    REQUIRE(exchanges(s.w, DISCOVER) == 2 && sent(s.w, CALL) == 2);
    CHECK_STR(last_exchange(s.w, CALL)->version, "2026-07-28");
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 2) && answers_to(s.client, 2) == 1);
}

TEST(a_server_that_is_down_when_it_is_asked_for_its_era_is_asked_again)
{
    static const int down[] = { 500, 502, 503, 429 };
    for (size_t i = 0; i < sizeof down / sizeof *down; i++) {
        struct scene s = lone_remote_with(SETTINGS(.era = HF_ERA_UNKNOWN),
                                          MANNERS(.is_modern = true, .http.by_hand = true));
        REQUIRE_EQ(exchanges(s.w, DISCOVER), 1);
        exchange_fails(last_exchange(s.w, DISCOVER), down[i]);
        CHECK_EQ(exchanges(s.w, "initialize"), 0);
        manners_of(s.w, s.server)->http.by_hand = false;
        advance(s.w, 5000);
        CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "initialize") == 0);
        CHECK_EQ(exchanges(s.w, DISCOVER), 2);
        world_end(s.w);
    }
}

TEST(a_call_turned_away_by_a_server_that_went_back_to_the_older_era_is_sent_there)
{
    struct scene s = remote_modern();
    calls(&s, 1);
    struct manners *m = manners_of(s.w, s.server);
    m->http.by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    REQUIRE(exchanges(s.w, DISCOVER) == 2 && answers_to(s.client, 1) == 0);
    m->is_modern = m->http.by_hand = false;
    exchange_fails(last_exchange(s.w, DISCOVER), 404);
    advance(s.w, 5000);
    REQUIRE(IS(s.server, CONNECTED) && sent(s.w, CALL) == 2);
    exchange_answers(last_exchange(s.w, CALL), "{\"content\":[]}");
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
}

TEST(a_call_turned_away_by_a_server_that_still_speaks_the_era_is_rejected_and_not_sent_again)
{
    struct scene s = remote_modern();
    calls(&s, 1);
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(exchanges(s.w, DISCOVER) == 2 && sent(s.w, CALL) == 1);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
}

/* The answer may have stood in what is missing. */
TEST(a_refusal_whose_body_is_cut_proves_nothing_of_the_era)
{
    static const int statuses[] = { 400, 404, 405 };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = remote_modern();
        calls(&s, 1);
        manners_of(s.w, s.server)->http.by_hand = true;
        exchange_head(last_exchange(s.w, CALL), statuses[i], false);
        exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
        CHECK(error_of(s.client, 1) == -31002 && exchanges(s.w, DISCOVER) == 1);
        world_end(s.w);
    }
}

TEST(a_status_that_the_operator_vouches_for_needs_no_question)
{
    struct hf_settings settings = SETTINGS(.era = HF_ERA_UNKNOWN);
    settings.refused_status.bits[0] = 1; /* 400 */
    struct scene s = { .w = world_new() };
    s.server = add_remote(s.w, "s", settings);
    manners_of(s.w, s.server)->is_modern = true;
    settle(s.w);
    s.client = greeted_client(s.w, NULL);
    calls(&s, 1);
    exchange_fails(last_exchange(s.w, CALL), 400);
    advance(s.w, 250);
    CHECK(exchanges(s.w, DISCOVER) == 1 && exchanges(s.w, CALL) == 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}
