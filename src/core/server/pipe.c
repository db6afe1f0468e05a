/* pipe.c - a server that is our child: what is written into its stdin, and how it is ended.
 *
 * 1. Frames enter the pipe in the order of runtime->out, and the offset of each frame is what
 *    evidence is made of (evidence.h).
 * 2. Once the runtime is frozen not one byte more is written. */
#include "core/server/pipe.h"
#include <assert.h>
#include "core/call/call.h"
#include "core/call/frame.h"
#include "core/engine.h"
#include "core/machine/evidence.h"
#include "core/machine/tail.h"
#include "core/outbox.h"
#include "core/server/handshake.h"
#include "core/server/runtime.h"
#include "core/server/server_request.h"

/* ---- what is to be written ---- */

size_t hf_runtime_gather(const struct hf_runtime *runtime, struct hf_span *spans, size_t max)
{
    size_t count = 0;
    if (runtime->is_frozen)
        return 0;
    struct hf_frame *frame;
    HF_LIST_EACH (frame, &runtime->out, struct hf_frame, link) {
        const struct hf_span *piece = frame->pieces, *const end = piece + frame->count;
        size_t skip = frame->sent;
        for (; piece < end; piece++) {
            if (skip >= piece->n) {
                skip -= piece->n;
                continue;
            }
            if (count == max)
                return count;
            spans[count++] = hf_span_from(*piece, skip);
            skip = 0;
        }
    }
    return count;
}

static void want_write(struct hf_runtime *runtime)
{
    struct hf_engine *engine = runtime->server->engine;
    if (runtime->write_wanted || runtime->is_frozen || hf_list_empty(&runtime->out))
        return;
    runtime->write_wanted = true;
    hf_emit(engine, HF_DO_WRITE)->runtime = runtime;
    runtime->last_write_ms = engine->now_ms;
    hf_timer_set(&engine->timers, &runtime->stall,
                 engine->now_ms + runtime->server->settings.stall_ms);
}

static void send(struct hf_call *call)
{
    hf_list_push(&call->runtime->out, &call->frame.link);
    want_write(call->runtime);
}

static void tell(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message)
{
    (void)about; /* there is one pipe for everything */
    struct hf_notice *notice = hf_notice_new(message);
    notice->told = message.n + sizeof *notice;
    runtime->unsent_bytes += notice->told;
    hf_list_push(&runtime->out, &notice->frame.link);
    want_write(runtime);
}

/* ---- what was written ---- */

/* The first byte of a frame has entered the pipe, at offset `at`. */
static void begin_frame(struct hf_frame *frame, uint64_t at)
{
    struct hf_call *call = frame->call;
    if (!call || call->stage == HF_CALL_ENDED)
        return;
    assert(call->stage == HF_CALL_QUEUED && frame->length >= 2);
    hf_call_set_stage(call, HF_CALL_WRITING);
    call->waited_ms += call->engine->now_ms - call->dispatched_ms;
    call->extent = (struct hf_extent) { at, at + frame->length - 2, true };
    call->history.sends++;
}

static void finish_frame(struct hf_runtime *runtime, struct hf_frame *frame)
{
    hf_unlink(&frame->link);
    struct hf_call *call = frame->call;
    if (!call) {
        runtime->unsent_bytes -= HF_ITEM(frame, struct hf_notice, frame)->told;
        hf_free(frame);
    } else
        hf_call_written(call);
}

/* Usually the whole frame was written, and its place in the ring of `tail` is one piece. */
static void remember(struct hf_tail *tail, const struct hf_frame *frame, size_t n)
{
    size_t skip = frame->sent;
    char *next = n == frame->length ? hf_tail_next(tail, n) : NULL;
    const struct hf_span *const pieces = frame->pieces;
    const unsigned count = frame->count;
    for (unsigned i = 0; next && i < count; i++) {
        memcpy(next, pieces[i].p, pieces[i].n);
        next += pieces[i].n;
    }
    for (unsigned i = 0; !next && n > 0; i++) {
        const struct hf_span piece = pieces[i];
        if (skip >= piece.n) {
            skip -= piece.n;
            continue;
        }
        const size_t took = n < piece.n - skip ? n : piece.n - skip;
        hf_tail_add(tail, (struct hf_span) { piece.p + skip, took });
        n -= took;
        skip = 0;
    }
}

void hf_runtime_wrote(struct hf_runtime *runtime, size_t n, struct hf_now now)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_set_now(engine, now);
    assert(!runtime->is_frozen);
    while (n > 0) {
        struct hf_frame *frame = HF_LIST_FIRST(&runtime->out, struct hf_frame, link);
        assert(frame && frame->sent < frame->length);
        if (frame->sent == 0)
            begin_frame(frame, runtime->written);
        const size_t left = frame->length - frame->sent;
        const size_t took = n < left ? n : left;
        remember(&runtime->tail, frame, took);
        frame->sent += took;
        runtime->written += took;
        n -= took;
        if (frame->sent == frame->length)
            finish_frame(runtime, frame);
    }
    runtime->last_write_ms = now.mono_ms;
    if (hf_list_empty(&runtime->out)) {
        runtime->write_wanted = false;
        hf_timer_clear(&engine->timers, &runtime->stall);
    } else {
        hf_timer_set(&engine->timers, &runtime->stall,
                     now.mono_ms + runtime->server->settings.stall_ms);
    }
}

/* runtime->calls are in the order in which they are written: the first one tells. */
bool hf_runtime_is_owed(const struct hf_runtime *runtime)
{
    const struct hf_call *oldest = HF_LIST_FIRST(&runtime->calls, struct hf_call, link);
    return oldest && oldest->stage == HF_CALL_SENT;
}

/* ---- the start and the end ---- */

static void introduce(struct hf_runtime *runtime)
{
    struct hf_buf draft = hf_draft();
    hf_msg_add_notification(&draft, "notifications/initialized");
    hf_runtime_respond(runtime, hf_draft_end(runtime->server->engine, &draft));
    hf_handshake_introduced(runtime);
}

static void give_up(struct hf_runtime *runtime)
{
    hf_runtime_lose(runtime, HF_RUNTIME_EV_CLOSE);
}

static void say(struct hf_runtime *runtime, enum hf_effect_kind effect)
{
    hf_emit(runtime->server->engine, effect)->runtime = runtime;
}

static void freeze(struct hf_runtime *runtime)
{
    say(runtime, HF_DO_TAKE_BACK);
}

static void close_stdin(struct hf_runtime *runtime)
{
    say(runtime, HF_DO_CLOSE_STDIN);
}

static void term(struct hf_runtime *runtime)
{
    say(runtime, HF_DO_TERM);
}

static void kill(struct hf_runtime *runtime)
{
    say(runtime, HF_DO_KILL);
}

const struct hf_transport_ops hf_pipe_transport = {
    .send = send,
    .tell = tell,
    .greet = hf_handshake_begin,
    .introduce = introduce,
    .give_up = give_up,
    .freeze = freeze,
    .close = close_stdin,
    .term = term,
    .kill = kill,
};
