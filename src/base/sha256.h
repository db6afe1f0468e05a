/*
 * sha256.h - SHA-256 (FIPS 180-4), for tokens of which only the hash is stored.
 *
 * Written for inputs of tens of bytes: clear rather than fast. Not for passwords that people make
 * up: those need a slow hash, which a random token of 256 bits does not.
 */
#ifndef HF_BASE_SHA256_H
#define HF_BASE_SHA256_H

#include <stdint.h>
#include "base/secret.h"
#include "base/span.h"

enum { HF_SHA256_SIZE = 32 };

struct hf_sha256 {
    /* private */
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

void hf_sha256_init(struct hf_sha256 *hash);
void hf_sha256_feed(struct hf_sha256 *hash, struct hf_span bytes); /* pieces of any length */
void hf_sha256_end(struct hf_sha256 *hash, uint8_t ret_digest[HF_SHA256_SIZE]);

void hf_sha256(struct hf_span bytes, uint8_t ret_digest[HF_SHA256_SIZE]); /* all at once */

static inline bool hf_digest_same(const uint8_t a[HF_SHA256_SIZE], const uint8_t b[HF_SHA256_SIZE])
{
    return hf_secret_same(a, b, HF_SHA256_SIZE);
}

#endif
