/*
 * stream.h - reading and writing without waiting, on a descriptor of any kind.
 *
 * O_NONBLOCK belongs to the open file, not to the descriptor: setting it on an inherited stdin
 * changes it for the shell and every other process that has it. So pipes and terminals are opened
 * anew, sockets use MSG_DONTWAIT, and regular files never wait anyway.
 *
 * Never buffers, never waits (a regular file may for its disk), never closes the caller's
 * descriptor. Writing to a pipe without a reader raises SIGPIPE: our program ignores it, and
 * holdfast.h tells users of the library to.
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
/* For a non-blocking descriptor of our own; it stays the caller's. */
struct hf_stream *hf_stream_borrow(int fd);
void hf_stream_close(struct hf_stream *stream); /* NULL accepted */

/* For a watch. Not the caller's descriptor. */
int hf_stream_fd(const struct hf_stream *stream);

HF_MUST_CHECK enum hf_io hf_stream_read(struct hf_stream *stream, void *into, size_t room,
                                        size_t *ret_got);
HF_MUST_CHECK enum hf_io hf_stream_writev(struct hf_stream *stream, const struct iovec *parts,
                                          int count, size_t *ret_written);

#endif
