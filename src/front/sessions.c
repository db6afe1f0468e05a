/* sessions.c - sessions of HTTP clients: made by an initialize (or an SSE stream), bound to the
 * token and the endpoint of that request, closed when they were not used for long. */
#include "front/modern.h"
#include "io/random.h"

enum { IN_USE_MS = 60 * 1000 };

static struct hf_http_session *session_of(struct hf_link *link)
{
    return HF_ITEM(link, struct hf_http_session, entry.link);
}

/* ---- messages of the engine ---- */

static void on_send(struct hf_sink *sink, const struct hf_effect *effect)
{
    struct hf_http_session *session = HF_ITEM(sink, struct hf_http_session, sink);
    if (!session->core)
        return;
    if (effect->over)
        hf_http_count_refusal(session->front, session->party, hf_limit_of_engine(effect->over));
    if (effect->is_answer)
        session->front->tallies.list[session->tally].answered++;
    if (session->is_modern) {
        hf_modern_send(session, effect);
        return;
    }
    struct hf_reply_stream *stream =
        effect->via ? hf_reply_stream_find(session, effect->via) : NULL;
    if (stream &&
        stream->is_finished) /* a server takes a question back that it asked during that call */
        stream = NULL;
    if (stream && effect->is_answer)
        hf_reply_stream_answer(stream, effect);
    else if (session->is_sse || !effect->is_answer)
        hf_reply_stream_send(stream ? stream : hf_reply_stream_standalone(session), effect);
}

/* ---- lifetime ---- */

bool hf_http_session_is_busy(const struct hf_http_session *session)
{
    return !hf_list_empty(&session->streams) ||
           (session->standalone && session->standalone->exchange);
}

void hf_http_session_touch(struct hf_http_session *session)
{
    struct hf_http_front *front = session->front;
    hf_session_table_touch(&front->session_table, &session->entry, hf_shell_now(front->shell));
    hf_unlink(&session->in_opener);
    hf_list_push(&session->opener->by_use, &session->in_opener);
}

/* Clients that leave without a DELETE must not keep new clients out for a whole sessionTtlMs. A
 * session that was used in the last minute, or that has open requests, is not dropped. `opener`
 * NULL: a session of any party. */
static void drop_longest_unused(struct hf_http_front *front, const struct hf_party *opener)
{
    const uint64_t now_ms = hf_shell_now(front->shell);
    const struct hf_link *list = opener ? &opener->by_use : &front->session_table.by_use;
    while (!hf_list_empty(list)) {
        struct hf_http_session *session =
            opener ? HF_ITEM(list->next, struct hf_http_session, in_opener)
                   : session_of(list->next);
        if (session->entry.used_ms + IN_USE_MS > now_ms)
            return;
        if (!hf_http_session_is_busy(session)) {
            hf_http_session_close(session);
            return;
        }
        hf_http_session_touch(session);
    }
}

/* Takes over the caller's reference to `opener`. */
static void count(struct hf_http_session *session, struct hf_party *opener)
{
    session->opener = opener;
    hf_share_take(&session->front->sessions, &opener->sessions, 1);
    hf_link_init(&session->in_opener);
    hf_list_push(&opener->by_use, &session->in_opener);
    session->party = hf_party_new(hf_party_is_known(opener) ? opener : NULL);
}

static void stop_counting(struct hf_http_session *session)
{
    hf_share_give(&session->front->sessions, &session->opener->sessions, 1);
    hf_unlink(&session->in_opener);
    hf_party_unref(session->party);
    hf_party_unref(session->opener);
    session->party = session->opener = NULL;
}

static struct hf_http_session *make(struct hf_http_front *front, const struct hf_caller *caller,
                                    struct hf_server *only, struct hf_party *opener, bool is_sse)
{
    const uint64_t now_ms = hf_shell_now(front->shell);
    uint8_t id[HF_SESSION_ID_BYTES];
    hf_random(id, sizeof id);
    struct hf_http_session *session = hf_new(struct hf_http_session);
    hf_link_init(&session->flush.link);
    hf_link_init(&session->in_modern);
    session->sink.send = on_send;
    session->front = front;
    session->is_sse = is_sse;
    count(session, opener);
    session->only = only;
    session->endpoint = caller->endpoint.p ? hf_span_dup(caller->endpoint) : NULL;
    hf_link_init(&session->streams);
    hf_link_init(&session->kept);
    hf_session_table_add(&front->session_table, &session->entry, id, now_ms);
    hf_http_wake(front, now_ms + front->session_ttl_ms);
    session->core =
        hf_session_open(front->shell->engine, only, &session->sink, hf_shell_time(front->shell));
    hf_session_set_party(session->core, session->party->core);
    if (caller->token) {
        session->has_token = true;
        session->token_name = hf_strdup(caller->token->name);
        session->tally = hf_tally_of(&front->tallies, session->token_name);
        session->policy = caller->token->policy;
        memcpy(session->token, caller->token->hash, sizeof session->token);
    }
    if (session->policy)
        hf_session_set_policy(session->core, session->policy);
    if (caller->token)
        hf_session_set_errors_as(session->core, caller->token->errors_as);
    return session;
}

