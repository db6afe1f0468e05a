/* hosts.c - remote servers and the exchanges with them, as the network has them.
 *
 * What left us, what arrived and what may still run is recorded here, and what clients are told is
 * judged by it. An exchange that we gave up lives on without its post: bytes that left cannot be
 * taken back. What a server answers is planned in serve.c, step by step. */
#include <inttypes.h>
#include "sim.h"

enum { BODY_MAX = 200 };

const char *const verb_names[] = { "message", "listen", "resume", "goodbye" };

void fault(struct sim *sim, const struct exchange *x, enum fault fault)
{
#define NAME(id, name) name,
    static const char *const names[] = { FAULTS(NAME) };
#undef NAME
    sim->stats->faults[fault]++;
    TRACE(sim, "  exchange %u: %s", x ? x->serial : 0, names[fault]);
}

void plan(struct exchange *x, int kind, int value, uint32_t delay_ms)
{
    assert(x->step_count < STEPS);
    x->steps[x->step_count++] =
        (struct step) { .kind = kind, .value = value, .delay_ms = delay_ms };
}

static struct request *request_of(struct sim *sim, const struct exchange *x)
{
    return x->verb == HF_EXCHANGE_MESSAGE && x->is_request && x->asked.request >= 0
               ? &sim->requests[x->asked.request]
               : NULL;
}

void exchange_drop(struct sim *sim, struct exchange *x)
{
    x->in_use = false;
    while (sim->exchange_top && !sim->exchanges[sim->exchange_top - 1].in_use)
        sim->exchange_top--;
}

/* ---- begun ---- */

static struct exchange *free_exchange(struct sim *sim)
{
    unsigned i = 0;
    while (i < EXCHANGES && sim->exchanges[i].in_use)
        i++;
    assert(i < EXCHANGES && "more exchanges than any sane run has");
    if (i == sim->exchange_top)
        sim->exchange_top++;
    struct exchange *x = &sim->exchanges[i];
    *x = (struct exchange) { .in_use = true, .serial = ++sim->exchange_serial };
    return x;
}

void exchange_begin(struct sim *sim, struct hf_remote_exchange *post)
{
    struct hf_remote_exchange_request request;
    struct exchange *x = free_exchange(sim);
    hf_remote_exchange_request(post, &request);
    x->post = post;
    x->wire = child_behind(hf_runtime_backend(hf_remote_exchange_runtime(post)));
    x->instance = x->wire->instance;
    x->verb = request.kind;
    x->retry_ms = x->retry_after_ms = -1;
    x->asked.request = -1;
    hf_remote_exchange_set_backend(post, hf_backend_exchange_of(x));
    post_read_head(x, &request);
    TRACE(sim, "    exchange %u begins: %s of wire %u, session %u", x->serial, verb_names[x->verb],
          x->wire->serial, x->session);
    if (x->verb == HF_EXCHANGE_MESSAGE)
        post_read_body(sim, x, &request);
    post_check(sim, x, &request);
    struct request *r = request_of(sim, x);
    if (r) {
        r->posts++;
        r->exchange = x->serial;
        r->rpc_id = x->asked.id;
        r->session = x->session;
    }
    sim->stats->exchanges++;
    x->wake_ms = sim->now_ms;
    if (!sim->is_calm && chance(sim, 20))
        x->wake_ms += below(sim, PICK(sim, 20, 3000));
}

/* ---- given up ---- */

void exchange_abort(struct sim *sim, struct hf_remote_exchange *post)
{
    struct exchange *x = exchange_behind(hf_remote_exchange_backend(post));
    if (!x || x->post != post) {
        sim_broken(sim, PROMISE_INNER, "an exchange was aborted that is not under way");
        return;
    }
    TRACE(sim, "    exchange %u is aborted", x->serial);
    const bool may_run = x->phase == TO_SEND || (x->phase == AT_SERVER && x->incarnation);
    sim->stats->fates[x->verb][x->phase == TO_CONNECT ? FATE_ABORTED_UNSENT : FATE_ABORTED]++;
    struct request *r = request_of(sim, x);
    if (r && r->state == OPEN) /* its runtime is killed: that is no time to say goodbye */
        host_part(&x->instance->host, x->wire->wire.session);
    x->post = NULL;
    x->wire = NULL;
    if (r && x->phase != TO_CONNECT)
        r->may_have_arrived = true;
    if (x->asked.waits && x->wake_ms == UINT64_MAX)
        x->wake_ms = sim->now_ms;
    x->asked.waits = 0; /* nobody answers it any more */
    if (!r || !may_run || chance(sim, 50))
        exchange_drop(sim, x);
}

