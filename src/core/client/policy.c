/* policy.c - what a client may see and use, by its token. This is decided before a call waits for
 * its server. */
#include "core/client/policy.h"
#include "core/client/audience.h"
#include "core/engine.h"
#include "core/outbox.h"
#include "core/state/session.h"

struct hf_policy *hf_policy_new(const char *const *servers, const char *const *allow,
                                const char *const *deny)
{
    struct hf_policy *policy = hf_new(struct hf_policy);
    *policy = (struct hf_policy) {
        .refs = 1,
        .servers = hf_filter_copy(servers, NULL),
        .names = hf_filter_copy(allow, deny),
    };
    return policy;
}

void hf_policy_unref(struct hf_policy *policy)
{
    if (!policy || --policy->refs > 0)
        return;
    hf_filter_done(&policy->servers);
    hf_filter_done(&policy->names);
    hf_free(policy);
}

bool hf_policy_same(const struct hf_policy *a, const struct hf_policy *b)
{
    if (!a || !b)
        return a == b;
    return hf_filter_same(&a->servers, &b->servers) && hf_filter_same(&a->names, &b->names);
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
    return !policy || hf_filter_allows(&policy->servers, hf_span_of(name));
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
    const bool allowed = hf_filter_allows(&policy->names, hf_buf_span(&full));
    hf_buf_done(&full);
    return allowed;
}
