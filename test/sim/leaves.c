/* leaves.c - whoever keeps records of calls: gives leave at the two seams at once or late, refuses
 * it, forgets to give it, dies and comes back. */
#include "sim.h"

enum { HELD_MS = 8000, SEAMED_PERCENT = 25 };

void leaves_init(struct sim *sim)
{
    sim->leave_count = 0;
    sim->is_seamed = chance(sim, SEAMED_PERCENT);
}

static void use(struct sim *sim, enum hf_seam seam, bool is_used)
{
    TRACE(sim, "seam %d is %s", (int)seam, is_used ? "in use" : "left alone");
    shell_begin(sim, NULL);
    hf_engine_use_seam(sim->engine, seam, is_used, at(sim->now_ms));
    shell_end(sim);
}

void leaves_begin(struct sim *sim)
{
    if (!sim->is_seamed)
        return;
    use(sim, HF_SEAM_DISPATCH, chance(sim, 70));
    if (!sim->has_failed)
        use(sim, HF_SEAM_ANSWER, chance(sim, 70));
}

void leaves_end(struct sim *sim)
{
    for (enum hf_seam seam = 0; sim->is_seamed && seam < HF_SEAM_COUNT && !sim->has_failed; seam++)
        use(sim, seam, false);
    sim->leave_count = 0;
}

void leaves_asked(struct sim *sim, const struct hf_effect *effect)
{
    sim->stats->leaves_asked++;
    if (sim->leave_count == LEAVES || chance(sim, 3)) {
        sim->stats->leaves_forgotten++;
        return; /* nobody ever answers */
    }
    sim->leaves[sim->leave_count++] = (struct leave) {
        .seam = effect->seam,
        .ticket = effect->ticket,
        .wake_ms = sim->now_ms + (chance(sim, 80) ? 0 : below(sim, HELD_MS)),
    };
}

uint64_t leaves_next_ms(const struct sim *sim)
{
    uint64_t next = 0;
    for (unsigned i = 0; i < sim->leave_count; i++)
        if (!next || sim->leaves[i].wake_ms < next)
            next = sim->leaves[i].wake_ms;
    return next;
}

void leaves_act(struct sim *sim)
{
    unsigned i = 0;
    while (i < sim->leave_count && sim->leaves[i].wake_ms > sim->now_ms)
        i++;
    if (i == sim->leave_count)
        return;
    const struct leave leave = sim->leaves[i];
    sim->leaves[i] = sim->leaves[--sim->leave_count];
    if (chance(sim, 2)) {
        sim->stats->leaves_died++;
        use(sim, leave.seam, false);
        if (!sim->has_failed)
            use(sim, leave.seam, true);
        return;
    }
    const char *refusal = chance(sim, 10) ? "record_refused" : NULL;
    sim->stats->leaves_refused += refusal != NULL;
    TRACE(sim, "leave at seam %d for %llu: %s", (int)leave.seam, (unsigned long long)leave.ticket,
          refusal ? refusal : "given");
    shell_begin(sim, NULL);
    hf_engine_give_leave(sim->engine, leave.seam, leave.ticket, refusal, at(sim->now_ms));
    shell_end(sim);
}
