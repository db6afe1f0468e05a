/* call.c - one request on its way through: made, dispatched, answered, lost, cancelled.
 *
 * 1. A client's call ends exactly once, by hf_call_end; whoever answers it does so just before.
 * 2. Only hf_call_lost sends bytes again, and only on the verdict of evidence.c.
 * 3. A call whose line is half written stays until the line is finished, whatever became of it. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "core/state.h"

/* ---- the table ---- */

/* Below 2^53, so that no JavaScript server rounds it; the serial wraps after 10^11 calls. */
static uint64_t next_id(struct hf_engine *engine, uint32_t index)
{
    return ((++engine->serial & ((UINT64_C(1) << 37) - 1)) << 16) | index;
}

static bool take_index(struct hf_engine *engine, struct hf_call *call)
{
    if (engine->call_count == engine->call_cap) {
        if (engine->call_cap == HF_CALLS_MAX)
            return false;
        const uint32_t cap = engine->call_cap ? 2 * engine->call_cap : 64;
        engine->calls = hf_realloc(engine->calls, cap * sizeof *engine->calls);
        for (uint32_t i = engine->call_cap; i < cap; i++)
            engine->calls[i] = NULL;
        engine->free_hint = engine->call_cap;
        engine->call_cap = cap;
    }
    while (engine->calls[engine->free_hint])
        engine->free_hint = (engine->free_hint + 1) % engine->call_cap;
    call->index = engine->free_hint;
    engine->calls[call->index] = call;
    engine->call_count++;
    call->id = next_id(engine, call->index);
    return true;
}

struct hf_call *hf_call_by_id(struct hf_runtime *runtime, uint64_t id)
{
    struct hf_engine *engine = runtime->server->engine;
    const uint32_t index = id & (HF_CALLS_MAX - 1);
    struct hf_call *call = index < engine->call_cap ? engine->calls[index] : NULL;
    if (!call || call->id != id || call->runtime != runtime)
        return NULL;
    /* a streaming decoder answers as soon as it has the closing brace, newline or not */
    const bool is_whole = call->stage == HF_CALL_SENT ||
                          (call->stage == HF_CALL_WRITING && call->extent.brace < runtime->written);
    return is_whole ? call : NULL;
}

static void free_call(void *p)
{
    struct hf_call *call = p;
    hf_free(call->own_name);
    hf_free(call->extra);
    hf_input_free(call->input);
    hf_era_undress(call->inserts);
    hf_free(call->own_text);
    hf_free(call);
}

static void bury_call(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    engine->calls[call->index] = NULL;
    engine->call_count--;
    hf_bury(engine, free_call, call);
}

/* `room` bytes stand behind the call, in the same piece of memory. */
static struct hf_call *make_call(struct hf_engine *engine, struct hf_session *session,
                                 const struct hf_method *method, size_t room)
{
    struct hf_call *call = hf_realloc(NULL, sizeof *call + room);
    *call = (struct hf_call) { 0 };
    call->engine = engine;
    call->session = session;
    call->method = method;
    call->history.is_repeatable = method->only_reads;
    hf_link_init(&call->link);
    hf_link_init(&call->in_session);
    hf_link_init(&call->frame.link);
    hf_timer_init(&call->timer, HF_TIMER_CALL, call);
    if (take_index(engine, call))
        return call;
    hf_free(call);
    return NULL;
}

struct hf_call *hf_call_new(struct hf_session *session, const struct hf_method *method,
                            const struct hf_msg *msg)
{
    struct hf_engine *engine = session->engine;
    /* what a modern server is told of its client is added when it is sent, and must fit by then */
    const bool says_it = session->is_taking_modern || !session->hello;
    const size_t intro = says_it ? 0 : strlen(session->hello);
    const size_t bytes = msg->text.n + intro;
    const bool fits = engine->held_bytes + bytes <= engine->limits.max_buffered_bytes;
    struct hf_call *call = fits ? make_call(engine, session, method, msg->text.n + 1) : NULL;
    if (!call) {
        hf_refuse(
            session, msg->id, NULL, HF_ERROR_OVERLOADED,
            fits ? "too_many_calls" : "max_buffered_bytes",
            "holdfast holds too many requests at this moment; this one was not sent. Try again "
            "later.");
        return NULL;
    }
    call->text = (char *)(call + 1);
    call->text_length = msg->text.n;
    memcpy(call->text, msg->text.p, msg->text.n);
    hf_msg_to_one_line(call->text, call->text_length);
    call->text[call->text_length] = '\n';
    call->intro = intro;
    hf_call_weigh(call, 0, bytes);
    call->client_id = (struct hf_span) { call->text + (msg->id.p - msg->text.p), msg->id.n };
    call->is_tool_call = method->id == HF_METHOD_TOOLS_CALL;
    call->via = session->via;
    call->is_modern = session->is_taking_modern;
    if (call->is_modern) {
        const struct hf_span capable = hf_json_get(hf_era_meta(msg), HF_SPAN(HF_META_CAPABLE));
        call->capabilities = (struct hf_span) { call->text + (capable.p - msg->text.p), capable.n };
    }
    call->digits = hf_digits(call->frame.digits, call->id);
    hf_call_cut(call, call->client_id, call->digits);
    hf_list_push(&session->calls, &call->in_session);
    return call;
}

