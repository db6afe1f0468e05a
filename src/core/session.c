/* session.c - one client: coming, finishing, going, and what it has set. */
#include <assert.h>
#include "core/state.h"

enum { REMEMBERED_LEAST = 16 << 20 };

struct hf_session *hf_session_open(struct hf_engine *engine, struct hf_server *only, void *shell,
                                   uint64_t now_ms)
{
    hf_set_now(engine, now_ms);
    struct hf_session *session = hf_new(struct hf_session);
    session->engine = engine;
    session->number = ++engine->serial;
    session->only = only;
    if (only)
        only->own_sessions++;
    session->shell = shell;
    hf_link_init(&session->calls);
    hf_link_init(&session->asks);
    hf_link_init(&session->questions);
    hf_link_init(&session->parks);
    hf_link_init(&session->subscriptions);
    hf_link_init(&session->uses);
    hf_link_init(&session->listeners);
    hf_link_init(&session->tasks);
    hf_timer_init(&session->settle, HF_TIMER_SETTLE, session);
    hf_list_push(&engine->sessions, &session->link);
    return session;
}

void *hf_session_shell(const struct hf_session *session)
{
    return session->shell;
}

bool hf_session_uses(const struct hf_session *session, const struct hf_server *server)
{
    return (!session->only || session->only == server) &&
           hf_policy_allows_server(session->policy, server->name);
}

struct hf_use *hf_session_find_use(const struct hf_session *session, const struct hf_server *server)
{
    struct hf_use *use;
    HF_LIST_EACH (use, &session->uses, struct hf_use, link) {
        if (use->server == server)
            return use;
    }
    return NULL;
}

struct hf_use *hf_session_use(struct hf_session *session, struct hf_server *server)
{
    struct hf_use *use = hf_session_find_use(session, server);
    if (use)
        return use;
    use = hf_new(struct hf_use);
    use->server = server;
    hf_list_push(&session->uses, &use->link);
    return use;
}

/* Apart from what calls hold: those come and go, and must not wait for clients to leave. */
bool hf_session_may_keep(const struct hf_session *session, size_t bytes)
{
    const struct hf_engine *engine = session->engine;
    const uint64_t max = engine->limits.max_buffered_bytes;
    return session->remembered_bytes + bytes <= HF_SESSION_REMEMBERED_MAX &&
           engine->remembered_bytes + bytes <= (max > REMEMBERED_LEAST ? max : REMEMBERED_LEAST);
}

void hf_session_keep(struct hf_session *session, size_t bytes)
{
    session->remembered_bytes += bytes;
    session->engine->remembered_bytes += bytes;
}

void hf_session_let_go(struct hf_session *session, size_t bytes)
{
    assert(session->remembered_bytes >= bytes);
    session->remembered_bytes -= bytes;
    session->engine->remembered_bytes -= bytes;
}

static void drop_uses(struct hf_session *session, const struct hf_server *server)
{
    struct hf_use *use;
    HF_LIST_EACH_SAFE (use, &session->uses, struct hf_use, link) {
        if (server && use->server != server)
            continue;
        hf_unlink(&use->link);
        hf_free(use);
    }
}

/* The server is removed; nothing may point to it any more. */
void hf_session_forget(struct hf_session *session, struct hf_server *server)
{
    hf_session_unsubscribe_all(session, server);
    drop_uses(session, server);
}

/* ---- one of its messages is not waited for any more ---- */

static struct hf_call *unsent_via(const struct hf_session *session, uint64_t via)
{
    struct hf_call *call;
    HF_LIST_EACH (call, &session->calls, struct hf_call, in_session) {
        if (call->via == via && (hf_stage_is_waiting(call->stage) ||
                                 call->stage == HF_CALL_QUEUED || call->stage == HF_CALL_JOINED))
            return call;
    }
    return NULL;
}

void hf_session_via_gone(struct hf_session *session, uint64_t via, uint64_t now_ms)
{
    hf_set_now(session->engine, now_ms);
    hf_listen_via_gone(session, via);
    struct hf_call *call; /* ending one may end others: from the start again each time */
    while ((call = unsent_via(session, via)))
        if (call->stage == HF_CALL_JOINED) /* what it waits for is kept for the next retry */
            hf_call_cancel(call, HF_SPAN(""));
        else
            hf_call_fail(call, HF_ERROR_UNAVAILABLE, "client_gone",
                         "The client went away while the call waited for \"%s\"; it was never "
                         "sent and is safe to send again.",
                         call->slot->server->name);
}

static struct hf_call *call_via(const struct hf_session *session, uint64_t via)
{
    struct hf_call *call;
    HF_LIST_EACH (call, &session->calls, struct hf_call, in_session) {
        if (call->via == via)
            return call;
    }
    return NULL;
}

void hf_session_via_cancelled(struct hf_session *session, uint64_t via, uint64_t now_ms)
{
    hf_set_now(session->engine, now_ms);
    hf_listen_via_gone(session, via);
    struct hf_call *call;
    while ((call = call_via(session, via)))
        hf_call_cancel(call, HF_SPAN("\"the client closed the stream of its request\""));
}

/* A retry is as far as the call that it waits for. */
static const struct hf_call *sent_for(const struct hf_call *call)
{
    return call->stage == HF_CALL_JOINED ? call->park->call : call;
}

