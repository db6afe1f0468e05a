/*
 * test_engine_operate.c - what operators do to servers, at good and bad moments: enable, disable,
 * restart, reconnect, remove, change, stop (DESIGN 5).
 */
#include "engine_fixture.h"

static size_t news(const struct scene *s)
{
    return heard(s->client, "notifications/tools/list_changed");
}

/* ---- disable ---- */

/* @field B9: disabling at once, unpublished, detached, closed behind; then disabled */
/* @field B11: "switched off" is an error of its own, visible to callers */
TEST(disable_unpublishes_once_refuses_new_calls_and_lets_those_in_flight_finish)
{
    struct scene s = called_scene();
    CHECK(operate(s.w, s.server, HF_OP_DISABLE));
    CHECK(IS(s.server, DISABLING) && news(&s) == 1);
    CHECK(!s.first->got_close);
    client_asks(s.client, 2, "tools/list");
    CHECK_STR(names_in(s.client, 2, "tools"), "");
    client_calls(s.client, 3, "echo");
    CHECK_EQ(error_of(s.client, 3), -31003);
    CHECK(data_is(s.client, 3, "retry", "\"no\""));
    CHECK(data_is(s.client, 3, "state", "\"disabling\""));
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
    CHECK(s.first->got_close && IS(s.server, DISABLED));
    CHECK_EQ(news(&s), 1);
    client_calls(s.client, 4, "echo");
    CHECK_EQ(error_of(s.client, 4), -31003);
}

/* @field Y5: the absence of calls that die because their server is asked to go */
TEST(calls_in_flight_have_drain_ms_then_the_tree_is_killed_and_their_evidence_decides)
{
    struct scene s = called_scene();
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 2, "echo");
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 9999);
    CHECK(answers_to(s.client, 1) == 0 && !s.first->got_kill);
    advance(s.w, 1);
    CHECK(s.first->got_kill && IS(s.server, DISABLED));
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK_EQ(error_of(s.client, 2), -31003); /* unread: it may go again, and is told why not */
    CHECK(data_is(s.client, 2, "dispatched", "false"));
    CHECK(data_is(s.client, 2, "evidence", "\"unread\""));
}

/* Zero is a time like any other, not "without end". */
TEST(with_drain_and_close_times_of_zero_nothing_is_waited_for)
{
    struct hf_settings settings =
        SETTINGS(.drain_ms = 0, .close_ms = 0, .term_ms = 0, .kill_ms = 0);
    struct scene s = scene_of(settings);
    s.first->manners.survives_kill = true;
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1);
    CHECK(s.first->got_kill && IS(s.server, DISABLED));
    CHECK_EQ(error_of(s.client, 1), -31002);
}

TEST(waiting_calls_are_answered_as_soon_as_their_server_is_disabled)
{
    struct scene s = scene();
    take_away(&s);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(answers_to(s.client, 1), 0);
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK_EQ(error_of(s.client, 1), -31003);
    CHECK(IS(s.server, DISABLED));
    advance(s.w, 120000);
    CHECK_EQ(spawns_of(s.w, s.server), 2); /* nothing scheduled is left */
}

/* @field W1: disable always commits; a close that fails is reported and changes nothing */
/* @field B9: disabled even if the close failed, and the failure is kept */
/* @field B8: a failed close is recorded and costs no budget */
TEST(disable_ends_disabled_even_if_the_tree_cannot_be_killed)
{
    struct scene s = scene();
    s.first->manners.keeps_on_eof = s.first->manners.deaf_to_term = true;
    s.first->manners.survives_kill = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(s.first->got_close && !s.first->got_term);
    advance(s.w, 2000);
    CHECK(s.first->got_term && !s.first->got_kill);
    advance(s.w, 3000);
    CHECK(s.first->got_kill && IS(s.server, DISABLING));
    advance(s.w, 4999);
    CHECK(IS(s.server, DISABLING));
    advance(s.w, 1);
    CHECK(IS(s.server, DISABLED));
    CHECK(status_of(s.server).close_failed);
    CHECK(status_of(s.server).failures_k == 0 && status_of(s.server).streak == 0);
    CHECK_EQ(notes_with(s.w, "CLOSE_FAILED"), 1);
    operate(s.w, s.server, HF_OP_ENABLE);
    CHECK(IS(s.server, CONNECTED));
}

