/* test_stream.c - every kind of descriptor that a program can be given as its stdin or stdout. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "io/stream.h"
#include "test.h"

static enum hf_io read_some(struct hf_stream *stream, char *into, size_t room)
{
    size_t got = 0;
    const enum hf_io io = hf_stream_read(stream, into, room - 1, &got);
    into[got] = '\0';
    return io;
}

static enum hf_io write_two(struct hf_stream *stream, const char *first, const char *second,
                            size_t *ret_written)
{
    const struct iovec parts[] = { { (char *)(uintptr_t)first, strlen(first) },
                                   { (char *)(uintptr_t)second, strlen(second) } };
    return hf_stream_writev(stream, parts, 2, ret_written);
}

static bool is_nonblocking(int fd)
{
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

/* Both ends of a pipe, a socket pair or a terminal, through all that can happen to them. */
static void converse(int reading, int writing)
{
    char text[64];
    size_t written = 0;
    struct hf_stream *in = hf_stream_open_read(reading, NULL);
    struct hf_stream *out = hf_stream_open_write(writing, NULL);
    REQUIRE(in && out);
    CHECK_EQ(read_some(in, text, sizeof text), HF_IO_AGAIN);
    CHECK(write_two(out, "hel", "lo\n", &written) == HF_IO_DONE && written == 6);
    CHECK(read_some(in, text, sizeof text) == HF_IO_DONE && strcmp(text, "hello\n") == 0);
    CHECK(!is_nonblocking(reading) && !is_nonblocking(writing));
    CHECK(fcntl(hf_stream_fd(in), F_GETFD) & FD_CLOEXEC);
    hf_stream_close(out);
    hf_stream_close(in);
}

static void fill_until_again(int writing)
{
    static char block[65536];
    const struct iovec part = { block, sizeof block };
    size_t written = 0, total = 0;
    enum hf_io io;
    struct hf_stream *out = hf_stream_open_write(writing, NULL);
    REQUIRE(out);
    while ((io = hf_stream_writev(out, &part, 1, &written)) == HF_IO_DONE)
        total += written;
    CHECK(io == HF_IO_AGAIN && total >= sizeof block);
    hf_stream_close(out);
}

TEST(a_pipe_neither_waits_nor_changes_for_those_who_share_it)
{
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    converse(ends[0], ends[1]);
    fill_until_again(ends[1]);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_socket_neither_waits_nor_changes_for_those_who_share_it)
{
    int ends[2];
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    converse(ends[0], ends[1]);
    fill_until_again(ends[1]);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_terminal_neither_waits_nor_changes_and_its_hang_up_is_its_end)
{
    char text[64];
    size_t written;
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(slave >= 0);
    struct hf_stream *in = hf_stream_open_read(slave, NULL);
    struct hf_stream *out = hf_stream_open_write(slave, NULL);
    REQUIRE(in && out);
    CHECK_EQ(read_some(in, text, sizeof text), HF_IO_AGAIN);
    CHECK(!is_nonblocking(slave));
    CHECK_EQ(write(master, "hello\n", 6), 6);
    CHECK(read_some(in, text, sizeof text) == HF_IO_DONE && strcmp(text, "hello\n") == 0);
    close(master);
    CHECK_EQ(read_some(in, text, sizeof text), HF_IO_CLOSED);
    CHECK_EQ(write_two(out, "a", "b", &written), HF_IO_CLOSED);
    hf_stream_close(out);
    hf_stream_close(in);
    close(slave);
}

TEST(the_master_of_a_terminal_is_not_opened_anew)
{
    char text[64];
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct hf_stream *in = hf_stream_open_read(master, NULL);
    REQUIRE(in && write(slave, "x", 1) == 1);
    CHECK(read_some(in, text, sizeof text) == HF_IO_DONE && strcmp(text, "x") == 0);
    hf_stream_close(in);
    close(slave);
    close(master);
}

