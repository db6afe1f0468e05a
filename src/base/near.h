/*
 * near.h - "did you mean": a known word that a mistyped one is close to.
 *
 * Close is: the same letters in another case or joined otherwise (waitMS, wait_ms, wait-ms), or an
 * edit distance of at most 2; of at most 1 where a word has fewer than five letters, since short
 * words are near to half the dictionary.
 */
#ifndef HF_BASE_NEAR_H
#define HF_BASE_NEAR_H

#include "base/span.h"

enum { HF_NEAR_NOT = 3 };

/* 0 (same letters), 1, 2, or HF_NEAR_NOT. */
unsigned hf_near(struct hf_span a, struct hf_span b);

#endif
