/* requests.c - what the world knows of a request: who was sent it, who read it whole, how often it
 * ran. This is the record that no engine may contradict. */
#include "sim.h"

/* Whether somebody may still come to read the whole of it. */
static bool is_readable_somewhere(const struct sim *sim, int request)
{
    for (unsigned i = 0; i < sim->child_top; i++) {
        const struct child *child = &sim->children[i];
        for (unsigned s = child->segment_head; child->in_use && s < child->segment_count; s++)
            if (child->segments[s].request == request &&
                child->segments[s].brace < child->readable_end)
                return true;
    }
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        const struct exchange *x = &sim->exchanges[i];
        if (x->in_use && x->is_request && x->asked.request == request && x->phase >= TO_SEND &&
            !x->has_answered)
            return true;
    }
    return false;
}

void request_leaves(struct sim *sim, struct child *child, int number)
{
    struct request *r = &sim->requests[number];
    if (r->sent_to != child->instance) { /* a resource that the last one did not have */
        r->sends = r->whole_reads = r->effects = r->nothings = 0;
        r->byte_taken = r->may_have_arrived = false;
    }
    r->sends++;
    if (r->kind == ASK_TASK && child->instance != r->target)
        sim_broken(sim, PROMISE_P6, "request %d asks for a task that another server made", number);
    sim->stats->modern[MODERN_TASKS] += r->kind == ASK_TASK;
    const struct client *client = &sim->clients[r->client];
    const bool is_there = r->state == OPEN; /* else another may have come in its place */
    if (is_there && (!policy_allows(client, child->instance, NULL) ||
                     (r->is_forbidden && r->target == child->instance)))
        sim_broken(sim, PROMISE_P6, "request %d was sent, and its client may not use that", number);
    /* a state that is not ours may be a modern server's own */
    const bool may_be_its_own =
        child->era.is_modern && (r->retry == RETRY_TAMPERED || r->retry == RETRY_FOREIGN);
    if (may_be_its_own) {
        r->retry = NO_RETRY;
        r->root = number;
    }
    if (r->retry)
        sim_broken(sim, PROMISE_P2, "request %d goes on with %d, and was sent as a call of its own",
                   number, r->root);
    const bool is_anew = r->state == PARKED && r->is_anew && retry_is_taken(sim, r);
    if (r->state != OPEN && !r->shares_its_id && !is_anew)
        sim_broken(sim, PROMISE_P1, "request %d was sent although it had ended", number);
    if (r->sends > 1 && !r->repeatable && r->whole_reads > 0)
        sim_broken(sim, PROMISE_P2, "request %d was sent again after it was read whole", number);
    if (r->sends > 1 && !r->repeatable && is_readable_somewhere(sim, number))
        sim_broken(sim, PROMISE_P2, "request %d was sent again while it could be read", number);
    if (r->sends - r->nothings > HF_SENDS_MAX && !r->is_anew)
        sim_broken(sim, PROMISE_P2, "request %d was sent %u times", number, r->sends);
    /* a client that comes back once more for a call that was not sent anew begins it again */
    if (r->sends - r->nothings > HF_SENDS_MAX_ONCE_TAKEN && r->byte_taken && !r->is_anew)
        sim_broken(sim, PROMISE_P2, "request %d was sent a third time after a byte was taken",
                   number);
    const bool no_time = !child->instance->settings.eof_ms || child->instance->was_changed;
    if (r->sends > 1 && r->answered_by && r->answered_by == r->holder_serial && !no_time)
        sim_broken(sim, PROMISE_P4, "request %d was sent again although it was answered", number);
    r->holder = child;
    r->holder_serial = child->serial;
    r->sent_to = child->instance;
    r->generation = hf_runtime_generation(child->runtime);
    r->is_written = false;
}

void request_is_read(struct sim *sim, struct request *r)
{
    r->whole_reads++;
    if (r->said_undispatched)
        sim_broken(sim, PROMISE_P3,
                   "request %d was read whole after its client was told that it "
                   "never was sent",
                   r->number);
    if (r->whole_reads > 1 && !r->repeatable)
        sim_broken(sim, PROMISE_P2, "request %d was read whole by two", r->number);
}

void request_runs(struct sim *sim, int number)
{
    if (number < 0)
        return;
    struct request *r = &sim->requests[number];
    r->effects++;
    sim->stats->effects++;
    TRACE(sim, "  request %d is run", number);
    if (r->effects > 1 && !r->repeatable)
        sim_broken(sim, PROMISE_P2, "request %d ran %u times", number, r->effects);
    if (r->said_undispatched)
        sim_broken(sim, PROMISE_P3, "request %d ran after its client was told it never would",
                   number);
}
