/* session.c - facts of one client: how failures are told to it, and whether it can be served. */
#include "core/client/session.h"
#include <stdio.h>
#include "core/engine.h"
#include "core/machine/errors.h"
#include "core/settings.h"
#include "core/state/runtime.h"
#include "core/state/server.h"
#include "core/state/session.h"

void hf_session_set_errors_as(struct hf_session *session, enum hf_errors_as errors_as)
{
    session->errors_as = errors_as;
}

bool hf_session_awaits_start(const struct hf_session *session)
{
    const struct hf_server *server = session->only;
    const struct hf_slot *slot = server && server->is_clients_own ? hf_server_slot(server) : NULL;
    return slot && slot->attempt && server->attempts == 1 && !slot->attempt->is_started;
}

bool hf_session_cannot_be_served(const struct hf_session *session)
{
    return hf_session_has_no_server(session);
}

bool hf_session_was_turned_away(const struct hf_session *session)
{
    return session->was_turned_away;
}

void hf_session_turn_away(struct hf_session *session, enum hf_method_id method,
                          char ret_sentence[HF_WHY_SIZE])
{
    const struct hf_server *server = session->only;
    session->was_turned_away |= method == HF_METHOD_INITIALIZE;
    (void)snprintf(ret_sentence, HF_WHY_SIZE, "The server '%s' %s%s.", server->name,
                   server->problem ? "cannot start: " : "",
                   server->problem ? server->problem : server->reason);
    hf_error_tidy_sentence(ret_sentence);
}
