/*
 * test_policy.c - what a client may see and use, by its token: lists, names and servers, decided
 * before anything waits, for each client by itself.
 */
#include "engine_fixture.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/runtime.h"
#include "core/state/server.h"
#include "core/state/session.h"

#define CALL       "tools/call"
#define GLOBS(...) ((const char *const[]) { __VA_ARGS__, NULL })

static struct client *client_with(struct world *w, struct hf_server *only, struct hf_policy *policy)
{
    struct client *c = open_client(w, only);
    hf_session_set_policy(c->session, policy);
    hf_policy_unref(policy); /* the session keeps it */
    client_requests(c, 0, "initialize", "{}");
    return c;
}

static bool lists(struct client *c, const char *method, const char *names)
{
    const struct hf_method *which = hf_method_find(hf_span_of(method));
    const char *member = which->id == HF_METHOD_TOOLS_LIST     ? "tools"
                         : which->id == HF_METHOD_PROMPTS_LIST ? "prompts"
                                                               : "resources";
    static int id = 1000;
    client_asks(c, ++id, method);
    const bool same = strcmp(names_in(c, id, member), names) == 0;
    if (!same)
        printf("# %s gave %s\n", method, names_in(c, id, member));
    return same;
}

/* Two servers, each with two tools and a prompt. */
static struct world *two_servers(struct hf_server *ret[2])
{
    struct world *w = world_new();
    ret[0] = add_server(w, "bank", default_settings());
    ret[1] = add_server(w, "files", default_settings());
    manners_of(w, ret[0])->tools = "[{\"name\":\"pay\"},{\"name\":\"look\"}]";
    manners_of(w, ret[0])->prompts = "[{\"name\":\"advice\"}]";
    manners_of(w, ret[1])->tools = "[{\"name\":\"read\"},{\"name\":\"erase\"}]";
    manners_of(w, ret[1])->resources = "[{\"uri\":\"file:///a\",\"name\":\"a\"}]";
    settle(w);
    return w;
}

TEST(clients_with_different_policies_see_different_lists_at_the_same_time)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *all = greeted_client(w, NULL);
    struct client *looker = client_with(w, NULL, hf_policy_new(NULL, GLOBS("*__look"), NULL));
    struct client *careful = client_with(
        w, NULL, hf_policy_new(NULL, NULL, GLOBS("bank__pay", "files__erase", "bank__advice")));
    struct client *filer = client_with(w, NULL, hf_policy_new(GLOBS("files"), NULL, NULL));
    struct client *clerk =
        client_with(w, NULL, hf_policy_new(NULL, GLOBS("bank__*"), GLOBS("*__pay")));
    for (int i = 0; i < 2; i++) { /* whoever asked before */
        CHECK(lists(all, "tools/list", "bank__pay,bank__look,files__read,files__erase"));
        CHECK(lists(looker, "tools/list", "bank__look"));
        CHECK(lists(careful, "tools/list", "bank__look,files__read"));
        CHECK(lists(filer, "tools/list", "files__read,files__erase"));
        CHECK(lists(clerk, "tools/list", "bank__look"));
        CHECK(lists(all, "prompts/list", "bank__advice") && lists(careful, "prompts/list", ""));
        CHECK(lists(filer, "resources/list", "a"));
    }
}

TEST(at_the_endpoint_of_one_server_a_policy_sees_its_names_without_the_prefix)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *c = client_with(w, servers[0], hf_policy_new(NULL, NULL, GLOBS("bank__pay")));
    CHECK(lists(c, "tools/list", "look"));
    client_calls(c, 1, "pay");
    client_calls(c, 2, "look");
    client_calls(c, 3, "p\\u0061y"); /* another spelling of the same name */
    CHECK(error_of(c, 1) == -31007 && error_of(c, 3) == -31007 && answers_to(c, 2) == 0);
    CHECK_EQ(child_got(newest_child(w, servers[0]), CALL), 1);
}

