/* subscription.c - which resources clients want to hear of; see subscription.h. */
#include "core/subscription/subscription.h"
#include <stdlib.h>
#include "core/call/remember.h"
#include "core/call/send.h"
#include "core/client/session.h"
#include "core/server/server.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/runtime.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/upstream.h"

/* ---- one list of them ---- */

bool hf_subscriptions_full(const struct hf_engine *engine, size_t more)
{
    return engine->subscription_count + more > HF_SUBSCRIPTIONS_MAX;
}

static size_t weight(const struct hf_subscription *sub)
{
    return sizeof *sub + strlen(sub->uri);
}

/* Whoever was, or is to be, asked for it. */
static void mark_runtimes(const struct hf_session *session, struct hf_server *server)
{
    struct hf_engine *engine = session->engine;
    struct hf_server *each;
    if (server) {
        const struct hf_slot *slot = hf_slot_of(server, session);
        if (slot && slot->current)
            hf_upstream_mark(slot->current);
        return;
    }
    HF_LIST_EACH (each, &engine->servers, struct hf_server, link) /* nobody lists it */
        mark_runtimes(session, each);
}

void hf_subscription_add(struct hf_session *session, struct hf_listener *listener,
                         struct hf_server *server, struct hf_span uri)
{
    struct hf_subscription *sub = hf_new(struct hf_subscription);
    sub->session = session;
    sub->listener = listener;
    sub->server = server;
    sub->uri = hf_json_canonical_string(uri);
    hf_list_push(listener ? &listener->subscriptions : &session->subscriptions, &sub->link);
    hf_list_push(server ? &server->subscriptions : &session->engine->anywhere, &sub->in_server);
    hf_session_remember(session, weight(sub));
    session->engine->subscription_count++;
    mark_runtimes(session, server);
}

static void drop(struct hf_subscription *sub)
{
    struct hf_session *session = sub->session;
    hf_session_forget_bytes(session, weight(sub));
    hf_unlink(&sub->link);
    hf_unlink(&sub->in_server);
    mark_runtimes(session, sub->server);
    hf_free(sub->uri);
    hf_free(sub);
    session->engine->subscription_count--;
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

static bool has(const struct hf_link *list, const struct hf_server *server, const char *uri)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, link) {
        if (is_for(sub, server) && strcmp(sub->uri, uri) == 0)
            return true;
    }
    return false;
}

/* ---- of one client ---- */

static void remove_own(struct hf_session *session, const struct hf_server *server, const char *uri)
{
    struct hf_subscription *sub;
    HF_LIST_EACH_SAFE (sub, &session->subscriptions, struct hf_subscription, link) {
        if (sub->server == server && strcmp(sub->uri, uri) == 0)
            drop(sub);
    }
}

void hf_session_subscribe(struct hf_session *session, struct hf_server *server, struct hf_span uri)
{
    char *spelled = hf_json_canonical_string(uri);
    if (!has(&session->subscriptions, server, spelled))
        hf_subscription_add(session, NULL, server, uri);
    hf_free(spelled);
}

void hf_session_unsubscribe(struct hf_session *session, struct hf_server *server,
                            struct hf_span uri)
{
    char *spelled = hf_json_canonical_string(uri);
    remove_own(session, server, spelled);
    hf_free(spelled);
}

void hf_subscriptions_forget(struct hf_server *server)
{
    struct hf_subscription *sub;
    HF_LIST_EACH_SAFE (sub, &server->subscriptions, struct hf_subscription, in_server) {
        if (!sub->listener) {
            drop(sub);
            continue;
        }
        sub->server = NULL; /* another may have it now */
        hf_unlink(&sub->in_server);
        hf_list_push(&server->engine->anywhere, &sub->in_server);
        mark_runtimes(sub->session, NULL);
    }
}

/* ---- of all that share a runtime ---- */

static bool is_shared_in(const struct hf_link *list, const struct hf_session *session,
                         const struct hf_server *server, const char *uri)
{
    const bool others_count = server->settings.isolation == HF_ISOLATION_SHARED;
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, in_server) {
        const bool is_other = sub->session != session;
        if (strcmp(sub->uri, uri) == 0 &&
            (is_other ? others_count && hf_session_uses(sub->session, server)
                      : sub->listener != NULL))
            return true;
    }
    return false;
}