/* ---- told to the engine ---- */

/* Not one whose end comes when the next is being made already. */
static bool is_of_this_session(const struct exchange *x)
{
    return x->is_at_endpoint || x->session == x->wire->wire.session;
}

static enum fate fate_of(const struct exchange *x, bool is_whole)
{
    static const enum fate by_sent[] = { FATE_UNSENT, FATE_PARTIAL, FATE_LOST };
    if (x->status == 0)
        return by_sent[x->sent];
    if (x->status < 300)
        return is_whole ? FATE_WHOLE : FATE_CUT;
    return x->status < 400 ? FATE_S3XX : x->status < 500 ? FATE_S4XX : FATE_S5XX;
}

/* What the end of an exchange lets its wire know, and what it does to the request in it. */
static void note_end(struct sim *sim, struct exchange *x, bool is_whole)
{
    struct child *wire = x->wire;
    struct request *r = request_of(sim, x);
    if (r && x->status == 0 && x->phase != TO_CONNECT) {
        r->nothings += x->sent == HF_SENT_NOTHING;
        r->byte_taken |= x->sent != HF_SENT_NOTHING;
        r->may_have_arrived |= x->sent == HF_SENT_WHOLE;
    }
    if (r && (x->status == 0 || x->status >= 300)) /* whatever comes now was given up */
        r->exchange = 0;
    const bool is_ping = x->is_request && x->method == HF_METHOD_PING;
    const bool is_refusal = !x->has_answered && x->session && !x->is_stranger &&
                            x->verb == HF_EXCHANGE_MESSAGE &&
                            (is_whole || !x->is_request || is_ping) &&
                            (x->words == WORDS_UNKNOWN || x->words == WORDS_REVISION ||
                             x->status == 404 || (is_ping && x->status >= 400 && x->status < 500));
    if (is_refusal && x->session > wire->wire.last_refused) {
        wire->wire.last_refused = x->session;
        wire->wire.refused++;
    }
    if (x->is_request && x->asked.what == SAY_LIST && !x->has_answered)
        wire->listed_badly = true;
    if (x->is_introduction && is_of_this_session(x))
        wire->wire.is_greeting = false;
    wire->era.was_unsubscribed |= x->is_acknowledged;
    if (x->verb == HF_EXCHANGE_STREAM && x->status == 405) /* it has none, and is not asked again */
        wire->wire.has_listened = false;
}

/* ---- what stands in a refusal ---- */

static void speak_oddly(const struct exchange *x, struct hf_body *body, char text[BODY_MAX])
{
    static const char *const formats[ODDITIES] = {
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"of\":%llu}} and more",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"of\":%llu}}{}",
        "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"resul",
        "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":\"\xff\"}",
        "zip %llu",
        "no end %llu",
        "data: %llu",
    };
    (void)snprintf(text, BODY_MAX, formats[x->oddity], (unsigned long long)x->asked.id);
    body->is_plain = x->oddity != 4;
    body->is_measured = x->oddity != 5;
    if (x->oddity == 6)
        body->type = HF_SPAN("text/event-stream");
}

static void speak_unknown(const struct exchange *x, struct hf_body *body, char text[BODY_MAX])
{
    static const char gone[] =
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"gone\"},\"id\":";
    const unsigned words = x->status < 300 ? 0 : x->instance->host.words;
    body->type = words < 2 ? HF_SPAN("application/json") : HF_SPAN("text/plain");
    if (words == 1 && x->is_request)
        (void)snprintf(text, BODY_MAX, "%s%llu}", gone, (unsigned long long)x->asked.id);
    else if (words < 2)
        (void)snprintf(text, BODY_MAX, "%snull}", gone);
    else if (words == 2)
        (void)snprintf(text, BODY_MAX, "no session number-%u here", x->session);
    else if (x->status != 404 || words == 3)
        (void)snprintf(text, BODY_MAX, "not found");
}

