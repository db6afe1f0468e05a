/*
 * hex.h - bytes as pairs of hexadecimal digits.
 */
#ifndef HF_BASE_HEX_H
#define HF_BASE_HEX_H

#include <stdint.h>
#include "base/mem.h"
#include "base/span.h"

int hf_hex_digit(char c); /* -1: no digit */
/* Exactly 2 * n digits, of either case. */
HF_MUST_CHECK bool hf_hex_read(struct hf_span text, uint8_t *ret_bytes, size_t n);
void hf_hex_write(const uint8_t *bytes, size_t n, char *ret_text); /* in lower case, and a NUL */

#endif
