/*
 * token.h - new bearer tokens: 256 random bits as text, and the hash for the config.
 *
 * Nothing is stored. A token of this size cannot be guessed, so a fast hash is enough.
 */
#ifndef HF_OPS_TOKEN_H
#define HF_OPS_TOKEN_H

#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

enum { HF_TOKEN_TEXT_SIZE = 3 + 64 + 1 }; /* "hf_", hex digits, NUL */

/* `ret_entry` gets the entry of holdfast.tokens for this token. */
HF_MUST_CHECK bool hf_token_new(const char *name, char ret_token[HF_TOKEN_TEXT_SIZE],
                                struct hf_buf *ret_entry, struct hf_err *err);

#endif
