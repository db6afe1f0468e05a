/*
 * test_engine_health.c - a server that answers nothing: when it is checked, when it is left in
 * peace, and when it is recycled (DESIGN 5, Health).
 */
#include "engine_fixture.h"

/* A call that its client gives up after `ms`. */
static void call_and_give_up(struct scene *s, int id, uint64_t ms)
{
    client_calls(s->client, id, "echo");
    advance(s->w, ms);
    client_cancels(s->client, id);
}

static size_t pings(const struct scene *s)
{
    return child_got(s->first, "ping");
}

/* @field Y5: the absence of slow calls that recycle a healthy server */
TEST(a_server_that_stopped_answering_is_recycled_after_three_failed_checks)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    call_and_give_up(&s, 1, 10001);
    CHECK_EQ(pings(&s), 1);
    advance(s.w, 5000); /* failed; the next 10 s later */
    CHECK_EQ(pings(&s), 1);
    advance(s.w, 10000);
    CHECK_EQ(pings(&s), 2);
    advance(s.w, 15000);
    CHECK_EQ(pings(&s), 3);
    advance(s.w, 4999);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1);
    advance(s.w, 1);
    CHECK(spawns_of(s.w, s.server) == 2 && IS(s.server, CONNECTED));
    CHECK(s.first->got_kill && s.first->was_stolen_from);
    CHECK_EQ(status_of(s.server).generation, 2);
    CHECK_STR(status_of(s.server).last_reason, "stopped answering: 3 liveness checks failed");
    client_calls(s.client, 2, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

TEST(one_check_that_passes_clears_the_count)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    call_and_give_up(&s, 1, 10001);
    advance(s.w, 15000); /* one failed, the second is out */
    advance(s.w, 5000);  /* two failed */
    s.first->manners.no_ping = false;
    advance(s.w, 10000);
    CHECK_EQ(pings(&s), 3);
    advance(s.w, 600000);
    CHECK_EQ(pings(&s), 3); /* no check is made of itself */
    s.first->manners.no_ping = true;
    call_and_give_up(&s, 2, 10001);
    advance(s.w, 34999); /* again three are needed: 5 + 10 + 5 + 10 + 5 */
    CHECK_EQ(spawns_of(s.w, s.server), 1);
    advance(s.w, 1);
    CHECK_EQ(spawns_of(s.w, s.server), 2);
}

/* @field B14: a client's cancel counts for nothing by itself */
/* @field A12: a cancel is no death */
TEST(a_cancel_within_ten_seconds_starts_no_check)
{
    struct scene s = scene();
    call_and_give_up(&s, 1, 10000);
    advance(s.w, 60000);
    CHECK_EQ(pings(&s), 0);
}

TEST(a_cancel_after_any_byte_from_the_server_starts_no_check)
{
    struct scene s = called_scene();
    advance(s.w, 5000);
    child_notifies(s.first, "notifications/message", "{\"level\":\"info\",\"data\":\"busy\"}");
    advance(s.w, 20000);
    client_cancels(s.client, 1);
    CHECK_EQ(pings(&s), 0);
}

TEST(a_server_busy_in_one_long_call_is_not_touched)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    client_calls(s.client, 1, "echo"); /* takes its time */
    const size_t line = s.first->got.count - 1;
    for (int id = 2; id <= 6; id++)
        call_and_give_up(&s, id, 11000);
    advance(s.w, 3600000);
    CHECK(pings(&s) == 0 && spawns_of(s.w, s.server) == 1);
    child_answers_line(s.first, line, "{}");
    CHECK(has_result(s.client, 1));
}

/* @field B14: time-outs do count | DESIGN 5: they start a check, and only failed checks count */
TEST(a_call_that_timed_out_starts_a_check)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 2000));
    client_calls(s.client, 1, "echo");
    advance(s.w, 2000);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK_EQ(pings(&s), 1);
    advance(s.w, 600000);
    CHECK_EQ(spawns_of(s.w, s.server), 1); /* it answered */
}

TEST(a_check_that_falls_due_while_a_call_is_in_flight_waits_for_that_call)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    call_and_give_up(&s, 1, 10001);
    advance(s.w, 5000); /* one failed */
    client_calls(s.client, 2, "echo");
    advance(s.w, 60000);
    CHECK_EQ(pings(&s), 1);
    child_answers(s.first, "tools/call", "{}");
    CHECK_EQ(pings(&s), 2);
}

TEST(any_number_of_given_up_calls_starts_one_check_at_a_time)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    for (int id = 1; id <= 3; id++)
        client_calls(s.client, id, "echo");
    advance(s.w, 11000);
    for (int id = 1; id <= 3; id++)
        client_cancels(s.client, id);
    CHECK_EQ(pings(&s), 1);
}

