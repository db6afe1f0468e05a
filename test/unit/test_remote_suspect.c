/*
 * test_remote_suspect.c - one call met a 5xx or a broken connection: whether its server is lost is
 * asked once before anybody else pays for it (DESIGN 5, Health); and servers that refuse
 * connections while calls wait for them (DESIGN 6).
 */
#include "remote_fixture.h"

static struct scene suspected(int how) /* call 1 was lost; the check is left to the test */
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    struct exchange *x = last_exchange(s.w, CALL);
    exchange_sends(x);
    if (how == 0)
        exchange_breaks(x, HF_SENT_WHOLE);
    else
        exchange_fails(x, how);
    return s;
}

TEST(a_tool_that_always_gets_504_or_a_reset_costs_nobody_else_anything)
{
    static const int how[] = { 0, 500, 502, 503, 504 };
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct scene s = remote_scene();
        for (int id = 1; id <= 20; id += 2) {
            calls(&s, id, id);
            if (how[i])
                exchange_fails(last_exchange(s.w, CALL), how[i]);
            else
                exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
            CHECK_EQ(error_of(s.client, id), -31002);
            calls(&s, id + 1, id + 1);
            exchange_answers(last_exchange(s.w, CALL), RESULT);
            CHECK(has_result(s.client, id + 1));
            advance(s.w, 300);
        }
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        CHECK(sent(s.w, "ping") >= 1 && sent(s.w, "ping") <= 4); /* in 3 s, one a second */
        world_end(s.w);
    }
}

TEST(new_calls_wait_for_the_check_and_are_sent_when_it_passes)
{
    struct scene s = suspected(504);
    REQUIRE_EQ(exchanges(s.w, "ping"), 1);
    calls(&s, 2, 3);
    CHECK_EQ(exchanges(s.w, CALL), 1);
    exchange_answers(last_exchange(s.w, "ping"), "{}");
    CHECK(exchanges(s.w, CALL) == 3 && status_of(s.server).generation == 1);
}

TEST(new_calls_wait_for_the_check_one_second_at_most)
{
    struct scene s = suspected(504);
    calls(&s, 2, 2);
    advance(s.w, 999);
    CHECK_EQ(exchanges(s.w, CALL), 1);
    advance(s.w, 1);
    CHECK(exchanges(s.w, CALL) == 2 && exchanges(s.w, "ping") == 1);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 2));
}

TEST(calls_that_may_not_wait_do_not_end_for_a_check)
{
    for (uint32_t wait_ms = 0; wait_ms <= 1000; wait_ms += 500) {
        struct scene s = remote_scene_of(SETTINGS(.wait_ms = wait_ms), HTTP());
        calls(&s, 1, 1);
        http_of(&s)->by_hand = true;
        exchange_fails(last_exchange(s.w, CALL), 504);
        calls(&s, 2, 2);
        advance(s.w, wait_ms / 2);
        CHECK(exchanges(s.w, CALL) == 2 && answers_to(s.client, 2) == 0);
        world_end(s.w);
    }
}

TEST(a_check_that_fails_in_the_same_way_is_a_loss)
{
    static const int ends[] = { 0, 1, 2, 500, 502, 504 };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct scene s = suspected(504);
        struct exchange *ping = last_exchange(s.w, "ping");
        calls(&s, 2, 2);
        http_of(&s)->by_hand = false;
        if (ends[i] == 0) {
            exchange_breaks(ping, HF_SENT_NOTHING);
        } else if (ends[i] == 1) {
            exchange_sends(ping);
            exchange_breaks(ping, HF_SENT_WHOLE);
        } else if (ends[i] == 2) {
            exchange_head(ping, 200, false);
            exchange_breaks(ping, HF_SENT_WHOLE);
        } else {
            exchange_fails(ping, ends[i]);
        }
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
        CHECK(sent(s.w, CALL) == 2 && last_exchange(s.w, CALL)->child->generation == 2);
        world_end(s.w);
    }
}

TEST(a_check_that_is_turned_away_has_found_a_living_server)
{
    struct scene s = suspected(504);
    exchange_fails(last_exchange(s.w, "ping"), 400);
    CHECK(status_of(s.server).generation == 1 && IS(s.server, CONNECTED));
    CHECK_EQ(exchanges(s.w, "ping"), 2); /* is a stranger turned away as well? */
    exchange_answers(last_exchange(s.w, "ping"), "{}");
    advance(s.w, 60000);
    CHECK(exchanges(s.w, "ping") == 2 && sent(s.w, "initialize") == 1);
}

TEST(an_answer_to_somebody_else_ends_the_check)
{
    struct scene s = scene_with_calls(2);
    http_of(&s)->by_hand = true;
    exchange_fails(nth_exchange(s.w, CALL, 0), 504);
    REQUIRE_EQ(exchanges(s.w, "ping"), 1);
    calls(&s, 3, 3);
    CHECK_EQ(exchanges(s.w, CALL), 2);
    exchange_answers(nth_exchange(s.w, CALL, 1), RESULT);
    CHECK(last_exchange(s.w, "ping")->is_aborted && exchanges(s.w, CALL) == 3);
    advance(s.w, 60000);
    CHECK(exchanges(s.w, "ping") == 1 && status_of(s.server).generation == 1);
}

