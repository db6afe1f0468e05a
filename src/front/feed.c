/* feed.c - streams of messages to clients: one JSON body where that is all, events otherwise, and
 * what a client that was cut off can come back for. See http_parts.h. */
#include <assert.h>
#include <stdio.h>
#include "front/modern.h"
#include "wire/json.h"

enum { SMALL = 16 * 1024 }; /* an answer of this size costs nobody anything */

static struct hf_http_front *front_of(const struct hf_feed *feed)
{
    return feed->session->front;
}

static uint64_t now_of(const struct hf_feed *feed)
{
    return hf_shell_now(front_of(feed)->shell);
}

/* ---- whether its client hears what servers ask ---- */

static enum hf_stream_state hearing_of(const struct hf_http_session *session)
{
    bool may_again = session->has_listened;
    const struct hf_feed *feed;
    if (session->is_sse || session->is_modern ||
        (session->standalone && session->standalone->exchange))
        return HF_STREAM_OPEN;
    HF_LIST_EACH (feed, &session->feeds, struct hf_feed, link) {
        if (feed->takes_events && feed->exchange)
            return HF_STREAM_OPEN;
        may_again |= feed->is_resumable;
    }
    return may_again ? HF_STREAM_MAY_REOPEN : HF_STREAM_NONE;
}

static void review_hearing(struct hf_http_session *session)
{
    if (session->core)
        hf_session_set_stream(session->core, hearing_of(session),
                              hf_shell_time(session->front->shell));
}

/* Something was said, which happens often: only one that is being asked is looked at. */
static void review_asked(struct hf_http_session *session)
{
    if (session->core && hf_session_is_asked(session->core))
        review_hearing(session);
}

/* ---- coming and going ---- */

static struct hf_feed *more_feeds(struct hf_http_front *front)
{
    if (front->feed_count == front->feed_cap) {
        if (front->feed_cap == HF_FEEDS_MAX)
            return NULL;
        front->feed_cap = front->feed_cap ? 2 * front->feed_cap : 64;
        front->feeds = hf_realloc(front->feeds, front->feed_cap * sizeof *front->feeds);
    }
    struct hf_feed *feed = hf_new(struct hf_feed);
    feed->index = front->feed_count;
    front->feeds[front->feed_count++] = feed;
    return feed;
}

static void on_feed_gone(struct hf_holder *holder);

static void init(struct hf_feed *feed, struct hf_http_session *session, uint64_t via)
{
    *feed = (struct hf_feed) {
        .holder.on_gone = on_feed_gone, .session = session, .via = via, .index = feed->index
    };
    hf_link_init(&feed->link);
    hf_link_init(&feed->due);
    hf_events_init(&feed->events);
}

static void wait_in(struct hf_link *list, struct hf_feed *feed, uint32_t ms)
{
    feed->due_ms = now_of(feed) + ms;
    hf_unlink(&feed->due);
    hf_list_push(list, &feed->due);
    hf_http_wake(front_of(feed), feed->due_ms);
}

struct hf_feed *hf_feed_new(struct hf_http_session *session, struct hf_exchange *exchange)
{
    struct hf_http_front *front = session->front;
    struct hf_feed *feed = HF_LIST_FIRST(&front->free_feeds, struct hf_feed, link);
    if (feed)
        hf_unlink(&feed->link);
    else if (!(feed = more_feeds(front)))
        return NULL;
    init(feed, session, ++front->feed_serial << HF_FEED_BITS | feed->index);
    feed->exchange = exchange;
    hf_exchange_set_context(exchange, &feed->holder);
    hf_list_push(&session->feeds, &feed->link);
    wait_in(&front->quiet, feed, HF_PRIME_MS);
    return feed;
}

struct hf_feed *hf_feed_standalone(struct hf_http_session *session)
{
    if (!session->standalone) {
        session->standalone = hf_new(struct hf_feed);
        init(session->standalone, session, 0);
        session->standalone->takes_events = true;
    }
    return session->standalone;
}

struct hf_feed *hf_feed_find(const struct hf_http_session *session, uint64_t via)
{
    const struct hf_http_front *front = session->front;
    const uint64_t index = via & (HF_FEEDS_MAX - 1);
    struct hf_feed *feed = index < front->feed_count ? front->feeds[index] : NULL;
    return feed && feed->via == via && feed->session == session ? feed : NULL;
}

