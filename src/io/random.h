/*
 * random.h - the one source of random bytes: for ids, secrets and tokens that nobody may guess.
 *
 * The system's own. A system that gives none (a sandbox that forbids to ask, most likely) is
 * treated as one without memory: a sentence, and the end of the process. Nobody can go on without.
 */
#ifndef HF_IO_RANDOM_H
#define HF_IO_RANDOM_H

#include <stddef.h>

void hf_random(void *ret_bytes, size_t size);

#endif
