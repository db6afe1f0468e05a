/*
 * engine.h - the whole of holdfast but its I/O: events and the time in, effects out.
 *
 * The engine owns servers, their runtimes, the clients' sessions and every call between them. It
 * does no I/O and reads no clock. After each event the shell takes the effects out with
 * hf_engine_next_effect, performs them, and calls hf_engine_collect; spans in effects are good
 * until then. The simulator is another shell.
 */
#ifndef HF_CORE_ENGINE_H
#define HF_CORE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/now.h"
#include "core/machine/http_body.h"
#include "core/machine/evidence.h"
#include "core/machine/runtime.h"
#include "core/machine/seal.h"
#include "core/note.h"
#include "core/settings.h"
#include "core/machine/slot.h"
#include "core/machine/start.h"
#include "core/machine/stats.h"
#include "wire/json.h"

struct hf_engine;
struct hf_server;          /* one configured server; stays while configured */
struct hf_runtime;         /* one live connection to a server */
struct hf_session;         /* one client */
struct hf_remote_exchange; /* one HTTP exchange of a runtime with its remote server */
struct hf_policy;          /* what some clients may see and use */
struct hf_client_party;    /* one of those among whom what is bounded for all is shared */

/* What is bounded for all clients together; each party has a share of it (base/share.h). */
#define HF_SHARED(X) /* id, name for machines */                                                   \
    X(CALLS, "calls")                                                                              \
    X(HELD, "request_bytes")                                                                       \
    X(SUBSCRIPTIONS, "subscriptions")                                                              \
    X(REMEMBERED, "client_bytes")                                                                  \
    X(PARKED, "parked_bytes")
#define HF_SHARED_ENUM(id, name) HF_SHARED_##id,
enum hf_shared { HF_SHARED_NONE, HF_SHARED(HF_SHARED_ENUM) HF_SHARED_COUNT };
const char *hf_shared_name(enum hf_shared what);

/* The shell's side of a server, a runtime, an exchange and a session. The engine hands each back to
 * the shell that gave it, and never looks inside: what they are is the shell's to say. */
struct hf_server_config;    /* how the server is reached */
struct hf_backend;          /* does the I/O of a runtime */
struct hf_backend_exchange; /* does that of an exchange */
struct hf_sink;             /* where a session's messages go */

/* ---- effects ---- */

enum hf_effect_kind {
    HF_DO_SPAWN,       /* start the server of `runtime` */
    HF_DO_WRITE,       /* `runtime` has bytes to write: hf_runtime_gather, then hf_runtime_wrote */
    HF_DO_TAKE_BACK,   /* take back what `runtime` did not read, then hf_runtime_taken_back */
    HF_DO_CLOSE_STDIN, /* close the stdin of `runtime` */
    HF_DO_TERM,
    HF_DO_KILL,
    HF_DO_RELEASE,        /* nothing of `runtime` is left: free what the shell has of it */
    HF_DO_SEND,           /* one message to `session`: the pieces, in order */
    HF_DO_EXCHANGE,       /* begin `exchange` with a remote server */
    HF_DO_ABORT_EXCHANGE, /* end `exchange`: nobody waits for it; report nothing more of it */
    HF_DO_DISCONNECT,     /* a remote `runtime` has ended: say hf_runtime_disconnected */
    HF_DO_NOTE,           /* something worth a log line: `note` */
    HF_DO_FORGET_SERVER,  /* `server` was removed and is gone: free what the shell has of it */
    HF_DO_ASK_LEAVE,      /* a call waits at `seam`: hf_engine_give_leave with `ticket` */
};

/* Where a call can be made to wait for somebody else. */
enum hf_seam {
    HF_SEAM_DISPATCH, /* the call has a place, and not a byte of it was written yet */
    HF_SEAM_ANSWER,   /* the call's answer is known, and not a byte of it was sent yet */
    HF_SEAM_COUNT,
};

enum { HF_PIECES_MAX = 12 };

struct hf_effect {
    enum hf_effect_kind kind;
    struct hf_runtime *runtime;
    struct hf_session *session;
    struct hf_server *server;
    struct hf_remote_exchange *exchange;
    unsigned piece_count;
    struct hf_span pieces[HF_PIECES_MAX];
    /* HF_DO_SEND */
    uint64_t via;                      /* hf_origin.via of the message that this belongs to; or 0 */
    bool is_answer;                    /* answers one request of that message */
    int error_code;                    /* if the answer is an error */
    enum hf_failure_form failure_form; /* of an answer: that of a failure in its place */
    enum hf_shared over; /* that the answered request would have exceeded its share of */
    /* HF_DO_ASK_LEAVE */
    enum hf_seam seam;
    uint64_t ticket;
    const struct hf_note *note; /* HF_DO_NOTE */
};

