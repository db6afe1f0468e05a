/* sqlite_db.c - see sqlite_db.h. */
#include "store/sqlite_db.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/hex.h"
#include "io/random.h"
#include "store/records.h"

#define SQL_TEXT(id, text) [HF_SQL_##id] = (text),
const char *const hf_sql_texts[HF_SQL_COUNT] = { HF_SQL_STATEMENTS(SQL_TEXT) };

enum { BUSY_NAP_MS = 5, PRIMARY_CODE = 0xff };

/* ---- what went wrong, in words ---- */

static enum hf_store_reason reason_of(int code)
{
    switch (code & PRIMARY_CODE) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return HF_STORE_BECAUSE_NONE;
    case SQLITE_FULL: return HF_STORE_BECAUSE_DISK_FULL;
    case SQLITE_READONLY: return HF_STORE_BECAUSE_READ_ONLY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT: return HF_STORE_BECAUSE_LOCKED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return HF_STORE_BECAUSE_CORRUPT;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: return HF_STORE_BECAUSE_NO_ACCESS;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE: return HF_STORE_BECAUSE_NOT_VALID;
    default: return HF_STORE_BECAUSE_IO_ERROR;
    }
}

static const char *const advice[HF_STORE_REASON_COUNT] = {
    [HF_STORE_BECAUSE_DISK_FULL] = "there is no room left on its disk; make some",
    [HF_STORE_BECAUSE_READ_ONLY] = "it may only be read; make it and its directory writable",
    [HF_STORE_BECAUSE_LOCKED] = "another program holds it; end that program, or its transaction",
    [HF_STORE_BECAUSE_CORRUPT] = "it is damaged",
    [HF_STORE_BECAUSE_NO_ACCESS] = "it cannot be opened; look at the permissions of its directory",
    [HF_STORE_BECAUSE_IO_ERROR] = "it cannot be read or written; look at its disk",
    [HF_STORE_BECAUSE_NOT_VALID] = "it does not take what was to be written",
};

enum hf_store_reason hf_db_reason(const struct hf_db *db, int code, struct hf_err *err)
{
    const enum hf_store_reason reason = reason_of(code);
    if (reason)
        hf_fail(err, "%s: %s (%s)", db->path, advice[reason] ? advice[reason] : "not usable",
                db->handle ? db->api->errmsg(db->handle) : db->api->errstr(code));
    return reason;
}

int hf_db_exec(struct hf_db *db, const char *sql)
{
    return db->api->exec(db->handle, sql, NULL, NULL, NULL);
}

int hf_db_sync(struct hf_db *db, bool is_full)
{
    if (db->is_full == is_full)
        return SQLITE_OK;
    const int code =
        hf_db_exec(db, is_full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    if (code == SQLITE_OK)
        db->is_full = is_full;
    return code;
}

/* ---- which file is it? ---- */

static struct hf_db_file file_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (struct hf_db_file) { st.st_dev, st.st_ino }
                                : (struct hf_db_file) { 0, 0 };
}

static bool same_file(struct hf_db_file a, struct hf_db_file b)
{
    return a.device == b.device && a.inode == b.inode;
}

static struct hf_db_file wal_of(const struct hf_db *db)
{
    char path[sizeof db->path + 8];
    (void)snprintf(path, sizeof path, "%s-wal", db->path);
    return file_at(path);
}

bool hf_db_is_there(struct hf_db *db)
{
    return same_file(db->file, file_at(db->path)) && same_file(db->wal, wal_of(db));
}

/* ---- a file that is damaged ---- */

static void rename_aside(struct hf_db *db, const char *ending)
{
    char from[sizeof db->path + 8], to[sizeof db->set_aside + 8];
    (void)snprintf(from, sizeof from, "%s%s", db->path, ending);
    (void)snprintf(to, sizeof to, "%s%s", db->set_aside, ending);
    (void)rename(from, to);
}

/* Several processes may find the same damage: the lock on the directory, and a look at which file
 * has the name by now, keep the second from setting the new file of the first aside. */
