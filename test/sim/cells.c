/* cells.c - which cells of state × event the seeds visited, and why the others cannot be.
 *
 * A written cell that no seed visits must stand in a table below with its reason; one that stands
 * there and is visited is a reason that is not true. An absent cell is a bug the engine reports
 * itself. The slot's moves come through the engine's hook; the runtime's are seen by wrapping
 * hf_runtime_step (-Wl,--wrap=hf_runtime_step). */
#include "sim.h"

static struct stats *watched;

void cells_on_slot(void *context, enum hf_slot_state state, enum hf_slot_event event)
{
    struct stats *stats = context;
    stats->slot_cells[state][event]++;
}

unsigned __real_hf_runtime_step(struct hf_runtime_machine *runtime, enum hf_runtime_event event);
unsigned __wrap_hf_runtime_step(struct hf_runtime_machine *runtime, enum hf_runtime_event event);

unsigned __wrap_hf_runtime_step(struct hf_runtime_machine *runtime, enum hf_runtime_event event)
{
    if (watched)
        watched->runtime_cells[runtime->state][event]++;
    return __real_hf_runtime_step(runtime, event);
}

void cells_watch(struct stats *stats)
{
    watched = stats;
}

struct excuse {
    int state, event;
    const char *why;
};

#define SLOT(state, event, why)                                                                    \
    {                                                                                              \
        HF_SLOT_##state, HF_SLOT_EV_##event, why                                                   \
    }
#define RUNTIME(state, event, why)                                                                 \
    {                                                                                              \
        HF_RUNTIME_##state, HF_RUNTIME_EV_##event, why                                             \
    }

#define STARTS_ONCE     "start is said once, to a slot that is new"
#define CALLS_JUST_WAIT "a call that may wait asks nothing of the slot"

static const struct excuse slot_excuses[] = {
    SLOT(CONNECTING, START, STARTS_ONCE),
    SLOT(CONNECTED, START, STARTS_ONCE),
    SLOT(RECONNECTING, START, STARTS_ONCE),
    SLOT(DISCONNECTED, START, STARTS_ONCE),
    SLOT(DISABLING, START, STARTS_ONCE),
    SLOT(DISABLED, START, STARTS_ONCE),
    SLOT(PERMANENTLY_FAILED, START, STARTS_ONCE),
    SLOT(CONNECTING, CALL, CALLS_JUST_WAIT),
    SLOT(CONNECTED, CALL, CALLS_JUST_WAIT),
    SLOT(RECONNECTING, CALL, CALLS_JUST_WAIT),
    SLOT(CONNECTED, GONE, "a connected slot has a runtime that is not gone"),
};

#define ONLY_CURRENT_DRAINS "only the current runtime is drained, once, and it is past its start"
#define ONLY_ATTEMPTS_CLOSE                                                                        \
    "closing without draining is for attempts that answered and cannot be used"

static const struct excuse runtime_excuses[] = {
    RUNTIME(SPAWNING, DRAIN, ONLY_CURRENT_DRAINS), RUNTIME(HANDSHAKING, DRAIN, ONLY_CURRENT_DRAINS),
    RUNTIME(LISTING, DRAIN, ONLY_CURRENT_DRAINS),  RUNTIME(DRAINING, DRAIN, ONLY_CURRENT_DRAINS),
    RUNTIME(SPAWNING, CLOSE, ONLY_ATTEMPTS_CLOSE), RUNTIME(LIVE, CLOSE, ONLY_ATTEMPTS_CLOSE),
    RUNTIME(CLOSING, CLOSE, ONLY_ATTEMPTS_CLOSE),  RUNTIME(TERMING, CLOSE, ONLY_ATTEMPTS_CLOSE),
    RUNTIME(KILLING, CLOSE, ONLY_ATTEMPTS_CLOSE),  RUNTIME(PROBING, DRAIN, ONLY_CURRENT_DRAINS),
};

