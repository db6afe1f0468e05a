/*
 * http_connection.h - one connection of the HTTP server: its requests in, its answers out. For the
 * files of the server alone.
 *
 *   HEAD --head--> JUDGED --let in--> BODY --whole--> ASKED --begin--> STREAM
 *    ^                |   \____________no body_________^  |               |
 *    |                | refused                          | answered      | ended
 *    +--- stays open -+----------------------------------+---------------+
 *                                                        v
 *                     CLOSING: unwritten bytes go out, bytes that come are dropped
 *
 * 1. Reading goes on while an exchange lives, until IN_MAX bytes wait, so that a client that leaves
 *    is noticed. From then on only its end is watched for.
 * 2. A connection is closed only from its own callbacks (ready, alarm, flush), from
 *    hf_http_server_free, and for a new connection while it waits for a request. Any other code
 *    marks it, and its flush closes it.
 * 3. `request` is not NULL in JUDGED, BODY and ASKED, and in HEAD once a byte of a head came.
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
    uint64_t inode; /* of the unix socket's file: another file of that name is not removed */
    struct hf_watch *watch;
    struct hf_alarm accept_again; /* after descriptors had run out */
    /* Connections whose exchange the front has or whose answer is being written, and the others;
     * those that were silent longest come first. */
    struct hf_link busy, waiting;
    struct hf_bound connections, silent; /* all connections, and those in `waiting` */
    unsigned refusing;                   /* connections over the limit, while they are refused */
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
    size_t lately;   /* bytes of the body in the current period */
    bool is_in_time; /* the first period has ended: from now on there is a least rate */
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
    struct hf_http_party *party; /* NULL: none */
    struct hf_channel channel;   /* closed before the connection is freed */
    struct hf_watch *watch;
    struct hf_alarm alarm;
    struct hf_request *request;
    struct hf_exchange exchange;
    struct hf_address address;        /* the client's */
    char peer[HF_PEER_SIZE];          /* the same as text; empty: a unix socket has no address */
    struct hf_buf in;                 /* bytes that came before the last exchange had ended */
    uint64_t read_by_ms, write_by_ms; /* deadlines; 0: none */
    size_t held;                      /* its part of server->bytes */
    size_t drained;                   /* bytes dropped while closing */
    size_t skip;                      /* bytes of a refused body to be dropped */
    int fd;
    enum hf_phase phase;
    bool has_address; /* no unix socket */
    bool is_silent;   /* it is in the server's `waiting`, and counted there */
    bool is_judging;  /* in JUDGED: inside the callback */
    bool is_let_in;   /* in JUDGED: its body may be read */
    bool is_at_end;   /* the peer will send no more */
    bool is_broken;   /* cannot be written to, or was cut off: closed at the next flush */
    bool is_refused;  /* refused when it was accepted: counts in server->refusing only */
    bool is_shut;     /* our sending side is shut down, after the last answer */
    bool closes;      /* the connection closes after this exchange */
    bool is_old;      /* the request was HTTP/1.0 */
    bool is_bodiless; /* the request was HEAD, or the status says so */
    bool is_chunked;  /* the answer is chunked */
};

/* Takes over the descriptor and the party, which may be NULL. If `status` is not 0, the connection
 * is refused with that status and the sentence `why`. */
void hf_connection_open(struct hf_http_server *server, int fd, const struct sockaddr_storage *peer,
                        struct hf_http_party *party, int status, const char *why);
void hf_connection_close(struct hf_connection *connection);
/* Answers with a status and a sentence as JSON, and closes the connection. */
void hf_connection_refuse(struct hf_connection *connection, int status, const char *why);

/* ---- http_connection_in.c ---- */

/* Consumes `*bytes` as far as requests may be read now. */
void hf_connection_take(struct hf_connection *connection, struct hf_span *bytes);
/* The request was admitted. `after` are the bytes after its head. */
void hf_connection_begin_body(struct hf_connection *connection, struct hf_span after);
/* The buffer into which a long body may be read without a copy, or NULL. After the read
 * hf_connection_took says how much was read. */
struct hf_buf *hf_connection_room_in_body(struct hf_connection *connection, size_t *ret_room);
void hf_connection_took(struct hf_connection *connection, size_t bytes);
/* The time to read a request has passed. False: no byte of a request has come. */
bool hf_connection_refuse_late(struct hf_connection *connection);

/* ---- http_connection_out.c ---- */

/* Writes as much as the kernel takes; the result is that of hf_channel_flush. */
enum hf_io hf_connection_write_out(struct hf_connection *connection);
void hf_connection_add(struct hf_connection *connection, struct hf_span bytes);
/* Whether the connection counts as one that may be closed for others. */
void hf_connection_set_silent(struct hf_connection *connection, bool is_silent);
/* Counts the connection for `party`, which may be NULL, and no more for the party before. */
void hf_connection_count(struct hf_connection *connection, struct hf_http_party *party);
/* Updates the server's count of held bytes. */
void hf_connection_account(struct hf_connection *connection);
void hf_connection_answer(struct hf_connection *connection, int status, const char *headers,
                          const char *type, const struct hf_span *pieces, unsigned piece_count);
void hf_connection_release_request(struct hf_connection *connection);

/* ---- http_server.c ---- */

void hf_http_server_closed_one(struct hf_http_server *server); /* a descriptor is free again */
void hf_http_server_refused(struct hf_http_server *server, struct hf_http_party *party,
                            enum hf_http_limit limit);
/* Whether one more connection of that party, which may be NULL, is within its share. Silent
 * connections of other parties do not count, since they can be closed. */
enum hf_share_verdict hf_http_server_judge(const struct hf_http_server *server,
                                           const struct hf_http_party *party);

#endif
