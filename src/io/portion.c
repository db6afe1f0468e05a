/* portion.c - see portion.h. */
#include "io/portion.h"
#include <time.h>

bool hf_portion_goes_on(struct hf_portion *portion, unsigned length_us)
{
    struct timespec now;
    /* not the CPU time of the thread: reading that is a system call */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (!portion->end_ns)
        portion->end_ns = now_ns + (uint64_t)length_us * 1000;
    return now_ns < portion->end_ns;
}