struct hf_engine *hf_engine_new(const struct hf_limits *limits, uint64_t seed);
void hf_engine_free(struct hf_engine *engine);
/* Seals and the keys of hash maps are made with the secret: random bytes, set once, before the
 * first event. */
void hf_engine_set_secret(struct hf_engine *engine, const uint8_t secret[HF_SECRET_SIZE]);
bool hf_engine_next_effect(struct hf_engine *engine, struct hf_effect *ret_effect);
void hf_engine_collect(struct hf_engine *engine);
/* Bytes of requests held at this moment; bytes of what clients made us remember of them. */
uint64_t hf_engine_held_bytes(const struct hf_engine *engine);
uint64_t hf_engine_remembered_bytes(const struct hf_engine *engine);
/* Failures of requests that were for no server. */
const struct hf_stats *hf_engine_stats(const struct hf_engine *engine);

/* For the simulator: called for every event that a slot's machine was given, with the state. */
typedef void (*hf_cell_hook)(void *context, enum hf_slot_state state, enum hf_slot_event event);
void hf_engine_on_cell(struct hf_engine *engine, hf_cell_hook hook, void *context);

/* What became of one call of a client: recorded once for each call, before its answer leaves.
 * Requests that never became a call (refused on arrival) are not recorded. */
struct hf_call_record {
    const struct hf_session *session;
    const struct hf_server *server; /* NULL: the call was for no server */
    uint64_t via;
    struct hf_span id; /* of the client's request, raw */
    bool is_tool_call; /* tools/call */
    bool is_joined;    /* a retry: the call that it waits for is recorded itself */
    bool is_parked;    /* the client was answered with a question before, and came back */
    unsigned outcome;  /* enum hf_outcome */
    int code;          /* of the error that the client was answered with; 0: none */
    uint64_t came_wall_ms, ended_wall_ms; /* for people: milliseconds since 1970 */
};
typedef void (*hf_answer_hook)(void *context, const struct hf_call_record *record);
void hf_engine_on_answer(struct hf_engine *engine, hf_answer_hook hook, void *context);

/* ---- seams: somebody else may have to agree before a call goes on ---- */

/* `is_used` true: from now on every tools/call asks for leave at the seam. False: nobody gives
 * leave any more; a call that waits before dispatch is refused, and an answer that waits leaves as
 * it is. */
void hf_engine_use_seam(struct hf_engine *engine, enum hf_seam seam, bool is_used,
                        struct hf_now now);
/* `refusal`: why the call must not be sent, for machines; NULL: the call may be sent. At
 * HF_SEAM_ANSWER the answer leaves in any case. The ticket of a call that has ended is ignored. */
void hf_engine_give_leave(struct hf_engine *engine, enum hf_seam seam, uint64_t ticket,
                          const char *refusal, struct hf_now now);

/* ---- time ---- */

uint64_t hf_engine_next_ms(const struct hf_engine *engine); /* when to tick next; 0: not needed */
/* Of many that are due some are left for the next tick. */
void hf_engine_tick(struct hf_engine *engine, struct hf_now now);

/* ---- servers and what operators do with them ---- */

struct hf_rename {
    struct hf_span from, to; /* plain text */
};

struct hf_server_spec {
    const char *name;
    struct hf_settings settings;
    const char *const *allow, *const *deny; /* NULL-terminated globs; allow NULL: everything */
    const struct hf_rename *renames, *descriptions;
    size_t rename_count, description_count;
    bool disabled;
    bool is_remote;        /* reached over HTTP: it has exchanges in the place of a stdin */
    const char *problem;   /* NULL, or why the server cannot be started as configured */
    bool problem_may_pass; /* a command or folder that may still appear: tried like any other */
    struct hf_server_config *config;
};

struct hf_server *hf_server_add(struct hf_engine *engine, const struct hf_server_spec *spec,
                                struct hf_now now);
struct hf_server *hf_server_find(struct hf_engine *engine, struct hf_span name);
/* The same server with other settings; `restart` says that they need a restart to take effect. */
void hf_server_change(struct hf_server *server, const struct hf_server_spec *spec, bool restart,
                      struct hf_now now);

