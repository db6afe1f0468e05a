/* call.c - one request on its way through: made, dispatched, moved, released.
 *
 * 1. A client's call ends by hf_call_answer (answer.c) and by nothing else.
 * 2. Bytes of a call go out again only by hf_call_judge (verdict.c).
 * 3. A call whose line is half written stays until the line is finished, whatever became of it. */
#include "core/call/call.h"
#include <assert.h>
#include <stdio.h>
#include "core/call/answer.h"
#include "core/call/frame.h"
#include "core/call/party.h"
#include "core/call/queue.h"
#include "core/call/seam.h"
#include "core/call/send.h"
#include "core/call/session_calls.h"
#include "core/call/settle.h"
#include "core/machine/evidence.h"
#include "core/machine/stage.h"
#include "core/outbox.h"
#include "core/state/incoming.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

void hf_call_set_stage(struct hf_call *call, enum hf_call_stage to)
{
    struct hf_engine *engine = call->engine;
    if (!hf_stage_may_follow(call->stage, to))
        hf_note(engine, NULL,
                &(struct hf_note) { .event = HF_NOTE_BUG,
                                    .what = HF_SPAN("call"),
                                    .from = hf_span_of(hf_stage_name(call->stage)),
                                    .to = hf_span_of(hf_stage_name(to)) });
    /* set all the same: the call has changed lists already, and its stage must agree with them */
    engine->held_count += (uint32_t)(to == HF_CALL_HELD) - (call->stage == HF_CALL_HELD);
    call->stage = to;
}

/* ---- the table ---- */

/* Ids are below 2^53, so that no JavaScript server rounds them; the serial wraps after 3 * 10^10
 * calls. */
