/* inquire.c - legacy servers that ask something in the middle of a call and wait for the answer,
 * and what they may be told then.
 *
 * Every answer of a modern client carries a mark: which request brought it, and which of that
 * request's answers it is. So a server that hears it knows whether it may. */
#include <inttypes.h>
#include "sim.h"

static const char *const methods[] = {
    [INQUIRE_SAMPLING] = "sampling/createMessage",
    [INQUIRE_ROOTS] = "roots/list",
    [INQUIRE_ELICITATION] = "elicitation/create",
    [INQUIRE_URL] = "elicitation/create",
    [INQUIRE_PING] = "ping",
    [INQUIRE_ODD] = "x/unheard",
};

void inquire_ask(struct child *child, enum inquiry kind, int request)
{
    const uint64_t number = ++child->next_ask;
    child->ask_kinds[number % 64] = (uint8_t)kind;
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"id\":\"a%" PRIu64 "\",\"method\":\"%s\",\"params\":{"
                  "\"q\":%" PRIu64,
                  number, methods[kind], number);
    if (kind == INQUIRE_ELICITATION)
        hf_buf_add_str(&child->out, ",\"requestedSchema\":{\"required\":[\"n\"]}");
    if (request >= 0)
        hf_buf_printf(&child->out, ",\"_k\":%d", request);
    hf_buf_add_str(&child->out, "}}\n");
}

static bool may_ask(const struct child *child)
{
    return child->next_ask + INQUIRIES_MAX < 64; /* else its questions could not be told apart */
}

static void ask_some(struct sim *sim, struct child *child, struct pending *pending)
{
    for (uint32_t n = 1 + below(sim, 3); n > 0; n--) {
        inquire_ask(child,
                    (enum inquiry)(chance(sim, 90) ? below(sim, INQUIRE_URL)
                                                   : INQUIRE_PING + below(sim, 2)),
                    -1);
        pending->waits |= UINT64_C(1) << (child->next_ask % 64);
    }
}

bool inquire(struct sim *sim, struct child *child, struct pending pending)
{
    if (pending.request < 0 || pending.is_modern || !may_ask(child) ||
        child->pending_count == PENDING_MAX || !chance(sim, child->is.asks))
        return false;
    pending.asks_again = !sim->in_exam && chance(sim, 40) ? (uint8_t)(1 + below(sim, 2)) : 0;
    ask_some(sim, child, &pending);
    /* one in six loses patience */
    pending.due_ms = !sim->in_exam && chance(sim, 16) ? sim->now_ms + below(sim, 3000) : UINT64_MAX;
    child->pending[child->pending_count++] = pending;
    return true;
}

bool inquire_first(struct sim *sim, struct child *child, const struct pending *pending)
{
    const bool may = pending->request >= 0 && !pending->is_modern && !sim->in_exam;
    if (!may || !chance(sim, child->is.asks / 3u))
        return false;
    hf_buf_printf(
        &child->out,
        "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"error\":{\"code\":-32042,\"message\":"
        "\"first\",\"data\":{\"elicitations\":[{\"mode\":\"url\",\"url\":\"u://1\"}]}}}\n",
        pending->id);
    return true;
}

bool inquire_on_stream(struct sim *sim, struct exchange *x)
{
    x->inquires =
        x->wire && x->asked.request >= 0 && may_ask(x->wire) && chance(sim, x->wire->is.asks);
    return x->inquires;
}

/* ---- what it is told ---- */

static enum inquiry kind_of(struct hf_span answer)
{
    return hf_json_get(answer, HF_SPAN("roots")).p    ? INQUIRE_ROOTS
           : hf_json_get(answer, HF_SPAN("action")).p ? INQUIRE_ELICITATION
                                                      : INQUIRE_SAMPLING;
}

