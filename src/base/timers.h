/*
 * timers.h - a min-heap of alarms whose nodes live in their owners.
 *
 * 1. A timer is in the heap exactly while `at_ms` is not 0.
 * 2. Setting is O(log n) and setting the same time again costs nothing.
 */
#ifndef HF_BASE_TIMERS_H
#define HF_BASE_TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct hf_timer {
    uint64_t at_ms; /* 0: not set */
    uint32_t index;
    int kind; /* what the timer is for; chosen by the owner */
    void *owner;
};

struct hf_timers {
    struct hf_timer **heap;
    size_t count, cap;
};

void hf_timers_done(struct hf_timers *timers);
void hf_timer_init(struct hf_timer *timer, int kind, void *owner);
void hf_timer_set(struct hf_timers *timers, struct hf_timer *timer, uint64_t at_ms); /* 0 clears */
uint64_t hf_timers_next(const struct hf_timers *timers);                             /* 0: none */
/* Takes the earliest timer that is due out of the heap, or NULL. */
struct hf_timer *hf_timers_pop(struct hf_timers *timers, uint64_t now_ms);

static inline void hf_timer_clear(struct hf_timers *timers, struct hf_timer *timer)
{
    hf_timer_set(timers, timer, 0);
}

#endif
