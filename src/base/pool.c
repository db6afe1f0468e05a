/* pool.c - see pool.h. A spare block is poisoned, so that the sanitizer reports a use of it. */
#include "base/pool.h"
#include <stdbool.h>
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define HF_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HF_HAS_ASAN 1
#endif
#endif
#ifdef HF_HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

struct hf_pool_block {
    _Alignas(16) struct hf_pool_block *next; /* the next spare block */
    bool is_pooled;                          /* else it came from malloc, and is freed */
};

static size_t room(const struct hf_pool *pool)
{
    return pool->size - sizeof(struct hf_pool_block);
}

void *hf_pool_take(struct hf_pool *pool, size_t size)
{
    struct hf_pool_block *block = pool->spare;
    if (size > room(pool) || (!block && pool->made == pool->max)) {
        block = hf_realloc(NULL, sizeof *block + size);
        block->is_pooled = false;
        return block + 1;
    }
    if (block) {
        pool->spare = block->next;
        UNPOISON(block + 1, room(pool));
    } else {
        block = hf_realloc(NULL, pool->size);
        block->is_pooled = true;
        pool->made++;
    }
    return block + 1;
}

void hf_pool_give(struct hf_pool *pool, void *p)
{
    struct hf_pool_block *block = (struct hf_pool_block *)p - 1;
    if (!block->is_pooled) {
        hf_free(block);
        return;
    }
    POISON(p, room(pool));
    block->next = pool->spare;
    pool->spare = block;
}

void hf_pool_free(struct hf_pool *pool)
{
    while (pool->spare) {
        struct hf_pool_block *block = pool->spare;
        pool->spare = block->next;
        UNPOISON(block + 1, room(pool));
        hf_free(block);
    }
    pool->made = 0;
}
