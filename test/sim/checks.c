/* checks.c - the promises that can be seen in the engine itself, after every event.
 *
 * What clients are told is judged in judge.c and world.c by the world alone; here the engine itself
 * is looked at: whether its books balance (books.c), whether an old generation moved anything, and
 * whether news went out exactly when the lists changed. */
#include "sim.h"

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
        const struct child *child = slot->current ? child_behind(slot->current->backend) : NULL;
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
            unsigned changes = 0;
            for (unsigned i = 0; i < sim->instance_count; i++)
                if ((!client->only || client->only == &sim->instances[i]) &&
                    policy_allows(client, &sim->instances[i], NULL))
                    changes += changed[i][part];
            if (client->news[part] > changes && !sim->failed_at_once && !sim->lost_a_client)
                sim_broken(sim, PROMISE_P7, "client %d hears news of list %d, which is as before",
                           c, (int)part);
            /* what its policy hides is not its list; judge_list sees what it does not hide */
            const struct hf_policy *policy = client->session->policy;
            const bool hides = policy && hf_filter_is_set(&policy->names);
            listens_check(sim, client, part, hides ? 0 : changes);
            if (changes && client->had_list[part] && !client->news[part] && !sim->is_stopping &&
                part != HF_PART_RESOURCES && !hides)
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
        listens_before(sim, client);
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
    sim->stale.needs_auth = runtime->server->needs_auth;
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
    /* a call of its that is sent again may begin an attempt, and that forgets it */
    if (!sim->stale.needs_auth && runtime->server->needs_auth)
        sim_broken(sim, PROMISE_P5, "an old generation asks for credentials");
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
        if (call->stage <= HF_CALL_QUEUED && call->stage != HF_CALL_ASKING &&
            sim->now_ms >= call->wait_until_ms)
            sim_broken(sim, PROMISE_P1, "a call waits longer than waitMs");
        if (call->end_by_ms && !hf_call_detour(call)->paused_left_ms &&
            sim->now_ms >= call->end_by_ms)
            sim_broken(sim, PROMISE_P1, "a call takes longer than callTimeoutMs");
    }
}

static void check_deadline(struct sim *sim, const struct request *r)
{
    if (!r->target || r->target->removed || request_goes_by_uri(r) || r->shares_its_id ||
        r->clocks_changed || r->is_forbidden || r->retry)
        return;
    /* a connection to a remote server takes time, also where waitMs is 0 */
    const uint32_t wait_ms = r->wait_ms ? r->wait_ms : r->target->settings.liveness.timeout_ms;
    const uint32_t kept_ms = sim->is_seamed ? 5000 : 0; /* its answer may wait to be recorded */
    if (r->sends == 0 && sim->now_ms > r->sent_ms + wait_ms + kept_ms)
        sim_broken(sim, PROMISE_P1, "request %d was neither sent nor answered in waitMs",
                   r->number);
    const uint32_t most = r->call_timeout_ms > r->call_timeout_max_ms || !r->may_be_extended
                              ? r->call_timeout_ms
                              : r->call_timeout_max_ms;
    if (r->call_timeout_ms && !r->was_asked && sim->now_ms > r->sent_ms + most + kept_ms)
        sim_broken(sim, PROMISE_P1, "request %d was not answered in callTimeoutMs", r->number);
}

void check_time(struct sim *sim)
{
    check_deadlines_inside(sim);
    for (int c = 0; c < CLIENTS; c++)
        for (unsigned i = 0; i < sim->clients[c].open_count; i++)
            check_deadline(sim, &sim->requests[sim->clients[c].open[i]]);
}
