/* headers.c - the headers of a modern request's exchange, and what becomes of the request when the
 * server says that they are wrong. */
#include "core/remote/headers.h"
#include "core/call/call.h"
#include "core/call/verdict.h"
#include "core/catalog/part.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/transport.h"
#include "core/server/facts.h"
#include "core/server/listing.h"
#include "wire/mcp_headers.h"

static void add_line(struct hf_buf *out, const char *prefix, struct hf_span name,
                     struct hf_span json)
{
    const size_t start = hf_buf_len(out);
    hf_buf_printf(out, "%s%.*s: ", prefix, HF_FMT(name));
    if (hf_mcp_value_add(out, json))
        hf_buf_add_char(out, '\n');
    else
        out->end = out->start + start;
}

static bool add_param(void *context, struct hf_span name, struct hf_span value)
{
    add_line(context, "Mcp-Param-", name, value);
    return true;
}

/* The value of `Mcp-Name`: the server's own name of the tool or prompt where the client's
 * differs. */
static struct hf_span name_of(const struct hf_call *call, struct hf_span params)
{
    const struct hf_span member = hf_mcp_name_member(hf_span_of(call->method->name));
    if (!member.p)
        return member;
    return call->own_name ? hf_span_of(call->own_name) : hf_json_get(params, member);
}

struct hf_span hf_remote_headers(const struct hf_remote_exchange *exchange)
{
    const struct hf_call *call = exchange->call;
    struct hf_server *server = exchange->runtime->server;
    const struct hf_span text = call ? (struct hf_span) { call->text, call->text_length }
                                     : (struct hf_span) { exchange->owned, exchange->owned_length };
    const struct hf_span params = hf_json_get(text, HF_SPAN("params"));
    struct hf_buf lines = hf_draft();
    add_line(&lines, "Mcp-", HF_SPAN("Method"), hf_json_get(text, HF_SPAN("method")));
    if (call) {
        const struct hf_span name = name_of(call, params);
        add_line(&lines, "Mcp-", HF_SPAN("Name"), name);
        const struct hf_item *tool = call->method->id == HF_METHOD_TOOLS_CALL && name.p
                                         ? hf_part_find(server->parts[HF_PART_TOOLS], name)
                                         : NULL;
        if (tool)
            (void)hf_mcp_params(hf_json_get(tool->raw, HF_SPAN("inputSchema")),
                                hf_json_get(params, HF_SPAN("arguments")), add_param, &lines);
    }
    return hf_draft_end(server->engine, &lines);
}

/* ---- requests that were refused for their headers or their version ---- */

void hf_remote_corrected(struct hf_runtime *runtime)
{
    if (!(runtime->holds & HF_HOLD_CORRECTION))
        return;
    hf_runtime_hold(runtime, HF_HOLD_CORRECTION, false);
    if (runtime == runtime->slot->current)
        hf_slot_mark(runtime->slot);
}

/* A server that does not speak our revision lists the revisions that it does speak. */
static bool lists_versions(const struct hf_msg *msg, bool with_ours)
{
    static const struct hf_span name[] = { { "supported", 9 } };
    bool has_ours = false, has_any = false;
    struct hf_span supported;
    if (!hf_json_pick(hf_json_get(msg->error, HF_SPAN("data")), name, 1, &supported) ||
        hf_json_type(supported) != HF_JSON_ARRAY)
        return false;
    for (struct hf_json_iter it = hf_json_iter(supported); hf_json_next(&it);) {
        if (hf_json_type(it.value) != HF_JSON_STRING)
            return false;
        has_any = true;
        has_ours |= hf_json_string_is(it.value, HF_SPAN(HF_MODERN_VERSION));
    }
    return has_any && has_ours == with_ours;
}

/* Only modern servers use these codes, and only in this form: in another form the error is a tool's
 * own. */
static bool is_refusal(const struct hf_call *call, const struct hf_msg *msg)
{
    const int64_t code = hf_msg_error_code(msg);
    if (!call->runtime->is_modern || hf_call_detour(call)->was_corrected || !call->exchange ||
        call->exchange->status != 400 || !call->exchange->is_exact)
        return false;
    return code == HF_CODE_HEADER_MISMATCH ||
           (code == HF_CODE_UNSUPPORTED_VERSION && lists_versions(msg, false));
}

static bool has_moved_on(const struct hf_runtime *runtime, const struct hf_msg *msg)
{
    return !runtime->is_modern && hf_msg_error_code(msg) == HF_CODE_UNSUPPORTED_VERSION &&
           lists_versions(msg, true);
}

static void ask_era(struct hf_runtime *runtime)
{
    struct hf_server *server = runtime->server;
    server->era = server->settings.era;
    hf_server_reason(server, "speaks another revision now");
    hf_remote_lost(runtime);
}

static void correct(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    hf_call_make_detour(call)->was_corrected = true;
    if (hf_msg_error_code(msg) == HF_CODE_HEADER_MISMATCH) { /* a tool is not as it was listed */
        hf_runtime_hold(runtime, HF_HOLD_CORRECTION, runtime->has_capability[HF_PART_TOOLS]);
        hf_listing_again(runtime, HF_PART_TOOLS);
    } else { /* the server speaks another revision now */
        ask_era(runtime);
    }
    hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_REFUSED, false, "" });
}

bool hf_remote_takes_answer(struct hf_call *call, const struct hf_msg *msg)
{
    const bool is_refused = is_refusal(call, msg);
    if (is_refused)
        correct(call, msg);
    return is_refused;
}

void hf_remote_answer_passed(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    if (has_moved_on(runtime, msg))
        ask_era(runtime);
}
