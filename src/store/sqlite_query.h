/*
 * sqlite_query.h - one run of a statement: values in, rows out.
 *
 * Values are bound one after the other; their bytes must live until the query is over. An error
 * that happens on the way is kept and comes out at the end, so only the end has to be looked at.
 */
#ifndef HF_STORE_SQLITE_QUERY_H
#define HF_STORE_SQLITE_QUERY_H

#include "base/arena.h"
#include "store/call_row.h"
#include "store/sqlite_db.h"

struct hf_query {
    struct hf_db *db;
    sqlite3_stmt *statement;
    int code;  /* SQLITE_OK, or what went wrong */
    int bound; /* values so far */
};

struct hf_query hf_query(struct hf_db *db, enum hf_sql sql);
void hf_query_text(struct hf_query *query, struct hf_span text);
void hf_query_blob(struct hf_query *query, const void *bytes, size_t size);
void hf_query_int(struct hf_query *query, uint64_t value);

bool hf_query_next(struct hf_query *query); /* false: no row is left, or an error */
int hf_query_end(struct hf_query *query);   /* SQLITE_OK, or the error */
int hf_query_run(struct hf_query *query);   /* for statements whose rows nobody wants */

/* Of the row that is there; a span lives until the next one. */
struct hf_span hf_query_bytes(const struct hf_query *query, int column);
uint64_t hf_query_number(const struct hf_query *query, int column);

/* The 19 columns of HF_SQL_CALL_COLUMNS, from the first value on. */
void hf_query_call(struct hf_query *query, const struct hf_call_row *call);
/* `seq`, those, and HF_SQL_RESOLUTION_COLUMNS; its spans live until the next row. */
void hf_query_read_call(const struct hf_query *query, struct hf_call_row *ret_call);

#endif
