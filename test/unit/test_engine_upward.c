/*
 * test_engine_upward.c - what servers send besides answers: requests to clients, progress, logs,
 * updates; and answers that cannot be passed on (DESIGN 9).
 */
#include "engine_fixture.h"

static void server_asks(struct child *c, const char *id, const char *method)
{
    child_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{\"x\":1}}", id,
               method);
}

/* The last answer that the server was given to a request of its own. */
static const struct hf_msg *told(const struct child *c)
{
    for (size_t i = c->got.count; i-- > 0;)
        if (c->got.items[i].msg.kind >= HF_MSG_RESULT)
            return &c->got.items[i].msg;
    return NULL;
}

static const char everything[] = "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}";

/* A server shared by two clients that can be asked anything. */
struct shared {
    struct world *w;
    struct hf_server *server;
    struct client *a, *b;
    struct child *child;
};

static struct shared shared(void)
{
    struct shared s = { .w = world_new() };
    s.server = add_server(s.w, "s", default_settings());
    settle(s.w);
    s.a = greeted_client_with(s.w, NULL, everything);
    s.b = greeted_client_with(s.w, NULL, everything);
    s.child = newest_child(s.w, s.server);
    return s;
}

/* @field X5: the absence of server requests taken for answers because of their id */
TEST(a_server_request_with_the_id_of_a_pending_call_is_a_request_and_both_are_answered)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, everything);
    client_calls(s.client, 1, "echo");
    struct child *child = newest_child(s.w, s.server);
    const struct hf_span ours = child_last_id(child, "tools/call");
    char *same = hf_span_dup(ours);
    server_asks(child, same, "sampling/createMessage");
    CHECK_EQ(answers_to(s.client, 1), 0);
    const struct message *asked = last_heard(s.client, "sampling/createMessage");
    REQUIRE(asked);
    CHECK(!hf_span_is(asked->msg.id, same)); /* the client sees an id of ours */
    CHECK(span_has(asked->msg.params, "{\"x\":1}"));
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"role\":\"user\"}}",
                HF_FMT(asked->msg.id));
    REQUIRE(told(child));
    CHECK_SPAN(told(child)->id, same); /* the server sees its own */
    CHECK_SPAN(told(child)->result, "{\"role\":\"user\"}");
    child_answers(child, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
    hf_free(same);
}

TEST(two_servers_that_ask_with_the_same_id_each_get_their_own_answer)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    settle(w);
    struct client *c = greeted_client_with(w, NULL, everything);
    server_asks(newest_child(w, a), "1", "roots/list");
    char *first = hf_span_dup(last_heard(c, "roots/list")->msg.id);
    server_asks(newest_child(w, b), "1", "roots/list");
    const struct message *second = last_heard(c, "roots/list");
    CHECK(!hf_span_is(second->msg.id, first));
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"for\":\"b\"}}",
                HF_FMT(second->msg.id));
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"for\":\"a\"}}", first);
    CHECK_SPAN(told(newest_child(w, a))->result, "{\"for\":\"a\"}");
    CHECK_SPAN(told(newest_child(w, b))->result, "{\"for\":\"b\"}");
    hf_free(first);
}

/* @field Y13: the absence of a server ping that is refused */
TEST(a_ping_of_a_server_is_answered_by_us_whoever_is_there)
{
    struct shared s = shared();
    server_asks(s.child, "\"p\"", "ping");
    REQUIRE(told(s.child));
    CHECK(hf_span_is(told(s.child)->id, "\"p\"") && hf_span_is(told(s.child)->result, "{}"));
    CHECK(heard(s.a, "ping") == 0 && heard(s.b, "ping") == 0);
}

TEST(with_two_clients_and_no_call_the_server_is_told_of_isolation_session)
{
    struct shared s = shared();
    server_asks(s.child, "5", "elicitation/create");
    REQUIRE(told(s.child));
    CHECK(hf_span_is(told(s.child)->id, "5") && told(s.child)->kind == HF_MSG_ERROR);
    CHECK(span_has(told(s.child)->error, "isolation") && span_has(told(s.child)->error, "session"));
    CHECK(heard(s.a, "elicitation/create") == 0 && heard(s.b, "elicitation/create") == 0);
}