struct hf_call *hf_call_ours(struct hf_runtime *runtime, enum hf_call_purpose purpose,
                             const struct hf_method *method, struct hf_span params)
{
    struct hf_engine *engine = runtime->server->engine;
    struct hf_call *call = runtime->is_frozen ? NULL : make_call(engine, NULL, method, 0);
    if (!call)
        return NULL;
    call->purpose = purpose;
    struct hf_buf draft = hf_draft();
    hf_buf_printf(&draft, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\"",
                  (unsigned long long)call->id, method->name);
    if (runtime->is_modern || purpose == HF_FOR_PROBE) {
        hf_buf_add_str(&draft, ",\"params\":{\"_meta\":{");
        hf_era_add_meta(&draft, HF_SPAN("{\"name\":\"holdfast\",\"version\":\"" HF_VERSION "\"}"),
                        HF_SPAN("{}"), (struct hf_span) { NULL, 0 });
        hf_buf_add_char(&draft, '}');
        if (params.n > 2)
            hf_buf_add_char(&draft, ',');
        hf_buf_add(&draft, params.n > 2 ? hf_span_from(params, 1) : HF_SPAN("}"));
    } else if (params.n) {
        hf_buf_add_str(&draft, ",\"params\":");
        hf_buf_add(&draft, params);
    }
    hf_buf_add_str(&draft, "}\n");
    call->text = call->own_text = draft.p;
    call->text_length = hf_buf_len(&draft) - 1;
    hf_msg_to_one_line(call->text, call->text_length);
    hf_call_weigh(call, 0, call->text_length);
    hf_call_dispatch(call, runtime);
    return call;
}

/* ---- deadlines ---- */

static void cancel_at_server(struct hf_call *call, struct hf_span reason)
{
    assert(call->runtime); /* it was sent there */
    if (call->runtime->is_remote && call->runtime->is_modern)
        return; /* there, closing the stream says it, and that is done as the call ends */
    struct hf_buf draft = hf_draft();
    hf_buf_printf(&draft,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":%llu",
                  (unsigned long long)call->id);
    if (reason.n) {
        hf_buf_add_str(&draft, ",\"reason\":");
        hf_buf_add(&draft, reason);
    }
    hf_buf_add_str(&draft, "}}");
    hf_mention_about(call, hf_keep(call->engine, &draft));
}

void hf_call_take_back(struct hf_call *call, struct hf_span reason)
{
    if (call->stage == HF_CALL_SENT)
        cancel_at_server(call, reason);
    call->is_cancelled = true;
}

void hf_call_timer(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    struct hf_runtime *runtime = call->runtime;
    if (call->stage == HF_CALL_HELD) {
        hf_held_over(call);
        return;
    }
    if (call->purpose == HF_FOR_DOUBT) {
        hf_call_end(call);
        hf_remote_doubt_resolved(runtime, 0);
        return;
    }
    if (call->is_resting && engine->now_ms >= call->rest_until_ms) {
        hf_call_rested(call);
        return;
    }
    const bool out_of_time = call->end_by_ms && engine->now_ms >= call->end_by_ms;
    const char *name = call->slot->server->name;
    if (call->stage >= HF_CALL_WRITING) {
        hf_call_take_back(call, HF_SPAN("\"holdfast: the call ran out of time\""));
        hf_call_fail(
            call, HF_ERROR_OUTCOME_UNKNOWN, out_of_time ? "timeout" : "wait_over",
            "The call to \"%s\" was sent and did not answer in time (%s); it was cancelled, but it "
            "may have run. Check its effect before sending it again.",
            name, out_of_time ? "callTimeoutMs" : "waitMs, and its server read it only in part");
        hf_check_maybe(runtime);
        return;
    }
    hf_call_fail(call, HF_ERROR_UNAVAILABLE, out_of_time ? "timeout" : "wait_over",
                 "The server \"%s\" was not available in time (%s); the call was never sent and is "
                 "safe to send again.",
                 name,
                 call->slot->server->reason[0] ? call->slot->server->reason : "it is starting");
}

