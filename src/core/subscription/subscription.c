/* subscription.c - which resources clients want to be told about; see subscription.h. */
#include "core/subscription/subscription.h"
#include <stdlib.h>
#include "core/call/party.h"
#include "core/call/remember.h"
#include "core/call/send.h"
#include "core/client/policy.h"
#include "core/client/session.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/runtime.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/upstream.h"

/* ---- adding and dropping ---- */

static size_t weight(const struct hf_subscription *sub)
{
    return sizeof *sub + strlen(sub->uri);
}

/* Marks the runtimes that were asked for the URI or may have to be asked for it now. */
static void mark_runtimes(const struct hf_session *session, struct hf_server *server,
                          const char *uri)
{
    struct hf_engine *engine = session->engine;
    struct hf_server *each;
    if (server) {
        const struct hf_slot *slot = hf_slot_of(server, session);
        if (slot && slot->current)
            hf_upstream_mark(slot->current, hf_span_of(uri));
        return;
    }
    HF_LIST_EACH (each, &engine->servers, struct hf_server, link) /* no server lists the URI */
        mark_runtimes(session, each, uri);
}

/* A subscription also covers updates of URIs below its own. So a URI is hashed piece by piece, each
 * piece with the hash of the pieces before it: on the way to the hash of an updated URI, the hashes
 * of all URIs that may cover it are met, at no more cost than the length of the URI. */
static bool ends_piece(const char *uri, size_t at)
{
    const char next = uri[at];
    return next == '"' || next == '/' || next == '?' || next == '#' ||
           (at > 1 && uri[at - 1] == '/');
}

static uint64_t first_scope(const struct hf_server *server)
{
    return (uint64_t)(uintptr_t)server;
}

static size_t length_of(const char *uri)
{
    return strlen(uri) - 1; /* without the closing quote */
}

static uint64_t hash_of(const struct hf_engine *engine, const struct hf_server *server,
                        const char *uri)
{
    const size_t length = length_of(uri);
    uint64_t hash = first_scope(server);
    for (size_t from = 0, at = 1; at <= length; at++) {
        if (!ends_piece(uri, at))
            continue;
        hash = hf_map_hash(&engine->subscriptions_by_uri, hash,
                           (struct hf_span) { uri + from, at - from });
        from = at;
    }
    return hash;
}

static uint64_t session_hash(const struct hf_session *session, const char *uri)
{
    return hf_map_hash(&session->engine->subscriptions_by_session, (uint64_t)(uintptr_t)session,
                       hf_span_of(uri));
}

static void put_at_server(struct hf_subscription *sub, struct hf_server *server)
{
    struct hf_engine *engine = sub->session->engine;
    sub->server = server;
    hf_list_push(server ? &server->subscriptions : &engine->anywhere, &sub->in_server);
    hf_map_add(&engine->subscriptions_by_uri, &sub->by_uri, hash_of(engine, server, sub->uri));
}

static void take_from_server(struct hf_subscription *sub)
{
    struct hf_update *update =
        HF_LIST_FIRST(&sub->session->engine->updates, struct hf_update, link);
    if (update && update->next == &sub->by_uri)
        update->next = hf_map_next(&sub->by_uri);
    hf_unlink(&sub->in_server);
    hf_map_remove(&sub->session->engine->subscriptions_by_uri, &sub->by_uri);
}

void hf_subscription_add(struct hf_session *session, struct hf_client_party *party,
                         struct hf_listener *listener, struct hf_server *server, struct hf_span uri)
{
    struct hf_subscription *sub = hf_new(struct hf_subscription);
    sub->session = session;
    sub->listener = listener;
    sub->uri = hf_json_canonical_string(uri);
    hf_list_push(listener ? &listener->subscriptions : &session->subscriptions, &sub->link);
    hf_map_add(&session->engine->subscriptions_by_session, &sub->by_session,
               session_hash(session, sub->uri));
    put_at_server(sub, server);
    hf_session_remember(session, weight(sub));
    sub->party = hf_party_ref(party);
    hf_party_take(session->engine, party, HF_SHARED_SUBSCRIPTIONS, 1);
    if (length_of(sub->uri) > session->engine->longest_uri)
        session->engine->longest_uri = length_of(sub->uri);
    mark_runtimes(session, server, sub->uri);
}

