/* test_timers.c - the heap of alarms, against a naive list; and memory given back all at once. */
#include "test.h"
#include <stdint.h>
#include "base/arena.h"
#include "base/timers.h"

TEST(timers_come_out_by_time_and_only_when_they_are_due)
{
    struct hf_timers timers = { 0 };
    struct hf_timer a, b, c;
    hf_timer_init(&a, 1, &a);
    hf_timer_init(&b, 2, &b);
    hf_timer_init(&c, 3, &c);
    CHECK_EQ(hf_timers_next(&timers), 0);
    hf_timer_set(&timers, &a, 30);
    hf_timer_set(&timers, &b, 10);
    hf_timer_set(&timers, &c, 20);
    CHECK_EQ(hf_timers_next(&timers), 10);
    CHECK_EQ(hf_timers_pop(&timers, 9), NULL);
    CHECK(hf_timers_pop(&timers, 20) == &b);
    CHECK_EQ(b.at_ms, 0); /* it is out of the heap, and says so */
    CHECK(hf_timers_pop(&timers, 20) == &c);
    CHECK_EQ(hf_timers_pop(&timers, 20), NULL);
    CHECK_EQ(hf_timers_next(&timers), 30);
    CHECK(a.kind == 1 && a.owner == &a);
    hf_timers_done(&timers);
}

TEST(a_timer_set_again_moves_and_one_cleared_never_comes)
{
    struct hf_timers timers = { 0 };
    struct hf_timer a, b;
    hf_timer_init(&a, 0, NULL);
    hf_timer_init(&b, 0, NULL);
    hf_timer_set(&timers, &a, 10);
    hf_timer_set(&timers, &b, 20);
    hf_timer_set(&timers, &a, 30);
    CHECK_EQ(hf_timers_next(&timers), 20);
    hf_timer_set(&timers, &a, 5);
    CHECK_EQ(hf_timers_next(&timers), 5);
    hf_timer_clear(&timers, &a);
    hf_timer_clear(&timers, &a); /* twice is harmless */
    CHECK(hf_timers_next(&timers) == 20 && timers.count == 1);
    CHECK(hf_timers_pop(&timers, 100) == &b);
    CHECK_EQ(hf_timers_pop(&timers, 100), NULL);
    hf_timers_done(&timers);
}

enum { MANY = 500, STEPS = 20000 };

static uint64_t naive_next(const struct hf_timer *all)
{
    uint64_t next = 0;
    for (int i = 0; i < MANY; i++)
        if (all[i].at_ms && (!next || all[i].at_ms < next))
            next = all[i].at_ms;
    return next;
}

TEST(over_many_random_steps_the_heap_agrees_with_a_naive_search)
{
    static struct hf_timer all[MANY];
    struct hf_timers timers = { 0 };
    uint32_t random = 12345;
    bool agrees = true;
    for (int i = 0; i < MANY; i++)
        hf_timer_init(&all[i], i, NULL);
    for (int step = 0; step < STEPS && agrees; step++) {
        random = random * 1664525 + 1013904223;
        struct hf_timer *timer = &all[(random >> 8) % MANY];
        const uint64_t expected = naive_next(all);
        agrees = hf_timers_next(&timers) == expected;
        if ((random >> 28) < 10) {
            hf_timer_set(&timers, timer, 1 + (random >> 20) % 1000);
        } else if ((random >> 28) < 13) {
            hf_timer_clear(&timers, timer);
        } else if (expected) {
            struct hf_timer *due = hf_timers_pop(&timers, expected);
            agrees &= due && due->at_ms == 0 && hf_timers_pop(&timers, expected - 1) == NULL;
        }
    }
    CHECK(agrees);
    size_t set = 0;
    for (int i = 0; i < MANY; i++)
        set += all[i].at_ms != 0;
    CHECK_EQ(set, timers.count);
    hf_timers_done(&timers);
}

/* ---- arena ---- */

TEST(an_arena_gives_aligned_memory_that_does_not_overlap)
{
    struct hf_arena arena = { 0 };
    char *blocks[300];
    for (size_t i = 0; i < 300; i++) {
        blocks[i] = hf_arena_alloc(&arena, i);
        CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i % 250), i);
    }
    for (size_t i = 1; i < 300; i++)
        CHECK((unsigned char)blocks[i][0] == i % 250 && (unsigned char)blocks[i][i - 1] == i % 250);
    hf_arena_done(&arena);
}

TEST(an_arena_takes_blocks_of_any_size_and_can_be_used_again_after_a_reset)
{
    struct hf_arena arena = { 0 };
    hf_arena_reset(&arena); /* an empty one too */
    for (int round = 0; round < 5; round++) {
        memset(hf_arena_alloc(&arena, 100000), round, 100000);
        memset(hf_arena_alloc(&arena, 10), round, 10);
        hf_arena_reset(&arena);
    }
    char *first = hf_arena_alloc(&arena, 100);
    hf_arena_reset(&arena);
    CHECK_EQ(hf_arena_alloc(&arena, 100), first); /* the usual chunk is kept */
    hf_arena_done(&arena);
}

TEST(a_copy_in_an_arena_is_whole_and_ends_in_a_nul)
{
    struct hf_arena arena = { 0 };
    char text[] = "abc";
    const struct hf_span copy = hf_arena_dup(&arena, hf_span_of(text));
    text[0] = 'x';
    CHECK(hf_span_is(copy, "abc") && copy.p[3] == '\0');
    const struct hf_span none = hf_arena_dup(&arena, (struct hf_span) { NULL, 0 });
    CHECK(none.n == 0 && none.p[0] == '\0');
    hf_arena_done(&arena);
}
