/* handshake.h - greeting a server: initialize, what it said of itself, `initialized`. */
#ifndef HF_CORE_SERVER_HANDSHAKE_H
#define HF_CORE_SERVER_HANDSHAKE_H

#include "base/span.h"
#include "core/machine/method.h"
#include "core/state/call.h"

struct hf_msg;
struct hf_slot;

void hf_handshake_begin(struct hf_runtime *runtime);
extern const struct hf_call_owner hf_restore_owner;
void hf_runtime_restore(struct hf_runtime *runtime);        /* log level and subscriptions */
void hf_handshake_introduced(struct hf_runtime *runtime);   /* it heard our `initialized` */
void hf_handshake_client_ready(struct hf_runtime *runtime); /* so it may hear it now */
void hf_handshake_discovered(struct hf_runtime *runtime, struct hf_span result); /* modern, too */
/* An attempt that cannot be used is closed politely; its slot is told first. */
void hf_handshake_give_up(struct hf_runtime *runtime, const char *what, const struct hf_msg *msg);

void hf_handshake_done(struct hf_runtime *runtime); /* listed: it can be used */

#endif
