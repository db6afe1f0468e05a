/* share.c - see share.h. */
#include "base/share.h"
#include <assert.h>

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t free_of(const struct hf_bound *bound)
{
    return bound->used < bound->limit ? bound->limit - bound->used : 0;
}

/* What is free to this share and to its siblings within the same outer share. */
static uint64_t free_to(const struct hf_bound *bound, const struct hf_share *share)
{
    return share->within ? hf_share_room(bound, share->within) : free_of(bound);
}

/* shares x free; on overflow a value that is larger than any bound. */
static uint64_t times(uint32_t shares, uint64_t free)
{
    return free > UINT64_MAX / shares ? UINT64_MAX : shares * free;
}

uint64_t hf_share_room(const struct hf_bound *bound, const struct hf_share *share)
{
    if (!share)
        return free_of(bound);
    const uint64_t free = free_to(bound, share);
    uint64_t room = free;
    if (bound->shares) { /* used + room <= shares x (free - room) */
        const uint64_t most = times(bound->shares, free);
        room = most > share->used ? (most - share->used) / ((uint64_t)bound->shares + 1) : 0;
    }
    if (room == 0 && share->used == 0)
        room = less(free, 1);
    if (share->max)
        room = less(room, share->max > share->used ? share->max - share->used : 0);
    return room;
}

enum hf_share_verdict hf_share_judge(const struct hf_bound *bound, const struct hf_share *share,
                                     uint64_t wants)
{
    if (wants > free_of(bound))
        return HF_SHARE_OF_ALL;
    return wants > hf_share_room(bound, share) ? HF_SHARE_OF_PARTY : HF_SHARE_FITS;
}

bool hf_share_is_over(const struct hf_bound *bound, const struct hf_share *share)
{
    if (!share)
        return bound->used > bound->limit;
    if (share->max && share->used > share->max)
        return true;
    if (bound->shares && share->used > 1 &&
        share->used > times(bound->shares, free_to(bound, share)))
        return true;
    return share->within && hf_share_is_over(bound, share->within);
}

void hf_share_take(struct hf_bound *bound, struct hf_share *share, uint64_t amount)
{
    bound->used += amount;
    for (; share; share = share->within)
        share->used += amount;
}

void hf_share_give(struct hf_bound *bound, struct hf_share *share, uint64_t amount)
{
    assert(bound->used >= amount);
    bound->used -= amount;
    for (; share; share = share->within) {
        assert(share->used >= amount);
        share->used -= amount;
    }
}
