/* answer.c - the one exit: how a client's call ends.
 *
 *   count ─► record (the audit point) ─► keep (a seam: it may take its time) ─► send ─► end
 *
 * 1. Every client's call ends here, exactly once, whoever answers it: its server, we in its
 *    server's stead, a failure of ours, or its client, which takes it back.
 * 2. Calls of our own end by hf_call_end_ours: nobody is told of them.
 * 3. What answers a request that never became a call (hf_reply) is written by the same code. */
#include "core/call/answer.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/seam.h"
#include "core/machine/evidence.h"
#include "core/machine/slot.h"
#include "core/machine/stage.h"
#include "core/machine/stats.h"
#include "core/outbox.h"
#include "core/settings.h"
#include "core/state/incoming.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

/* ---- answers ---- */

static struct hf_answer answer_from(enum hf_outcome outcome, int code)
{
    return (struct hf_answer) { .outcome = outcome,
                                .code = code,
                                .head = HF_SPAN(HF_MSG_RESPONSE_HEAD) };
}

struct hf_answer hf_answer_rest(enum hf_outcome outcome, int code, struct hf_span rest)
{
    struct hf_answer answer = answer_from(outcome, code);
    answer.rest[0] = rest;
    return answer;
}

struct hf_answer hf_answer_result(struct hf_span result)
{
    struct hf_answer answer = answer_from(HF_OUTCOME_RESULT, 0);
    answer.rest[0] = HF_SPAN(",\"result\":");
    answer.rest[1] = result;
    answer.rest[2] = HF_SPAN("}");
    return answer;
}

struct hf_answer hf_answer_error(struct hf_engine *engine, int code, const char *text,
                                 struct hf_span data)
{
    struct hf_buf draft = hf_draft();
    hf_buf_printf(&draft, ",\"error\":{\"code\":%d,\"message\":", code);
    hf_json_add_string(&draft, hf_span_of(text));
    if (data.n) {
        hf_buf_add_str(&draft, ",\"data\":");
        hf_buf_add(&draft, data);
    }
    hf_buf_add_str(&draft, "}}");
    return hf_answer_rest(HF_OUTCOME_ERROR, code, hf_draft_end(engine, &draft));
}

static enum hf_failure_form form_of_tool(const struct hf_session *session,
                                         const struct hf_server *server, bool is_modern)
{
    const enum hf_errors_as wish = session->errors_as != HF_ERRORS_UNSAID ? session->errors_as
                                   : server ? server->settings.errors_as
                                            : HF_ERRORS_AS_RESULT;
    if (wish == HF_ERRORS_AS_ERROR)
        return HF_AS_ERROR;
    return is_modern ? HF_AS_MODERN_RESULT : HF_AS_RESULT;
}

enum hf_failure_form hf_failure_form_of(const struct hf_session *session,
                                        const struct hf_server *server,
                                        const struct hf_method *method, struct hf_span params,
                                        bool is_modern)
{
    if (method->id != HF_METHOD_TOOLS_CALL || hf_json_get(params, HF_SPAN("task")).p)
        return HF_AS_ERROR;
    return form_of_tool(session, server, is_modern);
}

enum hf_failure_form hf_call_failure_form(const struct hf_call *call)
{
    const struct hf_span text = { call->text, call->text_length };
    return hf_failure_form_of(call->session, call->slot ? call->slot->server : NULL, call->method,
                              hf_json_get(text, HF_SPAN("params")), call->is_modern);
}

const char *hf_because(struct hf_engine *engine, const char *why)
{
    struct hf_buf draft = hf_draft();
    hf_error_add_why(&draft, why);
    hf_buf_add_char(&draft, '\0');
    return hf_draft_end(engine, &draft).p;
}

struct hf_answer hf_answer_failure(struct hf_engine *engine, enum hf_error error,
                                   const struct hf_error_facts *facts, enum hf_failure_form form)
{
    struct hf_buf draft = hf_draft();
    hf_error_write(&draft, error, facts, form);
    const int code = form == HF_AS_ERROR ? hf_error_code(error) : 0;
    struct hf_answer answer = hf_answer_rest(HF_OUTCOME_FAILED, code, hf_draft_end(engine, &draft));
    answer.error = error;
    return answer;
}