static struct hf_body body_of(const struct exchange *x, char text[BODY_MAX])
{
    struct hf_body body = { .is_plain = true, .is_measured = true };
    text[0] = '\0';
    switch (x->words) {
    case WORDS_UNKNOWN: speak_unknown(x, &body, text); break;
    case WORDS_ODD: speak_oddly(x, &body, text); break;
    case WORDS_REVISION:
        body.type = HF_SPAN("application/json");
        (void)snprintf(text, BODY_MAX,
                       "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32022,\"message\":"
                       "\"no\",\"data\":{\"supported\":[\"" HF_MODERN_VERSION "\"]}}}",
                       (unsigned long long)x->asked.id);
        break;
    case WORDS_OWN: (void)snprintf(text, BODY_MAX, "the tool says no"); break;
    case WORDS_GATE:
        if (x->status >= 400 && x->serial % 2)
            (void)snprintf(text, BODY_MAX, "nobody may pass");
        break;
    }
    body.text = hf_span_of(text);
    return body;
}

static void tell_over(struct sim *sim, struct exchange *x, bool is_whole)
{
    struct hf_remote_exchange *post = x->post;
    char text[BODY_MAX];
    const struct hf_body body = body_of(x, text);
    if (x->is_stream && x->words == WORDS_UNKNOWN && x->status < 300) {
        TRACE(sim, "exchange %u says %s", x->serial, text);
        shell_begin(sim, hf_remote_exchange_runtime(post));
        hf_remote_exchange_message(post, body.text, at(sim->now_ms));
        shell_end(sim);
    }
    const struct hf_remote_exchange_end end = {
        .body = body,
        .sent = x->sent,
        .status = x->status,
        .is_whole = is_whole,
        .retry_after_ms = x->retry_after_ms,
        .why = x->sent == HF_SENT_NOTHING ? "connection refused" : "the connection was lost",
    };
    TRACE(sim, "exchange %u is over: sent %d, status %d, %s", x->serial, (int)x->sent, x->status,
          is_whole ? "whole" : "not whole");
    sim->stats->fates[x->verb][fate_of(x, is_whole)]++;
    note_end(sim, x, is_whole);
    hf_remote_exchange_set_backend(post, NULL);
    exchange_drop(sim, x);
    shell_begin(sim, hf_remote_exchange_runtime(post));
    hf_remote_exchange_ended(post, &end, at(sim->now_ms));
    shell_end(sim);
}

static void end_unsent(struct sim *sim, struct exchange *x, enum hf_sent sent)
{
    x->sent = sent;
    tell_over(sim, x, false);
}

static void tell_head(struct sim *sim, struct exchange *x, int status)
{
    char id[24];
    struct child *wire = x->wire;
    struct host *host = &x->instance->host;
    const bool is_good = status >= 200 && status < 300;
    const bool is_hello = x->is_request && x->method == HF_METHOD_INITIALIZE && is_good;
    struct hf_span session = { NULL, 0 };
    x->status = status;
    x->is_stream &= is_good;
    TRACE(sim, "exchange %u answers %d%s", x->serial, status, x->is_stream ? ", a stream" : "");
    if (x->gives && is_good) {
        (void)snprintf(id, sizeof id, "session-%u", x->gives);
        session = hf_span_of(id);
        for (unsigned i = 0; i < host->known_count; i++)
            host->known[i].was_told |= host->known[i].number == x->gives;
    }
    if (is_hello)
        wire->wire.session = x->is_at_endpoint ? 0 : x->gives;
    if (x->is_introduction && is_good && is_of_this_session(x))
        wire->wire.is_greeting = false;
    wire->wire.has_listened |= x->verb == HF_EXCHANGE_STREAM && x->is_stream;
    shell_begin(sim, wire->runtime);
    hf_remote_exchange_head(x->post, status, x->is_stream, session, at(sim->now_ms));
    shell_end(sim);
}

