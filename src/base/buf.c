/* buf.c - see buf.h. */
#include "base/buf.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAP = 256 };

void hf_buf_init(struct hf_buf *b, size_t max)
{
    assert(max > 0);
    *b = (struct hf_buf) { .max = max };
}

void hf_buf_done(struct hf_buf *b)
{
    hf_free(b->p);
    *b = (struct hf_buf) { .max = b->max };
}

bool hf_buf_reserve(struct hf_buf *b, size_t n)
{
    assert(b->start <= b->end && b->end <= b->cap && b->max > 0);
    if (b->cap - b->end >= n)
        return true;
    const size_t len = b->end - b->start;
    if (n > b->max || len > b->max - n)
        return false;
    /* Moving is cheaper than growing while at least half of the memory is consumed bytes. */
    if (b->start > 0 && len + n <= b->cap && b->start >= len) {
        memmove(b->p, b->p + b->start, len);
    } else {
        size_t cap = b->cap ? b->cap : FIRST_CAP;
        while (cap < len + n)
            cap *= 2;
        if (b->start > 0 && len > 0)
            memmove(b->p, b->p + b->start, len);
        b->p = hf_realloc(b->p, cap);
        b->cap = cap;
    }
    b->start = 0;
    b->end = len;
    return true;
}

_Noreturn void hf_buf_die(const struct hf_buf *b)
{
    fprintf(stderr, "holdfast: a buffer of our own went over its maximum of %zu\n", b->max);
    abort();
}

struct hf_span hf_digits(char room[HF_DIGITS_MAX], uint64_t value)
{
    size_t at = HF_DIGITS_MAX;
    do {
        room[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return (struct hf_span) { room + at, HF_DIGITS_MAX - at };
}

void hf_buf_add_u64(struct hf_buf *b, uint64_t value)
{
    char room[HF_DIGITS_MAX];
    hf_buf_add(b, hf_digits(room, value));
}

void hf_buf_printf(struct hf_buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(n >= 0);
    if (!hf_buf_reserve(b, (size_t)n + 1))
        hf_buf_die(b);
    (void)vsnprintf(b->p + b->end, (size_t)n + 1, format, again);
    va_end(again);
    b->end += (size_t)n;
}

void hf_buf_consume(struct hf_buf *b, size_t n)
{
    assert(n <= b->end - b->start);
    b->start += n;
    if (b->start == b->end)
        b->start = b->end = 0;
}

void hf_buf_clear(struct hf_buf *b)
{
    b->start = b->end = 0;
}

void hf_buf_shrink(struct hf_buf *b, size_t keep)
{
    if (b->start == b->end && b->cap > keep)
        hf_buf_done(b);
}
