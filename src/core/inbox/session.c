/* session.c - clients come, stop reading, finish and leave: what becomes of their calls. */
#include "core/inbox/session.h"
#include <assert.h>
#include "core/bridge/legacy_input.h"
#include "core/bridge/park.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/party.h"
#include "core/call/queue.h"
#include "core/call/remember.h"
#include "core/call/seam.h"
#include "core/call/session_calls.h"
#include "core/call/settle.h"
#include "core/call/use.h"
#include "core/client/audience.h"
#include "core/client/initialize.h"
#include "core/client/tasks.h"
#include "core/client/view.h"
#include "core/engine.h"
#include "core/machine/stage.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/server/server_request.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"

/* ---- a client comes ---- */

struct hf_session *hf_session_open(struct hf_engine *engine, struct hf_server *only,
                                   struct hf_sink *sink, struct hf_now now)
{
    hf_set_now(engine, now);
    struct hf_session *session = hf_new(struct hf_session);
    session->engine = engine;
    session->number = ++engine->serial;
    session->only = only;
    hf_link_init(&session->in_only);
    if (only) {
        only->refs++;
        hf_list_push(&only->own_sessions, &session->in_only);
    }
    session->party = hf_client_party_new(NULL);
    session->sink = sink;
    session->level = -1;
    session->errors_as = HF_ERRORS_UNSAID;
    hf_link_init(&session->in_greeted);
    hf_link_init(&session->slots);
    hf_link_init(&session->calls);
    hf_link_init(&session->server_requests);
    hf_link_init(&session->questions);
    hf_link_init(&session->parks);
    hf_link_init(&session->subscriptions);
    hf_link_init(&session->uses);
    hf_link_init(&session->listeners);
    hf_link_init(&session->tasks);
    hf_timer_init(&session->settle, HF_TIMER_DRAIN, session);
    hf_list_push(&engine->sessions, &session->link);
    hf_audience_join(session);
    return session;
}

/* ---- a client stops waiting for one of its messages ---- */

/* Notes that nobody reads the call's answer now, or that somebody does again. The call goes on
 * meanwhile, unless other calls want its place. */
static void be_gone(struct hf_call *call, bool is_gone)
{
    hf_call_set_gone(call, is_gone);
    if (call->stage == HF_CALL_SENT)
        hf_call_arm(call);
}

/* Calls `act` for each call of `via`. `act` may remove the call that it is given, and no other. */
static void each_via(struct hf_session *session, uint64_t via, void (*act)(struct hf_call *call))
{
    struct hf_call *call;
    if (!hf_session_calls_are_indexed(session)) {
        HF_LIST_EACH_SAFE (call, &session->calls, struct hf_call, in_session) {
            if (call->via == via)
                act(call);
        }
        return;
    }
    struct hf_map_node *node =
        hf_map_first(&session->engine->calls_by_via, hf_session_via_hash(session, via));
    for (struct hf_map_node *next; node; node = next) {
        call = HF_ITEM(node, struct hf_call, by_via);
        next = hf_map_next(node);
        if (call->session == session && call->via == via)
            act(call);
    }
}

static void come_back(struct hf_call *call)
{
    be_gone(call, false);
}

static void go(struct hf_call *call)
{
    if (call->stage == HF_CALL_JOINED) /* its call is kept for the next retry */
        hf_call_cancel(call, HF_SPAN(""));
    else if (hf_stage_is_waiting(call->stage) || call->stage == HF_CALL_QUEUED)
        hf_call_fail(call, HF_ERROR_UNAVAILABLE, "client_gone",
                     "The client went away while the call waited for \"%s\"; it was never "
                     "sent and is safe to send again.",
                     call->slot->server->name);
    else if (hf_stage_is_begun(call->stage))
        be_gone(call, true);
}

static void cancel(struct hf_call *call)
{
    hf_call_cancel(call, HF_SPAN("\"the client closed the stream of its request\""));
}

void hf_session_via_back(struct hf_session *session, uint64_t via, struct hf_now now)
{
    hf_set_now(session->engine, now);
    each_via(session, via, come_back);
}

void hf_session_via_gone(struct hf_session *session, uint64_t via, struct hf_now now)
{
    hf_set_now(session->engine, now);
    hf_listeners_drop_via(session, via);
    each_via(session, via, go);
}

