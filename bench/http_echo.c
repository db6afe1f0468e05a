/*
 * http_echo.c - the lightest MCP server over HTTP that still is one: the far end of `make bench`.
 *
 *   http_echo         prints the port of 127.0.0.1 it listens on, serves until its stdin ends
 *
 * Keep-alive connections on one epoll, each answer one write. Like answers.c it trusts its peer:
 * a Content-Length with every body, no chunks, requests that fit its buffer.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "answers.h"

enum { IN_SIZE = 64 * 1024, OUT_SIZE = 64 * 1024, FD_MAX = 1024 };

struct connection {
    char in[IN_SIZE];
    size_t have;
};

static struct connection *connections[FD_MAX]; /* by descriptor */

static void write_out(int fd, const struct answers *out)
{
    if (write(fd, out->p, out->n) != (ssize_t)out->n)
        exit(1); /* what is in flight on one connection always fits */
}

static void respond(int fd, struct piece head, struct piece body)
{
    static char bytes[OUT_SIZE], body_bytes[OUT_SIZE / 2];
    struct answers out = { bytes, 0, sizeof bytes };
    struct answers text = { body_bytes, 0, sizeof body_bytes };
    const bool is_post = head.n > 4 && memcmp(head.p, "POST", 4) == 0;
    char length[64];
    if (is_post && answer(&text, body))
        PUT(&out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: bench\r\n");
    else if (is_post)
        PUT(&out, "HTTP/1.1 202 Accepted\r\n");
    else if (memcmp(head.p, "DELETE", 6) == 0)
        PUT(&out, "HTTP/1.1 200 OK\r\n");
    else
        PUT(&out, "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, DELETE\r\n");
    const int n = snprintf(length, sizeof length, "Content-Length: %zu\r\n\r\n", text.n);
    put(&out, length, (size_t)n);
    put(&out, text.p, text.n);
    write_out(fd, &out);
}

static size_t body_length(struct piece head)
{
    for (const char *at = head.p; (at = memchr(at, '\n', (size_t)(head.p + head.n - at)));) {
        at++;
        if (strncasecmp(at, "content-length:", 15) == 0)
            return strtoul(at + 15, NULL, 10);
    }
    return 0;
}

/* Takes every whole request that is there. */
static void take(int fd, struct connection *c)
{
    size_t at = 0;
    for (;;) {
        const char *end = memmem(c->in + at, c->have - at, "\r\n\r\n", 4);
        if (!end)
            break;
        const struct piece head = { c->in + at, (size_t)(end + 4 - (c->in + at)) };
        const struct piece body = { end + 4, body_length(head) };
        if (at + head.n + body.n > c->have)
            break;
        respond(fd, head, body);
        at += head.n + body.n;
    }
    c->have -= at;
    memmove(c->in, c->in + at, c->have);
}

static void on_readable(int fd)
{
    struct connection *c = connections[fd];
    const ssize_t n = read(fd, c->in + c->have, sizeof c->in - c->have);
    if (n <= 0) {
        free(c);
        connections[fd] = NULL;
        close(fd);
        return;
    }
    c->have += (size_t)n;
    take(fd, c);
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        exit(1);
}

static void on_connection(int epoll, int listener)
{
    const int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || fd >= FD_MAX)
        exit(1);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connections[fd] = calloc(1, sizeof *connections[fd]);
    if (!connections[fd])
        exit(1);
    watch(epoll, fd);
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 512) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        exit(1);
    printf("%u\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    return fd;
}

int main(void)
{
    const int listener = listen_somewhere(), epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[64];
    watch(epoll, listener);
    watch(epoll, STDIN_FILENO);
    for (;;) {
        const int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            const int fd = events[i].data.fd;
            if (fd == STDIN_FILENO)
                return 0;
            if (fd == listener)
                on_connection(epoll, listener);
            else
                on_readable(fd);
        }
    }
}
