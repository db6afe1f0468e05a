/* exchange.c - a runtime whose server is reached over HTTP: every message has an exchange of its
 * own.
 *
 * 1. An exchange is begun once. Whether its call may be sent again is decided where every loss is
 * judged, from what the exchange proved (evidence.c).
 * 2. Losing one exchange takes nothing from the others: a lost runtime gets no new calls, and the
 *    answers still under way come in (P4).
 * 3. An answer counts by its id and its runtime, on whichever exchange it comes. */
#include "core/remote/exchange.h"
#include <assert.h>
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/engine.h"
#include "core/inbox/from_server.h"
#include "core/machine/evidence.h"
#include "core/machine/http_body.h"
#include "core/outbox.h"
#include "core/remote/headers.h"
#include "core/remote/refusal.h"
#include "core/remote/remote.h"
#include "core/server/handshake.h"
#include "core/server/listing.h"

enum { ENDS_WITHIN_MS = 10000 }; /* after its answer came, a stream has nothing more to say */

/* ---- an exchange begins and ends ---- */

static void begin(struct hf_remote_exchange *exchange)
{
    exchange->is_begun = true;
    exchange->has_progressed = false;
    exchange->status = 0;
    hf_emit(exchange->runtime->server->engine, HF_DO_EXCHANGE)->exchange = exchange;
}

struct hf_remote_exchange *hf_remote_exchange_new(struct hf_runtime *runtime,
                                                  enum hf_remote_exchange_kind verb,
                                                  struct hf_call *call)
{
    struct hf_remote *remote = runtime->remote;
    struct hf_remote_exchange *exchange = hf_new(struct hf_remote_exchange);
    exchange->runtime = runtime;
    exchange->kind = verb;
    exchange->call = call;
    exchange->session = remote->session;
    exchange->session_id = remote->session_id ? hf_strdup(remote->session_id) : NULL;
    exchange->retry_ms = -1;
    hf_timer_init(&exchange->timer, HF_TIMER_EXCHANGE, exchange);
    hf_list_push(&remote->exchanges, &exchange->link);
    begin(exchange);
    return exchange;
}

static void free_exchange(void *p)
{
    struct hf_remote_exchange *exchange = p;
    hf_free(exchange->owned);
    hf_free(exchange->session_id);
    hf_free(exchange->endpoint);
    hf_free(exchange->event_id);
    hf_free(exchange->to_nobody);
    hf_free(exchange);
}

static void set_initialized(struct hf_runtime *runtime, struct hf_remote_exchange *exchange)
{
    runtime->remote->initialized = exchange;
    runtime->is_introducing = exchange != NULL;
}

static void forget(struct hf_remote_exchange *exchange)
{
    struct hf_runtime *runtime = exchange->runtime;
    struct hf_engine *engine = runtime->server->engine;
    if (exchange->call)
        exchange->call->exchange = NULL;
    if (runtime->remote->listen == exchange)
        runtime->remote->listen = NULL;
    if (runtime->remote->initialized == exchange)
        set_initialized(runtime, NULL);
    runtime->unsent_bytes -= exchange->owned_length;
    runtime->unsent_count -= exchange->owned != NULL;
    hf_timer_clear(&engine->timers, &exchange->timer);
    hf_unlink(&exchange->link);
    hf_bury(engine, free_exchange, exchange);
}

void hf_remote_exchange_abort(struct hf_remote_exchange *exchange)
{
    if (exchange->is_begun)
        hf_emit(exchange->runtime->server->engine, HF_DO_ABORT_EXCHANGE)->exchange = exchange;
    forget(exchange);
}

void hf_remote_exchange_leave(struct hf_remote_exchange *exchange, bool is_answered)
{
    struct hf_engine *engine = exchange->runtime->server->engine;
    /* Without an answer nobody waits for this exchange, and closing its connection is all that is
     * left to say. An exchange that is not begun was cut, and its answer came elsewhere. */
    if (!is_answered || !exchange->is_begun) {
        hf_remote_exchange_abort(exchange);
        return;
    }
    exchange->call->exchange = NULL;
    exchange->call = NULL;
    exchange->is_answered = true;
    hf_timer_set(&engine->timers, &exchange->timer, engine->now_ms + ENDS_WITHIN_MS);
}

void hf_remote_exchange_timer(struct hf_remote_exchange *exchange)
{
    if (exchange->is_begun)
        hf_remote_exchange_abort(exchange);
    else
        begin(exchange);
}

