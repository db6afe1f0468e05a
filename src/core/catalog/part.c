/* part.c - see part.h. */
#include "core/catalog/part.h"
#include <assert.h>
#include <stdlib.h>
#include "wire/json.h"
#include "wire/mcp_headers.h"

struct hf_part *hf_part_new(enum hf_part_id id, size_t bytes_max, const struct hf_map_key *key)
{
    struct hf_part *part = hf_new(struct hf_part);
    part->refs = 1;
    part->id = id;
    hf_map_init(&part->by_name, key);
    hf_buf_init(&part->bytes, bytes_max);
    return part;
}

void hf_part_unref(struct hf_part *part)
{
    if (!part || --part->refs > 0)
        return;
    hf_buf_done(&part->bytes);
    hf_map_done(&part->by_name);
    hf_free(part->items);
    hf_free(part->last_cursor);
    hf_free(part);
}

static bool hint(struct hf_span item, struct hf_span name)
{
    return hf_json_is_true(
        hf_json_path(item, 2, (struct hf_span[]) { HF_SPAN("annotations"), name }));
}

/* Until the part is sealed its buffer may move, so items hold offsets in the place of pointers. */
static bool add_item(struct hf_part *part, struct hf_span raw)
{
    const struct hf_span name = hf_json_get(raw, hf_part_traits(part->id)->key);
    if (hf_json_type(name) != HF_JSON_STRING)
        return true; /* no client could use an item without a name; the others stay usable */
    const char *fault = part->checks_headers && part->id == HF_PART_TOOLS
                            ? hf_mcp_schema_fault(hf_json_get(raw, HF_SPAN("inputSchema")))
                            : NULL;
    if (fault) {
        part->left_out++;
        part->fault = fault;
        return true;
    }
    if (part->count == HF_PART_ITEMS_MAX)
        return false;
    const size_t at = hf_buf_len(&part->bytes);
    if (!hf_buf_try_add(&part->bytes, raw))
        return false;
    if (part->count == part->cap) {
        part->cap = part->cap ? 2 * part->cap : 16;
        part->items = hf_realloc(part->items, part->cap * sizeof *part->items);
    }
    part->items[part->count++] = (struct hf_item) {
        .raw = { (const char *)(uintptr_t)at, raw.n },
        .name = { (const char *)(uintptr_t)(at + (size_t)(name.p - raw.p)), name.n },
        .is_idempotent = part->id == HF_PART_TOOLS && (hint(raw, HF_SPAN("idempotentHint")) ||
                                                       hint(raw, HF_SPAN("readOnlyHint"))),
    };
    return true;
}

enum hf_page hf_part_add_page(struct hf_part *part, struct hf_span result,
                              struct hf_span *ret_cursor, struct hf_err *err)
{
    assert(!part->is_sealed);
    const struct hf_part_traits *traits = hf_part_traits(part->id);
    const struct hf_span list = hf_json_get(result, traits->member);
    if (hf_json_type(list) != HF_JSON_ARRAY)
        return hf_fail(err, "its %s list has no array \"%s\"", hf_method(traits->list)->name,
                       traits->member.p),
               HF_PAGE_BAD;
    for (struct hf_json_iter it = hf_json_iter(list); hf_json_next(&it);)
        if (hf_json_type(it.value) == HF_JSON_OBJECT && !add_item(part, it.value))
            return hf_fail(err, "its list of %s is too large", traits->member.p), HF_PAGE_BAD;
    part->pages++;
    const struct hf_span cursor = hf_json_get(result, HF_SPAN("nextCursor"));
    if (hf_json_type(cursor) != HF_JSON_STRING || cursor.n == 2)
        return HF_PAGE_LAST;
    /* A cursor that does not advance would loop for ever: what came so far is the list. */
    if (part->pages == HF_PART_PAGES_MAX ||
        (part->last_cursor && hf_span_is(cursor, part->last_cursor)))
        return HF_PAGE_LAST;
    hf_free(part->last_cursor);
    part->last_cursor = hf_span_dup(cursor);
    *ret_cursor = cursor;
    return HF_PAGE_MORE;
}

/* Names are hashed unescaped, so that two JSON spellings of the same name have the same hash. */
static uint64_t hash_of(const struct hf_part *part, struct hf_span raw_name, struct hf_buf *scratch)
{
    hf_buf_clear(scratch);
    if (!hf_json_unescape(raw_name, scratch))
        hf_buf_clear(scratch); /* no valid string: hashed as "", and told apart when compared */
    return hf_map_hash(&part->by_name, 0, hf_buf_span(scratch));
}

void hf_part_seal(struct hf_part *part)
{
    assert(!part->is_sealed);
    struct hf_buf scratch;
    const char *base = hf_buf_span(&part->bytes).p;
    hf_buf_init(&scratch, hf_buf_len(&part->bytes) + 1);
    for (size_t i = 0; i < part->count; i++) {
        part->items[i].raw.p = base + (uintptr_t)part->items[i].raw.p;
        part->items[i].name.p = base + (uintptr_t)part->items[i].name.p;
        hf_map_add(&part->by_name, &part->items[i].in_map,
                   hash_of(part, part->items[i].name, &scratch));
    }
    hf_buf_done(&scratch);
    part->is_sealed = true;
}

static int by_bytes(const void *a, const void *b)
{
    const struct hf_span x = (*(const struct hf_item *const *)a)->raw;
    const struct hf_span y = (*(const struct hf_item *const *)b)->raw;
    if (x.n != y.n)
        return x.n < y.n ? -1 : 1;
    return x.n ? memcmp(x.p, y.p, x.n) : 0;
}

static const struct hf_item **sorted(const struct hf_part *part)
{
    const struct hf_item **items = hf_alloc((part->count + 1) * sizeof *items);
    for (size_t i = 0; i < part->count; i++)
        items[i] = &part->items[i];
    qsort(items, part->count, sizeof *items, by_bytes);
    return items;
}

bool hf_part_same(const struct hf_part *a, const struct hf_part *b)
{
    assert(a->is_sealed && b->is_sealed);
    if (a->count != b->count || hf_buf_len(&a->bytes) != hf_buf_len(&b->bytes))
        return false;
    if (a->count == 0 || hf_span_eq(hf_buf_span(&a->bytes), hf_buf_span(&b->bytes)))
        return true;
    const struct hf_item **x = sorted(a), **y = sorted(b);
    bool same = true;
    for (size_t i = 0; same && i < a->count; i++)
        same = hf_span_eq(x[i]->raw, y[i]->raw);
    hf_free(x);
    hf_free(y);
    return same;
}

const struct hf_item *hf_part_find(const struct hf_part *part, struct hf_span raw_name)
{
    if (!part)
        return NULL;
    struct hf_buf scratch;
    hf_buf_init(&scratch, raw_name.n + 1);
    const uint64_t hash = hash_of(part, raw_name, &scratch);
    hf_buf_done(&scratch);
    const struct hf_item *item;
    HF_MAP_EACH(item, &part->by_name, hash, struct hf_item, in_map)
    {
        if (hf_json_same_scalar(item->name, raw_name))
            return item;
    }
    return NULL;
}

bool hf_part_find_plain(const struct hf_part *part, struct hf_span name)
{
    if (!part)
        return false;
    const struct hf_item *item;
    HF_MAP_EACH(item, &part->by_name, hf_map_hash(&part->by_name, 0, name), struct hf_item, in_map)
    {
        if (hf_json_string_is(item->name, name))
            return true;
    }
    return false;
}
