/*
 * http_connection_out.c - the form of answers, and how they are written. See http_server.h.
 *
 * The answers of a turn are collected and written once at its end. A large body is written at once;
 * only the part that the kernel does not take is copied.
 */
#include <assert.h>
#include <stdio.h>
#include <time.h>
#include "io/http_connection.h"

enum {
    HEAD_ROOM = 512,
    SPARE_BUFFER_MAX = 16 * 1024,
    SPARE_OUT_MAX = 4 * 1024,
    SKIP_MAX = 64 * 1024, /* bytes of a refused body; after a longer one the connection closes */
};

static struct hf_connection *connection_of(struct hf_exchange *exchange)
{
    return HF_ITEM(exchange, struct hf_connection, exchange);
}

/* ---- bytes ---- */

void hf_connection_account(struct hf_connection *connection)
{
    const size_t body = connection->request ? connection->request->body.cap : 0;
    const size_t held = body + connection->in.cap + connection->channel.out.cap;
    if (held == connection->held)
        return;
    struct hf_bound *all = &connection->server->bytes;
    struct hf_share *share = connection->party ? &connection->party->bytes : NULL;
    if (held > connection->held)
        hf_share_take(all, share, held - connection->held);
    else
        hf_share_give(all, share, connection->held - held);
    connection->held = held;
}

void hf_connection_set_silent(struct hf_connection *connection, bool is_silent)
{
    struct hf_http_server *server = connection->server;
    struct hf_share *share = connection->party ? &connection->party->silent : NULL;
    hf_share_take(&server->silent, share, is_silent);
    hf_share_give(&server->silent, share, connection->is_silent);
    connection->is_silent = is_silent;
}

void hf_connection_count(struct hf_connection *connection, struct hf_http_party *party)
{
    struct hf_http_server *server = connection->server;
    struct hf_http_party *before = connection->party;
    hf_share_give(&server->connections, before ? &before->connections : NULL, 1);
    hf_share_give(&server->silent, before ? &before->silent : NULL, connection->is_silent);
    hf_share_give(&server->bytes, before ? &before->bytes : NULL, connection->held);
    hf_share_take(&server->connections, party ? &party->connections : NULL, 1);
    hf_share_take(&server->silent, party ? &party->silent : NULL, connection->is_silent);
    hf_share_take(&server->bytes, party ? &party->bytes : NULL, connection->held);
    connection->party = party;
}

void hf_connection_add(struct hf_connection *connection, struct hf_span bytes)
{
    if (!connection->is_broken && !hf_channel_add(&connection->channel, bytes))
        connection->is_broken = true;
}

/* Most answers are made and written within a turn, so a few buffers serve all connections. */
static void make_room(struct hf_connection *connection, size_t more)
{
    struct hf_http_server *server = connection->server;
    if (!connection->channel.out.p && server->spare_out_count)
        connection->channel.out = server->spare_out[--server->spare_out_count];
    if (!connection->is_broken && !hf_buf_reserve(&connection->channel.out, more))
        connection->is_broken = true;
}

static void give_room_back(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    struct hf_buf *out = &connection->channel.out;
    if (hf_buf_len(out))
        return;
    if (out->cap < HEAD_ROOM || out->cap > SPARE_OUT_MAX ||
        server->spare_out_count == HF_HTTP_SPARE_MAX) {
        hf_buf_done(out);
        return;
    }
    server->spare_out[server->spare_out_count++] = *out;
    hf_buf_init(out, server->limits.unwritten_bytes);
}

static bool is_over_bound(const struct hf_connection *connection)
{
    const struct hf_bound *all = &connection->server->bytes;
    return hf_share_is_over(all, NULL) ||
           (connection->party && hf_share_is_over(all, &connection->party->bytes));
}

/* Cuts a connection off that exceeds its own bound, or whose bytes exceed the bound of all
 * connections or its party's share of it. In the second case its bytes are written first: those
 * that the kernel does not take, the client does not read. A client can resume a stream, so nothing
 * of it is spared; a short answer is always delivered. */
