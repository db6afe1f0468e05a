/* turn_times.c - see turn_times.h. */
#include "io/turn_times.h"
#include <time.h>

const uint32_t hf_turn_bounds_us[HF_TURN_BOUNDS] = { HF_TURN_BOUNDS_US };

static uint64_t cpu_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void hf_turn_times_begin(struct hf_turn_times *times)
{
    *times = (struct hf_turn_times) { .last_ns = cpu_ns() };
}

void hf_turn_times_add(struct hf_turn_times *times, uint64_t turn_ns)
{
    unsigned at = 0;
    while (at < HF_TURN_BOUNDS && turn_ns > (uint64_t)hf_turn_bounds_us[at] * 1000)
        at++;
    times->buckets[at]++;
    times->sum_ns += turn_ns;
    if (turn_ns > times->longest_ns) {
        times->longest_ns = turn_ns;
        times->longest_bytes = times->largest_bytes;
    }
    times->over_5_ms_without += turn_ns > 5000000 && times->largest_bytes < HF_TURN_LARGE_BYTES;
    times->largest_bytes = 0;
}

void hf_turn_times_turned(struct hf_turn_times *times)
{
    const uint64_t now_ns = cpu_ns();
    hf_turn_times_add(times, now_ns - times->last_ns);
    times->last_ns = now_ns;
}
