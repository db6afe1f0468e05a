/*
 * incoming.h - one request of a client as it comes in, and whose it is.
 */
#ifndef HF_CORE_STATE_INCOMING_H
#define HF_CORE_STATE_INCOMING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

struct hf_client_party;
struct hf_method;
struct hf_msg;
struct hf_session;

/* Whose a request is, for deciding what is shared and what is a repeat (DESIGN 2). */
struct hf_caller {
    struct hf_span who;    /* said by the front: a token, an address, a process; n 0: not said */
    uint64_t session;      /* session number; 0: clients share the session, `client` tells who */
    struct hf_span client; /* clientInfo of a modern request, raw; p NULL: not said */
    struct hf_span chain;  /* the caller as named by a holdfast in front of us, raw; p NULL: none */
};

/* One request of a client as it comes in, passed along until it is answered or becomes a call. */
struct hf_incoming {
    struct hf_session *session;
    struct hf_client_party *party; /* that has to pay for the request */
    uint64_t via;      /* the front's number for the message that brought the request; 0: none */
    struct hf_span id; /* raw; p NULL: the id could not be read */
    bool is_modern;    /* the request carries its client's introduction in _meta */
    const struct hf_method *method;
    const struct hf_msg *msg;
    struct hf_caller caller;
    struct hf_span key; /* idempotency key that the client gave, plain or raw; p NULL: none */
};

#endif