/* Told as far as it got. */
static void give_up(struct hf_call *call)
{
    const struct hf_call *sent = sent_for(call);
    const bool may_have_run = hf_stage_is_begun(sent->stage) || sent->stage == HF_CALL_ASKING ||
                              sent->stage == HF_CALL_KEEPING || sent->was_dispatched;
    if (call->stage == HF_CALL_KEEPING) {
        hf_seam_let_go(call);
        return;
    }
    hf_call_take_back(call, HF_SPAN(""));
    if (may_have_run)
        hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, "session_ended",
                     "The call was sent to \"%s\", and the session of its client was ended before "
                     "the answer came. It may have run. Check its effect before sending it again.",
                     call->slot->server->name);
    else
        hf_call_fail(call, HF_ERROR_UNAVAILABLE, "session_ended",
                     "The session of its client was ended while the call waited. It was never "
                     "sent and is safe to send again.");
}

void hf_session_give_up(struct hf_session *session, uint64_t now_ms)
{
    hf_set_now(session->engine, now_ms);
    for (struct hf_call *call; (call = HF_LIST_FIRST(&session->calls, struct hf_call, in_session));)
        give_up(call);
}

/* ---- finishing: it sends nothing more, and still reads ---- */

bool hf_session_is_settled(const struct hf_session *session)
{
    return session->is_finished && hf_list_empty(&session->calls);
}

static uint64_t drain_end(const struct hf_session *session)
{
    uint32_t longest = 0;
    const struct hf_call *call;
    HF_LIST_EACH (call, &session->calls, struct hf_call, in_session) {
        if (call->slot && call->slot->server->settings.drain_ms > longest)
            longest = call->slot->server->settings.drain_ms;
    }
    return session->last_dispatch_ms + longest;
}

void hf_session_maybe_settle(struct hf_session *session)
{
    struct hf_engine *engine = session->engine;
    if (!session->is_finished)
        return;
    const bool open = !hf_list_empty(&session->calls);
    const uint64_t end = open ? drain_end(session) : 0;
    hf_timer_set(&engine->timers, &session->settle,
                 end > engine->now_ms || !open ? end : engine->now_ms + 1);
}

void hf_session_dispatched(struct hf_session *session)
{
    session->last_dispatch_ms = session->engine->now_ms;
    hf_session_maybe_settle(session);
}

void hf_session_finish(struct hf_session *session, uint64_t now_ms)
{
    hf_set_now(session->engine, now_ms);
    session->is_finished = true;
    hf_parks_drop(session, "the client has finished");
    hf_input_finished(session);
    hf_listen_end_all(session);
    hf_session_maybe_settle(session);
}

static struct hf_call *dispatched_call(const struct hf_session *session)
{
    struct hf_call *call;
    HF_LIST_EACH (call, &session->calls, struct hf_call, in_session) {
        if (hf_stage_is_begun(sent_for(call)->stage))
            return call;
    }
    return NULL;
}

void hf_session_timer(struct hf_session *session)
{
    struct hf_engine *engine = session->engine;
    struct hf_call *call; /* ending one may end others: from the start again each time */
    if (engine->now_ms >= drain_end(session))
        while ((call = dispatched_call(session)))
            hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, "client_finished",
                         "The client closed its side and the call to \"%s\" did not answer "
                         "within drainMs. It may still run: check its effect.",
                         call->slot->server->name);
    bool waits = false;
    const struct hf_call *each;
    HF_LIST_EACH (each, &session->calls, struct hf_call, in_session) {
        waits |= hf_stage_is_with_server(sent_for(each)->stage);
    }
    if (waits)
        hf_session_maybe_settle(session);
}

/* ---- gone ---- */

static void free_session(void *p)
{
    struct hf_session *session = p;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        hf_view_unref(session->given[part]);
    hf_policy_unref(session->policy);
    hf_free(session->hello);
    hf_free(session->log_level);
    hf_free(session);
}

void hf_session_close(struct hf_session *session, uint64_t now_ms)
{
    struct hf_engine *engine = session->engine;
    hf_set_now(engine, now_ms);
    assert(!session->is_closed);
    session->is_closed = true;
    session->is_finished = false;
    while (!hf_list_empty(&session->asks)) {
        struct hf_ask *ask = HF_LIST_FIRST(&session->asks, struct hf_ask, in_session);
        hf_tell_error(ask->runtime, hf_span_of(ask->server_id), -32603, "the client is gone");
        hf_ask_end(ask);
    }
    while (!hf_list_empty(&session->calls))
        hf_call_cancel(HF_LIST_FIRST(&session->calls, struct hf_call, in_session),
                       HF_SPAN("\"the client is gone\""));
    hf_parks_drop(session, "the client is gone");
    hf_slots_drop_owner(session);
    hf_tasks_leave(session);
    hf_listen_drop_all(session);
    hf_subscriptions_drop(session, &session->subscriptions);
    drop_uses(session, NULL);
    hf_session_let_go(session, session->remembered_bytes);
    hf_timer_clear(&engine->timers, &session->settle);
    hf_unlink(&session->link);
    hf_ears_review(engine);
    if (session->only)
        hf_server_left(session->only);
    hf_bury(engine, free_session, session);
}
