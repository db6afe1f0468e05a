/*
 * test_seam.c - calls that wait for somebody else, before they are dispatched and before their
 * answers leave. Whoever gives leave here holds it, gives it, refuses it, and dies.
 */
#include "engine_fixture.h"

#define CALL "tools/call"
#define DONE "{\"content\":[]}"

static struct scene seamed_with(enum hf_seam seam, struct hf_settings settings)
{
    struct scene s = scene_of(settings);
    hf_engine_use_seam(s.w->engine, seam, true, at(s.w->now_ms));
    settle(s.w);
    return s;
}

static struct scene seamed(enum hf_seam seam)
{
    return seamed_with(seam, default_settings());
}

/* NULL: granted. */
static void give(const struct scene *s, size_t number, const char *refusal)
{
    const struct leave leave = s->w->leaves[number];
    hf_engine_give_leave(s->w->engine, leave.seam, leave.ticket, refusal, at(s->w->now_ms));
    settle(s->w);
}

static void die(const struct scene *s, enum hf_seam seam)
{
    hf_engine_use_seam(s->w->engine, seam, false, at(s->w->now_ms));
    settle(s->w);
}

static const struct hf_stats *stats_of(const struct scene *s)
{
    return hf_server_stats(s->server);
}

/* ---- before dispatch ---- */

TEST(a_call_that_waits_for_leave_is_sent_when_leave_comes_and_not_before)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_calls(s.client, 1, "echo");
    CHECK(s.w->leave_count == 1 && s.w->leaves[0].seam == HF_SEAM_DISPATCH);
    CHECK(child_got(s.first, CALL) == 0 && answers_to(s.client, 1) == 0);
    give(&s, 0, NULL);
    CHECK_EQ(child_got(s.first, CALL), 1);
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1) && s.w->leave_count == 1);
}

TEST(only_tool_calls_ask_for_leave)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_asks(s.client, 1, "tools/list");
    client_asks(s.client, 2, "x/y");
    CHECK(s.w->leave_count == 0 && has_result(s.client, 1) && child_got(s.first, "x/y") == 1);
}

TEST(the_deadline_of_a_call_runs_on_while_it_waits_for_leave)
{
    struct scene s = seamed_with(HF_SEAM_DISPATCH, SETTINGS(.wait_ms = 3000));
    client_calls(s.client, 1, "echo");
    advance(s.w, 2999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "reason", "\"record_late\""));
    CHECK(data_is(s.client, 1, "retrySafe", "true"));
    give(&s, 0, NULL); /* too late: it is never sent */
    CHECK(child_got(s.first, CALL) == 0 && answers_to(s.client, 1) == 1);
    CHECK(stats_of(&s)->failed[HF_ERROR_UNAVAILABLE] == 1 && stats_of(&s)->waiting.sum_ms == 3000);
}

TEST(what_is_left_of_its_time_is_counted_from_the_first_moment_on)
{
    struct scene s = seamed_with(HF_SEAM_DISPATCH, SETTINGS(.wait_ms = 3000));
    client_calls(s.client, 1, "echo");
    advance(s.w, 2000);
    manners_of(s.w, s.server)->mute = true;
    child_dies(s.first);
    give(&s, 0, NULL);
    advance(s.w, 999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31001);
}

TEST(a_refused_call_is_answered_as_never_sent_with_the_reason)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_calls(s.client, 1, "echo");
    give(&s, 0, "store_down");
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "reason", "\"store_down\""));
    CHECK(data_is(s.client, 1, "dispatched", "false") && child_got(s.first, CALL) == 0);
    give(&s, 0, NULL);
    CHECK(child_got(s.first, CALL) == 0 && answers_to(s.client, 1) == 1);
}

TEST(when_whoever_gives_leave_dies_waiting_calls_are_refused_and_later_ones_go_without)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    die(&s, HF_SEAM_DISPATCH);
    CHECK(error_of(s.client, 1) == -31001 && error_of(s.client, 2) == -31001);
    CHECK(data_is(s.client, 1, "reason", "\"record_down\"") && child_got(s.first, CALL) == 0);
    client_calls(s.client, 3, "echo");
    CHECK_EQ(child_got(s.first, CALL), 1);
}

