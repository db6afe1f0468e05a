/*
 * health.h - how a store is: a state, a reason, a sentence, and what was counted.
 */
#ifndef HF_STORE_HEALTH_H
#define HF_STORE_HEALTH_H

#include <stdint.h>

enum hf_store_state {
    HF_STORE_STARTING, /* not opened yet */
    HF_STORE_GOOD,
    HF_STORE_DOWN,     /* requests fail; it is tried again by itself */
    HF_STORE_UNUSABLE, /* requests fail for the rest of the process: a newer holdfast's file */
    HF_STORE_IN_MEMORY,
};

#define HF_STORE_REASONS(X)                                                                        \
    X(NONE, "none")                                                                                \
    X(DISK_FULL, "disk_full")                                                                      \
    X(READ_ONLY, "read_only")                                                                      \
    X(LOCKED, "locked")                                                                            \
    X(CORRUPT, "corrupt")                                                                          \
    X(NEWER, "newer_schema")                                                                       \
    X(GONE, "deleted")                                                                             \
    X(NO_ACCESS, "no_access")                                                                      \
    X(IO_ERROR, "io_error")                                                                        \
    X(NO_LIBRARY, "no_library")                                                                    \
    X(NOT_STARTED, "not_started")                                                                  \
    X(NOT_FOUND, "not_found") /* of one request: what it is about is not there */                  \
    X(NOT_VALID, "not_valid") /* of one request: it cannot be written */
#define HF_STORE_REASON_ENUM(id, name) HF_STORE_BECAUSE_##id,
enum hf_store_reason { HF_STORE_REASONS(HF_STORE_REASON_ENUM) HF_STORE_REASON_COUNT };

struct hf_store_health {
    enum hf_store_state state;
    enum hf_store_reason reason; /* why it is not good */
    char text[320];              /* the same as a sentence, and what to do */
    uint64_t since_ms;           /* wall */
    /* What happened and is over, for one line in the log each time that `notices` grew: a file that
     * was set aside, or deleted under us; a clock that was set back. */
    uint64_t notices;
    char notice[320];
    uint64_t begun_anew; /* how often an empty file had to take the place of the one in use: what
                            was kept is gone, and whoever still knows it puts it again */
    uint64_t transactions, done, failed, unknown; /* requests but for the first */
    uint64_t refused;                             /* requests that hf_store_ask did not take */
    uint64_t waiting;                             /* requests that wait for the store's return */
    uint64_t taken_over;                          /* dead processes whose things were taken over */
    uint64_t torn_marks;                          /* marks of theirs that could not be read */
    uint64_t retired;                             /* rows of calls that were too old, or too many */
    uint64_t writer_ns;                           /* CPU of the writer thread */
};

const char *hf_store_reason_name(enum hf_store_reason reason);

#endif