TEST(a_denied_name_is_refused_before_anything_waits)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "bank", default_settings());
    manners_of(w, server)->never_starts = true; /* so it has never been listed */
    struct client *alone = client_with(w, server, hf_policy_new(NULL, GLOBS("bank__look"), NULL));
    struct client *all = client_with(w, NULL, hf_policy_new(NULL, NULL, GLOBS("bank__pay")));
    client_calls(alone, 1, "pay");
    client_calls(all, 1, "bank__pay");
    CHECK(error_of(alone, 1) == -31007 && error_of(all, 1) == -31007);
    CHECK(data_is(all, 1, "dispatched", "false") && data_is(all, 1, "retry", "\"no\""));
    client_calls(alone, 2, "look");
    client_calls(all, 2, "bank__look");
    CHECK(answers_to(alone, 2) == 0 && answers_to(all, 2) == 0); /* these may wait */
    CHECK_EQ(status_of(server).waiting, 2);
}

TEST(a_denied_name_is_refused_in_every_state_of_its_server)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *c = client_with(w, NULL, hf_policy_new(NULL, NULL, GLOBS("bank__pay")));
    client_calls(c, 1, "bank__pay");
    manners_of(w, servers[0])->no_exec = true;
    child_dies(newest_child(w, servers[0]));
    client_calls(c, 2, "bank__pay"); /* reconnecting */
    operate(w, servers[0], HF_OP_DISABLE);
    client_calls(c, 3, "bank__pay");
    client_calls(c, 4, "bank__look");
    for (int id = 1; id <= 3; id++)
        CHECK_EQ(error_of(c, id), -31007);
    CHECK_EQ(error_of(c, 4), -31003);
}

TEST(a_hidden_server_is_not_there_in_any_respect)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *c = client_with(w, NULL, hf_policy_new(GLOBS("bank"), NULL, NULL));
    CHECK(!span_has(answer_to(c, 0)->msg.result, "files"));
    CHECK(span_has(answer_to(c, 0)->msg.result, "# bank"));
    client_calls(c, 1, "files__read");
    CHECK(error_of(c, 1) == -32602 && !span_has(answer_to(c, 1)->msg.error, "\"data\""));
    client_requests(c, 2, "resources/read", "{\"uri\":\"file:///a\"}");
    CHECK_EQ(error_of(c, 2), -32002);
    CHECK(lists(c, "resources/list", ""));
    manners_of(w, servers[1])->tools = "[]";
    newest_child(w, servers[1])->manners.tools = "[]";
    const size_t news = heard(c, "notifications/tools/list_changed");
    child_says(newest_child(w, servers[1]),
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_EQ(heard(c, "notifications/tools/list_changed"), news);
    CHECK_EQ(child_got(newest_child(w, servers[1]), "resources/read"), 0);
}

TEST(nothing_reaches_a_server_that_a_client_may_not_use_whatever_it_asks)
{
    static const char *const requests[] = {
        "\"method\":\"tools/call\",\"params\":{\"name\":\"pay\"}",
        "\"method\":\"prompts/get\",\"params\":{\"name\":\"advice\"}",
        "\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///a\"}",
        "\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}",
        "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}",
        "\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"name\":"
        "\"advice\"}}",
        "\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":"
        "\"file:///a\"}}",
        "\"method\":\"something/else\"",
    };
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *c = client_with(w, servers[0], hf_policy_new(GLOBS("files"), NULL, NULL));
    const size_t before = newest_child(w, servers[0])->got.count;
    for (int i = 0; i < (int)(sizeof requests / sizeof *requests); i++) {
        client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%d,%s}", i + 1, requests[i]);
        CHECK(error_of(c, i + 1) == -31007 || error_of(c, i + 1) == -32602);
    }
    client_says(c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
    CHECK_EQ(newest_child(w, servers[0])->got.count, before);
}

