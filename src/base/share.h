/*
 * share.h - how much one party may have of what is bounded for all.
 *
 * A bound is a number of something (connections, sessions, calls, bytes) that the whole process may
 * hold. Whoever makes it hold some is a party, and each party has a share of each bound. A party is
 * refused only if it would then hold more than `shares` times what is still free. So with 3 one
 * alone gets 75 % of the bound, two get 43 % each, and whoever is new finds something.
 *
 * A share may be within another: a session's in that of its token. What is free to it is then what
 * the outer one may still take; so one session leaves something to the others of its token.
 *
 * Only counts: no memory, no clock. Whoever takes gives back the same.
 *
 * 1. A bound holds the sum of what its outermost shares hold, and of what nobody's share was
 *    counted for; a share holds what those within it hold, and its own.
 * 2. A party that holds nothing gets one as long as one is free to it: a bound may be small.
 */
#ifndef HF_BASE_SHARE_H
#define HF_BASE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct hf_bound {
    uint64_t limit, used;
    uint32_t shares; /* 0: everybody may have all of it */
};

struct hf_share {
    struct hf_share *within; /* NULL: it is nobody's */
    uint64_t used;
    uint64_t max; /* of its own, whatever is free; 0: none */
};

enum hf_share_verdict {
    HF_SHARE_FITS,
    HF_SHARE_OF_PARTY, /* this party has its share: others may still take */
    HF_SHARE_OF_ALL,   /* nobody can be given that much now */
};

/* A `share` of NULL is nobody's: only the bound itself counts for it. */
void hf_share_take(struct hf_bound *bound, struct hf_share *share, uint64_t amount);
void hf_share_give(struct hf_bound *bound, struct hf_share *share, uint64_t amount);

/* How much more it may take. */
uint64_t hf_share_room(const struct hf_bound *bound, const struct hf_share *share);
enum hf_share_verdict hf_share_judge(const struct hf_bound *bound, const struct hf_share *share,
                                     uint64_t wants);
/* Whether it holds more than it would be given now, since others have come or it took before it
 * asked: who has to give something back gives this first. */
bool hf_share_is_over(const struct hf_bound *bound, const struct hf_share *share);

#endif
