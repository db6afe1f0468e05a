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

static void on_readable(void *context, unsigned events)
{
    struct hf_stdio_front *front = context;
    size_t room, got = 0;
    (void)events;
    char *into = hf_lines_room(&front->lines, READ_SIZE, &room);
    const enum hf_io result = hf_channel_read(&front->channel, into, room, &got);
    if (result == HF_IO_AGAIN)
        return;
    if (result == HF_IO_DONE) {
        hf_lines_added(&front->lines, got);
        take_lines(front);
        return;
    }
    front->is_at_end = true;
    hf_watch_set(front->in_watch, 0);
    take_lines(front);
    if (front->session)
        hf_session_finish(front->session, hf_shell_time(front->shell));
    hf_shell_pump(front->shell);
    hf_stdio_front_review(front);
}

bool hf_stdio_front_is_flushed(const struct hf_stdio_front *front)
{
    return !front->session || hf_buf_len(&front->channel.out) == 0;
}

void hf_stdio_front_review(struct hf_stdio_front *front)
{
    if (front->session && front->is_at_end && hf_session_is_settled(front->session) &&
        hf_buf_len(&front->channel.out) == 0)
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
    hf_watch_free(front->in_watch);
    hf_watch_free(front->out_watch);
    hf_channel_close(&front->channel);
    hf_lines_done(&front->lines);
    hf_free(front);
}
