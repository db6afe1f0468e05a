/* settle.c - a client sends nothing more: how long its calls have. What becomes of calls that take
 * longer is in inbox/session.c. */
#include "core/call/settle.h"
#include "core/engine.h"
#include "core/state/engine_state.h"
#include "core/state/server.h"
#include "core/state/session.h"

/* ---- finished: the client sends nothing more, but still reads ---- */

bool hf_session_is_settled(const struct hf_session *session)
{
    return session->is_finished && hf_list_empty(&session->calls);
}

/* When dispatched calls have had their drainMs, counted from the last dispatch of their client. */
uint64_t hf_session_drain_end(const struct hf_session *session, const struct hf_server *server)
{
    return session->last_dispatch_ms + server->settings.drain_ms;
}

/* The timer may fire too early, and is set again then: so no call that ends or is dispatched has to
 * look at all other calls. */
void hf_session_settle_by(struct hf_session *session, uint64_t at_ms)
{
    struct hf_engine *engine = session->engine;
    const uint64_t at = at_ms > engine->now_ms ? at_ms : engine->now_ms + 1;
    if (!session->settle.at_ms || at < session->settle.at_ms)
        hf_timer_set(&engine->timers, &session->settle, at);
}

void hf_session_settle(struct hf_session *session)
{
    hf_session_settle_by(session, session->engine->now_ms);
}

void hf_session_maybe_settle(struct hf_session *session)
{
    if (session->is_finished && hf_list_empty(&session->calls))
        hf_timer_clear(&session->engine->timers, &session->settle);
}

void hf_session_dispatched(struct hf_session *session, const struct hf_server *server)
{
    session->last_dispatch_ms = session->engine->now_ms;
    if (session->is_finished)
        hf_session_settle_by(session, hf_session_drain_end(session, server));
}
