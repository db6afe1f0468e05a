/* engine.c - the engine's frame: effects, notes, time, freed memory. See engine.h. */
#include "core/engine.h"
#include "core/call/party.h"
#include <assert.h>
#include "core/bridge/park.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/client/audience.h"
#include "core/client/tasks.h"
#include "core/inbox/choose_client.h"
#include "core/inbox/session.h"
#include "core/machine/stats.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/session.h"
#include "core/remote/transport.h"
#include "core/reviews.h"
#include "core/server/era_probe.h"
#include "core/server/handshake.h"
#include "core/server/listing.h"
#include "core/server/liveness.h"
#include "core/server/pipe.h"
#include "core/server/runtime.h"
#include "core/server/server.h"
#include "core/server/slot.h"
#include "core/settings.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"
#include "core/subscription/upstream.h"

/* A block holds a call and its text, if the text is of the usual length; as many blocks are kept as
 * a busy client has calls in flight. */
enum { CALL_BLOCK_SIZE = 2048, CALL_BLOCKS_MAX = 128 };
enum { TIMERS_A_TURN = 256 }; /* about 3 us each: the deadlines of many calls may be one moment */

/* A map that has items keeps its old key: an item stays under the hash it was put in with. */
static void set_map_key(struct hf_engine *engine, struct hf_map_key key)
{
    struct hf_map *const maps[] = { &engine->subscriptions_by_uri,
                                    &engine->subscriptions_by_session, &engine->calls_by_client_id,
                                    &engine->calls_by_via, &engine->turns };
    engine->map_key = key;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        if (maps[i]->count)
            continue;
        hf_map_done(maps[i]);
        hf_map_init(maps[i], &key);
    }
}

struct hf_engine *hf_engine_new(const struct hf_limits *limits, uint64_t seed)
{
    struct hf_engine *engine = hf_new(struct hf_engine);
    engine->limits = *limits;
    hf_bounds_init(engine);
    engine->random = seed ? seed : 1;
    engine->transports[false] = &hf_pipe_transport;
    engine->transports[true] = &hf_remote_transport;
    engine->bridge = &hf_bridge_ops;
    engine->host = &hf_call_host;
    set_map_key(engine, (struct hf_map_key) { { seed, ~seed } }); /* until the secret is set */
    hf_link_init(&engine->servers);
    hf_link_init(&engine->sessions);
    hf_link_init(&engine->audiences);
    hf_link_init(&engine->keeping);
    hf_link_init(&engine->unlisted);
    hf_link_init(&engine->anywhere);
    hf_link_init(&engine->audiences_to_tell);
    hf_link_init(&engine->updates);
    for (enum hf_mark_kind kind = 0; kind < HF_MARK_COUNT; kind++)
        hf_link_init(&engine->marks[kind]);
    hf_timer_init(&engine->more_news, HF_TIMER_NEWS, engine);
    hf_timer_init(&engine->more_updates, HF_TIMER_UPDATES, engine);
    engine->call_blocks = HF_POOL(CALL_BLOCK_SIZE, CALL_BLOCKS_MAX);
    return engine;
}

void hf_engine_set_secret(struct hf_engine *engine, const uint8_t secret[HF_SECRET_SIZE])
{
    static const char what[] = "hash maps"; /* the key reveals nothing of the secret */
    struct hf_sha256 hash;
    uint8_t digest[HF_SHA256_SIZE];
    memcpy(engine->secret, secret, HF_SECRET_SIZE);
    hf_sha256_init(&hash);
    hf_sha256_feed(&hash, (struct hf_span) { what, sizeof what });
    hf_sha256_feed(&hash, (struct hf_span) { (const char *)secret, HF_SECRET_SIZE });
    hf_sha256_end(&hash, digest);
    set_map_key(engine, hf_map_key_of(digest));
}

uint64_t hf_engine_held_bytes(const struct hf_engine *engine)
{
    return engine->bounds[HF_SHARED_HELD].used;
}

uint64_t hf_engine_remembered_bytes(const struct hf_engine *engine)
{
    return engine->bounds[HF_SHARED_REMEMBERED].used;
}

const struct hf_stats *hf_engine_stats(const struct hf_engine *engine)
{
    return &engine->stats;
}

void hf_engine_on_cell(struct hf_engine *engine, hf_cell_hook hook, void *context)
{
    engine->on_cell = hook;
    engine->on_cell_context = context;
}

void hf_engine_on_answer(struct hf_engine *engine, hf_answer_hook hook, void *context)
{
    engine->on_answer = hook;
    engine->on_answer_context = context;
}

/* ---- the shell's handles of runtimes and sessions ---- */

struct hf_backend *hf_runtime_backend(const struct hf_runtime *runtime)
{
    return runtime->backend;
}

void hf_runtime_set_backend(struct hf_runtime *runtime, struct hf_backend *backend)
{
    runtime->backend = backend;
}

struct hf_sink *hf_session_sink(const struct hf_session *session)
{
    return session->sink;
}

/* ---- effects ---- */