static void forget_events(struct hf_feed *feed)
{
    hf_share_give(&front_of(feed)->kept_bytes, &feed->session->party->kept, feed->events.bytes);
    hf_events_clear(&feed->events);
}

static void forget_array(struct hf_feed *feed)
{
    if (!feed->array)
        return;
    front_of(feed)->array_bytes -= hf_buf_len(feed->array);
    hf_buf_done(feed->array);
    hf_free(feed->array);
    feed->array = NULL;
}

void hf_feed_free(struct hf_feed *feed)
{
    struct hf_http_session *session = feed->session;
    forget_events(feed);
    forget_array(feed);
    hf_unlink(&feed->link);
    hf_unlink(&feed->due);
    if (feed == session->standalone) {
        session->standalone = NULL;
        hf_free(feed);
        return;
    }
    session->kept_count -= feed->is_over;
    session->spare_count -= feed->is_spare;
    feed->via = 0;
    hf_list_push_front(&session->front->free_feeds, &feed->link);
}

/* ---- keeping what was said ---- */

static struct hf_feed *oldest(const struct hf_link *list)
{
    return HF_LIST_FIRST(list, struct hf_feed, link);
}

/* Over its share a session pays for itself: its finished streams go first. Over the bound of all,
 * the oldest of anybody's do. If nothing else is left, this stream can no longer be resumed. */
static void make_room(struct hf_feed *feed)
{
    struct hf_http_front *front = front_of(feed);
    struct hf_http_session *session = feed->session;
    const struct hf_bound *all = &front->kept_bytes;
    while (hf_share_is_over(all, &session->party->kept) && !hf_list_empty(&session->kept))
        hf_feed_free(oldest(&session->kept));
    bool fits = !hf_share_is_over(all, &session->party->kept);
    while (fits && hf_share_is_over(all, NULL) && !hf_list_empty(&front->kept))
        hf_feed_free(HF_ITEM(front->kept.next, struct hf_feed, due));
    fits = fits && !hf_share_is_over(all, NULL);
    if (fits)
        return;
    forget_events(feed);
    feed->is_resumable = false;
}

static void keep(struct hf_feed *feed)
{
    struct hf_http_session *session = feed->session;
    hf_unlink(&feed->link);
    hf_list_push(&session->kept, &feed->link);
    if (++session->kept_count > HF_KEPT_MAX)
        hf_feed_free(oldest(&session->kept));
    wait_in(&front_of(feed)->kept, feed, HF_KEPT_MS);
}

/* ---- saying ---- */

static void session_header(const struct hf_feed *feed, char *room, size_t size)
{
    char id[HF_SESSION_ID_TEXT + 1];
    hf_session_id_text(&feed->session->entry, id);
    (void)snprintf(room, size, "Mcp-Session-Id: %s\r\n", id);
}

static void write_text(struct hf_feed *feed, struct hf_span text)
{
    hf_exchange_write(feed->exchange, &text, 1);
}

/* Clients of 2025-11-25 get an id to come back with before anything else; to older ones an event
 * without data would be news. */
void hf_feed_begin(struct hf_feed *feed)
{
    char headers[100], priming[HF_PRIMING_SIZE];
    if (feed->is_hello)
        session_header(feed, headers, sizeof headers);
    hf_http_begin_events(feed->exchange, feed->is_hello ? headers : NULL);
    feed->is_streaming = true;
    wait_in(&front_of(feed)->open, feed, HF_PING_MS);
    if (!feed->session->is_sse && hf_http_session_speaks(feed->session, "2025-11-25")) {
        write_text(feed, hf_event_prime(priming, feed->via, feed->delivered));
        feed->is_resumable = true;
    }
}

/* A new event pushes old ones of its stream out: there may be less than before. */
static void count_kept(const struct hf_feed *feed, size_t before)
{
    struct hf_bound *all = &front_of(feed)->kept_bytes;
    struct hf_share *share = &feed->session->party->kept;
    hf_share_take(all, share, feed->events.bytes);
    hf_share_give(all, share, before);
}

static void say_event(struct hf_feed *feed, const struct hf_effect *effect)
{
    const size_t before = feed->events.bytes;
    if (feed->exchange && !feed->is_streaming)
        hf_feed_begin(feed);
    const struct hf_span event =
        hf_events_add(&feed->events, feed->via, effect->pieces, effect->piece_count);
    if (feed->exchange) {
        write_text(feed, event);
        feed->is_resumable = true;
        feed->delivered = feed->events.last;
    }
    count_kept(feed, before);
    make_room(feed);
}

