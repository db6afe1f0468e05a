/*
 * test_engine_client.c - what clients send besides plain calls: greetings left out, pings, batches,
 * unknown methods, nonsense, too much; and resources that nobody or everybody lists.
 */
#include "engine_fixture.h"

TEST(a_ping_of_a_client_is_answered_by_us_even_before_its_greeting)
{
    struct world *w = world_new();
    struct client *c = open_client(w, NULL);
    client_asks(c, 1, "ping");
    CHECK_SPAN(answer_to(c, 1)->msg.result, "{}");
}

TEST(a_client_that_does_not_introduce_itself_is_served)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", default_settings());
    hf_server_set_clients_own(server);
    manners_of(w, server)->answers_calls = true;
    settle(w);
    struct client *c = open_client(w, server);
    client_calls(c, 1, "echo");
    CHECK(has_result(c, 1));
}

TEST(the_messages_of_a_batch_are_each_answered_on_their_own)
{
    struct scene s = scene();
    s.first->manners.answers_calls = true;
    static const char batch[] =
        " [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}},"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},"
        "7,"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]";
    hf_session_message(s.client->session, hf_span_of(batch), at(s.w->now_ms));
    settle(s.w);
    CHECK(has_result(s.client, 1) && has_result(s.client, 2));
    const struct message *last = &s.client->got.items[s.client->got.count - 1];
    CHECK(last->msg.kind >= HF_MSG_RESULT);
    size_t refused = 0;
    for (size_t i = 0; i < s.client->got.count; i++)
        refused += span_has(s.client->got.items[i].msg.error, "-32600");
    CHECK_EQ(refused, 1);
}

TEST(what_is_no_message_gets_one_clear_error_and_all_else_goes_on)
{
    static const struct {
        const char *text, *code;
    } rows[] = {
        { "nonsense", "-32700" },
        { "{\"jsonrpc\":\"2.0\",\"id\":5", "-32700" },
        { "[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", "-32700" },
        { "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}", "-32700" },
        { "7", "-32600" },
        { "{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":5,\"id\":6,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "-32600" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = scene();
        const size_t before = s.client->got.count;
        hf_session_message(s.client->session, hf_span_of(rows[i].text), at(s.w->now_ms));
        settle(s.w);
        CHECK_EQ(s.client->got.count, before + 1);
        const struct message *last = &s.client->got.items[s.client->got.count - 1];
        const bool as_said = span_has(last->msg.error, rows[i].code);
        if (!as_said)
            printf("# %s: %s\n", rows[i].text, last->text);
        CHECK(as_said);
        client_asks(s.client, 8, "ping");
        CHECK(has_result(s.client, 8));
        world_end(s.w);
    }
}

static void message_over(struct client *c, const char *text)
{
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_span_of(text));
    hf_session_message_oversized(c->session, &skim, at(c->world->now_ms));
    settle(c->world);
}

TEST(a_request_over_the_limit_is_refused_under_its_own_id_and_nothing_is_sent)
{
    struct scene s = scene();
    message_over(s.client, "{\"params\":{\"id\":3},\"method\":\"tools/call\",\"id\":1}");
    CHECK_EQ(error_of(s.client, 1), -31006);
    CHECK(data_is(s.client, 1, "dispatched", "false"));
    CHECK(data_is(s.client, 1, "retry", "\"no\""));
    CHECK_EQ(child_got(s.first, "tools/call"), 0);
}

TEST(an_answer_of_a_client_over_the_limit_becomes_an_error_for_the_server_that_asked)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, "{\"roots\":{}}");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}");
    REQUIRE(last_heard(s.client, "roots/list"));
    char text[80];
    (void)snprintf(text, sizeof text, "{\"result\":{},\"id\":%.*s}",
                   HF_FMT(last_heard(s.client, "roots/list")->msg.id));
    message_over(s.client, text);
    const struct message *last = &s.first->got.items[s.first->got.count - 1];
    CHECK(hf_span_is(last->msg.id, "\"r\"") && span_has(last->msg.error, "-31006"));
}

