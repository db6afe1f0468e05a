/* sqlite_loaded.c - what a process begins with, read in one transaction; see sqlite_apply.h. */
#include "store/sqlite_apply.h"
#include "store/sqlite_query.h"

/* Room for one more of an array that grows by doubling; `array` is a pointer to its pointer. */
static void *one_more(void *array, size_t *count, size_t size)
{
    void *items;
    memcpy(&items, array, sizeof items);
    if ((*count & (*count - 1)) == 0)
        items = hf_realloc(items, (*count ? 2 * *count : 1) * size);
    memcpy(array, &items, sizeof items);
    return (char *)items + (*count)++ * size;
}

static struct hf_span keep(struct hf_loaded *loaded, const struct hf_query *query, int column)
{
    return hf_arena_dup(&loaded->arena, hf_query_bytes(query, column));
}

static bool read_digest(const struct hf_query *query, int column, uint8_t ret[HF_SHA256_SIZE])
{
    const struct hf_span bytes = hf_query_bytes(query, column);
    if (bytes.n != HF_SHA256_SIZE)
        return false;
    memcpy(ret, bytes.p, bytes.n);
    return true;
}

static int read_secret(struct hf_db *db, struct hf_loaded *loaded)
{
    struct hf_query query = hf_query(db, HF_SQL_GET_SECRET);
    bool is_read = false;
    hf_query_text(&query, HF_SPAN("sealing"));
    if (hf_query_next(&query)) {
        const struct hf_span bytes = hf_query_bytes(&query, 0);
        is_read = bytes.n == sizeof loaded->sealing_secret;
        if (is_read)
            memcpy(loaded->sealing_secret, bytes.p, bytes.n);
    }
    const int code = hf_query_end(&query);
    return code == SQLITE_OK && !is_read ? SQLITE_CORRUPT : code;
}

static int read_catalogs(struct hf_db *db, struct hf_loaded *loaded)
{
    struct hf_query query = hf_query(db, HF_SQL_GET_CATALOGS);
    while (hf_query_next(&query)) {
        struct hf_catalog_record record = { .era = (uint32_t)hf_query_number(&query, 1),
                                            .at_ms = hf_query_number(&query, 3) };
        if (!read_digest(&query, 0, record.key.bytes))
            continue;
        record.catalog = keep(loaded, &query, 2);
        struct hf_catalog_record *place =
            one_more(&loaded->catalogs, &loaded->catalog_count, sizeof record);
        *place = record;
    }
    return hf_query_end(&query);
}

static int read_switches(struct hf_db *db, struct hf_loaded *loaded)
{
    struct hf_query query = hf_query(db, HF_SQL_GET_SWITCHES);
    while (hf_query_next(&query)) {
        struct hf_switch_record *place =
            one_more(&loaded->switches, &loaded->switch_count, sizeof *place);
        *place = (struct hf_switch_record) { .server = keep(loaded, &query, 0),
                                             .is_wanted = hf_query_number(&query, 1) != 0,
                                             .was_disabled = hf_query_number(&query, 2) != 0,
                                             .who = keep(loaded, &query, 3),
                                             .at_ms = hf_query_number(&query, 4) };
    }
    return hf_query_end(&query);
}

static int read_sessions(struct hf_db *db, struct hf_span listen, struct hf_loaded *loaded)
{
    struct hf_query query = hf_query(db, HF_SQL_GET_SESSIONS);
    hf_query_text(&query, listen);
    while (hf_query_next(&query)) {
        struct hf_session_row row = { .made_ms = hf_query_number(&query, 5),
                                      .seen_ms = hf_query_number(&query, 6) };
        if (!read_digest(&query, 0, row.id_hash))
            continue;
        row.listen = keep(loaded, &query, 1);
        row.endpoint = keep(loaded, &query, 2);
        row.token = keep(loaded, &query, 3);
        row.payload = keep(loaded, &query, 4);
        struct hf_session_row *place =
            one_more(&loaded->sessions, &loaded->session_count, sizeof row);
        *place = row;
    }
    return hf_query_end(&query);
}

int hf_sqlite_take_generations(struct hf_db *db, const struct hf_server_key *key, uint32_t count,
                               uint64_t *ret_first)
{
    struct hf_query query = hf_query(db, HF_SQL_TAKE_GENERATIONS);
    hf_query_blob(&query, key->bytes, sizeof key->bytes);
    hf_query_int(&query, count);
    if (hf_query_next(&query))
        *ret_first = hf_query_number(&query, 0);
    while (hf_query_next(&query))
        ;
    return hf_query_end(&query);
}

static int take_blocks(struct hf_db *db, const struct hf_load_wish *wish, struct hf_loaded *loaded)
{
    const size_t count = wish->server_keys.n / sizeof(struct hf_server_key);
    int code = SQLITE_OK;
    loaded->generations = hf_new_array(struct hf_generations, count);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        struct hf_generations *block = &loaded->generations[i];
        memcpy(&block->key, wish->server_keys.p + i * sizeof block->key, sizeof block->key);
        block->count = wish->generations;
        code = hf_sqlite_take_generations(db, &block->key, wish->generations, &block->first);
    }
    loaded->generation_count = count;
    return code;
}

int hf_sqlite_read_all(struct hf_db *db, const struct hf_load_wish *wish, struct hf_loaded *loaded)
{
    int code = read_secret(db, loaded);
    if (code == SQLITE_OK)
        code = read_catalogs(db, loaded);
    if (code == SQLITE_OK)
        code = read_switches(db, loaded);
    if (code == SQLITE_OK && wish->listen.n)
        code = read_sessions(db, wish->listen, loaded);
    if (code == SQLITE_OK)
        code = take_blocks(db, wish, loaded);
    return code;
}
