/* test_input.c - what a modern server wants to know before it goes on, asked of legacy clients. */
#include "engine_fixture.h"

#define ASKS                                                                                       \
    "{\"resultType\":\"input_required\",\"requestState\":\"s1\",\"inputRequests\":{\"k\":{"        \
    "\"method\":\"elicitation/create\",\"params\":{\"message\":\"sure?\"}}}}"

static struct scene modern_scene(struct hf_settings settings)
{
    struct scene s = { .w = world_new() };
    settings.era = HF_ERA_MODERN;
    s.server = add_server(s.w, "s", settings);
    manners_of(s.w, s.server)->is_modern = true;
    manners_of(s.w, s.server)->resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]";
    manners_of(s.w, s.server)->capabilities = "{\"tools\":{},\"resources\":{\"subscribe\":true}}";
    settle(s.w);
    s.client = greeted_client_with(s.w, s.server, "{\"elicitation\":{}}");
    client_asks(s.client, 900, "tools/list");
    s.first = newest_child(s.w, s.server);
    return s;
}

static void client_answers(struct client *c, const char *rest)
{
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s}",
                HF_FMT(last_heard(c, "elicitation/create")->msg.id), rest);
    settle(c->world);
}

TEST(a_call_that_needs_input_comes_back_with_the_answer_and_the_state_and_ends_once)
{
    struct scene s = modern_scene(default_settings());
    client_calls(s.client, 1, "echo");
    settle(s.w);
    child_answers(s.first, "tools/call", ASKS);
    settle(s.w);
    REQUIRE(heard(s.client, "elicitation/create") == 1 && answers_to(s.client, 1) == 0);
    client_answers(s.client, "\"result\":{\"action\":\"accept\"}");
    REQUIRE(child_got(s.first, "tools/call") == 2);
    const struct hf_span retry = child_last(s.first, "tools/call")->msg.text;
    CHECK(span_has(retry, "\"inputResponses\":{\"k\":{\"action\":\"accept\"}}"));
    CHECK(span_has(retry, "\"requestState\":\"s1\""));
    child_answers(s.first, "tools/call", "{\"resultType\":\"complete\",\"content\":[]}");
    settle(s.w);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
    world_end(s.w);
}

/* Nobody could be told what the client says, and the server is forgotten in a moment. */
TEST(input_that_a_server_wants_after_it_was_switched_off_is_not_asked_for)
{
    struct scene s = modern_scene(default_settings());
    client_calls(s.client, 1, "echo");
    settle(s.w);
    operate(s.w, s.server, HF_OP_DISABLE);
    child_answers(s.first, "tools/call", ASKS);
    settle(s.w);
    CHECK(heard(s.client, "elicitation/create") == 0);
    CHECK(error_of(s.client, 1) == -31003 && IS(s.server, DISABLED));
    world_end(s.w);
}

TEST(a_server_switched_off_while_its_client_is_asked_ends_the_call)
{
    struct scene s = modern_scene(default_settings());
    client_calls(s.client, 1, "echo");
    settle(s.w);
    child_answers(s.first, "tools/call", ASKS);
    settle(s.w);
    operate(s.w, s.server, HF_OP_DISABLE);
    settle(s.w);
    CHECK(error_of(s.client, 1) == -31003 && IS(s.server, DISABLED));
    world_end(s.w);
}

TEST(a_client_that_has_closed_its_side_is_asked_nothing_and_its_call_ends)
{
    for (int asked_before = 0; asked_before < 2; asked_before++) {
        struct scene s = modern_scene(default_settings());
        client_calls(s.client, 1, "echo");
        settle(s.w);
        if (!asked_before)
            hf_session_finish(s.client->session, s.w->now_ms);
        child_answers(s.first, "tools/call", ASKS);
        settle(s.w);
        CHECK(heard(s.client, "elicitation/create") == (size_t)asked_before);
        if (asked_before)
            hf_session_finish(s.client->session, s.w->now_ms);
        settle(s.w);
        CHECK(error_of(s.client, 1) == -32603 && hf_session_is_settled(s.client->session));
        world_end(s.w);
    }
}

/* Ending the call makes room for the subscribe behind it, which we answer ourselves. */
TEST(the_end_of_a_finished_clients_calls_may_end_others_of_its_calls)
{
    struct hf_settings settings = default_settings();
    settings.max_in_flight = 1;
    struct scene s = modern_scene(settings);
    client_calls(s.client, 1, "echo");
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
                          "\"params\":{\"uri\":\"a:1\"}}");
    settle(s.w);
    hf_session_finish(s.client->session, s.w->now_ms);
    advance(s.w, settings.drain_ms + 1);
    CHECK(error_of(s.client, 1) == -31002 && has_result(s.client, 2));
    CHECK(hf_session_is_settled(s.client->session));
    world_end(s.w);
}
