/* hello.c - greeting a server, fetching its lists, and giving it back what clients had set. */
#include <assert.h>
#include <stdio.h>
#include "core/state.h"

static void hello_answered(struct hf_call *call, const struct hf_msg *msg);
static const struct hf_call_owner hello_owner = {
    .purpose = HF_FOR_INITIALIZE,
    .answered = hello_answered,
    .unreadable = hello_answered,
};
static const struct hf_call_owner list_owner = {
    .purpose = HF_FOR_LIST,
    .answered = hf_listing_answered,
    .unreadable = hf_listing_answered,
};
const struct hf_call_owner hf_restore_owner = { .purpose = HF_FOR_RESTORE };

/* What we say where many clients share one server: we can pass on whatever it may ask of them. */
static const char our_hello[] =
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{\"listChanged\":true},"
    "\"sampling\":{},\"elicitation\":{}},\"clientInfo\":{\"name\":\"holdfast\",\"version\":"
    "\"" HF_VERSION "\"}}";

void hf_handshake_begin(struct hf_runtime *runtime)
{
    const struct hf_session *owner = runtime->slot->owner;
    const char *hello = owner && owner->hello ? owner->hello : our_hello;
    (void)hf_call_ours(runtime, &hello_owner, hf_method(HF_METHOD_INITIALIZE), hf_span_of(hello));
}

static void begin_list(struct hf_runtime *runtime, enum hf_part_id part, struct hf_span cursor)
{
    struct hf_buf params = hf_draft();
    if (cursor.n) {
        hf_buf_add_str(&params, "{\"cursor\":");
        hf_buf_add(&params, cursor);
        hf_buf_add_char(&params, '}');
    }
    struct hf_call *call = hf_call_ours(runtime, &list_owner, hf_method(hf_part_traits(part)->list),
                                        hf_buf_span(&params));
    if (call)
        call->part = part;
    hf_buf_done(&params);
}

static void fetch_part(struct hf_runtime *runtime, enum hf_part_id part)
{
    struct hf_listing *listing = &runtime->listing[part];
    listing->is_dirty = false;
    listing->building = hf_part_new(part, runtime->server->engine->limits.max_message_bytes);
    listing->building->checks_headers = runtime->remote && runtime->is_modern;
    hf_server_mark(runtime->server);
    begin_list(runtime, part, HF_SPAN(""));
}

void hf_listing_again(struct hf_runtime *runtime, enum hf_part_id part)
{
    if (!runtime->has_capability[part] || runtime->is_frozen || hf_runtime_is_renewing(runtime) ||
        runtime->is_introducing ||
        runtime->awaits_client) /* a server that is being greeted is listed in a moment */
        return;
    if (runtime->listing[part].building)
        runtime->listing[part].is_dirty = true;
    else
        fetch_part(runtime, part);
}

void hf_listing_announced(struct hf_runtime *runtime, enum hf_part_id part)
{
    runtime->listing[part].is_announced = runtime->has_capability[part];
    hf_listing_again(runtime, part);
}

void hf_slot_relist(struct hf_slot *slot)
{
    struct hf_engine *engine = slot->server->engine;
    const uint32_t relist_ms = slot->server->settings.relist_ms;
    if (!slot->current || !relist_ms) /* switched off since */
        return;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        hf_listing_again(slot->current, part);
    hf_timer_set(&engine->timers, &slot->relist, engine->now_ms + relist_ms);
}

void hf_listing_drop(struct hf_runtime *runtime)
{
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        hf_part_unref(runtime->listing[part].building);
        hf_part_unref(runtime->listing[part].ready);
        runtime->listing[part] = (struct hf_listing) { 0 };
    }
}

/* ---- the greeting's answer ---- */

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
    int64_t code = 0;
    char text[120];
    struct hf_buf words;
    hf_buf_init(&words, 4096);
    const struct hf_span message = hf_json_get(msg->error, HF_SPAN("message"));
    if (!hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code))
        code = 0;
    if (!hf_json_unescape(message, &words))
        hf_buf_clear(&words);
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(hf_buf_span(&words)));
    hf_server_reason(runtime->server, "%s failed: error %lld%s%s", what, (long long)code,
                     text[0] ? ": " : "", text);
    hf_buf_done(&words);
    runtime->transport->give_up(runtime);
}

static void become_live(struct hf_runtime *runtime)
{
    hf_runtime_event(runtime, HF_RUNTIME_EV_LISTED);
    assert(runtime == runtime->slot->attempt);
    hf_slot_event(runtime->slot, HF_SLOT_EV_READY);
}

/* Some servers ask their client for something as soon as they hear `initialized`, and ask once: it
 * must have said so itself by then. The time that takes is not the server's. */
static void await_client(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    runtime->awaits_client = true;
    hf_timer_clear(&engine->timers, &runtime->start);
    hf_timer_set(&engine->timers, &runtime->client,
                 engine->now_ms + runtime->server->settings.list_wait_ms);
}

