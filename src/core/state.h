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
#include "base/pool.h"
#include "base/timers.h"
#include "core/machine/backoff.h"
#include "core/catalog/part.h"
#include "core/engine.h"
#include "core/call/era.h"
#include "core/machine/errors.h"
#include "core/remote/remote.h"
#include "core/subscription/listen.h"
#include "core/machine/method.h"
#include "core/machine/seal.h"
#include "core/machine/stage.h"
#include "core/machine/tail.h"
#include "wire/jsonrpc.h"

enum hf_timer_kind {
    HF_TIMER_CALL,          /* a call's nearest deadline */
    HF_TIMER_DUE,           /* a slot's scheduled attempt */
    HF_TIMER_IDLE,          /* a slot has been unused for idleMs */
    HF_TIMER_RELIST,        /* a slot's slow re-list */
    HF_TIMER_STAY,          /* a runtime's stay in its state */
    HF_TIMER_ERA_PROBE,     /* it was asked which era it speaks, and is silent */
    HF_TIMER_START,         /* an attempt's whole start */
    HF_TIMER_EOF,           /* exited, but somebody holds its stdout */
    HF_TIMER_CHECK,         /* a liveness check is due, or has had its time */
    HF_TIMER_HOLD,          /* calls have waited long enough for such a check */
    HF_TIMER_EXTRA,         /* calls wait for a server that refuses connections */
    HF_TIMER_STALL,         /* its stdin took no byte */
    HF_TIMER_SERVER_STREAM, /* a remote server's own stream is to be opened again */
    HF_TIMER_UPSTREAM,      /* a modern server is to be listened to again */
    HF_TIMER_EXCHANGE, /* a cut stream is to be resumed, or an answered one should have ended */
    HF_TIMER_DRAIN,    /* a finished session's dispatched calls have had their time */
    HF_TIMER_NEWS,     /* more clients are to be told what changed */
    HF_TIMER_SERVER_REQUEST, /* a client has not answered what a server asked */
    HF_TIMER_INITIALIZED,    /* a greeted server waits for its client's `initialized` */
    HF_TIMER_PARK,           /* a round is gathered, or a parked call was not come back for */
};

/* A message on its way into a server's stdin. */
struct hf_frame {
    struct hf_link link;  /* in runtime->out */
    struct hf_call *call; /* NULL: a notification or a response of ours */
    struct hf_span pieces[HF_PIECES_MAX];
    unsigned count;
    size_t length, sent;
    char *owned; /* freed with the frame */
    size_t told; /* what it counts in told_bytes */
    char digits[HF_DIGITS_MAX];
};

/* Whose request it is, and so who is told of the answer. */
enum hf_call_purpose {
    HF_FOR_CLIENT,
    HF_FOR_ERA_PROBE,    /* which era? */
    HF_FOR_INITIALIZE,   /* our initialize */
    HF_FOR_LIST,         /* a page of a catalog part */
    HF_FOR_CHECK,        /* liveness */
    HF_FOR_INQUIRY,      /* is this session still known? */
    HF_FOR_RESTORE,      /* log level and subscriptions, set again */
    HF_FOR_SUBSCRIPTION, /* what a modern server tells of itself */
};

struct hf_answer;
struct hf_input;

/* Who made a call, and is told what becomes of it. A callback table, because a call must not know
 * who asks what: the rooms that make calls stand above this one. A member that is NULL: its owner
 * does not care. */
struct hf_call_owner {
    enum hf_call_purpose purpose;
    /* Its server is there and has room. True: the owner has answered it without its server. */
    bool (*answered_instead)(struct hf_call *call);
    void (*answered)(struct hf_call *call, const struct hf_msg *msg);
    void (*unreadable)(struct hf_call *call, const struct hf_msg *failure); /* its answer was */
    void (*timed_out)(struct hf_call *call);
    void (*left)(struct hf_call *call); /* its runtime, answered or not */
    /* It was with `runtime` (NULL: with none) and ended without the server's answer. */
    void (*ended_unanswered)(const struct hf_call *call, struct hf_runtime *runtime);
};

enum { HF_CUTS_MAX = 3 + HF_INSERTS_MAX };
struct hf_cut { /* bytes of the text that are replaced on the way out */
    size_t at, length;
    struct hf_span by;
};

