/*
 * subscription.h - which resources clients want to be told about.
 *
 * A subscription is one URI that a client wants updates of, by resources/subscribe or by a listener
 * (listener.h: subscriptions/listen). Updates of a server are passed to all subscriptions that
 * cover the updated URI, to a portion of them in each turn: there may be thousands. What servers
 * are asked to tell us follows from all subscriptions (upstream.h).
 */
#ifndef HF_CORE_SUBSCRIPTION_SUBSCRIPTION_H
#define HF_CORE_SUBSCRIPTION_SUBSCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "base/map.h"
#include "base/span.h"

struct hf_client_party;
struct hf_engine;
struct hf_link;
struct hf_listener;
struct hf_msg;
struct hf_runtime;
struct hf_server;
struct hf_session;

struct hf_subscription {
    struct hf_link link;      /* in session->subscriptions, or in listener->subscriptions */
    struct hf_link in_server; /* in server->subscriptions, or in engine->anywhere */
    struct hf_map_node by_uri, by_session; /* in the engine's maps */
    struct hf_session *session;
    struct hf_client_party *party; /* that the subscription is counted for */
    struct hf_listener *listener;  /* NULL: the client's own resources/subscribe */
    struct hf_server *server;      /* NULL: no server lists the URI, so every server is asked */
    char *uri;                     /* JSON string in our own spelling */
};

enum {
    HF_UPDATES_MAX = 64,              /* that wait until earlier ones have been passed on */
    HF_UPDATE_TEXT_MAX = 16 * 1024,   /* a longer one is passed on at once, and not kept */
    HF_UPDATE_FOLLOWERS_A_TURN = 250, /* about 2 us each */
};

/* A resource update on its way to those who subscribed to it. Of those in engine->updates the first
 * may be half-way; the others wait. */
struct hf_update {
    struct hf_link link; /* in engine->updates */
    const struct hf_server *server;
    const struct hf_session *owner; /* the one client of the runtime; NULL: all share it */
    char *uri;                      /* JSON string in our own spelling */
    size_t length;                  /* of the URI in it: a peer chooses how many pieces it has */
    char *text;                     /* the whole notification */
    uint64_t serial;                /* 0: it waits, and nobody has been told */
    /* The next subscription to look at: one at the server, or anywhere, of the first `at` bytes of
     * the URI. */
    size_t from, at;
    uint64_t at_server, anywhere; /* hashes */
    bool is_anywhere;
    struct hf_map_node *next; /* NULL: none is left in this place */
};

/* `listener` NULL: the client's own resources/subscribe. The runtimes concerned are marked, so that
 * their servers are asked for the URI. */
void hf_subscription_add(struct hf_session *session, struct hf_client_party *party,
                         struct hf_listener *listener, struct hf_server *server,
                         struct hf_span uri);
void hf_subscriptions_drop(struct hf_link *list); /* drops all subscriptions in the list */
void hf_session_subscribe(struct hf_session *session, struct hf_client_party *party,
                          struct hf_server *server, struct hf_span uri);
void hf_session_unsubscribe(struct hf_session *session, struct hf_server *server,
                            struct hf_span uri);
/* The server is removed: no subscription may point to it any more. */
void hf_subscriptions_forget(struct hf_server *server);
/* Whether other clients, or the session's own listeners, want this URI through the same runtime. */
bool hf_session_shares(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span uri);
/* The URIs that clients want of this runtime, sorted, each once. The caller frees the array, but
 * not the strings. */
const char **hf_wanted_uris(const struct hf_runtime *runtime, size_t *ret_count);
/* Passes a server's notifications/resources/updated to all who subscribed to it. One that comes
 * while an update of the same URI waits takes its place: who was not told of the former is told of
 * the latter. */
void hf_update_pass(struct hf_runtime *runtime, const struct hf_msg *msg);
void hf_updates_timer(struct hf_engine *engine); /* passes the next portion on */
void hf_updates_forget(struct hf_engine *engine, const struct hf_server *server); /* NULL: all */

/* Whether a client wants this URI of this runtime. `spelled`: the URI in canonical spelling. */
bool hf_uri_is_wanted(const struct hf_runtime *runtime, const char *spelled);

#endif
