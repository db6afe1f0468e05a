/* subscription.h - which resources clients want to hear of; see subscription.h. */
#ifndef HF_CORE_SUBSCRIPTION_SUBSCRIPTION_H
#define HF_CORE_SUBSCRIPTION_SUBSCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include "base/list.h"
#include "base/map.h"
#include "base/span.h"

struct hf_engine;
struct hf_link;
struct hf_listener;
struct hf_msg;
struct hf_runtime;
struct hf_server;
struct hf_session;

enum { HF_SUBSCRIPTIONS_MAX = 10000 }; /* of all clients together */

struct hf_subscription {
    struct hf_link link;      /* in session->subscriptions, or in listener->subscriptions */
    struct hf_link in_server; /* in server->subscriptions, or in engine->anywhere */
    struct hf_map_node by_uri, by_session; /* in the engine's maps */
    struct hf_session *session;
    struct hf_listener *listener; /* NULL: the client's own resources/subscribe */
    struct hf_server *server;     /* NULL: no list has it, so every server is asked */
    char *uri;                    /* JSON string in our own spelling */
};

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

/* `spelled`: its canonical spelling. */
bool hf_uri_is_wanted(const struct hf_runtime *runtime, const char *spelled);

#endif
