/* from_client.c - what clients send: requests, notifications, and answers to what servers asked. */
#include "core/bridge/legacy_input.h"
#include "core/bridge/retry.h"
#include "core/call/answer.h"
#include "core/call/send.h"
#include "core/call/session_calls.h"
#include "core/client/held.h"
#include "core/client/initialize.h"
#include "core/client/modern.h"
#include "core/client/session.h"
#include "core/engine.h"
#include "core/inbox/route.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/server/server_request.h"
#include "core/state/call.h"
#include "core/state/incoming.h"
#include "core/state/runtime.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"

enum { BATCH_MAX = 100 }; /* messages */

/* ---- requests ---- */

/* Fills in who the caller is and the idempotency key, as far as the request says so itself. */
static void identify(struct hf_incoming *in, const struct hf_origin *origin)
{
    const struct hf_span meta = in->msg->meta;
    in->caller.who = origin->who;
    in->caller.session = in->is_modern ? 0 : in->session->number;
    in->key = origin->key;
    if (!meta.p)
        return;
    if (in->is_modern)
        in->caller.client = hf_json_get(meta, HF_SPAN(HF_META_CLIENT));
    in->caller.chain = hf_json_get(meta, HF_SPAN(HF_META_CALLER));
    const struct hf_span key = hf_json_get(meta, HF_SPAN(HF_META_KEY));
    if (key.p)
        in->key = key;
}

/* What was sent before the client knew is answered with the same words. */
static void refuse_to_serve(const struct hf_incoming *in)
{
    struct hf_server *server = in->session->only;
    char why[HF_WHY_SIZE];
    hf_session_turn_away(in->session, in->method->id, why);
    hf_reply_failure(in, server, HF_ERROR_PERMANENTLY_FAILED, server->reason, why);
}

static void take_request(struct hf_session *session, const struct hf_origin *origin,
                         const struct hf_msg *msg)
{
    struct hf_incoming incoming = {
        .session = session,
        .party = origin->party ? origin->party : session->party,
        .via = origin->via,
        .id = msg->id,
        .is_modern = session->is_modern || hf_era_is_modern(msg),
        .method = hf_method_find(msg->method),
        .msg = msg,
    };
    const struct hf_incoming *in = &incoming;
    if (in->is_modern && hf_modern_refuse_wrong(in))
        return;
    if (hf_session_has_no_server(session) && in->method->id != HF_METHOD_PING) {
        refuse_to_serve(in);
        return;
    }
    if (in->method->id == HF_METHOD_INITIALIZE) {
        if (hf_request_refuses_to_keep(in, msg->params.n))
            return;
        hf_initialize_params(session, hf_json_type(msg->params) == HF_JSON_OBJECT ? msg->params
                                                                                  : HF_SPAN("{}"));
        hf_held_take(in, HF_PART_TOOLS);
        return;
    }
    if (in->method->id == HF_METHOD_PING) {
        hf_reply_result(in, HF_SPAN("{}"));
        return;
    }
    if (in->is_modern)
        hf_initialize_modern(session, msg);
    else if (!session->initialize_params)
        hf_initialize_stranger(session);
    if (!session->has_initialized)
        hf_initialize_confirmed(session);
    if (in->method->id == HF_METHOD_TOOLS_CALL)
        identify(&incoming, origin);
    if (in->is_modern && hf_retry_is_ours(in))
        hf_retry_take(in);
    else
        hf_request_route(in);
}

/* ---- notifications and answers of clients ---- */

static void take_cancel(struct hf_session *session, const struct hf_msg *msg)
{
    const struct hf_span id = hf_json_get(msg->params, HF_SPAN("requestId"));
    bool are_two;
    struct hf_call *found = hf_session_find_call(session, id, &are_two);
    if (are_two)
        return; /* two calls have this id: nobody can say which one is meant */
    /* Over HTTP many clients share one modern session: there a client cancels by closing the stream
     * of its request. */
    struct hf_listener *listener =
        id.p && !session->is_modern ? hf_listener_find(session, id) : NULL;
    if (listener && !found)
        hf_listener_drop(session, listener);
    else if (found && !listener && found->method->id != HF_METHOD_INITIALIZE)
        hf_call_cancel(found, hf_json_get(msg->params, HF_SPAN("reason")));
}

static void tell_servers(struct hf_session *session, enum hf_method_id method, struct hf_span text)
{
    struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        const struct hf_slot *slot =
            hf_session_uses(session, server) ? hf_slot_of(server, session) : NULL;
        if (slot && slot->current &&
            !(slot->current->is_modern && method == HF_METHOD_ROOTS_CHANGED))
            hf_runtime_notify(slot->current,
                              text); /* a modern server asks for the roots where it needs them */
    }
}

