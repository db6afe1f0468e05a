/*
 * test_listen_servers.c - what we hear of modern servers: one subscriptions/listen of ours at each,
 * kept alive, with what clients of both eras follow; and what older requests become there.
 */
#include "engine_http.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define TAG     "\"io.modelcontextprotocol/subscriptionId\":"
#define LISTEN  "subscriptions/listen"
#define ACK     "notifications/subscriptions/acknowledged"
#define CHANGED "notifications/tools/list_changed"
#define UPDATED "notifications/resources/updated"

static struct hf_settings modern_settings(void)
{
    struct hf_settings settings = SETTINGS(.era = HF_ERA_UNKNOWN, .relist_ms = 0);
    return settings;
}

static void become_modern(struct manners *m)
{
    m->is_modern = true;
    m->resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]";
    m->capabilities = "{\"tools\":{\"listChanged\":true},\"prompts\":{},\"logging\":{},"
                      "\"resources\":{\"subscribe\":true,\"listChanged\":true}}";
}

static struct scene modern_server_with(struct hf_settings settings)
{
    struct scene s = { .w = world_new() };
    s.server = add_server(s.w, "s", settings);
    become_modern(manners_of(s.w, s.server));
    settle(s.w);
    s.client = greeted_client(s.w, NULL);
    client_asks(s.client, 900, "tools/list");
    s.first = newest_child(s.w, s.server);
    return s;
}

static struct scene modern_server(void)
{
    return modern_server_with(modern_settings());
}

static void acknowledge(struct child *c) /* the last one */
{
    child_says(c,
               "{\"jsonrpc\":\"2.0\",\"method\":\"" ACK "\",\"params\":{\"_meta\":{" TAG
               "%.*s},\"notifications\":{}}}",
               HF_FMT(child_last_id(c, LISTEN)));
}

static void subscribe(struct client *c, int id, const char *how, const char *uri)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/%s\",\"params\":{\"uri\":"
                "\"%s\"}}",
                id, how, uri);
}

static void listen_as(struct client *c, int id, const char *filter)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"" LISTEN "\",\"params\":{" META
                ",\"notifications\":%s}}",
                id, filter);
}

static void say_tagged(struct child *c, const char *method, const char *id, const char *rest)
{
    child_says(
        c, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"_meta\":{" TAG "%s,\"z\":1}%s}}",
        method, id, rest);
}

static char *listen_id(const struct child *c) /* of the last one; static memory */
{
    static char id[40];
    (void)snprintf(id, sizeof id, "%.*s", HF_FMT(child_last_id(c, LISTEN)));
    return id;
}

/* ---- kept open ---- */

