/*
 * attackers.c - five attackers at once against one `holdfast serve`, and a client beside them that
 * wants to be served as if they were not there.
 *
 * bodies      50 connections without a token that send endless bodies
 * batches     one token, whose batches of calls are never answered: 400,000 of them, if they are
 *             let in
 * silence     10,000 connections that say nothing
 * collisions  a server of 20,000 tools whose names collide, listed again and again
 * changes     a server whose list is another one at each look
 *
 * The client has a token and a server of its own, and one call in flight. Each of its calls must
 * succeed. Printed: how long they took, beside how long they took before the attackers came; the
 * longest turn of the event loop by CPU time; and the most memory that holdfast ever had, beside
 * maxBufferedBytes and 32 MB.
 *
 *   attackers HOLDFAST ECHO MANY SCRATCH [SECONDS [NAME ...]]   only those of these names
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"
#include "serve.h"

enum {
    SECONDS = 10,
    QUIET_S = 3,
    LIFE_S = 300,
    BODIES = 50,
    SILENT = 10000,
    CALLS_A_BATCH = 100, /* no more are taken at once */
    BATCHES = 4000,
    NAMES = 20000,
    CHUNK = 64 * 1024,
    BUFFERED_MB = 256, /* maxBufferedBytes */
    BESIDE_MB = 32,
    TOKEN_SIZE = 96,
};

struct token {
    char secret[TOKEN_SIZE], hash[TOKEN_SIZE];
};

static char **args;
static unsigned port;
static struct token client_token, attackers_token;
static struct door client_door(void)
{
    return (struct door) { port, "/mcp/mine", client_token.secret };
}

static struct door attackers_door(const char *path)
{
    return (struct door) { port, path, attackers_token.secret };
}

/* ---- holdfast ---- */

static struct token make_token(void)
{
    struct token token;
    char command[PATH_SIZE];
    (void)snprintf(command, sizeof command, "%s token --name x 2>&1", args[1]);
    FILE *from = popen(command, "re");
    if (!from || fscanf(from, "%95s", token.secret) != 1)
        give_up("holdfast token");
    char line[PATH_SIZE];
    token.hash[0] = '\0';
    while (fgets(line, sizeof line, from)) {
        const char *at = strstr(line, "sha256:");
        if (at)
            (void)sscanf(at, "%95[^\"]", token.hash);
    }
    (void)pclose(from);
    return token;
}

static pid_t start(void)
{
    char config[PATH_SIZE], log[PATH_SIZE];
    (void)snprintf(config, sizeof config, "%s/attackers.json", args[4]);
    (void)snprintf(log, sizeof log, "%s/attackers.log", args[4]);
    client_token = make_token();
    attackers_token = make_token();
    FILE *file = fopen(config, "we");
    if (!file)
        give_up(config);
    fprintf(file,
            "{\"mcpServers\":{\"mine\":{\"command\":\"%s\",\"args\":[\"each\"]},"
            "\"hang\":{\"command\":\"%s\",\"args\":[\"1\"]},"
            "\"collide\":{\"command\":\"%s\",\"args\":[\"%d\",\"collide__\"]},"
            "\"change\":{\"command\":\"%s\",\"args\":[\"100\"]}},"
            "\"holdfast\":{\"maxBufferedBytes\":%d,\"tokens\":["
            "{\"name\":\"client\",\"hash\":\"%s\",\"servers\":[\"mine\"]},"
            "{\"name\":\"attackers\",\"hash\":\"%s\",\"servers\":[\"hang\",\"collide\",\"change\"]}"
            "]}}\n",
            args[2], args[3], args[3], NAMES, args[3], BUFFERED_MB << 20, client_token.hash,
            attackers_token.hash);
    (void)fclose(file);
    port = free_port();
    return serve_start(args[1], config, log, port);
}

/* ---- attackers: each in a process of its own, until it is killed ---- */

