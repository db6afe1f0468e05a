/* modern.c - see modern.h. */
#include "front/modern.h"
#include "base/fold.h"
#include "core/machine/era.h"
#include "core/machine/errors.h"
#include "wire/mcp_headers.h"

static const struct hf_span no_id = { NULL, 0 };

struct post {
    struct hf_exchange *exchange;
    const struct hf_http_head *head;
    struct hf_msg msg;
};

/* ---- comparing headers with the body ----
 *
 * Each of these functions returns whether it refused the request. A header that is there twice
 * counts as missing. */

static bool refuse_header(const struct post *post, const char *name, struct hf_span what)
{
    hf_http_refuse(post->exchange, 400, post->msg.id, HF_CODE_HEADER_MISMATCH,
                   "Header mismatch: one header %s is needed, and it must say the same as %.*s in "
                   "the body",
                   name, (int)(what.n < 200 ? what.n : 200), what.p);
    return true;
}

static bool refuse_meta(const struct post *post, const char *what)
{
    hf_http_refuse(post->exchange, 400, post->msg.id, -32602,
                   "Invalid params: a request of version " HF_MODERN_VERSION
                   " needs %s in params._meta; older versions begin with initialize",
                   what);
    return true;
}

/* The version and the members of _meta that every modern request needs. Whether we speak that
 * version, the engine decides. */
static bool refuse_introduction(const struct post *post)
{
    const struct hf_span said = hf_http_header(post->head, HF_HTTP_MCP_PROTOCOL_VERSION);
    const struct hf_span meta = post->msg.meta;
    const struct hf_span version = hf_json_get(meta, HF_SPAN(HF_META_VERSION));
    if (!version.p && hf_span_is(post->msg.method, "initialize"))
        return refuse_header(post, "MCP-Protocol-Version (of an older version, or none)",
                             HF_SPAN("initialize"));
    if (hf_json_type(version) != HF_JSON_STRING)
        return refuse_meta(post, "a string \"" HF_META_VERSION "\"");
    if (!said.p || !hf_json_string_is(version, said))
        return refuse_header(post, "MCP-Protocol-Version",
                             HF_SPAN("_meta[\"" HF_META_VERSION "\"]"));
    if (hf_json_string_is(version, HF_SPAN(HF_MODERN_VERSION)) &&
        hf_json_type(hf_json_get(meta, HF_SPAN(HF_META_CAPABLE))) != HF_JSON_OBJECT)
        return refuse_meta(post, "an object \"" HF_META_CAPABLE "\"");
    return false;
}

static bool refuse_method(const struct post *post)
{
    const struct hf_span said = hf_http_header(post->head, HF_HTTP_MCP_METHOD);
    const bool is_same = said.p && hf_span_eq(said, post->msg.method);
    return !is_same && refuse_header(post, "Mcp-Method", HF_SPAN("method"));
}

/* A request without the name in its body is refused by the engine. */
static bool refuse_name(const struct post *post)
{
    const struct hf_span member = hf_mcp_name_member(post->msg.method);
    const struct hf_span name =
        member.p ? hf_json_get(post->msg.params, member) : (struct hf_span) { NULL, 0 };
    const bool is_same = hf_json_type(name) != HF_JSON_STRING ||
                         hf_mcp_value_is(hf_http_header(post->head, HF_HTTP_MCP_NAME), name);
    return !is_same && refuse_header(post, "Mcp-Name", member);
}

/* For hf_mcp_params, which continues while this returns true. */
static bool accept_param(void *context, struct hf_span name, struct hf_span value)
{
    const struct post *post = context;
    struct hf_buf header;
    hf_buf_init(&header, name.n + 16);
    hf_buf_add_str(&header, "mcp-param-");
    for (size_t i = 0; i < name.n; i++)
        hf_buf_add_char(&header, hf_lower(name.p[i]));
    const struct hf_span said = hf_http_header_named(post->head, hf_buf_span(&header));
    hf_buf_add_char(&header, '\0');
    const bool is_same = hf_mcp_value_is(said, value);
    if (!is_same)
        (void)refuse_header(post, header.p, HF_SPAN("the argument of that mark"));
    hf_buf_done(&header);
    return is_same;
}

