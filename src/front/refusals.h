/*
 * refusals.h - refused requests are counted, and logged at a bounded rate.
 *
 * A client that is refused a thousand times a second must not fill the log: of each kind of refusal
 * there is at most one line a second, and the next line says how many got none. If no other refusal
 * follows, a line of its own says that a second later.
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
    HF_REFUSED_LIMIT, /* the party's share, or the whole limit, is used up */
    HF_REFUSALS
};

struct hf_refusals {
    struct hf_refusal_kind {
        uint64_t count;     /* in all */
        uint64_t logged_ms; /* when the last line was; 0: never */
        uint64_t left_out;  /* refusals since then, without a line */
    } kinds[HF_REFUSALS];
};

/* Counts a refusal. True: it is to be logged now, with `ret_left_out`, the number of refusals of
 * this kind that got no line since the last one. */
bool hf_refusals_note(struct hf_refusals *refusals, enum hf_refusal kind, uint64_t now_ms,
                      uint64_t *ret_left_out);
/* A kind of which some were left out, and whose last line is a second old; they count as logged
 * then. False: there is none. */
bool hf_refusals_take_left_out(struct hf_refusals *refusals, uint64_t now_ms,
                               enum hf_refusal *ret_kind, uint64_t *ret_left_out);
uint64_t hf_refusals_next_ms(const struct hf_refusals *refusals); /* 0: nothing is left to log */
const char *hf_refusal_name(enum hf_refusal kind);                /* "wrong_token" */
const char *hf_refusal_text(enum hf_refusal kind); /* "a token that we do not know" */

#endif
