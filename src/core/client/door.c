/* door.c - clients that come in through the same door: for all servers or for one, under the same
 * policy. They are shown the same lists (view.c) and told of the same changes
 * (subscription/list_changes.c). */
#include "core/state.h"

/* ---- coming and going ---- */

static void free_door(struct hf_door *door)
{
    hf_door_drop_views(door);
    hf_policy_unref(door->policy);
    hf_unlink(&door->link);
    hf_unlink(&door->mark);
    hf_free(door);
}

static struct hf_door *new_door(struct hf_engine *engine, struct hf_server *only,
                                struct hf_policy *policy)
{
    struct hf_door *door = hf_new(struct hf_door);
    door->engine = engine;
    door->only = only;
    door->policy = policy;
    if (policy)
        policy->refs++;
    hf_link_init(&door->members);
    hf_link_init(&door->greeted);
    hf_link_init(&door->mark);
    hf_list_push(&engine->doors, &door->link);
    return door;
}

void hf_door_join(struct hf_session *session)
{
    struct hf_engine *engine = session->engine;
    struct hf_door *door, *found = NULL;
    HF_LIST_EACH_SAFE (door, &engine->doors, struct hf_door, link) {
        if (door->only == session->only && door->policy == session->policy)
            found = door;
        else if (hf_list_empty(&door->members) && door->policy && door->policy->refs == 1)
            free_door(door); /* a token that is gone since its last client left */
    }
    session->door = found ? found : new_door(engine, session->only, session->policy);
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        session->told[part] = engine->news_serial;
    session->listeners_told = engine->news_serial;
    hf_list_push(&session->door->members, &session->in_door);
}

void hf_door_leave(struct hf_session *session)
{
    struct hf_door *door = session->door;
    hf_session_set_level(session, -1);
    if (door->next_to_tell == &session->in_door)
        door->next_to_tell = session->in_door.next;
    hf_unlink(&session->in_door);
    hf_unlink(&session->in_greeted);
    session->door = NULL;
    /* of its policy only this session, which is going, and the door itself may be left */
    const bool is_of_no_use =
        (door->only && door->only->is_forgotten) || (door->policy && door->policy->refs <= 2);
    if (hf_list_empty(&door->members) && is_of_no_use)
        free_door(door);
}

void hf_door_greeted(struct hf_session *session)
{
    session->has_greeted = true;
    if (!hf_linked(&session->in_greeted))
        hf_list_push(&session->door->greeted, &session->in_greeted);
}

void hf_doors_forget(struct hf_engine *engine, const struct hf_server *only)
{
    struct hf_door *door;
    HF_LIST_EACH_SAFE (door, &engine->doors, struct hf_door, link) {
        if (only && door->only != only)
            continue;
        if (hf_list_empty(&door->members))
            free_door(door);
        else
            hf_door_drop_views(door);
    }
}

bool hf_door_leads_to(const struct hf_door *door, const struct hf_server *server)
{
    return (!door->only || door->only == server) &&
           hf_policy_allows_server(door->policy, server->name);
}

/* ---- what its clients have in common ---- */

struct hf_session *hf_doors_sole_client(const struct hf_server *server)
{
    struct hf_session *sole = NULL;
    const struct hf_door *door;
    HF_LIST_EACH (door, &server->engine->doors, struct hf_door, link) {
        const struct hf_link *greeted = &door->greeted;
        if (hf_list_empty(greeted) || !hf_door_leads_to(door, server))
            continue;
        if (sole || greeted->next->next != greeted)
            return NULL;
        sole = HF_ITEM(greeted->next, struct hf_session, in_greeted);
    }
    return sole;
}

bool hf_doors_have_client(const struct hf_server *server)
{
    const struct hf_door *door;
    HF_LIST_EACH (door, &server->engine->doors, struct hf_door, link) {
        if (!hf_list_empty(&door->greeted) && hf_door_leads_to(door, server))
            return true;
    }
    return false;
}