/* Sends and reads what it can without waiting; false: the other end closed. */
static bool send_some(int fd, const char *text, size_t n, size_t *sent)
{
    static char dump[CHUNK];
    const ssize_t got = recv(fd, dump, sizeof dump, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        return false;
    const ssize_t done = send(fd, text + *sent, n - *sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0)
        return errno == EAGAIN;
    *sent += (size_t)done;
    return true;
}

static void send_bodies(void)
{
    static struct inlet in;
    static char chunk[CHUNK];
    struct pollfd fds[BODIES];
    char head[REQUEST_SIZE];
    const int head_n = snprintf(head, sizeof head,
                                "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
                                "application/json\r\nContent-Length: 60000000\r\n\r\n",
                                port);
    memset(chunk, ' ', sizeof chunk);
    for (int i = 0; i < BODIES; i++)
        fds[i] = (struct pollfd) { .fd = -1, .events = POLLOUT };
    for (;;) {
        for (int i = 0; i < BODIES; i++) {
            size_t sent = 0;
            if (fds[i].fd < 0 && inlet_open(&in, port)) {
                fds[i].fd = in.fd;
                (void)send(in.fd, head, (size_t)head_n, MSG_NOSIGNAL);
            }
            if (fds[i].fd >= 0 && !send_some(fds[i].fd, chunk, sizeof chunk, &sent)) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
        }
        (void)poll(fds, BODIES, 10);
    }
}

static char *make_batch(unsigned first, size_t *ret_n)
{
    enum { CALL_SIZE = 160 };
    char *text = malloc((size_t)CALLS_A_BATCH * CALL_SIZE);
    size_t n = 0;
    if (!text)
        give_up("malloc");
    for (unsigned i = 0; i < CALLS_A_BATCH; i++)
        n += (size_t)snprintf(text + n, CALL_SIZE,
                              "%c{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\","
                              "\"params\":{\"name\":\"tool0\",\"arguments\":{\"text\":\"hang\"}}}",
                              i ? ',' : '[', first + i);
    text[n++] = ']';
    *ret_n = n;
    return text;
}

static const char old_hello[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-03-26\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}";

/* Batches are of the revision 2025-03-26. */
static void send_batches(void)
{
    static struct inlet in;
    const struct door door = attackers_door("/mcp/hang");
    char head[REQUEST_SIZE], id[ID_SIZE] = "";
    serve_connect(&in, port);
    serve_ask(&in, &door, "POST", "", old_hello);
    const char *given = inlet_header(&in, "mcp-session-id:");
    if (!given || sscanf(given, " %63[0-9a-zA-Z-]", id) != 1)
        give_up("no session was made");
    for (unsigned i = 0; i < BATCHES; i++) {
        size_t n, sent = 0;
        char *text = make_batch(1 + i * CALLS_A_BATCH, &n);
        const int head_n =
            snprintf(head, sizeof head,
                     "POST /mcp/hang HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nAccept: application/json, "
                     "text/event-stream\r\nMcp-Session-Id: %s\r\nContent-Length: %zu\r\n\r\n",
                     port, door.token, id, n);
        if (inlet_open(&in, port) &&
            send(in.fd, head, (size_t)head_n, MSG_NOSIGNAL) == (ssize_t)head_n)
            while (sent < n && send_some(in.fd, text, n, &sent))
                (void)poll(&(struct pollfd) { .fd = in.fd, .events = POLLOUT }, 1, 100);
        free(text);
    }
    pause();
}

static void be_silent(void)
{
    static struct inlet in;
    static int fds[SILENT];
    char byte;
    for (int i = 0; i < SILENT; i++)
        fds[i] = -1;
    for (;; usleep(10000))
        for (int i = 0; i < SILENT; i++) {
            if (fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0) {
                close(fds[i]);
                fds[i] = -1;
            }
            if (fds[i] < 0 && inlet_open(&in, port))
                fds[i] = in.fd;
        }
}

/* Asks and asks; whatever is answered is welcome. */
static void ask_for_ever(const char *path, const char *first, const char *body)
{
    static char dump[1 << 20];
    static struct inlet in;
    const struct door door = attackers_door(path);
    char id[ID_SIZE], request[REQUEST_SIZE];
    serve_connect(&in, port);
    serve_open_session(&in, &door, id);
    if (first)
        serve_ask(&in, &door, "POST", id, first);
    const size_t n = serve_request(request, &door, "POST", id, body);
    for (;;) {
        if (in.fd < 0 && !inlet_open(&in, port))
            continue;
        if (send(in.fd, request, n, MSG_NOSIGNAL) != (ssize_t)n ||
            recv(in.fd, dump, sizeof dump, 0) <= 0) {
            close(in.fd);
            in.fd = -1;
        }
    }
}

#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}"

static void list_collisions(void)
{
    ask_for_ever("/mcp", NULL, LIST);
}

static void list_changes(void)
{
    ask_for_ever("/mcp/change",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"tool0\",\"arguments\":{\"text\":\"restless\"}}}",
                 LIST);
}

static const struct attacker {
    const char *name;
    void (*attack)(void);
} attackers[] = {
    { "bodies", send_bodies },         { "batches", send_batches }, { "silence", be_silent },
    { "collisions", list_collisions }, { "changes", list_changes },
};
enum { ATTACKERS = sizeof attackers / sizeof *attackers };

static bool is_wanted(const char *name, int argc, char **argv)
{
    bool is_named = argc <= 6;
    for (int i = 6; i < argc; i++)
        is_named |= !strcmp(argv[i], name);
    return is_named;
}

static pid_t set_on(const struct attacker *attacker)
{
    const pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0) {
        alarm(LIFE_S);
        attacker->attack();
        _exit(0);
    }
    return pid;
}

