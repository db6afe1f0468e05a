/*
 * test_engine_wait.c - calls whose server is not there: who waits, how long, who is told at once
 * (DESIGN 5 and 6), and every clock of a call.
 */
#include "engine_fixture.h"
#include "core/state/call.h"

static void bring_back(struct scene *s)
{
    manners_of(s->w, s->server)->no_exec = false;
    manners_of(s->w, s->server)->answers_calls = true;
}

static uint64_t second_of(const struct scene *s, size_t spawn)
{
    return (s->w->children[spawn].spawned_ms - T0) / 1000;
}

/* ---- the schedule (the Must-show line of issue 2) ---- */

/* @field D3: a wait covers the whole schedule of attempts: nobody times out just before success */
/* @field Z6: the absence of a fixed wait that knows nothing of the schedule */
/* @field D5: waiters are woken by the attempt that serves them */
TEST(a_call_at_0_with_35_seconds_to_wait_succeeds_with_the_attempt_at_31)
{
    struct scene s = scene_of(SETTINGS(.wait_ms = 35000));
    take_away(&s);
    client_calls(s.client, 1, "echo");
    advance(s.w, 30500);
    CHECK_EQ(answers_to(s.client, 1), 0);
    bring_back(&s);
    advance(s.w, 499);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    REQUIRE(has_result(s.client, 1));
    CHECK_EQ(answer_to(s.client, 1)->at_ms, T0 + 31000);
    static const uint64_t expected[] = { 0, 1, 3, 7, 15, 31 };
    REQUIRE_EQ(spawns_of(s.w, s.server), 7);
    for (size_t i = 0; i < 6; i++)
        CHECK_EQ(second_of(&s, i + 1), expected[i]);
}

/* @field A11: a call that comes too early fails at once with "retry in", and starts nothing */
/* @field A17: mirrored: stays down under a fake clock, no start in the window, growth by two */
TEST(a_call_at_16_with_10_seconds_is_answered_at_once_with_retry_after_15_seconds)
{
    struct scene s = scene_of(SETTINGS(.wait_ms = 10000));
    take_away(&s);
    advance(s.w, 16000);
    const size_t spawns = spawns_of(s.w, s.server);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "retryAfterMs", "15000"));
    CHECK(data_is(s.client, 1, "dispatched", "false"));
    CHECK(data_is(s.client, 1, "retry", "\"later\""));
    CHECK(data_is(s.client, 1, "state", "\"reconnecting\""));
    CHECK(data_is(s.client, 1, "reason", "\"crash_loop\""));
    CHECK_EQ(spawns_of(s.w, s.server), spawns);
    advance(s.w, 14999);
    CHECK_EQ(spawns_of(s.w, s.server), spawns); /* and it moved nothing */
    advance(s.w, 1);
    CHECK_EQ(spawns_of(s.w, s.server), spawns + 1);
}

TEST(a_call_with_a_long_budget_is_turned_away_at_once_when_the_next_attempt_lies_behind_its_wait)
{
    struct scene s = scene_of(SETTINGS(.wait_ms = 10000, .call_timeout_ms = 600000));
    take_away(&s);
    advance(s.w, 16000); /* attempts at 0, 1, 3, 7 and 15; the next at 31 */
    client_calls(s.client, 1, "echo");
    REQUIRE_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "retryAfterMs", "15000"));
    CHECK_EQ(answer_to(s.client, 1)->at_ms, T0 + 16000);
}

/* @field Y2: the absence of a server that heals only by a tick or by hand while calls just fail */
TEST(a_call_at_4_makes_one_extra_attempt_and_the_one_at_7_still_comes)
{
    struct scene s = scene();
    take_away(&s);
    advance(s.w, 4000);
    CHECK_EQ(spawns_of(s.w, s.server), 4); /* 0, 1, 3 after the first */
    client_calls(s.client, 1, "echo");
    CHECK_EQ(spawns_of(s.w, s.server), 5);
    CHECK_EQ(second_of(&s, 4), 4);
    client_calls(s.client, 2, "echo"); /* one extra attempt in each step, not one for each call */
    CHECK_EQ(spawns_of(s.w, s.server), 5);
    CHECK_EQ(status_of(s.server).next_attempt_ms, T0 + 7000);
    advance(s.w, 2999);
    CHECK_EQ(spawns_of(s.w, s.server), 5);
    advance(s.w, 1);
    CHECK(spawns_of(s.w, s.server) == 6 && second_of(&s, 5) == 7);
    advance(s.w, 8000);
    CHECK_EQ(second_of(&s, 6), 15); /* no budget, no step: the schedule is the old one */
}

