/* stdio.c - see stdio.h. */
#include "front/stdio.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "io/channel.h"
#include "wire/jsonrpc.h"
#include "wire/line.h"

enum {
    READ_SIZE = 64 * 1024,
    PAUSE_AT = 1024 * 1024, /* bytes of unwritten answers at which reading pauses */
    KEEP = 64 * 1024,
    LAST_READS = 16,
    PATIENCE_MS = 10000, /* how long a client may take to ask something */
};

struct hf_stdio_front {
    struct hf_flush flush;
    struct hf_sink sink;
    struct hf_shell *shell;
    struct hf_session *session; /* NULL: closed */
    struct hf_channel channel;
    struct hf_watch *in_watch, *out_watch;
    struct hf_lines lines;
    void (*on_finished)(void *context);
    void *context;
    bool is_at_end, is_finished;
    bool has_failed;  /* the client's own server cannot be started */
    bool is_greeted;  /* its initialize has a result: no failed start ends holdfast any more */
    bool is_patient;  /* waits for what would tell how it ends, until `patience` */
    bool is_terminal; /* whoever sits there reads the log, and types no requests */
    struct hf_alarm patience;
    struct hf_origin origin; /* of every message of this client */
    char who[PATH_MAX + 32];
};

/* Tells clients apart by directory and parent process: a client that restarts us has the same. */
static void find_who(struct hf_stdio_front *front)
{
    char cwd[PATH_MAX];
    (void)snprintf(front->who, sizeof front->who, "%ld %s", (long)getppid(),
                   getcwd(cwd, sizeof cwd) ? cwd : "");
    front->origin.who = hf_span_of(front->who);
}

static void finish(struct hf_stdio_front *front)
{
    if (front->is_finished)
        return;
    front->is_finished = true;
    hf_watch_set(front->in_watch, 0);
    front->on_finished(front->context);
}

/* The client no longer reads: nothing more can be sent to it. */
static void lose_client(struct hf_stdio_front *front)
{
    if (!front->session)
        return;
    hf_session_close(front->session, hf_shell_time(front->shell));
    front->session = NULL;
    hf_buf_clear(&front->channel.out);
    hf_watch_set(front->out_watch, 0);
    hf_shell_pump(front->shell);
    finish(front);
}

/* ---- out ---- */

static void write_waiting(struct hf_stdio_front *front)
{
    const enum hf_io result = hf_channel_flush(&front->channel, NULL);
    if (result == HF_IO_AGAIN) {
        hf_watch_set(front->out_watch, HF_WRITABLE | HF_HUNG_UP);
        return;
    }
    if (result != HF_IO_DONE) {
        lose_client(front);
        return;
    }
    hf_buf_shrink(&front->channel.out, KEEP);
    hf_watch_set(front->out_watch, HF_HUNG_UP);
    if (!front->is_at_end && !front->is_finished)
        hf_watch_set(front->in_watch, HF_READABLE);
    hf_stdio_front_review(front);
}

static void flush_front(struct hf_flush *flush)
{
    write_waiting((struct hf_stdio_front *)(void *)flush);
}

static void on_writable(void *context, unsigned events)
{
    if (events & HF_HUNG_UP)
        lose_client(context);
    else
        write_waiting(context);
}

static bool is_one_line(const struct hf_span *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (memchr(pieces[i].p, '\n', pieces[i].n) || memchr(pieces[i].p, '\r', pieces[i].n))
            return false;
    return true;
}

static void send_message(struct hf_sink *sink, const struct hf_effect *effect)
{
    struct hf_stdio_front *front = HF_ITEM(sink, struct hf_stdio_front, sink);
    const struct hf_span *pieces = effect->pieces;
    const unsigned count = effect->piece_count;
    size_t length = 0;
    if (!front->session)
        return;
    for (unsigned i = 0; i < count; i++)
        length += pieces[i].n;
    const bool goes_at_once = length >= HF_CHANNEL_SEND_AT && is_one_line(pieces, count);
    const size_t copied =
        length - (goes_at_once ? hf_channel_send(&front->channel, pieces, count) : 0);
    struct hf_buf *out = &front->channel.out;
    const bool fits = hf_buf_reserve(out, copied + 1) &&
                      hf_channel_add_from(&front->channel, pieces, count, length - copied);
    if (fits && copied) /* messages of HTTP servers may contain newlines */
        hf_msg_to_one_line(out->p + out->end - copied, copied);
    if (!fits || !hf_channel_add(&front->channel, HF_SPAN("\n"))) {
        lose_client(front); /* maxBufferedBytes is reached */
        return;
    }
    if (hf_buf_len(&front->channel.out) > PAUSE_AT)
        hf_watch_set(front->in_watch, 0);
    hf_shell_flush_later(front->shell, &front->flush);
}

/* ---- in ---- */

static void take_lines(struct hf_stdio_front *front)
{
    for (struct hf_span line; front->session;) {
        const struct hf_now now = hf_shell_time(front->shell);
        switch (front->is_at_end ? hf_lines_last(&front->lines, &line)
                                 : hf_lines_next(&front->lines, &line)) {
        case HF_LINE_NONE: return;
        case HF_LINE_WHOLE:
            (void)hf_session_message_from(front->session, line, &front->origin, now);
            break;
        case HF_LINE_OVER:
            hf_session_message_oversized(front->session, hf_lines_over(&front->lines), now);
            break;
        }
        hf_shell_pump(front->shell);
    }
}

