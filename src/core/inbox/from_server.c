/* from_server.c - what servers send: answers, progress, requests to clients, and news.
 *
 * Whatever does not belong to anything known is counted and dropped; a line that is no message at
 * all is noise and costs nobody anything, unless it carries the id of a call: that call's answer is
 * unreadable, and its client is told so. */
#include "core/inbox/from_server.h"
#include <stdio.h>
#include "core/bridge/park.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/send.h"
#include "core/client/tasks.h"
#include "core/inbox/choose_client.h"
#include "core/outbox.h"
#include "core/server/era_probe.h"
#include "core/server/listing.h"
#include "core/server/liveness.h"
#include "core/server/server_request.h"
#include "core/settings.h"
#include "core/state/runtime.h"
#include "core/state/session.h"
#include "core/subscription/subscription.h"
#include "core/subscription/upstream.h"
#include "wire/scan.h"

enum { BRACES_MAX = 8 }; /* of one line: opening braces that no whole JSON text follows */

/* False: the runtime is of an old generation. */
static bool is_ours(const struct hf_runtime *runtime)
{
    return runtime == runtime->slot->current || runtime == runtime->slot->attempt;
}

static void drop_stale(struct hf_runtime *runtime, const char *what)
{
    runtime->server->stale_drops++;
    hf_note(runtime->server->engine, runtime->server,
            &(struct hf_note) { .event = HF_NOTE_STALE,
                                .is_routine = true,
                                .generation = runtime->generation,
                                .what = hf_span_of(what) });
}

/* ---- requests to clients ---- */

static void take_request(struct hf_runtime *runtime, struct hf_call *origin,
                         const struct hf_msg *msg)
{
    if (runtime->is_frozen) { /* nothing can be written to this server any more */
        drop_stale(runtime, "request");
        return;
    }
    if (hf_method_find(msg->method)->id == HF_METHOD_PING) {
        struct hf_buf draft = hf_draft();
        hf_msg_add_result(&draft, msg->id, HF_SPAN("{}"));
        hf_runtime_respond(runtime, hf_draft_end(runtime->server->engine, &draft));
        return;
    }
    /* A modern server asks with input_required; over HTTP it would take no answer to a request. */
    if (runtime->is_modern) {
        if (!runtime->remote)
            hf_runtime_respond_error(runtime, msg->id, -32601,
                                     "there are no such requests in this revision");
        return;
    }
    hf_choose_client(runtime, origin, msg);
}

/* ---- news ---- */

static void take_progress(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    const struct hf_span token = hf_json_get(msg->params, HF_SPAN("progressToken"));
    int64_t id;
    double value;
    struct hf_call *call = hf_msg_read_id(token, &id) ? hf_call_by_id(runtime, (uint64_t)id) : NULL;
    if (!call || !call->session || !call->token.p) {
        drop_stale(runtime, "progress");
        return;
    }
    const struct hf_settings *settings = &runtime->server->settings;
    if (call->end_by_ms && call->end_by_max_ms) {
        const uint64_t by = call->engine->now_ms + settings->call_timeout_ms;
        const uint64_t at_most = by < call->end_by_max_ms ? by : call->end_by_max_ms;
        if (at_most > call->end_by_ms)
            call->end_by_ms = at_most;
        hf_call_arm(call);
    }
    if (hf_json_double(hf_json_get(msg->params, HF_SPAN("progress")), &value)) {
        if (call->progress_sent > 0 && value <= call->progress_sent)
            return; /* progress must grow, and we have reported progress of the waiting already */
        call->progress_sent = value;
    }
    if (hf_call_is_parked(call))
        hf_park_progress(call, msg, token);
    else
        hf_session_send_spliced(call->session, call->via, msg->text, token, call->token);
}

/* A modern request names the log level from which on its client wants messages; a request without a
 * level wants none. */
