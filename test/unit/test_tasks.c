/*
 * test_tasks.c - tasks in both forms: ids pass unchanged, and whoever asks for one finds the server
 * that made it, also after its reconnect.
 */
#include "engine_fixture.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{"                             \
    "\"io.modelcontextprotocol/tasks\":{}}}}"
#define STATUS "notifications/tasks/status"

enum { TASKS_MAX = 10000 }; /* as tasks.c has it */

struct pair { /* one server of each era, with tasks */
    struct world *w;
    struct hf_server *legacy, *modern;
    struct client *old, *new;
};

static struct pair pair(void)
{
    struct pair p = { .w = world_new() };
    struct hf_settings settings = SETTINGS(.era = HF_ERA_UNKNOWN);
    p.legacy = add_server(p.w, "l", settings);
    p.modern = add_server(p.w, "m", settings);
    manners_of(p.w, p.legacy)->capabilities = "{\"tools\":{},\"tasks\":{}}";
    manners_of(p.w, p.modern)->capabilities =
        "{\"tools\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
    manners_of(p.w, p.modern)->is_modern = true;
    settle(p.w);
    p.old = greeted_client(p.w, NULL);
    p.new = open_client(p.w, NULL);
    return p;
}

static void make_legacy_task(struct pair *p, struct client *c, int id, const char *task)
{
    char result[400];
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"l__echo\",\"arguments\":{},\"task\":{\"ttl\":60000}}}",
                id);
    (void)snprintf(result, sizeof result, "{\"task\":{\"taskId\":\"%s\",\"status\":\"working\"}}",
                   task);
    child_answers(newest_child(p->w, p->legacy), "tools/call", result);
}

static void make_modern_task(struct pair *p, int id, const char *task)
{
    char result[400];
    client_says(p->new,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{" META
                ",\"name\":\"m__echo\",\"arguments\":{}}}",
                id);
    (void)snprintf(result, sizeof result,
                   "{\"resultType\":\"task\",\"taskId\":\"%s\",\"status\":\"working\"}", task);
    child_answers(newest_child(p->w, p->modern), "tools/call", result);
}

static void ask(struct client *c, int id, const char *method, const char *task)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tasks/%s\",\"params\":{" META
                ",\"taskId\":\"%s\",\"x\":1.50}}",
                id, method, task);
}

static void ask_legacy(struct client *c, int id, const char *method, const char *task)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tasks/%s\",\"params\":{\"taskId\":"
                "\"%s\"}}",
                id, method, task);
}

/* ---- routed ---- */

TEST(what_is_asked_of_a_task_goes_to_the_server_that_made_it_with_its_id_unchanged)
{
    struct pair p = pair();
    struct child *legacy = newest_child(p.w, p.legacy), *modern = newest_child(p.w, p.modern);
    make_legacy_task(&p, p.old, 1, "t-old");
    make_modern_task(&p, 1, "t-new");
    CHECK(span_has(child_last(legacy, "tools/call")->msg.params, "\"task\":{\"ttl\":60000}"));
    CHECK(span_has(answer_to(p.old, 1)->msg.result, "\"taskId\":\"t-old\""));
    CHECK(
        span_has(answer_to(p.new, 1)->msg.result, "\"resultType\":\"task\",\"taskId\":\"t-new\""));
    static const char *const modern_methods[] = { "get", "update", "cancel" };
    for (int i = 0; i < 3; i++) {
        char method[20];
        (void)snprintf(method, sizeof method, "tasks/%s", modern_methods[i]);
        ask(p.new, 10 + i, modern_methods[i], "t-new");
        REQUIRE_EQ(child_got(modern, method), 1);
        CHECK(span_has(child_last(modern, method)->msg.params, "\"taskId\":\"t-new\",\"x\":1.50"));
        child_answers(modern, method, "{\"resultType\":\"complete\",\"status\":\"working\"}");
        CHECK(span_has(answer_to(p.new, 10 + i)->msg.result, "\"status\":\"working\""));
    }
    static const char *const legacy_methods[] = { "get", "result", "cancel" };
    for (int i = 0; i < 3; i++) {
        char method[20];
        (void)snprintf(method, sizeof method, "tasks/%s", legacy_methods[i]);
        ask_legacy(p.old, 20 + i, legacy_methods[i], "t-old");
        CHECK_EQ(child_got(legacy, method), 1);
        child_answers(legacy, method, "{\"taskId\":\"t-old\"}");
        CHECK(has_result(p.old, 20 + i));
    }
}

