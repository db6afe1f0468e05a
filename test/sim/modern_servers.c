/* modern_servers.c - servers of the revision 2026-07-28: what they are asked, in which words, and
 * what they answer.
 *
 * They have no greeting: whoever asks which era they speak learns it, and every request says who
 * asks. They ask nobody: what they want to know is an answer, and the call comes back with it under
 * another id. What they have to tell goes to whoever listens. A program may be replaced by one of
 * the other era; a process that runs stays what it is. */
#include <inttypes.h>
#include "sim.h"

/* ---- which era ---- */

void modern_init(struct sim *sim, struct instance *instance)
{
    const bool may_be = !instance->host.is_older && !(sim->is_inquisitive && chance(sim, 70));
    instance->speaks = may_be ? (enum speaks)PICK(sim, SPEAKS_LEGACY, SPEAKS_LEGACY, SPEAKS_MODERN,
                                                  SPEAKS_MODERN, SPEAKS_BOTH)
                              : SPEAKS_LEGACY;
    instance->on_probe = (enum on_probe)below(sim, PROBE_KILLS + 1);
    instance->may_be_upgraded = may_be && chance(sim, 25);
    instance->wants_input = (uint8_t)PICK(sim, 0, 30, 80);
    sim->stats->modern[MODERN_SERVERS] += instance->speaks != SPEAKS_LEGACY;
}

enum hf_era modern_era(struct sim *sim, const struct instance *instance)
{
    if (instance->may_be_upgraded || chance(sim, 40))
        return HF_ERA_UNKNOWN;
    if (instance->speaks == SPEAKS_BOTH)
        return chance(sim, 50) ? HF_ERA_MODERN : HF_ERA_LEGACY;
    return instance->speaks == SPEAKS_MODERN ? HF_ERA_MODERN : HF_ERA_LEGACY;
}

void modern_upgrade(struct sim *sim, struct instance *instance)
{
    if (!instance->may_be_upgraded || instance->removed)
        return;
    /* what a 4xx after an effect meant is asked for: see host_owes_a_ping */
    if (instance->is_remote && host_owes_a_ping(sim, instance))
        return;
    instance->speaks = (enum speaks)below(sim, SPEAKS_BOTH + 1);
    sim->stats->modern[MODERN_UPGRADES]++;
    TRACE(sim, "%s is replaced by one that speaks %s", seat_names[instance->seat],
          instance->speaks == SPEAKS_LEGACY   ? "the older era"
          : instance->speaks == SPEAKS_MODERN ? "the newer era"
                                              : "both eras");
    if (instance->is_remote)
        host_restart(sim, instance);
}

static bool is_removed(enum hf_method_id method)
{
    return method == HF_METHOD_INITIALIZE || method == HF_METHOD_PING ||
           method == HF_METHOD_SET_LEVEL || method == HF_METHOD_SUBSCRIBE ||
           method == HF_METHOD_UNSUBSCRIBE;
}

bool modern_check_words(struct sim *sim, const struct child *child, const struct hf_msg *msg,
                        int request)
{
    const enum hf_method_id method = hf_method_find(msg->method)->id;
    const bool is_modern = hf_era_is_modern(msg);
    /* a modern client's request says what it says, whoever gets it */
    const bool is_its_own = request >= 0 && sim->requests[request].is_modern;
    const char *what = NULL;
    if (msg->kind == HF_MSG_NOTIFICATION)
        what = child->era.is_modern && !child->era.was_greeted &&
                       (method == HF_METHOD_INITIALIZED || method == HF_METHOD_ROOTS_CHANGED ||
                        (child->is_remote && method == HF_METHOD_CANCELLED))
                   ? "a modern server hears what its revision has no more"
                   : NULL;
    else if (msg->kind != HF_MSG_REQUEST)
        return true;
    else if (is_modern && is_removed(method))
        what = "a request is modern, and its method is not";
    else if (is_modern && !is_its_own && method != HF_METHOD_DISCOVER && !child->era.is_modern)
        what = "a modern request comes to a server that did not say it is";
    else if ((!is_modern || !child->era.is_modern) && method != HF_METHOD_INITIALIZE &&
             method != HF_METHOD_DISCOVER && !child->era.was_greeted)
        what = "a server was not greeted, and a request is not modern";
    if (what)
        sim_broken(sim, PROMISE_INNER, "%s: %.*s", what, HF_FMT(msg->method));
    return !what;
}

