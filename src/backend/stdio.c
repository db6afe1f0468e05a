/* stdio.c - see stdio.h. */
#include "backend/stdio.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "io/fate.h"
#include "io/portion.h"
#include "io/proc.h"
#include "io/stream.h"
#include "ops/env.h"
#include "wire/line.h"

enum {
    READ_SIZE = 64 * 1024,
    READS_A_TURN = 16, /* then other descriptors are served */
    SPANS_A_WRITE = 256,
    STDERR_LINE_MAX = 4096,
    /* A server that was silent this long is looked at before it is written to. One that owes us an
     * answer is most likely at work, and is looked at less often: where the look has to read /proc
     * it costs as much as the write. */
    IDLE_US = 50,
    AT_WORK_US = 1000,
};

struct hf_child {
    struct hf_backend backend;
    struct hf_shell *shell;
    struct hf_runtime *runtime;
    struct hf_proc *proc;
    struct hf_stream *in, *out, *err;
    struct hf_watch *in_watch, *out_watch, *err_watch;
    struct hf_lines out_lines, err_lines;
    hf_on_stderr on_stderr;
    void *context;
    bool is_frozen;
    struct hf_fate fate;
    int64_t last_alive_us; /* the last time bytes moved either way */
};

/* The loop's clock is too coarse to tell a busy moment from an idle one. */
static int64_t clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- the process ---- */

static void on_started(void *context, pid_t pid)
{
    struct hf_child *child = context;
    child->fate = hf_fate_open(pid);
    hf_runtime_started(child->runtime, pid, hf_shell_time(child->shell));
    hf_shell_pump(child->shell);
}

static void on_exec_failed(void *context, enum hf_start_step step, int error)
{
    struct hf_child *child = context;
    struct hf_start_failure failure = { .step = step, .error = error };
    struct hf_err err;
    hf_config_explain(hf_server_config(hf_runtime_server(child->runtime)), &failure, &err);
    failure.why = err.text;
    hf_runtime_not_started(child->runtime, &failure, hf_shell_time(child->shell));
    hf_shell_pump(child->shell);
}

static void on_exited(void *context, int wait_status)
{
    struct hf_child *child = context;
    hf_runtime_exited(child->runtime, wait_status, hf_shell_time(child->shell));
    hf_shell_pump(child->shell);
}

static void on_all_gone(void *context)
{
    struct hf_child *child = context;
    hf_runtime_tree_gone(child->runtime, hf_shell_time(child->shell));
    hf_shell_pump(child->shell);
}

/* The guard is dead, and the server is dead or will be: its exit status is lost. */
static void on_guard_lost(void *context)
{
    on_exited(context, 9); /* as if killed: SIGKILL */
}

static const struct hf_proc_events proc_events = {
    .started = on_started,
    .exec_failed = on_exec_failed,
    .exited = on_exited,
    .all_gone = on_all_gone,
    .guard_lost = on_guard_lost,
};

/* ---- output of the server ---- */

static void stop_watching(struct hf_watch **watch)
{
    hf_watch_free(*watch);
    *watch = NULL;
}

static void take_lines(struct hf_child *child, bool is_end)
{
    for (;;) {
        struct hf_span line;
        const struct hf_now now = hf_shell_time(child->shell);
        switch (is_end ? hf_lines_last(&child->out_lines, &line)
                       : hf_lines_next(&child->out_lines, &line)) {
        case HF_LINE_NONE: return;
        case HF_LINE_WHOLE:
            hf_loop_note_message(child->shell->loop, line.n);
            hf_runtime_line(child->runtime, line, now);
            break;
        case HF_LINE_OVER:
            hf_runtime_line_oversized(child->runtime, hf_lines_over(&child->out_lines), now);
            break;
        }
        hf_shell_pump(child->shell);
        if (!child->out_watch)
            return; /* the child was released meanwhile */
    }
}

