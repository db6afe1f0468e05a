/*
 * channel.h - a peer's two directions: bytes from it, and bytes to it that wait, within a bound,
 * until the kernel takes them. With TLS in between or without.
 *
 *   peer --> from --[tls]--> hf_channel_read
 *   peer <-- to <--[tls]--<-- out (bounded) <-- hf_channel_add
 *                         <-- what is large, past `out`: hf_channel_send
 *
 * Its owner watches the descriptors and says when to write (once, at the end of a turn). Never
 * waits, never calls back.
 *
 * 1. Bytes leave in the order in which they were given.
 * 2. What does not fit is refused, and nothing of that piece is taken: the owner cuts the peer off.
 */
#ifndef HF_IO_CHANNEL_H
#define HF_IO_CHANNEL_H

#include "base/buf.h"
#include "io/stream.h"
#include "io/tls.h"

enum {
    HF_CHANNEL_SEND_AT = 64 * 1024, /* so many bytes are worth a call without being copied first */
    HF_CHANNEL_PIECES = 16,         /* more than that are copied */
};

struct hf_channel {
    struct hf_stream *from, *to; /* one and the same for a socket; NULL: closed */
    struct hf_tls *tls;          /* NULL: plain */
    struct hf_buf out;           /* to be written */
    bool is_blocked;             /* the kernel takes no more for now */
};

/* Takes the streams, and `tls`, which may be NULL. `out_max` is the bound of what waits. */
void hf_channel_open(struct hf_channel *channel, struct hf_stream *from, struct hf_stream *to,
                     struct hf_tls *tls, size_t out_max);
void hf_channel_close(struct hf_channel *channel); /* also one that is closed */

static inline bool hf_channel_is_open(const struct hf_channel *channel)
{
    return channel->to != NULL;
}

HF_MUST_CHECK static inline enum hf_io hf_channel_read(struct hf_channel *channel, void *into,
                                                       size_t room, size_t *ret_got)
{
    return channel->tls ? hf_tls_read(channel->tls, into, room, ret_got)
                        : hf_stream_read(channel->from, into, room, ret_got);
}
/* Nothing may come for TLS any more: what is written from now on is plain. */
void hf_channel_drop_tls(struct hf_channel *channel);

/* False: over the bound. */
HF_MUST_CHECK static inline bool hf_channel_add(struct hf_channel *channel, struct hf_span bytes)
{
    return hf_buf_try_add(&channel->out, bytes);
}
/* The pieces without their first `skip` bytes. */
HF_MUST_CHECK static inline bool hf_channel_add_from(struct hf_channel *channel,
                                                     const struct hf_span *pieces, unsigned count,
                                                     size_t skip)
{
    bool fits = true;
    for (unsigned i = 0; fits && i < count; i++) {
        const size_t gone = skip < pieces[i].n ? skip : pieces[i].n;
        skip -= gone;
        fits = hf_channel_add(channel, hf_span_from(pieces[i], gone));
    }
    return fits;
}
/* Writes what waits and as much of the pieces as the kernel takes at once; returns how many bytes
 * of the pieces that was. An error shows again at the next flush. */
HF_MUST_CHECK size_t hf_channel_send(struct hf_channel *channel, const struct hf_span *pieces,
                                     unsigned count);
/* DONE: nothing waits any more. `ret_moved` may be NULL: whether any byte was taken. */
HF_MUST_CHECK enum hf_io hf_channel_flush(struct hf_channel *channel, bool *ret_moved);

#endif