static enum hf_share_verdict find_room(struct hf_http_front *front, const struct hf_party *opener)
{
    const enum hf_share_verdict verdict = hf_share_judge(&front->sessions, &opener->sessions, 1);
    if (verdict == HF_SHARE_FITS)
        return verdict;
    drop_longest_unused(front, verdict == HF_SHARE_OF_PARTY ? opener : NULL);
    return hf_share_judge(&front->sessions, &opener->sessions, 1);
}

struct hf_party *hf_http_party_of(struct hf_exchange *exchange)
{
    struct hf_http_party *http = hf_exchange_party(exchange);
    if (http)
        return hf_party_ref(hf_party_of(http));
    struct hf_party *party = hf_party_new(NULL);
    if (hf_exchange_set_party(exchange, &party->http) == HF_SHARE_FITS)
        (void)hf_party_ref(party);
    return party;
}

static void refuse_room(struct hf_exchange *exchange, struct hf_span id, bool has_own_limit,
                        enum hf_share_verdict verdict)
{
    if (verdict == HF_SHARE_OF_PARTY && has_own_limit)
        hf_http_refuse(exchange, 429, id, -31005,
                       "This token has as many sessions as it may (limits.sessions), and all of "
                       "them are in use; end some, or try again later");
    else if (verdict == HF_SHARE_OF_PARTY)
        hf_http_refuse(exchange, 429, id, -31005,
                       "This client has its share of the sessions (maxSessions), and all of them "
                       "are in use; end some, or try again later");
    else
        hf_http_refuse(exchange, 503, id, -31005,
                       "holdfast serves as many clients as it may (maxSessions), and all of them "
                       "are in use; try again later");
}

struct hf_http_session *hf_http_session_new(struct hf_http_front *front,
                                            const struct hf_caller *caller,
                                            struct hf_exchange *exchange, struct hf_span id,
                                            bool is_sse)
{
    struct hf_server *only =
        caller->endpoint.p ? hf_server_find(front->shell->engine, caller->endpoint) : NULL;
    if (caller->endpoint.p && !only) {
        hf_http_refuse(exchange, 404, id, -32000, "There is no server \"%.*s\" here",
                       HF_FMT(caller->endpoint));
        return NULL;
    }
    if (front->is_stopping) {
        hf_http_refuse(exchange, 503, id, -31005, "holdfast is shutting down");
        return NULL;
    }
    struct hf_party *opener = hf_http_party_of(exchange);
    const enum hf_share_verdict verdict = find_room(front, opener);
    if (verdict == HF_SHARE_FITS)
        return make(front, caller, only, opener, is_sse);
    hf_http_count_refusal(front, opener, HF_LIMIT_SESSIONS);
    const bool has_own_limit =
        opener->sessions.max && opener->sessions.used >= opener->sessions.max;
    hf_party_unref(opener);
    refuse_room(exchange, id, has_own_limit, verdict);
    return NULL;
}

struct hf_origin hf_http_session_origin(const struct hf_http_session *session,
                                        const struct hf_exchange *exchange, uint64_t via)
{
    return (struct hf_origin) {
        .via = via,
        .who = session->token_name ? hf_span_of(session->token_name) : hf_exchange_peer(exchange),
        .key = hf_http_header(hf_exchange_head(exchange), HF_HTTP_IDEMPOTENCY_KEY),
    };
}

bool hf_http_session_is_of(const struct hf_http_session *session, const struct hf_caller *caller)
{
    const bool same_endpoint =
        session->endpoint ? caller->endpoint.p && hf_span_is(caller->endpoint, session->endpoint)
                          : !caller->endpoint.p;
    if (!same_endpoint || session->has_token != (caller->token != NULL))
        return false;
    return !caller->token || hf_digest_same(session->token, caller->token->hash);
}