/* Clients must not use a tool whose x-mcp-header marks are invalid, so nothing is compared there.
 */
static bool refuse_params(struct post *post, struct hf_session *session)
{
    if (!hf_span_is(post->msg.method, "tools/call"))
        return false;
    const struct hf_span schema =
        hf_session_tool_schema(session, hf_json_get(post->msg.params, HF_SPAN("name")));
    return schema.p && !hf_mcp_schema_fault(schema) &&
           !hf_mcp_params(schema, hf_json_get(post->msg.params, HF_SPAN("arguments")), accept_param,
                          post);
}

/* The specification requires no headers of notifications, but those that are there must match. */
static bool refuse_notification(const struct post *post)
{
    const struct hf_span version = hf_json_path(
        post->msg.params, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_VERSION) });
    const struct hf_span said = hf_http_header(post->head, HF_HTTP_MCP_PROTOCOL_VERSION);
    if (version.p && said.p && !hf_json_string_is(version, said))
        return refuse_header(post, "MCP-Protocol-Version",
                             HF_SPAN("_meta[\"" HF_META_VERSION "\"]"));
    return post->head->counts[HF_HTTP_MCP_METHOD] > 0 && refuse_method(post);
}

/* ---- passing it to the engine ---- */

/* The shared session of this token at this endpoint. The last used are at the front of the list. */
static struct hf_http_session *session_for(struct hf_http_front *front,
                                           const struct hf_caller *caller, const struct post *post)
{
    struct hf_http_session *session;
    HF_LIST_EACH (session, &front->modern, struct hf_http_session, in_modern) {
        if (!hf_http_session_is_of(session, caller))
            continue;
        hf_unlink(&session->in_modern);
        hf_list_push_front(&front->modern, &session->in_modern);
        hf_http_session_touch(session);
        return session;
    }
    session = hf_http_session_new(front, caller, post->exchange, post->msg.id, false);
    if (!session)
        return NULL;
    session->is_modern = true;
    hf_session_set_modern(session->core);
    hf_list_push_front(&front->modern, &session->in_modern);
    return session;
}

static void take(struct hf_http_session *session, const struct post *post, bool takes_json,
                 bool takes_events)
{
    struct hf_http_front *front = session->front;
    struct hf_reply_stream *stream = hf_reply_stream_new(session, post->exchange);
    if (!stream) {
        hf_http_refuse(post->exchange, 503, post->msg.id, -31005,
                       "holdfast holds too many requests at this moment; this one was not sent");
        return;
    }
    stream->takes_json = takes_json;
    stream->takes_events = takes_events;
    struct hf_party *party = hf_http_party_of(post->exchange); /* others use the same session */
    struct hf_origin origin = hf_http_session_origin(session, post->exchange, stream->via);
    origin.party = party->core;
    stream->owed = stream->total = hf_session_message_from(
        session->core, hf_exchange_body(post->exchange), &origin, hf_shell_time(front->shell));
    hf_party_unref(party);
}

static void take_request(struct hf_http_front *front, const struct hf_caller *caller,
                         struct post *post, bool takes_json, bool takes_events)
{
    if (refuse_introduction(post) || refuse_method(post) || refuse_name(post))
        return;
    if (!takes_events && hf_span_is(post->msg.method, "subscriptions/listen")) {
        hf_http_refuse(post->exchange, 406, post->msg.id, -32000,
                       "Not Acceptable: subscriptions/listen is answered with text/event-stream");
        return;
    }
    struct hf_http_session *session = session_for(front, caller, post);
    if (session && !refuse_params(post, session->core))
        take(session, post, takes_json, takes_events);
    hf_shell_pump(front->shell);
}

/* notifications/cancelled is ignored: modern clients cancel by closing the connection, and clients
 * that share a session may use the same ids. */
