/*
 * listen.h - who hears of changes: clients from us, and we from servers.
 *
 *   a client's resources/subscribe ─┐                        ┌─ resources/subscribe (legacy server)
 *   a client's subscriptions/listen ┴─► wanted at a server ──┴─ our subscriptions/listen (modern)
 *
 * 1. What is wanted at a server is never counted, but derived from what clients asked for, each
 *    time that changes; what its runtime was asked for is compared with that.
 * 2. News on a client's listener carries the id of that listener and no other.
 * 3. Our own listening is no call of a client: nothing waits for it, and losing it harms nobody.
 */
#ifndef HF_CORE_LISTEN_H
#define HF_CORE_LISTEN_H

#include "base/list.h"
#include "base/timers.h"
#include "core/machine/method.h"

struct hf_call;
struct hf_engine;
struct hf_incoming;
struct hf_msg;
struct hf_runtime;
struct hf_server;
struct hf_session;

enum {
    HF_SESSION_LISTENERS_MAX = 1000, /* of one session: modern clients of one token share it */
    HF_LISTENER_URIS_MAX = 1000,     /* of one listener */
    HF_SUBSCRIPTIONS_MAX = 10000,    /* of all clients together */
};

struct hf_subscription {
    struct hf_link link;      /* in session->subscriptions, or in listener->subscriptions */
    struct hf_link in_server; /* in server->subscriptions, or in engine->anywhere */
    struct hf_session *session;
    struct hf_listener *listener; /* NULL: the client's own resources/subscribe */
    struct hf_server *server;     /* NULL: no list has it, so every server is asked */
    char *uri;                    /* JSON string in our own spelling */
};

/* One open subscriptions/listen of a client. */
struct hf_listener {
    struct hf_link link; /* in session->listeners */
    uint64_t via;
    char *id; /* raw */
    bool wants[HF_PART_COUNT];
    struct hf_link subscriptions;
};

/* What a runtime was asked to tell us. Modern servers: with one request that stays open, and that a
 * new one replaces as soon as it is acknowledged. */
struct hf_upstream {
    char **uris;                 /* sorted, as last asked for; NULL: none */
    struct hf_call *call, *next; /* acknowledged; sent, and not acknowledged yet */
    bool is_stale;               /* `uris` is not what is wanted, or not what `call` asked for */
    bool was_deaf;               /* since the last acknowledged one ended */
    bool is_refused;             /* its server knows no such request */
    unsigned failures;
    struct hf_timer timer; /* `next`: it is not acknowledged; else: to be sent again */
};

/* subscribe.c: what clients want to hear of */
bool hf_subscriptions_full(const struct hf_engine *engine, size_t more);
/* `listener` NULL: the client's own resources/subscribe. What servers are asked follows by itself.
 */
void hf_subscription_add(struct hf_session *session, struct hf_listener *listener,
                         struct hf_server *server, struct hf_span uri);
void hf_subscriptions_drop(struct hf_link *list); /* all that are in it */
void hf_session_subscribe(struct hf_session *session, struct hf_server *server, struct hf_span uri);
void hf_session_unsubscribe(struct hf_session *session, struct hf_server *server,
                            struct hf_span uri);
/* The server is removed: nothing may point to it any more. */
void hf_subscriptions_forget(struct hf_server *server);
/* Others, or its own listeners, want the same through the same runtime. */
bool hf_session_shares(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span uri);
/* Sorted, each once; the array is the caller's, the strings are not. */
const char **hf_wanted_uris(const struct hf_runtime *runtime, size_t *ret_count);
void hf_update_pass(struct hf_runtime *runtime, const struct hf_msg *msg);

/* listen.c: clients' listeners */
void hf_listener_open(const struct hf_incoming *in);
void hf_listeners_tell_changed(struct hf_session *session, enum hf_part_id part);
/* The client took it back, or is not there any more: no answer. */
struct hf_listener *hf_listener_find(const struct hf_session *session, struct hf_span id);
void hf_listener_drop(struct hf_session *session, struct hf_listener *listener);
void hf_listeners_drop_via(struct hf_session *session, uint64_t via);
void hf_listeners_drop(struct hf_session *session);
void hf_listeners_end(struct hf_session *session); /* gracefully: each is answered */
/* A notification under another listener's id, or, with p NULL, under none; good until collect. */
struct hf_span hf_listener_tagged(struct hf_engine *engine, const struct hf_msg *msg,
                                  struct hf_span id);

/* ear.c: what we ask of servers */
void hf_upstream_restore(
    struct hf_runtime *runtime);                   /* it knows nothing yet, or nothing any more */
void hf_upstream_mark(struct hf_runtime *runtime); /* what clients want may have changed */
void hf_upstream_review(struct hf_runtime *runtime);
void hf_upstream_timer(struct hf_runtime *runtime);
/* A client's own request was answered by a legacy server. */
void hf_upstream_subscribed(struct hf_runtime *runtime, struct hf_span uri);
void hf_upstream_unsubscribed(struct hf_runtime *runtime, struct hf_span uri);
/* It was sent (NULL: it was not), and ended without an answer: what the server now tells us of is
 * not known. */
void hf_upstream_unsure(struct hf_runtime *runtime, const struct hf_call *call);
/* False: it belongs to a listening of ours that has ended. */
bool hf_upstream_is_current(struct hf_runtime *runtime, const struct hf_call *origin,
                            const struct hf_msg *msg);
/* Requests that only the older revisions have are answered in a modern server's stead. */
bool hf_upstream_can_answer(const struct hf_call *call);
void hf_upstream_answer(struct hf_call *call);

#endif
