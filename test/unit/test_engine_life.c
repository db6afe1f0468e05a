/*
 * test_engine_life.c - a server's own life: first start, budget, probes, rest, idleness, and that
 * it is nobody else's trouble (DESIGN 5).
 */
#include "engine_fixture.h"

static size_t news(const struct client *c)
{
    return heard(c, "notifications/tools/list_changed");
}

/* ---- the budget ---- */

static struct scene given_up(bool after_a_call)
{
    struct scene s = scene_of(SETTINGS(.reconnect.attempts = 5));
    if (after_a_call) {
        client_calls(s.client, 901, "echo");
        child_answers(s.first, "tools/call", "{}");
    }
    hf_runtime_stderr_line(s.first->runtime, HF_SPAN("disk full"));
    take_away(&s);
    advance(s.w, 14999);
    CHECK(IS(s.server, RECONNECTING) && spawns_of(s.w, s.server) == 5);
    CHECK_EQ(news(s.client), 0); /* unchanged through the whole outage */
    advance(s.w, 1);
    return s;
}

/* @field B6: five failed attempts, then permanently failed | DESIGN 5: `attempts` */
/* @field B7: the budget runs to its end without a tick or a caller */
/* @field B11: "gave up" is an error of its own, with the last reason */
/* @field D7: five attempts when configured */
TEST(attempts_5_makes_exactly_5_attempts_then_gives_up_with_one_list_changed)
{
    for (int called = 0; called <= 1; called++) {
        struct scene s = given_up(called);
        CHECK(IS(s.server, PERMANENTLY_FAILED));
        CHECK_EQ(spawns_of(s.w, s.server), 6); /* the first life, and five attempts */
        CHECK_EQ(news(s.client), 1);
        client_asks(s.client, 1, "tools/list");
        CHECK_STR(names_in(s.client, 1, "tools"), "");
        advance(s.w, 10000);
        client_calls(s.client, 2, "echo");
        CHECK_EQ(error_of(s.client, 2), -31004);
        CHECK_EQ(answer_to(s.client, 2)->at_ms, s.w->now_ms);
        CHECK(data_is(s.client, 2, "retryAfterMs", "50000"));
        CHECK(data_is(s.client, 2, "retry", "\"later\""));
        CHECK(error_says(s.client, 2, "disk full"));
        CHECK_EQ(spawns_of(s.w, s.server), 6); /* a call never starts a probe */
        world_end(s.w);
    }
}

TEST(a_program_that_cannot_be_run_is_not_said_to_have_closed_its_stdout)
{
    struct scene s = scene();
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    struct child *next = newest_child(s.w, s.server);
    child_falls_silent(next); /* its end of the pipe went before the guard could say why */
    client_calls(s.client, 1, "echo");
    advance(s.w, 45000);
    REQUIRE_EQ(error_of(s.client, 1), -31001);
    CHECK(!error_says(s.client, 1, "closed its stdout"));
}

/* @field Y6: the absence of a permanent failure that nothing but off and on can end */
TEST(a_probe_revives_what_was_given_up)
{
    struct scene s = given_up(true);
    advance(s.w, 60000);
    CHECK(spawns_of(s.w, s.server) == 7 && IS(s.server, PERMANENTLY_FAILED));
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 59999);
    CHECK_EQ(spawns_of(s.w, s.server), 7);
    advance(s.w, 1);
    CHECK(IS(s.server, CONNECTED) && news(s.client) == 2);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

/* @field Y6: the absence of a restart that a spent budget refuses */
TEST(restart_reconnect_and_enable_revive_what_was_given_up_at_once)
{
    static const enum hf_op ops[] = { HF_OP_RESTART, HF_OP_RECONNECT, HF_OP_ENABLE };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = given_up(false);
        manners_of(s.w, s.server)->no_exec = false;
        CHECK(operate(s.w, s.server, ops[i]));
        CHECK(IS(s.server, CONNECTED) && news(s.client) == 2);
        world_end(s.w);
    }
}

