/* test_front_streams.c - one JSON body or events, and what a client can come back for: when
 * exactly, for how long, how much. */
#include "front_fixture.h"

static bool is_json(const struct trip *exchange)
{
    return exchange->is_over && hf_span_is(header_of(exchange, "Content-Type"), "application/json");
}

static void progress(struct front *f, int value)
{
    struct child *child = newest_child(f->w, f->server);
    const struct message *last = child_last(child, "tools/call");
    const struct hf_span token = hf_json_path(
        last->msg.params, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN("progressToken") });
    child_says(child,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":%d}}",
               HF_FMT(token), value);
    pass(f, 0);
}

TEST(an_answer_within_half_a_second_that_is_all_there_is_to_say_is_one_json_body)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *x = call(f, session, 1);
    pass(f, 499);
    CHECK_EQ(x->status, 0);
    answer_call(f);
    CHECK(x->status == 200 && is_json(x) && has(x, "\"id\":1") == 1);
}

TEST(after_half_a_second_a_client_of_2025_11_25_is_given_an_id_and_then_a_sign_of_life_every_15_s)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *x = call(f, session, 1);
    pass(f, 500);
    CHECK(x->is_stream && has(x, "retry: 1000\ndata: \n\n") == 1 && has(x, "id: ") == 1);
    pass(f, 14999);
    CHECK_EQ(has(x, ": ping\n\n"), 0);
    pass(f, 1);
    CHECK_EQ(has(x, ": ping\n\n"), 1);
    pass(f, 30000);
    CHECK(has(x, ": ping\n\n") == 3 && has(x, "retry:") == 1);
    answer_call(f);
    CHECK(x->is_over && has(x, "event: message\n") == 1);
}

TEST(an_older_client_gets_no_empty_event_and_its_first_sign_of_life_is_a_comment)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-06-18");
    struct trip *x = call(f, session, 1);
    pass(f, 15499);
    CHECK_EQ(x->status, 0);
    pass(f, 1);
    CHECK(x->is_stream && has(x, ": ping\n\n") == 1 && has(x, "id: ") == 0);
    answer_call(f);
    CHECK(x->is_over && has(x, "event: message\nid: ") == 1);
}

TEST(a_client_that_takes_only_json_waits_in_silence_and_news_go_where_it_listens)
{
    struct front *f = front_new(1000000, 10);
    char headers[200];
    const char *session = join(f, "2025-11-25");
    struct trip *listening = get(f, session, NULL);
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nAccept: application/json\r\n"
                   "Mcp-Session-Id: %s\r\n",
                   session);
    struct trip *x = ask(f, "POST", "/mcp/s", headers,
                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"echo\",\"_meta\":{\"progressToken\":7}}}");
    progress(f, 1);
    pass(f, 60000);
    CHECK(x->status == 0 && has(listening, "\"progress\":1") == 1);
    answer_call(f);
    CHECK(is_json(x));
}

TEST(a_client_that_takes_only_events_gets_its_one_answer_as_an_event)
{
    struct front *f = front_new(1000000, 10);
    char headers[200];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
                   "Mcp-Session-Id: %s\r\n",
                   join(f, "2025-06-18"));
    struct trip *x =
        ask(f, "POST", "/mcp/s", headers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    CHECK(x->is_stream && x->is_over && has(x, "\"result\":{}") == 1);
}

TEST(a_client_that_was_cut_off_gets_the_rest_of_that_stream_and_then_what_follows)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *x = call(f, session, 1);
    progress(f, 1);
    progress(f, 2);
    char seen[80];
    (void)snprintf(seen, sizeof seen, "%s", last_id(x));
    leave(f, x);
    progress(f, 3);
    struct trip *back = get(f, session, seen);
    CHECK(back->is_stream && has(back, "\"progress\":3") == 1 && has(back, "\"progress\":2") == 0);
    progress(f, 4);
    CHECK(has(back, "\"progress\":4") == 1 && !back->is_over);
    answer_call(f);
    CHECK(back->is_over && has(back, "\"id\":1") == 1);
    CHECK_EQ(child_got(newest_child(f->w, f->server), "tools/call"), 1);
    CHECK_EQ(child_got(newest_child(f->w, f->server), "notifications/cancelled"), 0);
}

TEST(who_comes_back_on_a_new_connection_ends_the_one_he_gave_up)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *x = call(f, session, 1);
    pass(f, 500);
    struct trip *back = get(f, session, last_id(x));
    CHECK(x->is_over && has(x, "event: message") == 0);
    answer_call(f);
    CHECK(back->is_over && has(back, "\"id\":1") == 1);
}