/* What the room between the eras does for a call that is parked there, or whose client is asked
 * something for its server. A callback table, because that room stands above this one: few calls
 * ever get there. */
struct hf_bridge_ops {
    /* of a call with a park */
    void (*ended)(struct hf_call *call, const struct hf_answer *answer); /* it is parked */
    /* True: it was never sent since its client came back, and waits for the next time. */
    bool (*laid_aside)(struct hf_call *call, enum hf_error error, const struct hf_answer *answer);
    void (*left)(struct hf_call *call);        /* the call, or one that waits for it, ends */
    void (*resent)(struct hf_call *call);      /* what was asked in it is moot */
    void (*keeping)(struct hf_call *call);     /* its answer is known, and waits for leave to go */
    void (*left_server)(struct hf_call *call); /* it is with no server from here on */
    bool (*is_bound)(const struct hf_call *call); /* to its server, which asked in the middle */
    uint64_t (*generation)(const struct hf_call *call);    /* that has the call, or had it last */
    uint64_t (*via)(const struct hf_call *call);           /* of the newest waiter; 0: none */
    struct hf_call *(*sent)(const struct hf_call *waiter); /* what it waits for */
    void (*each_waiter)(const struct hf_call *call,
                        void (*tell)(const struct hf_call *call, const struct hf_call *waiter));
    /* of a call whose legacy client is asked for its modern server */
    void (*input_dropped)(struct hf_call *call); /* the call is about to end */
    void (*input_timed_out)(struct hf_call *call);
    void (*input_free)(struct hf_input *input); /* NULL accepted */
};

/* What a call tells the server it is for. A callback table, because servers stand above calls:
 * they make some of their own. */
struct hf_call_host {
    unsigned (*slot_event)(struct hf_slot *slot, enum hf_slot_event event);
    void (*call_left)(struct hf_runtime *runtime);
    void (*went_silent)(struct hf_runtime *runtime); /* a call timed out, or was given up */
};

/* What became of a client's call, as it is counted and recorded. */
enum hf_outcome {
    HF_OUTCOME_RESULT,
    HF_OUTCOME_ERROR,     /* of the server, or of ours about the request itself */
    HF_OUTCOME_FAILED,    /* one of our own errors (errors.h) */
    HF_OUTCOME_CANCELLED, /* its client took it back, or is gone */
    HF_OUTCOME_RELAYED, /* a retry hears what became of the parked call, which is counted itself */
};

/* An answer on its way out: `head`, the client's id, and the rest of it. */
enum { HF_ANSWER_PARTS = 3 };
struct hf_answer {
    enum hf_outcome outcome;
    enum hf_error error;                  /* HF_OUTCOME_FAILED */
    int code;                             /* of a JSON-RPC error; 0: a result */
    struct hf_span head;                  /* n 0: nothing is said */
    struct hf_span rest[HF_ANSWER_PARTS]; /* good until collect */
};

struct hf_kept_answer { /* while its call is KEEPING */
    struct hf_answer answer;
    size_t length;
    char bytes[];
};

/* What is known of a call that was lost; see verdict.c. */
struct hf_loss {
    enum hf_evidence evidence;
    bool byte_taken; /* somebody may have read a part of it */
    const char *why; /* for people, if nobody can tell what became of it */
};

/* Whose request it is, where sharing and repeats are concerned (DESIGN 2). */
struct hf_caller {
    struct hf_span who;    /* said by the front: a token, an address, a process; n 0: not said */
    uint64_t session;      /* its number; 0: many clients share it, and `client` tells them apart */
    struct hf_span client; /* clientInfo of a modern request, raw; p NULL: not said */
    struct hf_span chain;  /* what a holdfast in front of us calls it, raw; p NULL: there is none */
};

/* One request of a client as it comes in: passed along until it was answered or became a call. */
struct hf_incoming {
    struct hf_session *session;
    uint64_t via;      /* the front's name for the message it came in; 0: none */
    struct hf_span id; /* raw; p NULL: it could not be read */
    bool is_modern;    /* it carries its own introduction */
    const struct hf_method *method;
    const struct hf_msg *msg;
    struct hf_caller caller;
    struct hf_span key; /* idempotency key that its client gave, plain or raw; p NULL: none */
};

