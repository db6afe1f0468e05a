/*
 * glob.h - names matched by patterns with '*' (any run, also none) and '?' (one character).
 *
 * Nothing else is special and nothing escapes. No recursion: the worst case is the product of both
 * lengths, so a pattern full of stars cannot hang the loop.
 */
#ifndef HF_BASE_GLOB_H
#define HF_BASE_GLOB_H

#include "base/span.h"

bool hf_glob_any(char *const *patterns, struct hf_span text); /* NULL-terminated; NULL: false */
bool hf_glob(const char *pattern, struct hf_span name); /* the whole name, bytes as they are */

#endif
