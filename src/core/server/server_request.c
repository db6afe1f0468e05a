/* server_request.c - server requests that are with a client: how they get there, and what ends
 * them. Which client is asked was decided before (inbox/choose_client.c).
 *
 * 1. A client is asked nothing before it has said `initialized`: earlier requests are kept for it,
 *    for listWaitMs.
 * 2. A client has askMs to answer, or no limit if the runtime is its own; and if it has no open
 *    stream, no more time than it may take to open one. Then the server gets an error, and the
 *    clocks of the calls run on. */
#include "core/server/server_request.h"
#include "core/call/queue.h"
#include "core/call/remember.h"
#include "core/call/send.h"
#include "core/engine.h"
#include "core/outbox.h"
#include "core/server/facts.h"
#include "core/server/runtime.h"
#include "core/settings.h"
#include "core/state/call.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum { OPENS_WITHIN_MS = 5000 }; /* for an initialized client to open its first stream */

/* ---- responses ---- */

/* A server that does not take its responses is lost: it would wait for them for ever. */
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
    hf_msg_add_error(&draft, id, code, hf_span_of(text), HF_SPAN(""));
    hf_runtime_respond(runtime, hf_draft_end(runtime->server->engine, &draft));
}

/* ---- requests to clients ---- */

const char hf_not_declared[] = "the client did not declare this capability";

/* An elicitation that is not a plain form must have been declared by name. */
static bool has_kind(struct hf_span capability, struct hf_span params)
{
    const struct hf_span mode = hf_json_get(params, HF_SPAN("mode"));
    const bool is_url = mode.p && hf_json_string_is(mode, HF_SPAN("url"));
    const bool has_url = hf_json_get(capability, HF_SPAN("url")).p;
    if (is_url || !capability.p)
        return is_url && has_url;
    return hf_json_get(capability, HF_SPAN("form")).p || !has_url; /* {} means forms */
}

bool hf_client_can_be_asked(struct hf_span capabilities, enum hf_method_id method,
                            struct hf_span params)
{
    const struct hf_span sampling = hf_json_get(capabilities, HF_SPAN("sampling"));
    switch (method) {
    case HF_METHOD_SAMPLING:
        return sampling.p && (!hf_json_get(params, HF_SPAN("tools")).p ||
                              hf_json_get(sampling, HF_SPAN("tools")).p);
    case HF_METHOD_ELICITATION:
        return has_kind(hf_json_get(capabilities, HF_SPAN("elicitation")), params);
    case HF_METHOD_ROOTS: return hf_json_get(capabilities, HF_SPAN("roots")).p;
    default: return true; /* a method unknown to us: the client says itself whether it knows it */
    }
}

/* The clocks of a call stand still while its client is being asked something. */
static void pause_clocks(struct hf_runtime *runtime, const struct hf_session *session, bool pause)
{
    struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (call->session == session && !hf_call_is_parked(call))
            hf_call_stop_clock(call, pause);
    }
}

static void free_request(void *p)
{
    struct hf_server_request *request = p;
    hf_free(request->server_id);
    hf_free(request->text);
    hf_free(request);
}

/* The request is kept until its client has said `initialized`. */
static bool is_early(const struct hf_server_request *request)
{
    return !request->park && request->text;
}

static void forget_request(struct hf_server_request *request)
{
    hf_session_forget_bytes(request->session, strlen(request->text));
    hf_free(request->text);
    request->text = NULL;
}

void hf_server_request_end(struct hf_server_request *request)
{
    struct hf_runtime *runtime = request->runtime;
    const struct hf_session *session = request->session;
    if (is_early(request))
        forget_request(request);
    hf_timer_clear(&runtime->server->engine->timers, &request->timer);
    hf_unlink(&request->in_session);
    hf_unlink(&request->in_runtime);
    hf_unlink(&request->in_park);
    runtime->server_request_count--;
    bool others = request->park != NULL; /* calls with a park are paused one by one */
    const struct hf_server_request *other;
    HF_LIST_EACH (other, &runtime->server_requests, struct hf_server_request, in_runtime) {
        others |= other->session == session && !other->park;
    }
    if (!others)
        pause_clocks(runtime, session, false);
    hf_bury(runtime->server->engine, free_request, request);
}

