/*
 * http_parts.h - what the HTTP front is made of; for the files of src/front only.
 *
 *   front ── sessions ── streams: POSTs that are not wholly answered
 *                        kept: answered POSTs whose clients may still resume the stream
 *                        standalone: messages that belong to no request (GET)
 *
 * A reply stream carries messages to one client. They are written to its exchange; it has none
 * while the client is disconnected. Events that went out with an id are kept within bounds
 * (front/events.h), so that the client can resume the stream.
 *
 * 1. Everything the engine sends with a `via` goes to the stream of that POST, and to no other.
 * 2. A stream whose client is gone and never got an event id keeps nothing.
 * 3. `quiet`, `open` and `kept` are each in the order in which their streams are due.
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
    HF_SESSION_GETS_MAX = 16,   /* open GETs of one session */
    HF_REPLY_STREAM_BITS = 20,  /* of a `via`: the index of its stream */
    HF_REPLY_STREAMS_MAX = 1 << HF_REPLY_STREAM_BITS,
};

/* Context of an exchange that is not answered at once: a reply stream or a held request. */
struct hf_holder {
    void (*on_gone)(struct hf_holder *holder); /* the exchange's client has gone */
};

struct hf_reply_stream {
    struct hf_holder holder; /* first */
    struct hf_link link;     /* in its session's streams or kept, or in front->free_streams */
    struct hf_link due;      /* in front->quiet, open or kept */
    uint64_t due_ms;
    uint64_t via; /* 0: for messages that belong to no request */
    struct hf_http_session *session;
    struct hf_exchange *exchange; /* NULL: nobody reads */
    struct hf_events events;
    struct hf_buf *array; /* answers of a batch for a client that takes no events */
    uint64_t delivered;   /* number of the last event that went into an exchange */
    unsigned owed, total; /* answers still to come, and in all */
    uint32_t index;       /* in front->streams */
    bool takes_json, takes_events;
    bool is_initialize; /* answers the initialize that made the session */
    bool is_streaming;  /* the head of an event stream is out */
    bool is_resumable;  /* the client has an event id to resume with */
    bool is_finished;   /* nothing more will be sent */
    bool is_spare;      /* an open GET that gets nothing while a newer GET is open */
};

struct hf_http_session {
    struct hf_flush flush; /* first: the shell frees it at the end of the turn */
    struct hf_sink sink;
    struct hf_session_entry entry;
    struct hf_http_front *front;
    struct hf_session *core;  /* NULL: closed */
    struct hf_server *only;   /* the server of its endpoint; NULL: all servers */
    char *endpoint;           /* the server's name in the path; NULL: the path names none */
    struct hf_party *opener;  /* the party that made the session */
    struct hf_party *party;   /* the session's own share of each limit */
    struct hf_link in_opener; /* in opener->by_use */
    bool is_sse;              /* HTTP+SSE: it lives and dies with one stream */
    bool is_modern;           /* serves all modern requests of a token; no client knows its id */
    struct hf_link in_modern; /* in front->modern */
    bool has_token;
    uint8_t token[HF_SHA256_SIZE]; /* hash of the token that the session belongs to */
    size_t tally;                  /* index of its token in front->tallies */
    char *token_name;              /* NULL: the session belongs to no token */
    struct hf_policy *policy;      /* of that token; the engine's session holds it */
    struct hf_link streams, kept;
    unsigned kept_count, spare_count;
    bool has_listened;                  /* the client has sent a GET before */
    struct hf_reply_stream *standalone; /* NULL: never needed */
};

enum { HF_ENDPOINT_MAX = 256 }; /* the name of a server in a path, with its NUL */

/* Who sends a request and to which endpoint: decided before anything else. */
struct hf_caller {
    const struct hf_token *token; /* NULL: none is needed */
    struct hf_span endpoint;      /* name of a server, known or not; p NULL: all servers */
};

/* The last request whose head was admitted. Mostly its body has arrived already; then the head
 * need not be judged again. */
struct hf_judged {
    const struct hf_exchange *exchange; /* NULL: nothing is known */
    const struct hf_route *route;
    struct hf_caller caller;
    char endpoint[HF_ENDPOINT_MAX];
    struct hf_http_session *session; /* the session that the request names; NULL: not known */
};

