/* operators.c - settings and characters at random, and switches thrown at the worst moment. */
#include "sim.h"

const char *const seat_names[SERVERS] = { "alpha", "beta", "gamma" };

/* Then most calls come far enough to be asked about. */
static void be_patient(struct sim *sim, struct hf_settings *s)
{
    s->lazy = false;
    s->wait_ms = 45000;
    s->call_timeout_ms = PICK(sim, 0, 0, 0, 10000);
    s->start_timeout_ms = 120000;
    s->reconnect.attempts = -1;
    s->reconnect.first_attempts = 10;
    s->max_runtimes = 16;
    s->max_in_flight = PICK(sim, 0, 0, 0, 2);
    s->max_waiting = 1000;
}

/* One statement for each: the order in which an initializer's values are made is the compiler's. */
struct hf_settings operator_settings(struct sim *sim)
{
    struct hf_settings s = { .prefix = HF_PREFIX_ALWAYS };
    s.lazy = chance(sim, 20);
    s.idle_ms = PICK(sim, 0, 0, 0, 200, 5000);
    s.wait_ms = PICK(sim, 0, 100, 2000, 45000, 45000);
    s.call_timeout_ms = PICK(sim, 0, 0, 0, 50, 1000, 10000);
    s.call_timeout_max_ms = PICK(sim, 0, 20000);
    s.start_timeout_ms = PICK(sim, 50, 5000, 120000);
    s.list_wait_ms = PICK(sim, 0, 100, 10000);
    s.ask_ms = PICK(sim, 1, 2000, 900000);
    s.gone_ms = PICK(sim, 0, 100, 30000);
    s.relist_ms = PICK(sim, 0, 1000, 300000);
    s.era_probe_ms = PICK(sim, 1, 50, 5000);
    s.reconnect.min_ms = PICK(sim, 0, 1, 250, 1500, 4000);
    s.reconnect.max_ms = PICK(sim, 0, 1000, 30000, 30000);
    s.reconnect.jitter = PICK(sim, 0, 1, 2) / 2.0;
    s.reconnect.window_ms = PICK(sim, 1000, 300000);
    s.reconnect.attempts = (int32_t)PICK(sim, 0, 1, 2, 4, 6) - 1;
    s.reconnect.first_attempts = (int32_t)PICK(sim, 0, 2, 4, 11) - 1;
    s.reconnect.probe_ms = PICK(sim, 0, 500, 60000);
    s.reconnect.waiting_max_ms = PICK(sim, 0, 100, 1000);
    s.liveness.timeout_ms = PICK(sim, 1, 50, 5000);
    s.liveness.gap_ms = PICK(sim, 0, 100, 10000);
    s.liveness.failures = PICK(sim, 1, 3);
    s.close_ms = PICK(sim, 0, 20, 2000);
    s.term_ms = PICK(sim, 0, 20, 3000);
    s.kill_ms = PICK(sim, 0, 100, 5000);
    s.eof_ms = PICK(sim, 0, 20, 1000);
    s.drain_ms = PICK(sim, 0, 50, 10000);
    s.stall_ms = PICK(sim, 1, 100, 60000);
    s.overlap = chance(sim, 60);
    s.stateful = chance(sim, 15);
    s.isolation =
        chance(sim, sim->is_inquisitive ? 50 : 20) ? HF_ISOLATION_SESSION : HF_ISOLATION_SHARED;
    s.max_runtimes = PICK(sim, 2, 5, 16);
    s.max_in_flight = PICK(sim, 0, 0, 1, 2, 8);
    s.max_waiting = PICK(sim, 0, 2, 5, 1000, 1000, 1000, 1000, 1000);
    s.retry = chance(sim, 40) ? HF_RETRY_IDEMPOTENT : HF_RETRY_NEVER;
    if (chance(sim, 15)) /* vouches for 429 and 503 */
        s.refused_status.bits[0] = UINT64_C(1) << 29;
    if (chance(sim, 15))
        s.refused_status.bits[1] = UINT64_C(1) << (103 - 64);
    if (sim->is_inquisitive)
        be_patient(sim, &s);
    return s;
}

