/* call.h - one request on its way through. */
#ifndef HF_CORE_CALL_CALL_H
#define HF_CORE_CALL_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "core/machine/stage.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"

struct hf_call_owner;
struct hf_incoming;
struct hf_method;
struct hf_slot;

void hf_call_set_stage(struct hf_call *call, enum hf_call_stage to); /* its only writer */
/* NULL: too much is under way already, and the client was told. */
struct hf_call *hf_call_new(const struct hf_incoming *in, const struct hf_call_owner *owner);
struct hf_call *hf_call_ours(struct hf_runtime *runtime, const struct hf_call_owner *owner,
                             const struct hf_method *method, struct hf_span params);
struct hf_call *hf_call_at(const struct hf_engine *engine, uint64_t id); /* NULL: none any more */
/* Only one whose server can have read it. */
struct hf_call *hf_call_by_id(struct hf_runtime *runtime, uint64_t id);
/* Out of whatever it waits in or was sent to; the runtime it leaves, or NULL. hf_call_left is to
 * follow. */
struct hf_runtime *hf_call_step_aside(struct hf_call *call);
/* Takes it out of its runtime; true if its half-written line must still be finished. */
bool hf_call_leave_runtime(struct hf_call *call);
/* A call has gone: there may be room for another, or it was the last that was waited for. */
void hf_call_left(struct hf_runtime *before);
/* For answer.c: out of all lists, and buried. */
void hf_call_release(struct hf_call *call);
void hf_call_dispatch(struct hf_call *call, struct hf_runtime *runtime);
void hf_call_written(struct hf_call *call);   /* its whole line is out */
void hf_call_abandoned(struct hf_call *call); /* and will never be */
/* Its server is told, if it got it; the call is ended next. `reason` raw, n 0: none. */
void hf_call_take_back(struct hf_call *call, struct hf_span reason);
void hf_call_withdraw(struct hf_call *call); /* one of ours that nobody needs any more */
void hf_call_timer(struct hf_call *call);
void hf_call_move(struct hf_call *call,
                  struct hf_slot *slot); /* answered "not mine": ask another */
/* Answered, but not at its end: it leaves its server until its client has answered too. */
void hf_call_pause(struct hf_call *call);
void hf_call_continue(struct hf_call *call);
/* Where its client hears of it; 0: nobody waits for it. */
static inline uint64_t hf_call_via(const struct hf_call *call)
{
    return hf_call_is_parked(call) ? call->engine->bridge->via(call) : call->via;
}

/* What it carries between the eras, made where it has none yet. */
struct hf_call_eras *hf_call_eras(struct hf_call *call);

#endif