/* ---- out and back ---- */

void hf_call_dispatch(struct hf_call *call, struct hf_runtime *runtime)
{
    struct hf_engine *engine = call->engine;
    assert(!runtime->is_frozen && !hf_linked(&call->link));
    call->runtime = runtime;
    call->slot = runtime->slot;
    call->stage = HF_CALL_QUEUED;
    call->dispatched_ms = engine->now_ms;
    hf_list_push(&runtime->calls, &call->link);
    if (call->session) {
        runtime->in_flight++;
        runtime->server->calls++;
        hf_session_dispatched(call->session);
        hf_slot_touch(runtime->slot);
    }
    hf_frame_build(call);
    hf_call_arm(call);
    if (runtime->is_remote) {
        hf_remote_dispatch(call);
    } else {
        hf_list_push(&runtime->out, &call->frame.link);
        hf_runtime_want_write(runtime);
    }
}

void hf_call_written(struct hf_call *call)
{
    if (call->stage == HF_CALL_ENDED) { /* while its line was half written */
        if (call->is_cancelled)
            cancel_at_server(call, HF_SPAN(""));
        bury_call(call);
        return;
    }
    assert(call->stage == HF_CALL_WRITING);
    call->stage = HF_CALL_SENT;
    call->dispatched_ms = call->engine->now_ms;
    hf_call_arm(call);
}

void hf_call_abandoned(struct hf_call *call)
{
    assert(call->stage == HF_CALL_ENDED);
    bury_call(call);
}

/* Takes the call out of the runtime, into no list; true if its half-written line must still be
 * finished. */
static bool leave_runtime(struct hf_call *call)
{
    struct hf_runtime *runtime = call->runtime;
    hf_unlink(&call->link);
    if (call->session)
        runtime->in_flight--;
    if (runtime->check_call == call)
        runtime->check_call = NULL;
    if (runtime->remote.doubt == call)
        runtime->remote.doubt = NULL;
    if (call->purpose == HF_FOR_LISTEN)
        hf_ear_left(call);
    if (call->post)
        hf_post_leave(call->post, call->is_answered);
    const bool half_written = call->stage == HF_CALL_WRITING && !runtime->is_frozen;
    if (!half_written && hf_linked(&call->frame.link)) {
        hf_unlink(&call->frame.link);
        if (hf_list_empty(&runtime->out)) {
            runtime->write_wanted = false;
            hf_timer_clear(&call->engine->timers, &runtime->stall);
        }
    }
    if (call->stage == HF_CALL_QUEUED) /* in vain: it was waiting all the same */
        call->waited_ms += call->engine->now_ms - call->dispatched_ms;
    call->stage = HF_CALL_NEW;
    return half_written;
}

/* A call has gone: there may be room for another, or it was the last that was waited for. */
static void left(struct hf_runtime *before)
{
    if (before->is_settled)
        return;
    hf_runtime_maybe_drained(before);
    hf_check_call_ended(before);
    if (before == before->slot->current && before->slot->waiting)
        hf_slot_flush(before->slot);
}

void hf_call_end(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    struct hf_session *session = call->session;
    struct hf_runtime *runtime = call->stage >= HF_CALL_QUEUED ? call->runtime : NULL;
    assert(call->stage != HF_CALL_ENDED);
    bool stays = false;
    if (call->park)
        hf_park_left(call);
    if (runtime)
        stays = leave_runtime(call);
    else if (call->stage == HF_CALL_WAITING)
        hf_call_unwait(call);
    else if (call->stage == HF_CALL_HELD)
        engine->held_count--;
    hf_timer_clear(&engine->timers, &call->timer);
    hf_unlink(&call->in_session);
    hf_call_weigh(call, call->held, 0);
    call->stage = HF_CALL_ENDED;
    call->session = NULL;
    if (!stays)
        bury_call(call);
    if (runtime)
        left(runtime);
    if (session)
        hf_session_maybe_settle(session);
}

/* Once for each call of a client that was for a server, just before its answer. */
static void count(struct hf_call *call, uint64_t *outcome)
{
    struct hf_stats *stats = &call->slot->server->stats;
    const uint64_t now = call->engine->now_ms;
    const uint64_t waits = call->stage == HF_CALL_WAITING ? now - call->waiting_since_ms : 0;
    (*outcome)++;
    hf_histogram_add(&stats->waiting, call->waited_ms + waits);
}

