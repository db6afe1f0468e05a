/* route.c - which server a client's request is for, and whether it may go there. Decided before
 * anything waits: names, allow and deny, and what a client may make us remember. */
#include "core/inbox/route.h"
#include "core/bridge/retry.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/frame.h"
#include "core/call/party.h"
#include "core/call/queue.h"
#include "core/call/remember.h"
#include "core/call/send.h"
#include "core/catalog/part.h"
#include "core/client/held.h"
#include "core/client/log_level.h"
#include "core/client/modern.h"
#include "core/client/policy.h"
#include "core/client/session.h"
#include "core/client/tasks.h"
#include "core/client/view.h"
#include "core/engine.h"
#include "core/inbox/client_call.h"
#include "core/server/server.h"
#include "core/state/incoming.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"

enum { LEVEL_MAX = 64 }; /* bytes of a log level: the engine keeps it */

static void reply_list(const struct hf_incoming *in, enum hf_part_id part)
{
    const struct hf_span cursor = hf_json_get(in->msg->params, HF_SPAN("cursor"));
    if (cursor.p)
        hf_reply(in, hf_list_answer(in->session, in->is_modern, part, cursor));
    else
        hf_held_take(in, part);
}

static struct hf_span moved(const struct hf_call *call, const struct hf_msg *msg,
                            struct hf_span span)
{
    return (struct hf_span) { call->text + (span.p - msg->text.p), span.n };
}

static void refuse_denied(const struct hf_incoming *in, struct hf_server *server)
{
    hf_reply_failure(
        in, server, HF_ERROR_DENIED, "denied",
        "holdfast's configuration does not allow this name (allow / deny); the call was "
        "not sent.");
}

/* Sends the request on its way to the target's server. `name` is the client's name for the tool,
 * prompt or resource, a span of the message. */
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
        hf_reply_failure(
            in, server, HF_ERROR_UNAVAILABLE, "shutting_down",
            "holdfast is shutting down; the call was never sent and is safe to send again.");
        return;
    }
    if (server->is_removed) {
        hf_reply_error(in, -32602, "The server \"%s\" was removed from the config", server->name);
        return;
    }
    struct hf_slot *slot = hf_slot_for(server, session);
    if (!slot) {
        hf_reply_failure(
            in, server, HF_ERROR_OVERLOADED, "max_runtimes",
            "This server already runs once for each of as many clients as maxRuntimes allows; "
            "the call was not sent.");
        return;
    }
    const enum hf_retry_state state =
        in->is_modern ? hf_retry_state(in, server) : HF_RETRY_STATELESS;
    if (state > HF_RETRY_STATE_OF_SERVER) {
        hf_retry_refuse(in, server, state);
        return;
    }
    struct hf_call *call = hf_call_new(in, &hf_client_call_owner);
    if (!call)
        return;
    if (state == HF_RETRY_STATE_OF_SERVER)
        hf_call_eras(call)->carries_state = true;
    if (target->own_name.p && name.p) {
        call->own_name = hf_span_dup(target->own_name);
        hf_call_cut(call, moved(call, msg, name),
                    (struct hf_span) { call->own_name, target->own_name.n });
    }
    const struct hf_span token = hf_json_get(msg->meta, HF_SPAN("progressToken"));
    if (token.p) {
        call->token = moved(call, msg, token);
        hf_call_cut(call, call->token, hf_call_digits(call));
    }
    if (method == HF_METHOD_RESOURCES_READ || method == HF_METHOD_SUBSCRIBE ||
        method == HF_METHOD_UNSUBSCRIBE) {
        call->uri = moved(call, msg, name);
        call->is_guess = target->is_guess;
    }
    if (hf_call_is_tool_call(call) && server->settings.retry == HF_RETRY_IDEMPOTENT)
        call->history.is_repeatable = target->is_idempotent;
    hf_call_arrive(call, slot);
}

/* For a session that has one server alone: the request goes to that server. */
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

/* The next server, in config order, that may have a resource that no server lists. */
struct hf_server *hf_request_next_with_resources(struct hf_session *session,
                                                 struct hf_server *after, struct hf_span uri)
{
    struct hf_engine *engine = session->engine;
    for (struct hf_server *server = hf_engine_next_server(engine, after); server;
         server = hf_engine_next_server(engine, server)) {
        const struct hf_span resources =
            server->greeting
                ? hf_json_path(hf_span_of(server->greeting), 2,
                               (struct hf_span[]) { HF_SPAN("capabilities"), HF_SPAN("resources") })
                : (struct hf_span) { NULL, 0 };
        if (server->is_published && resources.p && hf_session_uses(session, server) &&
            hf_policy_allows_uri(session->policy, server, uri))
            return server;
    }
    return NULL;
}