static bool wants_log(const struct hf_call *call, const struct hf_msg *msg)
{
    if (!call->is_modern || hf_method_find(msg->method)->id != HF_METHOD_MESSAGE)
        return true;
    const struct hf_span text = { call->text, call->text_length };
    const struct hf_span from = hf_json_path(
        text, 3,
        (struct hf_span[]) { HF_SPAN("params"), HF_SPAN("_meta"), HF_SPAN(HF_META_LEVEL) });
    const int least = hf_level_of(from);
    return least >= 0 && hf_level_of(hf_json_get(msg->params, HF_SPAN("level"))) >= least;
}

/* Finds the `via` under which the client gets a log message; false: the client does not get it. In
 * a session that many modern clients share, it must be clear which request is meant. */
static bool log_via(const struct hf_runtime *runtime, const struct hf_call *origin,
                    const struct hf_session *session, const struct hf_msg *msg, uint64_t *ret_via)
{
    uint64_t newest = 0;
    unsigned count = 0;
    const struct hf_call *call;
    *ret_via = origin && origin->session ? hf_call_via(origin) : 0;
    if (origin && origin->session)
        return wants_log(origin, msg);
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (call->session != session)
            continue;
        count++;
        if (call->id < newest || !wants_log(call, msg))
            continue;
        newest = call->id;
        *ret_via = hf_call_via(call);
    }
    return newest ? count == 1 || !session->is_modern : count == 0;
}

static void take_log(struct hf_runtime *runtime, const struct hf_call *origin,
                     const struct hf_msg *msg)
{
    struct hf_session *session = hf_choose_client_of(runtime, origin);
    uint64_t via;
    if (session && log_via(runtime, origin, session, msg, &via)) {
        hf_session_send(session, via, msg->text);
        return;
    }
    const struct hf_span data = hf_json_get(msg->params, HF_SPAN("data"));
    hf_note(runtime->server->engine, runtime->server,
            &(struct hf_note) {
                .event = HF_NOTE_SERVER_LOG, .generation = runtime->generation, .what = data });
}

static void take_notification(struct hf_runtime *runtime, const struct hf_call *origin,
                              const struct hf_msg *msg)
{
    const enum hf_method_id method = hf_method_find(msg->method)->id;
    if (method == HF_METHOD_PROGRESS) {
        take_progress(runtime, msg);
        return;
    }
    if (method == HF_METHOD_CANCELLED) {
        hf_server_request_cancelled(runtime, msg);
        return;
    }
    if (!is_ours(runtime)) {
        drop_stale(runtime, "notification");
        return;
    }
    if (!hf_upstream_is_current(runtime, origin, msg)) {
        drop_stale(runtime, "notification of an ended subscription");
        return;
    }
    switch (method) {
    case HF_METHOD_TOOLS_CHANGED: hf_listing_announced(runtime, HF_PART_TOOLS); break;
    case HF_METHOD_PROMPTS_CHANGED: hf_listing_announced(runtime, HF_PART_PROMPTS); break;
    case HF_METHOD_RESOURCES_CHANGED:
        hf_listing_announced(runtime, HF_PART_RESOURCES);
        hf_listing_again(runtime, HF_PART_TEMPLATES);
        break;
    case HF_METHOD_RESOURCE_UPDATED: hf_update_pass(runtime, msg); break;
    case HF_METHOD_LISTENS: break; /* handled above */
    default:                       /* log messages, and methods that we do not know */
        if (!hf_task_news(runtime, msg))
            take_log(runtime, origin, msg);
        break;
    }
}

/* ---- answers ---- */

static void take_answer(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    int64_t id;
    struct hf_call *call =
        msg->id.p && hf_msg_read_id(msg->id, &id) ? hf_call_by_id(runtime, (uint64_t)id) : NULL;
    if (!call) {
        drop_stale(runtime, "answer");
        return;
    }
    call->is_answered = true;
    if (runtime->is_suspect && call->owner->purpose != HF_FOR_CHECK)
        hf_check_answer_came(runtime);
    if (call->owner->answered)
        call->owner->answered(call, msg);
    else
        hf_call_end_ours(call);
}

