/*
 * store_parts.h - what an implementation of a store sees of it, and nobody else.
 *
 * Requests travel in batches: blocks of memory in which requests and their bytes lie one behind the
 * other. A batch goes to the implementation and comes back through `answers` with every outcome
 * set.
 */
#ifndef HF_STORE_STORE_PARTS_H
#define HF_STORE_STORE_PARTS_H

#include "io/mailbox.h"
#include "store/store.h"

struct hf_store_item {
    struct hf_store_item *next;
    struct hf_store_answer answer;
};

struct hf_store_batch {
    struct hf_letter letter;
    struct hf_store_item *first, **last; /* none at all: it only says that the store is back */
    size_t size, used;                   /* of bytes[] */
    bool is_urgent;                      /* not only rows of calls */
    max_align_t bytes[];
};

struct hf_store_ops { /* Callback table, because implementations are chosen at run time. */
    /* Takes the batch. It comes back through `answers`, later or at once. */
    void (*post)(struct hf_store *store, struct hf_store_batch *batch);
    void (*health)(struct hf_store *store, struct hf_store_health *ret_health);
    /* Ends the implementation, which puts nothing into `answers` from then on, and frees what it
     * added to the store; `answers` is closed or left to it if it could not be ended in time. */
    void (*end)(struct hf_store *store, uint32_t wait_ms);
};

enum {
    HF_STORE_BATCHES_MAX = 1024, /* on their way, when something is asked for */
    /* Those that waited come on top, and what tells that the store is back. */
    HF_STORE_MAILBOX_MAX = 2 * HF_STORE_BATCHES_MAX,
    HF_STORE_BLOCK_BYTES = 64 << 10,
    HF_STORE_BYTES_MAX = 64 << 20,   /* on their way */
    HF_STORE_WAITING_MAX = 16 << 20, /* of what waits for the store's return */
};

struct hf_store {
    const struct hf_store_ops *ops;
    struct hf_mailbox *answers;  /* of struct hf_store_batch */
    struct hf_store_batch *open; /* being filled; NULL: none */
    struct hf_link spares;       /* batches that came back, to be used again */
    unsigned spare_count;
    struct hf_link came, waiting;   /* batches with answers; with requests that wait */
    struct hf_store_batch *reading; /* whose answers are being given */
    struct hf_store_answer *given;  /* the last one */
    struct hf_store_item *next;     /* of its answers */
    size_t bytes, batches, waiting_bytes;
    uint64_t waiting_count, refused;
};

void hf_store_init(struct hf_store *store, const struct hf_store_ops *ops,
                   struct hf_mailbox *answers);
struct hf_store_batch *hf_store_batch_new(size_t size);
void hf_store_batch_free(struct hf_store_batch *batch); /* with what was loaded for it */

#endif