void hf_session_via_cancelled(struct hf_session *session, uint64_t via, struct hf_now now)
{
    hf_set_now(session->engine, now);
    hf_listeners_drop_via(session, via);
    each_via(session, via, cancel);
}

/* ---- a client finishes: it sends nothing more, and still reads ---- */

void hf_session_finish(struct hf_session *session, struct hf_now now)
{
    hf_set_now(session->engine, now);
    session->is_finished = true;
    hf_parks_drop(session, "the client has finished");
    hf_input_finished(session);
    hf_listeners_end(session);
    hf_session_settle(session);
}

/* A retry has got as far as the call that it waits for. */
static struct hf_call *sent_for(struct hf_call *call)
{
    return call->stage == HF_CALL_JOINED ? call->engine->bridge->sent(call) : call;
}

/* Answers dispatched calls whose drainMs has passed, and sets the timer for the next one. */
void hf_session_timer(struct hf_session *session)
{
    const uint64_t now = session->engine->now_ms;
    struct hf_call *call;
    HF_LIST_EACH_SAFE (call, &session->calls, struct hf_call, in_session) {
        const enum hf_call_stage stage = sent_for(call)->stage;
        if (!call->slot || !hf_stage_is_with_server(stage))
            continue;
        const uint64_t end = hf_session_drain_end(session, call->slot->server);
        if (hf_stage_is_begun(stage) && now >= end)
            hf_call_fail(
                call, HF_ERROR_OUTCOME_UNKNOWN, "client_finished",
                "The client finished, and the call to \"%s\" did not answer within drainMs. "
                "It may still run: check its effect.",
                call->slot->server->name);
        else
            hf_session_settle_by(session, end);
    }
}

/* ---- a client leaves ---- */

/* The client is told how far its call got. */
static void give_up(struct hf_call *call)
{
    struct hf_call *sent = sent_for(call);
    const bool is_laid_aside = !sent->slot; /* by another retry, given up before */
    const bool may_have_run = hf_stage_is_begun(sent->stage) ||
                              (sent->stage == HF_CALL_ASKING && !is_laid_aside) ||
                              sent->was_dispatched;
    if (sent->stage == HF_CALL_KEEPING) { /* the answer is known: pass it on */
        hf_seam_let_go(sent);
        return;
    }
    hf_call_take_back(call, HF_SPAN(""));
    if (may_have_run)
        hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, "session_ended",
                     "The call was sent to \"%s\", and its client left before the answer came. It "
                     "may have run. Check its effect before sending it again.",
                     is_laid_aside ? hf_call_park(sent)->server : sent->slot->server->name);
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

static void free_session(void *p)
{
    struct hf_session *session = p;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        hf_view_unref(session->given[part]);
    hf_policy_unref(session->policy);
    hf_party_unref(session->party);
    hf_free(session->initialize_params);
    hf_free(session->log_level);
    hf_free(session);
}

void hf_session_close(struct hf_session *session, struct hf_now now)
{
    struct hf_engine *engine = session->engine;
    hf_set_now(engine, now);
    assert(!session->is_closed);
    session->is_closed = true;
    session->is_finished = false;
    while (!hf_list_empty(&session->server_requests)) {
        struct hf_server_request *request =
            HF_LIST_FIRST(&session->server_requests, struct hf_server_request, in_session);
        hf_runtime_respond_error(request->runtime, hf_span_of(request->server_id), -32603,
                                 "the client is gone");
        hf_server_request_end(request);
    }
    while (!hf_list_empty(&session->calls))
        hf_call_cancel(HF_LIST_FIRST(&session->calls, struct hf_call, in_session),
                       HF_SPAN("\"the client is gone\""));
    hf_parks_drop(session, "the client is gone");
    hf_slots_drop_owner(session);
    hf_tasks_leave(session);
    hf_listeners_drop(session);
    hf_subscriptions_drop(&session->subscriptions);
    hf_uses_drop(session);
    hf_session_forget_bytes(session, session->remembered_bytes);
    hf_timer_clear(&engine->timers, &session->settle);
    const bool was_greeted = session->has_greeted;
    hf_unlink(&session->link);
    hf_audience_leave(session);
    if (was_greeted)
        hf_initialize_review_roots(engine);
    if (session->only) {
        hf_unlink(&session->in_only);
        hf_server_unref(session->only);
    }
    hf_bury(engine, free_session, session);
}
