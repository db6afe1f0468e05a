/*
 * http_server.h - an HTTP/1.1 server on our loop. It knows nothing of MCP.
 *
 * A request is passed to the owner of the server twice: when its head is whole, before a byte of
 * its body is kept, so that a client that is not admitted costs nothing; and when its body is
 * whole. The answer may come at once, turns later, or as a stream of chunks. A client that goes
 * away is noticed at once, also while its answer is pending or its stream idle; one that only shuts
 * its sending side down counts as gone too, unless its answer is already being written. Everything
 * a peer can make grow is bounded, and a request over a bound is answered with a status that says
 * which.
 *
 * 1. An exchange lives from `request` (from `head`, if that did not let its body be read) until it
 *    is answered, ended or `gone`; after that the handle is invalid. Exactly one of the three ends
 *    it. A connection has one exchange at a time.
 * 2. Spans of a request are valid until its exchange ends or begins to stream.
 * 3. Callbacks come from the loop, never from inside the functions below.
 * 4. An idle stream costs less than 1 KB beside what the kernel holds.
 */
#ifndef HF_IO_HTTP_SERVER_H
#define HF_IO_HTTP_SERVER_H

#include "base/err.h"
#include "base/share.h"
#include "io/address.h"
#include "io/shell.h"
#include "wire/http_request.h"

struct hf_http_server;
struct hf_exchange; /* one request and its answer */

struct hf_http_limits {
    size_t head_bytes;      /* 431 */
    size_t body_bytes;      /* 413 */
    unsigned connections;   /* over it the longest silent one is closed, or the new one gets 503 */
    uint32_t shares;        /* of connections and held bytes, for one party: see base/share.h */
    uint32_t head_ms;       /* from the first byte of a head to its end: 408 */
    uint32_t body_ms;       /* for a whole body: 408 */
    uint32_t body_grace_ms; /* length of a period; after the first one: */
    uint32_t body_rate;     /* least bytes a second in each period, else 408 */
    uint32_t idle_ms;       /* between two requests: closed in silence */
    uint32_t write_ms;      /* a peer that takes no byte for this long is cut off */
    uint32_t linger_ms;     /* the time a peer has to read the last answer before we close */
    size_t unwritten_bytes; /* of one connection: a peer that does not read is cut off */
    size_t held_bytes;      /* of all connections together: 503, or a slow reader is cut off */
};
extern const struct hf_http_limits hf_http_limits_default;

struct hf_http_spec {
    const char *listen;     /* "127.0.0.1:7332", "[::1]:0", "unix:PATH" */
    const char *cert, *key; /* PEM files, both or none; NULL: no TLS */
    struct hf_http_limits limits;
};

/* A unit among which limits are divided (front/party.h): its connections and their bytes are
 * counted here. The owner of the server makes it, and keeps it while a connection refers to it. */
struct hf_http_party {
    struct hf_share connections, bytes;
    struct hf_share silent; /* connections that may be closed for others */
};

enum hf_http_limit { HF_HTTP_CONNECTIONS, HF_HTTP_BYTES };

struct hf_http_events {
    void (*request)(void *context, struct hf_exchange *exchange);
    /* The client has gone before its exchange ended. */
    void (*gone)(void *context, struct hf_exchange *exchange);
    /* The head of a request is whole; the body is not there yet. The callee answers, or lets the
     * body be read with hf_exchange_take_body, now or later: until then at most one read of the
     * body is kept. NULL: every body is read. */
    void (*head)(void *context, struct hf_exchange *exchange);
    /* Returns the party of a connection until a head says more; NULL: none. `peer` as
     * hf_exchange_address has it. This callback, and the next two, may be NULL. */
    struct hf_http_party *(*arrived)(void *context, const struct hf_address *peer);
    /* A connection does not refer to that party any more. */
    void (*left)(void *context, struct hf_http_party *party);
    /* A connection or request was refused because of a limit; `party` may be NULL. */
    void (*refused)(void *context, struct hf_http_party *party, enum hf_http_limit limit);
};

