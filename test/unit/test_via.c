/*
 * test_via.c - the front's own name for a message comes back with everything that belongs to its
 * requests: each answer once, what is said meanwhile, and the word that no answer will come.
 */
#include "engine_http.h"

#define RESULT   "{\"content\":[]}"
#define CALL     "tools/call"
#define NOT_MINE "{\"code\":-32002,\"message\":\"not mine\"}"
#define TOOL(id)                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}"

static void answer_nth(const struct scene *s, size_t n, const char *text)
{
    size_t seen = 0;
    for (size_t i = 0; i < s->first->got.count; i++) {
        const struct hf_msg *msg = &s->first->got.items[i].msg;
        if (!msg->method.p || !hf_span_is(msg->method, CALL) || seen++ != n)
            continue;
        child_says(s->first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"said\":\"%s\"}}",
                   HF_FMT(msg->id), text);
        return;
    }
    test_fail(__FILE__, __LINE__, "there is no such call");
}

/* ---- two requests with the same id ---- */

TEST(requests_with_the_same_id_each_get_their_own_answer_at_their_own_place)
{
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        struct scene s = is_remote ? remote_scene() : scene();
        CHECK_EQ(client_calls_via(s.client, 11, 1, "echo"), 1);
        CHECK_EQ(client_calls_via(s.client, 12, 1, "echo"), 1);
        answer_nth(&s, 1, "second"); /* the later one first */
        answer_nth(&s, 0, "first");
        CHECK(answers_via(s.client, 11) == 1 && answers_via(s.client, 12) == 1);
        CHECK(span_has(answer_via(s.client, 11)->msg.result, "first"));
        CHECK(span_has(answer_via(s.client, 12)->msg.result, "second"));
        CHECK_SPAN(answer_via(s.client, 12)->msg.id, "1");
        world_end(s.w);
    }
}

TEST(a_cancel_of_an_id_that_two_requests_have_cancels_neither)
{
    struct scene s = scene();
    client_calls_via(s.client, 11, 1, "echo");
    client_calls_via(s.client, 12, 1, "echo");
    client_cancels(s.client, 1);
    CHECK_EQ(s.client->taken_back_count, 0);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    answer_nth(&s, 0, "a");
    client_cancels(s.client, 1); /* now there is only one */
    CHECK(taken_back_via(s.client, 12) == 1 && answers_via(s.client, 11) == 1);
}

/* ---- taken back ---- */

TEST(a_cancelled_request_is_ended_at_its_place_with_an_answer_that_is_empty)
{
    struct scene s = scene();
    client_calls_via(s.client, 11, 1, "echo"); /* sent */
    operate(s.w, s.server, HF_OP_RECONNECT);
    client_calls_via(s.client, 12, 2, "echo");
    client_cancels(s.client, 1);
    CHECK(taken_back_via(s.client, 11) == 1 && answers_via(s.client, 11) == 1);
    CHECK_EQ(answers_via(s.client, 12), 0);
    client_cancels(s.client, 2);
    client_cancels(s.client, 2); /* it is gone already */
    CHECK(taken_back_via(s.client, 12) == 1 && answers_to(s.client, 2) == 0);
}

TEST(a_cancelled_request_that_waits_or_is_held_is_ended_at_its_place_too)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.never_starts = true));
    s.client = open_client(s.w, s.server);
    CHECK_EQ(client_calls_via(s.client, 11, 1, "echo"), 1);
    CHECK_EQ(
        client_says_via(s.client, 12, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"),
        1);
    CHECK(answers_via(s.client, 11) == 0 && answers_via(s.client, 12) == 0);
    client_cancels(s.client, 1);
    client_cancels(s.client, 2);
    CHECK(taken_back_via(s.client, 11) == 1 && taken_back_via(s.client, 12) == 1 &&
          s.client->got.count == 0);
}

TEST(where_the_front_has_no_name_for_a_message_nothing_is_said_of_its_end)
{
    struct scene s = called_scene();
    client_cancels(s.client, 1);
    CHECK(s.client->taken_back_count == 0 && answers_to(s.client, 1) == 0);
}

/* ---- whoever waited is gone ---- */

TEST(what_was_not_sent_when_its_client_went_away_never_is_and_the_rest_goes_on)
{
    struct hf_settings settings = SETTINGS(.max_in_flight = 2);
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        struct scene s = is_remote ? remote_scene_of(settings, HTTP()) : scene_of(settings);
        client_calls_via(s.client, 11, 1, "echo");
        client_calls_via(s.client, 12, 2, "echo");
        client_calls_via(s.client, 11, 3, "echo"); /* waits for a place */
        client_calls_via(s.client, 12, 4, "echo");
        client_via_gone(s.client, 11);
        CHECK(error_of(s.client, 3) == -31001 && answer_via(s.client, 11)->error_code == 0);
        CHECK(data_is(s.client, 3, "reason", "\"client_gone\""));
        CHECK(data_is(s.client, 3, "dispatched", "false") && answers_to(s.client, 4) == 0);
        CHECK(child_got(s.first, CALL) == 2 && child_got(s.first, "notifications/cancelled") == 0);
        answer_nth(&s, 0, "kept"); /* a disconnect is no cancel */
        CHECK(answers_via(s.client, 11) == 2 && has_result(s.client, 1));
        CHECK_EQ(child_got(s.first, CALL), 3); /* call 4 has its place */
        world_end(s.w);
    }
}

