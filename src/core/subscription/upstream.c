/* upstream.c - which updates we ask servers to tell us: legacy servers with resources/subscribe for
 * each URI, modern servers with one subscriptions/listen. See subscription.h. */
#include "core/subscription/upstream.h"
#include "base/strings.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/machine/backoff.h"
#include "core/outbox.h"
#include "core/server/handshake.h"
#include "core/server/listing.h"
#include "core/state/runtime.h"
#include "core/subscription/subscription.h"

static void answered(struct hf_call *call, const struct hf_msg *msg);
static void left(struct hf_call *call);
static const struct hf_call_owner owner = {
    .purpose = HF_FOR_SUBSCRIPTION,
    .answered = answered,
    .left = left,
};

enum {
    AGAIN_MS = 1000,
    AGAIN_MS_MAX = 30000,
    UNACKNOWLEDGED_MS = 5000, /* then a listen request counts as acknowledged all the same */
    /* A modern server is asked for all URIs again with each change. So with many URIs the next
     * change waits a while after the last, and changes that come meanwhile are asked together. */
    AT_ONCE_URIS = 100,
    URIS_A_MS = 10,
    CHANGES_MAX = 256, /* in one turn; after more changes all wanted URIs are compared */
};

static bool can_be_asked(const struct hf_runtime *runtime)
{
    return runtime->machine.state == HF_RUNTIME_LIVE && runtime == runtime->slot->current &&
           !runtime->is_frozen && !hf_runtime_is_renewing(runtime) &&
           !runtime->server->engine->is_stopping;
}

static struct hf_upstream *upstream_of(struct hf_runtime *runtime) /* made if there is none */
{
    if (!runtime->upstream) {
        runtime->upstream = hf_new(struct hf_upstream);
        hf_timer_init(&runtime->upstream->timer, HF_TIMER_UPSTREAM, runtime);
    }
    return runtime->upstream;
}

/* ---- the URIs that a server was asked for ---- */

static bool is_same(char *const *asked, const char *const *wanted, size_t count)
{
    size_t i = 0;
    for (; asked && asked[i]; i++)
        if (i == count || strcmp(asked[i], wanted[i]) != 0)
            return false;
    return i == count;
}

static void keep(struct hf_upstream *upstream, const char *const *wanted, size_t count)
{
    char **uris = hf_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        uris[i] = hf_strdup(wanted[i]);
    hf_strings_free(upstream->uris);
    upstream->uris = uris;
    upstream->uri_count = upstream->uri_cap = count;
}

static void forget_uris(struct hf_upstream *upstream)
{
    hf_strings_free(upstream->uris);
    upstream->uris = NULL;
    upstream->uri_count = upstream->uri_cap = 0;
    upstream->is_in_step = false;
}

