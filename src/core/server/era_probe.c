/* era_probe.c - which era does a server speak? Asked with server/discover, never with anything that
 * could run (PROTOCOL: a legacy server might run a tools/call).
 *
 * The era that was learned is remembered, and asked for again when it stops being true. A legacy
 * server may stay silent on the probe: the silence counts from its first sign of life. A server
 * that exits on the probe, also after its silence was taken for an answer, is started again without
 * one, and no failure is counted. A modern server that is slow is waited for longer the next time;
 * a server that is configured as modern is never taken for legacy. */
#include "core/server/era_probe.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/outbox.h"
#include "core/server/handshake.h"
#include "core/server/runtime.h"
#include "core/server/slot.h"
#include "core/settings.h"
#include "core/state/runtime.h"

static void answered(struct hf_call *call, const struct hf_msg *msg);
static const struct hf_call_owner owner = {
    .purpose = HF_FOR_ERA_PROBE,
    .answered = answered,
    .unreadable = answered,
};

bool hf_era_probe_may_help(const struct hf_runtime *runtime)
{
    return runtime->server->settings.era == HF_ERA_UNKNOWN && !runtime->was_probed &&
           !hf_runtime_is_renewing(runtime) && !runtime->is_older_transport;
}

/* At most half of startTimeoutMs: the rest must do for a legacy initialize. */
static uint64_t patience_ms(const struct hf_server *server)
{
    const struct hf_settings *settings = &server->settings;
    const uint64_t most = settings->start_timeout_ms / 2;
    const uint64_t wanted = server->probe_late_ms < most ? server->probe_late_ms : most;
    return wanted > settings->era_probe_ms ? wanted : settings->era_probe_ms;
}

static void arm(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_timer_set(&engine->timers, &runtime->probe, engine->now_ms + patience_ms(runtime->server));
}

void hf_era_probe_begin(struct hf_runtime *runtime)
{
    const struct hf_settings *settings = &runtime->server->settings;
    runtime->may_die_of_probe =
        runtime->machine.state == HF_RUNTIME_SPAWNING && settings->era == HF_ERA_UNKNOWN;
    hf_runtime_event(runtime, HF_RUNTIME_EV_PROBE);
    if (runtime->transport->forget_session)
        runtime->transport->forget_session(runtime);
    runtime->was_probed = runtime->is_probing = true;
    (void)hf_call_ours(runtime, &owner, hf_method(HF_METHOD_DISCOVER), HF_SPAN(""));
    if (!runtime->remote && settings->era == HF_ERA_UNKNOWN)
        arm(runtime);
}

void hf_era_probe_sign_of_life(struct hf_runtime *runtime)
{
    if (!runtime->is_probing || runtime->has_shown_life || !runtime->probe.at_ms)
        return;
    runtime->has_shown_life = true;
    arm(runtime);
}

void hf_era_probe_is_legacy(struct hf_runtime *runtime)
{
    runtime->is_probing = false;
    runtime->server->era = HF_ERA_LEGACY;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->probe);
    hf_runtime_event(runtime, HF_RUNTIME_EV_GREET);
    hf_handshake_begin(runtime);
}

void hf_era_probe_timer(struct hf_runtime *runtime)
{
    if (runtime->is_probing && runtime->machine.state == HF_RUNTIME_PROBING)
        hf_era_probe_is_legacy(runtime); /* the probe stays open: its answer may come late */
}

/* Keeps what the server said in the form of an initialize result: clients of both eras are answered
 * from that. */
static void keep_greeting(struct hf_runtime *runtime, struct hf_span result)
{
    const struct hf_span info =
        hf_json_path(result, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_SERVER) });
    const struct hf_span capable = hf_json_get(result, HF_SPAN("capabilities"));
    const struct hf_span words = hf_json_get(result, HF_SPAN("instructions"));
    struct hf_buf greeting = hf_draft();
    hf_buf_add_str(&greeting, "{\"protocolVersion\":\"" HF_MODERN_VERSION "\",\"capabilities\":");
    hf_buf_add(&greeting, capable.p ? capable : HF_SPAN("{}"));
    hf_buf_add_str(&greeting, ",\"serverInfo\":");
    if (info.p) {
        hf_buf_add(&greeting, info);
    } else {
        hf_buf_add_str(&greeting, "{\"name\":");
        hf_json_add_string(&greeting, hf_span_of(runtime->server->name));
        hf_buf_add_str(&greeting, ",\"version\":\"0\"}");
    }
    if (words.p) {
        hf_buf_add_str(&greeting, ",\"instructions\":");
        hf_buf_add(&greeting, words);
    }
    hf_buf_add_char(&greeting, '}');
    hf_free(runtime->greeting);
    runtime->greeting = hf_span_dup(hf_buf_span(&greeting));
    hf_buf_done(&greeting);
}

static bool speaks_ours(struct hf_span versions)
{
    for (struct hf_json_iter it = hf_json_iter(versions); hf_json_next(&it);)
        if (hf_json_string_is(it.value, HF_SPAN(HF_MODERN_VERSION)))
            return true;
    return false;
}

static bool is_modern_answer(const struct hf_msg *msg)
{
    if (msg->kind == HF_MSG_RESULT)
        return speaks_ours(hf_json_get(msg->result, HF_SPAN("supportedVersions")));
    const int64_t code = hf_msg_error_code(msg);
    if (code == HF_CODE_UNSUPPORTED_VERSION)
        return speaks_ours(hf_json_path(
            msg->error, 2, (struct hf_span[]) { HF_SPAN("data"), HF_SPAN("supported") }));
    return code == HF_CODE_HEADER_MISMATCH || code == HF_CODE_MISSING_CAPABILITY;
}

/* The server answered the probe after we had taken its silence for an answer. */
static void answered_late(struct hf_runtime *runtime, const struct hf_msg *msg, uint64_t took_ms)
{
    struct hf_slot *slot = runtime->slot;
    if (!is_modern_answer(msg) || runtime->server->settings.era != HF_ERA_UNKNOWN)
        return;
    runtime->server->era = HF_ERA_MODERN;
    runtime->server->probe_late_ms = 2 * took_ms; /* else its next process would be late as well */
    if (runtime == slot->attempt)
        hf_slot_attempt_anew(slot);
}

static void answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const uint64_t took_ms = call->engine->now_ms - call->dispatched_ms;
    const bool is_modern = is_modern_answer(msg);
    const struct hf_msg other = {
        .kind = HF_MSG_ERROR,
        .error =
            HF_SPAN("{\"code\":-32022,\"message\":\"it does not speak " HF_MODERN_VERSION "\"}"),
    };
    hf_call_end_ours(call);
    runtime->may_die_of_probe = false;
    if (!runtime->is_probing || runtime->machine.state != HF_RUNTIME_PROBING) {
        answered_late(runtime, msg, took_ms);
        return;
    }
    if (!is_modern && runtime->server->settings.era != HF_ERA_MODERN) {
        hf_era_probe_is_legacy(runtime);
        return;
    }
    runtime->is_probing = false;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->probe);
    if (msg->kind != HF_MSG_RESULT || !is_modern) {
        hf_handshake_give_up(runtime, "server/discover", msg->kind == HF_MSG_RESULT ? &other : msg);
        return;
    }
    runtime->server->era = HF_ERA_MODERN;
    runtime->is_modern = true;
    keep_greeting(runtime, msg->result);
    hf_handshake_discovered(runtime, msg->result);
}