static void set_aside(struct hf_db *db, struct hf_db_file damaged, int64_t now_ms)
{
    char directory[sizeof db->path], when[32];
    const time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;
    memcpy(directory, db->path, sizeof directory);
    *strrchr(directory, '/') = '\0';
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && same_file(damaged, file_at(db->path)) &&
        gmtime_r(&seconds, &utc) && strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc) > 0 &&
        strlen(db->path) + 64 < sizeof db->set_aside) {
        (void)snprintf(db->set_aside, sizeof db->set_aside, "%.*s.damaged-%s-%d",
                       (int)sizeof db->path - 64, db->path, when, (int)getpid());
        rename_aside(db, "");
        rename_aside(db, "-wal");
        rename_aside(db, "-shm");
    }
    close(fd);
}

/* ---- opening ---- */

static uint64_t mono_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Whether a lock may be waited for any longer; naps if so. */
static bool may_wait_on(const struct hf_db *db, uint64_t since_ms)
{
    const struct timespec nap = { .tv_nsec = BUSY_NAP_MS * 1000000L };
    if (mono_ms() - since_ms >= db->busy_ms || (db->gives_up && atomic_load(db->gives_up)))
        return false;
    (void)nanosleep(&nap, NULL);
    return true;
}

/* SQLite asks whether to try again for a lock: yes, until busy_ms are over. */
static int on_busy(void *context, int tries)
{
    struct hf_db *db = context;
    if (tries == 0)
        db->busy_since_ms = mono_ms();
    return may_wait_on(db, db->busy_since_ms);
}

void hf_db_init(struct hf_db *db, const struct hf_sqlite *api, const char *directory,
                atomic_bool *gives_up)
{
    *db = (struct hf_db) { .api = api, .gives_up = gives_up };
    (void)snprintf(db->path, sizeof db->path, "%s/holdfast.db", directory);
}

static int first_int(struct hf_db *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *statement = NULL;
    int code = db->api->prepare_v3(db->handle, sql, -1, 0, &statement, NULL);
    if (code == SQLITE_OK)
        code = db->api->step(statement);
    if (code == SQLITE_ROW)
        *ret = db->api->column_int64(statement, 0);
    (void)db->api->finalize(statement);
    return code == SQLITE_ROW ? SQLITE_OK : code == SQLITE_DONE ? SQLITE_ERROR : code;
}

/* The secret is made with the tables, and so exactly once, whoever uses the file first. */
static int make_tables(struct hf_db *db)
{
    uint8_t secret[HF_SEALING_SECRET_SIZE];
    char digits[2 * sizeof secret + 1], sql[160];
    hf_random(secret, sizeof secret);
    hf_hex_write(secret, sizeof secret, digits);
    (void)snprintf(sql, sizeof sql, "INSERT INTO secrets VALUES('sealing',x'%s')", digits);
    const int code = hf_db_exec(db, HF_SQL_SCHEMA_1 "PRAGMA user_version=1");
    return code == SQLITE_OK ? hf_db_exec(db, sql) : code;
}

static int migrate(struct hf_db *db, int64_t *ret_version)
{
    int code = first_int(db, "PRAGMA user_version", ret_version);
    if (code != SQLITE_OK || *ret_version >= HF_DB_SCHEMA)
        return code;
    if ((code = hf_db_exec(db, "BEGIN IMMEDIATE")) != SQLITE_OK)
        return code;
    code = first_int(db, "PRAGMA user_version", ret_version); /* another one may have been first */
    if (code == SQLITE_OK && *ret_version < 1) {
        db->is_new = true;
        code = make_tables(db);
    }
    if (code == SQLITE_OK)
        code = hf_db_exec(db, "COMMIT");
    if (code != SQLITE_OK)
        (void)hf_db_exec(db, "ROLLBACK");
    return code;
}

/* A real write: a file that may only be read, is locked or has no room is found out here. */
static int prove_writable(struct hf_db *db, int64_t now_ms)
{
    char sql[160];
    int code = first_int(db, "SELECT coalesce((SELECT value FROM meta WHERE name='opened'),0)",
                         &db->newest_ms);
    if (code != SQLITE_OK)
        return code;
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO meta VALUES('opened',%lld) ON CONFLICT(name) DO UPDATE SET "
                   "value=excluded.value",
                   (long long)now_ms);
    return hf_db_exec(db, sql);
}

