/*
 * test_remote_sse.c - the older transport, HTTP+SSE: one stream says where to send, and brings
 * every answer; without it nothing can come any more.
 */
#include "remote_fixture.h"

#define URL_1 "http://s/post?id=1"
#define URL_2 "http://s/post?id=2"

static struct scene older_scene(void)
{
    return remote_scene_of(SETTINGS(), HTTP(.is_sse = true));
}

static void answer_on_stream(const struct scene *s, const struct exchange *x)
{
    exchange_says(stream_of(x->child), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                  HF_FMT(x->body.items[0].msg.id));
    (void)s;
}

TEST(a_server_that_does_not_know_the_newer_transport_is_served_by_the_older_one)
{
    static const int statuses[] = { 400, 404, 405 };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = lone_remote(SETTINGS(), HTTP(.is_sse = true, .by_hand = true));
        CHECK(exchanges(s.w, "initialize") == 1 && exchanges(s.w, "GET") == 0);
        manners_of(s.w, s.server)->http.by_hand = false;
        exchange_fails(last_exchange(s.w, "initialize"), statuses[i]);
        CHECK(IS(s.server, CONNECTED) && sent(s.w, "initialize") == 2 &&
              exchanges(s.w, "GET") == 1);
        CHECK_EQ(status_of(s.server).attempts, 1); /* and that cost nothing */
        CHECK_STR(last_exchange(s.w, "initialize")->endpoint, URL_1);
        CHECK_STR(last_exchange(s.w, "tools/list")->endpoint, URL_1);
        CHECK(!last_exchange(s.w, "tools/list")->session_id);
        world_end(s.w);
    }
}

TEST(the_agreed_version_is_said_from_the_answer_to_initialize_on)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", default_settings());
    manners_of(w, server)->http = HTTP(.is_sse = true);
    hf_server_set_clients_own(server);
    settle(w);
    struct client *client = open_client(w, server);
    client_requests(client, 0, "initialize",
                    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}");
    REQUIRE(has_result(client, 0)); /* and it has not said `initialized` */
    exchange_says(stream_of(newest_child(w, server)),
                  "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
    CHECK_STR(last_exchange(w, "response")->version, "2025-11-25");
    CHECK_EQ(sent(w, "notifications/initialized"), 0);
}

TEST(a_server_that_may_have_moved_on_is_asked_so_before_the_older_transport_is_tried)
{
    struct scene s = lone_remote(SETTINGS(.era = HF_ERA_UNKNOWN), BY_HAND);
    exchange_fails(last_exchange(s.w, "server/discover"), 404);
    exchange_answers(last_exchange(s.w, "initialize"), NO_TOOLS);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "server/discover") == 1);
    operate(s.w, s.server, HF_OP_RECONNECT); /* it is known to be legacy now */
    CHECK(exchanges(s.w, "initialize") == 2 && exchanges(s.w, "server/discover") == 1);
    exchange_fails(last_exchange(s.w, "initialize"), 404);
    CHECK_EQ(exchanges(s.w, "server/discover"), 2);
    exchange_fails(last_exchange(s.w, "server/discover"), 404);
    exchange_fails(last_exchange(s.w, "initialize"), 404);
    CHECK(exchanges(s.w, "initialize") == 3 && open_exchanges(s.w, "GET") == 1);
}

TEST(other_statuses_say_nothing_of_the_transport)
{
    static const int statuses[] = { 301, 401, 403, 406, 415, 429, 500, 503 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = lone_remote(SETTINGS(), HTTP(.hello_status = statuses[i]));
        CHECK(exchanges(s.w, "GET") == 0 && !IS(s.server, CONNECTED));
        world_end(s.w);
    }
}

TEST(a_configured_transport_is_the_only_one_that_is_tried)
{
    struct world *w = world_new();
    struct hf_settings settings = SETTINGS(.transport = HF_TRANSPORT_HTTP);
    struct hf_server *newer = add_remote(w, "newer", settings);
    settings.transport = HF_TRANSPORT_SSE;
    struct hf_server *older = add_remote(w, "older", settings);
    manners_of(w, newer)->http.hello_status = 405;
    manners_of(w, older)->http.is_sse = true;
    settle(w);
    CHECK(IS(newer, RECONNECTING) && IS(older, CONNECTED));
    CHECK(exchanges(w, "GET") == 1 && exchanges(w, "initialize") == 2);
}

TEST(where_neither_transport_works_the_reason_names_both)
{
    struct scene s = lone_remote(SETTINGS(), HTTP(.hello_status = 400));
    CHECK(IS(s.server, RECONNECTING)); /* it answers a GET with 405 */
    CHECK(reason_says(s.server, "HTTP 400 to initialize"));
    CHECK(reason_says(s.server, "405"));
}

