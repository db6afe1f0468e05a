/* session.c - facts of one client: how failures are told to it. */
#include "core/client/session.h"
#include "core/engine.h"
#include "core/settings.h"
#include "core/state/server.h"
#include "core/state/session.h"

void hf_session_set_errors_as(struct hf_session *session, enum hf_errors_as errors_as)
{
    session->errors_as = errors_as;
}