static void tell_mark(struct sim *sim, struct exchange *x)
{
    char id[40];
    (void)snprintf(id, sizeof id, "%u-%u-%u", x->instance->host.incarnation, x->stream,
                   ++x->stream_event);
    TRACE(sim, "exchange %u: event %s, retry %d", x->serial, id, (int)x->retry_ms);
    hf_remote_exchange_event(x->post, hf_span_of(id), x->retry_ms);
}

/* Every line that lies in its wire's `out`, as a message of its own. */
static void tell_messages(struct sim *sim, struct exchange *x)
{
    struct child *wire = x->wire;
    const unsigned serial = x->serial;
    while (hf_buf_len(&wire->out) && !sim->has_failed) {
        const struct hf_span all = hf_buf_span(&wire->out);
        const char *newline = memchr(all.p, '\n', all.n);
        const struct hf_span text = { all.p, newline ? (size_t)(newline - all.p) : all.n };
        hf_buf_clear(&sim->scratch);
        hf_buf_add(&sim->scratch, text);
        hf_buf_consume(&wire->out, text.n + (newline != NULL));
        if (text.n == 0 || !x->in_use || x->serial != serial || !x->post)
            continue;
        TRACE(sim, "exchange %u says %.*s", x->serial, (int)(text.n < 300 ? text.n : 300),
              hf_buf_span(&sim->scratch).p);
        shell_begin(sim, wire->runtime);
        update_before(sim, wire->runtime,
                      x->status < 300 ? hf_buf_span(&sim->scratch) : HF_SPAN(""));
        if (x->is_stream && x->stream && chance(sim, 50))
            tell_mark(sim, x);
        hf_remote_exchange_message(x->post, hf_buf_span(&sim->scratch), at(sim->now_ms));
        shell_end(sim);
        update_after(sim);
    }
}

static struct exchange *another_stream(struct sim *sim, const struct exchange *x)
{
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        struct exchange *other = &sim->exchanges[i];
        if (other->in_use && other != x && other->post && other->wire == x->wire &&
            other->is_stream && other->status == 200)
            return other;
    }
    return NULL;
}

/* A good answer that reached us is passed on, whatever happens next (P4). */
static void tell_answer(struct sim *sim, struct exchange *x, int value)
{
    struct child *wire = x->wire;
    struct pending asked = x->asked;
    struct request *r = asked.request < 0 ? NULL : &sim->requests[asked.request];
    struct exchange *on = value == FAULT_ELSEWHERE ? another_stream(sim, x) : NULL;
    /* rejected before it ran, by the revision: sent again once */
    const bool is_refusal =
        value == HF_CODE_HEADER_MISMATCH || value == HF_CODE_UNSUPPORTED_VERSION;
    const bool must_reach = r && r->state == OPEN && r->exchange == asked.exchange &&
                            !r->shares_its_id && asked.what != SAY_INPUT && !is_refusal &&
                            !(r->kind == ASK_READ && r->target != x->instance);
    hf_buf_clear(&wire->out);
    if (value < 0)
        talk_error(wire, asked.id, value);
    else
        talk_answer(sim, wire, &asked);
    x->has_answered = true;
    wire->era.refused_listen |= modern_is_listening(x) && value == -32601;
    wire->listed_badly |= asked.what == SAY_LIST && value < 0;
    if (asked.what == SAY_HELLO && value == 0)
        wire->wire.has_version = true;
    if (asked.what == SAY_DISCOVER && value == 0) { /* whatever was tried before */
        wire->wire.is_greeting = wire->era.was_greeted = false;
        wire->wire.session = 0;
    }
    tell_messages(sim, on ? on : x);
    if (r && is_refusal && ++r->refusals > 2) /* each call is corrected once */
        sim_broken(sim, PROMISE_P2, "request %d was refused %u times", r->number, r->refusals);
    if (must_reach && r->state == OPEN && !sim->has_failed && !sim->is_seamed)
        sim_broken(sim, PROMISE_P4, "request %d was answered, and its client hears nothing",
                   r->number);
}

