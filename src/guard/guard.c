/*
 * guard.c - holdfast-guard: the tiny parent that takes a whole process tree down with it.
 *
 * One per server. It starts the server, tells the engine what becomes of it, and kills everything
 * that descends from it when the engine asks or is gone. It never reads or writes the server's
 * streams and never decides anything about time: deadlines are the engine's.
 *
 * 1. Every descendant is a child of the guard or has an ancestor who is: we are a subreaper, so
 *    an orphan falls to us whatever sessions, groups or signals it made for itself.
 * 2. Only direct children are signalled. Nobody but us can reap them, so their pids cannot have
 *    been given to somebody else.
 * 3. Every round of killing is woken by a death (which may have made new orphans) or by a slow
 *    timer for those that may not be killed. Nothing spins.
 * 4. The guard exits only with status 0 and only when nothing is left and nobody listens: any other
 *    end tells the engine that the tree is now its business.
 */
#include "guard/children.h"
#include "guard/protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOLD_MAX = 16, FIRST_PAUSE_MS = 100, LAST_PAUSE_MS = 10000 };

struct guard {
    int control;  /* -1: the engine is gone */
    int signals;  /* SIGCHLD */
    int verdict;  /* the server's side of exec: a report if it failed, EOF if it runs; -1: known */
    pid_t server; /* 0: there is none, or it was reaped */
    bool has_children, is_killing, has_said_gone;
    int pause_ms;
    pid_t told[TOLD_MAX]; /* those reported as KILL_FAILED: once is enough */
    int told_count;
};

static void report(const struct guard *g, struct hf_guard_report what)
{
    if (g->control >= 0) /* a few small packets in all: they fit the socket, or nobody reads it */
        (void)send(g->control, &what, sizeof what, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void report_exec_failed(struct guard *g, enum hf_guard_stage stage, int error)
{
    report(g, (struct hf_guard_report) {
                  .news = HF_GUARD_EXEC_FAILED, .stage = (uint32_t)stage, .value = error });
}

struct wishes {         /* how the server is to be started */
    const char *cwd;    /* NULL: as we were */
    const char *nofile; /* how many descriptors it may have; NULL: as we were */
    char **argv;
};

static void set_nofile(const char *digits)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = strtoul(digits, NULL, 10);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* In the new process. The empty mask and the default dispositions are the server's right: it must
 * not inherit that its guard is deaf. */
static _Noreturn void become_server(const struct wishes *wishes, int verdict)
{
    struct hf_guard_report why = { .news = HF_GUARD_EXEC_FAILED, .stage = HF_GUARD_AT_CHDIR };
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    if (wishes->nofile)
        set_nofile(wishes->nofile);
    if (!wishes->cwd || chdir(wishes->cwd) == 0) {
        why.stage = HF_GUARD_AT_EXEC;
        sigprocmask(SIG_SETMASK, &none, NULL);
        execvp(wishes->argv[0], wishes->argv);
    }
    why.value = errno;
    _exit(write(verdict, &why, sizeof why) == (ssize_t)sizeof why ? 127 : 126);
}

/* fork and not vfork: a chdir or exec that hangs (a dead network mount) must not make the guard
 * deaf to its engine. It costs about 0.1 ms in a process this small. */
static void start_server(struct guard *g, const struct wishes *wishes)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        report_exec_failed(g, HF_GUARD_AT_FORK, errno);
        return;
    }
    const pid_t pid = fork();
    if (pid == 0)
        become_server(wishes, ends[1]);
    if (pid < 0) {
        report_exec_failed(g, HF_GUARD_AT_FORK, errno);
        close(ends[0]);
    } else {
        setpgid(pid, pid); /* on both sides: whoever comes first, a TERM finds the group */
        g->server = pid;
        g->verdict = ends[0];
        g->has_children = true;
    }
    close(ends[1]);
}

