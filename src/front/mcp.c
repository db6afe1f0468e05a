/* mcp.c - Streamable HTTP of the legacy versions: POST a message, GET a stream, DELETE the session.
 *
 * Two choices the specification leaves open. An unknown Last-Event-ID is 400, not 404: clients take
 * 404 for the loss of their whole session. A finished stream without further events is 204, which
 * tells an EventSource not to reconnect; after an empty stream it would reconnect for ever. */
#include <assert.h>
#include "front/modern.h"
#include "wire/jsonrpc.h"

static const struct hf_span no_id = { NULL, 0 };

/* ---- headers ---- */

struct wishes {
    bool json, events; /* what the client accepts */
};

static struct wishes wishes_of(const struct hf_http_head *head)
{
    enum { ANY = 1, JSON = 2, ANY_APPLICATION = 4, EVENTS = 8, ANY_TEXT = 16 };
    const struct hf_span words[] = { HF_SPAN("*/*"), HF_SPAN("application/json"),
                                     HF_SPAN("application/*"), HF_SPAN("text/event-stream"),
                                     HF_SPAN("text/*") };
    const unsigned listed =
        hf_http_lists(head, HF_HTTP_ACCEPT, words, sizeof words / sizeof *words);
    const bool any = listed & ANY || head->counts[HF_HTTP_ACCEPT] == 0;
    return (struct wishes) {
        .json = any || listed & (JSON | ANY_APPLICATION),
        .events = any || listed & (EVENTS | ANY_TEXT),
    };
}

static bool is_json(const struct hf_http_head *head)
{
    return head->counts[HF_HTTP_CONTENT_TYPE] == 1 &&
           hf_http_lists(head, HF_HTTP_CONTENT_TYPE, &HF_SPAN("application/json"), 1);
}

/* Absent is fine: clients before 2025-06-18 do not send it. */
static bool has_known_version(struct hf_exchange *exchange)
{
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct hf_span version = hf_http_header(head, HF_HTTP_MCP_PROTOCOL_VERSION);
    if (version.p ? hf_version_is_known(version) : head->counts[HF_HTTP_MCP_PROTOCOL_VERSION] == 0)
        return true;
    hf_http_refuse(exchange, 400, no_id, -32000,
                   "Bad Request: MCP-Protocol-Version is not one of 2024-11-05, 2025-03-26, "
                   "2025-06-18 and 2025-11-25");
    return false;
}

/* ---- POST ---- */

/* Passes the message to the engine; answers go to the stream, some before this returns. */
static void take(struct hf_http_session *session, struct hf_exchange *exchange,
                 struct wishes wishes, bool is_initialize)
{
    struct hf_http_front *front = session->front;
    struct hf_reply_stream *stream = hf_reply_stream_new(session, exchange);
    if (!stream) {
        hf_http_refuse(exchange, 503, no_id, -31005,
                       "holdfast holds too many requests at this moment; this one was not sent");
        return;
    }
    stream->takes_json = wishes.json;
    stream->takes_events = wishes.events;
    stream->is_initialize = is_initialize;
    const struct hf_origin origin = hf_http_session_origin(session, exchange, stream->via);
    stream->owed = stream->total = hf_session_message_from(
        session->core, hf_exchange_body(exchange), &origin, hf_shell_time(front->shell));
    front->taking = stream->via;
    if (stream->owed == 0) {
        hf_http_answer(exchange, 202, NULL, NULL, NULL, 0);
        hf_reply_stream_free(stream);
    }
    hf_shell_pump(front->shell);
    front->taking = 0;
}

/* Without a session, initialize is the only request. */
static void take_initialize(struct hf_http_front *front, const struct hf_caller *caller,
                            struct hf_exchange *exchange, struct wishes wishes)
{
    struct hf_msg msg;
    struct hf_err err;
    switch (hf_msg_parse(hf_exchange_body(exchange), front->limits.max_depth, &msg, &err)) {
    case HF_MSG_NOT_JSON: hf_http_refuse(exchange, 400, no_id, -32700, "%s", err.text); return;
    case HF_MSG_NOT_A_REQUEST:
        hf_http_refuse(exchange, 400, msg.id, -32600, "%s", err.text);
        return;
    case HF_MSG_OK: break;
    }
    if (msg.kind != HF_MSG_REQUEST || !hf_span_is(msg.method, "initialize")) {
        hf_http_refuse(exchange, 400, msg.kind == HF_MSG_REQUEST ? msg.id : no_id, -32000,
                       "Bad Request: Mcp-Session-Id is missing; initialize gives one");
        return;
    }
    struct hf_http_session *session = hf_http_session_new(front, caller, exchange, msg.id, false);
    if (session)
        take(session, exchange, wishes, true);
}

