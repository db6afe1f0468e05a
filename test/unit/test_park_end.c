/*
 * test_park_end.c - how parked calls end: their server dies, their client stays away, leaves or
 * cancels, holdfast stops; and what is kept of them, and for how long.
 */
#include "park_fixture.h"

static char state[1024];

static struct scene parked_with_state(void)
{
    struct scene s = parked_scene();
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    return s;
}

/* ---- the server ---- */

TEST(a_server_that_dies_while_its_call_is_parked_is_outcome_unknown_for_the_retry)
{
    struct scene s = parked_with_state();
    child_dies(s.first);
    CHECK_EQ(answers_to(s.client, 1), 1);
    retries(s.client, 2, state, YES);
    CHECK(error_of(s.client, 2) == -31002 && data_is(s.client, 2, "dispatched", "true"));
    CHECK(data_is(s.client, 2, "generation", "1"));
    retries(s.client, 3, state, YES);
    CHECK_EQ(error_of(s.client, 3), -31002);
    REQUIRE(newest_child(s.w, s.server) != s.first);
    CHECK(child_got(newest_child(s.w, s.server), CALL) == 0 && child_got(s.first, CALL) == 1);
}

TEST(a_server_that_dies_while_a_retry_waits_is_outcome_unknown_and_a_read_is_not_repeated_either)
{
    for (int is_read = 0; is_read < 2; is_read++) {
        struct scene s = modern_scene();
        if (is_read) {
            static const char request[] =
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"prompts/get\",\"params\":{\"name\":"
                "\"p\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                "\"io.modelcontextprotocol/clientCapabilities\":" CAN "}%s}}";
            manners_of(s.w, s.server)->prompts = "[{\"name\":\"p\"}]";
            operate(s.w, s.server, HF_OP_RESTART);
            struct child *child = newest_child(s.w, s.server);
            client_says(s.client, request, 1, "");
            asks_form(child, 501);
            advance(s.w, GATHER_MS);
            client_says(s.client, request, 2, retry_of(state_in(s.client, 1), YES));
            child_dies(child);
            CHECK_EQ(child_got(newest_child(s.w, s.server), "prompts/get"), 0);
        } else {
            park_one(&s);
            retries(s.client, 2, state_in(s.client, 1), YES);
            child_dies(s.first);
            CHECK_EQ(child_got(newest_child(s.w, s.server), CALL), 0);
        }
        CHECK(error_of(s.client, 2) == -31002 && answers_to(s.client, 2) == 1);
        world_end(s.w);
    }
}

TEST(a_server_that_dies_before_its_question_went_out_is_answered_to_the_call_itself)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    asks_form(s.first, 501);
    child_dies(s.first);
    CHECK_EQ(error_of(s.client, 1), -31002);
    advance(s.w, 1000);
    CHECK_EQ(answers_to(s.client, 1), 1);
}

TEST(what_was_asked_in_a_read_that_was_lost_and_is_sent_again_is_forgotten)
{
    struct scene s = remote_scene();
    struct client *c = open_client(s.w, s.server);
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{"
                   "\"uri\":\"u://1\",\"_meta\":{"
                   "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                   "\"io.modelcontextprotocol/clientCapabilities\":" CAN "}}}");
    struct exchange *x = last_exchange(s.w, "resources/read");
    exchange_head(x, 200, true);
    exchange_says(x, "{\"jsonrpc\":\"2.0\",\"id\":501,\"method\":\"elicitation/create\","
                     "\"params\":{\"message\":\"?\"}}");
    exchange_breaks(x, HF_SENT_WHOLE);
    CHECK_EQ(sent(s.w, "resources/read"), 2);
    REQUIRE_EQ(exchanges(s.w, "response"), 1);
    CHECK(span_has(last_exchange(s.w, "response")->body.items[0].msg.text, "\"error\""));
    advance(s.w, GATHER_MS);
    CHECK_EQ(answers_to(c, 1), 0);
    x = last_exchange(s.w, "resources/read");
    exchange_head(x, 200, true);
    exchange_says_answer(x, RESULT);
    CHECK(is_complete(c, 1));
}

TEST(an_answer_that_comes_before_the_question_went_out_is_simply_the_answer)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    asks_form(s.first, 501);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 1) && span_has(told(s.first, 501), "the call has ended"));
    advance(s.w, 1000);
    CHECK_EQ(answers_to(s.client, 1), 1);
}

