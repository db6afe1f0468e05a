/*
 * test_input_end.c - what can happen to the client, to the server and to the clock while a legacy
 * client is asked what a modern server wants to know.
 */
#include "core/state/call.h"
#include "input_fixture.h"

/* ---- the client goes ---- */

TEST(a_client_that_cancels_is_asked_no_more_and_its_late_answer_is_nobodys)
{
    struct scene s = asked_scene();
    client_cancels(s.client, 1);
    CHECK_EQ(hf_engine_held_bytes(s.w->engine), 0);
    client_answers(s.client, FORM, ACCEPT);
    CHECK(child_got(s.first, CALL) == 1 && child_got(s.first, "notifications/cancelled") == 0);
    CHECK_EQ(answers_to(s.client, 1), 0);
}

TEST(a_client_that_leaves_takes_its_questions_with_it)
{
    struct hf_settings settings = USUAL();
    for (int own = 0; own <= 1; own++) {
        settings.isolation = own ? HF_ISOLATION_SESSION : HF_ISOLATION_SHARED;
        struct scene s = { .w = world_new() };
        s.server = add_server(s.w, "s", settings);
        manners_of(s.w, s.server)->is_modern = true;
        s.client = greeted_client_with(s.w, s.server, CAN);
        client_asks(s.client, 9, "tools/list");
        client_calls(s.client, 1, "echo");
        asks(newest_child(s.w, s.server), "\"k\":" A_FORM);
        CHECK_EQ(heard(s.client, FORM), 1);
        client_leaves(s.client);
        advance(s.w, 60000);
        world_end(s.w);
    }
}

TEST(a_client_that_has_finished_can_answer_nothing_and_is_told_so_at_once)
{
    struct scene s = asked_scene();
    client_calls(s.client, 2, "echo");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(is_unknown(s.client, 1, "client_finished"));
    CHECK(!hf_session_is_settled(s.client->session));
    asks(s.first, "\"k\":" A_FORM);
    CHECK(is_unknown(s.client, 2, "client_finished") && heard(s.client, FORM) == 1);
    CHECK(hf_session_is_settled(s.client->session));
}

/* Ending the call makes room for the subscribe behind it, which we answer ourselves. */
TEST(the_end_of_a_finished_clients_calls_may_end_others_of_its_calls)
{
    struct hf_settings settings = USUAL(.max_in_flight = 1);
    struct scene s = lone_server(
        settings, MANNERS(.is_modern = true, .resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]"));
    s.client = greeted_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    client_requests(s.client, 2, "resources/subscribe", "{\"uri\":\"a:1\"}");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    advance(s.w, settings.drain_ms + 1);
    CHECK(error_of(s.client, 1) == -31002 && has_result(s.client, 2));
    CHECK(hf_session_is_settled(s.client->session));
    world_end(s.w); /* its server is still listened to */
}

TEST(a_client_that_has_finished_need_not_be_asked_where_nothing_is_asked_of_it)
{
    struct scene s = modern_server();
    client_calls(s.client, 1, "echo");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    child_answers(s.first, CALL, "{\"resultType\":\"input_required\",\"requestState\":\"x\"}");
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1) && hf_session_is_settled(s.client->session));
}

