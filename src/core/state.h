/*
 * state.h - what the engine is made of; for the files of src/core only.
 *
 *   engine ── servers ── slots ── runtimes ── frames (on their way into a server's stdin)
 *      │                   └───── turns ───── calls that wait
 *      └──── sessions ── calls, asks (server -> client requests), given names
 *
 * Ownership: the engine owns servers, sessions and calls; a server its slots; a slot its runtimes.
 * Nothing is freed while an event is handled: hf_bury keeps it until hf_engine_collect.
 */
#ifndef HF_CORE_STATE_H
#define HF_CORE_STATE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/timers.h"
#include "core/backoff.h"
#include "core/catalog.h"
#include "core/engine.h"
#include "core/era.h"
#include "core/errors.h"
#include "core/method.h"
#include "wire/jsonrpc.h"

enum hf_timer_kind {
    HF_TIMER_CALL,   /* a call's nearest deadline */
    HF_TIMER_DUE,    /* a slot's scheduled attempt */
    HF_TIMER_IDLE,   /* a slot has been unused for idleMs */
    HF_TIMER_RELIST, /* a slot's slow re-list */
    HF_TIMER_STAY,   /* a runtime's stay in its state */
    HF_TIMER_PROBE,  /* it was asked which era it speaks, and is silent */
    HF_TIMER_START,  /* an attempt's whole start */
    HF_TIMER_EOF,    /* exited, but somebody holds its stdout */
    HF_TIMER_CHECK,  /* a liveness check is due, or has had its time */
    HF_TIMER_STALL,  /* its stdin took no byte */
    HF_TIMER_LISTEN, /* a remote server's own stream is to be opened again */
    HF_TIMER_POST,   /* a cut stream is to be resumed, or an answered one should have ended */
    HF_TIMER_SETTLE, /* a finished session's dispatched calls have had their time */
};

/* A message on its way into a server's stdin. */
struct hf_frame {
    struct hf_link link;  /* in runtime->out */
    struct hf_call *call; /* NULL: a notification or a response of ours */
    struct hf_span pieces[HF_PIECES_MAX];
    unsigned count;
    size_t length, sent;
    char *owned; /* freed with the frame */
    char digits[HF_DIGITS_MAX];
};

enum hf_call_stage {
    HF_CALL_NEW,     /* in no list: just made, or between two of the following */
    HF_CALL_HELD,    /* answered by us as soon as something is known: initialize, lists */
    HF_CALL_WAITING, /* for its server, or for a place */
    HF_CALL_QUEUED,  /* in a runtime's out list, no byte written */
    HF_CALL_WRITING, /* its first bytes are in the pipe */
    HF_CALL_SENT,    /* the whole line is */
    HF_CALL_ENDED,   /* answered, cancelled or dropped; buried once its frame is out of the way */
};

/* Whose request it is, and so who is told of the answer. */
enum hf_call_purpose {
    HF_FOR_CLIENT,
    HF_FOR_PROBE,   /* which era? */
    HF_FOR_HELLO,   /* our initialize */
    HF_FOR_LIST,    /* a page of a catalog part */
    HF_FOR_CHECK,   /* liveness */
    HF_FOR_DOUBT,   /* is this session still known? */
    HF_FOR_RESTORE, /* log level and subscriptions, set again */
};

enum { HF_CUTS_MAX = 3 + HF_INSERTS_MAX };
struct hf_cut { /* bytes of the text that are replaced on the way out */
    size_t at, length;
    struct hf_span by;
};

