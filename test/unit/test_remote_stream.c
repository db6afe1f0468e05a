/*
 * test_remote_stream.c - streams of events: cut and resumed, the server's own stream that is never
 * fatal, what is said on whose stream, and the older transport where one stream is all there is.
 */
#include "remote_fixture.h"

#define LOG(text)                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\","    \
    "\"data\":\"" text "\"}}"
#define CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"

static struct scene scene_with_stream(void)
{
    return remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
}

/* Call 1, whose answer has begun as a stream with one event id. */
static struct exchange *streaming_call(const struct scene *s, int64_t retry_ms)
{
    client_calls(s->client, 1, "echo");
    struct exchange *x = last_exchange(s->w, CALL);
    exchange_head(x, 200, true);
    exchange_marks(x, "e1", retry_ms);
    return x;
}

/* ---- a call's own stream, cut ---- */

TEST(a_stream_cut_before_its_answer_is_resumed_from_its_last_event_after_the_time_it_said)
{
    struct scene s = remote_scene();
    struct exchange *x = streaming_call(&s, 2000);
    exchange_marks(x, "e2", -1); /* what it said of the time still holds */
    exchange_breaks(x, HF_SENT_WHOLE);
    advance(s.w, 1999);
    CHECK(exchanges(s.w, "RESUME") == 0 && answers_to(s.client, 1) == 0);
    advance(s.w, 1);
    struct exchange *again = last_exchange(s.w, "RESUME");
    CHECK(is_text(again->last_event_id, "e2") && is_text(again->session_id, "session-1"));
    CHECK(is_text(again->version, "2025-11-25") && again->body.count == 0);
    exchange_head(again, 200, true);
    exchange_says(again, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                  HF_FMT(x->body.items[0].msg.id));
    CHECK(has_result(s.client, 1) && sent(s.w, CALL) == 1);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
}

TEST(a_stream_that_its_server_closes_in_peace_is_resumed_all_the_same)
{
    struct scene s = remote_scene();
    exchange_ends(streaming_call(&s, -1));
    CHECK(answers_to(s.client, 1) == 0 && IS(s.server, CONNECTED));
    advance(s.w, 499);
    CHECK_EQ(exchanges(s.w, "RESUME"), 0);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, "RESUME"), 1);
}

TEST(a_stream_without_an_event_id_cannot_be_resumed)
{
    for (int how = 0; how < 3; how++) {
        struct scene s = scene_with_calls(1);
        struct exchange *x = last_exchange(s.w, CALL);
        exchange_head(x, 200, true);
        if (how == 1)
            exchange_marks(x, NULL, 100); /* a time alone is no place to go on from */
        if (how == 2) {
            exchange_marks(x, "e1", -1);
            exchange_marks(x, "", -1); /* taken back */
        }
        exchange_breaks(x, HF_SENT_WHOLE);
        CHECK_EQ(error_of(s.client, 1), -31002);
        advance(s.w, 60000);
        CHECK(exchanges(s.w, "RESUME") == 0 && sent(s.w, CALL) == 1);
        world_end(s.w);
    }
}

TEST(a_stream_that_cannot_be_had_again_leaves_the_outcome_unknown_and_is_never_sent_again)
{
    static const int statuses[] = { 400, 404, 405, 410, 500, 503 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = remote_scene();
        exchange_breaks(streaming_call(&s, 0), HF_SENT_WHOLE);
        advance(s.w, 1000);
        exchange_fails(last_exchange(s.w, "RESUME"), statuses[i]);
        CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "dispatched", "true"));
        CHECK(sent(s.w, CALL) == 1 && exchanges(s.w, "RESUME") == 1);
        CHECK_EQ(sent(s.w, "ping"), statuses[i] == 503); /* is it there? It is */
        CHECK(status_of(s.server).generation == 1 && sent(s.w, "initialize") == 1);
        world_end(s.w);
    }
}