TEST(a_client_that_lost_its_stream_may_still_answer)
{
    struct scene s = modern_server();
    client_calls_via(s.client, 5, 1, "echo");
    asks(s.first, "\"k\":" A_FORM);
    client_via_gone(s.client, 5);
    CHECK_EQ(answers_via(s.client, 5), 0);
    client_answers(s.client, FORM, ACCEPT);
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

/* ---- holdfast or its operator stops ---- */

TEST(when_the_server_is_switched_off_or_holdfast_stops_a_call_that_is_asked_about_was_sent)
{
    static const char *const reasons[] = { "disabled", "disabled", "shutting_down" };
    for (int how = 0; how < 3; how++) {
        struct scene s = asked_scene();
        client_calls(s.client, 2, "echo");
        if (how == 2)
            hf_engine_stop(s.w->engine, at(s.w->now_ms));
        else
            operate(s.w, s.server, how ? HF_OP_REMOVE : HF_OP_DISABLE);
        settle(s.w);
        CHECK(is_unknown(s.client, 1, reasons[how]));
        asks(s.first, "\"k\":" A_FORM); /* while it drains: nobody could be told the answer */
        CHECK(is_unknown(s.client, 2, reasons[how]) && heard(s.client, FORM) == 1);
        advance(s.w, 60000);
        client_answers(s.client, FORM, ACCEPT);
        CHECK(how == 2 ? hf_engine_is_stopped(s.w->engine) : how == 1 || IS(s.server, DISABLED));
        world_end(s.w);
    }
}

TEST(only_the_calls_of_the_server_that_is_switched_off_end)
{
    struct scene s = modern_server();
    struct hf_server *other = add_server(s.w, "o", USUAL());
    manners_of(s.w, other)->is_modern = true;
    settle(s.w);
    struct client *all = greeted_client_with(s.w, NULL, CAN);
    client_asks(all, 9, "tools/list");
    client_calls(all, 1, "s__echo");
    asks(s.first, "\"k\":" A_FORM ",\"l\":" ROOTS);
    client_calls(all, 2, "o__echo");
    asks(newest_child(s.w, other), "\"k\":" A_SAMPLE);
    client_calls(all, 3, "s__echo");
    asks(s.first, "\"k\":" A_FORM);
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(is_unknown(all, 1, "disabled") && is_unknown(all, 3, "disabled"));
    client_answers(all, SAMPLING, "{\"role\":\"assistant\"}");
    child_answers(newest_child(s.w, other), CALL, DONE);
    CHECK(has_result(all, 2));
}

/* A form that stays open would be filled in for nobody. */
TEST(what_is_not_needed_any_more_is_taken_back_from_the_client_before_its_call_is_answered)
{
    for (int how = 0; how < 3; how++) {
        struct scene s = modern_server();
        client_calls_via(s.client, 7, 1, "echo");
        asks(s.first, "\"a\":" A_FORM ",\"b\":" A_SAMPLE);
        const struct hf_span form = last_heard(s.client, FORM)->msg.id;
        if (how == 0)
            operate(s.w, s.server, HF_OP_DISABLE);
        else if (how == 1)
            client_cancels(s.client, 1);
        else
            answers_error(s.client, SAMPLING);
        CHECK_EQ(heard_via(s.client, 7, "notifications/cancelled"), 2);
        /* behind them comes the answer, unless it was cancelled; or that, and news of the list */
        const size_t behind = how == 0 ? 4 : how == 1 ? 2 : 3;
        const struct message *back = &s.client->got.items[s.client->got.count - behind];
        CHECK(hf_span_eq(hf_json_get(back->msg.params, HF_SPAN("requestId")), form));
        CHECK_EQ(answers_via(s.client, 7), 1);
        world_end(s.w);
    }
}

/* ---- the server goes ---- */

TEST(answers_given_while_the_server_is_away_go_to_its_next_generation)
{
    struct scene s = asked_scene();
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && IS(s.server, CONNECTED));
    client_answers(s.client, FORM, ACCEPT);
    REQUIRE_EQ(child_got(second, CALL), 1);
    CHECK_SPAN(sent_param(second, "requestState"), "\"st\\u0061te\"");
    child_answers(second, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

TEST(a_retry_that_never_reached_the_server_goes_to_the_next_one_with_its_answers)
{
    struct scene s = asked_scene();
    s.first->manners.reads_nothing = true;
    client_answers(s.client, FORM, ACCEPT);
    CHECK_EQ(child_got(s.first, CALL), 1);
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && child_got(second, CALL) == 1);
    CHECK_SPAN(sent_param(second, "inputResponses"), "{\"k\":" ACCEPT "}");
    child_answers(second, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

TEST(a_retry_whose_server_dies_on_it_is_an_unknown_outcome)
{
    struct scene s = asked_scene();
    child_dies(s.first);
    client_answers(s.client, FORM, ACCEPT);
    child_dies(newest_child(s.w, s.server));
    CHECK(is_unknown(s.client, 1, "") && data_is(s.client, 1, "generation", "2"));
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED) && child_got(newest_child(s.w, s.server), CALL) == 0);
}

TEST(a_retry_that_waits_in_vain_is_no_call_that_was_never_sent)
{
    struct scene s = asked_scene();
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    client_answers(s.client, FORM, ACCEPT);
    advance(s.w, 44999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(is_unknown(s.client, 1, "wait_over") && data_is(s.client, 1, "generation", "1"));
    CHECK(error_says(s.client, 1, "asked for input in the middle of the call"));
}

TEST(when_the_server_is_given_up_on_whoever_is_asked_for_it_is_told)
{
    struct scene s = asked_scene_of(USUAL(.reconnect.attempts = 1));
    take_away(&s);
    advance(s.w, 60000);
    CHECK(IS(s.server, PERMANENTLY_FAILED));
    CHECK(error_of(s.client, 1) == -31002 && answers_to(s.client, 1) == 1);
    client_answers(s.client, FORM, ACCEPT);
}

TEST(answers_for_a_server_that_keeps_state_and_lost_it_are_not_sent)
{
    struct scene s = asked_scene_of(USUAL(.stateful = true));
    child_dies(s.first);
    client_answers(s.client, FORM, ACCEPT);
    CHECK(is_unknown(s.client, 1, "state_lost"));
}

/* Its bytes would run there from the start. */
TEST(answers_for_a_server_that_went_back_to_the_older_era_are_not_sent)
{
    struct scene s = asked_scene();
    manners_of(s.w, s.server)->is_modern = false;
    child_dies(s.first);
    advance(s.w, 10000);
    REQUIRE(IS(s.server, CONNECTED));
    client_answers(s.client, FORM, ACCEPT);
    CHECK(is_unknown(s.client, 1, "speaks_another_era"));
    CHECK_EQ(child_got(newest_child(s.w, s.server), CALL), 0);
    client_calls(s.client, 2, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), CALL), 1);
    child_answers(newest_child(s.w, s.server), CALL, DONE);
}