TEST(what_is_asked_right_before_the_answer_to_a_retry_is_refused)
{
    struct scene s = parked_with_state();
    retries(s.client, 2, state, YES);
    asks_form(s.first, 502);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2) && span_has(told(s.first, 502), "the call has ended"));
    advance(s.w, 1000);
    CHECK_EQ(answers_to(s.client, 2), 1);
}

TEST(an_answer_that_comes_while_the_call_is_parked_is_kept_for_the_retry)
{
    struct scene s = parked_with_state();
    child_answers(s.first, CALL, RESULT);
    CHECK_EQ(answers_to(s.client, 1), 1);
    retries(s.client, 2, state, YES);
    CHECK(is_complete(s.client, 2));
    CHECK_EQ(times_told(s.first, 501), 1); /* it may have been about another call */
    retries(s.client, 3, state, YES);
    CHECK(is_complete(s.client, 3));
    retries(s.client, 4, state, NO);
    CHECK_EQ(error_of(s.client, 4), -31008);
    CHECK_EQ(child_got(s.first, CALL), 1);
}

TEST(a_server_removed_while_its_call_is_parked_has_drain_ms_and_then_it_is_outcome_unknown)
{
    for (int comes_in_time = 0; comes_in_time < 2; comes_in_time++) {
        struct scene s = parked_with_state();
        operate(s.w, s.server, HF_OP_REMOVE);
        if (comes_in_time) {
            retries(s.client, 2, state, YES);
            CHECK_EQ(times_told(s.first, 501), 1);
            child_answers(s.first, CALL, RESULT);
            CHECK(is_complete(s.client, 2));
        }
        advance(s.w, 60000);
        CHECK(!s.first->runtime);
        retries(s.client, 3, state, YES);
        CHECK(comes_in_time ? is_complete(s.client, 3) : error_of(s.client, 3) == -31002);
        CHECK_EQ(child_got(s.first, CALL), 1);
        world_end(s.w);
    }
}

TEST(the_error_of_a_server_is_the_answer_too_with_the_code_of_the_revision)
{
    struct scene s = parked_with_state();
    retries(s.client, 2, state, YES);
    child_answers_error(s.first, CALL, -32002, "no such thing");
    CHECK_EQ(error_of(s.client, 2), -32602);
    retries(s.client, 3, state, YES);
    CHECK_EQ(error_of(s.client, 3), -32602);
    CHECK_EQ(answer_to(s.client, 3)->error_code, -32602);
}

/* ---- time ---- */

