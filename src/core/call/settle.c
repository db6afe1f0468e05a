/* settle.c - the calls of a client that sends nothing more: how long they have, and what its client
 * is told of those that are given up. */
#include "core/state.h"

/* A retry is as far as the call that it waits for. */
static struct hf_call *sent_for(struct hf_call *call)
{
    return call->stage == HF_CALL_JOINED ? call->park->call : call;
}

/* ---- finishing: its client still reads ---- */

bool hf_session_is_settled(const struct hf_session *session)
{
    return session->is_finished && hf_list_empty(&session->calls);
}

/* When a dispatched call has had its drainMs, counted from the last dispatch of its client. */
static uint64_t drain_end(const struct hf_session *session, const struct hf_server *server)
{
    return session->last_dispatch_ms + server->settings.drain_ms;
}

/* The timer may come too early, and is set again then: so no call that ends or is dispatched has to
 * look at all the others. */
static void settle_by(struct hf_session *session, uint64_t at_ms)
{
    struct hf_engine *engine = session->engine;
    const uint64_t at = at_ms > engine->now_ms ? at_ms : engine->now_ms + 1;
    if (!session->settle.at_ms || at < session->settle.at_ms)
        hf_timer_set(&engine->timers, &session->settle, at);
}

void hf_session_settle(struct hf_session *session)
{
    settle_by(session, session->engine->now_ms);
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
        settle_by(session, drain_end(session, server));
}

/* Dispatched calls that have had their time are told so; the timer is set for the next of them. */
void hf_session_timer(struct hf_session *session)
{
    const uint64_t now = session->engine->now_ms;
    struct hf_call *call;
    HF_LIST_EACH_SAFE (call, &session->calls, struct hf_call, in_session) {
        const enum hf_call_stage stage = sent_for(call)->stage;
        if (!call->slot || !hf_stage_is_with_server(stage))
            continue;
        const uint64_t end = drain_end(session, call->slot->server);
        if (hf_stage_is_begun(stage) && now >= end)
            hf_call_fail(
                call, HF_ERROR_OUTCOME_UNKNOWN, "client_finished",
                "The client finished, and the call to \"%s\" did not answer within drainMs. "
                "It may still run: check its effect.",
                call->slot->server->name);
        else
            settle_by(session, end);
    }
}

/* ---- leaving ---- */

/* Its client is told how far it got. */
static void give_up(struct hf_call *call)
{
    struct hf_call *sent = sent_for(call);
    const bool is_laid_aside = !sent->slot; /* by a retry that was given up before this one */
    const bool may_have_run = hf_stage_is_begun(sent->stage) ||
                              (sent->stage == HF_CALL_ASKING && !is_laid_aside) ||
                              sent->was_dispatched;
    if (sent->stage == HF_CALL_KEEPING) { /* its answer is there: whoever waits for it has it */
        hf_seam_let_go(sent);
        return;
    }
    hf_call_take_back(call, HF_SPAN(""));
    if (may_have_run)
        hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, "session_ended",
                     "The call was sent to \"%s\", and its client left before the answer came. It "
                     "may have run. Check its effect before sending it again.",
                     is_laid_aside ? sent->park->server : sent->slot->server->name);
    else
        hf_call_fail(call, HF_ERROR_UNAVAILABLE, "session_ended",
                     "Its client left while the call waited. It was never sent and is safe to "
                     "send again.");
}

void hf_session_give_up(struct hf_session *session, struct hf_now now)
{
    hf_set_now(session->engine, now);
    for (struct hf_call *call; (call = HF_LIST_FIRST(&session->calls, struct hf_call, in_session));)
        give_up(call);
}
