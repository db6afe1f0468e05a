/*
 * http_connection.h - one connection of the HTTP server: its requests in, its answers out. For the
 * files of the server alone.
 *
 *   HEAD --head--> JUDGED --let in--> BODY --whole--> ASKED --begin--> STREAM
 *    ^                |   \____________no body_________^  |               |
 *    |                | refused                          | answered      | ended
 *    +--- stays open -+----------------------------------+---------------+
 *                                                        v
 *                     CLOSING: what is unwritten goes out, what comes is dropped
 *
 * 1. Reading never stops while an exchange lives, until IN_MAX bytes wait: so a client that leaves
 *    is noticed. Then its end is asked for alone.
 * 2. A connection is closed only from its own callbacks (ready, alarm, flush), from
 *    hf_http_server_free, and for a new one while it waits for a request; everybody else marks it
 * and lets its flush do it.
 * 3. `request` is there in JUDGED, BODY and ASKED, and in HEAD once a byte of a head came.
 */
#ifndef HF_IO_HTTP_CONNECTION_H
#define HF_IO_HTTP_CONNECTION_H

#include <netinet/in.h>
#include "io/channel.h"
#include "io/http_server.h"
#include "io/listen.h"
#include "wire/http_chunks.h"

enum {
    HF_HTTP_READ_SIZE = 64 * 1024,
    HF_HTTP_DATE_SIZE = 64,
    HF_HTTP_SPARE_MAX = 64,
    HF_PEER_SIZE = INET6_ADDRSTRLEN,
};

struct hf_http_server {
    struct hf_shell *shell;
    struct hf_http_events events;
    void *context;
    struct hf_http_limits limits;
    struct hf_tls_context *tls; /* NULL: plain */
    struct hf_listen at;
    char url[160];
    int fd;         /* -1: stopped */
    uint64_t inode; /* of a unix socket's file: only ours is removed */
    struct hf_watch *watch;
    struct hf_alarm accept_again; /* descriptors had run out */
    /* Those whose exchange somebody has or whose answer is being written, and the rest: the longest
     * without a sign of life first. */
    struct hf_link busy, waiting;
    struct hf_bound connections, silent; /* all of them, and those in `waiting` */
    unsigned refusing;                   /* connections over the limit that are being told so */
    struct hf_link spare;                /* struct hf_request, kept with their buffers */
    unsigned spare_count;
    struct hf_buf spare_out[HF_HTTP_SPARE_MAX]; /* empty, with memory */
    unsigned spare_out_count;
    struct hf_bound bytes; /* of all connections' buffers */
    uint64_t date_at_s;
    char date[HF_HTTP_DATE_SIZE];
    size_t date_length;
    char room[HF_HTTP_READ_SIZE]; /* every connection reads here first */
};

struct hf_request {
    struct hf_link link;
    struct hf_http_request parsed; /* the head, once it is whole */
    struct hf_buf head_text, body;
    size_t seen; /* see hf_http_head_length */
    struct hf_chunks chunks;
    size_t body_max;
    uint64_t body_from_ms;
    size_t lately;   /* bytes of the body in the span of time that runs */
    bool is_in_time; /* the first span is over: from now on there is a least rate */
};

struct hf_exchange {
    void *context;
};

enum hf_phase {
    HF_PHASE_HEAD,
    HF_PHASE_JUDGED,
    HF_PHASE_BODY,
    HF_PHASE_ASKED,
    HF_PHASE_STREAM,
    HF_PHASE_CLOSING,
};

struct hf_connection {
    struct hf_flush flush; /* first: the shell frees it */
    struct hf_link link;   /* in the server's busy or waiting */
    struct hf_http_server *server;
    struct hf_http_party *party; /* NULL: nobody's */
    struct hf_channel channel;   /* closed before the connection is freed */
    struct hf_watch *watch;
    struct hf_alarm alarm;
    struct hf_request *request;
    struct hf_exchange exchange;
    struct hf_address address;        /* the client's */
    char peer[HF_PEER_SIZE];          /* the same as text; empty: a unix socket has no address */
    struct hf_buf in;                 /* came while the exchange before it was not over */
    uint64_t read_by_ms, write_by_ms; /* 0: no limit runs */
    size_t held;                      /* its part of the server's */
    size_t drained;                   /* dropped while closing */
    size_t skip;                      /* of a refused body: dropped before the next head */
    int fd;
    enum hf_phase phase;
    bool has_address; /* no unix socket */
    bool is_silent;   /* it is in the server's `waiting`, and counted so */
    bool is_judging;  /* in JUDGED: inside the callback */
    bool is_let_in;   /* in JUDGED: its body may come */
    bool is_at_end;   /* the peer will send no more */
    bool is_broken;   /* cannot be written to, or was cut off: lost at the next flush */
    bool is_refused;  /* at once, over the limit: it counts as one of those alone */
    bool is_shut;     /* our sending side, behind the last answer */
    bool closes;      /* after this exchange */
    bool is_old;      /* the request was HTTP/1.0 */
    bool is_bodiless; /* the request was HEAD, or the status says so */
    bool is_chunked;  /* the answer */
};

/* Takes the descriptor and the party, which may be NULL. `status` 0, or a refusal that `why` is the
 * sentence of. */
void hf_connection_open(struct hf_http_server *server, int fd, const struct sockaddr_storage *peer,
                        struct hf_http_party *party, int status, const char *why);
void hf_connection_close(struct hf_connection *connection);
/* A status, a sentence as JSON, and the end of the connection. */
void hf_connection_refuse(struct hf_connection *connection, int status, const char *why);

/* ---- http_connection_in.c ---- */

/* Takes from the front of `*bytes` as long as a request may be read. */
void hf_connection_take(struct hf_connection *connection, struct hf_span *bytes);
/* It was let in. `after` is what came behind its head. */
void hf_connection_begin_body(struct hf_connection *connection, struct hf_span after);
/* Where a long body may be read to without a copy, or NULL. Then it is said how much that was. */
struct hf_buf *hf_connection_room_in_body(struct hf_connection *connection, size_t *ret_room);
void hf_connection_took(struct hf_connection *connection, size_t bytes);
/* Its time to read is over. False: nothing of a request has come. */
bool hf_connection_refuse_late(struct hf_connection *connection);

/* ---- http_connection_out.c ---- */

/* What one flush came to. */
enum hf_io hf_connection_write_out(struct hf_connection *connection);
void hf_connection_add(struct hf_connection *connection, struct hf_span bytes);
/* Whether it counts as one that may be closed for others. */
void hf_connection_set_silent(struct hf_connection *connection, bool is_silent);
/* It is that party's, which may be NULL, and no more another's. */
void hf_connection_count(struct hf_connection *connection, struct hf_http_party *party);
/* Sets the server's count of held bytes right. */
void hf_connection_account(struct hf_connection *connection);
void hf_connection_answer(struct hf_connection *connection, int status, const char *headers,
                          const char *type, const struct hf_span *pieces, unsigned piece_count);
void hf_connection_release_request(struct hf_connection *connection);

/* ---- http_server.c ---- */

void hf_http_server_closed_one(struct hf_http_server *server); /* there may be a descriptor now */
void hf_http_server_refused(struct hf_http_server *server, struct hf_http_party *party,
                            enum hf_http_limit limit);
/* Whether a connection more of that party, which may be NULL, is within its share. Silent ones of
 * others are free to it. */
enum hf_share_verdict hf_http_server_judge(const struct hf_http_server *server,
                                           const struct hf_http_party *party);

#endif