/* For `holdfast run`: the server is sent the initialize of its one client, once that has come. To
 * be called before the first event of the server's runtime. */
void hf_server_set_clients_own(struct hf_server *server);

enum hf_op { HF_OP_ENABLE, HF_OP_DISABLE, HF_OP_RESTART, HF_OP_RECONNECT, HF_OP_REMOVE };
/* False: refused, because the server is switched off (restart and reconnect only). */
bool hf_server_op(struct hf_server *server, enum hf_op op, struct hf_now now);

struct hf_server_status {
    const char *name;
    enum hf_slot_state state;
    bool wanted, is_lazy, is_required;
    uint64_t generation; /* of the current runtime; 0: none yet */
    const char *last_reason, *last_stderr;
    uint32_t in_flight, waiting, failures_k, streak;
    uint64_t attempts, reconnects, calls, resends, unknowns, stale_drops, last_connected_ms;
    int64_t next_attempt_ms; /* absolute; -1: none scheduled */
    long pid;                /* of the current runtime's process; 0: none */
    bool close_failed;
};
void hf_server_status(const struct hf_server *server, struct hf_server_status *ret_status);
const struct hf_stats *hf_server_stats(const struct hf_server *server);
struct hf_server *hf_engine_next_server(struct hf_engine *engine, struct hf_server *after);

/* ---- runtimes: what the shell saw ---- */

struct hf_runtime *hf_engine_next_runtime(struct hf_engine *engine, struct hf_runtime *after);
struct hf_backend *hf_runtime_backend(const struct hf_runtime *runtime);
void hf_runtime_set_backend(struct hf_runtime *runtime, struct hf_backend *backend);
struct hf_server_config *hf_server_config(const struct hf_server *server);
struct hf_server *hf_runtime_server(const struct hf_runtime *runtime);
bool hf_runtime_is_remote(const struct hf_runtime *runtime);
uint64_t hf_runtime_generation(const struct hf_runtime *runtime);
enum hf_runtime_state hf_runtime_state(const struct hf_runtime *runtime);

void hf_runtime_started(struct hf_runtime *runtime, long pid, struct hf_now now);
void hf_runtime_not_started(struct hf_runtime *runtime, const struct hf_start_failure *failure,
                            struct hf_now now);
void hf_runtime_line(struct hf_runtime *runtime, struct hf_span line, struct hf_now now);
void hf_runtime_line_oversized(struct hf_runtime *runtime, const struct hf_json_skim *skim,
                               struct hf_now now);
void hf_runtime_bytes_came(struct hf_runtime *runtime, struct hf_now now); /* once per read */
void hf_runtime_stderr_line(struct hf_runtime *runtime, struct hf_span line);
void hf_runtime_eof(struct hf_runtime *runtime, struct hf_now now); /* its stdout ended */
void hf_runtime_exited(struct hf_runtime *runtime, int wait_status, struct hf_now now);
void hf_runtime_tree_gone(struct hf_runtime *runtime, struct hf_now now);
/* `taken` NULL: the pipe could not be read. */
void hf_runtime_taken_back(struct hf_runtime *runtime, const struct hf_span *taken,
                           struct hf_now now);
/* The bytes to write next, never more than `max` spans; none once the runtime is frozen. */
size_t hf_runtime_gather(const struct hf_runtime *runtime, struct hf_span *spans, size_t max);
void hf_runtime_wrote(struct hf_runtime *runtime, size_t n, struct hf_now now);
/* Whether the server was sent a request that it has not answered. */
bool hf_runtime_is_owed(const struct hf_runtime *runtime);

/* ---- remote servers: one exchange for each message ---- */

enum hf_remote_exchange_kind {
    HF_EXCHANGE_MESSAGE, /* POST of one message */
    HF_EXCHANGE_STREAM,  /* GET: the server's own stream, for what belongs to no request */
    HF_EXCHANGE_RESUME,  /* GET: the rest of a stream that was cut */
    HF_EXCHANGE_DELETE,  /* DELETE of the session */
};