TEST(an_unknown_method_goes_to_the_only_server_and_is_refused_where_there_are_many)
{
    struct scene s = scene();
    client_requests(s.client, 1, "tasks/list", "{}");
    CHECK_EQ(child_got(s.first, "tasks/list"), 1);
    child_answers(s.first, "tasks/list", "{\"t\":[]}");
    CHECK_SPAN(answer_to(s.client, 1)->msg.result, "{\"t\":[]}");
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}");
    CHECK_EQ(child_got(s.first, "notifications/unheard"), 1);
    struct client *many = greeted_client(s.w, NULL);
    client_asks(many, 1, "tasks/list");
    CHECK(error_of(many, 1) == -32601 && error_says(many, 1, "tasks/list"));
    client_says(many, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}");
    CHECK_EQ(child_got(s.first, "notifications/unheard"), 1);
}

TEST(an_unknown_method_is_never_sent_twice)
{
    struct scene s = scene();
    client_asks(s.client, 1, "payments/make");
    child_dies(s.first);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "payments/make"), 0);
}

TEST(a_change_of_roots_is_told_to_the_servers_of_that_client)
{
    struct scene s = scene();
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
    CHECK_EQ(child_got(s.first, "notifications/roots/list_changed"), 1);
}

TEST(params_that_name_nothing_are_told_so)
{
    struct scene s = scene();
    client_asks(s.client, 1, "tools/call");
    client_asks(s.client, 2, "prompts/get");
    client_asks(s.client, 3, "resources/read");
    client_asks(s.client, 4, "logging/setLevel");
    client_asks(s.client, 5, "completion/complete");
    client_requests(s.client, 6, "tools/call", "{\"name\":7}");
    for (int id = 1; id <= 6; id++)
        CHECK_EQ(error_of(s.client, id), -32602);
}

TEST(a_cancel_of_nothing_we_know_is_passed_over)
{
    struct scene s = called_scene();
    client_cancels(s.client, 2);
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                          "\"requestId\":\"1\"}}"); /* a string is another id */
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
}

TEST(a_client_may_cancel_by_an_escaped_spelling_of_its_id)
{
    struct scene s = scene();
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061b\",\"method\":\"tools/call\","
                          "\"params\":{\"name\":\"echo\"}}");
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                          "\"requestId\":\"ab\"}}");
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

/* ---- what goes over the wire to servers ---- */

/* @field A8: ids towards servers are ours */
TEST(a_call_keeps_every_byte_but_id_and_progress_token_on_its_way)
{
    struct scene s = scene();
    client_says(s.client, "{ \"method\":\"tools/call\",\"id\": 1 ,\"params\":{\"arguments\":{\"n\":"
                          "1.00,\"id\":5},\"name\":\"\\u0065cho\", \"_meta\":{\"a\":[ ],"
                          "\"progressToken\":\"t\"}},\"jsonrpc\":\"2.0\",\"extra\":null}");
    const struct message *got = child_last(s.first, "tools/call");
    REQUIRE(got);
    char expected[400];
    (void)snprintf(
        expected, sizeof expected,
        "{ \"method\":\"tools/call\",\"id\": %.*s ,\"params\":{\"arguments\":{\"n\":1.00,"
        "\"id\":5},\"name\":\"\\u0065cho\", \"_meta\":{\"a\":[ ],\"progressToken\":%.*s}}"
        ",\"jsonrpc\":\"2.0\",\"extra\":null}",
        HF_FMT(got->msg.id), HF_FMT(got->msg.id));
    CHECK_STR(got->text, expected);
}

TEST(a_message_with_newlines_between_its_tokens_goes_on_as_one_line)
{
    struct scene s = scene();
    static const char text[] = "{\"jsonrpc\":\"2.0\",\n\"id\":1,\r\n\"method\":\"tools/call\","
                               "\"params\":\n{\"name\":\"echo\"}\n}";
    hf_session_message(s.client->session, hf_span_of(text), at(s.w->now_ms));
    settle(s.w);
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    CHECK_EQ(strchr(child_last(s.first, "tools/call")->text, '\n'), NULL);
}

/* ---- resources ---- */

struct two {
    struct world *w;
    struct hf_server *a, *b;
    struct client *c;
};

