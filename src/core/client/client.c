/* client.c - what clients send: each message is answered by us, held until we know, or routed. */
#include <assert.h>
#include "core/state.h"

static void answered(struct hf_call *call, const struct hf_msg *msg);
const struct hf_call_owner hf_client_owner = { .purpose = HF_FOR_CLIENT, .answered = answered };

enum { LEVEL_MAX = 64 }; /* bytes of a log level: it is kept */

static void take_list(const struct hf_incoming *in, enum hf_part_id part)
{
    const struct hf_span cursor = hf_json_get(in->msg->params, HF_SPAN("cursor"));
    if (cursor.p)
        hf_reply(in, hf_list_answer(in->session, in->is_modern, part, cursor));
    else
        hf_held_take(in, part);
}

/* ---- routed ---- */

static struct hf_span moved(const struct hf_call *call, const struct hf_msg *msg,
                            struct hf_span span)
{
    return (struct hf_span) { call->text + (span.p - msg->text.p), span.n };
}

static void refuse_denied(const struct hf_incoming *in, struct hf_server *server)
{
    hf_refuse(in, server, HF_ERROR_DENIED, "denied",
              "holdfast's configuration does not allow this name (allow / deny); the call was "
              "not sent.");
}

/* Sends the request on its way to `server`. `name` is what the client called it, in msg. */
static void route(const struct hf_incoming *in, const struct hf_target *target, struct hf_span name)
{
    struct hf_session *session = in->session;
    const struct hf_msg *msg = in->msg;
    const enum hf_method_id method = in->method->id;
    struct hf_server *server = target->server;
    if (!hf_session_uses(session, server)) {
        refuse_denied(in, server);
        return;
    }
    if (server->is_removed && session->engine->is_stopping) {
        hf_refuse(in, server, HF_ERROR_UNAVAILABLE, "shutting_down",
                  "holdfast is shutting down; the call was never sent and is safe to send again.");
        return;
    }
    if (server->is_removed) {
        hf_reply_error(in, -32602, "The server \"%s\" was removed from the config", server->name);
        return;
    }
    struct hf_slot *slot = hf_slot_for(server, session);
    if (!slot) {
        hf_refuse(
            in, server, HF_ERROR_OVERLOADED, "max_runtimes",
            "This server already runs once for each of as many clients as maxRuntimes allows; "
            "the call was not sent.");
        return;
    }
    const enum hf_retry_state state = hf_retry_state(in, server);
    if (state > HF_RETRY_STATE_OF_SERVER) {
        hf_retry_refuse(in, server, state);
        return;
    }
    struct hf_call *call = hf_call_new(in, &hf_client_owner);
    if (!call)
        return;
    call->carries_state = state == HF_RETRY_STATE_OF_SERVER;
    if (target->own_name.p && name.p) {
        call->own_name = hf_span_dup(target->own_name);
        hf_call_cut(call, moved(call, msg, name),
                    (struct hf_span) { call->own_name, target->own_name.n });
    }
    const struct hf_span token = hf_json_get(msg->meta, HF_SPAN("progressToken"));
    if (token.p) {
        call->token = moved(call, msg, token);
        hf_call_cut(call, call->token, call->digits);
    }
    if (method == HF_METHOD_RESOURCES_READ || method == HF_METHOD_SUBSCRIBE ||
        method == HF_METHOD_UNSUBSCRIBE) {
        call->uri = moved(call, msg, name);
        call->is_guess = target->is_guess;
    }
    if (call->is_tool_call && server->settings.retry == HF_RETRY_IDEMPOTENT)
        call->history.is_repeatable = target->is_idempotent;
    hf_call_arrive(call, slot);
}

/* To the one server behind this door. */
static void route_to_only(const struct hf_incoming *in)
{
    route(in, &(struct hf_target) { .server = in->session->only }, (struct hf_span) { NULL, 0 });
}

static void take_named(const struct hf_incoming *in, enum hf_part_id part, struct hf_span name)
{
    struct hf_target target = { 0 };
    if (hf_json_type(name) != HF_JSON_STRING) {
        hf_reply_error(in, -32602, "%s needs a string \"name\" in its params", in->method->name);
    } else if (hf_view_resolve(in->session, part, name, &target)) {
        route(in, &target, name);
    } else if (target.is_denied) {
        refuse_denied(in, target.server);
    } else {
        hf_reply_error(in, -32602, "Unknown %s: %.*s", part == HF_PART_TOOLS ? "tool" : "prompt",
                       (int)(name.n < 200 ? name.n : 200), name.p);
    }
}

