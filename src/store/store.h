/*
 * store.h - what outlives the process: catalogs, switches, generations, client sessions, the
 * sealing secret and the audit of calls.
 *
 * One interface for all implementations: sqlite.c, and memory.c for `store: "none"`. It belongs to
 * one thread, that of the loop, and never makes it wait: requests are copied, gathered, and handed
 * over together; answers come later, and a descriptor tells when.
 *
 *     hf_store_ask … hf_store_flush ──► the implementation ──► hf_store_fd, hf_store_next
 *
 * 1. Every request that hf_store_ask takes is answered exactly once, unless the store is freed.
 * 2. FAILED means that nothing of the request was written. UNKNOWN means that nobody can say.
 * 3. Requests of one flush are written together, those of different flushes in their order.
 * 4. What is on its way is bounded: hf_store_ask refuses what would be over the bound.
 */
#ifndef HF_STORE_STORE_H
#define HF_STORE_STORE_H

#include "base/err.h"
#include "store/call_row.h"
#include "store/health.h"
#include "store/records.h"

struct hf_store;

#define HF_STORE_KINDS(X)                                                                          \
    X(LOAD)                                                                                        \
    X(PUT_CATALOG)                                                                                 \
    X(FORGET_CATALOG)                                                                              \
    X(PUT_SWITCH)                                                                                  \
    X(FORGET_SWITCH)                                                                               \
    X(TAKE_GENERATIONS) /* the answer's `value` is the first of them */                            \
    X(PUT_SESSION)                                                                                 \
    X(TOUCH_SESSION) /* only `seen_ms` and `id_hash` count; one that is not there stays so */      \
    X(FORGET_SESSION)                                                                              \
    X(OPEN_CALL)                                                                                   \
    X(CLOSE_CALL)   /* of one that was opened: its row moves to the end */                         \
    X(APPEND_CALL)  /* of one that was not opened; also a late answer to one that was unknown */   \
    X(RESOLVE_CALL) /* NOT_FOUND: no such call, or its end is known */                             \
    X(RETAIN)       /* one portion; the answer's `value` is 1 if there is more to remove */
#define HF_STORE_KIND_ENUM(id) HF_STORE_##id,
enum hf_store_kind { HF_STORE_KINDS(HF_STORE_KIND_ENUM) HF_STORE_KIND_COUNT };

struct hf_store_request {
    enum hf_store_kind kind;
    bool is_durable; /* it counts as done only when it would survive a loss of power */
    /* While the store is down the request waits for its return, rather than fail. For what may be
     * written twice and in any order: rows of calls, and the load. */
    bool may_wait;
    uint64_t tag; /* the asker's own */
    union {
        struct hf_load_wish load;
        struct hf_catalog_record catalog;
        struct hf_switch_record change;
        struct hf_generations_wish generations;
        struct hf_session_row session;
        struct hf_call_row call;
        struct hf_retention retention;
    };
};

enum hf_store_outcome { HF_STORE_DONE, HF_STORE_FAILED, HF_STORE_UNKNOWN };

struct hf_store_answer {
    struct hf_store_request request; /* as it was asked; its spans live as long as the answer */
    enum hf_store_outcome outcome;
    enum hf_store_reason reason; /* why not */
    uint64_t value;
    struct hf_loaded *loaded; /* of a LOAD that is done; hf_loaded_take makes it the asker's */
};

struct hf_store_options {  /* of an implementation that writes a file; 0 means the default */
    const char *directory; /* exists; copied */
    const char *instance;  /* the name of this process; copied */
    uint32_t busy_ms;      /* how long another program may hold the file */
    uint32_t retry_min_ms, retry_max_ms;
    uint32_t look_ms; /* how often it looks for what dead processes left, and for what is too old */
};

/* NULL: `err` says why. A file that cannot be opened is none: the store begins as one that is down.
 */
struct hf_store *hf_store_sqlite_new(const struct hf_store_options *options, struct hf_err *err);
struct hf_store *hf_store_memory_new(struct hf_err *err);
/* What was asked for is written first, if that takes no longer than `wait_ms`. NULL accepted. */
void hf_store_free(struct hf_store *store, uint32_t wait_ms);

/* False: it would be over the bound of what may be on its way, and nothing was asked. */
HF_MUST_CHECK bool hf_store_ask(struct hf_store *store, const struct hf_store_request *request);
/* Hands over what was asked for. Each time wakes another thread, which costs more than a hundred
 * rows: whoever has many calls hands rows over every few milliseconds, and the rest at once. */
void hf_store_flush(struct hf_store *store);
bool hf_store_is_urgent(const struct hf_store *store); /* something else than rows was asked for */

int hf_store_fd(const struct hf_store *store); /* readable while answers are there */
/* NULL: none is there. An answer lives until the next call of this. */
struct hf_store_answer *hf_store_next(struct hf_store *store);
/* Waits for an answer: for start-up, and for commands that do nothing else. */
bool hf_store_wait(struct hf_store *store, uint32_t wait_ms);
struct hf_loaded *hf_loaded_take(struct hf_store_answer *answer); /* for hf_loaded_free */

struct hf_store_health hf_store_health(struct hf_store *store);
const char *hf_store_kind_name(enum hf_store_kind kind);

#endif
