/* serve.c - what remote servers, and whoever stands before them, do with what reaches them.
 *
 * Each exchange gets a plan: the steps of its answer, in order. Nothing is told to the engine from
 * here. A server turns away what it does not run, and says so in its own way; one that runs a call
 * may still fail to say so in many. */
#include "sim.h"

uint32_t serve_latency(struct sim *sim, const struct exchange *x)
{
    if (sim->is_calm || !x->wire || chance(sim, 60))
        return 0;
    return below(sim, x->wire->is.delay_ms + 1);
}

static void maybe_later(struct sim *sim, struct exchange *x, int status)
{
    if ((status != 429 && status < 500) || !chance(sim, 40))
        return;
    fault(sim, x, FAULT_RETRY_AFTER);
    x->retry_after_ms = PICK(sim, 0, 500, 3000, 60000);
}

/* A status, and a body that is no answer to what was asked. */
void serve_turn_away(struct sim *sim, struct exchange *x, int status)
{
    maybe_later(sim, x, status);
    plan(x, STEP_HEAD, status, serve_latency(sim, x));
    /* beside a refusal on a stream it would mean that somebody is at work there */
    if (chance(sim, 30) && x->wire && !(x->is_stream && sim->is_calm))
        plan(x, STEP_SAY, chance(sim, 50) ? SAYING_STRANGER : SAYING_NOISE, 0);
    plan(x, STEP_OVER, !sim->is_calm && chance(sim, 10) ? 0 : 1, 0);
}

void serve_badly(struct sim *sim, struct exchange *x, bool by_balancer)
{
    int status = (int)PICK(sim, 502, 503, 503, 504);
    if (!by_balancer)
        status = (int)PICK(sim, 401, 403, 404, 405, 413, 415, 421, 425, 429, 400);
    const bool is_ping = x->is_request && x->method == HF_METHOD_PING;
    const bool tells = is_ping || x->method == HF_METHOD_DISCOVER; /* what is in doubt */
    if (!by_balancer && tells && host_owes_a_ping(sim, x->instance))
        status = 503;
    fault(sim, x, status >= 500 ? FAULT_BALANCER : FAULT_GATE);
    if (is_ping && status < 500) /* by all we can know that session is gone: then it is */
        host_end_session(&x->instance->host, x->session);
    serve_turn_away(sim, x, status);
}

/* ---- the ordinary way ---- */

static void keep_stream(struct host *host, struct exchange *x)
{
    x->stream = ++host->stream_count;
    x->stream_event = 0;
    host->kept[x->stream % STREAMS_KEPT] = (struct kept) { x->stream, host->incarnation, x->asked };
}

static void begin_answer(struct sim *sim, struct exchange *x, bool is_stream)
{
    struct host *host = &x->instance->host;
    x->is_stream = is_stream;
    plan(x, STEP_RUN, 0, serve_latency(sim, x));
    plan(x, STEP_HEAD, 200, serve_latency(sim, x));
    if (!is_stream || !host->marks || x->is_modern)
        return;
    keep_stream(host, x);
    plan(x, STEP_MARK, chance(sim, 50) ? (int)PICK(sim, 0, 20, 3000, 50000) : -1, 0);
}

static void answer_well(struct sim *sim, struct exchange *x)
{
    const bool inquires = inquire_on_stream(sim, x);
    begin_answer(sim, x, inquires || chance(sim, x->instance->host.streaming));
    for (uint32_t n = inquires ? 1 + below(sim, 3) : 0; n > 0; n--)
        plan(x, STEP_SAY, SAYING_ASK, sim->in_exam || chance(sim, 70) ? 0 : below(sim, 60));
    plan(x, STEP_ANSWER, 0, 0);
    plan(x, STEP_OVER, true, x->is_stream ? serve_latency(sim, x) : 0);
}

/* ---- bad ends of a request ---- */

static void run_and_lose(struct sim *sim, struct exchange *x, enum fault how)
{
    fault(sim, x, how);
    if (how != FAULT_BEFORE_EFFECT)
        plan(x, STEP_RUN, 0, serve_latency(sim, x));
    if (how == FAULT_BODY_CUT)
        plan(x, STEP_HEAD, 200, 0);
    plan(x, STEP_OVER, false, serve_latency(sim, x));
}