void hf_call_fail(struct hf_call *call, enum hf_error error, const char *reason, const char *format,
                  ...)
{
    char sentence[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    const struct hf_slot *slot = call->slot;
    struct hf_server *server = slot ? slot->server : NULL;
    if (call->was_dispatched && server && !hf_error_dispatched(error)) {
        error = HF_ERROR_OUTCOME_UNKNOWN;
        (void)snprintf(sentence, sizeof sentence,
                       call->input
                           ? "The server \"%s\" asked for input in the middle of the call and "
                             "could not be given it (%s). What it did before it asked is not "
                             "known: check that before sending it again."
                           : "The request was sent to \"%s\", which was lost before it answered, "
                             "and it could not be repeated (%s). It may have run.",
                       server->name, reason);
    }
    struct hf_error_facts facts = {
        .sentence = hf_span_of(sentence),
        .reason = hf_span_of(reason),
        .evidence = hf_error_dispatched(error) ? HF_EVIDENCE_DISPATCHED : call->evidence,
        .retry_after_ms = -1,
    };
    if (server) {
        facts.server = hf_span_of(server->name);
        facts.state = hf_span_of(hf_slot_state_name(slot->machine.state));
        /* whose question cannot be answered, unless the answer went to another already */
        const bool is_asked = call->input && call->stage < HF_CALL_WRITING;
        facts.generation = is_asked                        ? call->input->generation
                           : call->runtime                 ? call->runtime->generation
                           : call->stage == HF_CALL_JOINED ? hf_park_generation(call->park)
                                                           : server->generation;
        if (error == HF_ERROR_UNAVAILABLE || error == HF_ERROR_PERMANENTLY_FAILED)
            facts.retry_after_ms = hf_call_retry_after_ms(call);
        hf_note(call->engine, HF_NOTE_INFO, server, facts.generation,
                "%s evidence=%s reason=\"%s\" method=%s", hf_error_name(error),
                hf_evidence_name(facts.evidence), reason, call->method->name);
    }
    if (call->session && server)
        count(call, &server->stats.failed[error]);
    if (call->stage == HF_CALL_ASKING)
        hf_input_drop(call); /* before its answer, which ends its stream */
    if (hf_call_is_parked(call)) {
        if (hf_park_failed(call, error, &facts))
            return;
    } else if (call->session) {
        hf_send_failure(call->session, call->via, call->client_id, error, &facts);
    }
    struct hf_runtime *runtime = call->stage >= HF_CALL_WRITING ? call->runtime : NULL;
    hf_call_end(call);
    if (hf_error_dispatched(error))
        hf_ear_unsure(runtime, call);
}

void hf_call_pass(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    struct hf_stats *stats = &runtime->server->stats;
    runtime->completed_a_call = true;
    count(call, msg->kind == HF_MSG_ERROR ? &stats->errors : &stats->results);
    hf_histogram_add(&stats->latency, call->engine->now_ms - call->dispatched_ms);
    if (runtime == runtime->slot->current) /* what an old one still answers proves nothing */
        hf_backoff_call_completed(&runtime->server->backoff);
    if (call->is_modern && !runtime->is_modern && hf_park_url_required(call, msg))
        return;
    if (hf_call_is_parked(call)) {
        hf_park_answered(call, msg);
        return;
    }
    if (call->is_modern && !runtime->is_modern && hf_modern_pass(call, msg)) {
        hf_call_end(call);
        return;
    }
    struct hf_effect *answer =
        hf_send_spliced(call->session, call->via, msg->text, msg->id, call->client_id);
    if (answer) {
        int64_t code = 0;
        answer->is_answer = true;
        if (msg->kind == HF_MSG_ERROR &&
            !hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code))
            code = -32603;
        answer->error_code = (int)code;
    }
    hf_call_end(call);
}

/* The server has answered and is done with it, and the call is not: as if it had never been sent.
 */
static struct hf_runtime *step_out(struct hf_call *call)
{
    struct hf_runtime *before = call->runtime;
    if (leave_runtime(call))
        hf_frame_leave_newline(call);
    call->runtime = NULL;
    call->history = (struct hf_history) { .is_repeatable = call->history.is_repeatable };
    call->was_dispatched = call->is_answered = false;
    call->evidence = HF_EVIDENCE_UNSENT;
    return before;
}

void hf_call_move(struct hf_call *call, struct hf_slot *slot)
{
    struct hf_runtime *before = step_out(call);
    hf_call_arrive(call, slot);
    left(before);
}