TEST(a_server_that_is_gone_when_its_stream_is_resumed_is_lost_and_the_call_is_not_sent_again)
{
    static const enum hf_sent ends[] = { HF_SENT_NOTHING, HF_SENT_PART, HF_SENT_WHOLE };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = remote_scene();
        confirms_losses(&s);
        exchange_breaks(streaming_call(&s, 0), HF_SENT_WHOLE);
        advance(s.w, 1000);
        exchange_breaks(last_exchange(s.w, "RESUME"), ends[i]);
        CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
        CHECK_EQ(status_of(s.server).generation, 2);
        world_end(s.w);
    }
}

TEST(a_status_that_the_operator_vouches_for_does_not_make_an_accepted_call_one_that_never_ran)
{
    struct hf_settings settings = default_settings();
    const int at_bit = 503 - HF_STATUS_MIN;
    settings.refused_status.bits[at_bit / 64] |= UINT64_C(1) << at_bit % 64;
    struct scene s = remote_scene_of(settings, HTTP(.has_stream = true));
    exchange_breaks(streaming_call(&s, 100), HF_SENT_WHOLE);
    advance(s.w, 100);
    struct exchange *resumed = last_exchange(s.w, "RESUME");
    exchange_head(resumed, 503, false);
    exchange_ends(resumed);
    advance(s.w, 10000);
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "dispatched", "true"));
    CHECK_EQ(sent(s.w, CALL), 1);
}

TEST(a_stream_that_brings_nothing_new_is_resumed_up_to_a_bound_and_ever_later)
{
    struct scene s = remote_scene();
    exchange_breaks(streaming_call(&s, 0), HF_SENT_WHOLE);
    const struct exchange *before = last_exchange(s.w, CALL);
    uint64_t gap = 0;
    size_t seen = 0;
    for (int seconds = 0; seconds < 3600 && answers_to(s.client, 1) == 0; seconds++) {
        advance(s.w, 1000);
        if (exchanges(s.w, "RESUME") == seen)
            continue;
        struct exchange *x = last_exchange(s.w, "RESUME");
        CHECK_EQ(exchanges(s.w, "RESUME"), ++seen); /* one at a time */
        CHECK(x->begun_ms - before->ended_ms >= gap);
        gap = x->begun_ms - before->ended_ms;
        CHECK(gap <= 30000);
        before = x;
        exchange_head(x, 200, true);
        exchange_marks(x, "e1", 0); /* the place where we are already */
        exchange_ends(x);
    }
    CHECK(error_of(s.client, 1) == -31002 && seen > 3 && seen < 20);
    CHECK(sent(s.w, CALL) == 1 && IS(s.server, CONNECTED));
}

TEST(a_stream_that_brings_something_each_time_is_resumed_for_as_long_as_it_takes)
{
    struct scene s = remote_scene();
    exchange_ends(streaming_call(&s, 1000));
    for (int i = 0; i < 50; i++) {
        char id[20];
        (void)snprintf(id, sizeof id, "n%d", i);
        advance(s.w, 1000);
        struct exchange *x = last_exchange(s.w, "RESUME");
        exchange_head(x, 200, true);
        exchange_marks(x, id, -1);
        exchange_ends(x);
    }
    CHECK(exchanges(s.w, "RESUME") == 50 && answers_to(s.client, 1) == 0);
    client_cancels(s.client, 1); /* while it waits to be resumed */
    advance(s.w, 60000);
    CHECK(exchanges(s.w, "RESUME") == 50 && sent(s.w, "notifications/cancelled") == 1);
}

TEST(a_server_that_says_come_back_at_once_is_not_asked_in_a_tight_loop)
{
    struct scene s = remote_scene();
    exchange_ends(streaming_call(&s, 0));
    advance(s.w, 99);
    CHECK_EQ(exchanges(s.w, "RESUME"), 0);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, "RESUME"), 1);
}

TEST(a_server_that_says_come_back_next_year_is_asked_within_half_a_minute)
{
    struct scene s = remote_scene();
    exchange_ends(streaming_call(&s, INT64_C(31536000000)));
    advance(s.w, 30000);
    CHECK_EQ(exchanges(s.w, "RESUME"), 1);
}

