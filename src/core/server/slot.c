/* slot.c - what a change of a slot's state does: effects performed, attempts begun, failed and
 * scheduled. */
#include "core/server/slot.h"
#include <assert.h>
#include "core/call/queue.h"
#include "core/catalog/part.h"
#include "core/machine/backoff.h"
#include "core/outbox.h"
#include "core/server/facts.h"
#include "core/server/handshake.h"
#include "core/server/listing.h"
#include "core/server/runtime.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

/* ---- attempts ---- */

void hf_slot_begin_attempt(struct hf_slot *slot, bool is_extra)
{
    struct hf_server *server = slot->server;
    if (hf_slot_has_attempt(slot)) {
        slot->attempt_is_extra &= is_extra; /* the schedule has caught up with an extra attempt */
        return;
    }
    if (server->problem && !server->problem_may_pass) {
        hf_server_reason(server, "config");
        if (slot->machine.state == HF_SLOT_CONNECTED)
            hf_slot_attempt_failed(slot, false); /* bad settings: the old runtime stays */
        else
            hf_slot_event(slot, HF_SLOT_EV_SPENT);
        return;
    }
    slot->attempt_is_extra = is_extra;
    /* a remote server has no process tree of which there must be only one */
    const bool may_overlap =
        (server->settings.overlap && !slot->must_not_overlap) || server->is_remote;
    if (!may_overlap && !hf_list_empty(&slot->runtimes)) {
        slot->attempt_waits = true;
        return;
    }
    slot->attempt_number++;
    server->needs_auth = false;
    server->attempts++;
    slot->attempt = hf_runtime_new(slot);
    hf_note(server->engine, server,
            &(struct hf_note) { .event = HF_NOTE_ATTEMPT,
                                .is_routine = true,
                                .generation = server->generation,
                                .count = slot->attempt_number });
    hf_slot_tell_waiting(slot);
}

/* One warning for each streak of failures, not one for each failure. */
static void note_failure(struct hf_server *server, enum hf_note_event event)
{
    hf_note(server->engine, server,
            &(struct hf_note) { .event = event,
                                .is_routine = server->warned_streak || server->cannot_start,
                                .generation = server->generation,
                                .reason = hf_span_of(server->reason),
                                .stderr_line = hf_span_of(server->last_stderr) });
    server->warned_streak = true;
}

void hf_slot_attempt_failed(struct hf_slot *slot, bool is_charged)
{
    struct hf_server *server = slot->server;
    const bool is_beside = slot->machine.state == HF_SLOT_CONNECTED;
    const bool is_probe = slot->machine.state == HF_SLOT_PERMANENTLY_FAILED;
    note_failure(server, is_beside ? HF_NOTE_RESTART_FAILED : HF_NOTE_ATTEMPT_FAILED);
    const bool counts = is_charged && !slot->attempt_is_extra && !is_beside && !is_probe;
    if (counts)
        hf_backoff_attempt_failed(&server->backoff, server->engine->now_ms);
    const bool spent =
        (counts && hf_backoff_spent(&server->backoff, &server->settings.reconnect)) ||
        (server->needs_auth && !is_beside) || /* trying again without credentials does not help */
        server->cannot_start;
    hf_slot_event(slot, spent ? HF_SLOT_EV_SPENT : HF_SLOT_EV_FAILED);
}

static void schedule(struct hf_slot *slot)
{
    struct hf_server *server = slot->server;
    if (hf_slot_has_attempt(slot))
        return;
    if (!slot->due.at_ms) { /* an extra attempt leaves the schedule as it is */
        const uint64_t now = server->engine->now_ms;
        if (hf_backoff_spent(&server->backoff, &server->settings.reconnect)) {
            hf_slot_event(slot, HF_SLOT_EV_SPENT);
            return;
        }
        uint64_t delay = hf_backoff_delay_ms(&server->backoff, &server->settings.reconnect,
                                             hf_random_share(server->engine), now);
        slot->extra_used = false;
        if (delay == 0) {
            hf_slot_event(slot, HF_SLOT_EV_DUE);
            return;
        }
        hf_timer_set(&server->engine->timers, &slot->due, now + delay);
        hf_note(server->engine, server,
                &(struct hf_note) {
                    .event = HF_NOTE_NEXT_ATTEMPT,
                    .generation = server->generation,
                    .delay_ms = (int64_t)delay,
                    .count = hf_backoff_k(&server->backoff, &server->settings.reconnect, now) });
    }
    hf_slot_review_waiting(slot);
}

void hf_slot_due(struct hf_slot *slot)
{
    hf_slot_event(slot, HF_SLOT_EV_DUE);
}

