/*
 * pool.h - a few blocks of one size that are used again and again.
 *
 * malloc() is slow for blocks that are larger than its quick lists and are allocated and freed a
 * hundred thousand times a second. A pool has at most `max` blocks. A size that does not fit one of
 * them, or a request while all are in use, goes to malloc(), so that a peak leaves no memory
 * behind.
 */
#ifndef HF_BASE_POOL_H
#define HF_BASE_POOL_H

#include <stddef.h>

struct hf_pool {
    size_t size;        /* of a block, with the pool's own header */
    unsigned max, made; /* blocks: how many there may be, and are */
    struct hf_pool_block *spare;
};

#define HF_POOL(block_size, block_count) ((struct hf_pool) { (block_size), (block_count), 0, NULL })

void *hf_pool_take(struct hf_pool *pool, size_t size); /* not zeroed; never NULL */
void hf_pool_give(struct hf_pool *pool, void *p);      /* `p` from hf_pool_take */
void hf_pool_free(struct hf_pool *pool);               /* after all blocks were given back */

#endif