/* The server's own bytes; only the id between them becomes the client's. */
struct hf_answer hf_answer_as_it_came(const struct hf_msg *msg)
{
    const char *rest = msg->id.p + msg->id.n;
    int64_t code = 0;
    if (msg->kind == HF_MSG_ERROR && !hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code))
        code = -32603;
    return (struct hf_answer) {
        .outcome = msg->kind == HF_MSG_ERROR ? HF_OUTCOME_ERROR : HF_OUTCOME_RESULT,
        .code = (int)code,
        .head = { msg->text.p, (size_t)(msg->id.p - msg->text.p) },
        .rest = { { rest, (size_t)(msg->text.p + msg->text.n - rest) } },
    };
}

void hf_answer_add_rest(struct hf_buf *out, const struct hf_answer *answer)
{
    for (size_t i = 0; i < HF_ANSWER_PARTS; i++)
        hf_buf_add(out, answer->rest[i]);
}

/* ---- sent ---- */

/* `form`: how the client is told if the answer cannot be delivered as a whole. */
static void send_to(struct hf_session *session, uint64_t via, struct hf_span id,
                    const struct hf_answer *answer, enum hf_failure_form form)
{
    const bool says_nothing = answer->head.n == 0;
    if (session->is_closed || (says_nothing && !via))
        return;
    struct hf_effect *effect = hf_emit(session->engine, HF_DO_SEND);
    effect->session = session;
    effect->via = via;
    effect->is_answer = true;
    effect->error_code = answer->code;
    effect->over = answer->over;
    effect->failure_form = form;
    if (says_nothing)
        return;
    effect->pieces[effect->piece_count++] = answer->head;
    effect->pieces[effect->piece_count++] = id.p ? id : HF_SPAN("null");
    for (size_t i = 0; i < HF_ANSWER_PARTS; i++)
        if (answer->rest[i].n)
            effect->pieces[effect->piece_count++] = answer->rest[i];
}

void hf_reply(const struct hf_incoming *in, struct hf_answer answer)
{
    const struct hf_span id = in->id.p ? hf_arena_dup(&in->session->engine->arena, in->id) : in->id;
    send_to(in->session, in->via, id, &answer, HF_AS_ERROR); /* the answer is small, or a list */
}

/* ---- the exit ---- */

/* Every client's call that was for a server is counted once. */
static void count(const struct hf_call *call, const struct hf_answer *answer)
{
    if (!call->slot || answer->outcome == HF_OUTCOME_RELAYED)
        return;
    struct hf_stats *stats = &call->slot->server->stats;
    const uint64_t now = call->engine->now_ms;
    const uint64_t waits = hf_stage_is_waiting(call->stage) ? now - call->waiting_since_ms : 0;
    switch (answer->outcome) {
    case HF_OUTCOME_RESULT: stats->results++; break;
    case HF_OUTCOME_ERROR: stats->errors++; break;
    case HF_OUTCOME_FAILED: stats->failed[answer->error]++; break;
    case HF_OUTCOME_CANCELLED: stats->cancelled++; break;
    case HF_OUTCOME_RELAYED: break;
    }
    hf_histogram_add(&stats->waiting, call->waited_ms + waits);
    if (call->is_answered && answer->outcome <= HF_OUTCOME_ERROR)
        hf_histogram_add(&stats->latency, now - call->dispatched_ms);
}

/* The audit point: whoever keeps a record of calls is told of each of them here, once. */
static void record(const struct hf_call *call, const struct hf_answer *answer)
{
    const struct hf_engine *engine = call->engine;
    if (!engine->on_answer)
        return;
    const struct hf_call_record facts = {
        .session = call->session,
        .server = call->slot ? call->slot->server : NULL,
        .via = call->via,
        .id = call->client_id,
        .is_tool_call = hf_call_is_tool_call(call),
        .is_joined = call->stage == HF_CALL_JOINED,
        .is_parked = hf_call_is_parked(call),
        .outcome = answer->outcome,
        .code = answer->outcome == HF_OUTCOME_FAILED ? hf_error_code(answer->error) : answer->code,
        .came_wall_ms = call->came_wall_ms,
        .ended_wall_ms = engine->wall_ms,
    };
    engine->on_answer(engine->on_answer_context, &facts);
}

