/* test_policy_resources.c - allow and deny of a token cover tools, prompts, resources and
 * templates, by name and by URI, in every method that names one. */
#include "engine_fixture.h"
#include "core/engine.h"

#define GLOBS(...) ((const char *const[]) { __VA_ARGS__, NULL })

/* ---- one server with two of everything: one that is open, and one that is secret ---- */

static struct scene archive(void)
{
    struct scene s = { .w = world_new() };
    s.server = add_server(s.w, "files", default_settings());
    struct manners *manners = manners_of(s.w, s.server);
    manners->tools = "[{\"name\":\"open\"},{\"name\":\"secret\"}]";
    manners->prompts = "[{\"name\":\"open\"},{\"name\":\"secret\"}]";
    manners->resources = "[{\"uri\":\"doc:///open\",\"name\":\"open\"},"
                         "{\"uri\":\"doc:///hidden/x\",\"name\":\"secret\"}]";
    manners->templates = "[{\"uriTemplate\":\"log:///{day}\",\"name\":\"open\"},"
                         "{\"uriTemplate\":\"vault:///{key}\",\"name\":\"secret\"}]";
    manners->capabilities = "{\"tools\":{},\"prompts\":{},\"resources\":{\"subscribe\":true},"
                            "\"completions\":{}}";
    settle(s.w);
    s.first = newest_child(s.w, s.server);
    return s;
}

static struct client *client_with(const struct scene *s, bool at_server, struct hf_policy *policy)
{
    struct client *c = open_client(s->w, at_server ? s->server : NULL);
    hf_session_set_policy(c->session, policy);
    hf_policy_unref(policy);
    client_requests(c, 0, "initialize", "{}");
    return c;
}

/* Every way to say the same: the secret half of the archive is not to be had. */
static struct hf_policy *policy_number(int which)
{
    switch (which) {
    case 0: return hf_policy_new(NULL, NULL, GLOBS("files__secret"));
    case 1:
        return hf_policy_new(NULL, NULL, GLOBS("files__secret", "doc:///hidden/*", "vault:///*"));
    case 2: return hf_policy_new(NULL, GLOBS("*__open"), NULL);
    case 3: return hf_policy_new(NULL, GLOBS("files__open", "doc:///open", "log:///*"), NULL);
    case 4:
        return hf_policy_new(NULL, NULL,
                             GLOBS("files__secret", "files__doc:///hidden/*", "files__vault:*"));
    default: return NULL;
    }
}
enum { POLICIES = 5 };

static const struct {
    const char *method, *params; /* %s: tool or prompt */
    bool is_open;
} requests[] = {
    { "tools/call", "{\"name\":\"%sopen\"}", true },
    { "tools/call", "{\"name\":\"%ssecret\"}", false },
    { "prompts/get", "{\"name\":\"%sopen\"}", true },
    { "prompts/get", "{\"name\":\"%ssecret\"}", false },
    { "resources/read", "{\"uri\":\"doc:///open\"}", true },
    { "resources/read", "{\"uri\":\"doc:///hidden/x\"}", false },
    { "resources/read", "{\"uri\":\"doc:///h\\u0069dden/x\"}", false }, /* the same, escaped */
    { "resources/read", "{\"uri\":\"log:///monday\"}", true },
    { "resources/read", "{\"uri\":\"vault:///1\"}", false },
    { "resources/subscribe", "{\"uri\":\"doc:///open\"}", true },
    { "resources/subscribe", "{\"uri\":\"doc:///hidden/x\"}", false },
    { "resources/subscribe", "{\"uri\":\"vault:///1\"}", false },
    { "resources/unsubscribe", "{\"uri\":\"doc:///hidden/x\"}", false },
    { "completion/complete", "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"%sopen\"}}", true },
    { "completion/complete", "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"%ssecret\"}}", false },
    { "completion/complete", "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"log:///{day}\"}}",
      true },
    { "completion/complete", "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"vault:///{key}\"}}",
      false },
};
enum { REQUESTS = sizeof requests / sizeof *requests };

TEST(what_a_token_may_not_use_is_refused_in_every_method_and_never_reaches_its_server)
{
    for (int which = 0; which < POLICIES; which++)
        for (int at_server = 0; at_server < 2; at_server++) {
            struct scene s = archive();
            struct client *c = client_with(&s, at_server, policy_number(which));
            for (int i = 0; i < REQUESTS; i++) {
                char params[200];
                const size_t before = child_got(s.first, requests[i].method);
                (void)snprintf(params, sizeof params, requests[i].params,
                               at_server ? "" : "files__");
                client_requests(c, i + 1, requests[i].method, params);
                const bool went = child_got(s.first, requests[i].method) > before;
                CHECK_EQ(went, requests[i].is_open);
                CHECK_EQ(error_of(c, i + 1), requests[i].is_open ? 0 : -31007);
                if (went != requests[i].is_open)
                    printf("# policy %d, %s %s\n", which, requests[i].method, params);
            }
            world_end(s.w);
        }
}

TEST(what_a_token_may_not_use_stands_in_none_of_its_lists)
{
    static const struct {
        const char *method;
        const char *open;
    } lists[] = { { "tools/list", "open" },
                  { "prompts/list", "open" },
                  { "resources/list", "doc:///open" },
                  { "resources/templates/list", "log:///{day}" } };
    for (int which = 0; which < POLICIES; which++) {
        struct scene s = archive();
        struct client *c = client_with(&s, false, policy_number(which));
        for (int i = 0; i < 4; i++) {
            client_asks(c, 100 + i, lists[i].method);
            const struct hf_span list = answer_to(c, 100 + i)->msg.result;
            CHECK(span_has(list, lists[i].open) && !span_has(list, "secret"));
        }
        world_end(s.w);
    }
}

TEST(a_subscription_tells_nothing_of_what_lies_below_it_and_is_denied)
{
    struct scene s = archive();
    struct client *c =
        client_with(&s, false, hf_policy_new(NULL, NULL, GLOBS("doc:///open/inner*")));
    client_requests(c, 1, "resources/subscribe", "{\"uri\":\"doc:///open\"}");
    child_answers(s.first, "resources/subscribe", "{}");
    child_notifies(s.first, "notifications/resources/updated", "{\"uri\":\"doc:///open/inner/1\"}");
    CHECK_EQ(heard(c, "notifications/resources/updated"), 0);
    child_notifies(s.first, "notifications/resources/updated", "{\"uri\":\"doc:///open/outer\"}");
    CHECK_EQ(heard(c, "notifications/resources/updated"), 1);
}

TEST(a_resource_that_nobody_lists_is_asked_only_of_servers_where_it_is_allowed)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    manners_of(w, a)->resources = manners_of(w, b)->resources = "[]";
    settle(w);
    struct scene s = { .w = w };
    struct client *c = client_with(&s, false, hf_policy_new(NULL, NULL, GLOBS("a__*")));
    client_requests(c, 1, "resources/read", "{\"uri\":\"x:///1\"}");
    CHECK_EQ(child_got(newest_child(w, a), "resources/read"), 0);
    CHECK_EQ(child_got(newest_child(w, b), "resources/read"), 1);
    child_answers_error(newest_child(w, b), "resources/read", -32002, "no");
    CHECK_EQ(child_got(newest_child(w, a), "resources/read"), 0);
    struct client *none = client_with(&s, false, hf_policy_new(NULL, GLOBS("c__*"), NULL));
    client_requests(none, 1, "resources/read", "{\"uri\":\"x:///1\"}");
    CHECK_EQ(error_of(none, 1), -31007);
}