struct hf_remote_exchange_request { /* good while HF_DO_EXCHANGE is performed */
    enum hf_remote_exchange_kind kind;
    struct hf_span endpoint;      /* p NULL: the URL of the config */
    struct hf_span session_id;    /* p NULL: none */
    struct hf_span version;       /* of the protocol; p NULL: not agreed on yet */
    struct hf_span last_event_id; /* p NULL: none */
    struct hf_span headers;       /* more header lines, "Name: value\\n" each */
    bool may_repeat;              /* after a reused connection turned out to be closed */
    unsigned piece_count;
    struct hf_span pieces[HF_PIECES_MAX];
};
void hf_remote_exchange_request(const struct hf_remote_exchange *exchange,
                                struct hf_remote_exchange_request *ret_request);
struct hf_runtime *hf_remote_exchange_runtime(const struct hf_remote_exchange *exchange);
bool hf_remote_exchange_is_answered(
    const struct hf_remote_exchange *exchange); /* the exchange's end does not matter any more */
/* Whether `text`, which may not be all of the body, answers the request that was sent. */
bool hf_remote_exchange_is_answer(struct hf_remote_exchange *exchange, struct hf_span text);
struct hf_backend_exchange *hf_remote_exchange_backend(const struct hf_remote_exchange *exchange);
void hf_remote_exchange_set_backend(struct hf_remote_exchange *exchange,
                                    struct hf_backend_exchange *backend);

/* A remote runtime is usable after hf_runtime_started with pid 0. What the shell sees of an
 * exchange follows, in this order; after hf_remote_exchange_ended, and after HF_DO_ABORT_EXCHANGE,
 * the exchange is gone. */
void hf_remote_exchange_sending(struct hf_remote_exchange *exchange,
                                struct hf_now now); /* from now on bytes may leave us */
void hf_remote_exchange_head(struct hf_remote_exchange *exchange, int status, bool is_stream,
                             struct hf_span session_id,
                             struct hf_now now); /* session_id.p NULL: the server gave none */
/* Not for the body of an answer with an error status: hf_remote_exchange_ended brings that. */
void hf_remote_exchange_message(struct hf_remote_exchange *exchange, struct hf_span text,
                                struct hf_now now);
void hf_remote_exchange_message_oversized(struct hf_remote_exchange *exchange,
                                          const struct hf_json_skim *skim, struct hf_now now);
/* The stream can be resumed after this event; retry_ms -1: the server did not say when. */
void hf_remote_exchange_event(struct hf_remote_exchange *exchange, struct hf_span event_id,
                              int64_t retry_ms);
/* HTTP+SSE: the URL that messages are to be sent to, already absolute and of the same origin. */
void hf_remote_exchange_endpoint(struct hf_remote_exchange *exchange, struct hf_span url,
                                 struct hf_now now);
struct hf_remote_exchange_end {
    enum hf_sent sent;
    int status;             /* 0: no whole head of an answer came */
    bool is_whole;          /* the answer came to its end, as far as HTTP can tell */
    int64_t retry_after_ms; /* -1: the server did not say */
    const char *why;        /* for people, if the answer is not whole */
    struct hf_body body;    /* if the answer was no stream of events, or had an error status */
};
void hf_remote_exchange_ended(struct hf_remote_exchange *exchange,
                              const struct hf_remote_exchange_end *end, struct hf_now now);
void hf_runtime_disconnected(struct hf_runtime *runtime, struct hf_now now);

/* ---- clients ---- */

/* What a client may see and use: NULL-terminated globs, copied. `servers` match the names of
 * servers; `allow` and `deny` match server__name, with the server's own name of a tool or prompt;
 * NULL allows everything. Every session that has the policy keeps it alive. */
struct hf_policy *hf_policy_new(const char *const *servers, const char *const *allow,
                                const char *const *deny);
void hf_policy_unref(struct hf_policy *policy);                                 /* NULL accepted */
bool hf_policy_allows_server(const struct hf_policy *policy, const char *name); /* NULL: yes */
bool hf_policy_same(const struct hf_policy *a, const struct hf_policy *b);      /* NULL accepted */
/* Right after hf_session_open: requests without a modern `_meta` of their own are refused. */
void hf_session_set_modern(struct hf_session *session);
/* The inputSchema of a tool by the name that this session sees (`raw_name` is JSON); p NULL: not
 * known. */
struct hf_span hf_session_tool_schema(struct hf_session *session, struct hf_span raw_name);
/* Right after hf_session_open: how holdfast's own failures are told to this client. */
void hf_session_set_errors_as(struct hf_session *session, enum hf_errors_as errors_as);
/* Right after hf_session_open. */
void hf_session_set_policy(struct hf_session *session, struct hf_policy *policy);