/* @field B9: disabling twice is disabling once */
TEST(disable_is_idempotent)
{
    struct scene s = scene();
    for (int i = 0; i < 3; i++)
        CHECK(operate(s.w, s.server, HF_OP_DISABLE));
    CHECK(IS(s.server, DISABLED) && news(&s) == 1);
    CHECK_EQ(spawns_of(s.w, s.server), 1);
}

/* @field Y10: the absence of an attempt that finishes late and puts a live server back */
TEST(disable_while_connecting_kills_the_attempt_and_its_late_success_moves_nothing)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.mute = true, .survives_kill = true));
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(s.first->got_kill && IS(s.server, DISABLING));
    child_answers(s.first, "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    CHECK(IS(s.server, DISABLING));
    child_exits(s.first, KILLED);
    child_falls_silent(s.first);
    child_tree_is_gone(s.first);
    CHECK(IS(s.server, DISABLED));
    CHECK_EQ(status_of(s.server).failures_k, 0); /* an attempt that was killed is not charged */
}

/* ---- enable ---- */

/* @field Y12: the absence of a bounce when an enabled server is enabled */
TEST(enable_of_an_enabled_server_changes_nothing_in_any_state)
{
    struct scene s = called_scene();
    operate(s.w, s.server, HF_OP_ENABLE);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1 && news(&s) == 0);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
    take_away(&s);
    operate(s.w, s.server, HF_OP_ENABLE);
    CHECK(IS(s.server, RECONNECTING) && spawns_of(s.w, s.server) == 2);
    CHECK_EQ(status_of(s.server).next_attempt_ms, T0 + 1000);
}

/* @field B10: reconnect of a disabled server is refused; enable starts it afresh */
TEST(restart_and_reconnect_of_a_disabled_server_are_refused)
{
    struct scene s = scene();
    s.first->manners.keeps_on_eof = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLING));
    CHECK(!operate(s.w, s.server, HF_OP_RESTART));
    CHECK(!operate(s.w, s.server, HF_OP_RECONNECT));
    CHECK(IS(s.server, DISABLING));
    advance(s.w, 2000);
    CHECK(IS(s.server, DISABLED));
    CHECK(!operate(s.w, s.server, HF_OP_RESTART));
    CHECK(!operate(s.w, s.server, HF_OP_RECONNECT));
    CHECK(IS(s.server, DISABLED) && spawns_of(s.w, s.server) == 1);
    operate(s.w, s.server, HF_OP_ENABLE);
    CHECK(IS(s.server, CONNECTED) && news(&s) == 2);
}

TEST(enable_while_disabling_connects_only_when_the_old_tree_is_gone)
{
    struct scene s = scene();
    s.first->manners.keeps_on_eof = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    operate(s.w, s.server, HF_OP_ENABLE);
    CHECK(IS(s.server, DISABLING) && status_of(s.server).wanted);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(error_of(s.client, 1), -31003);
    CHECK_EQ(spawns_of(s.w, s.server), 1);
    advance(s.w, 2000);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
    CHECK_EQ(status_of(s.server).generation, 2);
}

TEST(disable_after_enable_while_disabling_wins)
{
    struct scene s = scene();
    s.first->manners.keeps_on_eof = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    operate(s.w, s.server, HF_OP_ENABLE);
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 2000);
    CHECK(IS(s.server, DISABLED) && spawns_of(s.w, s.server) == 1);
}

/* ---- restart ---- */

/* @field Y5: the absence of calls in flight killed by a reconnect */
/* @field B13: a name from before a restart works after it */
TEST(a_restart_builds_the_next_beside_swaps_and_drains_the_old)
{
    struct scene s = called_scene();
    manners_of(s.w, s.server)->stuck_list = true;
    CHECK(operate(s.w, s.server, HF_OP_RESTART));
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first);
    client_calls(s.client, 2, "echo"); /* the old one still serves */
    CHECK(child_got(s.first, "tools/call") == 2 && IS(s.server, CONNECTED));
    child_answers(second, "tools/list", "{\"tools\":[{\"name\":\"echo\"}]}");
    CHECK_EQ(status_of(s.server).generation, 2);
    client_calls(s.client, 3, "echo");
    CHECK(child_got(second, "tools/call") == 1 && child_got(s.first, "tools/call") == 2);
    CHECK(!s.first->got_close);
    child_answers_line(s.first, s.first->got.count - 1, "{}");
    child_answers_line(s.first, s.first->got.count - 2, "{}");
    CHECK(has_result(s.client, 1) && has_result(s.client, 2));
    CHECK(s.first->got_close && s.first->runtime == NULL);
    CHECK(news(&s) == 0 && status_of(s.server).failures_k == 0);
}

