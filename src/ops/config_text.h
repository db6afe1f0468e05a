/*
 * config_text.h - telling a person where in a file something is, and what stands there.
 */
#ifndef HF_OPS_CONFIG_TEXT_H
#define HF_OPS_CONFIG_TEXT_H

#include "base/span.h"

struct hf_text_place {
    size_t line, column; /* from 1; columns are characters, as editors count them */
};
struct hf_text_place hf_text_place(struct hf_span text, size_t at);

enum { HF_SHOWN_MAX = 64 };
/* Short enough for a sentence and safe for a terminal: cut, and control characters as '?'. */
void hf_text_shown(struct hf_span bytes, char ret_shown[HF_SHOWN_MAX]);

#endif
