/* tell.c - responses to what servers ask. A server that does not take them is lost: it would wait
 * for them for ever. */
#include "core/state.h"

void hf_runtime_respond(struct hf_runtime *runtime, struct hf_span message)
{
    if (runtime->is_frozen || hf_runtime_notify(runtime, message))
        return;
    hf_server_reason(runtime->server, "asks more than it reads the answers to");
    hf_runtime_lose(runtime, HF_RUNTIME_EV_KILL);
}

void hf_runtime_respond_error(struct hf_runtime *runtime, struct hf_span id, int code,
                              const char *text)
{
    struct hf_buf draft = hf_draft();
    hf_buf_add_str(&draft, "{\"jsonrpc\":\"2.0\",\"id\":");
    hf_buf_add(&draft, id);
    hf_buf_printf(&draft, ",\"error\":{\"code\":%d,\"message\":", code);
    hf_json_add_string(&draft, hf_span_of(text));
    hf_buf_add_str(&draft, "}}");
    hf_runtime_respond(runtime, hf_draft_end(runtime->server->engine, &draft));
}