/* ---- the question ---- */

/* What no modern server would say. */
static void answer_oddly(struct sim *sim, struct child *child, uint64_t id)
{
    static const char *const odd[] = {
        "\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":[\"2025-11-25\"]}}",
        "\"error\":{\"code\":-32022,\"message\":\"no\"}",
        "\"error\":{\"code\":-32602,\"message\":\"no\"}",
        "\"error\":{\"code\":-32002,\"message\":\"not initialized\"}",
        "\"error\":{}",
        "\"result\":{}",
        "\"result\":{\"supportedVersions\":[\"2099-01-01\"],\"capabilities\":{}}",
        "\"result\":nul",
    };
    hf_buf_printf(&child->out, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",%s}\n", id,
                  odd[below(sim, sizeof odd / sizeof *odd)]);
}

static void legacy_take_probe(struct sim *sim, struct child *child, struct pending pending)
{
    switch (child->instance->on_probe) {
    case PROBE_FAILS: talk_error(child, pending.id, -32601); break;
    case PROBE_ODD:
        sim->stats->modern[MODERN_PROBE_ODDITIES]++;
        answer_oddly(sim, child, pending.id);
        break;
    case PROBE_SILENT: sim->stats->modern[MODERN_PROBE_SILENCES]++; break;
    case PROBE_KILLS:
        child->era.died_of_probe = !child->era.was_greeted;
        sim->stats->modern[MODERN_PROBE_DEATHS]++;
        child_die(sim, child, 1 << 8);
        break;
    }
}

/* An error of the modern era that is no answer. */
static void fail_modernly(struct sim *sim, struct child *child, uint64_t id)
{
    talk_error(child, id, chance(sim, 50) ? HF_CODE_HEADER_MISMATCH : HF_CODE_MISSING_CAPABILITY);
}

void modern_take_probe(struct sim *sim, struct child *child, struct pending pending)
{
    pending.what = SAY_DISCOVER;
    pending.is_modern = true;
    sim->stats->modern[MODERN_PROBES] += !child->era.is_modern;
    if (child->speaks == SPEAKS_LEGACY)
        legacy_take_probe(sim, child, pending);
    else if (child->era.is_modern) /* whether it is still there */
        talk_owe(sim, child, pending, below(sim, child->is.delay_ms / 4 + 1));
    else if (child->is.dies_in_start)
        child_die(sim, child, 1 << 8);
    else if (child->is.hangs_in_start)
        talk_owe(sim, child, pending, UINT64_MAX);
    else if (chance(sim, child->is.evil / 8))
        fail_modernly(sim, child, pending.id);
    else
        talk_owe(sim, child, pending, below(sim, child->is.delay_ms + 1));
}

void modern_before_exit(struct sim *sim, const struct child *child)
{
    const struct hf_runtime *runtime = child->runtime;
    sim->probe_death.server = NULL;
    if (!child->era.died_of_probe || runtime != runtime->slot->attempt ||
        child->instance->settings.era != HF_ERA_UNKNOWN)
        return;
    sim->probe_death.server = runtime->server;
    sim->probe_death.backoff = runtime->server->backoff;
}

void modern_after_exit(struct sim *sim)
{
    const struct hf_server *server = sim->probe_death.server;
    if (server && memcmp(&sim->probe_death.backoff, &server->backoff, sizeof server->backoff) != 0)
        sim_broken(sim, PROMISE_P10, "%s does not bear to be asked for its era, and is charged",
                   server->name);
}

/* initialize, to a server that knows no such thing: it says so after what it was asked before. */
void modern_take_hello(struct sim *sim, struct child *child, struct pending pending)
{
    uint64_t delay_ms = 0;
    pending.what = SAY_NO_HELLO;
    for (unsigned i = 0; i < child->pending_count; i++) {
        const uint64_t due = child->pending[i].due_ms;
        if (child->pending[i].what == SAY_DISCOVER)
            delay_ms = due == UINT64_MAX ? due : due + 1 - sim->now_ms;
    }
    talk_owe(sim, child, pending, delay_ms);
}

/* ---- input that it wants first ---- */

/* Which round of input a request answers; 0: none. Our servers give their states, and the keys of
 * their questions, the number of the round. */
static unsigned round_of(struct hf_span text)
{
    static const char state[] = "\"requestState\":\"r", key[] = "\"inputResponses\":{\"q";
    const char *at = memmem(text.p, text.n, state, sizeof state - 1);
    if (at)
        return (unsigned)atoi(at + sizeof state - 1);
    at = memmem(text.p, text.n, key, sizeof key - 1);
    return at ? (unsigned)atoi(at + sizeof key - 1) : 0;
}

unsigned modern_round_of(struct hf_span text)
{
    const bool is_modern = memmem(text.p, text.n, HF_META_VERSION, sizeof HF_META_VERSION - 1);
    return is_modern ? round_of(text) : ROUND_OLDER;
}

void modern_leaves(struct sim *sim, int request, unsigned round)
{
    struct request *r = &sim->requests[request];
    if (r->comes_with && round == ROUND_OLDER)
        sim_broken(sim, PROMISE_P3, "request %d has a modern server's state, and goes to an older",
                   request);
    if (r->comes_with > r->rounds) {
        r->rounds = r->comes_with;
        r->round = r->rounds - 1;
    }
    if (round == ROUND_OLDER && r->rounds > 0 && !r->repeatable)
        sim_broken(sim, PROMISE_P2, "request %d was asked about, and goes to an older server",
                   request);
    if (round == ROUND_OLDER) /* the question may have been lost: as if it had never been put */
        round = r->rounds;
    if (round == r->round) /* for the first time, or again for a reason that is judged elsewhere */
        return;
    if (round != r->rounds || round != r->round + 1) {
        sim_broken(sim, PROMISE_P2,
                   "request %d answers round %u, was asked in %u and last answered %u", request,
                   round, r->rounds, r->round);
        return;
    }
    r->round = round;
    sim->stats->modern[MODERN_RETRIES]++;
    /* its server is done with what came before, and ran nothing; one that it was lost at may have
     */
    r->may_have_arrived = r->repeatable && r->sends - r->nothings > 1;
    r->sends = r->whole_reads = r->nothings = r->answered_by = 0;
    r->byte_taken = r->steal_failed = false;
}

static const char *const inputs[] = { "elicitation/create", "sampling/createMessage",
                                      "roots/list" };
static const char *const capabilities[] = { "elicitation", "sampling", "roots" };

/* What it may ask that client, by what the request says; sometimes it does not care. */
unsigned modern_may_ask(struct sim *sim, const struct hf_msg *msg)
{
    const struct hf_span capable = hf_json_get(msg->meta, HF_SPAN(HF_META_CAPABLE));
    unsigned bits = 0;
    for (unsigned i = 0; i < 3; i++)
        if (chance(sim, 5) || hf_json_get(capable, hf_span_of(capabilities[i])).p)
            bits |= 1u << i;
    return bits;
}

void modern_say_input(struct sim *sim, struct child *child, const struct pending *p)
{
    struct request *r = &sim->requests[p->request];
    bool has_state = chance(sim, 70);
    unsigned count = 0;
    r->rounds = r->round + 1;
    r->asked_id = p->id;
    hf_buf_add_str(&child->out, "\"resultType\":\"input_required\"");
    hf_buf_add_str(&child->out, ",\"inputRequests\":{");
    for (unsigned i = 0; i < 3; i++) {
        if (!(p->asks >> i & 1))
            continue;
        hf_buf_printf(&child->out,
                      "%s\"q%u_%u\":{\"method\":\"%s\",\"params\":{\"_k\":%d,\"message\":\"?\"}}",
                      count ? "," : "", r->rounds, count, inputs[i], p->request);
        count++;
    }
    hf_buf_add_char(&child->out, '}');
    has_state |= count == 0; /* come again later, is all it says */
    if (has_state)
        hf_buf_printf(&child->out, ",\"requestState\":\"r%u of %d\"", r->rounds, p->request);
    r->asked = count;
    sim->stats->modern[MODERN_ROUNDS]++;
}

/* Every question of the round came back with an answer, under another id, and nothing else did. */
void modern_check_answers(struct sim *sim, const struct request *r, unsigned round,
                          const struct hf_msg *msg)
{
    const struct hf_span answers = hf_json_get(msg->params, HF_SPAN("inputResponses"));
    unsigned count = 0;
    int64_t id;
    /* a read whose question died with its server, unheard, is the same request once more */
    const bool may_be_the_same = r->is_modern && r->repeatable;
    if (!may_be_the_same && hf_json_int(msg->id, &id) && (uint64_t)id == r->asked_id)
        sim_broken(sim, PROMISE_P5, "request %d came back under the id that was answered",
                   r->number);
    for (struct hf_json_iter it = hf_json_iter(answers); answers.p && hf_json_next(&it);)
        count++;
    for (unsigned i = 0; i < r->asked; i++) {
        char key[24];
        (void)snprintf(key, sizeof key, "q%u_%u", round, i);
        if (hf_json_type(hf_json_get(answers, hf_span_of(key))) != HF_JSON_OBJECT)
            sim_broken(sim, PROMISE_P3, "request %d came back without an answer to %s", r->number,
                       key);
    }
    if (count != r->asked)
        sim_broken(sim, PROMISE_P3, "request %d came back with %u answers to %u questions",
                   r->number, count, r->asked);
}

bool modern_wants_input(struct sim *sim, const struct child *child, const struct request *r)
{
    const bool may_want =
        r->kind <= ASK_READ && r->target == child->instance && !(child->is_sane && r->is_modern);
    const unsigned enough = child->is_sane ? 2 : 3;
    return may_want && (r->rounds < enough || (!child->is_sane && chance(sim, 80))) &&
           chance(sim, child->instance->wants_input);
}

/* ---- what it tells of itself ---- */

void modern_add_tag(struct child *child)
{
    if (!child->era.listen_count)
        return;
    hf_buf_printf(&child->out, "\"_meta\":{\"" HF_META_LISTEN "\":%" PRIu64 "}",
                  child->era.listens[child->era.listen_count - 1]);
}

static bool drop_listen(struct child *child, uint64_t id)
{
    for (unsigned i = 0; i < child->era.listen_count; i++) {
        if (child->era.listens[i] != id)
            continue;
        child->era.listen_count--;
        memmove(child->era.listens + i, child->era.listens + i + 1,
                (child->era.listen_count - i) * sizeof *child->era.listens);
        return true;
    }
    return false;
}

/* Under an id that was taken back nobody hears anything any more. */
static void say_stale(struct child *child, uint64_t id)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                  "\"params\":{\"uri\":\"res://%d/1\",\"_meta\":{\"" HF_META_LISTEN "\":%" PRIu64
                  "}}}\n",
                  child->instance->seat, id);
}