static void hello_answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const struct hf_session *owner = runtime->slot->owner;
    const bool renews = hf_runtime_is_renewing(runtime) && runtime == runtime->slot->current;
    hf_call_end_ours(call);
    if (!renews &&
        (runtime != runtime->slot->attempt || runtime->machine.state != HF_RUNTIME_HANDSHAKING))
        return;
    if (msg->kind != HF_MSG_RESULT && hf_era_probe_may_help(runtime)) {
        hf_era_probe_begin(runtime); /* perhaps it has moved on since it was last asked */
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
    hf_server_mark(runtime->server); /* a client may wait for these words */
    if (owner && owner->hello && !owner->has_initialized && !renews)
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
            fetch_part(runtime, part);
    if (!runtime->has_capability[HF_PART_TOOLS])
        become_live(runtime);
}

/* ---- lists ---- */

/* A modern listener asked for its server's own word (announced), and gets it although the list is
 * the same; everybody else hears only of what truly changed. */
static void publish(struct hf_server *server, enum hf_part_id part, struct hf_part *fresh,
                    bool is_announced)
{
    struct hf_part *old = server->parts[part];
    if (old && hf_part_same(old, fresh)) {
        hf_part_unref(fresh);
        if (is_announced && server->is_published)
            hf_server_news(server, part, HF_NEWS_ANNOUNCED);
        return;
    }
    server->parts[part] = fresh;
    const bool is_first = !old;
    hf_part_unref(old);
    if (server->is_published && !(is_first && fresh->count == 0))
        hf_server_news(server, part, is_first ? HF_NEWS_FIRST : HF_NEWS_CHANGED);
    else
        hf_server_list_changed(server, part);
}

void hf_listing_install(struct hf_runtime *runtime)
{
    struct hf_server *server = runtime->server;
    hf_free(server->greeting);
    server->greeting = hf_strdup(runtime->greeting);
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        struct hf_listing *listing = &runtime->listing[part];
        struct hf_part *fresh = listing->ready;
        listing->ready = NULL;
        if (!runtime->has_capability[part] && server->parts[part]) {
            fresh = hf_part_new(part, 1); /* it has none any more */
            hf_part_seal(fresh);
        }
        if (fresh)
            publish(server, part, fresh, false);
    }
}

static void part_fetched(struct hf_runtime *runtime, enum hf_part_id part)
{
    struct hf_listing *listing = &runtime->listing[part];
    struct hf_part *fresh = listing->building;
    listing->building = NULL;
    hf_part_seal(fresh);
    if (fresh->left_out)
        hf_note(runtime->server->engine, HF_NOTE_WARN, runtime->server, runtime->generation,
                "tools_left_out count=%zu why=\"%s\"", fresh->left_out, fresh->fault);
    if (runtime == runtime->slot->current) {
        const bool is_announced = listing->is_announced && !listing->is_dirty;
        listing->is_announced &= listing->is_dirty; /* told once it is fetched as announced */
        publish(runtime->server, part, fresh, is_announced);
        if (listing->is_dirty)
            fetch_part(runtime, part);
        else if (part == HF_PART_TOOLS && runtime->transport->tools_listed)
            runtime->transport->tools_listed(runtime);
        hf_server_mark(runtime->server);
        return;
    }
    hf_part_unref(listing->ready);
    listing->ready = fresh;
    if (listing->is_dirty)
        fetch_part(runtime, part);
    else if (part == HF_PART_TOOLS && runtime->machine.state == HF_RUNTIME_LISTING)
        become_live(runtime);
}

static void part_failed(struct hf_runtime *runtime, enum hf_part_id part, const struct hf_msg *msg,
                        const char *why)
{
    struct hf_server *server = runtime->server;
    hf_part_unref(runtime->listing[part].building);
    runtime->listing[part].building = NULL;
    if (part == HF_PART_TOOLS && runtime->machine.state == HF_RUNTIME_LISTING) {
        if (why) {
            hf_server_reason(server, "tools/list failed: %s", why);
            hf_runtime_lose(runtime, HF_RUNTIME_EV_CLOSE);
        } else {
            hf_handshake_give_up(runtime, "tools/list", msg);
        }
        return;
    }
    hf_note(server->engine, HF_NOTE_DEBUG, server, runtime->generation,
            "list_failed method=%s the last good one stays",
            hf_method(hf_part_traits(part)->list)->name);
    if (part == HF_PART_TOOLS && runtime->transport->tools_listed)
        runtime->transport->tools_listed(runtime);
    hf_server_mark(server);
}

void hf_listing_answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const enum hf_part_id part = call->part;
    hf_call_end_ours(call);
    if (!runtime->listing[part].building || runtime->is_frozen)
        return;
    if (msg->kind != HF_MSG_RESULT) {
        part_failed(runtime, part, msg, NULL);
        return;
    }
    struct hf_span cursor = { NULL, 0 };
    struct hf_err err;
    switch (hf_part_add_page(runtime->listing[part].building, msg->result, &cursor, &err)) {
    case HF_PAGE_LAST: part_fetched(runtime, part); break;
    case HF_PAGE_MORE: begin_list(runtime, part, cursor); break;
    case HF_PAGE_BAD: part_failed(runtime, part, msg, err.text); break;
    }
}

/* What clients had set (log level, subscriptions) is said to it when this event is over. */
void hf_runtime_restore(struct hf_runtime *runtime)
{
    runtime->is_to_restore = true;
    hf_mark(runtime->server->engine, HF_MARK_RUNTIME, &runtime->mark);
}
