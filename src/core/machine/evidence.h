/*
 * evidence.h - how far a request provably got, and the one place that decides a re-send (DESIGN 4).
 *
 * A server's stdin is a stream of bytes counted from 0. A request lies in it at [start, brace],
 * where brace is the offset of the closing brace of its JSON text; `written` bytes entered the
 * pipe, and the last `taken_back` of them were read back by us after the last write:
 *
 *      0 ......... start ...... brace ......... written-taken_back ........... written
 *      |   read by the server (or by a descendant of it)   |  nobody can read  |
 */
#ifndef HF_CORE_EVIDENCE_H
#define HF_CORE_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#define HF_EVIDENCES(X)                                                                            \
    X(UNSENT, "unsent")   /* no byte of the request left holdfast */                               \
    X(PARTIAL, "partial") /* its closing brace never entered the pipe */                           \
    X(UNREAD, "unread")   /* we took its closing brace back out of the pipe */                     \
    X(REFUSED, "refused") /* the peer turned it away before processing */                          \
    X(DISPATCHED, "dispatched")
#define HF_EVIDENCE_ENUM(id, name) HF_EVIDENCE_##id,
enum hf_evidence { HF_EVIDENCES(HF_EVIDENCE_ENUM) HF_EVIDENCE_COUNT };

struct hf_extent { /* the place of one request in the server's stdin */
    uint64_t start, brace;
    bool begun; /* at least one byte was written; before that start and brace mean nothing */
};

struct hf_stream_facts { /* of a stdin that will not be written to again */
    uint64_t written;
    int64_t taken_back; /* -1: the pipe could not be read; nothing is proven */
};

/* ---- HTTP: a request has an exchange of its own ---- */

/* How much of an HTTP request may have left us, on its first and only send. */
enum hf_sent {
    HF_SENT_NOTHING, /* no connection, or not one byte of the request was handed to the kernel */
    HF_SENT_PART,    /* the last byte of the request was never handed to the kernel */
    HF_SENT_WHOLE,   /* all of the request, or nobody can tell */
};

enum { HF_TOO_MANY_REQUESTS = 429 };

struct hf_http_facts { /* of an exchange that ended without a JSON-RPC response with our id */
    enum hf_sent sent;
    int status;         /* 0: no whole head of an answer came */
    bool had_session;   /* the request carried the server's session id, in a header or the URL */
    bool is_vouched;    /* the operator says: a call with this status never ran (refusedStatus) */
    bool is_unreadable; /* the body was not read to its end: the response may stand in it */
    bool is_to_nobody;  /* the body is a JSON-RPC error that names no request */
    bool may_be_of_era; /* the request was modern, and the server may have gone back to legacy */
};

enum hf_http_verdict {
    HF_HTTP_UNSENT,
    HF_HTTP_PARTIAL,
    HF_HTTP_REFUSED,
    HF_HTTP_DOUBTED,       /* the refusal is examined: refused, or rejected (refusal.c) */
    HF_HTTP_REJECTED,      /* turned away before anything ran */
    HF_HTTP_REJECTED_LATE, /* turned away, perhaps by the tool itself */
    HF_HTTP_DISPATCHED,
};
enum hf_http_verdict hf_http_verdict(struct hf_http_facts facts);
/* Only these statuses may mean that the server speaks another era: all others say nothing of the
 * era. */
bool hf_http_says_other_era(int status);
/* What a 4xx means if it is not proven to be about the session or the era; `is_anybodys`: a ping
 * gets the same status. */
enum hf_http_verdict hf_http_rejection(int status, bool is_anybodys);

enum hf_evidence hf_evidence_of(struct hf_extent extent, struct hf_stream_facts facts);
/* Whether the server, or a process it left behind, took at least one byte of the request. */
bool hf_evidence_byte_taken(struct hf_extent extent, struct hf_stream_facts facts);

/* What a lost request may do next. */
enum hf_verdict {
    HF_VERDICT_RESEND,
    HF_VERDICT_UNKNOWN,       /* -31002 */
    HF_VERDICT_DIES_ON_IT,    /* -31001 server_dies_on_it */
    HF_VERDICT_REFUSED_AGAIN, /* -31001 refused_again */
};

enum { HF_SENDS_MAX = 3, HF_SENDS_MAX_ONCE_TAKEN = 2 };

struct hf_history {
    unsigned sends;     /* how often a byte of it was written somewhere, this time included */
    bool byte_taken;    /* a server of any generation took a byte of it */
    bool is_repeatable; /* a read, or a tool that a server trusted in that calls idempotent */
};

enum hf_verdict hf_evidence_verdict(enum hf_evidence evidence, struct hf_history history);
const char *hf_evidence_name(enum hf_evidence evidence);

#endif
