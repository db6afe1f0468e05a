/*
 * portion.h - how long one kind of work goes on in one turn of the loop.
 *
 * Whoever has many things to do at once (ready descriptors, alarms, connections to accept) does a
 * portion of them and leaves the others for the next turn, so that no peer's work holds up another
 * peer's. A portion begins at the first question and always has room for one thing.
 */
#ifndef HF_IO_PORTION_H
#define HF_IO_PORTION_H

#include <stdbool.h>
#include <stdint.h>

/* Together less than the 5 ms that a turn may take. Each leaves room for its last thing, which may
 * take longer than what was left: a batch of 100 calls takes 600 us. */
enum {
    HF_PORTION_EVENTS_US = 1000,
    HF_PORTION_ACCEPTS_US = 500,
    HF_PORTION_READS_US = 500, /* of one server, after the first */
    HF_PORTION_ALARMS_US = 500,
    HF_PORTION_WRITES_US = 500, /* for each of the two lists of shell.h */
};

struct hf_portion {
    uint64_t end_ns; /* 0: it has not begun */
};

/* Whether one more thing may be done. Reads the clock, without a system call. */
bool hf_portion_goes_on(struct hf_portion *portion, unsigned length_us);

#endif