struct hf_call {
    struct hf_link link;       /* in a turn, or in runtime->calls */
    struct hf_link in_session; /* in session->calls */
    struct hf_engine *engine;
    struct hf_session *session; /* NULL: ours */
    struct hf_slot *slot;
    struct hf_runtime *runtime;
    enum hf_call_stage stage;
    enum hf_call_purpose purpose;
    const struct hf_method *method;
    enum hf_part_id part; /* HF_FOR_LIST, and a client's list */
    uint32_t index;
    uint64_t id;           /* towards servers; 0: not in the table */
    struct hf_span digits; /* of the id, in the frame */
    char *text;            /* a newline follows it */
    size_t text_length;    /* without that */
    char *own_text;        /* what `text` of a call of ours is in, or NULL: it stands behind us */
    uint64_t via;          /* the front's name for the message it came in */
    struct hf_span client_id;    /* raw, in text */
    struct hf_span token;        /* the client's progress token, raw, in text; p NULL: none */
    struct hf_span uri;          /* raw, in text: of a resource request */
    bool is_modern;              /* it carries its own introduction */
    struct hf_span capabilities; /* of its client, for this request; raw, in text */
    char *extra;                 /* members for params of what a server asked for; NULL: none */
    struct hf_insert inserts[HF_INSERTS_MAX]; /* towards a modern server, if it is legacy */
    struct hf_cut cuts[3];
    unsigned cut_count;
    char *own_name; /* the server's own name for what is called, where it differs; JSON */
    struct hf_frame frame;
    struct hf_post *post; /* its exchange with a remote server, while that is open */
    int doubted_status;   /* of an exchange that may have been about the session; 0: no doubt */
    struct hf_extent extent;
    struct hf_history history;
    enum hf_evidence evidence; /* of its last loss */
    bool was_dispatched;       /* to some generation, and repeated since because it may be */
    bool is_cancelled, is_tool_call, is_answered;
    bool is_guess; /* a resource nobody lists: if this server does not have it, the next is asked */
    uint64_t waited_ms, waiting_since_ms, wait_until_ms, dispatched_ms, end_by_ms, end_by_max_ms;
    uint64_t paused_left_ms; /* of end_by, while the client is being asked something */
    struct hf_timer timer;
    double progress_sent;
    unsigned told_attempt; /* the attempt number its client was last told of */
};

/* The calls of one client that wait for one slot; turns are served in rotation. */
struct hf_turn {
    struct hf_link link;
    struct hf_session *session;
    struct hf_link calls;
};

struct hf_slot {
    struct hf_link link; /* in server->slots */
    struct hf_server *server;
    struct hf_session *owner; /* isolation: session; NULL: shared */
    struct hf_slot_machine machine;
    struct hf_runtime *current, *attempt;
    struct hf_link runtimes; /* every one that is not gone */
    bool attempt_is_extra;   /* costs no budget and no step */
    bool attempt_waits;      /* for the old tree to be gone */
    bool must_not_overlap;   /* until the old tree is gone */
    bool extra_used;         /* in this step of the schedule */
    bool is_removed;
    unsigned attempt_number; /* since the last time it was connected */
    uint64_t losses;         /* unplanned: of a runtime, or of a session at a remote server */
    struct hf_timer due, idle, relist;
    struct hf_link turns;
    uint32_t waiting;
};

struct hf_rule_set {
    char **allow, **deny; /* NULL-terminated */
    struct hf_rename *renames, *descriptions;
    size_t rename_count, description_count;
};

struct hf_server {
    struct hf_link link;
    struct hf_engine *engine;
    char *name, *prefix;
    struct hf_settings settings;
    struct hf_rule_set rules;
    bool wanted, is_removed, is_clients_own, is_remote, is_published, close_failed;
    bool needs_auth;        /* its door wants credentials that it was not given */
    uint64_t not_before_ms; /* Retry-After: no attempt before it */
    enum hf_era era;        /* as last learned */
    bool is_forgotten;      /* removed and gone; freed after the sessions that came for it alone */
    unsigned own_sessions;
    char *problem;
    bool problem_may_pass;
    void *shell;
    struct hf_link slots;
    struct hf_backoff backoff;
    struct hf_part *parts[HF_PART_COUNT]; /* last good; NULL: never listed */
    char *greeting;                       /* the last initialize result, raw */
    uint64_t generation;                  /* of the newest runtime */
    char reason[200], last_stderr[256];
    uint64_t attempts, reconnects, calls, resends, unknowns, stale_drops, last_connected_ms;
    struct hf_stats stats;
    bool warned_noise, warned_streak;
};

struct hf_listing { /* one part being fetched by one runtime */
    struct hf_part *building;
    struct hf_part *ready; /* fetched before the runtime was installed */
    bool is_dirty;         /* changed again meanwhile: fetch once more */
};

