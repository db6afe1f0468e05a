/*
 * stats.h - what became of the calls of one server, counted where the fact is known.
 *
 * Only counts and never decides. A call is counted once among the outcomes, and once in `lost` for
 * each time a connection went away under it.
 */
#ifndef HF_CORE_STATS_H
#define HF_CORE_STATS_H

#include <stdint.h>
#include "core/machine/errors.h"

/* Upper bounds in ms, as people who watch latencies expect them. */
#define HF_HISTOGRAM_BOUNDS                                                                        \
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000
enum { HF_HISTOGRAM_COUNT = sizeof((int[]) { HF_HISTOGRAM_BOUNDS }) / sizeof(int) };
extern const uint32_t hf_histogram_bounds[HF_HISTOGRAM_COUNT];

struct hf_histogram {
    uint64_t buckets[HF_HISTOGRAM_COUNT + 1]; /* up to each bound, and one for values above all */
    uint64_t sum_ms;
};

struct hf_stats {
    uint64_t results, errors;         /* calls that the server answered */
    uint64_t cancelled;               /* calls that the client cancelled */
    uint64_t failed[HF_ERROR_COUNT];  /* calls that holdfast answered */
    uint64_t lost[HF_EVIDENCE_COUNT]; /* lost calls, by how far they had got */
    struct hf_histogram latency;      /* of calls that the server answered: time since dispatch */
    struct hf_histogram waiting;      /* of all calls: time before dispatch */
};

static inline void hf_histogram_add(struct hf_histogram *histogram, uint64_t ms)
{
    unsigned at = 0;
    while (at < HF_HISTOGRAM_COUNT && ms > hf_histogram_bounds[at])
        at++;
    histogram->buckets[at]++;
    histogram->sum_ms += ms;
}

#endif
