/*
 * pool.h - a few blocks of one size that are used again and again.
 *
 * malloc() is slow for what is larger than its quick lists and comes and goes a hundred thousand
 * times a second. A pool is made of at most `max` blocks: what does not fit one of them, or comes
 * while all are in use, is allocated as ever, so that a crowd costs what it needs and no more.
 */
#ifndef HF_BASE_POOL_H
#define HF_BASE_POOL_H

#include <stddef.h>

struct hf_pool {
    size_t size;        /* of a block, with what the pool keeps in it */
    unsigned max, made; /* blocks: how many there may be, and are */
    struct hf_pool_block *spare;
};

#define HF_POOL(block_size, block_count) ((struct hf_pool) { (block_size), (block_count), 0, NULL })

void *hf_pool_take(struct hf_pool *pool, size_t size); /* not zeroed; never NULL */
void hf_pool_give(struct hf_pool *pool, void *p);      /* what was taken from it */
void hf_pool_free(struct hf_pool *pool);               /* all that was taken was given back */

#endif
