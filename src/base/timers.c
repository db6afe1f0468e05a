/* timers.c - see timers.h. */
#include "base/timers.h"
#include <assert.h>
#include "base/mem.h"

void hf_timers_done(struct hf_timers *timers)
{
    hf_free(timers->heap);
    *timers = (struct hf_timers) { 0 };
}

void hf_timer_init(struct hf_timer *timer, int kind, void *owner)
{
    *timer = (struct hf_timer) { .kind = kind, .owner = owner };
}

static void place(struct hf_timers *timers, size_t at, struct hf_timer *timer)
{
    timers->heap[at] = timer;
    timer->index = (uint32_t)at;
}

static void sift_up(struct hf_timers *timers, struct hf_timer *timer)
{
    size_t at = timer->index;
    while (at > 0 && timers->heap[(at - 1) / 2]->at_ms > timer->at_ms) {
        place(timers, at, timers->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(timers, at, timer);
}

static void sift_down(struct hf_timers *timers, struct hf_timer *timer)
{
    size_t at = timer->index;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->at_ms < timers->heap[child]->at_ms)
            child++;
        if (timers->heap[child]->at_ms >= timer->at_ms)
            break;
        place(timers, at, timers->heap[child]);
        at = child;
    }
    place(timers, at, timer);
}

static void take_out(struct hf_timers *timers, struct hf_timer *timer)
{
    assert(timer->index < timers->count && timers->heap[timer->index] == timer);
    struct hf_timer *last = timers->heap[--timers->count];
    timer->at_ms = 0;
    if (last == timer)
        return;
    place(timers, timer->index, last);
    sift_up(timers, last);
    sift_down(timers, last);
}

void hf_timer_set(struct hf_timers *timers, struct hf_timer *timer, uint64_t at_ms)
{
    if (timer->at_ms == at_ms)
        return;
    if (timer->at_ms)
        take_out(timers, timer);
    if (!at_ms)
        return;
    if (timers->count == timers->cap) {
        timers->cap = timers->cap ? 2 * timers->cap : 32;
        timers->heap = hf_realloc(timers->heap, timers->cap * sizeof(struct hf_timer *));
    }
    timer->at_ms = at_ms;
    timer->index = (uint32_t)timers->count++; /* as many timers do not fit into memory */
    sift_up(timers, timer);
}

uint64_t hf_timers_next(const struct hf_timers *timers)
{
    return timers->count ? timers->heap[0]->at_ms : 0;
}

struct hf_timer *hf_timers_pop(struct hf_timers *timers, uint64_t now_ms)
{
    if (!timers->count || timers->heap[0]->at_ms > now_ms)
        return NULL;
    struct hf_timer *due = timers->heap[0];
    take_out(timers, due);
    return due;
}