struct hf_call {
    struct hf_link link;       /* in a turn, in runtime->calls, in slot->clearing, … (stage.h) */
    struct hf_link in_session; /* in session->calls */
    struct hf_engine *engine;
    struct hf_session *session; /* NULL: ours */
    struct hf_slot *slot;
    struct hf_runtime *runtime;
    enum hf_call_stage stage;
    const struct hf_call_owner *owner;
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
    struct hf_park *park;        /* what it carries or, if it is JOINED, waits for; NULL: none */
    bool is_modern;              /* it carries its own introduction */
    bool carries_state;          /* a requestState that is not ours: for modern servers only */
    struct hf_span capabilities; /* of its client, for this request; raw, in text */
    const char *lacks;           /* JSON: capabilities that its server would have needed; or NULL */
    char *extra;                 /* members for params: what its server asked for; NULL: none */
    uint32_t given_used;         /* bits: answers it brought along that were used */
    struct hf_input *input;      /* its modern server asked its legacy client; NULL: never */
    uint64_t asked_by;           /* the generation that did */
    size_t held;                 /* bytes of it in engine->held_bytes */
    size_t intro;                /* of those, for what is added when it is first sent */
    struct hf_insert inserts[HF_INSERTS_MAX]; /* towards a server of the other era */
    struct hf_cut cuts[3];
    unsigned cut_count;
    char *own_name; /* the server's own name for what is called, where it differs; JSON */
    struct hf_frame frame;
    struct hf_post *post;       /* its exchange with a remote server, while that is open */
    struct hf_refusal *refusal; /* how it was turned away, if that may not be about it; else NULL */
    uint64_t settle_by_ms; /* when its transport stops trying to find out; 0: it does not try */
    struct hf_extent extent;
    struct hf_history history;
    enum hf_evidence evidence; /* of its last loss */
    bool was_dispatched;       /* before this time: repeated since, or asked about in between */
    bool is_cancelled, is_tool_call, is_answered;
    bool is_cleared;             /* it has leave to be sent */
    struct hf_kept_answer *kept; /* KEEPING; else NULL */
    bool was_corrected;          /* sent again because what its headers said was wrong */
    bool is_guess; /* a resource nobody lists: if this server does not have it, the next is asked */
    uint64_t came_wall_ms; /* for people */
    uint64_t waited_ms, waiting_since_ms, wait_until_ms, dispatched_ms, end_by_ms, end_by_max_ms;
    uint64_t paused_left_ms; /* of end_by, while the client is being asked something */
    uint64_t rest_until_ms;  /* its server turned it away for now; 0: it did not */
    bool is_resting;         /* it waits, and will not be sent before that */
    struct hf_timer timer;
    double progress_sent;
    unsigned told_attempt; /* the attempt number its client was last told of */
    uint64_t gone_ms;      /* since when nobody waits for its answer; 0: somebody does */
};

/* The calls of one client that wait for one slot; turns are served in rotation. */
struct hf_turn {
    struct hf_link link;
    struct hf_session *session;
    struct hf_link calls;
};

struct hf_slot {
    struct hf_link link; /* in server->slots */
    struct hf_link mark; /* calls may be waiting for places that are free */
    struct hf_server *server;
    struct hf_session *owner; /* isolation: session; NULL: shared */
    struct hf_link in_owner;  /* in owner->slots */
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
    struct hf_timer due, idle, relist, extra;
    bool refuses_connections; /* its server, as the last of its exchanges said */
    struct hf_link turns;
    uint32_t waiting, resting; /* resting: of those that wait */
    struct hf_link clearing;   /* calls that have a place, and wait for leave to be sent */
    struct hf_link asking;     /* calls whose legacy clients are asked for their modern server */
};

enum hf_news {
    HF_NEWS_CHANGED,   /* what clients have been given is not what it is */
    HF_NEWS_FIRST,     /* listed for the first time */
    HF_NEWS_ANNOUNCED, /* its server says that it changed, and it is the same */
    HF_NEWS_COUNT,
};

struct hf_rule_set {
    char **allow, **deny; /* NULL-terminated */
    struct hf_rename *renames, *descriptions;
    size_t rename_count, description_count;
};

