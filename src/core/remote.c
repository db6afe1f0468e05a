/* remote.c - a runtime whose server is reached over HTTP: every message has an exchange of its own.
 *
 * 1. A post is begun once. Whether its call may be sent again is decided where every loss is
 * judged, from what the exchange proved (evidence.c).
 * 2. Losing one exchange takes nothing from the others: a lost runtime gets nothing new, and the
 *    answers still under way come in (P4).
 * 3. An answer counts by its id and its runtime, on whichever exchange it comes. */
#include <assert.h>
#include <stdio.h>
#include "core/state.h"

enum {
    RESUME_MS = 500,        /* if the server did not say */
    RESUME_MS_MAX = 30000,  /* whatever it says */
    VAIN_RESUMES_MAX = 3,   /* in a row, without one event */
    ENDS_WITHIN_MS = 10000, /* after its answer came, a stream has nothing more to say */
    REASON_MAX = 200,
};

/* ---- posts: begun, ended ---- */

static void begin(struct hf_post *post)
{
    post->is_begun = true;
    post->has_progressed = false;
    post->status = 0;
    hf_emit(post->runtime->server->engine, HF_DO_POST)->post = post;
}

struct hf_post *hf_post_new(struct hf_runtime *runtime, enum hf_post_verb verb,
                            struct hf_call *call)
{
    struct hf_remote *remote = &runtime->remote;
    struct hf_post *post = hf_new(struct hf_post);
    post->runtime = runtime;
    post->verb = verb;
    post->call = call;
    post->session = remote->session;
    post->session_id = remote->session_id ? hf_strdup(remote->session_id) : NULL;
    post->retry_ms = -1;
    hf_timer_init(&post->timer, HF_TIMER_POST, post);
    hf_list_push(&remote->posts, &post->link);
    begin(post);
    return post;
}

static void free_post(void *p)
{
    struct hf_post *post = p;
    hf_free(post->owned);
    hf_free(post->session_id);
    hf_free(post->event_id);
    hf_free(post);
}

static void forget(struct hf_post *post)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_engine *engine = runtime->server->engine;
    if (post->call)
        post->call->post = NULL;
    if (runtime->remote.listen == post)
        runtime->remote.listen = NULL;
    if (runtime->remote.initialized == post)
        runtime->remote.initialized = NULL;
    runtime->told_bytes -= post->owned_length;
    hf_timer_clear(&engine->timers, &post->timer);
    hf_unlink(&post->link);
    hf_bury(engine, free_post, post);
}

void hf_post_abort(struct hf_post *post)
{
    if (post->is_begun)
        hf_emit(post->runtime->server->engine, HF_DO_ABORT)->post = post;
    forget(post);
}

void hf_post_leave(struct hf_post *post, bool is_answered)
{
    struct hf_engine *engine = post->runtime->server->engine;
    /* Nobody waits: closing the connection is all that is left to say. Or it was cut, and the
     * answer came elsewhere. */
    if (!is_answered || !post->is_begun) {
        hf_post_abort(post);
        return;
    }
    post->call->post = NULL;
    post->call = NULL;
    post->is_answered = true;
    hf_timer_set(&engine->timers, &post->timer, engine->now_ms + ENDS_WITHIN_MS);
}

void hf_post_timer(struct hf_post *post)
{
    if (post->is_begun)
        hf_post_abort(post);
    else
        begin(post);
}

/* What is asked before anything is agreed on. */
static bool is_hello(const struct hf_call *call)
{
    return call && (call->purpose == HF_FOR_HELLO || call->purpose == HF_FOR_PROBE);
}

void hf_post_request(const struct hf_post *post, struct hf_post_request *ret_request)
{
    const struct hf_remote *remote = &post->runtime->remote;
    const char *last = post->verb == HF_POST_RESUME   ? post->event_id
                       : post->verb == HF_POST_LISTEN ? remote->listen_id
                                                      : NULL;
    *ret_request = (struct hf_post_request) {
        .verb = post->verb,
        .session_id = hf_span_of(post->session_id),
        .last_event_id = hf_span_of(last),
    };
    if (!is_hello(post->call))
        ret_request->version = hf_span_of(remote->version);
    if (post->runtime->is_modern || (post->call && post->call->purpose == HF_FOR_PROBE)) {
        ret_request->version = HF_SPAN(HF_MODERN_VERSION);
        ret_request->headers = hf_remote_headers(post);
    }
    if (post->verb == HF_POST_MESSAGE)
        ret_request->endpoint = hf_span_of(remote->endpoint);
    if (post->verb == HF_POST_MESSAGE && post->owned) {
        ret_request->pieces[0] = (struct hf_span) { post->owned, post->owned_length };
        ret_request->piece_count = 1;
    } else if (post->verb == HF_POST_MESSAGE && post->call) {
        ret_request->piece_count = post->call->frame.count;
        memcpy(ret_request->pieces, post->call->frame.pieces,
               post->call->frame.count * sizeof *ret_request->pieces);
    }
}

