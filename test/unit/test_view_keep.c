/* test_view_keep.c - lists that clients were given before are kept as names alone, and all lists
 * together are bounded (core/client/view_keep.c). */
#include "core/state/engine_state.h"
#include "core/state/session.h"
#include "engine_fixture.h"

enum { TOOLS = 10, CLIENTS = 200 };

/* A list of about 20 kB that is another one each time: all its names begin with `word`. */
static const char *tools_of(char *room, size_t size, const char *word, int version)
{
    size_t n = 0;
    for (int i = 0; i < TOOLS; i++)
        n += (size_t)snprintf(room + n, size - n,
                              "%c{\"name\":\"%s%d_%d\",\"description\":\"%2000s\"}", i ? ',' : '[',
                              word, version, i, "words");
    (void)snprintf(room + n, size - n, "]");
    return room;
}

static void change(struct world *w, const struct hf_server *server, const char *tools)
{
    manners_of(w, server)->tools = tools;
    newest_child(w, server)->manners.tools = tools;
    child_notifies(newest_child(w, server), "notifications/tools/list_changed", "{}");
    settle(w);
}

static struct client *client_with_policy(struct world *w)
{
    static const char *const all[] = { "*", NULL };
    struct client *c = open_client(w, NULL);
    struct hf_policy *policy = hf_policy_new(NULL, all, NULL);
    hf_session_set_policy(c->session, policy);
    hf_policy_unref(policy);
    client_requests(c, 0, "initialize", "{}");
    return c;
}

static bool resolves(struct client *c, int id, const char *word, int version)
{
    char name[64];
    (void)snprintf(name, sizeof name, "s__%s%d_7", word, version);
    client_calls(c, id, name);
    return answers_to(c, id) == 0; /* it is with the server, which does not answer */
}

TEST(a_list_that_changes_at_each_look_costs_clients_with_policies_of_their_own_a_bounded_amount)
{
    struct world *w = world_new_with(LIMITS(.max_buffered_bytes = 320 << 10));
    struct hf_server *s = add_server(w, "s", default_settings());
    static char room[2][64 << 10];
    struct client *clients[CLIENTS];
    manners_of(w, s)->tools = tools_of(room[0], sizeof room[0], "t", 0);
    settle(w);
    uint64_t most = 0;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = client_with_policy(w);
        change(w, s, tools_of(room[i & 1], sizeof room[0], "t", i + 1));
        client_asks(clients[i], 1, "tools/list");
        CHECK(has_result(clients[i], 1));
        most = w->engine->view_bytes > most ? w->engine->view_bytes : most;
    }
    CHECK(most <= (160 << 10) + (64 << 10)); /* half of maxBufferedBytes, and the last list */
    CHECK(most > 120 << 10);
    CHECK(resolves(clients[CLIENTS - 2], 2, "t", CLIENTS - 1)); /* the names it was last given */
    CHECK(resolves(clients[0], 2, "t", CLIENTS));               /* as for one that never listed */
    CHECK(!resolves(clients[0], 3, "t", 1) && error_of(clients[0], 3) == -32602);
}

TEST(of_an_old_list_only_the_names_are_kept_and_nothing_when_its_client_lists_again)
{
    struct world *w = world_new();
    struct hf_server *s = add_server(w, "s", default_settings());
    static char room[2][64 << 10];
    manners_of(w, s)->tools = tools_of(room[0], sizeof room[0], "t", 0);
    settle(w);
    struct client *c = greeted_client(w, NULL), *other = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    const uint64_t one = w->engine->view_bytes;
    change(w, s, tools_of(room[1], sizeof room[1], "t", 1));
    client_asks(other, 1, "tools/list");
    CHECK(w->engine->view_bytes > one && w->engine->view_bytes < one + one / 2);
    CHECK(resolves(c, 2, "t", 0));
    client_asks(c, 3, "tools/list");
    CHECK(w->engine->view_bytes > one - 1000 && w->engine->view_bytes < one + 1000);
    CHECK(!resolves(c, 4, "t", 0) && resolves(c, 5, "t", 1));
}

TEST(a_list_that_was_dropped_for_others_and_is_built_again_is_no_news)
{
    struct world *w = world_new_with(LIMITS(.max_buffered_bytes = 300 << 10));
    struct hf_server *s = add_server(w, "s", default_settings());
    struct hf_server *hidden = add_server(w, "hidden", default_settings());
    static const char *const only_s[] = { "s", NULL };
    static char room[64 << 10];
    manners_of(w, s)->tools = tools_of(room, sizeof room, "t", 0);
    settle(w);
    struct client *c = open_client(w, NULL), *others[8];
    struct hf_policy *policy = hf_policy_new(only_s, NULL, NULL);
    hf_session_set_policy(c->session, policy);
    hf_policy_unref(policy);
    client_requests(c, 0, "initialize", "{}");
    client_asks(c, 1, "tools/list");
    for (int i = 0; i < 8; i++) { /* their lists take the place of this client's */
        others[i] = client_with_policy(w);
        client_asks(others[i], 1, "tools/list");
    }
    const size_t news = heard(c, "notifications/tools/list_changed");
    change(w, hidden, "[{\"name\":\"another\"}]");
    advance(w, 1000);
    CHECK_EQ(heard(c, "notifications/tools/list_changed"), news);
    CHECK(heard(others[7], "notifications/tools/list_changed") > 0);
    CHECK(resolves(c, 2, "t", 0));
}