struct machine { /* what both tables have in common */
    const char *name;
    int state_count, event_count;
    const uint64_t *cells;
    const struct excuse *excuses;
    size_t excuse_count;
    bool (*is_written)(int state, int event);
    const char *(*state_name)(int state);
    const char *(*event_name)(int event);
};

static bool slot_is_written(int state, int event)
{
    struct hf_slot_machine machine = { (enum hf_slot_state)state };
    return !(hf_slot_step(&machine, (enum hf_slot_event)event) & HF_SLOT_DO_REPORT_BUG);
}
static const char *slot_state(int state)
{
    return hf_slot_state_name((enum hf_slot_state)state);
}
static const char *slot_event(int event)
{
    return hf_slot_event_name((enum hf_slot_event)event);
}

static bool runtime_is_written(int state, int event)
{
    struct hf_runtime_machine machine = { (enum hf_runtime_state)state };
    return !(__real_hf_runtime_step(&machine, (enum hf_runtime_event)event) &
             HF_RUNTIME_DO_REPORT_BUG);
}
static const char *runtime_state(int state)
{
    return hf_runtime_state_name((enum hf_runtime_state)state);
}
static const char *runtime_event(int event)
{
    return hf_runtime_event_name((enum hf_runtime_event)event);
}

static const char *excuse_for(const struct machine *m, int state, int event)
{
    for (size_t i = 0; i < m->excuse_count; i++)
        if (m->excuses[i].state == state && m->excuses[i].event == event)
            return m->excuses[i].why;
    return NULL;
}

/* False: a cell is unvisited and unexplained, explained and visited, or visited and absent. */
static bool report_cell(const struct machine *m, int state, int event, bool is_full_run)
{
    const uint64_t visits = m->cells[state * m->event_count + event];
    const bool is_written = m->is_written(state, event);
    const char *why = excuse_for(m, state, event);
    const char *complaint = NULL;
    if (!is_written && visits)
        complaint = "is absent and was visited";
    else if (is_written && !visits && why)
        printf("# table: %s %s × %s never visited: %s\n", m->name, m->state_name(state),
               m->event_name(event), why);
    else if (is_written && !visits && is_full_run)
        complaint = "was never visited, and nothing says why";
    else if (visits && why)
        complaint = "was visited, although it is explained that it cannot be";
    if (complaint)
        printf("# %s %s × %s %s\n", m->name, m->state_name(state), m->event_name(event), complaint);
    return !complaint;
}

static bool report(const struct machine *m, bool is_full_run)
{
    bool ok = true;
    for (int state = 0; state < m->state_count; state++) {
        printf("# table: %s %-18s", m->name, m->state_name(state));
        for (int event = 0; event < m->event_count; event++) {
            const uint64_t visits = m->cells[state * m->event_count + event];
            if (visits)
                printf(" %s:%llu", m->event_name(event), (unsigned long long)visits);
        }
        putchar('\n');
    }
    for (int state = 0; state < m->state_count; state++)
        for (int event = 0; event < m->event_count; event++)
            ok &= report_cell(m, state, event, is_full_run);
    return ok;
}

bool cells_report(const struct stats *stats, bool is_full_run)
{
    const struct machine slot = {
        "slot",
        HF_SLOT_STATE_COUNT,
        HF_SLOT_EVENT_COUNT,
        &stats->slot_cells[0][0],
        slot_excuses,
        sizeof slot_excuses / sizeof *slot_excuses,
        slot_is_written,
        slot_state,
        slot_event,
    };
    const struct machine runtime = {
        "runtime",
        HF_RUNTIME_STATE_COUNT,
        HF_RUNTIME_EVENT_COUNT,
        &stats->runtime_cells[0][0],
        runtime_excuses,
        sizeof runtime_excuses / sizeof *runtime_excuses,
        runtime_is_written,
        runtime_state,
        runtime_event,
    };
    const bool slot_ok = report(&slot, is_full_run);
    return report(&runtime, is_full_run) && slot_ok;
}
