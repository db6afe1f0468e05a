/* listing.c - a server's lists: fetched to the last page, published when they changed, fetched
 * again when the server says so or from time to time. */
#include "core/server/listing.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/catalog/part.h"
#include "core/outbox.h"
#include "core/server/facts.h"
#include "core/server/handshake.h"
#include "core/server/runtime.h"
#include "core/state/runtime.h"

static const struct hf_call_owner owner = {
    .purpose = HF_FOR_LIST,
    .answered = hf_listing_answered,
    .unreadable = hf_listing_answered,
};

/* ---- fetching ---- */

static void begin_list(struct hf_runtime *runtime, enum hf_part_id part, struct hf_span cursor)
{
    struct hf_buf params = hf_draft();
    if (cursor.n) {
        hf_buf_add_str(&params, "{\"cursor\":");
        hf_buf_add(&params, cursor);
        hf_buf_add_char(&params, '}');
    }
    struct hf_call *call =
        hf_call_ours(runtime, &owner, hf_method(hf_part_traits(part)->list), hf_buf_span(&params));
    if (call)
        call->part = part;
    hf_buf_done(&params);
}

void hf_listing_fetch(struct hf_runtime *runtime, enum hf_part_id part)
{
    const struct hf_engine *engine = runtime->server->engine;
    struct hf_listing *listing = &runtime->listing[part];
    listing->is_dirty = false;
    listing->building = hf_part_new(part, engine->limits.max_message_bytes, &engine->map_key);
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
        hf_listing_fetch(runtime, part);
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
    if (!slot->current || !relist_ms) /* no runtime, or relistMs was set to 0 since */
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

/* ---- publishing ---- */

/* A modern client that listens wants to know what the server announces, and is told although the
 * list is the same; everybody else is told only of lists that truly changed. */
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
            fresh = hf_part_new(part, 1, &server->engine->map_key); /* no such list any more */
            hf_part_seal(fresh);
        }
        if (fresh)
            publish(server, part, fresh, false);
    }
}

/* ---- answers to our list requests ---- */

static void part_fetched(struct hf_runtime *runtime, enum hf_part_id part)
{
    struct hf_listing *listing = &runtime->listing[part];
    struct hf_part *fresh = listing->building;
    listing->building = NULL;
    hf_part_seal(fresh);
    if (fresh->left_out)
        hf_note(runtime->server->engine, runtime->server,
                &(struct hf_note) { .event = HF_NOTE_TOOLS_LEFT_OUT,
                                    .generation = runtime->generation,
                                    .count = (int64_t)fresh->left_out,
                                    .reason = hf_span_of(fresh->fault) });
    if (runtime == runtime->slot->current) {
        const bool is_announced = listing->is_announced && !listing->is_dirty;
        listing->is_announced &= listing->is_dirty; /* told when fetched as announced */
        publish(runtime->server, part, fresh, is_announced);
        if (listing->is_dirty)
            hf_listing_fetch(runtime, part);
        else if (part == HF_PART_TOOLS && runtime->transport->tools_listed)
            runtime->transport->tools_listed(runtime);
        hf_server_mark(runtime->server);
        return;
    }
    hf_part_unref(listing->ready);
    listing->ready = fresh;
    if (listing->is_dirty)
        hf_listing_fetch(runtime, part);
    else if (part == HF_PART_TOOLS && runtime->machine.state == HF_RUNTIME_LISTING)
        hf_handshake_done(runtime);
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
    hf_note(
        server->engine, server,
        &(struct hf_note) { .event = HF_NOTE_LIST_FAILED,
                            .is_routine = true,
                            .generation = runtime->generation,
                            .method = hf_span_of(hf_method(hf_part_traits(part)->list)->name) });
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
