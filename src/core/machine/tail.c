/* tail.c - see tail.h. */
#include "core/machine/tail.h"
#include <string.h>
#include "base/mem.h"

enum { FIRST_ROOM = 1024 };

/* While the room is smaller than HF_TAIL_MAX, it holds the stream from its first byte: nothing has
 * wrapped. */
static void grow(struct hf_tail *tail, uint64_t wanted)
{
    size_t room = tail->room ? tail->room : FIRST_ROOM;
    while (room < HF_TAIL_MAX && room < wanted)
        room *= 2;
    if (room == tail->room)
        return;
    tail->ring = hf_realloc(tail->ring, room);
    tail->room = room;
}

void hf_tail_add(struct hf_tail *tail, struct hf_span bytes)
{
    if (tail->end + bytes.n > tail->room && tail->room < HF_TAIL_MAX)
        grow(tail, tail->end + bytes.n);
    const size_t skipped = bytes.n > tail->room ? bytes.n - tail->room : 0;
    const size_t n = bytes.n - skipped;
    const size_t at = (size_t)(tail->end + skipped) & (tail->room - 1);
    const size_t before_wrap = n < tail->room - at ? n : tail->room - at;
    memcpy(tail->ring + at, bytes.p + skipped, before_wrap);
    memcpy(tail->ring, bytes.p + skipped + before_wrap, n - before_wrap);
    tail->end += bytes.n;
}

bool hf_tail_is(const struct hf_tail *tail, struct hf_span bytes)
{
    if (bytes.n == 0)
        return true;
    if (bytes.n > tail->end || bytes.n > tail->room)
        return false;
    const size_t at = (size_t)(tail->end - bytes.n) & (tail->room - 1);
    const size_t before_wrap = bytes.n < tail->room - at ? bytes.n : tail->room - at;
    return memcmp(tail->ring + at, bytes.p, before_wrap) == 0 &&
           memcmp(tail->ring, bytes.p + before_wrap, bytes.n - before_wrap) == 0;
}

void hf_tail_done(struct hf_tail *tail)
{
    hf_free(tail->ring);
    *tail = (struct hf_tail) { 0 };
}
