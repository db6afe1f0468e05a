/* token.c - see token.h. */
#include "ops/token.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "io/random.h"
#include "ops/option_checks.h"

enum { RANDOM_SIZE = 32 };

bool hf_token_new(const char *name, char ret_token[HF_TOKEN_TEXT_SIZE], struct hf_buf *ret_entry,
                  struct hf_err *err)
{
    uint8_t random[RANDOM_SIZE], digest[HF_SHA256_SIZE];
    char hash[2 * HF_SHA256_SIZE + 1];
    if (!hf_check_token_name(name, err))
        return false;
    hf_random(random, sizeof random);
    memcpy(ret_token, "hf_", 3);
    hf_hex_write(random, sizeof random, ret_token + 3);
    hf_sha256(hf_span_of(ret_token), digest);
    hf_hex_write(digest, sizeof digest, hash);
    hf_buf_printf(ret_entry, "{ \"name\": \"%s\", \"hash\": \"sha256:%s\" }", name, hash);
    return true;
}