struct hf_server {
    struct hf_link link;
    struct hf_link mark; /* its names may have to be published or hidden, held calls answered */
    struct hf_engine *engine;
    char *name, *prefix;
    struct hf_settings settings;
    struct hf_rule_set rules;
    bool wanted, is_removed, is_clients_own, is_remote, is_published, close_failed;
    bool was_changed;             /* its settings: a limit that was lowered holds for what comes */
    bool needs_auth;              /* its door wants credentials that it was not given */
    enum hf_era era;              /* as last learned */
    uint64_t probe_late_ms;       /* how long it may be silent on that question; 0: as set */
    bool is_gone;                 /* removed, and no slot of it is left: to be forgotten */
    bool is_forgotten;            /* and so it was */
    unsigned refs;                /* of the engine, of sessions that came for it alone, of views */
    struct hf_link own_sessions;  /* those */
    struct hf_link in_unlisted;   /* in engine->unlisted */
    struct hf_link held;          /* calls that wait until it has said what it offers */
    struct hf_link subscriptions; /* to its resources, of all clients */
    struct hf_link uses;          /* by clients; for `stateful` */
    char *problem;
    bool problem_may_pass;
    void *shell;
    struct hf_link slots;
    struct hf_backoff backoff;
    struct hf_part *parts[HF_PART_COUNT]; /* last good; NULL: never listed */
    char *greeting;                       /* the last initialize result, raw */
    uint64_t generation;                  /* of the newest runtime */
    uint64_t list_serial[HF_PART_COUNT];  /* counts changes of what it offers, or publishes */
    uint64_t news[HF_NEWS_COUNT][HF_PART_COUNT]; /* numbers of what clients have not heard of */
    bool has_news;
    char reason[200], last_stderr[256];
    uint64_t attempts, reconnects, calls, resends, unknowns, stale_drops, last_connected_ms;
    struct hf_stats stats;
    bool warned_noise, warned_streak;
};

/* How bytes reach a server: through a pipe (server/pipe.c) or by HTTP exchanges (remote/). A
 * callback table, because what is true of every runtime must not know how it is reached. A member
 * that is NULL: nothing to do there. */
struct hf_transport_ops {
    void (*init)(struct hf_runtime *runtime);
    void (*forget)(struct hf_runtime *runtime); /* memory alone; `done` came before */
    void (*done)(struct hf_runtime *runtime);   /* nothing of it is under way from here on */
    /* messages */
    void (*send)(struct hf_call *call); /* its frame is built */
    void (*tell)(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message);
    void (*call_left)(struct hf_call *call);
    /* True: the transport has to find out more before the call is judged, or judged it itself. */
    bool (*call_lost)(struct hf_call *call);
    void (*call_due)(struct hf_call *call); /* its `settle_by_ms` has come */
    /* True: the answer says that the call never ran, and the transport has dealt with it. */
    bool (*takes_answer)(struct hf_call *call, const struct hf_msg *msg);
    void (*answer_passed)(struct hf_runtime *runtime, const struct hf_msg *msg);
    /* the start */
    void (*greet)(struct hf_runtime *runtime);
    void (*forget_session)(struct hf_runtime *runtime); /* of an initialize that was in vain */
    void (*agree)(struct hf_runtime *runtime, struct hf_span version);
    void (*introduce)(struct hf_runtime *runtime); /* our `initialized` */
    void (*renewed)(struct hf_runtime *runtime);   /* introduced once more, in place */
    void (*installed)(struct hf_runtime *runtime);
    void (*tools_listed)(struct hf_runtime *runtime); /* or could not be */
    void (*listen_refused)(struct hf_runtime *runtime);
    /* the end */
    void (*give_up)(struct hf_runtime *runtime);         /* it cannot be used; reason said before */
    void (*start_timed_out)(struct hf_runtime *runtime); /* it is live, and was greeted again */
    void (*switched_off)(struct hf_runtime *runtime);
    bool (*outstayed)(struct hf_runtime *runtime); /* false: as any other that drains too long */
    void (*freeze)(struct hf_runtime *runtime);
    void (*close)(struct hf_runtime *runtime);
    void (*term)(struct hf_runtime *runtime);
    void (*kill)(struct hf_runtime *runtime);
};