TEST(a_server_of_the_older_transport_is_not_asked_which_era_it_speaks)
{
    struct scene s =
        lone_remote(SETTINGS(.era = HF_ERA_UNKNOWN, .transport = HF_TRANSPORT_SSE), BY_HAND);
    exchange_head(last_exchange(s.w, "GET"), 200, true);
    hf_remote_exchange_endpoint(last_exchange(s.w, "GET")->post, HF_SPAN("http://h/m"),
                                at(s.w->now_ms));
    settle(s.w);
    exchange_fails(last_exchange(s.w, "initialize"), 404);
    CHECK(exchanges(s.w, "server/discover") == 0 && IS(s.server, RECONNECTING));
}

TEST(nothing_is_sent_before_the_stream_has_said_where)
{
    struct scene s = lone_remote(SETTINGS(.transport = HF_TRANSPORT_SSE), BY_HAND);
    struct exchange *stream = last_exchange(s.w, "GET");
    CHECK(!stream->session_id && !stream->endpoint);
    exchange_head(stream, 200, true);
    CHECK_EQ(exchanges(s.w, "initialize"), 0);
    advance(s.w, 119999);
    CHECK(stream->post);
    advance(s.w, 2);
    CHECK(stream->is_aborted && IS(s.server, CONNECTED) == false); /* startTimeoutMs */
}

TEST(a_second_endpoint_changes_nothing)
{
    struct scene s = older_scene();
    hf_remote_exchange_endpoint(stream_of(s.first)->post, HF_SPAN("http://s/other"),
                                at(s.w->now_ms));
    settle(s.w);
    client_calls(s.client, 1, "echo");
    CHECK_STR(last_exchange(s.w, CALL)->endpoint, URL_1);
    CHECK_EQ(exchanges(s.w, "initialize"), 2);
}

TEST(answers_come_on_the_stream)
{
    struct scene s = older_scene();
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    CHECK(sent(s.w, CALL) == 2 && open_exchanges(s.w, CALL) == 0); /* accepted */
    CHECK_EQ(status_of(s.server).in_flight, 2);
    answer_on_stream(&s, nth_exchange(s.w, CALL, 1));
    CHECK(has_result(s.client, 2) && answers_to(s.client, 1) == 0);
    answer_on_stream(&s, nth_exchange(s.w, CALL, 0));
    CHECK(has_result(s.client, 1) && IS(s.server, CONNECTED));
}

TEST(an_answer_may_be_faster_than_the_word_that_its_request_was_accepted)
{
    struct scene s = older_scene();
    http_of(&s)->by_hand = true;
    client_calls(s.client, 1, "echo");
    struct exchange *x = last_exchange(s.w, CALL);
    exchange_sends(x);
    answer_on_stream(&s, x);
    CHECK(has_result(s.client, 1));
    exchange_breaks(x, HF_SENT_WHOLE);
    CHECK(answers_to(s.client, 1) == 1 && status_of(s.server).generation == 1);
}

/* The server has it, for all we know, and the stream is where it answers. */
TEST(a_call_whose_exchange_was_lost_waits_for_its_answer_while_the_stream_lives)
{
    for (int how = 0; how < 4; how++) {
        struct scene s = older_scene();
        http_of(&s)->by_hand = true;
        client_calls(s.client, 1, "echo");
        struct exchange *x = last_exchange(s.w, CALL);
        exchange_sends(x);
        if (how == 0) {
            exchange_breaks(x, HF_SENT_WHOLE);
        } else if (how == 1) {
            exchange_head(x, 404, false);
            exchange_breaks(x, HF_SENT_WHOLE);
        } else {
            exchange_fails(x, how == 2 ? 500 : 504);
        }
        http_of(&s)->by_hand = false;
        settle(s.w);
        CHECK(answers_to(s.client, 1) == 0 && sent(s.w, CALL) == 1);
        answer_on_stream(&s, x);
        CHECK(has_result(s.client, 1) && sent(s.w, CALL) == 1);
        world_end(s.w);
    }
}

TEST(a_call_whose_exchange_was_lost_ends_with_the_stream)
{
    struct scene s = older_scene();
    http_of(&s)->by_hand = true;
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 500);
    http_of(&s)->by_hand = false;
    exchange_ends(stream_of(s.first));
    CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
}

TEST(a_call_that_never_left_or_that_an_operator_vouches_for_is_sent_again_by_the_older_transport)
{
    for (int vouched = 0; vouched < 2; vouched++) {
        struct hf_settings settings = default_settings();
        const unsigned at = 503 - HF_STATUS_MIN;
        settings.refused_status.bits[at / 64] |= UINT64_C(1) << at % 64;
        struct scene s = remote_scene_of(settings, HTTP(.is_sse = true));
        http_of(&s)->by_hand = true;
        client_calls(s.client, 1, "echo");
        struct exchange *x = last_exchange(s.w, CALL);
        exchange_sends(x);
        http_of(&s)->by_hand = false;
        if (vouched)
            exchange_fails(x, 503);
        else
            exchange_breaks(x, HF_SENT_PART);
        advance(s.w, 1000);
        CHECK_EQ(sent(s.w, CALL), 2);
        answer_on_stream(&s, last_exchange(s.w, CALL));
        CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
        world_end(s.w);
    }
}