bool hf_session_shares(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span uri)
{
    char *spelled = hf_json_canonical_string(uri);
    const bool shares = is_shared_in(&server->subscriptions, session, server, spelled) ||
                        is_shared_in(&session->engine->anywhere, session, server, spelled);
    hf_free(spelled);
    return shares;
}

struct wanted {
    const char **uris;
    size_t count;
};

static bool is_of(const struct hf_session *session, const struct hf_runtime *runtime)
{
    const struct hf_session *owner = runtime->slot->owner;
    return (!owner || owner == session) && hf_session_uses(session, runtime->server);
}

static void collect(struct wanted *wanted, const struct hf_link *list,
                    const struct hf_runtime *runtime)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, in_server) {
        if (is_of(sub->session, runtime) && (!sub->listener || runtime->has_subscribe))
            wanted->uris[wanted->count++] = sub->uri;
    }
}

/* A client's own request for what its runtime was asked for already: if that were taken back now,
 * the server would hear of it after the request. */
static void collect_coming(struct wanted *wanted, const struct hf_runtime *runtime)
{
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (!call->session || call->method->id != HF_METHOD_SUBSCRIBE)
            continue;
        char *uri = hf_json_canonical_string(call->uri);
        for (char *const *known = runtime->upstream.uris; known && *known; known++)
            if (strcmp(*known, uri) == 0)
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
    const size_t most = engine->subscription_count + runtime->in_flight + 1;
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

/* ---- news ---- */

/* An update may be of a part of what was asked for. */
static bool covers(const char *wanted, const char *uri)
{
    const size_t n = strlen(wanted) - 1; /* without the closing quote */
    if (strncmp(wanted, uri, n) != 0)
        return false;
    return strchr("\"/?#", uri[n]) || (n > 1 && wanted[n - 1] == '/');
}

struct update { /* of one resource, on its way to whoever wants to hear of it */
    const struct hf_runtime *runtime;
    const struct hf_msg *msg;
    const char *uri;
    struct hf_span untagged;
};

static void send_once(struct hf_session *session, const struct update *update)
{
    if (!session->has_greeted || session->updated == session->engine->update_serial)
        return;
    session->updated = session->engine->update_serial;
    hf_session_send(session, 0, update->untagged);
}

/* A listener hears once of an update that several of its URIs cover: of the first in its list. */
static bool is_first_to_cover(const struct hf_subscription *sub, const struct update *update)
{
    const struct hf_server *server = update->runtime->server;
    const struct hf_subscription *each;
    HF_LIST_EACH (each, &sub->listener->subscriptions, struct hf_subscription, link) {
        if (is_for(each, server) && covers(each->uri, update->uri))
            return each == sub;
    }
    return false;
}

static void pass_in(const struct hf_link *list, const struct update *update)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, in_server) {
        if (!covers(sub->uri, update->uri) || !is_of(sub->session, update->runtime))
            continue;
        if (!sub->listener)
            send_once(sub->session, update);
        else if (is_first_to_cover(sub, update))
            hf_session_send(sub->session, sub->listener->via,
                            hf_listener_tagged(sub->session->engine, update->msg,
                                               hf_span_of(sub->listener->id)));
    }
}

void hf_update_pass(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    const struct hf_server *server = runtime->server;
    struct hf_engine *engine = server->engine;
    const struct hf_span raw = hf_json_get(msg->params, HF_SPAN("uri"));
    if (hf_json_type(raw) != HF_JSON_STRING)
        return;
    char *uri = hf_json_canonical_string(raw);
    const struct update update = {
        .runtime = runtime,
        .msg = msg,
        .uri = uri,
        .untagged = hf_listener_tagged(engine, msg, (struct hf_span) { NULL, 0 }),
    };
    engine->update_serial++;
    /* a legacy server whose one client came for it alone: whatever it says is for that client */
    struct hf_session *owner = runtime->slot->owner;
    if (owner && owner->only == server && !runtime->is_modern)
        send_once(owner, &update);
    pass_in(&server->subscriptions, &update);
    pass_in(&engine->anywhere, &update);
    hf_free(uri);
}
