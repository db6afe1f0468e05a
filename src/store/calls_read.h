/*
 * calls_read.h - the audit as `holdfast calls` reads it: in its own process, at once.
 *
 * It only reads, beside any number of processes that write, and makes no file that is not there.
 */
#ifndef HF_STORE_CALLS_READ_H
#define HF_STORE_CALLS_READ_H

#include "base/err.h"
#include "store/call_row.h"

struct hf_calls;

struct hf_calls_filter { /* what is empty or 0 lets everything through */
    struct hf_span server, tool, caller;
    enum hf_call_end end;
    bool has_end;            /* `end` counts */
    bool is_unknown;         /* nobody knows whether it ran, and nobody resolved it */
    uint64_t from_ms, to_ms; /* when it came; to_ms itself is out */
    uint64_t after_seq;      /* only newer rows */
    uint32_t limit;          /* the newest so many; 0: all */
};

/* The spans of `row` live until it returns. False: that is enough. */
typedef bool hf_on_call(void *context, const struct hf_call_row *row);

/* NULL: `err` says why. A directory without a store is none that can be read. */
struct hf_calls *hf_calls_open(const char *directory, struct hf_err *err);
void hf_calls_close(struct hf_calls *calls); /* NULL accepted */

/* Oldest first. Following is to ask again with `after_seq` of the last row: a call that was still
 * running then comes again, with its end. */
HF_MUST_CHECK bool hf_calls_each(struct hf_calls *calls, const struct hf_calls_filter *filter,
                                 hf_on_call *on_call, void *context, struct hf_err *err);
/* False: there is none of that name, or it cannot be read. */
HF_MUST_CHECK bool hf_calls_one(struct hf_calls *calls, struct hf_span id, hf_on_call *on_call,
                                void *context, struct hf_err *err);

#endif