/* Whether it can be given to a client that has yet to read what it was given before. Of a batch,
 * the others are not to be pushed out by one. */
static bool fits(const struct hf_feed *feed, const struct hf_effect *effect)
{
    const size_t others = feed->array ? feed->owed * (size_t)HF_TRUTH_MAX : 0;
    size_t length = HF_TRUTH_MAX; /* what goes around it */
    for (unsigned i = 0; i < effect->piece_count; i++)
        length += effect->pieces[i].n;
    const size_t room = hf_exchange_room(feed->exchange), taken = front_of(feed)->array_bytes;
    return length <= HF_TRUTH_MAX + SMALL || length + others + taken <= room;
}

static void say_instead(const struct hf_effect *answer, struct hf_truth *room)
{
    const struct hf_error_facts facts = {
        .sentence = HF_SPAN("The request was answered, but the answer does not fit into what "
                            "holdfast may hold for its clients (maxBufferedBytes) and was "
                            "dropped. If it was a call it has run: check its effect before "
                            "sending it again."),
        .reason = HF_SPAN("max_buffered_bytes"),
        .evidence = HF_EVIDENCE_DISPATCHED,
        .retry_after_ms = -1,
    };
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    for (unsigned i = 0; i < answer->piece_count; i++)
        hf_json_skim_feed(&skim, answer->pieces[i]);
    const struct hf_span id = hf_json_skim_id(&skim);
    struct hf_buf text;
    hf_buf_init(&text, HF_TRUTH_MAX);
    hf_buf_add_str(&text, "{\"jsonrpc\":\"2.0\",\"id\":");
    hf_buf_add(&text, id.n ? id : HF_SPAN("null"));
    hf_error_write(&text, HF_ERROR_RESULT_TOO_LARGE, &facts, answer->failure_form);
    room->effect = *answer;
    room->effect.pieces[0] = (struct hf_span) { room->text, hf_buf_len(&text) };
    room->effect.piece_count = 1;
    room->effect.error_code =
        answer->failure_form == HF_AS_ERROR ? hf_error_code(HF_ERROR_RESULT_TOO_LARGE) : 0;
    memcpy(room->text, text.p, hf_buf_len(&text));
    hf_buf_done(&text);
}

const struct hf_effect *hf_feed_fit(const struct hf_feed *feed, const struct hf_effect *answer,
                                    struct hf_truth *room)
{
    if (!feed->exchange || fits(feed, answer))
        return answer;
    say_instead(answer, room);
    return &room->effect;
}

void hf_feed_say_plainly(struct hf_feed *feed, const struct hf_effect *effect)
{
    if (!feed->exchange)
        return;
    struct hf_event *event = hf_event_new(effect->pieces, effect->piece_count);
    write_text(feed, hf_event_span(event));
    hf_free(event);
}

void hf_feed_say(struct hf_feed *feed, const struct hf_effect *effect)
{
    struct hf_truth room;
    if (feed->session->is_sse)
        hf_feed_say_plainly(feed, effect->is_answer ? hf_feed_fit(feed, effect, &room) : effect);
    else if (feed->via == 0 || (feed->takes_events && (feed->exchange || feed->is_resumable)))
        say_event(feed, effect);
    else /* where this one would be read, nobody can read it */
        say_event(hf_feed_standalone(feed->session), effect);
    review_asked(feed->session);
}

void hf_feed_end_exchange(struct hf_feed *feed)
{
    struct hf_exchange *exchange = feed->exchange;
    if (!exchange)
        return;
    if (!feed->is_streaming && feed->takes_events)
        hf_http_begin_events(exchange, NULL);
    if (feed->is_streaming || feed->takes_events)
        hf_exchange_end(exchange);
    else
        hf_http_answer(exchange, 202, NULL, NULL, NULL, 0);
    feed->exchange = NULL;
    feed->is_streaming = false;
    hf_unlink(&feed->due);
}

static void be_over(struct hf_feed *feed)
{
    hf_feed_end_exchange(feed);
    if (!feed->is_resumable) {
        hf_feed_free(feed);
        return;
    }
    feed->is_over = true;
    keep(feed);
}