static uint64_t often_none(struct sim *sim, uint32_t percent, uint64_t value)
{
    return chance(sim, percent) ? value : 0;
}

struct personality operator_personality(struct sim *sim)
{
    const bool bad = !sim->is_calm && chance(sim, sim->evil);
    struct personality is = { 0 };
    is.reads = (enum reading)below(sim, 3);
    is.read_max = PICK(sim, 1, 7, 64, 4096);
    is.delay_ms = PICK(sim, 0, 1, 20, 3000);
    is.answers_at_end_of_pipe = chance(sim, 50);
    is.asks = (uint8_t)(sim->is_calm          ? 0
                        : sim->is_inquisitive ? PICK(sim, 40, 90)
                                              : PICK(sim, 0, 15, 60));
    if (sim->is_calm)
        is.read_max = 4096;
    if (!bad)
        return is;
    is.evil = (uint8_t)(sim->is_inquisitive ? PICK(sim, 0, 10) : PICK(sim, 0, 10, 40, 90));
    is.noise = (uint8_t)PICK(sim, 0, 5, 30);
    is.no_exec = chance(sim, 5);
    is.no_exec_later = chance(sim, 5);
    is.dies_in_start = chance(sim, 12);
    is.hangs_in_start = chance(sim, 6);
    is.guard_is_lost = chance(sim, 2);
    is.deaf_to_eof = chance(sim, 20);
    is.deaf_to_term = chance(sim, 15);
    is.exits_clean = chance(sim, 25);
    is.steal_fails = chance(sim, 5);
    is.writes_own_stdin = chance(sim, 8);
    is.leaves_descendant = chance(sim, 25);
    is.descendant_reads = chance(sim, 60);
    is.descendant_ms = PICK(sim, 5, 500, 100000);
    is.fails_lists = chance(sim, 10);
    is.closes_stdout = chance(sim, 8);
    is.deaf_to_eof |= is.closes_stdout && chance(sim, 60);
    is.deaf_to_term |= is.closes_stdout && chance(sim, 60);
    is.start_ms = (uint32_t)often_none(sim, 5, PICK(sim, 30, 200));
    is.loops_pages = chance(sim, 5);
    is.lists_too_much = chance(sim, 4) && sim->limits.max_message_bytes < 20000;
    is.unkillable_ms = (uint32_t)often_none(sim, 15, PICK(sim, 3, 30, 3000, 60000));
    is.dies_at_byte = often_none(sim, 30, 1 + below(sim, PICK(sim, 300, 3000)));
    is.dies_at_ms = often_none(sim, 15, sim->now_ms + 1 + below(sim, PICK(sim, 20, 5000)));
    return is;
}

/* All that may pass from the order to go until nothing is left. */
static uint64_t close_bound(const struct hf_settings *s)
{
    return (uint64_t)s->drain_ms + s->close_ms + s->term_ms + s->kill_ms + s->eof_ms + 20;
}

struct instance *operator_add(struct sim *sim, int seat)
{
    if (sim->instance_count == INSTANCES)
        return NULL;
    struct instance *instance = &sim->instances[sim->instance_count++];
    *instance = (struct instance) { .seat = seat };
    instance->settings = operator_settings(sim);
    instance->wanted = chance(sim, 90);
    instance->lists_tools = chance(sim, 92);
    instance->lists_prompts = chance(sim, 70);
    instance->lists_resources = chance(sim, 50);
    instance->has_logging = chance(sim, 50);
    instance->has_tasks = chance(sim, 50);
    instance->close_ms = close_bound(&instance->settings);
    instance->is_remote = chance(sim, 50);
    if (instance->is_remote)
        host_init(sim, &instance->host);
    modern_init(sim, instance);
    instance->settings.era = modern_era(sim, instance);
    if (instance->is_remote && chance(sim, 50))
        instance->settings.transport =
            instance->host.is_older ? HF_TRANSPORT_SSE : HF_TRANSPORT_HTTP;
    if (seat == 0 && chance(sim, 10))
        instance->settings.prefix = HF_PREFIX_NEVER;
    instance->had_problem = !sim->is_calm && chance(sim, 4);
    const struct hf_server_spec spec = {
        .name = seat_names[seat],
        .settings = instance->settings,
        .disabled = !instance->wanted,
        .is_remote = instance->is_remote,
        .config = hf_server_config_of(instance),
        .problem = instance->had_problem ? "no such command" : NULL,
        .problem_may_pass = chance(sim, 50),
    };
    TRACE(sim, "operator adds %s%s%s", seat_names[seat], instance->is_remote ? ", remote" : "",
          spec.problem ? " with a problem" : "");
    sim->seats[seat] = instance;
    instance->clients_own = sim->is_run && seat == 0;
    shell_begin(sim, NULL);
    instance->server = hf_server_add(sim->engine, &spec, at(sim->now_ms));
    if (instance->clients_own)
        hf_server_set_clients_own(instance->server);
    shell_end(sim);
    return instance;
}

