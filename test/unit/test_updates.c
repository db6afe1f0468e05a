/*
 * test_updates.c - resources/subscribe of legacy clients: whose update reaches whom, and that one
 * among many costs no more than one alone; and that a crowd of followers is told in portions.
 */
#include "core/subscription/subscription.h"
#include "engine_fixture.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define UPDATED "notifications/resources/updated"

static struct scene legacy_scene(void)
{
    struct scene s = { .w = world_new() };
    s.server = add_server(s.w, "s", default_settings());
    manners_of(s.w, s.server)->resources = "[]";
    settle(s.w);
    s.client = greeted_client(s.w, s.server);
    s.first = newest_child(s.w, s.server);
    return s;
}

/* The server does what it is asked, if it is asked at all. */
static void ask(const struct scene *s, struct client *c, const char *verb, const char *uri)
{
    static int id = 100;
    char method[32];
    (void)snprintf(method, sizeof method, "resources/%s", verb);
    const size_t before = child_got(s->first, method);
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"uri\":\"%s\"}}",
                ++id, method, uri);
    if (child_got(s->first, method) > before)
        child_answers(s->first, method, "{}");
}

static void update(struct child *child, const char *uri)
{
    child_says(child,
               "{\"jsonrpc\":\"2.0\",\"method\":\"" UPDATED "\",\"params\":{\"uri\":\"%s\"}}", uri);
}

TEST(an_update_is_of_a_part_where_a_path_a_query_or_a_fragment_begins)
{
    static const struct {
        const char *wanted, *updated;
        bool is_heard;
    } rows[] = {
        { "a:b", "a:b", true },       { "a:b", "a:bc", false },       { "a:b", "a:b/c", true },
        { "a:b", "a:b?c", true },     { "a:b", "a:b#c", true },       { "a:b?c", "a:b", false },
        { "a:b?c", "a:b?cd", false }, { "a:b?c", "a:b?c#d", true },   { "a:", "a:b", false },
        { "a:/", "a:/b", true },      { "a:/b/", "a:/b/c/d", true },  { "a:/b/", "a:/b", false },
        { "a:/b", "a:/b/", true },    { "a://", "a:///b", true },     { "a:b/c", "a:b/d", false },
        { "", "a:b", false },         { "a:\\\"", "a:\\\"/b", true }, { "a:\\\"", "a:b", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = legacy_scene();
        ask(&s, s.client, "subscribe", rows[i].wanted);
        update(s.first, rows[i].updated);
        const bool as_said = heard(s.client, UPDATED) == rows[i].is_heard;
        if (!as_said)
            printf("# %s, updated %s\n", rows[i].wanted, rows[i].updated);
        CHECK(as_said);
        world_end(s.w);
    }
}

/* If each piece were looked up by hashing the URI from its start, this would take minutes. */
TEST(an_update_of_a_uri_of_many_pieces_costs_its_length)
{
    enum { PIECES = 500000 };
    struct scene s = legacy_scene();
    char *uri = malloc(2 * PIECES + 3);
    if (!uri)
        abort();
    memcpy(uri, "a:", 3);
    for (size_t i = 0; i < PIECES; i++)
        memcpy(uri + 2 + 2 * i, "/x", 3);
    ask(&s, s.client, "subscribe", uri);
    update(s.first, uri);
    CHECK(heard(s.client, UPDATED) == 1);
    free(uri);
    world_end(s.w);
}

TEST(each_of_many_subscriptions_is_asked_for_once_and_taken_back_once)
{
    enum { COUNT = 600 }; /* half of them are more than are looked at one by one */
    struct scene s = legacy_scene();
    char uri[32];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(uri, sizeof uri, "a:%d", i);
        ask(&s, s.client, "subscribe", uri);
    }
    CHECK(child_got(s.first, "resources/subscribe") == COUNT);
    for (int i = 0; i < COUNT; i += 2) {
        (void)snprintf(uri, sizeof uri, "a:%d", i);
        ask(&s, s.client, "unsubscribe", uri);
        update(s.first, uri);
    }
    CHECK(child_got(s.first, "resources/unsubscribe") == COUNT / 2);
    CHECK(heard(s.client, UPDATED) == 0);
    update(s.first, "a:599/x");
    CHECK(heard(s.client, UPDATED) == 1);
    client_leaves(s.client);
    CHECK(child_got(s.first, "resources/subscribe") == COUNT);
    CHECK(child_got(s.first, "resources/unsubscribe") == COUNT);
    world_end(s.w);
}

