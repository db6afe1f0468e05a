/* run.c - one seed: a world is made, goes mad, comes to its senses, and is taken down. */
#include <signal.h>
#include <stdarg.h>
#include "sim.h"

enum {
    FEW_BYTES = 12000, /* enough for a few calls: each costs 700 beside its text */
    WARM_STEPS = 150,
    CHAOS_EVENTS = 250,
    CALM_STEPS = 60000, /* a run that needs more goes in circles */
    CALM_MS = 2000000,  /* above any sum of the settings */
};

void sim_trace(const struct sim *sim, const char *format, ...)
{
    va_list args;
    printf("%8llu ", (unsigned long long)sim->now_ms);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

void sim_broken(struct sim *sim, enum promise promise, const char *format, ...)
{
    if (sim->has_failed)
        return;
    sim->has_failed = true;
    struct stats *stats = sim->stats;
    char text[sizeof stats->broken[0].text];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    TRACE(sim, "BROKEN: %s", text);
    if (stats->broken[promise].count++ == 0) {
        stats->broken[promise].seed = sim->seed;
        memcpy(stats->broken[promise].text, text, sizeof text);
    }
    stats->failed_seeds++;
}

/* ---- the beginning ---- */

static void begin(struct sim *sim, uint64_t seed)
{
    sim->seed = seed;
    sim->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    sim->now_ms = 1000000 + below(sim, 1000);
    sim->events = 0;
    sim->is_calm = sim->is_stopping = sim->has_failed = sim->in_event = false;
    sim->was_mad = sim->has_given_up = sim->in_exam = false;
    sim->instance_count = 0;
    sim->request_count = 0;
    sim->child_serial = sim->child_top = 0;
    sim->exchange_serial = sim->exchange_top = 0;
    sim->via_count = 0;
    sim->question_count = sim->visit_count = 0;
    memset(sim->clients, 0, sizeof sim->clients);
    memset(sim->seats, 0, sizeof sim->seats);
    for (size_t i = 0; i < CHILDREN; i++)
        sim->children[i].in_use = false;
    for (size_t i = 0; i < EXCHANGES; i++)
        sim->exchanges[i].in_use = false;
    sim->limits.max_message_bytes = PICK(sim, 6000, 6000, 1 << 20);
    sim->limits.max_buffered_bytes = chance(sim, 6) ? FEW_BYTES : 1 << 26;
    sim->limits.max_depth = 64;
    sim->limits.page_bytes = PICK(sim, 100, 1000000);
    sim->limits.park_ms = PICK(sim, 100, 8000, 60000, 60000);
    /* with so few bytes, one message may be larger than any share */
    sim->limits.shares = seed % 3 && sim->limits.max_buffered_bytes > FEW_BYTES ? 3 : 0;
    sim->limits.max_calls = seed % 7 == 0 ? 6 : 0;
    sim->client_weight = PICK(sim, 8, 20, 40);
    sim->operator_weight = PICK(sim, 0, 1, 4);
    sim->evil = PICK(sim, 20, 50, 90);
    sim->killer_weight = PICK(sim, 0, 1, 4);
    sim->host_weight = PICK(sim, 0, 2, 6);
    sim->is_run = chance(sim, 15);
    leaves_init(sim);
    sim->is_inquisitive = chance(sim, 35);
    if (sim->is_inquisitive) { /* then calls must come far enough to be asked about */
        sim->evil = 20;
        sim->operator_weight = PICK(sim, 0, 0, 1);
        sim->killer_weight = PICK(sim, 0, 0, 1, 2);
        sim->host_weight = PICK(sim, 0, 1);
    }
    sim->engine = hf_engine_new(&sim->limits, seed);
    for (int i = 0; i < PARTIES; i++)
        sim->parties[i] = hf_client_party_new(NULL);
    hf_engine_on_cell(sim->engine, cells_on_slot, sim->stats);
    sim->is_calm =
        sim->is_inquisitive || chance(sim, 50); /* then madness finds servers that are up */
    for (int seat = 0; seat < SERVERS; seat++)
        (void)operator_add(sim, seat);
}

static void go_mad(struct sim *sim)
{
    const bool was_calm = sim->is_calm;
    for (unsigned steps = 0; was_calm && steps < WARM_STEPS && !sim->has_failed; steps++)
        shell_step(sim);
    sim->is_calm = false;
    sim->chaos_ends = sim->events + CHAOS_EVENTS;
    for (unsigned i = 0; was_calm && i < sim->child_top; i++) {
        struct child *child = &sim->children[i];
        child->is_sane = false;
        child->is = operator_personality(sim);
        if (child->is_remote && chance(sim, 50))
            child->is.evil = 50;
        child->is.dies_at_byte += child->is.dies_at_byte ? child->read_total : 0;
    }
    for (unsigned i = 0; was_calm && i < sim->instance_count; i++)
        host_go_mad(sim, &sim->instances[i].host);
    leaves_begin(sim);
}

/* ---- madness ---- */

/* The out-of-memory killer, or somebody with a shell. */
static void kill_one(struct sim *sim)
{
    struct child *child = sim->child_top ? &sim->children[below(sim, sim->child_top)] : NULL;
    if (child && child->in_use && child->life == ALIVE)
        child_die(sim, child, SIGKILL);
}

static void meddle_with_one(struct sim *sim)
{
    struct instance *instance = &sim->instances[below(sim, sim->instance_count)];
    if (instance->is_remote)
        host_meddle(sim, instance);
}

static void chaos(struct sim *sim)
{
    for (unsigned steps = 0; sim->events < sim->chaos_ends && steps < 20 * CHAOS_EVENTS; steps++) {
        const uint32_t dice = below(sim, 100);
        if (chance(sim, sim->killer_weight))
            kill_one(sim);
        if (chance(sim, sim->host_weight))
            meddle_with_one(sim);
        if (chance(sim, 1))
            modern_upgrade(sim, &sim->instances[below(sim, sim->instance_count)]);
        if (dice < sim->operator_weight)
            operator_act(sim);
        else if (dice < sim->operator_weight + sim->client_weight)
            client_act(sim, &sim->clients[below(sim, CLIENTS)]);
        else
            shell_step(sim);
        if (sim->has_failed)
            return;
    }
}

/* ---- calm ---- */

/* A wire that once had its server's own stream has it again; nothing else is under way. */
static bool exchanges_rest(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->exchange_top; i++)
        if (sim->exchanges[i].in_use && sim->exchanges[i].verb != HF_EXCHANGE_STREAM &&
            !modern_is_listening(&sim->exchanges[i]))
            return false;
    for (unsigned i = 0; i < sim->child_top; i++) {
        const struct child *wire = &sim->children[i];
        unsigned streams = 0;
        for (unsigned k = 0; k < sim->exchange_top; k++)
            streams += sim->exchanges[k].in_use && sim->exchanges[k].wire == wire &&
                       !modern_is_listening(&sim->exchanges[k]);
        if (wire->in_use && wire->is_remote && streams != wire->wire.has_listened)
            return false;
    }
    return true;
}

