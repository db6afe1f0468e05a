/* calls_read.c - see calls_read.h. */
#include "store/calls_read.h"
#include "base/buf.h"
#include "store/sqlite_query.h"

enum { BUSY_MS = 2000, SQL_MAX = 2048 };

struct hf_calls {
    struct hf_db db;
};

struct hf_calls *hf_calls_open(const char *directory, struct hf_err *err)
{
    const struct hf_sqlite *api = hf_sqlite_load(err);
    if (!api)
        return NULL;
    struct hf_calls *calls = hf_new(struct hf_calls);
    hf_db_init(&calls->db, api, directory, NULL);
    calls->db.busy_ms = BUSY_MS;
    if (hf_db_open_to_read(&calls->db, err) == HF_STORE_BECAUSE_NONE)
        return calls;
    hf_free(calls);
    return NULL;
}

void hf_calls_close(struct hf_calls *calls)
{
    if (!calls)
        return;
    hf_db_close(&calls->db);
    hf_free(calls);
}

/* ---- many ---- */

static void where(struct hf_buf *sql, bool is_wanted, const char *condition)
{
    if (is_wanted)
        hf_buf_printf(sql, " AND %s", condition);
}

/* Each filter that is there has its own condition; each value is bound, never written into it. */
static void write_sql(struct hf_buf *sql, const struct hf_calls_filter *filter)
{
    hf_buf_add_str(sql, "SELECT * FROM (SELECT seq," HF_SQL_CALL_COLUMNS
                        "," HF_SQL_RESOLUTION_COLUMNS " FROM calls WHERE 1");
    where(sql, filter->server.n, "server=?1");
    where(sql, filter->tool.n, "tool=?2");
    where(sql, filter->caller.n, "caller=?3");
    where(sql, filter->has_end, "outcome=?4");
    where(sql, filter->from_ms, "came>=?5");
    where(sql, filter->to_ms, "came<?6");
    where(sql, filter->after_seq, "seq>?7");
    where(sql, filter->is_unknown, "outcome=5 AND ifnull(resolution,0)=0");
    hf_buf_add_str(sql, " ORDER BY seq DESC LIMIT ?8) ORDER BY seq");
    hf_buf_add_char(sql, '\0');
}

/* Values of conditions that are not there have no place: SQLite says so, and that is fine. */
static void bind(const struct hf_db *db, sqlite3_stmt *statement,
                 const struct hf_calls_filter *filter)
{
    const struct hf_span texts[] = { filter->server, filter->tool, filter->caller };
    for (int i = 0; i < 3; i++)
        (void)db->api->bind_text64(statement, i + 1, texts[i].p, texts[i].n, SQLITE_STATIC,
                                   SQLITE_UTF8);
    (void)db->api->bind_int64(statement, 4, filter->end);
    (void)db->api->bind_int64(statement, 5, (sqlite3_int64)filter->from_ms);
    (void)db->api->bind_int64(statement, 6, (sqlite3_int64)filter->to_ms);
    (void)db->api->bind_int64(statement, 7, (sqlite3_int64)filter->after_seq);
    (void)db->api->bind_int64(statement, 8, filter->limit ? (sqlite3_int64)filter->limit : -1);
}

bool hf_calls_each(struct hf_calls *calls, const struct hf_calls_filter *filter,
                   hf_on_call *on_call, void *context, struct hf_err *err)
{
    struct hf_db *db = &calls->db;
    struct hf_query query = { .db = db };
    struct hf_buf sql;
    hf_buf_init(&sql, SQL_MAX);
    write_sql(&sql, filter);
    query.code = db->api->prepare_v3(db->handle, sql.p, -1, 0, &query.statement, NULL);
    hf_buf_done(&sql);
    if (query.code == SQLITE_OK)
        bind(db, query.statement, filter);
    for (struct hf_call_row row; hf_query_next(&query);) {
        hf_query_read_call(&query, &row);
        if (!on_call(context, &row))
            break;
    }
    (void)db->api->finalize(query.statement);
    return query.code == SQLITE_OK || hf_db_reason(db, query.code, err) == HF_STORE_BECAUSE_NONE;
}

/* ---- one ---- */

bool hf_calls_one(struct hf_calls *calls, struct hf_span id, hf_on_call *on_call, void *context,
                  struct hf_err *err)
{
    struct hf_span instance;
    uint64_t number;
    bool is_found = false;
    if (!hf_call_id_read(id, &instance, &number))
        return hf_fail(err, "that is not the name of a call: it looks like abcdefgh-12");
    struct hf_query query = hf_query(&calls->db, HF_SQL_ONE_CALL);
    hf_query_text(&query, instance);
    hf_query_int(&query, number);
    if (hf_query_next(&query)) {
        struct hf_call_row row;
        hf_query_read_call(&query, &row);
        is_found = true;
        (void)on_call(context, &row);
    }
    const int code = hf_query_end(&query);
    if (code != SQLITE_OK)
        return hf_db_reason(&calls->db, code, err) == HF_STORE_BECAUSE_NONE;
    return is_found || hf_fail(err, "there is no such call: it may be too old to be kept");
}
