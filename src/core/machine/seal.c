/* seal.c - see seal.h. */
#include "core/machine/seal.h"
#include "base/hex.h"

/*  hf1. | instance 8 | server 8 | generation 8 | call 8 | round 4 | mac 32    (in hex)  */
enum { BLOCK = 64, FACTS = 36, SEAL = FACTS + HF_SHA256_SIZE };
static const struct hf_span mark = { "hf1.", 4 };

static void feed_pad(struct hf_sha256 *hash, const uint8_t key[BLOCK], uint8_t pad)
{
    char block[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] = (char)(key[i] ^ pad);
    hf_sha256_init(hash);
    hf_sha256_feed(hash, (struct hf_span) { block, BLOCK });
}

void hf_hmac_sha256(struct hf_span key, struct hf_span bytes, uint8_t ret_mac[HF_SHA256_SIZE])
{
    uint8_t padded[BLOCK] = { 0 }, inner[HF_SHA256_SIZE];
    struct hf_sha256 hash;
    if (key.n > BLOCK)
        hf_sha256(key, padded);
    else if (key.n)
        memcpy(padded, key.p, key.n);
    feed_pad(&hash, padded, 0x36);
    hf_sha256_feed(&hash, bytes);
    hf_sha256_end(&hash, inner);
    feed_pad(&hash, padded, 0x5c);
    hf_sha256_feed(&hash, (struct hf_span) { (const char *)inner, sizeof inner });
    hf_sha256_end(&hash, ret_mac);
}

static void put(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

static uint64_t get(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | at[i];
    return value;
}

static struct hf_span key_of(const uint8_t secret[HF_SECRET_SIZE])
{
    return (struct hf_span) { (const char *)secret, HF_SECRET_SIZE };
}

/* Tells two secrets apart without revealing anything of them. */
static uint64_t instance_of(const uint8_t secret[HF_SECRET_SIZE])
{
    uint8_t mac[HF_SHA256_SIZE];
    hf_hmac_sha256(key_of(secret), HF_SPAN("instance"), mac);
    return get(mac, 8);
}

uint64_t hf_seal_name(struct hf_span server)
{
    uint8_t digest[HF_SHA256_SIZE];
    hf_sha256(server, digest);
    return get(digest, 8);
}

static void make(const uint8_t secret[HF_SECRET_SIZE], const struct hf_seal *seal,
                 const uint8_t bound[HF_SHA256_SIZE], uint8_t ret_bytes[SEAL])
{
    char proven[FACTS + HF_SHA256_SIZE];
    put(ret_bytes, instance_of(secret), 8);
    put(ret_bytes + 8, seal->server, 8);
    put(ret_bytes + 16, seal->generation, 8);
    put(ret_bytes + 24, seal->call, 8);
    put(ret_bytes + 32, seal->round, 4);
    memcpy(proven, ret_bytes, FACTS);
    memcpy(proven + FACTS, bound, HF_SHA256_SIZE);
    hf_hmac_sha256(key_of(secret), (struct hf_span) { proven, sizeof proven }, ret_bytes + FACTS);
}

void hf_seal_write(struct hf_buf *out, const uint8_t secret[HF_SECRET_SIZE],
                   const struct hf_seal *seal, const uint8_t bound[HF_SHA256_SIZE])
{
    uint8_t bytes[SEAL];
    char digits[2 * SEAL + 1];
    make(secret, seal, bound, bytes);
    hf_hex_write(bytes, SEAL, digits);
    hf_buf_add(out, mark);
    hf_buf_add(out, (struct hf_span) { digits, 2 * SEAL });
}

enum hf_seal_verdict hf_seal_read(struct hf_span text, const uint8_t secret[HF_SECRET_SIZE],
                                  const uint8_t bound[HF_SHA256_SIZE], struct hf_seal *ret_seal)
{
    uint8_t bytes[SEAL], expected[SEAL];
    char digits[2 * SEAL + 1];
    if (!hf_span_starts(text, mark))
        return HF_SEAL_NONE;
    *ret_seal = (struct hf_seal) { 0 };
    const struct hf_span hex = hf_span_from(text, mark.n);
    if (!hf_hex_read(hex, bytes, SEAL))
        return HF_SEAL_BROKEN;
    *ret_seal = (struct hf_seal) { get(bytes + 8, 8), get(bytes + 16, 8), get(bytes + 24, 8),
                                   (uint32_t)get(bytes + 32, 4) };
    if (get(bytes, 8) != instance_of(secret))
        return HF_SEAL_OTHER;
    make(secret, ret_seal, bound, expected);
    hf_hex_write(bytes, SEAL, digits);
    const bool is_as_written = hf_span_eq(hex, (struct hf_span) { digits, 2 * SEAL });
    return hf_digest_same(bytes + FACTS, expected + FACTS) && is_as_written ? HF_SEAL_GOOD
                                                                            : HF_SEAL_BROKEN;
}