/* Nobody comes back any more: every parked call is given up, and every stream is closed. */
static bool nobody_is_asked(const struct sim *sim)
{
    const struct hf_session *session;
    HF_LIST_EACH (session, &sim->engine->sessions, struct hf_session, link) {
        if (!hf_list_empty(&session->parks) || !hf_list_empty(&session->listeners))
            return false;
    }
    return sim->engine->bounds[HF_SHARED_PARKED].used == 0;
}

/* No news on its way, one runtime for each connected slot, and no other. */
static bool is_at_rest(const struct sim *sim)
{
    if (!shell_is_quiet(sim) || !exchanges_rest(sim) || !modern_listens_as_wanted(sim) ||
        (sim->has_given_up && !nobody_is_asked(sim)))
        return false;
    for (unsigned i = 0; i < sim->instance_count; i++) {
        const struct instance *instance = &sim->instances[i];
        if (instance->removed && !instance->forgotten)
            return false;
        const struct hf_slot *slot;
        if (!instance->server)
            continue;
        HF_LIST_EACH (slot, &instance->server->slots, struct hf_slot, link) {
            const bool lone =
                !hf_list_empty(&slot->runtimes) && slot->runtimes.next->next == &slot->runtimes;
            const bool up = slot->machine.state == HF_SLOT_CONNECTED && lone;
            const bool rests =
                slot->machine.state == HF_SLOT_DISCONNECTED && hf_list_empty(&slot->runtimes);
            if (!up && !rests)
                return false;
        }
    }
    return true;
}