TEST(an_answer_that_comes_elsewhere_ends_a_stream_that_waits_to_be_resumed)
{
    struct scene s = scene_with_stream();
    struct exchange *x = streaming_call(&s, 1000);
    exchange_breaks(x, HF_SENT_WHOLE);
    exchange_says(stream_of(s.first), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                  HF_FMT(x->body.items[0].msg.id));
    CHECK(has_result(s.client, 1));
    advance(s.w, 60000);
    CHECK_EQ(exchanges(s.w, "RESUME"), 0);
}

TEST(a_stream_is_resumed_on_a_runtime_that_was_lost_meanwhile)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    exchange_breaks(streaming_call(&s, 1000), HF_SENT_WHOLE);
    client_calls(s.client, 2, "echo");
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
    CHECK_EQ(status_of(s.server).generation, 2);
    advance(s.w, 1000);
    struct exchange *x = last_exchange(s.w, "RESUME");
    CHECK_EQ(x->child, s.first);
    exchange_head(x, 200, true);
    exchange_says(x, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                  HF_FMT(nth_exchange(s.w, CALL, 0)->body.items[0].msg.id));
    CHECK(has_result(s.client, 1));
}

TEST(a_greeting_whose_stream_is_cut_is_resumed_under_the_session_it_was_given)
{
    struct scene s = lone_remote(SETTINGS(), BY_HAND);
    struct exchange *hello = last_exchange(s.w, "initialize");
    exchange_gives_session(hello, "session-1");
    exchange_marks(hello, "h1", 1000);
    exchange_breaks(hello, HF_SENT_WHOLE);
    advance(s.w, 1000);
    struct exchange *again = last_exchange(s.w, "RESUME");
    CHECK_STR(again->session_id, "session-1");
    exchange_head(again, 200, true);
    manners_of(s.w, s.server)->http = HTTP(.sessions = 1);
    exchange_says(again,
                  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"2025-11-25\","
                  "\"capabilities\":{\"tools\":{}}}}",
                  HF_FMT(hello->body.items[0].msg.id));
    CHECK(IS(s.server, CONNECTED));
    CHECK_STR(last_exchange(s.w, "tools/list")->session_id, "session-1");
}

/* ---- what is said on whose stream ---- */

TEST(what_comes_on_a_calls_own_stream_goes_to_that_calls_client_and_place)
{
    struct scene s = lone_remote(SETTINGS(), HTTP());
    s.client = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    struct client *b = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    client_calls_via(s.client, 11, 1, "echo");
    client_calls_via(s.client, 12, 2, "echo");
    client_calls_via(b, 21, 1, "echo");
    for (size_t i = 0; i < 3; i++)
        exchange_head(nth_exchange(s.w, CALL, i), 200, true);
    exchange_says(nth_exchange(s.w, CALL, 0), LOG("for a, 11"));
    exchange_says(nth_exchange(s.w, CALL, 2), LOG("for b, 21"));
    CHECK_EQ(heard_via(s.client, 11, "notifications/message"), 1);
    CHECK_EQ(heard_via(b, 21, "notifications/message"), 1);
    CHECK(heard(s.client, "notifications/message") == 1 && heard(b, "notifications/message") == 1);
    exchange_says(nth_exchange(s.w, CALL, 1), "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":"
                                              "\"sampling/createMessage\",\"params\":{}}");
    CHECK(heard_via(s.client, 12, "sampling/createMessage") == 1 &&
          heard(b, "sampling/createMessage") == 0);
    client_answers(s.client, "sampling/createMessage", "{\"model\":\"m\"}");
    const struct exchange *answer = last_exchange(s.w, "response");
    CHECK_SPAN(answer->body.items[0].msg.id, "\"q\"");
    CHECK_STR(answer->session_id, "session-1");
}