static void run_and_fail(struct sim *sim, struct exchange *x, enum fault how)
{
    const struct hf_status_set *vouched = &x->instance->settings.refused_status;
    struct request *r = x->asked.request < 0 ? NULL : &sim->requests[x->asked.request];
    const bool is_odd = how == FAULT_LATE_4XX && chance(sim, 40);
    int status = (int)PICK(sim, 400, 401, 403, 404, 409, 422, 429);
    if (is_odd) /* whatever it says: the answer may stand in it */
        status = (int)PICK(sim, 400, 401, 404, 404, 405, 413, 415, 421, 425);
    if (how == FAULT_LATE_5XX)
        status = (int)PICK(sim, 500, 502, 503, 504);
    /* what its operator vouches for, and what is nobody's to tell apart */
    if ((hf_status_in(vouched, status) && !is_odd) || (r && r->shares_its_id) || !r)
        status = 500;
    x->words = is_odd ? WORDS_ODD : WORDS_OWN;
    x->oddity = below(sim, ODDITIES);
    if (how == FAULT_EARLY_500)
        status = 500;
    fault(sim, x, status < 500 ? FAULT_LATE_4XX : how == FAULT_LATE_4XX ? FAULT_LATE_5XX : how);
    if (r && status < 500 && !is_odd)
        r->late_status = status;
    if (how != FAULT_EARLY_500)
        plan(x, STEP_RUN, 0, serve_latency(sim, x));
    serve_turn_away(sim, x, status);
}

static void cut_stream(struct sim *sim, struct exchange *x)
{
    const bool marks = x->instance->host.marks && !x->is_modern;
    begin_answer(sim, x, true);
    fault(sim, x, marks ? FAULT_STREAM_CUT_LATER : FAULT_STREAM_CUT);
    if (chance(sim, 50))
        plan(x, STEP_SAY, chance(sim, 50) ? SAYING_PROGRESS : SAYING_LOG, 0);
    plan(x, STEP_OVER, false, serve_latency(sim, x));
}

static void close_to_be_resumed(struct sim *sim, struct exchange *x)
{
    struct host *host = &x->instance->host;
    if (!host->marks || x->is_modern) {
        cut_stream(sim, x);
        return;
    }
    begin_answer(sim, x, true);
    fault(sim, x, FAULT_POLLED);
    plan(x, STEP_OVER, true, 0);
}

static void lose_answer(struct sim *sim, struct exchange *x, uint32_t fate)
{
    switch (fate) {
    case 0: run_and_lose(sim, x, FAULT_BEFORE_EFFECT); break;
    case 1: run_and_lose(sim, x, FAULT_AFTER_EFFECT); break;
    case 2: run_and_lose(sim, x, FAULT_HEAD_CUT); break;
    case 3: run_and_lose(sim, x, FAULT_BODY_CUT); break;
    case 4:
    case 5: cut_stream(sim, x); break;
    case 6: close_to_be_resumed(sim, x); break;
    case 7: run_and_fail(sim, x, FAULT_LATE_4XX); break;
    case 8: run_and_fail(sim, x, FAULT_LATE_5XX); break;
    case 9: run_and_fail(sim, x, FAULT_EARLY_500); break;
    case 10:
        fault(sim, x, FAULT_EMPTY);
        begin_answer(sim, x, false);
        plan(x, STEP_OVER, true, 0);
        break;
    default:
        fault(sim, x, FAULT_REDIRECT);
        serve_turn_away(sim, x, 307);
        break;
    }
}

static void answer_oddly(struct sim *sim, struct exchange *x, enum fault how)
{
    fault(sim, x, how);
    begin_answer(sim, x, how != FAULT_MALFORMED && how != FAULT_TOO_LARGE ? true : chance(sim, 50));
    switch (how) {
    case FAULT_STRANGE_ID: plan(x, STEP_SAY, SAYING_STRANGER, 0); break;
    case FAULT_ASKS:
        plan(x, STEP_SAY, (int)PICK(sim, SAYING_ASK, SAYING_ASK, SAYING_PROGRESS, SAYING_LOG), 0);
        break;
    case FAULT_NO_END: return;
    case FAULT_MALFORMED: plan(x, STEP_MALFORMED, (int)below(sim, 2), 0); break;
    case FAULT_TOO_LARGE: plan(x, STEP_OVERSIZE, 0, 0); break;
    default: break;
    }
    if (how != FAULT_MALFORMED && how != FAULT_TOO_LARGE)
        plan(x, STEP_ANSWER, how == FAULT_ELSEWHERE ? FAULT_ELSEWHERE : 0,
             how == FAULT_ASKS ? below(sim, 2000) : 0);
    if (how == FAULT_TWICE)
        plan(x, STEP_ANSWER, 0, serve_latency(sim, x));
    plan(x, STEP_OVER, how != FAULT_RESET, how == FAULT_RESET ? 0 : serve_latency(sim, x));
}

