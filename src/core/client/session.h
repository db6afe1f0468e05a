/* session.h - facts of one client. */
#ifndef HF_CORE_CLIENT_SESSION_H
#define HF_CORE_CLIENT_SESSION_H

#include <stdbool.h>

struct hf_server;
struct hf_session;

bool hf_session_uses(const struct hf_session *session,
                     const struct hf_server *server); /* its door */

#endif
