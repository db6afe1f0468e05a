/*
 * fuzz_line.c - lines do not depend on how the bytes arrive.
 *
 * The first byte sets the limit, the second the cuts; the rest is the stream. What comes out in one
 * piece, in cuts, and from a splitter too simple to be wrong must be the same.
 */
#include "fuzz/fuzz.h"
#include "wire/line.h"

enum { LOG_MAX = 1 << 24 };

static void note(struct hf_buf *log, const struct hf_json_skim *over, struct hf_span line)
{
    if (over) {
        const struct hf_span id = hf_json_skim_id(over);
        hf_buf_printf(log, "over %d %zu ", hf_json_skim_has_method(over), id.n);
        hf_buf_add(log, id);
    } else {
        hf_buf_printf(log, "line %zu ", line.n);
        hf_buf_add(log, line);
    }
    hf_buf_add_char(log, '\n');
}

static bool is_blank(struct hf_span line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (!strchr(" \t\r", line.p[i]) || line.p[i] == '\0')
            return false;
    }
    return true;
}

static void simple_split(struct hf_span in, size_t max, struct hf_buf *log)
{
    while (in.n) {
        const char *newline = memchr(in.p, '\n', in.n);
        const struct hf_span whole = { in.p, newline ? (size_t)(newline - in.p) : in.n };
        in = hf_span_from(in, whole.n + 1);
        struct hf_span line = whole;
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        struct hf_json_skim skim;
        hf_json_skim_init(&skim);
        hf_json_skim_feed(&skim, whole);
        if (line.n > max)
            note(log, &skim, line);
        else if (!is_blank(line))
            note(log, NULL, line);
    }
}

static void take_all(struct hf_lines *l, struct hf_buf *log,
                     enum hf_line_kind (*take)(struct hf_lines *, struct hf_span *))
{
    struct hf_span line = { NULL, 0 };
    for (enum hf_line_kind kind; (kind = take(l, &line)) != HF_LINE_NONE;) {
        MUST(kind == HF_LINE_OVER || (line.n > 0 && line.n <= l->max));
        note(log, kind == HF_LINE_OVER ? hf_lines_over(l) : NULL, line);
    }
}

/* `seed` 0: as large as the framing lets it. */
static void framed(struct hf_span in, size_t max, uint32_t seed, struct hf_buf *log)
{
    struct hf_lines l;
    hf_lines_init(&l, max);
    while (in.n) {
        size_t want = in.n, room;
        if (seed) {
            seed = seed * 1664525 + 1013904223;
            want = 1 + (seed >> 24) % 13;
        }
        want = want < in.n ? want : in.n;
        char *p = hf_lines_room(&l, want, &room);
        MUST(room >= 1 && (room >= want || room == HF_LINES_READ_MAX));
        want = want < room ? want : room;
        memcpy(p, in.p, want);
        hf_lines_added(&l, want);
        MUST(hf_buf_len(&l.buf) <= max + 1 + HF_LINES_READ_MAX);
        in = hf_span_from(in, want);
        take_all(&l, log, hf_lines_next);
        MUST(hf_buf_len(&l.buf) <= max + 1);
    }
    take_all(&l, log, hf_lines_last);
    hf_lines_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const size_t max = 1 + data[0] % 64u;
    const struct hf_span in = { (const char *)data + 2, size - 2 };
    struct hf_buf simple, whole, cut;
    hf_buf_init(&simple, LOG_MAX);
    hf_buf_init(&whole, LOG_MAX);
    hf_buf_init(&cut, LOG_MAX);
    simple_split(in, max, &simple);
    framed(in, max, 0, &whole);
    framed(in, max, data[1] + 1u, &cut);
    MUST(hf_span_eq(hf_buf_span(&simple), hf_buf_span(&whole)));
    MUST(hf_span_eq(hf_buf_span(&simple), hf_buf_span(&cut)));
    hf_buf_done(&simple);
    hf_buf_done(&whole);
    hf_buf_done(&cut);
    return 0;
}
