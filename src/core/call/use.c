/* use.c - which servers a client has used, and how often each had lost its state by then: each
 * client is told once that a `stateful` server lost its state, before another call of that client
 * runs. */
#include "core/call/use.h"
#include "core/state/server.h"
#include "core/state/session.h"

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
    hf_list_push(&server->uses, &use->in_server);
    return use;
}

static void drop_use(struct hf_use *use)
{
    hf_unlink(&use->link);
    hf_unlink(&use->in_server);
    hf_free(use);
}

void hf_uses_forget(struct hf_server *server)
{
    while (!hf_list_empty(&server->uses))
        drop_use(HF_LIST_FIRST(&server->uses, struct hf_use, in_server));
}

void hf_uses_drop(struct hf_session *session)
{
    while (!hf_list_empty(&session->uses))
        drop_use(HF_LIST_FIRST(&session->uses, struct hf_use, link));
}
