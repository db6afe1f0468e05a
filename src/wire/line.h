/*
 * line.h - newline framing with a limit, resumable at any byte.
 *
 *   hf_lines_room()  ->  read() into it  ->  hf_lines_added()  ->  hf_lines_next() until NONE
 *
 * A line over the limit is not stored: its bytes run through the JSON skimmer until the newline,
 * and then it is reported once, with the id found in it. The next line is whole again.
 */
#ifndef HF_WIRE_LINE_H
#define HF_WIRE_LINE_H

#include "base/buf.h"
#include "wire/json.h"

enum hf_line_kind {
    HF_LINE_NONE,  /* read more */
    HF_LINE_WHOLE, /* `ret_line`, without its end of '\n' or '\r\n'; good until the next call */
    HF_LINE_OVER,  /* longer than the limit; hf_lines_over() says whose it was */
};

struct hf_lines {
    struct hf_buf buf;
    size_t scanned; /* bytes of the content known to hold no newline */
    size_t max;
    bool skimming;
    struct hf_json_skim skim;
};

void hf_lines_init(struct hf_lines *l, size_t line_max);
void hf_lines_done(struct hf_lines *l);

enum { HF_LINES_READ_MAX = 65536 }; /* the most that one read may add */

/* At least `want` bytes of room to read into, up to HF_LINES_READ_MAX of them, after
 * hf_lines_next() said NONE; at least 1 while lines are left untaken. */
char *hf_lines_room(struct hf_lines *l, size_t want, size_t *ret_room);
void hf_lines_added(struct hf_lines *l, size_t n);
/* Lines of nothing but white space are passed over. */
enum hf_line_kind hf_lines_next(struct hf_lines *l, struct hf_span *ret_line);
/* At end of input, until NONE: what is left without a newline is a line too (Node's readline says
 * so as well). */
enum hf_line_kind hf_lines_last(struct hf_lines *l, struct hf_span *ret_line);

const struct hf_json_skim *hf_lines_over(const struct hf_lines *l); /* after HF_LINE_OVER */
size_t hf_lines_held(const struct hf_lines *l);                     /* bytes of memory in use */

#endif