static void take_notification(struct hf_session *session, const struct hf_msg *msg)
{
    const enum hf_method_id method = hf_method_find(msg->method)->id;
    switch (method) {
    case HF_METHOD_INITIALIZED: hf_initialize_confirmed(session); break;
    case HF_METHOD_CANCELLED: take_cancel(session, msg); break;
    case HF_METHOD_PROGRESS: { /* progress of a request that a server made of this client */
        struct hf_server_request *request;
        HF_LIST_EACH (request, &session->server_requests, struct hf_server_request, in_session) {
            hf_runtime_notify(request->runtime, msg->text);
        }
        break;
    }
    case HF_METHOD_ROOTS_CHANGED: tell_servers(session, method, msg->text); break;
    default:
        if (session->only)
            tell_servers(session, method, msg->text);
        break;
    }
}

/* The client's answer to a server's request. A late answer is dropped: the server is gone, or has
 * cancelled its request. */
static void take_answer(struct hf_session *session, const struct hf_msg *msg)
{
    if (!hf_server_request_answered(session, msg))
        (void)hf_input_answered(session, msg);
}

/* Returns how many answers the client's message will get. */
static unsigned take_one(struct hf_session *session, const struct hf_origin *origin,
                         struct hf_span text)
{
    struct hf_msg msg;
    struct hf_err err;
    const enum hf_msg_status status =
        hf_msg_parse(text, session->engine->limits.max_depth, &msg, &err);
    struct hf_incoming unread = { .session = session, .via = origin->via };
    switch (status) {
    case HF_MSG_NOT_JSON: hf_reply_error(&unread, -32700, "%s", err.text); return 1;
    case HF_MSG_NOT_A_REQUEST:
        unread.id = msg.id;
        hf_reply_error(&unread, -32600, "%s", err.text);
        return 1;
    case HF_MSG_OK: break;
    }
    switch (msg.kind) {
    case HF_MSG_REQUEST: take_request(session, origin, &msg); return 1;
    case HF_MSG_NOTIFICATION: take_notification(session, &msg); break;
    case HF_MSG_RESULT:
    case HF_MSG_ERROR: take_answer(session, &msg); break;
    }
    return 0;
}

static unsigned take_message(struct hf_session *session, const struct hf_origin *origin,
                             struct hf_span text)
{
    struct hf_json_error error;
    /* revision 2025-03-26 had batches; each message of a batch is answered on its own */
    if (hf_json_type(text) != HF_JSON_ARRAY ||
        !hf_json_check(text, session->engine->limits.max_depth, &error))
        return take_one(session, origin, text);
    unsigned owed = 0, count = 0;
    for (struct hf_json_iter it = hf_json_iter(text); hf_json_next(&it);)
        count++;
    if (count == 0 || count > BATCH_MAX) {
        const struct hf_incoming unread = { .session = session, .via = origin->via };
        if (count)
            hf_reply_error(&unread, -32600,
                           "a batch has at most %d messages, and this one has %u; nothing of it "
                           "was taken. Send it in parts",
                           BATCH_MAX, count);
        else
            hf_reply_error(&unread, -32600, "a batch must not be empty");
        return 1;
    }
    for (struct hf_json_iter it = hf_json_iter(text); hf_json_next(&it);)
        owed += take_one(session, origin, it.value);
    return owed;
}

unsigned hf_session_message_from(struct hf_session *session, struct hf_span text,
                                 const struct hf_origin *origin, struct hf_now now)
{
    hf_set_now(session->engine, now);
    return take_message(session, origin, text);
}

void hf_session_message(struct hf_session *session, struct hf_span text, struct hf_now now)
{
    (void)hf_session_message_from(session, text, &(struct hf_origin) { 0 }, now);
}

void hf_session_message_oversized(struct hf_session *session, const struct hf_json_skim *skim,
                                  struct hf_now now)
{
    hf_set_now(session->engine, now);
    const struct hf_span id = hf_json_skim_id(skim);
    const struct hf_incoming in = { .session = session,
                                    .id = id.n ? id : (struct hf_span) { NULL, 0 } };
    if (!hf_json_skim_has_method(skim) && id.n) {
        if (!hf_server_request_answer_oversized(session, id))
            (void)hf_input_answer_oversized(session, id);
        return;
    }
    hf_reply_failure(
        &in, NULL, HF_ERROR_REQUEST_TOO_LARGE, "max_message_bytes",
        "The message is larger than holdfast's maxMessageBytes and was not read; nothing was "
        "sent. Make it smaller, or raise the limit.");
}
