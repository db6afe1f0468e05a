/* server.h - a configured server and its slots. */
#ifndef HF_CORE_SERVER_SERVER_H
#define HF_CORE_SERVER_SERVER_H

#include <stdint.h>
#include "base/err.h"
#include "core/machine/method.h"
#include "core/state/server.h"

/* The server has one slot for all its clients, or for its only client. */
static inline bool hf_server_is_shared(const struct hf_server *server)
{
    return server->settings.isolation == HF_ISOLATION_SHARED || server->is_clients_own;
}
struct hf_slot *hf_slot_of_client(const struct hf_server *server, const struct hf_session *session);
struct hf_slot *hf_slot_for_client(struct hf_server *server, struct hf_session *session);
/* The client's slot; NULL: it has none. */
static inline struct hf_slot *hf_slot_of(const struct hf_server *server,
                                         const struct hf_session *session)
{
    return hf_server_is_shared(server) ? hf_server_slot(server)
                                       : hf_slot_of_client(server, session);
}
/* The client's slot, made where it needs one of its own; NULL: there are as many as maxRuntimes
 * allows. */
static inline struct hf_slot *hf_slot_for(struct hf_server *server, struct hf_session *session)
{
    return hf_server_is_shared(server) ? hf_server_slot(server)
                                       : hf_slot_for_client(server, session);
}
void hf_slot_idle(struct hf_slot *slot);
void hf_slots_drop_owner(struct hf_session *session); /* the client is gone: its own slots end */
void hf_server_destroy(struct hf_server *server);     /* the engine ends */
void hf_server_unref(struct hf_server *server);

#endif
