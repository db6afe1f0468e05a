/* modern_answer.c - results and errors of legacy servers, as modern clients get them. */
#include "core/bridge/modern_answer.h"
#include "core/call/call.h"
#include "core/state/call.h"
#include "core/state/runtime.h"
#include "core/state/server.h"

static const char *required(enum hf_method_id method, struct hf_span params)
{
    const struct hf_span mode = hf_json_get(params, HF_SPAN("mode"));
    switch (method) {
    case HF_METHOD_SAMPLING:
        return hf_json_get(params, HF_SPAN("tools")).p ? "{\"sampling\":{\"tools\":{}}}"
                                                       : "{\"sampling\":{}}";
    case HF_METHOD_ELICITATION:
        return hf_json_string_is(mode, HF_SPAN("url")) ? "{\"elicitation\":{\"url\":{}}}"
                                                       : "{\"elicitation\":{}}";
    case HF_METHOD_ROOTS: return "{\"roots\":{}}";
    default: return NULL;
    }
}

void hf_modern_lacks(struct hf_runtime *runtime, struct hf_call *origin,
                     const struct hf_session *session, const struct hf_method *method,
                     struct hf_span params)
{
    struct hf_call *sole = NULL, *call;
    unsigned count = 0;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (call->session != session)
            continue;
        sole = call;
        count++;
    }
    if (origin && origin->session)
        sole = origin;
    else if (count != 1)
        return;
    if (sole->is_modern)
        hf_call_eras(sole)->lacks = required(method->id, params);
}

/* If the client lacks what the server asked for, a -32601 of the call is the one that the server
 * was told in answer to its question, and not about the call's own method. */
static int64_t mapped_code(const struct hf_call *call, int64_t code)
{
    if (code == -32601 && call->eras->lacks)
        return HF_CODE_MISSING_CAPABILITY;
    return code == -32002 ? -32602 : code; /* resource not found */
}

static void add_lack(struct hf_buf *out, const struct hf_call *call, struct hf_span error)
{
    const struct hf_span text = hf_json_get(error, HF_SPAN("message"));
    hf_buf_printf(out, "{\"code\":%d,\"message\":", HF_CODE_MISSING_CAPABILITY);
    hf_buf_add(out, text.p ? text : HF_SPAN("\"A capability is missing\""));
    hf_buf_printf(out, ",\"data\":{\"requiredCapabilities\":%s}}", call->eras->lacks);
}

static void add_error(struct hf_buf *out, const struct hf_call *call, struct hf_span error,
                      int *ret_code)
{
    const struct hf_span raw = hf_json_get(error, HF_SPAN("code"));
    int64_t code = 0;
    hf_buf_add_str(out, ",\"error\":");
    const bool is_number = hf_json_int(raw, &code);
    const int64_t mapped = mapped_code(call, code);
    if (is_number && mapped == HF_CODE_MISSING_CAPABILITY && mapped != code) {
        add_lack(out, call, error);
    } else if (is_number) {
        const char *rest = raw.p + raw.n;
        hf_buf_add(out, (struct hf_span) { error.p, (size_t)(raw.p - error.p) });
        hf_buf_printf(out, "%lld", (long long)mapped);
        hf_buf_add(out, (struct hf_span) { rest, (size_t)(error.p + error.n - rest) });
    } else {
        hf_buf_add(out, error);
    }
    *ret_code = raw.p ? (int)mapped : -32603;
}

static void add_result(struct hf_buf *out, const struct hf_call *call, struct hf_span result)
{
    const struct hf_span greeting = hf_span_of(call->runtime->server->greeting);
    const struct hf_span info =
        greeting.p ? hf_json_get(greeting, HF_SPAN("serverInfo")) : (struct hf_span) { NULL, 0 };
    struct hf_insert inserts[HF_INSERTS_MAX] = { { 0 } };
    size_t from = 0;
    if (hf_json_type(result) == HF_JSON_OBJECT)
        hf_era_complete(result, info, call->method->id == HF_METHOD_RESOURCES_READ, inserts);
    hf_buf_add_str(out, ",\"result\":");
    for (size_t i = 0; i < HF_INSERTS_MAX; i++) {
        if (!inserts[i].bytes)
            continue;
        hf_buf_add(out, (struct hf_span) { result.p + from, inserts[i].at - from });
        hf_buf_add(out, (struct hf_span) { inserts[i].bytes, inserts[i].length });
        from = inserts[i].at;
        hf_free(inserts[i].bytes);
    }
    hf_buf_add(out, hf_span_from(result, from));
}

void hf_modern_add_rest(struct hf_buf *out, const struct hf_call *call, const struct hf_msg *msg,
                        int *ret_code)
{
    *ret_code = 0;
    if (msg->kind == HF_MSG_ERROR)
        add_error(out, call, msg->error, ret_code);
    else
        add_result(out, call, msg->result);
    hf_buf_add_char(out, '}');
}

bool hf_modern_changes(const struct hf_call *call, const struct hf_msg *msg)
{
    int64_t code;
    if (msg->kind != HF_MSG_ERROR)
        return hf_json_type(msg->result) == HF_JSON_OBJECT;
    return hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code) &&
           mapped_code(call, code) != code;
}
