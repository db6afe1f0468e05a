/* sqlite_apply.c - see sqlite_apply.h. */
#include "store/sqlite_apply.h"
#include "store/sqlite_query.h"

enum {
    PORTION_ROWS = 1000, /* about 10 ms of the writer thread; bench/store.c measures it */
    VACUUM_PAGES = 1024,
};

static int put_catalog(struct hf_db *db, const struct hf_catalog_record *record)
{
    const bool is_era_alone = record->catalog.n == 0;
    struct hf_query query = hf_query(db, is_era_alone ? HF_SQL_PUT_ERA : HF_SQL_PUT_CATALOG);
    hf_query_blob(&query, record->key.bytes, sizeof record->key.bytes);
    hf_query_int(&query, record->era);
    if (is_era_alone)
        query.bound++;
    else
        hf_query_text(&query, record->catalog);
    hf_query_int(&query, record->at_ms);
    return hf_query_run(&query);
}

static int put_switch(struct hf_db *db, const struct hf_switch_record *record)
{
    struct hf_query query = hf_query(db, HF_SQL_PUT_SWITCH);
    hf_query_text(&query, record->server);
    hf_query_int(&query, record->is_wanted);
    hf_query_int(&query, record->was_disabled);
    hf_query_text(&query, record->who);
    hf_query_int(&query, record->at_ms);
    return hf_query_run(&query);
}

static int put_session(struct hf_db *db, const struct hf_session_row *row)
{
    struct hf_query query = hf_query(db, HF_SQL_PUT_SESSION);
    hf_query_blob(&query, row->id_hash, sizeof row->id_hash);
    hf_query_text(&query, row->listen);
    hf_query_text(&query, row->endpoint);
    hf_query_text(&query, row->token);
    hf_query_text(&query, row->payload);
    hf_query_int(&query, row->made_ms);
    hf_query_int(&query, row->seen_ms);
    return hf_query_run(&query);
}

static int touch_session(struct hf_db *db, const struct hf_session_row *row)
{
    struct hf_query query = hf_query(db, HF_SQL_TOUCH_SESSION);
    hf_query_blob(&query, row->id_hash, sizeof row->id_hash);
    hf_query_int(&query, row->seen_ms);
    return hf_query_run(&query);
}

static int forget(struct hf_db *db, enum hf_sql sql, const uint8_t *key, size_t size)
{
    struct hf_query query = hf_query(db, sql);
    hf_query_blob(&query, key, size);
    return hf_query_run(&query);
}

static int forget_switch(struct hf_db *db, struct hf_span server)
{
    struct hf_query query = hf_query(db, HF_SQL_FORGET_SWITCH);
    hf_query_text(&query, server);
    return hf_query_run(&query);
}

static int put_call(struct hf_db *db, struct hf_span instance, const struct hf_call_row *row,
                    bool was_open)
{
    struct hf_call_row call = *row;
    if (call.instance.n == 0)
        call.instance = instance;
    if (was_open) {
        struct hf_query query = hf_query(db, HF_SQL_DROP_OPEN_CALL);
        hf_query_text(&query, call.instance);
        hf_query_int(&query, call.number);
        const int code = hf_query_run(&query);
        if (code != SQLITE_OK)
            return code;
    }
    struct hf_query query = hf_query(db, HF_SQL_PUT_CALL);
    hf_query_call(&query, &call);
    return hf_query_run(&query);
}

static int resolve_call(struct hf_db *db, const struct hf_call_row *call,
                        struct hf_store_answer *answer)
{
    struct hf_query query = hf_query(db, HF_SQL_RESOLVE_CALL);
    hf_query_text(&query, call->instance);
    hf_query_int(&query, call->number);
    hf_query_int(&query, call->resolution);
    hf_query_text(&query, call->resolved_by);
    hf_query_int(&query, call->resolved_ms);
    hf_query_text(&query, call->note);
    const int code = hf_query_run(&query);
    if (code == SQLITE_OK && db->api->changes(db->handle) == 0)
        answer->reason = HF_STORE_BECAUSE_NOT_FOUND;
    return code;
}

/* ---- too old, or too many ---- */

static int retire(struct hf_db *db, enum hf_sql sql, uint64_t before_ms, uint64_t *ret_rows)
{
    struct hf_query query = hf_query(db, sql);
    if (before_ms)
        hf_query_int(&query, before_ms);
    hf_query_int(&query, PORTION_ROWS);
    const int code = hf_query_run(&query);
    *ret_rows = code == SQLITE_OK ? (uint64_t)db->api->changes(db->handle) : 0;
    return code;
}

