/* checks.c - the promises that can be seen in the engine itself, after every event.
 *
 * What clients are told is judged in judge.c and world.c by the world alone; here the engine's own
 * books are read: whether they balance, whether anything waits for nothing, whether an old
 * generation moved anything, and whether news went out exactly when the lists changed. */
#include "sim.h"

/* ---- books ---- */

struct tally { /* what is found by walking, to be held against what is counted */
    size_t timers, calls, held;
    uint64_t bytes;
};

/* Limits that were lowered hold for what comes, not for what is there. */
static bool was_changed(const struct hf_server *server)
{
    return ((const struct instance *)server->shell)->was_changed;
}

static size_t armed(const struct hf_timer *timer)
{
    return timer->at_ms != 0;
}

static void check_call_table(struct sim *sim, struct tally *tally)
{
    const struct hf_engine *engine = sim->engine;
    for (uint32_t i = 0, left = engine->call_count; left && i < engine->call_cap; i++) {
        const struct hf_call *call = engine->calls[i];
        if (!call)
            continue;
        left--;
        tally->calls++;
        tally->timers += armed(&call->timer);
        if (call->stage != HF_CALL_ENDED)
            tally->bytes += call->text_length;
        tally->held += call->stage == HF_CALL_HELD;
        if (call->stage == HF_CALL_ENDED && call->timer.at_ms)
            sim_broken(sim, PROMISE_INNER, "a call that ended still has a timer");
    }
    if (tally->calls != engine->call_count || tally->held != engine->held_count)
        sim_broken(sim, PROMISE_INNER, "calls in the table and their counts differ");
    if (tally->bytes != engine->held_bytes)
        sim_broken(sim, PROMISE_P12, "held_bytes is %llu, calls hold %llu",
                   (unsigned long long)engine->held_bytes, (unsigned long long)tally->bytes);
}

static void check_runtime(struct sim *sim, const struct hf_runtime *runtime, struct tally *tally)
{
    const struct hf_settings *settings = &runtime->server->settings;
    const enum hf_runtime_state state = runtime->machine.state;
    uint32_t of_clients = 0;
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        of_clients += call->session != NULL;
        if (call->runtime != runtime || call->stage < HF_CALL_QUEUED ||
            call->stage == HF_CALL_ENDED)
            sim_broken(sim, PROMISE_INNER, "a call is in a runtime that it is not of");
    }
    tally->timers += armed(&runtime->stay) + armed(&runtime->start) + armed(&runtime->eof) +
                     armed(&runtime->check) + armed(&runtime->stall);
    if (of_clients != runtime->in_flight)
        sim_broken(sim, PROMISE_INNER, "in_flight is %u, and there are %u", runtime->in_flight,
                   of_clients);
    if (settings->max_in_flight && runtime->in_flight > settings->max_in_flight &&
        !was_changed(runtime->server))
        sim_broken(sim, PROMISE_P12, "more calls in flight than max_in_flight");
    if (runtime->is_silent && runtime->taken_back >= 0 && !runtime->is_loss_pending &&
        !hf_list_empty(&runtime->calls))
        sim_broken(sim, PROMISE_P1, "a runtime that cannot answer any more has calls");
    if (state >= HF_RUNTIME_DRAINING && !runtime->stay.at_ms && !runtime->eof.at_ms)
        sim_broken(sim, PROMISE_P9, "nothing bounds the stay of a runtime that is %s",
                   hf_runtime_state_name(state));
    if (runtime->is_loss_pending && !runtime->eof.at_ms)
        sim_broken(sim, PROMISE_P1, "nothing bounds how long a loss may wait for its exit");
    if (state < HF_RUNTIME_LIVE && !runtime->start.at_ms && !runtime->server->is_clients_own)
        sim_broken(sim, PROMISE_P8, "nothing bounds the start of a runtime");
    if (!runtime->is_frozen && !hf_list_empty(&runtime->out) && !runtime->stall.at_ms)
        sim_broken(sim, PROMISE_P12, "nothing bounds how long a pipe may take no byte");
}

/* ---- slots ---- */

static uint32_t count_waiting(struct sim *sim, const struct hf_slot *slot)
{
    uint32_t count = 0;
    const bool is_stuck = slot->machine.state == HF_SLOT_RECONNECTING && !hf_slot_has_attempt(slot);
    const struct hf_turn *turn;
    HF_LIST_EACH (turn, &slot->turns, struct hf_turn, link) {
        const struct hf_call *call;
        HF_LIST_EACH (call, &turn->calls, struct hf_call, link) {
            uint64_t until = call->wait_until_ms;
            if (call->end_by_ms && call->end_by_ms < until)
                until = call->end_by_ms;
            if (call->stage != HF_CALL_WAITING || call->slot != slot || !call->timer.at_ms)
                sim_broken(sim, PROMISE_INNER, "a call in a queue does not wait, or for ever");
            if (is_stuck && slot->due.at_ms > until)
                sim_broken(sim, PROMISE_P10, "a call waits for an attempt that comes too late");
            count++;
        }
    }
    return count;
}

