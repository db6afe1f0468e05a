/* reviews.c - what is looked at again once events have been handled.
 *
 * An event changes facts and leaves marks on what may have to be done about them: publish or hide a
 * server's names, answer list requests that waited for the server, send calls that wait for a
 * place, ask a server for other updates, tell clients whose lists changed. The marks are drained
 * when the shell has taken the effects of the event, each once however often it was made, and until
 * none is left. So nothing that acts is ever called in the middle of something else, and what
 * changes ten times in one event is looked at once. */
#include "core/reviews.h"
#include "core/call/queue.h"
#include "core/call/use.h"
#include "core/client/audience.h"
#include "core/client/held.h"
#include "core/client/log_level.h"
#include "core/client/tasks.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/server/slot.h"
#include "core/state/runtime.h"
#include "core/state/session.h"
#include "core/subscription/list_changes.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"
#include "core/subscription/upstream.h"

/* Ends the subscriptions of clients that see this server alone: nothing is left to tell them. */
static void end_its_listeners(const struct hf_server *server)
{
    struct hf_session *session;
    HF_LIST_EACH (session, &server->own_sessions, struct hf_session, in_only) {
        hf_listeners_end(session);
    }
}

void hf_server_forget(struct hf_server *server)
{
    struct hf_engine *engine = server->engine;
    hf_server_review(server); /* the server's names go with it, and clients are told */
    hf_audiences_hear(server);
    server->is_forgotten = true;
    hf_unlink(&server->link);
    hf_unlink(&server->mark);
    hf_held_review(server);
    hf_uses_forget(server);
    hf_subscriptions_forget(server);
    hf_tasks_forget(engine, server);
    hf_audiences_forget(engine, server);
    hf_emit(engine, HF_DO_FORGET_SERVER)->server = server;
    hf_server_unref(server);
}

static void review_server(struct hf_link *mark)
{
    struct hf_server *server = HF_ITEM(mark, struct hf_server, mark);
    if (server->is_removed)
        end_its_listeners(server);
    if (server->is_gone) {
        hf_server_forget(server);
        return;
    }
    hf_server_review(server);
    hf_audiences_hear(server);
    hf_audiences_tell(
        server->engine); /* a client is told that its list is old before it gets another */
    hf_held_review(server);
}

static void review_slot(struct hf_link *mark)
{
    hf_slot_flush(HF_ITEM(mark, struct hf_slot, mark));
}

static void review_runtime(struct hf_link *mark)
{
    struct hf_runtime *runtime = HF_ITEM(mark, struct hf_runtime, mark);
    if (!runtime->is_to_restore) {
        hf_upstream_review(runtime);
        return;
    }
    runtime->is_to_restore = false;
    hf_log_level_restore(runtime);
    hf_upstream_restore(runtime);
}

static void (*const reviews[HF_MARK_COUNT])(struct hf_link *mark) = {
    [HF_MARK_SERVER] = review_server,
    [HF_MARK_SLOT] = review_slot,
    [HF_MARK_RUNTIME] = review_runtime,
};

static bool review_next(struct hf_engine *engine)
{
    for (enum hf_mark_kind kind = 0; kind < HF_MARK_COUNT; kind++) {
        struct hf_link *mark = engine->marks[kind].next;
        if (mark == &engine->marks[kind])
            continue;
        hf_unlink(mark);
        reviews[kind](mark);
        return true;
    }
    return false;
}

void hf_reviews_drain(struct hf_engine *engine)
{
    while (engine->is_marked) {
        engine->is_marked = false;
        do
            hf_audiences_tell(engine);
        while (review_next(engine));
    }
}