/* The index of the first of upstream->uris that does not sort before this URI. */
static size_t place_of(const struct hf_upstream *upstream, const char *uri)
{
    size_t from = 0, to = upstream->uri_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (strcmp(upstream->uris[middle], uri) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static char *const *find(const struct hf_upstream *upstream, const char *spelled)
{
    const size_t at = place_of(upstream, spelled);
    return at < upstream->uri_count && strcmp(upstream->uris[at], spelled) == 0
               ? &upstream->uris[at]
               : NULL;
}

char *const *hf_upstream_find(const struct hf_runtime *runtime, const char *spelled)
{
    return runtime->upstream ? find(runtime->upstream, spelled) : NULL;
}

static void set_known(struct hf_upstream *upstream, const char *uri, bool is_known)
{
    const size_t at = place_of(upstream, uri), behind = upstream->uri_count - at;
    char *const *old = find(upstream, uri);
    if (is_known == (old != NULL))
        return;
    if (old) {
        hf_free(upstream->uris[at]);
        memmove(upstream->uris + at, upstream->uris + at + 1,
                behind * sizeof *upstream->uris); /* the NULL at the end included */
        upstream->uri_count--;
        return;
    }
    if (upstream->uri_count == upstream->uri_cap) {
        upstream->uri_cap = upstream->uri_cap ? 2 * upstream->uri_cap : 4;
        upstream->uris =
            hf_realloc(upstream->uris, (upstream->uri_cap + 1) * sizeof *upstream->uris);
    }
    memmove(upstream->uris + at + 1, upstream->uris + at, behind * sizeof *upstream->uris);
    upstream->uris[at] = hf_strdup(uri);
    upstream->uris[++upstream->uri_count] = NULL;
}

/* ---- the URIs that may have changed ---- */

static void forget_changes(struct hf_upstream *upstream)
{
    for (size_t i = 0; i < upstream->changed_count; i++)
        hf_free(upstream->changed[i]);
    hf_free(upstream->changed);
    upstream->changed = NULL;
    upstream->changed_count = 0;
}

/* A modern server is asked for all URIs at once in any case, so for it none is remembered. */
void hf_upstream_mark(struct hf_runtime *runtime, struct hf_span uri)
{
    struct hf_upstream *upstream = runtime->upstream;
    hf_mark(runtime->server->engine, HF_MARK_RUNTIME, &runtime->mark);
    if (runtime->is_modern || !upstream || !upstream->is_in_step)
        return;
    if (upstream->changed_count == CHANGES_MAX) {
        forget_changes(upstream);
        upstream->is_in_step = false;
        return;
    }
    if (!upstream->changed)
        upstream->changed = hf_new_array(char *, CHANGES_MAX);
    upstream->changed[upstream->changed_count++] = hf_json_canonical_string(uri);
}

/* ---- legacy servers ---- */

static void send_request(struct hf_runtime *runtime, enum hf_method_id method, const char *uri)
{
    struct hf_buf params = hf_draft();
    hf_buf_printf(&params, "{\"uri\":%s}", uri);
    (void)hf_call_ours(runtime, &hf_restore_owner, hf_method(method), hf_buf_span(&params));
    hf_buf_done(&params);
}

static void ask_for_difference(struct hf_runtime *runtime, const char *const *wanted, size_t count)
{
    struct hf_upstream *upstream = runtime->upstream;
    char *const *old = upstream->uris;
    size_t i = 0;
    while (i < count || (old && *old)) {
        const int order = i == count ? 1 : !old || !*old ? -1 : strcmp(wanted[i], *old);
        if (order < 0)
            send_request(runtime, HF_METHOD_SUBSCRIBE, wanted[i]);
        if (order > 0)
            send_request(runtime, HF_METHOD_UNSUBSCRIBE, *old);
        i += order <= 0;
        old += order >= 0;
    }
    keep(upstream, wanted, count);
}

static void review_uri(struct hf_runtime *runtime, const char *uri)
{
    const bool is_known = hf_upstream_find(runtime, uri);
    const bool is_wanted = hf_uri_is_wanted(runtime, uri);
    if (is_wanted == is_known)
        return;
    send_request(runtime, is_wanted ? HF_METHOD_SUBSCRIBE : HF_METHOD_UNSUBSCRIBE, uri);
    set_known(runtime->upstream, uri, is_wanted);
}

static void heard(struct hf_runtime *runtime, struct hf_span raw_uri, bool is_known)
{
    char *uri = hf_json_canonical_string(raw_uri);
    set_known(upstream_of(runtime), uri, is_known);
    hf_free(uri);
}

void hf_upstream_subscribed(struct hf_runtime *runtime, struct hf_span uri)
{
    heard(runtime, uri, true);
}

void hf_upstream_unsubscribed(struct hf_runtime *runtime, struct hf_span uri)
{
    heard(runtime, uri, false);
}

void hf_upstream_unsure(struct hf_runtime *runtime, const struct hf_call *call)
{
    if (!runtime || runtime->is_frozen || runtime->is_modern ||
        call->method->id != HF_METHOD_UNSUBSCRIBE)
        return;
    hf_upstream_unsubscribed(runtime, call->uri);
    hf_upstream_mark(runtime, call->uri);
}

/* ---- modern servers ---- */

static void listen_again_later(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    struct hf_upstream *upstream = runtime->upstream;
    const uint64_t delay = hf_doubled_ms(AGAIN_MS, upstream->failures++, AGAIN_MS_MAX);
    hf_timer_set(&engine->timers, &upstream->timer, engine->now_ms + delay);
}

static void add_filter(struct hf_buf *out, const struct hf_runtime *runtime)
{
    static const char *const kinds[] = { [HF_PART_TOOLS] = "toolsListChanged",
                                         [HF_PART_PROMPTS] = "promptsListChanged",
                                         [HF_PART_RESOURCES] = "resourcesListChanged" };
    for (enum hf_part_id part = 0; part <= HF_PART_RESOURCES; part++) {
        if (!runtime->announces[part])
            continue;
        hf_json_add_key(out, kinds[part]);
        hf_buf_add_str(out, "true");
    }
    char *const *uris = runtime->upstream->uris;
    if (!*uris)
        return;
    hf_json_add_key(out, "resourceSubscriptions");
    hf_buf_add_char(out, '[');
    for (; *uris; uris++) {
        hf_json_add_comma(out);
        hf_buf_add_str(out, *uris);
    }
    hf_buf_add_char(out, ']');
}

static void listen_now(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    struct hf_upstream *upstream = runtime->upstream;
    struct hf_buf params = hf_draft();
    hf_buf_add_str(&params, "{\"notifications\":{");
    const size_t before = hf_buf_len(&params);
    add_filter(&params, runtime);
    const bool is_for_something = hf_buf_len(&params) > before;
    hf_buf_add_str(&params, "}}");
    if (is_for_something) {
        upstream->next =
            hf_call_ours(runtime, &owner, hf_method(HF_METHOD_LISTEN), hf_buf_span(&params));
        if (upstream->next)
            hf_timer_set(&engine->timers, &upstream->timer, engine->now_ms + UNACKNOWLEDGED_MS);
        else
            listen_again_later(runtime);
    } else if (upstream->call) {
        struct hf_call *call = upstream->call;
        upstream->call = NULL;
        hf_call_withdraw(call);
    }
    hf_buf_done(&params);
}

static void listen_for(struct hf_runtime *runtime, const char *const *wanted, size_t count)
{
    struct hf_upstream *upstream = runtime->upstream;
    const bool listens = upstream->call || upstream->next;
    if (upstream->is_refused ||
        (listens && !upstream->is_stale && is_same(upstream->uris, wanted, count)))
        return;
    if (upstream->next) { /* one listen request at a time: changes are asked for after it */
        upstream->is_stale = true;
        return;
    }
    if (upstream->timer.at_ms) /* hf_upstream_timer will look at it again */
        return;
    keep(upstream, wanted, count);
    upstream->is_stale = false;
    listen_now(runtime);
}

static void review_all(struct hf_runtime *runtime)
{
    size_t count;
    const char **wanted = hf_wanted_uris(runtime, &count);
    if (runtime->upstream || runtime->is_modern || count > 0) {
        struct hf_upstream *upstream = upstream_of(runtime);
        if (runtime->is_modern)
            listen_for(runtime, wanted, count);
        else if (!is_same(upstream->uris, wanted, count))
            ask_for_difference(runtime, wanted, count);
        upstream->is_in_step = !runtime->is_modern;
        upstream->has_changed = false;
    }
    hf_free(wanted);
}

void hf_upstream_review(struct hf_runtime *runtime)
{
    struct hf_upstream *upstream = runtime->upstream;
    if (!upstream) {
        if (can_be_asked(runtime))
            review_all(runtime);
        return;
    }
    if (!can_be_asked(runtime))
        upstream->is_in_step = false;
    else if (runtime->is_modern && (upstream->next || upstream->timer.at_ms))
        upstream->has_changed = true;
    else if (!upstream->is_in_step)
        review_all(runtime);
    else
        for (size_t i = 0; i < upstream->changed_count; i++)
            review_uri(runtime, upstream->changed[i]);
    forget_changes(upstream);
}

void hf_upstream_restore(struct hf_runtime *runtime)
{
    if (runtime->upstream)
        forget_uris(runtime->upstream);
    hf_upstream_review(runtime);
}

/* The new listen request is in force from here on, and the one before it is withdrawn. */
static void acknowledged(struct hf_runtime *runtime)
{
    struct hf_upstream *upstream = runtime->upstream;
    struct hf_engine *engine = runtime->server->engine;
    struct hf_call *before = upstream->call;
    hf_timer_clear(&engine->timers, &upstream->timer);
    upstream->call = upstream->next;
    upstream->next = NULL;
    if (before)
        hf_call_withdraw(before);
    for (enum hf_part_id part = 0; upstream->was_unsubscribed && part < HF_PART_COUNT; part++)
        hf_listing_again(runtime, part); /* what it said meanwhile is lost */
    upstream->was_unsubscribed = false;
    if (upstream->uri_count > AT_ONCE_URIS)
        hf_timer_set(&engine->timers, &upstream->timer,
                     engine->now_ms + upstream->uri_count / URIS_A_MS);
    else if (upstream->is_stale || upstream->has_changed)
        hf_upstream_review(runtime);
}

void hf_upstream_timer(struct hf_runtime *runtime)
{
    if (runtime->upstream->next)
        acknowledged(runtime);
    else
        hf_upstream_review(runtime);
}

bool hf_upstream_is_current(struct hf_runtime *runtime, const struct hf_call *origin,
                            const struct hf_msg *msg)
{
    const struct hf_span tag = hf_json_path(
        msg->params, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_LISTEN) });
    const struct hf_call *call = origin;
    int64_t id;
    if (hf_json_int(tag, &id)) {
        call = hf_call_by_id(runtime, (uint64_t)id);
        if (!call || call->owner->purpose != HF_FOR_SUBSCRIPTION)
            return false;
    }
    if (call && runtime->upstream && call == runtime->upstream->next)
        acknowledged(runtime);
    return true;
}