struct hf_runtime *hf_post_runtime(const struct hf_post *post)
{
    return post->runtime;
}
void *hf_post_shell(const struct hf_post *post)
{
    return post->shell;
}
void hf_post_set_shell(struct hf_post *post, void *shell)
{
    post->shell = shell;
}

/* ---- what is sent ---- */

void hf_remote_dispatch(struct hf_call *call)
{
    call->post = hf_post_new(call->runtime, HF_POST_MESSAGE, call);
}

static struct hf_post *tell(struct hf_runtime *runtime, struct hf_span message)
{
    struct hf_post *post = hf_post_new(runtime, HF_POST_MESSAGE, NULL);
    post->owned = hf_span_dup(message);
    post->owned_length = message.n;
    runtime->told_bytes += message.n;
    return post;
}

void hf_remote_tell(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message)
{
    const struct hf_post *asked = about ? about->post : NULL;
    if (about && !asked && !runtime->remote.is_sse)
        return; /* it was turned away, and the rest of it is only in our heads */
    if (!asked && runtime->remote.is_renewing)
        return; /* it is about what the server has forgotten */
    struct hf_post *post = tell(runtime, message);
    if (!asked || asked->session == post->session)
        return;
    post->session = asked->session;
    hf_free(post->session_id);
    post->session_id = asked->session_id ? hf_strdup(asked->session_id) : NULL;
}