TEST(if_all_calls_in_flight_belong_to_one_client_it_is_the_one_that_is_asked)
{
    struct shared s = shared();
    client_calls(s.b, 1, "s__echo");
    client_calls(s.b, 2, "s__echo");
    server_asks(s.child, "5", "elicitation/create");
    CHECK(heard(s.b, "elicitation/create") == 1 && heard(s.a, "elicitation/create") == 0);
    client_calls(s.a, 3, "s__echo");
    server_asks(s.child, "6", "elicitation/create");
    CHECK(heard(s.b, "elicitation/create") == 1 && heard(s.a, "elicitation/create") == 0);
    CHECK(hf_span_is(told(s.child)->id, "6") && told(s.child)->kind == HF_MSG_ERROR);
}

TEST(a_client_that_lacks_a_capability_is_not_asked_and_the_server_is_told)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, "{\"roots\":{}}");
    server_asks(s.first, "1", "sampling/createMessage");
    CHECK_EQ(heard(s.client, "sampling/createMessage"), 0);
    CHECK_EQ(told(s.first)->kind, HF_MSG_ERROR);
    server_asks(s.first, "2", "roots/list");
    CHECK_EQ(heard(s.client, "roots/list"), 1);
}

TEST(a_client_that_leaves_while_it_is_asked_answers_by_leaving)
{
    struct shared s = shared();
    client_leaves(s.b);
    server_asks(s.child, "\"q\"", "roots/list");
    CHECK_EQ(heard(s.a, "roots/list"), 1);
    client_leaves(s.a);
    REQUIRE(told(s.child));
    CHECK(hf_span_is(told(s.child)->id, "\"q\"") && told(s.child)->kind == HF_MSG_ERROR);
}

TEST(an_answer_to_a_server_that_has_died_goes_nowhere)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, everything);
    server_asks(newest_child(s.w, s.server), "1", "roots/list");
    const struct message *asked = last_heard(s.client, "roots/list");
    REQUIRE(asked);
    child_dies(newest_child(s.w, s.server));
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}", HF_FMT(asked->msg.id));
    CHECK_EQ(told(newest_child(s.w, s.server)), NULL);
    CHECK(IS(s.server, CONNECTED));
}

TEST(what_a_server_that_died_had_asked_is_taken_back_before_its_call_is_answered)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, everything);
    client_calls_via(s.client, 7, 1, "echo");
    server_asks(newest_child(s.w, s.server), "\"q\"", "elicitation/create");
    child_dies(newest_child(s.w, s.server));
    REQUIRE(heard_via(s.client, 7, "notifications/cancelled") == 1 &&
            error_of(s.client, 1) == -31002);
    const struct message *back = &s.client->got.items[s.client->got.count - 2];
    CHECK(hf_span_eq(hf_json_get(back->msg.params, HF_SPAN("requestId")),
                     last_heard(s.client, "elicitation/create")->msg.id));
}

TEST(a_request_that_its_server_takes_back_is_taken_back_at_the_client_with_our_id)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    s.client = greeted_client_with(s.w, s.server, everything);
    server_asks(s.first, "\"z\"", "roots/list");
    const struct message *asked = last_heard(s.client, "roots/list");
    child_notifies(s.first, "notifications/cancelled",
                   "{\"requestId\":\"z\",\"reason\":\"never mind\"}");
    const struct message *cancel = last_heard(s.client, "notifications/cancelled");
    REQUIRE(asked && cancel);
    asked = last_heard(s.client, "roots/list");
    CHECK(hf_span_eq(hf_json_get(cancel->msg.params, HF_SPAN("requestId")), asked->msg.id));
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}", HF_FMT(asked->msg.id));
    CHECK_EQ(told(s.first), NULL);
}

/* ---- progress, logs, updates ---- */

static void progress(struct child *c, const char *token, int value)
{
    child_says(c,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%s,\"progress\":%d}}",
               token, value);
}

