/*
 * test_engine_share.c - what clients share of a server and what is their own: session isolation,
 * and servers that keep state in memory (DESIGN 9).
 */
#include "engine_fixture.h"

/* ---- isolation: session ---- */

static struct hf_settings isolated(void)
{
    struct hf_settings settings = SETTINGS(.isolation = HF_ISOLATION_SESSION);
    return settings;
}

TEST(with_session_isolation_each_client_has_a_runtime_of_its_own)
{
    struct scene s = lone_server(isolated(), MANNERS());
    CHECK_EQ(spawns_of(s.w, s.server), 0);
    struct client *a = greeted_client(s.w, NULL), *b = greeted_client(s.w, NULL);
    client_calls(a, 1, "s__echo");
    client_calls(b, 1, "s__echo");
    REQUIRE_EQ(spawns_of(s.w, s.server), 2);
    struct child *of_a = child_of(s.w, s.server, 1), *of_b = child_of(s.w, s.server, 2);
    CHECK(child_got(of_a, "tools/call") == 1 && child_got(of_b, "tools/call") == 1);
    child_dies(of_a);
    CHECK(error_of(a, 1) == -31002 && answers_to(b, 1) == 0);
    child_answers(of_b, "tools/call", "{}");
    CHECK(has_result(b, 1));
    client_leaves(b);
    CHECK(of_b->got_close && of_b->runtime == NULL);
    client_calls(a, 2, "s__echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

TEST(a_runtime_of_ones_own_is_greeted_with_ones_own_words_again_after_a_reconnect)
{
    struct scene s = lone_server(isolated(), MANNERS());
    struct client *c = greeted_client_with(s.w, NULL, "{\"sampling\":{\"mine\":1}}");
    client_calls(c, 1, "s__echo");
    for (int life = 0; life < 2; life++) {
        const struct message *hello = child_last(newest_child(s.w, s.server), "initialize");
        REQUIRE(hello);
        CHECK(span_has(hello->msg.params, "{\"sampling\":{\"mine\":1}}"));
        CHECK(span_has(hello->msg.params, "\"2025-06-18\""));
        CHECK(span_has(hello->msg.params, "\"tester\""));
        child_dies(newest_child(s.w, s.server));
    }
}

TEST(a_runtime_given_up_on_is_its_own_clients_loss_and_no_news_for_the_others)
{
    struct world *w = world_new();
    struct hf_settings settings = isolated();
    settings.reconnect.attempts = 1;
    struct hf_server *server = add_server(w, "s", settings);
    settle(w);
    struct client *a = greeted_client(w, NULL);
    client_calls(a, 1, "s__echo");
    struct client *b = greeted_client(w, NULL); /* has no slot yet */
    manners_of(w, server)->no_exec = true;
    child_dies(newest_child(w, server));
    advance(w, 5000);
    client_calls(a, 2, "s__echo");
    CHECK_EQ(error_of(a, 2), -31004);
    CHECK_EQ(heard(b, "notifications/tools/list_changed"), 0);
    manners_of(w, server)->no_exec = false;
    client_asks(b, 2, "tools/list");
    CHECK_STR(names_in(b, 2, "tools"), "s__echo");
    client_calls(b, 3, "s__echo");
    CHECK_EQ(child_got(newest_child(w, server), "tools/call"), 1);
    CHECK_EQ(heard(b, "notifications/tools/list_changed"), 0);
    operate(w, server, HF_OP_DISABLE);
    CHECK_EQ(heard(b, "notifications/tools/list_changed"), 1);
}

TEST(max_runtimes_is_a_bound_and_over_it_a_call_is_overloaded)
{
    struct world *w = world_new();
    struct hf_settings settings = isolated();
    settings.max_runtimes = 1;
    struct hf_server *server = add_server(w, "s", settings);
    settle(w);
    struct client *a = greeted_client(w, NULL), *b = greeted_client(w, NULL);
    client_calls(a, 1, "s__echo");
    client_calls(b, 1, "s__echo");
    CHECK_EQ(error_of(b, 1), -31005);
    CHECK(data_is(b, 1, "reason", "\"max_runtimes\""));
    CHECK_EQ(spawns_of(w, server), 1);
    client_leaves(a);
    client_calls(b, 2, "s__echo");
    CHECK(answers_to(b, 2) == 0 && spawns_of(w, server) == 2);
}

/* ---- stateful ---- */

TEST(after_an_unplanned_death_of_a_stateful_server_each_client_is_told_once)
{
    struct scene s = scene_of(SETTINGS(.stateful = true));
    struct client *fresh = greeted_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    child_answers(s.first, "tools/call", "{}");
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    client_calls(s.client, 2, "echo");
    CHECK_EQ(error_of(s.client, 2), -31010);
    CHECK(data_is(s.client, 2, "dispatched", "false"));
    CHECK(data_is(s.client, 2, "retry", "\"now\""));
    CHECK_EQ(child_got(second, "tools/call"), 0);
    client_calls(fresh, 3, "echo"); /* never used the old one */
    CHECK_EQ(child_got(second, "tools/call"), 1);
    client_calls(s.client, 4, "echo");
    CHECK_EQ(child_got(second, "tools/call"), 2);
}

TEST(a_call_that_waited_through_the_death_of_a_stateful_server_is_told_too)
{
    struct scene s = scene_of(SETTINGS(.stateful = true));
    client_calls(s.client, 1, "echo");
    child_answers(s.first, "tools/call", "{}");
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    client_calls(s.client, 2, "echo");
    client_calls(s.client, 3, "echo");
    child_start(newest_child(s.w, s.server));
    CHECK_EQ(error_of(s.client, 2), -31010);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1); /* then it goes on */
}

TEST(an_asked_restart_of_a_stateful_server_tells_nobody)
{
    struct scene s = scene_of(SETTINGS(.stateful = true));
    client_calls(s.client, 1, "echo");
    child_answers(s.first, "tools/call", "{}");
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK_EQ(status_of(s.server).generation, 2);
    client_calls(s.client, 2, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

TEST(what_one_client_of_an_endpoint_follows_is_told_to_nobody_else_there)
{
    struct scene s =
        lone_server(SETTINGS(), MANNERS(.resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]"));
    struct client *follows = greeted_client(s.w, s.server), *other = greeted_client(s.w, s.server);
    client_requests(follows, 5, "resources/subscribe", "{\"uri\":\"a:1\"}");
    child_answers(s.first, "resources/subscribe", "{}");
    child_notifies(s.first, "notifications/resources/updated", "{\"uri\":\"a:1\"}");
    CHECK_EQ(heard(follows, "notifications/resources/updated"), 1);
    CHECK_EQ(heard(other, "notifications/resources/updated"), 0);
    child_notifies(s.first, "notifications/resources/updated", "{\"uri\":\"b:1\"}");
    CHECK_EQ(heard(follows, "notifications/resources/updated"), 1);
}
