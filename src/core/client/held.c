/* held.c - initialize and lists that wait until a server has said what it offers.
 *
 * A held call waits in the list of one server (server->held) until that server has been listed or
 * cannot be listed soon, and then for the next such server. It is answered when no such server is
 * left, or after listWaitMs with what is known by then. Only servers that were never listed are
 * looked at (engine->unlisted). */
#include "core/client/held.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/client/initialize.h"
#include "core/client/modern.h"
#include "core/client/session.h"
#include "core/client/view.h"
#include "core/server/server.h"
#include "core/server/slot.h"
#include "core/state/incoming.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

static void answer_now(struct hf_call *call);
static const struct hf_call_owner owner = { .purpose = HF_FOR_CLIENT, .timed_out = answer_now };

/* ---- which servers a held call waits for ---- */

static bool is_listing_first(const struct hf_slot *slot, enum hf_part_id part)
{
    return slot->machine.state == HF_SLOT_CONNECTED && slot->current->listing[part].building &&
           !slot->server->parts[part];
}

/* Whether some part of this server may still be listed for the first time. */
static bool is_unlisted(const struct hf_server *server)
{
    if (!server->backoff.was_connected)
        return true;
    const struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
            if (is_listing_first(slot, part))
                return true;
    }
    return false;
}

/* Whether this server may soon list this part for the first time. */
static bool is_pending(const struct hf_session *session, const struct hf_server *server,
                       enum hf_part_id part)
{
    if (server->parts[part] || server->is_removed || !server->wanted ||
        !hf_session_uses(session, server))
        return false;
    const struct hf_slot *slot = hf_slot_of(server, session);
    if (!slot)
        return false;
    const enum hf_slot_state state = slot->machine.state;
    if (state == HF_SLOT_CONNECTED)
        return is_listing_first(slot, part);
    return !server->backoff.was_connected &&
           (state == HF_SLOT_CONNECTING || state == HF_SLOT_RECONNECTING);
}

/* initialize and server/discover need no list, only what an only server said when greeted. */
static bool waits_for(const struct hf_call *call, const struct hf_server *server)
{
    const struct hf_session *session = call->session;
    const enum hf_method_id method = call->method->id;
    if (method == HF_METHOD_INITIALIZE &&
        (!session->only || hf_initialize_server_result(session).p))
        return false;
    if (method == HF_METHOD_DISCOVER && (!session->only || session->only->greeting))
        return false;
    return is_pending(session, server, call->part);
}

/* The next server that this call must wait for; NULL: none. */
static struct hf_server *pending_for(const struct hf_call *call)
{
    const struct hf_session *session = call->session;
    struct hf_server *server = session->only;
    if (server)
        return waits_for(call, server) ? server : NULL;
    HF_LIST_EACH (server, &session->engine->unlisted, struct hf_server, in_unlisted) {
        if (waits_for(call, server))
            return server;
    }
    return NULL;
}

/* Servers that are not running and were never connected are started, all of them at once. */
static void wake_unlisted(struct hf_session *session, enum hf_part_id part)
{
    struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->unlisted, struct hf_server, in_unlisted) {
        if (server->parts[part] || server->is_removed || !server->wanted ||
            server->backoff.was_connected || !hf_session_uses(session, server))
            continue;
        struct hf_slot *slot = hf_slot_for(server, session);
        if (slot && slot->machine.state == HF_SLOT_DISCONNECTED)
            hf_slot_event(slot, HF_SLOT_EV_CALL);
    }
}

static uint32_t list_wait_ms(const struct hf_session *session)
{
    uint32_t longest = 0;
    const struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->unlisted, struct hf_server, in_unlisted) {
        if (server->settings.list_wait_ms > longest && hf_session_uses(session, server))
            longest = server->settings.list_wait_ms;
    }
    return longest;
}

/* ---- answering ---- */

struct hf_answer hf_list_answer(struct hf_session *session, bool is_modern, enum hf_part_id part,
                                struct hf_span cursor)
{
    struct hf_err err;
    const struct hf_span page = hf_view_page(session, part, cursor, &err);
    if (!page.p)
        return hf_answer_error(session->engine, -32602, err.text, HF_SPAN(""));
    return hf_answer_result(is_modern ? hf_modern_dressed(session, page, true) : page);
}

static void answer_now(struct hf_call *call)
{
    struct hf_session *session = call->session;
    char why[HF_WHY_SIZE];
    if (hf_session_cannot_be_served(session)) {
        hf_session_turn_away(session, call->method->id, why);
        hf_call_fail(call, HF_ERROR_PERMANENTLY_FAILED, session->only->reason, "%s", why);
        return;
    }
    if (call->method->id == HF_METHOD_INITIALIZE)
        hf_call_answer(call, hf_answer_result(hf_initialize_result(session)));
    else if (call->method->id == HF_METHOD_DISCOVER)
        hf_call_answer(call, hf_answer_result(hf_modern_discover_result(session)));
    else
        hf_call_answer(call, hf_list_answer(session, call->is_modern, call->part,
                                            (struct hf_span) { NULL, 0 }));
}

static void wait_or_answer(struct hf_call *call)
{
    struct hf_server *server = pending_for(call);
    if (!server) {
        answer_now(call);
        return;
    }
    hf_list_push(&server->held, &call->link);
    hf_call_arm(call);
}

void hf_held_take(const struct hf_incoming *in, enum hf_part_id part)
{
    struct hf_session *session = in->session;
    struct hf_call *call = hf_call_new(in, &owner);
    if (!call)
        return;
    call->part = part;
    hf_call_set_stage(call, HF_CALL_HELD);
    const bool is_list =
        in->method->id != HF_METHOD_INITIALIZE && in->method->id != HF_METHOD_DISCOVER;
    if (is_list || session->only)
        wake_unlisted(session, part);
    call->wait_until_ms = session->engine->now_ms + list_wait_ms(session);
    wait_or_answer(call);
}

void hf_held_review(struct hf_server *server)
{
    if (server->is_forgotten || !is_unlisted(server))
        hf_unlink(&server->in_unlisted);
    else if (!hf_linked(&server->in_unlisted))
        hf_list_push(&server->engine->unlisted, &server->in_unlisted);
    struct hf_link held; /* a call that still waits for this server is put back */
    hf_list_move(&held, &server->held);
    while (!hf_list_empty(&held)) {
        struct hf_call *call = HF_LIST_FIRST(&held, struct hf_call, link);
        hf_unlink(&call->link);
        if (waits_for(call, server) && !server->is_forgotten)
            hf_list_push(&server->held, &call->link);
        else
            wait_or_answer(call);
    }
}
