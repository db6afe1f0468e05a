/* runtime.h - the life of a runtime. */
#ifndef HF_CORE_SERVER_RUNTIME_H
#define HF_CORE_SERVER_RUNTIME_H

#include "core/machine/runtime.h"
#include "core/state/engine_state.h"

struct hf_slot;

struct hf_runtime *hf_runtime_new(struct hf_slot *slot);
void hf_runtime_event(struct hf_runtime *runtime, enum hf_runtime_event event);
void hf_runtime_discard(struct hf_runtime *runtime); /* the engine ends */
void hf_runtime_maybe_greet(struct hf_runtime *runtime);
void hf_runtime_maybe_drained(struct hf_runtime *runtime);
void hf_runtime_stay_timer(struct hf_runtime *runtime);  /* the runtime was too long in its state */
void hf_runtime_start_timer(struct hf_runtime *runtime); /* the start took too long */
void hf_runtime_eof_timer(struct hf_runtime *runtime);   /* exit or EOF came without the other */
/* Judges the runtime's calls, once no answer can come any more and it is known what was taken
 * back. */
void hf_runtime_maybe_settle(struct hf_runtime *runtime);
/* Ends a runtime that cannot stay, and reports it as lost. */
void hf_runtime_lose(struct hf_runtime *runtime, enum hf_runtime_event how);

#endif
