/* subscribe.c - which resources clients want to hear of; see listen.h. */
#include <stdlib.h>
#include "core/state.h"

/* ---- one list of them ---- */

char *hf_spelling(struct hf_span raw_string)
{
    struct hf_buf plain = hf_draft(), spelled = hf_draft();
    if (hf_json_unescape(raw_string, &plain))
        hf_json_add_string(&spelled, hf_buf_span(&plain));
    else
        hf_buf_add(&spelled, raw_string);
    char *uri = hf_span_dup(hf_buf_span(&spelled));
    hf_buf_done(&plain);
    hf_buf_done(&spelled);
    return uri;
}

bool hf_subscriptions_full(const struct hf_engine *engine, size_t more)
{
    return engine->subscription_count + more > HF_SUBSCRIPTIONS_MAX;
}

static size_t weight(const struct hf_subscription *sub)
{
    return sizeof *sub + strlen(sub->uri);
}

void hf_subscription_add(struct hf_session *session, struct hf_link *list, struct hf_server *server,
                         struct hf_span uri)
{
    struct hf_subscription *sub = hf_new(struct hf_subscription);
    sub->server = server;
    sub->uri = hf_spelling(uri);
    hf_list_push(list, &sub->link);
    hf_session_keep(session, weight(sub));
    session->engine->subscription_count++;
}

static void drop(struct hf_session *session, struct hf_subscription *sub)
{
    hf_session_let_go(session, weight(sub));
    hf_unlink(&sub->link);
    hf_free(sub->uri);
    hf_free(sub);
    session->engine->subscription_count--;
}

void hf_subscriptions_drop(struct hf_session *session, struct hf_link *list)
{
    struct hf_subscription *sub;
    HF_LIST_EACH_SAFE (sub, list, struct hf_subscription, link)
        drop(session, sub);
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
            drop(session, sub);
    }
}

void hf_session_subscribe(struct hf_session *session, struct hf_server *server, struct hf_span uri)
{
    char *spelled = hf_spelling(uri);
    if (!has(&session->subscriptions, server, spelled))
        hf_subscription_add(session, &session->subscriptions, server, uri);
    hf_free(spelled);
}

void hf_session_unsubscribe(struct hf_session *session, struct hf_server *server,
                            struct hf_span uri)
{
    char *spelled = hf_spelling(uri);
    remove_own(session, server, spelled);
    hf_free(spelled);
}

void hf_session_unsubscribe_all(struct hf_session *session, struct hf_server *server)
{
    struct hf_subscription *sub;
    HF_LIST_EACH_SAFE (sub, &session->subscriptions, struct hf_subscription, link) {
        if (sub->server == server)
            drop(session, sub);
    }
    const struct hf_listener *listener;
    HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link) {
        HF_LIST_EACH (sub, &listener->subscriptions, struct hf_subscription, link) {
            if (sub->server == server)
                sub->server = NULL; /* another may have it now */
        }
    }
}

/* ---- of all that share a runtime ---- */

static bool listeners_have(const struct hf_session *session, const struct hf_server *server,
                           const char *uri)
{
    const struct hf_listener *listener;
    HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link) {
        if (has(&listener->subscriptions, server, uri))
            return true;
    }
    return false;
}

bool hf_session_shares(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span uri)
{
    char *spelled = hf_spelling(uri);
    bool shares = listeners_have(session, server, spelled);
    const struct hf_session *other;
    HF_LIST_EACH (other, &session->engine->sessions, struct hf_session, link) {
        if (shares || server->settings.isolation != HF_ISOLATION_SHARED)
            break;
        shares =
            other != session && hf_session_uses(other, server) &&
            (has(&other->subscriptions, server, spelled) || listeners_have(other, server, spelled));
    }
    hf_free(spelled);
    return shares;
}

struct wanted {
    const char **uris;
    size_t count;
};

static void collect(struct wanted *wanted, const struct hf_link *list,
                    const struct hf_server *server)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, link) {
        if (is_for(sub, server))
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
        char *uri = hf_spelling(call->uri);
        for (char *const *known = runtime->ear.uris; known && *known; known++)
            if (strcmp(*known, uri) == 0)
                wanted->uris[wanted->count++] = *known;
        hf_free(uri);
    }
}

static int by_spelling(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_of(const struct hf_session *session, const struct hf_runtime *runtime)
{
    const struct hf_session *owner = runtime->slot->owner;
    return (!owner || owner == session) && hf_session_uses(session, runtime->server);
}

const char **hf_wanted_uris(const struct hf_runtime *runtime, size_t *ret_count)
{
    const struct hf_engine *engine = runtime->server->engine;
    const size_t most = engine->subscription_count + runtime->in_flight + 1;
    struct wanted wanted = { hf_new_array(const char *, most), 0 };
    const struct hf_session *session;
    HF_LIST_EACH (session, &engine->sessions, struct hf_session, link) {
        if (!is_of(session, runtime))
            continue;
        collect(&wanted, &session->subscriptions, runtime->server);
        const struct hf_listener *listener;
        HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link) {
            if (runtime->has_subscribe)
                collect(&wanted, &listener->subscriptions, runtime->server);
        }
    }
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

static bool any_covers(const struct hf_link *list, const struct hf_server *server, const char *uri)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, link) {
        if (is_for(sub, server) && covers(sub->uri, uri))
            return true;
    }
    return false;
}

void hf_update_pass(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    const struct hf_server *server = runtime->server;
    const struct hf_span raw = hf_json_get(msg->params, HF_SPAN("uri"));
    if (hf_json_type(raw) != HF_JSON_STRING)
        return;
    char *uri = hf_spelling(raw);
    const struct hf_span untagged =
        hf_listen_tagged(server->engine, msg, (struct hf_span) { NULL, 0 });
    struct hf_session *session;
    HF_LIST_EACH (session, &server->engine->sessions, struct hf_session, link) {
        if (!is_of(session, runtime))
            continue;
        /* alone at a legacy server's door, whatever it says passes */
        const bool is_alone = session->only == server && !runtime->is_modern;
        if (session->has_greeted && (is_alone || any_covers(&session->subscriptions, server, uri)))
            hf_send(session, 0, untagged);
        const struct hf_listener *listener;
        HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link) {
            if (any_covers(&listener->subscriptions, server, uri))
                hf_send(session, listener->via,
                        hf_listen_tagged(server->engine, msg, hf_span_of(listener->id)));
        }
    }
    hf_free(uri);
}
