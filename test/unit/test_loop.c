/* test_loop.c - turns, watches, the alarm, signals. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "io/loop.h"
#include "test.h"

struct seen {
    struct hf_loop *loop;
    struct hf_watch *watch, *other;
    struct hf_alarm alarm;
    int calls, turns, alarms, signals;
    unsigned events;
    uint64_t now_ms;
    char order[16];
};

static void log_step(struct seen *s, char what)
{
    const size_t n = strlen(s->order);
    if (n + 1 < sizeof s->order)
        s->order[n] = what;
}

static void on_ready(void *context, unsigned events)
{
    struct seen *s = context;
    s->calls++;
    s->events = events;
    log_step(s, 'r');
}

static void on_turn(void *context)
{
    struct seen *s = context;
    s->turns++;
    log_step(s, 't');
}

static void on_alarm(void *context)
{
    struct seen *s = context;
    s->alarms++;
    s->now_ms = hf_loop_now_ms(s->loop);
    log_step(s, 'a');
}

static void on_signal(void *context)
{
    struct seen *s = context;
    s->signals++;
}

TEST(a_readable_pipe_is_reported_in_every_turn_until_it_is_read)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE(s.loop && pipe2(ends, O_CLOEXEC) == 0);
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    REQUIRE(write(ends[1], "x", 1) == 1);
    hf_loop_step(s.loop, false);
    CHECK(s.calls == 0); /* paused */
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, true);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 2 && s.events == HF_READABLE);
    hf_watch_set(s.watch, 0);
    hf_loop_step(s.loop, false);
    CHECK(s.calls == 2);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(ends[0]);
    close(ends[1]);
}

TEST(watching_does_not_change_the_flags_that_others_share)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    hf_watch_set(s.watch, HF_WRITABLE | HF_READABLE);
    hf_loop_step(s.loop, true);
    CHECK(s.events == HF_WRITABLE);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, false);
    CHECK(s.calls == 1);
    CHECK((fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(ends[0]);
    close(ends[1]);
}

/* The trap of uv_poll: an error came as "no events", once, and then never again. */
TEST(an_error_or_a_hang_up_comes_as_the_event_that_was_asked_for_again_and_again)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]); /* EPOLLERR on the writing end */
    s.watch = hf_watch_new(s.loop, ends[1], on_ready, &s);
    hf_watch_set(s.watch, HF_WRITABLE);
    hf_loop_step(s.loop, true);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 2 && s.events == HF_WRITABLE);
    hf_watch_free(s.watch);
    close(ends[1]);
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[1]); /* EPOLLHUP on the reading end */
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 3 && s.events == HF_READABLE);
    hf_watch_set(s.watch, 0);
    hf_loop_step(s.loop, false);
    CHECK(s.calls == 3); /* a paused hang-up is silent */
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(ends[0]);
}

TEST(files_on_which_nobody_can_wait_are_ready_in_every_turn)
{
    static const char *const paths[] = { "/dev/null", "/proc/self/exe" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct seen s = { .loop = hf_loop_new() };
        const int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        s.watch = hf_watch_new(s.loop, fd, on_ready, &s);
        hf_watch_set(s.watch, HF_READABLE);
        hf_loop_step(s.loop, true);
        CHECK(hf_loop_timeout_ms(s.loop) == 0);
        hf_loop_step(s.loop, true);
        CHECK(s.calls == 2 && s.events == HF_READABLE);
        hf_watch_set(s.watch, 0);
        CHECK(hf_loop_timeout_ms(s.loop) == -1);
        hf_loop_step(s.loop, false);
        CHECK(s.calls == 2);
        hf_watch_free(s.watch);
        hf_loop_free(s.loop);
        close(fd);
    }
}

static void on_ready_free_both(void *context, unsigned events)
{
    struct seen *s = context;
    on_ready(context, events);
    hf_watch_free(s->watch);
    hf_watch_free(s->other);
}

static void free_both_of(int first, int second)
{
    struct seen s = { .loop = hf_loop_new() };
    s.watch = hf_watch_new(s.loop, first, on_ready_free_both, &s);
    s.other = hf_watch_new(s.loop, second, on_ready_free_both, &s);
    hf_watch_set(s.watch, HF_WRITABLE);
    hf_watch_set(s.other, HF_WRITABLE);
    hf_loop_step(s.loop, true);
    hf_loop_step(s.loop, false);
    CHECK(s.calls == 1); /* the other one was ready too */
    hf_loop_free(s.loop);
}

