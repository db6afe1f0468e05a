/*
 * session.h - one client: who it is, what it may use, and what it asked for.
 *
 *     session ── calls, server requests, parked calls, subscriptions, listeners
 *
 * The functions are in client/ and inbox/session.c.
 */
#ifndef HF_CORE_STATE_SESSION_H
#define HF_CORE_STATE_SESSION_H

#include "base/list.h"
#include "base/timers.h"
#include "core/engine.h"
#include "core/machine/method.h"

struct hf_audience;
struct hf_client_party;
struct hf_view;

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
    struct hf_server *only;   /* the one server that it may use; NULL: all */
    struct hf_link in_only;   /* in only->own_sessions */
    struct hf_policy *policy; /* NULL: everything is allowed */
    struct hf_client_party *party;
    struct hf_audience *audience; /* the sessions with the same `only` and `policy` */
    struct hf_link in_audience;   /* in audience->members */
    struct hf_link in_greeted;    /* in audience->greeted */
    uint64_t told[HF_PART_COUNT]; /* the session was told its audience's news up to this number */
    uint64_t listeners_told;      /* the same for its listeners, for all parts together */
    uint64_t updated;             /* number of the last resource update that the session was sent */
    struct hf_link slots;         /* the session's own slots (isolation: session) */
    struct hf_sink *sink;
    bool is_modern; /* none of its requests may be legacy */
    bool has_greeted, is_finished, is_closed;
    bool has_initialized; /* it sent `initialized`, or any request since its initialize */
    uint64_t initialized_ms;
    enum hf_stream_state stream_state; /* as last told by the front */
    uint64_t streamless_ms;            /* since when it has no open stream */
    bool was_turned_away;        /* its initialize was answered: its server cannot be started */
    bool was_greeted_blind;      /* greeted before its only server had answered our initialize */
    char *initialize_params;     /* raw */
    struct hf_span capabilities; /* in initialize_params */
    char *log_level;             /* raw JSON string; NULL: never set */
    int level;                   /* the log level as a number; -1: never set */
    enum hf_errors_as errors_as; /* HF_ERRORS_UNSAID: as the servers' settings say */
    size_t remembered_bytes; /* of its initialize params, subscriptions, early server requests */
    struct hf_link calls, server_requests, questions, parks, subscriptions, uses, listeners, tasks;
    unsigned listener_count;
    uint32_t call_count;
    bool has_indexed_calls; /* all its calls are in the engine's maps (call/session_calls.c) */
    struct hf_view *given[HF_PART_COUNT]; /* the names that the client was last given */
    struct hf_timer settle;
    uint64_t last_dispatch_ms;
};

enum { HF_SESSION_REMEMBERED_MAX = 2 << 20 };

#endif
