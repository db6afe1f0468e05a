/*
 * engine_state.h - what the engine itself is made of.
 *
 * The engine owns servers, sessions and calls; a server its slots; a slot its runtimes. Nothing is
 * freed while an event is handled: hf_bury keeps it until hf_engine_collect.
 */
#ifndef HF_CORE_STATE_ENGINE_STATE_H
#define HF_CORE_STATE_ENGINE_STATE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/timers.h"
#include "core/engine.h"
#include "core/machine/method.h"
#include "core/machine/seal.h"

struct hf_bridge_ops;
struct hf_call;
struct hf_call_host;
struct hf_tasks;
struct hf_transport_ops;

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

enum { HF_CALL_INDEX_BITS = 18, HF_CALLS_MAX = 1 << HF_CALL_INDEX_BITS };

/* In the order in which they are looked at: a new runtime hears what clients had set before their
 * calls come. */
enum hf_mark_kind { HF_MARK_SERVER, HF_MARK_RUNTIME, HF_MARK_SLOT, HF_MARK_COUNT };

struct hf_grave {
    void (*bury)(void *p);
    void *p;
};

struct hf_engine {
    struct hf_limits limits;
    const struct hf_transport_ops *transports[2]; /* whether the server has a url: false, true */
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
    struct hf_map calls_by_client_id, calls_by_via; /* of clients: call/session_calls.c */
    struct hf_pool call_blocks;
    uint32_t call_cap, free_hint, call_count, held_count;
    uint32_t gone_count; /* calls with the server for whose answer nobody waits */
    uint64_t serial, view_serial;
    uint64_t held_bytes;       /* of calls */
    uint64_t remembered_bytes; /* of sessions */
    uint64_t kept_bytes;       /* of parks: what may still be asked for again */
    uint8_t secret[HF_SECRET_SIZE];
    struct hf_map_key map_key; /* of every map: made of the secret */
    size_t subscription_count; /* of all clients */
    size_t longest_uri;        /* of them; it stays when that one ends, until none is left */
    struct hf_map subscriptions_by_uri, subscriptions_by_session; /* subscription/subscription.c */
    struct hf_tasks *tasks;                                       /* NULL: none was ever made */
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

#endif
