/*
 * edit_distance.h - how close a mistyped word is to a known one, for "did you mean".
 *
 * Case, '-', '_' and '.' are ignored: waitMS, wait_ms and wait-ms are the same. Words are close if
 * their edit distance is at most 2, or at most 1 if one of them has fewer than five letters, since
 * short words are close to half the dictionary.
 */
#ifndef HF_BASE_EDIT_DISTANCE_H
#define HF_BASE_EDIT_DISTANCE_H

#include "base/span.h"

enum { HF_TOO_FAR = 3 };

/* 0 (the same), 1, 2, or HF_TOO_FAR. */
unsigned hf_edit_distance(struct hf_span a, struct hf_span b);

#endif
