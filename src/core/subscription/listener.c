/* listener.c - the subscriptions/listen requests of clients: opened and acknowledged, told of
 * changes, ended. See subscription.h. */
#include "core/subscription/listener.h"
#include "core/call/party.h"
#include "core/call/answer.h"
#include "core/call/remember.h"
#include "core/call/send.h"
#include "core/client/policy.h"
#include "core/client/modern.h"
#include "core/client/view.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/server/slot.h"
#include "core/state/call.h"
#include "core/state/incoming.h"
#include "core/state/session.h"
#include "core/subscription/subscription.h"

/* ---- messages ---- */

static void add_tag(struct hf_buf *out, struct hf_span id)
{
    hf_buf_printf(out, "\"" HF_META_LISTEN "\":%.*s", HF_FMT(id));
}

static void begin_notification(struct hf_buf *out, enum hf_method_id method, struct hf_span id)
{
    hf_msg_begin_notification(out, hf_method(method)->name);
    hf_buf_add_str(out, ",\"params\":{\"_meta\":{");
    if (id.p)
        add_tag(out, id);
}

static bool is_tag(struct hf_span key)
{
    return hf_json_key_is(key, HF_SPAN(HF_META_LISTEN));
}

static void add_member(struct hf_buf *out, const struct hf_json_iter *it)
{
    hf_json_add_comma(out);
    hf_buf_add_char(out, '"');
    hf_buf_add(out, it->key);
    hf_buf_add_str(out, "\":");
    hf_buf_add(out, it->value);
}

struct hf_span hf_listener_tagged(struct hf_engine *engine, const struct hf_msg *msg,
                                  struct hf_span id)
{
    const struct hf_span meta = hf_json_get(msg->params, HF_SPAN("_meta"));
    if (!id.p && !hf_json_get(meta, HF_SPAN(HF_META_LISTEN)).p)
        return msg->text;
    struct hf_buf draft = hf_draft();
    begin_notification(&draft, hf_method_find(msg->method)->id, id);
    for (struct hf_json_iter it = hf_json_iter(meta); hf_json_next(&it);)
        if (!is_tag(it.key))
            add_member(&draft, &it);
    hf_buf_add_char(&draft, '}');
    for (struct hf_json_iter it = hf_json_iter(msg->params); hf_json_next(&it);)
        if (!hf_json_key_is(it.key, HF_SPAN("_meta")))
            add_member(&draft, &it);
    hf_buf_add_str(&draft, "}}");
    return hf_draft_end(engine, &draft);
}

/* ---- opening ---- */