struct hf_http_front {
    struct hf_shell *shell;
    struct hf_http_server *server;
    struct hf_access *access;
    struct hf_alarm alarm;
    struct hf_limits limits;
    uint32_t session_ttl_ms;
    struct hf_session_table session_table;
    struct hf_reply_stream **streams; /* by index */
    uint32_t stream_count, stream_cap;
    uint64_t stream_serial;
    struct hf_link free_streams;
    struct hf_link quiet, open, kept;
    struct hf_link modern; /* sessions, the last used first */
    struct hf_bound sessions;
    struct hf_bound kept_bytes; /* of events, also of streams that are not finished */
    size_t array_bytes;         /* of answers that wait for the rest of their batch */
    struct hf_parties parties;
    struct hf_tallies tallies;
    struct hf_refusals refusals;
    struct hf_front_log log;
    const struct hf_authorizer *authorizer; /* NULL: none */
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
/* 429 with Retry-After. */
void hf_http_refuse_for_now(struct hf_exchange *exchange, uint32_t wait_s, const char *text);
void hf_http_refuse_method(struct hf_exchange *exchange, const char *allowed); /* "GET, POST" */
/* Answers a request that is not admitted: 401 or 403, and why. */
void hf_http_turn_away(struct hf_exchange *exchange, enum hf_admission admission);
/* Answers the CORS preflight of a web page; it carries no token. */
void hf_http_answer_preflight(struct hf_exchange *exchange);
/* Sets the front's alarm, unless it rings before `at_ms` already. */
void hf_http_wake(struct hf_http_front *front, uint64_t at_ms);

/* ---- refusal_log.c ---- */

/* Logs a request that was not admitted. */
void hf_http_log_refusal(const struct hf_exchange *exchange, enum hf_admission admission);
/* Logs and counts a request that was refused because of a limit; `party` may be NULL. */
void hf_http_count_refusal(struct hf_http_front *front, const struct hf_party *party,
                           enum hf_front_limit limit);
/* Logs how many refusals got no line of their own, once they are due. */
void hf_http_log_left_out(struct hf_http_front *front, uint64_t now_ms);
/* The index of a token's tally, 0 for clients without one; good until hf_tallies_renew. */
size_t hf_tally_of(const struct hf_tallies *tallies, const char *token);
void hf_tallies_look(struct hf_http_front *front);  /* fills in what is under way now */
void hf_tallies_renew(struct hf_http_front *front); /* after the tokens have changed */
void hf_tallies_free(struct hf_tallies *tallies);

/* ---- admission.c ---- */

/* Counts the exchange's connection in the share of the caller's party. False: that share is used
 * up, and the exchange was answered. */
bool hf_admission_of_party(struct hf_http_front *front, const struct hf_caller *caller,
                           struct hf_exchange *exchange);

/* Each is false if the exchange was answered or has to wait. `is_authorized`: the authorizer has
 * admitted the request already. */
bool hf_admission_of_client(struct hf_http_front *front, struct hf_exchange *exchange,
                            bool is_authorized, const struct hf_token **ret_token);
bool hf_admission_of_watcher(struct hf_http_front *front, struct hf_exchange *exchange,
                             bool is_authorized); /* on loopback a good Host is enough */
/* Forgets the requests that wait for the authorizer; none of them is answered. */
void hf_admission_drop_all(struct hf_http_front *front);

/* ---- route.c ---- */

/* Answers an admitted request, at once or later by a reply stream. */
typedef void hf_route_handler(struct hf_http_front *front, const struct hf_caller *caller,
                              struct hf_exchange *exchange);
/* Decides by the head, before the body is read, whether a request is admitted. Called again when
 * the authorizer has admitted an exchange that had to wait. */
void hf_route_head(struct hf_http_front *front, struct hf_exchange *exchange, bool is_authorized);
/* Handles a request whose body is complete. If something else was judged since, the request is
 * judged anew. */
void hf_route_request(struct hf_http_front *front, struct hf_exchange *exchange);

/* ---- sessions.c ---- */

/* NULL: there is no such server, or there are too many sessions and all are in use; the exchange
 * was answered. `id` is the id of the request, if it has one. */
struct hf_http_session *hf_http_session_new(struct hf_http_front *front,
                                            const struct hf_caller *caller,
                                            struct hf_exchange *exchange, struct hf_span id,
                                            bool is_sse);
/* The session of that id if it is this caller's, else NULL. Counts as a use of the session. */
struct hf_http_session *hf_http_session_find(struct hf_http_front *front,
                                             const struct hf_caller *caller, struct hf_span id,
                                             bool is_sse);
/* As hf_http_session_find, for either transport and without counting as a use. */
struct hf_http_session *hf_http_session_look_up(const struct hf_http_front *front,
                                                const struct hf_caller *caller, struct hf_span id);
void hf_http_session_touch(struct hf_http_session *session);
/* The party of this connection, with a reference. For a client of this machine that has no session
 * yet, a new party is made for its connection. */
struct hf_party *hf_http_party_of(struct hf_exchange *exchange);
/* What the engine is told of a message of that exchange beside its text. */
struct hf_origin hf_http_session_origin(const struct hf_http_session *session,
                                        const struct hf_exchange *exchange, uint64_t via);
bool hf_http_session_is_of(const struct hf_http_session *session, const struct hf_caller *caller);
void hf_http_session_close(struct hf_http_session *session);
bool hf_http_session_is_busy(const struct hf_http_session *session);
bool hf_http_session_speaks(const struct hf_http_session *session, const char *version);
void hf_http_sessions_review(struct hf_http_front *front); /* after tokens or servers changed */
void hf_http_sessions_close(struct hf_http_front *front);
void hf_http_sessions_expire(struct hf_http_front *front, uint64_t now_ms);

/* ---- reply_stream.c ---- */

/* NULL: too many streams are open. */
struct hf_reply_stream *hf_reply_stream_new(struct hf_http_session *session,
                                            struct hf_exchange *exchange);
struct hf_reply_stream *hf_reply_stream_standalone(struct hf_http_session *session);
struct hf_reply_stream *hf_reply_stream_find(const struct hf_http_session *session, uint64_t via);
void hf_reply_stream_free(struct hf_reply_stream *stream); /* after its exchange was answered */
/* The stream goes on in `exchange`; `after` is the number of the last event the client has. */
void hf_reply_stream_attach(struct hf_reply_stream *stream, struct hf_exchange *exchange,
                            uint64_t after);
void hf_reply_stream_begin(struct hf_reply_stream *stream); /* sends the head of an event stream */
void hf_reply_stream_end_exchange(struct hf_reply_stream *stream);
void hf_reply_stream_answer(struct hf_reply_stream *stream, const struct hf_effect *effect);
void hf_reply_stream_send(struct hf_reply_stream *stream, const struct hf_effect *effect);
/* As an event without an id, which cannot be resumed from. */
void hf_reply_stream_send_without_id(struct hf_reply_stream *stream,
                                     const struct hf_effect *effect);
void hf_reply_streams_end_gets(struct hf_http_session *session);
void hf_reply_streams_tick(struct hf_http_front *front, uint64_t now_ms);
uint64_t hf_reply_streams_next_ms(const struct hf_http_front *front); /* 0: nothing is due */

/* ---- oversized.c ---- */

enum { HF_OVERSIZED_MAX = 1024 };
struct hf_oversized {
    struct hf_effect effect;
    char text[HF_OVERSIZED_MAX];
};
/* The answer itself if it fits into maxBufferedBytes, of which clients that do not read use up a
 * part; else an error that says what became of the call, written into `room`. */
const struct hf_effect *hf_reply_stream_fit(const struct hf_reply_stream *stream,
                                            const struct hf_effect *answer,
                                            struct hf_oversized *room);

/* ---- mcp.c, sse_endpoint.c ---- */

/* Whether hf_mcp_post takes a POST with this head; if not, the exchange was refused. */
bool hf_mcp_takes(struct hf_exchange *exchange);
hf_route_handler hf_mcp_get, hf_mcp_post, hf_mcp_delete, hf_mcp_other;
hf_route_handler hf_sse_get, hf_sse_post;

#endif