static void check_bounds(struct hf_connection *connection)
{
    const struct hf_http_server *server = connection->server;
    const size_t spared = connection->phase == HF_PHASE_STREAM ? 0 : HF_CHANNEL_SEND_AT;
    hf_connection_account(connection);
    if (!connection->is_broken && is_over_bound(connection)) {
        const enum hf_io result = hf_connection_write_out(connection);
        connection->is_broken = (result != HF_IO_DONE && result != HF_IO_AGAIN) ||
                                hf_buf_len(&connection->channel.out) > spared;
    }
    if (hf_buf_len(&connection->channel.out) > server->limits.unwritten_bytes)
        connection->is_broken = true;
    if (connection->is_broken)
        hf_buf_done(&connection->channel.out);
    hf_connection_account(connection);
}

size_t hf_exchange_room(const struct hf_exchange *exchange)
{
    const struct hf_connection *connection =
        HF_ITEM(exchange, const struct hf_connection, exchange);
    const struct hf_http_server *server = connection->server;
    const size_t waits = hf_buf_len(&connection->channel.out) + HEAD_ROOM;
    const size_t own = server->limits.unwritten_bytes;
    const struct hf_share *share = connection->party ? &connection->party->bytes : NULL;
    const size_t left = hf_share_room(&server->bytes, share);
    const size_t of_all =
        left > HF_CHANNEL_SEND_AT ? left : HF_CHANNEL_SEND_AT; /* check_bounds spares so much */
    const size_t room = own < of_all ? own : of_all;
    return room > waits ? room - waits : 0;
}

static void put(struct hf_connection *connection, const struct hf_span *pieces, unsigned count,
                size_t length)
{
    const bool is_large = length >= HF_CHANNEL_SEND_AT && !connection->is_broken;
    const size_t skip = is_large ? hf_channel_send(&connection->channel, pieces, count) : 0;
    make_room(connection, length - skip);
    if (!connection->is_broken && !hf_channel_add_from(&connection->channel, pieces, count, skip))
        connection->is_broken = true;
}

enum hf_io hf_connection_write_out(struct hf_connection *connection)
{
    bool has_moved;
    const enum hf_io result = hf_channel_flush(&connection->channel, &has_moved);
    if (has_moved || result != HF_IO_AGAIN)
        connection->write_by_ms = 0; /* bytes were taken: the limit begins anew */
    if (result == HF_IO_AGAIN && !connection->write_by_ms)
        connection->write_by_ms =
            hf_shell_now(connection->server->shell) + connection->server->limits.write_ms;
    give_room_back(connection);
    hf_connection_account(connection);
    return result;
}

/* ---- heads ---- */

