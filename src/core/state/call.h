/*
 * call.h - one request on its way through: a client's, or one of our own.
 *
 * Its stage (machine/stage.h) says where it is; `link` is in the list that belongs to that stage.
 * The functions are in call/.
 */
#ifndef HF_CORE_STATE_CALL_H
#define HF_CORE_STATE_CALL_H

#include "base/list.h"
#include "base/map.h"
#include "base/timers.h"
#include "core/machine/era.h"
#include "core/engine.h"
#include "core/machine/evidence.h"
#include "core/machine/method.h"
#include "core/machine/stage.h"

struct hf_answer;
struct hf_input;
struct hf_kept_answer;
struct hf_msg;
struct hf_park;
struct hf_remote_exchange;
struct hf_refusal;
struct hf_slot;

/* ---- frames ---- */

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

enum { HF_CUTS_MAX = 3 + HF_INSERTS_MAX };
struct hf_cut { /* bytes of the text that are replaced on the way out */
    size_t at, length;
    struct hf_span by;
};

/* ---- who is told of a call ---- */

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

/* ---- the call ---- */

/* What is known of a call that was lost; see verdict.c. */
struct hf_loss {
    enum hf_evidence evidence;
    bool byte_taken; /* somebody may have read a part of it */
    const char *why; /* for people, if nobody can tell what became of it */
};

/* What only modern calls, and calls between the eras, carry. */
struct hf_call_eras {
    struct hf_span capabilities; /* of its client, for this request; raw, in text */
    bool carries_state;          /* a requestState that is not ours: for modern servers only */
    const char *lacks;           /* JSON: capabilities that its server would have needed; or NULL */
    uint32_t early_used;         /* bits: answers it brought along that were used */
    char *extra;                 /* members for params: what its server asked for; NULL: none */
    uint64_t asked_by;           /* the generation that asked its legacy client for input */
    struct hf_insert inserts[HF_INSERTS_MAX]; /* towards a server of the other era */
};

struct hf_call {
    struct hf_link link;       /* in a turn, in runtime->calls, in slot->clearing, … (stage.h) */
    struct hf_link in_session; /* in session->calls */
    struct hf_map_node by_client_id, by_via; /* in the engine's maps, if its session has many */
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
    struct hf_span client_id; /* raw, in text */
    struct hf_span token;     /* the client's progress token, raw, in text; p NULL: none */
    struct hf_span uri;       /* raw, in text: of a resource request */
    struct hf_park *park;     /* what it carries or, if it is JOINED, waits for; NULL: none */
    bool is_modern;           /* it carries its own introduction */
    struct hf_input *input;   /* its modern server asked its legacy client; NULL: never */
    struct hf_call_eras
        *eras;    /* what only modern calls, and those between the eras, carry; or NULL */
    size_t held;  /* bytes of it in engine->held_bytes */
    size_t intro; /* of those, for what is added when it is first sent */
    struct hf_cut cuts[3];
    unsigned cut_count;
    char *own_name; /* the server's own name for what is called, where it differs; JSON */
    struct hf_frame frame;
    struct hf_remote_exchange *exchange; /* its exchange with a remote server, while that is open */
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

/* It has no client side: only those that came back for it (its waiters) are told of it. */
static inline bool hf_call_is_parked(const struct hf_call *call)
{
    return call->park && call->stage != HF_CALL_JOINED && !hf_linked(&call->in_session);
}

#endif