struct hf_http_session *hf_http_session_look_up(const struct hf_http_front *front,
                                                const struct hf_caller *caller, struct hf_span id)
{
    struct hf_session_entry *entry = hf_session_table_find(&front->session_table, id);
    struct hf_http_session *session = entry ? session_of(&entry->link) : NULL;
    return session && hf_http_session_is_of(session, caller) ? session : NULL;
}

struct hf_http_session *hf_http_session_find(struct hf_http_front *front,
                                             const struct hf_caller *caller, struct hf_span id,
                                             bool is_sse)
{
    struct hf_http_session *session = hf_http_session_look_up(front, caller, id);
    if (!session || session->is_sse != is_sse)
        return NULL;
    hf_http_session_touch(session);
    return session;
}

static bool has_readers(const struct hf_http_session *session)
{
    const struct hf_reply_stream *stream, *standalone = session->standalone;
    HF_LIST_EACH (stream, &session->streams, struct hf_reply_stream, link) {
        if (stream->exchange && !stream->is_spare)
            return true;
    }
    return session->is_sse && standalone && standalone->exchange;
}

static void drop_stream(struct hf_reply_stream *stream)
{
    hf_reply_stream_end_exchange(stream);
    hf_reply_stream_free(stream);
}

void hf_http_session_close(struct hf_http_session *session)
{
    struct hf_http_front *front = session->front;
    struct hf_session *core = session->core;
    struct hf_reply_stream *stream;
    if (!core)
        return;
    /* Clients that still wait are told how far their calls got. Never with a 404: a client would
     * take that for a call that did not run, and send it again. */
    if (has_readers(session)) {
        hf_session_give_up(core, hf_shell_time(front->shell));
        hf_shell_pump(front->shell);
    }
    if (!session->core) /* one of those answers closed the session */
        return;
    session->core = NULL;
    HF_LIST_EACH_SAFE (stream, &session->streams, struct hf_reply_stream, link)
        drop_stream(stream);
    HF_LIST_EACH_SAFE (stream, &session->kept, struct hf_reply_stream, link)
        drop_stream(stream);
    if (session->standalone)
        drop_stream(session->standalone);
    hf_session_table_remove(&front->session_table, &session->entry);
    stop_counting(session);
    if (front->judged.session == session)
        front->judged.session = NULL;
    hf_unlink(&session->in_modern);
    hf_free(session->endpoint);
    session->endpoint = NULL;
    hf_free(session->token_name);
    session->token_name = NULL;
    hf_session_close(core, hf_shell_time(front->shell));
    hf_shell_free_later(front->shell, &session->flush);
    hf_shell_pump(front->shell);
}

void hf_http_sessions_close(struct hf_http_front *front)
{
    while (!hf_list_empty(&front->session_table.by_use))
        hf_http_session_close(session_of(front->session_table.by_use.next));
}

/* False if another server has the name of the session's endpoint now: the client must initialize
 * anew to see it. A session whose server was removed stays; each call is told that. */
static bool may_stay(const struct hf_http_session *session)
{
    const struct hf_access *access = session->front->access;
    const struct hf_token *token =
        session->has_token ? hf_access_find(access, session->token) : NULL;
    const struct hf_server *there =
        session->endpoint
            ? hf_server_find(session->front->shell->engine, hf_span_of(session->endpoint))
            : NULL;
    if (there && there != session->only)
        return false;
    if (!session->has_token)
        return !hf_access_needs_token(access);
    return token && hf_policy_same(session->policy, token->policy);
}

void hf_http_sessions_review(struct hf_http_front *front)
{
    for (struct hf_link *at = front->session_table.by_use.next; at != &front->session_table.by_use;
         at = at->next)
        session_of(at)->tally = hf_tally_of(&front->tallies, session_of(at)->token_name);
    for (struct hf_link *at = front->session_table.by_use.next, *next;
         at != &front->session_table.by_use; at = next) {
        next = at->next;
        if (!may_stay(session_of(at)))
            hf_http_session_close(session_of(at));
    }
}

bool hf_http_session_speaks(const struct hf_http_session *session, const char *version)
{
    const char *agreed = hf_session_version(session->core);
    return agreed && strcmp(agreed, version) == 0;
}

void hf_http_sessions_expire(struct hf_http_front *front, uint64_t now_ms)
{
    while (!hf_list_empty(&front->session_table.by_use)) {
        struct hf_http_session *session = session_of(front->session_table.by_use.next);
        if (session->entry.used_ms + front->session_ttl_ms > now_ms)
            return;
        if (hf_http_session_is_busy(session))
            hf_http_session_touch(session);
        else
            hf_http_session_close(session);
    }
}