TEST(an_answer_can_be_fetched_for_five_minutes_as_often_as_one_likes)
{
    struct front *f = front_new(100000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *x = call(f, session, 1);
    char primed[80];
    pass(f, 500);
    (void)snprintf(primed, sizeof primed, "%s", last_id(x));
    leave(f, x);
    answer_call(f);
    for (int i = 0; i < 2; i++) {
        struct trip *back = get(f, session, primed);
        CHECK(back->is_stream && back->is_over && has(back, "\"id\":1") == 1);
        struct trip *again = get(f, session, last_id(back));
        CHECK_EQ(again->status, 204);
        pass(f, 299999 * (i == 0));
    }
    pass(f, 1);
    CHECK_EQ(get(f, session, primed)->status, 400);
}

TEST(a_client_that_left_with_no_id_to_come_back_with_leaves_nothing_behind)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-06-18");
    struct trip *x = call(f, session, 1);
    leave(f, x);
    answer_call(f);
    struct trip *listening = get(f, session, NULL);
    CHECK_EQ(has(listening, "\"id\":1"), 0);
    struct trip *metrics = ask(f, "GET", "/metrics", "", "");
    CHECK_EQ(has(metrics, "holdfast_replay_bytes 0\n"), 1);
    CHECK_EQ(has(metrics, "holdfast_calls_total{server=\"s\",outcome=\"answered\"} 1\n"), 1);
}

TEST(of_the_finished_streams_of_a_session_the_sixteen_newest_are_kept)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    char ids[17][80];
    for (int i = 0; i < 17; i++) {
        struct trip *x = call(f, session, i);
        progress(f, 1);
        (void)snprintf(ids[i], sizeof ids[i], "%s", last_id(x));
        answer_call(f);
        CHECK(x->is_over);
    }
    CHECK_EQ(get(f, session, ids[0])->status, 400);
    for (int i = 1; i < 17; i++)
        CHECK_EQ(get(f, session, ids[i])->status, 200);
}

static void answer_with(struct front *f, size_t bytes)
{
    char *text = hf_alloc(bytes + 40);
    (void)snprintf(text, bytes + 40, "{\"content\":[],\"x\":\"%*s\"}", (int)bytes, "");
    child_answers(newest_child(f->w, f->server), "tools/call", text);
    pass(f, 0);
    hf_free(text);
}

TEST(what_is_kept_has_a_bound_in_bytes_and_the_oldest_finished_stream_goes_first)
{
    struct front *f = front_new_with(1000000, 10, 8 << 20); /* 2 MiB of it for replay */
    const char *mine = join(f, "2025-11-25"), *others = join(f, "2025-11-25");
    char ids[4][80];
    for (int i = 0; i < 4; i++) {
        struct trip *x = call(f, i == 0 ? others : mine, i);
        pass(f, 500);
        (void)snprintf(ids[i], sizeof ids[i], "%s", last_id(x));
        answer_with(f, 800000);
        CHECK(x->is_over && has(x, "event: message") == 1);
    }
    /* of two sessions each may have 43 % of it: its own oldest goes first */
    CHECK_EQ(get(f, others, ids[0])->status, 200);
    CHECK(get(f, mine, ids[1])->status == 400 && get(f, mine, ids[2])->status == 400);
    CHECK_EQ(get(f, mine, ids[3])->status, 200);
    struct trip *x = call(f, mine, 9);
    pass(f, 500);
    char id[80];
    (void)snprintf(id, sizeof id, "%s", last_id(x));
    answer_with(f, 1500000);
    CHECK(x->is_over && has(x, "event: message") == 1); /* it came, and cannot come again */
    CHECK_EQ(get(f, mine, id)->status, 400);
    CHECK_EQ(get(f, others, ids[0])->status, 200);
}

TEST(a_cancelled_call_ends_its_stream_and_coming_back_for_it_is_over_at_once)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *primed = call(f, session, 1);
    pass(f, 500);
    struct trip *quiet = call(f, session, 2);
    for (int id = 1; id <= 2; id++) {
        char body[200];
        (void)snprintf(body, sizeof body,
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                       "\"params\":{\"requestId\":%d}}",
                       id);
        CHECK_EQ(post(f, session, body)->status, 202);
    }
    CHECK(primed->is_over && has(primed, "event: message") == 0);
    CHECK(quiet->is_over && quiet->is_stream && hf_buf_len(&quiet->out) == 0);
    CHECK_EQ(get(f, session, last_id(primed))->status, 204);
}

