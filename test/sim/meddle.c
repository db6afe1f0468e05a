/* meddle.c - how remote servers go wrong by themselves: they forget, restart, go away, change their
 * tools and speak unasked; and how they come to their senses. */
#include "sim.h"

void host_init(struct sim *sim, struct host *host)
{
    host->incarnation = 1;
    host->is_older = chance(sim, 20);
    host->gives_sessions = chance(sim, 80);
    host->has_stream = chance(sim, 70);
    host->is_strict = chance(sim, 50);
    host->resumes = chance(sim, 60);
    host->marks = chance(sim, 50);
    host->unknown_status = (int)PICK(sim, 400, 401, 403, 404, 404, 200);
    if (host->is_older && host->unknown_status == 200) /* that would mean: accepted */
        host->unknown_status = 404;
    host->words = (uint8_t)below(sim, 5);
    host->era_status = (int)PICK(sim, 400, 404, 405);
    host->streaming = (uint8_t)PICK(sim, 0, 50, 100);
    if (!sim->is_calm)
        host_go_mad(sim, host);
}

void host_go_mad(struct sim *sim, struct host *host)
{
    host->net = (uint8_t)PICK(sim, 0, 0, 3, 15);
    host->wants_auth = chance(sim, 4);
}

/* ---- sessions ---- */

bool host_knows(const struct host *host, unsigned session)
{
    for (unsigned i = 0; i < host->known_count; i++)
        if (host->known[i].number == session)
            return true;
    return false;
}

void host_end_session(struct host *host, unsigned session)
{
    for (unsigned i = 0; i < host->known_count; i++)
        if (host->known[i].number == session)
            host->known[i] = host->known[--host->known_count];
}

/* We take leave of it, or cannot any more. */
void host_part(struct host *host, unsigned session)
{
    for (unsigned i = 0; i < host->known_count; i++)
        host->known[i].has_parted |= host->known[i].number == session;
}

unsigned host_open_session(const struct sim *sim, struct host *host)
{
    if (host->known_count == SESSIONS_KNOWN)
        host_end_session(host, host->known[0].number);
    const unsigned number = ++host->session_count;
    host->known[host->known_count++] =
        (struct known) { .number = number, .is_of_calm = sim->is_calm && sim->was_mad };
    return number;
}

/* A tool's own 401 before a gate that says 401 to our ping: nobody can tell the two apart. That is
 * the one hole that the rule of DESIGN 4 leaves; no host here falls into it. A modern server that
 * goes back while a bare 4xx of its own tool is in doubt is another. */
bool host_owes_a_ping(const struct sim *sim, const struct instance *instance)
{
    for (int i = 0; i < sim->request_count; i++) {
        const struct request *r = &sim->requests[i];
        if (r->late_status && r->sent_to == instance && (r->state == OPEN || r->shares_its_id))
            return true;
    }
    return false;
}

/* ---- cut ---- */

static bool has_step(const struct exchange *x, int kind)
{
    for (unsigned i = x->step_head; i < x->step_count; i++)
        if ((int)x->steps[i].kind == kind)
            return true;
    return false;
}

static void cut(struct sim *sim, struct exchange *x)
{
    if (has_step(x, STEP_RUN) && chance(sim, 50))
        request_runs(sim, x->asked.request);
    x->step_head = x->step_count = 0;
    if (!x->post) {
        exchange_drop(sim, x);
        return;
    }
    if (x->phase == TO_SEND)
        x->sent = chance(sim, 50) ? HF_SENT_PART : HF_SENT_WHOLE;
    plan(x, STEP_OVER, false, 0);
    x->phase = AT_SERVER;
    x->wake_ms = sim->now_ms;
}

void host_restart(struct sim *sim, struct instance *instance)
{
    struct host *host = &instance->host;
    fault(sim, NULL, FAULT_RESTART);
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        struct exchange *x = &sim->exchanges[i];
        const bool is_there = x->in_use && x->instance == instance &&
                              (x->phase == TO_SEND || x->incarnation == host->incarnation);
        if (is_there)
            cut(sim, x);
    }
    for (unsigned i = 0; i < sim->child_top; i++)
        if (sim->children[i].in_use && sim->children[i].instance == instance &&
            sim->children[i].is_remote)
            sim->children[i].pending_count = 0;
    host->incarnation++;
    host->known_count = 0;
}

/* ---- deeds ---- */