void modern_take_cancel(struct sim *sim, struct child *child, uint64_t id)
{
    if (drop_listen(child, id) && !sim->is_calm && chance(sim, 20))
        say_stale(child, id);
}

void modern_acknowledge(struct sim *sim, struct child *child, uint64_t id)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
                  "\"params\":{\"_meta\":{\"" HF_META_LISTEN "\":%" PRIu64
                  "},\"notifications\":{}}}\n",
                  id);
    if (child->era.was_unsubscribed) /* what changed meanwhile must be asked for */
        child->announced = child->instance->variant;
    child->era.was_unsubscribed = false;
    sim->stats->modern[MODERN_ACKNOWLEDGED]++;
}

/* Of which resources it is to tell. */
static unsigned resources_in(struct hf_span filter)
{
    const struct hf_span uris = hf_json_get(filter, HF_SPAN("resourceSubscriptions"));
    unsigned bits = 0;
    for (struct hf_json_iter it = hf_json_iter(uris); uris.p && hf_json_next(&it);)
        if (it.value.n > 7 && it.value.p[1] == 'r')
            bits |= 1u << (it.value.p[7] - '0');
    return bits;
}

void modern_check_listen(struct sim *sim, struct child *child, const struct hf_msg *msg)
{
    const struct hf_span filter = hf_json_get(msg->params, HF_SPAN("notifications"));
    const struct instance *instance = child->instance;
    const bool tools = hf_json_is_true(hf_json_get(filter, HF_SPAN("toolsListChanged")));
    sim->stats->modern[MODERN_LISTENS]++;
    child->subscribed = resources_in(filter);
    if (child->era.refused_listen)
        sim_broken(sim, PROMISE_P8, "a server that knows no subscriptions is asked again");
    if (child->era.listen_count >= 3) /* a slow pipe may hold up the end of the one before */
        sim_broken(sim, PROMISE_P12, "child %u is listened to %u times", child->serial,
                   child->era.listen_count + 1);
    if (tools != instance->lists_tools)
        sim_broken(sim, PROMISE_P7, "child %u is listened to for what it has not", child->serial);
}

