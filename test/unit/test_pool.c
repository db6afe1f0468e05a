/* test_pool.c - blocks that are used again, and what does not fit them. */
#include "test.h"
#include <string.h>
#include "base/pool.h"

TEST(a_block_that_was_given_back_is_taken_again)
{
    struct hf_pool pool = HF_POOL(256, 2);
    char *first = hf_pool_take(&pool, 100);
    memset(first, 'x', 100);
    hf_pool_give(&pool, first);
    CHECK_EQ(hf_pool_take(&pool, 200), first);
    CHECK_EQ(pool.made, 1);
    hf_pool_give(&pool, first);
    hf_pool_free(&pool);
}

TEST(what_is_too_large_or_comes_while_all_blocks_are_in_use_is_given_all_the_same)
{
    struct hf_pool pool = HF_POOL(256, 2);
    char *taken[4];
    for (size_t i = 0; i < 4; i++) {
        taken[i] = hf_pool_take(&pool, i == 0 ? 10000 : 64);
        memset(taken[i], 'x', i == 0 ? 10000 : 64);
    }
    CHECK_EQ(pool.made, 2); /* the second and the third */
    for (size_t i = 0; i < 4; i++)
        hf_pool_give(&pool, taken[i]);
    CHECK_EQ(hf_pool_take(&pool, 64), taken[2]);
    CHECK_EQ(hf_pool_take(&pool, 64), taken[1]);
    CHECK_EQ(pool.made, 2);
    hf_pool_give(&pool, taken[1]);
    hf_pool_give(&pool, taken[2]);
    hf_pool_free(&pool);
}