static uint64_t next_id(struct hf_engine *engine, uint32_t index)
{
    return ((++engine->serial & ((UINT64_C(1) << 35) - 1)) << HF_CALL_INDEX_BITS) | index;
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

static void write_digits(struct hf_call *call)
{
    struct hf_frame *frame = &call->frame;
    frame->digits_at = (uint8_t)(hf_digits(frame->digits, call->id).p - frame->digits);
}

struct hf_call *hf_call_at(const struct hf_engine *engine, uint64_t id)
{
    const uint32_t index = id & (HF_CALLS_MAX - 1);
    struct hf_call *call = index < engine->call_cap ? engine->calls[index] : NULL;
    return call && call->id == id ? call : NULL;
}

struct hf_call *hf_call_by_id(struct hf_runtime *runtime, uint64_t id)
{
    struct hf_call *call = hf_call_at(runtime->server->engine, id);
    if (!call || call->runtime != runtime)
        return NULL;
    /* a streaming decoder answers as soon as it has the closing brace, newline or not */
    const bool is_whole = call->stage == HF_CALL_SENT ||
                          (call->stage == HF_CALL_WRITING && call->extent.brace < runtime->written);
    return is_whole ? call : NULL;
}

/* A modern call has its `eras` in its own block of memory. */
static bool has_own_eras(const struct hf_call *call)
{
    return (const void *)call->eras == (const void *)(call + 1);
}

static void free_eras(struct hf_call *call)
{
    if (call->eras->input)
        call->engine->bridge->input_free(call->eras->input);
    hf_free(call->eras->extra);
    hf_era_undress(call->eras->inserts);
    if (!has_own_eras(call))
        hf_free(call->eras);
}

struct hf_call_eras *hf_call_eras(struct hf_call *call)
{
    if (!call->eras)
        call->eras = hf_new(struct hf_call_eras);
    return call->eras;
}

struct hf_detour *hf_call_make_detour(struct hf_call *call)
{
    if (!call->detour) {
        call->detour = hf_new(struct hf_detour);
        call->detour->call = call;
        hf_link_init(&call->detour->in_gone);
    }
    return call->detour;
}

static void free_call(void *p)
{
    struct hf_call *call = p;
    hf_free(call->own_name);
    hf_free(call->kept);
    if (call->eras)
        free_eras(call);
    hf_free(call->detour);
    if (call->owns_text)
        hf_free(call->text);
    hf_pool_give(&call->engine->call_blocks, call);
}

static void bury_call(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    engine->calls[call->index] = NULL;
    engine->call_count--;
    hf_bury(engine, free_call, call);
}

/* `room` bytes stand behind the call, in the same piece of memory. */
static struct hf_call *make_call(struct hf_engine *engine, const struct hf_call_owner *owner,
                                 struct hf_session *session, const struct hf_method *method,
                                 size_t room)
{
    struct hf_call *call = hf_pool_take(&engine->call_blocks, sizeof *call + room);
    *call = (struct hf_call) { 0 };
    call->engine = engine;
    call->owner = owner;
    call->session = session;
    call->method = method;
    call->history.is_repeatable = method->only_reads;
    hf_link_init(&call->link);
    hf_link_init(&call->in_session);
    hf_link_init(&call->frame.link);
    hf_timer_init(&call->timer, HF_TIMER_CALL, call);
    if (take_index(engine, call))
        return call;
    hf_pool_give(&engine->call_blocks, call);
    return NULL;
}

/* Answers the request if its party would have more than its share; true: it did. */
static bool refuse(const struct hf_incoming *in, enum hf_shared what, uint64_t wants)
{
    return !hf_party_may_take(in->session->engine, in->party, what, wants) &&
           hf_reply_if_over(in, NULL, what, wants);
}

struct hf_call *hf_call_new(const struct hf_incoming *in, const struct hf_call_owner *owner)
{
    struct hf_session *session = in->session;
    struct hf_engine *engine = session->engine;
    const struct hf_method *method = in->method;
    const struct hf_msg *msg = in->msg;
    /* what a modern server is told of the client is added on sending: its bytes are reserved now */
    const bool says_it = in->is_modern || !session->initialize_params;
    const size_t intro = says_it ? 0 : strlen(session->initialize_params);
    const size_t eras = in->is_modern ? sizeof(struct hf_call_eras) : 0;
    /* small calls cost more than their text: with it alone they would hold many times the bound */
    const size_t bytes = sizeof(struct hf_call) + eras + msg->text.n + intro;
    if (refuse(in, HF_SHARED_CALLS, 1) || refuse(in, HF_SHARED_HELD, bytes))
        return NULL;
    struct hf_call *call = make_call(engine, owner, session, method, eras + msg->text.n + 1);
    if (!call) { /* calls of our own, and lines that are half written, have the last places */
        hf_reply_failure(in, NULL, HF_ERROR_OVERLOADED, "too_many_calls",
                         "holdfast has no place for another call at this moment; this one was not "
                         "sent. Try again later.");
        return NULL;
    }
    call->party = hf_party_ref(in->party);
    hf_party_take(engine, call->party, HF_SHARED_CALLS, 1);
    call->text = (char *)(call + 1) + eras;
    call->text_length = msg->text.n;
    memcpy(call->text, msg->text.p, msg->text.n);
    hf_msg_to_one_line(call->text, call->text_length);
    call->text[call->text_length] = '\n';
    call->intro = intro;
    hf_call_weigh(call, 0, bytes);
    call->client_id = (struct hf_span) { call->text + (msg->id.p - msg->text.p), msg->id.n };
    call->via = in->via;
    call->came_wall_ms = engine->wall_ms;
    call->is_modern = in->is_modern;
    if (call->is_modern) {
        const struct hf_span capable = hf_json_get(msg->meta, HF_SPAN(HF_META_CAPABLE));
        call->eras = (struct hf_call_eras *)(call + 1);
        *call->eras = (struct hf_call_eras) {
            .capabilities = { call->text + (capable.p - msg->text.p), capable.n },
        };
    }
    write_digits(call);
    hf_call_cut(call, call->client_id, hf_call_digits(call));
    hf_session_add_call(session, call);
    return call;
}

struct hf_call *hf_call_ours(struct hf_runtime *runtime, const struct hf_call_owner *owner,
                             const struct hf_method *method, struct hf_span params)
{
    struct hf_engine *engine = runtime->server->engine;
    struct hf_call *call = runtime->is_frozen ? NULL : make_call(engine, owner, NULL, method, 0);
    if (!call)
        return NULL;
    struct hf_buf draft = hf_draft();
    hf_msg_begin_request(&draft, call->id, hf_span_of(method->name));
    if (runtime->is_modern || owner->purpose == HF_FOR_ERA_PROBE) {
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
    call->text = draft.p;
    call->owns_text = true;
    call->text_length = hf_buf_len(&draft) - 1;
    hf_msg_to_one_line(call->text, call->text_length);
    hf_call_weigh(call, 0, call->text_length);
    hf_call_dispatch(call, runtime);
    return call;
}

/* ---- deadlines ---- */

static void cancel_at_server(struct hf_call *call, struct hf_span reason)
{
    assert(call->runtime); /* the call was sent there */
    if (call->runtime->remote && call->runtime->is_modern)
        return; /* closing the call's stream cancels it there, and the end of the call does that */
    struct hf_buf draft = hf_draft();
    hf_msg_begin_notification(&draft, "notifications/cancelled");
    hf_buf_printf(&draft, ",\"params\":{\"requestId\":%llu", (unsigned long long)call->id);
    if (reason.n) {
        hf_buf_add_str(&draft, ",\"reason\":");
        hf_buf_add(&draft, reason);
    }
    hf_buf_add_str(&draft, "}}");
    hf_call_notify_server(call, hf_draft_end(call->engine, &draft));
}

void hf_call_take_back(struct hf_call *call, struct hf_span reason)
{
    if (call->stage == HF_CALL_SENT)
        cancel_at_server(call, reason);
    call->is_cancelled = true;
}

static const char *why_not_sent(const struct hf_call *call)
{
    const struct hf_server *server = call->slot->server;
    if (hf_slot_is_full(call->slot))
        return "it was busy with other calls, as many as its maxInFlight allows";
    return server->reason[0] ? server->reason : "it is starting";
}

void hf_call_timer(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    struct hf_runtime *runtime = call->runtime;
    if (call->stage == HF_CALL_KEEPING) {
        hf_seam_let_go(call); /* it was not kept in time: an answer is not lost for that */
        return;
    }
    if (call->stage == HF_CALL_ASKING) {
        engine->bridge->input_timed_out(call);
        return;
    }
    if (call->owner->timed_out) {
        call->owner->timed_out(call);
        return;
    }
    const struct hf_detour *detour = hf_call_detour(call);
    if (detour->is_resting && engine->now_ms >= detour->rest_until_ms) {
        hf_call_rested(call);
        return;
    }
    const bool out_of_time =
        call->end_by_ms && !detour->paused_left_ms && engine->now_ms >= call->end_by_ms;
    if (detour->settle_by_ms && !out_of_time && engine->now_ms >= detour->settle_by_ms) {
        runtime->transport->call_due(call);
        return;
    }
    if (call->stage == HF_CALL_SENT && !out_of_time) { /* its client has been gone for goneMs */
        hf_slot_mark(call->slot);
        hf_call_arm(call);
        return;
    }
    const char *name = call->slot->server->name;
    if (hf_stage_is_begun(call->stage)) {
        hf_call_take_back(call, HF_SPAN("\"holdfast: the call ran out of time\""));
        hf_call_fail(
            call, HF_ERROR_OUTCOME_UNKNOWN, out_of_time ? "timeout" : "wait_over",
            "The call to \"%s\" was sent and did not answer in time (%s); it was cancelled, but it "
            "may have run. Check its effect before sending it again.",
            name, out_of_time ? "callTimeoutMs" : "waitMs, and its server read it only in part");
        engine->host->went_silent(runtime);
        return;
    }
    if (call->stage == HF_CALL_CLEARING) {
        hf_seam_too_late(call);
        return;
    }
    hf_call_fail(call, HF_ERROR_UNAVAILABLE, out_of_time ? "timeout" : "wait_over",
                 "The server \"%s\" was not available in time%s; the call was never sent and is "
                 "safe to send again.",
                 name, hf_because(engine, why_not_sent(call)));
}

/* ---- out and back ---- */

void hf_call_dispatch(struct hf_call *call, struct hf_runtime *runtime)
{
    struct hf_engine *engine = call->engine;
    assert(!runtime->is_frozen && !hf_linked(&call->link));
    call->runtime = runtime;
    call->slot = runtime->slot;
    hf_call_set_stage(call, HF_CALL_QUEUED);
    call->dispatched_ms = engine->now_ms;
    hf_list_push(&runtime->calls, &call->link);
    if (call->session) {
        runtime->in_flight++;
        runtime->server->calls++;
        call->session->last_dispatch_ms = engine->now_ms;
        if (call->session->is_finished)
            hf_session_dispatched(call->session, runtime->server);
        hf_slot_touch(runtime->slot);
    }
    hf_frame_build(call);
    hf_call_arm(call);
    runtime->transport->send(call);
}

void hf_call_written(struct hf_call *call)
{
    if (call->stage == HF_CALL_ENDED) { /* the call ended while its line was half written */
        if (call->is_cancelled)
            cancel_at_server(call, HF_SPAN(""));
        bury_call(call);
        return;
    }
    if (call->stage == HF_CALL_KEEPING) /* answered early, and the answer has not left yet */
        return;
    assert(call->stage == HF_CALL_WRITING);
    hf_call_set_stage(call, HF_CALL_SENT);
    call->dispatched_ms = call->engine->now_ms;
    hf_call_arm(call);
}

void hf_call_abandoned(struct hf_call *call)
{
    if (call->stage == HF_CALL_ENDED)
        bury_call(call);
}

bool hf_call_leave_runtime(struct hf_call *call)
{
    struct hf_runtime *runtime = call->runtime;
    hf_unlink(&call->link);
    if (call->session)
        runtime->in_flight--;
    if (runtime->check_call == call)
        runtime->check_call = NULL;
    if (call->owner->left)
        call->owner->left(call);
    if (runtime->transport->call_left)
        runtime->transport->call_left(call);
    const bool half_written = call->stage == HF_CALL_WRITING && !runtime->is_frozen;
    if (!half_written && hf_linked(&call->frame.link)) {
        hf_unlink(&call->frame.link);
        if (hf_list_empty(&runtime->out)) {
            runtime->write_wanted = false;
            hf_timer_clear(&call->engine->timers, &runtime->stall);
        }
    }
    if (call->stage == HF_CALL_QUEUED) /* never written: it was still waiting */
        call->waited_ms += call->engine->now_ms - call->dispatched_ms;
    hf_call_set_stage(call, HF_CALL_NEW);
    return half_written;
}

void hf_call_left(struct hf_runtime *before)
{
    if (before->is_settled)
        return;
    if (before->check_is_due || before->machine.state == HF_RUNTIME_DRAINING)
        before->server->engine->host->call_left(before);
    if (before == before->slot->current && before->slot->waiting)
        hf_slot_mark(before->slot);
}

struct hf_runtime *hf_call_step_aside(struct hf_call *call)
{
    struct hf_runtime *runtime = hf_stage_is_with_server(call->stage) ? call->runtime : NULL;
    if (runtime)
        (void)hf_call_leave_runtime(call);
    else if (call->stage == HF_CALL_WAITING)
        hf_call_unwait(call);
    else if (call->stage == HF_CALL_CLEARING)
        hf_seam_cleared(call);
    else if (call->stage == HF_CALL_ASKING)
        hf_call_set_stage(call, HF_CALL_NEW);
    hf_unlink(&call->link);
    return runtime;
}

void hf_call_release(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    struct hf_session *session = call->session;
    assert(call->stage != HF_CALL_ENDED);
    if (hf_call_park(call))
        engine->bridge->left(call);
    struct hf_runtime *runtime = hf_call_step_aside(call);
    hf_timer_clear(&engine->timers, &call->timer);
    hf_session_remove_call(call);
    hf_call_set_gone(call, false);
    hf_call_weigh(call, call->held, 0);
    if (call->party)
        hf_party_give(engine, call->party, HF_SHARED_CALLS, 1);
    hf_party_unref(call->party);
    call->party = NULL;
    hf_call_set_stage(call, HF_CALL_ENDED);
    call->session = NULL;
    if (!hf_linked(&call->frame.link)) /* else its half-written line must still be finished */
        bury_call(call);
    if (runtime)
        hf_call_left(runtime);
    if (session && session->is_finished)
        hf_session_maybe_settle(session);
}

/* The server has answered, but the call goes on: as if it had never been sent. */
static struct hf_runtime *step_out(struct hf_call *call)
{
    struct hf_runtime *before = call->runtime;
    if (hf_call_leave_runtime(call))
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
    hf_call_left(before);
}

void hf_call_pause(struct hf_call *call)
{
    struct hf_runtime *before = hf_stage_is_with_server(call->stage) ? step_out(call) : NULL;
    (void)hf_call_step_aside(call);
    hf_call_set_stage(call, HF_CALL_ASKING);
    hf_call_stop_clock(call, true); /* while the client is asked */
    hf_timer_clear(&call->engine->timers, &call->timer);
    if (before)
        hf_call_left(before);
}

/* Gives the call a new id: to the server it is another request. */
static void renumber(struct hf_call *call)
{
    const char *old = hf_call_digits(call).p;
    call->id = next_id(call->engine, call->index);
    write_digits(call);
    for (unsigned i = 0; i < call->cut_count; i++)
        if (call->cuts[i].by.p == old)
            call->cuts[i].by = hf_call_digits(call);
}

void hf_call_continue(struct hf_call *call)
{
    hf_unlink(&call->link);
    hf_call_stop_clock(call, false);
    hf_call_set_stage(call, HF_CALL_NEW);
    renumber(call);
    hf_call_arrive(call, call->slot);
}

void hf_call_withdraw(struct hf_call *call)
{
    hf_call_take_back(call, HF_SPAN(""));
    hf_call_end_ours(call);
}