static struct exchange *any_stream(struct sim *sim, const struct instance *instance)
{
    struct exchange *chosen = NULL;
    uint32_t seen = 0;
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        struct exchange *x = &sim->exchanges[i];
        if (x->in_use && x->post && x->instance == instance &&
            (x->verb == HF_EXCHANGE_STREAM || modern_is_listening(x)) && x->phase == OPEN_STREAM &&
            below(sim, ++seen) == 0)
            chosen = x;
    }
    return chosen;
}

static void end_stream(struct sim *sim, struct exchange *x, bool is_whole)
{
    fault(sim, x, is_whole ? FAULT_LISTEN_CLOSED : FAULT_LISTEN_CUT);
    x->step_head = x->step_count = 0;
    if (modern_is_listening(x) && is_whole)
        plan(x, STEP_ANSWER, 0, 0);
    plan(x, STEP_OVER, is_whole, 0);
    x->phase = AT_SERVER;
    x->wake_ms = sim->now_ms;
}

static void forget_one(struct sim *sim, struct host *host)
{
    if (!host->known_count)
        return;
    fault(sim, NULL, FAULT_FORGETS);
    host_end_session(host, host->known[below(sim, host->known_count)].number);
}

void host_meddle(struct sim *sim, struct instance *instance)
{
    struct host *host = &instance->host;
    struct exchange *stream = any_stream(sim, instance);
    const uint32_t dice = below(sim, 100);
    if (dice < 15) {
        host_restart(sim, instance);
    } else if (dice < 25) {
        fault(sim, NULL, FAULT_DOWN);
        host->down_until_ms = sim->now_ms + PICK(sim, 5, 200, 3000);
        host_restart(sim, instance);
    } else if (dice < 45) {
        forget_one(sim, host);
    } else if (dice < 50) {
        instance->variant++;
    } else if (stream && dice < 70) {
        instance->variant += chance(sim, 50);
        fault(sim, stream, FAULT_NEWS);
        exchange_say(sim, stream, chance(sim, 60) ? SAYING_NEWS : SAYING_UPDATE);
    } else if (stream && dice < 80) {
        fault(sim, stream, FAULT_ASKS_ALONE);
        stream->asked.request = -1;
        exchange_say(sim, stream, SAYING_ASK);
    } else if (stream && dice < 88) {
        exchange_say(sim, stream, SAYING_NOISE);
    } else if (stream) {
        end_stream(sim, stream, chance(sim, 50));
    }
}

/* ---- calm ---- */

/* What would never have ended does. */
static void end_well(struct sim *sim, struct exchange *x)
{
    if (x->phase >= AT_SERVER && x->verb != HF_EXCHANGE_STREAM && !modern_is_listening(x) &&
        !has_step(x, STEP_OVER)) {
        struct host *host = &x->instance->host;
        if (x->method == HF_METHOD_INITIALIZE && host->gives_sessions && !x->gives)
            x->gives = host_open_session(sim, host);
        if (!x->status && !has_step(x, STEP_HEAD))
            plan(x, STEP_HEAD, x->is_request ? 200 : 202, 0);
        if (x->is_request)
            plan(x, STEP_ANSWER, 0, 0);
        plan(x, STEP_OVER, true, 0);
        x->phase = AT_SERVER;
    }
    for (unsigned i = x->step_head; i < x->step_count; i++)
        x->steps[i].delay_ms = 0;
    x->wake_ms = sim->now_ms;
}

void hosts_become_sane(struct sim *sim)
{
    for (unsigned i = 0; i < sim->instance_count; i++) {
        struct instance *instance = &sim->instances[i];
        struct host *host = &instance->host;
        if (!instance->is_remote)
            continue;
        if (chance(sim, 30))
            host_restart(sim, instance);
        host->net = 0;
        host->wants_auth = false;
        host->down_until_ms = 0;
    }
    for (unsigned i = 0; i < sim->exchange_top; i++)
        if (sim->exchanges[i].in_use)
            end_well(sim, &sim->exchanges[i]);
    /* A call whose exchange was lost waits for its answer as long as such a stream lives. */
    for (unsigned i = 0; i < sim->exchange_top && !sim->has_failed; i++) {
        struct exchange *x = &sim->exchanges[i];
        if (x->in_use && x->post && x->verb == HF_EXCHANGE_STREAM && x->phase == OPEN_STREAM &&
            x->instance->host.is_older)
            end_stream(sim, x, chance(sim, 50));
    }
}