TEST(without_probes_only_an_operator_revives)
{
    struct hf_settings settings = SETTINGS(.reconnect.first_attempts = 1, .reconnect.probe_ms = 0);
    struct scene s = lone_server(settings, MANNERS(.no_exec = true));
    CHECK(IS(s.server, PERMANENTLY_FAILED));
    advance(s.w, 3600000);
    CHECK_EQ(spawns_of(s.w, s.server), 1);
}

TEST(calls_that_wait_are_answered_when_the_budget_is_spent)
{
    struct scene s = lone_server(SETTINGS(.reconnect.first_attempts = 3), MANNERS(.no_exec = true));
    s.client = open_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 1), -31004);
    CHECK(data_is(s.client, 1, "state", "\"permanently_failed\""));
    CHECK(data_is(s.client, 1, "reason", "\"could not start: No such file or directory\""));
}

/* @field X8: the absence of a crash loop that runs at full speed because each start succeeds */
TEST(a_server_that_dies_after_each_start_is_slowed_down)
{
    struct scene s = scene();
    static const uint64_t delays[] = { 0, 1000, 2000, 4000, 8000 };
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        const uint64_t died = s.w->now_ms;
        child_dies(newest_child(s.w, s.server));
        advance(s.w, delays[i]);
        CHECK_EQ(newest_child(s.w, s.server)->spawned_ms, died + delays[i]);
        CHECK(IS(s.server, CONNECTED));
    }
    CHECK_EQ(status_of(s.server).failures_k, 4);
}

/* ---- warnings ---- */

/* Notes of this event that are not routine. */
static size_t told(const struct world *w, const char *event)
{
    size_t count = notes_with(w, event);
    for (int generation = 1; generation <= 40; generation++) {
        char text[60];
        (void)snprintf(text, sizeof text, "(routine) s g%d %s", generation, event);
        count -= notes_with(w, text);
    }
    return count;
}

/* @field D16: one warning for each streak of failures */
TEST(a_streak_of_failures_is_warned_of_once_and_the_next_streak_again)
{
    struct scene s = scene();
    take_away(&s);
    advance(s.w, 31000);
    CHECK_EQ(notes_with(s.w, "ATTEMPT_FAILED"), 6);
    CHECK_EQ(notes_with(s.w, "(routine) s g2 ATTEMPT_FAILED"), 0);
    CHECK_EQ(told(s.w, "ATTEMPT_FAILED"), 1);
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 60000);
    REQUIRE(IS(s.server, CONNECTED));
    manners_of(s.w, s.server)->no_exec = true;
    child_dies(newest_child(s.w, s.server));
    advance(s.w, 30000);
    CHECK_EQ(told(s.w, "ATTEMPT_FAILED"), 2);
}

/* ---- starting ---- */

static void check_start_is_bounded(struct manners manners)
{
    struct scene s = lone_server(SETTINGS(), manners);
    advance(s.w, 119999);
    CHECK(!s.first->got_kill && IS(s.server, CONNECTING));
    *manners_of(s.w, s.server) = MANNERS();
    advance(s.w, 1); /* startTimeoutMs */
    CHECK(s.first->got_kill && IS(s.server, RECONNECTING) && !s.first->runtime);
    advance(s.w, 1000);
    CHECK(IS(s.server, CONNECTED));
}

/* @field A10: the handshake has a clock of its own */
/* @field B19: a half-started child does not outlive its attempt */
/* @field D13: start_timeout bounds connect and initialize */
TEST(a_start_that_hangs_is_killed_after_start_timeout_and_tried_again)
{
    check_start_is_bounded(MANNERS(.mute = true));
}

TEST(a_server_that_hangs_in_its_first_list_is_killed_after_start_timeout_and_tried_again)
{
    check_start_is_bounded(MANNERS(.stuck_list = true));
}

TEST(a_process_that_is_neither_started_nor_refused_is_given_up_after_start_timeout)
{
    check_start_is_bounded(MANNERS(.never_starts = true));
}

