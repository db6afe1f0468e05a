/*
 * http_plain.c - see http_plain.h.
 *
 * Events may start, abort and free anything. So while a peer is busy, a fetch that is aborted loses
 * its connection at once but stays until hf_plain_leave(); after each event its caller asks
 * is_aborted before it touches the fetch's connection, or the peer's lists, again.
 */
#include "io/http_plain.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include "base/fold.h"
#include "io/http_plain_parts.h"

enum {
    SPARE_MAX = 64,        /* fetches kept for the next ones of a peer */
    SPARE_OUT = 16 * 1024, /* bytes of a request that one of them keeps */
    SPARE_HEAD = 4 * 1024, /* and of the head of an answer */
};

static const char closed_without_answer[] = "the connection closed without an answer";

/* ---- lifetime of fetches ---- */

static struct hf_plain_fetch *new_fetch(struct hf_plain_peer *peer)
{
    struct hf_plain_fetch *fetch = HF_LIST_FIRST(&peer->spare, struct hf_plain_fetch, link);
    if (!fetch) {
        fetch = hf_new(struct hf_plain_fetch);
        hf_link_init(&fetch->link);
        hf_buf_init(&fetch->out, SPARE_OUT);
        hf_http_reply_init(&fetch->reply, HF_ANSWER_HEAD_MAX);
        return fetch;
    }
    hf_unlink(&fetch->link);
    peer->spare_count--;
    hf_buf_clear(&fetch->out);
    hf_http_reply_reset(&fetch->reply);
    return fetch;
}

static void free_fetch(struct hf_plain_fetch *fetch)
{
    hf_unlink(&fetch->link);
    hf_buf_done(&fetch->out);
    hf_http_reply_done(&fetch->reply);
    hf_free(fetch);
}

static void recycle(struct hf_plain_fetch *fetch)
{
    struct hf_plain_peer *peer = fetch->peer;
    hf_unlink(&fetch->link);
    if (peer->spare_count == SPARE_MAX || peer->is_freed) {
        free_fetch(fetch);
        return;
    }
    hf_buf_clear(&fetch->out);
    hf_buf_clear(&fetch->reply.text);
    hf_buf_shrink(&fetch->out, SPARE_OUT);
    hf_buf_shrink(&fetch->reply.text, SPARE_HEAD);
    hf_list_push_front(&peer->spare, &fetch->link);
    peer->spare_count++;
}

static void free_all(struct hf_link *list)
{
    struct hf_plain_fetch *fetch;
    while ((fetch = HF_LIST_FIRST(list, struct hf_plain_fetch, link)))
        free_fetch(fetch);
}

static void destroy(struct hf_plain_peer *peer)
{
    struct hf_http_client *client = peer->client;
    free_all(&peer->spare);
    hf_alarm_set(&peer->begin, 0);
    hf_alarm_set(&peer->expire, 0);
    hf_plain_name_done(peer);
    hf_cookies_done(&peer->cookies);
    hf_free(peer);
    hf_http_client_lost_half(client);
}

void hf_plain_enter(struct hf_plain_peer *peer)
{
    assert(!peer->is_busy);
    peer->is_busy = true;
}

/* Does what had to wait until the last event returned. */
void hf_plain_leave(struct hf_plain_peer *peer)
{
    struct hf_plain_fetch *fetch;
    peer->is_busy = false;
    while ((fetch = HF_LIST_FIRST(&peer->aborted, struct hf_plain_fetch, link)))
        recycle(fetch);
    if (peer->is_freed)
        destroy(peer);
}

static void drop_connection(struct hf_plain_fetch *fetch)
{
    if (fetch->connection)
        hf_plain_link_close(fetch->connection);
    fetch->connection = NULL;
}

static void abort_fetch(struct hf_fetch *base)
{
    struct hf_plain_fetch *fetch = (struct hf_plain_fetch *)base;
    if (fetch->has_ended || fetch->is_aborted)
        return;
    fetch->is_aborted = true;
    drop_connection(fetch);
    hf_unlink(&fetch->link);
    hf_list_push(&fetch->peer->aborted, &fetch->link);
    if (!fetch->peer->is_busy)
        hf_plain_leave(fetch->peer);
}

/* The last header of that name. */
static struct hf_span header_of(const struct hf_fetch *base, struct hf_span name)
{
    const struct hf_plain_fetch *fetch = (const struct hf_plain_fetch *)base;
    const struct hf_http_head *head = &fetch->reply.response.head;
    for (size_t i = fetch->has_head ? head->header_count : 0; i > 0; i--)
        if (hf_fold_is(head->headers[i - 1].name, name))
            return head->headers[i - 1].value;
    return (struct hf_span) { NULL, 0 };
}