void hf_remote_introduce(struct hf_runtime *runtime, struct hf_span version)
{
    struct hf_remote *remote = &runtime->remote;
    struct hf_buf plain = hf_draft();
    if (!hf_json_unescape(version, &plain))
        hf_buf_clear(&plain);
    hf_free(remote->version);
    remote->version = hf_buf_len(&plain) ? hf_span_dup(hf_buf_span(&plain)) : NULL;
    hf_buf_done(&plain);
    remote->initialized =
        tell(runtime, HF_SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
}

/* ---- coming and going ---- */

void hf_remote_init(struct hf_runtime *runtime)
{
    hf_link_init(&runtime->remote.posts);
    hf_timer_init(&runtime->remote.listen_again, HF_TIMER_LISTEN, runtime);
    runtime->remote.session = 1;
    runtime->remote.is_sse = runtime->server->settings.transport == HF_TRANSPORT_SSE;
    if (runtime->is_remote)
        runtime->written = 1; /* a call that was begun lies before it: read, for all we know */
}

void hf_remote_done(struct hf_runtime *runtime)
{
    struct hf_remote *remote = &runtime->remote;
    while (!hf_list_empty(&remote->posts))
        hf_post_abort(HF_LIST_FIRST(&remote->posts, struct hf_post, link));
    hf_timer_clear(&runtime->server->engine->timers, &remote->listen_again);
}

void hf_remote_start(struct hf_runtime *runtime)
{
    if (runtime->remote.is_sse)
        runtime->remote.listen = hf_post_new(runtime, HF_POST_LISTEN, NULL);
    else
        hf_hello_begin(runtime);
}

/* The runtime is frozen. What it is still asked is given up, and its session is ended. */
void hf_remote_close(struct hf_runtime *runtime)
{
    struct hf_remote *remote = &runtime->remote;
    hf_remote_done(runtime);
    if (remote->session_id && !remote->is_sse)
        (void)hf_post_new(runtime, HF_POST_GOODBYE, NULL);
    else
        hf_emit(runtime->server->engine, HF_DO_HANG_UP)->runtime = runtime;
}

void hf_remote_kill(struct hf_runtime *runtime)
{
    hf_remote_done(runtime);
    if (!runtime->is_tree_gone)
        hf_emit(runtime->server->engine, HF_DO_HANG_UP)->runtime = runtime;
}

void hf_remote_lost(struct hf_runtime *runtime)
{
    if (runtime->machine.state < HF_RUNTIME_LIVE) {
        hf_runtime_lose(runtime, HF_RUNTIME_EV_CLOSE);
    } else if (runtime->machine.state == HF_RUNTIME_LIVE) {
        runtime->remote.was_lost = true;
        runtime->remote.is_renewing = false;
        hf_runtime_lose(runtime, HF_RUNTIME_EV_DRAIN);
        hf_runtime_maybe_drained(runtime);
    }
}

void hf_remote_switched_off(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    if (!runtime->remote.was_lost || runtime->machine.state != HF_RUNTIME_DRAINING)
        return;
    runtime->remote.was_lost = false;
    hf_timer_set(&engine->timers, &runtime->stay,
                 engine->now_ms + runtime->server->settings.drain_ms);
}

/* ---- what the shell saw ---- */

void hf_post_sending(struct hf_post *post, uint64_t now_ms)
{
    struct hf_call *call = post->call;
    hf_set_now(post->runtime->server->engine, now_ms);
    if (!call || call->stage != HF_CALL_QUEUED)
        return;
    call->stage = HF_CALL_SENT;
    call->waited_ms += now_ms - call->dispatched_ms;
    call->dispatched_ms = now_ms;
    call->extent = (struct hf_extent) { .begun = true };
    call->history.sends++;
    hf_call_arm(call);
}

void hf_post_head(struct hf_post *post, int status, bool is_stream, struct hf_span session_id,
                  uint64_t now_ms)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_remote *remote = &runtime->remote;
    hf_runtime_bytes_came(runtime, now_ms);
    post->status = status;
    post->is_stream = is_stream;
    if (status < 200 || status > 299)
        return;
    if (post->call && post->call->purpose == HF_FOR_HELLO) {
        hf_free(remote->session_id);
        remote->session_id = session_id.p ? hf_span_dup(session_id) : NULL;
    } else if (post->verb == HF_POST_MESSAGE && post->call && post->session == remote->session) {
        remote->is_session_proven = true;
        remote->has_served |= post->call->purpose == HF_FOR_CLIENT;
    }
    if (post == remote->listen && is_stream) {
        remote->listen_failures = 0;
        if (remote->was_listening && !remote->listen_id)
            for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
                hf_list_again(runtime, part); /* what it said meanwhile is lost */
        remote->was_listening = true;
    }
}

/* With an error status only one thing counts: the response to the request that was sent. */
static bool is_response_to(const struct hf_call *call, struct hf_span text, unsigned depth_max)
{
    struct hf_msg msg;
    struct hf_err err;
    int64_t id;
    return call && hf_msg_parse(text, depth_max, &msg, &err) == HF_MSG_OK &&
           (msg.kind == HF_MSG_RESULT || msg.kind == HF_MSG_ERROR) && msg.id.p &&
           hf_json_int(msg.id, &id) && (uint64_t)id == call->id;
}

void hf_post_message(struct hf_post *post, struct hf_span text, uint64_t now_ms)
{
    struct hf_runtime *runtime = post->runtime;
    hf_runtime_bytes_came(runtime, now_ms);
    post->has_progressed = true;
    if (post->status >= 300 &&
        !is_response_to(post->call, text, runtime->server->engine->limits.max_depth))
        return;
    hf_take_message(runtime, post->call, text);
}

void hf_post_message_over(struct hf_post *post, const struct hf_json_skim *skim, uint64_t now_ms)
{
    hf_runtime_bytes_came(post->runtime, now_ms);
    if (post->status < 300)
        hf_take_over(post->runtime, skim);
}

void hf_post_mark(struct hf_post *post, struct hf_span event_id, int64_t retry_ms)
{
    struct hf_remote *remote = &post->runtime->remote;
    char **last = post == remote->listen ? &remote->listen_id : &post->event_id;
    if (event_id.p) {
        hf_free(*last);
        *last = event_id.n ? hf_span_dup(event_id) : NULL;
    }
    post->has_progressed = true;
    post->retry_ms = retry_ms < RESUME_MS_MAX ? retry_ms : RESUME_MS_MAX;
}

