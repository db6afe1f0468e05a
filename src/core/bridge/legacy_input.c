/* legacy_input.c - what a modern server wants to know before it goes on, asked of a legacy client.
 *
 * A modern server sends no requests: it answers `input_required`, and the client sends its request
 * again with the answers. A legacy client knows nothing of this and is asked with requests as of a
 * legacy server; its answers are gathered here, and the request is sent to the server again as the
 * continuation of the same call.
 *
 * 1. Such a call has been sent: if it cannot go on, its client is told to check its effect first.
 * 2. The client is asked only while the server may still take the answers: a call whose client is
 *    being asked never outlives its slot.
 * 3. The server's requestState and the client's answers count as bytes held by the call. */
#include "core/bridge/legacy_input.h"
#include "core/call/party.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/frame.h"
#include "core/call/queue.h"
#include "core/call/send.h"
#include "core/machine/slot.h"
#include "core/outbox.h"
#include "core/server/server_request.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum {
    ROUNDS_MAX = 32,    /* of one call: a server must not ask for ever */
    QUESTIONS_MAX = 100 /* of one round: nobody answers more */
};

void hf_input_free(struct hf_input *input)
{
    if (!input)
        return;
    hf_free(input->state);
    hf_buf_done(&input->answers);
    hf_free(input);
}

static void free_question(void *p)
{
    struct hf_question *question = p;
    hf_free(question->key);
    hf_free(question);
}

static size_t weight(struct hf_span key)
{
    return sizeof(struct hf_question) + key.n;
}

static void end_question(struct hf_question *question)
{
    struct hf_call *call = question->call;
    hf_call_input(call)->open--;
    hf_call_weigh(call, weight(hf_span_of(question->key)), 0);
    hf_unlink(&question->link);
    hf_bury(call->engine, free_question, question);
}

void hf_input_drop(struct hf_call *call)
{
    struct hf_question *question;
    HF_LIST_EACH_SAFE (question, &call->session->questions, struct hf_question, link) {
        if (question->call != call)
            continue;
        hf_session_send_cancelled(call->session, call->via, question->id);
        end_question(question);
    }
}

/* The call was sent, and its server cannot be told what it wanted to know. */
static void give_up(struct hf_call *call, const char *reason, const char *why)
{
    hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, reason,
                 "The server \"%s\" asked for input in the middle of the call, and %s. What it did "
                 "before it asked is not known: check that before sending it again.",
                 call->slot->server->name, why);
}

static bool fits(const struct hf_call *call, size_t bytes)
{
    return hf_party_may_take(call->engine, call->party, HF_SHARED_HELD, bytes);
}

static void give_up_too_much(struct hf_call *call)
{
    give_up(call, "max_buffered_bytes", "holdfast holds too much at this moment to go on with it");
}

/* ---- asking ---- */

static void ask_client(struct hf_call *call, struct hf_span key, struct hf_span request)
{
    struct hf_engine *engine = call->engine;
    struct hf_question *question = hf_new(struct hf_question);
    const struct hf_span method = hf_json_get(request, HF_SPAN("method"));
    const struct hf_span params = hf_json_get(request, HF_SPAN("params"));
    question->call = call;
    question->id = ++engine->serial;
    question->key = hf_span_dup(key);
    question->is_elicitation = hf_json_string_is(method, HF_SPAN("elicitation/create"));
    hf_list_push(&call->session->questions, &question->link);
    hf_call_input(call)->open++;
    hf_call_weigh(call, 0, weight(key));
    struct hf_buf draft = hf_draft();
    hf_msg_begin_request(&draft, question->id, (struct hf_span) { method.p + 1, method.n - 2 });
    if (params.p) {
        hf_buf_add_str(&draft, ",\"params\":");
        hf_buf_add(&draft, params);
    }
    hf_buf_add_char(&draft, '}');
    hf_session_send(call->session, call->via, hf_draft_end(engine, &draft));
}

static enum hf_method_id method_of(struct hf_span request)
{
    const struct hf_span raw = hf_json_get(request, HF_SPAN("method"));
    if (hf_json_type(raw) != HF_JSON_STRING)
        return HF_METHOD_UNKNOWN;
    return hf_method_find((struct hf_span) { raw.p + 1, raw.n - 2 })->id;
}