TEST(a_modern_server_is_listened_to_for_what_it_announces)
{
    struct scene s = modern_server();
    REQUIRE_EQ(child_got(s.first, LISTEN), 1);
    const struct hf_span params = child_last(s.first, LISTEN)->msg.params;
    CHECK(span_has(params, "\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":"
                           "true}"));
    CHECK(span_has(params, "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""));
    CHECK(span_has(params, "\"io.modelcontextprotocol/clientCapabilities\":{}"));
    acknowledge(s.first);
    advance(s.w, 3600000);
    CHECK(child_got(s.first, LISTEN) == 1 && heard(s.client, ACK) == 0);
}

TEST(a_server_that_announces_nothing_is_not_listened_to)
{
    struct scene s = lone_server(modern_settings(), MANNERS(.is_modern = true));
    CHECK(IS(s.server, CONNECTED) && child_got(newest_child(s.w, s.server), LISTEN) == 0);
    struct hf_server *legacy = add_server(s.w, "l", modern_settings());
    become_modern(manners_of(s.w, legacy));
    manners_of(s.w, legacy)->is_modern = false;
    settle(s.w);
    CHECK(IS(legacy, CONNECTED) && child_got(newest_child(s.w, legacy), LISTEN) == 0);
}

TEST(listening_is_no_call_of_a_client)
{
    struct hf_settings settings = modern_settings();
    settings.idle_ms = 5000;
    struct scene s = modern_server_with(settings);
    acknowledge(s.first);
    CHECK(status_of(s.server).in_flight == 0 && status_of(s.server).calls == 0);
    operate(s.w, s.server, HF_OP_RESTART); /* and nothing has to drain for it */
    CHECK(s.first->runtime == NULL && child_got(newest_child(s.w, s.server), LISTEN) == 1);
    advance(s.w, 20000);
    CHECK(IS(s.server, DISCONNECTED));
}

TEST(list_changed_of_a_modern_server_re_lists_and_listeners_hear_its_word_and_others_true_changes)
{
    struct scene s = modern_server();
    listen_as(s.client, 5, "{\"toolsListChanged\":true}");
    acknowledge(s.first);
    say_tagged(s.first, CHANGED, listen_id(s.first), "");
    CHECK(child_got(s.first, "tools/list") == 2 && heard(s.client, CHANGED) == 1);
    s.first->manners.tools = "[{\"name\":\"other\"}]";
    say_tagged(s.first, CHANGED, listen_id(s.first), "");
    REQUIRE_EQ(heard(s.client, CHANGED), 3); /* it has greeted and listens: once for each */
    CHECK(span_has(last_heard(s.client, CHANGED)->msg.params, TAG "5}"));
}

TEST(a_listening_that_ends_is_begun_again_later_and_later_and_what_was_missed_is_listed)
{
    struct scene s = modern_server();
    static const uint64_t delays[] = { 1000, 2000, 4000, 8000, 16000, 30000, 30000 };
    acknowledge(s.first);
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        const size_t lists = child_got(s.first, "tools/list");
        if (i % 2)
            child_answers(s.first, LISTEN, "{\"resultType\":\"complete\"}");
        else
            child_answers_error(s.first, LISTEN, -32603, "busy");
        advance(s.w, delays[i] - 1);
        CHECK_EQ(child_got(s.first, LISTEN), i + 1);
        advance(s.w, 1);
        CHECK_EQ(child_got(s.first, LISTEN), i + 2);
        CHECK_EQ(child_got(s.first, "tools/list"), lists);
        acknowledge(s.first);
        CHECK_EQ(child_got(s.first, "tools/list"), lists + 1);
    }
    advance(s.w, 30000); /* it held: the next end is a first one again */
    child_answers(s.first, LISTEN, "{\"resultType\":\"complete\"}");
    advance(s.w, 1000);
    CHECK_EQ(child_got(s.first, LISTEN), 9);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1);
}

TEST(a_server_that_knows_no_listening_is_not_asked_again_in_this_generation)
{
    struct scene s = modern_server();
    child_answers_error(s.first, LISTEN, -32601, "Method not found");
    advance(s.w, 3600000);
    subscribe(s.client, 1, "subscribe", "a:1");
    CHECK(has_result(s.client, 1) && child_got(s.first, LISTEN) == 1);
    child_dies(s.first);
    advance(s.w, 30000);
    CHECK_EQ(child_got(newest_child(s.w, s.server), LISTEN), 1);
}

TEST(after_a_reconnect_a_server_is_listened_to_again_with_everything_clients_follow)
{
    struct scene s = modern_server();
    acknowledge(s.first);
    subscribe(s.client, 1, "subscribe", "a:1");
    listen_as(s.client, 5, "{\"resourceSubscriptions\":[\"a:2\",\"a:1\"]}");
    for (int life = 0; life < 2; life++) {
        child_dies(newest_child(s.w, s.server));
        advance(s.w, 30000);
        struct child *next = newest_child(s.w, s.server);
        REQUIRE_EQ(child_got(next, LISTEN), 1);
        CHECK(span_has(child_last(next, LISTEN)->msg.params,
                       "\"resourceSubscriptions\":[\"a:1\",\"a:2\"]"));
    }
}

/* ---- what clients follow changes ---- */