TEST(the_end_of_the_stream_is_a_loss_and_what_was_accepted_is_unknown)
{
    for (int whole = 0; whole < 2; whole++) {
        struct scene s = older_scene();
        client_calls(s.client, 1, "echo");
        http_of(&s)->holds_calls = true;
        client_calls(s.client, 2, "echo"); /* not a byte of it has left us */
        http_of(&s)->holds_calls = false;
        if (whole)
            exchange_ends(stream_of(s.first));
        else
            exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
        CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "dispatched", "true"));
        CHECK(span_has(data_of(s.client, 1, "reason"), "event stream ended"));
        CHECK(status_of(s.server).generation == 2 && IS(s.server, CONNECTED));
        CHECK(is_text(last_exchange(s.w, CALL)->endpoint, URL_2) && sent(s.w, CALL) == 2);
        answer_on_stream(&s, last_exchange(s.w, CALL));
        CHECK(has_result(s.client, 2));
        world_end(s.w);
    }
}

TEST(a_404_to_the_endpoint_is_a_forgotten_session_and_a_new_generation)
{
    struct scene s = older_scene();
    client_calls(s.client, 1, "echo"); /* accepted */
    http_of(&s)->has_forgotten = true;
    client_calls(s.client, 2, "echo");
    CHECK(status_of(s.server).generation == 2 && IS(s.server, CONNECTED));
    CHECK(sent(s.w, CALL) == 3 && is_text(last_exchange(s.w, CALL)->endpoint, URL_2));
    answer_on_stream(&s, nth_exchange(s.w, CALL, 0)); /* its own stream is still open */
    CHECK(has_result(s.client, 1));
    answer_on_stream(&s, last_exchange(s.w, CALL));
    CHECK(has_result(s.client, 2) && answers_to(s.client, 2) == 1);
}

TEST(a_doubtful_status_of_the_endpoint_is_decided_by_one_ping_as_well)
{
    for (int gone = 0; gone < 2; gone++) {
        struct scene s = older_scene();
        http_of(&s)->by_hand = true;
        client_calls(s.client, 1, "echo");
        http_of(&s)->by_hand = false;
        http_of(&s)->has_forgotten = gone;
        http_of(&s)->unknown_status = 403;
        if (gone)
            exchange_fails(last_exchange(s.w, CALL), 403);
        else
            exchange_fails_with(last_exchange(s.w, CALL), 403, "text/plain", "The tool says no");
        CHECK(sent(s.w, "ping") == 2 && IS(s.server, CONNECTED));
        CHECK(!is_text(nth_exchange(s.w, "ping", 0)->endpoint, "http://s/post?id=1"));
        CHECK_EQ(status_of(s.server).generation, gone ? 2 : 1);
        CHECK_EQ(sent(s.w, CALL), gone ? 2 : 1);
        CHECK_EQ(error_of(s.client, 1), gone ? 0 : -31009);
        world_end(s.w);
    }
}

TEST(a_call_accepted_by_the_older_transport_is_cancelled_by_a_message)
{
    struct scene s = older_scene();
    client_calls(s.client, 1, "echo");
    client_cancels(s.client, 1);
    CHECK_STR(last_exchange(s.w, "notifications/cancelled")->endpoint, URL_1);
    answer_on_stream(&s, last_exchange(s.w, CALL));
    CHECK(answers_to(s.client, 1) == 0 && status_of(s.server).stale_drops == 1);
}

TEST(the_older_transport_is_closed_by_closing_its_stream)
{
    struct scene s = older_scene();
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLED) && exchanges(s.w, "DELETE") == 0);
    CHECK(last_exchange(s.w, "GET")->is_aborted && s.first->hang_ups == 1);
}

TEST(a_stream_that_wants_credentials_is_not_asked_for_in_a_loop)
{
    for (int status = 401; status <= 403; status += 2) {
        struct scene s = lone_remote(SETTINGS(.transport = HF_TRANSPORT_SSE), BY_HAND);
        exchange_fails(last_exchange(s.w, "GET"), status);
        CHECK(IS(s.server, PERMANENTLY_FAILED));
        CHECK(reason_says(s.server, "auth required"));
        advance(s.w, 59999);
        CHECK_EQ(exchanges(s.w, "GET"), 1);
        advance(s.w, 1);
        CHECK_EQ(exchanges(s.w, "GET"), 2); /* probeMs */
        world_end(s.w);
    }
}

TEST(a_stream_that_asks_for_patience_gets_it)
{
    struct scene s = lone_remote(SETTINGS(.transport = HF_TRANSPORT_SSE), BY_HAND);
    exchange_fails_for(last_exchange(s.w, "GET"), 429, 20000);
    advance(s.w, 19999);
    CHECK(exchanges(s.w, "GET") == 1 && IS(s.server, RECONNECTING));
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, "GET"), 2);
}