/* A party is a token, an address, a client: whatever must leave something to the others. A party
 * may be within another, as a session is within its token. Sessions and what they hold keep their
 * party alive. */
struct hf_client_party *hf_client_party_new(struct hf_client_party *within); /* NULL: in none */
void hf_client_party_unref(struct hf_client_party *party);                   /* NULL accepted */
/* A limit of the party's own, whatever is free; 0: none. */
void hf_client_party_set_max(struct hf_client_party *party, enum hf_shared what, uint64_t max);
uint64_t hf_client_party_used(const struct hf_client_party *party, enum hf_shared what);
/* Right after hf_session_open; without it a session is a party of its own. */
void hf_session_set_party(struct hf_session *session, struct hf_client_party *party);

/* `only` NULL: the client sees all servers, under prefixed names. Else that server alone, under its
 * own names. */
struct hf_session *hf_session_open(struct hf_engine *engine, struct hf_server *only,
                                   struct hf_sink *sink, struct hf_now now);
struct hf_sink *hf_session_sink(const struct hf_session *session);
void hf_session_message(struct hf_session *session, struct hf_span text, struct hf_now now);
/* What a front knows of a message besides its text. */
struct hf_origin {
    /* A number of the front's own: every effect that belongs to the requests of this message
     * (answers, progress, what the server asks meanwhile) carries it. 0: none. */
    uint64_t via;
    struct hf_span who; /* the client: a token, an address, a process; n 0: nobody in particular */
    struct hf_span key; /* idempotency key from outside the message; p NULL: none */
    struct hf_client_party *party; /* that has to pay for the message; NULL: the session's */
};
/* Returns how many answers the message will get; some may be among the effects already. */
unsigned hf_session_message_from(struct hf_session *session, struct hf_span text,
                                 const struct hf_origin *origin, struct hf_now now);
/* Nobody waits for the answers to `via` any more: calls that were not sent yet never will be, and
 * are answered so; the others go on. */
void hf_session_via_gone(struct hf_session *session, uint64_t via, struct hf_now now);
/* Closing the stream of a modern request is how its client cancels it: every request of `via` is
 * cancelled, also at its server. */
void hf_session_via_cancelled(struct hf_session *session, uint64_t via, struct hf_now now);
/* The protocol version that initialize was answered with; NULL before that. */
const char *hf_session_version(const struct hf_session *session);
bool hf_version_is_known(struct hf_span version); /* initialize can agree on it */
void hf_session_message_oversized(struct hf_session *session, const struct hf_json_skim *skim,
                                  struct hf_now now);
/* Somebody reads the answers to `via` again. */
void hf_session_via_back(struct hf_session *session, uint64_t via, struct hf_now now);
/* Whether servers ask this client something now; only then does hf_session_set_stream matter. */
bool hf_session_is_asked(const struct hf_session *session);
enum hf_stream_state {
    HF_STREAM_OPEN,       /* the client has a stream open; the default */
    HF_STREAM_MAY_REOPEN, /* the client has no open stream, but can come back to one */
    HF_STREAM_NONE,
};
void hf_session_set_stream(struct hf_session *session, enum hf_stream_state stream_state,
                           struct hf_now now);
/* The client will send nothing more, but still reads: all its requests are answered first. */
void hf_session_finish(struct hf_session *session, struct hf_now now);
bool hf_session_is_settled(const struct hf_session *session); /* finished, and all is answered */
/* The session will be closed next, and its client still reads: every call of the client is
 * answered, and cancelled at its server if it was sent. */
void hf_session_give_up(struct hf_session *session, struct hf_now now);
void hf_session_close(struct hf_session *session, struct hf_now now); /* the client is gone */

/* For `holdfast run`: whether the very first start of the client's own server has yet to succeed or
 * fail; whether it failed for good, so that every request of the client gets that as its answer;
 * and whether its initialize has got it. A client that asks for server/discover first may still
 * take a failure for an older server, and go on with initialize. */
bool hf_session_awaits_start(const struct hf_session *session);
bool hf_session_cannot_be_served(const struct hf_session *session);
bool hf_session_was_turned_away(const struct hf_session *session);

/* Waiting calls are answered now, dispatched calls have drainMs; then every server is removed. */
void hf_engine_stop(struct hf_engine *engine, struct hf_now now);
/* No runtime is left, and every answer was sent. */
bool hf_engine_is_stopped(const struct hf_engine *engine);

#endif
