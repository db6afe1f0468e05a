/* session.h - facts of one client. */
#ifndef HF_CORE_CLIENT_SESSION_H
#define HF_CORE_CLIENT_SESSION_H

#include <stdbool.h>
#include "core/engine.h"
#include "core/state/server.h"
#include "core/state/session.h"

/* Whether the session's endpoint and policy let it use this server. */
static inline bool hf_session_uses(const struct hf_session *session, const struct hf_server *server)
{
    return (!session->only || session->only == server) &&
           (!session->policy || hf_policy_allows_server(session->policy, server->name));
}

/* What hf_session_cannot_be_served says; looked at for each request. */
static inline bool hf_session_has_no_server(const struct hf_session *session)
{
    return session->only && session->only->cannot_start;
}

/* What every request of a client is answered for which hf_session_cannot_be_served. */
enum { HF_WHY_SIZE = 800 };
void hf_session_turn_away(struct hf_session *session, enum hf_method_id method,
                          char ret_sentence[HF_WHY_SIZE]);

#endif
