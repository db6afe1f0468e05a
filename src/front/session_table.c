/* session_table.c - see session_table.h. */
#include "front/session_table.h"
#include <assert.h>
#include "base/hex.h"
#include "base/secret.h"

void hf_session_table_init(struct hf_session_table *table, const struct hf_map_key *key)
{
    hf_map_init(&table->by_id, key);
    hf_link_init(&table->by_use);
}

void hf_session_table_done(struct hf_session_table *table)
{
    assert(hf_session_table_count(table) == 0);
    hf_map_done(&table->by_id);
}

static uint64_t hash_of(const struct hf_session_table *table, const uint8_t *id)
{
    return hf_map_hash(&table->by_id, 0,
                       (struct hf_span) { (const char *)id, HF_SESSION_ID_BYTES });
}

void hf_session_table_add(struct hf_session_table *table, struct hf_session_entry *entry,
                          const uint8_t id[HF_SESSION_ID_BYTES], uint64_t now_ms)
{
    memcpy(entry->id, id, HF_SESSION_ID_BYTES);
    hf_link_init(&entry->link);
    hf_map_add(&table->by_id, &entry->in_map, hash_of(table, id));
    hf_session_table_touch(table, entry, now_ms);
}

void hf_session_table_remove(struct hf_session_table *table, struct hf_session_entry *entry)
{
    hf_map_remove(&table->by_id, &entry->in_map);
    hf_unlink(&entry->link);
}

void hf_session_table_touch(struct hf_session_table *table, struct hf_session_entry *entry,
                            uint64_t now_ms)
{
    entry->used_ms = now_ms;
    hf_unlink(&entry->link);
    hf_list_push(&table->by_use, &entry->link);
}

struct hf_session_entry *hf_session_table_find(const struct hf_session_table *table,
                                               struct hf_span text)
{
    uint8_t id[HF_SESSION_ID_BYTES];
    if (!hf_hex_read(text, id, sizeof id))
        return NULL;
    struct hf_session_entry *entry;
    HF_MAP_EACH(entry, &table->by_id, hash_of(table, id), struct hf_session_entry, in_map)
    {
        if (hf_secret_same(entry->id, id, sizeof id))
            return entry;
    }
    return NULL;
}

void hf_session_id_text(const struct hf_session_entry *entry, char ret_text[HF_SESSION_ID_TEXT + 1])
{
    hf_hex_write(entry->id, HF_SESSION_ID_BYTES, ret_text);
}
