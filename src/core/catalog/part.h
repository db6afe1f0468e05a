/*
 * part.h - one part of what a server offers (its tools, say), as last listed in full.
 *
 * A part is built page by page, sealed, and never changed after that: it is shared by reference and
 * replaced as a whole. Items keep their bytes. Pages are bounded in number and size.
 */
#ifndef HF_CORE_CATALOG_PART_H
#define HF_CORE_CATALOG_PART_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "core/machine/method.h"

enum { HF_PART_PAGES_MAX = 1000, HF_PART_ITEMS_MAX = 100000 };

struct hf_item {
    struct hf_map_node in_map; /* by what the name means, once its part is sealed */
    struct hf_span raw;        /* the whole object */
    struct hf_span name;       /* the raw JSON string that names it: name, uri or uriTemplate */
    bool is_idempotent;        /* the server says so: idempotentHint or readOnlyHint */
};

struct hf_part {
    unsigned refs;
    enum hf_part_id id;
    struct hf_buf bytes; /* the raw items, one after the other */
    struct hf_item *items;
    size_t count, cap;
    struct hf_map by_name;
    unsigned pages;
    bool is_sealed;
    bool checks_headers; /* tools whose x-mcp-header are wrong are left out (modern, over HTTP) */
    size_t left_out;
    const char *fault; /* of the last one left out */
    char *last_cursor; /* raw; a server that answers with the cursor it was asked with loops */
};

struct hf_part *hf_part_new(enum hf_part_id id, size_t bytes_max, const struct hf_map_key *key);
void hf_part_unref(struct hf_part *part); /* NULL accepted */
static inline struct hf_part *hf_part_ref(struct hf_part *part)
{
    part->refs++;
    return part;
}

enum hf_page { HF_PAGE_LAST, HF_PAGE_MORE, HF_PAGE_BAD };
/* Adds one list result. MORE: ask again with `ret_cursor` (a raw JSON string). BAD: `err` says why.
 */
HF_MUST_CHECK enum hf_page hf_part_add_page(struct hf_part *part, struct hf_span result,
                                            struct hf_span *ret_cursor, struct hf_err *err);
void hf_part_seal(struct hf_part *part);

/* The same items, in whatever order: some servers list from a hash table. */
bool hf_part_same(const struct hf_part *a, const struct hf_part *b);
/* The first of that name; in a sealed part, or NULL. */
const struct hf_item *hf_part_find(const struct hf_part *part, struct hf_span raw_name);
bool hf_part_find_plain(const struct hf_part *part, struct hf_span name); /* NULL part: false */

#endif
