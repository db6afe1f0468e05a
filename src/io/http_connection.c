/* http_connection.c - how a connection is read, and how it ends. See http_connection.h. */
#include "io/http_connection.h"
#include <arpa/inet.h>
#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>
#include "wire/json.h"

enum {
    IN_MAX = 64 * 1024,          /* bytes of pipelined requests at which reading pauses */
    DRAIN_MAX = 4 * 1024 * 1024, /* dropped of a refused request, so that its answer is read */
};

static uint64_t now_of(const struct hf_connection *connection)
{
    return hf_shell_now(connection->server->shell);
}

/* Whether the front has the exchange. */
static bool is_asked(const struct hf_connection *connection)
{
    return connection->phase == HF_PHASE_ASKED || connection->phase == HF_PHASE_STREAM ||
           (connection->phase == HF_PHASE_JUDGED && !connection->is_let_in);
}

/* ---- ending ---- */

static void stop_counting(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    struct hf_http_party *party = connection->party;
    hf_connection_set_silent(connection, false);
    if (connection->is_refused) {
        server->refusing--;
        return;
    }
    hf_connection_count(connection, NULL);
    hf_share_give(&server->connections, NULL, 1);
    if (party)
        server->events.left(server->context, party);
}

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
    stop_counting(connection);
    hf_shell_free_later(server->shell, &connection->flush);
    hf_http_server_closed_one(server);
}

/* The client is gone: its exchange ends and its connection is closed. */
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

static void take_waiting(struct hf_connection *connection)
{
    const struct hf_span waiting = hf_buf_span(&connection->in);
    struct hf_span left = waiting;
    hf_connection_take(connection, &left);
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

/* The alarm is only ever set earlier; one that rings too soon is set again. So most requests never
 * set it. */
static void set_alarm(struct hf_connection *connection)
{
    uint64_t at_ms = connection->read_by_ms;
    if (connection->write_by_ms && (!at_ms || connection->write_by_ms < at_ms))
        at_ms = connection->write_by_ms;
    const uint64_t set_ms = connection->alarm.timer.at_ms;
    if (at_ms && (!set_ms || at_ms < set_ms))
        hf_alarm_set(&connection->alarm, at_ms);
}

/* A connection without a request, and without bytes to write, may be closed for a new one. */
static void set_list(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    const bool is_busy =
        is_asked(connection) || connection->is_refused || hf_buf_len(&connection->channel.out) > 0;
    if (hf_linked(&connection->link) && is_busy != connection->is_silent)
        return;
    hf_connection_set_silent(connection, !is_busy);
    hf_unlink(&connection->link);
    hf_list_push(is_busy ? &server->busy : &server->waiting, &connection->link);
}

static void note_life(struct hf_connection *connection)
{
    if (!connection->is_silent)
        return;
    hf_unlink(&connection->link);
    hf_list_push(&connection->server->waiting, &connection->link);
}

static void settle(struct hf_connection *connection)
{
    hf_connection_account(connection);
    set_list(connection);
    set_watch(connection);
    set_alarm(connection);
}

/* A half-closed client cannot be told from one that is gone. Answers that wait are still written.
 */
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
        hf_connection_take(connection, &bytes);
    if (bytes.n && connection->phase != HF_PHASE_CLOSING)
        hf_buf_add(&connection->in, bytes);
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

/* False: there is nothing more to read, or the connection has ended. */
static bool read_once(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    size_t room = sizeof server->room, got = 0;
    struct hf_buf *body = hf_connection_room_in_body(connection, &room);
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
    note_life(connection);
    if (body)
        hf_connection_took(connection, got);
    else
        take_bytes(connection, (struct hf_span) { into, got });
    settle(connection);
    return true;
}

/* One read of the descriptor a turn, so that no connection keeps the others waiting; with TLS it
 * may hold several records. */
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

/* All is written: closes the connection, or waits for the next request. */
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
        connection->read_by_ms = 0; /* not idle: its answer is still being written */
    if (!hf_channel_is_open(&connection->channel))
        return;
    if (connection->phase == HF_PHASE_JUDGED && connection->is_let_in)
        hf_connection_begin_body(connection, hf_buf_span(&connection->in));
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
    /* reading TLS may have waited for this write */
    if (events & HF_READABLE || (events & HF_WRITABLE && connection->channel.tls))
        read_some(connection);
    else if (events & HF_SENT_ALL)
        lose(connection);
}

static void on_alarm(void *context)
{
    struct hf_connection *connection = context;
    const uint64_t now_ms = now_of(connection);
    if (connection->write_by_ms && connection->write_by_ms <= now_ms) {
        lose(connection);
        return;
    }
    if (connection->read_by_ms && connection->read_by_ms <= now_ms &&
        !hf_connection_refuse_late(connection))
        hf_connection_close(connection);
    if (hf_channel_is_open(&connection->channel))
        settle(connection);
}

static void write_peer(const struct sockaddr_storage *peer, char ret_text[HF_PEER_SIZE])
{
    const struct sockaddr_in *four = (const void *)peer;
    const struct sockaddr_in6 *six = (const void *)peer;
    const void *address = peer->ss_family == AF_INET    ? (const void *)&four->sin_addr
                          : peer->ss_family == AF_INET6 ? (const void *)&six->sin6_addr
                                                        : NULL;
    ret_text[0] = '\0';
    if (address)
        (void)inet_ntop(peer->ss_family, address, ret_text, HF_PEER_SIZE);
}

void hf_connection_open(struct hf_http_server *server, int fd, const struct sockaddr_storage *peer,
                        struct hf_http_party *party, int status, const char *why)
{
    struct hf_connection *connection = hf_new(struct hf_connection);
    write_peer(peer, connection->peer);
    connection->has_address = hf_address_of_socket(peer, &connection->address);
    connection->server = server;
    connection->party = party;
    connection->is_refused = status != 0;
    connection->fd = fd;
    struct hf_stream *stream = hf_stream_borrow(fd);
    hf_channel_open(&connection->channel, stream, stream,
                    server->tls ? hf_tls_new(server->tls, stream) : NULL,
                    server->limits.unwritten_bytes);
    connection->flush.flush = flush_connection;
    hf_link_init(&connection->flush.link);
    hf_link_init(&connection->link);
    if (connection->is_refused)
        server->refusing++;
    else
        hf_share_take(&server->connections, party ? &party->connections : NULL, 1);
    hf_buf_init(&connection->in, IN_MAX + HF_HTTP_READ_SIZE);
    hf_alarm_init(&connection->alarm, server->shell->loop, on_alarm, connection);
    connection->watch = hf_watch_new(server->shell->loop, fd, on_ready, connection);
    connection->read_by_ms = now_of(connection) + server->limits.idle_ms;
    if (status)
        hf_connection_refuse(connection, status, why);
    settle(connection);
}