static int used_bytes(struct hf_db *db, uint64_t *ret_bytes, uint64_t *ret_free_pages)
{
    struct hf_query query = hf_query(db, HF_SQL_USED_BYTES);
    *ret_bytes = *ret_free_pages = 0;
    if (hf_query_next(&query)) {
        *ret_bytes = hf_query_number(&query, 0);
        *ret_free_pages = hf_query_number(&query, 1);
    }
    return hf_query_end(&query);
}

int hf_sqlite_retire(struct hf_db *db, const struct hf_retention *bounds,
                     struct hf_retired *ret_retired)
{
    uint64_t old = 0, many = 0, sessions = 0, bytes = 0, free_pages = 0;
    int code = SQLITE_OK;
    if (bounds->calls_before_ms)
        code = retire(db, HF_SQL_RETIRE_OLD_CALLS, bounds->calls_before_ms, &old);
    if (code == SQLITE_OK && bounds->sessions_before_ms)
        code = retire(db, HF_SQL_RETIRE_SESSIONS, bounds->sessions_before_ms, &sessions);
    if (code == SQLITE_OK)
        code = used_bytes(db, &bytes, &free_pages);
    if (code == SQLITE_OK && bounds->bytes_max && bytes > bounds->bytes_max)
        code = retire(db, HF_SQL_RETIRE_CALLS, 0, &many);
    if (code == SQLITE_OK && free_pages > VACUUM_PAGES)
        code = hf_db_exec(db, "PRAGMA incremental_vacuum(1024)");
    if (code != SQLITE_OK)
        return code;
    ret_retired->calls = old + many;
    /* Old rows need not be the oldest of the portion alone: any that went may have others behind.
     */
    ret_retired->has_more = old > 0 || many > 0 || sessions == PORTION_ROWS;
    return SQLITE_OK;
}

static int retain(struct hf_db *db, struct hf_store_answer *answer)
{
    struct hf_retired retired = { 0 };
    const int code = hf_sqlite_retire(db, &answer->request.retention, &retired);
    answer->value = retired.has_more;
    return code;
}

static int load(struct hf_db *db, struct hf_store_answer *answer)
{
    struct hf_loaded *loaded = hf_loaded_new();
    const int code = hf_sqlite_read_all(db, &answer->request.load, loaded);
    if (code == SQLITE_OK)
        answer->loaded = loaded;
    else
        hf_loaded_free(loaded);
    return code;
}

int hf_sqlite_apply(struct hf_db *db, struct hf_span instance, struct hf_store_answer *answer)
{
    const struct hf_store_request *request = &answer->request;
    answer->reason = HF_STORE_BECAUSE_NONE;
    answer->value = 0;
    switch (request->kind) {
    case HF_STORE_LOAD: return load(db, answer);
    case HF_STORE_PUT_CATALOG: return put_catalog(db, &request->catalog);
    case HF_STORE_FORGET_CATALOG:
        return forget(db, HF_SQL_FORGET_CATALOG, request->catalog.key.bytes, HF_SHA256_SIZE);
    case HF_STORE_PUT_SWITCH: return put_switch(db, &request->change);
    case HF_STORE_FORGET_SWITCH: return forget_switch(db, request->change.server);
    case HF_STORE_TAKE_GENERATIONS:
        return hf_sqlite_take_generations(db, &request->generations.key, request->generations.count,
                                          &answer->value);
    case HF_STORE_PUT_SESSION: return put_session(db, &request->session);
    case HF_STORE_TOUCH_SESSION: return touch_session(db, &request->session);
    case HF_STORE_FORGET_SESSION:
        return forget(db, HF_SQL_FORGET_SESSION, request->session.id_hash, HF_SHA256_SIZE);
    case HF_STORE_OPEN_CALL:
    case HF_STORE_APPEND_CALL: return put_call(db, instance, &request->call, false);
    case HF_STORE_CLOSE_CALL: return put_call(db, instance, &request->call, true);
    case HF_STORE_RESOLVE_CALL: return resolve_call(db, &request->call, answer);
    case HF_STORE_RETAIN: return retain(db, answer);
    case HF_STORE_KIND_COUNT: break;
    }
    answer->reason = HF_STORE_BECAUSE_NOT_VALID;
    return SQLITE_OK;
}