/* A call whose answer cannot be passed on has run, and that is all we can say of it. */
static bool answer_is_lost(struct hf_runtime *runtime, const struct hf_json_skim *skim,
                           enum hf_error error, const char *reason, const char *what)
{
    int64_t id;
    if (!hf_json_skim_is_answer(skim) || !hf_msg_read_id(hf_json_skim_id(skim), &id))
        return false;
    struct hf_call *call = hf_call_by_id(runtime, (uint64_t)id);
    if (!call)
        return false;
    call->is_answered = true;
    if (call->owner->purpose == HF_FOR_CLIENT) {
        hf_call_fail(call, error, reason,
                     "The call was sent to \"%s\" and answered, but the answer %s and was dropped. "
                     "It has most likely run: check its effect before sending it again.",
                     runtime->server->name, what);
        return true;
    }
    const struct hf_msg failure = { .kind = HF_MSG_ERROR,
                                    .error =
                                        HF_SPAN("{\"code\":0,\"message\":\"unreadable answer\"}") };
    if (call->owner->unreadable) /* the owner of the call must not wait for ever */
        call->owner->unreadable(call, &failure);
    else
        hf_call_end_ours(call);
    return true;
}

void hf_server_message_oversized(struct hf_runtime *runtime, const struct hf_json_skim *skim)
{
    struct hf_engine *engine = runtime->server->engine;
    if (!answer_is_lost(runtime, skim, HF_ERROR_RESULT_TOO_LARGE, "max_message_bytes",
                        "is larger than holdfast's maxMessageBytes"))
        hf_note(engine, runtime->server,
                &(struct hf_note) { .event = HF_NOTE_LINE_TOO_LONG,
                                    .generation = runtime->generation });
}

void hf_runtime_line_oversized(struct hf_runtime *runtime, const struct hf_json_skim *skim,
                               struct hf_now now)
{
    hf_set_now(runtime->server->engine, now);
    hf_server_message_oversized(runtime, skim);
}

static void take_noise(struct hf_runtime *runtime, struct hf_span line, const char *why)
{
    struct hf_server *server = runtime->server;
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, line);
    char what[600];
    (void)snprintf(what, sizeof what, "is not a valid message (%s)", why);
    if (answer_is_lost(runtime, &skim, HF_ERROR_OUTCOME_UNKNOWN, "malformed_answer", what))
        return;
    hf_note(server->engine, server,
            &(struct hf_note) { .event = HF_NOTE_NOISE,
                                .is_routine = server->warned_noise,
                                .generation = runtime->generation,
                                .what = line });
    server->warned_noise = true;
}

void hf_runtime_line(struct hf_runtime *runtime, struct hf_span line, struct hf_now now)
{
    hf_set_now(runtime->server->engine, now);
    hf_server_message(runtime, NULL, hf_msg_without_bom(line));
}

/* Takes one JSON text. False: it is no message, and `err` says why. */
static bool take_one(struct hf_runtime *runtime, struct hf_call *origin, struct hf_span text,
                     struct hf_err *err)
{
    struct hf_engine *engine = runtime->server->engine;
    const unsigned depth_max = engine->limits.max_depth;
    struct hf_msg msg;
    enum hf_msg_status status = hf_msg_parse(text, depth_max, &msg, err);
    if (status == HF_MSG_NOT_JSON)
        return false;
    struct hf_buf mended = hf_draft();
    if (status != HF_MSG_OK && hf_msg_mend_answer(text, depth_max, &mended))
        status = hf_msg_parse(hf_draft_end(engine, &mended), depth_max, &msg, err);
    if (status != HF_MSG_OK) {
        take_noise(runtime, text, err->text);
        return true;
    }
    switch (msg.kind) {
    case HF_MSG_REQUEST: take_request(runtime, origin, &msg); break;
    case HF_MSG_NOTIFICATION: take_notification(runtime, origin, &msg); break;
    case HF_MSG_RESULT:
    case HF_MSG_ERROR: take_answer(runtime, &msg); break;
    }
    return true;
}

static struct hf_call *if_not_ended(struct hf_call *origin)
{
    return origin && origin->stage != HF_CALL_ENDED ? origin : NULL;
}