TEST(a_client_that_never_comes_has_its_call_cancelled_at_the_server_after_park_ms)
{
    struct scene s = parked_with_state();
    advance(s.w, PARK_MS - 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    advance(s.w, 1);
    REQUIRE_EQ(child_got(s.first, "notifications/cancelled"), 1);
    const struct message *m = child_last(s.first, "notifications/cancelled");
    CHECK(
        hf_span_eq(hf_json_get(m->msg.params, HF_SPAN("requestId")), child_last_id(s.first, CALL)));
    CHECK(span_has(told(s.first, 501), "error"));
    CHECK_EQ(status_of(s.server).in_flight, 0);
    CHECK_EQ(answers_via(s.client, PARKED_VIA), 1); /* the question, and nothing after it */
    retries(s.client, 2, state, YES);
    CHECK(error_of(s.client, 2) == -32602 && error_says(s.client, 2, "expired"));
    CHECK_EQ(child_got(s.first, CALL), 1);
}

TEST(what_became_of_it_is_forgotten_after_park_ms_and_the_call_is_still_not_run_again)
{
    struct scene s = parked_with_state();
    retries(s.client, 2, state, YES);
    child_answers(s.first, CALL, RESULT);
    advance(s.w, PARK_MS + 1);
    retries(s.client, 3, state, YES);
    CHECK(error_of(s.client, 3) == -32602 && child_got(s.first, CALL) == 1);
}

TEST(what_the_first_retry_hears_late_is_kept_for_its_re_sends_for_park_ms)
{
    struct scene s = parked_with_state();
    child_answers(s.first, CALL, RESULT);
    advance(s.w, PARK_MS - 1);
    retries(s.client, 2, state, YES);
    advance(s.w, PARK_MS - 1);
    retries(s.client, 3, state, YES);
    CHECK(is_complete(s.client, 2) && is_complete(s.client, 3));
    advance(s.w, 1); /* a re-send does not prolong it */
    retries(s.client, 4, state, YES);
    CHECK(error_of(s.client, 4) == -32602 && child_got(s.first, CALL) == 1);
}

TEST(what_a_re_send_is_the_first_to_hear_is_kept_for_park_ms_too)
{
    struct scene s = parked_with_state();
    retries_via(s.client, 2, 2, state, YES);
    client_via_cancelled(s.client, 2);
    child_answers(s.first, CALL, RESULT);
    advance(s.w, PARK_MS - 1);
    retries(s.client, 3, state, YES);
    advance(s.w, PARK_MS - 1);
    retries(s.client, 4, state, YES);
    CHECK(is_complete(s.client, 3) && is_complete(s.client, 4));
}

TEST(a_question_that_a_re_send_is_the_first_to_hear_can_be_answered_for_park_ms)
{
    struct scene s = parked_with_state();
    retries_via(s.client, 2, 2, state, YES);
    client_via_cancelled(s.client, 2);
    asks_form(s.first, 502);
    advance(s.w, GATHER_MS + PARK_MS - 1);
    retries(s.client, 3, state, YES);
    CHECK(is_question(s.client, 3));
    advance(s.w, PARK_MS - 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    advance(s.w, 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

TEST(the_clock_of_a_parked_call_stands_still_and_goes_on_with_the_retry)
{
    struct scene s = modern_scene_of(SETTINGS(.call_timeout_ms = 1000));
    calls(s.client, 0, 1, CAN, "");
    advance(s.w, 500);
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    advance(s.w, 100000);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    retries(s.client, 2, state_in(s.client, 1), YES);
    advance(s.w, 460);
    CHECK_EQ(answers_to(s.client, 2), 0);
    advance(s.w, 20);
    CHECK(error_of(s.client, 2) == -31002 && data_is(s.client, 2, "reason", "\"timeout\""));
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

TEST(other_calls_of_the_client_keep_their_clocks_while_one_is_parked)
{
    struct scene s = modern_scene_of(SETTINGS(.call_timeout_ms = 1000));
    calls(s.client, 0, 1, "{}", "");
    calls(s.client, 0, 2, CAN, "");
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 2));
    advance(s.w, 1000);
    CHECK(error_of(s.client, 1) == -31002 && answers_to(s.client, 2) == 1);
}

TEST(an_idle_server_is_not_stopped_while_a_call_is_parked)
{
    struct scene s = modern_scene_of(SETTINGS(.idle_ms = 1000));
    park_one(&s);
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED));
    retries(s.client, 2, state_in(s.client, 1), YES);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2));
    advance(s.w, 2000);
    CHECK(IS(s.server, DISCONNECTED));
}

TEST(a_parked_call_still_takes_a_place_of_max_in_flight)
{
    struct scene s = modern_scene_of(SETTINGS(.max_in_flight = 1));
    park_one(&s);
    calls(s.client, 0, 2, CAN, "");
    CHECK_EQ(child_got(s.first, CALL), 1);
    retries(s.client, 3, state_in(s.client, 1), YES);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 3) && child_got(s.first, CALL) == 2);
}

/* ---- the client ---- */

TEST(a_retry_that_is_cancelled_or_whose_client_goes_away_only_leaves_and_the_next_one_joins)
{
    for (int how = 0; how < 3; how++) {
        struct scene s = parked_with_state();
        retries_via(s.client, 2, 2, state, YES);
        retries_via(s.client, 3, 3, state, YES);
        if (how == 0)
            client_cancels(s.client, 2);
        else if (how == 1)
            client_via_gone(s.client, 2);
        else
            client_via_cancelled(s.client, 2);
        CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
        CHECK_EQ(taken_back_via(s.client, 2), 1);
        client_via_cancelled(s.client, 3);
        advance(s.w, PARK_MS - 1);
        retries_via(s.client, 4, 4, state, YES);
        advance(s.w, PARK_MS + 1); /* somebody waits: it may take its time */
        child_answers(s.first, CALL, RESULT);
        CHECK(is_complete(s.client, 4));
        CHECK(answers_to(s.client, 2) == 0 && answers_to(s.client, 3) == 0);
        CHECK(times_told(s.first, 501) == 1 && child_got(s.first, CALL) == 1);
        world_end(s.w);
    }
}