static void meet_fate(struct sim *sim, struct exchange *x)
{
    static const enum fault odd[] = { FAULT_RESET,     FAULT_TWICE,  FAULT_STRANGE_ID,
                                      FAULT_ELSEWHERE, FAULT_NO_END, FAULT_TOO_LARGE,
                                      FAULT_MALFORMED, FAULT_ASKS,   FAULT_ASKS };
    const uint32_t fate = below(sim, 22);
    if (fate < 12) {
        lose_answer(sim, x, fate);
    } else if (fate == 12) {
        fault(sim, x, FAULT_ANSWER_IN_4XX);
        plan(x, STEP_HEAD, (int)PICK(sim, 404, 400), serve_latency(sim, x));
        plan(x, STEP_ANSWER, -32601, 0);
        plan(x, STEP_OVER, true, 0);
    } else {
        answer_oddly(sim, x, odd[fate - 13]);
    }
}

/* ---- what it is asked ---- */

static bool turns_away_unknown(struct sim *sim, struct exchange *x)
{
    struct host *host = &x->instance->host;
    if (!x->session || host_knows(host, x->session))
        return false;
    const bool is_quiet = host->unknown_status == 200 && x->verb == HF_EXCHANGE_MESSAGE;
    const int status = host->unknown_status == 200 && !is_quiet ? 404 : host->unknown_status;
    fault(sim, x,
          status == 400   ? FAULT_FORGOTTEN_400
          : status == 401 ? FAULT_FORGOTTEN_401
          : status == 403 ? FAULT_FORGOTTEN_403
                          : FAULT_FORGOTTEN_404);
    x->words = WORDS_UNKNOWN;
    x->is_stream = is_quiet && host->words % 2; /* as an event, and always so */
    serve_turn_away(sim, x, status);
    return true;
}

static void serve_hello(struct sim *sim, struct exchange *x)
{
    struct host *host = &x->instance->host;
    const struct personality *is = &x->wire->is;
    if (host->wants_auth) {
        fault(sim, x, FAULT_HELLO_AUTH);
        serve_turn_away(sim, x, chance(sim, 70) ? 401 : 403);
        return;
    }
    if (is->dies_in_start || is->hangs_in_start) {
        fault(sim, x, FAULT_HELLO_LOST);
        if (is->dies_in_start)
            plan(x, STEP_OVER, false, 0);
        else
            plan(x, STEP_RUN, 0, 0); /* and nothing more */
        return;
    }
    if (host->gives_sessions)
        x->gives = host_open_session(sim, host);
    const bool is_error = chance(sim, is->evil / 8);
    if (is_error)
        fault(sim, x, FAULT_HELLO_ERROR);
    x->is_stream = chance(sim, host->streaming);
    plan(x, STEP_HEAD, is_error ? (int)PICK(sim, 200, 400) : 200, serve_latency(sim, x));
    plan(x, STEP_ANSWER, is_error ? -32602 : 0, 0);
    plan(x, STEP_OVER, true, 0);
}

/* It has not heard of another era. */
static void serve_discover(struct sim *sim, struct exchange *x)
{
    /* this carries no session, and is in the words of no revision that it knows */
    const bool is_strict = x->instance->host.gives_sessions || x->instance->may_be_upgraded;
    if (is_strict && (sim->is_calm || chance(sim, 70))) {
        x->words = WORDS_UNKNOWN;
        serve_turn_away(sim, x, x->instance->host.era_status);
        return;
    }
    plan(x, STEP_HEAD, (int)PICK(sim, 200, 400, 404), serve_latency(sim, x));
    plan(x, STEP_ANSWER, -32601, 0);
    plan(x, STEP_OVER, true, 0);
}