/* Unlike hf_failure_form_of, this does not look whether the call made a task: the answer to such a
 * call is small. */
static enum hf_failure_form form_if_cut(const struct hf_call *call)
{
    if (!hf_call_is_tool_call(call))
        return HF_AS_ERROR;
    return form_of_tool(call->session, call->slot ? call->slot->server : NULL, call->is_modern);
}

void hf_answer_leave(struct hf_call *call, const struct hf_answer *answer)
{
    struct hf_runtime *runtime = hf_stage_is_begun(call->stage) ? call->runtime : NULL;
    const bool is_unsure =
        answer->outcome == HF_OUTCOME_CANCELLED ||
        (answer->outcome == HF_OUTCOME_FAILED && hf_error_dispatched(answer->error));
    if (hf_call_is_parked(call))
        call->engine->bridge->ended(call, answer);
    else if (hf_linked(&call->in_session)) /* else it was parked: its client was answered */
        send_to(call->session, call->via, call->client_id, answer, form_if_cut(call));
    hf_call_release(call);
    if (is_unsure && call->owner->ended_unanswered)
        call->owner->ended_unanswered(call, runtime);
}

void hf_call_answer(struct hf_call *call, struct hf_answer answer)
{
    assert(call->owner->purpose == HF_FOR_CLIENT && call->session);
    count(call, &answer);
    record(call, &answer);
    if (call->stage == HF_CALL_ASKING)
        call->engine->bridge->input_dropped(call); /* before the answer, which ends the stream */
    if (call->engine->uses_seam[HF_SEAM_ANSWER] && hf_seam_must_keep(call, &answer))
        hf_seam_keep(call, &answer);
    else
        hf_answer_leave(call, &answer);
}

void hf_call_end_ours(struct hf_call *call)
{
    assert(call->owner->purpose != HF_FOR_CLIENT);
    hf_call_release(call);
}

/* ---- what the server answered ---- */

enum { OUTCOME_TAIL = 1024 }; /* the outcome stands within the last bytes of a holdfast's result */

/* If a holdfast behind us answered in the stead of its server, the outcome it names counts here
 * too. */
void hf_answer_take_over_outcome(struct hf_answer *answer, const struct hf_msg *msg)
{
    static const char mark[] = "\"" HF_META_OUTCOME "\"";
    const size_t n = msg->result.n < OUTCOME_TAIL ? msg->result.n : OUTCOME_TAIL;
    const char *tail = msg->result.p + msg->result.n - n;
    int64_t code;
    /* the last bytes of nearly every result already show that it names no outcome */
    if (msg->kind != HF_MSG_RESULT || n < 4 || memcmp(tail + n - 3, "}}}", 3) != 0 ||
        !memmem(tail, n, mark, sizeof mark - 1))
        return;
    const struct hf_span outcome = hf_json_path(
        msg->result, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_OUTCOME) });
    const bool dispatched = hf_json_is_true(hf_json_get(outcome, HF_SPAN("dispatched")));
    if (hf_json_int(hf_json_get(outcome, HF_SPAN("code")), &code) &&
        hf_error_of_code(code, dispatched, &answer->error))
        answer->outcome = HF_OUTCOME_FAILED;
}

/* ---- failures of ours ---- */

/* A call that was dispatched once is never called safe to repeat, whatever stops it now. */
static enum hf_error truth_of(const struct hf_call *call, enum hf_error error, const char *reason,
                              char *sentence, size_t size)
{
    const struct hf_server *server = call->slot ? call->slot->server : NULL;
    if (!call->was_dispatched || !server || hf_error_dispatched(error))
        return error;
    (void)snprintf(sentence, size,
                   hf_call_input(call)
                       ? "The server '%s' asked for input in the middle of the call and "
                         "could not be given it%s. What it did before it asked is not "
                         "known: check that before sending it again."
                       : "The request was sent to '%s', which was lost before it "
                         "answered, and it could not be repeated%s. It may have run.",
                   server->name, hf_because(call->engine, reason));
    return HF_ERROR_OUTCOME_UNKNOWN;
}