/* Tells the client, if it was asked, that it need not answer any more. */
static void withdraw(const struct hf_server_request *request)
{
    if (!request->park && !is_early(request))
        hf_session_send_cancelled(request->session, request->via, request->id);
}

void hf_server_requests_drop(struct hf_runtime *runtime)
{
    struct hf_server_request *request;
    HF_LIST_EACH_SAFE (request, &runtime->server_requests, struct hf_server_request, in_runtime) {
        withdraw(request);
        hf_server_request_end(request);
    }
}

/* ---- how long the client has ---- */

/* The client has no open stream, and needs one: a modern client is asked in the answer to its
 * call. */
static bool lacks_stream(const struct hf_server_request *request)
{
    return !request->park && !is_early(request) && request->session->stream_state != HF_STREAM_OPEN;
}

/* Until when a client that has no open stream may take to open one. */
static uint64_t stream_until(const struct hf_server_request *request)
{
    const struct hf_session *session = request->session;
    if (session->stream_state == HF_STREAM_MAY_REOPEN)
        return session->streamless_ms + request->runtime->server->settings.gone_ms;
    return session->initialized_ms + OPENS_WITHIN_MS;
}

void hf_server_request_arm(struct hf_server_request *request)
{
    struct hf_engine *engine = request->runtime->server->engine;
    const struct hf_settings *settings = &request->runtime->server->settings;
    uint64_t at = 0;
    if (is_early(request))
        at = request->since_ms + settings->list_wait_ms;
    else if (!request->runtime->slot->owner)
        at = request->since_ms + settings->ask_ms;
    if (lacks_stream(request)) {
        const uint64_t until = stream_until(request);
        at = !at || until < at ? until : at;
    }
    hf_timer_set(&engine->timers, &request->timer, at && at < engine->now_ms ? engine->now_ms : at);
}

void hf_server_request_timer(struct hf_server_request *request)
{
    if (request->is_refused)
        hf_runtime_respond_error(request->runtime, hf_span_of(request->server_id), -32601,
                                 hf_not_declared);
    else
        hf_runtime_respond_error(
            request->runtime, hf_span_of(request->server_id), -32603,
            is_early(request)       ? "the client has not finished its introduction (listWaitMs)"
            : lacks_stream(request) ? "the client has no open stream on which it could be asked"
                                    : "the client did not answer this request in time (askMs)");
    withdraw(request);
    hf_server_request_end(request);
}

bool hf_session_is_asked(const struct hf_session *session)
{
    return !hf_list_empty(&session->server_requests);
}

void hf_session_set_stream(struct hf_session *session, enum hf_stream_state stream_state,
                           struct hf_now now)
{
    hf_set_now(session->engine, now);
    if (session->stream_state == HF_STREAM_OPEN)
        session->streamless_ms = now.mono_ms;
    session->stream_state = stream_state;
    struct hf_server_request *request;
    HF_LIST_EACH (request, &session->server_requests, struct hf_server_request, in_session) {
        hf_server_request_arm(request);
    }
}

/* ---- asking ---- */

static void send(struct hf_server_request *request, struct hf_span text, struct hf_span id)
{
    struct hf_engine *engine = request->session->engine;
    struct hf_runtime *runtime = request->runtime;
    if (request->method == HF_METHOD_ROOTS)
        runtime->roots_of = request->session->number;
    request->since_ms = engine->now_ms;
    hf_server_request_arm(request);
    pause_clocks(runtime, request->session, true);
    struct hf_buf draft = hf_draft();
    hf_buf_add_u64(&draft, request->id);
    hf_session_send_spliced(request->session, request->via, text, id, hf_draft_end(engine, &draft));
}