/* @field B5: a tools/list that fails is a failed attempt, and its process is closed */
TEST(a_tools_list_that_fails_is_a_failed_attempt)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.no_tools = true));
    CHECK(IS(s.server, RECONNECTING));
    CHECK(newest_child(s.w, s.server)->got_close && newest_child(s.w, s.server)->runtime == NULL);
    CHECK_EQ(status_of(s.server).failures_k, 1);
    manners_of(s.w, s.server)->no_tools = false;
    advance(s.w, 1000);
    CHECK(IS(s.server, CONNECTED));
}

TEST(a_server_without_tools_is_connected_after_the_handshake)
{
    struct scene s = lone_server(
        SETTINGS(), MANNERS(.capabilities = "{\"prompts\":{}}", .prompts = "[{\"name\":\"p\"}]"));
    CHECK(IS(s.server, CONNECTED));
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/list"), 0);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "prompts/list"), 1);
}

/* @field D10: a server missing at start-up is no error of the whole; it is retried by itself */
/* @field X7: the absence of a server that was down at start and is never seen again */
TEST(a_server_missing_at_start_up_appears_when_its_binary_does)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.no_exec = true));
    struct client *c = greeted_client(s.w, NULL);
    client_asks(c, 1, "tools/list");
    advance(s.w, 10000);
    CHECK(has_result(c, 1) && strcmp(names_in(c, 1, "tools"), "") == 0);
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 5000);
    CHECK(IS(s.server, CONNECTED) && news(c) == 1);
    client_asks(c, 2, "tools/list");
    CHECK_STR(names_in(c, 2, "tools"), "s__echo");
}

/* ---- rest ---- */

TEST(a_lazy_server_rests_until_a_call_and_the_call_waits_for_it)
{
    struct scene s = lone_server(SETTINGS(.lazy = true), MANNERS(.answers_calls = true));
    CHECK(IS(s.server, DISCONNECTED) && spawns_of(s.w, s.server) == 0);
    struct client *c = open_client(s.w, s.server);
    client_calls(c, 1, "echo");
    CHECK(has_result(c, 1) && IS(s.server, CONNECTED));
}

