/*
 * stream.h - reading and writing without waiting, on a descriptor of any kind.
 *
 * O_NONBLOCK belongs to the open file, not to the descriptor: setting it on an inherited stdin
 * changes it for the shell and everybody else who has it. So pipes and terminals are opened anew,
 * sockets are asked per call, and regular files never wait anyway.
 *
 * Never buffers, never waits (a regular file may for its disk), never closes the descriptor it was
 * given. Writing to a pipe nobody reads raises SIGPIPE: a program ignores it, a library's user is
 * told to.
 */
#ifndef HF_IO_STREAM_H
#define HF_IO_STREAM_H

#include <stddef.h>
#include <sys/uio.h>
#include "base/err.h"

struct hf_stream;

enum hf_io {
    HF_IO_DONE,   /* at least one byte moved */
    HF_IO_AGAIN,  /* nothing moved: wait for the descriptor */
    HF_IO_CLOSED, /* the other end is gone: nothing will ever move again */
    HF_IO_FAILED, /* errno says why */
};

struct hf_stream *hf_stream_open_read(int fd, struct hf_err *err);
struct hf_stream *hf_stream_open_write(int fd, struct hf_err *err);
/* For a descriptor of our own making that does not wait already; it stays the caller's. */
struct hf_stream *hf_stream_borrow(int fd);
void hf_stream_close(struct hf_stream *stream); /* NULL accepted */

/* For a watch. Not the descriptor that was given. */
int hf_stream_fd(const struct hf_stream *stream);

HF_MUST_CHECK enum hf_io hf_stream_read(struct hf_stream *stream, void *into, size_t room,
                                        size_t *ret_got);
HF_MUST_CHECK enum hf_io hf_stream_writev(struct hf_stream *stream, const struct iovec *parts,
                                          int count, size_t *ret_written);

#endif
