/* facts.c - what is known of a server: why it was last lost, what of its lists changed, its status.
 */
#include "core/server/facts.h"
#include <stdarg.h>
#include <stdio.h>
#include "core/engine.h"
#include "core/machine/backoff.h"
#include "core/machine/stats.h"
#include "core/outbox.h"
#include "core/state/runtime.h"

/* ---- what changed ---- */

void hf_server_list_changed(struct hf_server *server, enum hf_part_id part)
{
    server->list_serial[part]++;
    server->engine->list_serial[part]++;
}

void hf_server_news(struct hf_server *server, enum hf_part_id part, enum hf_news news)
{
    if (news != HF_NEWS_ANNOUNCED)
        hf_server_list_changed(server, part);
    server->news[news][part] = ++server->engine->news_serial;
    server->has_news = true;
    hf_server_mark(server);
}

/* ---- why a server was lost, and when to try again ---- */

void hf_server_reason(struct hf_server *server, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(server->reason, sizeof server->reason, format, args);
    va_end(args);
}

void hf_server_not_before(struct hf_server *server, int64_t retry_after_ms)
{
    if (retry_after_ms > 0)
        server->backoff.retry_after_ms = server->engine->now_ms + (uint64_t)retry_after_ms;
}

/* ---- lookups and status ---- */

struct hf_server *hf_server_find(struct hf_engine *engine, struct hf_span name)
{
    struct hf_server *server;
    HF_LIST_EACH (server, &engine->servers, struct hf_server, link) {
        if (!server->is_removed && hf_span_is(name, server->name))
            return server;
    }
    return NULL;
}

struct hf_server *hf_engine_next_server(struct hf_engine *engine, struct hf_server *after)
{
    struct hf_link *next = after ? after->link.next : engine->servers.next;
    return next == &engine->servers ? NULL : HF_ITEM(next, struct hf_server, link);
}

struct hf_runtime *hf_engine_next_runtime(struct hf_engine *engine, struct hf_runtime *after)
{
    bool passed = !after;
    struct hf_server *server;
    HF_LIST_EACH (server, &engine->servers, struct hf_server, link) {
        struct hf_slot *slot;
        HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
            struct hf_runtime *runtime;
            HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
                if (passed)
                    return runtime;
                passed = runtime == after;
            }
        }
    }
    return NULL;
}

struct hf_server_config *hf_server_config(const struct hf_server *server)
{
    return server->config;
}

void hf_server_status(const struct hf_server *server, struct hf_server_status *ret_status)
{
    const struct hf_slot *slot = hf_server_slot(server);
    const struct hf_runtime *current = slot ? slot->current : NULL;
    *ret_status = (struct hf_server_status) {
        .name = server->name,
        .state = slot             ? slot->machine.state
                 : server->wanted ? HF_SLOT_DISCONNECTED
                                  : HF_SLOT_DISABLED,
        .wanted = server->wanted,
        .is_lazy = server->settings.lazy,
        .is_required = server->settings.required,
        .generation = current ? current->generation : server->generation,
        .last_reason = server->reason,
        .last_stderr = server->last_stderr,
        .in_flight = current ? current->in_flight : 0,
        .waiting = slot ? slot->waiting : 0,
        .failures_k =
            hf_backoff_k(&server->backoff, &server->settings.reconnect, server->engine->now_ms),
        .streak = server->backoff.streak,
        .attempts = server->attempts,
        .reconnects = server->reconnects,
        .calls = server->calls,
        .resends = server->resends,
        .unknowns = server->unknowns,
        .stale_drops = server->stale_drops,
        .last_connected_ms = server->last_connected_ms,
        .next_attempt_ms = slot && slot->due.at_ms ? (int64_t)slot->due.at_ms : -1,
        .pid = current ? current->pid : 0,
        .close_failed = server->close_failed,
    };
}

const struct hf_stats *hf_server_stats(const struct hf_server *server)
{
    return &server->stats;
}