enum { HF_WHEN_MAX = 60 }; /* bytes of what add_when adds */

/* When to try again, as people say it. */
static void add_when(char *sentence, size_t size, int64_t retry_after_ms)
{
    const size_t n = strlen(sentence);
    const long long seconds = (retry_after_ms + 999) / 1000;
    if (retry_after_ms < 0)
        return;
    if (seconds < 120)
        (void)snprintf(sentence + n, size - n, " Try again in %lld s.", seconds);
    else
        (void)snprintf(sentence + n, size - n, " Try again in %lld min.", (seconds + 59) / 60);
}

/* The generation that has the call, or had it last. */
static uint64_t generation_of(const struct hf_call *call)
{
    /* the generation whose question cannot be answered, unless the call went on to another one */
    if (hf_call_input(call) && !hf_stage_is_begun(call->stage))
        return call->eras->asked_by;
    if (call->runtime)
        return call->runtime->generation;
    return call->stage == HF_CALL_JOINED ? call->engine->bridge->generation(call)
                                         : call->slot->server->generation;
}

static void note_failure(const struct hf_call *call, enum hf_error error,
                         const struct hf_error_facts *facts)
{
    const struct hf_server *server = call->slot->server;
    hf_note(call->engine, server,
            &(struct hf_note) {
                .event = hf_error_dispatched(error) ? HF_NOTE_CALL_LOST : HF_NOTE_CALL_FAILED,
                .is_routine = server->cannot_start, /* told already, with what to do */
                .generation = facts->generation,
                .method = hf_span_of(call->method->name),
                .outcome = hf_span_of(hf_error_name(error)),
                .evidence = hf_span_of(hf_evidence_name(facts->evidence)),
                .reason = facts->reason });
}

void hf_call_fail(struct hf_call *call, enum hf_error error, const char *reason, const char *format,
                  ...)
{
    char sentence[800];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence - HF_WHEN_MAX, format, args);
    va_end(args);
    error = truth_of(call, error, reason, sentence, sizeof sentence - HF_WHEN_MAX);
    struct hf_error_facts facts = {
        .reason = hf_span_of(reason),
        .evidence = hf_error_dispatched(error) ? HF_EVIDENCE_DISPATCHED : call->evidence,
        .retry_after_ms = -1,
    };
    const struct hf_slot *slot = call->slot;
    if (slot) {
        facts.server = hf_span_of(slot->server->name);
        facts.state = hf_span_of(hf_slot_state_name(slot->machine.state));
        facts.generation = generation_of(call);
        if (error == HF_ERROR_UNAVAILABLE || error == HF_ERROR_PERMANENTLY_FAILED)
            facts.retry_after_ms = hf_call_retry_after_ms(call);
        add_when(sentence, sizeof sentence, facts.retry_after_ms);
        note_failure(call, error, &facts);
    }
    const struct hf_server *only = !slot && call->session ? call->session->only : NULL;
    if (only) {
        facts.server = hf_span_of(only->name);
        facts.generation = only->generation;
    }
    hf_error_tidy_sentence(sentence);
    facts.sentence = hf_span_of(sentence);
    const struct hf_answer answer =
        hf_answer_failure(call->engine, error, &facts, hf_call_failure_form(call));
    if (!hf_call_is_parked(call) || !call->engine->bridge->laid_aside(call, error, &answer))
        hf_call_answer(call, answer);
}

/* ---- taken back by its client ---- */

void hf_call_cancel(struct hf_call *call, struct hf_span reason)
{
    struct hf_runtime *runtime = hf_stage_is_begun(call->stage) ? call->runtime : NULL;
    const bool was_silent =
        runtime && runtime->last_byte_ms <= call->dispatched_ms &&
        call->engine->now_ms - call->dispatched_ms > runtime->server->settings.liveness.gap_ms;
    const struct hf_answer nothing = { .outcome = HF_OUTCOME_CANCELLED };
    if (call->stage == HF_CALL_KEEPING) { /* answered, but nobody waits for the answer now */
        hf_answer_leave(call, &nothing);
        return;
    }
    hf_call_take_back(call, reason);
    hf_call_answer(call, nothing);
    if (was_silent)
        call->engine->host->went_silent(runtime);
}