TEST(what_comes_on_the_servers_own_stream_with_several_clients_in_flight_is_nobodys)
{
    struct scene s = lone_remote(SETTINGS(), HTTP(.has_stream = true));
    s.client = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    struct client *b = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    client_calls_via(s.client, 11, 1, "echo");
    client_calls_via(b, 21, 1, "echo");
    exchange_says(stream_of(newest_child(s.w, s.server)), LOG("for whom?"));
    exchange_says(
        stream_of(newest_child(s.w, s.server)),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"sampling/createMessage\",\"params\":{}}");
    CHECK(heard(s.client, "notifications/message") == 0 && heard(b, "notifications/message") == 0);
    CHECK(heard(s.client, "sampling/createMessage") == 0 &&
          heard(b, "sampling/createMessage") == 0);
    CHECK(span_has(last_exchange(s.w, "response")->body.items[0].msg.error, "isolation"));
    client_cancels(b, 1);
    exchange_says(stream_of(newest_child(s.w, s.server)), LOG("for the only one left"));
    CHECK_EQ(heard_via(s.client, 11, "notifications/message"), 1);
}

/* ---- the server's own stream ---- */

TEST(news_on_the_servers_own_stream_lists_again)
{
    struct scene s = scene_with_stream();
    CHECK_STR(stream_of(s.first)->session_id, "session-1");
    manners_of(s.w, s.server)->tools = "[{\"name\":\"other\"}]";
    exchange_says(stream_of(s.first), CHANGED);
    CHECK_EQ(heard(s.client, "notifications/tools/list_changed"), 1);
}

TEST(a_server_that_has_no_stream_any_more_is_not_asked_again)
{
    static const int statuses[] = { 405, 501 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = scene_with_stream();
        http_of(&s)->by_hand = true;
        exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
        advance(s.w, 1000);
        exchange_fails(last_exchange(s.w, "GET"), statuses[i]);
        advance(s.w, 290000);
        CHECK(exchanges(s.w, "GET") == 2 && exchanges(s.w, "ping") == 0);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        world_end(s.w);
    }
}

TEST(a_server_that_never_had_a_stream_is_asked_once_for_each_session)
{
    struct scene s = remote_scene();
    CHECK(sent(s.w, "GET") == 1 && IS(s.server, CONNECTED));
    advance(s.w, 280000);
    CHECK_EQ(exchanges(s.w, "GET"), 1);
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(sent(s.w, "GET") == 2 && sent(s.w, "initialize") == 2);
}

TEST(a_page_where_the_stream_should_be_is_no_stream)
{
    struct scene s = scene_with_stream();
    http_of(&s)->by_hand = true;
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "GET"), 200);
    advance(s.w, 290000);
    CHECK(exchanges(s.w, "GET") == 2 && IS(s.server, CONNECTED));
}

TEST(the_end_of_the_servers_own_stream_is_never_fatal_and_it_is_opened_again_ever_later)
{
    struct scene s = scene_with_stream();
    client_calls(s.client, 1, "echo");
    http_of(&s)->by_hand = true;
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    uint64_t last = s.w->now_ms, gap = 0;
    for (int i = 0; i < 8; i++) {
        const size_t before = exchanges(s.w, "GET");
        for (int n = 0; n < 31 && exchanges(s.w, "GET") == before; n++)
            advance(s.w, 1000);
        struct exchange *x = last_exchange(s.w, "GET");
        CHECK_EQ(exchanges(s.w, "GET"), before + 1);
        CHECK(x->begun_ms - last >= gap);
        gap = x->begun_ms - last;
        last = x->begun_ms;
        if (i % 2)
            exchange_breaks(x, HF_SENT_NOTHING);
        else
            exchange_fails(x, 503);
    }
    CHECK(gap == 30000 && IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
    CHECK(nth_exchange(s.w, CALL, 0)->post);
}

TEST(a_stream_that_is_opened_and_closed_again_and_again_is_opened_ever_later_too)
{
    struct scene s = scene_with_stream();
    for (int i = 0; i < 200; i++) {
        if (open_exchanges(s.w, "GET")) {
            exchange_marks(stream_of(s.first), NULL, 200); /* it may say what it likes */
            exchange_ends(stream_of(s.first));
        }
        advance(s.w, 1000);
    }
    CHECK(exchanges(s.w, "GET") < 15 && exchanges(s.w, "GET") > 5);
    CHECK(exchanges(s.w, "tools/list") < 15);
}

TEST(a_stream_that_lived_for_a_while_is_opened_again_soon)
{
    struct scene s = scene_with_stream();
    for (int i = 0; i < 4; i++) {
        advance(s.w, 60000);
        exchange_ends(stream_of(s.first));
        advance(s.w, 1000);
        CHECK_EQ(open_exchanges(s.w, "GET"), 1);
    }
}

TEST(the_servers_own_stream_goes_on_from_its_last_event)
{
    struct scene s = scene_with_stream();
    const size_t lists = exchanges(s.w, "tools/list");
    exchange_marks(stream_of(s.first), "g7", 3000);
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    advance(s.w, 2999);
    CHECK_EQ(open_exchanges(s.w, "GET"), 0);
    advance(s.w, 1);
    CHECK_STR(stream_of(s.first)->last_event_id, "g7");
    CHECK_EQ(exchanges(s.w, "tools/list"), lists); /* nothing was missed */
}

TEST(a_stream_that_cannot_go_on_from_its_last_event_begins_anew_and_what_was_missed_is_listed)
{
    struct scene s = scene_with_stream();
    const size_t lists = exchanges(s.w, "tools/list");
    exchange_marks(stream_of(s.first), "g7", -1);
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    http_of(&s)->by_hand = true;
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "GET"), 400);
    exchange_answers(last_exchange(s.w, "ping"), "{}");
    http_of(&s)->by_hand = false;
    advance(s.w, 10000);
    CHECK(!stream_of(s.first)->last_event_id && exchanges(s.w, "tools/list") == lists + 1);
    CHECK_EQ(sent(s.w, "initialize"), 1);
}