TEST(a_policy_speaks_of_a_servers_own_names_whatever_they_were_renamed_to)
{
    static const struct hf_rename renames[] = { { { "pay", 3 }, { "settle", 6 } } };
    struct world *w = world_new();
    struct hf_server *server =
        add_spec(w, &(struct hf_server_spec) { .name = "bank",
                                               .settings = default_settings(),
                                               .renames = renames,
                                               .rename_count = 1 });
    manners_of(w, server)->tools = "[{\"name\":\"pay\"},{\"name\":\"look\"}]";
    settle(w);
    struct client *none = greeted_client(w, NULL);
    struct client *c = client_with(w, NULL, hf_policy_new(NULL, NULL, GLOBS("bank__pay")));
    CHECK(lists(none, "tools/list", "bank__settle,bank__look"));
    CHECK(lists(c, "tools/list", "bank__look"));
    client_calls(c, 1, "bank__settle");
    client_calls(c, 2, "bank__pay");
    CHECK(error_of(c, 1) != 0 && error_of(c, 2) == -31007);
    CHECK_EQ(child_got(newest_child(w, server), CALL), 0);
}

TEST(what_the_server_denies_a_policy_cannot_allow)
{
    struct world *w = world_new();
    struct hf_server *server =
        add_spec(w, &(struct hf_server_spec) {
                        .name = "bank", .settings = default_settings(), .deny = GLOBS("pay") });
    manners_of(w, server)->tools = "[{\"name\":\"pay\"},{\"name\":\"look\"}]";
    settle(w);
    struct client *c = client_with(w, NULL, hf_policy_new(NULL, GLOBS("bank__*"), NULL));
    CHECK(lists(c, "tools/list", "bank__look"));
    client_calls(c, 1, "bank__pay");
    CHECK_EQ(error_of(c, 1), -31007);
}

TEST(names_that_were_given_keep_resolving_and_denied_ones_stay_denied_after_a_change)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *c = client_with(w, NULL, hf_policy_new(NULL, NULL, GLOBS("bank__pay")));
    CHECK(lists(c, "tools/list", "bank__look,files__read,files__erase"));
    manners_of(w, servers[0])->tools = "[{\"name\":\"pay\"},{\"name\":\"new\"}]";
    operate(w, servers[0], HF_OP_RESTART);
    client_calls(c, 1, "bank__look"); /* it had that name from us */
    client_calls(c, 2, "bank__pay");
    CHECK(answers_to(c, 1) == 0 && error_of(c, 2) == -31007);
    CHECK(lists(c, "tools/list", "bank__new,files__read,files__erase"));
}

TEST(a_policy_that_nobody_has_any_more_leaves_nothing_behind)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    size_t audiences = 0;
    for (int i = 0; i < 6; i++) {
        struct client *c = client_with(w, NULL, hf_policy_new(NULL, GLOBS("bank__*"), NULL));
        CHECK(lists(c, "tools/list", "bank__pay,bank__look"));
        client_leaves(c);
    }
    for (const struct hf_link *at = w->engine->audiences.next; at != &w->engine->audiences;
         at = at->next)
        audiences++;
    CHECK(audiences <= 1);
}

TEST(a_list_made_by_a_policy_is_said_to_be_for_nobody_else)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *all = open_client(w, NULL), *looker = open_client(w, NULL);
    struct hf_policy *policy = hf_policy_new(NULL, GLOBS("*__look"), NULL);
    hf_session_set_policy(looker->session, policy);
    hf_policy_unref(policy);
    for (int i = 0; i < 2; i++)
        client_requests(
            i ? looker : all, 1, "tools/list",
            "{\"_meta\":{\"io.modelcontextprotocol/"
            "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}");
    REQUIRE(has_result(all, 1) && has_result(looker, 1));
    CHECK(span_has(answer_to(all, 1)->msg.result, "\"cacheScope\":\"public\""));
    CHECK(span_has(answer_to(looker, 1)->msg.result, "\"cacheScope\":\"private\""));
}

