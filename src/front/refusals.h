/*
 * refusals.h - who was not let in is seen: one line in the log, and a count.
 *
 * Whoever knocks a thousand times a second must not fill the log: of each kind there is one line a
 * second at most, and the next one says how many were left out. What was left out last is said a
 * second later by itself.
 */
#ifndef HF_FRONT_REFUSALS_H
#define HF_FRONT_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

enum hf_refusal {
    HF_REFUSED_HOST,
    HF_REFUSED_ORIGIN,
    HF_REFUSED_NO_TOKEN,
    HF_REFUSED_WRONG_TOKEN,
    HF_REFUSED_LIMIT, /* has its share, or there is nothing left */
    HF_REFUSALS
};

struct hf_refusals {
    struct hf_refusal_kind {
        uint64_t count;   /* in all */
        uint64_t told_ms; /* when the last line was; 0: never */
        uint64_t left_out;
    } kinds[HF_REFUSALS];
};

/* Counts one; true: it is to be told now, and `ret_left_out` were not since the last line. */
bool hf_refusals_note(struct hf_refusals *refusals, enum hf_refusal kind, uint64_t now_ms,
                      uint64_t *ret_left_out);
/* One kind of which some were left out, with nothing told of it for a second; it counts as told.
 * False: there is none. */
bool hf_refusals_take_left_out(struct hf_refusals *refusals, uint64_t now_ms,
                               enum hf_refusal *ret_kind, uint64_t *ret_left_out);
uint64_t hf_refusals_next_ms(const struct hf_refusals *refusals); /* 0: nothing is left to tell */
const char *hf_refusal_name(enum hf_refusal kind);                /* "wrong_token" */
const char *hf_refusal_text(enum hf_refusal kind); /* "a token that we do not know" */

#endif
