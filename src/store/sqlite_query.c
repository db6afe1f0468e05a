/* sqlite_query.c - see sqlite_query.h. */
#include "store/sqlite_query.h"

struct hf_query hf_query(struct hf_db *db, enum hf_sql sql)
{
    struct hf_query query = { .db = db, .statement = db->statements[sql] };
    if (!query.statement) {
        query.code = db->api->prepare_v3(db->handle, hf_sql_texts[sql], -1,
                                         SQLITE_PREPARE_PERSISTENT, &query.statement, NULL);
        db->statements[sql] = query.statement;
    }
    return query;
}

static void note(struct hf_query *query, int code)
{
    if (query->code == SQLITE_OK)
        query->code = code;
}

void hf_query_text(struct hf_query *query, struct hf_span text)
{
    query->bound++;
    if (query->code == SQLITE_OK)
        note(query,
             query->db->api->bind_text64(query->statement, query->bound, text.p ? text.p : "",
                                         text.n, SQLITE_STATIC, SQLITE_UTF8));
}

void hf_query_blob(struct hf_query *query, const void *bytes, size_t size)
{
    query->bound++;
    if (query->code == SQLITE_OK)
        note(query, query->db->api->bind_blob64(query->statement, query->bound, bytes, size,
                                                SQLITE_STATIC));
}

void hf_query_int(struct hf_query *query, uint64_t value)
{
    query->bound++;
    if (query->code == SQLITE_OK)
        note(query,
             query->db->api->bind_int64(query->statement, query->bound, (sqlite3_int64)value));
}

bool hf_query_next(struct hf_query *query)
{
    if (query->code != SQLITE_OK)
        return false;
    const int code = query->db->api->step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        query->code = code;
    return code == SQLITE_ROW;
}

int hf_query_end(struct hf_query *query)
{
    if (query->statement)
        (void)query->db->api->reset(query->statement);
    return query->code;
}

int hf_query_run(struct hf_query *query)
{
    while (hf_query_next(query))
        ;
    return hf_query_end(query);
}

struct hf_span hf_query_bytes(const struct hf_query *query, int column)
{
    const struct hf_sqlite *api = query->db->api;
    const void *bytes = api->column_blob(query->statement, column);
    const int n = api->column_bytes(query->statement, column);
    return (struct hf_span) { bytes ? bytes : "", bytes && n > 0 ? (size_t)n : 0 };
}

uint64_t hf_query_number(const struct hf_query *query, int column)
{
    return (uint64_t)query->db->api->column_int64(query->statement, column);
}

/* ---- rows of calls ---- */

void hf_query_call(struct hf_query *query, const struct hf_call_row *call)
{
    hf_query_text(query, call->instance);
    hf_query_int(query, call->number);
    hf_query_text(query, call->caller);
    hf_query_text(query, call->server);
    hf_query_text(query, call->tool);
    hf_query_blob(query, call->arguments_hash, sizeof call->arguments_hash);
    hf_query_int(query, call->generation);
    hf_query_int(query, call->attempts);
    hf_query_text(query, call->evidence);
    hf_query_int(query, call->end);
    hf_query_int(query, (uint64_t)call->code);
    hf_query_text(query, call->reason);
    hf_query_int(query, call->came_ms);
    hf_query_int(query, call->waited_ms);
    hf_query_int(query, call->dispatched_ms);
    hf_query_int(query, call->ended_ms);
    hf_query_text(query, call->key);
    hf_query_text(query, call->arguments);
    hf_query_text(query, call->result);
}

void hf_query_read_call(const struct hf_query *query, struct hf_call_row *ret_call)
{
    const uint64_t end = hf_query_number(query, 10), resolution = hf_query_number(query, 20);
    *ret_call = (struct hf_call_row) {
        .seq = hf_query_number(query, 0),
        .instance = hf_query_bytes(query, 1),
        .number = hf_query_number(query, 2),
        .caller = hf_query_bytes(query, 3),
        .server = hf_query_bytes(query, 4),
        .tool = hf_query_bytes(query, 5),
        .generation = hf_query_number(query, 7),
        .attempts = (uint32_t)hf_query_number(query, 8),
        .evidence = hf_query_bytes(query, 9),
        .end = end < HF_CALL_END_COUNT ? (enum hf_call_end)end : HF_CALL_END_COUNT,
        .code = (int64_t)hf_query_number(query, 11),
        .reason = hf_query_bytes(query, 12),
        .came_ms = hf_query_number(query, 13),
        .waited_ms = hf_query_number(query, 14),
        .dispatched_ms = hf_query_number(query, 15),
        .ended_ms = hf_query_number(query, 16),
        .key = hf_query_bytes(query, 17),
        .arguments = hf_query_bytes(query, 18),
        .result = hf_query_bytes(query, 19),
        .resolution =
            resolution <= HF_RESOLVED_NOT_RUN ? (enum hf_resolution)resolution : HF_RESOLVED_NOT,
        .resolved_by = hf_query_bytes(query, 21),
        .resolved_ms = hf_query_number(query, 22),
        .note = hf_query_bytes(query, 23),
    };
    const struct hf_span hash = hf_query_bytes(query, 6);
    if (hash.n == sizeof ret_call->arguments_hash)
        memcpy(ret_call->arguments_hash, hash.p, hash.n);
}
