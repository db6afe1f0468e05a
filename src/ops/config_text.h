/*
 * config_text.h - positions in a file, and text of a file, as a person is shown them.
 */
#ifndef HF_OPS_CONFIG_TEXT_H
#define HF_OPS_CONFIG_TEXT_H

#include "base/buf.h"
#include "base/span.h"

struct hf_text_place {
    size_t line, column; /* from 1; columns are characters, as editors count them */
};
struct hf_text_place hf_text_place(struct hf_span text, size_t at);

/* Characters that control a terminal, or change the order of the text: C0, DEL, C1, the marks of
 * bidirectional text, and bytes that are no UTF-8. Returns which of them is at `at`, or 0;
 * `ret_length` gets the length of the character there in any case. */
enum { HF_TEXT_NUL = 0x110000 }; /* for U+0000, since 0 means none */
unsigned hf_text_control(struct hf_span bytes, size_t at, size_t *ret_length);

enum { HF_SHOWN_MAX = 64 };
/* The whole text, for a line of a log or of a report: such characters become \x1b or \u202e, at
 * most six bytes for each byte. */
void hf_text_add_escaped(struct hf_buf *out, struct hf_span text);
/* The text, short enough for a sentence and safe for a terminal: cut, with control characters as
 * '?'. */
void hf_text_shown(struct hf_span bytes, char ret_shown[HF_SHOWN_MAX]);

#endif