TEST(the_last_of_many_who_follow_one_resource_takes_it_back)
{
    enum { COUNT = CLIENTS_MAX - 1 };
    struct scene s = legacy_scene();
    struct client *clients[COUNT];
    for (int i = 0; i < COUNT; i++) {
        clients[i] = greeted_client(s.w, s.server);
        ask(&s, clients[i], "subscribe", "a:1");
        ask(&s, clients[i], "subscribe", "a:1"); /* again, which is the same */
    }
    update(s.first, "a:1");
    advance(s.w, 1); /* they are more than are told in one turn */
    for (int i = 0; i < COUNT; i++)
        CHECK(heard(clients[i], UPDATED) == 1);
    for (int i = 0; i < COUNT - 1; i++)
        ask(&s, clients[i], "unsubscribe", "a:1");
    CHECK(child_got(s.first, "resources/unsubscribe") == 0);
    update(s.first, "a:1");
    CHECK(heard(clients[0], UPDATED) == 1 && heard(clients[COUNT - 1], UPDATED) == 2);
    ask(&s, clients[COUNT - 1], "unsubscribe", "a:1");
    CHECK(child_got(s.first, "resources/unsubscribe") == 1);
    world_end(s.w);
}

/* ---- a crowd ---- */

enum { CROWD = 3 * HF_UPDATE_FOLLOWERS_A_TURN - 10 };

static void listen_as(struct client *c, int id, const char *uri)
{
    client_says_via(c, (uint64_t)id,
                    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"subscriptions/listen\",\"params\":"
                    "{" META ",\"notifications\":{\"resourceSubscriptions\":[\"%s\"]}}}",
                    id, uri);
}

/* Modern clients share a session: each has a listener in it. */
static struct scene crowd_scene(void)
{
    struct scene s =
        lone_server(default_settings(), MANNERS(.resources = "[{\"uri\":\"a:1\",\"name\":\"r\"}]"));
    s.client = open_client(s.w, s.server);
    for (int id = 1; id <= CROWD; id++)
        listen_as(s.client, id, "a:1");
    return s;
}

static size_t told_via(const struct client *c, uint64_t via)
{
    size_t count = 0;
    for (size_t i = 0; i < c->got.count; i++)
        count += c->got.items[i].via == via && hf_span_is(c->got.items[i].msg.method, UPDATED);
    return count;
}

TEST(a_crowd_is_told_of_an_update_in_portions_each_follower_once)
{
    struct scene s = crowd_scene();
    update(s.first, "a:1");
    CHECK_EQ(heard(s.client, UPDATED), HF_UPDATE_FOLLOWERS_A_TURN);
    advance(s.w, 1);
    CHECK_EQ(heard(s.client, UPDATED), 2 * HF_UPDATE_FOLLOWERS_A_TURN);
    advance(s.w, 1);
    CHECK_EQ(heard(s.client, UPDATED), CROWD);
    advance(s.w, 100);
    for (uint64_t via = 1; via <= CROWD; via++)
        CHECK_EQ(told_via(s.client, via), 1);
}

TEST(an_update_that_comes_while_a_crowd_is_told_reaches_all_of_it_and_one_that_waits_is_told_once)
{
    struct scene s = crowd_scene();
    for (int i = 0; i < 5; i++)
        update(s.first, "a:1");
    advance(s.w, 100);
    for (uint64_t via = 1; via <= CROWD; via++)
        CHECK_EQ(told_via(s.client, via), 2);
}

TEST(followers_that_leave_while_a_crowd_is_told_are_not_told_and_the_others_are)
{
    struct scene s = crowd_scene();
    update(s.first, "a:1");
    const uint64_t next = HF_UPDATE_FOLLOWERS_A_TURN + 1;
    for (uint64_t via = next; via < next + 5; via++)
        client_cancels(s.client, (int)via);
    advance(s.w, 100);
    for (uint64_t via = 1; via <= CROWD; via++)
        CHECK_EQ(told_via(s.client, via), via < next || via >= next + 5);
}

TEST(more_updates_than_may_wait_are_all_told)
{
    enum { MORE = HF_UPDATES_MAX + 10 };
    struct scene s = crowd_scene();
    char uri[32];
    for (int i = 0; i < MORE; i++) {
        (void)snprintf(uri, sizeof uri, "a:1/%d", i);
        update(s.first, uri);
    }
    advance(s.w, 1000);
    CHECK_EQ(heard(s.client, UPDATED), MORE * CROWD);
}

TEST(updates_that_wait_go_with_their_server)
{
    struct scene s = crowd_scene();
    update(s.first, "a:1");
    operate(s.w, s.server, HF_OP_REMOVE);
    advance(s.w, 60000);
    CHECK(heard(s.client, UPDATED) >= HF_UPDATE_FOLLOWERS_A_TURN);
}
