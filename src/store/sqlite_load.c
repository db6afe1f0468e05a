/* sqlite_load.c - see sqlite_load.h. */
#include "store/sqlite_load.h"
#include <dlfcn.h>
#include <pthread.h>

enum { OLDEST_VERSION = 3035000 }; /* RETURNING */

static struct hf_sqlite calls;
static struct hf_err failure;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        hf_fail(&failure, "the store needs SQLite: install the package libsqlite3-0 (%s)",
                dlerror());
        return;
    }
#define FIND(name)                                                                                 \
    {                                                                                              \
        void *symbol = dlsym(library, "sqlite3_" #name);                                           \
        if (!symbol) {                                                                             \
            hf_fail(&failure,                                                                      \
                    "libsqlite3.so.0 has no sqlite3_" #name ": install a newer libsqlite3-0");     \
            return;                                                                                \
        }                                                                                          \
        memcpy(&calls.name, &symbol, sizeof symbol); /* ISO C has no cast to a function */         \
    }
    HF_SQLITE_CALLS(FIND)
#undef FIND
    if (calls.libversion_number() < OLDEST_VERSION)
        hf_fail(&failure, "libsqlite3 is too old: 3.35 or newer is needed");
    else if (calls.threadsafe() == 0)
        hf_fail(&failure, "libsqlite3 was built without threads, which the store needs");
    else
        is_loaded = true;
}

const struct hf_sqlite *hf_sqlite_load(struct hf_err *err)
{
    pthread_once(&once, load);
    if (!is_loaded && err)
        *err = failure;
    return is_loaded ? &calls : NULL;
}
