/* remember.c - what a client makes us remember (its introduction, subscriptions, questions that
 * wait for it) is bounded: for each client, and for all of them together. */
#include "core/call/remember.h"
#include <assert.h>
#include "core/state/engine_state.h"
#include "core/state/session.h"

enum { REMEMBERED_LEAST = 16 << 20 };

/* Counted apart from the bytes that calls hold: calls come and go, and must not wait for clients to
 * leave. */
bool hf_session_may_remember(const struct hf_session *session, size_t bytes)
{
    const struct hf_engine *engine = session->engine;
    const uint64_t max = engine->limits.max_buffered_bytes;
    return session->remembered_bytes + bytes <= HF_SESSION_REMEMBERED_MAX &&
           engine->remembered_bytes + bytes <= (max > REMEMBERED_LEAST ? max : REMEMBERED_LEAST);
}

void hf_session_remember(struct hf_session *session, size_t bytes)
{
    session->remembered_bytes += bytes;
    session->engine->remembered_bytes += bytes;
}

void hf_session_forget_bytes(struct hf_session *session, size_t bytes)
{
    assert(session->remembered_bytes >= bytes);
    session->remembered_bytes -= bytes;
    session->engine->remembered_bytes -= bytes;
}
