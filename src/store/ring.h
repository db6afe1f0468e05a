/*
 * ring.h - marks of calls that are about to leave us, in memory that outlives us.
 *
 * A file that is mapped and shared: what is written to the mapping is the kernel's at once, so it
 * survives kill -9 of the process, and costs no system call. Not a loss of power: nothing waits for
 * the disk.
 *
 *     hf_ring_begin   before the first byte of the call leaves us
 *     hf_ring_end     when it is known how the call ended
 *     hf_ring_release when its row is in the store: the mark is not needed any more
 *
 * 1. A mark counts from the one store that sets its state, which comes behind everything else in
 * it; a checksum tells a mark that is torn all the same. The same goes for its end.
 * 2. A call never waits for the ring: when every slot is in use the call goes without a mark, and
 *    is counted. A slot is free exactly when its row was committed; the one that has been free for
 *    longest is used next.
 * 3. Texts that are longer than their room are cut, on a border of UTF-8 characters.
 * 4. Reading trusts nothing: any bytes at all may stand in the file.
 */
#ifndef HF_STORE_RING_H
#define HF_STORE_RING_H

#include "base/buf.h"
#include "base/err.h"
#include "store/call_row.h"

struct hf_ring;

enum { HF_RING_SLOTS = 1024, HF_RING_NO_SLOT = HF_RING_SLOTS };

struct hf_mark {
    uint64_t number; /* of the call, in its process */
    uint64_t at_ms;  /* wall */
    uint64_t generation;
    struct hf_span caller, server, tool;
    uint8_t arguments_hash[HF_SHA256_SIZE];
};

struct hf_mark_end {
    uint64_t at_ms;
    enum hf_call_end end;
    int64_t code;
    struct hf_span evidence;
};

/* Makes the file; its room on disk is taken at once. NULL: `err` says why. */
struct hf_ring *hf_ring_new(const char *path, struct hf_err *err);
void hf_ring_free(struct hf_ring *ring); /* the file stays; NULL accepted */

/* A NULL ring is one that is always full, and that nobody counts. */
uint32_t hf_ring_begin(struct hf_ring *ring, const struct hf_mark *mark); /* HF_RING_NO_SLOT */
void hf_ring_end(struct hf_ring *ring, uint32_t slot, const struct hf_mark_end *end);
void hf_ring_release(struct hf_ring *ring, uint32_t slot);

uint32_t hf_ring_in_use(const struct hf_ring *ring);   /* marks whose rows are not committed */
uint64_t hf_ring_unmarked(const struct hf_ring *ring); /* calls that found it full */

/* ---- somebody else's ---- */

struct hf_mark_read {
    struct hf_mark mark;
    bool has_end;
    struct hf_mark_end end;
};

/* Calls `on_mark` for each mark in the bytes of a ring; returns how many were torn. */
unsigned hf_ring_marks(struct hf_span file,
                       void (*on_mark)(void *context, const struct hf_mark_read *mark),
                       void *context);
/* The bytes of a ring, for hf_buf_done; false: there is no such file, or it cannot be read. */
HF_MUST_CHECK bool hf_ring_read(const char *path, struct hf_buf *ret_bytes);

#endif
