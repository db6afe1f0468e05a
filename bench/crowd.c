/*
 * crowd.c - `make bench-scale`: many sessions of `holdfast serve` that want the same at once.
 *
 * waiting   each session has one call at a server that takes one at a time, and is stopped until
 *           all of them wait; then they are served
 * told      each session has a stream open, and the list of the server changes once
 * updated   each session has a stream open and follows the same resource, which changes once
 *
 * Time is the CPU time of the process of holdfast, without its server. Beside it stands how long
 * the longest turn of its event loop was, and how many took more than 5 ms, of CPU time.
 *
 *   crowd HOLDFAST ECHO MANY SCRATCH                the table
 *   crowd HOLDFAST ECHO MANY SCRATCH KIND COUNT     one row. KIND: waiting, told,
 * updated
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"
#include "serve.h"

enum { STEPS = 3, COUNT_MAX = 9000, LIFE_S = 900 };

static const unsigned counts[STEPS] = { 1000, 3000, 5000 };

enum kind { WAITING, TOLD, UPDATED, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = { "waiting", "told", "updated" };

struct row {
    double first_us, then_us; /* CPU for each session: to wait, and to be served; then to be told */
    double longest_ms, long_turns;
};

struct member { /* of the crowd */
    char id[ID_SIZE];
    int fd; /* its call, or its stream */
};

static char **args;
static struct door door = { .path = "/mcp" };

static pid_t start(enum kind kind)
{
    char config[PATH_SIZE], log[PATH_SIZE];
    (void)snprintf(config, sizeof config, "%s/crowd.json", args[4]);
    (void)snprintf(log, sizeof log, "%s/crowd.log", args[4]);
    FILE *file = fopen(config, "we");
    if (!file)
        give_up(config);
    fprintf(file,
            "{\"mcpServers\":{\"s\":{\"command\":\"%s\",\"args\":[\"%s\"],\"maxInFlight\":1,"
            "\"maxWaiting\":100000}},\"holdfast\":{\"maxSessions\":100000}}\n",
            kind == WAITING ? args[2] : args[3], kind == WAITING ? "each" : "3");
    (void)fclose(file);
    door.port = free_port();
    return serve_start(args[1], config, log, door.port);
}

/* Reads until the text has come. */
static void expect(int fd, const char *text)
{
    static struct inlet in;
    in.fd = fd;
    in.have = 0;
    while (!memmem(in.bytes, in.have, text, strlen(text)))
        if (!inlet_read(&in)) {
            fprintf(stderr, "bench: %.*s\n", (int)in.have, in.bytes);
            give_up("what was to come did not come");
        }
}

static void send_call(struct member *member, unsigned number)
{
    static struct inlet in;
    char request[REQUEST_SIZE], body[256];
    (void)snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"s__echo\",\"arguments\":{\"text\":\"call %u\"}}}",
                   number, number);
    const size_t n = serve_request(request, &door, "POST", member->id, body);
    if (!inlet_open(&in, door.port) || send(in.fd, request, n, 0) != (ssize_t)n)
        give_up("a call");
    member->fd = in.fd;
}

static void wait_and_be_served(struct row *row, pid_t pid, struct member *crowd, unsigned count)
{
    const pid_t server = only_child(only_child(pid));
    char text[32];
    const uint64_t began = cpu_of_process(pid);
    kill(server, SIGSTOP);
    for (unsigned i = 0; i < count; i++)
        send_call(&crowd[i], i);
    wait_until_idle(pid);
    const uint64_t waiting = cpu_of_process(pid);
    kill(server, SIGCONT);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "\"call %u\"", i);
        expect(crowd[i].fd, text);
    }
    row->first_us = (double)(waiting - began) / 1000 / count;
    row->then_us = (double)(cpu_of_process(pid) - waiting) / 1000 / count;
}

static void open_streams(struct inlet *in, enum kind kind, struct member *crowd, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        crowd[i].fd = serve_open_stream(&door, crowd[i].id);
        if (kind == UPDATED)
            serve_ask(in, &door, "POST", crowd[i].id,
                      "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
                      "\"params\":{\"uri\":\"bench://one\"}}");
    }
}

/* The call makes the server say something that is for all of them. */
static void be_told(struct row *row, pid_t pid, struct inlet *in, enum kind kind,
                    struct member *crowd, unsigned count)
{
    char call[256];
    (void)snprintf(call, sizeof call,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"s__tool0\",\"arguments\":{\"text\":\"%s\"}}}",
                   kind == TOLD ? "grow" : "bench://one");
    const uint64_t began = cpu_of_process(pid);
    open_streams(in, kind, crowd, count);
    wait_until_idle(pid);
    const uint64_t open = cpu_of_process(pid);
    serve_ask(in, &door, "POST", crowd[0].id, call);
    for (unsigned i = 0; i < count; i++)
        expect(crowd[i].fd, kind == TOLD ? "tools/list_changed" : "resources/updated");
    row->first_us = (double)(open - began) / 1000 / count;
    row->then_us = (double)(cpu_of_process(pid) - open) / 1000 / count;
}

static struct row measure(enum kind kind, unsigned count)
{
    static struct inlet in;
    struct row row = { 0 };
    struct member *crowd = calloc(count, sizeof *crowd);
    if (!crowd)
        give_up("calloc");
    const pid_t pid = start(kind);
    serve_connect(&in, door.port);
    for (unsigned i = 0; i < count; i++)
        serve_open_session(&in, &door, crowd[i].id);
    wait_until_idle(pid);
    const double before = serve_turns(&door).over_5_ms;
    if (kind == WAITING)
        wait_and_be_served(&row, pid, crowd, count);
    else
        be_told(&row, pid, &in, kind, crowd, count);
    const struct turns turns = serve_turns(&door);
    row.longest_ms = turns.longest_ms;
    row.long_turns = turns.over_5_ms - before;
    for (unsigned i = 0; i < count; i++)
        close(crowd[i].fd);
    close(in.fd);
    free(crowd);
    serve_stop(pid);
    return row;
}

static void print_head(void)
{
    printf("Many sessions of holdfast serve at once. CPU of holdfast alone, for each session:\n"
           "waiting: until its call waits, and until it is answered; the others: until its "
           "stream is open, and until it has heard of a change.\n\n");
    printf("%-9s %9s %9s %9s %17s %16s\n", "kind", "sessions", "first us", "then us",
           "longest turn ms", "turns over 5 ms");
    (void)fflush(stdout);
}

static void print_row(enum kind kind, unsigned count)
{
    const struct row row = measure(kind, count);
    printf("%-9s %9u %9.1f %9.1f %17.1f %16.0f\n", kind_names[kind], count, row.first_us,
           row.then_us, row.longest_ms, row.long_turns);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 7) {
        fprintf(stderr, "usage: %s HOLDFAST ECHO MANY SCRATCH [KIND COUNT]\n", argv[0]);
        return 2;
    }
    args = argv;
    signal(SIGPIPE, SIG_IGN);
    (void)mkdir(argv[4], 0755);
    alarm(LIFE_S);
    const int count = argc == 7 ? atoi(argv[6]) : (int)counts[STEPS - 1];
    errno = 0;
    if (count < 1 || count > COUNT_MAX || !serve_allow_files((unsigned)count))
        give_up("COUNT is 1 to 9000, and as many open files must be allowed");
    print_head();
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (argc == 7 && !strcmp(argv[5], kind_names[kind]))
            print_row(kind, (unsigned)count);
        for (unsigned i = 0; argc == 5 && i < STEPS; i++)
            print_row(kind, counts[i]);
    }
    return 0;
}
