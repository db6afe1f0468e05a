/*
 * secret.h - comparing secrets, so that the time taken tells nothing about them.
 */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes a time that does not depend on where the bytes differ. */
static inline bool hf_secret_same(const uint8_t *a, const uint8_t *b, size_t n)
{
    unsigned difference = 0;
    for (size_t i = 0; i < n; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    /* The compiler must have the sum of all differences here, so it cannot stop early. */
    __asm__ volatile("" : "+r"(difference));
    return difference == 0;
}

#endif