TEST(when_what_clients_follow_changes_a_new_listening_replaces_the_old_once_acknowledged)
{
    struct scene s = modern_server();
    acknowledge(s.first);
    char *old = hf_strdup(listen_id(s.first));
    subscribe(s.client, 1, "subscribe", "a:1");
    CHECK(has_result(s.client, 1));
    REQUIRE_EQ(child_got(s.first, LISTEN), 2);
    CHECK(span_has(child_last(s.first, LISTEN)->msg.params, "\"resourceSubscriptions\":[\"a:1\"]"));
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    say_tagged(s.first, CHANGED, old, ""); /* still heard */
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    acknowledge(s.first);
    REQUIRE_EQ(child_got(s.first, "notifications/cancelled"), 1);
    CHECK_SPAN(hf_json_get(child_last(s.first, "notifications/cancelled")->msg.params,
                           HF_SPAN("requestId")),
               old);
    say_tagged(s.first, CHANGED, old, ""); /* crossed the cancel: nobody's any more */
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    subscribe(s.client, 2, "subscribe", "a:1"); /* nothing new */
    CHECK_EQ(child_got(s.first, LISTEN), 2);
    subscribe(s.client, 3, "unsubscribe", "a:1");
    CHECK(has_result(s.client, 3) && child_got(s.first, LISTEN) == 3);
    CHECK(!span_has(child_last(s.first, LISTEN)->msg.params, "resourceSubscriptions"));
    hf_free(old);
}

TEST(changes_that_come_before_the_acknowledgement_are_asked_for_together)
{
    struct scene s = modern_server();
    subscribe(s.client, 1, "subscribe", "a:1");
    subscribe(s.client, 2, "subscribe", "a:2");
    subscribe(s.client, 3, "subscribe", "a:3");
    CHECK_EQ(child_got(s.first, LISTEN), 1);
    acknowledge(s.first);
    REQUIRE_EQ(child_got(s.first, LISTEN), 2);
    CHECK(span_has(child_last(s.first, LISTEN)->msg.params, "[\"a:1\",\"a:2\",\"a:3\"]"));
    acknowledge(s.first);
    CHECK(child_got(s.first, LISTEN) == 2 && child_got(s.first, "notifications/cancelled") == 1);
}

/* Each listening says everything that is followed: one for each change would be 50 MB for these. */
TEST(changes_of_many_are_asked_for_together_though_each_is_acknowledged_at_once)
{
    enum { COUNT = 1000, LISTENS_MAX = 110 };
    struct scene s = modern_server();
    acknowledge(s.first);
    char uri[16];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(uri, sizeof uri, "b:%d", i);
        const size_t before = child_got(s.first, LISTEN);
        subscribe(s.client, 1000 + i, "subscribe", uri);
        CHECK(has_result(s.client, 1000 + i));
        if (child_got(s.first, LISTEN) > before)
            acknowledge(s.first);
    }
    CHECK(child_got(s.first, LISTEN) < LISTENS_MAX);
    advance(s.w, 100);
    CHECK(span_has(child_last(s.first, LISTEN)->msg.params, "\"b:999\""));
    const size_t listens = child_got(s.first, LISTEN);
    acknowledge(s.first);
    advance(s.w, 10000); /* nothing changed since */
    CHECK(child_got(s.first, LISTEN) == listens && listens < LISTENS_MAX);
    world_end(s.w);
}

TEST(a_server_that_never_acknowledges_is_believed_after_five_seconds)
{
    struct scene s = modern_server();
    subscribe(s.client, 1, "subscribe", "a:1");
    advance(s.w, 4999);
    CHECK_EQ(child_got(s.first, LISTEN), 1);
    advance(s.w, 1);
    CHECK_EQ(child_got(s.first, LISTEN), 2);
}

TEST(the_old_listening_stays_while_the_new_one_is_refused)
{
    struct scene s = modern_server();
    acknowledge(s.first);
    char *old = hf_strdup(listen_id(s.first));
    subscribe(s.client, 1, "subscribe", "a:1");
    child_answers_error(s.first, LISTEN, -32602, "too many");
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    say_tagged(s.first, CHANGED, old, "");
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    advance(s.w, 1000);
    REQUIRE_EQ(child_got(s.first, LISTEN), 3);
    child_answers_error(s.first, LISTEN, -32602, "too many");
    subscribe(s.client, 2, "subscribe", "a:2"); /* does not hurry it */
    CHECK_EQ(child_got(s.first, LISTEN), 3);
    advance(s.w, 2000);
    CHECK_EQ(child_got(s.first, LISTEN), 4);
    CHECK(span_has(child_last(s.first, LISTEN)->msg.params, "[\"a:1\",\"a:2\"]"));
    acknowledge(s.first);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
    hf_free(old);
}

