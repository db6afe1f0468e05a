/* http_connection_in.c - how a connection's bytes become requests: heads, their admission, bodies,
 * and how long each may take. See http_connection.h. */
#include <stdarg.h>
#include <stdio.h>
#include "io/http_connection.h"

enum {
    BACKLOG_MAX = 256 * 1024, /* bytes of unwritten answers at which no further request is begun */
    BODY_STEP = 256 * 1024,   /* a long body is read without a copy, in such steps */
    REQUESTS_AT_ONCE = 16,    /* of those that came in one read; the next ones after a write */
    WHY_SIZE = 160,
};

static uint64_t now_of(const struct hf_connection *connection)
{
    return hf_shell_now(connection->server->shell);
}

static void HF_PRINTF(3, 4)
    refuse(struct hf_connection *connection, int status, const char *format, ...)
{
    char why[WHY_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    hf_connection_refuse(connection, status, why);
}
static struct hf_request *new_request(struct hf_http_server *server)
{
    struct hf_request *request = HF_LIST_FIRST(&server->spare, struct hf_request, link);
    if (request) {
        hf_unlink(&request->link);
        server->spare_count--;
    } else {
        request = hf_new(struct hf_request);
        hf_link_init(&request->link);
        hf_buf_init(&request->head_text, server->limits.head_bytes);
        hf_buf_init(&request->body, server->limits.body_bytes);
    }
    request->seen = 0;
    return request;
}

static void hand_up(struct hf_connection *connection)
{
    const struct hf_http_server *server = connection->server;
    connection->phase = HF_PHASE_ASKED;
    connection->read_by_ms = 0;
    hf_loop_note_message(server->shell->loop, hf_buf_len(&connection->request->body));
    server->events.request(server->context, &connection->exchange);
}

static void refuse_large(struct hf_connection *connection)
{
    refuse(connection, 413, "the body is larger than %zu bytes", connection->request->body_max);
}

/* Whether that many bytes more may be held; if not, the request was refused. */
static bool may_hold(struct hf_connection *connection, size_t more)
{
    struct hf_http_server *server = connection->server;
    struct hf_http_party *party = connection->party;
    const enum hf_share_verdict verdict =
        hf_share_judge(&server->bytes, party ? &party->bytes : NULL, more);
    if (verdict == HF_SHARE_FITS)
        return true;
    hf_http_server_refused(server, party, HF_HTTP_BYTES);
    if (verdict == HF_SHARE_OF_ALL)
        hf_connection_refuse(connection, 503, "too many bytes of requests and answers wait here");
    else
        hf_connection_refuse(connection, 429,
                             "your requests and answers have their share of the bytes that may "
                             "wait here (maxBufferedBytes); send less at a time");
    return false;
}

/* Makes room for so much more of the body. False: the request was refused. */
static bool make_room(struct hf_connection *connection, size_t more)
{
    struct hf_buf *body = &connection->request->body;
    if (body->cap - body->end < more && !may_hold(connection, more))
        return false;
    /* the buffer itself checks its maximum only when it grows */
    if (more > connection->request->body_max - hf_buf_len(body) || !hf_buf_reserve(body, more)) {
        refuse_large(connection);
        return false;
    }
    hf_connection_account(connection);
    return true;
}

/* Sets the end of the next period in which the body must come at the least rate, or the end of the
 * time for the whole body, if that is earlier. */
static void give_time(struct hf_connection *connection)
{
    const struct hf_http_limits *limits = &connection->server->limits;
    struct hf_request *request = connection->request;
    const uint64_t next_ms = now_of(connection) + limits->body_grace_ms;
    const uint64_t end_ms = request->body_from_ms + limits->body_ms;
    request->lately = 0;
    connection->read_by_ms = next_ms < end_ms ? next_ms : end_ms;
}

void hf_connection_begin_body(struct hf_connection *connection, struct hf_span after)
{
    const struct hf_http_server *server = connection->server;
    struct hf_request *request = connection->request;
    const struct hf_http_head *head = &request->parsed.head;
    if (head->content_length > 0 && (uint64_t)head->content_length > request->body_max) {
        refuse_large(connection);
        return;
    }
    if (!head->is_chunked && head->content_length <= 0) {
        hand_up(connection);
        return;
    }
    if (head->content_length > 0 && !may_hold(connection, (size_t)head->content_length))
        return;
    connection->phase = HF_PHASE_BODY;
    request->body_from_ms = now_of(connection);
    request->is_in_time = false;
    give_time(connection);
    hf_chunks_init(&request->chunks);
    if (head->content_length > 0 && head->content_length <= HF_HTTP_READ_SIZE &&
        !make_room(connection, (size_t)head->content_length))
        return;
    if (request->parsed.expects_continue && !after.n) {
        hf_connection_add(connection, HF_SPAN("HTTP/1.1 100 Continue\r\n\r\n"));
        hf_shell_flush_later(server->shell, &connection->flush);
    }
}

/* Shows the head to the front, which decides whether the request is admitted. */
static void judge(struct hf_connection *connection, struct hf_span after)
{
    const struct hf_http_server *server = connection->server;
    const struct hf_http_request *request = &connection->request->parsed;
    connection->is_old = request->head.minor == 0;
    connection->is_bodiless = hf_span_is(request->method, "HEAD");
    connection->closes = !request->head.keeps_alive;
    connection->phase = HF_PHASE_JUDGED;
    connection->is_let_in = false;
    connection->is_judging = true;
    connection->read_by_ms = 0;
    if (server->events.head)
        server->events.head(server->context, &connection->exchange);
    else
        hf_exchange_take_body(&connection->exchange, SIZE_MAX);
    connection->is_judging = false;
    if (connection->phase == HF_PHASE_JUDGED && connection->is_let_in)
        hf_connection_begin_body(connection, after);
}

/* The length of the head in the bytes so far. 0: it is not complete; -1: it is no head. */
static ptrdiff_t gather_head(struct hf_request *request, struct hf_span *bytes, size_t max)
{
    const size_t before = hf_buf_len(&request->head_text);
    struct hf_span more = { bytes->p, bytes->n < max - before ? bytes->n : max - before };
    ptrdiff_t length = 0;
    if (before == 0) { /* the usual case: the whole head came in one read; only it is copied */
        length = hf_http_head_length(more, &request->seen);
        if (length > 0)
            more.n = (size_t)length;
    }
    hf_buf_add(&request->head_text, more);
    if (before > 0)
        length = hf_http_head_length(hf_buf_span(&request->head_text), &request->seen);
    if (length > 0) {
        more.n = (size_t)length - before;
        request->head_text.end = request->head_text.start + (size_t)length;
    }
    *bytes = hf_span_from(*bytes, more.n);
    return length;
}

static void take_head(struct hf_connection *connection, struct hf_span *bytes)
{
    struct hf_http_server *server = connection->server;
    const size_t max = server->limits.head_bytes;
    const char *why = NULL;
    if (!connection->request) {
        connection->request = new_request(server);
        connection->read_by_ms = now_of(connection) + server->limits.head_ms;
        connection->is_old = connection->is_bodiless = connection->closes = false;
    }
    struct hf_request *request = connection->request;
    const ptrdiff_t length = gather_head(request, bytes, max);
    if (length == 0) {
        if (hf_buf_len(&request->head_text) == max)
            refuse(connection, 431, "the head of the request is larger than %zu bytes", max);
        return;
    }
    const int status =
        hf_http_request_parse(hf_buf_span(&request->head_text), &request->parsed, &why);
    if (status)
        hf_connection_refuse(connection, status, why);
    else
        judge(connection, *bytes);
}

static void take_chunk(struct hf_connection *connection, struct hf_span *bytes)
{
    struct hf_request *request = connection->request;
    struct hf_span data;
    const enum hf_chunk_status status = hf_chunks_next(&request->chunks, bytes, &data);
    if (status == HF_CHUNK_BAD) {
        hf_connection_refuse(connection, 400, "the chunks of the body are broken");
        return;
    }
    if (data.n && !make_room(connection, data.n))
        return;
    hf_buf_add(&request->body, data);
    request->lately += data.n;
    if (status == HF_CHUNK_END)
        hand_up(connection);
}

static size_t body_left(const struct hf_request *request)
{
    return (size_t)request->parsed.head.content_length - hf_buf_len(&request->body);
}

static void take_body(struct hf_connection *connection, struct hf_span *bytes)
{
    struct hf_request *request = connection->request;
    if (request->parsed.head.is_chunked) {
        take_chunk(connection, bytes);
        return;
    }
    const size_t left = body_left(request), n = bytes->n < left ? bytes->n : left;
    if (!make_room(connection, n))
        return;
    hf_buf_add(&request->body, (struct hf_span) { bytes->p, n });
    request->lately += n;
    *bytes = hf_span_from(*bytes, n);
    if (n == left)
        hand_up(connection);
}

static void skip(struct hf_connection *connection, struct hf_span *bytes)
{
    const size_t n = bytes->n < connection->skip ? bytes->n : connection->skip;
    connection->skip -= n;
    *bytes = hf_span_from(*bytes, n);
}

void hf_connection_take(struct hf_connection *connection, struct hf_span *bytes)
{
    for (int requests = 0; bytes->n;) {
        if (connection->phase == HF_PHASE_BODY)
            take_body(connection, bytes);
        else if (connection->phase == HF_PHASE_HEAD && connection->skip)
            skip(connection, bytes);
        else if (connection->phase == HF_PHASE_HEAD && requests++ < REQUESTS_AT_ONCE &&
                 hf_buf_len(&connection->channel.out) < BACKLOG_MAX)
            take_head(connection, bytes);
        else
            return;
    }
}
struct hf_buf *hf_connection_room_in_body(struct hf_connection *connection, size_t *ret_room)
{
    struct hf_request *request = connection->request;
    if (connection->phase != HF_PHASE_BODY || request->parsed.head.is_chunked)
        return NULL;
    const size_t left = body_left(request);
    if (left < HF_HTTP_READ_SIZE || !make_room(connection, left < BODY_STEP ? left : BODY_STEP))
        return NULL;
    const size_t room = request->body.cap - request->body.end;
    *ret_room = room < left ? room : left;
    return &request->body;
}
void hf_connection_took(struct hf_connection *connection, size_t bytes)
{
    struct hf_request *request = connection->request;
    request->body.end += bytes;
    request->lately += bytes;
    if (!body_left(request))
        hand_up(connection);
}

/* ---- time ---- */

/* A client that sends its body more slowly than any real connection is refused: it would hold
 * memory for nothing. */
static void look_at_body(struct hf_connection *connection)
{
    const struct hf_http_limits *limits = &connection->server->limits;
    struct hf_request *request = connection->request;
    const uint64_t least = (uint64_t)limits->body_rate * limits->body_grace_ms / 1000;
    if (now_of(connection) >= request->body_from_ms + limits->body_ms)
        refuse(connection, 408, "the body took longer than %u ms", limits->body_ms);
    else if (request->is_in_time && request->lately < least)
        refuse(connection, 408, "the body came with less than %u bytes a second",
               limits->body_rate);
    else {
        request->is_in_time = true;
        give_time(connection);
    }
}
bool hf_connection_refuse_late(struct hf_connection *connection)
{
    const struct hf_http_limits *limits = &connection->server->limits;
    if (connection->phase == HF_PHASE_BODY)
        look_at_body(connection);
    else if (connection->phase == HF_PHASE_HEAD && connection->request)
        refuse(connection, 408, "the head of the request took longer than %u ms", limits->head_ms);
    else
        return false;
    return true;
}
