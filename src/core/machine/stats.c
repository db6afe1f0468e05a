/* stats.c - see stats.h. */
#include "core/machine/stats.h"

const uint32_t hf_histogram_bounds[HF_HISTOGRAM_COUNT] = { HF_HISTOGRAM_BOUNDS };

void hf_histogram_add(struct hf_histogram *histogram, uint64_t ms)
{
    unsigned at = 0;
    while (at < HF_HISTOGRAM_COUNT && ms > hf_histogram_bounds[at])
        at++;
    histogram->buckets[at]++;
    histogram->sum_ms += ms;
}