/* One HTTP exchange with a remote server. */
struct hf_post {
    struct hf_link link; /* in remote.posts */
    struct hf_runtime *runtime;
    struct hf_call *call; /* that waits for its answer here; NULL: none, or none any more */
    enum hf_post_verb verb;
    void *shell;
    char *owned; /* a message without a call */
    size_t owned_length;
    uint64_t session; /* the number of the session it was begun under */
    char *session_id;
    char *event_id; /* raw; NULL: the stream cannot be resumed */
    int64_t retry_ms;
    int status;
    bool is_stream, is_begun; /* not begun: it is over, or the timer says when it is begun again */
    bool has_progressed;      /* since it was last begun */
    unsigned vain_resumes;
    struct hf_timer timer;
};

struct hf_remote { /* what only a runtime with a remote server has */
    struct hf_link posts;
    bool is_sse;            /* the older transport: answers come on one stream */
    char *endpoint;         /* of the older transport */
    uint64_t session;       /* number of the current session, from 1 */
    char *session_id;       /* NULL: it gave none */
    char *version;          /* of the protocol, as agreed */
    bool is_session_proven; /* something was answered under it */
    bool is_renewing;       /* the session was forgotten: another is being made */
    int gone_status;        /* with which the session before was refused */
    struct hf_post *listen, *initialized;
    struct hf_call *doubt; /* the ping that tells whether the session is known */
    bool was_listening;
    char *listen_id; /* last event of the server's own stream */
    unsigned listen_failures;
    struct hf_timer listen_again;
    bool was_lost; /* drains for as long as its answers take */
};

struct hf_runtime {
    struct hf_link link; /* in slot->runtimes */
    struct hf_slot *slot;
    struct hf_server *server;
    uint64_t generation;
    struct hf_runtime_machine machine;
    void *shell;
    long pid;
    bool is_started, is_remote;
    bool is_modern;     /* its server speaks the modern era */
    struct hf_link out; /* frames */
    uint64_t written;
    int64_t taken_back;
    bool is_frozen, has_exited, is_silent, is_tree_gone, is_over, is_settled;
    bool is_loss_pending; /* silent, and its exit is still to explain it */
    bool write_wanted;    /* an effect asking for it is out */
    int wait_status;
    struct hf_link calls; /* queued, writing or sent; ours included */
    uint32_t in_flight;   /* those of clients */
    bool completed_a_call;
    bool has_capability[HF_PART_COUNT], has_logging, has_subscribe;
    char *greeting;
    struct hf_listing listing[HF_PART_COUNT];
    bool was_probed, is_probing, has_shown_life;
    struct hf_timer stay, start, eof, check, stall, probe;
    uint64_t last_byte_ms, last_write_ms;
    uint32_t checks_failed;
    bool check_is_due; /* but calls are in flight: it waits for them */
    struct hf_call *check_call;
    struct hf_link asks;
    uint32_t ask_count;
    size_t told_bytes; /* of what it was told and has not taken yet */
    struct hf_remote remote;
};

/* A request of a server that is with a client. */
struct hf_ask {
    struct hf_link in_session, in_runtime;
    struct hf_session *session;
    struct hf_runtime *runtime;
    uint64_t via;    /* of the call it belongs to, if one is known */
    uint64_t id;     /* towards the client */
    char *server_id; /* raw */
};

struct hf_subscription {
    struct hf_link link; /* in session->subscriptions */
    struct hf_server *server;
    char *uri; /* raw JSON string */
};

/* How often a server had lost its state when a client last used it; for `stateful`. */
struct hf_use {
    struct hf_link link; /* in session->uses */
    struct hf_server *server;
    bool is_known;
    uint64_t losses;
};

struct hf_session {
    struct hf_link link;
    struct hf_engine *engine;
    struct hf_server *only;   /* NULL: all */
    struct hf_policy *policy; /* NULL: everything is allowed */
    void *shell;
    uint64_t via;          /* of the message being taken; 0: between two */
    bool is_modern;        /* none of its requests may be legacy */
    bool is_taking_modern; /* the request being taken, or the one being answered, is modern */
    bool is_taking_list;
    unsigned owed; /* answers to it */
    bool has_greeted, is_finished, is_closed;
    bool was_greeted_blind;      /* before its only server had said what it is */
    char *hello;                 /* params of its initialize, raw */
    struct hf_span capabilities; /* in hello */
    char *log_level;             /* raw JSON string; NULL: never set */
    struct hf_link calls, asks, subscriptions, uses;
    struct hf_view *given[HF_PART_COUNT]; /* the names it was last given */
    struct hf_timer settle;
    uint64_t last_dispatch_ms;
};

