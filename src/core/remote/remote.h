/*
 * remote.h - servers that are reached over HTTP: exchanges, sessions, refusals. A runtime of such a
 * server has a struct hf_remote; every message to it has an exchange (a post) of its own.
 */
#ifndef HF_CORE_REMOTE_REMOTE_H
#define HF_CORE_REMOTE_REMOTE_H

#include "base/list.h"
#include "base/timers.h"
#include "core/engine.h"
#include "core/machine/http_body.h"

struct hf_call;
struct hf_slot;
struct hf_msg;
struct hf_transport_ops;

/* One HTTP exchange with a remote server. */
struct hf_post {
    struct hf_link link; /* in remote.posts */
    struct hf_runtime *runtime;
    struct hf_call *call; /* that waits for its answer here; NULL: none, or none any more */
    enum hf_post_verb verb;
    void *shell;
    char *owned; /* a message without a call */
    size_t owned_length;
    uint64_t session; /* the number of the session it was begun under */
    char *session_id;
    char *endpoint;         /* NULL: that of its runtime */
    char *event_id;         /* raw; NULL: the stream cannot be resumed */
    unsigned message_count; /* said on a stream of events */
    char *to_nobody; /* the first of them, if it is an error that names no request; or NULL */
    int64_t retry_ms;
    uint64_t opened_ms; /* when its head came */
    int status;
    bool is_stream, is_begun; /* not begun: it is over, or the timer says when it is begun again */
    bool has_progressed;      /* since it was last begun */
    bool is_answered;         /* its call is, and so it has none any more */
    bool is_exact;            /* the answer: an error to the letter, and nothing else in its body */
    unsigned vain_resumes;
    struct hf_timer timer;
};

/* A call was turned away, and perhaps only because its session or its era is not known any more. */
struct hf_refusal {
    int status;
    struct hf_form form; /* in which way; none: in a way that is like no other */
    uint64_t session;    /* the number of the session it was sent under */
    bool had_session;    /* it carried its id */
    bool is_of_era;      /* it was modern, and no session was in it */
    bool waits;   /* as a stranger is; and is the next session, or era, turned away as well? */
    char *answer; /* an error with its own id: what it gets if it was about the call; or NULL */
};

/* A question of ours that tells what a refusal was about. */
struct hf_inquiry {
    struct hf_call *call; /* on its way; NULL: it is not */
    uint64_t session;     /* asked under, or instead of; 0: never asked */
    char *name;           /* the session id that was made up for it; NULL: it went under its own */
    bool is_over;
    bool is_served;      /* it was answered */
    struct hf_form form; /* it was turned away in this way; none: it was not, or unreadably */
    int status;          /* of that */
    bool is_read;        /* that came whole and could be read */
};

struct hf_remote { /* what only a runtime with a remote server has */
    struct hf_link posts;
    int older_because;      /* the status with which it refused the newer one; 0: none */
    char *endpoint;         /* of the older transport */
    uint64_t session;       /* number of the current session, or of the one being made; from 1 */
    char *session_id;       /* NULL: it gave none */
    char *version;          /* of the protocol, as agreed */
    bool is_session_proven; /* something was answered under it */
    bool has_served;        /* a client's call was */
    bool was_renewed;
    uint64_t renewed_ms;         /* when it last was; 0: never */
    uint64_t lost_session;       /* the last one that was forgotten; 0: none */
    struct hf_form lost_form;    /* how a stranger was turned away before the next one was made */
    int refusal;                 /* a status that may say that the session is forgotten; 0: none */
    struct hf_form refusal_form; /* none: it says so whatever else it says */
    struct hf_post *listen, *initialized;
    struct hf_inquiry known;    /* is this session, or era, still served? */
    struct hf_inquiry stranger; /* how is a session turned away that cannot be known? */
    uint64_t listened; /* the session in which it last had a stream of its own; 0: it never had */
    char *listen_id;   /* last event of the server's own stream */
    unsigned listen_failures;
    int listen_refusal; /* the status with which it was last refused; 0: it was not */
    struct hf_timer listen_again;
    bool was_lost; /* drains for as long as its answers take, unless it is switched off */
};

/* remote.c: exchanges with remote servers */
extern const struct hf_transport_ops hf_remote_transport;
void hf_remote_start(struct hf_runtime *runtime); /* says hello, or first opens the older stream */
/* remote_headers.c */
bool hf_remote_takes_answer(struct hf_call *call, const struct hf_msg *msg);
/* A legacy server may have said that it speaks the modern era: its answer stands, and it is asked.
 */
void hf_remote_answer_passed(struct hf_runtime *runtime, const struct hf_msg *msg);
void hf_remote_corrected(struct hf_runtime *runtime); /* its tools were listed again, or not */
struct hf_span hf_remote_headers(const struct hf_post *post); /* modern: lines, until collect */
void hf_remote_lost(struct hf_runtime *runtime); /* reason said before; what is under way goes on */
void hf_post_timer(struct hf_post *post);
struct hf_post *hf_post_new(struct hf_runtime *runtime, enum hf_post_verb verb,
                            struct hf_call *call);
void hf_post_abort(struct hf_post *post);
/* What stands in a body that came with an error status; RESULT, ERROR: `ret_answer`, till collect.
 */
enum hf_reading hf_post_read(struct hf_post *post, const struct hf_body *body,
                             struct hf_span *ret_answer);
bool hf_call_is_initialize(const struct hf_call *call); /* NULL: no */
bool hf_status_wants_auth(int status);
enum { HF_RETRY_MS_MIN = 100, HF_RETRY_MS_MAX = 30000 }; /* whatever a server says */
/* remote_session.c: sessions at remote servers, and the server's own stream */
void hf_remote_session_gone(struct hf_runtime *runtime, int status);
void hf_remote_upstream_refused(struct hf_runtime *runtime, int status);
void hf_remote_renewed(struct hf_runtime *runtime);
void hf_remote_open_stream(struct hf_runtime *runtime);
void hf_remote_stream_ended(struct hf_post *post, const struct hf_post_end *end);
void hf_remote_reject(struct hf_call *call, int status, enum hf_http_verdict verdict);
/* doubt.c: turned away because its session, or its era, is not known any more? */
void hf_refusal_examine(struct hf_call *call,
                        const struct hf_refusal *doubt); /* answer: taken over */
void hf_refusal_unproven(struct hf_call *call); /* its runtime is gone before that, or its time */
void hf_refusal_drop(struct hf_call *call);     /* it leaves its runtime; no doubt: nothing */
/* Something under its current session was turned away; `form` NULL: so that it says in any case
 * that the session is not known. Or its own stream was. */
void hf_remote_refused(struct hf_runtime *runtime, int status, const struct hf_form *form);
void hf_remote_stream_refused(struct hf_runtime *runtime, int status);
/* A client's call was, in a way that proves nothing of the call: whether the session is served at
 * all is looked into, but not soon after it was made anew. */
void hf_remote_call_refused(struct hf_runtime *runtime, int status);
void hf_refusals_next(struct hf_runtime *runtime); /* it has a new session, or is new itself */
void hf_refusals_in_vain(struct hf_slot *slot);    /* the next one is turned away as well */
/* What was asked to find out was turned away; `form` NULL or none: unreadably, or not in time. */
void hf_inquiry_over(struct hf_call *call, int status, bool is_read, const struct hf_form *form);
bool hf_inquiry_is_stranger(const struct hf_call *call); /* NULL: no */

#endif