TEST(an_idle_server_is_stopped_its_catalog_stays_and_the_next_call_wakes_it)
{
    struct scene s = scene_of(SETTINGS(.idle_ms = 30000));
    advance(s.w, 20000);
    client_calls(s.client, 1, "echo");
    advance(s.w, 600000); /* a call in flight is no idleness */
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1);
    child_answers(s.first, "tools/call", "{}");
    advance(s.w, 30000);
    CHECK(IS(s.server, DISCONNECTED) && s.first->got_close && s.first->runtime == NULL);
    CHECK_EQ(status_of(s.server).failures_k, 0);
    client_asks(s.client, 2, "tools/list");
    CHECK_STR(names_in(s.client, 2, "tools"), "echo");
    advance(s.w, 3600000); /* the slow re-list wakes nobody */
    CHECK(spawns_of(s.w, s.server) == 1 && news(s.client) == 0);
    client_calls(s.client, 3, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

/* @field D11: a clean exit of an idle stdio server is no failure and starts no loop */
TEST(a_clean_exit_while_idle_is_rest_and_the_next_call_starts_it)
{
    struct scene s = scene();
    child_exits(s.first, EXIT_0);
    child_falls_silent(s.first);
    CHECK(IS(s.server, DISCONNECTED) && spawns_of(s.w, s.server) == 1);
    CHECK(status_of(s.server).failures_k == 0 && news(s.client) == 0);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

TEST(a_clean_exit_is_known_as_clean_also_when_eof_came_first)
{
    struct scene s = scene();
    s.w->by_hand = true;
    child_falls_silent(s.first);
    child_exits(s.first, EXIT_0);
    s.w->by_hand = false;
    settle(s.w);
    CHECK(IS(s.server, DISCONNECTED) && spawns_of(s.w, s.server) == 1);
}

TEST(a_clean_exit_with_a_call_in_flight_or_an_unclean_one_is_a_death)
{
    struct scene s = called_scene();
    child_exits(s.first, EXIT_0);
    child_falls_silent(s.first);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
    struct child *second = newest_child(s.w, s.server);
    child_exits(second, EXIT_1);
    child_falls_silent(second);
    CHECK(IS(s.server, RECONNECTING));
    CHECK_STR(status_of(s.server).last_reason, "exited with status 1");
}

/* ---- teardown ---- */

/* @field B19: each step of the teardown, with its time | DESIGN 5: stdin, TERM, KILL */
/* @field X9: the absence of a teardown that only knows SIGKILL */
/* @field Y16: the absence of signals before stdin was closed */
TEST(teardown_closes_stdin_then_terms_then_kills_each_after_its_time)
{
    struct scene s = scene_of(SETTINGS(.close_ms = 200, .term_ms = 300));
    s.first->manners.keeps_on_eof = s.first->manners.deaf_to_term = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 10000);
    CHECK_EQ(s.first->closed_ms, T0);
    CHECK_EQ(s.first->termed_ms, T0 + 200);
    CHECK_EQ(s.first->killed_ms, T0 + 500);
    CHECK_EQ(s.first->runtime, NULL);
}

/* ---- one bad server ---- */

/* @field B17: a server stuck in close delays nobody */
/* @field D17: one wedged server does not block the listing of the rest */
/* @field X6: the absence of one slow call or handshake that blocks everything */
TEST(a_server_that_hangs_in_start_list_and_shutdown_delays_no_other)
{
    struct world *w = world_new();
    struct hf_server *bad[3];
    static const char *const names[] = { "starts", "lists", "closes" };
    for (size_t i = 0; i < 3; i++)
        bad[i] = add_server(w, names[i], default_settings());
    struct hf_server *good = add_server(w, "good", default_settings());
    manners_of(w, good)->answers_calls = true;
    manners_of(w, bad[0])->never_starts = true;
    manners_of(w, bad[1])->stuck_list = true;
    manners_of(w, bad[2])->keeps_on_eof = manners_of(w, bad[2])->deaf_to_term = true;
    manners_of(w, bad[2])->survives_kill = true;
    settle(w);
    operate(w, bad[2], HF_OP_DISABLE);
    struct client *c = greeted_client(w, NULL);
    CHECK(has_result(c, 0)); /* initialize, at once */
    client_calls(c, 1, "good__echo");
    CHECK(has_result(c, 1) && answer_to(c, 1)->at_ms == T0);
    operate(w, good, HF_OP_RESTART);
    CHECK_EQ(status_of(good).generation, 2);
    client_calls(c, 2, "good__echo");
    CHECK(has_result(c, 2) && answer_to(c, 2)->at_ms == T0);
    client_asks(c, 3, "tools/list");
    advance(w, 10000); /* listWaitMs, then what is there */
    CHECK_STR(names_in(c, 3, "tools"), "good__echo");
    client_calls(c, 4, "starts__x");
    client_calls(c, 5, "good__echo");
    CHECK(answers_to(c, 4) == 0 && has_result(c, 5));
}

/* @field B2: a server stays in the registry whatever happens to it */
/* @field B21: state, last reason, failures and times are there to be read */
TEST(a_server_stays_in_the_registry_and_its_health_can_be_read_in_every_state)
{
    struct scene s = scene();
    CHECK(status_of(s.server).last_connected_ms == T0 && status_of(s.server).pid > 0);
    take_away(&s);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(hf_server_find(s.w->engine, HF_SPAN("s")), s.server);
        advance(s.w, 1000);
    }
    const struct hf_server_status status = status_of(s.server);
    CHECK_STR(status.last_reason, "could not start: No such file or directory");
    CHECK(status.attempts == 5 && status.failures_k == 4 && status.streak == 5);
    CHECK(status.next_attempt_ms == T0 + 15000 && status.wanted);
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK_EQ(hf_server_find(s.w->engine, HF_SPAN("s")), s.server);
    CHECK(!status_of(s.server).wanted);
}

