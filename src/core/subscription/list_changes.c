/* list_changes.c - who is told that a list changed: legacy clients, and the listeners of modern
 * clients.
 *
 * An audience keeps the serial number of its newest change, for each kind of news and part; a
 * client keeps the number up to which it has been told. The clients of an audience are told in
 * portions, so that the length of a turn does not grow with their number; a change that comes
 * meanwhile is told once, with the others. */
#include "core/subscription/list_changes.h"
#include "core/call/send.h"
#include "core/client/audience.h"
#include "core/client/policy.h"
#include "core/client/view.h"
#include "core/outbox.h"
#include "core/state/session.h"
#include "wire/jsonrpc.h"
#include "core/subscription/listener.h"

enum { PORTION = 100 }; /* clients told in one turn: about 10 us each */

static void hear(struct hf_audience *audience, const struct hf_server *server)
{
    const struct hf_policy *policy = audience->policy;
    for (enum hf_news news = 0; news < HF_NEWS_COUNT; news++)
        for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
            if (server->news[news][part] > audience->news[news][part])
                audience->news[news][part] = server->news[news][part];
    audience->hides |=
        hf_filter_is_set(&server->rules.names) || (policy && hf_filter_is_set(&policy->names));
    audience->next_to_tell = audience->members.next;
    if (!hf_linked(&audience->mark))
        hf_list_push(&audience->engine->audiences_to_tell, &audience->mark);
}

void hf_audiences_hear(struct hf_server *server)
{
    struct hf_engine *engine = server->engine;
    struct hf_audience *audience;
    if (!server->has_news)
        return;
    HF_LIST_EACH (audience, &engine->audiences, struct hf_audience, link) {
        if (!hf_list_empty(&audience->members) && hf_audience_sees(audience, server))
            hear(audience, server);
    }
    server->has_news = false;
    memset(server->news, 0, sizeof server->news);
}

/* ---- telling ---- */

/* The change may be in what rules hide from the client: then its list is still the newest, and the
 * client is not told. */
static bool is_unchanged_for(struct hf_session *session, enum hf_part_id part)
{
    return session->audience->hides && (part == HF_PART_TOOLS || part == HF_PART_PROMPTS) &&
           session->given[part] && hf_view_is_newest(session, part);
}

static bool is_newer(const struct hf_audience *audience, enum hf_news news, enum hf_part_id part,
                     uint64_t than)
{
    return audience->news[news][part] > than;
}

/* A client that was never given a list is not told of a server's first list, unless its initialize
 * was answered before its only server had said what it offers. */
static bool is_news_for_client(struct hf_session *session, enum hf_part_id part)
{
    const uint64_t told = session->told[part];
    const bool wants_first = session->given[part] || session->was_greeted_blind;
    return session->has_greeted &&
           (is_newer(session->audience, HF_NEWS_CHANGED, part, told) ||
            (is_newer(session->audience, HF_NEWS_FIRST, part, told) && wants_first)) &&
           !is_unchanged_for(session, part);
}

static bool is_news_for_listeners(const struct hf_session *session, enum hf_part_id part)
{
    const uint64_t told = session->listeners_told;
    return is_newer(session->audience, HF_NEWS_CHANGED, part, told) ||
           is_newer(session->audience, HF_NEWS_ANNOUNCED, part, told) ||
           (is_newer(session->audience, HF_NEWS_FIRST, part, told) && session->given[part]);
}

static void tell_client(struct hf_session *session, enum hf_part_id part)
{
    struct hf_buf draft = hf_draft();
    hf_msg_add_notification(&draft, hf_method(hf_part_traits(part)->changed)->name);
    hf_session_send(session, 0, hf_draft_end(session->engine, &draft));
}

static void tell(struct hf_session *session)
{
    bool told_client = false, told_listeners = false;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++) {
        if (part != HF_PART_TEMPLATES) /* resources and their templates are one piece of news */
            told_client = told_listeners = false;
        if (!told_client && is_news_for_client(session, part)) {
            told_client = true;
            tell_client(session, part);
        }
        if (!told_listeners && is_news_for_listeners(session, part)) {
            told_listeners = true;
            hf_listeners_tell_changed(session, part);
        }
        session->told[part] = session->engine->news_serial;
    }
    session->listeners_told = session->engine->news_serial;
}

/* False: some clients of the audience are still to be told. */
static bool tell_portion(struct hf_audience *audience)
{
    for (int i = 0; i < PORTION; i++) {
        if (audience->next_to_tell == &audience->members)
            return true;
        struct hf_session *session =
            HF_ITEM(audience->next_to_tell, struct hf_session, in_audience);
        audience->next_to_tell = session->in_audience.next;
        tell(session);
    }
    return audience->next_to_tell == &audience->members;
}

void hf_audiences_tell(struct hf_engine *engine)
{
    while (!engine->more_news.at_ms && !hf_list_empty(&engine->audiences_to_tell)) {
        struct hf_audience *audience =
            HF_LIST_FIRST(&engine->audiences_to_tell, struct hf_audience, mark);
        if (tell_portion(audience)) {
            hf_unlink(&audience->mark);
            audience->hides = false;
        } else { /* the other clients are told in the next turn */
            hf_timer_set(&engine->timers, &engine->more_news, engine->now_ms);
        }
    }
}
