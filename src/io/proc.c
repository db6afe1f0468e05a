/*
 * proc.c - see proc.h.
 *
 *   engine                     guard                server (own process group)
 *   IN    write end  ------------------------------> 0
 *   steal read end   <-- the same pipe, an open file of our own
 *   OUT   read end   <------------------------------ 1
 *   ERR   read end   <------------------------------ 2
 *   CONTROL          <-------> 3
 *
 * The record outlives hf_proc_free(): it stays a guest of the loop until the guard is reaped.
 */
#include "io/proc.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "guard/protocol.h"
#include "io/adopt.h"
#include "io/guard_blob.h"
#include "io/nofile.h"
#include "io/random.h"

/* The numbers are those of the guard's descriptors. */
enum guard_fd { IN, OUT, ERR, CONTROL = HF_GUARD_CONTROL_FD, GUARD_FDS };

/* How long the guard of a freed proc has to end before it is killed and its tree adopted: its
 * server may keep it stopped. */
enum { GUARD_ENDS_WITHIN_MS = 500 };

enum { MARK_BYTES = 16, MARK_SIZE = sizeof HF_TREE_VARIABLE + 2 * MARK_BYTES };

struct hf_proc {
    struct hf_loop *loop;
    struct hf_guest guest;
    const struct hf_proc_events *events; /* NULL: freed by its owner */
    void *context;
    int ours[GUARD_FDS];
    int unread; /* a second reader of the server's stdin */
    bool can_steal, has_stolen;
    pid_t guard, server;
    int guard_pidfd;
    struct hf_watch *control_watch, *guard_watch;
    struct hf_adoption *adoption;
    struct hf_alarm guard_timeout;
    struct hf_adoption_guard spared;
    bool has_exited, is_all_gone;
    bool is_killing;  /* the guard was told to kill the tree */
    bool has_failed;  /* the guard could not kill a process and waits for its end, as we would */
    bool is_finished; /* the guard is reaped, and no more events come */
    char mark[MARK_SIZE];
};

#define EMIT(proc, event, ...)                                                                     \
    do {                                                                                           \
        if ((proc)->events && (proc)->events->event)                                               \
            (proc)->events->event(__VA_ARGS__);                                                    \
    } while (0)

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* --- the end --- */

static void close_control(struct hf_proc *proc)
{
    hf_watch_free(proc->control_watch);
    proc->control_watch = NULL;
    close_fd(&proc->ours[CONTROL]);
}

static void close_all(struct hf_proc *proc)
{
    close_control(proc);
    for (int fd = 0; fd < GUARD_FDS; fd++)
        close_fd(&proc->ours[fd]);
    close_fd(&proc->unread);
}

static void destroy(struct hf_proc *proc)
{
    hf_loop_leave(&proc->guest);
    hf_alarm_set(&proc->guard_timeout, 0);
    hf_adoption_spare_no_more(&proc->spared);
    hf_adoption_free(proc->adoption);
    hf_watch_free(proc->guard_watch);
    close_fd(&proc->guard_pidfd);
    hf_free(proc);
}

static void reap_guard(struct hf_proc *proc)
{
    siginfo_t ignored;
    (void)waitid(P_PIDFD, (id_t)proc->guard_pidfd, &ignored, WEXITED | WNOHANG);
}

static void finish(struct hf_proc *proc)
{
    reap_guard(proc);
    hf_alarm_set(&proc->guard_timeout, 0);
    hf_adoption_spare_no_more(&proc->spared);
    proc->is_finished = true;
    if (!proc->events)
        destroy(proc);
}

/* By the pidfd, so that no other process can get the signal. */
static void signal_guard(const struct hf_proc *proc, int signum)
{
    if (proc->guard_watch) /* else the guard is dead */
        (void)pidfd_send_signal(proc->guard_pidfd, signum, NULL, 0);
}

/* For a guard that its server keeps stopped: its tree is adopted, if that is possible. */
static void kill_guard(void *context)
{
    struct hf_proc *proc = context;
    if (hf_adoption_is_possible() && !proc->is_all_gone && !proc->has_failed)
        signal_guard(proc, SIGKILL);
}

/* If the guard was told to kill before, the owner has waited long enough for it: it is killed. */
void hf_proc_free(struct hf_proc *proc)
{
    if (!proc)
        return;
    assert(proc->events);
    proc->events = NULL;
    close_all(proc); /* the guard sees its socket close, and kills what is left */
    if (proc->is_finished) {
        destroy(proc);
        return;
    }
    signal_guard(proc, SIGCONT);
    if (proc->is_killing)
        kill_guard(proc);
    else
        hf_alarm_set(&proc->guard_timeout, hf_loop_now_ms(proc->loop) + GUARD_ENDS_WITHIN_MS);
}