TEST(a_call_that_nobody_waits_for_any_more_is_cancelled_at_its_server_after_park_ms)
{
    struct scene s = parked_with_state();
    retries_via(s.client, 2, 2, state, YES);
    client_via_gone(s.client, 2);
    advance(s.w, PARK_MS);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

TEST(closing_the_stream_of_a_call_that_was_not_asked_about_cancels_it_at_its_server)
{
    struct scene s = modern_scene();
    calls(s.client, 3, 1, CAN, "");
    calls(s.client, 4, 2, CAN, "");
    asks_form(s.first, 501); /* of the newest, and its question is not out yet */
    client_via_cancelled(s.client, 4);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
    CHECK(span_has(told(s.first, 501), "error") && taken_back_via(s.client, 4) == 1);
    advance(s.w, 1000);
    CHECK_EQ(answers_to(s.client, 2), 0);
    child_answers_line(s.first, s.first->got.count - 4, RESULT);
}

TEST(closing_the_stream_drops_what_was_not_sent_yet)
{
    struct scene s = modern_scene_of(SETTINGS(.max_in_flight = 1));
    calls(s.client, 3, 1, CAN, "");
    calls(s.client, 4, 2, CAN, "");
    client_via_cancelled(s.client, 4);
    CHECK(taken_back_via(s.client, 4) == 1 && status_of(s.server).waiting == 0);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 1) && child_got(s.first, CALL) == 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
}

TEST(a_cancel_of_the_request_that_was_answered_with_a_question_means_nothing_any_more)
{
    struct scene s = parked_with_state();
    client_cancels(s.client, 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    retries(s.client, 2, state, YES);
    CHECK_EQ(times_told(s.first, 501), 1);
}

TEST(a_client_that_leaves_has_its_parked_calls_cancelled_at_the_server)
{
    struct scene s = parked_with_state();
    client_leaves(s.client);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
    CHECK(span_has(told(s.first, 501), "the client is gone"));
    CHECK_EQ(status_of(s.server).in_flight, 0);
}

TEST(a_client_that_has_finished_is_settled_by_its_question_and_the_call_is_cancelled)
{
    for (int early = 0; early < 2; early++) {
        struct scene s = modern_scene();
        calls(s.client, 0, 1, CAN, "");
        asks_form(s.first, 501);
        if (early)
            hf_session_finish(s.client->session, at(s.w->now_ms));
        advance(s.w, GATHER_MS);
        if (!early) {
            hf_session_finish(s.client->session, at(s.w->now_ms));
            settle(s.w);
        }
        CHECK(is_question(s.client, 1));
        CHECK(hf_session_is_settled(s.client->session));
        CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
        world_end(s.w);
    }
}

TEST(a_client_that_finishes_while_its_retry_waits_gets_its_answer_or_the_truth_after_drain_ms)
{
    for (int answers = 0; answers < 2; answers++) {
        struct scene s = parked_with_state();
        advance(s.w, 60000);
        retries(s.client, 2, state, YES);
        hf_session_finish(s.client->session, at(s.w->now_ms));
        settle(s.w);
        CHECK(!hf_session_is_settled(s.client->session));
        advance(s.w, 9000);
        CHECK_EQ(answers_to(s.client, 2), 0);
        if (answers)
            child_answers(s.first, CALL, RESULT);
        advance(s.w, 2000);
        CHECK(answers ? is_complete(s.client, 2) : error_of(s.client, 2) == -31002);
        CHECK(hf_session_is_settled(s.client->session));
        world_end(s.w);
    }
}

TEST(a_retry_that_ends_with_its_client_names_the_generation_that_has_the_call)
{
    struct scene s = parked_with_state();
    retries(s.client, 2, state, YES);
    hf_session_finish(s.client->session, at(s.w->now_ms));
    advance(s.w, 5000);
    operate(s.w, s.server, HF_OP_RESTART); /* the old one drains, and the call is there */
    advance(s.w, 5000);
    CHECK_EQ(status_of(s.server).generation, 2);
    CHECK(error_of(s.client, 2) == -31002 && data_is(s.client, 2, "generation", "1"));
    CHECK(data_is(s.client, 2, "reason", "\"client_finished\""));
}

/* ---- holdfast ---- */

static struct scene answer_is_being_kept(void) /* for the retries 2 and 3 */
{
    struct scene s = parked_with_state();
    hf_engine_use_seam(s.w->engine, HF_SEAM_ANSWER, true, at(s.w->now_ms));
    retries(s.client, 2, state, YES);
    child_answers(s.first, CALL, RESULT);
    retries(s.client, 3, state, YES);
    return s;
}

TEST(retries_of_a_call_whose_answer_is_being_kept_get_that_answer_when_their_client_is_given_up)
{
    struct scene s = answer_is_being_kept();
    CHECK(answers_to(s.client, 2) == 0 && answers_to(s.client, 3) == 0);
    hf_session_give_up(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(is_complete(s.client, 2) && is_complete(s.client, 3));
}

TEST(a_retry_that_waits_for_an_answer_that_is_being_kept_outlives_their_server)
{
    struct scene s = answer_is_being_kept();
    operate(s.w, s.server, HF_OP_REMOVE);
    advance(s.w, 4000);
    client_cancels(s.client, 2);
    CHECK_EQ(answers_to(s.client, 3), 0);
    advance(s.w, 1000);
    CHECK(answers_to(s.client, 2) == 0 && is_complete(s.client, 3));
}

TEST(holdfast_stops_at_once_with_a_call_that_nobody_waits_for_and_tells_who_comes_the_truth)
{
    struct scene s = parked_with_state();
    hf_engine_stop(s.w->engine, at(s.w->now_ms));
    retries(s.client, 2, state, YES);
    CHECK(error_of(s.client, 2) == -31002 && data_is(s.client, 2, "reason", "\"shutting_down\""));
    CHECK_EQ(s.first->closed_ms, s.w->now_ms); /* the end of its stdin tells it */
    CHECK(hf_engine_is_stopped(s.w->engine) && child_got(s.first, CALL) == 1);
}

TEST(holdfast_that_stops_waits_for_a_retry_as_for_any_call)
{
    struct scene s = parked_with_state();
    retries(s.client, 2, state, YES);
    hf_engine_stop(s.w->engine, at(s.w->now_ms));
    settle(s.w);
    CHECK(!hf_engine_is_stopped(s.w->engine));
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2));
    CHECK(hf_engine_is_stopped(s.w->engine));
}