static int open_file(struct hf_db *db, int flags)
{
    int code = db->api->open_v2(db->path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return code;
    (void)db->api->extended_result_codes(db->handle, 1);
    (void)db->api->busy_handler(db->handle, on_busy, db);
    db->is_full = false; /* what SQLite begins with depends on who built it */
    return code;
}

static int prepare_file(struct hf_db *db, int64_t now_ms, int64_t *ret_version)
{
    int code = open_file(db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (code == SQLITE_OK)
        code = hf_db_sync(db, true);
    if (code == SQLITE_OK)
        code = first_int(db, "PRAGMA user_version", ret_version);
    if (code != SQLITE_OK || *ret_version > HF_DB_SCHEMA)
        return code;
    if (*ret_version == 0) /* has to come before the first table */
        code = hf_db_exec(db, "PRAGMA auto_vacuum=INCREMENTAL");
    if (code == SQLITE_OK)
        code = hf_db_exec(db, "PRAGMA journal_mode=WAL;PRAGMA journal_size_limit=8388608");
    if (code == SQLITE_OK)
        code = migrate(db, ret_version);
    if (code ==
        SQLITE_OK) /* what was made by now is on its disk; nothing else at a start need be */
        code = hf_db_sync(db, false);
    if (code == SQLITE_OK && *ret_version <= HF_DB_SCHEMA)
        code = prove_writable(db, now_ms);
    return code;
}

/* SQLite would make the file readable for everybody whom the umask lets. One that is there is not
 * opened here: closing it would give up the locks that this process has on it. */
static void make_private(const char *path)
{
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static enum hf_store_reason try_to_open(struct hf_db *db, int64_t now_ms, struct hf_err *err)
{
    int64_t version = 0;
    db->is_new = false;
    db->newest_ms = 0;
    make_private(db->path);
    db->file = file_at(db->path);
    const int code = prepare_file(db, now_ms, &version);
    db->wal = wal_of(db);
    if (code == SQLITE_OK && version <= HF_DB_SCHEMA)
        return HF_STORE_BECAUSE_NONE;
    const enum hf_store_reason reason =
        code != SQLITE_OK ? hf_db_reason(db, code, err) : HF_STORE_BECAUSE_NEWER;
    hf_db_close(db);
    if (reason == HF_STORE_BECAUSE_NEWER)
        hf_fail(err,
                "%s: it was written by a newer holdfast (schema %lld, ours is %d); nothing is kept "
                "until this one is brought up to date",
                db->path, (long long)version, HF_DB_SCHEMA);
    return reason;
}

enum hf_store_reason hf_db_open(struct hf_db *db, int64_t now_ms, struct hf_err *err)
{
    const uint64_t began_ms = mono_ms();
    db->set_aside[0] = '\0';
    if (db->is_damaged)
        set_aside(db, db->file, now_ms);
    db->is_damaged = false;
    for (;;) {
        const enum hf_store_reason reason = try_to_open(db, now_ms, err);
        /* For some locks of a file that is being made SQLite does not ask whether to try again. */
        if (reason == HF_STORE_BECAUSE_LOCKED && may_wait_on(db, began_ms))
            continue;
        if (reason != HF_STORE_BECAUSE_CORRUPT || db->set_aside[0])
            return reason;
        set_aside(db, db->file, now_ms);
        if (!db->set_aside[0]) /* somebody else is at it */
            return reason;
    }
}

enum hf_store_reason hf_db_open_to_read(struct hf_db *db, struct hf_err *err)
{
    int64_t version = 0;
    int code = open_file(db, SQLITE_OPEN_READWRITE); /* a reader of a WAL writes its -shm */
    if (code == SQLITE_OK)
        code = first_int(db, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && version >= 1)
        return HF_STORE_BECAUSE_NONE;
    enum hf_store_reason reason = HF_STORE_BECAUSE_NOT_FOUND;
    if (code == SQLITE_OK)
        hf_fail(err, "%s: nothing was kept in it yet", db->path);
    else
        reason = hf_db_reason(db, code, err);
    hf_db_close(db);
    return reason;
}

void hf_db_close(struct hf_db *db)
{
    for (size_t i = 0; i < HF_SQL_COUNT; i++) {
        (void)db->api->finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
    (void)db->api->close_v2(db->handle);
    db->handle = NULL;
}