TEST(a_resource_whose_server_asked_is_looked_for_nowhere_else)
{
    struct scene s = { .w = world_new() };
    struct hf_server *servers[2];
    for (int i = 0; i < 2; i++) {
        servers[i] = add_server(s.w, i ? "b" : "a", USUAL());
        manners_of(s.w, servers[i])->is_modern = true;
        manners_of(s.w, servers[i])->resources = "[]";
    }
    settle(s.w);
    s.client = greeted_client_with(s.w, NULL, CAN);
    for (int id = 1; id <= 2; id++) {
        client_says(s.client,
                    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/read\",\"params\":{"
                    "\"uri\":\"x:1\"}}",
                    id);
        struct child *first = newest_child(s.w, servers[0]);
        if (id == 2) {
            child_answers(first, "resources/read",
                          "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":" ROOTS
                          "}}");
            client_answers(s.client, "roots/list", "{\"roots\":[]}");
        }
        child_answers_error(first, "resources/read", -32002, "not here");
    }
    struct child *second = newest_child(s.w, servers[1]);
    CHECK(child_got(second, "resources/read") == 1 && error_of(s.client, 2) == -32002);
    child_answers_error(second, "resources/read", -32002, "nor here");
    CHECK_EQ(error_of(s.client, 1), -32002);
}

/* ---- clocks and limits ---- */

TEST(the_clock_of_a_call_stands_still_while_its_client_is_asked)
{
    struct scene s = modern_server_in(world_new(), USUAL(.call_timeout_ms = 1000), CAN);
    client_calls(s.client, 1, "echo");
    advance(s.w, 400);
    asks(s.first, "\"k\":" A_FORM);
    advance(s.w, 899999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    client_answers(s.client, FORM, ACCEPT);
    advance(s.w, 599);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(is_unknown(s.client, 1, "timeout"));
}

TEST(the_time_for_asking_is_not_taken_from_what_progress_may_add)
{
    struct scene s = modern_server_in(
        world_new(), USUAL(.call_timeout_ms = 1000, .call_timeout_max_ms = 3000), CAN);
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" CALL "\",\"params\":{"
                          "\"name\":\"echo\",\"_meta\":{\"progressToken\":\"t\"}}}");
    asks(s.first, "\"k\":" A_FORM);
    advance(s.w, 60000);
    client_answers(s.client, FORM, ACCEPT);
    for (int i = 1; i <= 2; i++) {
        advance(s.w, 900);
        child_says(s.first,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                   "\"progressToken\":%.*s,\"progress\":%d}}",
                   HF_FMT(child_last_id(s.first, CALL)), i);
    }
    CHECK_EQ(heard(s.client, "notifications/progress"), 2);
    advance(s.w, 999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1000);
    CHECK(is_unknown(s.client, 1, "timeout"));
}

TEST(a_call_that_is_asked_about_takes_no_place_at_its_server)
{
    struct scene s = asked_scene_of(USUAL(.max_in_flight = 1));
    client_calls(s.client, 2, "echo");
    CHECK_EQ(child_got(s.first, CALL), 2);
    client_answers(s.client, FORM, ACCEPT);
    CHECK_EQ(child_got(s.first, CALL), 2); /* now it waits for the other one */
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 2) && child_got(s.first, CALL) == 3);
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

static struct scene small_scene(void)
{
    const struct hf_limits limits =
        LIMITS(.max_message_bytes = 1 << 20,
               .max_buffered_bytes = 3 * sizeof(struct hf_call) + 10000, .max_depth = 64);
    return modern_server_in(world_new_with(limits), USUAL(), CAN);
}