/* Why no client's call is sent to a live runtime at this moment: bits. */
enum hf_hold {
    HF_HOLD_RENEWAL = 1 << 0,    /* its session was forgotten: another is being made */
    HF_HOLD_REFUSAL = 1 << 1,    /* something may say that its session is forgotten */
    HF_HOLD_UNCLEAR = 1 << 2,    /* a call was refused: is this session served at all? */
    HF_HOLD_CORRECTION = 1 << 3, /* its tools are listed again: what we said of one was wrong */
    HF_HOLD_CHECK = 1 << 4,      /* one call was lost to it: is it still there? */
};

struct hf_listing { /* one part being fetched by one runtime */
    struct hf_part *building;
    struct hf_part *ready; /* fetched before the runtime was installed */
    bool is_dirty;         /* changed again meanwhile: fetch once more */
    bool is_announced;     /* its server said that it changed */
};

struct hf_runtime {
    struct hf_link link; /* in slot->runtimes */
    struct hf_link mark; /* what clients want to hear of it may have changed */
    struct hf_slot *slot;
    struct hf_server *server;
    uint64_t generation;
    struct hf_runtime_machine machine;
    void *shell;
    long pid;
    const struct hf_transport_ops *transport;
    struct hf_remote *remote; /* what only one behind a URL has; NULL: it has a pipe */
    unsigned holds;           /* enum hf_hold */
    bool is_started;
    bool is_older_transport; /* HTTP+SSE, which no modern server speaks */
    bool is_introducing;     /* our `initialized` is on its way to it */
    bool is_to_restore;      /* it is to be told what clients had set: log level, subscriptions */
    bool is_modern;          /* its server speaks the modern era */
    struct hf_link out;      /* frames */
    uint64_t written;
    struct hf_tail tail; /* of what was written */
    int64_t taken_back;
    bool is_frozen, has_exited, is_silent, is_tree_gone, is_over, is_settled;
    bool is_loss_pending; /* silent, and its exit is still to explain it */
    bool write_wanted;    /* an effect asking for it is out */
    int wait_status;
    struct hf_link calls; /* queued, writing or sent; ours included */
    uint32_t in_flight;   /* those of clients */
    bool completed_a_call;
    bool has_capability[HF_PART_COUNT], announces[HF_PART_COUNT], has_logging, has_subscribe,
        has_tasks;
    struct hf_upstream upstream;
    char *greeting;
    struct hf_listing listing[HF_PART_COUNT];
    bool was_probed, is_probing, has_shown_life;
    bool may_die_of_probe; /* it was asked first of all, and has not answered */
    struct hf_timer stay, start, eof, check, stall, probe;
    uint64_t last_byte_ms, last_write_ms;
    uint32_t checks_failed;
    bool awaits_client;     /* greeted, and told `initialized` when its client has said that */
    struct hf_timer client; /* but no later */
    uint64_t roots_of;      /* number of the client whose roots it knows of; 0: nobody's */
    bool check_is_due;      /* but calls are in flight: it waits for them */
    struct hf_call *check_call;
    bool is_suspect;       /* one call was lost to it: it is checked, or will be */
    uint64_t suspected_ms; /* when the last such check began; 0: never */
    struct hf_timer hold;  /* of HF_HOLD_CHECK */
    struct hf_link server_requests;
    uint32_t server_request_count;
    size_t unsent_bytes;   /* memory for what it was told and has not taken yet */
    uint32_t unsent_count; /* of one behind a URL: exchanges for it */
};

static inline bool hf_runtime_is_renewing(const struct hf_runtime *runtime)
{
    return runtime->holds & HF_HOLD_RENEWAL;
}
static inline void hf_runtime_hold(struct hf_runtime *runtime, enum hf_hold why, bool is_held)
{
    runtime->holds = is_held ? runtime->holds | why : runtime->holds & ~(unsigned)why;
}

