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

static void free_door(struct hf_audience *door)
{
    hf_audience_drop_views(door);
    hf_policy_unref(door->policy);
    hf_unlink(&door->link);
    hf_unlink(&door->mark);
    hf_free(door);
}

static struct hf_audience *new_door(struct hf_engine *engine, struct hf_server *only,
                                    struct hf_policy *policy)
{
    struct hf_audience *door = hf_new(struct hf_audience);
    door->engine = engine;
    door->only = only;
    door->policy = policy;
    if (policy)
        policy->refs++;
    hf_link_init(&door->members);
    hf_link_init(&door->greeted);
    hf_link_init(&door->mark);
    hf_list_push(&engine->audiences, &door->link);
    return door;
}

void hf_audience_join(struct hf_session *session)
{
    struct hf_engine *engine = session->engine;
    struct hf_audience *door, *found = NULL;
    HF_LIST_EACH_SAFE (door, &engine->audiences, struct hf_audience, link) {
        if (door->only == session->only && door->policy == session->policy)
            found = door;
        else if (hf_list_empty(&door->members) && door->policy && door->policy->refs == 1)
            free_door(door); /* only this audience still has the policy: its token is gone */
    }
    session->audience = found ? found : new_door(engine, session->only, session->policy);
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        session->told[part] = engine->news_serial;
    session->listeners_told = engine->news_serial;
    hf_list_push(&session->audience->members, &session->in_audience);
}

void hf_audience_leave(struct hf_session *session)
{
    struct hf_audience *door = session->audience;
    hf_session_set_level(session, -1);
    if (door->next_to_tell == &session->in_audience)
        door->next_to_tell = session->in_audience.next;
    hf_unlink(&session->in_audience);
    hf_unlink(&session->in_greeted);
    session->audience = NULL;
    /* 2: the session that is leaving and the audience itself have the policy, and nobody else */
    const bool is_of_no_use =
        (door->only && door->only->is_forgotten) || (door->policy && door->policy->refs <= 2);
    if (hf_list_empty(&door->members) && is_of_no_use)
        free_door(door);
}

void hf_audience_greeted(struct hf_session *session)
{
    session->has_greeted = true;
    if (!hf_linked(&session->in_greeted))
        hf_list_push(&session->audience->greeted, &session->in_greeted);
}

void hf_audiences_forget(struct hf_engine *engine, const struct hf_server *only)
{
    struct hf_audience *door;
    HF_LIST_EACH_SAFE (door, &engine->audiences, struct hf_audience, link) {
        if (only && door->only != only)
            continue;
        if (hf_list_empty(&door->members))
            free_door(door);
        else
            hf_audience_drop_views(door);
    }
}

bool hf_audience_sees(const struct hf_audience *door, const struct hf_server *server)
{
    return (!door->only || door->only == server) &&
           hf_policy_allows_server(door->policy, server->name);
}

/* ---- questions about a server's clients ---- */

struct hf_session *hf_audiences_sole_client(const struct hf_server *server)
{
    struct hf_session *sole = NULL;
    const struct hf_audience *door;
    HF_LIST_EACH (door, &server->engine->audiences, struct hf_audience, link) {
        const struct hf_link *greeted = &door->greeted;
        if (hf_list_empty(greeted) || !hf_audience_sees(door, server))
            continue;
        if (sole || greeted->next->next != greeted)
            return NULL;
        sole = HF_ITEM(greeted->next, struct hf_session, in_greeted);
    }
    return sole;
}

bool hf_audiences_have_client(const struct hf_server *server)
{
    const struct hf_audience *door;
    HF_LIST_EACH (door, &server->engine->audiences, struct hf_audience, link) {
        if (!hf_list_empty(&door->greeted) && hf_audience_sees(door, server))
            return true;
    }
    return false;
}