static const struct hf_fetch_way way = { header_of, abort_fetch };

/* ---- the end of a fetch ---- */

static enum hf_sent sent_of(const struct hf_plain_fetch *fetch)
{
    if (fetch->was_sent_before)
        return HF_SENT_WHOLE; /* it was sent twice: the first may have arrived */
    if (fetch->written == 0)
        return HF_SENT_NOTHING;
    return fetch->written < hf_buf_len(&fetch->out) ? HF_SENT_PART : HF_SENT_WHOLE;
}

/* `why` NULL: the answer is whole. */
static void finish(struct hf_plain_fetch *fetch, const char *why)
{
    const struct hf_fetch_end end = { .sent = sent_of(fetch),
                                      .status = fetch->has_head ? fetch->reply.response.status : 0,
                                      .is_whole = !why,
                                      .why = why ? why : "" };
    drop_connection(fetch);
    hf_unlink(&fetch->link);
    fetch->has_ended = true;
    fetch->events.ended(fetch->context, &end);
    recycle(fetch);
}

void hf_plain_fail(struct hf_plain_fetch *fetch, const char *why)
{
    finish(fetch, why);
}

static void fail_with_errno(struct hf_plain_fetch *fetch, int error)
{
    snprintf(fetch->why, sizeof fetch->why, "%s", strerror(error));
    fetch->why[0] = hf_lower(fetch->why[0]);
    finish(fetch, fetch->why);
}

static bool keeps_connections(const struct hf_plain_peer *peer)
{
    return peer->keep_alive_ms > 0 && !peer->closes_early;
}

/* The connection is kept if nothing came after the answer and the whole request was sent. */
static void complete(struct hf_plain_fetch *fetch, bool is_closed, size_t excess)
{
    const struct hf_plain_peer *peer = fetch->peer;
    if (!is_closed && excess == 0 && fetch->reply.response.keeps_alive && !fetch->is_unwritable &&
        fetch->written == hf_buf_len(&fetch->out) && keeps_connections(peer) &&
        peer->idle_count < HF_IDLE_CONNECTIONS_MAX) {
        hf_plain_link_keep(fetch->connection);
        fetch->connection = NULL;
    }
    finish(fetch, NULL);
}

/* ---- sending ---- */

static void begin(struct hf_plain_fetch *fetch);

/* The connection has failed before any byte of an answer. True: the request goes to another one. */
static bool go_elsewhere(struct hf_plain_fetch *fetch)
{
    struct hf_plain_peer *peer = fetch->peer;
    if (!fetch->connection->was_used || fetch->reply.has_begun)
        return false;
    if (fetch->written > 0) {
        peer->closes_early = true;
        if (!fetch->may_repeat || fetch->was_sent_before)
            return false;
        fetch->was_sent_before = true;
    }
    drop_connection(fetch);
    hf_http_reply_reset(&fetch->reply);
    fetch->written = 0;
    fetch->is_unwritable = false;
    begin(fetch);
    return true;
}