static void check_waiting(struct sim *sim, const struct hf_slot *slot)
{
    const struct hf_settings *settings = &slot->server->settings;
    if (count_waiting(sim, slot) != slot->waiting)
        sim_broken(sim, PROMISE_INNER, "waiting is not the length of the queue");
    if (slot->waiting > settings->max_waiting && !was_changed(slot->server))
        sim_broken(sim, PROMISE_P12, "more calls wait than max_waiting");
    if (slot->waiting == 0)
        return;
    switch (slot->machine.state) {
    case HF_SLOT_CONNECTING:
    case HF_SLOT_RECONNECTING: break;
    case HF_SLOT_CONNECTED:
        if (!slot->current->is_loss_pending &&
            (!settings->max_in_flight || slot->current->in_flight < settings->max_in_flight))
            sim_broken(sim, PROMISE_P8, "a call waits although its server has room for it");
        break;
    default:
        sim_broken(sim, PROMISE_P10, "calls wait for a server that is %s",
                   hf_slot_state_name(slot->machine.state));
    }
}

static void check_slot_state(struct sim *sim, const struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    const enum hf_slot_state state = slot->machine.state;
    const bool has_attempt = hf_slot_has_attempt(slot);
    if ((state == HF_SLOT_CONNECTED) != (slot->current != NULL))
        sim_broken(sim, PROMISE_INNER, "%s with%s a current runtime", hf_slot_state_name(state),
                   slot->current ? "" : "out");
    if (slot->current && slot->current->machine.state != HF_RUNTIME_LIVE &&
        !slot->current->is_loss_pending)
        sim_broken(sim, PROMISE_INNER, "the current runtime is %s",
                   hf_runtime_state_name(slot->current->machine.state));
    if (slot->attempt && slot->attempt->machine.state >= HF_RUNTIME_LIVE &&
        !slot->attempt->is_loss_pending)
        sim_broken(sim, PROMISE_INNER, "the attempt is %s",
                   hf_runtime_state_name(slot->attempt->machine.state));
    if (slot->attempt_waits && hf_list_empty(&slot->runtimes))
        sim_broken(sim, PROMISE_P10, "an attempt waits for nothing");
    const bool stands = (state == HF_SLOT_CONNECTING && !has_attempt) ||
                        (state == HF_SLOT_RECONNECTING && !has_attempt && !slot->due.at_ms);
    if (stands)
        sim_broken(sim, PROMISE_P10, "%s, and nothing is going to happen",
                   hf_slot_state_name(state));
    if (state == HF_SLOT_PERMANENTLY_FAILED && server->settings.reconnect.probe_ms &&
        (!server->problem || server->problem_may_pass) && !has_attempt && !slot->due.at_ms &&
        !was_changed(server))
        sim_broken(sim, PROMISE_P10, "given up, and no probe will come");
    const bool is_off = state == HF_SLOT_DISABLED || state == HF_SLOT_DISABLING;
    if (is_off && (has_attempt || slot->due.at_ms))
        sim_broken(sim, PROMISE_P9, "an attempt is planned for a server that is %s",
                   hf_slot_state_name(state));
    if (!server->wanted && !is_off && state != HF_SLOT_NEW)
        sim_broken(sim, PROMISE_P9, "%s although it was switched off", hf_slot_state_name(state));
}

static void check_slot(struct sim *sim, const struct hf_slot *slot, struct tally *tally)
{
    unsigned count = 0;
    tally->timers += armed(&slot->due) + armed(&slot->idle) + armed(&slot->relist);
    const struct hf_runtime *runtime;
    HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
        count++;
        check_runtime(sim, runtime, tally);
    }
    if (count > 1 && !slot->server->settings.overlap && !was_changed(slot->server))
        sim_broken(sim, PROMISE_P9, "two processes of a server that must not overlap");
    check_slot_state(sim, slot);
    check_waiting(sim, slot);
}

static void check_books(struct sim *sim)
{
    struct tally tally = { 0 };
    check_call_table(sim, &tally);
    const struct hf_server *server;
    HF_LIST_EACH (server, &sim->engine->servers, struct hf_server, link) {
        bool is_offered = false, has_slot = false;
        uint32_t count = 0;
        const struct hf_slot *slot;
        HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
            count++;
            check_slot(sim, slot, &tally);
            has_slot |= !slot->is_removed;
            is_offered |= !slot->is_removed && hf_slot_is_offered(slot->machine.state);
        }
        if (count > server->settings.max_runtimes && !was_changed(server))
            sim_broken(sim, PROMISE_P12, "more slots than max_runtimes");
        is_offered = (has_slot ? is_offered : server->wanted) && !server->is_removed;
        if (is_offered != server->is_published)
            sim_broken(sim, PROMISE_P7, "%s is %spublished, which its state does not say",
                       server->name, server->is_published ? "" : "not ");
    }
    const struct hf_session *session;
    HF_LIST_EACH (session, &sim->engine->sessions, struct hf_session, link) {
        tally.timers += armed(&session->settle);
    }
    if (tally.timers != sim->engine->timers.count)
        sim_broken(sim, PROMISE_INNER, "%zu timers are set, of which %zu have an owner",
                   sim->engine->timers.count, tally.timers);
}