static void drop(struct hf_subscription *sub)
{
    struct hf_session *session = sub->session;
    hf_session_forget_bytes(session, weight(sub));
    hf_unlink(&sub->link);
    hf_map_remove(&session->engine->subscriptions_by_session, &sub->by_session);
    take_from_server(sub);
    mark_runtimes(session, sub->server, sub->uri);
    hf_party_give(session->engine, sub->party, HF_SHARED_SUBSCRIPTIONS, 1);
    hf_party_unref(sub->party);
    hf_free(sub->uri);
    hf_free(sub);
    if (session->engine->bounds[HF_SHARED_SUBSCRIPTIONS].used == 0)
        session->engine->longest_uri = 0;
}

void hf_subscriptions_drop(struct hf_link *list)
{
    struct hf_subscription *sub;
    HF_LIST_EACH_SAFE (sub, list, struct hf_subscription, link)
        drop(sub);
}

static bool is_for(const struct hf_subscription *sub, const struct hf_server *server)
{
    return !sub->server || sub->server == server;
}

/* ---- the subscriptions of one client ---- */

/* The client's own resources/subscribe for the URI, or, if `of_listener`, one of a listener. */
static struct hf_subscription *find_own(const struct hf_session *session,
                                        const struct hf_server *server, const char *uri,
                                        bool of_listener)
{
    struct hf_subscription *sub;
    HF_MAP_EACH(sub, &session->engine->subscriptions_by_session, session_hash(session, uri),
                struct hf_subscription, by_session)
    {
        if (sub->session == session && is_for(sub, server) &&
            (sub->listener != NULL) == of_listener && strcmp(sub->uri, uri) == 0)
            return sub;
    }
    return NULL;
}

void hf_session_subscribe(struct hf_session *session, struct hf_client_party *party,
                          struct hf_server *server, struct hf_span uri)
{
    char *spelled = hf_json_canonical_string(uri);
    if (!find_own(session, server, spelled, false))
        hf_subscription_add(session, party, NULL, server, uri);
    hf_free(spelled);
}

void hf_session_unsubscribe(struct hf_session *session, struct hf_server *server,
                            struct hf_span uri)
{
    char *spelled = hf_json_canonical_string(uri);
    struct hf_subscription *sub = find_own(session, server, spelled, false);
    if (sub && sub->server == server)
        drop(sub);
    hf_free(spelled);
}

void hf_subscriptions_forget(struct hf_server *server)
{
    struct hf_subscription *sub;
    hf_updates_forget(server->engine, server);
    HF_LIST_EACH_SAFE (sub, &server->subscriptions, struct hf_subscription, in_server) {
        if (!sub->listener) {
            drop(sub);
            continue;
        }
        take_from_server(sub);
        put_at_server(sub, NULL); /* another server may have the URI now */
        mark_runtimes(sub->session, NULL, sub->uri);
    }
}

/* ---- the subscriptions of all clients that share a runtime ---- */

/* The subscriptions whose hash is that of this URI at this server (NULL: at any server). Others
 * with the same hash may be among them. */
#define EACH_AT(sub, engine, server, uri)                                                          \
    HF_MAP_EACH(sub, &(engine)->subscriptions_by_uri, hash_of(engine, server, uri),                \
                struct hf_subscription, by_uri)

/* `owner`: the one client of the server's runtime; NULL: all share it. */
static bool is_shared_with(const struct hf_session *session, const struct hf_session *owner,
                           const struct hf_server *server)
{
    return (!owner || owner == session) && hf_session_uses(session, server);
}

