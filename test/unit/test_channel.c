/* test_channel.c - what waits for a peer leaves in order and within its bound, on one socket or on
 * two pipes. With TLS it is tested by test_http_server_tls.c. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include "io/channel.h"
#include "test.h"

enum { BOUND = 1 << 20, LARGE = 4 << 20 };

struct pair {
    int ours, theirs;
    struct hf_channel channel;
};

static bool open_pair(struct pair *pair, size_t out_max)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        return false;
    pair->ours = fds[0];
    pair->theirs = fds[1];
    struct hf_stream *stream = hf_stream_borrow(pair->ours);
    hf_channel_open(&pair->channel, stream, stream, NULL, out_max);
    return true;
}

static void close_pair(struct pair *pair)
{
    hf_channel_close(&pair->channel);
    close(pair->ours);
    close(pair->theirs);
}

/* All that has come to the peer so far is added to `into`. */
static void drain(const struct pair *pair, struct hf_buf *into)
{
    char block[65536];
    for (ssize_t n; (n = read(pair->theirs, block, sizeof block)) > 0;)
        hf_buf_add(into, (struct hf_span) { block, (size_t)n });
}

static bool is_counting(struct hf_span bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        if ((unsigned char)bytes.p[i] != i % 251)
            return false;
    return true;
}

static char *counting(size_t n)
{
    char *bytes = hf_alloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i % 251);
    return bytes;
}

TEST(what_is_added_waits_for_the_flush_and_what_is_sent_goes_behind_it_at_once)
{
    struct pair pair;
    struct hf_buf got;
    REQUIRE(open_pair(&pair, BOUND));
    hf_buf_init(&got, LARGE);
    CHECK(hf_channel_add(&pair.channel, HF_SPAN("one ")));
    drain(&pair, &got);
    CHECK_EQ(hf_buf_len(&got), 0);
    const struct hf_span pieces[] = { HF_SPAN("two "), HF_SPAN("three ") };
    CHECK_EQ(hf_channel_send(&pair.channel, pieces, 2), 10);
    drain(&pair, &got);
    CHECK_SPAN(hf_buf_span(&got), "one two three ");
    CHECK(hf_channel_add_from(&pair.channel, pieces, 2, 5));
    bool has_moved = false;
    CHECK(hf_channel_flush(&pair.channel, &has_moved) == HF_IO_DONE && has_moved);
    CHECK(hf_channel_flush(&pair.channel, &has_moved) == HF_IO_DONE && !has_moved);
    drain(&pair, &got);
    CHECK_SPAN(hf_buf_span(&got), "one two three hree ");
    hf_buf_done(&got);
    close_pair(&pair);
}

TEST(a_peer_that_does_not_read_blocks_and_gets_every_byte_in_order_when_it_does)
{
    struct pair pair;
    struct hf_buf got;
    char *bytes = counting(LARGE);
    REQUIRE(open_pair(&pair, LARGE));
    hf_buf_init(&got, LARGE);
    const struct hf_span all = { bytes, LARGE };
    const size_t sent = hf_channel_send(&pair.channel, &all, 1);
    CHECK(sent > 0 && sent < LARGE);
    CHECK(hf_channel_add_from(&pair.channel, &all, 1, sent));
    bool has_moved = true;
    CHECK(hf_channel_flush(&pair.channel, &has_moved) == HF_IO_AGAIN && pair.channel.is_blocked);
    CHECK_EQ(hf_channel_send(&pair.channel, &all, 1), 0);
    while (hf_buf_len(&got) < LARGE) {
        drain(&pair, &got);
        const enum hf_io io = hf_channel_flush(&pair.channel, &has_moved);
        REQUIRE(io == HF_IO_DONE || (io == HF_IO_AGAIN && has_moved));
    }
    CHECK(!pair.channel.is_blocked && is_counting(hf_buf_span(&got)));
    hf_buf_done(&got);
    hf_free(bytes);
    close_pair(&pair);
}

TEST(what_is_over_the_bound_is_refused_and_nothing_of_it_is_taken)
{
    struct pair pair;
    char *bytes = counting(BOUND);
    REQUIRE(open_pair(&pair, BOUND));
    CHECK(hf_channel_add(&pair.channel, (struct hf_span) { bytes, BOUND - 1 }));
    CHECK(!hf_channel_add(&pair.channel, HF_SPAN("ab")));
    CHECK_EQ(hf_buf_len(&pair.channel.out), BOUND - 1);
    CHECK(hf_channel_add(&pair.channel, HF_SPAN("a")));
    hf_free(bytes);
    close_pair(&pair);
}

TEST(many_pieces_are_not_sent_at_once_but_can_be_added)
{
    struct pair pair;
    struct hf_span pieces[HF_CHANNEL_PIECES + 1];
    REQUIRE(open_pair(&pair, BOUND));
    for (unsigned i = 0; i <= HF_CHANNEL_PIECES; i++)
        pieces[i] = HF_SPAN("x");
    CHECK_EQ(hf_channel_send(&pair.channel, pieces, HF_CHANNEL_PIECES + 1), 0);
    CHECK_EQ(hf_channel_send(&pair.channel, pieces, HF_CHANNEL_PIECES), HF_CHANNEL_PIECES);
    CHECK(hf_channel_add_from(&pair.channel, pieces, HF_CHANNEL_PIECES + 1, 0));
    CHECK_EQ(hf_buf_len(&pair.channel.out), HF_CHANNEL_PIECES + 1);
    close_pair(&pair);
}

TEST(a_peer_that_is_gone_shows_when_it_is_written_to_and_when_it_is_read)
{
    struct pair pair;
    char room[8];
    size_t got = 0;
    REQUIRE(open_pair(&pair, BOUND));
    CHECK_EQ(hf_channel_read(&pair.channel, room, sizeof room, &got), HF_IO_AGAIN);
    CHECK_EQ(write(pair.theirs, "hi", 2), 2);
    CHECK(hf_channel_read(&pair.channel, room, sizeof room, &got) == HF_IO_DONE && got == 2);
    close(pair.theirs);
    pair.theirs = -1;
    const struct hf_span piece = HF_SPAN("x");
    CHECK_EQ(hf_channel_send(&pair.channel, &piece, 1), 0);
    CHECK(hf_channel_add(&pair.channel, piece));
    CHECK_EQ(hf_channel_flush(&pair.channel, NULL), HF_IO_CLOSED);
    CHECK_EQ(hf_channel_read(&pair.channel, room, sizeof room, &got), HF_IO_CLOSED);
    close_pair(&pair);
}

TEST(reading_and_writing_may_be_two_descriptors)
{
    int in[2], out[2];
    char room[8];
    size_t got = 0;
    struct hf_channel channel;
    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    hf_channel_open(&channel, hf_stream_open_read(in[0], NULL), hf_stream_open_write(out[1], NULL),
                    NULL, BOUND);
    CHECK_EQ(write(in[1], "in", 2), 2);
    CHECK(hf_channel_read(&channel, room, sizeof room, &got) == HF_IO_DONE && got == 2);
    CHECK(hf_channel_add(&channel, HF_SPAN("out")));
    CHECK_EQ(hf_channel_flush(&channel, NULL), HF_IO_DONE);
    CHECK(read(out[0], room, sizeof room) == 3 && memcmp(room, "out", 3) == 0);
    CHECK(hf_channel_is_open(&channel));
    hf_channel_close(&channel);
    CHECK(!hf_channel_is_open(&channel));
    hf_channel_close(&channel);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
}