TEST(the_end_of_a_pipe_or_socket_is_closed_on_both_sides)
{
    char text[64];
    size_t written;
    int ends[2];
    (void)signal(SIGPIPE, SIG_IGN);
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        for (int side = 0; side < 2; side++) {
            REQUIRE_EQ(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
            struct hf_stream *stream =
                side ? hf_stream_open_write(ends[1], NULL) : hf_stream_open_read(ends[0], NULL);
            REQUIRE(stream);
            close(ends[!side]);
            CHECK_EQ(side ? write_two(stream, "a", "b", &written)
                          : read_some(stream, text, sizeof text),
                     HF_IO_CLOSED);
            hf_stream_close(stream);
            close(ends[side]);
        }
    }
    (void)signal(SIGPIPE, SIG_DFL);
}

TEST(a_socket_whose_reader_is_gone_raises_no_signal)
{
    int ends[2];
    size_t written;
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct hf_stream *out = hf_stream_open_write(ends[1], NULL);
    close(ends[0]);
    CHECK_EQ(write_two(out, "a", "b", &written), HF_IO_CLOSED); /* SIGPIPE would end the test */
    hf_stream_close(out);
    close(ends[1]);
}

TEST(a_regular_file_goes_on_where_it_was_and_nothing_is_overwritten)
{
    char text[64], path[] = "/tmp/holdfast-stream-XXXXXX";
    size_t written = 0;
    const int fd = mkstemp(path);
    REQUIRE(fd >= 0 && write(fd, "first ", 6) == 6);
    struct hf_stream *out = hf_stream_open_write(fd, NULL);
    REQUIRE(out);
    CHECK(write_two(out, "second ", "third", &written) == HF_IO_DONE && written == 12);
    hf_stream_close(out);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 18); /* the offset is shared, as a shell expects */
    lseek(fd, 6, SEEK_SET);
    struct hf_stream *in = hf_stream_open_read(fd, NULL);
    REQUIRE(in);
    CHECK(read_some(in, text, sizeof text) == HF_IO_DONE && strcmp(text, "second third") == 0);
    CHECK_EQ(read_some(in, text, sizeof text), HF_IO_CLOSED);
    CHECK(!is_nonblocking(fd));
    hf_stream_close(in);
    close(fd);
    unlink(path);
}

TEST(dev_null_takes_everything_and_is_at_its_end)
{
    char text[64];
    size_t written = 0;
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct hf_stream *out = hf_stream_open_write(fd, NULL), *in = hf_stream_open_read(fd, NULL);
    REQUIRE(in && out);
    CHECK(write_two(out, "a", "b", &written) == HF_IO_DONE && written == 2);
    CHECK_EQ(read_some(in, text, sizeof text), HF_IO_CLOSED);
    hf_stream_close(in);
    hf_stream_close(out);
    close(fd);
}

TEST(the_wrong_end_and_a_closed_descriptor_are_refused_with_a_sentence)
{
    int ends[2];
    struct hf_err err = { "" };
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    CHECK(!hf_stream_open_read(ends[1], &err));
    CHECK(strstr(err.text, "not open for reading"));
    CHECK(!hf_stream_open_write(ends[0], NULL));
    close(ends[0]);
    close(ends[1]);
    CHECK(!hf_stream_open_read(ends[0], NULL));
}

/* As a user who may not open the pipe anew: the flag is set after all, and taken back. */
static bool falls_back(int reading)
{
    char text[64];
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return false;
    struct hf_stream *in = hf_stream_open_read(reading, NULL);
    if (!in || read_some(in, text, sizeof text) != HF_IO_AGAIN || !is_nonblocking(reading))
        return false;
    hf_stream_close(in);
    return !is_nonblocking(reading);
}

TEST(a_pipe_of_another_user_does_not_wait_either_and_gets_its_flags_back)
{
    int ends[2], status = -1;
    if (geteuid() != 0) {
        printf("# skipped: needs root\n");
        return;
    }
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(falls_back(ends[0]) ? 0 : 1);
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_borrowed_descriptor_stays_open)
{
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    struct hf_stream *in = hf_stream_borrow(ends[0]);
    CHECK_EQ(hf_stream_fd(in), ends[0]);
    hf_stream_close(in);
    CHECK(fcntl(ends[0], F_GETFD) >= 0);
    close(ends[0]);
    close(ends[1]);
}
