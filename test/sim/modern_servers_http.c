/* modern_servers_http.c - remote servers of the revision 2026-07-28: what the headers of a request
 * must say, and what is planned for its answer.
 *
 * A request is modern by its headers. A server of one era alone turns away what is of the other, in
 * its own way; one of both serves each as it comes. There are no sessions here and no streams but
 * those of requests: a subscription is one of them, and closing one is how its request is
 * cancelled. */
#include "sim.h"

bool modern_is_listening(const struct exchange *x)
{
    return x->is_request && x->method == HF_METHOD_LISTEN;
}

/* ---- as it leaves us ---- */

static bool has_line(struct hf_span headers, const char *name, struct hf_span raw)
{
    char line[80];
    const int n = raw.n < 2
                      ? snprintf(line, sizeof line, "%s", name)
                      : snprintf(line, sizeof line, "%s %.*s\n", name, (int)raw.n - 2, raw.p + 1);
    return memmem(headers.p, headers.n, line, (size_t)n);
}

static void check_headers(struct sim *sim, const struct hf_msg *msg, struct hf_span headers)
{
    const enum hf_method_id method = hf_method_find(msg->method)->id;
    const bool is_read = method == HF_METHOD_RESOURCES_READ;
    const bool is_named =
        is_read || method == HF_METHOD_TOOLS_CALL || method == HF_METHOD_PROMPTS_GET;
    const struct hf_span name = hf_json_get(msg->params, hf_span_of(is_read ? "uri" : "name"));
    char line[80];
    (void)snprintf(line, sizeof line, "Mcp-Method: %.*s\n", HF_FMT(msg->method));
    if (!memmem(headers.p, headers.n, line, strlen(line)) ||
        (is_named && !has_line(headers, "Mcp-Name:", name)))
        sim_broken(sim, PROMISE_INNER, "the headers of a modern request do not say %.*s",
                   HF_FMT(msg->method));
}

void modern_read_post(struct sim *sim, struct exchange *x, const struct hf_msg *msg,
                      const struct hf_remote_exchange_request *request)
{
    struct child *wire = x->wire;
    const int key = key_of(msg->text);
    x->is_modern = hf_span_is(request->version, HF_MODERN_VERSION);
    x->has_param = request->headers.p && has_line(request->headers, "Mcp-Param-A:", HF_SPAN(""));
    const bool is_modern_wire = wire->era.is_modern && !wire->era.was_greeted;
    if (!modern_check_words(sim, wire, msg, key))
        return;
    if (x->is_modern != (is_modern_wire || x->method == HF_METHOD_DISCOVER))
        sim_broken(sim, PROMISE_INNER, "%.*s goes under the wrong revision", HF_FMT(msg->method));
    if (x->is_modern && msg->method.p) /* not an answer to what it should not have asked */
        check_headers(sim, msg, request->headers);
    if (!x->is_request)
        return;
    sim->stats->modern[MODERN_PROBES] += x->method == HF_METHOD_DISCOVER && !is_modern_wire;
    if (modern_is_listening(x))
        modern_check_listen(sim, wire, msg);
    if (key < 0)
        return;
    x->round = x->is_modern ? modern_round_of(msg->text) : ROUND_OLDER;
    if (x->round && x->is_modern && x->round == sim->requests[key].rounds)
        modern_check_answers(sim, &sim->requests[key], x->round, msg);
}

/* ---- as it arrives ---- */

static void answer_error(struct sim *sim, struct exchange *x, int status, int code)
{
    plan(x, STEP_HEAD, status, serve_latency(sim, x));
    plan(x, STEP_ANSWER, code, 0);
    plan(x, STEP_OVER, true, 0);
}

/* For one who speaks only this era, of a request that is not of it. */
static void refuse_revision(struct sim *sim, struct exchange *x)
{
    fault(sim, x, FAULT_REVISION);
    const bool is_bare = x->method == HF_METHOD_INITIALIZE && chance(sim, 50);
    x->words = x->is_request && !is_bare ? WORDS_REVISION : WORDS_UNKNOWN;
    serve_turn_away(sim, x, is_bare ? (int)PICK(sim, 400, 404, 405) : 400);
}

static void serve_discover(struct sim *sim, struct exchange *x)
{
    const struct personality *is = &x->wire->is;
    const bool is_first = !x->wire->era.is_modern;
    if (is_first && x->instance->host.wants_auth) {
        fault(sim, x, FAULT_HELLO_AUTH);
        serve_turn_away(sim, x, chance(sim, 70) ? 401 : 403);
        return;
    }
    if (is_first && (is->dies_in_start || is->hangs_in_start)) {
        fault(sim, x, FAULT_HELLO_LOST);
        if (is->dies_in_start)
            plan(x, STEP_OVER, false, 0);
        else
            plan(x, STEP_RUN, 0, 0); /* and nothing more */
        return;
    }
    if (chance(sim, is->evil / 8) && !host_owes_a_ping(sim, x->instance)) {
        fault(sim, x, FAULT_DISCOVER_ERROR);
        answer_error(sim, x, 400,
                     chance(sim, 50) ? HF_CODE_HEADER_MISMATCH : HF_CODE_MISSING_CAPABILITY);
        return;
    }
    x->asked.what = SAY_DISCOVER;
    x->is_stream = chance(sim, x->instance->host.streaming);
    answer_error(sim, x, 200, 0);
}

