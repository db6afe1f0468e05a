/* session.c - sessions at remote servers: forgotten, made anew; and the stream of notifications
 * that a server has of its own.
 *
 * A session is numbered like a generation, and what was begun under an old number never hurts the
 * new session. A runtime whose session was forgotten stays: a new session is made in place, once,
 * however many calls wait. A modern server has no sessions: there the era is in question, and a
 * server that has gone back to the legacy era gets a new runtime. */
#include "core/remote/session.h"
#include <stdio.h>
#include "core/call/answer.h"
#include "core/machine/backoff.h"
#include "core/machine/evidence.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/refusal.h"
#include "core/remote/remote.h"
#include "core/remote/transport.h"
#include "core/server/facts.h"
#include "core/server/handshake.h"
#include "core/server/listing.h"
#include "core/server/liveness.h"
#include "core/server/runtime.h"
#include "core/server/server_request.h"

enum { LISTEN_MS = 1000, LISTEN_MS_MAX = 30000 };

/* ---- not about the session ---- */

void hf_remote_reject(struct hf_call *call, int status, enum hf_http_verdict verdict)
{
    const char *name = call->runtime->server->name;
    char reason[40];
    const bool late = verdict == HF_HTTP_REJECTED_LATE;
    (void)snprintf(reason, sizeof reason, status == 401 ? "auth required (HTTP %d)" : "HTTP %d",
                   status);
    call->evidence = late ? HF_EVIDENCE_DISPATCHED : HF_EVIDENCE_REFUSED;
    if (late)
        hf_call_fail(call, HF_ERROR_REJECTED_LATE, reason,
                     "The server \"%s\" answered the call without a result. It may have run before "
                     "that: check its effect before sending it again.",
                     name);
    else
        hf_call_fail(call, HF_ERROR_REJECTED, reason,
                     "The server \"%s\" turned the call away before it ran%s.", name,
                     status == 401 ? ": it wants credentials; set its \"headers\" in the config"
                                   : "; it will not accept it as it is");
}

/* An upstream subscription was turned away: the server may have gone back to the legacy era. */
void hf_remote_upstream_refused(struct hf_runtime *runtime, int status)
{
    if (!runtime->is_modern || runtime->machine.state != HF_RUNTIME_LIVE ||
        runtime->server->settings.era != HF_ERA_UNKNOWN)
        return;
    hf_remote_stream_refused(runtime, status);
}

/* ---- the server has forgotten its session ---- */

static void end_ours(struct hf_runtime *runtime)
{
    struct hf_call *call;
    HF_LIST_EACH_SAFE (call, &runtime->calls, struct hf_call, link) {
        if (call->owner->purpose != HF_FOR_CLIENT)
            hf_call_end_ours(call);
    }
}

static void renew(struct hf_runtime *runtime, int status)
{
    struct hf_remote *remote = runtime->remote;
    struct hf_server *server = runtime->server;
    hf_note(server->engine, server,
            &(struct hf_note) { .event = HF_NOTE_SESSION_FORGOTTEN,
                                .generation = runtime->generation,
                                .count = (int64_t)remote->session,
                                .status = status });
    hf_runtime_hold(runtime, HF_HOLD_RENEWAL, true);
    remote->was_renewed = true;
    remote->renewed_ms = server->engine->now_ms;
    remote->is_session_proven = remote->has_served = false;
    remote->session++;
    hf_free(remote->session_id);
    remote->session_id = NULL;
    hf_free(remote->listen_id);
    remote->listen_id = NULL;
    hf_timer_clear(&server->engine->timers, &remote->listen_again);
    if (remote->listen)
        hf_remote_exchange_abort(remote->listen);
    remote->listen_refusal = 0;
    hf_check_answered(runtime); /* the refusal shows that the server, or a proxy of it, is there */
    end_ours(runtime);
    hf_listing_drop(runtime);
    hf_server_requests_drop(runtime);
    runtime->slot->losses++;
    hf_timer_set(&server->engine->timers, &runtime->start,
                 server->engine->now_ms + server->settings.start_timeout_ms);
    hf_handshake_begin(runtime);
}

void hf_remote_session_gone(struct hf_runtime *runtime, int status)
{
    struct hf_remote *remote = runtime->remote;
    const bool is_live = runtime->machine.state == HF_RUNTIME_LIVE;
    if (runtime->machine.state > HF_RUNTIME_LIVE)
        return;
    if (runtime->is_modern) {
        runtime->server->era = HF_ERA_UNKNOWN;
        hf_server_reason(runtime->server, "it speaks another era by now");
        hf_remote_lost(runtime);
        return;
    }
    /* One renewal is free; the next is earned by serving a call. A server that refuses session
     * after session is not asked again without a pause. */
    const bool is_earned = remote->has_served || !remote->was_renewed;
    if (is_live && remote->is_session_proven && is_earned && !runtime->is_older_transport) {
        renew(runtime, status);
        return;
    }
    hf_server_reason(runtime->server, "refused its own session with HTTP %d", status);
    hf_remote_lost(runtime);
}

