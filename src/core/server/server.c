/* server.c - a configured server and its slots: made, operated, forgotten. What a change of a
 * slot's state does is in slot.c. */
#include "core/server/server.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/strings.h"
#include "core/call/queue.h"
#include "core/catalog/part.h"
#include "core/catalog/rules.h"
#include "core/outbox.h"
#include "core/server/facts.h"
#include "core/server/runtime.h"
#include "core/server/slot.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

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
    server->config = spec->config;
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
    if (hf_server_is_shared(server))
        new_slot(server, NULL);
    hf_server_mark(server);
    return server;
}

void hf_server_set_clients_own(struct hf_server *server)
{
    server->is_clients_own = true;
    server->cannot_start = server->wanted && server->problem && !server->problem_may_pass;
    if (hf_list_empty(&server->slots)) /* isolation: session, no matter with one client */
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
        hf_slot_forget(slot);
    }
}

/* ---- slots of a server ---- */

struct hf_slot *hf_slot_of_client(const struct hf_server *server, const struct hf_session *session)
{
    struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        if (slot->owner == session && !slot->is_removed)
            return slot;
    }
    return NULL;
}

struct hf_slot *hf_slot_for_client(struct hf_server *server, struct hf_session *session)
{
    struct hf_slot *slot = hf_slot_of_client(server, session);
    uint32_t count = 0;
    if (slot || server->is_removed)
        return slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link)
        count++;
    return count < server->settings.max_runtimes ? new_slot(server, session) : NULL;
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
        hf_slot_emptied(slot);
}

void hf_slots_drop_owner(struct hf_session *session)
{
    while (!hf_list_empty(&session->slots)) {
        struct hf_slot *slot = HF_LIST_FIRST(&session->slots, struct hf_slot, in_owner);
        struct hf_server *server = slot->server;
        hf_slot_set_owner(slot, NULL);
        if (server->is_clients_own)
            continue;
        hf_server_mark(server); /* a slot that is ending already is not marked by its event */
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
    hf_note(engine, server,
            &(struct hf_note) { .event = HF_NOTE_ASKED,
                                .is_routine = engine->is_stopping,
                                .generation = server->generation,
                                .what = hf_span_of(names[op]) });
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
    hf_server_mark(server); /* a server without slots was not marked by a change of state */
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
    server->config = spec->config;
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
