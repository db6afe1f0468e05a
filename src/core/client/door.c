/* door.c - clients that come in through the same door: for all servers or for one, under the same
 * policy. They are shown the same lists (view.c) and told of the same changes.
 *
 * What changed at a door is remembered as numbers, one for each kind of news and part; a client has
 * been told up to some number. Telling goes through the clients of a door in portions of a turn, so
 * that no turn is as long as the crowd; whatever changes meanwhile is told with it, once. */
#include "core/state.h"

enum { PORTION = 250 }; /* clients told in one turn */

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
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        door->is_stale[part] = true;
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

static bool leads_to(const struct hf_door *door, const struct hf_server *server)
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
        if (hf_list_empty(greeted) || !leads_to(door, server))
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
        if (!hf_list_empty(&door->greeted) && leads_to(door, server))
            return true;
    }
    return false;
}

void hf_session_set_level(struct hf_session *session, int level)
{
    if (session->level >= 0)
        session->door->levels[session->level]--;
    session->level = level;
    if (level >= 0)
        session->door->levels[level]++;
}

int hf_doors_lowest_level(const struct hf_server *server)
{
    int lowest = -1;
    const struct hf_door *door;
    HF_LIST_EACH (door, &server->engine->doors, struct hf_door, link) {
        for (int i = 0; i < HF_LEVEL_COUNT && (lowest < 0 || i < lowest); i++)
            if (door->levels[i] && leads_to(door, server))
                lowest = i;
    }
    return lowest;
}

/* ---- news ---- */

void hf_views_stale(struct hf_server *server, enum hf_part_id part)
{
    struct hf_door *door;
    HF_LIST_EACH (door, &server->engine->doors, struct hf_door, link) {
        if (!door->only || door->only == server)
            door->is_stale[part] = true;
    }
}

void hf_part_news(struct hf_server *server, enum hf_part_id part, enum hf_news news)
{
    struct hf_engine *engine = server->engine;
    if (news != HF_NEWS_ANNOUNCED)
        hf_views_stale(server, part);
    engine->news_serial++;
    engine->is_marked = true;
    struct hf_door *door;
    HF_LIST_EACH (door, &engine->doors, struct hf_door, link) {
        if (hf_list_empty(&door->members) || !leads_to(door, server))
            continue;
        const struct hf_policy *policy = door->policy;
        door->news[news][part] = engine->news_serial;
        door->hides |= server->rules.allow || server->rules.deny ||
                       (policy && (policy->allow || policy->deny));
        door->next_to_tell = door->members.next;
        if (!hf_linked(&door->mark))
            hf_list_push(&engine->doors_to_tell, &door->mark);
    }
}

/* A client that has a list is told only if that is another one by now. */
static bool is_unchanged_for(struct hf_session *session, enum hf_part_id part)
{
    return session->door->hides && (part == HF_PART_TOOLS || part == HF_PART_PROMPTS) &&
           session->given[part] && hf_view_is_newest(session, part);
}

static bool is_newer(const struct hf_door *door, enum hf_news news, enum hf_part_id part,
                     uint64_t than)
{
    return door->news[news][part] > than;
}

/* One that was never given a list needs no news of the first, unless it was greeted by us alone. */
static bool is_news_for_client(struct hf_session *session, enum hf_part_id part)
{
    const uint64_t told = session->told[part];
    const bool wants_first = session->given[part] || session->was_greeted_blind;
    return session->has_greeted &&
           (is_newer(session->door, HF_NEWS_CHANGED, part, told) ||
            (is_newer(session->door, HF_NEWS_FIRST, part, told) && wants_first)) &&
           !is_unchanged_for(session, part);
}

static bool is_news_for_listeners(const struct hf_session *session, enum hf_part_id part)
{
    const uint64_t told = session->listeners_told;
    return is_newer(session->door, HF_NEWS_CHANGED, part, told) ||
           is_newer(session->door, HF_NEWS_ANNOUNCED, part, told) ||
           (is_newer(session->door, HF_NEWS_FIRST, part, told) && session->given[part]);
}

static void tell_client(struct hf_session *session, enum hf_part_id part)
{
    struct hf_buf draft = hf_draft();
    hf_buf_printf(&draft, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}",
                  hf_method(hf_part_traits(part)->changed)->name);
    hf_send(session, 0, hf_keep(session->engine, &draft));
}

static void tell(struct hf_session *session)
{
    bool told_client = false, told_listeners = false;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        if (part != HF_PART_TEMPLATES) /* resources and their templates are one piece of news */
            told_client = told_listeners = false;
        if (!told_client && is_news_for_client(session, part)) {
            told_client = true;
            tell_client(session, part);
        }
        if (!told_listeners && is_news_for_listeners(session, part)) {
            told_listeners = true;
            hf_listen_changed(session, part);
        }
        session->told[part] = session->engine->news_serial;
    }
    session->listeners_told = session->engine->news_serial;
}

/* False: not to the end. */
static bool tell_portion(struct hf_door *door)
{
    for (int i = 0; i < PORTION; i++) {
        if (door->next_to_tell == &door->members)
            return true;
        struct hf_session *session = HF_ITEM(door->next_to_tell, struct hf_session, in_door);
        door->next_to_tell = session->in_door.next;
        tell(session);
    }
    return door->next_to_tell == &door->members;
}

void hf_doors_tell(struct hf_engine *engine)
{
    while (!engine->more_news.at_ms && !hf_list_empty(&engine->doors_to_tell)) {
        struct hf_door *door = HF_LIST_FIRST(&engine->doors_to_tell, struct hf_door, mark);
        if (tell_portion(door)) {
            hf_unlink(&door->mark);
            door->hides = false;
        } else { /* the rest in the next turn */
            hf_timer_set(&engine->timers, &engine->more_news, engine->now_ms);
        }
    }
}
