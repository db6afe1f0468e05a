/*
 * now.h - the time of an event: monotonic for deadlines, and the time of day for people.
 *
 * mono_ms only goes forward, also when the system's time of day is changed; every deadline is made
 * of it. wall_ms (milliseconds since 1970) is for people and for stored data, never for a deadline.
 */
#ifndef HF_BASE_NOW_H
#define HF_BASE_NOW_H

#include <stdint.h>

struct hf_now {
    uint64_t mono_ms, wall_ms;
};

#endif
