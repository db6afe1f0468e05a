/*
 * test_bounds.c - servers that ask more than they read, and clients that say more than a server
 * takes (P12): bounded, and at the cost of whoever does it.
 */
#include "engine_http.h"

#define CALL "tools/call"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"
enum { OPEN_MAX = 1000 };

static struct world *world_of(uint64_t max_message_bytes)
{
    return world_new_with(LIMITS(.max_message_bytes = max_message_bytes, .max_depth = 64));
}

static struct http_manners *http_of(const struct scene *s)
{
    return &manners_of(s->w, s->server)->http;
}

TEST(a_server_that_floods_requests_and_never_reads_is_given_up_at_a_bound)
{
    struct world *w = world_of(1 << 20);
    struct hf_server *server = add_server(w, "s", default_settings());
    settle(w);
    struct child *c = newest_child(w, server);
    child_stalls(c, 4096);
    int pings = 0;
    while (c->runtime && !c->got_kill && pings < 100000)
        child_says(c, PING, pings++);
    /* two messages' worth, with what it costs us to keep them */
    CHECK(c->got_kill && pings > 1000 && pings < 20000);
    CHECK(notes_with(w, "LOST") > 0);
    CHECK(span_has(hf_span_of(status_of(server).last_reason), "asks more than it reads"));
}

TEST(a_server_that_reads_what_it_asked_for_may_ask_for_ever)
{
    struct world *w = world_of(1 << 14);
    struct hf_server *server = add_server(w, "s", default_settings());
    settle(w);
    for (int i = 0; i < 2000; i++)
        child_says(newest_child(w, server), PING, i);
    CHECK(IS(server, CONNECTED) && status_of(server).generation == 1);
}

TEST(a_remote_server_that_floods_requests_and_takes_no_answer_is_given_up_at_a_bound)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    http_of(&s)->by_hand = true;
    struct exchange *stream = stream_of(s.first);
    for (int i = 0; i < OPEN_MAX; i++)
        exchange_says(stream, PING, i);
    CHECK(open_exchanges(s.w, "response") == OPEN_MAX && IS(s.server, CONNECTED));
    exchange_says(stream, PING, 0);
    CHECK(stream->is_aborted && open_exchanges(s.w, "response") == 0);
    CHECK(span_has(hf_span_of(status_of(s.server).last_reason), "asks more than it reads"));
    CHECK_EQ(status_of(s.server).generation, 2);
}

TEST(a_remote_server_that_takes_its_answers_may_ask_for_ever)
{
    struct world *w = world_of(1 << 14); /* fewer bytes than it asks for in all */
    struct hf_server *server = add_remote(w, "s", default_settings());
    manners_of(w, server)->http.has_stream = true;
    settle(w);
    for (int i = 0; i < 3 * OPEN_MAX; i++)
        exchange_says(stream_of(newest_child(w, server)), PING, i);
    CHECK(exchanges(w, "response") == 3 * OPEN_MAX && IS(server, CONNECTED));
    CHECK_EQ(status_of(server).generation, 1);
}

TEST(a_message_that_a_remote_server_does_not_take_is_given_up_after_stall_ms)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    http_of(&s)->by_hand = true;
    exchange_says(stream_of(s.first), PING, 1);
    advance(s.w, 59999);
    CHECK_EQ(open_exchanges(s.w, "response"), 1);
    advance(s.w, 1);
    CHECK(last_exchange(s.w, "response")->is_aborted && IS(s.server, CONNECTED));
}

TEST(clients_that_cancel_a_thousand_calls_at_once_cost_nobody_the_server)
{
    struct scene s = remote_scene();
    for (int id = 1; id <= OPEN_MAX + 200; id++)
        client_calls(s.client, id, "echo");
    http_of(&s)->by_hand = true;
    for (int id = 1; id <= OPEN_MAX + 200; id++)
        client_cancels(s.client, id);
    CHECK_EQ(open_exchanges(s.w, "notifications/cancelled"), OPEN_MAX);
    CHECK(open_exchanges(s.w, CALL) == 0 && IS(s.server, CONNECTED));
    CHECK_EQ(status_of(s.server).generation, 1);
}

TEST(a_client_that_floods_notifications_costs_nobody_the_server)
{
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        struct world *w = world_of(1 << 14);
        struct hf_server *server = is_remote ? add_remote(w, "s", default_settings())
                                             : add_server(w, "s", default_settings());
        settle(w);
        struct client *c = greeted_client(w, server);
        newest_child(w, server)->manners.reads_nothing = true;
        newest_child(w, server)->manners.pipe_capacity = 4096;
        manners_of(w, server)->http.by_hand = true;
        for (int i = 0; i < OPEN_MAX + 200; i++)
            client_says(c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
        CHECK(IS(server, CONNECTED) && status_of(server).generation == 1);
        CHECK(open_exchanges(w, "notifications/roots/list_changed") <= OPEN_MAX);
        world_end(w);
    }
}

TEST(a_server_has_a_thousand_questions_open_with_clients_and_not_one_more)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    for (int i = 0; i <= OPEN_MAX; i++)
        child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sampling/createMessage\"}",
                   i);
    CHECK(heard(s.client, "sampling/createMessage") == OPEN_MAX && IS(s.server, CONNECTED));
    const struct message *last = &s.first->got.items[s.first->got.count - 1];
    CHECK(hf_span_is(last->msg.id, "1000") && last->msg.kind == HF_MSG_ERROR);
    client_answers(s.client, "sampling/createMessage", "{}");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"sampling/createMessage\"}");
    CHECK_EQ(heard(s.client, "sampling/createMessage"), OPEN_MAX + 1); /* one was answered */
}

TEST(a_question_with_an_endless_id_is_not_kept)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    child_says(s.first,
               "{\"jsonrpc\":\"2.0\",\"id\":\"%020000d\",\"method\":\"sampling/createMessage\"}",
               7);
    CHECK_EQ(heard(s.client, "sampling/createMessage"), 0);
    CHECK_EQ(s.first->got.items[s.first->got.count - 1].msg.kind, HF_MSG_ERROR);
}