static void on_stdout(void *context, unsigned events)
{
    struct hf_child *child = context;
    struct hf_portion portion = { 0 };
    (void)events;
    for (int i = 0; i < READS_A_TURN && child->out_watch; i++) {
        if (i > 0 && !hf_portion_goes_on(&portion, HF_PORTION_READS_US))
            return;
        size_t room, got = 0;
        char *into = hf_lines_room(&child->out_lines, READ_SIZE, &room);
        const enum hf_io result = hf_stream_read(child->out, into, room, &got);
        if (result == HF_IO_AGAIN)
            return;
        if (result == HF_IO_DONE) {
            hf_lines_added(&child->out_lines, got);
            child->last_alive_us = clock_us();
            hf_runtime_bytes_came(child->runtime, hf_shell_time(child->shell));
            take_lines(child, false);
            if (got < room)
                return;
            continue;
        }
        take_lines(child, true);
        if (!child->out_watch)
            return;
        stop_watching(&child->out_watch);
        hf_runtime_eof(child->runtime, hf_shell_time(child->shell));
        hf_shell_pump(child->shell);
    }
}

static void on_stderr_ready(void *context, unsigned events)
{
    struct hf_child *child = context;
    (void)events;
    size_t room, got = 0;
    char *into = hf_lines_room(&child->err_lines, STDERR_LINE_MAX, &room);
    const enum hf_io result = hf_stream_read(child->err, into, room, &got);
    if (result == HF_IO_AGAIN)
        return;
    if (result == HF_IO_DONE)
        hf_lines_added(&child->err_lines, got);
    for (struct hf_span line;;) {
        const enum hf_line_kind kind = result == HF_IO_DONE
                                           ? hf_lines_next(&child->err_lines, &line)
                                           : hf_lines_last(&child->err_lines, &line);
        if (kind == HF_LINE_NONE)
            break;
        if (kind == HF_LINE_OVER)
            line = HF_SPAN("(a line too long to keep)");
        hf_runtime_stderr_line(child->runtime, line);
        child->on_stderr(child->context, child->runtime, line);
    }
    if (result != HF_IO_DONE)
        stop_watching(&child->err_watch);
}

/* ---- input of the server ---- */

static void write_out(struct hf_child *child)
{
    struct hf_span spans[SPANS_A_WRITE];
    struct iovec parts[SPANS_A_WRITE];
    while (!child->is_frozen && child->in) {
        const size_t count = hf_runtime_gather(child->runtime, spans, SPANS_A_WRITE);
        size_t total = 0, written = 0;
        for (size_t i = 0; i < count; i++) {
            parts[i] = (struct iovec) { (void *)(uintptr_t)spans[i].p, spans[i].n };
            total += spans[i].n;
        }
        if (count == 0)
            break;
        /* A failed write means that the server is ending: its exit is reported, not this write. */
        if (hf_stream_writev(child->in, parts, (int)count, &written) == HF_IO_DONE) {
            child->last_alive_us = clock_us();
            hf_runtime_wrote(child->runtime, written, hf_shell_time(child->shell));
        }
        if (written < total) {
            hf_watch_set(child->in_watch, HF_WRITABLE);
            hf_shell_pump(child->shell);
            return;
        }
    }
    if (child->in_watch)
        hf_watch_set(child->in_watch, 0);
    hf_shell_pump(child->shell);
}

/* Writes, unless an idle server is about to die: then its exit decides. */
static void write_if_it_lives(struct hf_child *child)
{
    const int patience_us = hf_runtime_is_owed(child->runtime) ? AT_WORK_US : IDLE_US;
    const bool was_idle = clock_us() >= child->last_alive_us + patience_us;
    if (!was_idle || !child->in_watch || !hf_fate_is_dying(&child->fate)) {
        write_out(child);
        return;
    }
    hf_proc_wake(child->proc); /* else a stopped guard could not report the exit */
    hf_watch_set(child->in_watch, 0);
}

static void flush_child(struct hf_flush *flush)
{
    write_if_it_lives(HF_ITEM(flush, struct hf_child, backend.flush));
}

static void on_writable(void *context, unsigned events)
{
    (void)events;
    write_if_it_lives(context);
}

static void close_stdin(struct hf_child *child)
{
    if (!child->in)
        return;
    hf_unlink(&child->backend.flush.link);
    stop_watching(&child->in_watch);
    hf_stream_close(child->in);
    child->in = NULL;
    hf_proc_close_stdin(child->proc);
}