TEST(a_callback_may_free_its_own_watch_and_one_that_is_ready_in_the_same_turn)
{
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    free_both_of(ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
    ends[0] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ends[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    free_both_of(ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_turn_is_descriptors_then_alarm_then_hook)
{
    struct seen s = { .loop = hf_loop_new() };
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    s.watch = hf_watch_new(s.loop, fd, on_ready, &s);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_on_turn(s.loop, on_turn, &s);
    hf_alarm_init(&s.alarm, s.loop, on_alarm, &s);
    hf_alarm_set(&s.alarm, hf_loop_now_ms(s.loop));
    hf_loop_step(s.loop, true);
    hf_loop_step(s.loop, true);
    CHECK(strcmp(s.order, "ratrt") == 0);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(fd);
}

TEST(the_alarm_rings_once_and_not_before_its_time)
{
    struct seen s = { .loop = hf_loop_new() };
    const uint64_t at_ms = hf_loop_now_ms(s.loop) + 20;
    hf_alarm_init(&s.alarm, s.loop, on_alarm, &s);
    for (int i = 0; i < 1000; i++)
        hf_alarm_set(&s.alarm, at_ms);
    CHECK(hf_loop_timeout_ms(s.loop) <= 20);
    while (!s.alarms)
        hf_loop_step(s.loop, true);
    CHECK(s.now_ms >= at_ms);
    hf_loop_step(s.loop, false);
    CHECK(s.alarms == 1);
    hf_alarm_set(&s.alarm, 1); /* long past */
    hf_alarm_set(&s.alarm, 0);
    hf_loop_step(s.loop, false);
    CHECK(s.alarms == 1);
    CHECK(hf_loop_timeout_ms(s.loop) == -1);
    hf_loop_free(s.loop);
}

static void ring_again(void *context)
{
    struct seen *s = context;
    on_alarm(context);
    hf_alarm_set(&s->alarm, 1);
}

TEST(several_alarms_ring_in_the_order_of_their_times_and_one_set_while_it_rings_waits_a_turn)
{
    struct seen first = { .loop = hf_loop_new() }, second = { .loop = first.loop };
    hf_alarm_init(&first.alarm, first.loop, ring_again, &first);
    hf_alarm_init(&second.alarm, first.loop, on_alarm, &second);
    hf_alarm_set(&second.alarm, 2);
    hf_alarm_set(&first.alarm, 1);
    hf_loop_step(first.loop, true);
    CHECK(first.alarms == 1 && second.alarms == 1);
    CHECK(hf_loop_timeout_ms(first.loop) <= 1); /* and rings again, but in a turn of its own */
    hf_alarm_set(&first.alarm, 0);
    CHECK(hf_loop_timeout_ms(first.loop) == -1);
    hf_loop_free(first.loop);
}

static void spin_ms(long ms)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static void spend_time(void *context, unsigned events)
{
    struct seen *s = context;
    (void)events;
    const uint64_t before = hf_loop_now_ms(s->loop);
    spin_ms(5); /* the clock goes on; the turn's does not */
    CHECK(hf_loop_now_ms(s->loop) == before);
    s->now_ms = before;
    s->calls++;
    hf_alarm_init(&s->alarm, s->loop, on_alarm, s);
    hf_alarm_set(&s->alarm, before + 3);
    hf_watch_set(s->watch, 0);
}

static void spend_time_on(int fd)
{
    struct seen s = { .loop = hf_loop_new() };
    s.watch = hf_watch_new(s.loop, fd, spend_time, &s);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 1 && s.alarms == 0); /* by this turn's now it is not due */
    CHECK(hf_loop_timeout_ms(s.loop) == 0);
    hf_loop_step(s.loop, true);
    CHECK(s.alarms == 1);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(fd);
}

TEST(time_stands_still_during_a_turn_and_an_alarm_set_in_it_is_not_lost)
{
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[1]);
    spend_time_on(ends[0]);                                 /* called before libuv's timers */
    spend_time_on(open("/dev/null", O_RDONLY | O_CLOEXEC)); /* called after them */
}

TEST(a_foreign_loop_can_drive_it_by_descriptor_and_timeout)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, false);
    CHECK(hf_loop_timeout_ms(s.loop) == -1);
    struct pollfd on = { .fd = hf_loop_fd(s.loop), .events = POLLIN };
    CHECK(poll(&on, 1, 0) == 0);
    REQUIRE(write(ends[1], "x", 1) == 1);
    CHECK(poll(&on, 1, 0) == 1);
    hf_loop_step(s.loop, false);
    CHECK(s.calls == 1);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_signal_becomes_a_callback_and_its_disposition_is_given_back)
{
    struct seen s = { .loop = hf_loop_new() };
    struct sigaction after;
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s));
    CHECK(!hf_loop_on_signal(s.loop, SIGKILL, on_signal, &s));
    kill(getpid(), SIGUSR1);
    while (!s.signals)
        hf_loop_step(s.loop, true);
    CHECK(s.signals == 1);
    hf_loop_free(s.loop);
    CHECK(sigaction(SIGUSR1, NULL, &after) == 0 && after.sa_handler == SIG_DFL);
}

struct visitor {
    struct hf_guest guest;
    int told;
};

static void on_loop_free(struct hf_guest *guest)
{
    struct visitor *v = HF_ITEM(guest, struct visitor, guest);
    v->told++;
    hf_loop_leave(guest);
}

TEST(a_guest_is_told_when_the_loop_goes_and_only_then)
{
    struct hf_loop *loop = hf_loop_new();
    struct visitor stays = { .guest.on_loop_free = on_loop_free }, leaves = stays;
    hf_loop_enter(loop, &stays.guest);
    hf_loop_enter(loop, &leaves.guest);
    hf_loop_leave(&leaves.guest);
    CHECK(hf_loop_has_guests(loop));
    hf_loop_free(loop);
    CHECK(stays.told == 1 && leaves.told == 0);
}
