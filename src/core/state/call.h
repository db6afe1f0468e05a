/*
 * call.h - one request on its way through: a client's, or one of our own.
 *
 * A call's stage (machine/stage.h) says where it is; its `link` is in the list of that stage.
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
struct hf_client_party;
struct hf_input;
struct hf_kept_answer;
struct hf_msg;
struct hf_park;
struct hf_remote_exchange;
struct hf_refusal;
struct hf_slot;

/* ---- frames ---- */

/* Id, name and progress token are replaced in every request; pieces stand around and between. */
enum { HF_PLAIN_CUTS_MAX = 3, HF_PLAIN_PIECES_MAX = 2 * HF_PLAIN_CUTS_MAX + 1 };

/* A message on its way into a server's stdin. */
struct hf_frame {
    struct hf_link link;    /* in runtime->out */
    struct hf_call *call;   /* NULL: the frame is that of a notice */
    struct hf_span *pieces; /* `plain`, or those of a call between the eras */
    uint8_t count;
    uint8_t digits_at;          /* where the digits begin */
    char digits[HF_DIGITS_MAX]; /* the call's id as text */
    size_t length, sent;
    struct hf_span plain[HF_PLAIN_PIECES_MAX];
};

/* A frame of no call: a notification or response of ours, or the end of a line that a call began.
 */
struct hf_notice {
    struct hf_frame frame; /* first: a notice is freed as its frame */
    size_t told;           /* its share of runtime->unsent_bytes */
    char text[];
};

enum { HF_CUTS_MAX = HF_PLAIN_CUTS_MAX + HF_INSERTS_MAX };
struct hf_cut { /* bytes of a call's text that are replaced on the way out */
    size_t at, length;
    struct hf_span by;
};

/* ---- who is told of a call ---- */

/* What a call was made for, and so who is told of its answer. */
enum hf_call_purpose {
    HF_FOR_CLIENT,
    HF_FOR_ERA_PROBE,    /* which era does the server speak? */
    HF_FOR_INITIALIZE,   /* our initialize */
    HF_FOR_LIST,         /* a page of a catalog part */
    HF_FOR_CHECK,        /* a liveness check */
    HF_FOR_INQUIRY,      /* does the remote server still know our session? */
    HF_FOR_RESTORE,      /* sets log level and subscriptions again */
    HF_FOR_SUBSCRIPTION, /* an upstream subscription at a modern server */
};

/* Who made a call, and is told what becomes of it. A callback table, because calls must not depend
 * on the rooms that make them, which stand above this one. A member may be NULL: that owner does
 * not need to be told. */
struct hf_call_owner {
    enum hf_call_purpose purpose;
    /* The server is there and has room for the call. True: the owner has answered the call without
     * the server. */
    bool (*answered_instead)(struct hf_call *call);
    void (*answered)(struct hf_call *call, const struct hf_msg *msg);
    /* The server's answer could not be read; `failure` stands for it. */
    void (*unreadable)(struct hf_call *call, const struct hf_msg *failure);
    void (*timed_out)(struct hf_call *call);
    void (*left)(struct hf_call *call); /* the call left its runtime, answered or not */
    /* The call was with `runtime` (NULL: with none) and ended without the server's answer. */
    void (*ended_unanswered)(const struct hf_call *call, struct hf_runtime *runtime);
};

/* What the room bridge does for a call that is parked there, or whose client is asked something
 * for its server. A callback table, because that room stands above this one: few calls ever get
 * there. */
struct hf_bridge_ops {
    /* for a call with a park */
    void (*ended)(struct hf_call *call, const struct hf_answer *answer); /* a parked call */
    /* True: the call was never sent since its client came back, and waits for the next retry. */
    bool (*laid_aside)(struct hf_call *call, enum hf_error error, const struct hf_answer *answer);
    void (*left)(struct hf_call *call);    /* the call, or a retry that waits for it, ends */
    void (*resent)(struct hf_call *call);  /* what the server asked in the call is moot */
    void (*keeping)(struct hf_call *call); /* the answer is known, and waits for leave to be sent */
    void (*left_server)(struct hf_call *call); /* the call is with no server from here on */
    /* Whether the call cannot go to another runtime, because its server asked for input in its
     * middle. */
    bool (*is_bound)(const struct hf_call *call);
    /* The generation of the runtime that has the call, or had it last. */
    uint64_t (*generation)(const struct hf_call *call);
    uint64_t (*via)(const struct hf_call *call); /* `via` of the newest waiter; 0: no waiter */
    struct hf_call *(*sent)(const struct hf_call *waiter); /* the parked call */
    void (*each_waiter)(const struct hf_call *call,
                        void (*tell)(const struct hf_call *call, const struct hf_call *waiter));
    /* for a call whose legacy client is asked something for a modern server */
    void (*input_dropped)(struct hf_call *call); /* the call is about to end */
    void (*input_timed_out)(struct hf_call *call);
    void (*input_free)(struct hf_input *input); /* NULL accepted */
};

/* What a call tells its server. A callback table, because the room of servers stands above this
 * one: servers make calls of their own. */
struct hf_call_host {
    unsigned (*slot_event)(struct hf_slot *slot, enum hf_slot_event event);
    void (*call_left)(struct hf_runtime *runtime);
    void (*went_silent)(struct hf_runtime *runtime); /* a call timed out, or was given up */
};

/* ---- the call ---- */

/* What is known of a call that was lost; see verdict.c. */
struct hf_loss {
    enum hf_evidence evidence;
    bool byte_taken; /* the server may have read a part of the call */
    const char *why; /* for the error text, if nobody can tell what became of the call */
};

