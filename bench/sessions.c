/*
 * sessions.c - `make bench-scale`: what it costs to open and to close many sessions of
 * `holdfast serve` in front of eight servers, and whether one costs the same among 10,000 as it
 * does among 1,000.
 *
 * Sessions are opened one after the other with initialize and notifications/initialized, all kept,
 * and then closed by DELETE in the order in which they came. Each row has a holdfast of its own.
 * Time is the CPU time of the process of holdfast, without its servers.
 *
 *   sessions HOLDFAST ECHO SCRATCH                        the table
 *   sessions HOLDFAST ECHO SCRATCH KIND COUNT [PAUSE_S]   one row; a pause before the closing, for
 * a profiler. KIND: plain, streaming, subscribed
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"
#include "serve.h"

enum {
    SERVERS = 8,
    COUNT_MAX = 100000,
    LIFE_S = 1800,
    STEPS = 3,
};

static const double growth_max = 1.5; /* of the time of one session, between the steps */

enum kind {
    PLAIN,      /* at the endpoint of all servers */
    STREAMING,  /* with the stream of its GET open */
    SUBSCRIBED, /* at the endpoint of one server, subscribed to a resource of its own */
    KIND_COUNT,
};
/* A stream is a connection, and of those serve takes 10,000 with the one that asks. */
static const unsigned counts[KIND_COUNT][STEPS] = { { 1000, 3000, 10000 },
                                                    { 1000, 3000, 9000 },
                                                    { 1000, 3000, 10000 } };
static const char *const kind_names[KIND_COUNT] = { "plain", "streaming", "subscribed" };

struct row {
    double open_us, close_us, close_s; /* of each session; of each; of all, on the clock */
    double rss_mb;
};

struct session {
    char id[ID_SIZE];
    int stream; /* -1: none */
};

static unsigned port;
/* ---- holdfast ---- */

static void write_config(const char *path, const char *echo)
{
    FILE *file = fopen(path, "we");
    if (!file)
        give_up(path);
    fprintf(file, "{\"mcpServers\":{");
    for (unsigned i = 0; i < SERVERS; i++)
        fprintf(file, "%s\"s%u\":{\"command\":\"%s\",\"args\":[\"each\"]}", i ? "," : "", i, echo);
    fprintf(file, "},\"holdfast\":{\"maxSessions\":%d}}\n", COUNT_MAX + 1);
    fclose(file);
}

static pid_t start_holdfast(char **argv)
{
    char config[PATH_SIZE], log[PATH_SIZE];
    (void)snprintf(config, sizeof config, "%s/sessions.json", argv[3]);
    (void)snprintf(log, sizeof log, "%s/sessions.log", argv[3]);
    write_config(config, argv[2]);
    return serve_start(argv[1], config, log, port);
}

/* ---- requests ---- */

static struct door door_of(enum kind kind, unsigned i)
{
    static const char *const own[SERVERS] = { "/mcp/s0", "/mcp/s1", "/mcp/s2", "/mcp/s3",
                                              "/mcp/s4", "/mcp/s5", "/mcp/s6", "/mcp/s7" };
    return (struct door) { port, kind == SUBSCRIBED ? own[i % SERVERS] : "/mcp", NULL };
}

static void open_session(struct inlet *in, enum kind kind, unsigned i, struct session *session)
{
    char body[256];
    const struct door door = door_of(kind, i);
    serve_open_session(in, &door, session->id);
    session->stream = kind == STREAMING ? serve_open_stream(&door, session->id) : -1;
    if (kind != SUBSCRIBED)
        return;
    (void)snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{"
                   "\"uri\":\"bench:/%u\"}}",
                   i);
    serve_ask(in, &door, "POST", session->id, body);
}

/* Connected to a holdfast all of whose servers are there. */
static void wait_for_servers(struct inlet *in)
{
    struct session session;
    char last[16];
    const struct door door = door_of(PLAIN, 0);
    serve_connect(in, port);
    serve_open_session(in, &door, session.id);
    serve_ask(in, &door, "POST", session.id,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    for (unsigned i = 0; i < SERVERS; i++) {
        (void)snprintf(last, sizeof last, "\"s%u", i);
        errno = 0;
        if (!inlet_has_result(in, last))
            give_up("a server did not start; see sessions.log");
    }
    serve_ask(in, &door, "DELETE", session.id, "");
}

/* ---- measuring ---- */

static void close_all(struct inlet *in, enum kind kind, const struct session *sessions,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct door door = door_of(kind, i);
        serve_ask(in, &door, "DELETE", sessions[i].id, "");
    }
}

