/*
 * test_remote_doubt.c - what a remote server means by 400, 401 or 403: one ping under the same
 * session tells, and confirms only what it meets itself. And what a liveness check finds.
 */
#include "remote_fixture.h"

/* ---- 400, 401, 403: one ping decides ---- */

static const int doubtful[] = { 400, 401, 403, 409, 410, 422 };
enum { DOUBTFUL = sizeof doubtful / sizeof *doubtful };

TEST(a_refusal_that_one_ping_confirms_is_a_forgotten_session)
{
    for (size_t i = 0; i < DOUBTFUL; i++) {
        struct scene s = scene_with_calls(5);
        http_of(&s)->has_forgotten = true;
        http_of(&s)->unknown_status = doubtful[i];
        http_of(&s)->by_hand = true;
        for (size_t n = 0; n < 5; n++)
            exchange_fails(nth_exchange(s.w, CALL, n), doubtful[i]);
        CHECK(exchanges(s.w, "ping") == 1 && exchanges(s.w, "initialize") == 1);
        CHECK(is_text(last_exchange(s.w, "ping")->session_id, "session-1"));
        http_of(&s)->by_hand = false;
        exchange_fails(last_exchange(s.w, "ping"), doubtful[i]);
        CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 10);
        answer_all(&s);
        for (int id = 1; id <= 5; id++)
            CHECK(has_result(s.client, id) && answers_to(s.client, id) == 1);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        CHECK(exchanges(s.w, "ping") == 1);
        world_end(s.w);
    }
}

TEST(a_late_refusal_is_judged_by_what_is_known_of_its_session)
{
    struct scene s = scene_with_calls(2);
    http_of(&s)->has_forgotten = true;
    http_of(&s)->unknown_status = 400;
    exchange_fails(nth_exchange(s.w, CALL, 0), 400);
    CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 3);
    exchange_fails(nth_exchange(s.w, CALL, 1), 400); /* the new session is there already */
    CHECK(sent(s.w, CALL) == 4 && sent(s.w, "ping") == 1 && sent(s.w, "initialize") == 2);
    answer_all(&s);
    CHECK(has_result(s.client, 1) && has_result(s.client, 2));
    world_end(s.w);
}

TEST(a_call_that_was_in_doubt_and_is_sent_again_has_no_doubt_left)
{
    struct hf_settings settings = default_settings();
    settings.drain_ms = 1000;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    calls(&s, 1, 1);
    http_of(&s)->has_forgotten = true;
    http_of(&s)->unknown_status = 401;
    exchange_fails(last_exchange(s.w, CALL), 401);
    CHECK(sent(s.w, CALL) == 2);
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1000);
    CHECK(error_of(s.client, 1) == -31002); /* this time it was taken */
    world_end(s.w);
}

TEST(what_a_stream_once_met_confirms_nothing_later)
{
    struct scene s =
        remote_scene_of(default_settings(), (struct http_manners) { .has_stream = true });
    http_of(&s)->by_hand = true;
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "GET"), 400);
    exchange_answers(last_exchange(s.w, "ping"), "{}"); /* the session is known */
    http_of(&s)->by_hand = false;
    http_of(&s)->ping_status = 400;
    calls(&s, 1, 1);
    exchange_fails(last_exchange(s.w, CALL), 403);
    CHECK(error_of(s.client, 1) == -31009 && sent(s.w, "initialize") == 1);
    world_end(s.w);
}

TEST(a_refusal_of_a_living_session_is_the_servers_word_and_not_sent_again)
{
    for (size_t i = 0; i < DOUBTFUL; i++) {
        struct scene s = scene_with_calls(2);
        exchange_fails(nth_exchange(s.w, CALL, 0), doubtful[i]);
        CHECK(sent(s.w, "ping") == 1 && error_of(s.client, 1) == -31009);
        CHECK(data_is(s.client, 1, "dispatched", doubtful[i] == 401 ? "false" : "true"));
        CHECK(sent(s.w, CALL) == 2 && sent(s.w, "initialize") == 1);
        CHECK(IS(s.server, CONNECTED) && nth_exchange(s.w, CALL, 1)->post);
        world_end(s.w);
    }
}

TEST(a_ping_turned_away_in_another_way_confirms_nothing)
{
    static const int ping[] = { 202, 400, 405, 500, 403 };
    for (size_t i = 0; i < sizeof ping / sizeof *ping; i++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->ping_status = ping[i];
        exchange_fails(last_exchange(s.w, CALL), 401);
        CHECK(error_of(s.client, 1) == -31009 && sent(s.w, "ping") == 1);
        CHECK(sent(s.w, CALL) == 1 && sent(s.w, "initialize") == 1 && IS(s.server, CONNECTED));
        world_end(s.w);
    }
}

TEST(a_ping_that_meets_404_renews_the_session_but_proves_nothing_of_the_call)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->ping_status = 404;
    exchange_fails(last_exchange(s.w, CALL), 403);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK(sent(s.w, CALL) == 1 && sent(s.w, "initialize") == 2 && IS(s.server, CONNECTED));
    world_end(s.w);
}

