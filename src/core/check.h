/*
 * check.h - the invariants of an engine that span its objects: counts are the lengths of lists,
 * every timer has an owner, everything that waits waits for something that will come.
 *
 * They hold between two events, once the effects of the last one have been taken. Looking at them
 * walks everything: it is for the simulator, the unit tests and debug builds.
 */
#ifndef HF_CORE_CHECK_H
#define HF_CORE_CHECK_H

#include "core/engine.h"

/* Told of an invariant that does not hold. `promise`: the number of the promise that would be
 * broken (DESIGN 1); 0: no promise yet, but the engine's counters are wrong. */
typedef void (*hf_broken_hook)(void *context, unsigned promise, const char *sentence);
void hf_engine_check(const struct hf_engine *engine, hf_broken_hook hook, void *context);

#endif
