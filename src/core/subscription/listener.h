/* listener.h - clients' subscriptions/listen. */
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
    char *id; /* raw */
    bool wants[HF_PART_COUNT];
    struct hf_link subscriptions;
    uint64_t updated; /* number of the last resource update that it was sent */
};

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

#endif
