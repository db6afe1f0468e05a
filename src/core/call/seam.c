/* seam.c - where a call waits for somebody else: before it is dispatched, and before its answer
 * leaves.
 *
 * Whoever uses a seam is asked with HF_DO_ASK_LEAVE and answers, sooner or later or never, with
 * hf_engine_give_leave. The engine goes on meanwhile, and nobody waits for ever:
 *
 * 1. Before dispatch a call's own deadlines run on. Refused or too late, it was never sent.
 * 2. An answer leaves after KEEP_MS at the latest, kept or not: no answer is lost for a record.
 * 3. Leave that comes for a call that has ended meanwhile is ignored. */
#include "core/call/seam.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/frame.h"
#include "core/call/queue.h"
#include "core/engine.h"
#include "core/outbox.h"

enum { KEEP_MS = 5000 };

static void ask_leave(struct hf_call *call, enum hf_seam seam)
{
    struct hf_effect *effect = hf_emit(call->engine, HF_DO_ASK_LEAVE);
    effect->session = call->session;
    effect->server = call->slot->server;
    effect->seam = seam;
    effect->ticket = call->id;
}

/* ---- before dispatch ---- */

bool hf_seam_must_clear(const struct hf_call *call)
{
    return hf_call_is_tool_call(call) && !call->is_cleared;
}

void hf_seam_clear(struct hf_call *call)
{
    hf_call_set_stage(call, HF_CALL_CLEARING);
    call->waiting_since_ms = call->engine->now_ms;
    hf_list_push(&call->slot->clearing, &call->link);
    hf_call_arm(call);
    ask_leave(call, HF_SEAM_DISPATCH);
}

void hf_seam_cleared(struct hf_call *call)
{
    hf_unlink(&call->link);
    call->waited_ms += call->engine->now_ms - call->waiting_since_ms;
    hf_call_set_stage(call, HF_CALL_NEW);
}

static void refuse(struct hf_call *call, const char *reason)
{
    hf_call_fail(call, HF_ERROR_UNAVAILABLE, reason,
                 "holdfast could not record the call to \"%s\" before sending it (%s), and so it "
                 "was never sent. It is safe to send again.",
                 call->slot->server->name, reason);
}

void hf_seam_too_late(struct hf_call *call)
{
    refuse(call, "record_late");
}

/* ---- before the answer leaves ---- */

bool hf_seam_must_keep(const struct hf_call *call, const struct hf_answer *answer)
{
    return hf_call_is_tool_call(call) && call->stage != HF_CALL_JOINED && call->slot &&
           answer->outcome != HF_OUTCOME_CANCELLED;
}

static struct hf_span append(char *to, size_t *at, struct hf_span from)
{
    const struct hf_span copy = { to + *at, from.n };
    if (from.n)
        memcpy(to + *at, from.p, from.n);
    *at += from.n;
    return copy;
}

static struct hf_kept_answer *copy_of(const struct hf_answer *answer)
{
    size_t length = answer->head.n, at = 0;
    for (size_t i = 0; i < HF_ANSWER_PARTS; i++)
        length += answer->rest[i].n;
    struct hf_kept_answer *kept = hf_realloc(NULL, sizeof *kept + length);
    kept->answer = *answer;
    kept->length = length;
    kept->answer.head = append(kept->bytes, &at, answer->head);
    for (size_t i = 0; i < HF_ANSWER_PARTS; i++)
        kept->answer.rest[i] = append(kept->bytes, &at, answer->rest[i]);
    return kept;
}

void hf_seam_keep(struct hf_call *call, const struct hf_answer *answer)
{
    struct hf_engine *engine = call->engine;
    ask_leave(call, HF_SEAM_ANSWER);
    call->kept = copy_of(answer);
    hf_call_weigh(call, 0, call->kept->length);
    if (hf_call_park(call))
        engine->bridge->keeping(call);
    struct hf_runtime *runtime = hf_call_step_aside(call);
    if (hf_call_is_parked(call))
        engine->bridge->left_server(call);
    call->slot = NULL; /* the call is done with its server, and may outlive it */
    hf_call_set_stage(call, HF_CALL_KEEPING);
    hf_list_push(&engine->keeping, &call->link);
    call->wait_until_ms = engine->now_ms + KEEP_MS;
    call->end_by_ms = 0;
    hf_call_arm(call);
    if (runtime)
        hf_call_left(runtime);
}

void hf_seam_let_go(struct hf_call *call)
{
    hf_answer_leave(call, &call->kept->answer);
}

static void let_all_go(struct hf_engine *engine)
{
    while (!hf_list_empty(&engine->keeping))
        hf_seam_let_go(HF_LIST_FIRST(&engine->keeping, struct hf_call, link));
}

/* ---- what the shell says ---- */

static void leave_to_dispatch(struct hf_call *call, const char *refusal)
{
    if (refusal) {
        refuse(call, refusal);
        return;
    }
    hf_seam_cleared(call);
    call->is_cleared = true;
    hf_call_arrive(call, call->slot);
}

void hf_engine_give_leave(struct hf_engine *engine, enum hf_seam seam, uint64_t ticket,
                          const char *refusal, struct hf_now now)
{
    hf_set_now(engine, now);
    struct hf_call *call = hf_call_at(engine, ticket);
    if (call && seam == HF_SEAM_DISPATCH && call->stage == HF_CALL_CLEARING)
        leave_to_dispatch(call, refusal);
    if (call && seam == HF_SEAM_ANSWER && call->stage == HF_CALL_KEEPING)
        hf_seam_let_go(call);
}

static void refuse_all_clearing(struct hf_engine *engine)
{
    struct hf_server *server;
    HF_LIST_EACH (server, &engine->servers, struct hf_server, link) {
        struct hf_slot *slot;
        HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
            while (!hf_list_empty(&slot->clearing))
                refuse(HF_LIST_FIRST(&slot->clearing, struct hf_call, link), "record_down");
        }
    }
}

void hf_engine_use_seam(struct hf_engine *engine, enum hf_seam seam, bool is_used,
                        struct hf_now now)
{
    hf_set_now(engine, now);
    engine->uses_seam[seam] = is_used;
    if (!is_used && seam == HF_SEAM_DISPATCH)
        refuse_all_clearing(engine);
    if (!is_used && seam == HF_SEAM_ANSWER)
        let_all_go(engine);
}
