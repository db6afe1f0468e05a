/* transport.h - how a server behind a URL is reached. */
#ifndef HF_CORE_REMOTE_TRANSPORT_H
#define HF_CORE_REMOTE_TRANSPORT_H

#include "core/state/runtime.h"

extern const struct hf_transport_ops hf_remote_transport;
void hf_remote_start(struct hf_runtime *runtime); /* says hello, or first opens the older stream */
void hf_remote_lost(struct hf_runtime *runtime); /* reason said before; what is under way goes on */

#endif
