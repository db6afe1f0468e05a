/* token.c - see token.h. */
#include "ops/token.h"
#include <errno.h>
#include <sys/random.h>
#include "base/hex.h"
#include "base/sha256.h"
#include "ops/option_checks.h"

enum { RANDOM_SIZE = 32 };

bool hf_random_bytes(uint8_t *bytes, size_t size, struct hf_err *err)
{
    size_t n = 0;
    while (n < size) {
        const ssize_t got = getrandom(bytes + n, size - n, 0);
        if (got < 0 && errno != EINTR)
            return hf_fail(err, "the system gives no random bytes: %s", strerror(errno));
        n += got > 0 ? (size_t)got : 0;
    }
    return true;
}

bool hf_token_new(const char *name, char ret_token[HF_TOKEN_TEXT_SIZE], struct hf_buf *ret_entry,
                  struct hf_err *err)
{
    uint8_t random[RANDOM_SIZE], digest[HF_SHA256_SIZE];
    char hash[2 * HF_SHA256_SIZE + 1];
    if (!hf_check_token_name(name, err) || !hf_random_bytes(random, sizeof random, err))
        return false;
    memcpy(ret_token, "hf_", 3);
    hf_hex_write(random, sizeof random, ret_token + 3);
    hf_sha256(hf_span_of(ret_token), digest);
    hf_hex_write(digest, sizeof digest, hash);
    hf_buf_printf(ret_entry, "{ \"name\": \"%s\", \"hash\": \"sha256:%s\" }", name, hash);
    return true;
}
