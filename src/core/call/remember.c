/* remember.c - what a client makes us remember (its introduction, subscriptions, questions that
 * wait for it) is bounded: for each client, and for all of them together. */
#include "core/call/remember.h"
#include <assert.h>
#include "core/call/party.h"
#include "core/state/session.h"

bool hf_session_may_remember(const struct hf_session *session, size_t bytes)
{
    return session->remembered_bytes + bytes <= HF_SESSION_REMEMBERED_MAX &&
           hf_party_may_take(session->engine, session->party, HF_SHARED_REMEMBERED, bytes);
}

void hf_session_remember(struct hf_session *session, size_t bytes)
{
    session->remembered_bytes += bytes;
    hf_party_take(session->engine, session->party, HF_SHARED_REMEMBERED, bytes);
}

void hf_session_forget_bytes(struct hf_session *session, size_t bytes)
{
    assert(session->remembered_bytes >= bytes);
    session->remembered_bytes -= bytes;
    hf_party_give(session->engine, session->party, HF_SHARED_REMEMBERED, bytes);
}
