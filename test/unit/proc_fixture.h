/*
 * proc_fixture.h - a loop, a server under it, and everything that was seen of it.
 *
 * Waits are for events; LIMIT_MS only ends a test that would hang.
 */
#ifndef HF_TEST_PROC_FIXTURE_H
#define HF_TEST_PROC_FIXTURE_H

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "guard/children.h"
#include "io/loop.h"
#include "io/proc.h"
#include "io/stream.h"
#include "test.h"

enum { LIMIT_MS = 20000, ARGUMENTS_MAX = 6 };

struct output {
    struct hf_stream *stream;
    struct hf_watch *watch;
    char text[4096];
    size_t length;
    bool has_ended;
};

struct world {
    struct hf_loop *loop;
    struct hf_alarm alarm;
    struct hf_proc *proc;
    struct output out, err;
    char log[256]; /* the events in their order, a word each */
    pid_t pid, close_failed;
    int status, error;
    enum hf_start_step failed_step;
    bool has_started, has_exited, is_all_gone, is_guard_lost, is_late;
    bool frees_on_exit;
};

static inline void note(struct world *w, const char *word)
{
    const size_t length = strlen(w->log);
    snprintf(w->log + length, sizeof w->log - length, "%s%s", length ? " " : "", word);
}

static inline void on_started(void *context, pid_t pid)
{
    struct world *w = context;
    note(w, "started");
    w->has_started = true;
    w->pid = pid;
}

static inline void on_exec_failed(void *context, enum hf_start_step step, int error)
{
    struct world *w = context;
    note(w, "exec_failed");
    w->error = error;
    w->failed_step = step;
}

static inline void free_proc(struct world *w)
{
    struct output *outputs[] = { &w->out, &w->err };
    for (int i = 0; w->proc && i < 2; i++) {
        hf_watch_free(outputs[i]->watch);
        hf_stream_close(outputs[i]->stream);
        outputs[i]->watch = NULL;
        outputs[i]->stream = NULL;
    }
    hf_proc_free(w->proc);
    w->proc = NULL;
}

static inline void on_exited(void *context, int status)
{
    struct world *w = context;
    note(w, "exited");
    w->has_exited = true;
    w->status = status;
    if (w->frees_on_exit)
        free_proc(w);
}

static inline void on_all_gone(void *context)
{
    struct world *w = context;
    note(w, "all_gone");
    w->is_all_gone = true;
}

static inline void on_close_failed(void *context, pid_t pid)
{
    struct world *w = context;
    note(w, "close_failed");
    w->close_failed = pid;
}

static inline void on_guard_lost(void *context)
{
    struct world *w = context;
    note(w, "guard_lost");
    w->is_guard_lost = true;
}

static const struct hf_proc_events world_events = { on_started,  on_exec_failed,  on_exited,
                                                    on_all_gone, on_close_failed, on_guard_lost };

static inline void on_late(void *context)
{
    struct world *w = context;
    w->is_late = true;
}

static inline void on_output(void *context, unsigned events)
{
    struct output *output = context;
    size_t got = 0;
    (void)events;
    const enum hf_io io = hf_stream_read(output->stream, output->text + output->length,
                                         sizeof output->text - 1 - output->length, &got);
    if (io == HF_IO_DONE)
        output->length += got;
    if (io == HF_IO_CLOSED) {
        output->has_ended = true;
        hf_watch_set(output->watch, 0);
    }
}

static inline void watch_output(struct world *w, struct output *output, int fd)
{
    output->stream = hf_stream_borrow(fd);
    output->watch = hf_watch_new(w->loop, fd, on_output, output);
    hf_watch_set(output->watch, HF_READABLE);
}

static inline void begin(struct world *w)
{
    *w = (struct world) { .loop = hf_loop_new() };
    hf_alarm_init(&w->alarm, w->loop, on_late, w);
    hf_alarm_set(&w->alarm, hf_loop_now_ms(w->loop) + LIMIT_MS);
}

static inline bool start_in(struct world *w, const char *cwd, const char *const *argv)
{
    extern char **environ;
    char *copy[ARGUMENTS_MAX] = { 0 };
    struct hf_err err = { "" };
    for (int i = 0; argv[i]; i++)
        copy[i] = hf_strdup(argv[i]);
    const struct hf_proc_spec spec = {
        .command = copy[0], .argv = copy, .envp = environ, .cwd = cwd
    };
    w->proc = hf_proc_start(w->loop, &spec, &world_events, w, &err);
    for (int i = 0; copy[i]; i++)
        hf_free(copy[i]);
    if (!w->proc) {
        printf("# %s\n", err.text);
        return false;
    }
    watch_output(w, &w->out, hf_proc_stdout_fd(w->proc));
    watch_output(w, &w->err, hf_proc_stderr_fd(w->proc));
    return true;
}

#define START(w, ...) start_in((w), NULL, (const char *const[]) { __VA_ARGS__, NULL })
#define BEGIN(w, ...) (begin(w), START(w, __VA_ARGS__))
#define TREE          HF_TEST_TREE_SERVER
#define WAIT(w, condition)                                                                         \
    while (!(condition) && !(w)->is_late)                                                          \
    hf_loop_step((w)->loop, true)

/* Frees everything and waits until the guards are reaped. */
static inline void end(struct world *w)
{
    free_proc(w);
    WAIT(w, !hf_loop_has_guests(w->loop));
    CHECK(!w->is_late);
    hf_loop_free(w->loop);
}

static inline void count_child(void *context, pid_t pid)
{
    (void)pid;
    ++*(int *)context;
}

static inline int count_children(void)
{
    int count = 0;
    hf_children_each(getpid(), count_child, &count);
    return count;
}

static inline bool write_all(struct world *w, const char *text, size_t length)
{
    return write(hf_proc_stdin_fd(w->proc), text, length) == (ssize_t)length;
}

static inline char state_of(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *after = n > 0 ? strrchr(text, ')') : NULL;
    return after ? after[2] : '?';
}

static inline void stop(pid_t pid)
{
    kill(pid, SIGSTOP);
    while (state_of(pid) != 'T')
        sched_yield();
}

/* A pipe whose writing end a process of the tree opens by its path. */
struct hold {
    int ends[2];
    char path[64];
};

static inline void hold_open(struct hold *h)
{
    if (pipe2(h->ends, O_CLOEXEC) != 0)
        abort();
    snprintf(h->path, sizeof h->path, "/proc/%d/fd/%d", (int)getpid(), h->ends[1]);
}

static inline bool hold_read(struct hold *h, ssize_t expected)
{
    char byte;
    struct pollfd on = { .fd = h->ends[0], .events = POLLIN };
    return poll(&on, 1, LIMIT_MS) == 1 && read(h->ends[0], &byte, 1) == expected;
}

static inline bool hold_is_ready(struct hold *h) /* from now on only the tree has it */
{
    const bool is_ready = hold_read(h, 1);
    close(h->ends[1]);
    return is_ready;
}

static inline bool hold_ended(struct hold *h)
{
    const bool has_ended = hold_read(h, 0);
    close(h->ends[0]);
    return has_ended;
}

#endif