static void answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    const bool is_unknown = hf_msg_error_code(msg) == -32601;
    runtime->upstream->is_refused |= is_unknown;
    hf_call_end_ours(call);
    if (is_unknown && runtime->transport->listen_refused)
        runtime->transport->listen_refused(runtime);
}

static void left(struct hf_call *call)
{
    struct hf_runtime *runtime = call->runtime;
    struct hf_upstream *upstream = runtime->upstream;
    const uint64_t now = runtime->server->engine->now_ms;
    if (call != upstream->call && call != upstream->next) /* another has taken its place */
        return;
    if (call == upstream->next) {
        upstream->next = NULL;
        upstream->is_stale = true;
    } else {
        upstream->call = NULL;
        upstream->was_unsubscribed = true;
    }
    if (now - call->dispatched_ms >= AGAIN_MS_MAX)
        upstream->failures = 0;
    if (upstream->next || upstream->is_refused || !can_be_asked(runtime))
        return;
    listen_again_later(runtime);
}

/* ---- answers in the stead of modern servers ---- */

bool hf_upstream_can_answer(const struct hf_call *call)
{
    const enum hf_method_id method = call->method->id;
    return call->slot->current->is_modern && !call->is_modern &&
           (method == HF_METHOD_SUBSCRIBE || method == HF_METHOD_UNSUBSCRIBE ||
            method == HF_METHOD_SET_LEVEL);
}

void hf_upstream_answer(struct hf_call *call)
{
    struct hf_session *session = call->session;
    struct hf_server *server = call->slot->server;
    if (call->method->id == HF_METHOD_SUBSCRIBE && !call->slot->current->has_subscribe) {
        hf_call_answer(call, hf_answer_error(call->engine, -32601,
                                             "Method not found: this server tells of no updates of "
                                             "its resources",
                                             HF_SPAN("")));
        return;
    }
    /* A log level needs nothing here: it is sent to modern servers with every request. */
    if (call->method->id == HF_METHOD_SUBSCRIBE)
        hf_session_subscribe(session, call->party, server, call->uri);
    if (call->method->id == HF_METHOD_UNSUBSCRIBE)
        hf_session_unsubscribe(session, server, call->uri);
    hf_call_answer(call, hf_answer_result(HF_SPAN("{}")));
}
