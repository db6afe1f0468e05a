/* server.c - a configured server and its slots: made, operated, forgotten. What a move does is in
 * moves.c. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/strings.h"
#include "core/state.h"

/* ---- making and forgetting ---- */

static struct hf_slot *new_slot(struct hf_server *server, struct hf_session *owner)
{
    struct hf_slot *slot = hf_new(struct hf_slot);
    slot->server = server;
    hf_link_init(&slot->mark);
    hf_link_init(&slot->in_owner);
    hf_link_init(&slot->asking);
    hf_slot_set_owner(slot, owner);
    hf_link_init(&slot->runtimes);
    hf_link_init(&slot->turns);
    hf_link_init(&slot->clearing);
    hf_timer_init(&slot->due, HF_TIMER_DUE, slot);
    hf_timer_init(&slot->idle, HF_TIMER_IDLE, slot);
    hf_timer_init(&slot->relist, HF_TIMER_RELIST, slot);
    hf_timer_init(&slot->extra, HF_TIMER_EXTRA, slot);
    hf_list_push(&server->slots, &slot->link);
    if (server->problem && server->wanted) {
        hf_server_reason(server, "config");
        hf_slot_event(slot, HF_SLOT_EV_SPENT);
        hf_slot_probe_later(slot);
    } else {
        hf_slot_event(slot, !server->wanted         ? HF_SLOT_EV_DISABLE
                            : server->settings.lazy ? HF_SLOT_EV_REST
                                                    : HF_SLOT_EV_START);
    }
    return slot;
}

void hf_slot_set_owner(struct hf_slot *slot, struct hf_session *owner)
{
    hf_unlink(&slot->in_owner);
    slot->owner = owner;
    if (owner)
        hf_list_push(&owner->slots, &slot->in_owner);
}

static char *prefix_of(const char *name)
{
    char *prefix = hf_strdup(name);
    for (char *c = prefix; *c; c++)
        *c = hf_prefix_char(*c);
    return prefix;
}

struct hf_server *hf_server_add(struct hf_engine *engine, const struct hf_server_spec *spec,
                                struct hf_now now)
{
    hf_set_now(engine, now);
    struct hf_server *server = hf_new(struct hf_server);
    server->engine = engine;
    server->name = hf_strdup(spec->name);
    server->prefix = prefix_of(spec->name);
    server->settings = spec->settings;
    server->wanted = !spec->disabled;
    server->is_remote = spec->is_remote;
    server->era = spec->settings.era;
    server->problem = spec->problem ? hf_strdup(spec->problem) : NULL;
    server->problem_may_pass = spec->problem_may_pass;
    server->shell = spec->shell;
    hf_rules_set(&server->rules, spec);
    server->refs = 1;
    hf_link_init(&server->mark);
    hf_link_init(&server->slots);
    hf_link_init(&server->own_sessions);
    hf_link_init(&server->held);
    hf_link_init(&server->subscriptions);
    hf_link_init(&server->uses);
    hf_list_push(&engine->unlisted, &server->in_unlisted);
    hf_list_push(&engine->servers, &server->link);
    if (server->settings.isolation == HF_ISOLATION_SHARED || server->is_clients_own)
        new_slot(server, NULL);
    hf_server_mark(server);
    return server;
}

void hf_server_set_clients_own(struct hf_server *server)
{
    server->is_clients_own = true;
    if (hf_list_empty(&server->slots)) /* isolation: session; here that is no difference */
        new_slot(server, NULL);
    const struct hf_slot *slot = hf_server_slot(server);
    if (slot->attempt)
        hf_timer_clear(&server->engine->timers, &slot->attempt->start);
}

static void free_server(void *p)
{
    struct hf_server *server = p;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        hf_part_unref(server->parts[part]);
    hf_rules_done(&server->rules);
    hf_free(server->name);
    hf_free(server->prefix);
    hf_free(server->problem);
    hf_free(server->greeting);
    hf_free(server);
}