static bool has_failed_server(const struct sim *sim)
{
    for (int seat = 0; seat < SERVERS; seat++) {
        const struct hf_server *server = sim->seats[seat] ? sim->seats[seat]->server : NULL;
        const struct hf_slot *slot;
        if (!server)
            continue;
        HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
            if (slot->machine.state == HF_SLOT_PERMANENTLY_FAILED)
                return true;
        }
    }
    return false;
}

static bool needs_nothing_or_a_hand(const struct sim *sim)
{
    return is_at_rest(sim) || has_failed_server(sim);
}

static bool go_on_until(struct sim *sim, bool (*is_reached)(const struct sim *), const char *what)
{
    const uint64_t end = sim->now_ms + CALM_MS;
    for (unsigned i = 0; i < CALM_STEPS && sim->now_ms < end && !sim->has_failed; i++) {
        if (is_reached(sim))
            return true;
        shell_step(sim);
    }
    if (!sim->has_failed)
        sim_broken(sim, PROMISE_CALM, "%s never came, at %llu ms", what,
                   (unsigned long long)sim->now_ms);
    return false;
}

static void come_to_senses(struct sim *sim)
{
    TRACE(sim, "---- calm ----");
    sim->is_calm = sim->was_mad = true;
    leaves_end(sim);
    shell_flush(sim);
    for (unsigned i = 0; i < sim->child_top; i++)
        if (sim->children[i].in_use)
            child_become_sane(sim, &sim->children[i]);
    hosts_become_sane(sim);
    for (int seat = 0; seat < SERVERS && !sim->has_failed; seat++) {
        if (!sim->seats[seat] || sim->seats[seat]->removed)
            (void)operator_add(sim, seat);
        struct instance *instance = sim->seats[seat];
        if (!instance || instance->removed)
            continue;
        struct hf_settings settings = instance->settings;
        settings.wait_ms = 45000;
        settings.call_timeout_ms = 0;
        settings.max_waiting = 1000;
        settings.max_runtimes = 16;
        settings.start_timeout_ms = 120000;
        settings.ask_ms = 900000;
        settings.gone_ms = 30000;
        settings.liveness.timeout_ms = 5000; /* a sane server may be slow */
        settings.relist_ms = 300000;         /* nothing new while parked calls have their time */
        operator_change(sim, instance, settings, instance->had_problem);
        operator_do(sim, instance, HF_OP_ENABLE);
    }
}

/* The server of `run` is greeted in its client's words: it needs a client that speaks. */
static void greet_own_server(struct sim *sim)
{
    struct client *client = &sim->clients[0];
    if (!sim->is_run || sim->has_failed)
        return;
    if (client->session && (client->is_finished || client->only != sim->seats[0]))
        client_close(sim, client);
    if (!client->session && !sim->has_failed)
        client_open(sim, client);
    if (client->session && !client->session->initialize_params && !sim->has_failed)
        client_greet(sim, client);
}

static bool is_quiet_for_clients(const struct sim *sim)
{
    for (int c = 0; c < CLIENTS; c++)
        if (sim->clients[c].open_count)
            return false;
    return true;
}

/* Answers that were lost in noise never come: their clients give up. */
static void give_up_waiting(struct sim *sim)
{
    for (int c = 0; c < CLIENTS && !sim->has_failed; c++) {
        struct client *client = &sim->clients[c];
        if (client->session && client->is_finished)
            client_close(sim, client);
        for (unsigned i = client->open_count; i-- > 0 && !sim->has_failed;)
            if (i < client->open_count)
                client_cancel(sim, client, &sim->requests[client->open[i]]);
        if (client->session && client->open_count) /* what shares an id cannot be cancelled */
            client_close(sim, client);
        if (!client->session && !sim->has_failed)
            client_open(sim, client);
    }
}

