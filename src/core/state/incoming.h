/*
 * incoming.h - one request of a client as it comes in, and whose it is.
 */
#ifndef HF_CORE_STATE_INCOMING_H
#define HF_CORE_STATE_INCOMING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

struct hf_method;
struct hf_msg;
struct hf_session;

/* Whose request it is, where sharing and repeats are concerned (DESIGN 2). */
struct hf_caller {
    struct hf_span who;    /* said by the front: a token, an address, a process; n 0: not said */
    uint64_t session;      /* its number; 0: many clients share it, and `client` tells them apart */
    struct hf_span client; /* clientInfo of a modern request, raw; p NULL: not said */
    struct hf_span chain;  /* what a holdfast in front of us calls it, raw; p NULL: there is none */
};

/* One request of a client as it comes in: passed along until it was answered or became a call. */
struct hf_incoming {
    struct hf_session *session;
    uint64_t via;      /* the front's name for the message it came in; 0: none */
    struct hf_span id; /* raw; p NULL: it could not be read */
    bool is_modern;    /* it carries its own introduction */
    const struct hf_method *method;
    const struct hf_msg *msg;
    struct hf_caller caller;
    struct hf_span key; /* idempotency key that its client gave, plain or raw; p NULL: none */
};

#endif
