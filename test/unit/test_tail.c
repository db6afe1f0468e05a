/* test_tail.c - the last bytes of a stream, against the whole stream. */
#include "core/machine/tail.h"
#include <string.h>
#include "base/mem.h"
#include "test.h"

enum { STREAM = 4 * HF_TAIL_MAX };

static unsigned char stream_byte(size_t at)
{
    return (unsigned char)((at * 2654435761U) >> 13);
}

static char *make_stream(void)
{
    char *stream = hf_alloc(STREAM);
    for (size_t i = 0; i < STREAM; i++)
        stream[i] = (char)stream_byte(i);
    return stream;
}

static bool knows(const struct hf_tail *tail, const char *stream, size_t n)
{
    return hf_tail_is(tail, (struct hf_span) { stream + tail->end - n, n });
}

static void check_with_pieces_of(size_t piece, const char *stream)
{
    struct hf_tail tail = { 0 };
    for (size_t at = 0; at < STREAM; at += piece) {
        const size_t n = piece < STREAM - at ? piece : STREAM - at;
        hf_tail_add(&tail, (struct hf_span) { stream + at, n });
        const size_t known = tail.end < HF_TAIL_MAX ? (size_t)tail.end : HF_TAIL_MAX;
        CHECK(knows(&tail, stream, 1) && knows(&tail, stream, known));
        CHECK(knows(&tail, stream, known / 2));
    }
    CHECK(tail.end == STREAM && tail.room == HF_TAIL_MAX);
    hf_tail_done(&tail);
}

TEST(as_much_as_a_pipe_holds_is_known_however_the_stream_was_cut)
{
    static const size_t pieces[] = { 97, 1000, 4096, 65535, 65536, 65537, STREAM };
    char *stream = make_stream();
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        check_with_pieces_of(pieces[i], stream);
    hf_free(stream);
}

TEST(one_other_byte_anywhere_is_seen)
{
    char *stream = make_stream();
    struct hf_tail tail = { 0 };
    hf_tail_add(&tail, (struct hf_span) { stream, HF_TAIL_MAX + 1000 }); /* it wraps */
    char *taken = stream + 1000;
    CHECK(hf_tail_is(&tail, (struct hf_span) { taken, HF_TAIL_MAX }));
    for (size_t i = 0; i < HF_TAIL_MAX; i += i < 100 || i > HF_TAIL_MAX - 1100 ? 1 : 41) {
        taken[i] ^= 1;
        CHECK(!hf_tail_is(&tail, (struct hf_span) { taken, HF_TAIL_MAX }));
        taken[i] ^= 1;
    }
    hf_tail_done(&tail);
    hf_free(stream);
}

TEST(more_than_was_written_or_than_is_known_is_not_the_tail)
{
    char *stream = make_stream();
    struct hf_tail tail = { 0 };
    CHECK(hf_tail_is(&tail, (struct hf_span) { NULL, 0 }));
    CHECK(!hf_tail_is(&tail, (struct hf_span) { stream, 1 }));
    hf_tail_add(&tail, (struct hf_span) { stream, 10 });
    CHECK(hf_tail_is(&tail, (struct hf_span) { stream, 10 }));
    CHECK(!hf_tail_is(&tail, (struct hf_span) { stream, 11 }));
    hf_tail_add(&tail, (struct hf_span) { stream + 10, HF_TAIL_MAX });
    CHECK(!hf_tail_is(&tail, (struct hf_span) { stream + 9, HF_TAIL_MAX + 1 }));
    hf_tail_done(&tail);
    hf_free(stream);
}
