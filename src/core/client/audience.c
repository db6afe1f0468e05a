/* audience.c - clients of the same endpoint (all servers, or one) under the same policy. They are
 * shown the same lists (view.c) and told of the same changes (subscription/list_changes.c). */
#include "core/client/audience.h"
#include "core/client/log_level.h"
#include "core/client/policy.h"
#include "core/client/view.h"
#include "core/engine.h"
#include "core/state/engine_state.h"
#include "core/state/session.h"

/* ---- coming and going ---- */

static void free_audience(struct hf_audience *audience)
{
    hf_audience_drop_views(audience);
    hf_audience_forget_names(audience);
    hf_policy_unref(audience->policy);
    hf_unlink(&audience->link);
    hf_unlink(&audience->mark);
    hf_free(audience);
}

static struct hf_audience *new_audience(struct hf_engine *engine, struct hf_server *only,
                                        struct hf_policy *policy)
{
    struct hf_audience *audience = hf_new(struct hf_audience);
    audience->engine = engine;
    audience->only = only;
    audience->policy = policy;
    if (policy)
        policy->refs++;
    hf_link_init(&audience->members);
    hf_link_init(&audience->greeted);
    hf_link_init(&audience->mark);
    hf_link_init(&audience->old_views);
    hf_list_push(&engine->audiences, &audience->link);
    return audience;
}

void hf_audience_join(struct hf_session *session)
{
    struct hf_engine *engine = session->engine;
    struct hf_audience *audience, *found = NULL;
    HF_LIST_EACH_SAFE (audience, &engine->audiences, struct hf_audience, link) {
        if (audience->only == session->only && audience->policy == session->policy)
            found = audience;
        else if (hf_list_empty(&audience->members) && audience->policy &&
                 audience->policy->refs == 1)
            free_audience(
                audience); /* only this audience still has the policy: its token is gone */
    }
    session->audience = found ? found : new_audience(engine, session->only, session->policy);
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        session->told[part] = engine->news_serial;
    session->listeners_told = engine->news_serial;
    hf_list_push(&session->audience->members, &session->in_audience);
}

void hf_audience_leave(struct hf_session *session)
{
    struct hf_audience *audience = session->audience;
    hf_session_set_level(session, -1);
    if (audience->next_to_tell == &session->in_audience)
        audience->next_to_tell = session->in_audience.next;
    hf_unlink(&session->in_audience);
    hf_unlink(&session->in_greeted);
    session->audience = NULL;
    /* 2: the session that is leaving and the audience itself have the policy, and nobody else */
    const bool is_of_no_use = (audience->only && audience->only->is_forgotten) ||
                              (audience->policy && audience->policy->refs <= 2);
    if (hf_list_empty(&audience->members) && is_of_no_use)
        free_audience(audience);
}

void hf_audience_greeted(struct hf_session *session)
{
    session->has_greeted = true;
    if (!hf_linked(&session->in_greeted))
        hf_list_push(&session->audience->greeted, &session->in_greeted);
}

void hf_audiences_forget(struct hf_engine *engine, const struct hf_server *only)
{
    struct hf_audience *audience;
    HF_LIST_EACH_SAFE (audience, &engine->audiences, struct hf_audience, link) {
        if (only && audience->only != only)
            continue;
        if (hf_list_empty(&audience->members))
            free_audience(audience);
        else
            hf_audience_drop_views(audience);
    }
}

bool hf_audience_sees(const struct hf_audience *audience, const struct hf_server *server)
{
    return (!audience->only || audience->only == server) &&
           hf_policy_allows_server(audience->policy, server->name);
}

/* ---- questions about a server's clients ---- */

struct hf_session *hf_audiences_sole_client(const struct hf_server *server)
{
    struct hf_session *sole = NULL;
    const struct hf_audience *audience;
    HF_LIST_EACH (audience, &server->engine->audiences, struct hf_audience, link) {
        const struct hf_link *greeted = &audience->greeted;
        if (hf_list_empty(greeted) || !hf_audience_sees(audience, server))
            continue;
        if (sole || greeted->next->next != greeted)
            return NULL;
        sole = HF_ITEM(greeted->next, struct hf_session, in_greeted);
    }
    return sole;
}

bool hf_audiences_have_client(const struct hf_server *server)
{
    const struct hf_audience *audience;
    HF_LIST_EACH (audience, &server->engine->audiences, struct hf_audience, link) {
        if (!hf_list_empty(&audience->greeted) && hf_audience_sees(audience, server))
            return true;
    }
    return false;
}
