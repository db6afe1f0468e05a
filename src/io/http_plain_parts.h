/*
 * http_plain_parts.h - what the files of our own HTTP client share. Private to io/http_plain*.c.
 */
#ifndef HF_IO_HTTP_PLAIN_PARTS_H
#define HF_IO_HTTP_PLAIN_PARTS_H

#include "io/http_plain.h"
#include "wire/cookies.h"
#include "wire/http_response.h"

enum { HF_PLAIN_ROOM = 64 * 1024 }; /* for one read */

struct hf_plain_peer {
    struct hf_http_client *client;
    struct hf_loop *loop;
    uint32_t connect_ms, keep_alive_ms;
    struct hf_link starting, running, doomed, spare; /* fetches */
    unsigned spare_count;
    struct hf_link idle; /* connections, the one used last first */
    unsigned idle_count;
    struct hf_alarm begin;  /* what is starting */
    struct hf_alarm expire; /* what is idle for too long */
    struct hf_cookies cookies;
    bool is_busy, is_freed; /* busy: inside an event, or about to be */
    bool closes_early;      /* it closed a connection right after an answer, without a word */
};

struct hf_plain_link {   /* a connection */
    struct hf_link link; /* in its peer's `idle`, or in none */
    struct hf_plain_peer *peer;
    struct hf_plain_fetch *fetch; /* NULL: idle */
    int fd;
    struct hf_watch *watch;
    union hf_plain_address at;
    bool is_connecting;
    bool was_used; /* it has carried an answer */
    uint64_t idle_since_ms;
    struct hf_alarm patience; /* while it is connecting */
};

struct hf_plain_fetch {
    struct hf_fetch base;
    struct hf_link link; /* in one of its peer's lists */
    struct hf_plain_peer *peer;
    struct hf_plain_link *connection; /* NULL: none yet, or none any more */
    struct hf_fetch_events events;
    void *context;
    bool may_repeat, is_doomed, is_over;
    const char *why_not; /* it cannot even be begun; NULL: it can */

    union hf_plain_address at[HF_PLAIN_ADDRESSES];
    unsigned at_count, at_next;
    uint64_t connect_by_ms; /* 0: nobody tried yet */

    struct hf_buf out; /* the request */
    /* for the cookies that come back; the longest host is a name below localhost */
    char host[256];
    size_t target_at, target_n; /* in `out` */
    bool is_loopback;

    /* evidence */
    size_t written;       /* of `out`, to the connection that it has now */
    bool was_sent_before; /* bytes of it went to another connection: it may repeat */
    bool is_unwritable;   /* the rest cannot be sent; what has arrived is still read */
    bool has_told_sending;

    struct hf_http_reply reply;
    bool has_head; /* it was told */
    char why[256];
};

/* ---- http_plain_request.c ---- */

/* Writes all of the request to `fetch->out`, or sets `why_not`. */
void hf_plain_write_request(struct hf_plain_fetch *fetch, const struct hf_fetch_spec *spec,
                            const struct hf_plain_url *url);
/* What the head of the answer sets. */
void hf_plain_take_cookies(struct hf_plain_fetch *fetch);

/* ---- http_plain_connection.c ---- */

/* One that was used before, and is as alive as can be told now; NULL: none. */
struct hf_plain_link *hf_plain_link_reuse(struct hf_plain_fetch *fetch);
/* A new one to that address, connected or connecting; NULL: errno says why. */
struct hf_plain_link *hf_plain_link_open(struct hf_plain_fetch *fetch,
                                         const union hf_plain_address *at);
void hf_plain_link_keep(struct hf_plain_link *link); /* for the next fetch */
void hf_plain_link_close(struct hf_plain_link *link);
void hf_plain_expire(void *peer); /* the alarm of what is idle */

/* ---- http_plain.c, for connections that have a fetch ---- */

void hf_plain_on_ready(struct hf_plain_link *link, unsigned events);
void hf_plain_on_impatient(struct hf_plain_link *link);

#endif