/* ---- the client ---- */

struct served {
    struct latencies times;
    unsigned calls, failures;
    double longest_ms;
    char failure[512]; /* the first one */
};

static void call_for(struct served *served, struct inlet *in, const char *id, unsigned seconds)
{
    const struct door door = client_door();
    char request[REQUEST_SIZE], body[256], text[32];
    const uint64_t end = clock_ns() + (uint64_t)seconds * 1000000000u;
    latencies_init(&served->times);
    while (clock_ns() < end) {
        const unsigned number = ++served->calls;
        (void)snprintf(text, sizeof text, "call %u", number);
        (void)snprintf(body, sizeof body,
                       "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"echo\",\"arguments\":{\"text\":\"%s\"}}}",
                       number, text);
        const size_t n = serve_request(request, &door, "POST", id, body);
        const uint64_t began = clock_ns();
        const bool came = inlet_ask(in, request, n);
        const double ms = (double)(clock_ns() - began) / 1e6;
        latencies_add(&served->times, clock_ns() - began);
        if (ms > served->longest_ms)
            served->longest_ms = ms;
        if (came && inlet_has_result(in, text))
            continue;
        if (!served->failures++)
            (void)snprintf(served->failure, sizeof served->failure, "%.*s",
                           came ? (int)in->have : 0, in->bytes);
        if (!came)
            serve_connect(in, port);
    }
}

static void print_served(const char *when, const struct served *served)
{
    printf("%-10s %8u calls, %u failed; ms: median %.2f, 99 of 100 below %.2f, longest %.1f\n",
           when, served->calls, served->failures, latencies_us(&served->times, 0.5) / 1000,
           latencies_us(&served->times, 0.99) / 1000, served->longest_ms);
    if (served->failures)
        printf("the first that failed: %s\n", served->failure);
    (void)fflush(stdout);
}

static double most_memory_mb(pid_t pid)
{
    char path[64], line[256];
    long kb = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        (void)sscanf(line, "VmHWM: %ld kB", &kb);
    if (!file || fclose(file) != 0)
        give_up(path);
    return (double)kb / 1024;
}

int main(int argc, char **argv)
{
    static struct inlet in;
    static struct served quiet, beside;
    pid_t pids[ATTACKERS];
    unsigned count = 0;
    char id[ID_SIZE];
    if (argc < 5) {
        fprintf(stderr, "usage: %s HOLDFAST ECHO MANY SCRATCH [SECONDS [NAME ...]]\n", argv[0]);
        return 2;
    }
    args = argv;
    signal(SIGPIPE, SIG_IGN);
    (void)mkdir(argv[4], 0755);
    alarm(LIFE_S);
    errno = 0;
    if (!serve_allow_files(SILENT))
        give_up("10,200 open files must be allowed");
    const pid_t pid = start();
    const struct door door = client_door();
    serve_connect(&in, port);
    serve_open_session(&in, &door, id);
    wait_until_idle(pid);
    const struct turns before = serve_turns(&door);
    call_for(&quiet, &in, id, QUIET_S);
    print_served("alone", &quiet);
    for (unsigned i = 0; i < ATTACKERS; i++)
        if (is_wanted(attackers[i].name, argc, argv))
            pids[count++] = set_on(&attackers[i]);
    call_for(&beside, &in, id, argc > 5 ? (unsigned)atoi(argv[5]) : SECONDS);
    print_served("attacked", &beside);
    const struct turns after = serve_turns(&door);
    for (unsigned i = 0; i < count; i++) {
        kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    printf("turns      longest %.1f ms of CPU, with a message of %.0f bytes; %.0f took more than 5 "
           "ms, %.0f of these without a message of 256 KiB\n",
           after.longest_ms, after.longest_bytes, after.over_5_ms - before.over_5_ms,
           after.too_long - before.too_long);
    const double most = most_memory_mb(pid);
    printf("memory     at most %.0f MB (bound: maxBufferedBytes and 32 MB are %d MB): %s\n", most,
           BUFFERED_MB + BESIDE_MB, most <= BUFFERED_MB + BESIDE_MB ? "met" : "NOT MET");
    printf("every call of the client succeeded: %s\n", beside.failures ? "NOT MET" : "met");
    serve_stop(pid);
    return 0;
}
