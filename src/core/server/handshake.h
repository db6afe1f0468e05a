/* handshake.h - greeting a server: our initialize, the server's answer, our `initialized`. */
#ifndef HF_CORE_SERVER_HANDSHAKE_H
#define HF_CORE_SERVER_HANDSHAKE_H

#include "base/span.h"
#include "core/machine/method.h"
#include "core/state/call.h"

struct hf_msg;
struct hf_slot;

void hf_handshake_begin(struct hf_runtime *runtime);
extern const struct hf_call_owner hf_restore_owner;
void hf_runtime_restore(struct hf_runtime *runtime);        /* sends log level and subscriptions */
void hf_handshake_introduced(struct hf_runtime *runtime);   /* our `initialized` was sent */
void hf_handshake_client_ready(struct hf_runtime *runtime); /* the client has said `initialized` */
/* A modern server has answered server/discover. */
void hf_handshake_discovered(struct hf_runtime *runtime, struct hf_span result);
/* The attempt cannot be used, because request `what` was answered with the error in `msg`: it is
 * closed politely. */
void hf_handshake_give_up(struct hf_runtime *runtime, const char *what, const struct hf_msg *msg);

void hf_handshake_done(struct hf_runtime *runtime); /* its tools are listed: it can be used */

#endif