static void tell_oversize(struct sim *sim, struct exchange *x)
{
    struct child *wire = x->wire;
    struct hf_json_skim skim;
    hf_buf_clear(&wire->out);
    if (!talk_too_much(sim, wire, x->asked.id)) {
        tell_answer(sim, x, 0);
        return;
    }
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_buf_span(&wire->out));
    hf_buf_clear(&wire->out);
    TRACE(sim, "exchange %u says too much", x->serial);
    x->has_answered = true;
    wire->listed_badly |= x->asked.what == SAY_LIST;
    shell_begin(sim, wire->runtime);
    hf_remote_exchange_message_oversized(x->post, &skim, at(sim->now_ms));
    shell_end(sim);
}

void exchange_say(struct sim *sim, struct exchange *x, enum saying saying)
{
    struct child *wire = x->wire;
    const unsigned announced = wire->announced;
    hf_buf_clear(&wire->out);
    wire->era.listens[0] = x->asked.id;
    wire->era.listen_count = modern_is_listening(x);
    switch (saying) {
    case SAYING_PROGRESS: talk_progress(sim, wire, &x->asked); break;
    case SAYING_ASK:
        talk_ask(sim, wire, x->asked.request);
        if (x->inquires)
            x->asked.waits |= UINT64_C(1) << (wire->next_ask % 64);
        break;
    case SAYING_LOG: talk_log(wire, x->asked.request); break;
    case SAYING_STRANGER: talk_error(wire, x->asked.id + HF_CALLS_MAX, -32050); break;
    case SAYING_NOISE: talk_noise(sim, wire); break;
    case SAYING_NEWS: talk_news(wire); break;
    case SAYING_UPDATE: talk_update(wire); break;
    }
    wire->era.listen_count = 0;
    if (x->status >= 300) /* nobody listens to what comes with an error */
        wire->announced = announced;
    tell_messages(sim, x);
}

static void tell_malformed(struct sim *sim, struct exchange *x, int kind)
{
    static const char *const formats[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":nul}",
        "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 "}",
    };
    hf_buf_clear(&x->wire->out);
    hf_buf_printf(&x->wire->out, formats[kind], x->asked.id);
    x->has_answered = true;
    x->wire->listed_badly |= x->asked.what == SAY_LIST;
    tell_messages(sim, x);
}

/* ---- one deed of an exchange ---- */

static void connect_or_not(struct sim *sim, struct exchange *x)
{
    const struct host *host = &x->instance->host;
    if (host->down_until_ms > sim->now_ms || chance(sim, host->net / 3)) {
        fault(sim, x, chance(sim, 70) ? FAULT_REFUSED : FAULT_NO_NAME);
        end_unsent(sim, x, HF_SENT_NOTHING);
        return;
    }
    TRACE(sim, "exchange %u is sending", x->serial);
    if (request_of(sim, x)) {
        modern_leaves(sim, x->asked.request, x->round);
        request_leaves(sim, x->wire, x->asked.request);
        sim->requests[x->asked.request].is_written = true;
    }
    x->phase = TO_SEND;
    x->wake_ms = sim->now_ms + (!sim->is_calm && chance(sim, 20) ? below(sim, 200) : 0);
    shell_begin(sim, x->wire->runtime);
    hf_remote_exchange_sending(x->post, at(sim->now_ms));
    shell_end(sim);
}

static void reach(struct sim *sim, struct exchange *x)
{
    struct request *r = request_of(sim, x);
    x->sent = HF_SENT_WHOLE;
    if (r)
        r->may_have_arrived = true;
    x->phase = AT_SERVER;
    x->incarnation = x->instance->host.incarnation;
    serve(sim, x);
    x->wake_ms = sim->now_ms + (x->step_count ? x->steps[0].delay_ms : 0);
}

static void fail_on_the_way(struct sim *sim, struct exchange *x)
{
    switch (below(sim, 5)) {
    case 0:
        fault(sim, x, FAULT_NOTHING);
        end_unsent(sim, x, HF_SENT_NOTHING);
        return;
    case 1:
        fault(sim, x, FAULT_PART);
        end_unsent(sim, x, HF_SENT_PART);
        return;
    case 2:
        fault(sim, x, FAULT_UNREAD);
        end_unsent(sim, x, HF_SENT_WHOLE);
        return;
    default: break;
    }
    struct request *r = request_of(sim, x);
    if (r)
        r->may_have_arrived = true;
    x->sent = HF_SENT_WHOLE;
    x->phase = AT_SERVER;
    serve_badly(sim, x, chance(sim, 50));
    x->wake_ms = sim->now_ms;
}

