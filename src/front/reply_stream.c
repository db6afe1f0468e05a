/* reply_stream.c - streams of messages to clients: one JSON body if the only message is the answer,
 * events otherwise, and the events that a client can resume with. See http_parts.h. */
#include <assert.h>
#include <stdio.h>
#include "front/modern.h"

enum { LOOKS_A_TURN = 256 }; /* at streams that are due at the same moment */

static struct hf_http_front *front_of(const struct hf_reply_stream *stream)
{
    return stream->session->front;
}

static uint64_t now_of(const struct hf_reply_stream *stream)
{
    return hf_shell_now(front_of(stream)->shell);
}

/* ---- whether the client can be sent requests of servers ---- */

static enum hf_stream_state stream_state_of(const struct hf_http_session *session)
{
    bool may_again = session->has_listened;
    const struct hf_reply_stream *stream;
    if (session->is_sse || session->is_modern ||
        (session->standalone && session->standalone->exchange))
        return HF_STREAM_OPEN;
    HF_LIST_EACH (stream, &session->streams, struct hf_reply_stream, link) {
        if (stream->takes_events && stream->exchange)
            return HF_STREAM_OPEN;
        may_again |= stream->is_resumable;
    }
    return may_again ? HF_STREAM_MAY_REOPEN : HF_STREAM_NONE;
}

static void review_stream_state(struct hf_http_session *session)
{
    if (session->core)
        hf_session_set_stream(session->core, stream_state_of(session),
                              hf_shell_time(session->front->shell));
}

/* Called after every message. The state only matters while a server's request is unanswered. */
static void review_if_asked(struct hf_http_session *session)
{
    if (session->core && hf_session_is_asked(session->core))
        review_stream_state(session);
}

/* ---- lifetime ---- */

static struct hf_reply_stream *more_streams(struct hf_http_front *front)
{
    if (front->stream_count == front->stream_cap) {
        if (front->stream_cap == HF_REPLY_STREAMS_MAX)
            return NULL;
        front->stream_cap = front->stream_cap ? 2 * front->stream_cap : 64;
        front->streams = hf_realloc(front->streams, front->stream_cap * sizeof *front->streams);
    }
    struct hf_reply_stream *stream = hf_new(struct hf_reply_stream);
    stream->index = front->stream_count;
    front->streams[front->stream_count++] = stream;
    return stream;
}

static void on_client_gone(struct hf_holder *holder);

static void init(struct hf_reply_stream *stream, struct hf_http_session *session, uint64_t via)
{
    *stream = (struct hf_reply_stream) {
        .holder.on_gone = on_client_gone, .session = session, .via = via, .index = stream->index
    };
    hf_link_init(&stream->link);
    hf_link_init(&stream->due);
    hf_events_init(&stream->events);
}

static void wait_in(struct hf_link *list, struct hf_reply_stream *stream, uint32_t ms)
{
    stream->due_ms = now_of(stream) + ms;
    hf_unlink(&stream->due);
    hf_list_push(list, &stream->due);
    hf_http_wake(front_of(stream), stream->due_ms);
}

struct hf_reply_stream *hf_reply_stream_new(struct hf_http_session *session,
                                            struct hf_exchange *exchange)
{
    struct hf_http_front *front = session->front;
    struct hf_reply_stream *stream =
        HF_LIST_FIRST(&front->free_streams, struct hf_reply_stream, link);
    if (stream)
        hf_unlink(&stream->link);
    else if (!(stream = more_streams(front)))
        return NULL;
    init(stream, session, ++front->stream_serial << HF_REPLY_STREAM_BITS | stream->index);
    stream->exchange = exchange;
    hf_exchange_set_context(exchange, &stream->holder);
    hf_list_push(&session->streams, &stream->link);
    wait_in(&front->quiet, stream, HF_PRIME_MS);
    return stream;
}

struct hf_reply_stream *hf_reply_stream_standalone(struct hf_http_session *session)
{
    if (!session->standalone) {
        session->standalone = hf_new(struct hf_reply_stream);
        init(session->standalone, session, 0);
        session->standalone->takes_events = true;
    }
    return session->standalone;
}

