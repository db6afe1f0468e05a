/* handshake.c - greeting a server: our initialize, the server's answer, our `initialized`. */
#include "core/server/handshake.h"
#include <assert.h>
#include <stdio.h>
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/outbox.h"
#include "core/server/era_probe.h"
#include "core/server/facts.h"
#include "core/server/listing.h"
#include "core/server/runtime.h"
#include "core/server/slot.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

static void initialize_answered(struct hf_call *call, const struct hf_msg *msg);
static const struct hf_call_owner initialize_owner = {
    .purpose = HF_FOR_INITIALIZE,
    .answered = initialize_answered,
    .unreadable = initialize_answered,
};
const struct hf_call_owner hf_restore_owner = { .purpose = HF_FOR_RESTORE };

/* Our initialize params where many clients share one server: we can pass on whatever the server may
 * ask of its clients. */
static const char our_params[] =
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{\"listChanged\":true},"
    "\"sampling\":{},\"elicitation\":{}},\"clientInfo\":{\"name\":\"holdfast\",\"version\":"
    "\"" HF_VERSION "\"}}";

void hf_handshake_begin(struct hf_runtime *runtime)
{
    const struct hf_session *owner = runtime->slot->owner;
    const char *params = owner && owner->initialize_params ? owner->initialize_params : our_params;
    (void)hf_call_ours(runtime, &initialize_owner, hf_method(HF_METHOD_INITIALIZE),
                       hf_span_of(params));
}

/* ---- the answer to our initialize ---- */

static void read_capabilities(struct hf_runtime *runtime, struct hf_span result)
{
    const struct hf_span capabilities = hf_json_get(result, HF_SPAN("capabilities"));
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        const struct hf_span of_part = hf_json_get(capabilities, hf_part_traits(part)->capability);
        runtime->has_capability[part] = of_part.p != NULL;
        runtime->announces[part] = hf_json_is_true(hf_json_get(of_part, HF_SPAN("listChanged")));
    }
    runtime->has_tasks =
        hf_json_get(capabilities, HF_SPAN("tasks")).p ||
        hf_json_path(capabilities, 2,
                     (struct hf_span[]) { HF_SPAN("extensions"), HF_SPAN(HF_EXTENSION_TASKS) })
            .p;
    runtime->has_logging = hf_json_get(capabilities, HF_SPAN("logging")).p != NULL;
    runtime->has_subscribe = hf_json_is_true(hf_json_path(
        capabilities, 2, (struct hf_span[]) { HF_SPAN("resources"), HF_SPAN("subscribe") }));
}

void hf_handshake_give_up(struct hf_runtime *runtime, const char *what, const struct hf_msg *msg)
{
    const int64_t code = hf_msg_error_code(msg);
    char text[120];
    struct hf_buf words;
    hf_buf_init(&words, 4096);
    const struct hf_span message = hf_json_get(msg->error, HF_SPAN("message"));
    if (!hf_json_unescape(message, &words))
        hf_buf_clear(&words);
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(hf_buf_span(&words)));
    hf_server_reason(runtime->server, "%s failed: error %lld%s%s", what, (long long)code,
                     text[0] ? ": " : "", text);
    hf_buf_done(&words);
    runtime->transport->give_up(runtime);
}

void hf_handshake_done(struct hf_runtime *runtime)
{
    hf_runtime_event(runtime, HF_RUNTIME_EV_LISTED);
    assert(runtime == runtime->slot->attempt);
    hf_slot_event(runtime->slot, HF_SLOT_EV_READY);
}

/* Some servers send their client a request as soon as they get `initialized`, and only once: the
 * client must have said `initialized` itself by then. The time that the client takes is not charged
 * to the server. */
static void await_client(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    runtime->awaits_client = true;
    hf_timer_clear(&engine->timers, &runtime->start);
    hf_timer_set(&engine->timers, &runtime->client,
                 engine->now_ms + runtime->server->settings.list_wait_ms);
}

static void initialize_answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const struct hf_session *owner = runtime->slot->owner;
    const bool renews = hf_runtime_is_renewing(runtime) && runtime == runtime->slot->current;
    hf_call_end_ours(call);
    if (!renews &&
        (runtime != runtime->slot->attempt || runtime->machine.state != HF_RUNTIME_HANDSHAKING))
        return;
    if (msg->kind != HF_MSG_RESULT && hf_era_probe_may_help(runtime)) {
        hf_era_probe_begin(runtime); /* perhaps the server has become modern since the last probe */
        return;
    }
    if (msg->kind != HF_MSG_RESULT) {
        hf_handshake_give_up(runtime, "initialize", msg);
        return;
    }
    hf_free(runtime->greeting);
    runtime->greeting = hf_span_dup(msg->result);
    read_capabilities(runtime, msg->result);
    if (runtime->transport->agree)
        runtime->transport->agree(runtime, hf_json_get(msg->result, HF_SPAN("protocolVersion")));
    if (!renews)
        hf_runtime_event(runtime, HF_RUNTIME_EV_GREETED);
    hf_server_mark(runtime->server); /* a client's initialize may wait for this answer */
    if (owner && owner->initialize_params && !owner->has_initialized && !renews)
        await_client(runtime);
    else
        runtime->transport->introduce(runtime);
}

void hf_handshake_client_ready(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    if (!runtime->awaits_client)
        return;
    runtime->awaits_client = false;
    hf_timer_clear(&engine->timers, &runtime->client);
    if (runtime != runtime->slot->attempt || runtime->machine.state != HF_RUNTIME_LISTING)
        return;
    hf_timer_set(&engine->timers, &runtime->start,
                 engine->now_ms + runtime->server->settings.start_timeout_ms);
    runtime->transport->introduce(runtime);
}

void hf_handshake_discovered(struct hf_runtime *runtime, struct hf_span result)
{
    read_capabilities(runtime, result);
    hf_runtime_event(runtime, HF_RUNTIME_EV_GREETED);
    hf_handshake_introduced(runtime);
}

void hf_handshake_introduced(struct hf_runtime *runtime)
{
    if (hf_runtime_is_renewing(runtime)) {
        runtime->transport->renewed(runtime);
        return;
    }
    if (runtime->machine.state != HF_RUNTIME_LISTING)
        return;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        if (runtime->has_capability[part])
            hf_listing_fetch(runtime, part);
    if (!runtime->has_capability[HF_PART_TOOLS])
        hf_handshake_done(runtime);
}

/* What clients had set (log level, subscriptions) is sent to the runtime after this event. */
void hf_runtime_restore(struct hf_runtime *runtime)
{
    runtime->is_to_restore = true;
    hf_mark(runtime->server->engine, HF_MARK_RUNTIME, &runtime->mark);
}