/* ---- lists ---- */

static uint64_t content_of(const struct hf_part *part)
{
    uint64_t sum = 0; /* of the items' hashes: their order does not matter */
    for (size_t i = 0; part && i < part->count; i++) {
        uint64_t hash = UINT64_C(14695981039346656037);
        for (size_t at = 0; at < part->items[i].raw.n; at++)
            hash = (hash ^ (unsigned char)part->items[i].raw.p[at]) * UINT64_C(1099511628211);
        sum += hash | 1;
    }
    return sum;
}

/* What is published must be what a runtime that is current now gave in full. */
static void check_source(struct sim *sim, const struct instance *instance)
{
    const struct hf_part *part = instance->server->parts[HF_PART_TOOLS];
    if (!part || part->count == 0)
        return;
    const struct hf_span last = part->items[part->count - 1].name;
    unsigned variant = 0;
    for (size_t i = 2; i + 1 < last.n; i++)
        variant = 10 * variant + (unsigned)(last.p[i] - '0');
    if (last.p[1] != 'v') {
        sim_broken(sim, PROMISE_P7, "a list of tools was published that is not whole");
        return;
    }
    const struct hf_slot *slot;
    HF_LIST_EACH (slot, &instance->server->slots, struct hf_slot, link) {
        const struct child *child = slot->current ? slot->current->shell : NULL;
        if (child && child->listed & (UINT64_C(1) << (variant % 64)))
            return;
    }
    if (!sim->lost_a_client) /* whose own runtime went with it, in the same event */
        sim_broken(sim, PROMISE_P5, "tools were published that no current runtime gave");
}

static enum hf_part_id told_as(enum hf_part_id part)
{
    return part == HF_PART_TEMPLATES ? HF_PART_RESOURCES : part;
}

/* Which lists of this server look different to its clients than before the event. */
static void look(struct sim *sim, struct instance *instance, unsigned changed[HF_PART_COUNT])
{
    const struct hf_server *server = instance->server;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        const struct hf_part *now = server ? server->parts[part] : NULL;
        const bool is_published = server && server->is_published;
        uint64_t before = instance->seen.is_published ? instance->seen.content[part] : 0;
        if (now != instance->seen.parts[part]) {
            instance->seen.parts[part] = now;
            instance->seen.content[part] = content_of(now);
            if (part == HF_PART_TOOLS && server)
                check_source(sim, instance);
        }
        changed[told_as(part)] += before != (is_published ? instance->seen.content[part] : 0);
    }
    instance->seen.is_published = server && server->is_published;
}

static void check_news(struct sim *sim)
{
    unsigned changed[INSTANCES][HF_PART_COUNT] = { 0 };
    bool any = false;
    for (unsigned i = 0; i < sim->instance_count; i++) {
        struct instance *instance = &sim->instances[i];
        if (!instance->forgotten || instance->seen.is_published)
            look(sim, instance, changed[i]);
    }
    for (int c = 0; c < CLIENTS; c++)
        for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
            any |= sim->clients[c].news[part] != 0;
    for (unsigned i = 0; i < sim->instance_count; i++)
        for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
            any |= changed[i][part] != 0;
    if (!any)
        return;
    for (int c = 0; c < CLIENTS; c++) {
        struct client *client = &sim->clients[c];
        for (enum hf_part_id part = 0; client->session && part < HF_PART_TEMPLATES; part++) {
            unsigned most = 0, least = 0;
            for (unsigned i = 0; i < sim->instance_count; i++) {
                const struct instance *instance = &sim->instances[i];
                if (client->only && client->only != instance)
                    continue;
                least += changed[i][part];
                /* one client's slot may give up and another's begin, in the same event */
                most += changed[i][part] +
                        (instance->settings.isolation == HF_ISOLATION_SESSION ? 2 : 0);
            }
            if (client->news[part] > most && !sim->failed_at_once && !sim->lost_a_client)
                sim_broken(sim, PROMISE_P7, "client %d hears news of list %d, which is as before",
                           c, (int)part);
            if (least && client->had_list[part] && !client->news[part] && !sim->is_stopping &&
                part != HF_PART_RESOURCES)
                sim_broken(sim, PROMISE_P7, "client %d hears no news of list %d, which changed", c,
                           (int)part);
            client->told[part] |= client->news[part] != 0;
            if (part == HF_PART_RESOURCES)
                client->told[HF_PART_TEMPLATES] |= client->news[part] != 0;
        }
    }
}

