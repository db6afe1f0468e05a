/* exchange_end.c - an exchange with a remote server ended: what that says of the server, of its
 * session and of the call that waited for the answer. */
#include <assert.h>
#include <stdio.h>
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/verdict.h"
#include "core/engine.h"
#include "core/inbox/from_server.h"
#include "core/machine/backoff.h"
#include "core/machine/evidence.h"
#include "core/machine/http_body.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/refusal.h"
#include "core/remote/remote.h"
#include "core/remote/session.h"
#include "core/remote/transport.h"
#include "core/server/era_probe.h"
#include "core/server/facts.h"
#include "core/server/handshake.h"
#include "core/server/listing.h"
#include "core/server/liveness.h"
#include "core/server/runtime.h"
#include "core/settings.h"

enum {
    RESUME_MS = 500,       /* if the server named no time */
    VAIN_RESUMES_MAX = 10, /* in a row, without one event: some minutes */
    REASON_MAX = 200,
    REFUSED_MS = 250, /* pause before a refused call is sent again; the second is twice as long */
};

static bool try_older_transport(struct hf_runtime *runtime, int status)
{
    if (!hf_http_says_other_era(status) || runtime->is_older_transport ||
        hf_runtime_is_renewing(runtime) || runtime->server->settings.transport != HF_TRANSPORT_AUTO)
        return false;
    runtime->is_older_transport = true;
    runtime->remote->older_because = status;
    hf_remote_start(runtime);
    return true;
}

static void initialize_failed(struct hf_call *call, const struct hf_remote_exchange_end *end)
{
    struct hf_runtime *runtime = call->runtime;
    struct hf_server *server = runtime->server;
    const bool was_probe = call->owner->purpose == HF_FOR_ERA_PROBE;
    const char *asked = call->method->name;
    const bool is_starting =
        runtime == runtime->slot->attempt && runtime->machine.state < HF_RUNTIME_LIVE;
    const bool renews = runtime == runtime->slot->current && hf_runtime_is_renewing(runtime);
    hf_call_end_ours(call);
    if (!is_starting && !renews) /* the runtime was lost or replaced meanwhile */
        return;
    if (was_probe && hf_http_says_other_era(end->status) && server->settings.era != HF_ERA_MODERN) {
        hf_era_probe_is_legacy(runtime);
        return;
    }
    if (!was_probe && hf_era_probe_may_help(runtime) && hf_http_says_other_era(end->status)) {
        hf_era_probe_begin(runtime);
        return;
    }
    if (!was_probe && try_older_transport(runtime, end->status))
        return;
    server->needs_auth = hf_status_wants_auth(end->status);
    if (server->needs_auth)
        hf_refusals_in_vain(runtime->slot); /* calls that wait for the next session wait in vain */
    if (server->needs_auth)
        hf_server_reason(server, "auth required (HTTP %d to %s)", end->status, asked);
    else if (end->is_whole && end->status >= 300 && end->status < 400)
        hf_server_reason(server, "it is elsewhere: set its url to where that leads (HTTP %d to %s)",
                         end->status, asked);
    else if (end->is_whole)
        hf_server_reason(server, "HTTP %d to %s, and no answer in it", end->status, asked);
    else
        hf_server_reason(server, "%s", end->why);
    hf_remote_lost(runtime);
}

/* ---- what the answer holds ---- */

struct over { /* an exchange that ended, and what is known of it */
    const struct hf_remote_exchange_end *end;
    struct hf_body body;
    enum hf_reading reading;
    struct hf_span answer; /* the response to our request, found in the body */
    struct hf_form form;   /* how it was turned away; status 0: it was not, or unreadably */
    uint64_t session;
    bool had_session, is_current;
    bool is_to_nobody; /* the body is an error that names no request */
};

static bool is_client_error(int status)
{
    return status >= 400 && status < 500 && status != HF_TOO_MANY_REQUESTS;
}

/* What a stream of events said, as a body: the one message that came on it, if it is known to be
 * all. */
static struct hf_body all_that_was_said(const struct hf_remote_exchange *exchange,
                                        const struct hf_remote_exchange_end *end)
{
    struct hf_body body = end->body;
    const bool is_all = exchange->message_count == 1 && exchange->to_nobody && body.is_measured;
    body.text = is_all ? hf_span_of(exchange->to_nobody) : HF_SPAN("");
    body.type = HF_SPAN("one event"); /* the content type of a stream proves nothing */
    return body;
}

