/* retries.c - modern clients whose call was answered with a question: how they come back to it, and
 * what they may be told then. Whatever they do, the call stays the one that it was. */
#include <ctype.h>
#include "sim.h"

static const struct hf_span our_seal = { "hf1.", 4 };

static bool is_sealed(struct hf_span state)
{
    return state.n > 6 && hf_span_starts(hf_span_from(state, 1), our_seal);
}

static struct request *root_of(struct sim *sim, const struct request *r)
{
    return &sim->requests[r->root];
}

/* ---- answers ---- */

static void add_answer(struct sim *sim, enum inquiry kind, int by, unsigned index)
{
    static const char *const forms[] = {
        [INQUIRE_SAMPLING] = "\"role\":\"assistant\",\"content\":{\"type\":\"text\"}",
        [INQUIRE_ROOTS] = "\"roots\":[]",
        [INQUIRE_ELICITATION] = "\"action\":\"accept\",\"content\":{\"n\":1}",
        [INQUIRE_URL] = "\"action\":\"accept\"",
    };
    const bool declines = kind == INQUIRE_ELICITATION && by % 4 == 0;
    hf_buf_printf(&sim->message, "{%s,\"m\":%u", declines ? "\"action\":\"decline\"" : forms[kind],
                  (unsigned)by * INQUIRIES_MAX + index);
}

/* Those that a client of these capabilities can have ready before anybody asks. */
void retry_add_given(struct sim *sim, const struct request *r)
{
    static const char *const names[] = { "a", "b", "c" };
    hf_buf_add_str(&sim->message, ",\"inputResponses\":{");
    for (unsigned kind = 0; kind <= INQUIRE_ELICITATION; kind++) {
        if (!(r->able >> kind & 1))
            continue;
        hf_buf_printf(&sim->message, "\"%s\":", names[kind]);
        add_answer(sim, (enum inquiry)kind, r->number, kind);
        hf_buf_add_str(&sim->message, "},");
    }
    hf_buf_add_str(&sim->message, "\"d\":{}}");
}

static void add_answers(struct sim *sim, const struct question *question, const struct request *r)
{
    const int by = r->retry == RETRY_SAME ? question->by : r->number;
    const enum retry how = sim->requests[by].retry;
    const unsigned count = question->count - (how == RETRY_PART);
    hf_buf_add_str(&sim->message, ",\"inputResponses\":{");
    for (unsigned i = 0; i < count; i++) {
        hf_buf_printf(&sim->message, "%s\"%s\":", i ? "," : "", question->asked[i].key);
        if (how == RETRY_WRONG && i + 1 == count) {
            hf_buf_add_char(&sim->message, '7');
            continue;
        }
        add_answer(sim, (enum inquiry)question->asked[i].kind, by, i);
        hf_buf_printf(&sim->message, ",\"q\":%u}", question->asked[i].number);
    }
    hf_buf_add_char(&sim->message, '}');
}

static void tamper(struct sim *sim, char *state)
{
    const uint32_t first = sim->in_exam ? 20 : 0; /* behind what says whose state it is */
    char *at = state + first + below(sim, (uint32_t)strlen(state) - first);
    if (isalpha((unsigned char)*at) && chance(sim, 30))
        *at = (char)toupper((unsigned char)*at);
    else
        *at = *at == '0' ? '1' : '0';
}

void retry_add(struct sim *sim, const struct request *r)
{
    const struct question *question = &sim->questions[r->question];
    char state[sizeof question->state];
    memcpy(state, question->state, sizeof state);
    if (r->retry == RETRY_TAMPERED)
        tamper(sim, state);
    hf_buf_printf(&sim->message, ",\"requestState\":\"%s\"", state);
    add_answers(sim, question, r);
}

/* ---- coming back ---- */

static bool is_own(const struct client *client, const struct sim *sim,
                   const struct question *question)
{
    return question->client == (int)(client - sim->clients) && question->visit == client->visit;
}

static enum retry choose(struct sim *sim, const struct question *question, bool own)
{
    const uint32_t dice = below(sim, 100);
    if (!own)
        return RETRY_FOREIGN;
    if (dice < 10)
        return RETRY_TAMPERED;
    if (question->by >= 0)
        return dice < 60 ? RETRY_SAME : RETRY_OTHER;
    return dice < 18 || question->is_too_much ? RETRY_PART : dice < 24 ? RETRY_WRONG : RETRY_ANSWER;
}