/* ---- old generations ---- */

void check_before(struct sim *sim, struct hf_runtime *runtime)
{
    for (int c = 0; c < CLIENTS; c++) {
        struct client *client = &sim->clients[c];
        for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
            client->news[part] = 0;
            client->had_list[part] =
                client->session && client->session->has_greeted && client->session->given[part];
        }
    }
    sim->lost_a_client = sim->failed_at_once = false;
    const struct hf_slot *slot = runtime ? runtime->slot : NULL;
    const bool is_stale = runtime && runtime != slot->current && runtime != slot->attempt;
    sim->stale.runtime = is_stale ? runtime : NULL;
    if (!is_stale)
        return;
    sim->stale.backoff = runtime->server->backoff;
    sim->stale.state = slot->machine.state;
    sim->stale.serial = ((struct child *)runtime->shell)->serial;
}

static void check_stale(struct sim *sim)
{
    const struct hf_runtime *runtime = sim->stale.runtime;
    if (!runtime || !hf_linked(&runtime->link) || sim->lost_a_client || sim->failed_at_once)
        return; /* gone: its slot may go on now; or more than this happened in the event */
    const struct hf_slot *slot = runtime->slot;
    const enum hf_slot_state now = slot->machine.state;
    if (memcmp(&sim->stale.backoff, &runtime->server->backoff, sizeof sim->stale.backoff) != 0)
        sim_broken(sim, PROMISE_P5, "an old generation moved the budget");
    const bool woke = sim->stale.state == HF_SLOT_DISCONNECTED && now == HF_SLOT_CONNECTING;
    if (now != sim->stale.state && !woke) /* one of its calls, sent again, may wake the server */
        sim_broken(sim, PROMISE_P5, "an old generation moved the state from %s to %s",
                   hf_slot_state_name(sim->stale.state), hf_slot_state_name(now));
}

/* ---- switching off ---- */

static void check_off(struct sim *sim)
{
    for (unsigned i = 0; i < sim->instance_count; i++) {
        struct instance *instance = &sim->instances[i];
        if (!instance->off_by_ms)
            continue;
        bool is_going = instance->removed;
        const struct hf_slot *slot;
        HF_LIST_EACH (slot, &instance->server->slots, struct hf_slot, link) {
            is_going |= slot->machine.state == HF_SLOT_DISABLING;
        }
        if (!is_going)
            instance->off_by_ms = 0;
        else if (sim->now_ms > instance->off_by_ms)
            sim_broken(sim, PROMISE_P9, "%s was switched off and is still not",
                       instance->server->name);
    }
}

void check_after(struct sim *sim)
{
    check_stale(sim);
    check_off(sim);
    check_news(sim);
    check_books(sim);
}

/* ---- time ---- */

static void check_deadlines_inside(struct sim *sim)
{
    const struct hf_engine *engine = sim->engine;
    for (uint32_t i = 0; i < engine->call_cap; i++) {
        const struct hf_call *call = engine->calls[i];
        if (!call || !call->session)
            continue;
        if (call->stage <= HF_CALL_QUEUED && sim->now_ms >= call->wait_until_ms)
            sim_broken(sim, PROMISE_P1, "a call waits longer than waitMs");
        if (call->end_by_ms && !call->paused_left_ms && sim->now_ms >= call->end_by_ms)
            sim_broken(sim, PROMISE_P1, "a call takes longer than callTimeoutMs");
    }
}

static void check_deadline(struct sim *sim, const struct request *r)
{
    if (!r->target || r->target->removed || request_goes_by_uri(r) || r->shares_its_id ||
        r->clocks_changed)
        return;
    if (r->sends == 0 && sim->now_ms > r->sent_ms + r->wait_ms)
        sim_broken(sim, PROMISE_P1, "request %d was neither sent nor answered in waitMs",
                   r->number);
    const uint32_t most = r->call_timeout_ms > r->call_timeout_max_ms || !r->may_be_extended
                              ? r->call_timeout_ms
                              : r->call_timeout_max_ms;
    if (r->call_timeout_ms && !r->was_asked && sim->now_ms > r->sent_ms + most)
        sim_broken(sim, PROMISE_P1, "request %d was not answered in callTimeoutMs", r->number);
}

void check_time(struct sim *sim)
{
    check_deadlines_inside(sim);
    for (int c = 0; c < CLIENTS; c++)
        for (unsigned i = 0; i < sim->clients[c].open_count; i++)
            check_deadline(sim, &sim->requests[sim->clients[c].open[i]]);
}
