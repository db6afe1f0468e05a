/*
 * sqlite_sql.h - every statement that the store runs on SQLite, and its schema.
 */
#ifndef HF_STORE_SQLITE_SQL_H
#define HF_STORE_SQLITE_SQL_H

/* Columns of a row of calls, in the order in which they are bound and read. */
#define HF_SQL_CALL_COLUMNS                                                                        \
    "instance,number,caller,server,tool,arguments_hash,generation,attempts,evidence,outcome,code," \
    "reason,came,waited,dispatched,ended,call_key,arguments,result"
#define HF_SQL_RESOLUTION_COLUMNS "resolution,resolved_by,resolved,note"
#define HF_SQL_CALL_VALUES                                                                         \
    "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,"                                         \
    "?16,?17,?18,?19)"
#define HF_SQL_CALL_UPDATE                                                                         \
    " ON CONFLICT(instance,number) DO UPDATE SET generation=excluded.generation,"                  \
    "attempts=excluded.attempts,evidence=excluded.evidence,outcome=excluded.outcome,"              \
    "code=excluded.code,reason=excluded.reason,waited=excluded.waited,"                            \
    "dispatched=excluded.dispatched,ended=excluded.ended,result=excluded.result"

/* Numbers in the partial indexes are those of enum hf_call_end: 0 is OPEN, 5 is UNKNOWN. */
#define HF_SQL_STATEMENTS(X)                                                                       \
    X(GET_SECRET, "SELECT bytes FROM secrets WHERE name=?1")                                       \
    X(PUT_CATALOG, "INSERT INTO catalogs VALUES(?1,?2,?3,?4) ON CONFLICT(server) DO UPDATE SET "   \
                   "era=?2,catalog=?3,at=?4")                                                      \
    X(PUT_ERA, "INSERT INTO catalogs VALUES(?1,?2,'',?4) ON CONFLICT(server) DO UPDATE SET "       \
               "era=?2,at=?4")                                                                     \
    X(FORGET_CATALOG, "DELETE FROM catalogs WHERE server=?1")                                      \
    X(GET_CATALOGS, "SELECT server,era,catalog,at FROM catalogs")                                  \
    X(PUT_SWITCH, "INSERT INTO switches VALUES(?1,?2,?3,?4,?5) ON CONFLICT(server) DO UPDATE SET " \
                  "wanted=?2,was_disabled=?3,who=?4,at=?5")                                        \
    X(FORGET_SWITCH, "DELETE FROM switches WHERE server=?1")                                       \
    X(GET_SWITCHES, "SELECT server,wanted,was_disabled,who,at FROM switches")                      \
    X(TAKE_GENERATIONS, "INSERT INTO generations VALUES(?1,?2+1) ON CONFLICT(server) DO UPDATE "   \
                        "SET next=next+?2 RETURNING next-?2")                                      \
    X(PUT_SESSION, "INSERT INTO sessions VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(id_hash) DO "    \
                   "UPDATE SET listen=?2,endpoint=?3,token=?4,payload=?5,seen=?7")                 \
    X(TOUCH_SESSION, "UPDATE sessions SET seen=?2 WHERE id_hash=?1")                               \
    X(FORGET_SESSION, "DELETE FROM sessions WHERE id_hash=?1")                                     \
    X(GET_SESSIONS, "SELECT id_hash,listen,endpoint,token,payload,made,seen FROM sessions WHERE "  \
                    "listen=?1")                                                                   \
    X(PUT_CALL, "INSERT INTO calls(" HF_SQL_CALL_COLUMNS                                           \
                ") VALUES" HF_SQL_CALL_VALUES HF_SQL_CALL_UPDATE " WHERE outcome IN (0,5)")        \
    /* What a dead process left: a row that it had closed itself stays as it is. */                \
    X(INHERIT_CALL, "INSERT INTO calls(" HF_SQL_CALL_COLUMNS                                       \
                    ") VALUES" HF_SQL_CALL_VALUES HF_SQL_CALL_UPDATE " WHERE outcome=0")           \
    X(DROP_OPEN_CALL, "DELETE FROM calls WHERE instance=?1 AND number=?2 AND outcome=0")           \
    X(GIVE_UP_CALLS, "UPDATE calls SET outcome=5,reason=?2 WHERE instance=?1 AND outcome=0")       \
    X(OPEN_INSTANCES, "SELECT DISTINCT instance FROM calls WHERE outcome=0")                       \
    X(RESOLVE_CALL, "UPDATE calls SET resolution=?3,resolved_by=?4,resolved=?5,note=?6 WHERE "     \
                    "instance=?1 AND number=?2 AND outcome=5")                                     \
    X(RETIRE_OLD_CALLS, "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls ORDER BY seq "      \
                        "LIMIT ?2) AND came<?1 AND outcome<>0")                                    \
    X(RETIRE_CALLS, "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls ORDER BY seq LIMIT "    \
                    "?1) AND outcome<>0")                                                          \
    X(RETIRE_SESSIONS, "DELETE FROM sessions WHERE id_hash IN (SELECT id_hash FROM sessions "      \
                       "WHERE seen<?1 LIMIT ?2)")                                                  \
    X(USED_BYTES, "SELECT (p.page_count-f.freelist_count)*s.page_size,f.freelist_count FROM "      \
                  "pragma_page_count() p,pragma_freelist_count() f,pragma_page_size() s")          \
    X(ONE_CALL, "SELECT seq," HF_SQL_CALL_COLUMNS "," HF_SQL_RESOLUTION_COLUMNS " FROM calls "     \
                "WHERE instance=?1 AND number=?2")
