/*
 * turn_times.h - how much CPU time the turns of a loop take.
 *
 * One client's work must not hold up another's, so no turn should take more than a few
 * milliseconds, except one that takes or sends a single large message: its bytes are kept beside
 * its time. Only the CPU time of the thread is counted: what a busy machine takes away from it does
 * not show. It costs a system call for each turn, so it is measured only when asked for.
 */
#ifndef HF_IO_TURN_TIMES_H
#define HF_IO_TURN_TIMES_H

#include <stdint.h>

#define HF_TURN_BOUNDS_US 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000
enum { HF_TURN_BOUNDS = sizeof((int[]) { HF_TURN_BOUNDS_US }) / sizeof(int) };
extern const uint32_t hf_turn_bounds_us[HF_TURN_BOUNDS];

enum { HF_TURN_LARGE_BYTES = 256 * 1024 }; /* what a message must have to excuse a long turn */

struct hf_turn_times {
    uint64_t buckets[HF_TURN_BOUNDS + 1]; /* up to each bound, and one for turns above all */
    uint64_t sum_ns, longest_ns;
    uint64_t largest_bytes;     /* of one message, in the turn that is going on */
    uint64_t longest_bytes;     /* of one message, in the longest turn */
    uint64_t over_5_ms_without; /* turns of more than 5 ms that had no large message */
    uint64_t last_ns;           /* CPU time of the thread at the end of the last turn */
};

void hf_turn_times_begin(struct hf_turn_times *times);
void hf_turn_times_turned(struct hf_turn_times *times); /* a turn has ended */
void hf_turn_times_add(struct hf_turn_times *times, uint64_t turn_ns);

#endif
