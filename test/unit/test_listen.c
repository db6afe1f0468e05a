/*
 * test_listen.c - subscriptions/listen of modern clients: acknowledged first, then told of what
 * they asked for and nothing else, under their own id, until it ends.
 */
#include "core/state/engine_state.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"
#include "engine_fixture.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define TAG     "\"io.modelcontextprotocol/subscriptionId\":"
#define ACK     "notifications/subscriptions/acknowledged"
#define CHANGED "notifications/tools/list_changed"
#define UPDATED "notifications/resources/updated"

static void listen_as(struct client *c, uint64_t via, const char *id, const char *filter)
{
    client_says_via(c, via,
                    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"subscriptions/listen\",\"params\":"
                    "{" META ",\"notifications\":%s}}",
                    id, filter);
}

static void list_tools(struct client *c, int id)
{
    client_says(
        c, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\",\"params\":{" META "}}", id);
}

static void change_tools(struct world *w, struct hf_server *server, const char *tools)
{
    struct child *child = newest_child(w, server);
    child->manners.tools = tools;
    child_says(child, "{\"jsonrpc\":\"2.0\",\"method\":\"" CHANGED "\"}");
}

static void update(struct child *child, const char *uri)
{
    child_says(child,
               "{\"jsonrpc\":\"2.0\",\"method\":\"" UPDATED "\",\"params\":{\"uri\":\"%s\"}}", uri);
}

static struct scene modern_scene_of(struct hf_settings settings)
{
    struct scene s =
        lone_server(settings, MANNERS(.resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]"));
    s.client = open_client(s.w, s.server);
    return s;
}

static struct scene modern_scene(void)
{
    return modern_scene_of(default_settings());
}

/* ---- open ---- */

TEST(a_listener_is_acknowledged_first_with_what_it_will_hear)
{
    struct scene s = modern_scene();
    listen_as(s.client, 5, "\"L\"",
              "{\"toolsListChanged\":true,\"promptsListChanged\":true,\"resourcesListChanged\":"
              "false,\"resourceSubscriptions\":[\"a:1\"]}");
    REQUIRE_EQ(s.client->got.count, 1);
    const struct message *ack = last_heard(s.client, ACK);
    REQUIRE(ack);
    CHECK(ack->via == 5 && !ack->is_answer);
    CHECK(span_has(ack->msg.params, TAG "\"L\""));
    /* no prompts: this server has none; no resourcesListChanged: nobody asked for it */
    CHECK(span_has(ack->msg.params, "\"notifications\":{\"toolsListChanged\":true,"
                                    "\"resourceSubscriptions\":[\"a:1\"]}"));
}

TEST(a_listener_hears_what_it_asked_for_under_its_own_id_and_nothing_else)
{
    struct scene s = modern_scene();
    list_tools(s.client, 1);
    listen_as(s.client, 5, "10", "{\"toolsListChanged\":true}");
    listen_as(s.client, 6, "\"eleven\"", "{\"toolsListChanged\":true}");
    listen_as(s.client, 7, "12", "{\"promptsListChanged\":true,\"resourcesListChanged\":true}");
    const size_t before = s.client->got.count;
    change_tools(s.w, s.server, "[{\"name\":\"other\"}]");
    REQUIRE_EQ(s.client->got.count, before + 2);
    const struct message *first = &s.client->got.items[before], *second = first + 1;
    CHECK(first->via == 5 && span_has(first->msg.params, TAG "10}"));
    CHECK(second->via == 6 && span_has(second->msg.params, TAG "\"eleven\"}"));
    CHECK(hf_span_is(first->msg.method, CHANGED) && hf_span_is(second->msg.method, CHANGED));
}

TEST(the_same_list_after_a_restart_is_no_news_for_a_listener)
{
    struct scene s = modern_scene();
    list_tools(s.client, 1);
    listen_as(s.client, 0, "10", "{\"toolsListChanged\":true}");
    child_dies(s.first);
    advance(s.w, 30000);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
    CHECK_EQ(heard(s.client, CHANGED), 0);
}

TEST(a_listener_hears_its_servers_own_word_of_a_change_once_although_the_list_is_the_same)
{
    struct scene s = modern_scene();
    struct client *legacy = greeted_client(s.w, s.server);
    list_tools(s.client, 1);
    client_asks(legacy, 1, "tools/list");
    listen_as(s.client, 0, "10", "{\"toolsListChanged\":true}");
    change_tools(s.w, s.server, "[{\"name\":\"echo\"}]");
    CHECK_EQ(heard(s.client, CHANGED), 1);
    CHECK_EQ(heard(legacy, CHANGED), 0); /* others hear only of what truly changed */
}

TEST(a_client_that_listed_before_a_server_was_known_hears_of_its_first_list)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    s.client = open_client(s.w, s.server);
    listen_as(s.client, 0, "10", "{\"toolsListChanged\":true}");
    list_tools(s.client, 1);
    advance(s.w, 10000);
    CHECK(has_result(s.client, 1) && heard(s.client, CHANGED) == 0);
    child_answers(newest_child(s.w, s.server), "tools/list", "{\"tools\":[{\"name\":\"echo\"}]}");
    CHECK_EQ(heard(s.client, CHANGED), 1);
}

