/*
 * random.h - the only source of random bytes, for ids, secrets and tokens that must not be guessed.
 *
 * Uses the system's generator. If that fails (most likely a sandbox forbids the call), the process
 * ends with a message, as it does without memory: holdfast cannot work without random bytes.
 */
#ifndef HF_IO_RANDOM_H
#define HF_IO_RANDOM_H

#include <stddef.h>

void hf_random(void *ret_bytes, size_t size);

#endif