TEST(a_call_that_is_cancelled_or_whose_client_goes_while_it_waits_for_leave_is_never_sent)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_calls(s.client, 1, "echo");
    client_cancels(s.client, 1);
    client_calls(s.client, 2, "echo");
    client_leaves(s.client);
    give(&s, 0, NULL);
    give(&s, 1, NULL);
    CHECK(child_got(s.first, CALL) == 0 && child_got(s.first, "notifications/cancelled") == 0);
    CHECK_EQ(stats_of(&s)->cancelled, 2);
}

TEST(a_call_whose_server_dies_while_it_waits_for_leave_goes_to_the_next_generation)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_calls(s.client, 1, "echo");
    child_dies(s.first);
    give(&s, 0, NULL);
    struct child *second = newest_child(s.w, s.server);
    CHECK(second != s.first && child_got(second, CALL) == 1 && child_got(s.first, CALL) == 0);
    child_answers(second, CALL, DONE);
    CHECK(has_result(s.client, 1) && s.w->leave_count == 1);
}

TEST(a_call_whose_server_is_switched_off_while_it_waits_for_leave_is_told_so_at_once)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK_EQ(error_of(s.client, 1), -31003);
    client_calls(s.client, 2, "echo");
    CHECK(error_of(s.client, 2) == -31003 && s.w->leave_count == 1);
}

TEST(a_call_that_was_lost_unread_is_sent_again_without_asking_twice)
{
    struct scene s = seamed(HF_SEAM_DISPATCH);
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 1, "echo");
    give(&s, 0, NULL);
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    CHECK(child_got(second, CALL) == 1 && s.w->leave_count == 1);
}

TEST(leave_that_comes_when_there_is_no_place_makes_the_call_wait_for_one)
{
    struct scene s = seamed_with(HF_SEAM_DISPATCH, SETTINGS(.max_in_flight = 1));
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    give(&s, 1, NULL);
    give(&s, 0, NULL);
    CHECK_EQ(child_got(s.first, CALL), 1);
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 2) && child_got(s.first, CALL) == 2);
}

/* ---- before the answer leaves ---- */

/* Call 1 is answered, and its answer waits for leave. */
static struct scene answered_at_the_seam(void)
{
    struct scene s = seamed(HF_SEAM_ANSWER);
    client_calls(s.client, 1, "echo");
    child_answers(s.first, CALL, DONE);
    return s;
}

TEST(an_answer_leaves_when_it_is_kept_byte_for_byte_and_not_before)
{
    struct scene s = seamed(HF_SEAM_ANSWER);
    client_calls(s.client, 1, "echo");
    child_answers(s.first, CALL, "{\"content\":[],\"x\":1.50}");
    CHECK(s.w->leave_count == 1 && s.w->leaves[0].seam == HF_SEAM_ANSWER);
    CHECK(answers_to(s.client, 1) == 0 && stats_of(&s)->results == 1);
    give(&s, 0, NULL);
    CHECK(has_result(s.client, 1));
    CHECK(span_has(hf_span_of(answer_to(s.client, 1)->text), "{\"content\":[],\"x\":1.50}"));
    CHECK(stats_of(&s)->results == 1 && stats_of(&s)->cancelled == 0);
}

TEST(an_answer_that_nobody_keeps_leaves_after_five_seconds_because_it_must_not_be_lost)
{
    struct scene s = answered_at_the_seam();
    advance(s.w, 4999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(has_result(s.client, 1));
    give(&s, 0, NULL);
    CHECK_EQ(answers_to(s.client, 1), 1);
}

TEST(an_answer_leaves_also_if_keeping_it_fails_or_whoever_keeps_it_dies)
{
    struct scene s = answered_at_the_seam();
    give(&s, 0, "store_down");
    CHECK(has_result(s.client, 1));
    client_calls(s.client, 2, "echo");
    child_answers(s.first, CALL, DONE);
    die(&s, HF_SEAM_ANSWER);
    CHECK(has_result(s.client, 2));
    client_calls(s.client, 3, "echo");
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 3) && s.w->leave_count == 2);
}

