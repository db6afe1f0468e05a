/* serve.c - see serve.h. */
#include "serve.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"

enum {
    START_TRIES = 400,
    START_LOOK_MS = 50,
    FILES_BESIDE = 200, /* open files that are no connection of the bench */
    METRICS_SIZE = 1 << 20,
};

static pid_t group;

static void kill_group(void)
{
    if (group)
        kill(-group, SIGKILL);
}

pid_t serve_start(const char *holdfast, const char *config, const char *log, unsigned port)
{
    static bool is_first = true;
    char listen[32];
    const char *const command[] = { holdfast, "serve",       "-c",   config, "--listen",
                                    listen,   "--log-level", "warn", NULL };
    if (is_first)
        (void)atexit(kill_group);
    is_first = false;
    (void)setenv("HOLDFAST_MEASURE_TURNS", "1", 1);
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
    return group = start_apart(command, -1, -1, log);
}

void serve_stop(pid_t pid)
{
    kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    kill_group();
    group = 0;
}

void serve_connect(struct inlet *in, unsigned port)
{
    for (unsigned tries = 0; !inlet_open(in, port); tries++) {
        errno = 0;
        if (tries == START_TRIES)
            give_up("holdfast does not listen; its words are in its log");
        usleep(START_LOOK_MS * 1000);
    }
}

/* ---- requests ---- */

size_t serve_request(char text[REQUEST_SIZE], const struct door *door, const char *verb,
                     const char *id, const char *body)
{
    const int n = snprintf(
        text, REQUEST_SIZE,
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n%s%s%s%s%s%sContent-Length: %zu\r\n\r\n%s",
        verb, door->path, door->port, door->token ? "Authorization: Bearer " : "",
        door->token ? door->token : "", door->token ? "\r\n" : "", *id ? "Mcp-Session-Id: " : "",
        id, *id ? "\r\nMcp-Protocol-Version: 2025-06-18\r\n" : "", strlen(body), body);
    return (size_t)n;
}

void serve_ask(struct inlet *in, const struct door *door, const char *verb, const char *id,
               const char *body)
{
    char request[REQUEST_SIZE];
    const size_t n = serve_request(request, door, verb, id, body);
    errno = 0;
    if (!inlet_ask(in, request, n) || in->have < 10 || in->bytes[9] != '2') {
        fprintf(stderr, "bench: %s %s: %.*s\n", verb, door->path, (int)in->have, in->bytes);
        give_up("holdfast did not do what it was asked");
    }
}

void serve_open_session(struct inlet *in, const struct door *door, char ret_id[ID_SIZE])
{
    serve_ask(in, door, "POST", "", HELLO);
    const char *id = inlet_header(in, "mcp-session-id:");
    if (!id || sscanf(id, " %63[0-9a-zA-Z-]", ret_id) != 1)
        give_up("no session was made");
    serve_ask(in, door, "POST", ret_id, INITIALIZED);
}

int serve_open_stream(const struct door *door, const char *id)
{
    static struct inlet in;
    char request[REQUEST_SIZE];
    const size_t n = serve_request(request, door, "GET", id, "");
    if (!inlet_open(&in, door->port) || send(in.fd, request, n, 0) != (ssize_t)n)
        give_up("a stream");
    while (!inlet_head(&in))
        if (!inlet_read(&in))
            give_up("a stream");
    errno = 0;
    if (!inlet_header(&in, "content-type: text/event-stream"))
        give_up("a stream was refused");
    return in.fd;
}

/* ---- figures ---- */

/* All of /metrics, which is longer than an inlet. */
static const char *read_metrics(const struct door *door)
{
    static char text[METRICS_SIZE];
    static struct inlet in;
    const struct door metrics = { door->port, "/metrics", door->token };
    char request[REQUEST_SIZE];
    const size_t n = serve_request(request, &metrics, "GET", "", "");
    size_t have = 0, whole = 0;
    if (!inlet_open(&in, door->port) || send(in.fd, request, n, 0) != (ssize_t)n)
        give_up("/metrics");
    while (!whole || have < whole) {
        const ssize_t got = recv(in.fd, text + have, sizeof text - 1 - have, 0);
        if (got <= 0)
            give_up("/metrics");
        have += (size_t)got;
        text[have] = '\0';
        const char *head = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
        if (head && length)
            whole = (size_t)(head + 4 - text) + strtoul(length + 15, NULL, 10);
    }
    close(in.fd);
    return text;
}

static double figure(const char *metrics, const char *name)
{
    char line[128];
    (void)snprintf(line, sizeof line, "\nholdfast_%s ", name);
    const char *at = strstr(metrics, line);
    return at ? strtod(at + strlen(line), NULL) : 0;
}

struct turns serve_turns(const struct door *door)
{
    const char *metrics = read_metrics(door);
    return (struct turns) {
        .longest_ms = 1000 * figure(metrics, "loop_turn_cpu_seconds_max"),
        .longest_bytes = figure(metrics, "loop_turn_longest_bytes"),
        .too_long = figure(metrics, "loop_turns_too_long_total"),
        .over_5_ms = figure(metrics, "loop_turn_cpu_seconds_count") -
                     figure(metrics, "loop_turn_cpu_seconds_bucket{le=\"0.005\"}"),
    };
}

bool serve_allow_files(unsigned count)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        give_up("getrlimit");
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_max >= count + FILES_BESIDE;
}

double private_mb(pid_t pid)
{
    return (double)private_dirty_kb(pid) / 1024;
}