TEST(what_is_queued_for_a_full_pipe_or_being_connected_was_not_sent_either)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.holds_calls = 1));
    client_calls_via(s.client, 11, 1, "echo");
    client_via_gone(s.client, 11);
    CHECK(error_of(s.client, 1) == -31001 && last_exchange(s.w, CALL)->is_aborted);
    world_end(s.w);

    s = scene();
    child_stalls(s.first, 10);
    client_calls_via(s.client, 11, 1, "echo"); /* half written */
    client_calls_via(s.client, 11, 2, "echo"); /* queued */
    client_via_gone(s.client, 11);
    CHECK(answers_to(s.client, 1) == 0 && error_of(s.client, 2) == -31001);
    s.first->manners.pipe_capacity = 0;
    s.first->manners.reads_nothing = false;
    child_reads(s.first, 100000);
    CHECK_EQ(child_got(s.first, CALL), 1);
}

TEST(everything_that_waits_for_a_server_that_is_down_is_dropped_with_its_client)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.never_starts = true));
    s.client = open_client(s.w, s.server);
    for (int id = 1; id <= 20; id++)
        client_calls_via(s.client, 11 + (uint64_t)id % 2, id, "echo");
    client_via_gone(s.client, 11);
    CHECK(answers_via(s.client, 11) == 10 && answers_via(s.client, 12) == 0);
    CHECK_EQ(status_of(s.server).waiting, 10);
    client_via_gone(s.client, 11); /* and a second time it is nothing */
    client_via_gone(s.client, 99);
    CHECK(answers_via(s.client, 11) == 10 && status_of(s.server).waiting == 10);
}

/* ---- how many answers are owed ---- */

TEST(a_batch_owes_an_answer_for_each_request_in_it_and_nothing_for_the_rest)
{
    struct scene s = scene();
    CHECK_EQ(
        client_says_via(s.client, 11,
                        "[" TOOL("1") "," TOOL(
                            "2") ",{\"jsonrpc\":\"2.0\",\"method\":"
                                 "\"notifications/initialized\"},{\"jsonrpc\":\"2.0\",\"id\":7,"
                                 "\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":"
                                 "\"ping\"}]"),
        3);
    CHECK_EQ(answers_via(s.client, 11), 1); /* the ping */
    answer_nth(&s, 0, "a");
    answer_nth(&s, 1, "b");
    CHECK_EQ(answers_via(s.client, 11), 3);
}

TEST(white_space_before_a_batch_does_not_matter)
{
    static const char *const before[] = { "", " ", "\t", "\n", "\r\n", " \n\t " };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct scene s = scene();
        CHECK_EQ(client_says_via(s.client, 11, "%s[%s\n,\n%s]", before[i],
                                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
                                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"),
                 2);
        CHECK(answers_via(s.client, 11) == 2 && has_result(s.client, 1) && has_result(s.client, 2));
        world_end(s.w);
    }
}

TEST(what_is_no_message_owes_one_answer_that_says_so)
{
    static const struct {
        const char *text;
        unsigned owed;
        int code;
    } rows[] = {
        { "{", 1, -32700 },
        { "", 1, -32700 },
        { "[1", 1, -32700 },
        { "[]", 1, -32600 },
        { "1", 1, -32600 },
        { "[1,2,3]", 3, -32600 },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 1, -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", 1, -32602 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, 0 },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\"}", 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = scene();
        CHECK_EQ(client_says_via(s.client, 11, "%s", rows[i].text), rows[i].owed);
        CHECK_EQ(answers_via(s.client, 11), rows[i].owed);
        CHECK(!rows[i].owed || answer_via(s.client, 11)->error_code == rows[i].code);
        world_end(s.w);
    }
}

TEST(the_code_of_an_error_comes_beside_it_whoever_made_it)
{
    struct scene s = scene();
    client_calls_via(s.client, 11, 1, "echo");
    child_answers_error(s.first, CALL, -32042, "ask me differently");
    CHECK_EQ(answer_via(s.client, 11)->error_code, -32042);
    client_calls_via(s.client, 12, 2, "echo");
    child_answers(s.first, CALL, RESULT);
    CHECK_EQ(answer_via(s.client, 12)->error_code, 0);
    client_calls_via(s.client, 13, 3, "echo");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"message\":\"no code\"}}",
               HF_FMT(child_last_id(s.first, CALL)));
    CHECK_EQ(answer_via(s.client, 13)->error_code, -32603);
    client_calls_via(s.client, 14, 4, "echo");
    client_says_via(s.client, 15, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x/y\"}");
    child_dies(s.first);
    CHECK(error_of(s.client, 4) == -31002 && answer_via(s.client, 14)->error_code == 0);
    CHECK(error_of(s.client, 5) == -31002 && answer_via(s.client, 15)->error_code == -31002);
}