TEST(progress_reaches_the_client_that_gave_the_token_under_that_token_and_nobody_else)
{
    struct shared s = shared();
    for (int i = 0; i < 2; i++)
        client_requests(
            i ? s.b : s.a, 1, "tools/call",
            "{\"name\":\"s__echo\",\"_meta\":{\"progressToken\":\"same\",\"other\":7}}");
    const struct message *call = child_last(s.child, "tools/call");
    const struct hf_span token = hf_json_path(
        call->msg.params, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN("progressToken") });
    CHECK(!hf_span_is(token, "\"same\"") && span_has(call->msg.params, "\"other\":7"));
    char *ours = hf_span_dup(token);
    progress(s.child, ours, 3);
    CHECK_EQ(heard(s.a, "notifications/progress"), 0);
    REQUIRE_EQ(heard(s.b, "notifications/progress"), 1);
    CHECK(span_has(last_heard(s.b, "notifications/progress")->msg.params,
                   "\"progressToken\":\"same\",\"progress\":3"));
    child_answers(s.child, "tools/call", "{}");
    progress(s.child, ours, 4); /* the call is over */
    progress(s.child, "\"same\"", 5);
    progress(s.child, "99", 5);
    CHECK_EQ(heard(s.b, "notifications/progress"), 1);
    CHECK_EQ(heard(s.a, "notifications/progress"), 0);
    hf_free(ours);
}

TEST(log_messages_go_to_the_sole_client_else_to_our_own_log)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                               "\"params\":{\"level\":\"info\",\"data\":\"hello\"}}";
    struct shared s = shared();
    child_says(s.child, "%s", line);
    CHECK(heard(s.a, "notifications/message") == 0 && heard(s.b, "notifications/message") == 0);
    CHECK_EQ(notes_with(s.w, "SERVER_LOG  \"hello\""), 1);
    client_calls(s.a, 1, "s__echo");
    child_says(s.child, "%s", line);
    CHECK(heard(s.a, "notifications/message") == 1 && heard(s.b, "notifications/message") == 0);
}

static struct shared with_resources(void)
{
    struct shared s = { .w = world_new() };
    s.server = add_server(s.w, "s", default_settings());
    manners_of(s.w, s.server)->resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]";
    manners_of(s.w, s.server)->capabilities =
        "{\"tools\":{},\"logging\":{},\"resources\":{\"subscribe\":true}}";
    settle(s.w);
    s.a = greeted_client(s.w, NULL);
    s.b = greeted_client(s.w, NULL);
    s.child = newest_child(s.w, s.server);
    return s;
}

static void subscribe(struct shared *s, struct client *c, int id, const char *how)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/%s\",\"params\":{\"uri\":"
                "\"a:1\"}}",
                id, how);
    char method[40];
    (void)snprintf(method, sizeof method, "resources/%s", how);
    child_answers(s->child, method, "{}");
    CHECK(has_result(c, id));
}

/* @field Y11: the absence of subscriptions lost in a reconnect */
TEST(subscriptions_and_the_log_level_are_set_again_on_every_new_generation)
{
    struct shared s = with_resources();
    subscribe(&s, s.a, 1, "subscribe");
    client_requests(s.a, 2, "logging/setLevel", "{\"level\":\"warning\"}");
    client_requests(s.b, 2, "logging/setLevel", "{\"level\":\"info\"}");
    CHECK(has_result(s.a, 2) && has_result(s.b, 2));
    for (int life = 0; life < 2; life++) {
        child_dies(newest_child(s.w, s.server));
        advance(s.w, 30000);
        struct child *next = newest_child(s.w, s.server);
        CHECK_EQ(child_got(next, "resources/subscribe"), 1);
        CHECK_EQ(child_got(next, "logging/setLevel"), 1);
        CHECK(span_has(child_last(next, "logging/setLevel")->msg.params, "\"info\""));
        CHECK(span_has(child_last(next, "resources/subscribe")->msg.params, "\"a:1\""));
    }
    s.child = newest_child(s.w, s.server);
    subscribe(&s, s.a, 3, "unsubscribe");
    child_dies(s.child);
    advance(s.w, 30000);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "resources/subscribe"), 0);
}

