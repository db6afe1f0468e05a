/* sse_endpoint.c - HTTP+SSE of 2024-11-05: a GET opens the session, its first event says where to
 * POST, and all messages to the client come on that stream. When it ends, so does the session. */
#include "front/http_parts.h"

static const struct hf_span no_id = { NULL, 0 };

void hf_sse_get(struct hf_http_front *front, const struct hf_caller *caller,
                struct hf_exchange *exchange)
{
    char id[HF_SESSION_ID_TEXT + 1];
    struct hf_http_session *session = hf_http_session_new(front, caller, exchange, no_id, true);
    if (!session)
        return;
    const struct hf_span path = hf_exchange_request(exchange)->path;
    struct hf_buf endpoint;
    hf_buf_init(&endpoint, path.n + 256);
    hf_session_id_text(&session->entry, id);
    hf_buf_printf(&endpoint, "event: endpoint\ndata: %.*s?session=%s\n\n", HF_FMT(path), id);
    hf_reply_stream_attach(hf_reply_stream_standalone(session), exchange, 0);
    const struct hf_span text = hf_buf_span(&endpoint);
    hf_exchange_write(exchange, &text, 1);
    hf_buf_done(&endpoint);
}

static struct hf_span session_in(const struct hf_http_request *request)
{
    const struct hf_span query = hf_span_from(request->target, request->path.n);
    static const struct hf_span key = { "?session=", 9 };
    return hf_span_starts(query, key) ? hf_span_from(query, key.n) : no_id;
}

void hf_sse_post(struct hf_http_front *front, const struct hf_caller *caller,
                 struct hf_exchange *exchange)
{
    const struct hf_span id = session_in(hf_exchange_request(exchange));
    struct hf_http_session *session = hf_http_session_find(front, caller, id, true);
    if (!session) {
        hf_http_refuse(exchange, id.p ? 404 : 400, no_id, -32001,
                       "POST to the address that the stream's first event said, while it is open");
        return;
    }
    const struct hf_origin origin = hf_http_session_origin(session, exchange, 0);
    (void)hf_session_message_from(session->core, hf_exchange_body(exchange), &origin,
                                  hf_shell_time(front->shell));
    hf_http_answer(exchange, 202, NULL, NULL, NULL, 0);
    hf_shell_pump(front->shell);
}
