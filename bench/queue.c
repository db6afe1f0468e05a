/*
 * queue.c - `make bench-scale`: many calls that wait for one server when the client's stdin ends.
 *
 * The server is held back by a fifo before it reads its first byte. A client writes an initialize
 * and all its calls to `holdfast run`, closes its end, and only then the server is let go. Every
 * call is to be answered with its own text, once, and a call is to cost the same among 100,000 as
 * among 10,000. Time is the CPU time of the process of holdfast, without its server.
 *
 *   queue HOLDFAST ECHO SCRATCH            the table
 *   queue HOLDFAST ECHO SCRATCH COUNT [PAUSE_S]   one row; a pause before the server is let go, for
 * a profiler
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"

enum {
    PATH_SIZE = 1024,
    CALL_SIZE = 256,
    COUNT_MAX = 1000000,
    READ_SIZE = 1024 * 1024,
    REASONS_MAX = 8,
    REASON_SIZE = 48,
    LIFE_S = 3600,
    STEPS = 3,
};

static const unsigned counts[STEPS] = { 10000, 30000, 100000 };
static const double growth_max = 1.5; /* of the time of one call, between the steps */

struct reason { /* why calls failed */
    char text[REASON_SIZE];
    unsigned count;
};

struct row {
    double queue_us, answer_us, wall_s; /* CPU of each call; of each; from let go to the last */
    double rss_mb;
    unsigned results, failures;
    struct reason reasons[REASONS_MAX];
};

struct bench { /* one holdfast and its client */
    pid_t pid;
    int to, from;
    int level; /* a second end of the pipe into holdfast, which says how much it has not read */
    unsigned count, answered;
    bool *is_answered; /* by id */
    struct row *row;
};

static pid_t group;
static char in[READ_SIZE];
static size_t in_used;

static void kill_group(void)
{
    if (group)
        kill(-group, SIGKILL);
}

/* ---- answers ---- */

static void count_failure(struct row *row, const char *line, size_t n)
{
    static const char mark[] = "\"reason\":\"";
    const char *at = memmem(line, n, mark, sizeof mark - 1);
    char text[REASON_SIZE] = "no reason";
    if (at)
        (void)sscanf(at + sizeof mark - 1, "%47[^\"]", text);
    row->failures++;
    for (unsigned i = 0; i < REASONS_MAX; i++) {
        struct reason *reason = &row->reasons[i];
        if (reason->count && strcmp(reason->text, text) != 0)
            continue;
        memcpy(reason->text, text, sizeof text);
        reason->count++;
        return;
    }
}

static void take_line(struct bench *bench, const char *line, size_t n)
{
    char text[32];
    const char *at = memmem(line, n, "\"id\":", 5);
    const unsigned id = at ? (unsigned)strtoul(at + 5, NULL, 10) : 0;
    if (id == 0) /* initialize, or a notification */
        return;
    errno = 0;
    if (id > bench->count || bench->is_answered[id]) {
        fprintf(stderr, "bench: %.*s\n", (int)n, line);
        give_up("a call was answered twice, or was never made");
    }
    bench->is_answered[id] = true;
    bench->answered++;
    const int length = snprintf(text, sizeof text, "\"call %u\"", id);
    if (memmem(line, n, "\"result\":", 9) && memmem(line, n, text, (size_t)length))
        bench->row->results++;
    else
        count_failure(bench->row, line, n);
}

/* False: holdfast has closed its stdout. */
static bool read_answers(struct bench *bench)
{
    const ssize_t n = read(bench->from, in + in_used, sizeof in - in_used);
    if (n < 0)
        give_up("read");
    in_used += (size_t)n;
    const char *at = in;
    for (const char *end; (end = memchr(at, '\n', in_used - (size_t)(at - in))); at = end + 1)
        take_line(bench, at, (size_t)(end - at));
    in_used -= (size_t)(at - in);
    memmove(in, at, in_used);
    return n > 0;
}

/* ---- holdfast, and a server that waits ---- */

