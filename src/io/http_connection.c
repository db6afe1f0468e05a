/* http_connection.c - how a connection is read, and how it ends. See http_connection.h. */
#include "io/http_connection.h"
#include <arpa/inet.h>
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "wire/json.h"

enum {
    IN_MAX = 64 * 1024,       /* of requests behind the one being answered: then reading pauses */
    BACKLOG_MAX = 256 * 1024, /* of unwritten answers: no further request is begun */
    DRAIN_MAX = 4 * 1024 * 1024, /* dropped of a refused request, so that its answer is read */
    BODY_STEP = 256 * 1024,      /* a long body is read straight to its place, in such steps */
    WHY_SIZE = 160,
};

static uint64_t now_of(const struct hf_connection *connection)
{
    return hf_shell_now(connection->server->shell);
}

/* Whether somebody above us has its exchange. */
static bool is_asked(const struct hf_connection *connection)
{
    return connection->phase == HF_PHASE_ASKED || connection->phase == HF_PHASE_STREAM ||
           (connection->phase == HF_PHASE_JUDGED && !connection->is_let_in);
}

/* ---- ending ---- */

void hf_connection_close(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    assert(hf_channel_is_open(&connection->channel));
    hf_connection_release_request(connection);
    hf_buf_done(&connection->in);
    hf_watch_free(connection->watch);
    hf_alarm_set(&connection->alarm, 0);
    hf_channel_close(&connection->channel);
    hf_connection_account(connection);
    (void)close(connection->fd);
    hf_unlink(&connection->link);
    hf_shell_free_later(server->shell, &connection->flush);
    hf_http_server_closed_one(server);
}

/* Nothing more can be done for this client. */
static void lose(struct hf_connection *connection)
{
    const struct hf_http_server *server = connection->server;
    if (is_asked(connection)) {
        connection->phase = HF_PHASE_CLOSING;
        server->events.gone(server->context, &connection->exchange);
    }
    hf_connection_close(connection);
}

static void begin_closing(struct hf_connection *connection)
{
    hf_connection_release_request(connection);
    hf_buf_done(&connection->in);
    connection->phase = HF_PHASE_CLOSING;
    connection->read_by_ms = 0;
    hf_shell_flush_later(connection->server->shell, &connection->flush);
}

void hf_connection_refuse(struct hf_connection *connection, int status, const char *why)
{
    struct hf_buf body;
    hf_buf_init(&body, 4096);
    hf_buf_add_char(&body, '{');
    hf_json_add_key(&body, "error");
    hf_json_add_string(&body, hf_span_of(why));
    hf_buf_add_char(&body, '}');
    const struct hf_span text = hf_buf_span(&body);
    connection->closes = true;
    hf_connection_answer(connection, status, NULL, "application/json", &text, 1);
    hf_buf_done(&body);
    begin_closing(connection);
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

/* ---- requests ---- */

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
    server->events.request(server->context, &connection->exchange);
}

static void refuse_large(struct hf_connection *connection)
{
    refuse(connection, 413, "the body is larger than %zu bytes", connection->request->body_max);
}

/* Room for so much more of the body, or false: it was refused. */
static bool make_room(struct hf_connection *connection, size_t more)
{
    const struct hf_http_server *server = connection->server;
    struct hf_buf *body = &connection->request->body;
    if (body->cap - body->end < more && server->held + more > server->limits.held_bytes) {
        hf_connection_refuse(connection, 503, "too many bytes of requests and answers wait here");
        return false;
    }
    /* not left to the buffer, which sees its maximum only when it grows */
    if (more > connection->request->body_max - hf_buf_len(body) || !hf_buf_reserve(body, more)) {
        refuse_large(connection);
        return false;
    }
    hf_connection_account(connection);
    return true;
}

/* The next span of time in which a body has to come at its least rate, or the end of all its time.
 */
static void give_time(struct hf_connection *connection)
{
    const struct hf_http_limits *limits = &connection->server->limits;
    struct hf_request *request = connection->request;
    const uint64_t next_ms = now_of(connection) + limits->body_grace_ms;
    const uint64_t end_ms = request->body_from_ms + limits->body_ms;
    request->lately = 0;
    connection->read_by_ms = next_ms < end_ms ? next_ms : end_ms;
}

static void begin_body(struct hf_connection *connection, struct hf_span after)
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

/* Whoever decides about requests sees the head. */
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
        begin_body(connection, after);
}

