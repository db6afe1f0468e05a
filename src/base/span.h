/*
 * span.h - a run of bytes in memory that belongs to other code.
 *
 * A span never owns and never ends in a NUL. It is invalid after the next change of the buffer that
 * it points into; keeping it means copying it.
 */
#ifndef HF_BASE_SPAN_H
#define HF_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hf_span {
    const char *p;
    size_t n;
};

#define HF_SPAN(literal) ((struct hf_span) { "" literal, sizeof(literal) - 1 })
/* for printf's "%.*s" */
#define HF_FMT(span) (int)(span).n, (span).p

static inline struct hf_span hf_span_of(const char *text)
{
    return (struct hf_span) { text, text ? strlen(text) : 0 };
}

static inline bool hf_span_eq(struct hf_span a, struct hf_span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool hf_span_is(struct hf_span a, const char *text)
{
    return hf_span_eq(a, hf_span_of(text));
}

static inline bool hf_span_starts(struct hf_span a, struct hf_span prefix)
{
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

/* The part of `a` from `from` on. */
static inline struct hf_span hf_span_from(struct hf_span a, size_t from)
{
    return from >= a.n ? (struct hf_span) { a.p + a.n, 0 }
                       : (struct hf_span) { a.p + from, a.n - from };
}

#endif