enum { HF_VIEWS_KEPT = 4, HF_CALLS_MAX = 1 << 16 };

struct hf_policy {
    unsigned refs;
    char **servers, **allow, **deny; /* NULL: everything, everything, nothing */
};

struct hf_door { /* the lists of all servers, or of one, under the names of that door */
    struct hf_link link;
    struct hf_server *only;
    struct hf_policy *policy;
    struct hf_view *views[HF_PART_COUNT][HF_VIEWS_KEPT]; /* newest first */
    bool is_stale[HF_PART_COUNT];
};

struct hf_grave {
    void (*bury)(void *p);
    void *p;
};

struct hf_engine {
    struct hf_limits limits;
    struct hf_link servers, sessions, doors;
    struct hf_call **calls; /* by index; NULL: free */
    uint32_t call_cap, free_hint, call_count, held_count;
    uint64_t serial, view_serial;
    uint64_t held_bytes;
    struct hf_timers timers;
    struct hf_arena arena;
    struct hf_effect *effects;
    size_t effect_count, effect_taken, effect_cap;
    struct hf_grave *graves;
    size_t grave_count, grave_cap;
    uint64_t now_ms, random;
    struct hf_stats stats; /* of requests that were for no server */
    bool is_stopping;
    bool is_reviewing_held, review_held; /* again, when this review is done */
    hf_cell_hook on_cell;                /* the simulator counts which cells were visited */
    void *on_cell_context;
};

/* engine.c */
struct hf_effect *hf_emit(struct hf_engine *engine, enum hf_effect_kind kind);
void hf_note(struct hf_engine *engine, enum hf_note_level level, const struct hf_server *server,
             uint64_t generation, const char *format, ...) HF_PRINTF(5, 6);
void hf_bury(struct hf_engine *engine, void (*bury)(void *), void *p);
double hf_random_share(struct hf_engine *engine); /* [0, 1) */
static inline void hf_set_now(struct hf_engine *engine, uint64_t now_ms)
{
    engine->now_ms = now_ms;
}

/* say.c: messages of our own making */
struct hf_buf hf_draft(void); /* a buffer for one message */
struct hf_span hf_keep(struct hf_engine *engine,
                       struct hf_buf *draft); /* until collect; frees the draft */
/* `via` 0: belongs to no request. */
void hf_send(struct hf_session *session, uint64_t via, struct hf_span message);
/* No answer will come: its client took the request back. */
void hf_send_nothing(struct hf_session *session, uint64_t via);
/* Answers to the message being taken. */
void hf_send_result(struct hf_session *session, struct hf_span id, struct hf_span result);
void hf_send_raw_result(struct hf_session *session, struct hf_span id, struct hf_span result);
void hf_send_error_data(struct hf_session *session, struct hf_span id, int code, const char *text,
                        struct hf_span data); /* raw; n 0: none */
/* A whole message that answers one request of `via`. */
void hf_send_answer(struct hf_session *session, uint64_t via, struct hf_span message,
                    int error_code);
void hf_send_error(struct hf_session *session, struct hf_span id, int code, const char *format, ...)
    HF_PRINTF(4, 5);
/* `text` with `by` in the place of `cut` */
struct hf_effect *hf_send_spliced(struct hf_session *session, uint64_t via, struct hf_span text,
                                  struct hf_span cut, struct hf_span by);
void hf_send_failure(struct hf_session *session, uint64_t via, struct hf_span id,
                     enum hf_error error, const struct hf_error_facts *facts);
/* Before there is a call; `server` may be NULL. */
void hf_refuse(struct hf_session *session, struct hf_span id, struct hf_server *server,
               enum hf_error error, const char *reason, const char *sentence);
void hf_tell(struct hf_runtime *runtime, struct hf_span message); /* a notification or response */
void hf_tell_error(struct hf_runtime *runtime, struct hf_span id, int code, const char *text);