static void on_loop_free(struct hf_guest *guest)
{
    struct hf_proc *proc = HF_ITEM(guest, struct hf_proc, guest);
    close_all(proc);
    signal_guard(proc, SIGCONT);
    reap_guard(proc);
    destroy(proc);
}

/* --- a guard that was killed --- */

static void on_orphan_reaped(void *context, pid_t pid, int wait_status)
{
    struct hf_proc *proc = context;
    if (pid != proc->server || proc->has_exited)
        return;
    proc->has_exited = true;
    EMIT(proc, exited, proc->context, wait_status);
}

static void on_orphan_kill_failed(void *context, pid_t pid)
{
    const struct hf_proc *proc = context;
    EMIT(proc, close_failed, proc->context, pid);
}

static void on_orphans_gone(void *context)
{
    struct hf_proc *proc = context;
    const struct hf_proc copy = *proc;
    finish(proc); /* frees the proc if its owner has */
    EMIT(&copy, all_gone, copy.context);
}

static void take_over(struct hf_proc *proc, bool is_held)
{
    static const struct hf_adoption_events events = { on_orphan_reaped, on_orphan_kill_failed,
                                                      on_orphans_gone };
    if (hf_adoption_is_possible()) {
        proc->adoption =
            hf_adoption_new(proc->loop, proc->guard, is_held, proc->mark, &events, proc);
        hf_adoption_sweep(proc->adoption);
        return;
    }
    const struct hf_proc copy = *proc;
    finish(proc);
    EMIT(&copy, close_failed, copy.context, copy.server);
}

/* --- reports of the guard --- */

static void on_started(struct hf_proc *proc, const struct hf_guard_report *report)
{
    if (proc->server)
        return; /* reported before; a guard reports it once */
    proc->server = report->pid;
    EMIT(proc, started, proc->context, report->pid);
}

static void on_exec_failed(struct hf_proc *proc, const struct hf_guard_report *report)
{
    const enum hf_start_step step = report->stage == HF_GUARD_AT_CHDIR  ? HF_START_ENTER
                                    : report->stage == HF_GUARD_AT_EXEC ? HF_START_EXECUTE
                                                                        : HF_START_PREPARE;
    EMIT(proc, exec_failed, proc->context, step, report->value);
}

static void on_exit_status(struct hf_proc *proc, const struct hf_guard_report *report)
{
    proc->has_exited = true;
    EMIT(proc, exited, proc->context, report->value);
}

static void on_all_gone(struct hf_proc *proc, const struct hf_guard_report *report)
{
    (void)report;
    proc->is_all_gone = true;
    EMIT(proc, all_gone, proc->context);
}

static void on_kill_failed(struct hf_proc *proc, const struct hf_guard_report *report)
{
    proc->has_failed = true;
    EMIT(proc, close_failed, proc->context, report->pid);
}

static void take_report(struct hf_proc *proc, const struct hf_guard_report *report)
{
    static void (*const takers[])(struct hf_proc *, const struct hf_guard_report *) = {
        [HF_GUARD_STARTED] = on_started,         [HF_GUARD_EXEC_FAILED] = on_exec_failed,
        [HF_GUARD_EXIT] = on_exit_status,        [HF_GUARD_ALL_GONE] = on_all_gone,
        [HF_GUARD_KILL_FAILED] = on_kill_failed,
    };
    if (report->news < sizeof takers / sizeof *takers && takers[report->news])
        takers[report->news](proc, report); /* others do not come from a guard of ours */
}

static void read_reports(struct hf_proc *proc)
{
    while (proc->ours[CONTROL] >= 0) { /* an event may free the proc, which closes it */
        struct hf_guard_report report;
        const ssize_t n = recv(proc->ours[CONTROL], &report, sizeof report, MSG_DONTWAIT);
        if (n == (ssize_t)sizeof report) {
            take_report(proc, &report);
        } else if (n < 0 && errno == EAGAIN) {
            return;
        } else if (n >= 0 || errno != EINTR) {
            close_control(proc);
            if (!proc->is_all_gone)
                EMIT(proc, guard_lost, proc->context);
        }
    }
}

static void on_control_ready(void *context, unsigned events)
{
    (void)events;
    read_reports(context);
}

/* A dying process closes its descriptors first and gives away its children last: only the pidfd
 * tells that they are ours now. A guard that has done its work exits with 0. */
