/*
 * arena.h - memory that is freed all at once, at the end of a turn.
 */
#ifndef HF_BASE_ARENA_H
#define HF_BASE_ARENA_H

#include "base/buf.h"
#include "base/span.h"

struct hf_arena_chunk;
struct hf_arena {
    struct hf_arena_chunk *chunks;
};

void *hf_arena_alloc(struct hf_arena *arena, size_t size); /* not zeroed */
struct hf_span hf_arena_dup(struct hf_arena *arena, struct hf_span span);
void hf_arena_reset(struct hf_arena *arena); /* keeps one chunk of the usual size */
void hf_arena_done(struct hf_arena *arena);

#endif