TEST(updates_of_a_resource_reach_those_who_subscribed)
{
    static const char update[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
                                 "updated\",\"params\":{\"uri\":\"a:1\"}}";
    struct shared s = with_resources();
    child_says(s.child, "%s", update);
    CHECK_EQ(heard(s.a, "notifications/resources/updated"), 0);
    subscribe(&s, s.a, 1, "subscribe");
    child_says(s.child, "%s", update);
    CHECK_EQ(heard(s.a, "notifications/resources/updated"), 1);
    CHECK_EQ(heard(s.b, "notifications/resources/updated"), 0);
    subscribe(&s, s.a, 2, "unsubscribe");
    child_says(s.child, "%s", update);
    CHECK_EQ(heard(s.a, "notifications/resources/updated"), 1);
}

/* Two clients subscribed: the server holds one subscription, and it must outlive the first to go.
 */
TEST(one_client_that_unsubscribes_does_not_cost_the_other_its_updates)
{
    struct shared s = with_resources();
    subscribe(&s, s.a, 1, "subscribe");
    subscribe(&s, s.b, 1, "subscribe");
    client_requests(s.a, 2, "resources/unsubscribe", "{\"uri\":\"a:1\"}");
    CHECK_EQ(child_got(s.child, "resources/unsubscribe"), 0);
    CHECK(has_result(s.a, 2));
    child_notifies(s.child, "notifications/resources/updated", "{\"uri\":\"a:1\"}");
    CHECK_EQ(heard(s.a, "notifications/resources/updated"), 0);
    CHECK_EQ(heard(s.b, "notifications/resources/updated"), 1);
}

/* ---- answers that cannot be passed on ---- */

static void line_over(struct child *c, const char *line)
{
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_span_of(line));
    hf_runtime_line_oversized(c->runtime, &skim, at(c->world->now_ms));
    settle(c->world);
}

/* @field X4: the absence of an over-long line that wedges its connection */
TEST(an_answer_over_the_limit_fails_its_own_call_whether_its_id_comes_first_or_last)
{
    static const char *const forms[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"id\":4,\"text\":\"very long\"}}",
        "{\"result\":{\"id\":4,\"text\":\"very long\"},\"jsonrpc\":\"2.0\",\"id\":%.*s}",
        "{\"result\":[{\"id\":1},{\"id\":2}],\"id\":%.*s}",
    };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = called_scene();
        client_calls(s.client, 2, "echo");
        char line[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(line, sizeof line, forms[i], HF_FMT(child_last_id(s.first, "tools/call")));
#pragma GCC diagnostic pop
        line_over(s.first, line);
        CHECK_EQ(error_of(s.client, 2), -31006);
        CHECK(data_is(s.client, 2, "dispatched", "true"));
        CHECK(data_is(s.client, 2, "retry", "\"check_first\""));
        CHECK(answers_to(s.client, 1) == 0 && IS(s.server, CONNECTED));
        CHECK_EQ(status_of(s.server).failures_k, 0);
        world_end(s.w);
    }
}

TEST(an_over_long_line_without_a_known_id_costs_nobody_anything)
{
    struct scene s = called_scene();
    line_over(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}");
    line_over(s.first, "{\"jsonrpc\":\"2.0\",\"id\":12345678,\"result\":{}}");
    line_over(s.first, "Loading ............");
    CHECK(answers_to(s.client, 1) == 0 && notes_with(s.w, "LINE_TOO_LONG") == 3);
}

TEST(a_tools_list_over_the_limit_is_a_failed_attempt)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    char line[100];
    (void)snprintf(line, sizeof line, "{\"id\":%.*s,\"result\":{}}",
                   HF_FMT(child_last_id(s.first, "tools/list")));
    line_over(s.first, line);
    CHECK(IS(s.server, RECONNECTING) && s.first->got_close);
}