static void on_guard_dead(void *context, unsigned events)
{
    (void)events;
    struct hf_proc *proc = context;
    read_reports(proc); /* sent before it died */
    hf_watch_free(proc->guard_watch);
    proc->guard_watch = NULL;
    siginfo_t end = { 0 };
    const int options = WEXITED | WNOHANG | WNOWAIT;
    const bool is_held =
        waitid(P_PIDFD, (id_t)proc->guard_pidfd, &end, options) == 0 && end.si_pid == proc->guard;
    const bool is_clean = is_held && end.si_code == CLD_EXITED && end.si_status == 0;
    if (proc->is_all_gone || is_clean)
        finish(proc);
    else
        take_over(proc, is_held);
}

/* --- the start --- */

/* If our own standard descriptors are closed, a pipe gets one of the numbers that are overwritten
 * in the guard. */
static bool lift(int *fd)
{
    if (*fd > HF_GUARD_CONTROL_FD)
        return true;
    const int high = fcntl(*fd, F_DUPFD_CLOEXEC, HF_GUARD_CONTROL_FD + 1);
    close_fd(fd);
    *fd = high;
    return high >= 0;
}

static bool make_pair(enum guard_fd fd, int *ours, int *theirs)
{
    int ends[2];
    const int made = fd == CONTROL ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)
                                   : pipe2(ends, O_CLOEXEC);
    if (made != 0)
        return false;
    *ours = ends[fd == IN];
    *theirs = ends[fd != IN];
    return lift(theirs) && (fd == CONTROL || fcntl(*ours, F_SETFL, O_NONBLOCK) == 0);
}

/* Opened through /proc, our read end is an open file of its own: its O_NONBLOCK does not reach the
 * server. If that fails we hold the server's own end: still no SIGPIPE, but no bytes can be taken
 * back. */
static bool make_unread(struct hf_proc *proc, int server_end)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", server_end);
    proc->unread = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    proc->can_steal = proc->unread >= 0;
    if (proc->unread < 0)
        proc->unread = fcntl(server_end, F_DUPFD_CLOEXEC, 0);
    return proc->unread >= 0;
}

static void make_mark(char mark[MARK_SIZE])
{
    unsigned char random[MARK_BYTES];
    hf_random(random, sizeof random);
    int at = snprintf(mark, MARK_SIZE, HF_TREE_VARIABLE);
    for (int i = 0; i < MARK_BYTES; i++)
        at += snprintf(mark + at, (size_t)(MARK_SIZE - at), "%02x", random[i]);
}

