/* backoff.c - see backoff.h. */
#include "core/machine/backoff.h"
#include <assert.h>

uint64_t hf_doubled_ms(uint64_t first_ms, unsigned doublings, uint64_t max_ms)
{
    uint64_t delay = first_ms < max_ms ? first_ms : max_ms;
    for (; doublings > 0 && delay > 0 && delay < max_ms; doublings--)
        delay = delay < max_ms - delay ? 2 * delay : max_ms;
    return delay;
}

static void record(struct hf_backoff *b, uint64_t now_ms)
{
    b->failed_at_ms[b->next] = now_ms;
    b->next = (b->next + 1) % HF_BACKOFF_RING;
    if (b->count < HF_BACKOFF_RING)
        b->count++;
}

void hf_backoff_reset(struct hf_backoff *b)
{
    *b = (struct hf_backoff) { .was_connected = b->was_connected };
}

void hf_backoff_attempt_failed(struct hf_backoff *b, uint64_t now_ms)
{
    record(b, now_ms);
    b->streak++;
}

void hf_backoff_died(struct hf_backoff *b, bool completed_a_call, uint64_t now_ms)
{
    record(b, now_ms);
    b->last_death_ms = now_ms ? now_ms : 1;
    if (!completed_a_call) {
        b->streak++;
        b->streak_has_death = true;
    }
}

void hf_backoff_connected(struct hf_backoff *b)
{
    b->was_connected = true;
    b->retry_after_ms = 0;
}

uint32_t hf_backoff_k(const struct hf_backoff *b, const struct hf_backoff_settings *s,
                      uint64_t now_ms)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < b->count; i++)
        k += b->failed_at_ms[i] + s->window_ms > now_ms;
    if (b->last_death_ms && b->last_death_ms + s->window_ms > now_ms && k > 0)
        k--;
    return k;
}

uint64_t hf_backoff_delay_ms(const struct hf_backoff *b, const struct hf_backoff_settings *s,
                             double share, uint64_t now_ms)
{
    assert(share >= 0 && share < 1);
    const uint32_t k = hf_backoff_k(b, s, now_ms);
    uint64_t delay = 0;
    if (k > 0) {
        delay = hf_doubled_ms(s->min_ms, k - 1, s->max_ms);
        delay = (uint64_t)((double)delay * (1.0 - s->jitter * share));
    }
    if (b->retry_after_ms > now_ms + delay)
        delay = b->retry_after_ms - now_ms;
    return delay;
}

bool hf_backoff_spent(const struct hf_backoff *b, const struct hf_backoff_settings *s)
{
    const int32_t limit = b->was_connected ? s->attempts : s->first_attempts;
    /* The newest death is not counted: the limit is one of attempts, and the first of them follows
     * that death. */
    return limit >= 0 && b->streak - b->streak_has_death >= (uint32_t)limit;
}
