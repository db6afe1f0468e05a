/* arena.c - see arena.h. */
#include "base/arena.h"
#include <stdint.h>

enum { USUAL_SIZE = 4096 - 64 };

struct hf_arena_chunk {
    struct hf_arena_chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

static struct hf_arena_chunk *new_chunk(size_t size)
{
    struct hf_arena_chunk *chunk = hf_realloc(NULL, sizeof *chunk + size);
    *chunk = (struct hf_arena_chunk) { .size = size };
    return chunk;
}

void *hf_arena_alloc(struct hf_arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct hf_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        chunk = new_chunk(size > USUAL_SIZE ? size : USUAL_SIZE);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *p = (char *)chunk->bytes + chunk->used;
    chunk->used += size;
    return p;
}

struct hf_span hf_arena_dup(struct hf_arena *arena, struct hf_span span)
{
    char *copy = hf_arena_alloc(arena, span.n + 1);
    if (span.n)
        memcpy(copy, span.p, span.n);
    copy[span.n] = '\0';
    return (struct hf_span) { copy, span.n };
}

static void drop_chunks(struct hf_arena_chunk *chunk)
{
    while (chunk) {
        struct hf_arena_chunk *next = chunk->next;
        hf_free(chunk);
        chunk = next;
    }
}

void hf_arena_reset(struct hf_arena *arena)
{
    if (!arena->chunks || (!arena->chunks->next && arena->chunks->size == USUAL_SIZE)) {
        if (arena->chunks)
            arena->chunks->used = 0;
        return;
    }
    drop_chunks(arena->chunks);
    arena->chunks = NULL;
}

void hf_arena_done(struct hf_arena *arena)
{
    drop_chunks(arena->chunks);
    arena->chunks = NULL;
}
