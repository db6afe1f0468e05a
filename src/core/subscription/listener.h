/* listener.h - the subscriptions/listen requests of clients. */
#ifndef HF_CORE_SUBSCRIPTION_LISTENER_H
#define HF_CORE_SUBSCRIPTION_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "base/span.h"
#include "core/machine/method.h"

struct hf_engine;
struct hf_incoming;
struct hf_msg;
struct hf_session;

enum {
    HF_SESSION_LISTENERS_MAX = 1000, /* modern clients of one token share a session */
    HF_LISTENER_URIS_MAX = 1000,
};

/* One open subscriptions/listen of a client. */
struct hf_listener {
    struct hf_link link; /* in session->listeners */
    uint64_t via;
    char *id; /* of the client's request, raw */
    bool wants[HF_PART_COUNT];
    struct hf_link subscriptions;
    uint64_t updated; /* number of the last resource update that was sent to it */
};

/* Opens a listener and acknowledges it, or refuses the request. */
void hf_listener_open(const struct hf_incoming *in);
void hf_listeners_tell_changed(struct hf_session *session, enum hf_part_id part);
struct hf_listener *hf_listener_find(const struct hf_session *session, struct hf_span id);
/* Drops: the client cancelled its request, or has gone, and gets no answer. */
void hf_listener_drop(struct hf_session *session, struct hf_listener *listener);
void hf_listeners_drop_via(struct hf_session *session, uint64_t via);
void hf_listeners_drop(struct hf_session *session);
void hf_listeners_end(struct hf_session *session); /* each listener's request is answered */
/* A server's notification under the id of a client's listener (p NULL: under none); good until
 * hf_engine_collect. */
struct hf_span hf_listener_tagged(struct hf_engine *engine, const struct hf_msg *msg,
                                  struct hf_span id);

#endif
