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

/* The only writer of call->stage. */
void hf_call_set_stage(struct hf_call *call, enum hf_call_stage to);
/* NULL: too much is under way already, and the client was sent an error. */
struct hf_call *hf_call_new(const struct hf_incoming *in, const struct hf_call_owner *owner);
struct hf_call *hf_call_ours(struct hf_runtime *runtime, const struct hf_call_owner *owner,
                             const struct hf_method *method, struct hf_span params);
/* The call with that id, wherever it is; NULL: it has ended. */
struct hf_call *hf_call_at(const struct hf_engine *engine, uint64_t id);
/* The call with that id, if the server can have read all of it; else NULL. */
struct hf_call *hf_call_by_id(struct hf_runtime *runtime, uint64_t id);
/* Takes the call out of its runtime, or out of the list it waits in. Returns the runtime that it
 * left, for which the caller calls hf_call_left; or NULL. */
struct hf_runtime *hf_call_step_aside(struct hf_call *call);
/* Takes the call out of its runtime. True: its half-written line must still be finished. */
bool hf_call_leave_runtime(struct hf_call *call);
/* A call has left the runtime: there may be room for another call, or a check or drain may have
 * waited for this one. */
void hf_call_left(struct hf_runtime *before);
/* For answer.c: takes the call out of all lists, and buries it. */
void hf_call_release(struct hf_call *call);
void hf_call_dispatch(struct hf_call *call, struct hf_runtime *runtime);
void hf_call_written(struct hf_call *call);   /* its whole line is written */
void hf_call_abandoned(struct hf_call *call); /* its line will never be finished */
/* Cancels the call at its server, if it was sent; the caller ends it next. `reason`: raw, or
 * empty. */
void hf_call_take_back(struct hf_call *call, struct hf_span reason);
void hf_call_withdraw(struct hf_call *call); /* a call of our own that nobody needs */
void hf_call_timer(struct hf_call *call);
/* The server answered that it does not have the resource: the call goes to another slot. */
void hf_call_move(struct hf_call *call, struct hf_slot *slot);
/* The call needs input of its client: it leaves its server until the client has answered. */
void hf_call_pause(struct hf_call *call);
void hf_call_continue(struct hf_call *call);
/* The `via` under which the client is told of the call; 0: nobody waits for it. */
static inline uint64_t hf_call_via(const struct hf_call *call)
{
    return hf_call_is_parked(call) ? call->engine->bridge->via(call) : call->via;
}

/* The part that modern calls and calls between the eras have, made if the call has none yet. */
struct hf_call_eras *hf_call_eras(struct hf_call *call);
/* For writing: the call's detour, made if the call has none yet. */
struct hf_detour *hf_call_make_detour(struct hf_call *call);

#endif