TEST(an_answer_that_is_no_valid_message_fails_its_own_call)
{
    static const char *const tails[] = {
        "\"result\":{\"a\":tru}}",               /* no JSON */
        "\"result\":{},\"error\":{\"code\":1}}", /* both */
        "\"result\":\"\xff\"}",                  /* not UTF-8 */
        "\"error\":null}",                       /* neither */
        "\"error\":7}",                          /* an error that is none */
    };
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct scene s = called_scene();
        child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s",
                   HF_FMT(child_last_id(s.first, "tools/call")), tails[i]);
        CHECK_EQ(error_of(s.client, 1), -31002);
        CHECK(data_is(s.client, 1, "reason", "\"malformed_answer\""));
        CHECK(IS(s.server, CONNECTED));
        client_calls(s.client, 2, "echo");
        child_answers(s.first, "tools/call", "{}");
        CHECK(has_result(s.client, 2));
        world_end(s.w);
    }
}

TEST(an_answer_counts_with_its_id_in_quotes_in_a_batch_and_behind_a_mark_of_its_encoding)
{
    static const char *const forms[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":{}}",
        "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"},{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}]",
        "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct scene s = called_scene();
        const struct hf_span id = child_last_id(s.first, "tools/call");
        char line[200];
        (void)snprintf(line, sizeof line, forms[i], HF_FMT(id));
        child_says(s.first, "%s", line);
        CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
        world_end(s.w);
    }
}

TEST(a_batch_of_answers_goes_to_each_of_their_calls_and_a_second_answer_to_nobody)
{
    struct scene s = called_scene();
    char *first = hf_span_dup(child_last_id(s.first, "tools/call"));
    client_calls(s.client, 2, "echo");
    char *second = hf_span_dup(child_last_id(s.first, "tools/call"));
    child_says(s.first,
               "[{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":%s,"
               "\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}]",
               second, first, second);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
    CHECK(has_result(s.client, 2) && answers_to(s.client, 2) == 1);
    hf_free(first);
    hf_free(second);
}

TEST(noise_on_stdout_costs_nobody_anything_and_is_warned_of_once)
{
    struct scene s = called_scene();
    child_says(s.first, "Server listening on stdio!");
    child_says(s.first, "[]");
    child_says(s.first, "{\"level\":30,\"msg\":\"pino\"}");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}");
    CHECK(notes_with(s.w, "NOISE") == 4 && notes_with(s.w, "(routine) s g1 NOISE") == 3);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
}

TEST(a_request_that_only_its_server_and_the_client_understand_is_passed_on)
{
    struct scene s = scene();
    server_asks(s.first, "1", "vendor/question");
    CHECK_EQ(heard(s.client, "vendor/question"), 1);
    server_asks(s.first, "2", "elicitation/create"); /* not declared by this one */
    CHECK(heard(s.client, "elicitation/create") == 0 && told(s.first)->kind == HF_MSG_ERROR);
}

TEST(the_clocks_go_on_only_when_the_last_of_several_questions_is_answered)
{
    struct scene s = lone_server(SETTINGS(.call_timeout_ms = 3000), MANNERS());
    s.client = greeted_client_with(s.w, s.server, everything);
    client_calls(s.client, 1, "echo");
    server_asks(newest_child(s.w, s.server), "1", "roots/list");
    server_asks(newest_child(s.w, s.server), "2", "sampling/createMessage");
    client_answers(s.client, "roots/list", "{}");
    advance(s.w, 60000);
    CHECK_EQ(answers_to(s.client, 1), 0);
    client_answers(s.client, "sampling/createMessage", "{}");
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 1), -31002);
}

TEST(a_resource_subscribed_to_twice_is_restored_once)
{
    struct shared s = with_resources();
    subscribe(&s, s.a, 1, "subscribe");
    subscribe(&s, s.a, 2, "subscribe");
    child_dies(s.child);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "resources/subscribe"), 1);
}

TEST(two_clients_subscribed_to_the_same_each_hear_of_an_update_once)
{
    struct shared s = with_resources();
    subscribe(&s, s.a, 1, "subscribe");
    subscribe(&s, s.b, 1, "subscribe");
    child_dies(s.child);
    child_notifies(newest_child(s.w, s.server), "notifications/resources/updated",
                   "{\"uri\":\"a:1\"}");
    CHECK_EQ(heard(s.a, "notifications/resources/updated"), 1);
    CHECK_EQ(heard(s.b, "notifications/resources/updated"), 1);
}
