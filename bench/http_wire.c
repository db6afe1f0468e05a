/* http_wire.c - see http_wire.h. */
#include "http_wire.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "rig.h"

enum { PATIENCE_S = 20 };

unsigned free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        give_up("no free port");
    close(fd);
    return ntohs(address.sin_port);
}

bool inlet_open(struct inlet *in, unsigned port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    const int one = 1;
    in->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    in->have = 0;
    if (in->fd < 0)
        give_up("socket");
    (void)setsockopt(in->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(in->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(in->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    close(in->fd);
    in->fd = -1;
    return false;
}

bool inlet_read(struct inlet *in)
{
    const ssize_t n = recv(in->fd, in->bytes + in->have, sizeof in->bytes - in->have, 0);
    if (n > 0)
        in->have += (size_t)n;
    return n > 0;
}

bool inlet_ask(struct inlet *in, const char *request, size_t length)
{
    in->have = 0;
    if (send(in->fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
        return false;
    while (!inlet_is_whole(in))
        if (!inlet_read(in))
            return false;
    return true;
}

const char *inlet_header(const struct inlet *in, const char *name)
{
    const size_t length = strlen(name);
    const char *end = in->bytes + in->have;
    for (const char *at = in->bytes; (at = memchr(at, '\n', (size_t)(end - at)));) {
        at++;
        if ((size_t)(end - at) > length && strncasecmp(at, name, length) == 0)
            return at + length;
    }
    return NULL;
}

size_t inlet_head(const struct inlet *in)
{
    const char *end = memmem(in->bytes, in->have, "\r\n\r\n", 4);
    return end ? (size_t)(end + 4 - in->bytes) : 0;
}

bool inlet_is_whole(const struct inlet *in)
{
    const size_t head = inlet_head(in);
    if (!head)
        return false;
    if (memcmp(in->bytes + sizeof "HTTP/1.1", "204", 3) ==
        0) /* it has no body, and says no length */
        return true;
    const char *length = inlet_header(in, "content-length:");
    if (length)
        return in->have >= head + strtoul(length, NULL, 10);
    /* chunks, then: none of our answers holds its end before it ends */
    return in->have >= head + 5 && memcmp(in->bytes + in->have - 5, "0\r\n\r\n", 5) == 0;
}

bool inlet_has_result(const struct inlet *in, const char *text)
{
    return memmem(in->bytes, in->have, "\"result\"", 8) &&
           memmem(in->bytes, in->have, text, strlen(text));
}
