/* liveness.c - is a server that answers nothing still there? (DESIGN 5, Health)
 *
 * A check is a ping with a time limit. It starts only after a call timed out, or was given up by
 * its client with not one byte from the server since, and only while nothing else is in flight: a
 * server busy in one long tool is not touched. Several failed checks in a row recycle the runtime.
 */
#include "core/state.h"

static void start_check(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    runtime->check_is_due = false;
    runtime->check_call = hf_call_ours(
        runtime, HF_FOR_CHECK, hf_method(runtime->is_modern ? HF_METHOD_DISCOVER : HF_METHOD_PING),
        HF_SPAN(""));
    hf_timer_set(&engine->timers, &runtime->check,
                 engine->now_ms + runtime->server->settings.liveness.timeout_ms);
}

void hf_check_maybe(struct hf_runtime *runtime)
{
    if (runtime->machine.state != HF_RUNTIME_LIVE || runtime != runtime->slot->current)
        return;
    if (runtime->check_call || runtime->check.at_ms || runtime->remote.is_renewing)
        return; /* one is under way, or the next is set */
    if (runtime->in_flight == 0)
        start_check(runtime);
}

static void check_failed(struct hf_runtime *runtime, const char *how)
{
    struct hf_server *server = runtime->server;
    const struct hf_liveness_settings *liveness = &server->settings.liveness;
    runtime->checks_failed++;
    hf_note(server->engine, HF_NOTE_WARN, server, runtime->generation,
            "check_failed number=%u of=%u how=%s", runtime->checks_failed, liveness->failures, how);
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
        check_failed(runtime, "ping");
    } else if (runtime->in_flight == 0) {
        start_check(runtime);
    } else {
        runtime->check_is_due = true;
    }
}

void hf_check_call_ended(struct hf_runtime *runtime)
{
    if (runtime->check_is_due && runtime->in_flight == 0 &&
        runtime->machine.state == HF_RUNTIME_LIVE && !runtime->is_frozen)
        start_check(runtime);
}

void hf_check_answered(struct hf_runtime *runtime)
{
    runtime->checks_failed = 0;
    runtime->check_is_due = false;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->check);
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