static const struct {
    enum hf_part_id part;
    struct hf_span member;
} kinds[] = {
    { HF_PART_TOOLS, { "toolsListChanged", 16 } },
    { HF_PART_PROMPTS, { "promptsListChanged", 18 } },
    { HF_PART_RESOURCES, { "resourcesListChanged", 20 } },
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static struct hf_span capability(const struct hf_server *server, struct hf_span name)
{
    return hf_json_path(hf_span_of(server->greeting), 2,
                        (struct hf_span[]) { HF_SPAN("capabilities"), name });
}

/* Whether the session's endpoint has lists of this kind at all. A server that has not said yet what
 * it offers may have any. */
static bool has_part(const struct hf_session *session, enum hf_part_id part)
{
    const struct hf_server *server = session->only;
    return !server || !server->greeting ||
           capability(server, hf_part_traits(part)->capability).p != NULL;
}

static bool has_updates(const struct hf_server *server)
{
    return !server || !server->greeting ||
           hf_json_is_true(
               hf_json_get(capability(server, HF_SPAN("resources")), HF_SPAN("subscribe")));
}

static struct hf_server *server_of(struct hf_session *session, struct hf_span uri)
{
    struct hf_target target = { .server = session->only };
    if (!target.server && !hf_view_resolve(session, HF_PART_RESOURCES, uri, &target))
        target.server = hf_view_template_server(session, uri);
    const bool is_allowed =
        target.server && hf_policy_allows_uri(session->policy, target.server, uri);
    return is_allowed ? target.server : NULL;
}

static size_t weight(struct hf_span id)
{
    return sizeof(struct hf_listener) + id.n;
}

/* Refuses a filter that is malformed or wants too much; true: it did. */
static bool refuse_filter(const struct hf_incoming *in, struct hf_span filter)
{
    struct hf_session *session = in->session;
    const struct hf_span uris = hf_json_get(filter, HF_SPAN("resourceSubscriptions"));
    size_t count = 0;
    bool is_good =
        hf_json_type(filter) == HF_JSON_OBJECT && (!uris.p || hf_json_type(uris) == HF_JSON_ARRAY);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const enum hf_json_type type = hf_json_type(hf_json_get(filter, kinds[i].member));
        is_good &= type == HF_JSON_NONE || type == HF_JSON_TRUE || type == HF_JSON_FALSE;
    }
    for (struct hf_json_iter it = hf_json_iter(uris); hf_json_next(&it); count++)
        is_good &= hf_json_type(it.value) == HF_JSON_STRING;
    if (!is_good) {
        hf_reply_error(in, -32602,
                       "Invalid params: subscriptions/listen needs an object \"notifications\" of "
                       "booleans, with an array of strings as \"resourceSubscriptions\"");
        return true;
    }
    if (count > HF_LISTENER_URIS_MAX) {
        hf_reply_error(in, -32602,
                       "Invalid params: \"resourceSubscriptions\" has more than %d URIs",
                       HF_LISTENER_URIS_MAX);
        return true;
    }
    const size_t bytes = weight(in->id) + count * sizeof(struct hf_subscription) + uris.n;
    if (hf_reply_if_over(in, NULL, HF_SHARED_SUBSCRIPTIONS, count))
        return true;
    if (session->listener_count < HF_SESSION_LISTENERS_MAX &&
        hf_session_may_remember(session, bytes))
        return false;
    hf_reply_failure(
        in, NULL, HF_ERROR_OVERLOADED, "too_many_subscriptions",
        "holdfast already listens for as many clients and resources as it can; end other "
        "subscriptions first.");
    return true;
}

/* Refuses to listen if holdfast is stopping or the only server was removed; true: it did. */
static bool refuse_at_the_end(const struct hf_incoming *in)
{
    struct hf_server *only = in->session->only;
    if (in->session->engine->is_stopping)
        hf_reply_failure(in, only, HF_ERROR_UNAVAILABLE, "shutting_down",
                         "holdfast is shutting down; listen again later.");
    else if (only && only->is_removed)
        hf_reply_error(in, -32602, "The server \"%s\" was removed from the config", only->name);
    else
        return false;
    return true;
}

/* A server that is not running tells of no updates: start it. */
static void wake(struct hf_session *session, struct hf_server *server)
{
    struct hf_slot *slot = server ? hf_slot_for(server, session) : NULL;
    if (slot && slot->machine.state == HF_SLOT_DISCONNECTED)
        hf_slot_event(slot, HF_SLOT_EV_CALL);
}

static void add_uris(const struct hf_incoming *in, struct hf_listener *listener,
                     struct hf_span uris, struct hf_buf *honoured)
{
    struct hf_session *session = in->session;
    struct hf_buf list = hf_draft();
    for (struct hf_json_iter it = hf_json_iter(uris); hf_json_next(&it);) {
        struct hf_server *server = server_of(session, it.value);
        if (!has_updates(server))
            continue;
        hf_subscription_add(session, in->party, listener, server, it.value);
        hf_buf_add_char(&list, hf_buf_len(&list) ? ',' : '[');
        hf_buf_add(&list, it.value);
    }
    if (hf_buf_len(&list)) {
        hf_json_add_key(honoured, "resourceSubscriptions");
        hf_buf_add(honoured, hf_buf_span(&list));
        hf_buf_add_char(honoured, ']');
    }
    hf_buf_done(&list);
}

