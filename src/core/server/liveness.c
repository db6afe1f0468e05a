/* liveness.c - is a server that answers nothing still there? (DESIGN 5, Health)
 *
 * A check is a ping with a time limit. It starts only after a call timed out, or was given up by
 * its client with not one byte from the server since, and only while nothing else is in flight: a
 * server busy in one long tool is not touched. Several failed checks in a row recycle the runtime.
 *
 * A remote server that answered one call with 5xx, or whose connection broke during a call, is
 * suspected: it is checked at once, whatever else is in flight, and a check that fails the same way
 * means that the server is lost (remote/exchange_end.c). So one tool that always gets 504 costs
 * nobody else anything.
 */
#include "core/server/liveness.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/outbox.h"
#include "core/server/facts.h"
#include "core/server/runtime.h"
#include "core/server/slot.h"
#include "core/settings.h"
#include "core/state/runtime.h"

static void answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    (void)msg; /* whatever the answer says, the server is there */
    hf_call_end_ours(call);
    hf_check_answered(runtime);
}

static const struct hf_call_owner owner = { .purpose = HF_FOR_CHECK, .answered = answered };

enum { SUSPECT_MS = 1000 }; /* between two checks of a suspect; and how long calls wait for one */

static void start_check(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    runtime->check_is_due = false;
    runtime->check_call = hf_call_ours(
        runtime, &owner, hf_method(runtime->is_modern ? HF_METHOD_DISCOVER : HF_METHOD_PING),
        HF_SPAN(""));
    hf_timer_set(&engine->timers, &runtime->check,
                 engine->now_ms + runtime->server->settings.liveness.timeout_ms);
}

void hf_check_maybe(struct hf_runtime *runtime)
{
    if (runtime->machine.state != HF_RUNTIME_LIVE || runtime != runtime->slot->current)
        return;
    if (runtime->check_call || runtime->check.at_ms || hf_runtime_is_renewing(runtime))
        return; /* a check is under way, or the next is set */
    if (runtime->in_flight == 0)
        start_check(runtime);
}

void hf_check_waited(struct hf_runtime *runtime)
{
    hf_runtime_hold(runtime, HF_HOLD_CHECK, false);
    hf_slot_mark(runtime->slot);
}

static void let_go(struct hf_runtime *runtime)
{
    runtime->is_suspect = false;
    if (!(runtime->holds & HF_HOLD_CHECK))
        return;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->hold);
    hf_check_waited(runtime);
}

/* If the suspicion is right, calls that come now would most likely be lost as well, and so they are
 * held. None is held so long that it times out for that. */
static void start_suspicious_check(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    const struct hf_settings *settings = &runtime->server->settings;
    const uint32_t wait_ms =
        settings->call_timeout_ms && settings->call_timeout_ms < settings->wait_ms
            ? settings->call_timeout_ms
            : settings->wait_ms;
    const uint32_t hold_ms = wait_ms > SUSPECT_MS ? SUSPECT_MS : wait_ms / 2;
    runtime->suspected_ms = engine->now_ms;
    hf_runtime_hold(runtime, HF_HOLD_CHECK, hold_ms > 0);
    if (hold_ms)
        hf_timer_set(&engine->timers, &runtime->hold, engine->now_ms + hold_ms);
    if (!runtime->check_call)
        start_check(runtime);
}

void hf_check_suspect(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    if (runtime->machine.state != HF_RUNTIME_LIVE || runtime != runtime->slot->current ||
        hf_runtime_is_renewing(runtime) || runtime->is_suspect)
        return;
    runtime->is_suspect = true;
    const uint64_t next_ms = runtime->suspected_ms ? runtime->suspected_ms + SUSPECT_MS : 0;
    if (engine->now_ms >= next_ms)
        start_suspicious_check(runtime);
    else if (!runtime->check_call)
        hf_timer_set(&engine->timers, &runtime->check, next_ms);
}

void hf_check_answer_came(struct hf_runtime *runtime)
{
    struct hf_call *ping = runtime->check_call;
    if (!runtime->is_suspect)
        return;
    if (ping)
        hf_call_end_ours(ping);
    hf_check_answered(runtime);
}

static void check_failed(struct hf_runtime *runtime, const char *how)
{
    struct hf_server *server = runtime->server;
    const struct hf_liveness_settings *liveness = &server->settings.liveness;
    runtime->checks_failed++;
    hf_note(server->engine, server,
            &(struct hf_note) { .event = HF_NOTE_CHECK_FAILED,
                                .generation = runtime->generation,
                                .count = runtime->checks_failed,
                                .of = liveness->failures,
                                .what = hf_span_of(how) });
    if (runtime->checks_failed < liveness->failures) {
        hf_timer_set(&server->engine->timers, &runtime->check,
                     server->engine->now_ms + liveness->gap_ms);
        return;
    }
    hf_server_reason(server, "stopped answering: %u liveness checks failed",
                     runtime->checks_failed);
    hf_runtime_lose(runtime, HF_RUNTIME_EV_KILL);
}

void hf_check_timer(struct hf_runtime *runtime)
{
    struct hf_call *ping = runtime->check_call;
    if (runtime->machine.state != HF_RUNTIME_LIVE)
        return;
    if (ping) {
        runtime->check_call = NULL;
        hf_call_end_ours(ping);
        let_go(runtime);
        check_failed(runtime, "ping");
    } else if (runtime->is_suspect) {
        start_suspicious_check(runtime);
    } else if (runtime->in_flight == 0) {
        start_check(runtime);
    } else {
        runtime->check_is_due = true;
    }
}

static void call_left(struct hf_runtime *runtime)
{
    hf_runtime_maybe_drained(runtime);
    if (runtime->check_is_due && runtime->in_flight == 0 &&
        runtime->machine.state == HF_RUNTIME_LIVE && !runtime->is_frozen)
        start_check(runtime);
}

const struct hf_call_host hf_call_host = {
    .slot_event = hf_slot_event,
    .call_left = call_left,
    .went_silent = hf_check_maybe,
};

void hf_check_answered(struct hf_runtime *runtime)
{
    runtime->checks_failed = 0;
    runtime->check_is_due = false;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->check);
    let_go(runtime);
}

void hf_stall_timer(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    if (runtime->is_frozen || hf_list_empty(&runtime->out))
        return;
    hf_timer_set(&engine->timers, &runtime->stall,
                 engine->now_ms + runtime->server->settings.stall_ms);
    if (runtime->machine.state == HF_RUNTIME_LIVE && runtime == runtime->slot->current)
        check_failed(runtime, "stall");
}
