/*
 * sqlite_apply.h - what each request does to the file, inside a transaction of the caller.
 */
#ifndef HF_STORE_SQLITE_APPLY_H
#define HF_STORE_SQLITE_APPLY_H

#include "store/sqlite_db.h"
#include "store/store.h"

/* SQLITE_OK, or an error that says nothing yet about the rest of the transaction. `instance` is the
 * name of this process. Sets what the answer has beside its outcome; a `reason` that is not NONE
 * means that the request failed by itself, and nothing of it was written. */
int hf_sqlite_apply(struct hf_db *db, struct hf_span instance, struct hf_store_answer *answer);

/* One portion of what is over the bounds. */
struct hf_retired {
    uint64_t calls;
    bool has_more;
};
int hf_sqlite_retire(struct hf_db *db, const struct hf_retention *bounds,
                     struct hf_retired *ret_retired);

/* sqlite_loaded.c: everything that a process begins with. */
int hf_sqlite_read_all(struct hf_db *db, const struct hf_load_wish *wish, struct hf_loaded *loaded);
int hf_sqlite_take_generations(struct hf_db *db, const struct hf_server_key *key, uint32_t count,
                               uint64_t *ret_first);

#endif