/* Initialize, or the era probe: what is asked before a protocol version is agreed on. */
bool hf_call_is_initialize(const struct hf_call *call)
{
    return call &&
           (call->owner->purpose == HF_FOR_INITIALIZE || call->owner->purpose == HF_FOR_ERA_PROBE);
}

bool hf_status_wants_auth(int status)
{
    return status == 401 || status == 403;
}

void hf_remote_exchange_request(const struct hf_remote_exchange *exchange,
                                struct hf_remote_exchange_request *ret_request)
{
    const struct hf_remote *remote = exchange->runtime->remote;
    const char *last = exchange->kind == HF_EXCHANGE_RESUME   ? exchange->event_id
                       : exchange->kind == HF_EXCHANGE_STREAM ? remote->listen_id
                                                              : NULL;
    *ret_request = (struct hf_remote_exchange_request) {
        .kind = exchange->kind,
        .session_id = hf_span_of(exchange->session_id),
        .last_event_id = hf_span_of(last),
        /* A message of our own runs nothing, so it may be repeated. Whether a client's request may
         * be sent again is decided by its evidence alone. */
        .may_repeat = exchange->kind == HF_EXCHANGE_MESSAGE
                          ? !exchange->call || exchange->call->owner->purpose != HF_FOR_CLIENT
                          : exchange->kind != HF_EXCHANGE_DELETE,
    };
    if (!hf_call_is_initialize(exchange->call))
        ret_request->version = hf_span_of(remote->version);
    if (exchange->runtime->is_modern ||
        (exchange->call && exchange->call->owner->purpose == HF_FOR_ERA_PROBE)) {
        ret_request->version = HF_SPAN(HF_MODERN_VERSION);
        ret_request->headers = hf_remote_headers(exchange);
    }
    if (exchange->kind == HF_EXCHANGE_MESSAGE)
        ret_request->endpoint =
            hf_span_of(exchange->endpoint ? exchange->endpoint : remote->endpoint);
    if (exchange->kind == HF_EXCHANGE_MESSAGE && exchange->owned) {
        ret_request->pieces[0] = (struct hf_span) { exchange->owned, exchange->owned_length };
        ret_request->piece_count = 1;
    } else if (exchange->kind == HF_EXCHANGE_MESSAGE && exchange->call) {
        ret_request->piece_count = exchange->call->frame.count;
        memcpy(ret_request->pieces, exchange->call->frame.pieces,
               exchange->call->frame.count * sizeof *ret_request->pieces);
    }
}

struct hf_runtime *hf_remote_exchange_runtime(const struct hf_remote_exchange *exchange)
{
    return exchange->runtime;
}
bool hf_remote_exchange_is_answered(const struct hf_remote_exchange *exchange)
{
    return exchange->is_answered;
}
struct hf_backend_exchange *hf_remote_exchange_backend(const struct hf_remote_exchange *exchange)
{
    return exchange->backend;
}
void hf_remote_exchange_set_backend(struct hf_remote_exchange *exchange,
                                    struct hf_backend_exchange *backend)
{
    exchange->backend = backend;
}

/* ---- messages to the server ---- */

void hf_remote_send(struct hf_call *call)
{
    call->exchange = hf_remote_exchange_new(call->runtime, HF_EXCHANGE_MESSAGE, call);
}

static void end_within_stall(struct hf_remote_exchange *exchange)
{
    struct hf_engine *engine = exchange->runtime->server->engine;
    hf_timer_set(&engine->timers, &exchange->timer,
                 engine->now_ms + exchange->runtime->server->settings.stall_ms);
}

static struct hf_remote_exchange *tell(struct hf_runtime *runtime, struct hf_span message)
{
    struct hf_remote_exchange *exchange =
        hf_remote_exchange_new(runtime, HF_EXCHANGE_MESSAGE, NULL);
    exchange->owned = hf_span_dup(message);
    exchange->owned_length = message.n;
    runtime->unsent_bytes += message.n;
    runtime->unsent_count++;
    end_within_stall(exchange);
    return exchange;
}

void hf_remote_tell(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message)
{
    const struct hf_remote_exchange *asked = about ? about->exchange : NULL;
    if (about && !asked && !runtime->is_older_transport)
        return; /* the server turned this call away: it knows nothing of it */
    if (!asked && hf_runtime_is_renewing(runtime))
        return; /* the message is about a session that the server has forgotten */
    struct hf_remote_exchange *exchange = tell(runtime, message);
    if (!asked || asked->session == exchange->session)
        return;
    exchange->session = asked->session;
    hf_free(exchange->session_id);
    exchange->session_id = asked->session_id ? hf_strdup(asked->session_id) : NULL;
}

