/* era_probe.h - which era does a server speak? Asked with server/discover, never with a request
 * that could run something. */
#ifndef HF_CORE_SERVER_ERA_PROBE_H
#define HF_CORE_SERVER_ERA_PROBE_H

#include <stdbool.h>

struct hf_runtime;

void hf_era_probe_begin(struct hf_runtime *runtime);
/* After a failed initialize: whether the server may have become modern and was not probed yet. */
bool hf_era_probe_may_help(const struct hf_runtime *runtime);
void hf_era_probe_is_legacy(struct hf_runtime *runtime);
void hf_era_probe_sign_of_life(struct hf_runtime *runtime);
void hf_era_probe_timer(struct hf_runtime *runtime);

#endif
