/*
 * stream.c - see stream.h.
 *
 *   pipe, terminal     opened anew through /proc/self/fd: an open file, and flags, of our own
 *   socket             cannot be opened anew; MSG_DONTWAIT on every call
 *   regular file, ...  a dup: opened anew it would start at offset 0 and overwrite what is there
 */
#include "io/stream.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind {
    KIND_FILE,
    KIND_PIPE,
    KIND_TERMINAL,
    KIND_SOCKET,
};

struct hf_stream {
    int fd;
    enum kind kind;
    bool is_borrowed;
    bool has_set_flag; /* O_NONBLOCK was set on a shared open file, as the last resort */
};

/* isatty() is true of a pseudo-terminal's master, too, but opening that anew makes another one. */
static bool is_terminal(int fd)
{
    int number;
    return isatty(fd) && ioctl(fd, TIOCGPTN, &number) != 0;
}

static enum kind kind_of(int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return KIND_FILE;
    if (S_ISFIFO(about.st_mode))
        return KIND_PIPE;
    if (S_ISSOCK(about.st_mode))
        return KIND_SOCKET;
    return S_ISCHR(about.st_mode) && is_terminal(fd) ? KIND_TERMINAL : KIND_FILE;
}

static int open_anew(int fd, int mode)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* If the pipe cannot be opened anew (it belongs to another user, or there is no /proc), the shared
 * flag is changed, and restored at the end. */
static int dup_and_set_flag(struct hf_stream *stream, int fd, int flags)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0 && !(flags & O_NONBLOCK))
        stream->has_set_flag = fcntl(copy, F_SETFL, flags | O_NONBLOCK) == 0;
    return copy;
}

static struct hf_stream *open_stream(int fd, int mode, struct hf_err *err)
{
    const int flags = fcntl(fd, F_GETFL);
    const int is_open_for = flags & O_ACCMODE;
    if (flags < 0 || (is_open_for != O_RDWR && is_open_for != mode)) {
        hf_fail(err, "descriptor %d is not open for %s", fd,
                mode == O_RDONLY ? "reading" : "writing");
        return NULL;
    }
    struct hf_stream *stream = hf_new(struct hf_stream);
    stream->kind = kind_of(fd);
    const bool is_reopened = stream->kind == KIND_PIPE || stream->kind == KIND_TERMINAL;
    stream->fd = is_reopened ? open_anew(fd, mode) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (stream->fd < 0 && is_reopened)
        stream->fd = dup_and_set_flag(stream, fd, flags);
    if (stream->fd < 0) {
        hf_fail(err, "cannot copy descriptor %d: %s", fd, strerror(errno));
        hf_free(stream);
        return NULL;
    }
    return stream;
}

struct hf_stream *hf_stream_open_read(int fd, struct hf_err *err)
{
    return open_stream(fd, O_RDONLY, err);
}

struct hf_stream *hf_stream_open_write(int fd, struct hf_err *err)
{
    return open_stream(fd, O_WRONLY, err);
}

struct hf_stream *hf_stream_borrow(int fd)
{
    struct hf_stream *stream = hf_new(struct hf_stream);
    *stream = (struct hf_stream) { .fd = fd, .kind = kind_of(fd), .is_borrowed = true };
    assert(stream->kind == KIND_SOCKET || (fcntl(fd, F_GETFL) & O_NONBLOCK));
    return stream;
}

void hf_stream_close(struct hf_stream *stream)
{
    if (!stream)
        return;
    if (stream->has_set_flag)
        (void)fcntl(stream->fd, F_SETFL, fcntl(stream->fd, F_GETFL) & ~O_NONBLOCK);
    if (!stream->is_borrowed)
        close(stream->fd);
    hf_free(stream);
}

int hf_stream_fd(const struct hf_stream *stream)
{
    return stream->fd;
}

static enum hf_io failure_of(const struct hf_stream *stream)
{
    switch (errno) {
    case EAGAIN: return HF_IO_AGAIN;
    case EPIPE:
    case ECONNRESET: return HF_IO_CLOSED;
    /* the error of a terminal whose other end hung up */
    case EIO: return stream->kind == KIND_TERMINAL ? HF_IO_CLOSED : HF_IO_FAILED;
    default: return HF_IO_FAILED;
    }
}

enum hf_io hf_stream_read(struct hf_stream *stream, void *into, size_t room, size_t *ret_got)
{
    assert(room > 0);
    ssize_t n;
    do
        n = stream->kind == KIND_SOCKET ? recv(stream->fd, into, room, MSG_DONTWAIT)
                                        : read(stream->fd, into, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return failure_of(stream);
    *ret_got = (size_t)n;
    return n == 0 ? HF_IO_CLOSED : HF_IO_DONE;
}

static ssize_t send_parts(int fd, const struct iovec *parts, int count)
{
    if (count == 1) /* the usual case, and the cheaper call */
        return send(fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    const struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts,
                                    .msg_iovlen = (size_t)count };
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

enum hf_io hf_stream_writev(struct hf_stream *stream, const struct iovec *parts, int count,
                            size_t *ret_written)
{
    assert(count > 0);
    if (count > IOV_MAX)
        count = IOV_MAX;
    ssize_t n;
    do
        n = stream->kind == KIND_SOCKET ? send_parts(stream->fd, parts, count)
                                        : writev(stream->fd, parts, count);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return failure_of(stream);
    *ret_written = (size_t)n;
    return HF_IO_DONE;
}