struct hf_reply_stream *hf_reply_stream_find(const struct hf_http_session *session, uint64_t via)
{
    const struct hf_http_front *front = session->front;
    const uint64_t index = via & (HF_REPLY_STREAMS_MAX - 1);
    struct hf_reply_stream *stream = index < front->stream_count ? front->streams[index] : NULL;
    return stream && stream->via == via && stream->session == session ? stream : NULL;
}

static void forget_events(struct hf_reply_stream *stream)
{
    hf_share_give(&front_of(stream)->kept_bytes, &stream->session->party->kept,
                  stream->events.bytes);
    hf_events_clear(&stream->events);
}

static void forget_array(struct hf_reply_stream *stream)
{
    if (!stream->array)
        return;
    front_of(stream)->array_bytes -= hf_buf_len(stream->array);
    hf_buf_done(stream->array);
    hf_free(stream->array);
    stream->array = NULL;
}

void hf_reply_stream_free(struct hf_reply_stream *stream)
{
    struct hf_http_session *session = stream->session;
    forget_events(stream);
    forget_array(stream);
    hf_unlink(&stream->link);
    hf_unlink(&stream->due);
    if (stream == session->standalone) {
        session->standalone = NULL;
        hf_free(stream);
        return;
    }
    session->kept_count -= stream->is_finished;
    session->spare_count -= stream->is_spare;
    stream->via = 0;
    hf_list_push_front(&session->front->free_streams, &stream->link);
}

/* ---- keeping what was said ---- */

static struct hf_reply_stream *oldest(const struct hf_link *list)
{
    return HF_LIST_FIRST(list, struct hf_reply_stream, link);
}

/* A session over its share loses its own finished streams first. Over the bound of all sessions,
 * the oldest finished streams of any session go. If that is not enough, this stream can no longer
 * be resumed. */
static void make_room(struct hf_reply_stream *stream)
{
    struct hf_http_front *front = front_of(stream);
    struct hf_http_session *session = stream->session;
    const struct hf_bound *all = &front->kept_bytes;
    while (hf_share_is_over(all, &session->party->kept) && !hf_list_empty(&session->kept))
        hf_reply_stream_free(oldest(&session->kept));
    bool fits = !hf_share_is_over(all, &session->party->kept);
    while (fits && hf_share_is_over(all, NULL) && !hf_list_empty(&front->kept))
        hf_reply_stream_free(HF_ITEM(front->kept.next, struct hf_reply_stream, due));
    fits = fits && !hf_share_is_over(all, NULL);
    if (fits)
        return;
    forget_events(stream);
    stream->is_resumable = false;
}

static void keep(struct hf_reply_stream *stream)
{
    struct hf_http_session *session = stream->session;
    hf_unlink(&stream->link);
    hf_list_push(&session->kept, &stream->link);
    if (++session->kept_count > HF_KEPT_MAX)
        hf_reply_stream_free(oldest(&session->kept));
    wait_in(&front_of(stream)->kept, stream, HF_KEPT_MS);
}

/* ---- sending ---- */

static void session_header(const struct hf_reply_stream *stream, char *room, size_t size)
{
    char id[HF_SESSION_ID_TEXT + 1];
    hf_session_id_text(&stream->session->entry, id);
    (void)snprintf(room, size, "Mcp-Session-Id: %s\r\n", id);
}

static void write_text(struct hf_reply_stream *stream, struct hf_span text)
{
    hf_exchange_write(stream->exchange, &text, 1);
}

/* Clients of 2025-11-25 first get an event without data, whose id they can resume with; older
 * versions do not know such events. */
