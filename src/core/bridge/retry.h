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

/* What its requestState is worth at that server. */
enum hf_retry_state {
    HF_RETRY_STATELESS,
    HF_RETRY_STATE_OF_SERVER, /* or so it may be: the server will tell */
    HF_RETRY_STATE_LOST,      /* of another holdfast, or of an earlier life of this one */
    HF_RETRY_STATE_BAD,
};

void hf_park_bind(const struct hf_session *session, const struct hf_method *method,
                  struct hf_span params, uint8_t ret_bound[HF_SHA256_SIZE]);
/* It continues a parked call, or did. */
bool hf_retry_is_ours(const struct hf_incoming *in);
void hf_retry_take(const struct hf_incoming *in);
enum hf_retry_state hf_retry_state(const struct hf_incoming *in, const struct hf_server *server);
void hf_retry_refuse(const struct hf_incoming *in, struct hf_server *server,
                     enum hf_retry_state state);
/* It carries a state, and its server turned out to give none. */
bool hf_retry_is_misplaced(const struct hf_call *call);
void hf_retry_refuse_misplaced(struct hf_call *call);

#endif