TEST(a_generation_that_dies_while_it_drains_does_not_touch_the_one_that_replaced_it)
{
    struct scene s = called_scene();
    operate(s.w, s.server, HF_OP_RESTART);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && IS(s.server, CONNECTED));
    child_dies(s.first);
    CHECK_EQ(error_of(s.client, 1), -31002); /* its own call is lost, and nothing else */
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    CHECK(status_of(s.server).failures_k == 0 && spawns_of(s.w, s.server) == 2);
    client_calls(s.client, 2, "echo");
    CHECK_EQ(child_got(second, "tools/call"), 1);
}

TEST(a_restart_that_fails_is_reported_and_the_old_one_stays)
{
    struct scene s = scene();
    manners_of(s.w, s.server)->no_init = true;
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
    CHECK_EQ(notes_with(s.w, "RESTART_FAILED"), 1);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    CHECK_EQ(status_of(s.server).failures_k, 0);
    advance(s.w, 60000);
    CHECK_EQ(spawns_of(s.w, s.server), 2);
}

TEST(a_second_restart_replaces_the_attempt_of_the_first)
{
    struct scene s = scene();
    manners_of(s.w, s.server)->mute = true;
    operate(s.w, s.server, HF_OP_RESTART);
    struct child *stuck = newest_child(s.w, s.server);
    manners_of(s.w, s.server)->mute = false;
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK(stuck->got_kill && status_of(s.server).generation == 3 && IS(s.server, CONNECTED));
}

TEST(the_old_one_that_dies_while_the_next_is_built_is_replaced_by_it)
{
    struct scene s = scene();
    manners_of(s.w, s.server)->stuck_list = true;
    operate(s.w, s.server, HF_OP_RESTART);
    struct child *second = newest_child(s.w, s.server);
    child_dies(s.first);
    CHECK(IS(s.server, RECONNECTING) && spawns_of(s.w, s.server) == 2);
    client_calls(s.client, 1, "echo");
    child_answers(second, "tools/list", "{\"tools\":[{\"name\":\"echo\"}]}");
    CHECK(IS(s.server, CONNECTED) && child_got(second, "tools/call") == 1);
}

static void check_no_overlap(struct hf_settings settings, enum hf_op op)
{
    struct scene s = scene_of(settings);
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, op);
    CHECK(IS(s.server, RECONNECTING));
    client_calls(s.client, 2, "echo");
    CHECK(spawns_of(s.w, s.server) == 1 && answers_to(s.client, 2) == 0);
    s.first->manners.keeps_on_eof = true;
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1) && s.first->got_close);
    CHECK_EQ(spawns_of(s.w, s.server), 1);
    advance(s.w, 2000); /* TERM ends it */
    CHECK(s.first->got_term && spawns_of(s.w, s.server) == 2);
    CHECK(IS(s.server, CONNECTED));
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
    CHECK_EQ(status_of(s.server).failures_k, 0); /* asked restarts cost nothing */
    world_end(s.w);
}

TEST(without_overlap_a_restart_drains_first_and_starts_when_the_old_tree_is_gone)
{
    check_no_overlap(SETTINGS(.overlap = false), HF_OP_RESTART);
}

TEST(a_reconnect_is_a_restart_without_overlap)
{
    check_no_overlap(default_settings(), HF_OP_RECONNECT);
}

TEST(without_overlap_nothing_starts_after_a_crash_while_a_descendant_of_it_lives)
{
    struct scene s = scene_of(SETTINGS(.overlap = false));
    s.first->manners.survives_kill = true; /* the descendant takes its time */
    s.w->by_hand = true;
    child_exits(s.first, KILLED);
    child_falls_silent(s.first);
    CHECK(s.first->got_kill && spawns_of(s.w, s.server) == 1);
    CHECK(IS(s.server, RECONNECTING));
    client_calls(s.client, 1, "echo");
    advance(s.w, 3000);
    CHECK(spawns_of(s.w, s.server) == 1 && answers_to(s.client, 1) == 0);
    s.w->by_hand = false;
    child_tree_is_gone(s.first);
    CHECK_EQ(spawns_of(s.w, s.server), 2);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

/* @field B5: detach, close, connect, list; only then installed */
TEST(restart_while_connecting_kills_the_attempt_and_starts_afresh_uncharged)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.mute = true));
    s.client = open_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    manners_of(s.w, s.server)->mute = false;
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK(s.first->got_kill && IS(s.server, CONNECTED));
    CHECK_EQ(status_of(s.server).failures_k, 0);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"),
             1); /* the call waited through it */
}

