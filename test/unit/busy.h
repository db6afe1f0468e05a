/* busy.h - work that takes at least so long, for tests of portions. */
#ifndef HF_TEST_BUSY_H
#define HF_TEST_BUSY_H

#include <stdint.h>
#include <time.h>

static inline uint64_t busy_clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline void be_busy(unsigned us)
{
    const uint64_t end_us = busy_clock_us() + us + 1;
    while (busy_clock_us() < end_us)
        ;
}

#endif