/* What only modern calls, and calls between the eras, carry. */
struct hf_call_eras {
    struct hf_span capabilities; /* of the client, for this request; raw, in text */
    bool carries_state;  /* it has a requestState that is not ours: for modern servers only */
    uint32_t early_used; /* bits: which of the answers that the request brought along were used */
    const char *lacks; /* JSON: capabilities that the server wants and the client lacks; or NULL */
    struct hf_park *park; /* the call's own or, in stage JOINED, the one it waits for; NULL: none */
    struct hf_input *input; /* what a modern server asked the legacy client; NULL: nothing */
    char *extra;            /* members for params: input that the server asked for; NULL: none */
    uint64_t asked_by;      /* generation of the runtime that asked the legacy client for input */
    struct hf_insert inserts[HF_INSERTS_MAX]; /* in the text, for a server of the other era */
    struct hf_span pieces[HF_PIECES_MAX];     /* of the frame with these inserts in it */
};

/* What only a call carries that does not go straight to its server and back. */
struct hf_detour {
    uint64_t rest_until_ms;     /* the server turned the call away until then; 0: it did not */
    bool is_resting;            /* the call waits, and is not sent before rest_until_ms */
    bool was_corrected;         /* sent again because its HTTP headers were wrong */
    struct hf_refusal *refusal; /* being examined: is it about the session? NULL: none */
    uint64_t settle_by_ms; /* when the transport stops examining the call's loss; 0: it does not */
    uint64_t paused_left_ms; /* of callTimeoutMs, while the client is being asked something */
    uint64_t gone_ms;        /* since when nobody waits for the answer; 0: somebody does */
    struct hf_link in_gone;  /* in party->gone, while nobody does */
    struct hf_call *call;    /* whose detour it is */
};

/* The fields that every call needs on its way in, out and back stand together, in that order. */
struct hf_call {
    struct hf_link link;       /* in a turn, in runtime->calls, in slot->clearing, … (stage.h) */
    struct hf_link in_session; /* in session->calls */
    struct hf_map_node by_client_id, by_via; /* in the engine's maps, if the session has many */
    struct hf_engine *engine;
    struct hf_session *session;    /* NULL: a call of our own */
    struct hf_client_party *party; /* that the call is counted for; NULL: a call of our own */
    struct hf_slot *slot;
    struct hf_runtime *runtime;
    const struct hf_call_owner *owner;
    const struct hf_method *method;
    enum hf_call_stage stage;
    enum hf_part_id part; /* of HF_FOR_LIST, and of a client's list request */
    uint64_t id;          /* our id towards servers; 0: the call is not in the table */
    uint32_t index;
    uint8_t cut_count;
    bool is_modern : 1;  /* the request carries its client's introduction in _meta */
    bool owns_text : 1;  /* `text` is freed with the call; else it stands behind the struct */
    bool is_guess : 1;   /* a resource nobody lists: if this server lacks it, the next is asked */
    bool is_cleared : 1; /* the call has leave to be sent */
    bool is_cancelled : 1, is_answered : 1;
    bool was_dispatched : 1;   /* earlier: repeated since, or its server asked for input */
    char *text;                /* the request; a newline follows */
    size_t text_length;        /* without the newline */
    uint64_t via;              /* the front's number for the message that brought the call */
    struct hf_span client_id;  /* raw, in text */
    struct hf_span token;      /* the client's progress token, raw, in text; p NULL: none */
    struct hf_span uri;        /* of a resource request; raw, in text */
    struct hf_call_eras *eras; /* of modern calls and of calls between the eras; else NULL */
    struct hf_detour *detour;  /* NULL: none so far */
    size_t held;               /* bytes, as counted for its party */
    size_t intro;   /* part of `held` that is reserved for the introduction a modern server gets */
    char *own_name; /* the server's own name of what is called, where clients see another; JSON */
    struct hf_cut cuts[HF_PLAIN_CUTS_MAX];
    struct hf_frame frame;
    struct hf_remote_exchange *exchange; /* with a remote server, while it is open */
    struct hf_extent extent;
    struct hf_history history;
    enum hf_evidence evidence;   /* of the call's last loss */
    unsigned told_attempt;       /* the attempt number that the client was last told of */
    struct hf_kept_answer *kept; /* the answer in stage KEEPING; else NULL */
    uint64_t came_wall_ms;       /* wall clock, for people */
    uint64_t waited_ms, waiting_since_ms, wait_until_ms, dispatched_ms, end_by_ms, end_by_max_ms;
    struct hf_timer timer;
    double progress_sent;
};

static inline struct hf_park *hf_call_park(const struct hf_call *call) /* NULL: none */
{
    return call->eras ? call->eras->park : NULL;
}
static inline struct hf_input *hf_call_input(const struct hf_call *call) /* NULL: none */
{
    return call->eras ? call->eras->input : NULL;
}
static inline const struct hf_detour *hf_call_detour(const struct hf_call *call) /* for reading */
{
    static const struct hf_detour none = { 0 };
    return call->detour ? call->detour : &none;
}
static inline struct hf_refusal *hf_call_refusal(const struct hf_call *call) /* NULL: none */
{
    return hf_call_detour(call)->refusal;
}
static inline struct hf_span hf_call_digits(const struct hf_call *call) /* its id as text */
{
    const struct hf_frame *frame = &call->frame;
    return (struct hf_span) { frame->digits + frame->digits_at, HF_DIGITS_MAX - frame->digits_at };
}
static inline bool hf_call_is_tool_call(const struct hf_call *call)
{
    return call->method->id == HF_METHOD_TOOLS_CALL;
}

/* A parked call has no client side: only the retries that wait for it (its waiters) are told of
 * it. */
static inline bool hf_call_is_parked(const struct hf_call *call)
{
    return hf_call_park(call) && call->stage != HF_CALL_JOINED && !hf_linked(&call->in_session);
}

#endif