TEST(an_attempt_that_was_given_up_and_cannot_start_after_all_is_not_charged_to_the_next)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.never_starts = true, .survives_kill = true));
    operate(s.w, s.server, HF_OP_RESTART);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && s.first->got_kill);
    child_fails_to_start(s.first, "No such file or directory");
    CHECK(IS(s.server, CONNECTING) && status_of(s.server).failures_k == 0);
    child_start(second);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
}

TEST(restart_while_reconnecting_happens_now_and_forgets_the_failures)
{
    struct scene s = scene();
    take_away(&s);
    advance(s.w, 10000);
    CHECK_EQ(status_of(s.server).failures_k, 4);
    const size_t spawns = spawns_of(s.w, s.server);
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK_EQ(spawns_of(s.w, s.server), spawns + 1);
    CHECK_EQ(status_of(s.server).failures_k, 1); /* that one */
    CHECK_EQ(status_of(s.server).next_attempt_ms, T0 + 11000);
}

/* ---- remove ---- */

TEST(a_removed_server_drains_its_calls_and_then_its_names_are_unknown)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    (void)add_server(w, "b", default_settings());
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    CHECK_STR(names_in(c, 1, "tools"), "a__echo,b__echo");
    client_calls(c, 2, "a__echo");
    struct child *child = newest_child(w, a);
    operate(w, a, HF_OP_REMOVE);
    CHECK_EQ(heard(c, "notifications/tools/list_changed"), 1);
    CHECK_EQ(hf_server_find(w->engine, HF_SPAN("a")), NULL);
    child_answers(child, "tools/call", "{}");
    CHECK(has_result(c, 2) && child->runtime == NULL);
    client_calls(c, 3, "a__echo");
    CHECK_EQ(error_of(c, 3), -32602);
    client_asks(c, 4, "tools/list");
    CHECK_STR(names_in(c, 4, "tools"), "b__echo");
    client_calls(c, 5, "b__echo");
    CHECK_EQ(answers_to(c, 5), 0);
}

TEST(a_removed_server_whose_call_does_not_end_is_killed_after_drain_ms)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_calls(c, 1, "a__echo");
    struct child *child = newest_child(w, a);
    operate(w, a, HF_OP_REMOVE);
    advance(w, 10000);
    CHECK(error_of(c, 1) == -31002 && child->runtime == NULL);
    CHECK_EQ(hf_engine_next_server(w->engine, NULL), NULL);
}

/* ---- change ---- */

static void change(struct scene *s, const char *problem, bool restart)
{
    const struct hf_server_spec spec = { .name = "s",
                                         .settings = default_settings(),
                                         .problem = problem,
                                         .config = hf_server_config(s->server) };
    hf_server_change(s->server, &spec, restart, at(s->w->now_ms));
    settle(s->w);
}

/* @field Y12: the absence of one bad spec that fails everything | DESIGN 12: reason `config` */
TEST(a_server_with_a_configuration_error_is_permanently_failed_and_the_others_start)
{
    struct world *w = world_new();
    const struct hf_server_spec bad = { .name = "bad",
                                        .settings = default_settings(),
                                        .problem = "no such variable" };
    struct hf_server *a = add_spec(w, &bad);
    struct hf_server *b = add_server(w, "b", default_settings());
    settle(w);
    CHECK(IS(a, PERMANENTLY_FAILED) && IS(b, CONNECTED));
    struct client *c = greeted_client(w, NULL);
    client_calls(c, 1, "bad__x");
    CHECK_EQ(error_of(c, 1), -31004);
    CHECK(data_is(c, 1, "reason", "\"config\""));
    CHECK(error_says(c, 1, "no such variable"));
    advance(w, 600000);
    CHECK_EQ(spawns_of(w, a), 0); /* no probe can help */
}

TEST(a_change_for_the_worse_is_reported_and_the_running_one_stays)
{
    struct scene s = scene();
    change(&s, "no such command", true);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
    CHECK_EQ(notes_with(s.w, "RESTART_FAILED"), 1);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    change(&s, NULL, true);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
}

/* @field Y12: the absence of an edit that reconnects every server */
TEST(a_change_that_needs_no_restart_restarts_nothing)
{
    struct scene s = scene();
    change(&s, NULL, false);
    CHECK(spawns_of(s.w, s.server) == 1 && IS(s.server, CONNECTED));
}

/* ---- the end ---- */

