/*
 * http_parts.h - what the HTTP front is made of; for the files of src/front only.
 *
 *   front ── sessions ── feeds: POSTs that are not wholly answered
 *                                kept: those that are, for whoever comes back for the answer
 *                                standalone: what belongs to no request (GET)
 *
 * A feed is one stream of messages to a client. Its exchange is where they go now; none if the
 * client went away. What went out with an id is kept within bounds (front/events.h), so that the
 * client can come back for the rest.
 *
 * 1. Everything the engine says with a `via` goes to the feed of that POST, and to no other.
 * 2. A feed whose client is gone and that gave it no id to come back with keeps nothing.
 * 3. `quiet`, `open` and `kept` are each in the order in which their feeds are due.
 */
#ifndef HF_FRONT_HTTP_PARTS_H
#define HF_FRONT_HTTP_PARTS_H

#include "front/events.h"
#include "front/http.h"
#include "front/metrics.h"
#include "front/party.h"
#include "front/session_table.h"

enum {
    HF_PRIME_MS = 500,          /* an answer that takes longer becomes a stream */
    HF_PING_MS = 15 * 1000,     /* between two signs of life on an open stream */
    HF_KEPT_MS = 5 * 60 * 1000, /* how long a finished stream can be asked for again */
    HF_KEPT_MAX = 16,           /* finished streams of one session */
    HF_LISTENERS_MAX = 16,      /* open GETs of one session */
    HF_FEED_BITS = 20,          /* of a `via`: the place of its feed */
    HF_FEEDS_MAX = 1 << HF_FEED_BITS,
};

/* Whoever has an exchange that is not answered at once: the context of that exchange. */
struct hf_holder {
    void (*on_gone)(struct hf_holder *holder); /* its client is */
};

struct hf_feed {
    struct hf_holder holder; /* first */
    struct hf_link link;     /* in its session's feeds or kept, or in front->free_feeds */
    struct hf_link due;      /* in front->quiet, open or kept */
    uint64_t due_ms;
    uint64_t via; /* 0: what belongs to no request */
    struct hf_http_session *session;
    struct hf_exchange *exchange; /* NULL: nobody reads */
    struct hf_events events;
    struct hf_buf *array; /* answers of a batch for a client that takes no events */
    uint64_t delivered;   /* number of the last event that went into an exchange */
    unsigned owed, total; /* answers still to come, and in all */
    uint32_t index;       /* in front->feeds */
    bool takes_json, takes_events;
    bool is_hello;     /* of the initialize that made the session */
    bool is_streaming; /* the head of an event stream is out */
    bool is_resumable; /* the client has an id to come back with */
    bool is_over;      /* everything was said */
    bool is_spare;     /* a GET that is open while a newer one gets what belongs to no request */
};

struct hf_http_session {
    struct hf_flush flush; /* first: the shell frees it at the end of the turn */
    struct hf_sink sink;
    struct hf_session_entry entry;
    struct hf_http_front *front;
    struct hf_session *core;  /* NULL: closed */
    struct hf_server *only;   /* NULL: all of them */
    char *door;               /* its name */
    struct hf_party *opener;  /* whoever made it */
    struct hf_party *party;   /* what it costs itself is counted here */
    struct hf_link in_opener; /* in its list of sessions */
    bool is_sse;              /* HTTP+SSE: it lives and dies with one stream */
    bool is_modern;           /* serves all modern requests of a token; nobody knows its id */
    struct hf_link in_modern; /* in front->modern */
    bool has_token;
    uint8_t token[HF_SHA256_SIZE]; /* whose it is */
    char *token_name;              /* NULL: it has none */
    struct hf_policy *policy;      /* of that token; the engine's session holds it */
    struct hf_link feeds, kept;
    unsigned kept_count, spare_count;
    bool has_listened;          /* it had a stream for what belongs to no request */
    struct hf_feed *standalone; /* NULL: never needed */
};

enum { HF_DOOR_MAX = 256 }; /* the name of a server in a path, with its NUL */

/* Who a request comes from and which door it came to: decided before anything else. */
struct hf_visitor {
    const struct hf_token *token; /* NULL: none is needed */
    struct hf_span door;          /* name of a server, there or not; p NULL: all of them */
};