/* `n` zeros between the two; static memory. */
static const char *filled(const char *before, int n, const char *after)
{
    static char text[20000];
    (void)snprintf(text, sizeof text, "%s%0*d%s", before, n, 0, after);
    return text;
}

TEST(what_a_server_gives_us_to_keep_and_what_clients_answer_is_held_by_the_call)
{
    struct scene s = small_scene();
    client_calls(s.client, 1, "echo");
    const uint64_t plain = hf_engine_held_bytes(s.w->engine);
    asks_with(s.first, "\"a\":" A_FORM ",\"b\":" ROOTS, filled(",\"requestState\":\"", 2000, "\""));
    const uint64_t asked = hf_engine_held_bytes(s.w->engine);
    CHECK(asked > plain + 2000 && asked < plain + 2500);
    client_answers(s.client, FORM,
                   filled("{\"action\":\"accept\",\"content\":{\"x\":\"", 1000, "\"}}"));
    const uint64_t answered = hf_engine_held_bytes(s.w->engine);
    CHECK(answered > asked + 900 && answered < asked + 1200);
    client_answers(s.client, "roots/list", "{\"roots\":[]}");
    const uint64_t sent_again = hf_engine_held_bytes(s.w->engine); /* as kept, and as written */
    CHECK(sent_again > plain + 6000 && sent_again < plain + 7000);
    asks_with(s.first, "\"a\":" A_FORM, ",\"requestState\":\"x\"");
    client_answers(s.client, FORM, ACCEPT);
    CHECK(hf_engine_held_bytes(s.w->engine) < plain + 250); /* of the last round alone */
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

TEST(a_state_or_an_answer_that_does_not_fit_ends_its_call_and_no_other)
{
    for (int large_state = 0; large_state <= 1; large_state++) {
        struct scene s = small_scene();
        client_calls(s.client, 2, "echo");
        client_calls(s.client, 1, "echo");
        if (large_state) {
            asks_with(s.first, "\"a\":" A_FORM, filled(",\"requestState\":\"", 12000, "\""));
            CHECK_EQ(heard(s.client, FORM), 0);
        } else {
            asks(s.first, "\"a\":" A_FORM);
            client_answers(s.client, FORM, filled("{\"action\":\"", 6000, "\"}"));
        }
        CHECK(is_unknown(s.client, 1, "max_buffered_bytes") && child_got(s.first, CALL) == 2);
        child_answers_line(s.first, s.first->got.count - 2, DONE);
        CHECK(has_result(s.client, 2));
        world_end(s.w);
    }
}

TEST(what_is_added_to_a_request_for_a_modern_server_is_held_by_its_call)
{
    struct scene s = small_scene();
    struct client *large =
        greeted_client_with(s.w, s.server, filled("{\"experimental\":{\"x\":\"", 2900, "\"}}"));
    for (int id = 1; id <= 3; id++)
        client_calls(large, id, "echo");
    CHECK(hf_engine_held_bytes(s.w->engine) > 3 * sizeof(struct hf_call) + 9000);
    client_calls(large, 4, "echo"); /* as it came, it would fit */
    CHECK(error_of(large, 4) == -31005 && child_got(s.first, CALL) == 3);
    for (size_t i = 0; i < s.first->got.count; i++)
        if (hf_span_is(s.first->got.items[i].msg.method, CALL))
            child_answers_line(s.first, i, DONE);
    CHECK(has_result(large, 3));
}

TEST(what_will_be_added_to_calls_that_wait_is_counted_before_they_are_sent)
{
    struct scene s = small_scene();
    struct client *large =
        greeted_client_with(s.w, s.server, filled("{\"experimental\":{\"x\":\"", 2900, "\"}}"));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    for (int id = 1; id <= 4; id++)
        client_calls(large, id, "echo");
    CHECK(error_of(large, 4) == -31005 && answers_to(large, 3) == 0);
    advance(s.w, 45000);
    CHECK_EQ(error_of(large, 3), -31001);
}

TEST(a_question_that_is_not_answered_in_ask_ms_ends_its_call_and_the_client_is_told_to_check)
{
    struct scene s = asked_scene();
    advance(s.w, 899999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(is_unknown(s.client, 1, "ask_ms"));
    CHECK_EQ(heard(s.client, "notifications/cancelled"), 1);
    client_answers(s.client, FORM, ACCEPT);
    CHECK_EQ(child_got(s.first, CALL), 1);
}