void serve_accept(struct sim *sim, const struct exchange *x)
{
    if (x->asked.request < 0)
        return;
    struct request *r = &sim->requests[x->asked.request];
    r->byte_taken = true;
    request_is_read(sim, r);
}

/* Whatever it told us, it may forget the request that we take back. */
static void take_note(struct sim *sim, struct exchange *x)
{
    for (unsigned i = 0; x->cancels && i < sim->exchange_top; i++) {
        struct exchange *other = &sim->exchanges[i];
        if (other->in_use && other->instance == x->instance && !other->post &&
            other->asked.id == x->cancels && chance(sim, 50))
            other->step_head = other->step_count;
    }
    for (int i = 0; x->cancels && i < sim->request_count; i++)
        if (sim->requests[i].rpc_id == x->cancels)
            inquire_taken_back(sim, i);
    if (!x->wire)
        return;
    if (chance(sim, x->wire->is.evil / 6)) {
        switch (below(sim, 4)) {
        case 0: serve_turn_away(sim, x, (int)PICK(sim, 400, 403, 404, 500, 503)); return;
        case 1: plan(x, STEP_OVER, false, 0); return;
        case 2:
            fault(sim, x, FAULT_NO_END);
            plan(x, STEP_RUN, 0, 0);
            return;
        default: break;
        }
    }
    plan(x, STEP_HEAD, chance(sim, 80) ? 202 : 200, serve_latency(sim, x));
    plan(x, STEP_OVER, true, 0);
}

void serve_request(struct sim *sim, struct exchange *x)
{
    const unsigned evil = !x->wire                ? 0
                          : x->asked.request >= 0 ? x->wire->is.evil
                                                  : x->wire->is.evil / 8;
    serve_accept(sim, x);
    if (!x->post)
        plan(x, STEP_RUN, 0, 0);
    else if (chance(sim, evil))
        meet_fate(sim, x);
    else
        answer_well(sim, x);
}

/* ---- HTTP+SSE: the answer comes on the one stream ---- */

static void owe_on_stream(struct sim *sim, const struct exchange *x, uint64_t delay_ms)
{
    struct child *wire = x->wire;
    struct exchange *stream = exchange_stream_of(sim, wire);
    if (!stream || wire->pending_count == PENDING_MAX)
        return;
    struct pending *pending = &wire->pending[wire->pending_count++];
    *pending = x->asked;
    pending->due_ms = delay_ms == UINT64_MAX ? UINT64_MAX : sim->now_ms + delay_ms;
    if (pending->due_ms < stream->wake_ms)
        stream->wake_ms = pending->due_ms;
}

static void serve_older_request(struct sim *sim, struct exchange *x)
{
    serve_accept(sim, x);
    request_runs(sim, x->asked.request);
    if (!x->post)
        return;
    const bool is_hello = x->method == HF_METHOD_INITIALIZE;
    const uint32_t fate = chance(sim, x->wire->is.evil / (is_hello ? 8u : 2u)) ? below(sim, 6) : 9;
    uint64_t delay = serve_latency(sim, x);
    if (fate == 0) { /* the answer comes all the same */
        fault(sim, x, FAULT_AFTER_EFFECT);
        plan(x, STEP_OVER, false, serve_latency(sim, x));
    } else if (fate == 1) {
        fault(sim, x, FAULT_LATE_5XX);
        serve_turn_away(sim, x, 500);
    } else {
        plan(x, STEP_HEAD, chance(sim, 80) ? 202 : 200, serve_latency(sim, x));
        plan(x, STEP_OVER, true, 0);
    }
    if (fate == 2) {
        fault(sim, x, FAULT_NO_END);
        delay = UINT64_MAX;
    }
    owe_on_stream(sim, x, delay);
    if (fate == 3) {
        fault(sim, x, FAULT_TWICE);
        owe_on_stream(sim, x, delay);
    }
}

static void serve_older(struct sim *sim, struct exchange *x)
{
    if (!x->is_at_endpoint) { /* somebody hoped for the newer transport */
        serve_turn_away(sim, x, (int)PICK(sim, 400, 404, 405));
        return;
    }
    if (turns_away_unknown(sim, x))
        return;
    if (x->is_request)
        serve_older_request(sim, x);
    else
        take_note(sim, x);
}

