/*
 * line.c - see line.h.
 *
 * 1. Before a read the content is at most one line's limit (and a '\r'); one read adds at most
 *    HF_LINES_READ_MAX.
 * 2. What comes out does not depend on where the input was cut: a line is over the limit by its
 *    own length, never by what else was in the buffer.
 * 3. No byte is searched twice for a newline.
 */
#include "wire/line.h"
#include <assert.h>
#include "wire/scan.h"

/* What a quiet stream may keep: most messages fit, and the rare huge one is given back. */
enum { KEEP_MAX = 4 * HF_LINES_READ_MAX };

void hf_lines_init(struct hf_lines *l, size_t line_max)
{
    assert(line_max > 0 && line_max < SIZE_MAX / 4);
    *l = (struct hf_lines) { .max = line_max };
    hf_buf_init(&l->buf, line_max + 1 + HF_LINES_READ_MAX);
}

void hf_lines_done(struct hf_lines *l)
{
    hf_buf_done(&l->buf);
}

/* hf_buf_shrink alone would wait for an empty buffer, and behind the huge line there often stands
 * the beginning of a small one. */
static void give_back(struct hf_lines *l)
{
    const struct hf_span content = hf_buf_span(&l->buf);
    if (l->buf.cap <= KEEP_MAX || content.n > HF_LINES_READ_MAX)
        return;
    if (content.n) {
        struct hf_buf small;
        hf_buf_init(&small, l->buf.max);
        hf_buf_add(&small, content);
        hf_buf_done(&l->buf);
        l->buf = small;
    }
    hf_buf_shrink(&l->buf, KEEP_MAX);
}

char *hf_lines_room(struct hf_lines *l, size_t want, size_t *ret_room)
{
    give_back(l);
    const size_t left = l->buf.max - hf_buf_len(&l->buf);
    const size_t most = left < HF_LINES_READ_MAX ? left : HF_LINES_READ_MAX;
    assert(most > 0); /* or the caller reads on without taking the lines */
    const size_t least = want == 0 ? 1 : want < most ? want : most;
    const bool fits = hf_buf_reserve(&l->buf, least);
    assert(fits);
    const size_t free_bytes = l->buf.cap - l->buf.end;
    *ret_room = free_bytes < most ? free_bytes : most;
    return l->buf.p + l->buf.end;
}

void hf_lines_added(struct hf_lines *l, size_t n)
{
    assert(n <= l->buf.cap - l->buf.end && n <= l->buf.max - hf_buf_len(&l->buf));
    l->buf.end += n;
}

static struct hf_span without_cr(struct hf_span line)
{
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static bool is_blank(struct hf_span line)
{
    const char *end = line.p + line.n;
    return hf_scan_space(line.p, end) == end;
}

static void skim(struct hf_lines *l, struct hf_span bytes)
{
    if (!l->skimming)
        hf_json_skim_init(&l->skim);
    l->skimming = true;
    hf_json_skim_feed(&l->skim, bytes);
}

/* A line has ended: `line` is what of it is in the buffer, `end` also its newline if it has one. */
static enum hf_line_kind take(struct hf_lines *l, struct hf_span line, size_t end,
                              struct hf_span *ret_line)
{
    const struct hf_span text = without_cr(line);
    const bool over = l->skimming || text.n > l->max;
    if (over)
        skim(l, line);
    l->skimming = false;
    l->scanned = 0;
    hf_buf_consume(&l->buf, end);
    if (over)
        return HF_LINE_OVER;
    *ret_line = text;
    return is_blank(text) ? HF_LINE_NONE : HF_LINE_WHOLE;
}

enum hf_line_kind hf_lines_next(struct hf_lines *l, struct hf_span *ret_line)
{
    give_back(l);
    for (struct hf_span content; (content = hf_buf_span(&l->buf)).n > 0;) {
        assert(l->scanned <= content.n);
        const char *newline = memchr(content.p + l->scanned, '\n', content.n - l->scanned);
        if (newline) {
            const struct hf_span line = { content.p, (size_t)(newline - content.p) };
            const enum hf_line_kind kind = take(l, line, line.n + 1, ret_line);
            if (kind != HF_LINE_NONE)
                return kind;
            continue;
        }
        l->scanned = content.n;
        /* A '\r' one past the limit may still turn out to belong to the line's end. */
        if (!l->skimming && without_cr(content).n <= l->max)
            break;
        skim(l, content);
        hf_buf_clear(&l->buf);
        l->scanned = 0;
        give_back(l);
    }
    return HF_LINE_NONE;
}

enum hf_line_kind hf_lines_last(struct hf_lines *l, struct hf_span *ret_line)
{
    const enum hf_line_kind kind = hf_lines_next(l, ret_line);
    const struct hf_span rest = hf_buf_span(&l->buf);
    if (kind != HF_LINE_NONE || (rest.n == 0 && !l->skimming))
        return kind;
    return take(l, rest, rest.n, ret_line);
}

const struct hf_json_skim *hf_lines_over(const struct hf_lines *l)
{
    return &l->skim;
}

size_t hf_lines_held(const struct hf_lines *l)
{
    return l->buf.cap;
}