static bool can_be_a_header(struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    return true;
}

void hf_remote_agree(struct hf_runtime *runtime, struct hf_span version)
{
    struct hf_remote *remote = runtime->remote;
    struct hf_buf plain = hf_draft();
    if (!hf_json_unescape(version, &plain) || !can_be_a_header(hf_buf_span(&plain)))
        hf_buf_clear(&plain);
    hf_free(remote->version);
    remote->version = hf_buf_len(&plain) ? hf_span_dup(hf_buf_span(&plain)) : NULL;
    hf_buf_done(&plain);
}

void hf_remote_introduce(struct hf_runtime *runtime)
{
    struct hf_buf draft = hf_draft();
    hf_msg_add_notification(&draft, "notifications/initialized");
    struct hf_remote_exchange *exchange =
        tell(runtime, hf_draft_end(runtime->server->engine, &draft));
    set_initialized(runtime, exchange);
    /* Nothing goes on before `initialized` has arrived: the timer of the whole start bounds it. */
    hf_timer_clear(&runtime->server->engine->timers, &exchange->timer);
}

/* ---- what the shell saw ---- */

void hf_remote_exchange_sending(struct hf_remote_exchange *exchange, struct hf_now now)
{
    struct hf_call *call = exchange->call;
    hf_set_now(exchange->runtime->server->engine, now);
    if (!call || call->stage != HF_CALL_QUEUED)
        return;
    hf_call_set_stage(call, HF_CALL_SENT);
    call->waited_ms += now.mono_ms - call->dispatched_ms;
    call->dispatched_ms = now.mono_ms;
    call->extent = (struct hf_extent) { .begun = true };
    call->history.sends++;
    hf_call_arm(call);
}

/* The exchange of initialize gets the session id too: if its stream is cut, the rest of the stream
 * is fetched under that session. */
static void take_session_id(struct hf_remote_exchange *exchange, struct hf_span session_id)
{
    struct hf_remote *remote = exchange->runtime->remote;
    hf_free(remote->session_id);
    hf_free(exchange->session_id);
    remote->session_id = session_id.p ? hf_span_dup(session_id) : NULL;
    exchange->session_id = session_id.p ? hf_span_dup(session_id) : NULL;
}

void hf_remote_exchange_head(struct hf_remote_exchange *exchange, int status, bool is_stream,
                             struct hf_span session_id, struct hf_now now)
{
    struct hf_runtime *runtime = exchange->runtime;
    struct hf_remote *remote = runtime->remote;
    hf_runtime_bytes_came(runtime, now);
    exchange->status = status;
    exchange->is_stream = is_stream;
    exchange->opened_ms = now.mono_ms;
    if (status < 200 || status > 299)
        return;
    if (exchange == remote->initialized) { /* `initialized` has arrived */
        set_initialized(runtime, NULL);
        end_within_stall(exchange);
        hf_handshake_introduced(runtime);
    }
    if (exchange->call && exchange->call->owner->purpose == HF_FOR_INITIALIZE) {
        if (exchange->kind == HF_EXCHANGE_MESSAGE)
            take_session_id(exchange, session_id);
    } else if (exchange->kind == HF_EXCHANGE_MESSAGE && exchange->call &&
               exchange->session == remote->session && !hf_inquiry_is_stranger(exchange->call)) {
        remote->is_session_proven = true;
        remote->has_served |= exchange->call->owner->purpose == HF_FOR_CLIENT;
    }
    if (exchange == remote->listen && is_stream) {
        if (remote->listened == exchange->session && !remote->listen_id)
            for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
                hf_listing_again(runtime, part); /* what it said meanwhile is lost */
        remote->listened = exchange->session;
    }
}

/* In a body with an error status only the response to our request counts. Where credentials are
 * wanted for initialize or the era probe, not even that response counts. */
enum hf_reading hf_remote_exchange_read(struct hf_remote_exchange *exchange,
                                        const struct hf_body *body, struct hf_span *ret_answer)
{
    const struct hf_call *call = exchange->call;
    struct hf_engine *engine = exchange->runtime->server->engine;
    const unsigned depth_max = engine->limits.max_depth;
    *ret_answer = (struct hf_span) { NULL, 0 };
    if (!call || (hf_call_is_initialize(call) && hf_status_wants_auth(exchange->status)))
        return hf_body_is_sound(body, depth_max) ? HF_READ_NO_ANSWER : HF_READ_UNREADABLE;
    struct hf_buf answer = hf_draft();
    const enum hf_reading reading = hf_body_read(body, call->id, depth_max, &answer);
    *ret_answer = hf_draft_end(engine, &answer);
    return reading;
}