static void start_holdfast(struct bench *bench, char **argv, const char *fifo, const char *log)
{
    char most[16];
    int down[2], up[2];
    const char *const command[] = { argv[1],
                                    "run",
                                    "--max-waiting",
                                    most,
                                    "--log-level",
                                    "error",
                                    "--",
                                    "sh",
                                    "-c",
                                    "read -r go <\"$0\"; exec \"$1\" batch",
                                    fifo,
                                    argv[2],
                                    NULL };
    (void)snprintf(most, sizeof most, "%d", COUNT_MAX);
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
        give_up("pipe");
    bench->pid = group = start_apart(command, down[0], up[1], log);
    bench->level = down[0];
    bench->to = down[1];
    bench->from = up[0];
    close(up[1]);
}

static void make_fifo(const char *path)
{
    (void)unlink(path);
    if (mkfifo(path, 0600) != 0)
        give_up(path);
}

static void let_go(const char *fifo)
{
    const int fd = open(fifo, O_WRONLY | O_CLOEXEC); /* returns once the server waits there */
    if (fd < 0 || write(fd, "\n", 1) != 1)
        give_up(fifo);
    close(fd);
}

/* ---- the client ---- */

static char *make_calls(unsigned count, size_t *ret_length)
{
    static const char hello[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
        "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    char *text = malloc(sizeof hello + (size_t)count * CALL_SIZE);
    if (!text)
        give_up("malloc");
    size_t n = sizeof hello - 1;
    memcpy(text, hello, n);
    for (unsigned id = 1; id <= count; id++)
        n += (size_t)snprintf(text + n, CALL_SIZE,
                              "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":"
                              "{\"name\":\"echo\",\"arguments\":{\"text\":\"call %u\"}}}\n",
                              id, id);
    *ret_length = n;
    return text;
}

static void write_some(int fd, const char **at, const char *end)
{
    const ssize_t n = write(fd, *at, (size_t)(end - *at));
    if (n < 0 && errno != EAGAIN)
        give_up("holdfast closed its stdin");
    if (n > 0)
        *at += n;
}

/* Returns when holdfast has read everything, and has nothing left to do. */
static void write_calls(struct bench *bench)
{
    size_t length;
    char *text = make_calls(bench->count, &length);
    const char *at = text, *end = text + length;
    int unread = 1;
    (void)fcntl(bench->to, F_SETFL, O_NONBLOCK);
    while (at < end || unread) {
        struct pollfd fds[] = { { .fd = bench->from, .events = POLLIN },
                                { .fd = at < end ? bench->to : -1, .events = POLLOUT } };
        if (poll(fds, 2, at < end ? -1 : 1) < 0)
            give_up("poll");
        if (fds[0].revents && !read_answers(bench))
            give_up("holdfast ended while it was written to");
        if (fds[1].revents)
            write_some(bench->to, &at, end);
        if (ioctl(bench->level, FIONREAD, &unread) != 0)
            give_up("FIONREAD");
    }
    free(text);
    wait_until_idle(bench->pid);
}

static void end_stdin(struct bench *bench)
{
    close(bench->to);
    close(bench->level);
    wait_until_idle(bench->pid);
}

/* Until holdfast ends; returns when the last answer came. */
static uint64_t read_to_the_end(struct bench *bench)
{
    uint64_t last_ns = clock_ns();
    for (unsigned before = bench->answered; read_answers(bench); before = bench->answered)
        if (bench->answered != before)
            last_ns = clock_ns();
    return last_ns;
}

/* ---- measuring ---- */

static uint64_t wait_for_end(pid_t pid, double *ret_rss_mb)
{
    siginfo_t info;
    struct rusage used;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0)
        give_up("waitid");
    const uint64_t cpu = cpu_of_process(pid); /* without its children, which rusage counts in */
    (void)wait4(pid, NULL, 0, &used);
    kill_group(); /* whatever it left behind */
    group = 0;
    *ret_rss_mb = (double)used.ru_maxrss / 1024;
    return cpu;
}

