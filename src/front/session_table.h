/*
 * session_table.h - sessions of HTTP clients, found by their ids, in the order of their last use.
 *
 * An entry is a member of its session. Ids are 192 random bits; the caller passes them in, so that
 * tests can choose them, and clients write them in hex. Allocates for the map only; reads no clock.
 *
 * 1. How long a look-up takes does not tell how much of an id was right: the map's hash is keyed,
 *    and all bits are compared, wherever the first difference is.
 * 2. `by_use` holds all entries in the order of their last use, longest ago first.
 */
#ifndef HF_FRONT_SESSION_TABLE_H
#define HF_FRONT_SESSION_TABLE_H

#include <stdint.h>
#include "base/list.h"
#include "base/map.h"
#include "base/span.h"

enum { HF_SESSION_ID_BYTES = 24, HF_SESSION_ID_TEXT = 2 * HF_SESSION_ID_BYTES };

struct hf_session_entry {
    struct hf_link link; /* in table->by_use */
    struct hf_map_node in_map;
    uint64_t used_ms;
    uint8_t id[HF_SESSION_ID_BYTES];
};

struct hf_session_table {
    struct hf_map by_id;
    struct hf_link by_use;
};

/* `key` must be random. */
void hf_session_table_init(struct hf_session_table *table, const struct hf_map_key *key);
void hf_session_table_done(struct hf_session_table *table); /* the table must be empty */

void hf_session_table_add(struct hf_session_table *table, struct hf_session_entry *entry,
                          const uint8_t id[HF_SESSION_ID_BYTES], uint64_t now_ms);
void hf_session_table_remove(struct hf_session_table *table, struct hf_session_entry *entry);
void hf_session_table_touch(struct hf_session_table *table, struct hf_session_entry *entry,
                            uint64_t now_ms);
struct hf_session_entry *hf_session_table_find(const struct hf_session_table *table,
                                               struct hf_span text);

static inline size_t hf_session_table_count(const struct hf_session_table *table)
{
    return table->by_id.count;
}
void hf_session_id_text(const struct hf_session_entry *entry,
                        char ret_text[HF_SESSION_ID_TEXT + 1]);

#endif