/* moves.c: what a move of a slot does */
void hf_slot_begin_attempt(struct hf_slot *slot, bool is_extra);
void hf_slot_probe_later(struct hf_slot *slot);
void hf_slot_attempt_anew(
    struct hf_slot *slot); /* the running one taught us something: uncharged */
/* server.c: slots */
unsigned hf_slot_event(struct hf_slot *slot, enum hf_slot_event event); /* the effects */
struct hf_slot *hf_slot_for(struct hf_server *server, struct hf_session *session, bool make);
void hf_slot_attempt_failed(struct hf_slot *slot, bool is_charged);
void hf_slot_touch(struct hf_slot *slot);        /* used just now: the idle clock starts anew */
void hf_slot_runtime_gone(struct hf_slot *slot); /* one of its runtimes is */
void hf_slot_review_waiting(struct hf_slot *slot);
void hf_slot_tell_waiting(struct hf_slot *slot); /* progress: an attempt begins */
void hf_slot_due(struct hf_slot *slot);
void hf_slot_idle(struct hf_slot *slot);
void hf_slot_relist(struct hf_slot *slot);
void hf_slots_drop_owner(struct hf_session *session); /* it is gone, and so are its own slots */
bool hf_slot_has_attempt(const struct hf_slot *slot);
int64_t hf_slot_retry_after_ms(const struct hf_slot *slot);
void hf_server_reason(struct hf_server *server, const char *format, ...) HF_PRINTF(2, 3);
struct hf_slot *hf_server_slot(const struct hf_server *server); /* the shared or first one */
void hf_server_review(struct hf_server *server);  /* are its names still to be published? */
void hf_server_destroy(struct hf_server *server); /* at the end of the engine */
void hf_server_left(struct hf_server *server);    /* by a session that came for it alone */

/* life.c: runtimes */
struct hf_runtime *hf_runtime_new(struct hf_slot *slot);
void hf_runtime_event(struct hf_runtime *runtime, enum hf_runtime_event event);
void hf_runtime_discard(struct hf_runtime *runtime); /* at the end of the engine */
void hf_runtime_maybe_greet(struct hf_runtime *runtime);
void hf_runtime_maybe_drained(struct hf_runtime *runtime);
void hf_runtime_timer(struct hf_runtime *runtime, enum hf_timer_kind kind);
void hf_runtime_want_write(struct hf_runtime *runtime);
void hf_runtime_lose(struct hf_runtime *runtime, enum hf_runtime_event how); /* it must go: lost */

/* hello.c: handshake and lists */
void hf_hello_begin(struct hf_runtime *runtime);
void hf_hello_install(struct hf_runtime *runtime); /* what it said and lists becomes the server's */
void hf_hello_answered(struct hf_call *call, const struct hf_msg *msg);
void hf_list_answered(struct hf_call *call, const struct hf_msg *msg);
void hf_list_again(struct hf_runtime *runtime, enum hf_part_id part);
void hf_list_dropped(struct hf_runtime *runtime);
void hf_restore(struct hf_runtime *runtime); /* log level and subscriptions */
void hf_restore_level(struct hf_runtime *runtime);

void hf_hello_introduced(struct hf_runtime *runtime); /* it heard our `initialized` */
void hf_hello_greeted(struct hf_runtime *runtime, struct hf_span result); /* modern, too */
/* An attempt that cannot be used is closed politely; its slot is told first. */
void hf_hello_give_up(struct hf_runtime *runtime, const char *what, const struct hf_msg *msg);

/* probe.c */
void hf_probe_begin(struct hf_runtime *runtime);
void hf_probe_answered(struct hf_call *call, const struct hf_msg *msg);
void hf_probe_is_legacy(struct hf_runtime *runtime);
void hf_probe_sign_of_life(struct hf_runtime *runtime);
void hf_probe_timer(struct hf_runtime *runtime);