/* What was begun in madness may still use up a budget: an operator looks after it. */
static bool come_to_rest(struct sim *sim)
{
    for (int tries = 0; tries < 20 && !sim->has_failed; tries++) {
        if (!go_on_until(sim, needs_nothing_or_a_hand, "rest"))
            return false;
        if (is_at_rest(sim))
            return true;
        for (int seat = 0; seat < SERVERS && !sim->has_failed; seat++)
            if (sim->seats[seat] && !sim->seats[seat]->removed)
                operator_do(sim, sim->seats[seat], HF_OP_ENABLE);
    }
    sim_broken(sim, PROMISE_CALM, "a server fails again and again");
    return false;
}

bool run_until_answered(struct sim *sim)
{
    return go_on_until(sim, is_quiet_for_clients, "an answer");
}

bool run_to_rest(struct sim *sim)
{
    return come_to_rest(sim);
}

bool run_to_rest_with_parked(struct sim *sim)
{
    sim->has_given_up = false;
    const bool rests = come_to_rest(sim);
    sim->has_given_up = true;
    return rests;
}

static bool succeeds(struct sim *sim, struct client *client, struct instance *target)
{
    for (int tries = 0; tries < 5 && !sim->has_failed; tries++) {
        struct request *r = client_call(sim, client, ASK_PUT, target);
        if (!r)
            return true; /* the table is full */
        if (!go_on_until(sim, is_quiet_for_clients, "the answer to a call"))
            return false;
        if (r->effects == 1 && r->state == ANSWERED)
            return true;
        /* a session that was forgotten in madness may be the last that a budget allows */
        const bool has_spent = target->is_remote && has_failed_server(sim);
        if (has_spent && !come_to_rest(sim))
            return false;
        /* it has moved on to the modern era, which is asked for once a call has heard so */
        const bool has_moved_on =
            target->is_remote && target->speaks == SPEAKS_MODERN && tries == 0;
        if (!target->settings.stateful && !has_spent && !has_moved_on)
            break;
    }
    return false;
}

/* Whatever change a server told of, its list is the one from after it. */
static void check_lists(struct sim *sim)
{
    for (unsigned i = 0; i < sim->child_top && !sim->has_failed; i++) {
        const struct child *child = &sim->children[i];
        const struct hf_runtime *runtime = child->in_use ? child->runtime : NULL;
        if (!runtime || runtime != runtime->slot->current || child->listed_badly ||
            child->stdout_closed || !child->instance->lists_tools ||
            runtime->server->settings.isolation != HF_ISOLATION_SHARED)
            continue;
        const struct hf_part *part = runtime->server->parts[HF_PART_TOOLS];
        const struct hf_span last =
            part && part->count ? part->items[part->count - 1].name : HF_SPAN("\"v0\"");
        if ((unsigned)atoi(last.p + 2) < child->announced)
            sim_broken(sim, PROMISE_P7, "%s told of tools v%u, and the list still has v%d",
                       runtime->server->name, child->announced, atoi(last.p + 2));
    }
}

static void calm(struct sim *sim)
{
    come_to_senses(sim);
    greet_own_server(sim);
    if (sim->has_failed || !come_to_rest(sim))
        return;
    listens_check_servers(sim);
    give_up_waiting(sim);
    sim->has_given_up = true;
    greet_own_server(sim);
    if (sim->has_failed || !come_to_rest(sim))
        return;
    for (int c = 0; c < CLIENTS; c++)
        for (int seat = 0; seat < SERVERS && !sim->has_failed; seat++) {
            struct client *client = &sim->clients[c];
            struct instance *target = client->only ? client->only : sim->seats[seat];
            const bool ok = !client->session || !target || target->removed ||
                            !policy_allows(client, target, "put") || succeeds(sim, client, target);
            if (!ok)
                sim_broken(sim, PROMISE_CALM, "a call of client %d to server %d failed", c, seat);
        }
    if (!sim->has_failed && come_to_rest(sim))
        check_lists(sim);
    const bool has_room = sim->limits.max_buffered_bytes > 1 << 20 && !sim->limits.max_calls;
    if (!sim->has_failed && has_room && chance(sim, 40)) {
        exam(sim);
        if (!sim->has_failed)
            (void)come_to_rest(sim);
    }
}

/* ---- the end ---- */