/* ---- verbs ---- */

static void serve_message(struct sim *sim, struct exchange *x)
{
    if (modern_serve(sim, x))
        return;
    if (x->instance->host.is_older)
        serve_older(sim, x);
    else if (x->is_at_endpoint)
        serve_turn_away(sim, x, 404);
    else if (x->method == HF_METHOD_INITIALIZE && x->is_request && x->post)
        serve_hello(sim, x);
    else if (x->method == HF_METHOD_DISCOVER)
        serve_discover(sim, x);
    else if (turns_away_unknown(sim, x))
        return;
    else if (x->is_request)
        serve_request(sim, x);
    else
        take_note(sim, x);
}

static void serve_listen(struct sim *sim, struct exchange *x)
{
    struct host *host = &x->instance->host;
    if (host->is_older) {
        fault(sim, x, FAULT_OLDER);
        x->gives = host_open_session(sim, host);
        x->is_stream = true;
        plan(x, STEP_HEAD, 200, serve_latency(sim, x));
        plan(x, STEP_ENDPOINT, 0, serve_latency(sim, x));
        return;
    }
    if (turns_away_unknown(sim, x))
        return;
    if (!host->has_stream || (host->gives_sessions && !x->session)) {
        fault(sim, x, FAULT_NO_STREAM);
        serve_turn_away(sim, x, host->has_stream ? 400 : 405);
        return;
    }
    if (x->last_life && x->last_life != host->incarnation && host->is_strict) {
        fault(sim, x, FAULT_STALE_ID);
        serve_turn_away(sim, x, 400);
        return;
    }
    if (x->instance->settings.transport != HF_TRANSPORT_HTTP && !x->wire->wire.has_version)
        fault(sim, x, FAULT_OLDER_SILENT); /* somebody hopes for an endpoint */
    x->is_stream = true;
    x->stream = host->marks ? ++host->stream_count : 0;
    x->stream_event = 0;
    plan(x, STEP_HEAD, 200, serve_latency(sim, x));
    if (host->marks)
        plan(x, STEP_MARK, chance(sim, 50) ? (int)PICK(sim, 0, 20, 3000) : -1, 0);
}

static void serve_resume(struct sim *sim, struct exchange *x)
{
    struct host *host = &x->instance->host;
    const struct kept *kept = &host->kept[x->stream % STREAMS_KEPT];
    const unsigned evil = sim->is_calm ? 0 : x->wire->is.evil / 2;
    if (turns_away_unknown(sim, x))
        return;
    if (!host->resumes || kept->number != x->stream || kept->incarnation != host->incarnation ||
        x->last_life != host->incarnation) {
        fault(sim, x, FAULT_RESUME_GONE);
        serve_turn_away(sim, x, (int)PICK(sim, 400, 404, 405));
        return;
    }
    x->asked = kept->asked;
    x->is_stream = true;
    plan(x, STEP_HEAD, 200, serve_latency(sim, x));
    const bool is_vain = chance(sim, evil);
    fault(sim, x, is_vain ? FAULT_RESUME_VAIN : FAULT_RESUMED);
    if (is_vain && chance(sim, 50))
        plan(x, STEP_SAY, SAYING_LOG, 0);
    if (!is_vain)
        plan(x, STEP_ANSWER, 0, serve_latency(sim, x));
    plan(x, STEP_OVER, chance(sim, 50), 0);
}

void serve(struct sim *sim, struct exchange *x)
{
    struct host *host = &x->instance->host;
    if (x->verb != HF_EXCHANGE_MESSAGE && x->instance->speaks == SPEAKS_MODERN) {
        serve_turn_away(sim, x, 405);
        return;
    }
    switch (x->verb) {
    case HF_EXCHANGE_MESSAGE: serve_message(sim, x); break;
    case HF_EXCHANGE_STREAM: serve_listen(sim, x); break;
    case HF_EXCHANGE_RESUME: serve_resume(sim, x); break;
    case HF_EXCHANGE_DELETE:
        if (turns_away_unknown(sim, x))
            break;
        if (chance(sim, 80))
            host_end_session(host, x->session);
        serve_turn_away(sim, x, (int)PICK(sim, 200, 204, 405));
        break;
    }
}