static bool can_be_asked_all(const struct hf_session *session, struct hf_span requests)
{
    for (struct hf_json_iter it = hf_json_iter(requests); hf_json_next(&it);) {
        const enum hf_method_id method = method_of(it.value);
        if (method != HF_METHOD_SAMPLING && method != HF_METHOD_ELICITATION &&
            method != HF_METHOD_ROOTS)
            return false;
        if (!hf_client_can_be_asked(session->capabilities, method,
                                    hf_json_get(it.value, HF_SPAN("params"))))
            return false;
    }
    return true;
}

/* How many questions there are; -1: they are malformed, too many, or two have the same key. */
static int count_questions(struct hf_span requests)
{
    int count = 0;
    if (requests.p && hf_json_type(requests) != HF_JSON_OBJECT)
        return -1;
    for (struct hf_json_iter it = hf_json_iter(requests); hf_json_next(&it); count++) {
        const struct hf_span params = hf_json_get(it.value, HF_SPAN("params"));
        if (count == QUESTIONS_MAX || (params.p && hf_json_type(params) != HF_JSON_OBJECT))
            return -1;
        struct hf_json_iter before = hf_json_iter(requests);
        for (int i = 0; i < count && hf_json_next(&before); i++)
            if (hf_span_eq(before.key, it.key))
                return -1;
    }
    return count;
}

/* ---- going on ---- */

static void set_extra(struct hf_call *call, struct hf_buf *extra)
{
    struct hf_call_eras *eras = hf_call_eras(call);
    const size_t before = eras->extra ? strlen(eras->extra) : 0;
    hf_free(eras->extra);
    eras->extra = hf_span_dup(hf_buf_span(extra));
    hf_msg_to_one_line(eras->extra, hf_buf_len(extra)); /* answers may have come over HTTP */
    hf_call_weigh(call, before, hf_buf_len(extra));
    hf_buf_done(extra);
}

static void forget_round(struct hf_call *call)
{
    struct hf_input *input = hf_call_input(call);
    hf_call_weigh(call, hf_buf_len(&input->answers) + (input->state ? strlen(input->state) : 0), 0);
    hf_buf_done(&input->answers);
    hf_buf_init(&input->answers, SIZE_MAX / 2);
    hf_free(input->state);
    input->state = NULL;
}

static void go_on(struct hf_call *call)
{
    const struct hf_input *input = hf_call_input(call);
    struct hf_buf extra = hf_draft();
    if (hf_buf_len(&input->answers)) {
        hf_buf_add_str(&extra, "\"inputResponses\":{");
        hf_buf_add(&extra, hf_buf_span(&input->answers));
        hf_buf_add_char(&extra, '}');
    }
    if (input->state) {
        hf_json_add_comma(&extra);
        hf_buf_printf(&extra, "\"requestState\":%s", input->state);
    }
    forget_round(call);
    set_extra(call, &extra);
    hf_call_continue(call);
}

static void give_up_finished(struct hf_call *call)
{
    give_up(call, "client_finished", "its client closed its side and can answer nothing any more");
}

static void ask_all(struct hf_call *call, struct hf_span requests, struct hf_span state)
{
    hf_call_pause(call);
    hf_list_push(&call->slot->asking, &call->link);
    call->was_dispatched = true; /* it does not count as never sent because its server asks */
    hf_call_input(call)->state = state.p ? hf_span_dup(state) : NULL;
    hf_call_weigh(call, 0, state.n);
    for (struct hf_json_iter it = hf_json_iter(requests); hf_json_next(&it);)
        ask_client(call, it.key, it.value);
    if (hf_call_input(call)->open == 0)
        go_on(call);
    else if (!call->slot->owner)
        hf_timer_set(&call->engine->timers, &call->timer,
                     call->engine->now_ms + call->slot->server->settings.ask_ms);
}

void hf_input_timed_out(struct hf_call *call)
{
    give_up(call, "ask_ms", "its client did not answer in time (askMs)");
}