static bool is_stopped(const struct sim *sim)
{
    return hf_engine_is_stopped(sim->engine);
}

static void stop(struct sim *sim)
{
    uint64_t bound = 0;
    for (unsigned i = 0; i < sim->instance_count; i++) {
        bound = sim->instances[i].close_ms > bound ? sim->instances[i].close_ms : bound;
        sim->instances[i].removed = true;
        sim->instances[i].wanted = false;
    }
    const uint64_t began = sim->now_ms;
    bound += sim->is_seamed ? 5000 : 0; /* for answers that wait to be recorded */
    TRACE(sim, "---- stop ----");
    sim->is_stopping = true;
    shell_begin(sim, NULL);
    hf_engine_stop(sim->engine, at(sim->now_ms));
    shell_end(sim);
    if (!sim->has_failed && go_on_until(sim, is_stopped, "the end") && sim->now_ms > began + bound)
        sim_broken(sim, PROMISE_P9, "stopping took %llu ms",
                   (unsigned long long)(sim->now_ms - began));
}

/* What was made in calm was ended in calm. */
static void check_sessions(struct sim *sim)
{
    for (unsigned i = 0; i < sim->instance_count && !sim->has_failed; i++) {
        const struct host *host = &sim->instances[i].host;
        for (unsigned k = 0; sim->instances[i].is_remote && k < host->known_count; k++)
            if (host->known[k].is_of_calm && host->known[k].was_told &&
                !host->known[k].has_parted && !host->is_older)
                sim_broken(sim, PROMISE_CALM, "session %u was left behind at %s",
                           host->known[k].number, seat_names[sim->instances[i].seat]);
    }
    for (unsigned i = 0; i < sim->exchange_top && !sim->has_failed; i++)
        if (sim->exchanges[i].in_use && sim->exchanges[i].post)
            sim_broken(sim, PROMISE_INNER, "exchange %u was never ended", sim->exchanges[i].serial);
}

static void check_end(struct sim *sim)
{
    for (int c = 0; c < CLIENTS; c++)
        if (sim->clients[c].open_count && !sim->has_failed)
            sim_broken(sim, PROMISE_P1, "request %d was never answered", sim->clients[c].open[0]);
    vias_check_end(sim);
    for (int c = 0; c < CLIENTS; c++)
        if (sim->clients[c].session && !sim->has_failed)
            client_close(sim, &sim->clients[c]);
    for (enum hf_shared what = HF_SHARED_NONE + 1; what < HF_SHARED_COUNT; what++)
        if (!sim->has_failed && sim->engine->bounds[what].used)
            sim_broken(sim, PROMISE_P12, "%llu of %s are held in the end",
                       (unsigned long long)sim->engine->bounds[what].used, hf_shared_name(what));
    if (!sim->has_failed && (sim->engine->call_count || sim->engine->timers.count))
        sim_broken(sim, PROMISE_INNER, "calls or timers are left in the end");
    for (unsigned i = 0; i < sim->child_top && !sim->has_failed; i++)
        if (sim->children[i].in_use && sim->children[i].runtime)
            sim_broken(sim, PROMISE_INNER, "a child was never released");
    check_sessions(sim);
}

void sim_run(struct sim *sim, uint64_t seed)
{
    begin(sim, seed);
    go_mad(sim);
    if (!sim->has_failed)
        chaos(sim);
    const uint32_t dice = below(sim, 100);
    if (!sim->has_failed && dice < 90)
        calm(sim);
    const bool is_hasty =
        !sim->has_failed && dice >= 95; /* a second signal: no time for anything */
    if (!sim->has_failed && !is_hasty) {
        stop(sim);
        if (!sim->has_failed)
            check_end(sim);
    }
    struct stats *stats = sim->stats;
    stats->seeds++;
    stats->events += sim->events;
    if (!stats->least_events || sim->events < stats->least_events)
        stats->least_events = sim->events;
    if (!sim->has_failed) /* else whatever is broken may break this as well */
        hf_engine_free(sim->engine);
    for (int i = 0; i < PARTIES && !sim->has_failed; i++)
        hf_client_party_unref(sim->parties[i]);
    sim->engine = NULL;
}