/* The last request that was let in by its head. Its body is mostly there already: then all of this
 * need not be found out again. */
struct hf_judged {
    const struct hf_exchange *exchange; /* NULL: nothing is known */
    const struct hf_route *route;
    struct hf_visitor visitor;
    char door[HF_DOOR_MAX];
    struct hf_http_session *session; /* the one it names; NULL: not known */
};

struct hf_http_front {
    struct hf_shell *shell;
    struct hf_http_server *server;
    struct hf_access *access;
    struct hf_alarm alarm;
    struct hf_limits limits;
    uint32_t session_ttl_ms;
    struct hf_session_table session_table;
    struct hf_feed **feeds; /* by index */
    uint32_t feed_count, feed_cap;
    uint64_t feed_serial;
    struct hf_link free_feeds;
    struct hf_link quiet, open, kept;
    struct hf_link modern; /* sessions, the last used first */
    struct hf_bound sessions;
    struct hf_bound kept_bytes; /* of events, also of feeds that are not over */
    size_t array_bytes;         /* of answers that wait for the rest of their batch */
    struct hf_parties parties;
    struct hf_tallies tallies;
    struct hf_refusals refusals;
    struct hf_front_log log;
    const struct hf_authorizer *authorizer; /* NULL: nobody */
    struct hf_link held;                    /* requests that wait for its decision */
    struct hf_judged judged;
    uint64_t last_ticket;
    uint64_t taking; /* the `via` whose message is being taken */
    bool is_stopping;
};

/* ---- http.c ---- */

/* An answer; `headers` is NULL or whole lines. Adds what a page of an allowed origin needs. */
void hf_http_answer(struct hf_exchange *exchange, int status, const char *headers, const char *type,
                    const struct hf_span *pieces, unsigned piece_count);
void hf_http_begin_events(struct hf_exchange *exchange, const char *headers);
/* A JSON-RPC error with that status; `id` raw, p NULL: null. */
void hf_http_refuse(struct hf_exchange *exchange, int status, struct hf_span id, int code,
                    const char *format, ...) HF_PRINTF(5, 6);
void hf_http_refuse_method(struct hf_exchange *exchange, const char *allowed); /* "GET, POST" */
/* Somebody may not come in: 401 or 403, and why. */
void hf_http_turn_away(struct hf_exchange *exchange, enum hf_admission admission);
/* A page asks before it comes, without its token. */
void hf_http_answer_preflight(struct hf_exchange *exchange);
void hf_http_wake(struct hf_http_front *front, uint64_t at_ms); /* not later than that */

/* ---- telling.c ---- */

/* Somebody may not come in. */
void hf_http_tell_refusal(const struct hf_exchange *exchange, enum hf_admission admission);
/* Somebody was refused for a limit; `party` may be NULL. */
void hf_http_count_refusal(struct hf_http_front *front, const struct hf_party *party,
                           enum hf_front_limit limit);
void hf_http_tell_left_out(struct hf_http_front *front, uint64_t now_ms);
void hf_tallies_renew(struct hf_http_front *front); /* other tokens */
void hf_tallies_free(struct hf_tallies *tallies);

/* ---- admission.c ---- */

/* Whose share its connection is part of from now on. False: that has its share already, and the
 * exchange was answered. */
bool hf_admission_of_party(struct hf_http_front *front, const struct hf_visitor *visitor,
                           struct hf_exchange *exchange);

/* Each is false if the exchange was answered or has to wait. `is_authorized`: whoever else has a
 * say has said yes. */
bool hf_admission_of_client(struct hf_http_front *front, struct hf_exchange *exchange,
                            bool is_authorized, const struct hf_token **ret_token);
bool hf_admission_of_watcher(struct hf_http_front *front, struct hf_exchange *exchange,
                             bool is_authorized);        /* on loopback a name of ours is enough */
void hf_admission_drop_all(struct hf_http_front *front); /* those that wait; none is answered */

/* ---- route.c ---- */

/* One that has come in; it answers, or has a feed answer later. */
typedef void hf_route_handler(struct hf_http_front *front, const struct hf_visitor *visitor,
                              struct hf_exchange *exchange);