static void read_verdict(struct guard *g)
{
    struct hf_guard_report why;
    const ssize_t n = g->verdict < 0 ? -1 : read(g->verdict, &why, sizeof why);
    if (g->verdict < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    if (n == (ssize_t)sizeof why) {
        report(g, why);
        g->server = 0; /* what is left of it is just another child to reap */
    } else {
        report(g, (struct hf_guard_report) { .news = HF_GUARD_STARTED, .pid = g->server });
    }
    close(g->verdict);
    g->verdict = -1;
}

static void reap(struct guard *g)
{
    struct signalfd_siginfo ignored;
    while (read(g->signals, &ignored, sizeof ignored) > 0)
        ;
    for (;;) {
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
        if (pid <= 0) {
            g->has_children = pid == 0;
            return;
        }
        if (pid != g->server)
            continue;
        read_verdict(g); /* it may have run and died since we last looked */
        if (g->server)
            report(g,
                   (struct hf_guard_report) { .news = HF_GUARD_EXIT, .pid = pid, .value = status });
        g->server = 0;
    }
}

static void tell_kill_failed(struct guard *g, pid_t pid)
{
    for (int i = 0; i < g->told_count; i++)
        if (g->told[i] == pid)
            return;
    if (g->told_count == TOLD_MAX)
        return;
    g->told[g->told_count++] = pid;
    report(g, (struct hf_guard_report) { .news = HF_GUARD_KILL_FAILED, .pid = pid });
}

static void kill_child(void *context, pid_t pid)
{
    if (kill(pid, SIGKILL) != 0 && errno == EPERM)
        tell_kill_failed(context, pid);
}

static void term_child(void *context, pid_t pid)
{
    (void)context;
    (void)kill(pid, SIGTERM);
}

static void kill_round(struct guard *g)
{
    if (!hf_children_each(getpid(), kill_child, g) && g->server)
        kill_child(g, g->server); /* no /proc: at least the one we know */
}

/* Once the server is reaped its group's number may be somebody else's; the children are ours. */
static void term(struct guard *g)
{
    if (g->server)
        (void)kill(-g->server, SIGTERM);
    else
        (void)hf_children_each(getpid(), term_child, g);
}

static void read_orders(struct guard *g)
{
    while (g->control >= 0) {
        char order;
        const ssize_t n = recv(g->control, &order, sizeof order, MSG_DONTWAIT);
        if (n > 0 && order == HF_GUARD_TERM)
            term(g);
        else if (n > 0)
            g->is_killing = true;
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else {
            close(g->control);
            g->control = -1;
            g->is_killing = true;
        }
    }
}

static void wait_for_news(struct guard *g)
{
    struct pollfd on[] = {
        { .fd = g->verdict, .events = POLLIN },
        { .fd = g->control, .events = POLLIN },
        { .fd = g->signals, .events = POLLIN },
    };
    const bool timed = g->is_killing && g->has_children;
    if (poll(on, sizeof on / sizeof *on, timed ? g->pause_ms : -1) == 0)
        g->pause_ms = g->pause_ms * 2 < LAST_PAUSE_MS ? g->pause_ms * 2 : LAST_PAUSE_MS;
}

static void watch_over(struct guard *g)
{
    for (;;) {
        read_verdict(g);
        read_orders(g);
        reap(g);
        if (g->is_killing && g->has_children)
            kill_round(g);
        if (!g->has_children && !g->has_said_gone) {
            report(g, (struct hf_guard_report) { .news = HF_GUARD_ALL_GONE });
            g->has_said_gone = true;
        }
        if (!g->has_children && g->control < 0)
            return;
        wait_for_news(g);
    }
}

/* A server can stop us; if its engine dies then, nobody is left to wake us but the kernel. An
 * engine that died before the kernel knew this has closed its end of the socket: nothing is
 * started. */
static bool will_outlive_engine(const struct guard *g)
{
    char order;
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    return recv(g->control, &order, sizeof order, MSG_PEEK | MSG_DONTWAIT) != 0;
}

/* Whatever started us must neither stop us (Ctrl-C, a service manager's group signal) nor shape the
 * server: an ignored signal would stay ignored through exec. */
static int take_signals(void)
{
    sigset_t all, child;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The server's streams are the server's alone: held here, its end would never be seen. Its command
 * line goes too, so that `pkill -9 -f NAME` meets the server and not its guard. */
static void let_go(int argc, char **argv)
{
    for (int fd = 0; fd < HF_GUARD_CONTROL_FD; fd++)
        close(fd);
    const char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    memset(argv[1], 0, (size_t)(end - argv[1]));
    (void)!chdir("/");
}

int main(int argc, char **argv)
{
    int at = 1;
    struct wishes wishes = { 0 };
    if (at + 1 < argc && strcmp(argv[at], "--cwd") == 0) {
        wishes.cwd = argv[at + 1];
        at += 2;
    }
    if (at + 1 < argc && strcmp(argv[at], "--nofile") == 0) {
        wishes.nofile = argv[at + 1];
        at += 2;
    }
    wishes.argv = argv + at + 1;
    const bool is_usable = at + 1 < argc && strcmp(argv[at], "--") == 0;
    if (!is_usable || fcntl(HF_GUARD_CONTROL_FD, F_SETFD, FD_CLOEXEC) != 0) {
        static const char usage[] = HF_GUARD_NAME ": only holdfast can start this program\n";
        (void)!write(STDERR_FILENO, usage, sizeof usage - 1);
        return 2;
    }
    struct guard g = { .control = HF_GUARD_CONTROL_FD, .verdict = -1, .pause_ms = FIRST_PAUSE_MS };
    (void)close_range(HF_GUARD_CONTROL_FD + 1, ~0U, 0); /* what a careless parent left open */
    (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_NAME, HF_GUARD_NAME);
    g.signals = take_signals();
    if (g.signals < 0)
        report_exec_failed(&g, HF_GUARD_AT_FORK, errno);
    else if (will_outlive_engine(&g))
        start_server(&g, &wishes);
    let_go(argc, argv);
    watch_over(&g);
    return 0;
}