TEST(an_answer_that_is_being_kept_survives_its_server_and_frees_its_place)
{
    struct scene s = seamed_with(HF_SEAM_ANSWER, SETTINGS(.max_in_flight = 1));
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    child_answers(s.first, CALL, DONE);
    CHECK(child_got(s.first, CALL) == 2 && answers_to(s.client, 1) == 0);
    operate(s.w, s.server, HF_OP_REMOVE);
    advance(s.w, 20000);
    CHECK(has_result(s.client, 1) && error_of(s.client, 2) == -31002);
}

TEST(a_client_that_cancels_or_goes_while_its_answer_is_kept_hears_nothing_more_and_is_counted_once)
{
    struct scene s = answered_at_the_seam();
    client_cancels(s.client, 1);
    client_calls(s.client, 2, "echo");
    child_answers(s.first, CALL, DONE);
    client_leaves(s.client);
    give(&s, 0, NULL);
    give(&s, 1, NULL);
    CHECK_EQ(answers_to(s.client, 1), 0);
    CHECK(stats_of(&s)->results == 2 && stats_of(&s)->cancelled == 0);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
}

TEST(a_failure_of_ours_is_kept_like_any_answer_and_says_the_same)
{
    struct scene s = seamed(HF_SEAM_ANSWER);
    client_calls(s.client, 1, "echo");
    child_dies(s.first);
    CHECK(answers_to(s.client, 1) == 0 && s.w->leave_count == 1);
    give(&s, 0, NULL);
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "generation", "1"));
}

TEST(a_client_that_has_finished_still_gets_the_answer_that_is_being_kept)
{
    struct scene s = answered_at_the_seam();
    hf_session_finish(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(!hf_session_is_settled(s.client->session));
    give(&s, 0, NULL);
    CHECK(has_result(s.client, 1) && hf_session_is_settled(s.client->session));
}

TEST(a_session_that_is_given_up_gets_the_answers_that_are_being_kept_at_once)
{
    struct scene s = answered_at_the_seam();
    hf_session_give_up(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(has_result(s.client, 1));
}

TEST(holdfast_has_stopped_only_when_the_answers_that_are_being_kept_have_left)
{
    struct scene s = answered_at_the_seam();
    hf_engine_stop(s.w->engine, at(s.w->now_ms));
    settle(s.w);
    CHECK(!s.first->runtime);
    CHECK(answers_to(s.client, 1) == 0 && !hf_engine_is_stopped(s.w->engine));
    give(&s, 0, NULL);
    CHECK(has_result(s.client, 1) && hf_engine_is_stopped(s.w->engine));
}

/* ---- the audit point ---- */

struct records {
    unsigned count, tools, joined;
    unsigned by_code_0, by_unknown;
    uint64_t came_wall_ms, ended_wall_ms;
};

static void keep_record(void *context, const struct hf_call_record *record)
{
    struct records *records = context;
    records->count++;
    records->tools += record->is_tool_call;
    records->joined += record->is_joined;
    records->by_code_0 += record->code == 0;
    records->by_unknown += record->code == -31002;
    records->came_wall_ms = record->came_wall_ms;
    records->ended_wall_ms = record->ended_wall_ms;
}

TEST(every_call_is_recorded_once_with_what_became_of_it_and_with_times_for_people)
{
    struct scene s = scene();
    struct records records = { 0 };
    hf_engine_on_answer(s.w->engine, keep_record, &records);
    client_calls(s.client, 1, "echo");
    const uint64_t came = at(s.w->now_ms).wall_ms;
    advance(s.w, 7);
    child_answers(s.first, CALL, DONE);
    CHECK(records.count == 1 && records.by_code_0 == 1 && records.tools == 1);
    CHECK(records.came_wall_ms == came && records.ended_wall_ms == at(s.w->now_ms).wall_ms);
    client_calls(s.client, 2, "echo");
    client_cancels(s.client, 2);
    client_calls(s.client, 3, "echo");
    child_dies(s.first);
    client_asks(s.client, 4, "tools/list");
    CHECK(records.count == 4 && records.tools == 3 && records.by_unknown == 1);
}