static struct two two_with_resources_of(enum hf_era first)
{
    struct two t = { .w = world_new() };
    t.a = add_server(t.w, "a", SETTINGS(.era = first));
    manners_of(t.w, t.a)->is_modern = first == HF_ERA_MODERN;
    t.b = add_server(t.w, "b", default_settings());
    manners_of(t.w, t.a)->resources = "[{\"uri\":\"x:1\",\"name\":\"one\"}]";
    manners_of(t.w, t.b)->resources = "[{\"uri\":\"x:2\",\"name\":\"two\"}]";
    manners_of(t.w, t.b)->templates = "[{\"uriTemplate\":\"file:///{path}/end\",\"name\":\"f\"}]";
    settle(t.w);
    t.c = greeted_client(t.w, NULL);
    return t;
}

static struct two two_with_resources(void)
{
    return two_with_resources_of(default_settings().era);
}

static void read_resource(struct client *c, int id, const char *uri)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/read\",\"params\":{\"uri\":"
                "\"%s\"}}",
                id, uri);
}

TEST(a_resource_goes_to_the_server_that_lists_it_else_to_the_one_whose_template_matches)
{
    struct two t = two_with_resources();
    read_resource(t.c, 1, "x:2");
    CHECK_EQ(child_got(newest_child(t.w, t.b), "resources/read"), 1);
    read_resource(t.c, 2, "file:///some/where/end");
    CHECK_EQ(child_got(newest_child(t.w, t.b), "resources/read"), 2);
    CHECK_EQ(child_got(newest_child(t.w, t.a), "resources/read"), 0);
}

TEST(a_resource_nobody_lists_is_asked_of_each_in_order_until_one_has_it)
{
    struct two t = two_with_resources();
    struct child *a = newest_child(t.w, t.a), *b = newest_child(t.w, t.b);
    read_resource(t.c, 1, "y:9");
    CHECK(child_got(a, "resources/read") == 1 && child_got(b, "resources/read") == 0);
    child_answers_error(a, "resources/read", -32002, "not found");
    CHECK(answers_to(t.c, 1) == 0 && child_got(b, "resources/read") == 1);
    child_answers(b, "resources/read", "{\"contents\":[]}");
    CHECK(has_result(t.c, 1));
    read_resource(t.c, 2, "y:8");
    child_answers_error(a, "resources/read", -32002, "not found");
    child_answers_error(b, "resources/read", -32002, "not found");
    CHECK_EQ(error_of(t.c, 2), -32002);
    read_resource(t.c, 3, "y:7");
    child_answers_error(a, "resources/read", -32603, "disk on fire");
    CHECK_EQ(error_of(t.c, 3), -32603); /* any other error is an answer */
}

TEST(a_resource_that_a_modern_server_does_not_have_is_asked_of_the_next)
{
    for (int is_modern = 0; is_modern < 2; is_modern++) {
        struct two t = two_with_resources_of(is_modern ? HF_ERA_MODERN : HF_ERA_LEGACY);
        read_resource(t.c, 1, "y:9");
        child_answers_error(newest_child(t.w, t.a), "resources/read", -32602, "not found");
        CHECK_EQ(child_got(newest_child(t.w, t.b), "resources/read"), (size_t)is_modern);
        CHECK_EQ(error_of(t.c, 1), is_modern ? 0 : -32602);
        world_end(t.w);
    }
}

TEST(a_resource_that_its_own_server_lists_but_does_not_find_is_not_asked_of_others)
{
    struct two t = two_with_resources();
    read_resource(t.c, 1, "x:1");
    child_answers_error(newest_child(t.w, t.a), "resources/read", -32002, "just deleted");
    CHECK_EQ(child_got(newest_child(t.w, t.b), "resources/read"), 0);
    CHECK_EQ(error_of(t.c, 1), -32002);
}

/* @field B18: "not supported" is an answer of its own, not a failure */
TEST(where_no_server_has_resources_a_read_is_answered_not_found)
{
    struct world *w = world_new();
    (void)add_server(w, "a", default_settings());
    settle(w);
    struct client *c = greeted_client(w, NULL);
    read_resource(c, 1, "x:1");
    CHECK_EQ(error_of(c, 1), -32002);
    client_asks(c, 2, "resources/list");
    CHECK(strcmp(names_in(c, 2, "resources"), "") == 0 && has_result(c, 2));
}

