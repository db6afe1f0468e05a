/*
 * secret.h - comparing what a stranger must not find out byte by byte.
 */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a time that does not depend on where they differ. */
static inline bool hf_secret_same(const uint8_t *a, const uint8_t *b, size_t n)
{
    unsigned difference = 0;
    for (size_t i = 0; i < n; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    /* Whoever compiles this must have the sum of all differences here: so he cannot stop early. */
    __asm__ volatile("" : "+r"(difference));
    return difference == 0;
}

#endif