/* A server that lists this URI, which the client may not use there; or any server, if the client
 * may use the URI at none. NULL: there is none. */
static struct hf_server *denied_by(struct hf_session *session, struct hf_span uri)
{
    struct hf_server *server, *denied = NULL;
    bool is_allowed_somewhere = false;
    if (!session->policy)
        return NULL;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        if (!hf_session_uses(session, server))
            continue;
        if (hf_policy_allows_uri(session->policy, server, uri)) {
            is_allowed_somewhere = true;
            continue;
        }
        denied = server;
        if (hf_part_find(server->parts[HF_PART_RESOURCES], uri))
            return server;
    }
    return is_allowed_somewhere ? NULL : denied;
}

/* Which server the URI is for; `is_denied`: the client may not use it. */
static struct hf_target target_of(struct hf_session *session, struct hf_span uri)
{
    struct hf_target target = { .server = session->only };
    if (!target.server && !hf_view_resolve(session, HF_PART_RESOURCES, uri, &target))
        target.server = hf_view_template_server(session, uri);
    if (target.server) {
        target.is_denied = !hf_policy_allows_uri(session->policy, target.server, uri);
    } else {
        target.server = denied_by(session, uri);
        target.is_denied = target.server != NULL;
        target.is_guess = true;
    }
    if (!target.server)
        target.server = hf_request_next_with_resources(session, NULL, uri);
    target.own_name = (struct hf_span) { NULL, 0 }; /* a uri is the same on both sides */
    return target;
}

/* Refuses a request that would make us remember too much of its client; true: it was refused. */
bool hf_request_refuses_to_keep(const struct hf_incoming *in, size_t bytes)
{
    if (hf_session_may_remember(in->session, bytes))
        return false;
    if (hf_reply_if_over(in, NULL, HF_SHARED_REMEMBERED, bytes))
        return true;
    hf_reply_failure(
        in, NULL, HF_ERROR_OVERLOADED, "client_keeps_too_much",
        "holdfast remembers no more for this client (its introduction and its subscriptions); "
        "nothing was sent. Unsubscribe from something, or introduce yourself more briefly.");
    return true;
}

static void take_uri(const struct hf_incoming *in, struct hf_span uri)
{
    struct hf_session *session = in->session;
    const enum hf_method_id method = in->method->id;
    if (hf_json_type(uri) != HF_JSON_STRING) {
        hf_reply_error(in, -32602, "%s needs a string \"uri\" in its params", in->method->name);
        return;
    }
    const struct hf_target target = target_of(session, uri);
    if (target.is_denied) {
        refuse_denied(in, target.server);
    } else if (!target.server) {
        hf_reply_error(in, in->is_modern ? -32602 : -32002,
                       "Resource not found: no server has resources");
    } else if (method == HF_METHOD_SUBSCRIBE &&
               hf_reply_if_over(in, target.server, HF_SHARED_SUBSCRIPTIONS, 1)) {
        return;
    } else if (method == HF_METHOD_UNSUBSCRIBE && hf_session_shares(session, target.server, uri)) {
        hf_session_unsubscribe(session, target.server, uri); /* others still want updates */
        hf_reply_result(in, HF_SPAN("{}"));
    } else if (method != HF_METHOD_SUBSCRIBE || !hf_request_refuses_to_keep(in, uri.n)) {
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
    hf_session_set_level(session, number < 0 ? 0 : number); /* unknown level: everything */
    if (session->only) {
        route_to_only(in);
        return;
    }
    hf_reply_result(in, HF_SPAN("{}"));
    struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        const struct hf_slot *slot = hf_slot_of(server, session);
        if (slot && slot->current)
            hf_log_level_restore(slot->current);
    }
}

/* In a session that has one server alone, every task is that server's, also one that we do not
 * know. */
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
                       "it; ask at that server's own endpoint, or start it anew");
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

void hf_request_route(const struct hf_incoming *in)
{
    const struct hf_msg *msg = in->msg;
    switch (in->method->id) {
    case HF_METHOD_DISCOVER:
        if (in->is_modern)
            hf_held_take(in, HF_PART_TOOLS);
        else
            take_unknown(in);
        break;
    case HF_METHOD_TOOLS_LIST: reply_list(in, HF_PART_TOOLS); break;
    case HF_METHOD_PROMPTS_LIST: reply_list(in, HF_PART_PROMPTS); break;
    case HF_METHOD_RESOURCES_LIST: reply_list(in, HF_PART_RESOURCES); break;
    case HF_METHOD_TEMPLATES_LIST: reply_list(in, HF_PART_TEMPLATES); break;
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
            hf_listener_open(in);
        else
            hf_reply_error(
                in, -32601,
                "Method not found: subscriptions/listen needs the _meta of " HF_MODERN_VERSION);
        break;
    default: take_unknown(in); break;
    }
}
