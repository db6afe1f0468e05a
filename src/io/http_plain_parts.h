/*
 * http_plain_parts.h - what the files of our own HTTP client share. Private to io/http_plain*.c.
 */
#ifndef HF_IO_HTTP_PLAIN_PARTS_H
#define HF_IO_HTTP_PLAIN_PARTS_H

#include "io/http_plain.h"
#include "wire/cookies.h"
#include "wire/http_response.h"

enum {
    HF_PLAIN_ROOM = 64 * 1024, /* for one read */
    HF_PLAIN_HOST_MAX = 255,
};

struct hf_plain_name {          /* the host of a peer, if it has to be looked up */
    char text[HF_NAME_MAX + 1]; /* "": none */
    union hf_socket_address
        at[HF_ADDRESSES_MAX]; /* without a port; the one that worked last is first */
    unsigned count;
    uint64_t good_until_ms;
    struct hf_lookup *lookup;       /* NULL: none is running */
    struct hf_link waiting;         /* fetches, those that wait longest first */
    struct hf_alarm lookup_timeout; /* of the first of them */
};

struct hf_plain_peer {
    struct hf_http_client *client;
    struct hf_loop *loop;
    uint32_t connect_ms, keep_alive_ms;
    struct hf_link starting, running, aborted, spare; /* fetches */
    unsigned spare_count;
    struct hf_link idle; /* connections, the one used last first */
    unsigned idle_count;
    struct hf_alarm begin;  /* begins the fetches in `starting` */
    struct hf_alarm expire; /* closes connections that are idle for too long */
    struct hf_plain_name name;
    struct hf_cookies cookies;
    bool is_busy, is_freed; /* busy: inside an event, or about to be */
    bool closes_early;      /* it has closed a connection right after an answer, unannounced */
};

struct hf_plain_link {   /* a connection */
    struct hf_link link; /* in its peer's `idle`, or in none */
    struct hf_plain_peer *peer;
    struct hf_plain_fetch *fetch; /* NULL: idle */
    int fd;
    struct hf_watch *watch;
    char host[HF_PLAIN_HOST_MAX + 1]; /* of the URLs that it serves */
    int port;
    union hf_socket_address at;
    bool is_connecting;
    bool was_used; /* it has carried an answer */
    uint64_t idle_since_ms;
    struct hf_alarm connect_timeout;
};

struct hf_plain_fetch {
    struct hf_fetch base;
    struct hf_link link; /* in one of its peer's lists */
    struct hf_plain_peer *peer;
    struct hf_plain_link *connection; /* NULL: none yet, or none any more */
    struct hf_fetch_events events;
    void *context;
    bool may_repeat, is_aborted, has_ended;
    const char *why_not; /* why the request cannot be sent at all; NULL: it can */

    union hf_socket_address at[HF_ADDRESSES_MAX];
    unsigned at_count, at_next;
    unsigned rounds; /* how often all addresses were tried */
    bool is_silent;  /* an address did not answer in this round */
    bool is_name;
    uint64_t connect_by_ms;

    struct hf_buf out; /* the request */
    char host[HF_PLAIN_HOST_MAX + 1];
    int port;
    size_t target_at, target_n; /* in `out` */
    bool is_loopback;

    /* evidence */
    size_t written;       /* of `out`, to the connection that it has now */
    bool was_sent_before; /* bytes of it went to another connection; only if it may repeat */
    bool is_unwritable;   /* the rest cannot be sent; what has arrived is still read */
    bool has_told_sending;

    struct hf_http_reply reply;
    bool has_head; /* the `head` event was called */
    char why[256];
};

/* ---- http_plain_request.c ---- */

/* Writes all of the request to `fetch->out`, or sets `why_not`. */
void hf_plain_write_request(struct hf_plain_fetch *fetch, const struct hf_fetch_spec *spec,
                            const struct hf_plain_url *url);
/* Stores the cookies that the head of the answer sets. */
void hf_plain_take_cookies(struct hf_plain_fetch *fetch);

/* ---- http_plain_name.c ---- */

void hf_plain_name_init(struct hf_plain_peer *peer);
void hf_plain_name_done(struct hf_plain_peer *peer); /* after the last fetch that waits has gone */
/* True: the fetch has its addresses. False: it waits for them, and goes on by itself. */
HF_MUST_CHECK bool hf_plain_name_ask(struct hf_plain_fetch *fetch);
void hf_plain_name_works(struct hf_plain_link *link);   /* this address has connected */
void hf_plain_name_fails(struct hf_plain_fetch *fetch); /* none of the addresses has */

/* ---- http_plain_connection.c ---- */

/* A connection that was used before and still seems to be open; NULL: none. */
struct hf_plain_link *hf_plain_link_reuse(struct hf_plain_fetch *fetch);
/* A new connection to that address, connected or connecting; NULL: errno says why. */
struct hf_plain_link *hf_plain_link_open(struct hf_plain_fetch *fetch,
                                         const union hf_socket_address *at);
void hf_plain_link_keep(struct hf_plain_link *link); /* for the next fetch */
void hf_plain_link_close(struct hf_plain_link *link);
void hf_plain_expire(void *peer); /* closes connections that are idle for too long */

/* ---- http_plain.c, for connections that have a fetch ---- */

void hf_plain_on_ready(struct hf_plain_link *link, unsigned events);
void hf_plain_on_connect_timeout(struct hf_plain_link *link);

/* ---- http_plain.c, for names that were found ---- */

/* Between enter and leave the peer is not freed; anything else may be. */
void hf_plain_enter(struct hf_plain_peer *peer);
void hf_plain_leave(struct hf_plain_peer *peer);     /* the peer may be freed by it */
void hf_plain_connect(struct hf_plain_fetch *fetch); /* after it has its addresses */
void hf_plain_fail(struct hf_plain_fetch *fetch, const char *why);

#endif
