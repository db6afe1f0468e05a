/* http_client_sockets.c - see http_client_sockets.h. */
#include "io/http_client_sockets.h"
#include <assert.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

enum { EARLY_MS = 1000 };

struct hf_socket {
    struct hf_sockets *sockets;
    void *owner;
    int fd;           /* libcurl's number */
    int copy;         /* ours, the same open socket */
    ino_t inode;      /* tells whether libcurl's number still means this socket */
    bool is_libcurls; /* made by libcurl: freed when libcurl waits for no events on it */
    bool is_idle;     /* no fetch uses the connection; libcurl keeps it */
    unsigned wanted;
    struct hf_watch *watch;
    struct hf_alarm idle;
    uint64_t idle_since_ms;
    uint32_t keep_alive_ms;
};

void hf_sockets_init(struct hf_sockets *sockets, struct hf_loop *loop,
                     void (*on_ready)(void *owner, int fd, unsigned events),
                     void (*on_early_close)(void *owner))
{
    *sockets = (struct hf_sockets) { .loop = loop,
                                     .on_ready = on_ready,
                                     .on_early_close = on_early_close };
}

static void forget(struct hf_socket *socket)
{
    socket->sockets->by_fd[socket->fd] = NULL;
    hf_alarm_set(&socket->idle, 0);
    hf_watch_free(socket->watch);
    close(socket->copy);
    hf_free(socket);
}

void hf_sockets_leave(struct hf_sockets *sockets, const void *owner)
{
    for (size_t i = 0; i < sockets->cap; i++) {
        if (sockets->by_fd[i] && sockets->by_fd[i]->owner == owner)
            forget(sockets->by_fd[i]);
    }
}

void hf_sockets_done(struct hf_sockets *sockets)
{
    for (size_t i = 0; i < sockets->cap; i++)
        assert(!sockets->by_fd[i]);
    hf_free(sockets->by_fd);
    *sockets = (struct hf_sockets) { .loop = NULL };
}

/* libcurl notices the shutdown when it wants to use the connection, or its first write fails:
 * either way no byte of a request has left, and it connects anew. */
static void retire(void *context)
{
    struct hf_socket *socket = context;
    (void)shutdown(socket->copy, SHUT_RDWR);
    hf_watch_set(socket->watch, 0);
    hf_alarm_set(&socket->idle, 0);
}

static void on_ready(void *context, unsigned events)
{
    struct hf_socket *socket = context;
    struct hf_sockets *sockets = socket->sockets;
    if (!socket->is_idle) {
        sockets->on_ready(socket->owner, socket->fd, events);
        return;
    }
    retire(socket); /* no request is open, so the peer closes or breaks the protocol */
    if (hf_loop_now_ms(sockets->loop) - socket->idle_since_ms < EARLY_MS)
        sockets->on_early_close(socket->owner);
}

static struct hf_socket *find(const struct hf_sockets *sockets, int fd)
{
    return (size_t)fd < sockets->cap ? sockets->by_fd[fd] : NULL;
}

static struct hf_socket *add(struct hf_sockets *sockets, int fd, void *owner)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return NULL;
    if ((size_t)fd >= sockets->cap) {
        const size_t cap = (size_t)fd * 2 + 16;
        sockets->by_fd = hf_realloc(sockets->by_fd, cap * sizeof *sockets->by_fd);
        memset(sockets->by_fd + sockets->cap, 0, (cap - sockets->cap) * sizeof *sockets->by_fd);
        sockets->cap = cap;
    }
    struct stat about = { .st_ino = 0 };
    (void)fstat(copy, &about);
    struct hf_socket *socket = hf_new(struct hf_socket);
    *socket = (struct hf_socket) {
        .sockets = sockets, .owner = owner, .fd = fd, .copy = copy, .inode = about.st_ino
    };
    socket->watch = hf_watch_new(sockets->loop, copy, on_ready, socket);
    hf_alarm_init(&socket->idle, sockets->loop, retire, socket);
    sockets->by_fd[fd] = socket;
    return socket;
}

static void set_wanted(struct hf_socket *socket, unsigned events)
{
    socket->wanted = events;
    /* idle connections are watched too: see retire() */
    hf_watch_set(socket->watch, events ? events : (unsigned)HF_READABLE);
}

int hf_sockets_open(struct hf_sockets *sockets, void *owner, uint32_t keep_alive_ms, int family,
                    int type, int protocol)
{
    const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    if (fd < 0)
        return -1;
    /* libcurl has closed a socket of this number without telling us. It believes that the number is
     * watched already, and will not ask for it. */
    struct hf_socket *old = find(sockets, fd);
    const unsigned wanted = old ? old->wanted : 0;
    if (old)
        forget(old);
    struct hf_socket *socket = add(sockets, fd, owner);
    if (!socket) {
        close(fd);
        return -1;
    }
    socket->keep_alive_ms = keep_alive_ms;
    if (wanted)
        set_wanted(socket, wanted);
    return fd;
}

void hf_sockets_close(struct hf_sockets *sockets, int fd)
{
    struct hf_socket *socket = find(sockets, fd);
    if (socket)
        forget(socket);
    close(fd);
}

static bool is_closed_by_libcurl(const struct hf_socket *socket)
{
    struct stat about;
    return fstat(socket->fd, &about) != 0 || !S_ISSOCK(about.st_mode) ||
           about.st_ino != socket->inode;
}

void hf_sockets_want(struct hf_sockets *sockets, void *owner, int fd, unsigned events)
{
    assert(fd >= 0);
    struct hf_socket *socket = find(sockets, fd);
    if (!socket && events) {
        socket = add(sockets, fd, owner);
        if (socket)
            socket->is_libcurls = true;
    }
    if (!socket)
        return;
    if (!events && (socket->is_libcurls || is_closed_by_libcurl(socket))) {
        forget(socket);
        return;
    }
    set_wanted(socket, events);
    socket->is_idle = !events;
    socket->idle_since_ms = hf_loop_now_ms(sockets->loop);
    hf_alarm_set(&socket->idle, events ? 0 : socket->idle_since_ms + socket->keep_alive_ms);
}