static void serve_listen(struct sim *sim, struct exchange *x)
{
    const uint32_t fate = chance(sim, x->wire->is.evil) ? below(sim, 8) : 9;
    if (fate < 2) {
        fault(sim, x, FAULT_SUBSCRIPTION_REFUSED);
        answer_error(sim, x, fate ? 400 : 404, fate ? -32603 : -32601);
        return;
    }
    x->is_stream = true;
    plan(x, STEP_HEAD, 200, serve_latency(sim, x));
    if (fate == 2 || fate == 3) {
        fault(sim, x, FAULT_SUBSCRIPTION_MUTE);
        return;
    }
    plan(x, STEP_LISTENING, 0, serve_latency(sim, x));
    if (modern_tells(sim, x->wire))
        plan(x, STEP_SAY, SAYING_UPDATE, serve_latency(sim, x));
    if (fate > 5)
        return;
    fault(sim, x, FAULT_SUBSCRIPTION_ENDED);
    if (fate == 4)
        plan(x, STEP_ANSWER, 0, serve_latency(sim, x));
    plan(x, STEP_OVER, fate == 4, 0);
}

/* What it says of itself is not what its tool wants to hear said. */
static bool refuses_headers(struct sim *sim, struct exchange *x)
{
    const struct request *r = x->asked.request < 0 ? NULL : &sim->requests[x->asked.request];
    const bool is_put =
        r && r->kind == ASK_PUT && r->target == x->instance && x->instance->lists_tools;
    const bool lacks = is_put && x->instance->variant & 1 && !x->has_param;
    /* who refused it once without a reason is likely to do it again */
    const uint32_t lies = !x->wire || x->wire->is_sane ? 0
                          : r && r->refusals           ? 70
                                                       : x->wire->is.evil / 8;
    if (!lacks && !(is_put && chance(sim, lies)))
        return false;
    fault(sim, x, lacks ? FAULT_MISMATCH : FAULT_MISMATCH_LIE);
    if (x->post)
        answer_error(sim, x, 400, HF_CODE_HEADER_MISMATCH);
    return true;
}

static void ask_for_input(struct sim *sim, struct exchange *x)
{
    const bool is_lost = chance(sim, x->wire->is.evil / 4);
    serve_accept(sim, x);
    fault(sim, x, is_lost ? FAULT_INPUT_LOST : FAULT_INPUT);
    x->asked.what = SAY_INPUT;
    if (x->wire->is_sane)
        x->asked.asks = 0;
    x->is_stream = chance(sim, x->instance->host.streaming);
    plan(x, STEP_HEAD, 200, serve_latency(sim, x));
    if (!is_lost)
        plan(x, STEP_ANSWER, 0, serve_latency(sim, x));
    plan(x, STEP_OVER, !is_lost, 0);
}

static void serve_call(struct sim *sim, struct exchange *x)
{
    const struct request *r = x->asked.request < 0 ? NULL : &sim->requests[x->asked.request];
    x->asked.is_modern = true;
    if (refuses_headers(sim, x))
        return;
    if (r && x->post && modern_wants_input(sim, x->wire, r))
        ask_for_input(sim, x);
    else
        serve_request(sim, x);
}

bool modern_serve(struct sim *sim, struct exchange *x)
{
    const struct instance *instance = x->instance;
    if (instance->speaks == SPEAKS_LEGACY) {
        const bool is_wrong = x->is_modern && x->is_request && x->method != HF_METHOD_DISCOVER;
        if (is_wrong) {
            fault(sim, x, FAULT_WENT_BACK);
            x->words = WORDS_UNKNOWN;
            serve_turn_away(sim, x, instance->host.era_status);
        }
        return is_wrong;
    }
    if (!x->is_modern && instance->speaks == SPEAKS_MODERN)
        refuse_revision(sim, x);
    else if (!x->is_modern || !x->is_request)
        return false;
    else if (x->method == HF_METHOD_DISCOVER && x->post)
        serve_discover(sim, x);
    else if (modern_is_listening(x) && x->post)
        serve_listen(sim, x);
    else if (x->method != HF_METHOD_DISCOVER && !modern_is_listening(x))
        serve_call(sim, x);
    return true;
}
