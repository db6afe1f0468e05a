/*
 * config_text.h - telling a person where in a file something is, and what stands there.
 */
#ifndef HF_OPS_CONFIG_TEXT_H
#define HF_OPS_CONFIG_TEXT_H

#include "base/buf.h"
#include "base/span.h"

struct hf_text_place {
    size_t line, column; /* from 1; columns are characters, as editors count them */
};
struct hf_text_place hf_text_place(struct hf_span text, size_t at);

/* Characters that a terminal obeys, or that turn the order of what is read around: C0, DEL, C1, the
 * marks of bidirectional text, and bytes that are no UTF-8. Returns which of them stands at `at`,
 * or 0; `ret_length` gets the bytes of the character there in any case. */
enum { HF_TEXT_NUL = 0x110000 }; /* for U+0000, which 0 cannot say */
unsigned hf_text_control(struct hf_span bytes, size_t at, size_t *ret_length);

enum { HF_SHOWN_MAX = 64 };
/* The whole of it, for a line of a log or of a report: those characters as \x1b or \u202e, at most
 * six bytes for each that was there. */
void hf_text_add_escaped(struct hf_buf *out, struct hf_span text);
/* Short enough for a sentence and safe for a terminal: cut, and control characters as '?'. */
void hf_text_shown(struct hf_span bytes, char ret_shown[HF_SHOWN_MAX]);

#endif
