/*
 * lookups.c - `make bench-scale`: does it cost more to find one among many?
 *
 * Subscriptions of one client, and an update that only one of them is for; a call of the last of
 * many tools, where whether it may be repeated is looked up; and names that were chosen to collide.
 * Time is the CPU time of the process of holdfast, without its server, which is many.c.
 *
 *   lookups HOLDFAST MANY SCRATCH
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"

enum {
    PATH_SIZE = 1024,
    TEXT_SIZE = 512,
    STEPS = 3,
    CALLS = 2000,
    UPDATES = 2000,
    NAMES = 100000,
    LIFE_S = 1800,
};

static const char *const subscriptions[STEPS] = { "1000", "3000", "10000" };
static const char *const tools[STEPS] = { "100", "5000", "50000" };

struct bench { /* one holdfast and its client */
    pid_t pid;
    int to;
    FILE *from;
    unsigned last_id, updates;
    char *line;
    size_t line_size;
};

static char **args; /* of the bench itself */
static pid_t group;

static void kill_group(void)
{
    if (group)
        kill(-group, SIGKILL);
}

/* ---- one holdfast ---- */

static void start(struct bench *bench, const char *const *command)
{
    char log[PATH_SIZE];
    int down[2], up[2];
    (void)snprintf(log, sizeof log, "%s/lookups.log", args[3]);
    *bench = (struct bench) { 0 };
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
        give_up("pipe");
    bench->pid = group = start_apart(command, down[0], up[1], log);
    bench->to = down[1];
    bench->from = fdopen(up[0], "r");
    close(down[0]);
    close(up[1]);
    if (!bench->from)
        give_up("fdopen");
}

static void stop(struct bench *bench)
{
    close(bench->to);
    (void)waitpid(bench->pid, NULL, 0);
    kill_group();
    group = 0;
    (void)fclose(bench->from);
    free(bench->line);
}

static void say(const struct bench *bench, const char *text)
{
    const size_t n = strlen(text);
    if (write(bench->to, text, n) != (ssize_t)n)
        give_up("holdfast closed its stdin; see lookups.log");
}

/* Returns when its answer came. Updates on the way are counted. */
static void ask(struct bench *bench, const char *method, const char *params)
{
    char text[TEXT_SIZE], answer[32];
    (void)snprintf(text, sizeof text,
                   "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":%s}\n",
                   ++bench->last_id, method, params);
    (void)snprintf(answer, sizeof answer, "\"id\":%u,", bench->last_id);
    say(bench, text);
    for (;;) {
        errno = 0;
        if (getline(&bench->line, &bench->line_size, bench->from) <= 0)
            give_up("holdfast ended; see lookups.log");
        bench->updates += strstr(bench->line, "resources/updated") != NULL;
        if (!strstr(bench->line, answer))
            continue;
        if (strstr(bench->line, "\"result\":"))
            return;
        fprintf(stderr, "bench: %s", bench->line);
        give_up("holdfast did not do what it was asked");
    }
}

static void greet(struct bench *bench)
{
    ask(bench, "initialize",
        "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":"
        "\"bench\",\"version\":\"1\"}}");
    say(bench, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    ask(bench, "tools/list", "{}");
}

static void start_run(struct bench *bench, const char *count)
{
    const char *const command[] = { args[1], "run", "--retry", "idempotent", "--log-level",
                                    "error", "--",  args[2],   count,        NULL };
    start(bench, command);
    greet(bench);
    wait_until_idle(bench->pid);
}

/* ---- rows ---- */

static void measure_subscriptions(const char *count_text)
{
    struct bench bench;
    char params[TEXT_SIZE];
    const unsigned count = (unsigned)atoi(count_text);
    start_run(&bench, "1");
    const uint64_t began = cpu_of_process(bench.pid);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(params, sizeof params, "{\"uri\":\"bench://resources/%u\"}", i);
        ask(&bench, "resources/subscribe", params);
    }
    const uint64_t subscribed = cpu_of_process(bench.pid);
    (void)snprintf(params, sizeof params,
                   "{\"name\":\"tell\",\"arguments\":{\"text\":\"bench://resources/%u\"}}",
                   count / 2);
    for (unsigned i = 0; i < UPDATES; i++)
        ask(&bench, "tools/call", params);
    const uint64_t updated = cpu_of_process(bench.pid);
    errno = 0;
    if (bench.updates != UPDATES)
        give_up("an update did not arrive, or arrived twice");
    printf("%-16s %9u %15.2f %14.1f %26.2f\n", "subscriptions", count,
           (double)(subscribed - began) / 1e9, (double)(subscribed - began) / 1000 / count,
           (double)(updated - subscribed) / 1000 / UPDATES);
    (void)fflush(stdout);
    stop(&bench);
}

static void measure_tools(const char *count_text)
{
    struct bench bench;
    char params[TEXT_SIZE];
    start_run(&bench, count_text);
    (void)snprintf(params, sizeof params, "{\"name\":\"tool%d\",\"arguments\":{}}",
                   atoi(count_text) - 1);
    const uint64_t began = cpu_of_process(bench.pid);
    for (unsigned i = 0; i < CALLS; i++)
        ask(&bench, "tools/call", params);
    const uint64_t ended = cpu_of_process(bench.pid);
    printf("%-16s %9s %15.2f %14.1f\n", "tools/call", count_text, (double)(ended - began) / 1e9,
           (double)(ended - began) / 1000 / CALLS);
    (void)fflush(stdout);
    stop(&bench);
}

/* From the start of holdfast until the whole list was shown to a client. */
static void measure_names(bool are_hostile)
{
    struct bench bench;
    char config[PATH_SIZE];
    const char *const command[] = { args[1], "stdio", "-c", config, "--log-level", "error", NULL };
    (void)snprintf(config, sizeof config, "%s/lookups.json", args[3]);
    FILE *file = fopen(config, "we");
    if (!file)
        give_up(config);
    fprintf(file, "{\"mcpServers\":{\"s\":{\"command\":\"%s\",\"args\":[\"%d\"%s]}}}\n", args[2],
            NAMES, are_hostile ? ",\"s__\"" : "");
    (void)fclose(file);
    start(&bench, command);
    greet(&bench);
    wait_until_idle(bench.pid);
    printf("%-16s %9d %15.2f\n", are_hostile ? "colliding names" : "usual names", NAMES,
           (double)cpu_of_process(bench.pid) / 1e9);
    (void)fflush(stdout);
    stop(&bench);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s HOLDFAST MANY SCRATCH\n", argv[0]);
        return 2;
    }
    args = argv;
    signal(SIGPIPE, SIG_IGN);
    (void)mkdir(argv[3], 0755);
    (void)atexit(kill_group);
    alarm(LIFE_S);
    printf("One among many, in holdfast run and holdfast stdio. CPU of holdfast alone.\n\n");
    printf("%-16s %9s %15s %14s %26s\n", "what", "how many", "CPU s of all", "us each",
           "a call with an update us");
    for (unsigned i = 0; i < STEPS; i++)
        measure_subscriptions(subscriptions[i]);
    for (unsigned i = 0; i < STEPS; i++)
        measure_tools(tools[i]);
    measure_names(false);
    measure_names(true);
    return 0;
}
