/*
 * utf8.h - is this UTF-8, one sequence at a time.
 */
#ifndef HF_WIRE_UTF8_H
#define HF_WIRE_UTF8_H

#include <stddef.h>

/* The length of the sequence at `p` (1 to 4), or 0 if none of at most `n` bytes begins there.
 * The range of the second byte carries all the rules that are easy to forget: nothing overlong,
 * no surrogate, nothing over U+10FFFF. */
static inline size_t hf_utf8_length(const char *p, size_t n)
{
    const unsigned char *b = (const unsigned char *)p;
    if (n == 0)
        return 0;
    if (b[0] < 0x80)
        return 1;
    const size_t length = b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    const unsigned char low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    if (b[1] < low || b[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

#endif