void hf_server_unref(struct hf_server *server)
{
    if (--server->refs == 0)
        hf_bury(server->engine, free_server, server);
}

static void free_slot(void *p)
{
    hf_free(p);
}

static void forget_slot(struct hf_slot *slot)
{
    struct hf_server *server = slot->server;
    struct hf_timers *timers = &server->engine->timers;
    assert(hf_list_empty(&slot->runtimes) && hf_list_empty(&slot->turns));
    assert(hf_list_empty(&slot->clearing) && hf_list_empty(&slot->asking));
    hf_slot_set_owner(slot, NULL);
    hf_unlink(&slot->mark);
    hf_timer_clear(timers, &slot->due);
    hf_timer_clear(timers, &slot->idle);
    hf_timer_clear(timers, &slot->relist);
    hf_timer_clear(timers, &slot->extra);
    hf_unlink(&slot->link);
    hf_bury(server->engine, free_slot, slot);
    server->is_gone = server->is_removed && hf_list_empty(&server->slots);
    hf_server_mark(server);
}

void hf_server_destroy(struct hf_server *server)
{
    server->is_removed = true;
    struct hf_slot *slot;
    HF_LIST_EACH_SAFE (slot, &server->slots, struct hf_slot, link) {
        slot->attempt = slot->current = NULL;
        slot->attempt_waits = false;
        hf_slot_fail_waiting(slot);
        while (!hf_list_empty(&slot->runtimes))
            hf_runtime_discard(HF_LIST_FIRST(&slot->runtimes, struct hf_runtime, link));
        forget_slot(slot);
    }
}

/* ---- slots of a server ---- */

struct hf_slot *hf_slot_of(const struct hf_server *server, const struct hf_session *session)
{
    if (server->settings.isolation == HF_ISOLATION_SHARED || server->is_clients_own)
        return hf_server_slot(server);
    struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        if (slot->owner == session && !slot->is_removed)
            return slot;
    }
    return NULL;
}

struct hf_slot *hf_slot_for(struct hf_server *server, struct hf_session *session)
{
    struct hf_slot *slot = hf_slot_of(server, session);
    if (slot || server->is_removed || server->settings.isolation == HF_ISOLATION_SHARED ||
        server->is_clients_own)
        return slot;
    uint32_t count = 0;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link)
        count++;
    return count < server->settings.max_runtimes ? new_slot(server, session) : NULL;
}

static void slot_is_empty(struct hf_slot *slot)
{
    slot->must_not_overlap = false;
    if (slot->attempt_waits) {
        slot->attempt_waits = false;
        hf_slot_begin_attempt(slot, slot->attempt_is_extra);
        return;
    }
    const bool again =
        slot->machine.state == HF_SLOT_DISABLING && slot->server->wanted && !slot->is_removed;
    hf_slot_event(slot, again ? HF_SLOT_EV_GONE_WANTED : HF_SLOT_EV_GONE);
    if (slot->is_removed && slot->machine.state == HF_SLOT_DISABLED)
        forget_slot(slot);
}

void hf_slot_runtime_gone(struct hf_slot *slot)
{
    if (hf_list_empty(&slot->runtimes) && hf_linked(&slot->link))
        slot_is_empty(slot);
}

static void disable_slot(struct hf_slot *slot, bool remove)
{
    slot->is_removed |= remove;
    hf_slot_event(slot, HF_SLOT_EV_DISABLE);
    struct hf_runtime *runtime;
    HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
        if (runtime->transport->switched_off)
            runtime->transport->switched_off(runtime);
    }
    if (hf_list_empty(&slot->runtimes))
        slot_is_empty(slot);
}

void hf_slots_drop_owner(struct hf_session *session)
{
    while (!hf_list_empty(&session->slots)) {
        struct hf_slot *slot = HF_LIST_FIRST(&session->slots, struct hf_slot, in_owner);
        struct hf_server *server = slot->server;
        hf_slot_set_owner(slot, NULL);
        if (server->is_clients_own)
            continue;
        hf_server_mark(server); /* one that is going already does not move */
        disable_slot(slot, true);
    }
}

