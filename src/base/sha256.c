/* sha256.c - see sha256.h; the names of the little functions are the standard's. */
#include "base/sha256.h"

enum { BLOCK = 64, LENGTH_AT = 56 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[BLOCK] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void schedule(const uint8_t *block, uint32_t w[BLOCK])
{
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (unsigned t = 16; t < BLOCK; t++) {
        const uint32_t a = w[t - 15], b = w[t - 2];
        const uint32_t sigma0 = rotr(a, 7) ^ rotr(a, 18) ^ a >> 3;
        const uint32_t sigma1 = rotr(b, 17) ^ rotr(b, 19) ^ b >> 10;
        w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[BLOCK], v[8];
    schedule(block, w);
    memcpy(v, state, sizeof v);
    for (unsigned t = 0; t < BLOCK; t++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
        const uint32_t ch = (e & v[5]) ^ (~e & v[6]);
        const uint32_t t1 = v[7] + sum1 + ch + constants[t] + w[t];
        const uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
        const uint32_t maj = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + sum0 + maj;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

void hf_sha256_init(struct hf_sha256 *hash)
{
    *hash = (struct hf_sha256) { .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void hf_sha256_feed(struct hf_sha256 *hash, struct hf_span bytes)
{
    while (bytes.n > 0) {
        const size_t have = hash->length % BLOCK;
        const size_t n = bytes.n < BLOCK - have ? bytes.n : BLOCK - have;
        memcpy(hash->block + have, bytes.p, n);
        hash->length += n;
        bytes = hf_span_from(bytes, n);
        if (have + n == BLOCK)
            compress(hash->state, hash->block);
    }
}

void hf_sha256_end(struct hf_sha256 *hash, uint8_t ret_digest[HF_SHA256_SIZE])
{
    const uint64_t bits = hash->length * 8;
    size_t have = hash->length % BLOCK;
    hash->block[have++] = 0x80;
    if (have > LENGTH_AT) {
        memset(hash->block + have, 0, BLOCK - have);
        compress(hash->state, hash->block);
        have = 0;
    }
    memset(hash->block + have, 0, LENGTH_AT - have);
    for (unsigned i = 0; i < 8; i++)
        hash->block[LENGTH_AT + i] = (uint8_t)(bits >> (56 - 8 * i));
    compress(hash->state, hash->block);
    for (unsigned i = 0; i < HF_SHA256_SIZE; i++)
        ret_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hf_sha256(struct hf_span bytes, uint8_t ret_digest[HF_SHA256_SIZE])
{
    struct hf_sha256 hash;
    hf_sha256_init(&hash);
    hf_sha256_feed(&hash, bytes);
    hf_sha256_end(&hash, ret_digest);
}