static bool is_of(const struct hf_session *session, const struct hf_runtime *runtime)
{
    return is_shared_with(session, runtime->slot->owner, runtime->server);
}

static bool others_want(const struct hf_session *session, const struct hf_server *server,
                        const struct hf_server *at, const char *uri)
{
    const struct hf_subscription *sub;
    EACH_AT(sub, session->engine, at, uri)
    {
        if (sub->session != session && sub->server == at && strcmp(sub->uri, uri) == 0 &&
            hf_session_uses(sub->session, server))
            return true;
    }
    return false;
}

bool hf_session_shares(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span uri)
{
    char *spelled = hf_json_canonical_string(uri);
    const bool shares = find_own(session, server, spelled, true) ||
                        (server->settings.isolation == HF_ISOLATION_SHARED &&
                         (others_want(session, server, server, spelled) ||
                          others_want(session, server, NULL, spelled)));
    hf_free(spelled);
    return shares;
}

static bool is_wanted_at(const struct hf_runtime *runtime, const struct hf_server *at,
                         const char *uri)
{
    const struct hf_subscription *sub;
    EACH_AT(sub, runtime->server->engine, at, uri)
    {
        if (sub->server == at && (!sub->listener || runtime->has_subscribe) &&
            is_of(sub->session, runtime) && strcmp(sub->uri, uri) == 0)
            return true;
    }
    return false;
}

/* Whether a client's resources/subscribe for this URI is under way at the runtime. An unsubscribe
 * of ours now would reach the server after that request and undo it. */
static bool is_coming(const struct hf_runtime *runtime, const char *uri)
{
    const struct hf_call *call;
    bool found = false;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (!call->session || call->method->id != HF_METHOD_SUBSCRIBE)
            continue;
        char *spelled = hf_json_canonical_string(call->uri);
        found = strcmp(spelled, uri) == 0;
        hf_free(spelled);
        if (found)
            break;
    }
    return found;
}

bool hf_uri_is_wanted(const struct hf_runtime *runtime, const char *spelled)
{
    const struct hf_server *server = runtime->server;
    const struct hf_session *owner = runtime->slot->owner;
    const bool is_subscribed =
        owner ? hf_session_uses(owner, server) &&
                    (find_own(owner, server, spelled, false) ||
                     (runtime->has_subscribe && find_own(owner, server, spelled, true)))
              : is_wanted_at(runtime, server, spelled) || is_wanted_at(runtime, NULL, spelled);
    return is_subscribed || (hf_upstream_find(runtime, spelled) && is_coming(runtime, spelled));
}

struct wanted {
    const char **uris;
    size_t count;
};

static void collect(struct wanted *wanted, const struct hf_link *list,
                    const struct hf_runtime *runtime)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, in_server) {
        if (is_of(sub->session, runtime) && (!sub->listener || runtime->has_subscribe))
            wanted->uris[wanted->count++] = sub->uri;
    }
}

/* URIs whose resources/subscribe is under way; see is_coming. */
static void collect_coming(struct wanted *wanted, const struct hf_runtime *runtime)
{
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (!call->session || call->method->id != HF_METHOD_SUBSCRIBE)
            continue;
        char *uri = hf_json_canonical_string(call->uri);
        char *const *known = hf_upstream_find(runtime, uri);
        if (known)
            wanted->uris[wanted->count++] = *known;
        hf_free(uri);
    }
}