static void measure(char **argv, unsigned count, unsigned pause_s, struct row *row)
{
    char fifo[PATH_SIZE], log[PATH_SIZE];
    struct bench bench = { .count = count, .row = row };
    *row = (struct row) { 0 };
    (void)snprintf(fifo, sizeof fifo, "%s/queue.fifo", argv[3]);
    (void)snprintf(log, sizeof log, "%s/queue.log", argv[3]);
    bench.is_answered = calloc(count + 1, sizeof *bench.is_answered);
    if (!bench.is_answered)
        give_up("calloc");
    make_fifo(fifo);
    in_used = 0;
    start_holdfast(&bench, argv, fifo, log);
    write_calls(&bench);
    end_stdin(&bench);
    if (pause_s) {
        fprintf(stderr, "%u calls wait; holdfast is process %d\n", count, (int)bench.pid);
        sleep(pause_s);
    }
    const uint64_t queued = cpu_of_process(bench.pid), began = clock_ns();
    let_go(fifo);
    const uint64_t last_ns = read_to_the_end(&bench);
    const uint64_t cpu = wait_for_end(bench.pid, &row->rss_mb);
    row->queue_us = (double)queued / 1000 / count;
    row->answer_us = (double)(cpu - queued) / 1000 / count;
    row->wall_s = (double)(last_ns - began) / 1e9;
    close(bench.from);
    free(bench.is_answered);
    (void)unlink(fifo);
}

/* ---- telling ---- */

static void print_head(void)
{
    printf("Calls that wait for one server when the client's stdin ends, in holdfast run. CPU of "
           "holdfast alone.\n\n");
    printf("%9s %9s %9s %15s %16s %14s %13s\n", "calls", "results", "failures", "queue us each",
           "answer us each", "answer wall s", "RSS at most MB");
    (void)fflush(stdout);
}

static void print_row(unsigned count, const struct row *row)
{
    printf("%9u %9u %9u %15.2f %16.2f %14.2f %13.1f\n", count, row->results, row->failures,
           row->queue_us, row->answer_us, row->wall_s, row->rss_mb);
    for (unsigned i = 0; i < REASONS_MAX && row->reasons[i].count; i++)
        printf("%9s %u failed: %s\n", "", row->reasons[i].count, row->reasons[i].text);
    if (row->results + row->failures < count)
        printf("%9s %u were NEVER ANSWERED\n", "", count - row->results - row->failures);
    (void)fflush(stdout);
}

static int print_all(char **argv)
{
    struct row rows[STEPS];
    bool is_whole = true;
    print_head();
    for (unsigned i = 0; i < STEPS; i++) {
        measure(argv, counts[i], 0, &rows[i]);
        print_row(counts[i], &rows[i]);
        is_whole &= rows[i].results == counts[i];
    }
    const double first = rows[0].queue_us + rows[0].answer_us;
    const double last = rows[STEPS - 1].queue_us + rows[STEPS - 1].answer_us;
    printf("\nEvery call is answered with its result (target): %s\n", is_whole ? "met" : "NOT MET");
    printf("A call among %u costs %.1f times as much as among %u (target: at most %.1f): %s\n",
           counts[STEPS - 1], last / first, counts[0], growth_max,
           last / first <= growth_max ? "met" : "NOT MET");
    return 0;
}

static int print_one(int argc, char **argv)
{
    struct row row;
    const int count = atoi(argv[4]);
    errno = 0;
    if (count < 1 || count > COUNT_MAX)
        give_up("COUNT is 1 to 1000000");
    measure(argv, (unsigned)count, argc == 6 ? (unsigned)atoi(argv[5]) : 0, &row);
    print_head();
    print_row((unsigned)count, &row);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: %s HOLDFAST ECHO SCRATCH [COUNT [PAUSE_S]]\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    (void)mkdir(argv[3], 0755);
    (void)atexit(kill_group);
    alarm(LIFE_S);
    return argc == 4 ? print_all(argv) : print_one(argc, argv);
}