bool retry_some(struct sim *sim, struct client *client)
{
    const unsigned count = sim->question_count < QUESTIONS ? sim->question_count : QUESTIONS;
    if (count == 0)
        return false;
    unsigned at = (sim->question_count - 1 - below(sim, count < 4 || chance(sim, 30) ? count : 4)) %
                  QUESTIONS;
    const struct question *question = &sim->questions[at];
    const bool own = is_own(client, sim, question);
    if (!own && chance(sim, 70))
        return false;
    const enum retry retry = choose(sim, question, own);
    TRACE(sim, "client %d comes back to request %d: %u", (int)(client - sim->clients),
          question->root, retry);
    const struct request *r = client_retry(sim, client, at, retry);
    if (!r)
        return true;
    sim->stats->retries[retry]++;
    if (r->state == OPEN && client->session && own && retry != RETRY_TAMPERED) { /* it waits */
        root_of(sim, r)->touched_ms = sim->now_ms;
        if (sim->questions[at].by < 0)
            sim->questions[at].by = r->number;
    }
    return true;
}

bool retry_is_taken(const struct sim *sim, const struct request *root)
{
    const struct question *last = NULL;
    const unsigned count = sim->question_count < QUESTIONS ? sim->question_count : QUESTIONS;
    for (unsigned i = 0; i < count && !last; i++) {
        const struct question *question =
            &sim->questions[(sim->question_count - 1 - i) % QUESTIONS];
        if (question->root == root->number)
            last = question;
    }
    return !last || last->by >= 0;
}

/* A call that was to be sent anew, and was not: whoever comes next is the first again. */
static void lay_aside(struct sim *sim, const struct request *root, struct question *question)
{
    for (int i = 0; i < sim->request_count; i++)
        if (sim->requests[i].state == OPEN && sim->requests[i].root == root->number)
            return;
    question->by = -1;
    question->told = 0;
}

void retry_left(struct sim *sim, const struct request *r)
{
    struct question *question = &sim->questions[r->question];
    const struct request *root = root_of(sim, r);
    if (r->retry && root->is_anew && question->root == r->root) {
        question->is_unsure = true;
        if (root->sends == 0)
            lay_aside(sim, root, question);
    }
    if (r->retry && r->retry != RETRY_TAMPERED && r->retry != RETRY_FOREIGN)
        root_of(sim, r)->touched_ms = sim->now_ms;
}

/* ---- being asked ---- */

static enum inquiry kind_of(struct hf_span method, struct hf_span params)
{
    const struct hf_span mode = hf_json_get(params, HF_SPAN("mode"));
    return hf_json_string_is(method, HF_SPAN("sampling/createMessage")) ? INQUIRE_SAMPLING
           : hf_json_string_is(method, HF_SPAN("roots/list"))           ? INQUIRE_ROOTS
           : !hf_json_string_is(method, HF_SPAN("elicitation/create"))  ? INQUIRE_ODD
           : mode.p && hf_json_string_is(mode, HF_SPAN("url"))          ? INQUIRE_URL
                                                                        : INQUIRE_ELICITATION;
}

static void read_requests(struct sim *sim, const struct request *r, struct hf_span requests,
                          struct question *ret_question)
{
    for (struct hf_json_iter it = hf_json_iter(requests); hf_json_next(&it);) {
        const struct hf_span params = hf_json_get(it.value, HF_SPAN("params"));
        const enum inquiry kind = kind_of(hf_json_get(it.value, HF_SPAN("method")), params);
        int64_t number;
        if (kind > INQUIRE_URL || !(r->able >> kind & 1))
            sim_broken(sim, PROMISE_P6, "request %d was asked what its client cannot answer",
                       r->number);
        if (!hf_json_int(hf_json_get(params, HF_SPAN("q")), &number))
            number = 0;
        ret_question->is_too_much = ret_question->count == INQUIRIES_MAX;
        if (ret_question->is_too_much)
            break;
        const unsigned at = ret_question->count++;
        (void)snprintf(ret_question->asked[at].key, sizeof ret_question->asked[at].key, "%.*s",
                       HF_FMT(it.key));
        ret_question->asked[at].kind = kind;
        ret_question->asked[at].number = (unsigned)number;
    }
    if (ret_question->count == 0)
        sim_broken(sim, PROMISE_P6, "request %d was asked nothing", r->number);
}

static struct question *find(struct sim *sim, const struct request *r, const char *state)
{
    for (unsigned i = 0; i < QUESTIONS && i < sim->question_count; i++)
        if (sim->questions[i].root == r->root && strcmp(sim->questions[i].state, state) == 0)
            return &sim->questions[i];
    return NULL;
}