static void do_step(struct sim *sim, struct exchange *x, struct step step)
{
    switch (step.kind) {
    case STEP_RUN: request_runs(sim, x->asked.request); break;
    case STEP_HEAD: tell_head(sim, x, step.value); break;
    case STEP_MARK:
        x->retry_ms = step.value >= 0 ? step.value : x->retry_ms;
        tell_mark(sim, x);
        break;
    case STEP_ANSWER: tell_answer(sim, x, step.value); break;
    case STEP_SAY: exchange_say(sim, x, (enum saying)step.value); break;
    case STEP_LISTENING:
        hf_buf_clear(&x->wire->out);
        x->is_acknowledged = true;
        modern_acknowledge(sim, x->wire, x->asked.id);
        tell_messages(sim, x);
        break;
    case STEP_OVERSIZE: tell_oversize(sim, x); break;
    case STEP_MALFORMED: tell_malformed(sim, x, step.value); break;
    case STEP_ENDPOINT: {
        char url[40];
        (void)snprintf(url, sizeof url, "http://h/m?s=session-%u", x->gives);
        TRACE(sim, "exchange %u: endpoint %s", x->serial, url);
        shell_begin(sim, x->wire->runtime);
        hf_remote_exchange_endpoint(x->post, hf_span_of(url), at(sim->now_ms));
        shell_end(sim);
        break;
    }
    case STEP_OVER: tell_over(sim, x, step.value); break;
    }
}

static void go_on(struct sim *sim, struct exchange *x)
{
    const unsigned serial = x->serial;
    if (x->step_head < x->step_count) {
        const struct step step = x->steps[x->step_head++];
        if (x->post || step.kind == STEP_RUN)
            do_step(sim, x, step);
    }
    if (!x->in_use || x->serial != serial)
        return;
    if (x->step_head < x->step_count) {
        const bool waits = x->asked.waits && (!sim->is_calm || sim->in_exam) &&
                           x->steps[x->step_head].kind == STEP_ANSWER;
        x->wake_ms = waits ? UINT64_MAX : sim->now_ms + x->steps[x->step_head].delay_ms;
    } else if (x->post) {
        x->phase = OPEN_STREAM;
        x->wake_ms =
            x->instance->host.is_older && x->verb == HF_EXCHANGE_STREAM ? sim->now_ms : UINT64_MAX;
    } else {
        exchange_drop(sim, x);
    }
}

/* HTTP+SSE: the answers that are due. */
static void speak(struct sim *sim, struct exchange *x)
{
    struct child *wire = x->wire;
    const unsigned serial = x->serial;
    for (unsigned i = 0; i < wire->pending_count; i++) {
        if (wire->pending[i].due_ms > sim->now_ms)
            continue;
        x->asked = wire->pending[i];
        wire->pending[i] = wire->pending[--wire->pending_count];
        tell_answer(sim, x, 0);
        break;
    }
    if (!x->in_use || x->serial != serial || !x->post)
        return;
    x->wake_ms = UINT64_MAX;
    for (unsigned i = 0; i < wire->pending_count; i++)
        if (wire->pending[i].due_ms < x->wake_ms)
            x->wake_ms = wire->pending[i].due_ms;
}

void exchange_act(struct sim *sim, struct exchange *x)
{
    switch (x->phase) {
    case TO_CONNECT: connect_or_not(sim, x); break;
    case TO_SEND:
        if (x->post &&
            chance(sim, x->instance->host.net * (x->verb == HF_EXCHANGE_RESUME ? 5u : 1u)))
            fail_on_the_way(sim, x);
        else
            reach(sim, x);
        break;
    case AT_SERVER: go_on(sim, x); break;
    case OPEN_STREAM: speak(sim, x); break;
    }
}

struct exchange *exchange_stream_of(struct sim *sim, const struct child *wire)
{
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        struct exchange *x = &sim->exchanges[i];
        if (x->in_use && x->post && x->wire == wire && x->verb == HF_EXCHANGE_STREAM &&
            x->phase == OPEN_STREAM)
            return x;
    }
    return NULL;
}
