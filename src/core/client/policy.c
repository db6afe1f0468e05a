/* policy.c - what a client may see and use, by its token. This is decided before a call waits for
 * its server. */
#include "core/client/policy.h"
#include "base/glob.h"
#include "base/strings.h"
#include "core/client/audience.h"
#include "core/engine.h"
#include "core/outbox.h"
#include "core/state/session.h"

static char **copy_of(const char *const *globs)
{
    return globs ? hf_strings_copy((char *const *)(uintptr_t)globs) : NULL;
}

struct hf_policy *hf_policy_new(const char *const *servers, const char *const *allow,
                                const char *const *deny)
{
    struct hf_policy *policy = hf_new(struct hf_policy);
    *policy = (struct hf_policy) { 1, copy_of(servers), copy_of(allow), copy_of(deny) };
    return policy;
}

void hf_policy_unref(struct hf_policy *policy)
{
    if (!policy || --policy->refs > 0)
        return;
    hf_strings_free(policy->servers);
    hf_strings_free(policy->allow);
    hf_strings_free(policy->deny);
    hf_free(policy);
}

static bool same(char *const *a, char *const *b)
{
    return !a == !b && hf_strings_same(a, b);
}

bool hf_policy_same(const struct hf_policy *a, const struct hf_policy *b)
{
    if (!a || !b)
        return a == b;
    return same(a->servers, b->servers) && same(a->allow, b->allow) && same(a->deny, b->deny);
}

void hf_session_set_policy(struct hf_session *session, struct hf_policy *policy)
{
    policy->refs++;
    hf_audience_leave(session);
    hf_policy_unref(session->policy);
    session->policy = policy;
    hf_audience_join(session);
}

bool hf_policy_allows_server(const struct hf_policy *policy, const char *name)
{
    return !policy || !policy->servers || hf_glob_any(policy->servers, hf_span_of(name));
}

bool hf_policy_allows(const struct hf_policy *policy, const struct hf_server *server,
                      struct hf_span own_name)
{
    if (!policy)
        return true;
    if (!hf_policy_allows_server(policy, server->name))
        return false;
    struct hf_buf full = hf_draft();
    hf_buf_printf(&full, "%s__", server->name);
    hf_buf_add(&full, own_name);
    const struct hf_span name = hf_buf_span(&full);
    const bool allowed = (!policy->allow || hf_glob_any(policy->allow, name)) &&
                         !(policy->deny && hf_glob_any(policy->deny, name));
    hf_buf_done(&full);
    return allowed;
}