/* The session that the request names and may use; NULL: the request was refused. */
static struct hf_http_session *named_session(struct hf_http_front *front,
                                             const struct hf_caller *caller,
                                             struct hf_exchange *exchange)
{
    const struct hf_span id = hf_http_header(hf_exchange_head(exchange), HF_HTTP_MCP_SESSION_ID);
    struct hf_http_session *session =
        front->judged.exchange == exchange ? front->judged.session : NULL;
    if (session && !session->is_sse)
        hf_http_session_touch(session);
    else
        session = id.p ? hf_http_session_find(front, caller, id, false) : NULL;
    if (!id.p)
        hf_http_refuse(exchange, 400, no_id, -32000,
                       "Bad Request: one Mcp-Session-Id header is required");
    else if (!session)
        hf_http_refuse(exchange, 404, no_id, -32001,
                       "Session not found: it has ended, or is not yours; initialize anew");
    return session;
}

bool hf_mcp_takes(struct hf_exchange *exchange)
{
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct wishes wishes = wishes_of(head);
    if (!wishes.json && !wishes.events) {
        hf_http_refuse(exchange, 406, no_id, -32000,
                       "Not Acceptable: answers are application/json or text/event-stream");
        return false;
    }
    if (!is_json(head)) {
        hf_http_refuse(exchange, 415, no_id, -32000,
                       "Unsupported Media Type: Content-Type must be application/json");
        return false;
    }
    return true;
}

void hf_mcp_post(struct hf_http_front *front, const struct hf_caller *caller,
                 struct hf_exchange *exchange)
{
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct wishes wishes = wishes_of(head);
    if (hf_modern_post(front, caller, exchange, wishes.json, wishes.events))
        return;
    if (!has_known_version(exchange))
        return;
    if (head->counts[HF_HTTP_MCP_SESSION_ID] == 0) {
        take_initialize(front, caller, exchange, wishes);
        return;
    }
    struct hf_http_session *session = named_session(front, caller, exchange);
    if (!session)
        return;
    if (hf_json_type(hf_exchange_body(exchange)) == HF_JSON_ARRAY &&
        !hf_http_session_speaks(session, "2025-03-26")) {
        hf_http_refuse(exchange, 400, no_id, -32600,
                       "Only 2025-03-26 has batches, and this session agreed on another version");
        return;
    }
    take(session, exchange, wishes, false);
}

/* ---- GET and DELETE ---- */

void hf_mcp_get(struct hf_http_front *front, const struct hf_caller *caller,
                struct hf_exchange *exchange)
{
    if (hf_modern_refuses(exchange))
        return;
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct hf_span last = hf_http_header(head, HF_HTTP_LAST_EVENT_ID);
    uint64_t via = 0, after = 0;
    if (!wishes_of(head).events) {
        hf_http_refuse(exchange, 406, no_id, -32000,
                       "Not Acceptable: a GET is answered with text/event-stream");
        return;
    }
    struct hf_http_session *session =
        has_known_version(exchange) ? named_session(front, caller, exchange) : NULL;
    if (!session)
        return;
    if (front->is_stopping) {
        hf_http_refuse(exchange, 503, no_id, -32000, "holdfast is shutting down");
        return;
    }
    const bool is_known = !last.p || hf_event_id_read(last, &via, &after);
    struct hf_reply_stream *stream = !is_known ? NULL
                                     : via     ? hf_reply_stream_find(session, via)
                                               : hf_reply_stream_standalone(session);
    if (!stream)
        hf_http_refuse(exchange, 400, no_id, -32000,
                       "The stream of this Last-Event-ID is not known, or no longer kept");
    else if (via == 0 && session->spare_count >= HF_SESSION_GETS_MAX - 1)
        hf_http_refuse(exchange, 409, no_id, -32000,
                       "Conflict: this session listens on %d streams already", HF_SESSION_GETS_MAX);
    else
        hf_reply_stream_attach(stream, exchange, last.p ? after : stream->delivered);
}

void hf_mcp_delete(struct hf_http_front *front, const struct hf_caller *caller,
                   struct hf_exchange *exchange)
{
    if (hf_modern_refuses(exchange))
        return;
    struct hf_http_session *session =
        has_known_version(exchange) ? named_session(front, caller, exchange) : NULL;
    if (!session)
        return;
    hf_http_session_close(session);
    hf_http_answer(exchange, 204, NULL, NULL, NULL, 0);
}

void hf_mcp_other(struct hf_http_front *front, const struct hf_caller *caller,
                  struct hf_exchange *exchange)
{
    (void)front;
    (void)caller;
    if (!hf_modern_refuses(exchange))
        hf_http_refuse_method(exchange, "GET, POST, DELETE");
}