void modern_say_listen_over(struct child *child, uint64_t id)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":{\"resultType\":"
                  "\"complete\"}}\n",
                  id);
}

static void end_listen(struct sim *sim, struct child *child, uint64_t id, int code)
{
    (void)drop_listen(child, id);
    sim->stats->modern[MODERN_LISTENS_ENDED]++;
    if (code)
        talk_error(child, id, code);
    else
        modern_say_listen_over(child, id);
}

bool modern_tells(struct sim *sim, const struct child *child)
{
    return child->subscribed >> child->instance->seat & 1 && chance(sim, 50);
}

static void take_listen(struct sim *sim, struct child *child, uint64_t id, const struct hf_msg *msg)
{
    modern_check_listen(sim, child, msg);
    if (child->era.listen_count == LISTENS_MAX)
        return;
    child->era.listens[child->era.listen_count++] = id;
    switch (chance(sim, child->is.evil) ? below(sim, 8) : 9) {
    case 0:
        child->era.refused_listen = true;
        end_listen(sim, child, id, -32601);
        break;
    case 1: end_listen(sim, child, id, -32603); break;
    case 2: end_listen(sim, child, id, 0); break;
    case 3: break; /* it listens, and does not say so */
    case 4:
        modern_acknowledge(sim, child, id);
        end_listen(sim, child, id, 0);
        child->era.was_unsubscribed = true;
        break;
    default:
        modern_acknowledge(sim, child, id);
        if (modern_tells(sim, child))
            talk_update(child);
        break;
    }
}

