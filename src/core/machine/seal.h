/*
 * seal.h - a requestState that only we can have made, for one request of one caller.
 *
 * Pure. A seal hides nothing: it says which call it continues and in which round, and whoever holds
 * it may read that. It proves, by HMAC-SHA256 (RFC 2104), that we said so, and to whom: what it is
 * bound to is not in the text, so that it verifies only where it is presented by the same caller,
 * for the same tool and the same arguments.
 */
#ifndef HF_CORE_SEAL_H
#define HF_CORE_SEAL_H

#include <stdint.h>
#include "base/buf.h"
#include "base/sha256.h"

enum { HF_SECRET_SIZE = 32 };

struct hf_seal {
    uint64_t server; /* hf_seal_name of the server's name */
    uint64_t generation, call;
    uint32_t round;
};

enum hf_seal_verdict {
    HF_SEAL_GOOD,
    HF_SEAL_NONE,   /* not a seal at all: a requestState of somebody else */
    HF_SEAL_OTHER,  /* made with another secret: by another holdfast, or by an earlier process */
    HF_SEAL_BROKEN, /* changed, or bound to another caller, tool or arguments */
};

void hf_hmac_sha256(struct hf_span key, struct hf_span bytes, uint8_t ret_mac[HF_SHA256_SIZE]);

uint64_t hf_seal_name(struct hf_span server);
/* Appends the seal: plain characters that need no escapes in JSON. */
void hf_seal_write(struct hf_buf *out, const uint8_t secret[HF_SECRET_SIZE],
                   const struct hf_seal *seal, const uint8_t bound[HF_SHA256_SIZE]);
/* `ret_seal` is set unless the verdict is NONE; it can be believed only if the verdict is GOOD. */
enum hf_seal_verdict hf_seal_read(struct hf_span text, const uint8_t secret[HF_SECRET_SIZE],
                                  const uint8_t bound[HF_SHA256_SIZE], struct hf_seal *ret_seal);

#endif