TEST(silence_to_the_check_counts_as_one_of_three)
{
    struct scene s = suspected(504);
    advance(s.w, 5000);
    CHECK(exchanges(s.w, "ping") == 1 && status_of(s.server).generation == 1);
    advance(s.w, 15000);
    CHECK(exchanges(s.w, "ping") == 2 && status_of(s.server).generation == 1);
    advance(s.w, 15000);
    CHECK_EQ(exchanges(s.w, "ping"), 3);
    CHECK_EQ(status_of(s.server).generation, 2); /* the third has failed */
}

TEST(a_second_loss_within_the_second_is_checked_when_it_is_over)
{
    struct scene s = suspected(504);
    exchange_answers(last_exchange(s.w, "ping"), "{}");
    calls(&s, 2, 2);
    exchange_fails(last_exchange(s.w, CALL), 504);
    calls(&s, 3, 3);
    CHECK(exchanges(s.w, "ping") == 1 && exchanges(s.w, CALL) == 3); /* nobody waits for it yet */
    advance(s.w, 999);
    CHECK_EQ(exchanges(s.w, "ping"), 1);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, "ping"), 2);
}

TEST(what_one_tool_says_of_retry_after_is_nothing_to_the_server)
{
    struct scene s = scene_with_calls(1);
    exchange_fails_for(last_exchange(s.w, CALL), 503, 60000);
    calls(&s, 2, 2);
    CHECK(exchanges(s.w, CALL) == 2 && status_of(s.server).generation == 1);
}

/* ---- while calls wait for a server that refuses connections ---- */

static struct scene refusing(uint32_t waiting_max_ms)
{
    struct hf_settings settings = SETTINGS(.reconnect.min_ms = 30000, .reconnect.max_ms = 30000,
                                           .reconnect.waiting_max_ms = waiting_max_ms);
    struct scene s = remote_scene_of(settings, HTTP());
    http_of(&s)->is_down = true;
    calls(&s, 1, 1); /* one attempt at once, one for its arrival, and the next is 30 s away */
    return s;
}

TEST(a_server_that_refuses_connections_is_tried_every_second_while_a_call_waits)
{
    struct scene s = refusing(1000);
    REQUIRE(IS(s.server, RECONNECTING) && answers_to(s.client, 1) == 0);
    const size_t before = exchanges(s.w, "initialize");
    advance(s.w, 5000);
    CHECK_EQ(exchanges(s.w, "initialize"), before + 5);
    http_of(&s)->is_down = false;
    advance(s.w, 1000);
    CHECK(IS(s.server, CONNECTED) && sent(s.w, CALL) == 1);
}

TEST(attempts_for_the_sake_of_waiting_calls_cost_no_budget_and_move_no_schedule)
{
    struct scene s = refusing(1000);
    advance(s.w, 29000);
    CHECK(IS(s.server, RECONNECTING));
    client_cancels(s.client, 1);
    advance(s.w, 2000); /* the scheduled one, at 30 s, is the second that counts */
    const size_t before = exchanges(s.w, "initialize");
    advance(s.w, 28000);
    CHECK_EQ(exchanges(s.w, "initialize"), before); /* nobody waits */
    advance(s.w, 2000);
    CHECK_EQ(exchanges(s.w, "initialize"), before + 1); /* still 30 s, not twice that */
}

TEST(a_call_waits_for_an_attempt_that_comes_for_its_sake)
{
    for (int on = 0; on < 2; on++) {
        struct hf_settings settings =
            SETTINGS(.reconnect.min_ms = 30000, .reconnect.max_ms = 30000,
                     .reconnect.waiting_max_ms = on ? 1000 : 0, .wait_ms = 5000);
        struct scene s = remote_scene_of(settings, HTTP());
        http_of(&s)->is_down = true;
        calls(&s, 1, 1);
        CHECK_EQ(error_of(s.client, 1), on ? 0 : -31001); /* the schedule alone would be too late */
        http_of(&s)->is_down = false;
        advance(s.w, 1000);
        CHECK_EQ(sent(s.w, CALL), on ? 1 : 0);
        world_end(s.w);
    }
}

TEST(a_server_that_is_there_and_says_no_keeps_its_schedule)
{
    struct hf_settings settings = SETTINGS(.reconnect.min_ms = 30000, .reconnect.max_ms = 30000,
                                           .reconnect.waiting_max_ms = 1000);
    struct scene s = remote_scene_of(settings, HTTP());
    confirms_losses(&s);
    http_of(&s)->hello_status = 503;
    calls(&s, 1, 1);
    exchange_fails(last_exchange(s.w, CALL), 503);
    calls(&s, 2, 2);
    REQUIRE(IS(s.server, RECONNECTING));
    const size_t before = exchanges(s.w, "initialize");
    advance(s.w, 20000);
    CHECK_EQ(exchanges(s.w, "initialize"), before);
}