TEST(policies_are_the_same_if_they_say_the_same)
{
    struct hf_policy *a = hf_policy_new(GLOBS("s"), GLOBS("a", "b"), NULL);
    struct hf_policy *b = hf_policy_new(GLOBS("s"), GLOBS("a", "b"), NULL);
    struct hf_policy *c = hf_policy_new(GLOBS("s"), GLOBS("a"), NULL);
    struct hf_policy *d = hf_policy_new(NULL, GLOBS("a", "b"), NULL);
    struct hf_policy *e = hf_policy_new(GLOBS("s"), GLOBS("a", "b"), GLOBS("c"));
    CHECK(hf_policy_same(a, b) && !hf_policy_same(a, c) && !hf_policy_same(a, d));
    CHECK(!hf_policy_same(a, e) && !hf_policy_same(e, b) && hf_policy_same(e, e));
    CHECK(hf_policy_same(NULL, NULL) && !hf_policy_same(a, NULL) && !hf_policy_same(NULL, a));
    CHECK(hf_policy_allows_server(NULL, "x") && hf_policy_allows_server(d, "x"));
    CHECK(hf_policy_allows_server(a, "s") && !hf_policy_allows_server(a, "t"));
    hf_policy_unref(a);
    hf_policy_unref(b);
    hf_policy_unref(c);
    hf_policy_unref(d);
    hf_policy_unref(e);
    hf_policy_unref(NULL);
}

/* ---- news ---- */

#define CHANGED "notifications/tools/list_changed"

static void now_lists(struct world *w, const struct hf_server *server, const char *tools)
{
    struct child *child = newest_child(w, server);
    child->manners.tools = tools;
    child_says(child, "{\"jsonrpc\":\"2.0\",\"method\":\"" CHANGED "\"}");
}

TEST(a_client_hears_of_a_changed_list_only_if_its_own_has_changed)
{
    struct hf_server *servers[2];
    struct world *w = two_servers(servers);
    struct client *all = greeted_client(w, NULL);
    struct client *some[] = {
        client_with(w, NULL, hf_policy_new(NULL, GLOBS("*__look"), NULL)),
        client_with(w, NULL, hf_policy_new(NULL, NULL, GLOBS("bank__pay*"))),
        client_with(w, servers[0], hf_policy_new(NULL, NULL, GLOBS("bank__pay*"))),
    };
    CHECK(lists(all, "tools/list", "bank__pay,bank__look,files__read,files__erase"));
    CHECK(lists(some[0], "tools/list", "bank__look") && lists(some[2], "tools/list", "look"));
    CHECK(lists(some[1], "tools/list", "bank__look,files__read,files__erase"));
    now_lists(w, servers[0], "[{\"name\":\"pay\",\"title\":\"Pay\"},{\"name\":\"look\"}]");
    now_lists(w, servers[0], "[{\"name\":\"pay\"},{\"name\":\"pay2\"},{\"name\":\"look\"}]");
    CHECK_EQ(heard(all, CHANGED), 2);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(heard(some[i], CHANGED), 0);
    now_lists(w, servers[0], "[{\"name\":\"pay\"},{\"name\":\"look\",\"title\":\"Look\"}]");
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(heard(some[i], CHANGED), 1);
    CHECK(operate(w, servers[0], HF_OP_DISABLE)); /* what is not there any more has changed */
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(heard(some[i], CHANGED), 2);
}

TEST(a_change_that_the_config_hides_is_no_news_to_anybody)
{
    struct world *w = world_new();
    struct hf_server *server =
        add_spec(w, &(struct hf_server_spec) {
                        .name = "bank", .settings = default_settings(), .deny = GLOBS("pay") });
    manners_of(w, server)->tools = "[{\"name\":\"look\"}]";
    settle(w);
    struct client *c = greeted_client(w, NULL), *unlisted = greeted_client(w, NULL);
    CHECK(lists(c, "tools/list", "bank__look"));
    now_lists(w, server, "[{\"name\":\"look\"},{\"name\":\"pay\"}]");
    CHECK_EQ(heard(c, CHANGED), 0);
    CHECK_EQ(heard(unlisted, CHANGED), 1); /* nobody knows what it has seen */
    now_lists(w, server, "[{\"name\":\"pay\"}]");
    CHECK(heard(c, CHANGED) == 1 && lists(c, "tools/list", ""));
}
