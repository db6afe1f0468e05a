/*
 * backoff.h - when the next attempt may come, and when to give up, from a record of past failures.
 *
 * k = failed attempts and unplanned deaths of the last windowMs, the newest death not counted: a
 * first death costs nothing, a crash loop is slowed down even though each of its starts succeeds.
 * The budget is a streak: failed attempts, and deaths of runtimes that never completed a call, here
 * too without the newest.
 */
#ifndef HF_CORE_BACKOFF_H
#define HF_CORE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>
#include "core/settings.h"

enum { HF_BACKOFF_RING = 32, HF_CRASH_LOOP_K = 5 };

struct hf_backoff {
    uint64_t failed_at_ms[HF_BACKOFF_RING]; /* a ring: the newest failure overwrites the oldest */
    uint32_t count, next;
    uint64_t last_death_ms; /* 0: no death since the last reset */
    uint32_t streak;
    bool streak_has_death;
    uint64_t retry_after_ms; /* absolute: no attempt before that, because the server said so */
    bool was_connected;
};

/* The delay after `doublings` failures more than one: `first_ms`, doubled that often. */
uint64_t hf_doubled_ms(uint64_t first_ms, unsigned doublings, uint64_t max_ms);

void hf_backoff_reset(struct hf_backoff *b); /* a fresh budget; was_connected stays */
void hf_backoff_attempt_failed(struct hf_backoff *b, uint64_t now_ms);
void hf_backoff_died(struct hf_backoff *b, bool completed_a_call, uint64_t now_ms);
void hf_backoff_connected(struct hf_backoff *b);
static inline void hf_backoff_call_completed(struct hf_backoff *b) /* ends the streak */
{
    b->streak = 0;
    b->streak_has_death = false;
}

uint32_t hf_backoff_k(const struct hf_backoff *b, const struct hf_backoff_settings *s,
                      uint64_t now_ms);
/* `share` in [0,1) is the random part of the jitter. */
uint64_t hf_backoff_delay_ms(const struct hf_backoff *b, const struct hf_backoff_settings *s,
                             double share, uint64_t now_ms);
bool hf_backoff_spent(const struct hf_backoff *b, const struct hf_backoff_settings *s);

#endif