#define HF_SQL_ENUM(id, text) HF_SQL_##id,
enum hf_sql { HF_SQL_STATEMENTS(HF_SQL_ENUM) HF_SQL_COUNT };

/* From an empty file to the first schema. Later ones are added behind it, and never change it. */
#define HF_SQL_SCHEMA_1                                                                            \
    "CREATE TABLE meta(name TEXT PRIMARY KEY,value) WITHOUT ROWID;"                                \
    "CREATE TABLE secrets(name TEXT PRIMARY KEY,bytes BLOB NOT NULL) WITHOUT ROWID;"               \
    "CREATE TABLE catalogs(server BLOB PRIMARY KEY,era INTEGER NOT NULL,catalog NOT NULL,"         \
    "at INTEGER NOT NULL);"                                                                        \
    "CREATE TABLE switches(server TEXT PRIMARY KEY,wanted INTEGER NOT NULL,"                       \
    "was_disabled INTEGER NOT NULL,who TEXT NOT NULL,at INTEGER NOT NULL) WITHOUT ROWID;"          \
    "CREATE TABLE generations(server BLOB PRIMARY KEY,next INTEGER NOT NULL) WITHOUT ROWID;"       \
    "CREATE TABLE sessions(id_hash BLOB PRIMARY KEY,listen TEXT NOT NULL,endpoint TEXT NOT NULL,"  \
    "token TEXT NOT NULL,payload TEXT NOT NULL,made INTEGER NOT NULL,seen INTEGER NOT NULL);"      \
    "CREATE INDEX sessions_by_listen ON sessions(listen);"                                         \
    "CREATE TABLE calls(seq INTEGER PRIMARY KEY AUTOINCREMENT,instance TEXT NOT NULL,"             \
    "number INTEGER NOT NULL,caller TEXT,server TEXT,tool TEXT,arguments_hash BLOB,"               \
    "generation INTEGER,attempts INTEGER,evidence TEXT,outcome INTEGER NOT NULL,code INTEGER,"     \
    "reason TEXT,came INTEGER,waited INTEGER,dispatched INTEGER,ended INTEGER,call_key TEXT,"      \
    "arguments TEXT,result TEXT,resolution INTEGER,resolved_by TEXT,resolved INTEGER,note TEXT);"  \
    "CREATE UNIQUE INDEX calls_by_id ON calls(instance,number);"                                   \
    "CREATE INDEX calls_by_server ON calls(server,came);"                                          \
    "CREATE INDEX calls_unknown ON calls(seq) WHERE outcome=5;"                                    \
    "CREATE INDEX calls_open ON calls(instance) WHERE outcome=0;"

extern const char *const hf_sql_texts[HF_SQL_COUNT];

#endif
