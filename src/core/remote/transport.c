/* transport.c - how a server behind a URL is reached: the table of callbacks that every transport
 * fills in, and how such a runtime begins and ends. */
#include "core/remote/transport.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/headers.h"
#include "core/remote/refusal.h"
#include "core/remote/remote.h"
#include "core/remote/session.h"
#include "core/server/facts.h"
#include "core/server/handshake.h"
#include "core/server/runtime.h"

/* ---- a runtime begins and ends ---- */

static void init(struct hf_runtime *runtime)
{
    struct hf_remote *remote = hf_new(struct hf_remote);
    runtime->remote = remote;
    hf_link_init(&remote->exchanges);
    hf_timer_init(&remote->listen_again, HF_TIMER_SERVER_STREAM, runtime);
    remote->session = 1;
    runtime->is_older_transport = runtime->server->settings.transport == HF_TRANSPORT_SSE;
    runtime->written = 1; /* a call that was begun lies before this offset: it counts as read */
}

static void free_remote(struct hf_runtime *runtime)
{
    struct hf_remote *remote = runtime->remote;
    hf_free(remote->endpoint);
    hf_free(remote->session_id);
    hf_free(remote->version);
    hf_free(remote->listen_id);
    hf_free(remote->stranger.name);
    hf_free(remote);
}

static void done(struct hf_runtime *runtime)
{
    struct hf_remote *remote = runtime->remote;
    struct hf_remote_exchange *exchange;
    HF_LIST_EACH_SAFE (exchange, &remote->exchanges, struct hf_remote_exchange, link) {
        hf_remote_exchange_abort(exchange);
    }
    hf_timer_clear(&runtime->server->engine->timers, &remote->listen_again);
}

void hf_remote_start(struct hf_runtime *runtime)
{
    if (runtime->is_older_transport)
        runtime->remote->listen = hf_remote_exchange_new(runtime, HF_EXCHANGE_STREAM, NULL);
    else
        hf_handshake_begin(runtime);
}

/* The runtime is frozen. Its exchanges are given up, and its session is ended. */
static void close_session(struct hf_runtime *runtime)
{
    struct hf_remote *remote = runtime->remote;
    done(runtime);
    if (remote->session_id && !runtime->is_older_transport)
        (void)hf_remote_exchange_new(runtime, HF_EXCHANGE_DELETE, NULL);
    else
        hf_emit(runtime->server->engine, HF_DO_DISCONNECT)->runtime = runtime;
}

static void kill(struct hf_runtime *runtime)
{
    done(runtime);
    if (!runtime->is_tree_gone)
        hf_emit(runtime->server->engine, HF_DO_DISCONNECT)->runtime = runtime;
}

void hf_remote_lost(struct hf_runtime *runtime)
{
    if (runtime->machine.state < HF_RUNTIME_LIVE) {
        hf_runtime_lose(runtime, HF_RUNTIME_EV_CLOSE);
    } else if (runtime->machine.state == HF_RUNTIME_LIVE) {
        runtime->remote->was_lost = true;
        hf_runtime_hold(runtime, HF_HOLD_RENEWAL, false);
        hf_runtime_lose(runtime, HF_RUNTIME_EV_DRAIN);
        hf_runtime_maybe_drained(runtime);
    }
}

static void switched_off(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_refusals_in_vain(runtime->slot); /* calls that wait for the next session wait in vain */
    if (!runtime->remote->was_lost || runtime->machine.state != HF_RUNTIME_DRAINING)
        return;
    runtime->remote->was_lost = false;
    hf_timer_set(&engine->timers, &runtime->stay,
                 engine->now_ms + runtime->server->settings.drain_ms);
}

/* ---- the transport ---- */

static void call_left(struct hf_call *call)
{
    hf_refusal_drop(call);
    if (call->exchange)
        hf_remote_exchange_leave(call->exchange, call->is_answered);
}

static bool call_lost(struct hf_call *call)
{
    const bool is_doubted = hf_call_refusal(call);
    if (is_doubted)
        hf_refusal_unproven(call);
    return is_doubted;
}

static void forget_session(struct hf_runtime *runtime)
{
    hf_free(runtime->remote->session_id);
    runtime->remote->session_id = NULL;
}

static void installed(struct hf_runtime *runtime)
{
    hf_remote_open_stream(runtime);
    hf_refusals_next(runtime);
}

static void listen_refused(struct hf_runtime *runtime)
{
    hf_remote_upstream_refused(runtime, 404); /* as a server over HTTP would say it */
}

static void start_timed_out(struct hf_runtime *runtime)
{
    if (!hf_runtime_is_renewing(runtime))
        return;
    hf_server_reason(runtime->server, "gave no new session within %u ms",
                     runtime->server->settings.start_timeout_ms);
    hf_remote_lost(runtime);
}

/* A runtime that was lost to one call may still be answering others: unless the server is to stop,
 * those calls have the time they need. Else the calls are given up and the session is ended: there
 * is no process to kill. */
static bool outstayed(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    if (runtime->machine.state != HF_RUNTIME_DRAINING)
        return false;
    if (runtime->remote->was_lost && runtime->in_flight) {
        hf_timer_set(&engine->timers, &runtime->stay,
                     engine->now_ms + runtime->server->settings.drain_ms + 1);
        return true;
    }
    hf_runtime_event(runtime, HF_RUNTIME_EV_CLOSE);
    runtime->is_silent = true;
    hf_runtime_maybe_settle(runtime);
    return true;
}

static void freeze(struct hf_runtime *runtime)
{
    runtime->taken_back = 0;
}

const struct hf_transport_ops hf_remote_transport = {
    .init = init,
    .forget = free_remote,
    .done = done,
    .send = hf_remote_send,
    .tell = hf_remote_tell,
    .call_left = call_left,
    .call_lost = call_lost,
    .call_due = hf_refusal_unproven,
    .takes_answer = hf_remote_takes_answer,
    .answer_passed = hf_remote_answer_passed,
    .greet = hf_remote_start,
    .forget_session = forget_session,
    .agree = hf_remote_agree,
    .introduce = hf_remote_introduce,
    .renewed = hf_remote_renewed,
    .installed = installed,
    .tools_listed = hf_remote_corrected,
    .listen_refused = listen_refused,
    .give_up = hf_remote_lost,
    .start_timed_out = start_timed_out,
    .switched_off = switched_off,
    .outstayed = outstayed,
    .freeze = freeze,
    .close = close_session,
    .kill = kill,
};