static int by_spelling(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **hf_wanted_uris(const struct hf_runtime *runtime, size_t *ret_count)
{
    const struct hf_engine *engine = runtime->server->engine;
    const size_t most = engine->bounds[HF_SHARED_SUBSCRIPTIONS].used + runtime->in_flight + 1;
    struct wanted wanted = { hf_new_array(const char *, most), 0 };
    collect(&wanted, &runtime->server->subscriptions, runtime);
    collect(&wanted, &engine->anywhere, runtime);
    collect_coming(&wanted, runtime);
    qsort(wanted.uris, wanted.count, sizeof *wanted.uris, by_spelling);
    size_t kept = 0;
    for (size_t i = 0; i < wanted.count; i++)
        if (kept == 0 || strcmp(wanted.uris[kept - 1], wanted.uris[i]) != 0)
            wanted.uris[kept++] = wanted.uris[i];
    *ret_count = kept;
    return wanted.uris;
}

/* ---- who follows an update ---- */

/* Goes on to the next URI that covers the updated one: first to subscriptions to it at the server,
 * then to those that no server lists. False: there is none. */
static bool next_place(struct hf_update *update)
{
    const struct hf_engine *engine = update->server->engine;
    const struct hf_map *map = &engine->subscriptions_by_uri;
    if (update->at && !update->is_anywhere) {
        update->is_anywhere = true;
        update->next = hf_map_first(map, update->anywhere);
        return true;
    }
    while (update->at < update->length && update->at < engine->longest_uri) {
        if (!ends_piece(update->uri, ++update->at))
            continue;
        const struct hf_span piece = { update->uri + update->from, update->at - update->from };
        update->at_server = hf_map_hash(map, update->at_server, piece);
        update->anywhere = hf_map_hash(map, update->anywhere, piece);
        update->from = update->at;
        update->is_anywhere = false;
        update->next = hf_map_first(map, update->at_server);
        return true;
    }
    return false;
}

/* A candidate: others with the same hash may be among them. NULL: all were looked at. */
static const struct hf_subscription *next_candidate(struct hf_update *update)
{
    while (!update->next)
        if (!next_place(update))
            return NULL;
    const struct hf_map_node *node = update->next;
    update->next = hf_map_next(node);
    return HF_ITEM((uintptr_t)node, const struct hf_subscription, by_uri);
}

/* A subscription covers what lies below its URI, of which a token may forbid some. */
static bool may_hear(const struct hf_session *session, const struct hf_update *update)
{
    return hf_policy_allows_uri(session->policy, update->server, hf_span_of(update->uri));
}

static bool follows(const struct hf_subscription *sub, const struct hf_update *update)
{
    return sub->server == (update->is_anywhere ? NULL : update->server) &&
           length_of(sub->uri) == update->at && memcmp(sub->uri, update->uri, update->at) == 0 &&
           is_shared_with(sub->session, update->owner, update->server) &&
           may_hear(sub->session, update);
}

/* ---- updates ---- */

static void send_once(struct hf_session *session, const struct hf_update *update,
                      struct hf_span untagged)
{
    if (!session->has_greeted || session->updated == update->serial)
        return;
    session->updated = update->serial;
    hf_session_send(session, 0, untagged);
}

/* A listener is told once of an update that several of its URIs cover. */
static void send_tagged(const struct hf_subscription *sub, const struct hf_update *update,
                        const struct hf_msg *msg)
{
    struct hf_listener *listener = sub->listener;
    if (listener->updated == update->serial)
        return;
    listener->updated = update->serial;
    hf_session_send(sub->session, listener->via,
                    hf_listener_tagged(sub->session->engine, msg, hf_span_of(listener->id)));
}

/* Looks at so many subscriptions. False: some are left. */
static bool pass_portion(struct hf_update *update, const struct hf_msg *msg, size_t most)
{
    const struct hf_span untagged =
        hf_listener_tagged(update->server->engine, msg, (struct hf_span) { NULL, 0 });
    for (; most > 0; most--) {
        const struct hf_subscription *sub = next_candidate(update);
        if (!sub)
            return true;
        if (!follows(sub, update))
            continue;
        if (sub->listener)
            send_tagged(sub, update, msg);
        else
            send_once(sub->session, update, untagged);
    }
    return false;
}

static void begin(struct hf_update *update)
{
    if (update->serial)
        return;
    update->serial = ++update->server->engine->update_serial;
    update->at_server = first_scope(update->server);
    update->anywhere = first_scope(NULL);
}

static void forget(struct hf_update *update)
{
    struct hf_engine *engine = update->server->engine;
    engine->update_count--;
    hf_unlink(&update->link);
    hf_free(update->uri);
    hf_bury(engine, hf_free, update->text); /* what is sent untagged is this very text */
    hf_free(update);
}

/* Passes the first of the kept updates to so many subscriptions. */
static void pass_first(struct hf_engine *engine, size_t most)
{
    struct hf_update *update = HF_LIST_FIRST(&engine->updates, struct hf_update, link);
    struct hf_msg msg;
    struct hf_err err;
    if (hf_msg_parse(hf_span_of(update->text), engine->limits.max_depth, &msg, &err) !=
        HF_MSG_OK) { /* cannot be: it was read before it was kept */
        forget(update);
        return;
    }
    begin(update);
    if (pass_portion(update, &msg, most))
        forget(update);
}

static void pass_more_later(struct hf_engine *engine)
{
    hf_timer_set(&engine->timers, &engine->more_updates,
                 hf_list_empty(&engine->updates) ? 0 : engine->now_ms + 1);
}

void hf_updates_timer(struct hf_engine *engine)
{
    pass_first(engine, HF_UPDATE_FOLLOWERS_A_TURN);
    pass_more_later(engine);
}

void hf_updates_forget(struct hf_engine *engine, const struct hf_server *server)
{
    struct hf_update *update;
    HF_LIST_EACH_SAFE (update, &engine->updates, struct hf_update, link)
        if (!server || update->server == server)
            forget(update);
    pass_more_later(engine);
}

static struct hf_update *find_waiting(const struct hf_engine *engine, const struct hf_update *like)
{
    struct hf_update *update;
    HF_LIST_EACH (update, &engine->updates, struct hf_update, link)
        if (!update->serial && update->server == like->server &&
            strcmp(update->uri, like->uri) == 0)
            return update;
    return NULL;
}

/* Keeps the update until its turn comes; its URI is taken over. */
static void keep(struct hf_engine *engine, const struct hf_update *from, struct hf_span text)
{
    struct hf_update *update = find_waiting(engine, from);
    if (update) {
        hf_free(from->uri);
        hf_free(update->text);
    } else {
        if (engine->update_count == HF_UPDATES_MAX)
            pass_first(engine, SIZE_MAX);
        update = hf_new(struct hf_update);
        *update = *from;
        hf_list_push(&engine->updates, &update->link);
        engine->update_count++;
    }
    update->text = hf_span_dup(text);
    pass_more_later(engine);
}

void hf_update_pass(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    const struct hf_server *server = runtime->server;
    struct hf_engine *engine = server->engine;
    struct hf_session *owner = runtime->slot->owner;
    const struct hf_span raw = hf_json_get(msg->params, HF_SPAN("uri"));
    if (hf_json_type(raw) != HF_JSON_STRING)
        return;
    struct hf_update update = { .server = server, .owner = owner };
    update.uri = hf_json_canonical_string(raw);
    update.length = length_of(update.uri);
    /* One client alone follows what its own runtime says, and it may go before its update. */
    const bool is_kept = !owner && msg->text.n <= HF_UPDATE_TEXT_MAX;
    if (is_kept && !hf_list_empty(&engine->updates)) {
        keep(engine, &update, msg->text);
        return;
    }
    begin(&update);
    /* A legacy server that runs for one client alone, which came to this server's endpoint: the
     * client gets every update, subscribed or not. */
    if (owner && owner->only == server && !runtime->is_modern && may_hear(owner, &update))
        send_once(owner, &update, hf_listener_tagged(engine, msg, (struct hf_span) { NULL, 0 }));
    if (pass_portion(&update, msg, is_kept ? HF_UPDATE_FOLLOWERS_A_TURN : SIZE_MAX))
        hf_free(update.uri);
    else
        keep(engine, &update, msg->text);
}