static struct over look(struct hf_remote_exchange *exchange,
                        const struct hf_remote_exchange_end *end)
{
    const struct hf_runtime *runtime = exchange->runtime;
    const unsigned depth_max = runtime->server->engine->limits.max_depth;
    struct over over = {
        .end = end,
        .body =
            exchange->is_stream && end->status < 300 ? all_that_was_said(exchange, end) : end->body,
        .session = exchange->session,
        .had_session = exchange->session_id || runtime->remote->endpoint,
        .is_current = exchange->session == runtime->remote->session,
    };
    over.body.is_whole = end->is_whole;
    if (exchange->status >= 300)
        over.reading = hf_remote_exchange_read(exchange, &over.body, &over.answer);
    if (end->status < 200 || exchange->kind == HF_EXCHANGE_RESUME ||
        !hf_body_is_sound(&over.body, depth_max))
        return over;
    over.is_to_nobody = hf_body_is_error_to_nobody(&over.body);
    if (is_client_error(end->status) || (end->status < 300 && over.is_to_nobody))
        over.form = hf_form_of(end->status, &over.body, hf_span_of(exchange->session_id));
    return over;
}

static int64_t code_in(struct hf_span answer) /* 0: it has no error code */
{
    int64_t code = 0;
    const bool has_code = hf_json_int(
        hf_json_path(answer, 2, (struct hf_span[]) { HF_SPAN("error"), HF_SPAN("code") }), &code);
    return has_code ? code : 0;
}

/* An error with the id of its call is passed on as the answer, unless the server may say the
 * same to any session id that it does not know. To the era inquiry, "unknown method" is a good
 * answer. */
static bool is_doubtful_error(const struct hf_call *call, const struct over *over)
{
    const struct hf_runtime *runtime = call->runtime;
    if (over->reading != HF_READ_ERROR || !over->form.status ||
        (call->owner->purpose != HF_FOR_CLIENT && call->owner->purpose != HF_FOR_INQUIRY))
        return false;
    if (!runtime->is_modern)
        return over->had_session;
    return runtime->server->settings.era == HF_ERA_UNKNOWN &&
           hf_http_says_other_era(over->end->status) &&
           code_in(over->answer) != HF_CODE_HEADER_MISMATCH &&
           code_in(over->answer) != HF_CODE_UNSUPPORTED_VERSION &&
           !(call->owner->purpose == HF_FOR_INQUIRY && code_in(over->answer) == -32601);
}

/* True: the response was in the body, and was taken. */
static bool take_answer(struct hf_remote_exchange *exchange, const struct over *over)
{
    struct hf_call *call = exchange->call;
    struct hf_runtime *runtime = exchange->runtime;
    if (!call || exchange->is_answered ||
        (over->reading != HF_READ_RESULT && over->reading != HF_READ_ERROR) ||
        is_doubtful_error(call, over))
        return false;
    const bool has_no_subscriptions = call->owner->purpose == HF_FOR_SUBSCRIPTION &&
                                      over->reading == HF_READ_ERROR &&
                                      hf_http_says_other_era(over->end->status);
    const bool is_refusal = over->end->status == 404 && over->reading == HF_READ_ERROR &&
                            call->owner->purpose != HF_FOR_CLIENT && !hf_call_is_initialize(call) &&
                            over->form.status && over->had_session && over->is_current &&
                            !runtime->is_modern;
    const bool is_clients = call->owner->purpose == HF_FOR_CLIENT;
    exchange->is_exact = over->form.status && hf_body_is_exact_error(&over->body, call->id);
    hf_server_message(runtime, call, over->answer);
    if (hf_linked(&exchange->link))
        hf_remote_exchange_abort(exchange);
    if (is_clients && over->reading == HF_READ_ERROR && over->had_session && over->is_current)
        hf_remote_call_refused(runtime, over->end->status);
    if (is_refusal)
        hf_remote_refused(runtime, over->end->status, &over->form);
    if (has_no_subscriptions)
        hf_remote_upstream_refused(runtime, over->end->status);
    return true;
}