TEST(a_ping_that_is_not_answered_in_time_confirms_nothing)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 400);
    advance(s.w, 4999);
    CHECK(answers_to(s.client, 1) == 0);
    advance(s.w, 1);
    CHECK(error_of(s.client, 1) == -31009 && last_exchange(s.w, "ping")->is_aborted);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).in_flight == 0);
    world_end(s.w);
}

TEST(a_ping_whose_answer_cannot_be_read_or_is_too_large_confirms_nothing)
{
    for (int large = 0; large < 2; large++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails(last_exchange(s.w, CALL), 400);
        struct exchange *ping = last_exchange(s.w, "ping");
        exchange_head(ping, 200, false);
        if (large) {
            struct hf_json_skim skim;
            hf_json_skim_init(&skim);
            hf_json_skim_feed(&skim, HF_SPAN("{\"id\":"));
            hf_json_skim_feed(&skim, ping->body.items[0].msg.id);
            hf_json_skim_feed(&skim, HF_SPAN(",\"result\":{}}"));
            hf_post_message_over(ping->post, &skim, at(s.w->now_ms));
            settle(s.w);
        } else {
            exchange_says(ping, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":nul}",
                          HF_FMT(ping->body.items[0].msg.id));
        }
        CHECK(error_of(s.client, 1) == -31009 && status_of(s.server).in_flight == 0);
        CHECK(sent(s.w, CALL) == 1 && IS(s.server, CONNECTED));
        world_end(s.w);
    }
}

TEST(a_ping_that_cannot_be_sent_loses_the_server_and_rejects_the_call)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 400);
    exchange_breaks(last_exchange(s.w, "ping"), HF_SENT_NOTHING);
    CHECK(error_of(s.client, 1) == -31009 && status_of(s.server).generation == 2);
    CHECK(sent(s.w, CALL) == 1);
    world_end(s.w);
}

TEST(a_call_in_doubt_when_its_runtime_is_cut_is_rejected_by_the_table)
{
    struct hf_settings settings = default_settings();
    settings.drain_ms = 1000;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    calls(&s, 1, 1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 401);
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1000);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "false"));
    advance(s.w, settings.close_ms + settings.term_ms + settings.kill_ms); /* to say goodbye in */
    CHECK(IS(s.server, DISABLED));
    world_end(s.w);
}

TEST(a_call_cancelled_while_in_doubt_gets_no_answer_and_tells_the_server_nothing)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 400);
    client_cancels(s.client, 1);
    CHECK(exchanges(s.w, "notifications/cancelled") == 0);
    exchange_fails(last_exchange(s.w, "ping"), 400);
    CHECK(answers_to(s.client, 1) == 0 && exchanges(s.w, CALL) == 1);
    world_end(s.w);
}

TEST(a_forgotten_session_confirmed_on_its_first_use_is_a_failed_attempt)
{
    struct hf_server *server;
    struct world *w =
        remote_world(default_settings(),
                     (struct http_manners) { .list_status = 400, .ping_status = 400 }, &server);
    advance(w, 60000);
    CHECK(sent(w, "initialize") < 9);
    CHECK(reason_says(server, "HTTP 400"));
    world_end(w);
}

/* ---- liveness ---- */

TEST(a_liveness_check_that_meets_any_status_has_found_a_living_server)
{
    static const int statuses[] = { 400, 403, 429, 500 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct hf_settings settings = default_settings();
        settings.call_timeout_ms = 3000;
        struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
        http_of(&s)->ping_status = statuses[i];
        calls(&s, 1, 1);
        advance(s.w, 3000);
        CHECK(error_of(s.client, 1) == -31002 && sent(s.w, "ping") == 1);
        advance(s.w, 200000);
        CHECK(sent(s.w, "ping") == 1 && status_of(s.server).generation == 1);
        calls(&s, 2, 2);
        advance(s.w, 3000);
        CHECK(sent(s.w, "ping") == 2); /* and the next one is not kept from looking */
        world_end(s.w);
    }
}

TEST(a_remote_server_that_answers_no_ping_is_connected_anew_after_three)
{
    struct hf_settings settings = default_settings();
    settings.call_timeout_ms = 3000;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    manners_of(s.w, s.server)->no_ping = true;
    calls(&s, 1, 1);
    advance(s.w, 3000 + 5000 + 10000 + 5000 + 10000 + 4999);
    CHECK(sent(s.w, "ping") == 3 && status_of(s.server).generation == 1);
    advance(s.w, 1);
    CHECK(status_of(s.server).generation == 2 && IS(s.server, CONNECTED));
    CHECK(last_exchange(s.w, "ping")->is_aborted && !s.first->runtime);
    world_end(s.w);
}

TEST(no_liveness_check_falls_into_a_renewal)
{
    struct hf_settings settings = default_settings();
    settings.call_timeout_ms = 3000;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    manners_of(s.w, s.server)->no_ping = true;
    calls(&s, 1, 1);
    advance(s.w, 3000 + 5000); /* one has failed, the next is set */
    calls(&s, 2, 2);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    advance(s.w, 20000);
    CHECK(sent(s.w, "ping") == 1 && exchanges(s.w, "ping") == 1);
    world_end(s.w);
}