/* The end of the head in what came so far: its length, 0: not there yet, -1: it is none. */
static ptrdiff_t gather_head(struct hf_request *request, struct hf_span *bytes, size_t max)
{
    const size_t before = hf_buf_len(&request->head_text);
    struct hf_span more = { bytes->p, bytes->n < max - before ? bytes->n : max - before };
    ptrdiff_t length = 0;
    if (before == 0) { /* the usual case: all of it in one read, and only it is copied */
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

/* Takes from the front of `*bytes` as long as a request may be read. */
static void take(struct hf_connection *connection, struct hf_span *bytes)
{
    while (bytes->n) {
        if (connection->phase == HF_PHASE_BODY)
            take_body(connection, bytes);
        else if (connection->phase == HF_PHASE_HEAD && connection->skip)
            skip(connection, bytes);
        else if (connection->phase == HF_PHASE_HEAD &&
                 hf_buf_len(&connection->channel.out) < BACKLOG_MAX)
            take_head(connection, bytes);
        else
            return;
    }
}

static void take_waiting(struct hf_connection *connection)
{
    const struct hf_span waiting = hf_buf_span(&connection->in);
    struct hf_span left = waiting;
    take(connection, &left);
    if (connection->phase == HF_PHASE_CLOSING)
        return; /* they are dropped */
    hf_buf_consume(&connection->in, waiting.n - left.n);
    hf_buf_shrink(&connection->in, 0);
}

/* ---- reading ---- */

static void set_watch(struct hf_connection *connection)
{
    const bool is_full = hf_buf_len(&connection->in) >= IN_MAX ||
                         connection->drained >= DRAIN_MAX || connection->phase == HF_PHASE_JUDGED;
    unsigned events = connection->channel.is_blocked ? HF_WRITABLE : 0;
    if (!connection->is_at_end && !is_full)
        events |= HF_READABLE;
    else if (is_asked(connection))
        events |= HF_SENT_ALL;
    hf_watch_set(connection->watch, events);
}

/* The alarm is only ever set earlier: one that rings too soon sets itself again. So the limits of a
 * request cost nothing. */
static void set_alarm(struct hf_connection *connection)
{
    uint64_t at_ms = connection->read_by_ms;
    if (connection->write_by_ms && (!at_ms || connection->write_by_ms < at_ms))
        at_ms = connection->write_by_ms;
    const uint64_t set_ms = connection->alarm.timer.at_ms;
    if (at_ms && (!set_ms || at_ms < set_ms))
        hf_alarm_set(&connection->alarm, at_ms);
}

static void settle(struct hf_connection *connection)
{
    hf_connection_account(connection);
    set_watch(connection);
    set_alarm(connection);
}

/* A half-closed client is not told from one that is gone: both sent their last byte. But what was
 * answered before is written. */
static void take_end(struct hf_connection *connection)
{
    connection->is_at_end = true;
    if (is_asked(connection) || !hf_buf_len(&connection->channel.out)) {
        lose(connection);
        return;
    }
    begin_closing(connection);
    settle(connection);
}

static void take_bytes(struct hf_connection *connection, struct hf_span bytes)
{
    if (connection->phase == HF_PHASE_CLOSING) {
        connection->drained += bytes.n;
        return;
    }
    if (!hf_buf_len(&connection->in))
        take(connection, &bytes);
    if (bytes.n && connection->phase != HF_PHASE_CLOSING)
        hf_buf_add(&connection->in, bytes);
}

/* Where a long body may be read to without a copy, or NULL. */
static struct hf_buf *room_in_body(struct hf_connection *connection, size_t *ret_room)
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

static void take_failure(struct hf_connection *connection)
{
    if (!connection->channel.tls || !hf_tls_is_plain_http(connection->channel.tls)) {
        take_end(connection);
        return;
    }
    hf_channel_drop_tls(&connection->channel);
    hf_connection_refuse(connection, 400, "this port speaks HTTPS: use https:// in the URL");
    settle(connection);
}

/* False: nothing more is there, or the connection came to its end. */
static bool read_once(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    size_t room = sizeof server->room, got = 0;
    struct hf_buf *body = room_in_body(connection, &room);
    char *into = body ? body->p + body->end : server->room;
    const enum hf_io result = hf_channel_read(&connection->channel, into, room, &got);
    if (result == HF_IO_AGAIN) {
        connection->channel.is_blocked |=
            connection->channel.tls && hf_tls_is_stuck(connection->channel.tls);
        settle(connection);
        return false;
    }
    if (result != HF_IO_DONE) {
        take_failure(connection);
        return false;
    }
    if (!body) {
        take_bytes(connection, (struct hf_span) { into, got });
    } else {
        body->end += got;
        connection->request->lately += got;
        if (!body_left(connection->request))
            hand_up(connection);
    }
    settle(connection);
    return true;
}

/* One read of the descriptor, so that nobody keeps the others waiting; with TLS there may be
 * several pieces in it. */
static void read_some(struct hf_connection *connection)
{
    if (!connection->channel.tls) {
        (void)read_once(connection);
        return;
    }
    hf_tls_ready(connection->channel.tls);
    while (connection->channel.tls && read_once(connection))
        ;
}

/* ---- callbacks ---- */

/* All is written: what is next for it. */
static void go_on(struct hf_connection *connection)
{
    const struct hf_http_server *server = connection->server;
    const bool is_idle =
        connection->phase == HF_PHASE_HEAD && !connection->request && !hf_buf_len(&connection->in);
    if (connection->phase == HF_PHASE_CLOSING && !connection->is_shut) {
        connection->is_shut = true;
        connection->read_by_ms = now_of(connection) + server->limits.linger_ms;
        if (connection->channel.tls)
            hf_tls_end(connection->channel.tls);
        (void)shutdown(connection->fd, SHUT_WR);
    }
    if (connection->phase == HF_PHASE_CLOSING ? connection->is_at_end : is_idle && server->fd < 0) {
        hf_connection_close(connection);
        return;
    }
    if (is_idle && !connection->read_by_ms)
        connection->read_by_ms = now_of(connection) + server->limits.idle_ms;
}

static void flush_connection(struct hf_flush *flush)
{
    struct hf_connection *connection = (struct hf_connection *)(void *)flush;
    const enum hf_io result =
        connection->is_broken ? HF_IO_FAILED : hf_connection_write_out(connection);
    if (result != HF_IO_DONE && result != HF_IO_AGAIN) {
        lose(connection);
        return;
    }
    if (result == HF_IO_DONE)
        go_on(connection);
    else if (connection->phase == HF_PHASE_HEAD && !connection->request)
        connection->read_by_ms = 0; /* not idle: it is still being answered */
    if (!hf_channel_is_open(&connection->channel))
        return;
    if (connection->phase == HF_PHASE_JUDGED && connection->is_let_in)
        begin_body(connection, hf_buf_span(&connection->in));
    if (hf_buf_len(&connection->in))
        take_waiting(connection);
    settle(connection);
}

static void on_ready(void *context, unsigned events)
{
    struct hf_connection *connection = context;
    if (events & HF_WRITABLE)
        flush_connection(&connection->flush);
    if (!hf_channel_is_open(&connection->channel))
        return;
    /* what TLS had to write may be what its reading waits for */
    if (events & HF_READABLE || (events & HF_WRITABLE && connection->channel.tls))
        read_some(connection);
    else if (events & HF_SENT_ALL)
        lose(connection);
}

/* Whoever sends a body more slowly than anybody's line is holds its memory for nothing. */
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

static void run_out_of_time(struct hf_connection *connection)
{
    const struct hf_http_limits *limits = &connection->server->limits;
    if (connection->phase == HF_PHASE_BODY)
        look_at_body(connection);
    else if (connection->phase == HF_PHASE_HEAD && connection->request)
        refuse(connection, 408, "the head of the request took longer than %u ms", limits->head_ms);
    else
        hf_connection_close(connection);
}

static void on_alarm(void *context)
{
    struct hf_connection *connection = context;
    const uint64_t now_ms = now_of(connection);
    if (connection->write_by_ms && connection->write_by_ms <= now_ms) {
        lose(connection);
        return;
    }
    if (connection->read_by_ms && connection->read_by_ms <= now_ms)
        run_out_of_time(connection);
    if (hf_channel_is_open(&connection->channel))
        settle(connection);
}

static void note_peer(struct hf_connection *connection, const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *four = (const void *)peer;
    const struct sockaddr_in6 *six = (const void *)peer;
    const void *address = peer->ss_family == AF_INET    ? (const void *)&four->sin_addr
                          : peer->ss_family == AF_INET6 ? (const void *)&six->sin6_addr
                                                        : NULL;
    if (address)
        (void)inet_ntop(peer->ss_family, address, connection->peer, sizeof connection->peer);
}

void hf_connection_open(struct hf_http_server *server, int fd, const struct sockaddr_storage *peer,
                        const char *refuse_with)
{
    struct hf_connection *connection = hf_new(struct hf_connection);
    note_peer(connection, peer);
    connection->server = server;
    connection->fd = fd;
    struct hf_stream *stream = hf_stream_borrow(fd);
    hf_channel_open(&connection->channel, stream, stream,
                    server->tls ? hf_tls_new(server->tls, stream) : NULL,
                    server->limits.unwritten_bytes);
    connection->flush.flush = flush_connection;
    hf_link_init(&connection->flush.link);
    hf_list_push(&server->connections, &connection->link);
    server->connection_count++;
    hf_buf_init(&connection->in, IN_MAX + HF_HTTP_READ_SIZE);
    hf_alarm_init(&connection->alarm, server->shell->loop, on_alarm, connection);
    connection->watch = hf_watch_new(server->shell->loop, fd, on_ready, connection);
    connection->read_by_ms = now_of(connection) + server->limits.idle_ms;
    if (refuse_with)
        hf_connection_refuse(connection, 503, refuse_with);
    settle(connection);
}