/* ---- answers ---- */

/* What is wrong with the message itself is said with a status; everything else, our own errors
 * included, travels with 200: another status invites somebody in between to send it again. */
static int status_of(const struct hf_feed *feed, int error_code)
{
    const bool is_at_once = front_of(feed)->taking == feed->via;
    return is_at_once && (error_code == -32700 || error_code == -32600) ? 400 : 200;
}

static void answer_json(struct hf_feed *feed, int status, const struct hf_span *pieces,
                        unsigned piece_count)
{
    char headers[100];
    const bool gives_id = feed->is_hello && hf_session_version(feed->session->core);
    if (gives_id)
        session_header(feed, headers, sizeof headers);
    hf_http_answer(feed->exchange, status, gives_id ? headers : NULL, "application/json", pieces,
                   piece_count);
    feed->exchange = NULL;
}

static void collect(struct hf_feed *feed, const struct hf_effect *effect)
{
    if (!feed->array) {
        feed->array = hf_new(struct hf_buf);
        hf_buf_init(feed->array, SIZE_MAX / 4); /* what goes in was measured */
    }
    const size_t before = hf_buf_len(feed->array);
    hf_buf_add(feed->array, before ? HF_SPAN(",") : HF_SPAN("["));
    for (unsigned i = 0; i < effect->piece_count; i++)
        hf_buf_add(feed->array, effect->pieces[i]);
    front_of(feed)->array_bytes += hf_buf_len(feed->array) - before;
    if (feed->owed > 0 || !feed->exchange)
        return;
    const struct hf_span pieces[] = { hf_buf_span(feed->array), HF_SPAN("]") };
    answer_json(feed, 200, pieces, 2);
    forget_array(feed);
}

/* False: the session goes with it. */
static bool give(struct hf_feed *feed, const struct hf_effect *effect)
{
    const bool is_alone = feed->total == 1 && !feed->is_streaming;
    if (feed->exchange && feed->takes_json && is_alone)
        answer_json(feed, status_of(feed, effect->error_code), effect->pieces, effect->piece_count);
    else if (!feed->takes_events && feed->exchange)
        collect(feed, effect);
    else if (feed->exchange || feed->is_resumable)
        say_event(feed, effect);
    return !feed->is_hello || effect->error_code == 0;
}

void hf_feed_answer(struct hf_feed *feed, const struct hf_effect *effect)
{
    struct hf_http_session *session = feed->session;
    assert(feed->owed > 0);
    feed->owed--;
    struct hf_truth room;
    const bool stays = effect->piece_count == 0 || give(feed, hf_feed_fit(feed, effect, &room));
    if (feed->owed == 0)
        be_over(feed);
    if (stays)
        review_asked(session);
    else
        hf_http_session_close(session);
}

/* ---- clients that leave and come back ---- */

/* Hands an exchange with its open stream from one feed to another. */
static void pass_on(struct hf_feed *from, struct hf_feed *to)
{
    to->exchange = from->exchange;
    to->is_streaming = true;
    hf_exchange_set_context(to->exchange, &to->holder);
    from->exchange = NULL;
    from->is_streaming = false;
    hf_unlink(&from->due);
    wait_in(&front_of(to)->open, to, HF_PING_MS);
}

/* What belongs to no request goes into the newest GET alone: a client that lost one without our
 * knowing opens another. The one before it stays open, and is next when that one ends. */
static void make_spare(struct hf_feed *standalone)
{
    struct hf_http_session *session = standalone->session;
    struct hf_feed *spare = hf_feed_new(session, standalone->exchange);
    if (!spare) {
        hf_feed_end_exchange(standalone);
        return;
    }
    spare->is_spare = true;
    session->spare_count++;
    pass_on(standalone, spare);
}

static void use_newest_spare(struct hf_feed *standalone)
{
    struct hf_link *feeds = &standalone->session->feeds;
    for (struct hf_link *at = feeds->prev; at != feeds; at = at->prev) {
        struct hf_feed *spare = HF_ITEM(at, struct hf_feed, link);
        if (!spare->is_spare)
            continue;
        pass_on(spare, standalone);
        hf_feed_free(spare);
        return;
    }
}

