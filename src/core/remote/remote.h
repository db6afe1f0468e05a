/*
 * remote.h - what only a runtime behind a URL has: its session at the server, the exchanges under
 * way, and the inquiries that find out why something was refused.
 */
#ifndef HF_CORE_REMOTE_REMOTE_H
#define HF_CORE_REMOTE_REMOTE_H

#include "base/list.h"
#include "base/timers.h"
#include "core/machine/http_body.h"

struct hf_call;
struct hf_remote_exchange;

/* A request of ours that finds out what a refusal was about. */
struct hf_inquiry {
    struct hf_call *call; /* under way; NULL: none is */
    uint64_t session;     /* the number of the session it is about; 0: never asked */
    char *name;           /* the made-up session id (or endpoint) it carries; NULL: the real one */
    bool is_over;
    bool is_served;      /* the server answered it */
    struct hf_form form; /* how it was turned away; status 0: it was not, or unreadably */
    int status;          /* with which it was turned away */
    bool is_read;        /* the refusal came whole and could be read */
};

struct hf_remote { /* of a runtime whose server is behind a URL */
    struct hf_link exchanges;
    int older_because;      /* the status that refused the newer transport; 0: none */
    char *endpoint;         /* of the older transport: where messages are sent */
    uint64_t session;       /* number of the current session, or of the one being made; from 1 */
    char *session_id;       /* NULL: the server gave none */
    char *version;          /* of the protocol, as agreed */
    bool is_session_proven; /* a request was answered under the current session */
    bool has_served;        /* a client's call was answered under it */
    bool was_renewed;
    uint64_t renewed_ms;         /* when the session was last renewed; 0: never */
    uint64_t lost_session;       /* the number of the last forgotten session; 0: none */
    struct hf_form lost_form;    /* how a made-up id was turned away meanwhile */
    int refusal;                 /* a status that may mean that the session is forgotten; 0: none */
    struct hf_form refusal_form; /* its form; status 0: it means so in any form */
    struct hf_remote_exchange *listen, *initialized;
    struct hf_inquiry known;    /* is this session, or era, still served? */
    struct hf_inquiry stranger; /* how is a made-up session id turned away? */
    uint64_t listened; /* number of the last session that had the server's own stream; 0: none */
    char *listen_id;   /* id of the last event of the server's own stream */
    unsigned listen_failures;
    int listen_refusal; /* of a stream or call whose refusal is being examined; 0: none */
    struct hf_timer listen_again;
    bool was_lost; /* drains for as long as its answers take, unless the server is switched off */
};

#endif