TEST(legacy_and_modern_clients_of_one_server_hear_the_same_news_each_in_its_own_way)
{
    struct scene s = modern_scene();
    struct client *old = greeted_client(s.w, NULL);
    client_asks(old, 1, "tools/list");
    list_tools(s.client, 1);
    listen_as(s.client, 0, "10", "{\"toolsListChanged\":true}");
    change_tools(s.w, s.server, "[{\"name\":\"other\"}]");
    REQUIRE(heard(old, CHANGED) == 1 && heard(s.client, CHANGED) == 1);
    CHECK(!last_heard(old, CHANGED)->msg.params.p);
    CHECK(span_has(last_heard(s.client, CHANGED)->msg.params, TAG "10"));
}

TEST(a_listen_without_the_introduction_of_the_modern_revision_is_refused)
{
    struct scene s = scene();
    client_requests(s.client, 7, "subscriptions/listen", "{\"notifications\":{}}");
    CHECK_EQ(error_of(s.client, 7), -32601);
    CHECK_EQ(child_got(s.first, "subscriptions/listen"), 0);
}

/* ---- bounds ---- */

TEST(a_filter_that_is_none_is_refused_with_a_sentence)
{
    static const char *const bad[] = {
        "7",
        "{\"toolsListChanged\":1}",
        "{\"resourceSubscriptions\":\"a:1\"}",
        "{\"resourceSubscriptions\":[\"a:1\",2]}",
    };
    struct scene s = modern_scene();
    for (int i = 0; i < 4; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", i + 1);
        listen_as(s.client, 0, id, bad[i]);
        CHECK_EQ(error_of(s.client, i + 1), -32602);
        CHECK(error_says(s.client, i + 1, "\\\"notifications\\\""));
    }
    CHECK_EQ(heard(s.client, ACK), 0);
}

static char *many_uris(int count) /* for free() */
{
    char *filter = NULL;
    size_t size;
    FILE *out = open_memstream(&filter, &size);
    (void)fputs("{\"resourceSubscriptions\":[", out);
    for (int i = 0; i < count; i++)
        (void)fprintf(out, "%s\"a:%d\"", i ? "," : "", i);
    (void)fputs("]}", out);
    (void)fclose(out);
    return filter;
}

TEST(more_uris_than_one_listener_may_have_are_refused_and_none_of_them_is_kept)
{
    struct scene s = modern_scene();
    char *filter = many_uris(HF_LISTENER_URIS_MAX + 1);
    listen_as(s.client, 0, "1", filter);
    free(filter);
    CHECK(error_of(s.client, 1) == -32602 && error_says(s.client, 1, "1000"));
    CHECK_EQ(child_got(s.first, "resources/subscribe"), 0);
}

TEST(more_listeners_than_a_session_may_have_are_overload_and_one_that_ends_makes_room)
{
    struct scene s = modern_scene();
    for (uint64_t i = 0; i < HF_SESSION_LISTENERS_MAX; i++)
        listen_as(s.client, 100 + i, "5", "{\"toolsListChanged\":true}");
    CHECK_EQ(heard(s.client, ACK), HF_SESSION_LISTENERS_MAX);
    listen_as(s.client, 2, "6", "{}");
    CHECK_EQ(error_of(s.client, 6), -31005);
    CHECK(data_is(s.client, 6, "reason", "\"too_many_subscriptions\""));
    client_via_gone(s.client, 100);
    listen_as(s.client, 3, "7", "{}");
    CHECK(error_of(s.client, 7) == 0 && heard(s.client, ACK) == HF_SESSION_LISTENERS_MAX + 1);
}