void hf_post_endpoint(struct hf_post *post, struct hf_span url, uint64_t now_ms)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_remote *remote = &runtime->remote;
    hf_runtime_bytes_came(runtime, now_ms);
    if (post != remote->listen || !remote->is_sse || remote->endpoint)
        return;
    remote->endpoint = hf_span_dup(url);
    hf_hello_begin(runtime);
}

/* ---- an exchange ended: what became of its call ---- */

/* Only these say "I do not know what you want": everything else teaches nothing about the era. */
static bool says_other_era(int status)
{
    return status == 400 || status == 404 || status == 405;
}

static bool try_older_transport(struct hf_runtime *runtime, int status)
{
    if (!says_other_era(status) || runtime->remote.is_sse || runtime->remote.is_renewing ||
        runtime->server->settings.transport != HF_TRANSPORT_AUTO)
        return false;
    runtime->remote.is_sse = true;
    hf_remote_start(runtime);
    return true;
}

static void hello_failed(struct hf_call *call, const struct hf_post_end *end)
{
    struct hf_runtime *runtime = call->runtime;
    struct hf_server *server = runtime->server;
    const bool was_probe = call->purpose == HF_FOR_PROBE;
    hf_call_end(call);
    if (was_probe && says_other_era(end->status)) {
        hf_probe_is_legacy(runtime);
        return;
    }
    if (!was_probe && !runtime->was_probed && !runtime->remote.is_renewing &&
        says_other_era(end->status)) {
        hf_probe_begin(runtime);
        return;
    }
    if (!was_probe && try_older_transport(runtime, end->status))
        return;
    server->needs_auth = end->status == 401 || end->status == 403;
    if (server->needs_auth)
        hf_server_reason(server, "auth required (HTTP %d to initialize)", end->status);
    else if (end->status)
        hf_server_reason(server, "HTTP %d to initialize%s", end->status,
                         end->is_whole ? ", and no answer in it" : "");
    else
        hf_server_reason(server, "%s", end->why);
    hf_remote_lost(runtime);
}

static void ours_failed(struct hf_call *call, const struct hf_post_end *end)
{
    struct hf_runtime *runtime = call->runtime;
    const enum hf_call_purpose purpose = call->purpose;
    if (purpose == HF_FOR_LIST) {
        char error[80];
        (void)snprintf(error, sizeof error, "{\"code\":%d,\"message\":\"HTTP %d\"}", end->status,
                       end->status);
        const struct hf_msg failure = { .kind = HF_MSG_ERROR, .error = hf_span_of(error) };
        hf_list_answered(call, &failure);
        return;
    }
    hf_call_end(call);
    if (purpose == HF_FOR_CHECK && end->status) /* whatever it says, it is there */
        hf_check_answered(runtime);
    if (purpose == HF_FOR_DOUBT)
        hf_remote_doubt_resolved(runtime,
                                 end->status >= 400 && end->status < 500 ? end->status : 0);
}

/* For people. The server's own reason may be about another of its runtimes by now. */
static void describe_end(const struct hf_post_end *end, char text[REASON_MAX])
{
    if (!end->is_whole)
        (void)snprintf(text, REASON_MAX, "%s", end->why);
    else
        (void)snprintf(text, REASON_MAX, "HTTP %d%s", end->status,
                       end->status < 300 ? " without an answer in it" : "");
}

static void judge(struct hf_call *call, const struct hf_post_end *end, uint64_t session,
                  bool had_session)
{
    const struct hf_settings *settings = &call->runtime->server->settings;
    const struct hf_http_facts facts = {
        .sent = end->sent,
        .status = end->status,
        .had_session = had_session,
        .is_vouched = hf_status_in(&settings->refused_status, end->status),
    };
    const enum hf_http_verdict verdict = hf_http_verdict(facts);
    char why[REASON_MAX];
    describe_end(end, why);
    switch (verdict) {
    case HF_HTTP_UNSENT: hf_call_judge(call, HF_EVIDENCE_UNSENT, false, why); break;
    case HF_HTTP_PARTIAL: hf_call_judge(call, HF_EVIDENCE_PARTIAL, true, why); break;
    case HF_HTTP_REFUSED: hf_call_judge(call, HF_EVIDENCE_REFUSED, false, why); break;
    case HF_HTTP_DISPATCHED: hf_call_judge(call, HF_EVIDENCE_DISPATCHED, true, why); break;
    case HF_HTTP_DOUBTED: hf_remote_doubt(call, end->status, session); break;
    case HF_HTTP_REJECTED:
    case HF_HTTP_REJECTED_LATE: hf_remote_reject(call, end->status, verdict); break;
    }
}