/* NULL: `err` says what is wrong with the address, the certificate or the system. A unix socket is
 * made for its owner alone (0600), replaces one whose process is dead, and is removed by
 * hf_http_server_free. */
struct hf_http_server *hf_http_server_new(struct hf_shell *shell, const struct hf_http_spec *spec,
                                          const struct hf_http_events *events, void *context,
                                          struct hf_err *err);
/* "http://127.0.0.1:7332", "https://…" or "unix:PATH", with the port that is in use. */
const char *hf_http_server_url(const struct hf_http_server *server);
unsigned hf_http_server_port(const struct hf_http_server *server);    /* 0: a unix socket */
bool hf_http_server_is_loopback(const struct hf_http_server *server); /* unix sockets too */
/* Accepts no new connection; each open one is closed once its exchange has ended. */
void hf_http_server_stop(struct hf_http_server *server);
unsigned hf_http_server_connections(const struct hf_http_server *server);
/* Drops bytes that the kernel has not taken yet. No callback comes any more. Must not be called
 * from inside a callback; the shell frees the memory of connections at the end of the turn. */
void hf_http_server_free(struct hf_http_server *server); /* NULL accepted */

/* ---- an exchange ---- */

const struct hf_http_request *hf_exchange_request(const struct hf_exchange *exchange);
static inline const struct hf_http_head *hf_exchange_head(const struct hf_exchange *exchange)
{
    return &hf_exchange_request(exchange)->head;
}
struct hf_span hf_exchange_body(const struct hf_exchange *exchange);
/* Called in or after `head`: the body is read, if it has no more bytes than `max`, and `request`
 * follows, also if there is no body. Until then the exchange must not be used. */
void hf_exchange_take_body(struct hf_exchange *exchange, size_t max);
/* How many bytes of an answer the exchange takes at this moment without being cut off. */
size_t hf_exchange_room(const struct hf_exchange *exchange);
/* The address of the client's machine, as a number and as text; NULL, n 0: a unix socket. */
const struct hf_address *hf_exchange_address(const struct hf_exchange *exchange);
struct hf_span hf_exchange_peer(const struct hf_exchange *exchange);
/* Called in `head`: from now on the connection is counted for `party`, and no more for the party
 * before. If the party would exceed its share, nothing changes, and the caller has to answer. */
HF_MUST_CHECK enum hf_share_verdict hf_exchange_set_party(struct hf_exchange *exchange,
                                                          struct hf_http_party *party);
struct hf_http_party *hf_exchange_party(const struct hf_exchange *exchange); /* NULL: none */
void hf_exchange_set_context(struct hf_exchange *exchange, void *context);
void *hf_exchange_context(const struct hf_exchange *exchange);
/* The context of the server's events. */
void *hf_exchange_owner(const struct hf_exchange *exchange);

/* Sends the whole answer. In `head` the body of the request is not read: a short one is dropped,
 * after a longer one the connection closes. `headers` is NULL or lines that each end in CRLF;
 * Content-Length, Date and Connection are added. `type` NULL: no body. Pieces are copied or written
 * before it returns. */
void hf_exchange_answer(struct hf_exchange *exchange, int status, const char *headers,
                        const char *type, const struct hf_span *pieces, unsigned piece_count);
/* Begins a stream: the head now, then any number of writes, then the end. For HTTP/1.0 clients it
 * is not chunked, and the connection closes after it. Head and body of the request are freed. */
void hf_exchange_begin(struct hf_exchange *exchange, int status, const char *headers,
                       const char *type);
/* One write is one chunk. Over unwritten_bytes the connection is cut off and `gone` follows. */
void hf_exchange_write(struct hf_exchange *exchange, const struct hf_span *pieces,
                       unsigned piece_count);
void hf_exchange_end(struct hf_exchange *exchange);
/* The connection is closed after this exchange. */
void hf_exchange_close_after(struct hf_exchange *exchange);

#endif