static void end_input(struct hf_stdio_front *front)
{
    front->is_at_end = true;
    hf_watch_set(front->in_watch, 0);
    take_lines(front);
    if (front->session)
        hf_session_finish(front->session, hf_shell_time(front->shell));
    hf_shell_pump(front->shell);
}

/* False: nothing was there to read. */
static bool read_some(struct hf_stdio_front *front)
{
    size_t room, got = 0;
    char *into = hf_lines_room(&front->lines, READ_SIZE, &room);
    const enum hf_io result = hf_channel_read(&front->channel, into, room, &got);
    if (result == HF_IO_DONE) {
        hf_lines_added(&front->lines, got);
        take_lines(front);
    } else if (result != HF_IO_AGAIN) {
        end_input(front);
    }
    return result != HF_IO_AGAIN;
}

static void on_readable(void *context, unsigned events)
{
    struct hf_stdio_front *front = context;
    (void)events;
    if (read_some(front) && front->is_at_end)
        hf_stdio_front_review(front);
}

/* ---- a server that cannot be started ---- */

static void on_patience_over(void *context)
{
    struct hf_stdio_front *front = context;
    front->is_patient = false;
    hf_stdio_front_review(front);
}

static void be_patient(struct hf_stdio_front *front)
{
    if (!front->patience.timer.at_ms)
        hf_alarm_set(&front->patience, hf_shell_now(front->shell) + PATIENCE_MS);
}

/* The client is told in the answer to its initialize; what else it has written by then is answered
 * too, and nothing is read after that. */
static void review_failure(struct hf_stdio_front *front)
{
    if (front->is_greeted)
        return;
    front->has_failed |= hf_session_cannot_be_served(front->session);
    front->is_greeted = !front->has_failed && hf_session_version(front->session);
    if (!front->has_failed || front->is_at_end)
        return;
    if (!hf_session_was_turned_away(front->session) && front->is_patient && !front->is_terminal) {
        be_patient(front);
        return;
    }
    for (int i = 0; i < LAST_READS && front->session && !front->is_at_end; i++)
        if (!read_some(front))
            break;
    if (front->session && !front->is_at_end)
        end_input(front);
}

bool hf_stdio_front_has_failed(const struct hf_stdio_front *front)
{
    return front->has_failed;
}

bool hf_stdio_front_is_flushed(const struct hf_stdio_front *front)
{
    return !front->session || hf_buf_len(&front->channel.out) == 0;
}

void hf_stdio_front_review(struct hf_stdio_front *front)
{
    if (front->is_finished || !front->session)
        return;
    review_failure(front);
    if (!front->session || !front->is_at_end || !hf_session_is_settled(front->session) ||
        hf_buf_len(&front->channel.out) > 0)
        return;
    if (front->is_patient && hf_session_awaits_start(front->session))
        be_patient(front); /* whoever asked for nothing still learns that nothing could start */
    else
        finish(front);
}

/* ---- lifetime ---- */

struct hf_stdio_front *hf_stdio_front_new(struct hf_shell *shell, struct hf_server *only, int in_fd,
                                          int out_fd, const struct hf_limits *limits,
                                          void (*on_finished)(void *context), void *context,
                                          struct hf_err *err)
{
    struct hf_stream *in = hf_stream_open_read(in_fd, err);
    struct hf_stream *out = in ? hf_stream_open_write(out_fd, err) : NULL;
    if (!out) {
        hf_stream_close(in);
        return NULL;
    }
    struct hf_stdio_front *front = hf_new(struct hf_stdio_front);
    front->shell = shell;
    hf_channel_open(&front->channel, in, out, NULL, limits->max_buffered_bytes);
    front->on_finished = on_finished;
    front->context = context;
    front->flush.flush = flush_front;
    hf_link_init(&front->flush.link);
    hf_lines_init(&front->lines, limits->max_message_bytes);
    front->sink.send = send_message;
    find_who(front);
    hf_alarm_init(&front->patience, shell->loop, on_patience_over, front);
    front->is_patient = true;
    front->is_terminal = isatty(in_fd) == 1;
    front->session = hf_session_open(shell->engine, only, &front->sink, hf_shell_time(shell));
    front->in_watch = hf_watch_new(shell->loop, hf_stream_fd(in), on_readable, front);
    front->out_watch = hf_watch_new(shell->loop, hf_stream_fd(out), on_writable, front);
    hf_watch_set(front->in_watch, HF_READABLE);
    hf_watch_set(front->out_watch, HF_HUNG_UP);
    return front;
}

void hf_stdio_front_free(struct hf_stdio_front *front)
{
    if (!front)
        return;
    if (front->session)
        hf_session_close(front->session, hf_shell_time(front->shell));
    hf_unlink(&front->flush.link);
    hf_alarm_set(&front->patience, 0);
    hf_watch_free(front->in_watch);
    hf_watch_free(front->out_watch);
    hf_channel_close(&front->channel);
    hf_lines_done(&front->lines);
    hf_free(front);
}
