/* early_answers.c - answers that a modern request brought along before its server asked.
 *
 * The revision lets a client send `inputResponses` with a first request. A legacy server names no
 * keys for its questions, so an answer is known by its form alone: it is used if it is the only
 * one that fits what the server asks. Each answer is used once; answers that fit nothing are
 * ignored. */
#include "core/bridge/early_answers.h"
#include "core/call/call.h"
#include "core/outbox.h"
#include "core/server/server_request.h"
#include "core/state/call.h"

static bool has_all(struct hf_span object, struct hf_span names)
{
    for (struct hf_json_iter it = hf_json_iter(names); hf_json_next(&it);) {
        if (hf_json_type(it.value) != HF_JSON_STRING ||
            !hf_json_get(object, (struct hf_span) { it.value.p + 1, it.value.n - 2 }).p)
            return false;
    }
    return true;
}

static bool fits(enum hf_method_id method, struct hf_span params, struct hf_span answer)
{
    switch (method) {
    case HF_METHOD_ELICITATION: {
        const struct hf_span content = hf_json_get(answer, HF_SPAN("content"));
        const struct hf_span required = hf_json_path(
            params, 2, (struct hf_span[]) { HF_SPAN("requestedSchema"), HF_SPAN("required") });
        const struct hf_span action = hf_json_get(answer, HF_SPAN("action"));
        /* any answer would fit a form that requires nothing, so none is taken for it */
        struct hf_json_iter any = hf_json_iter(required);
        return action.p && hf_json_string_is(action, HF_SPAN("accept")) && hf_json_next(&any) &&
               has_all(content, required);
    }
    case HF_METHOD_SAMPLING:
        return hf_json_get(answer, HF_SPAN("role")).p && hf_json_get(answer, HF_SPAN("content")).p;
    case HF_METHOD_ROOTS:
        return hf_json_type(hf_json_get(answer, HF_SPAN("roots"))) == HF_JSON_ARRAY;
    default: return false;
    }
}

bool hf_early_answer(struct hf_call *call, enum hf_method_id method, const struct hf_msg *question)
{
    const struct hf_span params =
        hf_json_get((struct hf_span) { call->text, call->text_length }, HF_SPAN("params"));
    const struct hf_span answers = hf_json_get(params, HF_SPAN("inputResponses"));
    struct hf_call_eras *eras = hf_call_eras(call);
    struct hf_span found = { NULL, 0 };
    unsigned index = 0, fitting = 0, used = 0;
    if (!answers.p || hf_json_get(params, HF_SPAN("requestState")).p)
        return false;
    for (struct hf_json_iter it = hf_json_iter(answers); hf_json_next(&it); index++) {
        if (index >= 8 * sizeof eras->early_used || (eras->early_used >> index & 1) ||
            !fits(method, question->params, it.value))
            continue;
        found = it.value;
        used = index;
        fitting++;
    }
    if (fitting != 1)
        return false;
    eras->early_used |= UINT32_C(1) << used;
    struct hf_buf draft = hf_draft();
    hf_msg_add_result(&draft, question->id, found);
    hf_runtime_respond(call->runtime, hf_draft_end(call->engine, &draft));
    return true;
}
