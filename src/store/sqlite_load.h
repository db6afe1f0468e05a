/*
 * sqlite_load.h - SQLite, loaded when it is first needed, for the reason that libcurl is
 * (io/curl_load.h): `holdfast check` and `store: "none"` do without, and linked in it would cost
 * every start. Its header gives types and constants; every call goes through this table.
 */
#ifndef HF_STORE_SQLITE_LOAD_H
#define HF_STORE_SQLITE_LOAD_H

#include <sqlite3.h>
#include "base/err.h"

#define HF_SQLITE_CALLS(X)                                                                         \
    X(libversion_number)                                                                           \
    X(threadsafe)                                                                                  \
    X(open_v2)                                                                                     \
    X(close_v2)                                                                                    \
    X(extended_result_codes)                                                                       \
    X(busy_handler)                                                                                \
    X(exec)                                                                                        \
    X(prepare_v3)                                                                                  \
    X(finalize)                                                                                    \
    X(step)                                                                                        \
    X(reset)                                                                                       \
    X(clear_bindings)                                                                              \
    X(bind_int64)                                                                                  \
    X(bind_blob64)                                                                                 \
    X(bind_text64)                                                                                 \
    X(bind_null)                                                                                   \
    X(column_int64)                                                                                \
    X(column_blob)                                                                                 \
    X(column_bytes)                                                                                \
    X(changes)                                                                                     \
    X(get_autocommit)                                                                              \
    X(errmsg)                                                                                      \
    X(errstr)

#define HF_SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
struct hf_sqlite {
    HF_SQLITE_CALLS(HF_SQLITE_MEMBER)
};

/* NULL: `err` says which package to install. Any thread may ask. */
const struct hf_sqlite *hf_sqlite_load(struct hf_err *err);

#endif