static unsigned listens_of(const struct sim *sim, const struct child *child)
{
    unsigned count = child->era.listen_count;
    for (unsigned i = 0; child->is_remote && i < sim->exchange_top; i++) {
        const struct exchange *x = &sim->exchanges[i];
        count += x->in_use && x->wire == child && modern_is_listening(x);
    }
    return count;
}

bool modern_listens_as_wanted(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->child_top; i++) {
        const struct child *child = &sim->children[i];
        const struct hf_runtime *runtime = child->in_use ? child->runtime : NULL;
        size_t uris;
        if (!runtime || !runtime->is_modern || runtime != runtime->slot->current ||
            child->era.refused_listen)
            continue;
        hf_free(hf_wanted_uris(runtime, &uris));
        if (listens_of(sim, child) != (child->instance->lists_tools || uris) ||
            (runtime->upstream &&
             runtime->upstream->timer.at_ms)) /* not acknowledged, or to be sent again */
            return false;
    }
    return true;
}

/* ---- requests ---- */

void modern_take_request(struct sim *sim, struct child *child, struct pending pending,
                         const struct hf_msg *msg)
{
    struct request *r = pending.request < 0 ? NULL : &sim->requests[pending.request];
    pending.is_modern = true;
    if (hf_method_find(msg->method)->id == HF_METHOD_LISTEN) {
        if (child->life == ALIVE)
            take_listen(sim, child, pending.id, msg);
        return;
    }
    if (r && r->round)
        modern_check_answers(sim, r, r->round, msg);
    if (!r || sim->has_failed || !modern_wants_input(sim, child, r)) {
        talk_take_request(sim, child, pending, msg);
        return;
    }
    pending.what = SAY_INPUT;
    pending.asks = child->is_sane ? 0 : modern_may_ask(sim, msg);
    talk_owe(sim, child, pending, below(sim, child->is.delay_ms + 1));
}