TEST(a_ping_answered_with_an_error_is_an_answer)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    call_and_give_up(&s, 1, 10001);
    child_answers_error(s.first, "ping", -32601, "what is a ping?");
    advance(s.w, 600000);
    CHECK(pings(&s) == 1 && spawns_of(s.w, s.server) == 1);
}

/* ---- a pipe that takes nothing ---- */

static struct scene patient_scene(void)
{
    return scene_of(SETTINGS(.wait_ms = 600000));
}

TEST(a_pipe_that_took_no_byte_for_stall_ms_is_a_failed_check_and_three_rob_and_recycle)
{
    struct scene s = patient_scene();
    child_stalls(s.first, 50);
    client_calls(s.client, 1, "echo");
    advance(s.w, 59999);
    CHECK_EQ(notes_with(s.w, "CHECK_FAILED"), 0);
    advance(s.w, 1);
    CHECK_EQ(notes_with(s.w, "CHECK_FAILED"), 1);
    manners_of(s.w, s.server)->answers_calls = true;
    advance(s.w, 119999);
    CHECK_EQ(spawns_of(s.w, s.server), 1);
    advance(s.w, 1);
    CHECK(s.first->got_kill && spawns_of(s.w, s.server) == 2);
    CHECK(has_result(s.client, 1)); /* taken back, and run by the next */
}

TEST(a_pipe_that_takes_a_byte_now_and_then_is_not_stalled)
{
    struct scene s = patient_scene();
    child_stalls(s.first, 10);
    client_calls(s.client, 1, "echo");
    for (int i = 0; i < 6; i++) {
        advance(s.w, 59000);
        child_reads(s.first, 1);
    }
    CHECK_EQ(notes_with(s.w, "CHECK_FAILED"), 0);
}

/* ---- what is no matter of health ---- */

/* @field B16: failures of lists and of calls are separate: neither ends the other's count */
TEST(lists_that_fail_neither_check_nor_recycle_a_server_nor_cost_its_catalog)
{
    struct scene s = scene();
    client_asks(s.client, 1, "tools/list");
    s.first->manners.no_tools = true;
    advance(s.w, 1500000); /* five slow re-lists */
    CHECK_EQ(child_got(s.first, "tools/list"), 6);
    CHECK(pings(&s) == 0 && spawns_of(s.w, s.server) == 1);
    CHECK(status_of(s.server).failures_k == 0 && status_of(s.server).streak == 0);
    client_asks(s.client, 2, "tools/list");
    CHECK_STR(names_in(s.client, 2, "tools"), "echo");
    CHECK_EQ(heard(s.client, "notifications/tools/list_changed"), 0);
}

TEST(a_relist_that_succeeds_does_not_make_a_silent_server_healthy)
{
    struct scene s = scene();
    s.first->manners.no_ping = true;
    call_and_give_up(&s, 1, 10001);
    advance(s.w, 5000);
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    advance(s.w, 30000);
    CHECK_EQ(spawns_of(s.w, s.server), 2);
}

/* A recycled server's calls are judged like those of a dead one. */
TEST(recycling_a_hung_server_takes_back_what_it_never_read)
{
    struct scene s = scene_of(SETTINGS(.liveness.failures = 1));
    s.first->manners.no_ping = true;
    client_calls(s.client, 1, "echo");
    advance(s.w, 10001);
    s.first->manners.reads_nothing = true; /* stopped in its tracks */
    client_cancels(s.client, 1);
    advance(s.w, 4999);
    client_calls(s.client, 2, "echo"); /* goes into the dead pipe */
    advance(s.w, 1);
    CHECK_EQ(spawns_of(s.w, s.server), 2);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
    CHECK_EQ(notes_with(s.w, "RESEND unread"), 1);
}

TEST(a_call_that_times_out_between_two_checks_does_not_hurry_the_next)
{
    struct scene s = scene_of(SETTINGS(.call_timeout_ms = 2000));
    s.first->manners.no_ping = true;
    client_calls(s.client, 1, "echo");
    advance(s.w, 2000);
    CHECK_EQ(pings(&s), 1);
    advance(s.w, 5000); /* failed */
    client_calls(s.client, 2, "echo");
    advance(s.w, 2000);
    CHECK(error_of(s.client, 2) == -31002 && pings(&s) == 1);
    advance(s.w, 7999);
    CHECK_EQ(pings(&s), 1);
    advance(s.w, 1);
    CHECK_EQ(pings(&s), 2);
}