static void ours_failed(struct hf_call *call, const struct over *over)
{
    struct hf_runtime *runtime = call->runtime;
    const struct hf_remote_exchange_end *end = over->end;
    const enum hf_call_purpose purpose = call->owner->purpose;
    if (purpose == HF_FOR_LIST) {
        char error[80];
        (void)snprintf(error, sizeof error, "{\"code\":%d,\"message\":\"HTTP %d\"}", end->status,
                       end->status);
        const struct hf_msg failure = { .kind = HF_MSG_ERROR, .error = hf_span_of(error) };
        hf_listing_answered(call, &failure);
        return;
    }
    if (purpose == HF_FOR_INQUIRY) {
        const bool is_read = over->reading != HF_READ_UNREADABLE && end->is_whole;
        hf_inquiry_over(call, is_client_error(end->status) ? end->status : 0, is_read, &over->form);
        return;
    }
    hf_call_end_ours(call);
    if (purpose == HF_FOR_CHECK && end->status && runtime->machine.state == HF_RUNTIME_LIVE)
        hf_check_answered(runtime); /* any answer shows that the server is there */
    if (purpose == HF_FOR_SUBSCRIPTION && end->is_whole && hf_http_says_other_era(end->status))
        hf_remote_upstream_refused(runtime, end->status);
}

/* For people. The server's own reason may be about another of its runtimes by now. */
static void describe_end(const struct hf_remote_exchange_end *end, char text[REASON_MAX])
{
    if (!end->is_whole)
        (void)snprintf(text, REASON_MAX, "%s", end->why);
    else
        (void)snprintf(text, REASON_MAX, "HTTP %d%s", end->status,
                       end->status < 300 ? " without an answer in it" : "");
}

/* The server that turned the call away would most likely do so again at once: the call pauses.
 * After a 404 it does not: a new session is made, or the server is lost. */
static void rest(struct hf_call *call, const struct hf_remote_exchange_end *end)
{
    const uint64_t least = (uint64_t)REFUSED_MS << (call->history.sends > 1);
    const uint64_t wanted = end->retry_after_ms > 0 ? (uint64_t)end->retry_after_ms : 0;
    if (end->status != 404 && call->runtime == call->slot->current)
        hf_call_make_detour(call)->rest_until_ms =
            call->engine->now_ms + (wanted > least ? wanted : least);
}

static void doubt(struct hf_call *call, const struct over *over)
{
    const struct hf_refusal doubt = {
        .status = over->end->status,
        .form = over->form,
        .session = over->session,
        .had_session = over->had_session && !call->runtime->is_modern,
        .is_of_era = call->runtime->is_modern && hf_http_says_other_era(over->end->status),
        .answer = over->reading == HF_READ_ERROR ? hf_span_dup(over->answer) : NULL,
    };
    hf_refusal_examine(call, &doubt);
}

static void judge(struct hf_call *call, const struct over *over)
{
    const struct hf_settings *settings = &call->runtime->server->settings;
    const struct hf_remote_exchange_end *end = over->end;
    const struct hf_http_facts facts = {
        .sent = end->sent,
        .status = end->status,
        .had_session = over->had_session && !call->runtime->is_modern,
        .is_vouched = hf_status_in(&settings->refused_status, end->status),
        .is_unreadable = over->reading == HF_READ_UNREADABLE,
        .is_to_nobody = over->is_to_nobody,
        .may_be_of_era = call->runtime->is_modern && settings->era == HF_ERA_UNKNOWN,
    };
    /* an error with the call's own id is its answer, unless it is about the session or the era */
    const enum hf_http_verdict verdict =
        over->reading == HF_READ_ERROR ? HF_HTTP_DOUBTED : hf_http_verdict(facts);
    char why[REASON_MAX];
    describe_end(end, why);
    switch (verdict) {
    case HF_HTTP_UNSENT:
        call->history.sends -= call->extent.begun; /* as it turned out, it was not */
        hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_UNSENT, false, why });
        break;
    case HF_HTTP_PARTIAL:
        hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_PARTIAL, true, why });
        break;
    case HF_HTTP_REFUSED:
        rest(call, end);
        hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_REFUSED, false, why });
        break;
    case HF_HTTP_DISPATCHED:
        hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_DISPATCHED, true, why });
        break;
    case HF_HTTP_DOUBTED: doubt(call, over); break;
    case HF_HTTP_REJECTED:
    case HF_HTTP_REJECTED_LATE: hf_remote_reject(call, end->status, verdict); break;
    }
}

