/* client_call.c - a client's call as its owner sees it: what the server's answer means for the
 * call, which calls are answered without their server, and what is unknown after a call that ended
 * unanswered. */
#include "core/inbox/client_call.h"
#include "core/bridge/legacy_input.h"
#include "core/bridge/modern_answer.h"
#include "core/bridge/park_question.h"
#include "core/bridge/retry.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/client/tasks.h"
#include "core/inbox/route.h"
#include "core/machine/backoff.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/state/runtime.h"
#include "core/subscription/subscription.h"
#include "core/subscription/upstream.h"

/* Whether the server says that it has no such resource, with the error code of the server's era. */
static bool says_not_found(const struct hf_call *call, const struct hf_msg *msg)
{
    const int64_t code = hf_msg_error_code(msg);
    return code == -32002 || (code == -32602 && call->runtime->is_modern);
}

/* The server's answer goes to the client, in the words of the client's era. */
static void pass(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const bool crosses_eras = call->is_modern && !runtime->is_modern;
    runtime->completed_a_call = true;
    if (runtime == runtime->slot->current) /* what an old one still answers proves nothing */
        hf_backoff_call_completed(&runtime->server->backoff);
    if (crosses_eras && hf_park_wants_url(call, msg)) {
        hf_park_ask_url(call, msg);
        return;
    }
    struct hf_answer answer = hf_answer_as_it_came(msg);
    if (hf_call_is_parked(call) || (crosses_eras && hf_modern_changes(call, msg))) {
        struct hf_buf rest = hf_draft();
        hf_modern_add_rest(&rest, call, msg, &answer.code);
        answer = hf_answer_rest(answer.outcome, answer.code, hf_draft_end(call->engine, &rest));
    }
    if (hf_call_is_tool_call(call))
        hf_answer_take_over_outcome(&answer, msg);
    hf_call_answer(call, answer);
}

/* True: the call moves to another server, which may have the resource. */
static bool moves_on(struct hf_call *call, const struct hf_msg *msg)
{
    const bool has_asked =
        hf_call_park(call) || hf_call_input(call); /* a server that asks has the resource */
    if (call->method->id != HF_METHOD_RESOURCES_READ || !call->is_guess || has_asked ||
        !says_not_found(call, msg))
        return false;
    struct hf_server *next =
        hf_request_next_with_resources(call->session, call->slot->server, call->uri);
    struct hf_slot *slot = next ? hf_slot_for(next, call->session) : NULL;
    if (slot)
        hf_call_move(call, slot);
    return slot;
}

/* The answer changes which resources the server sends updates of. */
static void note_subscription(const struct hf_call *call, const struct hf_msg *msg)
{
    const enum hf_method_id method = call->method->id;
    if (method != HF_METHOD_SUBSCRIBE && method != HF_METHOD_UNSUBSCRIBE)
        return;
    if (msg->kind == HF_MSG_RESULT && method == HF_METHOD_SUBSCRIBE) {
        hf_upstream_subscribed(call->runtime, call->uri);
        hf_session_subscribe(call->session, call->party, call->slot->server, call->uri);
    }
    if (msg->kind == HF_MSG_RESULT && method == HF_METHOD_UNSUBSCRIBE) {
        hf_upstream_unsubscribed(call->runtime, call->uri);
        hf_session_unsubscribe(call->session, call->slot->server, call->uri);
    }
    /* also after an error: other clients may have relied on the subscription */
    hf_upstream_mark(call->runtime, call->uri);
}

static void answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const struct hf_transport_ops *transport = runtime->transport;
    if (moves_on(call, msg))
        return;
    if (transport->takes_answer && transport->takes_answer(call, msg))
        return;
    if (runtime->is_modern && !call->is_modern && hf_input_is_required(msg)) {
        hf_input_ask(call, msg);
        return;
    }
    if (msg->kind == HF_MSG_RESULT && runtime->has_tasks)
        hf_task_made(call, msg->result);
    note_subscription(call, msg);
    pass(call, msg);
    if (transport->answer_passed)
        transport->answer_passed(runtime, msg);
}

/* A call that its server cannot take is answered here: the server may have changed its era while
 * the call waited. */
static bool answered_instead(struct hf_call *call)
{
    /* none of these cases can occur where both sides speak the legacy era */
    if (!call->eras && !hf_call_input(call) && !call->slot->current->is_modern)
        return false;
    if (hf_retry_is_misplaced(call))
        hf_retry_refuse_misplaced(call);
    else if (hf_input_is_misplaced(call))
        hf_input_refuse_misplaced(call);
    else if (hf_upstream_can_answer(call))
        hf_upstream_answer(call);
    else
        return false;
    return true;
}

static void ended_unanswered(const struct hf_call *call, struct hf_runtime *runtime)
{
    hf_upstream_unsure(runtime, call);
}

const struct hf_call_owner hf_client_call_owner = {
    .purpose = HF_FOR_CLIENT,
    .answered_instead = answered_instead,
    .answered = answered,
    .ended_unanswered = ended_unanswered,
};