static void write_out(struct hf_plain_fetch *fetch)
{
    const struct hf_span left = hf_span_from(hf_buf_span(&fetch->out), fetch->written);
    ssize_t n;
    do
        n = send(fetch->connection->fd, left.p, left.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    const int error = n < 0 ? errno : EAGAIN;
    if (error != EAGAIN && fetch->written == 0) {
        if (!go_elsewhere(fetch))
            fail_with_errno(fetch, error);
        return;
    }
    fetch->is_unwritable = error != EAGAIN; /* the answer may have arrived: it is read first */
    fetch->written += n > 0 ? (size_t)n : 0;
    const bool has_more = fetch->written < hf_buf_len(&fetch->out) && !fetch->is_unwritable;
    hf_watch_set(fetch->connection->watch, has_more ? HF_READABLE | HF_WRITABLE : HF_READABLE);
}

static void on_connected(struct hf_plain_fetch *fetch)
{
    if (!fetch->has_told_sending && fetch->events.sending) {
        fetch->has_told_sending = true;
        fetch->events.sending(fetch->context);
        if (fetch->is_aborted)
            return;
    }
    write_out(fetch);
}

/* Tries one address after the other, and all of them again if one has only not answered. */
static void connect_to_next(struct hf_plain_fetch *fetch, int error)
{
    for (;;) {
        if (fetch->at_next == fetch->at_count && fetch->is_silent) {
            fetch->at_next = 0;
            fetch->rounds++;
            fetch->is_silent = false;
        }
        if (fetch->at_next == fetch->at_count)
            break;
        fetch->connection = hf_plain_link_open(fetch, &fetch->at[fetch->at_next++]);
        error = errno;
        if (!fetch->connection)
            continue;
        if (!fetch->connection->is_connecting)
            on_connected(fetch);
        return;
    }
    hf_plain_name_fails(fetch);
    fail_with_errno(fetch, error);
}

void hf_plain_connect(struct hf_plain_fetch *fetch)
{
    fetch->at_next = fetch->rounds = 0;
    fetch->is_silent = false;
    connect_to_next(fetch, EADDRNOTAVAIL);
}

static void begin(struct hf_plain_fetch *fetch)
{
    struct hf_plain_peer *peer = fetch->peer;
    if (fetch->why_not) {
        finish(fetch, fetch->why_not);
        return;
    }
    if (keeps_connections(peer))
        fetch->connection = hf_plain_link_reuse(fetch);
    if (fetch->connection) {
        on_connected(fetch);
        return;
    }
    fetch->connect_by_ms = hf_loop_now_ms(peer->loop) + peer->connect_ms;
    if (!fetch->is_name || hf_plain_name_ask(fetch))
        hf_plain_connect(fetch);
}

static void on_begin(void *context)
{
    struct hf_plain_peer *peer = context;
    struct hf_link now;
    struct hf_plain_fetch *fetch;
    hf_plain_enter(peer);
    hf_list_move(&now, &peer->starting); /* fetches that start in an event wait for a turn */
    while ((fetch = HF_LIST_FIRST(&now, struct hf_plain_fetch, link))) {
        hf_unlink(&fetch->link);
        if (peer->is_freed) { /* no event may be called any more */
            hf_list_push(&peer->aborted, &fetch->link);
            continue;
        }
        hf_list_push(&peer->running, &fetch->link);
        begin(fetch);
    }
    hf_plain_leave(peer);
}

/* ---- reading ---- */

static void lose(struct hf_plain_fetch *fetch, const char *why)
{
    if (!go_elsewhere(fetch))
        finish(fetch, why);
}

static void fail_to_read(struct hf_plain_fetch *fetch)
{
    snprintf(fetch->why, sizeof fetch->why, "its answer cannot be read: %s", fetch->reply.why);
    finish(fetch, fetch->why);
}

/* Reads the bytes that came, until they are used up or the fetch has ended. */
static void take(struct hf_plain_fetch *fetch, struct hf_span bytes)
{
    struct hf_span data;
    while (!fetch->is_aborted) {
        switch (hf_http_reply_next(&fetch->reply, &bytes, &data)) {
        case HF_REPLY_MORE: return;
        case HF_REPLY_HEAD:
            fetch->has_head = true;
            hf_plain_take_cookies(fetch);
            if (fetch->events.head)
                fetch->events.head(fetch->context, fetch->reply.response.status);
            break;
        case HF_REPLY_BYTES:
            if (fetch->events.bytes)
                fetch->events.bytes(fetch->context, data);
            break;
        case HF_REPLY_END: complete(fetch, false, bytes.n); return;
        case HF_REPLY_BAD: fail_to_read(fetch); return;
        }
    }
}

static void read_in(struct hf_plain_fetch *fetch)
{
    char *room = fetch->peer->client->room;
    ssize_t n;
    do
        n = recv(fetch->connection->fd, room, HF_PLAIN_ROOM, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        take(fetch, (struct hf_span) { room, (size_t)n });
    else if (n < 0 && errno == EAGAIN)
        return;
    else if (n < 0 && fetch->has_head)
        finish(fetch, "the answer was cut off");
    else if (n < 0)
        lose(fetch, "the connection broke");
    else if (hf_http_reply_close(&fetch->reply) == HF_REPLY_END)
        complete(fetch, true, 0);
    else
        lose(fetch, fetch->reply.has_begun ? fetch->reply.why : closed_without_answer);
}

/* ---- connections ---- */

static void on_connect_result(struct hf_plain_fetch *fetch)
{
    struct hf_plain_link *link = fetch->connection;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error == 0) {
        link->is_connecting = false;
        hf_alarm_set(&link->connect_timeout, 0);
        hf_plain_name_works(link);
        on_connected(fetch);
        return;
    }
    drop_connection(fetch);
    connect_to_next(fetch, error);
}

void hf_plain_on_ready(struct hf_plain_link *link, unsigned events)
{
    struct hf_plain_peer *peer = link->peer;
    struct hf_plain_fetch *fetch = link->fetch;
    hf_plain_enter(peer);
    if (link->is_connecting) {
        on_connect_result(fetch);
    } else if (events & HF_READABLE) { /* reading first: an error makes the socket writable too */
        read_in(fetch);
    } else {
        write_out(fetch);
    }
    hf_plain_leave(peer);
}

void hf_plain_on_connect_timeout(struct hf_plain_link *link)
{
    struct hf_plain_peer *peer = link->peer;
    struct hf_plain_fetch *fetch = link->fetch;
    hf_plain_enter(peer);
    drop_connection(fetch);
    if (hf_loop_now_ms(peer->loop) >= fetch->connect_by_ms) {
        hf_plain_name_fails(fetch);
        finish(fetch, "connecting took too long");
    } else {
        fetch->is_silent = true;
        connect_to_next(fetch, ETIMEDOUT);
    }
    hf_plain_leave(peer);
}

/* ---- the interface ---- */

struct hf_plain_peer *hf_plain_peer_new(struct hf_http_client *client, uint32_t connect_ms,
                                        uint32_t keep_alive_ms)
{
    struct hf_plain_peer *peer = hf_new(struct hf_plain_peer);
    peer->client = client;
    peer->loop = client->loop;
    peer->connect_ms = connect_ms;
    peer->keep_alive_ms = keep_alive_ms;
    struct hf_link *lists[] = { &peer->starting, &peer->running, &peer->aborted, &peer->spare,
                                &peer->idle };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        hf_link_init(lists[i]);
    hf_alarm_init(&peer->begin, peer->loop, on_begin, peer);
    hf_alarm_init(&peer->expire, peer->loop, hf_plain_expire, peer);
    hf_plain_name_init(peer);
    if (!client->room)
        client->room = hf_realloc(NULL, HF_PLAIN_ROOM);
    client->halves++;
    return peer;
}

static void doom_all(struct hf_link *list)
{
    struct hf_plain_fetch *fetch;
    while ((fetch = HF_LIST_FIRST(list, struct hf_plain_fetch, link)))
        abort_fetch(&fetch->base);
}

void hf_plain_peer_free(struct hf_plain_peer *peer)
{
    if (!peer || peer->is_freed)
        return;
    const bool was_busy = peer->is_busy;
    peer->is_busy = true;
    doom_all(&peer->starting);
    doom_all(&peer->running);
    doom_all(&peer->name.waiting);
    while (!hf_list_empty(&peer->idle))
        hf_plain_link_close(HF_ITEM(peer->idle.next, struct hf_plain_link, link));
    peer->is_freed = true;
    if (!was_busy)
        hf_plain_leave(peer);
}

bool hf_plain_peer_may_ask(const struct hf_plain_peer *peer, const struct hf_plain_url *url)
{
    return !url->is_name || !peer || !peer->name.text[0] || hf_span_is(url->host, peer->name.text);
}

static struct hf_plain_fetch *start(struct hf_plain_peer *peer,
                                    const struct hf_fetch_events *events, void *context)
{
    struct hf_plain_fetch *fetch = new_fetch(peer);
    assert(!peer->is_freed);
    fetch->base.way = &way;
    fetch->peer = peer;
    fetch->connection = NULL;
    fetch->events = *events;
    fetch->context = context;
    fetch->may_repeat = fetch->is_aborted = fetch->has_ended = false;
    fetch->why_not = NULL;
    fetch->written = 0;
    fetch->was_sent_before = fetch->is_unwritable = fetch->has_told_sending = false;
    fetch->has_head = false;
    hf_list_push(&peer->starting, &fetch->link);
    hf_alarm_set(&peer->begin, hf_loop_now_ms(peer->loop));
    return fetch;
}

struct hf_fetch *hf_plain_fetch_start(struct hf_plain_peer *peer, const struct hf_fetch_spec *spec,
                                      const struct hf_plain_url *url,
                                      const struct hf_fetch_events *events, void *context)
{
    struct hf_plain_fetch *fetch = start(peer, events, context);
    fetch->may_repeat = spec->may_repeat;
    memcpy(fetch->at, url->at, url->at_count * sizeof *fetch->at);
    fetch->at_count = url->at_count;
    fetch->is_name = url->is_name;
    fetch->port = url->port;
    assert(url->host.n <= HF_PLAIN_HOST_MAX); /* hf_url_read's bound */
    memcpy(fetch->host, url->host.p, url->host.n);
    fetch->host[url->host.n] = '\0';
    if (url->is_name)
        memcpy(peer->name.text, fetch->host, url->host.n + 1);
    hf_plain_write_request(fetch, spec, url);
    return &fetch->base;
}

struct hf_fetch *hf_plain_fetch_fail(struct hf_plain_peer *peer, const char *why,
                                     const struct hf_fetch_events *events, void *context)
{
    struct hf_plain_fetch *fetch = start(peer, events, context);
    snprintf(fetch->why, sizeof fetch->why, "%s", why);
    fetch->why_not = fetch->why;
    return &fetch->base;
}