TEST(all_clients_together_follow_no_more_resources_than_the_bound)
{
    struct scene s = modern_scene();
    char *filter = many_uris(HF_LISTENER_URIS_MAX);
    for (int i = 0; i < HF_SUBSCRIPTIONS_MAX / HF_LISTENER_URIS_MAX; i++)
        listen_as(s.client, 1, "5", filter);
    free(filter);
    CHECK_EQ(child_got(s.first, "resources/subscribe"), HF_LISTENER_URIS_MAX); /* each once */
    listen_as(s.client, 2, "6", "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK_EQ(error_of(s.client, 6), -31005);
    struct client *old = greeted_client(s.w, NULL);
    client_requests(old, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
    CHECK(error_of(old, 1) == -31005 && data_is(old, 1, "dispatched", "false"));
    client_via_gone(s.client, 1);
    CHECK_EQ(child_got(s.first, "resources/unsubscribe"), HF_LISTENER_URIS_MAX);
    listen_as(s.client, 2, "7", "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK_EQ(error_of(s.client, 7), 0);
}

TEST(what_listeners_make_us_remember_is_bounded_in_bytes_and_given_back)
{
    struct scene s = modern_scene();
    const uint64_t before = hf_engine_remembered_bytes(s.w->engine);
    char *filter = NULL;
    if (asprintf(&filter, "{\"resourceSubscriptions\":[\"a:%01200000d\"]}", 7) < 0)
        abort();
    listen_as(s.client, 5, "1", filter);
    CHECK(hf_engine_remembered_bytes(s.w->engine) > before + 1200000);
    listen_as(s.client, 6, "2", filter);
    CHECK(error_of(s.client, 1) == 0 && error_of(s.client, 2) == -31005);
    client_via_gone(s.client, 5);
    CHECK_EQ(hf_engine_remembered_bytes(s.w->engine), before);
    listen_as(s.client, 7, "3", filter);
    CHECK_EQ(error_of(s.client, 3), 0);
    free(filter);
}

/* ---- the end ---- */

static bool is_graceful_end(const struct client *c, int id)
{
    char tag[80];
    (void)snprintf(tag, sizeof tag, TAG "%d", id);
    const struct message *m = answer_to(c, id);
    return m && m->is_answer && m->msg.kind == HF_MSG_RESULT &&
           span_has(m->msg.result, "\"resultType\":\"complete\"") && span_has(m->msg.result, tag) &&
           span_has(m->msg.result, "io.modelcontextprotocol/serverInfo");
}

TEST(when_holdfast_stops_every_listener_gets_its_result)
{
    struct scene s = modern_scene();
    struct client *aggregate = open_client(s.w, NULL);
    listen_as(s.client, 5, "10", "{\"toolsListChanged\":true}");
    listen_as(s.client, 6, "11", "{\"resourceSubscriptions\":[\"a:1\"]}");
    listen_as(aggregate, 7, "12", "{\"toolsListChanged\":true}");
    client_says(s.client,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" META
                ",\"name\":\"echo\"}}"); /* it still has to drain */
    hf_engine_stop(s.w->engine, at(s.w->now_ms));
    settle(s.w);
    CHECK(is_graceful_end(s.client, 10) && answer_to(s.client, 10)->via == 5);
    CHECK(is_graceful_end(s.client, 11) && is_graceful_end(aggregate, 12));
    CHECK(answers_to(s.client, 10) == 1 && heard(s.client, CHANGED) == 0);
    CHECK_EQ(child_got(s.first, "resources/unsubscribe"), 0); /* it is leaving anyway */
    listen_as(aggregate, 8, "13", "{\"toolsListChanged\":true}");
    CHECK_EQ(error_of(aggregate, 13), -31001);
}

TEST(when_its_only_server_is_removed_a_listener_gets_its_result_and_others_go_on)
{
    struct scene s = modern_scene();
    struct client *aggregate = open_client(s.w, NULL);
    list_tools(aggregate, 1);
    listen_as(s.client, 0, "10", "{\"toolsListChanged\":true}");
    listen_as(aggregate, 0, "12", "{\"toolsListChanged\":true}");
    operate(s.w, s.server, HF_OP_REMOVE);
    CHECK(is_graceful_end(s.client, 10));
    CHECK(answers_to(aggregate, 12) == 0 && heard(aggregate, CHANGED) == 1);
    listen_as(s.client, 0, "11", "{}");
    CHECK_EQ(error_of(s.client, 11), -32602);
}

TEST(a_client_that_closes_its_side_gets_the_result_of_its_listener_at_once)
{
    struct scene s = modern_scene();
    listen_as(s.client, 0, "10", "{\"toolsListChanged\":true}");
    hf_session_finish(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(is_graceful_end(s.client, 10));
    CHECK(hf_session_is_settled(s.client->session));
}

TEST(a_cancelled_listener_hears_nothing_more_and_gets_no_answer)
{
    struct scene s = modern_scene();
    list_tools(s.client, 1);
    listen_as(s.client, 5, "10", "{\"toolsListChanged\":true}");
    client_cancels(s.client, 10);
    CHECK_EQ(taken_back_via(s.client, 5), 1);
    change_tools(s.w, s.server, "[{\"name\":\"other\"}]");
    CHECK(heard(s.client, CHANGED) == 0 && answers_to(s.client, 10) == 0);
}

TEST(a_cancel_that_may_mean_a_call_or_a_listener_ends_neither)
{
    struct scene s = modern_scene();
    list_tools(s.client, 1);
    listen_as(s.client, 5, "10", "{\"toolsListChanged\":true}");
    client_says_via(s.client, 6,
                    "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\",\"params\":{" META
                    ",\"name\":\"echo\"}}");
    client_cancels(s.client, 10);
    CHECK(taken_back_via(s.client, 5) == 0 && taken_back_via(s.client, 6) == 0);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
}

TEST(clients_that_share_a_modern_session_cannot_cancel_each_others_listeners)
{
    struct scene s = modern_scene();
    hf_session_set_modern(s.client->session);
    listen_as(s.client, 5, "10", "{\"toolsListChanged\":true}");
    client_cancels(s.client, 10);
    CHECK_EQ(taken_back_via(s.client, 5), 0);
    client_via_gone(s.client, 5);
    CHECK_EQ(taken_back_via(s.client, 5), 1);
}

TEST(the_listener_whose_stream_is_gone_ends_and_the_one_beside_it_goes_on)
{
    struct scene s = modern_scene();
    list_tools(s.client, 1);
    listen_as(s.client, 5, "1", "{\"toolsListChanged\":true}"); /* ids of two clients may clash */
    listen_as(s.client, 6, "1", "{\"toolsListChanged\":true}");
    client_via_gone(s.client, 5);
    change_tools(s.w, s.server, "[{\"name\":\"other\"}]");
    CHECK(heard(s.client, CHANGED) == 1 && last_heard(s.client, CHANGED)->via == 6);
}

/* ---- resources of legacy servers ---- */

TEST(a_legacy_server_is_subscribed_to_once_for_all_and_unsubscribed_after_the_last)
{
    struct scene s = modern_scene();
    struct client *old = greeted_client(s.w, NULL);
    listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK_EQ(child_got(s.first, "resources/subscribe"), 1);
    listen_as(s.client, 6, "11", "{\"resourceSubscriptions\":[\"a:\\u0031\",\"a:2\"]}");
    CHECK_EQ(child_got(s.first, "resources/subscribe"), 2);
    CHECK(span_has(child_last(s.first, "resources/subscribe")->msg.params, "\"a:2\""));
    client_requests(old, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
    child_answers(s.first, "resources/subscribe", "{}");
    CHECK(has_result(old, 1) && child_got(s.first, "resources/subscribe") == 3);
    client_via_gone(s.client, 5);
    CHECK_EQ(child_got(s.first, "resources/unsubscribe"), 0);
    client_via_gone(s.client, 6);
    CHECK_EQ(child_got(s.first, "resources/unsubscribe"), 1);
    CHECK(span_has(child_last(s.first, "resources/unsubscribe")->msg.params, "\"a:2\""));
    client_leaves(old);
    CHECK_EQ(child_got(s.first, "resources/unsubscribe"), 2);
    CHECK(span_has(child_last(s.first, "resources/unsubscribe")->msg.params, "\"a:1\""));
}

TEST(a_client_that_unsubscribes_does_not_cost_a_listener_its_updates)
{
    struct scene s = modern_scene();
    struct client *old = greeted_client(s.w, NULL);
    client_requests(old, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
    child_answers(s.first, "resources/subscribe", "{}");
    listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK_EQ(child_got(s.first, "resources/subscribe"), 1);
    client_requests(old, 2, "resources/unsubscribe", "{\"uri\":\"a:1\"}");
    CHECK(has_result(old, 2) && child_got(s.first, "resources/unsubscribe") == 0);
    update(s.first, "a:1");
    CHECK(heard(s.client, UPDATED) == 1 && heard(old, UPDATED) == 0);
}

TEST(a_client_of_both_eras_that_unsubscribes_keeps_what_it_listens_for)
{
    struct scene s = modern_scene();
    struct client *both = greeted_client(s.w, NULL);
    client_requests(both, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
    child_answers(s.first, "resources/subscribe", "{}");
    listen_as(both, 0, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
    client_requests(both, 2, "resources/unsubscribe", "{\"uri\":\"a:1\"}");
    CHECK(has_result(both, 2) && child_got(s.first, "resources/unsubscribe") == 0);
}

TEST(a_listener_that_comes_while_the_last_one_unsubscribes_is_subscribed_for_anew)
{
    struct scene s = modern_scene();
    struct client *old = greeted_client(s.w, NULL);
    client_requests(old, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
    child_answers(s.first, "resources/subscribe", "{}");
    client_requests(old, 2, "resources/unsubscribe", "{\"uri\":\"a:1\"}");
    listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK_EQ(child_got(s.first, "resources/subscribe"), 1);
    child_answers(s.first, "resources/unsubscribe", "{}");
    CHECK(has_result(old, 2) && child_got(s.first, "resources/subscribe") == 2);
}

TEST(the_last_listener_that_goes_does_not_cost_a_client_what_it_is_just_subscribing_to)
{
    for (int fails = 0; fails < 2; fails++) {
        struct scene s = modern_scene();
        struct client *old = greeted_client(s.w, NULL);
        listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
        client_requests(old, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
        client_via_gone(s.client, 5);
        CHECK_EQ(child_got(s.first, "resources/unsubscribe"), 0);
        if (fails)
            child_answers_error(s.first, "resources/subscribe", -32603, "no");
        else
            child_answers(s.first, "resources/subscribe", "{}");
        CHECK_EQ(child_got(s.first, "resources/subscribe"), 2);
        CHECK_EQ(child_got(s.first, "resources/unsubscribe"), (size_t)fails);
        world_end(s.w);
    }
}

TEST(an_unsubscribe_that_ends_without_an_answer_costs_nobody_else_the_updates)
{
    for (int how = 0; how < 5; how++) {
        struct scene s = modern_scene_of(SETTINGS(.call_timeout_ms = 1000));
        struct client *old = greeted_client(s.w, NULL);
        client_requests(old, 1, "resources/subscribe", "{\"uri\":\"a:1\"}");
        child_answers(s.first, "resources/subscribe", "{}");
        client_requests(old, 2, "resources/unsubscribe", "{\"uri\":\"a:1\"}");
        listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
        CHECK_EQ(child_got(s.first, "resources/subscribe"), 1);
        if (how < 2)
            how ? advance(s.w, 1000) : client_cancels(old, 2);
        else if (how == 2)
            client_leaves(old);
        else if (how == 3)
            hf_session_give_up(old->session, at(s.w->now_ms));
        else
            child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":nul}",
                       HF_FMT(child_last_id(s.first, "resources/unsubscribe")));
        settle(s.w);
        CHECK(child_got(s.first, "resources/subscribe") == 2 &&
              child_got(s.first, "resources/unsubscribe") == 1);
        world_end(s.w);
    }
}

TEST(what_listeners_follow_is_subscribed_to_again_on_every_new_generation)
{
    struct scene s = modern_scene();
    listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
    for (int life = 0; life < 2; life++) {
        child_dies(newest_child(s.w, s.server));
        advance(s.w, 30000);
        struct child *next = newest_child(s.w, s.server);
        CHECK_EQ(child_got(next, "resources/subscribe"), 1);
        update(next, "a:1");
    }
    CHECK(heard(s.client, UPDATED) == 2 && answers_to(s.client, 10) == 0);
}

TEST(an_update_reaches_listeners_of_it_and_of_what_it_is_a_part_of)
{
    struct scene s = modern_scene();
    listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"file:///a\",\"file:///a/b\"]}");
    listen_as(s.client, 6, "11", "{\"resourceSubscriptions\":[\"file:///ab\"]}");
    update(s.first, "file:///a/b"); /* covered twice, told once */
    REQUIRE_EQ(heard(s.client, UPDATED), 1);
    const struct message *m = last_heard(s.client, UPDATED);
    CHECK(m->via == 5 && span_has(m->msg.params, TAG "10"));
    CHECK(span_has(m->msg.params, "\"uri\":\"file:///a/b\""));
    update(s.first, "file:///ab"); /* no part of file:///a */
    CHECK(heard(s.client, UPDATED) == 2 && last_heard(s.client, UPDATED)->via == 6);
    update(s.first, "file:///abc");
    CHECK_EQ(heard(s.client, UPDATED), 2);
}

TEST(what_a_server_says_beside_the_uri_of_an_update_passes)
{
    struct scene s = modern_scene();
    listen_as(s.client, 5, "10", "{\"resourceSubscriptions\":[\"a:1\"]}");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"" UPDATED "\",\"params\":{\"uri\":"
                        "\"a:1\",\"x\":1.50,\"_meta\":{\"y\":[2]}}}");
    const struct message *m = last_heard(s.client, UPDATED);
    REQUIRE(m);
    CHECK(span_has(m->msg.params, "\"x\":1.50") && span_has(m->msg.params, "\"y\":[2]"));
    CHECK(span_has(m->msg.params, TAG "10"));
}

TEST(a_resource_that_no_list_has_is_asked_for_at_every_server_that_has_updates)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    struct hf_server *c = add_server(w, "c", default_settings());
    manners_of(w, a)->resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]";
    manners_of(w, b)->resources = "[]";
    settle(w);
    struct client *client = open_client(w, NULL);
    listen_as(client, 0, "10", "{\"resourceSubscriptions\":[\"a:1\",\"x:1\"]}");
    CHECK_EQ(child_got(newest_child(w, a), "resources/subscribe"), 2);
    CHECK_EQ(child_got(newest_child(w, b), "resources/subscribe"), 1);
    CHECK_EQ(child_got(newest_child(w, c), "resources/subscribe"), 0);
    update(newest_child(w, b), "a:1"); /* that one is a's */
    CHECK_EQ(heard(client, UPDATED), 0);
    update(newest_child(w, b), "x:1");
    CHECK_EQ(heard(client, UPDATED), 1);
    operate(w, a, HF_OP_REMOVE); /* from now on a:1 may be anybody's */
    CHECK_EQ(child_got(newest_child(w, b), "resources/subscribe"), 2);
}

TEST(following_a_resource_of_a_resting_server_wakes_it)
{
    struct scene s = lone_server(SETTINGS(.idle_ms = 5000),
                                 MANNERS(.resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]"));
    struct client *c = open_client(s.w, NULL);
    advance(s.w, 20000);
    REQUIRE(IS(s.server, DISCONNECTED));
    listen_as(c, 0, "10", "{\"toolsListChanged\":true}"); /* we know its tools: it may rest */
    CHECK(IS(s.server, DISCONNECTED));
    listen_as(c, 0, "11", "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK(IS(s.server, CONNECTED));
    CHECK_EQ(child_got(newest_child(s.w, s.server), "resources/subscribe"), 1);
}

TEST(with_session_isolation_a_listener_follows_resources_in_its_own_runtime)
{
    struct scene s = lone_server(SETTINGS(.isolation = HF_ISOLATION_SESSION),
                                 MANNERS(.resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]"));
    struct client *a = open_client(s.w, s.server), *b = open_client(s.w, s.server);
    listen_as(a, 0, "1", "{\"resourceSubscriptions\":[\"a:1\"]}");
    listen_as(b, 0, "1", "{\"resourceSubscriptions\":[\"a:1\"]}");
    struct child *of_a = child_of(s.w, s.server, 1), *of_b = child_of(s.w, s.server, 2);
    REQUIRE(of_a && of_b);
    CHECK_EQ(child_got(of_a, "resources/subscribe"), 1);
    CHECK_EQ(child_got(of_b, "resources/subscribe"), 1);
    update(of_b, "a:1");
    CHECK(heard(a, UPDATED) == 0 && heard(b, UPDATED) == 1);
}
