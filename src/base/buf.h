/*
 * buf.h - bytes that grow up to a stated maximum.
 *
 *   p              p+start                p+end              p+cap
 *   |  consumed    |  content (hf_buf_span) |  free room       |
 *
 * Invariants: start <= end <= cap <= max (max rounded up to the allocation step).
 * 1. There is no default maximum: every buffer says how much a peer may make it hold.
 * 2. Going over the maximum fails that one add and changes nothing.
 */
#ifndef HF_BASE_BUF_H
#define HF_BASE_BUF_H

#include <stdarg.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/span.h"

struct hf_buf {
    char *p;
    size_t start, end, cap, max;
};

void hf_buf_init(struct hf_buf *b, size_t max);
void hf_buf_done(struct hf_buf *b); /* may be used again after an init */

static inline struct hf_span hf_buf_span(const struct hf_buf *b)
{
    return (struct hf_span) { b->p ? b->p + b->start : "", b->end - b->start };
}
static inline size_t hf_buf_len(const struct hf_buf *b)
{
    return b->end - b->start;
}

/* Room for at least `n` more bytes at p+end; false over the maximum. */
HF_MUST_CHECK bool hf_buf_reserve(struct hf_buf *b, size_t n);
/* Inline, so that the compiler knows the lengths of literals: most messages are put together from
 * short pieces. */
HF_MUST_CHECK static inline bool hf_buf_try_add(struct hf_buf *b, struct hf_span bytes)
{
    if (b->cap - b->end < bytes.n && !hf_buf_reserve(b, bytes.n))
        return false;
    if (bytes.n)
        memcpy(b->p + b->end, bytes.p, bytes.n);
    b->end += bytes.n;
    return true;
}

/* For content of our own making: going over the maximum is our bug and aborts. */
_Noreturn void hf_buf_die(const struct hf_buf *b);
static inline void hf_buf_add(struct hf_buf *b, struct hf_span bytes)
{
    if (!hf_buf_try_add(b, bytes))
        hf_buf_die(b);
}
static inline void hf_buf_add_str(struct hf_buf *b, const char *text)
{
    hf_buf_add(b, hf_span_of(text));
}
static inline void hf_buf_add_char(struct hf_buf *b, char c)
{
    hf_buf_add(b, (struct hf_span) { &c, 1 });
}
void hf_buf_add_u64(struct hf_buf *b, uint64_t value);
enum { HF_DIGITS_MAX = 20 };
/* The decimal digits of `value`, right-aligned in `room`. */
struct hf_span hf_digits(char room[HF_DIGITS_MAX], uint64_t value);
void hf_buf_printf(struct hf_buf *b, const char *format, ...) HF_PRINTF(2, 3);

void hf_buf_consume(struct hf_buf *b, size_t n); /* drops `n` bytes at the front */
void hf_buf_clear(struct hf_buf *b);             /* keeps the memory */
void hf_buf_shrink(struct hf_buf *b,
                   size_t keep); /* an empty buffer frees memory over `keep` bytes */

#endif