void hf_reply_stream_begin(struct hf_reply_stream *stream)
{
    char headers[100], priming[HF_PRIMING_SIZE];
    if (stream->is_initialize)
        session_header(stream, headers, sizeof headers);
    hf_http_begin_events(stream->exchange, stream->is_initialize ? headers : NULL);
    stream->is_streaming = true;
    wait_in(&front_of(stream)->open, stream, HF_PING_MS);
    if (!stream->session->is_sse && hf_http_session_speaks(stream->session, "2025-11-25")) {
        write_text(stream, hf_event_prime(priming, stream->via, stream->delivered));
        stream->is_resumable = true;
    }
}

/* A new event pushes old ones of its stream out, so the stream may keep less than before. */
static void count_kept(const struct hf_reply_stream *stream, size_t before)
{
    struct hf_bound *all = &front_of(stream)->kept_bytes;
    struct hf_share *share = &stream->session->party->kept;
    hf_share_take(all, share, stream->events.bytes);
    hf_share_give(all, share, before);
}

static void send_event(struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    const size_t before = stream->events.bytes;
    if (stream->exchange && !stream->is_streaming)
        hf_reply_stream_begin(stream);
    const struct hf_span event =
        hf_events_add(&stream->events, stream->via, effect->pieces, effect->piece_count);
    if (stream->exchange) {
        write_text(stream, event);
        stream->is_resumable = true;
        stream->delivered = stream->events.last;
    }
    count_kept(stream, before);
    make_room(stream);
}

void hf_reply_stream_send_without_id(struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    if (!stream->exchange)
        return;
    struct hf_event *event = hf_event_new(effect->pieces, effect->piece_count);
    write_text(stream, hf_event_span(event));
    hf_free(event);
}

void hf_reply_stream_send(struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    struct hf_oversized room;
    if (stream->session->is_sse)
        hf_reply_stream_send_without_id(
            stream, effect->is_answer ? hf_reply_stream_fit(stream, effect, &room) : effect);
    else if (stream->via == 0 ||
             (stream->takes_events && (stream->exchange || stream->is_resumable)))
        send_event(stream, effect);
    else /* the client cannot read this stream, now or later */
        send_event(hf_reply_stream_standalone(stream->session), effect);
    review_if_asked(stream->session);
}

void hf_reply_stream_end_exchange(struct hf_reply_stream *stream)
{
    struct hf_exchange *exchange = stream->exchange;
    if (!exchange)
        return;
    if (!stream->is_streaming && stream->takes_events)
        hf_http_begin_events(exchange, NULL);
    if (stream->is_streaming || stream->takes_events)
        hf_exchange_end(exchange);
    else
        hf_http_answer(exchange, 202, NULL, NULL, NULL, 0);
    stream->exchange = NULL;
    stream->is_streaming = false;
    hf_unlink(&stream->due);
}

static void finish(struct hf_reply_stream *stream)
{
    hf_reply_stream_end_exchange(stream);
    if (!stream->is_resumable) {
        hf_reply_stream_free(stream);
        return;
    }
    stream->is_finished = true;
    keep(stream);
}

/* ---- answers ---- */

/* A malformed message is refused with status 400. Every other answer, our own errors included, has
 * status 200: another status invites proxies to send the request again. */
static int status_of(const struct hf_reply_stream *stream, int error_code)
{
    const bool is_at_once = front_of(stream)->taking == stream->via;
    return is_at_once && (error_code == -32700 || error_code == -32600) ? 400 : 200;
}

static void answer_json(struct hf_reply_stream *stream, int status, const struct hf_span *pieces,
                        unsigned piece_count)
{
    char headers[100];
    const bool gives_id = stream->is_initialize && hf_session_version(stream->session->core);
    if (gives_id)
        session_header(stream, headers, sizeof headers);
    hf_http_answer(stream->exchange, status, gives_id ? headers : NULL, "application/json", pieces,
                   piece_count);
    stream->exchange = NULL;
}