void hf_call_pause(struct hf_call *call)
{
    struct hf_runtime *before = call->stage >= HF_CALL_QUEUED ? step_out(call) : NULL;
    if (call->stage == HF_CALL_WAITING)
        hf_call_unwait(call);
    call->stage = HF_CALL_ASKING;
    hf_call_stop_clock(call, true); /* while the client is asked */
    hf_timer_clear(&call->engine->timers, &call->timer);
    if (before)
        left(before);
}

/* Under an id of its own: to the server it is another request. */
static void renumber(struct hf_call *call)
{
    const char *old = call->digits.p;
    call->id = next_id(call->engine, call->index);
    call->digits = hf_digits(call->frame.digits, call->id);
    for (unsigned i = 0; i < call->cut_count; i++)
        if (call->cuts[i].by.p == old)
            call->cuts[i].by = call->digits;
}

void hf_call_continue(struct hf_call *call)
{
    hf_call_stop_clock(call, false);
    call->stage = HF_CALL_NEW;
    renumber(call);
    hf_call_arrive(call, call->slot);
}

/* ---- lost and cancelled ---- */

static void send_again(struct hf_call *call)
{
    struct hf_server *server = call->slot->server;
    struct hf_runtime *before = call->runtime;
    if (call->park)
        hf_park_lost(call);
    (void)leave_runtime(call);
    call->runtime = NULL;
    call->is_answered = false; /* if it was refused: another answer is waited for */
    server->resends++;
    hf_note(call->engine, HF_NOTE_INFO, server, before->generation,
            "resend evidence=%s sends=%u method=%s", hf_evidence_name(call->evidence),
            call->history.sends, call->method->name);
    hf_call_arrive(call, call->slot);
    left(before);
}

void hf_call_lost(struct hf_call *call, struct hf_stream_facts facts)
{
    if (call->purpose != HF_FOR_CLIENT) {
        hf_call_end(call);
        return;
    }
    if (call->doubted_status) {
        hf_remote_doubt_over(call);
        return;
    }
    hf_call_judge(call, hf_evidence_of(call->extent, facts),
                  hf_evidence_byte_taken(call->extent, facts), call->slot->server->reason);
}

void hf_call_judge(struct hf_call *call, enum hf_evidence evidence, bool byte_taken,
                   const char *why)
{
    struct hf_server *server = call->slot->server;
    if (hf_call_is_parked(call) && !call->park->is_anew) { /* its server asked: it goes on there */
        evidence = HF_EVIDENCE_DISPATCHED;
        call->history.is_repeatable = false;
    }
    server->stats.lost[evidence]++;
    call->evidence = evidence;
    call->was_dispatched |= evidence == HF_EVIDENCE_DISPATCHED;
    call->history.byte_taken |= byte_taken;
    switch (hf_evidence_verdict(call->evidence, call->history)) {
    case HF_VERDICT_RESEND: send_again(call); break;
    case HF_VERDICT_UNKNOWN:
        server->unknowns++;
        hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, why,
                     "The call was sent to \"%s\" and no answer came back (%s). It may have run. "
                     "Check its effect before sending it again.",
                     server->name, why);
        break;
    case HF_VERDICT_DIES_ON_IT:
        hf_call_fail(
            call, HF_ERROR_DIES_ON_IT, "server_dies_on_it",
            "The server \"%s\" died %u times while it was reading this call, before it had "
            "all of it; the call never ran. Do not send it again as it is.",
            server->name, call->history.sends);
        break;
    case HF_VERDICT_REFUSED_AGAIN:
        hf_call_fail(call, HF_ERROR_DIES_ON_IT, "refused_again",
                     "The server \"%s\" turned this call away %u times; it never ran.",
                     server->name, call->history.sends);
        break;
    }
}

void hf_call_cancel(struct hf_call *call, struct hf_span reason)
{
    struct hf_runtime *runtime = call->stage >= HF_CALL_WRITING ? call->runtime : NULL;
    const bool was_silent =
        runtime && runtime->last_byte_ms <= call->dispatched_ms &&
        call->engine->now_ms - call->dispatched_ms > runtime->server->settings.liveness.gap_ms;
    hf_call_take_back(call, reason);
    if (call->slot)
        count(call, &call->slot->server->stats.cancelled);
    if (call->stage == HF_CALL_ASKING)
        hf_input_drop(call);
    if (hf_linked(&call->in_session)) /* else it was parked: its client has its answer */
        hf_send_nothing(call->session, call->via);
    hf_call_end(call);
    hf_ear_unsure(runtime, call);
    if (was_silent)
        hf_check_maybe(runtime);
}

void hf_call_withdraw(struct hf_call *call)
{
    hf_call_take_back(call, HF_SPAN(""));
    hf_call_end(call);
}