/* A request of a server that is with a client. */
struct hf_server_request {
    struct hf_link in_session, in_runtime;
    struct hf_session *session;
    struct hf_runtime *runtime;
    uint64_t via;    /* of the call it belongs to, if one is known */
    uint64_t id;     /* towards the client */
    char *server_id; /* raw */
    uint64_t since_ms;
    struct hf_timer timer; /* its client is not waited for any longer */
    /* of a modern client's call: it goes into a round of its park, and is in no session */
    struct hf_park *park; /* NULL: a legacy client was asked */
    struct hf_link in_park;
    enum hf_method_id method;
    unsigned key;
    uint32_t round;  /* 0: not asked yet */
    char *request;   /* until it is asked; of a legacy client: until that is initialized */
    bool is_refused; /* its client cannot be asked this: told with the answers of the round */
};

/* An answer, from behind its id on. */
struct hf_saying {
    char *rest; /* NULL: it was too much to be kept */
    size_t length;
    int code; /* 0: a result */
};

/* What a modern client is asked at once, and how it answered. */
struct hf_round {
    struct hf_link link; /* in park->rounds, oldest first */
    uint32_t number;
    struct hf_saying question;
    bool was_heard; /* by a client that was there */
    bool is_answered;
    uint8_t digest[HF_SHA256_SIZE]; /* of the inputResponses that answered it */
};

/* A modern client's call whose legacy server asked something in the middle of it: the client's
 * request is answered with the question, and its retry goes on with the same call. */
struct hf_park {
    struct hf_link link; /* in session->parks */
    struct hf_session *session;
    struct hf_call *call; /* NULL: it has ended, and `end` says how */
    uint64_t number;
    char *server;
    uint64_t generation;
    enum hf_failure_form form;
    uint8_t bound[HF_SHA256_SIZE]; /* caller, tool and arguments */
    char *capabilities;            /* of the newest request for it, raw */
    struct hf_link server_requests, rounds;
    struct hf_link waiters; /* calls that are JOINED */
    unsigned last_key;
    bool is_gathering; /* the round to come; the timer says until when */
    bool is_anew;      /* its server wanted something done before it runs: sent anew after that */
    struct hf_saying end;
    bool was_heard; /* the end, by a retry */
    size_t kept;    /* bytes of ours in engine->kept_bytes */
    struct hf_timer timer;
};

/* What a legacy client is being asked for a modern server, and was before. */
struct hf_input {
    unsigned rounds;
    unsigned open;         /* questions that are not answered yet */
    char *state;           /* raw: of the round under way; NULL: none */
    struct hf_buf answers; /* to it, so far */
};

/* What a modern server wants to know, with a legacy client. */
struct hf_question {
    struct hf_link link; /* in session->questions */
    struct hf_call *call;
    uint64_t id; /* towards the client */
    char *key;   /* raw, without quotes: the server's name for it */
    bool is_elicitation;
};

/* How often a server had lost its state when a client last used it; for `stateful`. */
struct hf_use {
    struct hf_link link, in_server; /* in session->uses, in server->uses */
    struct hf_server *server;
    uint64_t losses;
};

struct hf_session {
    struct hf_link link;
    struct hf_engine *engine;
    uint64_t number;
    struct hf_server *only;       /* NULL: all */
    struct hf_link in_only;       /* in only->own_sessions */
    struct hf_policy *policy;     /* NULL: everything is allowed */
    struct hf_audience *audience; /* those that have both in common with it */
    struct hf_link in_audience;   /* in door->members */
    struct hf_link in_greeted;    /* in door->greeted */
    uint64_t told[HF_PART_COUNT]; /* news of its door up to this number */
    uint64_t listeners_told;      /* the same for its listeners, of all parts */
    uint64_t updated;             /* number of the last resource update that it was sent */
    struct hf_link slots;         /* its own: isolation: session */
    void *shell;
    bool is_modern; /* none of its requests may be legacy */
    bool has_greeted, is_finished, is_closed;
    bool has_initialized; /* it said so, or asked for something since its initialize */
    uint64_t initialized_ms;
    enum hf_hearing hearing;     /* as far as the front has said */
    uint64_t deaf_ms;            /* since when it hears nothing */
    bool was_greeted_blind;      /* before its only server had said what it is */
    char *hello;                 /* params of its initialize, raw */
    struct hf_span capabilities; /* in hello */
    char *log_level;             /* raw JSON string; NULL: never set */
    int level;                   /* the same as a number; -1: never set */
    enum hf_errors_as errors_as; /* UNSAID: as its servers say */
    size_t remembered_bytes;     /* of its hello and its subscriptions */
    struct hf_link calls, server_requests, questions, parks, subscriptions, uses, listeners, tasks;
    unsigned listener_count;
    struct hf_view *given[HF_PART_COUNT]; /* the names it was last given */
    struct hf_timer settle;
    uint64_t last_dispatch_ms;
};

