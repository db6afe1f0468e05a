/* liveness.h - is a server that answers nothing still there? (DESIGN 5, Health)  A check is a ping
 * with a time limit. */
#ifndef HF_CORE_SERVER_LIVENESS_H
#define HF_CORE_SERVER_LIVENESS_H

#include "core/state/call.h"

void hf_check_maybe(struct hf_runtime *runtime);
void hf_check_timer(struct hf_runtime *runtime);
void hf_check_answered(struct hf_runtime *runtime);
void hf_check_suspect(struct hf_runtime *runtime);     /* one call was lost: checks the server */
void hf_check_answer_came(struct hf_runtime *runtime); /* the server answered some call */
void hf_check_waited(struct hf_runtime *runtime);      /* calls are held no longer for a check */
void hf_stall_timer(struct hf_runtime *runtime);
extern const struct hf_call_host hf_call_host;

#endif