TEST(errors_of_a_server_about_tasks_pass_unchanged)
{
    struct pair p = pair();
    make_modern_task(&p, 1, "t");
    ask(p.new, 2, "get", "t");
    child_answers_error(newest_child(p.w, p.modern), "tasks/get", -32021, "needs tasks");
    CHECK_EQ(error_of(p.new, 2), -32021);
}

TEST(a_task_is_found_by_other_sessions_after_a_reconnect_and_after_its_maker_left)
{
    struct pair p = pair();
    make_legacy_task(&p, p.old, 1, "t\\u0031");
    client_leaves(p.old);
    child_dies(newest_child(p.w, p.legacy));
    advance(p.w, 30000);
    struct client *other = greeted_client(p.w, NULL);
    ask_legacy(other, 5, "get", "t1"); /* spelled otherwise, and the same */
    CHECK_EQ(child_got(newest_child(p.w, p.legacy), "tasks/get"), 1);
}

TEST(a_task_nobody_is_known_to_have_made_is_refused_with_a_sentence)
{
    struct pair p = pair();
    static const char *const methods[] = { "get", "result", "update", "cancel" };
    for (int i = 0; i < 4; i++) {
        ask_legacy(p.old, i + 1, methods[i], "nobody's");
        CHECK(error_of(p.old, i + 1) == -32602 && error_says(p.old, i + 1, "Unknown task"));
    }
    client_requests(p.old, 7, "tasks/get", "{\"taskId\":7}");
    CHECK_EQ(error_of(p.old, 7), -32602);
}

TEST(two_servers_may_make_the_same_id_and_each_client_finds_its_own)
{
    struct pair p = pair();
    make_legacy_task(&p, p.old, 1, "1");
    make_modern_task(&p, 1, "1");
    ask_legacy(p.old, 2, "get", "1");
    ask(p.new, 2, "get", "1");
    CHECK_EQ(child_got(newest_child(p.w, p.legacy), "tasks/get"), 1);
    CHECK_EQ(child_got(newest_child(p.w, p.modern), "tasks/get"), 1);
}

TEST(at_the_endpoint_of_one_server_everything_about_tasks_is_that_servers)
{
    struct pair p = pair();
    struct client *alone = greeted_client(p.w, p.legacy);
    ask_legacy(alone, 1, "get", "from before holdfast");
    client_asks(alone, 2, "tasks/list");
    CHECK_EQ(child_got(newest_child(p.w, p.legacy), "tasks/get"), 1);
    CHECK_EQ(child_got(newest_child(p.w, p.legacy), "tasks/list"), 1);
    client_asks(p.old, 2, "tasks/list"); /* of all servers: nobody's business */
    CHECK_EQ(error_of(p.old, 2), -32601);
}

TEST(reading_a_task_may_be_repeated_and_changing_one_may_not)
{
    struct pair p = pair();
    make_modern_task(&p, 1, "t");
    ask(p.new, 2, "get", "t");
    ask(p.new, 3, "update", "t");
    ask(p.new, 4, "cancel", "t");
    child_dies(newest_child(p.w, p.modern));
    advance(p.w, 1000);
    struct child *next = newest_child(p.w, p.modern);
    CHECK(child_got(next, "tasks/get") == 1 && answers_to(p.new, 2) == 0);
    CHECK(error_of(p.new, 3) == -31002 && error_of(p.new, 4) == -31002);
    CHECK(child_got(next, "tasks/update") == 0 && child_got(next, "tasks/cancel") == 0);
}

TEST(a_task_of_a_server_that_a_client_may_not_use_is_none_to_it)
{
    struct pair p = pair();
    const char *const servers[] = { "m", NULL };
    struct hf_policy *policy = hf_policy_new(servers, NULL, NULL);
    struct client *other = open_client(p.w, NULL);
    hf_session_set_policy(other->session, policy);
    hf_policy_unref(policy);
    make_legacy_task(&p, p.old, 1, "t");
    make_modern_task(&p, 1, "u");
    ask(other, 1, "get", "t");
    ask(other, 2, "get", "u");
    CHECK(error_of(other, 1) == -32602 && answers_to(other, 2) == 0);
    CHECK_EQ(child_got(newest_child(p.w, p.legacy), "tasks/get"), 0);
    CHECK_EQ(child_got(newest_child(p.w, p.modern), "tasks/get"), 1);
}

/* ---- remembered, within bounds ---- */