static size_t count_of(char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

/* Shallow copies: posix_spawn takes pointers to characters it promises not to change. */
static char **make_argv(const struct hf_proc_spec *spec, char *nofile)
{
    char **argv = hf_new_array(char *, count_of(spec->argv) + 7), **next = argv;
    *next++ = (char *)(uintptr_t)HF_GUARD_NAME;
    if (spec->cwd) {
        *next++ = (char *)(uintptr_t) "--cwd";
        *next++ = (char *)(uintptr_t)spec->cwd;
    }
    if (*nofile) {
        *next++ = (char *)(uintptr_t) "--nofile";
        *next++ = nofile;
    }
    *next++ = (char *)(uintptr_t) "--";
    *next++ = (char *)(uintptr_t)spec->command;
    for (char *const *argument = spec->argv + 1; *argument; argument++)
        *next++ = *argument;
    return argv;
}

static char **make_envp(const struct hf_proc_spec *spec, char *mark)
{
    char **envp = hf_new_array(char *, count_of(spec->envp) + 2), **next = envp;
    *next++ = mark;
    for (char *const *entry = spec->envp; *entry; entry++)
        if (strncmp(*entry, HF_TREE_VARIABLE, sizeof HF_TREE_VARIABLE - 1) != 0)
            *next++ = *entry; /* an inherited mark is that of the tree that we belong to */
    return envp;
}

/* Started with all signals blocked: a Ctrl-C in its first millisecond must not end the guard. */
static int spawn_guard(struct hf_proc *proc, const struct hf_proc_spec *spec, const int *theirs)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &all);
    int error = 0;
    for (int fd = 0; fd < GUARD_FDS && !error; fd++)
        error = posix_spawn_file_actions_adddup2(&actions, theirs[fd], fd);
    char nofile[HF_DIGITS_MAX + 1] = "";
    if (hf_nofile_before())
        (void)snprintf(nofile, sizeof nofile, "%lu", hf_nofile_before());
    char **argv = make_argv(spec, nofile), **envp = make_envp(spec, proc->mark);
    bool is_running = false;
    for (const char *const *path = hf_guard_paths(); *path && !error && !is_running; path++) {
        const int failed = posix_spawn(&proc->guard, *path, &actions, &attributes, argv, envp);
        is_running = failed == 0;
        if (failed && !path[1])
            error = failed;
    }
    hf_free(argv);
    hf_free(envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool make_lines(struct hf_proc *proc, int *theirs)
{
    for (int fd = 0; fd < GUARD_FDS; fd++)
        if (!make_pair((enum guard_fd)fd, &proc->ours[fd], &theirs[fd]))
            return false;
    return make_unread(proc, theirs[IN]);
}

/* The guard's ends are closed before the pidfd is opened, so that there is a number for it. */
static bool start(struct hf_proc *proc, const struct hf_proc_spec *spec, struct hf_err *err)
{
    int theirs[GUARD_FDS] = { -1, -1, -1, -1 };
    const char *what = "make the pipes of";
    int error = make_lines(proc, theirs) ? 0 : errno;
    if (!error) {
        what = "start the guard of";
        error = spawn_guard(proc, spec, theirs);
    }
    for (int fd = 0; fd < GUARD_FDS; fd++)
        close_fd(&theirs[fd]);
    if (!error) {
        what = "watch the guard of";
        proc->guard_pidfd = pidfd_open(proc->guard, 0);
        error = proc->guard_pidfd < 0 ? errno : 0;
    }
    if (error)
        return hf_fail(err, "cannot %s %s: %s", what, spec->command, strerror(error));
    return true;
}

struct hf_proc *hf_proc_start(struct hf_loop *loop, const struct hf_proc_spec *spec,
                              const struct hf_proc_events *events, void *context,
                              struct hf_err *err)
{
    assert(spec->command && spec->argv[0] && events);
    struct hf_proc *proc = hf_new(struct hf_proc);
    *proc = (struct hf_proc) { .loop = loop,
                               .guest.on_loop_free = on_loop_free,
                               .events = events,
                               .context = context,
                               .ours = { -1, -1, -1, -1 },
                               .unread = -1,
                               .guard_pidfd = -1 };
    hf_link_init(&proc->guest.link);
    hf_alarm_init(&proc->guard_timeout, loop, kill_guard, proc);
    make_mark(proc->mark);
    if (!start(proc, spec, err)) {
        close_all(proc);
        if (proc->guard) /* it ends as soon as its socket is closed, so this waits only briefly */
            (void)waitpid(proc->guard, NULL, 0);
        destroy(proc);
        return NULL;
    }
    hf_adoption_spare(&proc->spared, proc->guard);
    hf_loop_enter(loop, &proc->guest);
    proc->control_watch = hf_watch_new(loop, proc->ours[CONTROL], on_control_ready, proc);
    proc->guard_watch = hf_watch_new(loop, proc->guard_pidfd, on_guard_dead, proc);
    hf_watch_set(proc->control_watch, HF_READABLE);
    hf_watch_set(proc->guard_watch, HF_READABLE);
    return proc;
}

/* --- verbs and queries --- */

void hf_proc_wake(struct hf_proc *proc)
{
    signal_guard(proc, SIGCONT);
}

static void order(struct hf_proc *proc, enum hf_guard_order what)
{
    const char byte = (char)what;
    if (proc->ours[CONTROL] >= 0)
        (void)send(proc->ours[CONTROL], &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
    hf_proc_wake(proc);
}

void hf_proc_term(struct hf_proc *proc)
{
    order(proc, HF_GUARD_TERM);
}

void hf_proc_kill(struct hf_proc *proc)
{
    proc->is_killing = true;
    order(proc, HF_GUARD_KILL);
}

void hf_proc_close_stdin(struct hf_proc *proc)
{
    close_fd(&proc->ours[IN]);
}

/* ONE read of the pipe's whole capacity: it happens under the pipe's lock, so a descendant that
 * reads at the same time comes before or after it. Of two reads it could come between. */
ssize_t hf_proc_steal(struct hf_proc *proc, char **ret_bytes)
{
    assert(!proc->has_stolen);
    proc->has_stolen = true;
    *ret_bytes = NULL;
    const int capacity = proc->can_steal ? fcntl(proc->unread, F_GETPIPE_SZ) : -1;
    if (capacity <= 0)
        return -1;
    *ret_bytes = hf_alloc((size_t)capacity);
    ssize_t n;
    do
        n = read(proc->unread, *ret_bytes, (size_t)capacity);
    while (n < 0 && errno == EINTR);
    const bool is_empty = n < 0 && errno == EAGAIN;
    return is_empty ? 0 : n;
}

int hf_proc_stdin_fd(const struct hf_proc *proc)
{
    return proc->ours[IN];
}

int hf_proc_stdout_fd(const struct hf_proc *proc)
{
    return proc->ours[OUT];
}

int hf_proc_stderr_fd(const struct hf_proc *proc)
{
    return proc->ours[ERR];
}

pid_t hf_proc_guard_pid(const struct hf_proc *proc)
{
    return proc->guard;
}