/* The next server, in config order, that may have a resource nobody lists. */
static struct hf_server *next_with_resources(struct hf_session *session, struct hf_server *after)
{
    struct hf_engine *engine = session->engine;
    for (struct hf_server *server = hf_engine_next_server(engine, after); server;
         server = hf_engine_next_server(engine, server)) {
        const struct hf_span resources =
            server->greeting
                ? hf_json_path(hf_span_of(server->greeting), 2,
                               (struct hf_span[]) { HF_SPAN("capabilities"), HF_SPAN("resources") })
                : (struct hf_span) { NULL, 0 };
        if (server->is_published && resources.p && hf_session_uses(session, server))
            return server;
    }
    return NULL;
}

/* Refuses what would make us remember too much of its client, and says whether it did. */
static bool refuse_to_keep(const struct hf_incoming *in, size_t bytes)
{
    if (hf_session_may_keep(in->session, bytes))
        return false;
    hf_refuse(
        in, NULL, HF_ERROR_OVERLOADED, "client_keeps_too_much",
        "holdfast remembers no more for this client (its introduction and its subscriptions); "
        "nothing was sent. Unsubscribe from something, or introduce yourself more briefly.");
    return true;
}

static void take_uri(const struct hf_incoming *in, struct hf_span uri)
{
    struct hf_session *session = in->session;
    const enum hf_method_id method = in->method->id;
    struct hf_target target = { .server = session->only };
    if (hf_json_type(uri) != HF_JSON_STRING) {
        hf_reply_error(in, -32602, "%s needs a string \"uri\" in its params", in->method->name);
        return;
    }
    if (!target.server && !hf_view_resolve(session, HF_PART_RESOURCES, uri, &target))
        target.server = hf_view_template_server(session, uri);
    if (!target.server) {
        target.server = next_with_resources(session, NULL);
        target.is_guess = true;
    }
    target.own_name = (struct hf_span) { NULL, 0 }; /* a uri is the same on both sides */
    if (!target.server) {
        hf_reply_error(in, in->is_modern ? -32602 : -32002,
                       "Resource not found: no server has resources");
    } else if (method == HF_METHOD_SUBSCRIBE && hf_subscriptions_full(session->engine, 1)) {
        hf_refuse(in, target.server, HF_ERROR_OVERLOADED, "too_many_subscriptions",
                  "Clients of holdfast are subscribed to as many resources as it can follow; this "
                  "request was not sent. Unsubscribe from others first.");
    } else if (method == HF_METHOD_UNSUBSCRIBE && hf_session_shares(session, target.server, uri)) {
        hf_session_unsubscribe(session, target.server, uri); /* the server still owes the others */
        hf_reply_result(in, HF_SPAN("{}"));
    } else if (method != HF_METHOD_SUBSCRIBE || !refuse_to_keep(in, uri.n)) {
        route(in, &target, uri);
    }
}

static void take_completion(const struct hf_incoming *in)
{
    const struct hf_span ref = hf_json_get(in->msg->params, HF_SPAN("ref"));
    const struct hf_span uri = hf_json_get(ref, HF_SPAN("uri"));
    if (uri.p)
        take_uri(in, uri);
    else
        take_named(in, HF_PART_PROMPTS, hf_json_get(ref, HF_SPAN("name")));
}

static void take_level(const struct hf_incoming *in)
{
    struct hf_session *session = in->session;
    const struct hf_span level = hf_json_get(in->msg->params, HF_SPAN("level"));
    if (hf_json_type(level) != HF_JSON_STRING || level.n > LEVEL_MAX) {
        hf_reply_error(in, -32602, "logging/setLevel needs a string \"level\"");
        return;
    }
    hf_free(session->log_level);
    session->log_level = hf_span_dup(level);
    const int number = hf_level_of(level);
    hf_session_set_level(session, number < 0 ? 0 : number); /* not known to us: everything */
    if (session->only) {
        route_to_only(in);
        return;
    }
    hf_reply_result(in, HF_SPAN("{}"));
    struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        const struct hf_slot *slot = hf_slot_of(server, session);
        if (slot && slot->current)
            hf_restore_level(slot->current);
    }
}

/* At the door of one server every task is that server's, whatever we know of it. */
static void take_task(const struct hf_incoming *in)
{
    struct hf_session *session = in->session;
    const struct hf_span id = hf_json_get(in->msg->params, HF_SPAN("taskId"));
    struct hf_server *server = session->only ? session->only : hf_task_server(session, id);
    if (server)
        route(in, &(struct hf_target) { .server = server }, (struct hf_span) { NULL, 0 });
    else
        hf_reply_error(in, -32602,
                       "Unknown task: holdfast does not know (any more) which of its servers made "
                       "it; ask at that server's own door, or start it anew");
}