bool hf_engine_next_effect(struct hf_engine *engine, struct hf_effect *ret_effect)
{
    if (engine->effect_taken == engine->effect_count && engine->is_marked)
        hf_reviews_drain(engine);
    if (engine->effect_taken == engine->effect_count)
        return false;
    *ret_effect = engine->effects[engine->effect_taken++];
    return true;
}

void hf_engine_collect(struct hf_engine *engine)
{
    assert(engine->effect_taken == engine->effect_count);
    engine->effect_taken = engine->effect_count = 0;
    while (engine->grave_count) {
        const struct hf_grave grave = engine->graves[--engine->grave_count];
        grave.bury(grave.p);
    }
    hf_arena_reset(&engine->arena);
}

uint64_t hf_engine_next_ms(const struct hf_engine *engine)
{
    return hf_timers_next(&engine->timers);
}

static void fire(struct hf_timer *timer)
{
    switch ((enum hf_timer_kind)timer->kind) {
    case HF_TIMER_CALL: hf_call_timer(timer->owner); break;
    case HF_TIMER_DUE: hf_slot_due(timer->owner); break;
    case HF_TIMER_EXTRA: hf_slot_waited_for(timer->owner); break;
    case HF_TIMER_IDLE: hf_slot_idle(timer->owner); break;
    case HF_TIMER_RELIST: hf_slot_relist(timer->owner); break;
    case HF_TIMER_STAY: hf_runtime_stay_timer(timer->owner); break;
    case HF_TIMER_START: hf_runtime_start_timer(timer->owner); break;
    case HF_TIMER_EOF: hf_runtime_eof_timer(timer->owner); break;
    case HF_TIMER_CHECK: hf_check_timer(timer->owner); break;
    case HF_TIMER_HOLD: hf_check_waited(timer->owner); break;
    case HF_TIMER_STALL: hf_stall_timer(timer->owner); break;
    case HF_TIMER_ERA_PROBE: hf_era_probe_timer(timer->owner); break;
    case HF_TIMER_INITIALIZED: hf_handshake_client_ready(timer->owner); break;
    case HF_TIMER_UPSTREAM: hf_upstream_timer(timer->owner); break;
    case HF_TIMER_SERVER_STREAM: hf_remote_open_stream(timer->owner); break;
    case HF_TIMER_EXCHANGE: hf_remote_exchange_timer(timer->owner); break;
    case HF_TIMER_DRAIN: hf_session_timer(timer->owner); break;
    case HF_TIMER_NEWS: ((struct hf_engine *)timer->owner)->is_marked = true; break;
    case HF_TIMER_UPDATES: hf_updates_timer(timer->owner); break;
    case HF_TIMER_SERVER_REQUEST: hf_choose_client_timer(timer->owner); break;
    case HF_TIMER_PARK: hf_park_timer(timer->owner); break;
    }
}

void hf_engine_tick(struct hf_engine *engine, struct hf_now now)
{
    hf_set_now(engine, now);
    struct hf_timer *timer;
    for (int i = 0; i < TIMERS_A_TURN && (timer = hf_timers_pop(&engine->timers, now.mono_ms)); i++)
        fire(timer);
}

void hf_engine_stop(struct hf_engine *engine, struct hf_now now)
{
    hf_set_now(engine, now);
    engine->is_stopping = true;
    struct hf_session *session;
    HF_LIST_EACH (session, &engine->sessions, struct hf_session, link) {
        hf_parks_stop(session);
        hf_listeners_end(session);
    }
    struct hf_server *server;
    HF_LIST_EACH_SAFE (server, &engine->servers, struct hf_server, link)
        hf_server_op(server, HF_OP_REMOVE, now);
}

bool hf_engine_is_stopped(const struct hf_engine *engine)
{
    return engine->is_stopping && hf_list_empty(&engine->servers) &&
           hf_list_empty(&engine->keeping);
}

static void destroy(struct hf_server *server)
{
    hf_server_destroy(server);
    hf_server_forget(server);
}

/* The shell has released everything it had: effects of freeing are not performed. */
void hf_engine_free(struct hf_engine *engine)
{
    if (!engine)
        return;
    struct hf_session *session;
    HF_LIST_EACH_SAFE (session, &engine->sessions, struct hf_session, link)
        hf_session_close(session, (struct hf_now) { engine->now_ms, engine->wall_ms });
    struct hf_server *server;
    HF_LIST_EACH_SAFE (server, &engine->servers, struct hf_server, link)
        destroy(server);
    hf_tasks_forget(engine, NULL);
    hf_audiences_forget(engine, NULL);
    hf_timer_clear(&engine->timers, &engine->more_news);
    hf_updates_forget(engine, NULL);
    engine->effect_taken = engine->effect_count;
    hf_engine_collect(engine);
    assert(engine->call_count == 0);
    hf_map_done(&engine->subscriptions_by_uri);
    hf_map_done(&engine->subscriptions_by_session);
    hf_map_done(&engine->calls_by_client_id);
    hf_map_done(&engine->calls_by_via);
    hf_map_done(&engine->turns);
    hf_pool_free(&engine->call_blocks);
    hf_free(engine->calls);
    hf_free(engine->effects);
    hf_free(engine->graves);
    hf_timers_done(&engine->timers);
    hf_arena_done(&engine->arena);
    hf_free(engine);
}