static void collect(struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    if (!stream->array) {
        stream->array = hf_new(struct hf_buf);
        hf_buf_init(stream->array, SIZE_MAX / 4); /* hf_reply_stream_fit is the bound */
    }
    const size_t before = hf_buf_len(stream->array);
    hf_buf_add(stream->array, before ? HF_SPAN(",") : HF_SPAN("["));
    for (unsigned i = 0; i < effect->piece_count; i++)
        hf_buf_add(stream->array, effect->pieces[i]);
    front_of(stream)->array_bytes += hf_buf_len(stream->array) - before;
    if (stream->owed > 0 || !stream->exchange)
        return;
    const struct hf_span pieces[] = { hf_buf_span(stream->array), HF_SPAN("]") };
    answer_json(stream, 200, pieces, 2);
    forget_array(stream);
}

/* False: the initialize failed, and its session has to be closed. */
static bool give(struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    const bool is_alone = stream->total == 1 && !stream->is_streaming;
    if (stream->exchange && stream->takes_json && is_alone)
        answer_json(stream, status_of(stream, effect->error_code), effect->pieces,
                    effect->piece_count);
    else if (!stream->takes_events && stream->exchange)
        collect(stream, effect);
    else if (stream->exchange || stream->is_resumable)
        send_event(stream, effect);
    return !stream->is_initialize || effect->error_code == 0;
}

void hf_reply_stream_answer(struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    struct hf_http_session *session = stream->session;
    assert(stream->owed > 0);
    stream->owed--;
    struct hf_oversized room;
    const bool stays =
        effect->piece_count == 0 || give(stream, hf_reply_stream_fit(stream, effect, &room));
    if (stream->owed == 0)
        finish(stream);
    if (stays)
        review_if_asked(session);
    else
        hf_http_session_close(session);
}

/* ---- clients that leave and come back ---- */

/* Moves an exchange, whose event stream is open, from one reply stream to another. */
static void pass_on(struct hf_reply_stream *from, struct hf_reply_stream *to)
{
    to->exchange = from->exchange;
    to->is_streaming = true;
    hf_exchange_set_context(to->exchange, &to->holder);
    from->exchange = NULL;
    from->is_streaming = false;
    hf_unlink(&from->due);
    wait_in(&front_of(to)->open, to, HF_PING_MS);
}

/* Messages that belong to no request go into the newest GET alone: a client whose connection was
 * lost without our knowing opens another. The older GET stays open as a spare, and is used again
 * when the newer one ends. */
static void make_spare(struct hf_reply_stream *standalone)
{
    struct hf_http_session *session = standalone->session;
    struct hf_reply_stream *spare = hf_reply_stream_new(session, standalone->exchange);
    if (!spare) {
        hf_reply_stream_end_exchange(standalone);
        return;
    }
    spare->is_spare = true;
    session->spare_count++;
    pass_on(standalone, spare);
}

static void use_newest_spare(struct hf_reply_stream *standalone)
{
    struct hf_link *streams = &standalone->session->streams;
    for (struct hf_link *at = streams->prev; at != streams; at = at->prev) {
        struct hf_reply_stream *spare = HF_ITEM(at, struct hf_reply_stream, link);
        if (!spare->is_spare)
            continue;
        pass_on(spare, standalone);
        hf_reply_stream_free(spare);
        return;
    }
}

static void on_client_gone(struct hf_holder *holder)
{
    struct hf_reply_stream *stream = (struct hf_reply_stream *)(void *)holder;
    struct hf_http_session *session = stream->session;
    struct hf_shell *shell = session->front->shell;
    stream->exchange = NULL;
    stream->is_streaming = false;
    hf_unlink(&stream->due);
    hf_http_session_touch(session);
    if (session->is_sse || stream->is_initialize) /* the client cannot use the session any more */
        hf_http_session_close(session);
    else if (session->is_modern)
        hf_modern_gone(stream);
    else if (stream->is_spare)
        hf_reply_stream_free(stream);
    else if (stream->via == 0)
        use_newest_spare(stream);
    else
        hf_session_via_gone(session->core, stream->via, hf_shell_time(session->front->shell));
    review_stream_state(session);
    hf_shell_pump(shell);
}