/* remote.c: exchanges with remote servers */
void hf_remote_init(struct hf_runtime *runtime);
void hf_remote_done(struct hf_runtime *runtime);
void hf_remote_start(struct hf_runtime *runtime); /* says hello, or first opens the older stream */
void hf_remote_dispatch(struct hf_call *call);    /* its frame is built */
void hf_remote_tell(struct hf_runtime *runtime, struct hf_span message);
/* Our `initialized`; hf_hello_introduced when it has arrived. */
void hf_remote_introduce(struct hf_runtime *runtime, struct hf_span version);
void hf_remote_close(struct hf_runtime *runtime);
void hf_remote_kill(struct hf_runtime *runtime);
void hf_remote_lost(struct hf_runtime *runtime); /* reason said before; what is under way goes on */
void hf_post_leave(struct hf_post *post, bool is_answered); /* its call has ended */
void hf_post_timer(struct hf_post *post);
struct hf_post *hf_post_new(struct hf_runtime *runtime, enum hf_post_verb verb,
                            struct hf_call *call);
void hf_post_abort(struct hf_post *post);
/* remote_session.c: sessions at remote servers, and the server's own stream */
void hf_remote_doubt(struct hf_call *call, int status, uint64_t session);
void hf_remote_session_gone(struct hf_runtime *runtime, int status);
void hf_remote_doubt_resolved(struct hf_runtime *runtime, int status); /* 0: it is alive */
void hf_remote_renewed(struct hf_runtime *runtime);
void hf_remote_listen(struct hf_runtime *runtime);
void hf_remote_listen_over(struct hf_post *post, const struct hf_post_end *end);
void hf_remote_reject(struct hf_call *call, int status, enum hf_http_verdict verdict);

/* call.c */
/* NULL: too much is under way already, and the client was told. */
struct hf_call *hf_call_new(struct hf_session *session, const struct hf_method *method,
                            const struct hf_msg *msg);
struct hf_call *hf_call_ours(struct hf_runtime *runtime, enum hf_call_purpose purpose,
                             const struct hf_method *method, struct hf_span params);
struct hf_call *hf_call_by_id(struct hf_runtime *runtime, uint64_t id);
void hf_call_cut(struct hf_call *call, struct hf_span span, struct hf_span by);
/* wait.c */
void hf_call_arrive(struct hf_call *call, struct hf_slot *slot);
void hf_call_wait(struct hf_call *call);            /* joins its client's turn, by age */
void hf_call_unwait(struct hf_call *call);          /* leaves it */
void hf_call_refuse_by_state(struct hf_call *call); /* switched off, given up, shutting down */

void hf_call_dispatch(struct hf_call *call, struct hf_runtime *runtime);
void hf_call_written(struct hf_call *call, struct hf_runtime *runtime); /* its whole line is out */
void hf_call_abandoned(struct hf_call *call);                           /* and will never be */
void hf_call_end(struct hf_call *call);                                 /* without a word */
void hf_call_fail(struct hf_call *call, enum hf_error error, const char *reason, const char *format,
                  ...) HF_PRINTF(4, 5);
void hf_call_cancel(struct hf_call *call, struct hf_span reason);
void hf_call_timer(struct hf_call *call);
void hf_call_pass(struct hf_call *call, const struct hf_msg *msg); /* the server's answer */
void hf_call_move(struct hf_call *call,
                  struct hf_slot *slot); /* answered "not mine": ask another */
void hf_call_lost(struct hf_call *call, struct hf_stream_facts facts);
void hf_call_judge(struct hf_call *call, enum hf_evidence evidence, bool byte_taken);
void hf_call_arm(struct hf_call *call);
/* frame.c */
void hf_frame_build(struct hf_call *call);
void hf_slot_flush(struct hf_slot *slot); /* dispatches what waits, as far as there is room */
void hf_slot_fail_waiting(struct hf_slot *slot);
void hf_frame_free(void *frame);

/* welcome.c */
void hf_welcome_hello(struct hf_session *session, struct hf_span params); /* of its initialize */
/* One that does not introduce itself is served as one that can do nothing special. */
void hf_welcome_stranger(struct hf_session *session);
void hf_welcome(struct hf_session *session, struct hf_span id); /* answers its initialize */
void hf_welcome_modern(struct hf_session *session, const struct hf_msg *msg);
void hf_welcome_add_capabilities(struct hf_buf *out, struct hf_span capabilities);
void hf_welcome_add_instructions(struct hf_buf *out, const struct hf_session *session);

