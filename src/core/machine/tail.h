/*
 * tail.h - the last bytes that were written to a server's stdin.
 *
 * What is taken back out of a pipe proves something only if it is what we put there: a server can
 * write into its own stdin. So as much as a pipe holds is remembered (DESIGN 4, `unread`).
 */
#ifndef HF_CORE_TAIL_H
#define HF_CORE_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

/* A pipe's capacity on Linux. If the server made its pipe larger, the bytes beyond this prove
 * nothing. */
enum { HF_TAIL_MAX = 65536 };

struct hf_tail {
    char *ring;   /* the byte at offset n of the stream is ring[n % room] */
    size_t room;  /* size of the ring, a power of two; grows with the stream up to HF_TAIL_MAX */
    uint64_t end; /* length of the stream so far */
};

void hf_tail_add(struct hf_tail *tail, struct hf_span bytes);

/* Where to put the next `n` bytes, if there is room for them in one piece; NULL: use hf_tail_add.
 * Inline, since every call needs it. */
static inline char *hf_tail_next(struct hf_tail *tail, size_t n)
{
    const size_t at = (size_t)tail->end & (tail->room - 1);
    const bool is_large_enough = tail->room == HF_TAIL_MAX || tail->end + n <= tail->room;
    if (!is_large_enough || at + n > tail->room)
        return NULL;
    tail->end += n;
    return tail->ring + at;
}

/* Whether `bytes` are the last bytes of the stream. False also if they are more than is
 * remembered. */
bool hf_tail_is(const struct hf_tail *tail, struct hf_span bytes);
void hf_tail_done(struct hf_tail *tail);

#endif
