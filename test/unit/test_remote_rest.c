/*
 * test_remote_rest.c - calls that a remote server turned away for now: when they are sent again,
 * and what happens to them, and to the others, until then. And what else is only about the pace.
 */
#include "remote_fixture.h"

static struct scene scene_with(struct hf_settings settings)
{
    return remote_scene_of(settings, HTTP());
}

/* Call 1 was turned away, and its server wants it in so many milliseconds. */
static struct scene turned_away(struct hf_settings settings, int64_t retry_after_ms)
{
    struct scene s = scene_with(settings);
    client_calls(s.client, 1, "echo");
    exchange_fails_for(last_exchange(s.w, CALL), 429, retry_after_ms);
    return s;
}

/* ---- how long ---- */

TEST(a_call_is_sent_again_when_its_server_wants_it_and_not_before)
{
    struct scene s = turned_away(with_status(429, 429), 7000);
    advance(s.w, 6999);
    CHECK(exchanges(s.w, CALL) == 1 && answers_to(s.client, 1) == 0);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, CALL), 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1) && IS(s.server, CONNECTED));
    CHECK(sent(s.w, "ping") == 0 && sent(s.w, "initialize") == 1);
}

TEST(a_server_that_does_not_say_when_or_says_at_once_gets_it_after_a_short_pause)
{
    for (int64_t retry_after = -1; retry_after <= 1; retry_after++) {
        struct scene s = turned_away(with_status(429, 429), retry_after);
        advance(s.w, 249);
        CHECK_EQ(exchanges(s.w, CALL), 1);
        advance(s.w, 1);
        CHECK_EQ(exchanges(s.w, CALL), 2);
        exchange_fails_for(last_exchange(s.w, CALL), 429, retry_after);
        advance(s.w, 499);
        CHECK_EQ(exchanges(s.w, CALL), 2);
        advance(s.w, 1);
        CHECK_EQ(exchanges(s.w, CALL), 3);
        exchange_fails_for(last_exchange(s.w, CALL), 429, retry_after);
        CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "retrySafe", "true"));
        CHECK(data_is(s.client, 1, "reason", "\"refused_again\""));
        world_end(s.w);
    }
}

TEST(a_call_that_is_wanted_later_than_it_can_wait_is_answered_at_once_with_that_time)
{
    struct hf_settings rows[2] = { with_status(429, 429), with_status(429, 429) };
    rows[0].wait_ms = 7000;
    rows[1].call_timeout_ms = 7000;
    for (size_t i = 0; i < 2; i++) {
        struct scene s = turned_away(rows[i], 7000);
        CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "retryAfterMs", "7000"));
        CHECK(data_is(s.client, 1, "dispatched", "false") && exchanges(s.w, CALL) == 1);
        CHECK(data_is(s.client, 1, "evidence", "\"refused\""));
        CHECK(data_is(s.client, 1, "retry", "\"later\""));
        world_end(s.w);
    }
}

TEST(a_call_may_rest_for_almost_all_of_its_time)
{
    struct hf_settings settings = with_status(429, 429);
    settings.wait_ms = 7001;
    struct scene s = turned_away(settings, 7000);
    advance(s.w, 7000);
    CHECK(answers_to(s.client, 1) == 0 && exchanges(s.w, CALL) == 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

/* ---- the others ---- */

TEST(nobody_waits_for_a_call_that_rests)
{
    struct scene s = turned_away(with_status(429, 429), 7000);
    struct client *other = greeted_client(s.w, s.server);
    client_calls(s.client, 2, "echo");
    client_calls(other, 3, "echo");
    CHECK(exchanges(s.w, CALL) == 3 && status_of(s.server).waiting == 1);
    advance(s.w, 7000);
    CHECK(exchanges(s.w, CALL) == 4 && status_of(s.server).waiting == 0);
}

TEST(calls_that_wait_for_a_place_pass_one_that_rests_and_it_waits_for_a_place_after_that)
{
    struct hf_settings settings = with_status(429, 429);
    settings.max_in_flight = 1;
    struct scene s = scene_with(settings);
    for (int id = 1; id <= 3; id++)
        client_calls(s.client, id, "echo");
    exchange_fails_for(last_exchange(s.w, CALL), 429, 7000);
    REQUIRE_EQ(exchanges(s.w, CALL), 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 2) && exchanges(s.w, CALL) == 3);
    advance(s.w, 8000);
    CHECK_EQ(exchanges(s.w, CALL), 3); /* its time has come, and there is no room */
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 3) && exchanges(s.w, CALL) == 4);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

