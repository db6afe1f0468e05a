/*
 * killed.c - how often a call that comes in the same breath as the death of its idle server ends
 * with an unknown outcome.
 *
 * The server rests, is killed, and in the same breath a call is written to `holdfast run`. The
 * server never ran it, and its caller should hear the result of the next generation. An answer of
 * -31002 (outcome unknown) is honest, and a loss: the server took the call out of its pipe on its
 * way to its end.
 *
 *   killed HOLDFAST ECHO [TIMES]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"

enum { TEXT_SIZE = 512, TIMES = 300, REST_US = 2000, LIFE_S = 300 };

struct client {
    int to;
    FILE *from;
    unsigned last_id;
    char *line;
    size_t line_size;
};

static void say(const struct client *client, const char *text)
{
    const size_t n = strlen(text);
    if (write(client->to, text, n) != (ssize_t)n)
        give_up("holdfast closed its stdin");
}

static void send_request(struct client *client, const char *method, const char *params)
{
    char text[TEXT_SIZE];
    (void)snprintf(text, sizeof text,
                   "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":%s}\n",
                   ++client->last_id, method, params);
    say(client, text);
}

/* The line with the answer of the last request. */
static const char *answer(struct client *client)
{
    char mark[32];
    (void)snprintf(mark, sizeof mark, "\"id\":%u,", client->last_id);
    do {
        errno = 0;
        if (getline(&client->line, &client->line_size, client->from) <= 0)
            give_up("holdfast ended");
    } while (!strstr(client->line, mark));
    return client->line;
}

static void call(struct client *client)
{
    send_request(client, "tools/call", "{\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}}");
}

static void greet(struct client *client)
{
    send_request(client, "initialize",
                 "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":"
                 "\"bench\",\"version\":\"1\"}}");
    (void)answer(client);
    say(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

/* Waits until the guards of those that were killed before are gone. */
static pid_t lasting_child(pid_t parent)
{
    char path[64];
    int pid, other;
    for (;; usleep(REST_US)) {
        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
        FILE *file = fopen(path, "re");
        if (!file)
            give_up(path);
        const int count = fscanf(file, "%d %d", &pid, &other);
        (void)fclose(file);
        if (count == 1)
            return pid;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s HOLDFAST ECHO [TIMES]\n", argv[0]);
        return 2;
    }
    const int times = argc == 4 ? atoi(argv[3]) : TIMES;
    const char *const command[] = { argv[1], "run",         "--reconnect-min-ms",
                                    "0",     "--log-level", "error",
                                    "--",    argv[2],       "each",
                                    NULL };
    int down[2], up[2], unknown = 0, failed = 0;
    signal(SIGPIPE, SIG_IGN);
    alarm(LIFE_S);
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
        give_up("pipe");
    const pid_t holdfast = start_apart(command, down[0], up[1], NULL);
    struct client client = { .to = down[1], .from = fdopen(up[0], "r") };
    close(down[0]);
    close(up[1]);
    greet(&client);
    for (int i = 0; i < times; i++) {
        call(&client);
        if (!strstr(answer(&client), "\"result\":"))
            give_up("a call failed that nobody disturbed");
        const pid_t server = lasting_child(lasting_child(holdfast));
        usleep(REST_US);
        kill(server, SIGKILL);
        call(&client);
        const char *said = answer(&client);
        if (strstr(said, "-31002"))
            unknown++;
        else if (!strstr(said, "\"result\":"))
            failed++;
    }
    printf("killed and called in the same breath: %d times, %d unknown, %d failed otherwise\n",
           times, unknown, failed);
    close(client.to);
    (void)waitpid(holdfast, NULL, 0);
    (void)fclose(client.from);
    free(client.line);
    return 0;
}
