/*
 * server.h - one configured server, and its slots: where its runtimes are, and its calls that wait.
 *
 *     server ── slots ── runtimes ── calls
 *                  └──── turns ───── calls that wait
 *
 * A server is shared, or has a slot for each client (isolation: session). The functions are in
 * server/.
 */
#ifndef HF_CORE_STATE_SERVER_H
#define HF_CORE_STATE_SERVER_H

#include "base/list.h"
#include "base/map.h"
#include "base/timers.h"
#include "core/catalog/rules.h"
#include "core/engine.h"
#include "core/machine/backoff.h"
#include "core/machine/method.h"

struct hf_part;

/* The calls of one client that wait for one slot; turns are served in rotation. */
struct hf_turn {
    struct hf_link link;     /* in slot->turns */
    struct hf_map_node node; /* in engine->turns, by slot and session */
    struct hf_slot *slot;
    struct hf_session *session;
    struct hf_link calls;
};

struct hf_slot {
    struct hf_link link; /* in server->slots */
    struct hf_link mark; /* calls may be waiting although there are free places */
    struct hf_server *server;
    struct hf_session *owner; /* isolation: session; NULL: shared */
    struct hf_link in_owner;  /* in owner->slots */
    struct hf_slot_machine machine;
    struct hf_runtime *current, *attempt;
    struct hf_link runtimes; /* all that are not gone */
    bool attempt_is_extra;   /* the attempt costs no budget and no step of the schedule */
    bool attempt_waits;      /* the attempt waits for the old process tree to be gone */
    bool must_not_overlap;   /* no attempt until the old process tree is gone */
    bool extra_used;         /* there was an extra attempt in this step of the schedule */
    bool is_removed;
    unsigned attempt_number; /* attempts since the slot was last connected */
    uint64_t losses;         /* unplanned losses of a runtime, or of a session at a remote server */
    struct hf_timer due, idle, relist, extra;
    bool refuses_connections; /* the last exchange could not reach the server */
    struct hf_link turns;
    uint32_t waiting, resting; /* resting: how many of the waiting calls rest */
    struct hf_link clearing;   /* calls that have a place, and wait for leave to be sent */
    struct hf_link asking; /* calls whose legacy clients are asked something for a modern server */
};

enum hf_news {
    HF_NEWS_CHANGED,   /* the list is not what clients have been given */
    HF_NEWS_FIRST,     /* the list was fetched for the first time */
    HF_NEWS_ANNOUNCED, /* the server says that the list changed, and it is the same */
    HF_NEWS_COUNT,
};

struct hf_server {
    struct hf_link link;
    struct hf_link mark; /* its names may have to be published or hidden, held calls answered */
    struct hf_engine *engine;
    char *name, *prefix;
    struct hf_settings settings;
    struct hf_rule_set rules;
    bool wanted, is_removed, is_clients_own, is_remote, is_published, close_failed;
    bool was_changed;       /* settings were changed: a lowered limit holds for what comes later */
    bool needs_auth;        /* its endpoint wants credentials that it was not given */
    enum hf_era era;        /* as last learned */
    uint64_t probe_late_ms; /* how long the era probe may stay unanswered; 0: eraProbeMs */
    bool is_gone;           /* removed, and no slot is left: to be forgotten */
    bool is_forgotten;      /* it was gone, and has been forgotten */
    unsigned refs;          /* held by the engine, by `own_sessions`, by views */
    struct hf_link own_sessions;  /* sessions that came for this server alone */
    struct hf_link in_unlisted;   /* in engine->unlisted */
    struct hf_link held;          /* calls that wait until the server has said what it offers */
    struct hf_link subscriptions; /* of all clients, to the server's resources */
    struct hf_link uses;          /* which clients have used it; for `stateful` */
    char *problem;
    bool problem_may_pass;
    bool cannot_start; /* its one client is told so: the very first start failed for good */
    struct hf_server_config *config;
    struct hf_link slots;
    struct hf_backoff backoff;
    struct hf_part *parts[HF_PART_COUNT]; /* as last fetched in full; NULL: never listed */
    char *greeting;                       /* the last initialize result, raw */
    uint64_t generation;                  /* of the newest runtime */
    uint64_t list_serial[HF_PART_COUNT];  /* counts changes of what it offers, or publishes */
    uint64_t news[HF_NEWS_COUNT][HF_PART_COUNT]; /* numbers of news that clients are to be told */
    bool has_news;
    char reason[512], last_stderr[256];
    uint64_t attempts, reconnects, calls, resends, unknowns, stale_drops, last_connected_ms;
    struct hf_stats stats;
    bool warned_noise, warned_streak;
};

static inline bool hf_slot_has_attempt(const struct hf_slot *slot)
{
    return slot->attempt || slot->attempt_waits;
}
/* The shared slot, or the first one; NULL: the server has none. */
static inline struct hf_slot *hf_server_slot(const struct hf_server *server)
{
    return HF_LIST_FIRST(&server->slots, struct hf_slot, link);
}

#endif
