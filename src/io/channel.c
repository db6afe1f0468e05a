/* channel.c - see channel.h. */
#include "io/channel.h"
#include <stdint.h>

void hf_channel_open(struct hf_channel *channel, struct hf_stream *from, struct hf_stream *to,
                     struct hf_tls *tls, size_t out_max)
{
    channel->from = from;
    channel->to = to;
    channel->tls = tls;
    channel->is_blocked = false;
    hf_buf_init(&channel->out, out_max);
}

void hf_channel_close(struct hf_channel *channel)
{
    hf_buf_done(&channel->out);
    hf_channel_drop_tls(channel);
    if (channel->from != channel->to)
        hf_stream_close(channel->from);
    hf_stream_close(channel->to);
    channel->from = channel->to = NULL;
}

void hf_channel_drop_tls(struct hf_channel *channel)
{
    hf_tls_free(channel->tls);
    channel->tls = NULL;
}

static enum hf_io send_parts(struct hf_channel *channel, const struct iovec *parts, int count,
                             size_t *ret_written)
{
    return channel->tls ? hf_tls_writev(channel->tls, parts, count, ret_written)
                        : hf_stream_writev(channel->to, parts, count, ret_written);
}

static struct iovec part_of(struct hf_span bytes)
{
    return (struct iovec) { (void *)(uintptr_t)bytes.p, bytes.n };
}

size_t hf_channel_send(struct hf_channel *channel, const struct hf_span *pieces, unsigned count)
{
    struct iovec parts[HF_CHANNEL_PIECES + 1];
    const struct hf_span waiting = hf_buf_span(&channel->out);
    size_t written = 0;
    if (count > HF_CHANNEL_PIECES || channel->is_blocked)
        return 0;
    parts[0] = part_of(waiting);
    for (unsigned i = 0; i < count; i++)
        parts[i + 1] = part_of(pieces[i]);
    if (send_parts(channel, parts, (int)count + 1, &written) != HF_IO_DONE)
        return 0;
    const size_t of_waiting = written < waiting.n ? written : waiting.n;
    hf_buf_consume(&channel->out, of_waiting);
    return written - of_waiting;
}

enum hf_io hf_channel_flush(struct hf_channel *channel, bool *ret_moved)
{
    enum hf_io result = HF_IO_DONE;
    bool moved = false;
    while (hf_buf_len(&channel->out) && result == HF_IO_DONE) {
        const struct iovec part = part_of(hf_buf_span(&channel->out));
        size_t written = 0;
        result = send_parts(channel, &part, 1, &written);
        if (result == HF_IO_DONE) {
            hf_buf_consume(&channel->out, written);
            moved = true;
        }
    }
    channel->is_blocked = result == HF_IO_AGAIN;
    if (ret_moved)
        *ret_moved = moved;
    return result;
}