void hf_reply_stream_attach(struct hf_reply_stream *stream, struct hf_exchange *exchange,
                            uint64_t after)
{
    if (after > stream->events.last) /* no event of ours: treated as the last one */
        after = stream->events.last;
    const struct hf_event *event = hf_events_after(&stream->events, after);
    if (stream->is_finished && !event) { /* 204 tells an EventSource not to reconnect */
        hf_http_answer(exchange, 204, NULL, NULL, NULL, 0);
        return;
    }
    if (stream->exchange && stream->via == 0)
        make_spare(stream);
    else
        hf_reply_stream_end_exchange(stream); /* the client has come back on another connection */
    stream->exchange = exchange;
    stream->delivered = after;
    hf_exchange_set_context(exchange, &stream->holder);
    if (stream->is_finished) { /* it stays in front->kept until it expires */
        hf_http_begin_events(exchange, NULL);
    } else {
        hf_reply_stream_begin(stream);
    }
    stream->session->has_listened |= stream->via == 0;
    if (stream->via && !stream->is_finished)
        hf_session_via_back(stream->session->core, stream->via,
                            hf_shell_time(front_of(stream)->shell));
    review_stream_state(stream->session);
    for (; event; event = hf_events_after(&stream->events, event->number)) {
        write_text(stream, hf_event_span(event));
        stream->delivered = event->number;
    }
    if (!stream->is_finished)
        return;
    hf_exchange_end(exchange);
    stream->exchange = NULL;
}

void hf_reply_streams_end_gets(struct hf_http_session *session)
{
    struct hf_reply_stream *stream;
    HF_LIST_EACH_SAFE (stream, &session->streams, struct hf_reply_stream, link) {
        if (!stream->is_spare)
            continue;
        hf_reply_stream_end_exchange(stream);
        hf_reply_stream_free(stream);
    }
    if (session->standalone)
        hf_reply_stream_end_exchange(session->standalone);
}

/* ---- time ---- */

static void look_at(struct hf_reply_stream *stream)
{
    struct hf_http_front *front = front_of(stream);
    const bool is_quiet = stream->takes_events && !stream->is_streaming;
    if (stream->is_finished)
        hf_reply_stream_free(stream);
    else if (is_quiet && !stream->is_initialize &&
             hf_http_session_speaks(stream->session, "2025-11-25"))
        hf_reply_stream_begin(stream);
    else
        wait_in(&front->open, stream, HF_PING_MS);
}

static void ping(struct hf_reply_stream *stream)
{
    if (stream->takes_events && !stream->is_streaming)
        hf_reply_stream_begin(stream);
    if (stream->is_streaming)
        write_text(stream, HF_SPAN(": ping\n\n"));
    wait_in(&front_of(stream)->open, stream, HF_PING_MS);
}

static struct hf_reply_stream *first_due(const struct hf_link *list, uint64_t now_ms)
{
    struct hf_reply_stream *stream = HF_LIST_FIRST(list, struct hf_reply_stream, due);
    return stream && stream->due_ms <= now_ms ? stream : NULL;
}

/* The others are due in the next turn. */
static void look_at_some(struct hf_link *list, uint64_t now_ms,
                         void (*look)(struct hf_reply_stream *stream))
{
    struct hf_reply_stream *stream;
    for (int i = 0; i < LOOKS_A_TURN && (stream = first_due(list, now_ms)); i++)
        look(stream);
}

void hf_reply_streams_tick(struct hf_http_front *front, uint64_t now_ms)
{
    look_at_some(&front->quiet, now_ms, look_at);
    look_at_some(&front->open, now_ms, ping);
    look_at_some(&front->kept, now_ms, look_at);
}

uint64_t hf_reply_streams_next_ms(const struct hf_http_front *front)
{
    const struct hf_link *lists[] = { &front->quiet, &front->open, &front->kept };
    uint64_t next_ms = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct hf_reply_stream *stream = HF_LIST_FIRST(lists[i], struct hf_reply_stream, due);
        if (stream && (!next_ms || stream->due_ms < next_ms))
            next_ms = stream->due_ms;
    }
    return next_ms;
}
