/*
 * remote.h - what only a runtime behind a URL has: its session at the server, the exchanges under
 * way, and what it was asked to find out why something was refused.
 */
#ifndef HF_CORE_REMOTE_REMOTE_H
#define HF_CORE_REMOTE_REMOTE_H

#include "base/list.h"
#include "base/timers.h"
#include "core/machine/http_body.h"

struct hf_call;
struct hf_remote_exchange;

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
    struct hf_link exchanges;
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
    struct hf_remote_exchange *listen, *initialized;
    struct hf_inquiry known;    /* is this session, or era, still served? */
    struct hf_inquiry stranger; /* how is a session turned away that cannot be known? */
    uint64_t listened; /* the session in which it last had a stream of its own; 0: it never had */
    char *listen_id;   /* last event of the server's own stream */
    unsigned listen_failures;
    int listen_refusal; /* the status with which it was last refused; 0: it was not */
    struct hf_timer listen_again;
    bool was_lost; /* drains for as long as its answers take, unless it is switched off */
};

#endif