/* Takes one message or a batch: 2025-03-26 had batches, and servers may answer with them. */
static bool take_text(struct hf_runtime *runtime, struct hf_call *origin, struct hf_span text,
                      struct hf_err *err)
{
    const bool is_batch = hf_json_type(text) == HF_JSON_ARRAY &&
                          hf_json_check(text, runtime->server->engine->limits.max_depth, NULL);
    struct hf_json_iter it = is_batch ? hf_json_iter(text) : (struct hf_json_iter) { 0 };
    if (!is_batch || !hf_json_next(&it))
        return take_one(runtime, origin, text, err);
    do {
        (void)take_one(runtime, if_not_ended(origin), it.value, err);
    } while (hf_json_next(&it));
    return true;
}

/* A text among other words counts as an answer only if it has every member of an answer: a log line
 * may well mention an id and a result. */
static bool is_awaited(struct hf_runtime *runtime, struct hf_span text, unsigned depth_max)
{
    struct hf_buf mended = hf_draft();
    int64_t id;
    const bool is_it = hf_json_get(text, HF_SPAN("jsonrpc")).p &&
                       hf_msg_mend_answer(text, depth_max, &mended) &&
                       hf_msg_read_id(hf_json_get(hf_buf_span(&mended), HF_SPAN("id")), &id) &&
                       hf_call_by_id(runtime, (uint64_t)id);
    hf_buf_done(&mended);
    return is_it;
}

/* The first answer that a call waits for in a text that is no message; n == 0: none. A whole JSON
 * text is skipped, and a brace that begins no whole one costs one of `braces`: so the work stays
 * within a few times the length of the text, whatever is in it. */
static struct hf_span answer_among_words(struct hf_runtime *runtime, struct hf_span text,
                                         unsigned *braces)
{
    const unsigned depth_max = runtime->server->engine->limits.max_depth;
    while (*braces && text.n && !hf_list_empty(&runtime->calls)) {
        const char *brace = memchr(text.p, '{', text.n);
        if (!brace)
            break;
        text = hf_span_from(text, (size_t)(brace - text.p));
        const struct hf_span first = hf_json_first(text);
        const bool is_whole = first.n && hf_json_check(first, depth_max, NULL);
        if (is_whole && is_awaited(runtime, first, depth_max))
            return first;
        *braces -= !is_whole;
        text = hf_span_from(text, is_whole ? first.n : 1);
    }
    return (struct hf_span) { NULL, 0 };
}

/* A line may hold more than one message (two threads of a server wrote at once) or words around a
 * message: every whole message in it counts. */
void hf_server_message(struct hf_runtime *runtime, struct hf_call *origin, struct hf_span text)
{
    struct hf_err err;
    unsigned braces = BRACES_MAX;
    while (!take_text(runtime, if_not_ended(origin), text, &err)) {
        struct hf_span first = hf_json_first(text);
        struct hf_err unused;
        if (first.n == 0 || !take_text(runtime, if_not_ended(origin), first, &unused)) {
            first = answer_among_words(runtime, text, &braces);
            if (first.n == 0) {
                take_noise(runtime, text, err.text);
                return;
            }
            (void)take_one(runtime, if_not_ended(origin), first, &unused);
        }
        text = hf_span_from(text, (size_t)(first.p + first.n - text.p));
        if (hf_scan_space(text.p, text.p + text.n) == text.p + text.n)
            return;
    }
}

/* ---- signs of life ---- */

void hf_runtime_bytes_came(struct hf_runtime *runtime, struct hf_now now)
{
    hf_set_now(runtime->server->engine, now);
    runtime->last_byte_ms = now.mono_ms;
    if (runtime->is_probing)
        hf_era_probe_sign_of_life(runtime);
}

void hf_runtime_stderr_line(struct hf_runtime *runtime, struct hf_span line)
{
    if (line.n == 0)
        return;
    hf_era_probe_sign_of_life(runtime);
    (void)snprintf(runtime->server->last_stderr, sizeof runtime->server->last_stderr, "%.*s",
                   (int)(line.n < 255 ? line.n : 255), line.p);
}