/* P5: a late answer proves that the old one was well, not the new one. */
TEST(a_call_that_an_old_generation_completes_does_not_make_the_budget_whole)
{
    struct scene s = scene_of(SETTINGS(.reconnect.attempts = 3));
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, HF_OP_RESTART); /* the first one drains */
    child_dies(newest_child(s.w, s.server));
    child_dies(newest_child(s.w, s.server));
    const uint32_t streak = status_of(s.server).streak;
    CHECK_EQ(streak, 2);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1) && status_of(s.server).streak == streak);
}

TEST(what_an_old_generation_still_answers_does_not_make_the_budget_whole)
{
    struct scene s = scene_of(SETTINGS(.reconnect.attempts = 2));
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, HF_OP_RESTART); /* the call stays with the old one, which drains */
    manners_of(s.w, s.server)->no_exec = true;
    child_dies(newest_child(s.w, s.server)); /* and the first attempt fails at once */
    advance(s.w, 500);
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    CHECK(has_result(s.client, 1) && IS(s.server, RECONNECTING));
    advance(s.w, 500); /* the second */
    CHECK(IS(s.server, PERMANENTLY_FAILED));
}

/* @field Y7: the absence of delays without jitter */
TEST(with_jitter_the_schedule_is_random_and_never_later_than_without)
{
    struct scene s = scene_of(SETTINGS(.reconnect.jitter = 1));
    take_away(&s);
    uint64_t latest = 1000;
    unsigned early = 0, different = 0;
    double share = 0;
    for (int i = 0; i < 5; i++, latest *= 2) {
        const int64_t next = status_of(s.server).next_attempt_ms;
        REQUIRE(next >= 0 && (uint64_t)next >= s.w->now_ms);
        const uint64_t delay = (uint64_t)next - s.w->now_ms;
        CHECK(delay <= latest);
        early += delay < latest;
        const double next_share = (double)delay / (double)latest;
        different += next_share > share + 0.01 || next_share < share - 0.01;
        share = next_share;
        advance(s.w, delay);
    }
    CHECK(early >= 4 && different >= 4);
}

TEST(each_new_step_of_the_schedule_may_have_its_own_extra_attempt)
{
    struct scene s = scene();
    take_away(&s);
    advance(s.w, 3500);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(spawns_of(s.w, s.server), 5); /* 0, 1, 3 and the extra one */
    advance(s.w, 4000);                    /* the one at 7 has failed: a new step */
    client_calls(s.client, 2, "echo");
    CHECK_EQ(spawns_of(s.w, s.server), 7);
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 10000);
    REQUIRE(IS(s.server, CONNECTED));
    manners_of(s.w, s.server)->no_exec = true;
    child_dies(newest_child(s.w, s.server));
    const size_t spawns = spawns_of(s.w, s.server);
    client_calls(s.client, 3, "echo");
    CHECK_EQ(spawns_of(s.w, s.server), spawns); /* k is 5 by now: a crash loop has none */
}

TEST(a_tools_list_that_is_no_list_is_a_failed_attempt_that_says_so)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.tools = "{}"));
    CHECK(IS(s.server, RECONNECTING));
    CHECK(strstr(status_of(s.server).last_reason, "tools/list failed"));
    manners_of(s.w, s.server)->no_init = true;
    advance(s.w, 1000);
    CHECK_STR(status_of(s.server).last_reason, "initialize failed: error -32000: bad day");
}

TEST(every_runtime_that_is_not_gone_can_be_walked)
{
    struct scene s = called_scene();
    operate(s.w, s.server, HF_OP_RESTART);
    struct hf_server *other = add_server(s.w, "t", default_settings());
    settle(s.w);
    struct hf_runtime *runtime = NULL;
    uint64_t sum = 0;
    size_t count = 0;
    while ((runtime = hf_engine_next_runtime(s.w->engine, runtime)) && count < 10) {
        count++;
        sum += hf_runtime_generation(runtime) * (hf_runtime_server(runtime) == other ? 10 : 1);
    }
    CHECK(count == 3 && sum == 1 + 2 + 10);
}