static void take_notification(struct hf_http_front *front, const struct hf_caller *caller,
                              const struct post *post)
{
    if (refuse_notification(post))
        return;
    struct hf_http_session *session = session_for(front, caller, post);
    if (!session)
        return;
    if (!hf_span_is(post->msg.method, "notifications/cancelled"))
        hf_session_message(session->core, hf_exchange_body(post->exchange),
                           hf_shell_time(front->shell));
    hf_http_answer(post->exchange, 202, NULL, NULL, NULL, 0);
    hf_shell_pump(front->shell);
}

bool hf_modern_post(struct hf_http_front *front, const struct hf_caller *caller,
                    struct hf_exchange *exchange, bool takes_json, bool takes_events)
{
    struct post post = { .exchange = exchange, .head = hf_exchange_head(exchange) };
    const struct hf_span version = hf_http_header(post.head, HF_HTTP_MCP_PROTOCOL_VERSION);
    const bool is_by_header = version.p && !hf_version_is_known(version);
    if (!is_by_header && post.head->counts[HF_HTTP_MCP_SESSION_ID] > 0)
        return false;
    struct hf_err err;
    const enum hf_msg_status status =
        hf_msg_parse(hf_exchange_body(exchange), front->limits.max_depth, &post.msg, &err);
    if (!is_by_header && (status != HF_MSG_OK || !hf_era_is_modern(&post.msg)))
        return false;
    if (status == HF_MSG_NOT_JSON)
        hf_http_refuse(exchange, 400, no_id, -32700, "%s", err.text);
    else if (status == HF_MSG_NOT_A_REQUEST)
        hf_http_refuse(exchange, 400, post.msg.id, -32600, "%s", err.text);
    else if (post.msg.kind == HF_MSG_REQUEST)
        take_request(front, caller, &post, takes_json, takes_events);
    else if (post.msg.kind == HF_MSG_NOTIFICATION)
        take_notification(front, caller, &post);
    else
        hf_http_refuse(exchange, 400, no_id, -32600,
                       "Invalid Request: nobody is asked anything in this version, so there is "
                       "nothing to answer");
    return true;
}

bool hf_modern_refuses(struct hf_exchange *exchange)
{
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct hf_span version = hf_http_header(head, HF_HTTP_MCP_PROTOCOL_VERSION);
    if (head->counts[HF_HTTP_MCP_SESSION_ID] > 0 &&
        !(version.p && hf_span_is(version, HF_MODERN_VERSION)))
        return false;
    hf_http_refuse_method(exchange, "POST");
    return true;
}

/* ---- messages of the engine ---- */

/* Malformed requests get a status of their own. Our own errors do not: a status other than 200
 * invites proxies to send the request again. */
static int status_of(int error_code)
{
    switch (error_code) {
    case -32601: return 404;
    case -32600:
    case -32700:
    case HF_CODE_HEADER_MISMATCH:
    case HF_CODE_MISSING_CAPABILITY:
    case HF_CODE_UNSUPPORTED_VERSION: return 400;
    default: return 200;
    }
}

void hf_modern_send(const struct hf_http_session *session, const struct hf_effect *effect)
{
    struct hf_reply_stream *stream =
        effect->via ? hf_reply_stream_find(session, effect->via) : NULL;
    if (!stream) /* the client of that request has gone */
        return;
    const bool is_json = effect->is_answer && stream->takes_json && !stream->is_streaming;
    struct hf_oversized room;
    const struct hf_effect *given =
        effect->is_answer ? hf_reply_stream_fit(stream, effect, &room) : effect;
    if (is_json && effect->piece_count) {
        hf_http_answer(stream->exchange, status_of(given->error_code), NULL, "application/json",
                       given->pieces, given->piece_count);
        stream->exchange = NULL;
    } else if (stream->takes_events && effect->piece_count) {
        if (!stream->is_streaming)
            hf_reply_stream_begin(stream);
        hf_reply_stream_send_without_id(stream, given);
    }
    if (!effect->is_answer)
        return;
    hf_reply_stream_end_exchange(stream);
    hf_reply_stream_free(stream);
}

void hf_modern_gone(struct hf_reply_stream *stream)
{
    struct hf_http_session *session = stream->session;
    const uint64_t via = stream->via;
    hf_reply_stream_free(stream);
    hf_session_via_cancelled(session->core, via, hf_shell_time(session->front->shell));
}