static void take_unknown(const struct hf_incoming *in)
{
    const struct hf_msg *msg = in->msg;
    if (in->session->only)
        route_to_only(in);
    else
        hf_reply_error(
            in, -32601,
            "Method not found: holdfast does not know which of its servers \"%.*s\" is for",
            (int)(msg->method.n < 100 ? msg->method.n : 100), msg->method.p);
}

/* Whose it is and which key it has, as far as it says so itself. */
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

static void take_routed(const struct hf_incoming *in)
{
    const struct hf_msg *msg = in->msg;
    switch (in->method->id) {
    case HF_METHOD_DISCOVER:
        if (in->is_modern)
            hf_held_take(in, HF_PART_TOOLS);
        else
            take_unknown(in);
        break;
    case HF_METHOD_TOOLS_LIST: take_list(in, HF_PART_TOOLS); break;
    case HF_METHOD_PROMPTS_LIST: take_list(in, HF_PART_PROMPTS); break;
    case HF_METHOD_RESOURCES_LIST: take_list(in, HF_PART_RESOURCES); break;
    case HF_METHOD_TEMPLATES_LIST: take_list(in, HF_PART_TEMPLATES); break;
    case HF_METHOD_TOOLS_CALL: take_named(in, HF_PART_TOOLS, msg->name); break;
    case HF_METHOD_PROMPTS_GET: take_named(in, HF_PART_PROMPTS, msg->name); break;
    case HF_METHOD_RESOURCES_READ:
    case HF_METHOD_SUBSCRIBE:
    case HF_METHOD_UNSUBSCRIBE: take_uri(in, msg->uri); break;
    case HF_METHOD_COMPLETE: take_completion(in); break;
    case HF_METHOD_SET_LEVEL: take_level(in); break;
    case HF_METHOD_TASKS_GET:
    case HF_METHOD_TASKS_RESULT:
    case HF_METHOD_TASKS_UPDATE:
    case HF_METHOD_TASKS_CANCEL: take_task(in); break;
    case HF_METHOD_LISTEN:
        if (in->is_modern)
            hf_listen_open(in);
        else
            hf_reply_error(
                in, -32601,
                "Method not found: subscriptions/listen needs the _meta of " HF_MODERN_VERSION);
        break;
    default: take_unknown(in); break;
    }
}

static void take_request(struct hf_session *session, const struct hf_origin *origin,
                         const struct hf_msg *msg)
{
    struct hf_incoming incoming = {
        .session = session,
        .via = origin->via,
        .id = msg->id,
        .is_modern = session->is_modern || hf_era_is_modern(msg),
        .method = hf_method_find(msg->method),
        .msg = msg,
    };
    const struct hf_incoming *in = &incoming;
    if (in->is_modern && hf_modern_refuse_wrong(in))
        return;
    if (in->method->id == HF_METHOD_INITIALIZE) {
        if (refuse_to_keep(in, msg->params.n))
            return;
        hf_welcome_hello(session,
                         hf_json_type(msg->params) == HF_JSON_OBJECT ? msg->params : HF_SPAN("{}"));
        hf_held_take(in, HF_PART_TOOLS);
        return;
    }
    if (in->method->id == HF_METHOD_PING) {
        hf_reply_result(in, HF_SPAN("{}"));
        return;
    }
    if (in->is_modern)
        hf_welcome_modern(session, msg);
    else
        hf_welcome_stranger(session);
    hf_welcome_initialized(session);
    if (in->method->id == HF_METHOD_TOOLS_CALL)
        identify(&incoming, origin);
    if (hf_retry_is_ours(in))
        hf_retry_take(in);
    else
        take_routed(in);
}

/* ---- what comes back for a client ---- */

/* In the words of its server's era. */
static bool says_not_found(const struct hf_call *call, const struct hf_msg *msg)
{
    int64_t code;
    return msg->kind == HF_MSG_ERROR &&
           hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code) &&
           (code == -32002 || (code == -32602 && call->runtime->is_modern));
}

