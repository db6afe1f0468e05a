/*
 * takeover.h - what processes that are gone left in the state directory becomes rows, then nothing.
 *
 * Marks of their rings and rows that they had opened become rows with an end; where the end is not
 * known, that is what the row says. Only when the rows are committed are the files removed: whoever
 * dies in between leaves all of it to the next one, and the same rows are then written again.
 */
#ifndef HF_STORE_TAKEOVER_H
#define HF_STORE_TAKEOVER_H

#include "store/sqlite_db.h"

struct hf_takeover {
    uint64_t instances, marks, torn;
};

/* Outside of a transaction. SQLITE_OK, or the first error; then the rest is left for next time. */
int hf_takeover_look(struct hf_db *db, const char *directory, const char *own,
                     struct hf_takeover *ret_found);

#endif
