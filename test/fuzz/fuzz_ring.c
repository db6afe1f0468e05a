/*
 * fuzz_ring.c - whatever becomes of the file of a ring, no mark comes out of it that nobody made.
 *
 * A real ring with four marks is changed as the input says: three bytes each are a place in it
 * (two) and what is to be flipped there; the last two, if there is a rest, cut it off. What is read
 * must not crash, and be some of the marks that were made.
 */
#include <string.h>
#include <unistd.h>
#include "fuzz/fuzz.h"
#include "store/ring.h"

enum { MARKS = 4, PLACES = 4096 }; /* the header and all slots that are in use lie before that */

static struct hf_buf original;

static struct hf_mark mark_of(uint64_t number)
{
    struct hf_mark mark = { .number = number,
                            .at_ms = 1000 + number,
                            .generation = 7,
                            .caller = HF_SPAN("somebody"),
                            .server = HF_SPAN("server"),
                            .tool = HF_SPAN("tool") };
    memset(mark.arguments_hash, (int)number, sizeof mark.arguments_hash);
    return mark;
}

static void make_original(void)
{
    char path[] = "/tmp/hf-fuzz-ring-XXXXXX";
    struct hf_err err;
    const int fd = mkstemp(path);
    MUST(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    struct hf_ring *ring = hf_ring_new(path, &err);
    MUST(ring);
    for (uint64_t i = 1; i <= MARKS; i++) {
        const struct hf_mark mark = mark_of(i);
        const struct hf_mark_end end = { .at_ms = i, .end = HF_CALL_END_RESULT };
        const uint32_t slot = hf_ring_begin(ring, &mark);
        if (i % 2 == 0)
            hf_ring_end(ring, slot, &end);
    }
    MUST(hf_ring_read(path, &original));
    hf_ring_free(ring);
    (void)unlink(path);
}

static void on_mark(void *context, const struct hf_mark_read *read)
{
    const struct hf_mark wanted = mark_of(read->mark.number);
    unsigned *count = context;
    MUST(read->mark.number >= 1 && read->mark.number <= MARKS && ++*count <= MARKS);
    MUST(read->mark.at_ms == wanted.at_ms && read->mark.generation == wanted.generation);
    MUST(hf_span_eq(read->mark.caller, wanted.caller));
    MUST(hf_span_eq(read->mark.server, wanted.server));
    MUST(hf_span_eq(read->mark.tool, wanted.tool));
    MUST(memcmp(read->mark.arguments_hash, wanted.arguments_hash, HF_SHA256_SIZE) == 0);
    MUST(!read->has_end ||
         (read->mark.number % 2 == 0 && read->end.at_ms == read->mark.number &&
          read->end.end == HF_CALL_END_RESULT && read->end.code == 0 && read->end.evidence.n == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned count = 0;
    if (!original.p)
        make_original();
    const struct hf_span whole = hf_buf_span(&original);
    size_t n = whole.n;
    char *copy = malloc(whole.n);
    MUST(copy);
    memcpy(copy, whole.p, whole.n);
    for (; size >= 3; data += 3, size -= 3)
        copy[(data[0] | data[1] << 8) % PLACES] ^= (char)data[2];
    if (size == 2)
        n = (size_t)(data[0] | data[1] << 8) % whole.n;
    char *cut = malloc(n ? n : 1); /* exactly as long, so that the address sanitizer sees its end */
    MUST(cut);
    memcpy(cut, copy, n);
    (void)hf_ring_marks((struct hf_span) { cut, n }, on_mark, &count);
    /* The same bytes are no ring for a reader that gets them as they are. */
    (void)hf_ring_marks((struct hf_span) { (const char *)data, size }, on_mark, &count);
    free(cut);
    free(copy);
    return 0;
}
