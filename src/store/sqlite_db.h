/*
 * sqlite_db.h - one connection to the file of the store, used by one thread.
 *
 * Opening brings the schema up to date, proves that the file can be written, and sets a file aside
 * that SQLite calls damaged. Statements are prepared when they are first used.
 *
 * 1. A file is never deleted. One is renamed only if SQLite said SQLITE_CORRUPT or SQLITE_NOTADB.
 * 2. The schema only grows: an older holdfast finds all that it knows in a newer file, but does not
 *    use it, since it cannot know what it would break.
 */
#ifndef HF_STORE_SQLITE_DB_H
#define HF_STORE_SQLITE_DB_H

#include <stdatomic.h>
#include "base/err.h"
#include "base/span.h"
#include "store/health.h"
#include "store/instance.h"
#include "store/sqlite_load.h"
#include "store/sqlite_sql.h"

enum { HF_DB_SCHEMA = 1 };

struct hf_db_file { /* which file is open: a name can come to mean another */
    uint64_t device, inode;
};

struct hf_db {
    const struct hf_sqlite *api;
    sqlite3 *handle; /* NULL: not open */
    sqlite3_stmt *statements[HF_SQL_COUNT];
    char path[HF_INSTANCE_PATH_SIZE];
    struct hf_db_file file, wal;
    bool is_full;    /* synchronous is FULL */
    bool is_damaged; /* SQLite said so while it was used: the next opening sets it aside */
    uint32_t busy_ms;
    uint64_t busy_since_ms; /* of the lock that is waited for */
    atomic_bool *gives_up;  /* another thread wants us to wait for no lock; NULL: nobody */
    /* ---- told to whoever opened it ---- */
    char set_aside[HF_INSTANCE_PATH_SIZE]; /* what a damaged file is called now; "": none was */
    bool is_new;                           /* it had no tables */
    int64_t newest_ms;                     /* the latest opening that is written in it; 0: none */
};

/* `gives_up` may be NULL. Opens nothing yet. */
void hf_db_init(struct hf_db *db, const struct hf_sqlite *api, const char *directory,
                atomic_bool *gives_up);
/* NONE: it is open. `now_ms` is wall time. */
enum hf_store_reason hf_db_open(struct hf_db *db, int64_t now_ms, struct hf_err *err);
/* For readers of another process: nothing is made, migrated or set aside. */
enum hf_store_reason hf_db_open_to_read(struct hf_db *db, struct hf_err *err);
void hf_db_close(struct hf_db *db);

/* Whether the file that is open still has its name. */
bool hf_db_is_there(struct hf_db *db);

/* What an SQLite code means for us; `err` gets a sentence and what to do. */
enum hf_store_reason hf_db_reason(const struct hf_db *db, int code, struct hf_err *err);

/* SQLITE_OK, or an error. */
int hf_db_exec(struct hf_db *db, const char *sql);
int hf_db_sync(struct hf_db *db, bool is_full); /* outside of a transaction */

#endif