/* ---- bounds ---- */

TEST(a_result_too_large_to_be_kept_reaches_who_waits_and_others_are_told_that_it_is_done)
{
    struct scene s =
        modern_scene_with(LIMITS(.max_buffered_bytes = 64 << 10)); /* a quarter of it may be kept */
    park_one(&s);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    char *large = hf_new_array(char, (20 << 10) + 64);
    (void)snprintf(large, 64, "{\"content\":[],\"paid\":\"");
    memset(large + strlen(large), 'x', 20 << 10);
    memcpy(large + strlen(large), "\"}", 3);
    retries(s.client, 2, state, YES);
    child_answers(s.first, CALL, large);
    CHECK(is_complete(s.client, 2));
    retries(s.client, 3, state, YES);
    CHECK(error_of(s.client, 3) == -31006 && data_is(s.client, 3, "dispatched", "true"));
    CHECK(data_is(s.client, 3, "reason", "\"result_not_kept\""));
    CHECK_EQ(child_got(s.first, CALL), 1);
    hf_free(large);
}

TEST(a_server_that_asks_too_much_gets_an_error_and_what_was_kept_is_given_back)
{
    struct scene s = modern_scene_with(LIMITS(.max_buffered_bytes = 64 << 10));
    int refused = 0, id = 500;
    calls(s.client, 0, 1, CAN, "");
    while (!refused && id < 1500) {
        asks_form(s.first, ++id);
        refused = times_told(s.first, id) ? id : 0;
    }
    CHECK(refused > 510 && span_has(told(s.first, refused), "too many questions"));
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 1));
    advance(s.w, PARK_MS); /* it expires, and with it all that was kept */
    calls(s.client, 0, 2, CAN, "");
    asks_form(s.first, 5000);
    CHECK_EQ(times_told(s.first, 5000), 0);
}

TEST(a_server_that_never_has_enough_is_refused_after_64_rounds)
{
    struct scene s = modern_scene();
    char answers[200];
    calls(s.client, 0, 1, CAN, "");
    int id = 1;
    for (; id <= 64; id++) {
        asks_form(s.first, 500 + id);
        advance(s.w, GATHER_MS);
        REQUIRE(is_question(s.client, id));
        (void)snprintf(answers, sizeof answers, "{\"elicitation-%d\":{}}", id);
        retries(s.client, id + 1, state_in(s.client, id), answers);
        REQUIRE_EQ(times_told(s.first, 500 + id), 1);
    }
    asks_form(s.first, 900);
    CHECK(span_has(told(s.first, 900), "error"));
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, id) && child_got(s.first, CALL) == 1);
}