static void on_feed_gone(struct hf_holder *holder)
{
    struct hf_feed *feed = (struct hf_feed *)(void *)holder;
    struct hf_http_session *session = feed->session;
    struct hf_shell *shell = session->front->shell;
    feed->exchange = NULL;
    feed->is_streaming = false;
    hf_unlink(&feed->due);
    hf_http_session_touch(session);
    if (session->is_sse || feed->is_hello) /* nobody has its id, or it was all there was */
        hf_http_session_close(session);
    else if (session->is_modern)
        hf_modern_gone(feed);
    else if (feed->is_spare)
        hf_feed_free(feed);
    else if (feed->via == 0)
        use_newest_spare(feed);
    else
        hf_session_via_gone(session->core, feed->via, hf_shell_time(session->front->shell));
    review_hearing(session);
    hf_shell_pump(shell);
}

void hf_feed_attach(struct hf_feed *feed, struct hf_exchange *exchange, uint64_t after)
{
    if (after > feed->events.last) /* none of ours: as if he had them all */
        after = feed->events.last;
    const struct hf_event *event = hf_events_after(&feed->events, after);
    if (feed->is_over && !event) { /* to an EventSource: do not come back */
        hf_http_answer(exchange, 204, NULL, NULL, NULL, 0);
        return;
    }
    if (feed->exchange && feed->via == 0)
        make_spare(feed);
    else
        hf_feed_end_exchange(feed); /* the client has come back on another connection */
    feed->exchange = exchange;
    feed->delivered = after;
    hf_exchange_set_context(exchange, &feed->holder);
    if (feed->is_over) { /* it stays where it is: it is due for its end */
        hf_http_begin_events(exchange, NULL);
    } else {
        hf_feed_begin(feed);
    }
    feed->session->has_listened |= feed->via == 0;
    if (feed->via && !feed->is_over)
        hf_session_via_back(feed->session->core, feed->via, hf_shell_time(front_of(feed)->shell));
    review_hearing(feed->session);
    for (; event; event = hf_events_after(&feed->events, event->number)) {
        write_text(feed, hf_event_span(event));
        feed->delivered = event->number;
    }
    if (!feed->is_over)
        return;
    hf_exchange_end(exchange);
    feed->exchange = NULL;
}

void hf_feeds_end_listening(struct hf_http_session *session)
{
    struct hf_feed *feed;
    HF_LIST_EACH_SAFE (feed, &session->feeds, struct hf_feed, link) {
        if (!feed->is_spare)
            continue;
        hf_feed_end_exchange(feed);
        hf_feed_free(feed);
    }
    if (session->standalone)
        hf_feed_end_exchange(session->standalone);
}

/* ---- time ---- */

static void look_at(struct hf_feed *feed)
{
    struct hf_http_front *front = front_of(feed);
    const bool is_quiet = feed->takes_events && !feed->is_streaming;
    if (feed->is_over)
        hf_feed_free(feed);
    else if (is_quiet && !feed->is_hello && hf_http_session_speaks(feed->session, "2025-11-25"))
        hf_feed_begin(feed);
    else
        wait_in(&front->open, feed, HF_PING_MS);
}

static void ping(struct hf_feed *feed)
{
    if (feed->takes_events && !feed->is_streaming)
        hf_feed_begin(feed);
    if (feed->is_streaming)
        write_text(feed, HF_SPAN(": ping\n\n"));
    wait_in(&front_of(feed)->open, feed, HF_PING_MS);
}

static struct hf_feed *first_due(const struct hf_link *list, uint64_t now_ms)
{
    struct hf_feed *feed = HF_LIST_FIRST(list, struct hf_feed, due);
    return feed && feed->due_ms <= now_ms ? feed : NULL;
}

void hf_feeds_tick(struct hf_http_front *front, uint64_t now_ms)
{
    struct hf_feed *feed;
    while ((feed = first_due(&front->quiet, now_ms)))
        look_at(feed);
    while ((feed = first_due(&front->open, now_ms)))
        ping(feed);
    while ((feed = first_due(&front->kept, now_ms)))
        look_at(feed);
}

uint64_t hf_feeds_next_ms(const struct hf_http_front *front)
{
    const struct hf_link *lists[] = { &front->quiet, &front->open, &front->kept };
    uint64_t next_ms = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct hf_feed *feed = HF_LIST_FIRST(lists[i], struct hf_feed, due);
        if (feed && (!next_ms || feed->due_ms < next_ms))
            next_ms = feed->due_ms;
    }
    return next_ms;
}
