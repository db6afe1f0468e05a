/* remote.c - a runtime whose server is reached over HTTP: every message has an exchange of its own.
 *
 * 1. A post is begun once. Whether its call may be sent again is decided where every loss is
 * judged, from what the exchange proved (evidence.c).
 * 2. Losing one exchange takes nothing from the others: a lost runtime gets nothing new, and the
 *    answers still under way come in (P4).
 * 3. An answer counts by its id and its runtime, on whichever exchange it comes. */
#include <assert.h>
#include "core/state.h"

enum { ENDS_WITHIN_MS = 10000 }; /* after its answer came, a stream has nothing more to say */

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
    struct hf_remote *remote = runtime->remote;
    struct hf_post *post = hf_new(struct hf_post);
    post->runtime = runtime;
    post->verb = verb;
    post->call = call;
    post->session = remote->session;
    post->session_id = remote->session_id ? hf_strdup(remote->session_id) : NULL;
    post->retry_ms = -1;
    hf_timer_init(&post->timer, HF_TIMER_EXCHANGE, post);
    hf_list_push(&remote->posts, &post->link);
    begin(post);
    return post;
}

static void free_post(void *p)
{
    struct hf_post *post = p;
    hf_free(post->owned);
    hf_free(post->session_id);
    hf_free(post->endpoint);
    hf_free(post->event_id);
    hf_free(post->to_nobody);
    hf_free(post);
}

static void set_initialized(struct hf_runtime *runtime, struct hf_post *post)
{
    runtime->remote->initialized = post;
    runtime->is_introducing = post != NULL;
}

static void forget(struct hf_post *post)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_engine *engine = runtime->server->engine;
    if (post->call)
        post->call->post = NULL;
    if (runtime->remote->listen == post)
        runtime->remote->listen = NULL;
    if (runtime->remote->initialized == post)
        set_initialized(runtime, NULL);
    runtime->unsent_bytes -= post->owned_length;
    runtime->unsent_count -= post->owned != NULL;
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

static void leave(struct hf_post *post, bool is_answered)
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
bool hf_call_is_initialize(const struct hf_call *call)
{
    return call &&
           (call->owner->purpose == HF_FOR_INITIALIZE || call->owner->purpose == HF_FOR_ERA_PROBE);
}

bool hf_status_wants_auth(int status)
{
    return status == 401 || status == 403;
}