TEST(a_server_followed_for_its_resources_alone_is_let_go_when_nobody_follows)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", modern_settings());
    become_modern(manners_of(w, server));
    manners_of(w, server)->capabilities = "{\"tools\":{},\"resources\":{\"subscribe\":true}}";
    settle(w);
    struct client *c = greeted_client(w, NULL);
    struct child *child = newest_child(w, server);
    CHECK_EQ(child_got(child, LISTEN), 0);
    subscribe(c, 1, "subscribe", "a:1");
    CHECK_EQ(child_got(child, LISTEN), 1);
    acknowledge(child);
    client_leaves(c);
    CHECK(child_got(child, LISTEN) == 1 && child_got(child, "notifications/cancelled") == 1);
}

/* ---- updates ---- */

TEST(an_update_reaches_each_client_in_its_own_way_and_never_with_the_servers_tag)
{
    struct scene s = modern_server();
    struct client *modern = open_client(s.w, s.server), *alone = greeted_client(s.w, s.server);
    subscribe(s.client, 1, "subscribe", "a:1");
    listen_as(modern, 5, "{\"resourceSubscriptions\":[\"a:1\"]}");
    acknowledge(s.first); /* of the first */
    acknowledge(s.first);
    say_tagged(s.first, UPDATED, listen_id(s.first), ",\"uri\":\"a:1\"");
    REQUIRE(heard(s.client, UPDATED) == 1 && heard(modern, UPDATED) == 1);
    CHECK_SPAN(last_heard(s.client, UPDATED)->msg.params, "{\"_meta\":{\"z\":1},\"uri\":\"a:1\"}");
    CHECK_SPAN(last_heard(modern, UPDATED)->msg.params,
               "{\"_meta\":{" TAG "5,\"z\":1},\"uri\":\"a:1\"}");
    CHECK_EQ(heard(alone, UPDATED), 0); /* it did not ask */
}

/* ---- requests that the modern revision has not ---- */

TEST(subscribe_and_the_log_level_of_legacy_clients_are_answered_in_a_modern_servers_stead)
{
    struct scene s = modern_server();
    struct client *alone = greeted_client(s.w, s.server);
    struct client *const clients[] = { s.client, alone };
    for (size_t i = 0; i < 2; i++) {
        subscribe(clients[i], 1, "subscribe", "a:1");
        subscribe(clients[i], 2, "unsubscribe", "a:1");
        client_requests(clients[i], 3, "logging/setLevel", "{\"level\":\"warning\"}");
        client_asks(clients[i], 4, "ping");
        for (int id = 1; id <= 4; id++)
            CHECK(has_result(clients[i], id) && answers_to(clients[i], id) == 1);
    }
    CHECK_EQ(child_got(s.first, "resources/subscribe"), 0);
    CHECK_EQ(child_got(s.first, "resources/unsubscribe"), 0);
    CHECK(child_got(s.first, "logging/setLevel") == 0 && child_got(s.first, "ping") == 0);
    client_calls(alone, 5, "echo");
    CHECK(span_has(child_last(s.first, "tools/call")->msg.params,
                   "\"io.modelcontextprotocol/logLevel\":\"warning\""));
    CHECK_EQ(status_of(s.server).in_flight, 1);
}

TEST(a_subscribe_that_waited_for_a_server_to_turn_out_modern_is_answered_by_us_too)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", modern_settings());
    become_modern(manners_of(w, server));
    manners_of(w, server)->never_starts = true;
    settle(w);
    struct client *c = greeted_client(w, server);
    subscribe(c, 1, "subscribe", "a:1");
    CHECK_EQ(answers_to(c, 1), 0);
    child_start(newest_child(w, server));
    CHECK(has_result(c, 1));
    struct child *child = newest_child(w, server);
    CHECK(child_got(child, "resources/subscribe") == 0 && child_got(child, LISTEN) == 1);
    acknowledge(child);
    CHECK(span_has(child_last(child, LISTEN)->msg.params, "[\"a:1\"]"));
}

