/* measure.c - see measure.h. */
#include "measure.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "rig.h"

enum { MEDIAN_MAX = 16, FOREVER_MS = 1000 * 1000 * 1000 };

uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct length for_ms(uint64_t ms)
{
    return (struct length) { .ms = ms, .calls = UINT64_MAX };
}

struct length for_calls(uint64_t calls)
{
    return (struct length) { .ms = FOREVER_MS, .calls = calls };
}

struct length length_of(const char *text)
{
    char *end;
    const double amount = strtod(text, &end);
    return *end == 'x' ? for_calls((uint64_t)amount) : for_ms((uint64_t)(amount * 1000));
}

void latencies_init(struct latencies *latencies)
{
    *latencies = (struct latencies) { .buckets = calloc(BUCKETS, sizeof *latencies->buckets) };
    if (!latencies->buckets)
        give_up("calloc");
}

void latencies_add(struct latencies *latencies, uint64_t ns)
{
    const uint64_t bucket = ns / BUCKET_NS;
    if (!latencies->buckets)
        return;
    latencies->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    latencies->count++;
}

double latencies_us(const struct latencies *latencies, double share)
{
    const uint64_t wanted = (uint64_t)((double)latencies->count * share);
    uint64_t seen = 0;
    unsigned i = 0;
    while (i < BUCKETS - 1 && (seen += latencies->buckets[i]) <= wanted)
        i++;
    return (double)i * BUCKET_NS / 1000.0;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(const double *values, unsigned count)
{
    double sorted[MEDIAN_MAX];
    errno = 0;
    if (count > MEDIAN_MAX)
        give_up("a median of too many values");
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    return sorted[count / 2];
}