enum { HF_VIEWS_KEPT = 4, HF_SESSION_REMEMBERED_MAX = 1 << 20 };
enum { HF_CALL_INDEX_BITS = 18, HF_CALLS_MAX = 1 << HF_CALL_INDEX_BITS };

struct hf_policy {
    unsigned refs;
    char **servers, **allow, **deny; /* NULL: everything, everything, nothing */
};

enum { HF_LEVEL_COUNT = 8 }; /* of logging, from debug to emergency */

struct hf_audience { /* sessions that see the same servers under the same names; see door.c */
    struct hf_link link;
    struct hf_engine *engine;
    struct hf_server *only;
    struct hf_policy *policy;
    struct hf_view *views[HF_PART_COUNT][HF_VIEWS_KEPT]; /* newest first */
    uint64_t built_at[HF_PART_COUNT];                    /* list_serial by then */
    struct hf_link members, greeted;             /* sessions; those that have been greeted */
    unsigned levels[HF_LEVEL_COUNT];             /* how many of them set that log level */
    uint64_t news[HF_NEWS_COUNT][HF_PART_COUNT]; /* number of the newest */
    bool hides;                                  /* what changed may be hidden from its clients */
    struct hf_link mark;                         /* in engine->audiences_to_tell */
    struct hf_link *next_to_tell; /* in members; the list itself: all have been told */
};

/* In the order in which they are looked at: a new runtime hears what clients had set before their
 * calls come. */
enum hf_mark_kind { HF_MARK_SERVER, HF_MARK_RUNTIME, HF_MARK_SLOT, HF_MARK_COUNT };

struct hf_grave {
    void (*bury)(void *p);
    void *p;
};

struct hf_engine {
    struct hf_limits limits;
    const struct hf_transport_ops *remote_transport; /* of servers that have a url */
    const struct hf_bridge_ops *bridge;
    const struct hf_call_host *host;
    struct hf_link servers, sessions, audiences;
    struct hf_link unlisted;             /* servers of which some part was never listed */
    struct hf_link anywhere;             /* subscriptions to resources that no server lists */
    struct hf_link marks[HF_MARK_COUNT]; /* what is to be looked at again; see reviews.c */
    bool is_marked;                      /* there is something, also news to be told */
    struct hf_link audiences_to_tell;
    struct hf_timer more_news;
    uint64_t news_serial, update_serial;
    uint64_t list_serial[HF_PART_COUNT]; /* counts changes of what servers offer, or publish */
    struct hf_call **calls;              /* by index; NULL: free */
    struct hf_pool call_blocks;
    uint32_t call_cap, free_hint, call_count, held_count;
    uint32_t gone_count; /* calls with the server for whose answer nobody waits */
    uint64_t serial, view_serial;
    uint64_t held_bytes;       /* of calls */
    uint64_t remembered_bytes; /* of sessions */
    uint64_t kept_bytes;       /* of parks: what may still be asked for again */
    uint8_t secret[HF_SECRET_SIZE];
    size_t subscription_count; /* of all clients */
    struct hf_tasks *tasks;    /* NULL: none was ever made */
    struct hf_timers timers;
    struct hf_arena arena;
    struct hf_effect *effects;
    size_t effect_count, effect_taken, effect_cap;
    struct hf_grave *graves;
    size_t grave_count, grave_cap;
    uint64_t now_ms;  /* of the event being handled; every deadline is made of it */
    uint64_t wall_ms; /* the same for people, and for what is stored */
    uint64_t random;
    struct hf_stats stats; /* of requests that were for no server */
    bool is_stopping;
    bool uses_seam[HF_SEAM_COUNT];
    struct hf_link keeping; /* calls whose answers wait for leave to go */
    hf_cell_hook on_cell;   /* the simulator counts which cells were visited */
    void *on_cell_context;
    hf_answer_hook on_answer;
    void *on_answer_context;
};

#include "core/inner.h"

#endif