/* ---- what a change of state does ---- */

void hf_slot_probe_later(struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    const uint32_t probe_ms = server->settings.reconnect.probe_ms;
    if (!probe_ms || server->cannot_start || (server->problem && !server->problem_may_pass))
        return;
    uint64_t at = server->engine->now_ms + probe_ms;
    if (server->backoff.retry_after_ms > at)
        at = server->backoff.retry_after_ms;
    hf_timer_set(&server->engine->timers, &slot->due, at);
}

static void do_kill_attempt(struct hf_slot *slot)
{
    struct hf_runtime *runtime = slot->attempt;
    slot->attempt = NULL;
    slot->attempt_waits = false;
    if (runtime)
        hf_runtime_event(runtime, HF_RUNTIME_EV_KILL);
}

void hf_slot_attempt_anew(struct hf_slot *slot)
{
    const bool is_extra = slot->attempt_is_extra;
    do_kill_attempt(slot);
    hf_slot_begin_attempt(slot, is_extra);
}

static void do_detach(struct hf_slot *slot)
{
    slot->current = NULL;
    hf_timer_clear(&slot->server->engine->timers, &slot->idle);
    hf_timer_clear(&slot->server->engine->timers, &slot->relist);
}

static void do_drain(struct hf_slot *slot)
{
    struct hf_runtime *runtime = slot->current;
    do_detach(slot);
    if (!runtime)
        return;
    hf_runtime_event(runtime, HF_RUNTIME_EV_DRAIN);
    hf_runtime_maybe_drained(runtime);
}

static void do_install(struct hf_slot *slot)
{
    struct hf_server *server = slot->server;
    struct hf_engine *engine = server->engine;
    struct hf_runtime *runtime = slot->attempt;
    assert(runtime && runtime->machine.state == HF_RUNTIME_LIVE);
    slot->attempt = NULL;
    slot->current = runtime;
    slot->attempt_number = 0;
    slot->extra_used = false;
    hf_timer_clear(&engine->timers, &slot->due);
    hf_timer_clear(&engine->timers, &runtime->start);
    if (server->settings.relist_ms)
        hf_timer_set(&engine->timers, &slot->relist, engine->now_ms + server->settings.relist_ms);
    server->reconnects += server->backoff.was_connected;
    hf_backoff_connected(&server->backoff);
    server->last_connected_ms = engine->now_ms;
    server->warned_streak = false;
    hf_free(server->problem); /* whatever the problem was, it has passed */
    server->problem = NULL;
    hf_listing_install(runtime);
    hf_slot_touch(slot);
    hf_runtime_restore(runtime);
    if (runtime->transport->installed)
        runtime->transport->installed(runtime);
    hf_slot_mark(slot);
}

static void do_fresh_budget(struct hf_slot *slot)
{
    hf_backoff_reset(&slot->server->backoff);
    slot->server->cannot_start = false;
    slot->server->warned_streak = false;
}
static void do_attempt(struct hf_slot *slot)
{
    hf_slot_begin_attempt(slot, false);
}
static void do_extra_attempt(struct hf_slot *slot)
{
    hf_slot_begin_attempt(slot, true);
}
static void do_unschedule(struct hf_slot *slot)
{
    hf_timer_clear(&slot->server->engine->timers, &slot->due);
}

/* ---- the end of a slot ---- */

void hf_slot_set_owner(struct hf_slot *slot, struct hf_session *owner)
{
    hf_unlink(&slot->in_owner);
    slot->owner = owner;
    if (owner)
        hf_list_push(&owner->slots, &slot->in_owner);
}

static void free_slot(void *p)
{
    hf_free(p);
}

void hf_slot_forget(struct hf_slot *slot)
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

void hf_slot_emptied(struct hf_slot *slot)
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
        hf_slot_forget(slot);
}

void hf_slot_runtime_gone(struct hf_slot *slot)
{
    if (hf_list_empty(&slot->runtimes) && hf_linked(&slot->link))
        hf_slot_emptied(slot);
}

/* ---- are the server's names still to be published? ---- */

void hf_server_review(struct hf_server *server)
{
    bool is_offered = false, has_slot = false;
    /* if a client's own slot was given up on, only that client loses: the names stay for others */
    const bool is_own =
        server->settings.isolation == HF_ISOLATION_SESSION && !server->is_clients_own;
    const struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        const enum hf_slot_state state = slot->machine.state;
        if (slot->is_removed) /* its client has left, which is no news for others */
            continue;
        has_slot = true;
        is_offered |= hf_slot_is_offered(state) || (is_own && state == HF_SLOT_PERMANENTLY_FAILED);
    }
    is_offered = (has_slot ? is_offered : server->wanted) && !server->is_removed;
    if (is_offered == server->is_published)
        return;
    server->is_published = is_offered;
    if (server->engine->is_stopping)
        return; /* the client is leaving, or we are: no news for anybody */
    bool told_resources = false;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        if (!server->parts[part] || server->parts[part]->count == 0)
            continue;
        if (part == HF_PART_TEMPLATES && told_resources) {
            hf_server_list_changed(server, part);
            continue;
        }
        told_resources |= part == HF_PART_RESOURCES;
        hf_server_news(server, part, HF_NEWS_CHANGED);
    }
}

