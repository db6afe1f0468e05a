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
#include "base/share.h"
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
    HF_TIMER_ERA_PROBE,     /* a runtime does not answer which era it speaks */
    HF_TIMER_START,         /* an attempt's whole start took startTimeoutMs */
    HF_TIMER_EOF,           /* of a server's exit and the EOF of its stdout only one came */
    HF_TIMER_CHECK,         /* a liveness check is due, or was not answered in time */
    HF_TIMER_HOLD,          /* calls have waited long enough for a liveness check */
    HF_TIMER_EXTRA,         /* calls wait for a server that refuses connections */
    HF_TIMER_STALL,         /* a server's stdin took no byte for stallMs */
    HF_TIMER_SERVER_STREAM, /* a remote server's own stream is to be opened again */
    HF_TIMER_UPSTREAM,      /* an upstream subscription is late, or to be made again */
    HF_TIMER_EXCHANGE, /* a cut stream is to be resumed, or an answered one should have ended */
    HF_TIMER_DRAIN,    /* a finished session's dispatched calls have had their time */
    HF_TIMER_NEWS,     /* more clients are to be told of list changes */
    HF_TIMER_UPDATES,  /* more clients are to be told of updates of resources */
    HF_TIMER_SERVER_REQUEST, /* a client has not answered a server request */
    HF_TIMER_INITIALIZED,    /* a greeted server waits for its client's `initialized` */
    HF_TIMER_PARK, /* a round of questions is gathered, or no retry came for a parked call */
};

enum { HF_CALL_INDEX_BITS = 18, HF_CALLS_MAX = 1 << HF_CALL_INDEX_BITS };
enum { HF_SUBSCRIPTIONS_MAX = 10000 }; /* of all clients together */

/* What can be marked for review, in the order of review: a new runtime is told what clients had set
 * before it gets their calls. */
enum hf_mark_kind { HF_MARK_SERVER, HF_MARK_RUNTIME, HF_MARK_SLOT, HF_MARK_COUNT };

struct hf_grave {
    void (*bury)(void *p);
    void *p;
};

struct hf_engine {
    struct hf_limits limits;
    const struct hf_transport_ops *transports[2]; /* index: whether the server has a url */
    const struct hf_bridge_ops *bridge;
    const struct hf_call_host *host;
    struct hf_link servers, sessions, audiences;
    struct hf_link unlisted;             /* servers of which some part was never listed */
    struct hf_link anywhere;             /* subscriptions to resources that no server lists */
    struct hf_link marks[HF_MARK_COUNT]; /* what is to be looked at again; see reviews.c */
    bool is_marked;                      /* something is marked, or there is news to tell */
    struct hf_link audiences_to_tell;
    struct hf_timer more_news;
    struct hf_link updates; /* of resources, that not all followers were told of */
    size_t update_count;
    struct hf_timer more_updates;
    uint64_t news_serial, update_serial;
    uint64_t list_serial[HF_PART_COUNT]; /* counts changes of what servers offer, or publish */
    struct hf_call **calls;              /* by index; NULL: free */
    struct hf_map calls_by_client_id, calls_by_via; /* clients' calls: call/session_calls.c */
    struct hf_map turns;                            /* of all slots: call/queue.c */
    struct hf_pool call_blocks;
    uint32_t call_cap, free_hint, call_count, held_count;
    uint32_t gone_count; /* calls at a server for whose answer nobody waits */
    uint64_t serial, view_serial;
    uint64_t view_bytes; /* of the lists that clients are shown, or were given */
    struct hf_bound bounds[HF_SHARED_COUNT]; /* of what parties share: call/party.h */
    uint8_t secret[HF_SECRET_SIZE];
    struct hf_map_key map_key; /* key of every map, made of the secret */
    size_t longest_uri;        /* of any subscription since there was last none */
    struct hf_map subscriptions_by_uri, subscriptions_by_session; /* subscription/subscription.c */
    struct hf_tasks *tasks;                                       /* NULL: no task was ever made */
    struct hf_timers timers;
    struct hf_arena arena;
    struct hf_effect *effects;
    size_t effect_count, effect_taken, effect_cap;
    struct hf_grave *graves;
    size_t grave_count, grave_cap;
    uint64_t now_ms;  /* time of the event being handled; every deadline counts from it */
    uint64_t wall_ms; /* wall clock of that event, for people and for what is stored */
    uint64_t random;
    struct hf_stats stats; /* of requests that were for no server */
    bool is_stopping;
    bool uses_seam[HF_SEAM_COUNT];
    struct hf_link keeping; /* calls whose answers wait for leave to be sent */
    hf_cell_hook on_cell;   /* the simulator counts which cells were visited */
    void *on_cell_context;
    hf_answer_hook on_answer;
    void *on_answer_context;
};

#endif