static void check_mark(struct sim *sim, const struct child *child, uint64_t number,
                       struct hf_span answer)
{
    int64_t mark, asked;
    if (!hf_json_int(hf_json_get(answer, HF_SPAN("m")), &mark))
        return; /* of a legacy client */
    struct request *r = &sim->requests[mark / INQUIRIES_MAX];
    const struct request *root = &sim->requests[r->root];
    const unsigned bit = 1u << (mark % INQUIRIES_MAX);
    sim->stats->given += r->brings_answers;
    if (r->marks & bit)
        sim_broken(sim, PROMISE_P2, "an answer of request %d was told twice", r->number);
    r->marks |= (uint16_t)bit;
    if (r->retry == RETRY_TAMPERED || r->retry == RETRY_FOREIGN || r->retry == RETRY_OTHER)
        sim_broken(sim, PROMISE_P3, "answers of request %d reached a server, and must not",
                   r->number);
    if (root->holder_serial != child->serial)
        sim_broken(sim, PROMISE_P6, "child %u hears an answer about request %d, which is with %u",
                   child->serial, root->number, root->holder_serial);
    if (kind_of(answer) != child->ask_kinds[number % 64] || !(r->able >> kind_of(answer) & 1))
        sim_broken(sim, PROMISE_P6, "question %u of child %u got an answer of another kind",
                   (unsigned)number, child->serial);
    if (hf_json_int(hf_json_get(answer, HF_SPAN("q")), &asked) && (uint64_t)asked != number)
        sim_broken(sim, PROMISE_P6, "question %u of child %u got the answer to question %u",
                   (unsigned)number, child->serial, (unsigned)asked);
}

/* It has all it asked for, or goes on asking. */
static void go_on(struct sim *sim, struct child *child, struct pending *pending)
{
    if (pending->asks_again && may_ask(child) && child->life == ALIVE) {
        pending->asks_again--;
        ask_some(sim, child, pending);
    } else if (pending->due_ms == UINT64_MAX) {
        pending->due_ms = sim->now_ms + (chance(sim, 60) ? 0 : below(sim, 100));
        if (child->wake_ms > pending->due_ms)
            child->wake_ms = pending->due_ms;
    }
}

void inquire_heard(struct sim *sim, struct child *child, const struct hf_msg *msg)
{
    talk_heard_answer(sim, child, msg->id);
    if (msg->id.n < 3 || msg->id.p[1] != 'a')
        return;
    const uint64_t number = strtoull(msg->id.p + 2, NULL, 10);
    if (number == 0 || number > child->next_ask || child->next_ask >= 64)
        return;
    const uint64_t bit = UINT64_C(1) << (number % 64);
    if (msg->kind == HF_MSG_RESULT)
        check_mark(sim, child, number, msg->result);
    for (unsigned i = 0; i < child->pending_count; i++) {
        struct pending *pending = &child->pending[i];
        if (!(pending->waits & bit))
            continue;
        pending->waits &= ~bit;
        if (!pending->waits)
            go_on(sim, child, pending);
    }
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        struct exchange *x = &sim->exchanges[i];
        if (!x->in_use || x->wire != child || !(x->asked.waits & bit))
            continue;
        x->asked.waits &= ~bit;
        if (!x->asked.waits && x->wake_ms == UINT64_MAX)
            x->wake_ms = sim->now_ms;
    }
}

/* A call that waits for its client is given up on when that had its time, and not before. */
void inquire_taken_back(struct sim *sim, int request)
{
    struct request *r = request < 0 ? NULL : &sim->requests[request];
    if (r)
        r->was_taken_back = true;
    if (!r || r->state != PARKED || r->call_timeout_ms || r->clocks_changed || sim->is_stopping ||
        request_goes_by_uri(r)) /* another server than its target may have it, with other clocks */
        return;
    const struct client *client = &sim->clients[r->client];
    if (client->session && client->visit == r->visit && !client->is_finished &&
        sim->now_ms < r->touched_ms + sim->limits.park_ms)
        sim_broken(sim, PROMISE_P1, "request %d was cancelled, and its client may come back",
                   request);
}