static bool may_resume(const struct hf_remote_exchange *exchange)
{
    return exchange->call && exchange->event_id && exchange->kind != HF_EXCHANGE_STREAM &&
           !exchange->runtime->is_frozen && !exchange->runtime->is_modern &&
           exchange->status >= 200 && exchange->status < 300 &&
           (exchange->has_progressed || exchange->vain_resumes < VAIN_RESUMES_MAX);
}

static void resume_later(struct hf_remote_exchange *exchange)
{
    struct hf_engine *engine = exchange->runtime->server->engine;
    exchange->vain_resumes = exchange->has_progressed ? 0 : exchange->vain_resumes + 1;
    exchange->kind = HF_EXCHANGE_RESUME;
    const uint64_t first = exchange->retry_ms < 0 ? RESUME_MS : (uint64_t)exchange->retry_ms;
    const uint64_t delay = hf_doubled_ms(first, exchange->vain_resumes, HF_RETRY_MS_MAX);
    hf_timer_set(&engine->timers, &exchange->timer, engine->now_ms + delay);
}

/* Whether the end of one exchange says something of the server as a whole. A server that cannot be
 * reached concerns every call. One that broke off or answered 5xx, or a proxy in front of it that
 * did, may have failed this call alone: a check finds that out (liveness.c). An upstream
 * subscription is cut for many reasons, and an inquiry that got a status was answered: neither is
 * trouble. */
static bool is_trouble(const struct hf_call *call, const struct hf_remote_exchange_end *end)
{
    const bool is_news = call && call->owner->purpose == HF_FOR_SUBSCRIPTION;
    const bool is_doubt = call && call->owner->purpose == HF_FOR_INQUIRY && end->status;
    return !is_news && !is_doubt &&
           (end->status == 0 || end->status >= 500 ||
            (!end->is_whole && end->status < 300 && call));
}

static bool is_unreachable(const struct hf_remote_exchange_end *end)
{
    return end->status == 0 && end->sent == HF_SENT_NOTHING;
}

static bool is_loss(const struct hf_runtime *runtime, const struct hf_call *call,
                    const struct hf_remote_exchange_end *end)
{
    const bool is_check = call && call->owner->purpose == HF_FOR_CHECK;
    const bool is_starting =
        runtime->machine.state < HF_RUNTIME_LIVE || hf_runtime_is_renewing(runtime);
    if (is_check && !end->is_whole)
        return true;
    if (!is_trouble(call, end))
        return false;
    if (is_unreachable(end) || (is_check && runtime->is_suspect))
        return true;
    /* any other 5xx shows that the server is there */
    const bool is_gone = end->status < 300 || (end->status >= 502 && end->status <= 504);
    return is_gone && (is_check || is_starting);
}

static void report(struct hf_runtime *runtime, const struct hf_call *call,
                   const struct hf_remote_exchange_end *end)
{
    struct hf_server *server = runtime->server;
    if (runtime != runtime->slot->current && runtime != runtime->slot->attempt)
        return;
    const bool is_lost = is_loss(runtime, call, end), is_initialize = hf_call_is_initialize(call);
    if (is_lost || is_initialize || runtime->machine.state < HF_RUNTIME_LIVE)
        hf_server_not_before(server, end->retry_after_ms);
    if (!is_lost && !is_initialize && is_trouble(call, end))
        hf_check_suspect(runtime);
    if (!is_lost || is_initialize)
        return;
    char why[REASON_MAX];
    describe_end(end, why);
    hf_server_reason(server, "%s", why);
    hf_remote_lost(runtime);
}

/* With the older transport the answer comes on the event stream, whatever became of the exchange
 * that carried the call, as long as the server may have received all of the call. A call that was
 * turned away gets no answer there. */
static bool answer_may_come(const struct hf_call *call, const struct over *over)
{
    const struct hf_runtime *runtime = call->runtime;
    const struct hf_remote_exchange_end *end = over->end;
    if (end->status >= 200 && end->status < 300)
        return true;
    const struct hf_settings *settings = &runtime->server->settings;
    const bool is_vouched =
        over->reading != HF_READ_UNREADABLE && hf_status_in(&settings->refused_status, end->status);
    return call->owner->purpose == HF_FOR_CLIENT && runtime->remote->listen && !is_vouched &&
           (end->status ? end->status >= 500 || !end->is_whole : end->sent == HF_SENT_WHOLE);
}

/* The server accepted the call, and its answer cannot be had: no status of the resumption, not even
 * one of refusedStatus, proves that the call never ran. */
