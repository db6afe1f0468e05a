/*
 * fold.h - comparing text in which upper and lower case of ASCII letters are the same.
 *
 * All comparisons without case use this file: no locale, no letters beyond ASCII.
 */
#ifndef HF_BASE_FOLD_H
#define HF_BASE_FOLD_H

#include "base/span.h"

static inline char hf_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static inline uint64_t hf_fold_word(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Compares eight bytes at once: where `name` has a letter, bit 0x20 may be missing in `text`. */
static inline bool hf_fold_same_word(const char *text, const char *name)
{
    const uint64_t each = UINT64_C(0x0101010101010101), word = hf_fold_word(name);
    const uint64_t low = word & each * 0x7f;
    const uint64_t over_z = low + each * (0x7f - 'z'), from_a = low + each * (0x80 - 'a');
    const uint64_t is_letter = from_a & ~over_z & ~word & each * 0x80;
    return (hf_fold_word(text) | is_letter >> 2) == word;
}

/* Whether `text` is `name` in any case. `name` itself is in lower case. */
static inline bool hf_fold_is(struct hf_span text, struct hf_span name)
{
    const size_t n = name.n;
    size_t i = 0;
    if (text.n != n)
        return false;
    for (; i + 8 <= n; i += 8)
        if (!hf_fold_same_word(text.p + i, name.p + i))
            return false;
    if (i && i < n) /* the last eight bytes, which overlap those compared before */
        return hf_fold_same_word(text.p + n - 8, name.p + n - 8);
    for (; i < n; i++)
        if (hf_lower(text.p[i]) != name.p[i])
            return false;
    return true;
}

/* Whether both are the same, whatever their case. */
static inline bool hf_fold_same(struct hf_span a, struct hf_span b)
{
    size_t i = 0;
    while (i < a.n && i < b.n && hf_lower(a.p[i]) == hf_lower(b.p[i]))
        i++;
    return i == a.n && i == b.n;
}

/* Whether `text` begins with `prefix` in any case. `prefix` itself is in lower case. */
static inline bool hf_fold_starts(struct hf_span text, struct hf_span prefix)
{
    return text.n >= prefix.n && hf_fold_is((struct hf_span) { text.p, prefix.n }, prefix);
}

#endif