bool hf_input_is_required(const struct hf_msg *msg)
{
    const struct hf_span type = hf_json_get(msg->result, HF_SPAN("resultType"));
    return msg->kind == HF_MSG_RESULT && type.p &&
           hf_json_string_is(type, HF_SPAN("input_required"));
}

void hf_input_ask(struct hf_call *call, const struct hf_msg *msg)
{
    const struct hf_span requests = hf_json_get(msg->result, HF_SPAN("inputRequests"));
    struct hf_span state = hf_json_get(msg->result, HF_SPAN("requestState"));
    if (hf_json_type(state) != HF_JSON_STRING)
        state = (struct hf_span) { NULL, 0 };
    const int count = count_questions(requests);
    if (!hf_call_input(call)) {
        hf_call_eras(call)->input = hf_new(struct hf_input);
        hf_buf_init(&hf_call_input(call)->answers, SIZE_MAX / 2);
    }
    call->was_dispatched = true;
    hf_call_eras(call)->asked_by = call->runtime->generation;
    if (++hf_call_input(call)->rounds > ROUNDS_MAX)
        give_up(call, "too_many_rounds", "had asked too often by then");
    else if (count < 0 || (count == 0 && !state.p))
        give_up(call, "malformed_answer", "its question makes no sense");
    else if (!can_be_asked_all(call->session, requests))
        give_up(call, "no_such_capability", "this client did not say that it can give that");
    else if (!fits(call, state.n + requests.n))
        give_up_too_much(call);
    else if (call->session->is_finished && count > 0)
        give_up_finished(call);
    else if (!hf_slot_is_offered(call->slot->machine.state))
        hf_call_refuse_by_state(call); /* there is no server to be told the answers */
    else
        ask_all(call, requests, state);
}

static struct hf_question *question_by_id(struct hf_session *session, struct hf_span id)
{
    int64_t number;
    struct hf_question *question;
    if (!hf_json_int(id, &number))
        return NULL;
    HF_LIST_EACH (question, &session->questions, struct hf_question, link) {
        if ((int64_t)question->id == number)
            return question;
    }
    return NULL;
}

bool hf_input_answered(struct hf_session *session, const struct hf_msg *msg)
{
    struct hf_question *question = question_by_id(session, msg->id);
    if (!question)
        return false;
    struct hf_call *call = question->call;
    struct hf_buf *answers = &hf_call_input(call)->answers;
    struct hf_span result = msg->result;
    if (msg->kind == HF_MSG_ERROR && question->is_elicitation)
        result = HF_SPAN("{\"action\":\"cancel\"}"); /* the one refusal that can be passed on */
    if (!result.p) {
        give_up(call, "client_refused", "its client answered the question with an error");
        return true;
    }
    if (!fits(call, 2 * result.n)) { /* the answer is kept, and then copied into the request */
        give_up_too_much(call);
        return true;
    }
    const size_t before = hf_buf_len(answers);
    hf_buf_printf(answers, "%s\"%s\":", before ? "," : "", question->key);
    hf_buf_add(answers, result);
    hf_call_weigh(call, before, hf_buf_len(answers));
    end_question(question);
    if (hf_call_input(call)->open == 0)
        go_on(call);
    return true;
}

bool hf_input_answer_oversized(struct hf_session *session, struct hf_span id)
{
    const struct hf_question *question = question_by_id(session, id);
    if (!question)
        return false;
    give_up(question->call, "max_message_bytes",
            "its client's answer is larger than holdfast's maxMessageBytes");
    return true;
}

bool hf_input_is_misplaced(const struct hf_call *call)
{
    return hf_call_input(call) && !call->slot->current->is_modern;
}

void hf_input_refuse_misplaced(struct hf_call *call)
{
    give_up(call, "speaks_another_era", "has gone back to an older revision since");
}

/* ---- a client that can answer nothing any more ---- */

void hf_input_finished(struct hf_session *session)
{
    const struct hf_question *question;
    while ((question = HF_LIST_FIRST(&session->questions, struct hf_question, link)))
        give_up_finished(question->call); /* ends all questions of the call */
}