static struct row measure(char **argv, enum kind kind, unsigned count, unsigned pause_s)
{
    static struct inlet in;
    port = free_port();
    const pid_t pid = start_holdfast(argv);
    struct session *sessions = calloc(count, sizeof *sessions);
    if (!sessions)
        give_up("calloc");
    wait_for_servers(&in);
    wait_until_idle(pid);
    const uint64_t began = cpu_of_process(pid);
    for (unsigned i = 0; i < count; i++)
        open_session(&in, kind, i, &sessions[i]);
    wait_until_idle(pid);
    struct row row = { .rss_mb = private_mb(pid) };
    if (pause_s) {
        fprintf(stderr, "%u sessions are open; holdfast is process %d\n", count, (int)pid);
        sleep(pause_s);
    }
    const uint64_t opened = cpu_of_process(pid), clock = clock_ns();
    close_all(&in, kind, sessions, count);
    row.close_s = (double)(clock_ns() - clock) / 1e9;
    wait_until_idle(pid);
    const uint64_t closed = cpu_of_process(pid);
    row.open_us = (double)(opened - began) / 1000 / count;
    row.close_us = (double)(closed - opened) / 1000 / count;
    for (unsigned i = 0; i < count; i++)
        if (sessions[i].stream >= 0)
            close(sessions[i].stream);
    free(sessions);
    close(in.fd);
    serve_stop(pid);
    return row;
}

/* ---- telling ---- */

static void print_head(void)
{
    printf("Sessions of holdfast serve with %d servers, opened and then closed by DELETE. CPU of "
           "holdfast alone.\n\n",
           SERVERS);
    printf("%-11s %9s %14s %15s %13s %12s %18s\n", "kind", "sessions", "open us each",
           "close us each", "close CPU s", "close wall s", "private dirty MB");
    (void)fflush(stdout);
}

static void print_row(enum kind kind, unsigned count, const struct row *row)
{
    printf("%-11s %9u %14.1f %15.1f %13.2f %12.2f %18.1f\n", kind_names[kind], count, row->open_us,
           row->close_us, row->close_us * count / 1e6, row->close_s, row->rss_mb);
    (void)fflush(stdout);
}

static void print_target(enum kind kind, const char *what, double first, double last)
{
    printf("%s: to %s one among %u costs %.1f times as much as among %u (target: at most %.1f): "
           "%s\n",
           kind_names[kind], what, counts[kind][STEPS - 1], last / first, counts[kind][0],
           growth_max, last / first <= growth_max ? "met" : "NOT MET");
}

static int print_all(char **argv)
{
    struct row rows[KIND_COUNT][STEPS];
    bool was_measured[KIND_COUNT] = { false };
    print_head();
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        was_measured[kind] = kind != STREAMING || serve_allow_files(counts[kind][STEPS - 1]);
        if (!was_measured[kind])
            printf("%s: left out, this process may not open so many files\n", kind_names[kind]);
        for (unsigned i = 0; was_measured[kind] && i < STEPS; i++) {
            rows[kind][i] = measure(argv, kind, counts[kind][i], 0);
            print_row(kind, counts[kind][i], &rows[kind][i]);
        }
    }
    printf("\n");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct row *first = &rows[kind][0], *last = &rows[kind][STEPS - 1];
        if (!was_measured[kind])
            continue;
        print_target(kind, "open", first->open_us, last->open_us);
        print_target(kind, "close", first->close_us, last->close_us);
    }
    return 0;
}

static int print_one(int argc, char **argv)
{
    enum kind kind = 0;
    const unsigned count = (unsigned)atoi(argv[5]);
    while (kind < KIND_COUNT && strcmp(kind_names[kind], argv[4]) != 0)
        kind++;
    errno = 0;
    if (kind == KIND_COUNT || count < 1 || count > COUNT_MAX || !serve_allow_files(0))
        give_up("KIND is plain, streaming or subscribed; COUNT 1 to 100000");
    const struct row row = measure(argv, kind, count, argc == 7 ? (unsigned)atoi(argv[6]) : 0);
    print_head();
    print_row(kind, count, &row);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6 && argc != 7) {
        fprintf(stderr, "usage: %s HOLDFAST ECHO SCRATCH [KIND COUNT [PAUSE_S]]\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    (void)mkdir(argv[3], 0755);
    alarm(LIFE_S);
    return argc == 4 ? print_all(argv) : print_one(argc, argv);
}
