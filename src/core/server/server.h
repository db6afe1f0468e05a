/* server.h - a configured server and its slots. */
#ifndef HF_CORE_SERVER_SERVER_H
#define HF_CORE_SERVER_SERVER_H

#include <stdint.h>
#include "base/err.h"
#include "core/machine/method.h"
#include "core/state/server.h"

struct hf_slot *hf_slot_of(const struct hf_server *server, const struct hf_session *session);
/* Makes one of its own where it needs one; NULL: there are as many as maxRuntimes allows. */
struct hf_slot *hf_slot_for(struct hf_server *server, struct hf_session *session);
void hf_slot_idle(struct hf_slot *slot);
void hf_slots_drop_owner(struct hf_session *session); /* it is gone, and so are its own slots */
void hf_server_destroy(struct hf_server *server);     /* at the end of the engine */
void hf_server_unref(struct hf_server *server);

#endif