void hf_remote_renewed(struct hf_runtime *runtime)
{
    hf_timer_clear(&runtime->server->engine->timers, &runtime->start);
    hf_runtime_hold(runtime, HF_HOLD_RENEWAL, false);
    if (runtime != runtime->slot->current) /* replaced meanwhile */
        return;
    hf_listing_install(runtime);
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        hf_listing_again(runtime, part);
    hf_runtime_restore(runtime);
    hf_remote_open_stream(runtime);
    hf_refusals_next(runtime);
    hf_slot_mark(runtime->slot);
}

/* ---- the server's own stream ---- */

void hf_remote_open_stream(struct hf_runtime *runtime)
{
    struct hf_remote *remote = runtime->remote;
    if (runtime->is_older_transport || remote->listen || runtime->is_frozen || runtime->is_modern ||
        runtime->machine.state != HF_RUNTIME_LIVE || hf_runtime_is_renewing(runtime))
        return;
    remote->listen = hf_remote_exchange_new(runtime, HF_EXCHANGE_STREAM, NULL);
}

static void listen_later(struct hf_runtime *runtime, const struct hf_remote_exchange *before)
{
    struct hf_engine *engine = runtime->server->engine;
    struct hf_remote *remote = runtime->remote;
    const bool was_of_use =
        before->is_stream &&
        (before->has_progressed || engine->now_ms - before->opened_ms >= LISTEN_MS_MAX);
    if (was_of_use)
        remote->listen_failures = 0;
    uint64_t delay = hf_doubled_ms(LISTEN_MS, remote->listen_failures, LISTEN_MS_MAX);
    if (remote->listen_failures == 0 && before->retry_ms >= 0)
        delay = (uint64_t)before->retry_ms;
    remote->listen_failures++;
    hf_timer_set(&engine->timers, &remote->listen_again, engine->now_ms + delay);
}

static void older_stream_over(struct hf_runtime *runtime, const struct hf_remote_exchange_end *end)
{
    struct hf_server *server = runtime->server;
    char before[40] = "";
    if (runtime->remote->older_because)
        (void)snprintf(before, sizeof before, "HTTP %d to initialize, and ",
                       runtime->remote->older_because);
    if (hf_status_wants_auth(end->status))
        hf_server_reason(server, "auth required (HTTP %d to its event stream)", end->status);
    else if (end->status >= 300)
        hf_server_reason(server, "%sHTTP %d to a GET of its event stream", before, end->status);
    else
        hf_server_reason(server, "its event stream ended%s%s", end->is_whole ? "" : ": ",
                         end->is_whole ? "" : end->why);
    if (runtime->machine.state >= HF_RUNTIME_LIVE) { /* no answer can come any more */
        hf_runtime_lose(runtime, HF_RUNTIME_EV_KILL);
        return;
    }
    server->needs_auth = hf_status_wants_auth(end->status);
    hf_server_not_before(server, end->retry_after_ms);
    hf_remote_lost(runtime);
}

/* The end of the server's own stream is never fatal: a server without one is as good as any. With
 * the older transport it is fatal, since every answer comes on that stream. */
void hf_remote_stream_ended(struct hf_remote_exchange *exchange,
                            const struct hf_remote_exchange_end *end)
{
    struct hf_runtime *runtime = exchange->runtime;
    struct hf_remote *remote = runtime->remote;
    const bool is_refusal = end->status >= 300 && end->status < 500;
    hf_remote_exchange_abort(exchange); /* it has ended: this only forgets it */
    if (runtime->is_older_transport) {
        older_stream_over(runtime, end);
        return;
    }
    const bool has_none = end->status == 405 || end->status == 501 ||
                          (is_refusal && !remote->listened) ||
                          (end->status && end->status < 300 && !exchange->is_stream);
    if (has_none || runtime->machine.state != HF_RUNTIME_LIVE || hf_runtime_is_renewing(runtime))
        return;
    listen_later(runtime, exchange);
    if (!is_refusal)
        return;
    /* The server may have forgotten the last event id, or the session. */
    hf_free(remote->listen_id);
    remote->listen_id = NULL;
    if (!remote->session_id || end->status == HF_TOO_MANY_REQUESTS)
        return;
    hf_remote_stream_refused(runtime, end->status);
}