/* @field D5: shutdown wakes those who wait */
/* @field Y10: the absence of a runtime that comes alive after shutdown */
TEST(at_the_end_waiting_calls_are_answered_now_and_dispatched_ones_have_drain_ms)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    manners_of(w, b)->never_starts = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_calls(c, 1, "a__echo");
    client_calls(c, 2, "b__echo");
    struct child *busy = newest_child(w, a), *starting = newest_child(w, b);
    const size_t news_before = heard(c, "notifications/tools/list_changed");
    hf_engine_stop(w->engine, at(w->now_ms));
    settle(w);
    CHECK_EQ(error_of(c, 2), -31001);
    CHECK(data_is(c, 2, "reason", "\"shutting_down\""));
    CHECK(answers_to(c, 1) == 0 && !busy->got_close);
    client_calls(c, 3, "a__echo");
    CHECK_EQ(error_of(c, 3), -31001);
    CHECK(starting->got_kill);
    advance(w, 9000);
    child_answers(busy, "tools/call", "{}");
    CHECK(has_result(c, 1));
    CHECK(hf_engine_is_stopped(w->engine));
    CHECK_EQ(heard(c, "notifications/tools/list_changed"), news_before);
}

TEST(a_client_that_finished_still_gets_every_answer)
{
    struct scene s = called_scene();
    hf_session_finish(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(!hf_session_is_settled(s.client->session));
    advance(s.w, 5000);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
    CHECK(hf_session_is_settled(s.client->session));
}

TEST(a_client_that_finished_has_drain_ms_for_what_is_dispatched_and_wait_ms_for_the_rest)
{
    struct scene s = scene_of(SETTINGS(.max_in_flight = 1));
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    settle(s.w);
    advance(s.w, 9999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK_EQ(child_got(s.first, "tools/call"), 2); /* the waiting one had its turn */
    advance(s.w, 10000);
    CHECK_EQ(error_of(s.client, 2), -31002);
    CHECK(hf_session_is_settled(s.client->session));
}

TEST(a_call_still_in_our_queue_when_drain_ms_is_over_waits_on_and_was_never_sent)
{
    struct scene s = scene();
    child_stalls(s.first, 40);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    advance(s.w, 10000);
    CHECK(error_of(s.client, 1) == -31002 && answers_to(s.client, 2) == 0);
    advance(s.w, 35000);
    CHECK_EQ(error_of(s.client, 2), -31001);
    CHECK(data_is(s.client, 2, "evidence", "\"unsent\""));
    CHECK(hf_session_is_settled(s.client->session));
}

TEST(a_client_at_the_endpoint_of_a_removed_server_is_told_so_and_nothing_breaks)
{
    struct scene s = called_scene();
    operate(s.w, s.server, HF_OP_REMOVE);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
    client_calls(s.client, 2, "echo");
    CHECK(error_of(s.client, 2) != 0);
    client_asks(s.client, 3, "tools/list");
    CHECK_EQ(answers_to(s.client, 3), 1);
    client_asks(s.client, 4, "something/else");
    CHECK(error_of(s.client, 4) != 0);
    client_requests(s.client, 5, "resources/read", "{\"uri\":\"a:b\"}");
    CHECK(error_of(s.client, 5) != 0);
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/anything\"}");
    client_leaves(s.client);
}

TEST(a_client_that_never_listed_does_not_reach_a_removed_server_either)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    (void)add_server(w, "b", default_settings());
    settle(w);
    struct client *lister = greeted_client(w, NULL), *other = greeted_client(w, NULL);
    client_asks(lister, 1, "tools/list");
    operate(w, a, HF_OP_REMOVE);
    client_calls(other, 1, "a__echo");
    CHECK_EQ(error_of(other, 1), -32602);
    client_calls(lister, 2, "a__echo");
    CHECK_EQ(error_of(lister, 2), -32602);
}

TEST(restart_of_a_server_whose_configuration_is_wrong_leaves_it_permanently_failed)
{
    struct world *w = world_new();
    const struct hf_server_spec bad = { .name = "bad",
                                        .settings = default_settings(),
                                        .problem = "no such variable" };
    struct hf_server *server = add_spec(w, &bad);
    settle(w);
    CHECK(operate(w, server, HF_OP_RESTART));
    CHECK(IS(server, PERMANENTLY_FAILED) && spawns_of(w, server) == 0);
    operate(w, server, HF_OP_DISABLE);
    operate(w, server, HF_OP_ENABLE);
    CHECK(IS(server, PERMANENTLY_FAILED) && spawns_of(w, server) == 0);
}
