/*
 * channel.h - the bytes from and to a peer, with or without TLS. Bytes to the peer wait, within a
 * bound, until the kernel takes them.
 *
 *   peer --> from --[tls]--> hf_channel_read
 *   peer <-- to <--[tls]--<-- out (bounded) <-- hf_channel_add
 *                         <-- large pieces, past `out`: hf_channel_send
 *
 * Its owner watches the descriptors and decides when to write (once, at the end of a turn). Never
 * waits, never calls back.
 *
 * 1. Bytes leave in the order in which they were added.
 * 2. A piece that does not fit is refused as a whole: the owner cuts the peer off.
 */
#ifndef HF_IO_CHANNEL_H
#define HF_IO_CHANNEL_H

#include "base/buf.h"
#include "io/stream.h"
#include "io/tls.h"

enum {
    HF_CHANNEL_SEND_AT = 64 * 1024, /* from this size on, bytes are written without a copy */
    HF_CHANNEL_PIECES = 16,         /* more pieces than that are copied */
};

struct hf_channel {
    struct hf_stream *from, *to; /* one and the same for a socket; NULL: closed */
    struct hf_tls *tls;          /* NULL: plain */
    struct hf_buf out;           /* to be written */
    bool is_blocked;             /* the kernel takes no more for now */
};

/* Takes over the streams, and `tls`, which may be NULL. `out_max` bounds the bytes that wait. */
void hf_channel_open(struct hf_channel *channel, struct hf_stream *from, struct hf_stream *to,
                     struct hf_tls *tls, size_t out_max);
void hf_channel_close(struct hf_channel *channel); /* may be called twice */

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
/* From now on bytes are written without TLS. Call it when no more is read. */
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
/* Writes the waiting bytes and as much of the pieces as the kernel takes at once; returns how many
 * bytes of the pieces were written. An error is reported by the next flush. */
HF_MUST_CHECK size_t hf_channel_send(struct hf_channel *channel, const struct hf_span *pieces,
                                     unsigned count);
/* DONE: no more bytes wait. `ret_moved`, which may be NULL: whether any byte was written. */
HF_MUST_CHECK enum hf_io hf_channel_flush(struct hf_channel *channel, bool *ret_moved);

#endif