TEST(an_extra_attempt_that_succeeds_serves_the_call_at_once)
{
    struct scene s = scene();
    take_away(&s);
    advance(s.w, 4000);
    bring_back(&s);
    client_calls(s.client, 1, "echo");
    CHECK(has_result(s.client, 1));
    CHECK_EQ(answer_to(s.client, 1)->at_ms, T0 + 4000);
    CHECK_EQ(status_of(s.server).next_attempt_ms, -1);
    advance(s.w, 60000);
    CHECK_EQ(spawns_of(s.w, s.server), 5);
}

TEST(a_call_that_no_extra_attempt_could_help_is_answered_when_that_attempt_has_failed)
{
    struct scene s = scene_of(SETTINGS(.wait_ms = 2000));
    take_away(&s);
    advance(s.w, 3500);
    client_calls(s.client, 1, "echo"); /* may wait until 5.5 s; the next attempt is at 7 */
    CHECK_EQ(spawns_of(s.w, s.server), 5);
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "retryAfterMs", "3500"));
}

TEST(a_waiting_call_whose_deadline_lies_before_the_next_attempt_is_told_when_that_is_known)
{
    struct scene s = scene_of(SETTINGS(.wait_ms = 5000));
    take_away(&s);
    client_calls(s.client, 1, "echo");
    advance(s.w, 2999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1); /* the attempt at 3 failed; the next is at 7 */
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "retryAfterMs", "4000"));
}

/* @field A9: one respawn for a burst of callers */
/* @field D4: a call joins the attempt that runs; nobody closes what it builds */
/* @field D10: a server missing at start is no end: it is tried again by itself and on use */
TEST(a_burst_of_calls_makes_one_attempt_and_all_are_served_by_it)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.never_starts = true));
    s.client = open_client(s.w, s.server);
    for (int id = 1; id <= 20; id++)
        client_calls(s.client, id, "echo");
    CHECK_EQ(spawns_of(s.w, s.server), 1);
    struct child *child = newest_child(s.w, s.server);
    child->manners.answers_calls = true;
    child_start(child);
    for (int id = 1; id <= 20; id++)
        CHECK(has_result(s.client, id));
    CHECK(spawns_of(s.w, s.server) == 1 && child_got(child, "initialize") == 1);
}

/* ---- bounds of waiting ---- */

TEST(wait_ms_bounds_all_time_before_dispatch)
{
    struct scene s = scene_of(SETTINGS(.wait_ms = 8000));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    client_calls(s.client, 1, "echo");
    advance(s.w, 7999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "reason", "\"wait_over\""));
    CHECK(data_is(s.client, 1, "evidence", "\"unsent\""));
}