TEST(a_stream_refused_after_it_was_open_has_the_session_looked_after)
{
    static const int statuses[] = { 404, 400, 401 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = scene_with_stream();
        http_of(&s)->has_forgotten = true;
        http_of(&s)->unknown_status = statuses[i];
        exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
        advance(s.w, 1000);
        CHECK(sent(s.w, "ping") == 2 && sent(s.w, "initialize") == 2); /* its own, a stranger's */
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        CHECK_STR(stream_of(s.first)->session_id, "session-2");
        world_end(s.w);
    }
}

TEST(without_a_session_a_refused_stream_has_none_looked_after)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true, .no_session = true));
    struct http_manners *http = &manners_of(s.w, s.server)->http;
    exchange_ends(stream_of(s.first));
    http->by_hand = true;
    advance(s.w, 5000);
    exchange_fails(last_exchange(s.w, "GET"), 400);
    CHECK(exchanges(s.w, "GET") == 2 && exchanges(s.w, "ping") == 0);
    CHECK(exchanges(s.w, "initialize") == 1 && IS(s.server, CONNECTED));
}

TEST(the_stream_of_a_forgotten_session_is_ended_and_one_of_the_new_session_opened)
{
    struct scene s = scene_with_stream();
    struct exchange *old = stream_of(s.first);
    const size_t lists = exchanges(s.w, "tools/list");
    exchange_marks(old, "g7", -1);
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(old->is_aborted && is_text(stream_of(s.first)->session_id, "session-2"));
    CHECK(!stream_of(s.first)->last_event_id && exchanges(s.w, "tools/list") == lists + 1);
}

TEST(a_stream_refused_right_after_a_renewal_is_asked_for_again)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    struct http_manners *http = &manners_of(s.w, s.server)->http;
    client_calls(s.client, 1, "echo");
    http->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    exchange_answers(last_exchange(s.w, "initialize"), HELLO);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    CHECK_EQ(exchanges(s.w, "GET"), 2);
    exchange_fails(last_exchange(s.w, "GET"), 429);
    advance(s.w, 5000);
    CHECK_EQ(exchanges(s.w, "GET"), 3);
}

TEST(news_of_a_lost_runtime_is_dropped)
{
    struct scene s = scene_with_stream();
    confirms_losses(&s);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    exchange_breaks(nth_exchange(s.w, CALL, 0), HF_SENT_WHOLE);
    const size_t lists = exchanges(s.w, "tools/list");
    exchange_says(stream_of(s.first), CHANGED);
    exchange_says(stream_of(s.first), LOG("old"));
    CHECK(exchanges(s.w, "tools/list") == lists && heard(s.client, "notifications/message") == 0);
    CHECK_EQ(status_of(s.server).stale_drops, 2);
}
