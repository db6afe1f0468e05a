/*
 * mem.h - the only way to the allocator.
 *
 * Memory of our own making is small and bounded, so running out of it ends the process: these never
 * return NULL. What a peer sizes goes through hf_buf, whose maximum refuses instead.
 */
#ifndef HF_BASE_MEM_H
#define HF_BASE_MEM_H

#include <stddef.h>
#include "base/span.h"

#define HF_MUST_CHECK     __attribute__((warn_unused_result))
#define HF_PRINTF(at, va) __attribute__((format(printf, at, va)))

void *hf_alloc(size_t size);                     /* zeroed */
void *hf_alloc_array(size_t count, size_t size); /* zeroed; more than there can be ends it too */
void *hf_realloc(void *old, size_t size);        /* grown part is not zeroed */
void hf_free(void *p);                           /* NULL accepted */
char *hf_strdup(const char *text);
char *hf_span_dup(struct hf_span span); /* a NUL is added */

#define hf_new(type)          ((type *)hf_alloc(sizeof(type)))
#define hf_new_array(type, n) ((type *)hf_alloc_array(n, sizeof(type)))

#endif