void operator_do(struct sim *sim, struct instance *instance, enum hf_op op)
{
    static const char *const verbs[] = { "enables", "disables", "restarts", "reconnects",
                                         "removes" };
    const bool was_off = !instance->wanted;
    TRACE(sim, "operator %s %s", verbs[op], seat_names[instance->seat]);
    if (op == HF_OP_DISABLE || op == HF_OP_REMOVE) {
        instance->wanted = false;
        if (!instance->off_by_ms)
            instance->off_by_ms = sim->now_ms + instance->close_ms;
    }
    instance->removed |= op == HF_OP_REMOVE;
    if (op == HF_OP_ENABLE)
        instance->wanted = true;
    shell_begin(sim, NULL);
    const bool done = hf_server_op(instance->server, op, at(sim->now_ms));
    shell_end(sim);
    const bool is_restart = op == HF_OP_RESTART || op == HF_OP_RECONNECT;
    if (is_restart && was_off && done && instance->settings.isolation == HF_ISOLATION_SHARED)
        sim_broken(sim, PROMISE_P9, "a server that is off could be restarted");
}

void operator_change(struct sim *sim, struct instance *instance, struct hf_settings settings,
                     bool restart)
{
    TRACE(sim, "operator changes %s", seat_names[instance->seat]);
    settings.isolation = instance->settings.isolation; /* a reload that changes it adds anew */
    settings.prefix = instance->settings.prefix;
    settings.era = restart ? modern_era(sim, instance) : instance->settings.era;
    settings.transport = instance->settings.transport;
    settings.refused_status = instance->settings.refused_status; /* it was vouched for, or not */
    instance->settings = settings;
    instance->had_problem = false;
    instance->was_changed = true;
    const uint64_t close_ms = close_bound(&settings);
    if (instance->off_by_ms) /* half by the old times, half by the new */
        instance->off_by_ms += close_ms;
    instance->close_ms += close_ms;
    for (int i = 0; i < sim->request_count; i++)
        sim->requests[i].clocks_changed |= sim->requests[i].target == instance;
    const struct hf_server_spec spec = { .name = seat_names[instance->seat],
                                         .settings = settings,
                                         .is_remote = instance->is_remote,
                                         .config = hf_server_config_of(instance) };
    shell_begin(sim, NULL);
    hf_server_change(instance->server, &spec, restart, at(sim->now_ms));
    shell_end(sim);
}

void operator_act(struct sim *sim)
{
    const int seat = (int)below(sim, SERVERS);
    struct instance *instance = sim->seats[seat];
    if (!instance || instance->removed) {
        if (chance(sim, 60))
            (void)operator_add(sim, seat);
        return;
    }
    static const enum hf_op ops[] = { HF_OP_ENABLE,    HF_OP_ENABLE,  HF_OP_DISABLE,
                                      HF_OP_RESTART,   HF_OP_RESTART, HF_OP_RECONNECT,
                                      HF_OP_RECONNECT, HF_OP_REMOVE,  HF_OP_ENABLE };
    if (chance(sim, 10)) {
        const bool restart = chance(sim, 60);
        operator_change(sim, instance, operator_settings(sim), restart);
    } else {
        operator_do(sim, instance, ops[below(sim, sizeof ops / sizeof *ops)]);
    }
}
