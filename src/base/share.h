/*
 * share.h - how much of a bound one party may use.
 *
 * A bound limits a number of things (connections, sessions, calls, bytes) in the whole process. A
 * party is one of those among whom the bound is divided; each has a share of it. A party is refused
 * only if it would then hold more than `shares` times what is still free. So with `shares` 3 a
 * single party gets 75 % of the bound, two get 43 % each, and a new party always finds some.
 *
 * A share may be within another: a session's within that of its token. What is free to the inner
 * share is what the outer share may still take; so one session leaves some to the other sessions of
 * its token.
 *
 * Only counts: no memory, no clock. The caller gives back exactly what it took.
 *
 * 1. A bound holds the sum of its outermost shares, and the amounts that were taken without a
 *    share; a share holds its own amount and those of the shares within it.
 * 2. A party that holds nothing gets one as long as one is free to it: a bound may be small.
 */
#ifndef HF_BASE_SHARE_H
#define HF_BASE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct hf_bound {
    uint64_t limit, used;
    uint32_t shares; /* 0: one party may use the whole bound */
};

struct hf_share {
    struct hf_share *within; /* NULL: an outermost share */
    uint64_t used;
    uint64_t max; /* an upper limit, however much is free; 0: none */
};

enum hf_share_verdict {
    HF_SHARE_FITS,
    HF_SHARE_OF_PARTY, /* this party's share is used up; other parties may still take */
    HF_SHARE_OF_ALL,   /* the bound itself has not that much left */
};

/* `share` NULL: the amount counts only in the bound. */
void hf_share_take(struct hf_bound *bound, struct hf_share *share, uint64_t amount);
void hf_share_give(struct hf_bound *bound, struct hf_share *share, uint64_t amount);

/* How much more the share may take. */
uint64_t hf_share_room(const struct hf_bound *bound, const struct hf_share *share);
enum hf_share_verdict hf_share_judge(const struct hf_bound *bound, const struct hf_share *share,
                                     uint64_t wants);
/* Whether the share holds more than it would be granted now, because other parties have come or it
 * took without asking: such shares have to give back first. */
bool hf_share_is_over(const struct hf_bound *bound, const struct hf_share *share);

#endif