static void judge_accepted(struct hf_call *call, const struct hf_remote_exchange_end *end)
{
    char why[REASON_MAX];
    describe_end(end, why);
    hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_DISPATCHED, true, why });
}

/* A 404 to a session id says that the session is not known, whatever becomes of the call. */
static bool says_unknown_session(const struct hf_call *call, const struct over *over)
{
    const bool may_be_answer = call && (!over->end->is_whole || over->reading == HF_READ_ERROR);
    return over->is_current && over->had_session && over->end->status == 404 && !may_be_answer &&
           !hf_call_is_initialize(call) && !hf_inquiry_is_stranger(call);
}

static void message_over(struct hf_remote_exchange *exchange,
                         const struct hf_remote_exchange_end *end)
{
    struct hf_runtime *runtime = exchange->runtime;
    struct hf_call *call = exchange->call;
    const bool was_initialized = exchange == runtime->remote->initialized;
    const bool was_resumed = exchange->kind == HF_EXCHANGE_RESUME;
    if (exchange->is_answered) { /* whatever its status says, or its end: it did what it was for */
        hf_remote_exchange_abort(exchange);
        return;
    }
    const struct over over = look(exchange, end);
    if (take_answer(exchange, &over))
        return;
    hf_remote_exchange_abort(exchange); /* it has ended: this only forgets it */
    if (over.is_current)                /* an old session's exchange says nothing of the server */
        report(runtime, call, end);
    const bool is_unknown = says_unknown_session(call, &over);
    const bool is_clients = call && call->owner->purpose == HF_FOR_CLIENT;
    const bool is_ours = call && !is_clients && !hf_call_is_initialize(call) &&
                         call->owner->purpose != HF_FOR_INQUIRY && over.is_current &&
                         over.had_session;
    if (is_unknown && !is_clients)
        hf_remote_refused(runtime, 404, NULL);
    else if (is_ours && over.form.status && !runtime->is_modern)
        hf_remote_refused(runtime, end->status, &over.form);
    const bool is_open = call && call->stage != HF_CALL_ENDED;
    const bool is_unclear = is_open && is_clients && over.is_current && over.had_session &&
                            !over.form.status && !was_resumed;
    if (is_open && runtime->is_older_transport && answer_may_come(call, &over))
        return;
    if (is_open && hf_call_is_initialize(call))
        initialize_failed(call, end);
    else if (is_open && !is_clients)
        ours_failed(call, &over);
    else if (is_open && was_resumed)
        judge_accepted(call, end);
    else if (is_open)
        judge(call, &over);
    if (is_unknown && is_clients && over.session == runtime->remote->session)
        hf_remote_refused(runtime, 404, NULL);
    else if (is_unclear && over.session == runtime->remote->session &&
             (call->stage == HF_CALL_ENDED ||
              !hf_call_refusal(call))) /* else an inquiry is under way */
        hf_remote_call_refused(runtime, end->status);
    if (was_initialized)
        hf_handshake_introduced(runtime);
}

void hf_remote_exchange_ended(struct hf_remote_exchange *exchange,
                              const struct hf_remote_exchange_end *end, struct hf_now now)
{
    struct hf_runtime *runtime = exchange->runtime;
    hf_set_now(runtime->server->engine, now);
    exchange->status = end->status;
    assert(exchange->is_begun);
    exchange->is_begun = false;
    if (runtime == runtime->slot->current || runtime == runtime->slot->attempt)
        runtime->slot->refuses_connections = is_unreachable(end);
    if (exchange->kind == HF_EXCHANGE_DELETE) {
        hf_remote_exchange_abort(exchange);
        hf_runtime_disconnected(runtime, now);
        return;
    }
    if (exchange->kind == HF_EXCHANGE_STREAM) {
        hf_remote_stream_ended(exchange, end);
    } else if (may_resume(exchange)) {
        resume_later(exchange);
        return;
    } else if (exchange->kind == HF_EXCHANGE_RESUME) {
        /* The server accepted the call, and its answer cannot be had: whatever the server says now,
         * the call may have run. */
        struct hf_remote_exchange_end lost = *end;
        lost.sent = HF_SENT_WHOLE;
        if (lost.status >= 300 && lost.status < 502) {
            lost.status = 200;
            lost.is_whole = true;
        }
        message_over(exchange, &lost);
    } else {
        message_over(exchange, end);
    }
    hf_runtime_maybe_drained(runtime);
}