TEST(a_call_refused_in_place_leaves_its_place_to_whoever_is_next)
{
    struct scene s = remote_scene_of(SETTINGS(.max_in_flight = 1), HTTP());
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    exchange_fails(last_exchange(s.w, CALL), 421);
    CHECK_EQ(sent(s.w, CALL), 2);
    advance(s.w, 250);
    CHECK_EQ(exchanges(s.w, CALL), 2); /* it is ready again, and waits for its place */
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1) && has_result(s.client, 2) && sent(s.w, CALL) == 3);
}

/* ---- what happens meanwhile ---- */

TEST(a_call_that_rests_can_be_cancelled_and_ends_with_its_client_or_its_server)
{
    for (int how = 0; how < 4; how++) {
        struct scene s = scene_with(with_status(429, 429));
        client_calls_via(s.client, 5, 1, "echo");
        exchange_fails_for(last_exchange(s.w, CALL), 429, 7000);
        if (how == 0)
            client_cancels(s.client, 1);
        else if (how == 1)
            client_leaves(s.client);
        else if (how == 2)
            client_via_gone(s.client, 5);
        else
            operate(s.w, s.server, HF_OP_DISABLE);
        CHECK_EQ(error_of(s.client, 1), how < 2 ? 0 : how == 2 ? -31001 : -31003);
        advance(s.w, 60000);
        CHECK(exchanges(s.w, CALL) == 1 && hf_engine_held_bytes(s.w->engine) == 0);
        client_calls(greeted_client(s.w, s.server), 2, "echo");
        CHECK_EQ(exchanges(s.w, CALL), how < 3 ? 2 : 1); /* it is in nobody's way */
        world_end(s.w);
    }
}

TEST(a_call_that_rests_while_its_server_is_lost_goes_to_the_next_generation_in_its_time)
{
    struct scene s = turned_away(with_status(429, 429), 7000);
    confirms_losses(&s);
    client_calls(s.client, 2, "echo");
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
    REQUIRE(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    CHECK_EQ(exchanges(s.w, CALL), 2);
    advance(s.w, 7000);
    CHECK(exchanges(s.w, CALL) == 3 && last_exchange(s.w, CALL)->child->generation == 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

/* A session that is not known is no matter of pace. */
TEST(a_call_of_a_forgotten_session_does_not_rest)
{
    struct scene s = scene_with(with_status(429, 429));
    client_calls(s.client, 1, "echo");
    exchange_fails_for(last_exchange(s.w, CALL), 404, 7000);
    CHECK(sent(s.w, "initialize") == 2 && exchanges(s.w, CALL) == 2);
}

/* ---- too many requests are nobody's session ---- */

TEST(a_429_to_everything_does_not_cost_a_server_its_session)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    manners_of(s.w, s.server)->http.ping_status = 429;
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 429);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK_EQ(sent(s.w, "ping"), 0);
    manners_of(s.w, s.server)->http.by_hand = true;
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "GET"), 429);
    CHECK_EQ(exchanges(s.w, "ping"), 0);
    advance(s.w, 5000);
    CHECK_EQ(exchanges(s.w, "GET"), 3); /* and it is listened to again */
    CHECK(sent(s.w, "initialize") == 1 && status_of(s.server).generation == 1);
}

/* ---- waitMs 0 ---- */

TEST(a_call_that_waits_for_nobody_still_has_the_time_that_a_connection_takes)
{
    struct scene s = remote_scene_of(SETTINGS(.wait_ms = 0), HTTP(.holds_calls = true));
    client_calls(s.client, 1, "echo");
    advance(s.w, 4999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
    client_calls(s.client, 2, "echo");
    advance(s.w, 5000);
    CHECK(error_of(s.client, 2) == -31001 && data_is(s.client, 2, "evidence", "\"unsent\""));
}

TEST(a_call_that_waits_for_nobody_is_told_at_once_that_its_server_is_away)
{
    struct scene s = scene_with(SETTINGS(.wait_ms = 0));
    manners_of(s.w, s.server)->http.is_down = true;
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    advance(s.w, 0);
    CHECK(error_of(s.client, 1) == -31001 && error_of(s.client, 2) == -31001);
}
