/* session.h - sessions at remote servers. */
#ifndef HF_CORE_REMOTE_SESSION_H
#define HF_CORE_REMOTE_SESSION_H

#include "core/machine/evidence.h"

struct hf_call;
struct hf_remote_exchange;
struct hf_remote_exchange_end;
struct hf_runtime;

void hf_remote_session_gone(struct hf_runtime *runtime, int status);
void hf_remote_upstream_refused(struct hf_runtime *runtime, int status);
void hf_remote_renewed(struct hf_runtime *runtime);
void hf_remote_open_stream(struct hf_runtime *runtime);
void hf_remote_stream_ended(struct hf_remote_exchange *exchange,
                            const struct hf_remote_exchange_end *end);
void hf_remote_reject(struct hf_call *call, int status, enum hf_http_verdict verdict);

#endif
