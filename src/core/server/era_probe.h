/* era_probe.h - which era does a server speak? Asked with server/discover, never with anything that
 * could run (PROTOCOL. */
#ifndef HF_CORE_SERVER_ERA_PROBE_H
#define HF_CORE_SERVER_ERA_PROBE_H

#include <stdbool.h>

struct hf_runtime;

void hf_era_probe_begin(struct hf_runtime *runtime);
/* Its initialize failed, and it was not asked yet whether it has moved on. */
bool hf_era_probe_may_help(const struct hf_runtime *runtime);
void hf_era_probe_is_legacy(struct hf_runtime *runtime);
void hf_era_probe_sign_of_life(struct hf_runtime *runtime);
void hf_era_probe_timer(struct hf_runtime *runtime);

#endif
