/*
 * http_client.h - HTTP requests to remote servers, each with proof of how far it got.
 *
 * Plain HTTP without a proxy is spoken by us (http_plain.c), and everything else by libcurl
 * (http_client_curl.c), which is loaded when it is first needed; callers need not know which. Once
 * a byte of a request may have reached the peer, the request is not sent again unless `may_repeat`
 * is set. Redirects are not followed.
 *
 * 1. Events of one fetch come in this order: `sending` at most once, `head` at most once, `bytes`
 *    any number of times, `ended` exactly once; none after hf_fetch_abort.
 * 2. `head` comes only after the empty line that ends the head.
 * 3. Events come from the loop, never from inside hf_fetch_start or hf_fetch_abort.
 * 4. Inside an event everything may be started, aborted and freed, the client itself too.
 * 5. A peer that has closed a connection right after an answer gets a new connection for each
 *    request from then on: the outcome of a request sent while the peer closes is unknown.
 */
#ifndef HF_IO_HTTP_CLIENT_H
#define HF_IO_HTTP_CLIENT_H

#include "base/err.h"
#include "core/machine/evidence.h"
#include "io/loop.h"

struct hf_http_client; /* all peers of one loop */
struct hf_peer;        /* one remote server as one runtime sees it: connections, cookies */
struct hf_fetch;       /* one request */

struct hf_peer_spec {
    const char *url;        /* of most requests: if it needs libcurl, that is loaded at once; NULL:
                             * libcurl is loaded when a request needs it */
    const char *ca;         /* file; NULL: the system's */
    const char *proxy;      /* NULL: as the environment says; "": none */
    uint32_t connect_ms;    /* longest time to connect, TLS included */
    uint32_t keep_alive_ms; /* an idle connection older than this is not used again */
};

struct hf_http_client *hf_http_client_new(struct hf_loop *loop);
void hf_http_client_free(struct hf_http_client *client); /* NULL accepted; aborts what runs */
/* For tests: libcurl makes all requests. Call it before the first peer. */
void hf_http_client_use_libcurl(struct hf_http_client *client);
/* NULL: libcurl is needed and cannot be loaded; `err` says which package to install. */
struct hf_peer *hf_peer_new(struct hf_http_client *client, const struct hf_peer_spec *spec,
                            struct hf_err *err);
void hf_peer_free(struct hf_peer *peer); /* NULL accepted; aborts its fetches, closes connections */

enum hf_verb { HF_VERB_GET, HF_VERB_POST, HF_VERB_DELETE };

struct hf_fetch_spec {
    enum hf_verb verb;
    const char *url;
    const char *const *headers; /* NULL-terminated "Name: value"; copied */
    const struct hf_span *body; /* pieces; copied once */
    unsigned body_count;        /* 0 unless POST */
    bool may_repeat;            /* sent once more if a reused connection died */
};

struct hf_fetch_end {
    enum hf_sent sent; /* how much of the request may have reached the peer. PART with a status: the
                        * peer answered before it had read everything */
    int status;        /* 0: no whole head came */
    bool is_whole;     /* the answer is complete, as far as HTTP can tell */
    const char *why;   /* for people: "connection refused", "TLS: …"; never with secrets; "" when
                        * whole; valid until `ended` returns */
};

struct hf_fetch_events {            /* each may be NULL, except `ended` */
    void (*sending)(void *context); /* connected: from now on bytes may leave */
    void (*head)(void *context, int status);
    void (*bytes)(void *context, struct hf_span bytes);
    void (*ended)(void *context, const struct hf_fetch_end *end); /* the fetch is freed then */
};

struct hf_fetch *hf_fetch_start(struct hf_peer *peer, const struct hf_fetch_spec *spec,
                                const struct hf_fetch_events *events, void *context);
/* The last header of that name (lower case) in the answer, or p == NULL. Valid from `head` on. */
struct hf_span hf_fetch_header(const struct hf_fetch *fetch, const char *name);
void hf_fetch_abort(struct hf_fetch *fetch); /* also closes its connection */

#endif
