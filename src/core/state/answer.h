/*
 * answer.h - an answer on its way to a client, and how it is counted. The functions are in
 * call/answer.h.
 */
#ifndef HF_CORE_STATE_ANSWER_H
#define HF_CORE_STATE_ANSWER_H

#include "base/span.h"
#include "core/engine.h"
#include "core/machine/errors.h"

/* What became of a client's call, as it is counted and recorded. */
enum hf_outcome {
    HF_OUTCOME_RESULT,
    HF_OUTCOME_ERROR,     /* the server's error, or ours about the request itself */
    HF_OUTCOME_FAILED,    /* one of our own failures (errors.h) */
    HF_OUTCOME_CANCELLED, /* the client cancelled the call, or is gone */
    HF_OUTCOME_RELAYED,   /* a retry got the answer of a parked call, which is counted itself */
};

/* An answer on its way out is sent as `head`, the client's id, and the parts of `rest`. */
enum { HF_ANSWER_PARTS = 3 };
struct hf_answer {
    enum hf_outcome outcome;
    enum hf_error error; /* HF_OUTCOME_FAILED */
    int code;            /* code of a JSON-RPC error; 0: a result */
    enum hf_shared over; /* the limit for which the request was refused; or HF_SHARED_NONE */
    struct hf_span head; /* n 0: the client is sent no message */
    struct hf_span rest[HF_ANSWER_PARTS]; /* valid until hf_engine_collect */
};

struct hf_kept_answer { /* the answer of a call in stage KEEPING */
    struct hf_answer answer;
    size_t length;
    char bytes[];
};

#endif
