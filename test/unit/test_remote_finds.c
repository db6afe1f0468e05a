/*
 * test_remote_finds.c - what the simulator found in the remote side, one short test for each.
 */
#include "remote_fixture.h"

#define CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"
#define HELLO   "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}"

TEST(a_call_refused_in_place_leaves_its_place_to_whoever_is_next)
{
    struct hf_settings settings = default_settings();
    settings.max_in_flight = 1;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    exchange_fails(last_exchange(s.w, CALL), 421);
    CHECK(sent(s.w, CALL) == 2);
    advance(s.w, 250);
    CHECK(exchanges(s.w, CALL) == 2); /* it is ready again, and waits for its place */
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1) && has_result(s.client, 2) && sent(s.w, CALL) == 3);
    world_end(s.w);
}

/* The answer that it may have held is lost: whether it ran nobody can say. */
TEST(a_refusal_whose_body_is_cut_proves_nothing)
{
    static const int statuses[] = { 400, 403, 404, 421, 425 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = remote_scene();
        client_calls(s.client, 1, "echo");
        exchange_head(last_exchange(s.w, CALL), statuses[i], false);
        exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
        CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "dispatched", "true"));
        CHECK(sent(s.w, CALL) == 1 && sent(s.w, "initialize") == 1);
        CHECK(sent(s.w, "ping") == 1); /* is its session served at all? it is */
        world_end(s.w);
    }
}

TEST(a_ping_whose_refusal_is_cut_confirms_nothing)
{
    struct scene s = remote_scene();
    manners_of(s.w, s.server)->http.by_hand = true;
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 403);
    exchange_head(last_exchange(s.w, "ping"), 403, false);
    exchange_breaks(last_exchange(s.w, "ping"), HF_SENT_WHOLE);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK(sent(s.w, "initialize") == 1);
    world_end(s.w);
}

TEST(a_send_of_which_not_one_byte_left_us_is_none)
{
    struct hf_settings settings = default_settings();
    settings.reconnect.min_ms = 0;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    client_calls(s.client, 1, "echo");
    for (int times = 0; times < 4; times++) {
        exchange_sends(last_exchange(s.w, CALL));
        exchange_breaks(last_exchange(s.w, CALL), HF_SENT_NOTHING);
        CHECK(answers_to(s.client, 1) == 0);
    }
    exchange_fails(last_exchange(s.w, CALL), 421); /* the first time that it is turned away */
    CHECK(answers_to(s.client, 1) == 0);
    advance(s.w, 250);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
    world_end(s.w);
}

TEST(a_list_that_changes_before_our_initialized_has_arrived_is_asked_for_once_and_after_it)
{
    struct hf_server *server;
    struct world *w = remote_world(default_settings(), BY_HAND, &server);
    struct exchange *hello = last_exchange(w, "initialize");
    exchange_gives_session(hello, "x");
    exchange_says_answer(hello, HELLO);
    exchange_says(hello, CHANGED);
    CHECK(exchanges(w, "tools/list") == 0);
    exchange_fails(last_exchange(w, "notifications/initialized"), 202);
    CHECK(exchanges(w, "tools/list") == 1);
    exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(server, CONNECTED) && exchanges(w, "tools/list") == 1);
    world_end(w);
}

TEST(an_initialized_that_takes_its_time_has_that_of_the_whole_start)
{
    struct hf_settings settings = default_settings();
    settings.stall_ms = 10;
    struct hf_server *server;
    struct world *w = remote_world(settings, BY_HAND, &server);
    exchange_answers(last_exchange(w, "initialize"), HELLO);
    advance(w, 1000);
    exchange_fails(last_exchange(w, "notifications/initialized"), 202);
    exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(server, CONNECTED));
    world_end(w);
}

TEST(the_session_of_an_initialize_that_failed_is_not_used)
{
    struct hf_settings settings = default_settings();
    settings.era = HF_ERA_UNKNOWN;
    struct hf_server *server;
    struct world *w = remote_world(settings, BY_HAND, &server);
    exchange_fails(last_exchange(w, "server/discover"), 404);
    exchange_answers(last_exchange(w, "initialize"), HELLO);
    exchange_fails(last_exchange(w, "notifications/initialized"), 202);
    exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(server, CONNECTED));
    (void)operate(w, server, HF_OP_RECONNECT);
    struct exchange *hello = last_exchange(w, "initialize");
    CHECK(exchanges(w, "server/discover") == 1 && exchanges(w, "initialize") == 2);
    exchange_gives_session(hello, "x");
    exchange_says(hello,
                  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32602,\"message\":"
                  "\"no\"}}",
                  HF_FMT(hello->body.items[0].msg.id));
    CHECK(exchanges(w, "server/discover") == 2);
    CHECK(!last_exchange(w, "server/discover")->session_id);
    exchange_fails(last_exchange(w, "server/discover"), 404);
    CHECK(exchanges(w, "initialize") == 3 && !last_exchange(w, "initialize")->session_id);
    world_end(w);
}

TEST(a_server_of_the_older_transport_is_not_asked_which_era_it_speaks)
{
    struct hf_settings settings = default_settings();
    settings.era = HF_ERA_UNKNOWN;
    settings.transport = HF_TRANSPORT_SSE;
    struct hf_server *server;
    struct world *w = remote_world(settings, BY_HAND, &server);
    exchange_head(last_exchange(w, "GET"), 200, true);
    hf_remote_exchange_endpoint(last_exchange(w, "GET")->post, HF_SPAN("http://h/m"),
                                at(w->now_ms));
    settle(w);
    exchange_fails(last_exchange(w, "initialize"), 404);
    CHECK(exchanges(w, "server/discover") == 0 && IS(server, RECONNECTING));
    world_end(w);
}

TEST(a_stream_refused_right_after_a_renewal_is_asked_for_again)
{
    struct scene s =
        remote_scene_of(default_settings(), (struct http_manners) { .has_stream = true });
    struct http_manners *http = &manners_of(s.w, s.server)->http;
    client_calls(s.client, 1, "echo");
    http->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    exchange_answers(last_exchange(s.w, "initialize"), HELLO);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    CHECK(exchanges(s.w, "GET") == 2);
    exchange_fails(last_exchange(s.w, "GET"), 429);
    advance(s.w, 5000);
    CHECK(exchanges(s.w, "GET") == 3);
    world_end(s.w);
}

TEST(without_a_session_a_refused_stream_has_none_looked_after)
{
    struct scene s = remote_scene_of(
        default_settings(), (struct http_manners) { .has_stream = true, .no_session = true });
    struct http_manners *http = &manners_of(s.w, s.server)->http;
    exchange_ends(stream_of(s.first));
    http->by_hand = true;
    advance(s.w, 5000);
    exchange_fails(last_exchange(s.w, "GET"), 400);
    CHECK(exchanges(s.w, "GET") == 2 && exchanges(s.w, "ping") == 0);
    CHECK(exchanges(s.w, "initialize") == 1 && IS(s.server, CONNECTED));
    world_end(s.w);
}

TEST(a_server_whose_calls_outlast_their_time_to_drain_is_still_told_goodbye)
{
    struct hf_settings settings = default_settings();
    settings.drain_ms = 1000;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    client_calls(s.client, 1, "echo");
    exchange_sends(last_exchange(s.w, CALL));
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1000);
    CHECK(error_of(s.client, 1) == -31002); /* at once: no answer can come any more */
    CHECK(exchanges(s.w, "DELETE") == 1 && IS(s.server, DISABLED));
    world_end(s.w);
}
