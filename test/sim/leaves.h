/* leaves.h - whoever keeps records of calls, and so gives leave at the engine's seams. */
#ifndef HF_SIM_LEAVES_H
#define HF_SIM_LEAVES_H

#include "sim.h"

void leaves_init(struct sim *sim);
void leaves_begin(struct sim *sim);
void leaves_end(struct sim *sim);
void leaves_asked(struct sim *sim, const struct hf_effect *effect);
uint64_t leaves_next_ms(const struct sim *sim); /* 0: none */
void leaves_act(struct sim *sim);               /* gives one that is due */

#endif
