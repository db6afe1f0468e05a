/*
 * err.h - why something failed, in a sentence for a person.
 *
 * Filled where the fact is known, passed up untouched, printed once at the top. Bytes of a peer
 * must not be put into it unescaped.
 */
#ifndef HF_BASE_ERR_H
#define HF_BASE_ERR_H

#include <stdbool.h>
#include "base/mem.h"

struct hf_err {
    char text[512];
};

/* Returns false, so that a failing function can `return hf_fail(err, "…")`. `err` may be NULL. */
bool hf_fail(struct hf_err *err, const char *format, ...) HF_PRINTF(2, 3);

#endif
