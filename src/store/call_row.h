/*
 * call_row.h - what is kept of one tools/call: a row of the audit.
 *
 * Times are milliseconds since 1970 by the clock on the wall, for people; 0: it did not happen, or
 * is not known. A call is named by the process that served it (its instance) and its number there.
 */
#ifndef HF_STORE_CALL_ROW_H
#define HF_STORE_CALL_ROW_H

#include <stdint.h>
#include "base/sha256.h"
#include "base/span.h"

/* How a call ended. The numbers are in files on disk: new ones go to the end. */
#define HF_CALL_ENDS(X)                                                                            \
    X(OPEN, "running")                                                                             \
    X(RESULT, "result")                                                                            \
    X(TOOL_ERROR, "tool_error") /* a result with isError, of the server's own */                   \
    X(ERROR, "error")           /* a JSON-RPC error */                                             \
    X(FAILED, "failed")   /* one of our failures: `code` says which, `evidence` how far it got */  \
    X(UNKNOWN, "unknown") /* sent, and nobody knows whether it ran */                              \
    X(CANCELLED, "cancelled")                                                                      \
    X(JOINED, "joined") /* it got the answer of another call, which has a row of its own */
#define HF_CALL_END_ENUM(id, name) HF_CALL_END_##id,
enum hf_call_end { HF_CALL_ENDS(HF_CALL_END_ENUM) HF_CALL_END_COUNT };

enum hf_resolution { /* what an operator found out about a call whose end is unknown */
                     HF_RESOLVED_NOT,
                     HF_RESOLVED_RAN,
                     HF_RESOLVED_NOT_RUN,
};

struct hf_call_row {
    uint64_t seq;            /* its place among all rows, larger is newer; set by the store */
    struct hf_span instance; /* empty in a request: the process itself */
    uint64_t number;
    struct hf_span caller, server, tool;
    uint8_t arguments_hash[HF_SHA256_SIZE]; /* of the tool's name and the arguments' bytes */
    uint64_t generation;
    uint32_t attempts;       /* how often it was sent */
    struct hf_span evidence; /* a word of DESIGN 4 */
    enum hf_call_end end;
    int64_t code;          /* of our failure or of a JSON-RPC error; 0: none */
    struct hf_span reason; /* why it ended that way, if that needs words */
    uint64_t came_ms, waited_ms, dispatched_ms, ended_ms;
    struct hf_span key;               /* empty: none */
    struct hf_span arguments, result; /* audit.full; empty: not kept */
    enum hf_resolution resolution;
    struct hf_span resolved_by, note;
    uint64_t resolved_ms;
};

const char *hf_call_end_name(enum hf_call_end end);
/* HF_CALL_END_COUNT: there is none of that name. */
enum hf_call_end hf_call_end_of(struct hf_span name);

/* A call's name for people, "INSTANCE-NUMBER". False: it is none. */
enum { HF_INSTANCE_NAME_SIZE = 9, HF_CALL_ID_SIZE = 32 }; /* both with a NUL */
void hf_call_id_write(struct hf_span instance, uint64_t number, char ret_id[HF_CALL_ID_SIZE]);
bool hf_call_id_read(struct hf_span id, struct hf_span *ret_instance, uint64_t *ret_number);

#endif