void hf_server_request_new(struct hf_runtime *runtime, struct hf_session *session, uint64_t via,
                           const struct hf_method *method, const struct hf_msg *msg)
{
    struct hf_engine *engine = runtime->server->engine;
    struct hf_server_request *request = hf_new(struct hf_server_request);
    request->session = session;
    request->runtime = runtime;
    request->method = method->id;
    hf_link_init(&request->in_park);
    hf_timer_init(&request->timer, HF_TIMER_SERVER_REQUEST, request);
    request->id = ++engine->serial;
    request->server_id = hf_span_dup(msg->id);
    request->via = via;
    runtime->server_request_count++;
    hf_list_push(&session->server_requests, &request->in_session);
    hf_list_push(&runtime->server_requests, &request->in_runtime);
    if (session->has_initialized) {
        send(request, msg->text, msg->id);
        return;
    }
    request->text = hf_span_dup(msg->text);
    hf_session_remember(session, strlen(request->text));
    request->since_ms = engine->now_ms;
    hf_server_request_arm(request);
}

void hf_server_requests_send_early(struct hf_session *session)
{
    struct hf_server_request *request;
    HF_LIST_EACH (request, &session->server_requests, struct hf_server_request, in_session) {
        struct hf_msg msg;
        struct hf_err err;
        if (!is_early(request) ||
            hf_msg_parse(hf_span_of(request->text), session->engine->limits.max_depth, &msg,
                         &err) != HF_MSG_OK)
            continue;
        struct hf_buf text = hf_draft();
        hf_buf_add(&text, msg.text);
        const struct hf_span kept = hf_draft_end(session->engine, &text);
        const struct hf_span id = { kept.p + (msg.id.p - msg.text.p), msg.id.n };
        forget_request(request);
        send(request, kept, id);
    }
}

static struct hf_server_request *request_by_id(struct hf_session *session, struct hf_span id)
{
    int64_t number;
    if (!hf_json_int(id, &number))
        return NULL;
    struct hf_server_request *request;
    HF_LIST_EACH (request, &session->server_requests, struct hf_server_request, in_session) {
        if ((int64_t)request->id == number && !is_early(request))
            return request;
    }
    return NULL;
}

bool hf_server_request_answered(struct hf_session *session, const struct hf_msg *msg)
{
    struct hf_server_request *request = request_by_id(session, msg->id);
    if (!request)
        return false;
    struct hf_buf draft = hf_draft();
    const char *rest = msg->id.p + msg->id.n;
    hf_buf_add(&draft, (struct hf_span) { msg->text.p, (size_t)(msg->id.p - msg->text.p) });
    hf_buf_add_str(&draft, request->server_id);
    hf_buf_add(&draft, (struct hf_span) { rest, (size_t)(msg->text.p + msg->text.n - rest) });
    hf_runtime_respond(request->runtime, hf_draft_end(session->engine, &draft));
    hf_server_request_end(request);
    return true;
}

bool hf_server_request_answer_oversized(struct hf_session *session, struct hf_span id)
{
    struct hf_server_request *request = request_by_id(session, id);
    if (!request)
        return false;
    hf_runtime_respond_error(request->runtime, hf_span_of(request->server_id), -31006,
                             "the client's answer is larger than holdfast's maxMessageBytes");
    hf_server_request_end(request);
    return true;
}

void hf_server_request_cancelled(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    const struct hf_span id = hf_json_get(msg->params, HF_SPAN("requestId"));
    struct hf_server_request *request;
    HF_LIST_EACH_SAFE (request, &runtime->server_requests, struct hf_server_request, in_runtime) {
        if (!id.p || !hf_json_same_scalar(hf_span_of(request->server_id), id))
            continue;
        struct hf_buf draft = hf_draft();
        hf_buf_add_u64(&draft, request->id);
        if (!request->park && !is_early(request))
            hf_session_send_spliced(request->session, request->via, msg->text, id,
                                    hf_draft_end(runtime->server->engine, &draft));
        hf_buf_done(&draft);
        hf_server_request_end(request);
    }
}
