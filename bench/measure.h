/* measure.h - the clock of the bench, latencies, medians. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>

enum {
    BUCKET_NS = 100,
    BUCKETS = 1000000, /* up to 100 ms; what took longer counts as that */
};

struct latencies {
    uint32_t *buckets; /* NULL: not counted */
    uint64_t count;
};

struct length { /* of a load: whichever ends first */
    uint64_t ms, calls;
};

uint64_t clock_ns(void);
struct length for_ms(uint64_t ms);
struct length for_calls(uint64_t calls);
/* "2.5": seconds; "2000x": calls. */
struct length length_of(const char *text);
void latencies_init(struct latencies *latencies);
void latencies_add(struct latencies *latencies, uint64_t ns);
double latencies_us(const struct latencies *latencies, double share);
/* Of a few values, none of which is changed. */
double median(const double *values, unsigned count);

#endif