TEST(ten_thousand_tasks_are_remembered_and_the_least_lately_used_is_forgotten)
{
    struct pair p = pair();
    struct child *legacy = newest_child(p.w, p.legacy);
    make_legacy_task(&p, p.old, 1, "used");
    make_legacy_task(&p, p.old, 1, "unused");
    for (int i = 0; i < TASKS_MAX - 2; i++) {
        char id[20];
        (void)snprintf(id, sizeof id, "t%d", i);
        make_legacy_task(&p, p.old, 1, id);
    }
    ask_legacy(p.old, 2, "get", "used");
    CHECK_EQ(child_got(legacy, "tasks/get"), 1);
    make_legacy_task(&p, p.old, 1, "one more");
    ask_legacy(p.old, 3, "get", "used");
    ask_legacy(p.old, 4, "get", "t0");
    CHECK_EQ(child_got(legacy, "tasks/get"), 3);
    ask_legacy(p.old, 5, "get", "unused");
    CHECK_EQ(error_of(p.old, 5), -32602);
}

TEST(an_id_longer_than_any_sane_one_passes_and_is_not_remembered)
{
    struct pair p = pair();
    char id[300];
    (void)snprintf(id, sizeof id, "%0256d", 7);
    make_legacy_task(&p, p.old, 1, id);
    CHECK(span_has(answer_to(p.old, 1)->msg.result, id));
    ask_legacy(p.old, 2, "get", id);
    CHECK_EQ(error_of(p.old, 2), -32602);
}

TEST(tasks_of_a_removed_server_are_forgotten)
{
    struct pair p = pair();
    make_legacy_task(&p, p.old, 1, "t");
    operate(p.w, p.legacy, HF_OP_REMOVE);
    ask_legacy(p.old, 2, "get", "t");
    CHECK(error_of(p.old, 2) == -32602 && error_says(p.old, 2, "Unknown task"));
}

TEST(a_server_without_tasks_makes_none_whatever_its_results_look_like)
{
    struct scene s = scene();
    struct client *aggregate = greeted_client(s.w, NULL);
    client_calls(aggregate, 1, "s__echo");
    child_answers(s.first, "tools/call", "{\"task\":{\"taskId\":\"t\"}}");
    ask_legacy(aggregate, 2, "get", "t");
    CHECK_EQ(error_of(aggregate, 2), -32602);
}

/* ---- news ---- */

TEST(the_status_of_a_task_reaches_the_client_that_made_it_and_no_other)
{
    struct pair p = pair();
    struct client *other = greeted_client(p.w, NULL);
    struct child *legacy = newest_child(p.w, p.legacy);
    make_legacy_task(&p, p.old, 1, "t");
    client_calls(other, 2, "l__echo"); /* the only one with a call in flight */
    child_says(legacy, "{\"jsonrpc\":\"2.0\",\"method\":\"" STATUS "\",\"params\":{\"taskId\":"
                       "\"t\",\"status\":\"completed\"}}");
    CHECK(heard(p.old, STATUS) == 1 && heard(other, STATUS) == 0);
    CHECK(span_has(last_heard(p.old, STATUS)->msg.params, "\"status\":\"completed\""));
    client_leaves(p.old);
    child_says(legacy, "{\"jsonrpc\":\"2.0\",\"method\":\"" STATUS "\",\"params\":{\"taskId\":"
                       "\"t\",\"status\":\"completed\"}}");
    CHECK_EQ(heard(other, STATUS), 0);
}

TEST(what_a_server_says_of_its_task_is_not_told_of_another_servers_with_the_same_id)
{
    struct pair p = pair();
    struct client *other = greeted_client(p.w, NULL);
    make_legacy_task(&p, p.old, 1, "t");
    client_calls(other, 1, "m__echo");
    child_answers(newest_child(p.w, p.modern), "tools/call",
                  "{\"resultType\":\"task\",\"taskId\":\"t\",\"status\":\"working\"}");
    child_says(newest_child(p.w, p.modern),
               "{\"jsonrpc\":\"2.0\",\"method\":\"" STATUS "\",\"params\":{\"taskId\":\"t\","
               "\"status\":\"completed\"}}");
    CHECK(heard(other, STATUS) == 1 && heard(p.old, STATUS) == 0);
}

TEST(a_modern_client_hears_of_no_task_that_it_did_not_listen_for)
{
    struct pair p = pair();
    make_modern_task(&p, 1, "t");
    child_notifies(newest_child(p.w, p.modern), "notifications/tasks",
                   "{\"taskId\":\"t\",\"status\":\"completed\"}");
    CHECK_EQ(heard(p.new, "notifications/tasks"), 0);
}