/* Its server is done with what came before, and ran nothing. */
static void begin_anew(struct sim *sim, struct request *root)
{
    sim->stats->anew++;
    if (root->effects && !root->repeatable)
        sim_broken(sim, PROMISE_P3, "request %d ran, and is to be sent anew", root->number);
    root->sends = root->whole_reads = root->nothings = root->answered_by = 0;
    root->byte_taken = root->may_have_arrived = root->steal_failed = root->is_written = false;
    root->clocks_changed = true; /* how much of its wait is left is not known */
}

static void take_question(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    struct request *root = root_of(sim, r);
    const struct hf_span state = hf_json_get(msg->result, HF_SPAN("requestState"));
    struct question question = {
        .root = r->root, .client = r->client, .visit = sim->clients[r->client].visit, .by = -1
    };
    if (state.n < 3 || state.n > sizeof question.state ||
        !hf_span_starts(hf_span_from(state, 1), our_seal)) {
        sim_broken(sim, PROMISE_P6, "request %d was asked under a state that is not ours",
                   r->number);
        return;
    }
    memcpy(question.state, state.p + 1, state.n - 2);
    read_requests(sim, r, hf_json_get(msg->result, HF_SPAN("inputRequests")), &question);
    if (r->root == r->number)
        root->state = PARKED;
    if (find(sim, r, question.state))
        return; /* asked again */
    if (root->sends == 0)
        sim_broken(sim, PROMISE_P3, "request %d was asked something, and no server has it",
                   r->number);
    root->was_parked = root->was_asked = true;
    root->visit = question.visit;
    sim->stats->parked += r->root == r->number;
    sim->stats->rounds++;
    root->touched_ms = sim->now_ms;
    root->is_anew = question.asked[0].kind == INQUIRE_URL;
    if (root->is_anew)
        begin_anew(sim, root);
    sim->questions[sim->question_count++ % QUESTIONS] = question;
}

/* ---- being told ---- */

struct verdict {
    int64_t code;
    bool is_expired, is_invalid, is_turned_away, is_not_kept;
};

static bool error_has(const struct hf_msg *msg, const char *text)
{
    const struct hf_span said = msg->error.p ? msg->error : msg->result;
    return said.p && memmem(said.p, said.n, text, strlen(text));
}

static struct verdict look(const struct hf_msg *msg, int64_t code)
{
    return (struct verdict) {
        .code = code,
        .is_expired = code == -32602 && error_has(msg, "has expired"),
        .is_invalid = code == -32602 && error_has(msg, "\"Invalid "),
        .is_turned_away = code == -31005 && (error_has(msg, "too_many_calls") ||
                                             error_has(msg, "max_buffered_bytes")),
        .is_not_kept = code == -31006 && error_has(msg, "result_not_kept"),
    };
}

/* A state that is not good for this client: nothing of it may have reached anybody. */
static void judge_stranger(struct sim *sim, const struct request *r, struct verdict verdict)
{
    if (verdict.code == 0 || verdict.is_expired || verdict.code == -31008)
        sim_broken(sim, PROMISE_P3, "request %d came with a state that is not its own, code %d",
                   r->number, (int)verdict.code);
    if (verdict.code == -31002 && r->retry == RETRY_FOREIGN)
        sim_broken(sim, PROMISE_P3,
                   "request %d came with another client's state, and hears that "
                   "it was sent",
                   r->number);
}

static void check_expiry(struct sim *sim, const struct request *r)
{
    const struct request *root = root_of(sim, r);
    sim->stats->expired++;
    if (sim->now_ms < root->touched_ms + sim->limits.park_ms && !sim->is_stopping)
        sim_broken(sim, PROMISE_P1, "request %d came back after %llu ms, and that was too late",
                   r->number, (unsigned long long)(sim->now_ms - root->touched_ms));
}

/* Every retry with the same answers hears the same. */
static void check_words(struct sim *sim, struct question *question, const struct request *r,
                        const struct hf_msg *msg)
{
    const uint64_t hash = hash_of(msg->kind == HF_MSG_ERROR ? msg->error : msg->result);
    if (question->told && question->told != hash)
        sim_broken(sim, PROMISE_P1, "request %d hears something else than a retry before it",
                   r->number);
    if (!question->told && r->sent_ms < sim->now_ms) /* it waited for this */
        root_of(sim, r)->touched_ms = sim->now_ms;
    question->told = hash;
}

static bool holder_is_dead(const struct request *root)
{
    return !root->holder || !root->holder->in_use || root->holder->serial != root->holder_serial ||
           root->holder->life == DEAD;
}

