/* from_server.h - what servers send. */
#ifndef HF_CORE_INBOX_FROM_SERVER_H
#define HF_CORE_INBOX_FROM_SERVER_H

#include "base/span.h"

struct hf_call;
struct hf_json_skim;
struct hf_runtime;

/* `origin`: the call on whose own stream the message came; NULL: not known. */
void hf_server_message(struct hf_runtime *runtime, struct hf_call *origin, struct hf_span text);
void hf_server_message_oversized(struct hf_runtime *runtime, const struct hf_json_skim *skim);

#endif