TEST(a_modern_server_without_updates_has_no_subscribe)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", modern_settings());
    become_modern(manners_of(w, server));
    manners_of(w, server)->capabilities = "{\"tools\":{},\"resources\":{}}";
    settle(w);
    struct client *c = greeted_client(w, server);
    subscribe(c, 1, "subscribe", "a:1");
    CHECK(error_of(c, 1) == -32601 && child_got(newest_child(w, server), LISTEN) == 0);
    listen_as(c, 2, "{\"resourceSubscriptions\":[\"a:1\"]}");
    CHECK(span_has(last_heard(c, ACK)->msg.params, "\"notifications\":{}"));
}

/* ---- over HTTP ---- */

static struct scene remote_modern(void)
{
    struct scene s = { .w = world_new() };
    s.server = add_remote(s.w, "s", modern_settings());
    become_modern(manners_of(s.w, s.server));
    manners_of(s.w, s.server)->http.has_stream = true;
    settle(s.w);
    s.client = greeted_client(s.w, NULL);
    s.first = newest_child(s.w, s.server);
    return s;
}

static void acknowledge_over_http(struct exchange *x)
{
    exchange_head(x, 200, true);
    exchange_says(x,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"" ACK "\",\"params\":{\"_meta\":{" TAG
                  "%.*s},\"notifications\":{}}}",
                  HF_FMT(x->body.items[0].msg.id));
}

TEST(a_remote_modern_server_is_listened_to_by_a_post_and_never_by_a_get)
{
    struct scene s = remote_modern();
    CHECK(exchanges(s.w, LISTEN) == 1 && exchanges(s.w, "GET") == 0);
    struct exchange *x = last_exchange(s.w, LISTEN);
    acknowledge_over_http(x);
    exchange_says(
        x, "{\"jsonrpc\":\"2.0\",\"method\":\"" CHANGED "\",\"params\":{\"_meta\":{" TAG "%.*s}}}",
        HF_FMT(x->body.items[0].msg.id));
    CHECK_EQ(exchanges(s.w, "tools/list"), 2);
}

TEST(a_remote_listening_that_breaks_loses_nothing_and_is_begun_again)
{
    struct scene s = remote_modern();
    struct exchange *x = last_exchange(s.w, LISTEN);
    acknowledge_over_http(x);
    exchange_marks(x, "e1", 10); /* no way back in this revision, whatever it says */
    exchange_breaks(x, HF_SENT_WHOLE);
    CHECK(IS(s.server, CONNECTED));
    advance(s.w, 999);
    CHECK(exchanges(s.w, LISTEN) == 1 && exchanges(s.w, "RESUME") == 0);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, LISTEN), 2);
    exchange_fails(last_exchange(s.w, LISTEN), 503);
    advance(s.w, 2000);
    CHECK_EQ(exchanges(s.w, LISTEN), 3);
    exchange_answers_error(last_exchange(s.w, LISTEN), 404,
                           "{\"code\":-32601,\"message\":\"Method not found\"}");
    advance(s.w, 3600000);
    CHECK(exchanges(s.w, LISTEN) == 3 && IS(s.server, CONNECTED));
    CHECK_EQ(spawns_of(s.w, s.server), 1);
}

TEST(a_remote_listening_that_is_replaced_is_ended_by_closing_its_stream)
{
    struct scene s = remote_modern();
    struct exchange *old = last_exchange(s.w, LISTEN);
    acknowledge_over_http(old);
    subscribe(s.client, 1, "subscribe", "a:1");
    REQUIRE_EQ(exchanges(s.w, LISTEN), 2);
    CHECK(!old->is_aborted);
    acknowledge_over_http(last_exchange(s.w, LISTEN));
    CHECK(old->is_aborted && exchanges(s.w, "notifications/cancelled") == 0);
    CHECK_EQ(open_exchanges(s.w, LISTEN), 1);
}
