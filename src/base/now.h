/*
 * now.h - the time of an event: once for deadlines, once for people.
 *
 * mono_ms only goes forward, whatever becomes of the clock on the wall; every deadline is made of
 * it. wall_ms (milliseconds since 1970) is for people and for what is stored, never for a deadline.
 */
#ifndef HF_BASE_NOW_H
#define HF_BASE_NOW_H

#include <stdint.h>

struct hf_now {
    uint64_t mono_ms, wall_ms;
};

#endif