/* Whether it may come in is decided by its head, before its body is read; again, once an exchange
 * that had to wait is authorized. */
void hf_route_head(struct hf_http_front *front, struct hf_exchange *exchange, bool is_authorized);
/* Its body is there. What changed while that came counts. */
void hf_route_request(struct hf_http_front *front, struct hf_exchange *exchange);

/* ---- sessions.c ---- */

/* NULL: there is no such server, or there are too many sessions and all are in use; the exchange
 * was answered. `id` is that of the request, if it has one. */
struct hf_http_session *hf_http_session_new(struct hf_http_front *front,
                                            const struct hf_visitor *visitor,
                                            struct hf_exchange *exchange, struct hf_span id,
                                            bool is_sse);
/* The session of that id if it is this visitor's, else NULL. Counts as a use. */
struct hf_http_session *hf_http_session_find(struct hf_http_front *front,
                                             const struct hf_visitor *visitor, struct hf_span id,
                                             bool is_sse);
/* As that, but it is no use. */
struct hf_http_session *hf_http_session_look_up(const struct hf_http_front *front,
                                                const struct hf_visitor *visitor,
                                                struct hf_span id);
void hf_http_session_touch(struct hf_http_session *session);
/* What is known of a message of that exchange beside its text. */
struct hf_origin hf_http_session_origin(const struct hf_http_session *session,
                                        const struct hf_exchange *exchange, uint64_t via);
bool hf_http_session_is_of(const struct hf_http_session *session, const struct hf_visitor *visitor);
void hf_http_session_close(struct hf_http_session *session);
bool hf_http_session_is_busy(const struct hf_http_session *session);
bool hf_http_session_speaks(const struct hf_http_session *session, const char *version);
void hf_http_sessions_review(struct hf_http_front *front); /* other tokens, other servers */
void hf_http_sessions_close(struct hf_http_front *front);
void hf_http_sessions_expire(struct hf_http_front *front, uint64_t now_ms);

/* ---- feed.c ---- */

/* NULL: too many are open. */
struct hf_feed *hf_feed_new(struct hf_http_session *session, struct hf_exchange *exchange);
struct hf_feed *hf_feed_standalone(struct hf_http_session *session);
struct hf_feed *hf_feed_find(const struct hf_http_session *session, uint64_t via);
void hf_feed_free(struct hf_feed *feed); /* its exchange was answered */
/* `after` is the number of the last event the client has. */
void hf_feed_attach(struct hf_feed *feed, struct hf_exchange *exchange, uint64_t after);
void hf_feed_begin(struct hf_feed *feed); /* the head of its event stream */
void hf_feed_end_exchange(struct hf_feed *feed);
/* An answer that its client cannot be given without being cut off, because it or others do not read
 * what they have, becomes the truth about its call. Returns what is to be given: the answer itself,
 * or the effect in `room`. */
enum { HF_TRUTH_MAX = 1024 };
struct hf_truth {
    struct hf_effect effect;
    char text[HF_TRUTH_MAX];
};
const struct hf_effect *hf_feed_fit(const struct hf_feed *feed, const struct hf_effect *answer,
                                    struct hf_truth *room);
void hf_feed_answer(struct hf_feed *feed, const struct hf_effect *effect);
void hf_feed_say(struct hf_feed *feed, const struct hf_effect *effect);
/* Without an id: nobody can come back for it. */
void hf_feed_say_plainly(struct hf_feed *feed, const struct hf_effect *effect);
void hf_feeds_end_listening(struct hf_http_session *session); /* all its GETs */
void hf_feeds_tick(struct hf_http_front *front, uint64_t now_ms);
uint64_t hf_feeds_next_ms(const struct hf_http_front *front); /* 0: nothing is due */

/* ---- mcp.c, sse_door.c ---- */

/* Whether the head of a POST is one of those that hf_mcp_post takes, else it was refused. */
bool hf_mcp_takes(struct hf_exchange *exchange);
hf_route_handler hf_mcp_get, hf_mcp_post, hf_mcp_delete, hf_mcp_other;
hf_route_handler hf_sse_get, hf_sse_post;

#endif