static bool may_resume(const struct hf_post *post)
{
    return post->call && post->event_id && post->verb != HF_POST_LISTEN &&
           !post->runtime->is_frozen && post->status >= 200 && post->status < 300 &&
           (post->has_progressed || post->vain_resumes < VAIN_RESUMES_MAX);
}

static void resume_later(struct hf_post *post)
{
    struct hf_engine *engine = post->runtime->server->engine;
    post->vain_resumes = post->has_progressed ? 0 : post->vain_resumes + 1;
    post->verb = HF_POST_RESUME;
    hf_timer_set(&engine->timers, &post->timer,
                 engine->now_ms + (uint64_t)(post->retry_ms < 0 ? RESUME_MS : post->retry_ms));
}

/* What the end of one exchange says of the server as a whole: it cannot be reached, or somebody in
 * front of it says so, or it broke off in the middle of an answer. */
static bool is_loss(const struct hf_call *call, const struct hf_post_end *end)
{
    return end->status == 0 || (end->status >= 502 && end->status <= 504) ||
           (!end->is_whole && end->status < 300 && call);
}

static void report(struct hf_runtime *runtime, const struct hf_call *call,
                   const struct hf_post_end *end)
{
    struct hf_server *server = runtime->server;
    if (runtime != runtime->slot->current && runtime != runtime->slot->attempt)
        return;
    if (end->retry_after_ms > 0)
        server->not_before_ms = server->engine->now_ms + (uint64_t)end->retry_after_ms;
    if (!is_loss(call, end) || is_hello(call))
        return;
    char why[REASON_MAX];
    describe_end(end, why);
    hf_server_reason(server, "%s", why);
    hf_remote_lost(runtime);
}

static void message_over(struct hf_post *post, const struct hf_post_end *end)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_call *call = post->call;
    const uint64_t session = post->session;
    const bool had_session = post->session_id || runtime->remote.endpoint;
    const bool was_initialized = post == runtime->remote.initialized;
    const bool is_current = session == runtime->remote.session; /* else it hurts nobody else */
    const bool is_answered = post->is_answered;
    forget(post);
    if (is_answered) /* whatever its status says, or its end: it did what it was for */
        return;
    if (is_current)
        report(runtime, call, end);
    if (is_current && had_session && end->status == 404 && !is_hello(call))
        hf_remote_session_gone(runtime, 404);
    if (was_initialized)
        hf_hello_introduced(runtime);
    if (!call || call->stage == HF_CALL_ENDED)
        return;
    if (runtime->remote.is_sse && end->status >= 200 && end->status < 300)
        return; /* accepted: the answer comes on the stream */
    if (is_hello(call))
        hello_failed(call, end);
    else if (call->purpose != HF_FOR_CLIENT)
        ours_failed(call, end);
    else
        judge(call, end, session, had_session);
}

void hf_post_over(struct hf_post *post, const struct hf_post_end *end, uint64_t now_ms)
{
    struct hf_runtime *runtime = post->runtime;
    hf_set_now(runtime->server->engine, now_ms);
    post->status = end->status;
    assert(post->is_begun);
    post->is_begun = false;
    if (post->verb == HF_POST_GOODBYE) {
        forget(post);
        hf_runtime_hung_up(runtime, now_ms);
        return;
    }
    if (post->verb == HF_POST_LISTEN) {
        hf_remote_listen_over(post, end);
    } else if (may_resume(post)) {
        resume_later(post);
        return;
    } else if (post->verb == HF_POST_RESUME) {
        /* It was accepted and its answer cannot be had: whatever is said now, it may have run. */
        struct hf_post_end lost = *end;
        lost.sent = HF_SENT_WHOLE;
        if (lost.status >= 300 && lost.status < 502) {
            lost.status = 200;
            lost.is_whole = true;
        }
        message_over(post, &lost);
    } else {
        message_over(post, end);
    }
    hf_runtime_maybe_drained(runtime);
}
