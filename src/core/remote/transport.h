/* transport.h - how a server behind a URL is reached. */
#ifndef HF_CORE_REMOTE_TRANSPORT_H
#define HF_CORE_REMOTE_TRANSPORT_H

#include "core/state/runtime.h"

extern const struct hf_transport_ops hf_remote_transport;
/* Begins the handshake; with the older transport, opens the event stream first. */
void hf_remote_start(struct hf_runtime *runtime);
/* The caller has set the reason. Calls under way go on. */
void hf_remote_lost(struct hf_runtime *runtime);

#endif