/* RFC 9110, 5.6.7; not by strftime, which uses the language of the locale. */
static struct hf_span date_line(struct hf_http_server *server)
{
    static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    const uint64_t at_s = hf_shell_now(server->shell) / 1000 + 1;
    if (server->date_at_s != at_s) {
        const time_t now = time(NULL);
        struct tm at = { 0 };
        (void)gmtime_r(&now, &at);
        server->date_at_s = at_s;
        server->date_length = (size_t)snprintf(server->date, sizeof server->date,
                                               "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n",
                                               days[at.tm_wday], at.tm_mday, months[at.tm_mon],
                                               at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
    }
    return (struct hf_span) { server->date, server->date_length };
}

/* All of the head except the headers that frame the body. */
static void add_head(struct hf_connection *connection, int status, const char *headers,
                     const char *type)
{
    static const struct hf_span nothing = { "", 0 };
    char digits[HF_DIGITS_MAX];
    assert(status >= 200 && status < 600);
    if (connection->server->fd < 0)
        connection->closes = true; /* the server is stopping */
    make_room(connection, HEAD_ROOM);
    const struct hf_span parts[] = {
        HF_SPAN("HTTP/1.1 "),
        hf_digits(digits, (uint64_t)status),
        HF_SPAN(" "),
        hf_span_of(hf_http_reason(status)),
        HF_SPAN("\r\n"),
        date_line(connection->server),
        type ? HF_SPAN("Content-Type: ") : nothing,
        hf_span_of(type),
        type ? HF_SPAN("\r\n") : nothing,
        hf_span_of(headers),
        connection->closes   ? HF_SPAN("Connection: close\r\n")
        : connection->is_old ? HF_SPAN("Connection: keep-alive\r\n")
                             : nothing,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hf_connection_add(connection, parts[i]);
}

static void add_length(struct hf_connection *connection, size_t length)
{
    char digits[HF_DIGITS_MAX];
    hf_connection_add(connection, HF_SPAN("Content-Length: "));
    hf_connection_add(connection, hf_digits(digits, length));
    hf_connection_add(connection, HF_SPAN("\r\n"));
}

void hf_connection_answer(struct hf_connection *connection, int status, const char *headers,
                          const char *type, const struct hf_span *pieces, unsigned piece_count)
{
    const bool has_no_length = status == 204 || status == 304;
    size_t length = 0;
    for (unsigned i = 0; i < piece_count; i++)
        length += pieces[i].n;
    assert(type || !length);
    add_head(connection, status, headers, type);
    if (!has_no_length)
        add_length(connection, length);
    hf_connection_add(connection, HF_SPAN("\r\n"));
    if (!has_no_length && !connection->is_bodiless)
        put(connection, pieces, piece_count, length);
    check_bounds(connection);
}

/* ---- exchanges ---- */

void hf_connection_release_request(struct hf_connection *connection)
{
    struct hf_http_server *server = connection->server;
    struct hf_request *request = connection->request;
    if (!request)
        return;
    connection->request = NULL;
    if (server->spare_count < HF_HTTP_SPARE_MAX) {
        hf_buf_clear(&request->head_text);
        hf_buf_clear(&request->body);
        hf_buf_shrink(&request->head_text, SPARE_BUFFER_MAX);
        hf_buf_shrink(&request->body, SPARE_BUFFER_MAX);
        hf_list_push_front(&server->spare, &request->link);
        server->spare_count++;
    } else {
        hf_buf_done(&request->head_text);
        hf_buf_done(&request->body);
        hf_free(request);
    }
    hf_connection_account(connection);
}

static void be_over(struct hf_connection *connection)
{
    const struct hf_http_server *server = connection->server;
    hf_connection_release_request(connection);
    connection->exchange.context = NULL;
    connection->phase = connection->closes ? HF_PHASE_CLOSING : HF_PHASE_HEAD;
    connection->read_by_ms = hf_shell_now(server->shell) + server->limits.idle_ms;
    hf_shell_flush_later(server->shell, &connection->flush);
}

void hf_exchange_take_body(struct hf_exchange *exchange, size_t max)
{
    struct hf_connection *connection = connection_of(exchange);
    const size_t limit = connection->server->limits.body_bytes;
    assert(connection->phase == HF_PHASE_JUDGED && !connection->is_let_in);
    connection->request->body_max = max < limit ? max : limit;
    connection->exchange.context = NULL;
    connection->is_let_in = true;
    if (!connection->is_judging)
        hf_shell_flush_later(connection->server->shell, &connection->flush);
}

/* The request was refused by its head alone. A client that waits for 100 may send its body or not,
 * so it is not known where its next request begins. */
static void let_body_go(struct hf_connection *connection)
{
    const struct hf_http_request *request = &connection->request->parsed;
    const struct hf_http_head *head = &request->head;
    const uint64_t length = head->content_length > 0 ? (uint64_t)head->content_length : 0;
    if (head->is_chunked || length > SKIP_MAX || (length && request->expects_continue))
        connection->closes = true;
    else
        connection->skip = (size_t)length;
}

void hf_exchange_answer(struct hf_exchange *exchange, int status, const char *headers,
                        const char *type, const struct hf_span *pieces, unsigned piece_count)
{
    struct hf_connection *connection = connection_of(exchange);
    assert(connection->phase == HF_PHASE_ASKED ||
           (connection->phase == HF_PHASE_JUDGED && !connection->is_let_in));
    if (connection->phase == HF_PHASE_JUDGED)
        let_body_go(connection);
    hf_connection_answer(connection, status, headers, type, pieces, piece_count);
    be_over(connection);
}

void hf_exchange_begin(struct hf_exchange *exchange, int status, const char *headers,
                       const char *type)
{
    struct hf_connection *connection = connection_of(exchange);
    assert(connection->phase == HF_PHASE_ASKED);
    if (connection->is_old)
        connection->closes = true; /* HTTP/1.0: the end of the connection ends the body */
    connection->is_chunked = !connection->is_old;
    connection->phase = HF_PHASE_STREAM;
    add_head(connection, status, headers, type);
    hf_connection_add(connection, connection->is_chunked
                                      ? HF_SPAN("Transfer-Encoding: chunked\r\n\r\n")
                                      : HF_SPAN("\r\n"));
    check_bounds(connection);
    hf_connection_release_request(connection);
    hf_shell_flush_later(connection->server->shell, &connection->flush);
}

void hf_exchange_write(struct hf_exchange *exchange, const struct hf_span *pieces,
                       unsigned piece_count)
{
    static const char hex[] = "0123456789abcdef";
    struct hf_connection *connection = connection_of(exchange);
    size_t length = 0;
    assert(connection->phase == HF_PHASE_STREAM);
    for (unsigned i = 0; i < piece_count; i++)
        length += pieces[i].n;
    if (!length || connection->is_bodiless || connection->is_broken)
        return; /* an empty chunk would be the last one */
    if (connection->is_chunked) {
        char size[2 * sizeof length + 2];
        size_t at = sizeof size;
        size[--at] = '\n';
        size[--at] = '\r';
        for (size_t left = length; left; left >>= 4)
            size[--at] = hex[left & 15];
        hf_connection_add(connection, (struct hf_span) { size + at, sizeof size - at });
    }
    put(connection, pieces, piece_count, length);
    if (connection->is_chunked)
        hf_connection_add(connection, HF_SPAN("\r\n"));
    check_bounds(connection);
    hf_shell_flush_later(connection->server->shell, &connection->flush);
}

void hf_exchange_end(struct hf_exchange *exchange)
{
    struct hf_connection *connection = connection_of(exchange);
    assert(connection->phase == HF_PHASE_STREAM);
    if (connection->is_chunked && !connection->is_bodiless)
        hf_connection_add(connection, HF_SPAN("0\r\n\r\n"));
    be_over(connection);
}

void hf_exchange_close_after(struct hf_exchange *exchange)
{
    connection_of(exchange)->closes = true;
}

const struct hf_http_request *hf_exchange_request(const struct hf_exchange *exchange)
{
    const struct hf_connection *connection =
        HF_ITEM(exchange, const struct hf_connection, exchange);
    assert(connection->phase == HF_PHASE_ASKED || connection->phase == HF_PHASE_JUDGED);
    return &connection->request->parsed;
}

struct hf_span hf_exchange_body(const struct hf_exchange *exchange)
{
    const struct hf_connection *connection =
        HF_ITEM(exchange, const struct hf_connection, exchange);
    assert(connection->phase == HF_PHASE_ASKED);
    return hf_buf_span(&connection->request->body);
}

enum hf_share_verdict hf_exchange_set_party(struct hf_exchange *exchange,
                                            struct hf_http_party *party)
{
    struct hf_connection *connection = connection_of(exchange);
    struct hf_http_server *server = connection->server;
    struct hf_http_party *before = connection->party;
    assert(connection->phase == HF_PHASE_JUDGED || connection->phase == HF_PHASE_ASKED);
    if (party == before)
        return HF_SHARE_FITS;
    /* the connection is judged as if it were a new one, so it must not count meanwhile */
    const bool was_silent = connection->is_silent;
    hf_connection_set_silent(connection, false);
    hf_share_give(&server->connections, before ? &before->connections : NULL, 1);
    const enum hf_share_verdict verdict = hf_http_server_judge(server, party);
    hf_share_take(&server->connections, before ? &before->connections : NULL, 1);
    hf_connection_set_silent(connection, was_silent);
    if (verdict == HF_SHARE_FITS)
        hf_connection_count(connection, party);
    if (verdict != HF_SHARE_FITS)
        hf_http_server_refused(server, party, HF_HTTP_CONNECTIONS);
    else if (before)
        server->events.left(server->context, before);
    return verdict;
}

struct hf_http_party *hf_exchange_party(const struct hf_exchange *exchange)
{
    return HF_ITEM(exchange, const struct hf_connection, exchange)->party;
}

const struct hf_address *hf_exchange_address(const struct hf_exchange *exchange)
{
    const struct hf_connection *connection =
        HF_ITEM(exchange, const struct hf_connection, exchange);
    return connection->has_address ? &connection->address : NULL;
}

struct hf_span hf_exchange_peer(const struct hf_exchange *exchange)
{
    return hf_span_of(HF_ITEM(exchange, const struct hf_connection, exchange)->peer);
}

void hf_exchange_set_context(struct hf_exchange *exchange, void *context)
{
    exchange->context = context;
}

void *hf_exchange_owner(const struct hf_exchange *exchange)
{
    return HF_ITEM(exchange, const struct hf_connection, exchange)->server->context;
}

void *hf_exchange_context(const struct hf_exchange *exchange)
{
    return exchange->context;
}