static void steal(struct hf_child *child)
{
    char *bytes = NULL;
    const ssize_t n = child->proc ? hf_proc_steal(child->proc, &bytes) : 0;
    const struct hf_span taken = { bytes, n > 0 ? (size_t)n : 0 };
    hf_runtime_taken_back(child->runtime, n < 0 ? NULL : &taken, hf_shell_time(child->shell));
    hf_free(bytes);
}

static struct hf_child *child_of(struct hf_backend *backend)
{
    return HF_ITEM(backend, struct hf_child, backend);
}

static void perform(struct hf_backend *backend, const struct hf_effect *effect)
{
    struct hf_child *child = child_of(backend);
    switch (effect->kind) {
    case HF_DO_WRITE: hf_shell_flush_later(child->shell, &child->backend.flush); break;
    case HF_DO_TAKE_BACK:
        child->is_frozen = true;
        if (child->in_watch)
            hf_watch_set(child->in_watch, 0);
        steal(child);
        break;
    case HF_DO_CLOSE_STDIN: close_stdin(child); break;
    case HF_DO_TERM:
        if (child->proc)
            hf_proc_term(child->proc);
        break;
    case HF_DO_KILL:
        if (child->proc) /* the server may never have started */
            hf_proc_kill(child->proc);
        break;
    default: assert(0 && "not for a child");
    }
}

/* ---- lifetime ---- */

static char **argv_of(const struct hf_server_config *config)
{
    size_t count = 0;
    while (config->args && config->args[count])
        count++;
    char **argv = hf_new_array(char *, count + 2);
    argv[0] = config->command;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = config->args[i];
    return argv;
}

static void watch_all(struct hf_child *child)
{
    struct hf_loop *loop = child->shell->loop;
    child->in = hf_stream_borrow(hf_proc_stdin_fd(child->proc));
    child->out = hf_stream_borrow(hf_proc_stdout_fd(child->proc));
    child->err = hf_stream_borrow(hf_proc_stderr_fd(child->proc));
    child->in_watch = hf_watch_new(loop, hf_stream_fd(child->in), on_writable, child);
    child->out_watch = hf_watch_new(loop, hf_stream_fd(child->out), on_stdout, child);
    child->err_watch = hf_watch_new(loop, hf_stream_fd(child->err), on_stderr_ready, child);
    hf_watch_set(child->out_watch, HF_READABLE);
    hf_watch_set(child->err_watch, HF_READABLE);
}

static void release(struct hf_backend *backend)
{
    struct hf_child *child = child_of(backend);
    stop_watching(&child->in_watch);
    stop_watching(&child->out_watch);
    stop_watching(&child->err_watch);
    hf_stream_close(child->in);
    hf_stream_close(child->out);
    hf_stream_close(child->err);
    hf_proc_free(child->proc);
    hf_fate_close(&child->fate);
    hf_lines_done(&child->out_lines);
    hf_lines_done(&child->err_lines);
    child->in = child->out = child->err = NULL;
    hf_shell_free_later(child->shell, &child->backend.flush); /* a callback of it may be running */
}

void hf_child_start(struct hf_shell *shell, struct hf_runtime *runtime,
                    const struct hf_server_config *config, size_t line_max, hf_on_stderr on_stderr,
                    void *context)
{
    struct hf_child *child = hf_new(struct hf_child);
    child->shell = shell;
    child->runtime = runtime;
    child->on_stderr = on_stderr;
    child->context = context;
    child->fate = HF_FATE_NONE;
    child->backend.flush.flush = flush_child;
    child->backend.perform = perform;
    child->backend.release = release;
    hf_link_init(&child->backend.flush.link);
    hf_lines_init(&child->out_lines, line_max);
    hf_lines_init(&child->err_lines, STDERR_LINE_MAX);
    hf_runtime_set_backend(runtime, &child->backend);

    char **argv = argv_of(config), **env = hf_env_build(config, environ);
    const struct hf_proc_spec spec = { config->command, argv, env, config->cwd };
    struct hf_err err;
    child->proc = hf_proc_start(shell->loop, &spec, &proc_events, child, &err);
    if (child->proc)
        watch_all(child);
    else
        hf_runtime_not_started(runtime, &(struct hf_start_failure) { .why = err.text },
                               hf_shell_time(shell));
    hf_env_free(env);
    hf_free(argv);
}