/* ---- events of a slot, and their effects ---- */

static const struct {
    enum hf_slot_effect bit;
    void (*perform)(struct hf_slot *slot);
} performers[] = {
    { HF_SLOT_DO_KILL_ATTEMPT, do_kill_attempt },
    { HF_SLOT_DO_UNSCHEDULE, do_unschedule },
    { HF_SLOT_DO_DETACH, do_detach },
    { HF_SLOT_DO_DRAIN, do_drain },
    { HF_SLOT_DO_INSTALL, do_install },
    { HF_SLOT_DO_FAIL_WAITING, hf_slot_fail_waiting },
    { HF_SLOT_DO_FRESH_BUDGET, do_fresh_budget },
    { HF_SLOT_DO_ATTEMPT, do_attempt },
    { HF_SLOT_DO_EXTRA_ATTEMPT, do_extra_attempt },
    { HF_SLOT_DO_SCHEDULE, schedule },
    { HF_SLOT_DO_PROBE_LATER, hf_slot_probe_later },
};

static void note_move(const struct hf_slot *slot, enum hf_slot_state from)
{
    static const enum hf_note_event events[HF_SLOT_STATE_COUNT] = {
        [HF_SLOT_CONNECTING] = HF_NOTE_CONNECTING,      [HF_SLOT_CONNECTED] = HF_NOTE_CONNECTED,
        [HF_SLOT_RECONNECTING] = HF_NOTE_LOST,          [HF_SLOT_DISCONNECTED] = HF_NOTE_RESTING,
        [HF_SLOT_DISABLING] = HF_NOTE_DISABLING,        [HF_SLOT_DISABLED] = HF_NOTE_DISABLED,
        [HF_SLOT_PERMANENTLY_FAILED] = HF_NOTE_GAVE_UP,
    };
    const struct hf_server *server = slot->server;
    const enum hf_slot_state to = slot->machine.state;
    const struct hf_part *tools = server->parts[HF_PART_TOOLS];
    const bool is_usual = to == HF_SLOT_CONNECTING ||
                          (to == HF_SLOT_RECONNECTING && from != HF_SLOT_CONNECTED) ||
                          (from == HF_SLOT_NEW && to != HF_SLOT_PERMANENTLY_FAILED);
    hf_note(server->engine, server,
            &(struct hf_note) { .event = events[to],
                                .is_routine = is_usual || server->engine->is_stopping,
                                .generation = server->generation,
                                .from = hf_span_of(hf_slot_state_name(from)),
                                .to = hf_span_of(hf_slot_state_name(to)),
                                .reason = hf_span_of(server->reason),
                                .problem = hf_span_of(server->problem),
                                .stderr_line = hf_span_of(server->last_stderr),
                                .count = tools ? (int64_t)tools->count : 0 });
}

unsigned hf_slot_event(struct hf_slot *slot, enum hf_slot_event event)
{
    struct hf_engine *engine = slot->server->engine;
    const enum hf_slot_state before = slot->machine.state;
    const unsigned effects = hf_slot_step(&slot->machine, event);
    if (engine->on_cell)
        engine->on_cell(engine->on_cell_context, before, event);
    if (effects & HF_SLOT_DO_REPORT_BUG) {
        hf_note(engine, slot->server,
                &(struct hf_note) { .event = HF_NOTE_BUG,
                                    .generation = slot->server->generation,
                                    .what = HF_SPAN("slot"),
                                    .from = hf_span_of(hf_slot_state_name(before)),
                                    .to = hf_span_of(hf_slot_event_name(event)) });
        return effects;
    }
    const bool is_installed = effects & HF_SLOT_DO_INSTALL; /* noted when its tools are known */
    if (slot->machine.state != before && !is_installed)
        note_move(slot, before);
    for (size_t i = 0; i < sizeof performers / sizeof *performers; i++)
        if (effects & performers[i].bit)
            performers[i].perform(slot);
    if (is_installed)
        note_move(slot, before);
    if (slot->machine.state != before)
        hf_server_mark(slot->server);
    return effects;
}
