/* reviews.c - what is looked at again once events have been handled.
 *
 * An event changes facts and leaves marks on what may have to be done about them: publish or hide a
 * server's names, answer lists that waited for it, send what waits for a place, ask a server for
 * other updates, tell the clients of a door. The marks are drained when the shell has taken the
 * effects of the event, each once however often it was made, and until none is left. So nothing
 * that acts is ever called in the middle of something else, and what changes ten times in one event
 * is looked at once. */
#include "core/state.h"

static void review_server(struct hf_link *mark)
{
    struct hf_server *server = HF_ITEM(mark, struct hf_server, mark);
    hf_server_review(server);
    hf_doors_tell(server->engine); /* a client hears that its list is old before it gets another */
    hf_held_review(server);
}

static void review_slot(struct hf_link *mark)
{
    hf_slot_flush(HF_ITEM(mark, struct hf_slot, mark));
}

static void review_runtime(struct hf_link *mark)
{
    hf_ear_review(HF_ITEM(mark, struct hf_runtime, mark));
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
            hf_doors_tell(engine);
        while (review_next(engine));
    }
}
