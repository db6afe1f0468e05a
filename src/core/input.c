/* input.c - what a modern server wants to know before it goes on, asked of a legacy client.
 *
 * A modern server asks nobody: it answers `input_required`, and the client sends its request again
 * with the answers. A legacy client is asked in its own way and knows nothing of this; the answers
 * are gathered here and the request goes out again as the continuation of the same call. */
#include "core/state.h"

enum { ROUNDS_MAX = 32 }; /* of one call: a server that never has enough must not go on for ever */

static void free_question(void *p)
{
    struct hf_question *question = p;
    hf_free(question->key);
    hf_free(question);
}

static void end_question(struct hf_question *question)
{
    hf_unlink(&question->link);
    hf_bury(question->call->engine, free_question, question);
}

void hf_input_drop(struct hf_call *call)
{
    struct hf_question *question;
    HF_LIST_EACH_SAFE (question, &call->session->questions, struct hf_question, link) {
        if (question->call == call)
            end_question(question);
    }
}

static void fail_plainly(struct hf_call *call, int code, const char *text)
{
    hf_send_call_error(call, code, text);
    hf_call_end(call);
}

static void fail_unanswered(struct hf_call *call)
{
    fail_plainly(call, -32603,
                 "The server needed input, and the client closed its side before it gave it");
}

void hf_input_finished(struct hf_session *session)
{
    while (!hf_list_empty(&session->questions))
        fail_unanswered(HF_LIST_FIRST(&session->questions, struct hf_question, link)->call);
}

/* ---- asking ---- */

static void ask(struct hf_call *call, struct hf_span key, struct hf_span request)
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
    struct hf_buf draft = hf_draft();
    hf_buf_printf(&draft, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":%.*s",
                  (unsigned long long)question->id, HF_FMT(method));
    if (params.p) {
        hf_buf_add_str(&draft, ",\"params\":");
        hf_buf_add(&draft, params);
    }
    hf_buf_add_char(&draft, '}');
    hf_send(call->session, call->via, hf_keep(engine, &draft));
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
        if (!hf_can_be_asked(session->capabilities, method,
                             hf_json_get(it.value, HF_SPAN("params"))))
            return false;
    }
    return true;
}

/* ---- going on ---- */

static bool is_open(const struct hf_call *call)
{
    const struct hf_question *question;
    HF_LIST_EACH (question, &call->session->questions, struct hf_question, link) {
        if (question->call == call)
            return true;
    }
    return false;
}

static void go_on(struct hf_call *call)
{
    struct hf_buf extra = hf_draft();
    if (call->input_answers) {
        hf_buf_printf(&extra, "\"inputResponses\":{%s}", call->input_answers);
        hf_free(call->input_answers);
        call->input_answers = NULL;
    }
    if (call->input_state) {
        hf_json_add_comma(&extra);
        hf_buf_printf(&extra, "\"requestState\":%s", call->input_state);
        hf_free(call->input_state);
        call->input_state = NULL;
    }
    hf_free(call->extra);
    call->extra = hf_span_dup(hf_buf_span(&extra));
    hf_buf_done(&extra);
    hf_call_continue(call);
}

bool hf_input_required(struct hf_call *call, const struct hf_msg *msg)
{
    const struct hf_span type = hf_json_get(msg->result, HF_SPAN("resultType"));
    if (msg->kind != HF_MSG_RESULT || !type.p ||
        !hf_json_string_is(type, HF_SPAN("input_required")))
        return false;
    const struct hf_span requests = hf_json_get(msg->result, HF_SPAN("inputRequests"));
    const struct hf_span state = hf_json_get(msg->result, HF_SPAN("requestState"));
    if (++call->input_rounds > ROUNDS_MAX) {
        hf_call_fail(
            call, HF_ERROR_OUTCOME_UNKNOWN, "too_many_rounds",
            "The server \"%s\" asked for more input %d times and was not asked again. What "
            "it did so far is not known.",
            call->slot->server->name, ROUNDS_MAX);
        return true;
    }
    if (!can_be_asked_all(call->session, requests)) {
        fail_plainly(call, -32603,
                     "The server needs input that this client did not say it can give");
        return true;
    }
    struct hf_json_iter first = hf_json_iter(requests);
    if (call->session->is_finished && hf_json_next(&first)) { /* it says nothing any more */
        fail_unanswered(call);
        return true;
    }
    hf_call_pause(call);
    hf_free(call->input_state);
    call->input_state = hf_json_type(state) == HF_JSON_STRING ? hf_span_dup(state) : NULL;
    if (call->engine->is_stopping || !hf_slot_is_offered(call->slot->machine.state)) {
        hf_call_refuse_by_state(call); /* whatever the client would say, nobody could be told */
        return true;
    }
    for (struct hf_json_iter it = hf_json_iter(requests); hf_json_next(&it);)
        ask(call, it.key, it.value);
    if (!is_open(call))
        go_on(call);
    return true;
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
    struct hf_span result = msg->result;
    if (msg->kind == HF_MSG_ERROR && question->is_elicitation)
        result = HF_SPAN("{\"action\":\"cancel\"}"); /* the one refusal that can be passed on */
    if (!result.p) {
        fail_plainly(call, -32603,
                     "The server needed input, and the client answered its request with an error");
        return true;
    }
    struct hf_buf answers = hf_draft();
    if (call->input_answers)
        hf_buf_printf(&answers, "%s,", call->input_answers);
    hf_buf_printf(&answers, "\"%s\":", question->key);
    hf_buf_add(&answers, result);
    hf_free(call->input_answers);
    call->input_answers = hf_span_dup(hf_buf_span(&answers));
    hf_buf_done(&answers);
    end_question(question);
    if (!is_open(call))
        go_on(call);
    return true;
}

void hf_input_fail_all(struct hf_slot *slot)
{
    struct hf_session *session;
    HF_LIST_EACH (session, &slot->server->engine->sessions, struct hf_session, link) {
        struct hf_question *question = HF_LIST_FIRST(&session->questions, struct hf_question, link);
        while (question) {
            struct hf_call *call = question->call;
            struct hf_link *next = question->link.next;
            if (call->slot == slot) {
                hf_call_refuse_by_state(call); /* takes its questions with it */
                next = session->questions.next;
            }
            question = next == &session->questions ? NULL : HF_ITEM(next, struct hf_question, link);
        }
    }
}
