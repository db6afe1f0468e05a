/* verdict.h - what becomes of a call that was lost on its way. */
#ifndef HF_CORE_CALL_VERDICT_H
#define HF_CORE_CALL_VERDICT_H

#include "core/machine/evidence.h"
#include "core/state/call.h"

void hf_call_lost(struct hf_call *call, struct hf_stream_facts facts);
/* The only function that sends bytes of a call again. */
void hf_call_judge(struct hf_call *call, struct hf_loss loss);

#endif