TEST(a_template_matches_what_stands_after_its_expressions_too)
{
    struct two t = two_with_resources();
    read_resource(t.c, 1, "file:///some/where/else");
    CHECK_EQ(child_got(newest_child(t.w, t.b), "resources/read"), 0);
    CHECK_EQ(child_got(newest_child(t.w, t.a), "resources/read"), 1); /* the first in order */
}

/* There may be many templates, and each is compared with it: it goes to the first with resources.
 */
TEST(a_uri_of_more_than_8_kib_is_nobodys_by_its_template)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    manners_of(w, a)->resources = "[]";
    manners_of(w, b)->resources = "[]";
    manners_of(w, b)->templates = "[{\"uriTemplate\":\"b:{x}\",\"name\":\"t\"}]";
    settle(w);
    struct client *c = greeted_client(w, NULL);
    char uri[9001] = "b:";
    memset(uri + 2, 'x', sizeof uri - 3);
    read_resource(c, 1, uri);
    CHECK(child_got(newest_child(w, a), "resources/read") == 1);
    uri[8000] = '\0';
    read_resource(c, 2, uri);
    CHECK(child_got(newest_child(w, b), "resources/read") == 1);
    world_end(w);
}

TEST(resources_and_templates_that_go_together_are_told_of_once)
{
    struct two t = two_with_resources();
    client_asks(t.c, 1, "resources/list");
    client_asks(t.c, 2, "resources/templates/list");
    operate(t.w, t.b, HF_OP_DISABLE);
    CHECK_EQ(heard(t.c, "notifications/resources/list_changed"), 1);
    CHECK_EQ(heard(t.c, "notifications/tools/list_changed"), 1);
}

TEST(a_client_that_never_introduced_itself_hears_of_changes_too)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    struct client *c = open_client(s.w, NULL);
    client_asks(c, 1, "tools/list");
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK_EQ(heard(c, "notifications/tools/list_changed"), 1);
}

TEST(what_a_client_makes_us_remember_is_bounded_and_given_back)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.resources = "[]"));
    enum { LARGE = 1200000 };
    char *uri = hf_alloc(LARGE + 1);
    memset(uri, 'x', LARGE);
    struct client *c = greeted_client(s.w, s.server);
    const uint64_t before = hf_engine_remembered_bytes(s.w->engine);
    for (int id = 10; id < 13; id++) {
        client_says(c,
                    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/subscribe\","
                    "\"params\":{\"uri\":\"%d%s\"}}",
                    id, id, uri);
        if (error_of(c, id) == 0)
            child_answers(newest_child(s.w, s.server), "resources/subscribe", "{}");
    }
    CHECK(has_result(c, 10) && error_of(c, 11) == -31005 && error_of(c, 12) == -31005);
    CHECK(hf_engine_remembered_bytes(s.w->engine) > before + LARGE);
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":20,\"method\":\"resources/unsubscribe\","
                "\"params\":{\"uri\":\"10%s\"}}",
                uri);
    child_answers(newest_child(s.w, s.server), "resources/unsubscribe", "{}");
    CHECK_EQ(hf_engine_remembered_bytes(s.w->engine), before);
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":21,\"method\":\"logging/setLevel\","
                "\"params\":{\"level\":\"%s\"}}",
                uri);
    CHECK_EQ(error_of(c, 21), -32602);
    client_leaves(c);
    CHECK_EQ(hf_engine_remembered_bytes(s.w->engine), 0);

    c = open_client(s.w, s.server);
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                "\"clientInfo\":{\"name\":\"%s%s\"}}}",
                uri, uri);
    CHECK(error_of(c, 1) == -31005 && data_is(c, 1, "reason", "\"client_keeps_too_much\""));
    hf_free(uri);
}

/* The modern era has no such notification: its servers ask for the roots where they need them. */
TEST(a_change_of_roots_is_not_told_to_modern_servers)
{
    struct scene s = lone_server(SETTINGS(.era = HF_ERA_MODERN), MANNERS(.is_modern = true));
    s.client = greeted_client_with(s.w, s.server, "{\"roots\":{}}");
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\"}");
    settle(s.w);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "notifications/roots/list_changed"), 0);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "notifications/other"), 1);
}