TEST(what_a_call_waited_before_it_was_sent_counts_when_it_waits_to_be_sent_again)
{
    struct scene s =
        lone_server(SETTINGS(.wait_ms = 8000), MANNERS(.prompts = "[{\"name\":\"p\"}]"));
    s.client = greeted_client(s.w, s.server);
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(newest_child(s.w, s.server));
    client_requests(s.client, 1, "prompts/get", "{\"name\":\"p\"}");
    advance(s.w, 5000);
    struct child *second = newest_child(s.w, s.server);
    child_start(second);
    REQUIRE_EQ(child_got(second, "prompts/get"), 1);
    child_dies(second); /* it only reads, so it waits for the third */
    advance(s.w, 2999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(answers_to(s.client, 1) == 1 && data_is(s.client, 1, "reason", "\"wait_over\""));
}

/* @field B17: bounded queues, one server's trouble stays its own */
TEST(max_waiting_is_a_bound_and_over_it_a_call_is_overloaded_at_once)
{
    struct scene s = scene_of(SETTINGS(.max_waiting = 3));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    for (int id = 1; id <= 4; id++)
        client_calls(s.client, id, "echo");
    CHECK_EQ(answers_to(s.client, 3), 0);
    CHECK_EQ(error_of(s.client, 4), -31005);
    CHECK(data_is(s.client, 4, "retry", "\"later\""));
    CHECK(data_is(s.client, 4, "dispatched", "false"));
    CHECK_EQ(status_of(s.server).waiting, 3);
}

TEST(max_in_flight_is_a_bound_and_the_next_goes_when_one_ends)
{
    struct scene s = scene_of(SETTINGS(.max_in_flight = 2));
    for (int id = 1; id <= 4; id++)
        client_calls(s.client, id, "echo");
    CHECK_EQ(child_got(s.first, "tools/call"), 2);
    CHECK(status_of(s.server).in_flight == 2 && status_of(s.server).waiting == 2);
    child_answers(s.first, "tools/call", "{}");
    CHECK_EQ(child_got(s.first, "tools/call"), 3);
    client_cancels(s.client, 1);
    CHECK_EQ(child_got(s.first, "tools/call"), 4);
}

TEST(a_call_that_found_no_place_in_time_is_told_that_its_server_was_busy)
{
    struct hf_settings settings = SETTINGS(.max_in_flight = 1);
    struct scene s = scene_of(settings);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    advance(s.w, settings.wait_ms);
    CHECK(error_of(s.client, 2) == -31001 && data_is(s.client, 2, "dispatched", "false"));
    CHECK(error_says(s.client, 2, "it was busy with other calls"));
    CHECK(!error_says(s.client, 2, "starting"));
}

TEST(clients_take_turns_however_many_calls_one_of_them_has)
{
    struct scene s = scene_of(SETTINGS(.max_in_flight = 1));
    struct client *other = greeted_client(s.w, s.server);
    for (int id = 1; id <= 5; id++)
        client_calls(s.client, id, "echo");
    client_calls(other, 6, "echo");
    client_calls(other, 7, "echo");
    /* 1 is in flight; the greedy one's 2, then the other's 6, and so on in turns */
    static const int order[] = { 1, 2, 6, 3, 7, 4, 5 };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        child_answers(s.first, "tools/call", "{}");
        CHECK_EQ(answers_to(order[i] >= 6 ? other : s.client, order[i]), 1);
    }
}

TEST(one_request_too_many_for_our_memory_is_refused_and_the_others_go_on)
{
    struct world *w = world_new_with(LIMITS(.max_message_bytes = 4096,
                                            .max_buffered_bytes = 3 * sizeof(struct hf_call) + 300,
                                            .page_bytes = 1000));
    struct hf_server *server = add_server(w, "s", default_settings());
    settle(w);
    struct client *c = greeted_client(w, server);
    for (int id = 1; id <= 4; id++)
        client_calls(c, id, "echo");
    CHECK_EQ(answers_to(c, 1), 0);
    CHECK_EQ(error_of(c, 4), -31005);
    CHECK(data_is(c, 4, "reason", "\"max_buffered_bytes\""));
    child_answers(newest_child(w, server), "tools/call", "{}");
    client_calls(c, 5, "echo");
    CHECK_EQ(answers_to(c, 5), 0);
}

/* ---- callTimeoutMs: one budget ---- */

/* @field D13: one budget over waiting, call and re-send, with an error of its own */
TEST(the_call_timeout_is_one_budget_over_waiting_call_and_re_send)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 20000));
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 1, "echo"); /* t=0 */
    advance(s.w, 6000);
    take_away(&s); /* unread: it waits again */
    advance(s.w, 1000);
    bring_back(&s);
    manners_of(s.w, s.server)->answers_calls = false;
    advance(s.w, 6000); /* dispatched anew */
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
    advance(s.w, 6999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(data_is(s.client, 1, "reason", "\"timeout\""));
    CHECK_EQ(answer_to(s.client, 1)->at_ms, T0 + 20000);
}