void hf_post_request(const struct hf_post *post, struct hf_post_request *ret_request)
{
    const struct hf_remote *remote = post->runtime->remote;
    const char *last = post->verb == HF_POST_RESUME   ? post->event_id
                       : post->verb == HF_POST_LISTEN ? remote->listen_id
                                                      : NULL;
    *ret_request = (struct hf_post_request) {
        .verb = post->verb,
        .session_id = hf_span_of(post->session_id),
        .last_event_id = hf_span_of(last),
        /* What is ours to say runs nothing. A client's request is judged by its evidence alone. */
        .may_repeat = post->verb == HF_POST_MESSAGE
                          ? !post->call || post->call->owner->purpose != HF_FOR_CLIENT
                          : post->verb != HF_POST_GOODBYE,
    };
    if (!hf_call_is_initialize(post->call))
        ret_request->version = hf_span_of(remote->version);
    if (post->runtime->is_modern ||
        (post->call && post->call->owner->purpose == HF_FOR_ERA_PROBE)) {
        ret_request->version = HF_SPAN(HF_MODERN_VERSION);
        ret_request->headers = hf_remote_headers(post);
    }
    if (post->verb == HF_POST_MESSAGE)
        ret_request->endpoint = hf_span_of(post->endpoint ? post->endpoint : remote->endpoint);
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
bool hf_post_is_answered(const struct hf_post *post)
{
    return post->is_answered;
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

static void send(struct hf_call *call)
{
    call->post = hf_post_new(call->runtime, HF_POST_MESSAGE, call);
}

static void end_within_stall(struct hf_post *post)
{
    struct hf_engine *engine = post->runtime->server->engine;
    hf_timer_set(&engine->timers, &post->timer,
                 engine->now_ms + post->runtime->server->settings.stall_ms);
}

static struct hf_post *tell(struct hf_runtime *runtime, struct hf_span message)
{
    struct hf_post *post = hf_post_new(runtime, HF_POST_MESSAGE, NULL);
    post->owned = hf_span_dup(message);
    post->owned_length = message.n;
    runtime->unsent_bytes += message.n;
    runtime->unsent_count++;
    end_within_stall(post);
    return post;
}

static void tell_about(struct hf_runtime *runtime, const struct hf_call *about,
                       struct hf_span message)
{
    const struct hf_post *asked = about ? about->post : NULL;
    if (about && !asked && !runtime->is_older_transport)
        return; /* it was turned away, and the rest of it is only in our heads */
    if (!asked && hf_runtime_is_renewing(runtime))
        return; /* it is about what the server has forgotten */
    struct hf_post *post = tell(runtime, message);
    if (!asked || asked->session == post->session)
        return;
    post->session = asked->session;
    hf_free(post->session_id);
    post->session_id = asked->session_id ? hf_strdup(asked->session_id) : NULL;
}

static bool can_be_a_header(struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    return true;
}

static void agree(struct hf_runtime *runtime, struct hf_span version)
{
    struct hf_remote *remote = runtime->remote;
    struct hf_buf plain = hf_draft();
    if (!hf_json_unescape(version, &plain) || !can_be_a_header(hf_buf_span(&plain)))
        hf_buf_clear(&plain);
    hf_free(remote->version);
    remote->version = hf_buf_len(&plain) ? hf_span_dup(hf_buf_span(&plain)) : NULL;
    hf_buf_done(&plain);
}

static void introduce(struct hf_runtime *runtime)
{
    struct hf_post *post =
        tell(runtime, HF_SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
    set_initialized(runtime, post);
    /* nothing goes on without it: its time is that of the whole start */
    hf_timer_clear(&runtime->server->engine->timers, &post->timer);
}

/* ---- coming and going ---- */

static void init(struct hf_runtime *runtime)
{
    struct hf_remote *remote = hf_new(struct hf_remote);
    runtime->remote = remote;
    hf_link_init(&remote->posts);
    hf_timer_init(&remote->listen_again, HF_TIMER_SERVER_STREAM, runtime);
    remote->session = 1;
    runtime->is_older_transport = runtime->server->settings.transport == HF_TRANSPORT_SSE;
    runtime->written = 1; /* a call that was begun lies before it: read, for all we know */
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
    struct hf_post *post;
    HF_LIST_EACH_SAFE (post, &remote->posts, struct hf_post, link) {
        hf_post_abort(post);
    }
    hf_timer_clear(&runtime->server->engine->timers, &remote->listen_again);
}

void hf_remote_start(struct hf_runtime *runtime)
{
    if (runtime->is_older_transport)
        runtime->remote->listen = hf_post_new(runtime, HF_POST_LISTEN, NULL);
    else
        hf_handshake_begin(runtime);
}

/* The runtime is frozen. What it is still asked is given up, and its session is ended. */
static void close_session(struct hf_runtime *runtime)
{
    struct hf_remote *remote = runtime->remote;
    done(runtime);
    if (remote->session_id && !runtime->is_older_transport)
        (void)hf_post_new(runtime, HF_POST_GOODBYE, NULL);
    else
        hf_emit(runtime->server->engine, HF_DO_HANG_UP)->runtime = runtime;
}

static void kill(struct hf_runtime *runtime)
{
    done(runtime);
    if (!runtime->is_tree_gone)
        hf_emit(runtime->server->engine, HF_DO_HANG_UP)->runtime = runtime;
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
    hf_refusals_in_vain(runtime->slot); /* there will be no other to tell */
    if (!runtime->remote->was_lost || runtime->machine.state != HF_RUNTIME_DRAINING)
        return;
    runtime->remote->was_lost = false;
    hf_timer_set(&engine->timers, &runtime->stay,
                 engine->now_ms + runtime->server->settings.drain_ms);
}

/* ---- what the shell saw ---- */

void hf_post_sending(struct hf_post *post, struct hf_now now)
{
    struct hf_call *call = post->call;
    hf_set_now(post->runtime->server->engine, now);
    if (!call || call->stage != HF_CALL_QUEUED)
        return;
    hf_call_set_stage(call, HF_CALL_SENT);
    call->waited_ms += now.mono_ms - call->dispatched_ms;
    call->dispatched_ms = now.mono_ms;
    call->extent = (struct hf_extent) { .begun = true };
    call->history.sends++;
    hf_call_arm(call);
}

/* The rest of the greeting, should it be cut, belongs to the session as well. */
static void take_session_id(struct hf_post *post, struct hf_span session_id)
{
    struct hf_remote *remote = post->runtime->remote;
    hf_free(remote->session_id);
    hf_free(post->session_id);
    remote->session_id = session_id.p ? hf_span_dup(session_id) : NULL;
    post->session_id = session_id.p ? hf_span_dup(session_id) : NULL;
}

void hf_post_head(struct hf_post *post, int status, bool is_stream, struct hf_span session_id,
                  struct hf_now now)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_remote *remote = runtime->remote;
    hf_runtime_bytes_came(runtime, now);
    post->status = status;
    post->is_stream = is_stream;
    post->opened_ms = now.mono_ms;
    if (status < 200 || status > 299)
        return;
    if (post == remote->initialized) { /* it has arrived, whatever else comes of it */
        set_initialized(runtime, NULL);
        end_within_stall(post);
        hf_handshake_introduced(runtime);
    }
    if (post->call && post->call->owner->purpose == HF_FOR_INITIALIZE) {
        if (post->verb == HF_POST_MESSAGE)
            take_session_id(post, session_id);
    } else if (post->verb == HF_POST_MESSAGE && post->call && post->session == remote->session &&
               !hf_inquiry_is_stranger(post->call)) {
        remote->is_session_proven = true;
        remote->has_served |= post->call->owner->purpose == HF_FOR_CLIENT;
    }
    if (post == remote->listen && is_stream) {
        if (remote->listened == post->session && !remote->listen_id)
            for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
                hf_listing_again(runtime, part); /* what it said meanwhile is lost */
        remote->listened = post->session;
    }
}

/* With an error status only one thing counts: the response to the request that was sent. And where
 * credentials are wanted before anything is agreed on, not even that. */
enum hf_reading hf_post_read(struct hf_post *post, const struct hf_body *body,
                             struct hf_span *ret_answer)
{
    const struct hf_call *call = post->call;
    struct hf_engine *engine = post->runtime->server->engine;
    const unsigned depth_max = engine->limits.max_depth;
    *ret_answer = (struct hf_span) { NULL, 0 };
    if (!call || (hf_call_is_initialize(call) && hf_status_wants_auth(post->status)))
        return hf_body_is_sound(body, depth_max) ? HF_READ_NO_ANSWER : HF_READ_UNREADABLE;
    struct hf_buf answer = hf_draft();
    const enum hf_reading reading = hf_body_read(body, call->id, depth_max, &answer);
    *ret_answer = hf_draft_end(engine, &answer);
    return reading;
}

bool hf_post_is_answer(struct hf_post *post, struct hf_span text)
{
    const struct hf_body body = { .text = text };
    struct hf_span answer;
    const enum hf_reading reading = hf_post_read(post, &body, &answer);
    return reading == HF_READ_RESULT || reading == HF_READ_ERROR;
}

/* Of a stream: if that is all that it says, it may mean that the session is not known. */
static void note_to_nobody(struct hf_post *post, struct hf_span text)
{
    const struct hf_body body = { .text = text };
    if (!post->is_answered && hf_linked(&post->link) && post->call && post->session_id &&
        hf_body_is_error_to_nobody(&body))
        post->to_nobody = hf_span_dup(text);
}

/* An event under an error status: an answer is an answer. But an error there proves nothing of its
 * call, and as little that whoever asks under this session is served. */
static void take_from_error(struct hf_post *post, struct hf_span text)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_call *call = post->call;
    struct hf_span answer;
    const struct hf_body body = { .text = text };
    const enum hf_reading reading = hf_post_read(post, &body, &answer);
    const bool is_refusal = reading == HF_READ_ERROR && post->is_stream && post->session_id;
    if (reading != HF_READ_RESULT && reading != HF_READ_ERROR)
        return;
    if (is_refusal && call->owner->purpose == HF_FOR_INQUIRY) {
        hf_inquiry_over(call, post->status, false, NULL);
        return;
    }
    const bool is_clients = call->owner->purpose == HF_FOR_CLIENT;
    const int status = post->status;
    const uint64_t session = post->session;
    post->is_exact = !post->is_stream && hf_body_is_exact_error(&body, call->id);
    hf_server_message(runtime, call, answer);
    if (is_refusal && is_clients && session == runtime->remote->session)
        hf_remote_call_refused(runtime, status);
}

void hf_post_message(struct hf_post *post, struct hf_span text, struct hf_now now)
{
    struct hf_runtime *runtime = post->runtime;
    hf_runtime_bytes_came(runtime, now);
    post->has_progressed = true;
    text = hf_msg_without_bom(text);
    if (post->status < 300) {
        hf_server_message(runtime, post->call, text);
        if (post->is_stream && post->message_count++ == 0)
            note_to_nobody(post, text);
        return;
    }
    take_from_error(post, text);
}

void hf_post_message_over(struct hf_post *post, const struct hf_json_skim *skim, struct hf_now now)
{
    hf_runtime_bytes_came(post->runtime, now);
    post->message_count++;
    if (post->status < 300)
        hf_server_message_oversized(post->runtime, skim);
}

void hf_post_mark(struct hf_post *post, struct hf_span event_id, int64_t retry_ms)
{
    struct hf_remote *remote = post->runtime->remote;
    char **last = post == remote->listen ? &remote->listen_id : &post->event_id;
    if (event_id.p && !(*last && hf_span_is(event_id, *last))) {
        hf_free(*last);
        *last = event_id.n ? hf_span_dup(event_id) : NULL;
        post->has_progressed = true;
    }
    if (retry_ms >= 0)
        post->retry_ms = retry_ms < HF_RETRY_MS_MIN   ? HF_RETRY_MS_MIN
                         : retry_ms > HF_RETRY_MS_MAX ? HF_RETRY_MS_MAX
                                                      : retry_ms;
}

void hf_post_endpoint(struct hf_post *post, struct hf_span url, struct hf_now now)
{
    struct hf_runtime *runtime = post->runtime;
    struct hf_remote *remote = runtime->remote;
    hf_runtime_bytes_came(runtime, now);
    if (post != remote->listen || !runtime->is_older_transport || remote->endpoint)
        return;
    remote->endpoint = hf_span_dup(url);
    hf_handshake_begin(runtime);
}

/* ---- the transport ---- */

static void call_left(struct hf_call *call)
{
    hf_refusal_drop(call);
    if (call->post)
        leave(call->post, call->is_answered);
}

static bool call_lost(struct hf_call *call)
{
    const bool is_doubted = call->refusal;
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
    hf_remote_upstream_refused(runtime, 404); /* as HTTP says it */
}

static void start_timed_out(struct hf_runtime *runtime)
{
    if (!hf_runtime_is_renewing(runtime))
        return;
    hf_server_reason(runtime->server, "gave no new session within %u ms",
                     runtime->server->settings.start_timeout_ms);
    hf_remote_lost(runtime);
}

/* A server that was lost to one call may still be answering others: as long as nobody wants it
 * gone, they have the time they need. Else what is under way is given up, and its session ended:
 * there is no process to kill. */
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
    .send = send,
    .tell = tell_about,
    .call_left = call_left,
    .call_lost = call_lost,
    .call_due = hf_refusal_unproven,
    .takes_answer = hf_remote_takes_answer,
    .answer_passed = hf_remote_answer_passed,
    .greet = hf_remote_start,
    .forget_session = forget_session,
    .agree = agree,
    .introduce = introduce,
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