TEST(a_question_taken_back_after_its_call_was_answered_reaches_the_listening_stream)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *listening = get(f, session, NULL);
    struct trip *x = call(f, session, 1);
    struct child *child = newest_child(f->w, f->server);
    child_says(child, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}");
    pass(f, 0);
    CHECK(has(x, "roots/list") == 1 && has(listening, "roots/list") == 0);
    answer_call(f);
    CHECK(x->is_over);
    child_notifies(child, "notifications/cancelled", "{\"requestId\":\"q\"}");
    pass(f, 0);
    CHECK_EQ(has(listening, "notifications/cancelled"), 1);
}

TEST(a_call_whose_client_leaves_while_it_waits_is_never_sent_and_can_be_asked_about)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    manners_of(f->w, f->server)->never_starts = true;
    child_dies(newest_child(f->w, f->server));
    struct trip *x = call(f, session, 1);
    pass(f, 500);
    leave(f, x);
    child_start(newest_child(f->w, f->server));
    pass(f, 1000);
    CHECK(IS(f->server, CONNECTED));
    CHECK_EQ(child_got(newest_child(f->w, f->server), "tools/call"), 0);
    struct trip *back = get(f, session, last_id(x));
    CHECK(has(back, "-31001") == 1 && has(back, "client_gone") == 1 && back->is_over);
}

TEST(what_is_wrong_with_the_message_has_a_status_and_what_a_server_says_of_it_has_none)
{
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-11-25");
    struct trip *x = post(f, session, "{\"nonsense");
    CHECK(x->status == 400 && has(x, "-32700") == 1);
    x = post(f, session, "{\"id\":3}");
    CHECK(x->status == 400 && has(x, "-32600") == 1);
    x = call(f, session, 1);
    child_answers_error(newest_child(f->w, f->server), "tools/call", -32600, "not so");
    pass(f, 0);
    CHECK(x->status == 200 && has(x, "-32600") == 1);
}

TEST(the_answers_of_a_batch_come_as_events_or_as_one_array)
{
    static const char batch[] = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},"
                                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]";
    struct front *f = front_new(1000000, 10);
    const char *session = join(f, "2025-03-26");
    struct trip *x = post(f, session, batch);
    CHECK(x->is_stream && x->is_over && has(x, "event: message\n") == 2);
    char headers[200];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nAccept: application/json\r\n"
                   "Mcp-Session-Id: %s\r\n",
                   session);
    x = ask(f, "POST", "/mcp/s", headers, batch);
    CHECK(is_json(x) &&
          hf_span_is(hf_buf_span(&x->out), "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
                                           "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]"));
    x = post(f, session, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]");
    CHECK_EQ(x->status, 202);
    x = post(f, join(f, "2025-06-18"), batch);
    CHECK(x->status == 400 && has(x, "-32600") == 1);
}

/* Answers of 20 KB each, and room for not all of them. */
TEST(an_answer_that_does_not_fit_becomes_the_truth_about_its_call)
{
    char text[20001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int alone = 0; alone < 2; alone++) {
        struct front *f = front_new(1000000, 10);
        char headers[200], result[sizeof text + 100];
        (void)snprintf(headers, sizeof headers,
                       "Content-Type: application/json\r\nAccept: application/json\r\n"
                       "Mcp-Session-Id: %s\r\n",
                       join(f, "2025-03-26"));
        struct trip *x =
            ask(f, "POST", "/mcp/s", headers,
                alone ? "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"tools/call\",\"params\":{"
                        "\"name\":\"echo\"}}"
                      : "[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{"
                        "\"name\":\"echo\"}},{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":"
                        "\"tools/call\",\"params\":{\"name\":\"echo\"}}]");
        struct child *child = newest_child(f->w, f->server);
        front_set_room(f, alone ? 10000 : 30000);
        (void)snprintf(result, sizeof result, "{\"content\":\"%s\"}", text);
        for (size_t i = 0; i < child->got.count; i++)
            if (child->got.items[i].msg.method.p &&
                hf_span_is(child->got.items[i].msg.method, "tools/call"))
                child_answers_line(child, i, result);
        pass(f, 0);
        CHECK(x->status == 200 && has(x, "\"id\":\"b\"") == 1);
        CHECK(has(x, "-31006") == 1 && has(x, "\"dispatched\":true") == 1);
        CHECK_EQ(has(x, text), !alone);
        front_end(f);
    }
}