void hf_listener_open(const struct hf_incoming *in)
{
    struct hf_session *session = in->session;
    const struct hf_span filter = hf_json_get(in->msg->params, HF_SPAN("notifications"));
    if (refuse_at_the_end(in) || refuse_filter(in, filter))
        return;
    struct hf_listener *listener = hf_new(struct hf_listener);
    listener->via = in->via;
    listener->id = hf_span_dup(in->id);
    hf_link_init(&listener->subscriptions);
    hf_list_push(&session->listeners, &listener->link);
    session->listener_count++;
    hf_session_remember(session, weight(in->id));
    struct hf_buf draft = hf_draft();
    begin_notification(&draft, HF_METHOD_LISTENS, in->id);
    hf_buf_add_str(&draft, "},\"notifications\":{");
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const enum hf_part_id part = kinds[i].part;
        listener->wants[part] =
            hf_json_is_true(hf_json_get(filter, kinds[i].member)) && has_part(session, part);
        if (!listener->wants[part])
            continue;
        hf_json_add_key(&draft, kinds[i].member.p);
        hf_buf_add_str(&draft, "true");
    }
    listener->wants[HF_PART_TEMPLATES] = listener->wants[HF_PART_RESOURCES];
    add_uris(in, listener, hf_json_get(filter, HF_SPAN("resourceSubscriptions")), &draft);
    hf_buf_add_str(&draft, "}}}");
    hf_session_send(session, listener->via, hf_draft_end(session->engine, &draft));
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, &listener->subscriptions, struct hf_subscription, link)
        wake(session, sub->server);
}

void hf_listeners_tell_changed(struct hf_session *session, enum hf_part_id part)
{
    const struct hf_listener *listener;
    HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link) {
        if (!listener->wants[part])
            continue;
        struct hf_buf draft = hf_draft();
        begin_notification(&draft, hf_part_traits(part)->changed, hf_span_of(listener->id));
        hf_buf_add_str(&draft, "}}}");
        hf_session_send(session, listener->via, hf_draft_end(session->engine, &draft));
    }
}

/* ---- ending ---- */

static void forget(struct hf_session *session, struct hf_listener *listener)
{
    hf_unlink(&listener->link);
    session->listener_count--;
    hf_session_forget_bytes(session, weight(hf_span_of(listener->id)));
    hf_subscriptions_drop(&listener->subscriptions);
    hf_free(listener->id);
    hf_free(listener);
}

struct hf_listener *hf_listener_find(const struct hf_session *session, struct hf_span id)
{
    struct hf_listener *listener;
    HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link) {
        if (hf_json_same_scalar(hf_span_of(listener->id), id))
            return listener;
    }
    return NULL;
}

void hf_listener_drop(struct hf_session *session, struct hf_listener *listener)
{
    hf_session_end_stream(session, listener->via);
    forget(session, listener);
}

void hf_listeners_drop_via(struct hf_session *session, uint64_t via)
{
    struct hf_listener *listener;
    HF_LIST_EACH_SAFE (listener, &session->listeners, struct hf_listener, link) {
        if (listener->via == via)
            hf_listener_drop(session, listener);
    }
}

void hf_listeners_drop(struct hf_session *session)
{
    struct hf_listener *listener;
    HF_LIST_EACH_SAFE (listener, &session->listeners, struct hf_listener, link) {
        forget(session, listener);
    }
}

void hf_listeners_end(struct hf_session *session)
{
    while (!hf_list_empty(&session->listeners)) {
        struct hf_listener *listener = HF_LIST_FIRST(&session->listeners, struct hf_listener, link);
        struct hf_buf draft = hf_draft();
        hf_buf_add_str(&draft, "{\"resultType\":\"complete\",\"_meta\":{");
        hf_modern_add_info(&draft, session);
        hf_buf_add_char(&draft, ',');
        add_tag(&draft, hf_span_of(listener->id));
        hf_buf_add_str(&draft, "}}");
        const struct hf_incoming opened = { .session = session,
                                            .via = listener->via,
                                            .id = hf_span_of(listener->id) };
        hf_reply(&opened, hf_answer_result(hf_draft_end(session->engine, &draft)));
        forget(session, listener);
    }
}
