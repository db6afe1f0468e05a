/* mem.c - see mem.h. */
#include "base/mem.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_die(void *p, size_t size)
{
    if (!p) {
        fprintf(stderr, "holdfast: out of memory (%zu bytes)\n", size);
        abort();
    }
    return p;
}

void *hf_alloc(size_t size)
{
    return or_die(calloc(1, size ? size : 1), size);
}

void *hf_alloc_array(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? or_die(NULL, SIZE_MAX) : hf_alloc(bytes);
}

void *hf_realloc(void *old, size_t size)
{
    return or_die(realloc(old, size ? size : 1), size);
}

void hf_free(void *p)
{
    free(p);
}

char *hf_span_dup(struct hf_span span)
{
    char *copy = or_die(malloc(span.n + 1), span.n + 1);
    if (span.n)
        memcpy(copy, span.p, span.n);
    copy[span.n] = '\0';
    return copy;
}

char *hf_strdup(const char *text)
{
    return hf_span_dup(hf_span_of(text));
}
