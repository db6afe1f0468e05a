/* cells.h - which cells of the machines were visited. */
#ifndef HF_SIM_CELLS_H
#define HF_SIM_CELLS_H

#include "sim.h"

void cells_on_slot(void *context, enum hf_slot_state state, enum hf_slot_event event);
void cells_watch(struct stats *stats); /* whose runtime cells are counted */
bool cells_report(const struct stats *stats,
                  bool is_full_run); /* false: something is unexplained */

#endif