/* It hears what became of the call, or what its server wants to know next. */
static void judge_told(struct sim *sim, struct request *r, const struct hf_msg *msg,
                       struct verdict verdict, bool is_question)
{
    struct question *question = &sim->questions[r->question];
    struct request *root = root_of(sim, r);
    const struct hf_span state = hf_json_get(msg->result, HF_SPAN("requestState"));
    if (is_question && root->rounds && !is_sealed(state))
        return; /* it was sent anew, and its server had become a modern one, which asks itself */
    if (is_question)
        take_question(sim, r, msg);
    if (is_question && hf_json_string_is(state, hf_span_of(question->state))) {
        if (r->retry != RETRY_PART || question->by >= 0)
            sim_broken(sim, PROMISE_P1, "request %d answers all, and is asked again", r->number);
        return; /* something was missing */
    }
    const bool is_undispatched =
        error_has(msg, "\"dispatched\":false") || error_has(msg, "was removed from the config");
    if (root->is_anew && is_undispatched) {
        if (root->whole_reads > 0)
            sim_broken(sim, PROMISE_P3, "request %d hears that the call was not sent, and it was",
                       r->number);
        question->is_unsure = true;
        lay_aside(sim, root, question);
        return;
    }
    if (question->by < 0 || question->is_unsure) {
        question->by = r->retry == RETRY_SAME ? question->by : r->number;
        question->told = 0;
        question->is_unsure = false;
    }
    if (verdict.is_not_kept) {
        if (sim->limits.max_buffered_bytes > 1 << 20)
            sim_broken(sim, PROMISE_P1, "request %d hears that there was no room", r->number);
        return;
    }
    check_words(sim, question, r, msg);
    sim->stats->after_death += verdict.code == -31002 && holder_is_dead(root);
    sim->stats->kept += verdict.code == 0 && r->sent_ms == sim->now_ms;
    if (!is_question)
        judge_call(sim, root, msg);
}

static void judge_retry(struct sim *sim, struct request *r, const struct hf_msg *msg, int64_t code,
                        bool is_question)
{
    const struct verdict verdict = look(msg, code);
    const struct question *question = &sim->questions[r->question];
    if (question->root != r->root)
        return; /* forgotten meanwhile: too many came since */
    if (r->retry == RETRY_TAMPERED || r->retry == RETRY_FOREIGN) {
        judge_stranger(sim, r, verdict);
    } else if (verdict.is_expired) {
        check_expiry(sim, r);
    } else if (question->is_unsure && code == -31008) {
        return;
    } else if (r->retry == RETRY_OTHER && !question->is_unsure) {
        if (code != -31008)
            sim_broken(sim, PROMISE_P3, "request %d came with other answers, and hears %d",
                       r->number, (int)code);
    } else if (verdict.is_turned_away) {
        return; /* it may come again */
    } else if (code == -31008 || (verdict.is_invalid && r->retry != RETRY_WRONG)) {
        sim_broken(sim, PROMISE_P3, "request %d came back as it should, and hears %d", r->number,
                   (int)code);
    } else if (!verdict.is_invalid) {
        judge_told(sim, r, msg, verdict, is_question);
    }
}

/* A modern server's own question: it comes as it is, and the call is over. */
static void pass_question(struct sim *sim, struct request *r, const struct hf_msg *msg,
                          struct hf_span state)
{
    char expected[40];
    unsigned count = 0;
    (void)snprintf(expected, sizeof expected, "r%u of %d", r->rounds, r->number);
    const struct hf_span requests = hf_json_get(msg->result, HF_SPAN("inputRequests"));
    for (struct hf_json_iter it = hf_json_iter(requests); hf_json_next(&it); count++) {
        int64_t key;
        if (!hf_json_int(
                hf_json_path(it.value, 2, (struct hf_span[]) { HF_SPAN("params"), HF_SPAN("_k") }),
                &key) ||
            key != r->number)
            sim_broken(sim, PROMISE_P6, "request %d hears the question of another", r->number);
    }
    if (count != r->asked || (state.p && !hf_json_string_is(state, hf_span_of(expected))))
        sim_broken(sim, PROMISE_P3, "request %d hears another question than was put", r->number);
    if (state.p)
        sim->clients[r->client].passed = r->number + 1;
}

bool retry_judge(struct sim *sim, struct request *r, const struct hf_msg *msg, int64_t code)
{
    const bool is_question = hf_json_string_is(hf_json_get(msg->result, HF_SPAN("resultType")),
                                               HF_SPAN("input_required"));
    const struct hf_span state = hf_json_get(msg->result, HF_SPAN("requestState"));
    if (r->retry)
        judge_retry(sim, r, msg, code, is_question);
    else if (is_question && !is_sealed(state))
        pass_question(sim, r, msg, state);
    else if (is_question)
        take_question(sim, r, msg);
    return r->retry || is_question;
}
