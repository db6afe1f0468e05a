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
    struct hf_map_node in_map; /* in part->by_name, by the unescaped name; once sealed */
    struct hf_span raw;        /* the item's whole JSON object */
    struct hf_span name;       /* the raw JSON string that is its name, uri or uriTemplate */
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
    bool checks_headers; /* tools with a wrong x-mcp-header are left out (modern, over HTTP) */
    size_t left_out;     /* how many tools were left out */
    const char *fault;   /* what is wrong with the last tool that was left out */
    char *last_cursor;   /* raw; a server that answers with the cursor we sent would loop */
};

struct hf_part *hf_part_new(enum hf_part_id id, size_t bytes_max, const struct hf_map_key *key);
void hf_part_unref(struct hf_part *part); /* NULL accepted */
static inline struct hf_part *hf_part_ref(struct hf_part *part)
{
    part->refs++;
    return part;
}

enum hf_page { HF_PAGE_LAST, HF_PAGE_MORE, HF_PAGE_BAD };
/* Adds one list result. MORE: ask again with `ret_cursor`, a raw JSON string. BAD: see `err`. */
HF_MUST_CHECK enum hf_page hf_part_add_page(struct hf_part *part, struct hf_span result,
                                            struct hf_span *ret_cursor, struct hf_err *err);
void hf_part_seal(struct hf_part *part); /* all pages are there: items can be found from here on */

/* Whether both have the same items, in any order: some servers list from a hash table. */
bool hf_part_same(const struct hf_part *a, const struct hf_part *b);
/* The first item of this name in a sealed part; NULL: there is none, or `part` is NULL. */
const struct hf_item *hf_part_find(const struct hf_part *part, struct hf_span raw_name);
/* Whether an item has this name, given as plain text and not as JSON; NULL part: false. */
bool hf_part_find_plain(const struct hf_part *part, struct hf_span name);

#endif