/* modern.c */
/* False: refused, and the client was told. */
bool hf_modern_check(struct hf_session *session, const struct hf_method *method,
                     const struct hf_msg *msg);
void hf_modern_discover(struct hf_session *session, struct hf_span id);
/* The members that every result of ours has for a modern client; no brace, no comma behind. */
void hf_modern_add_dress(struct hf_buf *out, const struct hf_session *session, bool is_cacheable);
/* Passes a legacy server's answer to a modern client; false: it can go as it is. */
bool hf_modern_pass(struct hf_call *call, const struct hf_msg *msg);

/* client.c */
void hf_client_answered(struct hf_call *call, const struct hf_msg *msg);
void hf_held_review(struct hf_engine *engine); /* lists and initializes that wait for knowledge */
void hf_held_over(struct hf_call *call);       /* answered with what is there */
/* session.c */
void hf_session_maybe_settle(struct hf_session *session);
void hf_session_timer(struct hf_session *session);
void hf_session_forget(struct hf_session *session, struct hf_server *server);
bool hf_session_uses(const struct hf_session *session,
                     const struct hf_server *server); /* its door */
void hf_session_subscribe(struct hf_session *session, struct hf_server *server, struct hf_span uri);
void hf_session_unsubscribe(struct hf_session *session, const struct hf_server *server,
                            struct hf_span uri); /* p NULL: all of that server */
/* Another client subscribed to the same through the same runtime. */
bool hf_session_shares(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span uri);
struct hf_use *hf_session_use(struct hf_session *session, struct hf_server *server);

/* upward.c: what servers send */
/* `origin`: the call on whose own stream it came; NULL: not known. */
void hf_take_message(struct hf_runtime *runtime, struct hf_call *origin, struct hf_span text);
void hf_take_over(struct hf_runtime *runtime, const struct hf_json_skim *skim);
void hf_asks_drop(struct hf_runtime *runtime);
void hf_ask_answered(struct hf_session *session, const struct hf_msg *msg);
void hf_ask_end(struct hf_ask *ask);
void hf_ask_answer_over(struct hf_session *session, struct hf_span id); /* it was too large */

/* liveness.c */
void hf_check_maybe(struct hf_runtime *runtime);
void hf_check_timer(struct hf_runtime *runtime);
void hf_check_answered(struct hf_runtime *runtime);
void hf_stall_timer(struct hf_runtime *runtime);
void hf_check_call_ended(struct hf_runtime *runtime);

/* view.c: lists under the names of a door */
struct hf_view;
struct hf_target { /* what a name stands for */
    struct hf_server *server;
    struct hf_span own_name; /* raw JSON string; p NULL: as the client wrote it */
    bool is_idempotent, is_denied, is_guess;
};
void hf_views_stale(struct hf_server *server, enum hf_part_id part);
struct hf_span hf_view_page(struct hf_session *session, enum hf_part_id part, struct hf_span cursor,
                            struct hf_err *err); /* p NULL: a bad cursor */
bool hf_view_resolve(struct hf_session *session, enum hf_part_id part, struct hf_span raw_name,
                     struct hf_target *ret_target);
struct hf_server *hf_view_template_server(struct hf_session *session, struct hf_span raw_uri);
void hf_view_unref(struct hf_view *view);                             /* NULL accepted */
void hf_doors_drop(struct hf_engine *engine, struct hf_server *only); /* NULL: all */
void hf_part_changed(struct hf_server *server, enum hf_part_id part,
                     bool is_first); /* tell clients */

/* policy.c */
bool hf_policy_allows(const struct hf_policy *policy, const struct hf_server *server,
                      struct hf_span own_name); /* plain */

/* rules.c */
void hf_rules_set(struct hf_rule_set *rules, const struct hf_server_spec *spec);
void hf_rules_done(struct hf_rule_set *rules);
bool hf_rules_same(const struct hf_rule_set *a, const struct hf_rule_set *b);
bool hf_rules_allow(const struct hf_rule_set *rules, struct hf_span name);
const struct hf_rename *hf_rules_find(const struct hf_rename *list, size_t count,
                                      struct hf_span from);

#endif