void hf_slot_idle(struct hf_slot *slot)
{
    if (!slot->current)
        return;
    if (slot->current->in_flight || slot->waiting || hf_slot_has_attempt(slot))
        hf_slot_touch(slot);
    else
        hf_slot_event(slot, HF_SLOT_EV_REST);
}

/* ---- operators ---- */

static bool operate_slot(struct hf_slot *slot, enum hf_op op)
{
    const bool connected = slot->machine.state == HF_SLOT_CONNECTED;
    enum hf_slot_event event = HF_SLOT_EV_ENABLE;
    switch (op) {
    case HF_OP_ENABLE: event = HF_SLOT_EV_ENABLE; break;
    case HF_OP_RESTART:
        event = slot->server->settings.overlap ? HF_SLOT_EV_RESTART : HF_SLOT_EV_RECONNECT;
        break;
    case HF_OP_RECONNECT: event = HF_SLOT_EV_RECONNECT; break;
    case HF_OP_DISABLE:
    case HF_OP_REMOVE: disable_slot(slot, op == HF_OP_REMOVE); return true;
    }
    if (event == HF_SLOT_EV_RECONNECT && connected)
        slot->must_not_overlap = true;
    return !(hf_slot_event(slot, event) & HF_SLOT_DO_REFUSE);
}

bool hf_server_op(struct hf_server *server, enum hf_op op, struct hf_now now)
{
    struct hf_engine *engine = server->engine;
    static const char *const names[] = { "enable", "disable", "restart", "reconnect", "remove" };
    hf_set_now(engine, now);
    if (server->is_removed)
        return false;
    hf_note(engine, HF_NOTE_INFO, server, server->generation, "asked %s", names[op]);
    if (op == HF_OP_ENABLE)
        server->wanted = true;
    if (op == HF_OP_DISABLE || op == HF_OP_REMOVE) {
        server->wanted = false;
        hf_server_reason(server, "switched off");
    }
    server->is_removed = op == HF_OP_REMOVE;
    server->is_gone = server->is_removed && hf_list_empty(&server->slots);
    bool done = true;
    struct hf_slot *slot;
    HF_LIST_EACH_SAFE (slot, &server->slots, struct hf_slot, link) {
        done &= operate_slot(slot, op);
    }
    hf_server_mark(server); /* one without a slot was not marked by any move */
    return done;
}

void hf_server_change(struct hf_server *server, const struct hf_server_spec *spec, bool restart,
                      struct hf_now now)
{
    hf_set_now(server->engine, now);
    struct hf_rule_set rules;
    hf_rules_set(&rules, spec);
    const bool names_change =
        server->settings.prefix != spec->settings.prefix || !hf_rules_same(&server->rules, &rules);
    hf_rules_done(&server->rules);
    server->rules = rules;
    server->settings = spec->settings;
    server->was_changed = true;
    server->is_remote = spec->is_remote;
    server->era = restart ? spec->settings.era : server->era;
    server->shell = spec->shell;
    hf_free(server->problem);
    server->problem = spec->problem ? hf_strdup(spec->problem) : NULL;
    server->problem_may_pass = spec->problem_may_pass;
    for (enum hf_part_id part = 0; names_change && part <= HF_PART_PROMPTS; part++)
        if (server->is_published && server->parts[part] && server->parts[part]->count)
            hf_server_news(server, part, HF_NEWS_CHANGED);
    struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        hf_slot_mark(slot); /* there may be more places now */
    }
    if (restart && server->wanted)
        (void)hf_server_op(server, HF_OP_RESTART, now);
}

/* ---- what it offers ---- */

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

/* ---- facts ---- */

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

void *hf_server_shell(const struct hf_server *server)
{
    return server->shell;
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