/* ---- what belongs to a request comes to its place ---- */

TEST(answers_that_were_held_come_to_their_own_places)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.mute = true));
    s.client = open_client(s.w, s.server);
    client_says_via(s.client, 11,
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}");
    client_says_via(s.client, 12, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    client_calls_via(s.client, 13, 3, "echo");
    CHECK_EQ(answers_via(s.client, 11) + answers_via(s.client, 12) + answers_via(s.client, 13), 0);
    struct child *child = newest_child(s.w, s.server);
    child->manners.mute = false;
    child->handled = 0; /* it answers what it has read */
    settle(s.w);
    CHECK(answers_via(s.client, 11) == 1 && answers_via(s.client, 12) == 1);
    CHECK(hf_span_is(answer_via(s.client, 11)->msg.id, "1") &&
          hf_span_is(answer_via(s.client, 12)->msg.id, "2"));
    CHECK(answers_via(s.client, 0) == 0 && answers_via(s.client, 13) == 0);
    child_answers(child, CALL, RESULT);
    CHECK_EQ(answers_via(s.client, 13), 1);
}

TEST(progress_of_waiting_and_of_working_comes_to_the_place_of_its_request)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.no_exec = true));
    s.client = open_client(s.w, s.server);
    client_says_via(s.client, 11,
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"echo\",\"_meta\":{\"progressToken\":\"t\"}}}");
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 2000);
    CHECK(heard_via(s.client, 11, "notifications/progress") >= 1);
    const size_t before = heard_via(s.client, 11, "notifications/progress");
    struct child *child = newest_child(s.w, s.server);
    child_says(child,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":5}}",
               HF_FMT(child_last_id(child, CALL)));
    CHECK_EQ(heard_via(s.client, 11, "notifications/progress"), before + 1);
    CHECK_EQ(heard_via(s.client, 0, "notifications/progress"), 0);
}

TEST(what_a_server_asks_and_takes_back_comes_to_the_newest_request_of_its_only_client)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    client_calls_via(s.client, 11, 1, "echo");
    client_calls_via(s.client, 12, 2, "echo");
    struct child *child = newest_child(s.w, s.server);
    child_says(child, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"sampling/createMessage\"}");
    CHECK_EQ(heard_via(s.client, 12, "sampling/createMessage"), 1);
    child_notifies(child, "notifications/cancelled", "{\"requestId\":5}");
    CHECK_EQ(heard_via(s.client, 12, "notifications/cancelled"), 1);
}

TEST(news_that_belongs_to_no_request_has_no_place)
{
    struct scene s = scene();
    client_calls_via(s.client, 11, 1, "echo");
    manners_of(s.w, s.server)->tools = "[]";
    s.first->manners.tools = "[]";
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_EQ(heard_via(s.client, 0, "notifications/tools/list_changed"), 1);
    CHECK_EQ(heard_via(s.client, 11, "notifications/tools/list_changed"), 0);
}

TEST(a_request_that_is_passed_from_server_to_server_keeps_its_place)
{
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        struct world *w = world_new();
        struct hf_server *one = is_remote ? add_remote(w, "one", default_settings())
                                          : add_server(w, "one", default_settings());
        struct hf_server *two = add_server(w, "two", default_settings());
        manners_of(w, one)->resources = manners_of(w, two)->resources = "[]";
        settle(w);
        struct client *c = greeted_client(w, NULL);
        client_says_via(c, 11,
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{"
                        "\"uri\":\"x:y\"}}");
        if (is_remote)
            exchange_answers_error(last_exchange(w, "resources/read"), 404, NOT_MINE);
        else
            child_answers_error(newest_child(w, one), "resources/read", -32002, "not mine");
        CHECK(answers_via(c, 11) == 0 && child_got(newest_child(w, two), "resources/read") == 1);
        child_answers(newest_child(w, two), "resources/read", "{\"contents\":[]}");
        CHECK(answers_via(c, 11) == 1 && has_result(c, 1));
        world_end(w);
    }
}

TEST(a_client_that_has_left_is_sent_nothing_at_any_place)
{
    struct scene s = scene();
    client_calls_via(s.client, 11, 1, "echo");
    const size_t before = s.client->got.count;
    client_leaves(s.client);
    CHECK(s.client->got.count == before && s.client->taken_back_count == 0);
}