bool hf_remote_exchange_is_answer(struct hf_remote_exchange *exchange, struct hf_span text)
{
    const struct hf_body body = { .text = text };
    struct hf_span answer;
    const enum hf_reading reading = hf_remote_exchange_read(exchange, &body, &answer);
    return reading == HF_READ_RESULT || reading == HF_READ_ERROR;
}

/* Keeps a stream's first message if it is an error that names no request: if nothing else comes, it
 * may mean that the session is not known. */
static void note_to_nobody(struct hf_remote_exchange *exchange, struct hf_span text)
{
    const struct hf_body body = { .text = text };
    if (!exchange->is_answered && hf_linked(&exchange->link) && exchange->call &&
        exchange->session_id && hf_body_is_error_to_nobody(&body))
        exchange->to_nobody = hf_span_dup(text);
}

/* An event of an answer with an error status. If it is the response to our request, it is taken.
 * But if that is an error, it proves nothing about the call, nor that the session is still
 * served. */
static void take_from_error(struct hf_remote_exchange *exchange, struct hf_span text)
{
    struct hf_runtime *runtime = exchange->runtime;
    struct hf_call *call = exchange->call;
    struct hf_span answer;
    const struct hf_body body = { .text = text };
    const enum hf_reading reading = hf_remote_exchange_read(exchange, &body, &answer);
    const bool is_refusal = reading == HF_READ_ERROR && exchange->is_stream && exchange->session_id;
    if (reading != HF_READ_RESULT && reading != HF_READ_ERROR)
        return;
    if (is_refusal && call->owner->purpose == HF_FOR_INQUIRY) {
        hf_inquiry_over(call, exchange->status, false, NULL);
        return;
    }
    const bool is_clients = call->owner->purpose == HF_FOR_CLIENT;
    const int status = exchange->status;
    const uint64_t session = exchange->session;
    exchange->is_exact = !exchange->is_stream && hf_body_is_exact_error(&body, call->id);
    hf_server_message(runtime, call, answer);
    if (is_refusal && is_clients && session == runtime->remote->session)
        hf_remote_call_refused(runtime, status);
}

void hf_remote_exchange_message(struct hf_remote_exchange *exchange, struct hf_span text,
                                struct hf_now now)
{
    struct hf_runtime *runtime = exchange->runtime;
    hf_runtime_bytes_came(runtime, now);
    exchange->has_progressed = true;
    text = hf_msg_without_bom(text);
    if (exchange->status < 300) {
        hf_server_message(runtime, exchange->call, text);
        if (exchange->is_stream && exchange->message_count++ == 0)
            note_to_nobody(exchange, text);
        return;
    }
    take_from_error(exchange, text);
}

void hf_remote_exchange_message_oversized(struct hf_remote_exchange *exchange,
                                          const struct hf_json_skim *skim, struct hf_now now)
{
    hf_runtime_bytes_came(exchange->runtime, now);
    exchange->message_count++;
    if (exchange->status < 300)
        hf_server_message_oversized(exchange->runtime, skim);
}

void hf_remote_exchange_event(struct hf_remote_exchange *exchange, struct hf_span event_id,
                              int64_t retry_ms)
{
    struct hf_remote *remote = exchange->runtime->remote;
    char **last = exchange == remote->listen ? &remote->listen_id : &exchange->event_id;
    if (event_id.p && !(*last && hf_span_is(event_id, *last))) {
        hf_free(*last);
        *last = event_id.n ? hf_span_dup(event_id) : NULL;
        exchange->has_progressed = true;
    }
    if (retry_ms >= 0)
        exchange->retry_ms = retry_ms < HF_RETRY_MS_MIN   ? HF_RETRY_MS_MIN
                             : retry_ms > HF_RETRY_MS_MAX ? HF_RETRY_MS_MAX
                                                          : retry_ms;
}

void hf_remote_exchange_endpoint(struct hf_remote_exchange *exchange, struct hf_span url,
                                 struct hf_now now)
{
    struct hf_runtime *runtime = exchange->runtime;
    struct hf_remote *remote = runtime->remote;
    hf_runtime_bytes_came(runtime, now);
    if (exchange != remote->listen || !runtime->is_older_transport || remote->endpoint)
        return;
    remote->endpoint = hf_span_dup(url);
    hf_handshake_begin(runtime);
}
