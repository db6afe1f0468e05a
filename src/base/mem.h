/*
 * mem.h - the only way to the allocator.
 *
 * Sizes that we choose ourselves are small and bounded, so running out of memory ends the process:
 * these functions never return NULL. Sizes that a peer chooses go through hf_buf, which refuses
 * more than its maximum.
 */
#ifndef HF_BASE_MEM_H
#define HF_BASE_MEM_H

#include <stddef.h>
#include "base/span.h"

#define HF_MUST_CHECK     __attribute__((warn_unused_result))
#define HF_PRINTF(at, va) __attribute__((format(printf, at, va)))

void *hf_alloc(size_t size);                     /* zeroed */
void *hf_alloc_array(size_t count, size_t size); /* zeroed; ends the process on overflow, too */
void *hf_realloc(void *old, size_t size);        /* grown part is not zeroed */
void hf_free(void *p);                           /* NULL accepted */
char *hf_strdup(const char *text);
char *hf_span_dup(struct hf_span span); /* a NUL is added */

#define hf_new(type)          ((type *)hf_alloc(sizeof(type)))
#define hf_new_array(type, n) ((type *)hf_alloc_array(n, sizeof(type)))

#endif
