/* retry.h - a modern client comes back with a requestState. */
#ifndef HF_CORE_BRIDGE_RETRY_H
#define HF_CORE_BRIDGE_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/sha256.h"
#include "base/span.h"

struct hf_call;
struct hf_incoming;
struct hf_method;
struct hf_server;
struct hf_session;

/* What the requestState of a request is worth at the server that the request is for. */
enum hf_retry_state {
    HF_RETRY_STATELESS,       /* the request carries none */
    HF_RETRY_STATE_OF_SERVER, /* the server gave it, or may have: the server will tell */
    HF_RETRY_STATE_LOST,      /* given by another holdfast, or by this one before a restart */
    HF_RETRY_STATE_BAD,       /* neither the server nor holdfast gave it for this request */
};

/* The digest of caller, method, tool and arguments that a requestState is bound to. */
void hf_park_bind(const struct hf_session *session, const struct hf_method *method,
                  struct hf_span params, uint8_t ret_bound[HF_SHA256_SIZE]);
/* Whether the request continues a parked call: its requestState is one of ours, though the call may
 * have been forgotten. */
bool hf_retry_is_ours(const struct hf_incoming *in);
void hf_retry_take(const struct hf_incoming *in);
enum hf_retry_state hf_retry_state(const struct hf_incoming *in, const struct hf_server *server);
void hf_retry_refuse(const struct hf_incoming *in, struct hf_server *server,
                     enum hf_retry_state state);
/* Whether the call carries a requestState and its server turned out to be a legacy one. */
bool hf_retry_is_misplaced(const struct hf_call *call);
void hf_retry_refuse_misplaced(struct hf_call *call);

#endif