static void answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_session *session = call->session;
    struct hf_server *server = call->slot->server;
    const enum hf_method_id method = call->method->id;
    const bool has_asked = call->park || call->input; /* who asks has what is asked for */
    if (method == HF_METHOD_RESOURCES_READ && call->is_guess && !has_asked &&
        says_not_found(call, msg)) {
        struct hf_server *next = next_with_resources(session, server);
        struct hf_slot *slot = next ? hf_slot_for(next, session) : NULL;
        if (slot) {
            hf_call_move(call, slot);
            return;
        }
    }
    if (call->runtime->is_remote && hf_remote_is_refusal(call, msg)) {
        hf_remote_correct(call, msg);
        return;
    }
    if (call->runtime->is_modern && !call->is_modern && hf_input_is_required(msg)) {
        hf_input_ask(call, msg);
        return;
    }
    if (msg->kind == HF_MSG_RESULT && call->runtime->has_tasks)
        hf_task_made(call, msg->result);
    if (msg->kind == HF_MSG_RESULT && method == HF_METHOD_SUBSCRIBE) {
        hf_ear_subscribed(call->runtime, call->uri);
        hf_session_subscribe(session, server, call->uri);
    }
    if (msg->kind == HF_MSG_RESULT && method == HF_METHOD_UNSUBSCRIBE) {
        hf_ear_unsubscribed(call->runtime, call->uri);
        hf_session_unsubscribe(session, server, call->uri);
    }
    if (method == HF_METHOD_SUBSCRIBE || method == HF_METHOD_UNSUBSCRIBE)
        hf_ear_mark(call->runtime); /* also after an error: others may have relied on it */
    struct hf_runtime *moved_on = hf_remote_has_moved_on(call->runtime, msg) ? call->runtime : NULL;
    hf_call_pass(call, msg);
    if (moved_on)
        hf_remote_ask_era(moved_on);
}

/* ---- notifications and answers of clients ---- */

static void take_cancel(struct hf_session *session, const struct hf_msg *msg)
{
    const struct hf_span id = hf_json_get(msg->params, HF_SPAN("requestId"));
    struct hf_call *found = NULL, *call;
    HF_LIST_EACH (call, &session->calls, struct hf_call, in_session) {
        if (!id.p || !hf_json_same_scalar(call->client_id, id))
            continue;
        if (found)
            return; /* two with the same id: nobody can say which one is meant */
        found = call;
    }
    /* over HTTP many clients share a modern session, and the end of its stream is what cancels */
    struct hf_listener *listener = id.p && !session->is_modern ? hf_listen_find(session, id) : NULL;
    if (listener && !found)
        hf_listen_drop(session, listener);
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
            hf_mention(slot->current,
                       text); /* the modern era asks for the roots where it needs them */
    }
}

static void take_notification(struct hf_session *session, const struct hf_msg *msg)
{
    const enum hf_method_id method = hf_method_find(msg->method)->id;
    switch (method) {
    case HF_METHOD_INITIALIZED: hf_welcome_initialized(session); break;
    case HF_METHOD_CANCELLED: take_cancel(session, msg); break;
    case HF_METHOD_PROGRESS: { /* of something a server asked of it */
        struct hf_ask *ask;
        HF_LIST_EACH (ask, &session->asks, struct hf_ask, in_session) {
            hf_mention(ask->runtime, msg->text);
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

/* Returns how many answers it will get. */
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
    case HF_MSG_ERROR: hf_ask_answered(session, &msg); break;
    }
    return 0;
}

static unsigned take_message(struct hf_session *session, const struct hf_origin *origin,
                             struct hf_span text)
{
    struct hf_json_error error;
    /* 2025-03-26 had batches; each of its messages is answered on its own */
    if (hf_json_type(text) != HF_JSON_ARRAY ||
        !hf_json_check(text, session->engine->limits.max_depth, &error))
        return take_one(session, origin, text);
    unsigned owed = 0;
    struct hf_json_iter it = hf_json_iter(text);
    if (!hf_json_next(&it)) {
        const struct hf_incoming unread = { .session = session, .via = origin->via };
        hf_reply_error(&unread, -32600, "a batch must not be empty");
        return 1;
    }
    do
        owed += take_one(session, origin, it.value);
    while (hf_json_next(&it));
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

void hf_session_message_over(struct hf_session *session, const struct hf_json_skim *skim,
                             struct hf_now now)
{
    hf_set_now(session->engine, now);
    const struct hf_span id = hf_json_skim_id(skim);
    const struct hf_incoming in = { .session = session,
                                    .id = id.n ? id : (struct hf_span) { NULL, 0 } };
    if (!hf_json_skim_has_method(skim) && id.n) {
        hf_ask_answer_over(session, id);
        return;
    }
    hf_refuse(&in, NULL, HF_ERROR_REQUEST_TOO_LARGE, "max_message_bytes",
              "The message is larger than holdfast's maxMessageBytes and was not read; nothing was "
              "sent. Make it smaller, or raise the limit.");
}