/* @field A10: a caller's time-out does not end the shared attempt */
TEST(a_time_out_while_waiting_says_unsent_and_leaves_the_attempt_alone)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 3000));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    client_calls(s.client, 1, "echo");
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "reason", "\"timeout\""));
    CHECK(data_is(s.client, 1, "evidence", "\"unsent\""));
    struct child *attempt = newest_child(s.w, s.server);
    CHECK(!attempt->got_close && !attempt->got_kill);
    child_start(attempt);
    CHECK(IS(s.server, CONNECTED) && child_got(attempt, "tools/call") == 0);
}

/* @field X6: the absence of time-outs and cancels that never reach the server */
TEST(a_time_out_after_dispatch_cancels_at_the_server_with_our_id)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 3000));
    client_calls(s.client, 77, "echo");
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 77), -31002);
    const struct message *cancel = child_last(s.first, "notifications/cancelled");
    REQUIRE(cancel);
    const struct hf_span id = hf_json_get(cancel->msg.params, HF_SPAN("requestId"));
    CHECK(hf_span_eq(id, child_last_id(s.first, "tools/call")));
    CHECK(!hf_span_is(id, "77"));
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
    /* a late answer is dropped */
    child_answers(s.first, "tools/call", "{}");
    CHECK_EQ(answers_to(s.client, 77), 1);
}

TEST(a_call_that_is_sent_long_after_its_client_finished_has_drain_ms_too)
{
    struct scene s = scene();
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    client_calls(s.client, 1, "echo");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    advance(s.w, 20000);
    CHECK(answers_to(s.client, 1) == 0 && status_of(s.server).waiting == 1);
    child_start(newest_child(s.w, s.server));
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
    advance(s.w, 9999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(hf_session_is_settled(s.client->session));
}

TEST(a_time_out_in_the_middle_of_the_line_finishes_it_and_then_cancels)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 3000));
    child_stalls(s.first, 40);
    client_calls(s.client, 1, "echo");
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 1), -31002);
    child_goes_on(s.first);
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

TEST(a_line_still_half_written_when_wait_ms_is_over_is_finished_and_cancelled)
{
    struct scene s = scene();
    child_stalls(s.first, 40);
    client_calls(s.client, 1, "echo");
    advance(s.w, 44999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(data_is(s.client, 1, "reason", "\"wait_over\""));
    child_goes_on(s.first);
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

TEST(a_time_out_of_a_call_still_in_our_queue_withdraws_it)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 3000));
    child_stalls(s.first, 40);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 2), -31001);
    CHECK(data_is(s.client, 2, "evidence", "\"unsent\""));
    child_goes_on(s.first);
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
}

static void progress(struct scene *s, double value)
{
    child_says(s->first,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":%g}}",
               HF_FMT(child_last_id(s->first, "tools/call")), value);
}

static void call_with_token(struct client *c, int id)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"echo\",\"_meta\":{\"progressToken\":\"mine\"}}}",
                id);
}

TEST(progress_extends_the_call_timeout_up_to_its_maximum)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 3000, .call_timeout_max_ms = 7000));
    call_with_token(s.client, 1);
    for (int i = 1; i <= 3; i++) {
        advance(s.w, 2000);
        progress(&s, i);
    }
    CHECK_EQ(answers_to(s.client, 1), 0); /* 6 s by now */
    advance(s.w, 999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK_EQ(heard(s.client, "notifications/progress"), 3);
}

TEST(without_a_maximum_progress_extends_nothing)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 3000));
    call_with_token(s.client, 1);
    advance(s.w, 2000);
    progress(&s, 1);
    advance(s.w, 1000);
    CHECK_EQ(error_of(s.client, 1), -31002);
}

TEST(the_clocks_stand_still_while_the_client_is_being_asked)
{
    struct scene s = lone_server(SETTINGS(.call_timeout_ms = 3000), MANNERS());
    s.client = greeted_client_with(s.w, s.server, "{\"elicitation\":{}}");
    client_calls(s.client, 1, "echo");
    struct child *child = newest_child(s.w, s.server);
    advance(s.w, 1000);
    child_asks(child, "\"q\"", "elicitation/create", "{}");
    const struct message *question = last_heard(s.client, "elicitation/create");
    REQUIRE(question);
    advance(s.w, 899999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                HF_FMT(question->msg.id));
    advance(s.w, 1999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
}
