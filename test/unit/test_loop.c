/* test_loop.c - turns, watches, the alarm, signals. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
    REQUIRE_EQ(write(ends[1], "x", 1), 1);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.calls, 0); /* paused */
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, true);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 2 && s.events == HF_READABLE);
    hf_watch_set(s.watch, 0);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.calls, 2);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(ends[0]);
    close(ends[1]);
}

TEST(watching_does_not_change_the_flags_that_others_share)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    hf_watch_set(s.watch, HF_WRITABLE | HF_READABLE);
    hf_loop_step(s.loop, true);
    CHECK_EQ(s.events, HF_WRITABLE);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.calls, 1);
    CHECK_EQ(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(ends[0]);
    close(ends[1]);
}

TEST(an_error_or_a_hang_up_comes_as_the_event_that_was_asked_for_again_and_again)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]); /* EPOLLERR on the writing end */
    s.watch = hf_watch_new(s.loop, ends[1], on_ready, &s);
    hf_watch_set(s.watch, HF_WRITABLE);
    hf_loop_step(s.loop, true);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 2 && s.events == HF_WRITABLE);
    hf_watch_free(s.watch);
    close(ends[1]);
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]); /* EPOLLHUP on the reading end */
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, true);
    CHECK(s.calls == 3 && s.events == HF_READABLE);
    hf_watch_set(s.watch, 0);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.calls, 3); /* a paused hang-up is silent */
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
        CHECK_EQ(hf_loop_timeout_ms(s.loop), 0);
        hf_loop_step(s.loop, true);
        CHECK(s.calls == 2 && s.events == HF_READABLE);
        hf_watch_set(s.watch, 0);
        CHECK_EQ(hf_loop_timeout_ms(s.loop), -1);
        hf_loop_step(s.loop, false);
        CHECK_EQ(s.calls, 2);
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
    CHECK_EQ(s.calls, 1); /* the other one was ready too */
    hf_loop_free(s.loop);
}

TEST(a_callback_may_free_its_own_watch_and_one_that_is_ready_in_the_same_turn)
{
    int ends[2];
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
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
    CHECK_STR(s.order, "ratrt");
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
    CHECK_EQ(s.alarms, 1);
    hf_alarm_set(&s.alarm, 1); /* long past */
    hf_alarm_set(&s.alarm, 0);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.alarms, 1);
    CHECK_EQ(hf_loop_timeout_ms(s.loop), -1);
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
    CHECK_EQ(hf_loop_timeout_ms(first.loop), -1);
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
    CHECK_EQ(hf_loop_now_ms(s->loop), before);
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
    CHECK_EQ(hf_loop_timeout_ms(s.loop), 0);
    hf_loop_step(s.loop, true);
    CHECK_EQ(s.alarms, 1);
    hf_watch_free(s.watch);
    hf_loop_free(s.loop);
    close(fd);
}

TEST(time_stands_still_during_a_turn_and_an_alarm_set_in_it_is_not_lost)
{
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]);
    spend_time_on(ends[0]);                                 /* one that epoll waits for */
    spend_time_on(open("/dev/null", O_RDONLY | O_CLOEXEC)); /* one that is always ready */
}

TEST(a_foreign_loop_can_drive_it_by_descriptor_and_timeout)
{
    struct seen s = { .loop = hf_loop_new() };
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    s.watch = hf_watch_new(s.loop, ends[0], on_ready, &s);
    hf_watch_set(s.watch, HF_READABLE);
    hf_loop_step(s.loop, false);
    CHECK_EQ(hf_loop_timeout_ms(s.loop), -1);
    struct pollfd on = { .fd = hf_loop_fd(s.loop), .events = POLLIN };
    CHECK_EQ(poll(&on, 1, 0), 0);
    REQUIRE_EQ(write(ends[1], "x", 1), 1);
    CHECK_EQ(poll(&on, 1, 0), 1);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.calls, 1);
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
    CHECK(!hf_loop_on_signal(s.loop, 0, on_signal, &s) && errno == EINVAL);
    CHECK(!hf_loop_on_signal(s.loop, NSIG, on_signal, &s) && errno == EINVAL);
    kill(getpid(), SIGUSR1);
    while (!s.signals)
        hf_loop_step(s.loop, true);
    CHECK_EQ(s.signals, 1);
    hf_loop_free(s.loop);
    CHECK(sigaction(SIGUSR1, NULL, &after) == 0 && after.sa_handler == SIG_DFL);
}

/* What `kill` does when its target waits: only then is it sent. */
static void signal_when_asleep(pid_t target, int signum)
{
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)target);
    while (state != 'S') {
        FILE *stat = fopen(path, "re");
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            _exit(1);
        fclose(stat);
        sched_yield();
    }
    _exit(kill(target, signum) == 0 ? 0 : 1);
}

TEST(a_signal_ends_a_wait_that_nothing_else_would_end)
{
    struct seen s = { .loop = hf_loop_new() };
    const pid_t self = getpid();
    int status = -1;
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s));
    CHECK_EQ(hf_loop_timeout_ms(s.loop), -1);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        signal_when_asleep(self, SIGUSR1);
    while (!s.signals)
        hf_loop_step(s.loop, true);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(s.signals, 1);
    hf_loop_free(s.loop);
}

TEST(a_signal_that_came_twice_before_a_turn_is_told_once_and_another_one_apart)
{
    struct seen first = { .loop = hf_loop_new() }, second = { 0 };
    REQUIRE(hf_loop_on_signal(first.loop, SIGUSR1, on_signal, &first));
    REQUIRE(hf_loop_on_signal(first.loop, SIGUSR2, on_signal, &second));
    raise(SIGUSR1);
    raise(SIGUSR1);
    CHECK_EQ(first.signals, 0); /* called in a turn, never from the handler */
    hf_loop_step(first.loop, false);
    hf_loop_step(first.loop, false);
    CHECK(first.signals == 1 && second.signals == 0);
    raise(SIGUSR2);
    raise(SIGUSR1);
    hf_loop_step(first.loop, false);
    CHECK(first.signals == 2 && second.signals == 1);
    hf_loop_free(first.loop);
}

TEST(a_signal_reaches_a_foreign_loop_through_the_descriptor)
{
    struct seen s = { .loop = hf_loop_new() };
    struct pollfd on = { .fd = hf_loop_fd(s.loop), .events = POLLIN };
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s));
    CHECK(poll(&on, 1, 0) == 0 && hf_loop_timeout_ms(s.loop) == -1);
    raise(SIGUSR1);
    CHECK_EQ(poll(&on, 1, 0), 1);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.signals, 1);
    CHECK_EQ(poll(&on, 1, 0), 0);
    hf_loop_free(s.loop);
}

TEST(every_loop_that_wants_a_signal_is_told_and_the_others_are_left_alone)
{
    struct seen one = { .loop = hf_loop_new() }, two = { .loop = hf_loop_new() },
                other = { .loop = hf_loop_new() };
    REQUIRE(hf_loop_on_signal(one.loop, SIGUSR1, on_signal, &one));
    REQUIRE(hf_loop_on_signal(two.loop, SIGUSR1, on_signal, &two));
    REQUIRE(hf_loop_on_signal(other.loop, SIGUSR2, on_signal, &other));
    raise(SIGUSR1);
    hf_loop_step(one.loop, false);
    CHECK(one.signals == 1 && two.signals == 0);
    hf_loop_step(two.loop, false);
    hf_loop_step(other.loop, false);
    CHECK(two.signals == 1 && other.signals == 0);
    hf_loop_free(one.loop);
    raise(SIGUSR1); /* still caught */
    hf_loop_step(two.loop, false);
    CHECK_EQ(two.signals, 2);
    hf_loop_free(two.loop);
    hf_loop_free(other.loop);
}

static void turn_both_off(void *context)
{
    struct seen *s = context;
    on_signal(context);
    hf_loop_off_signal(s->loop, SIGUSR1);
    hf_loop_off_signal(s->loop, SIGUSR2);
}

TEST(a_signal_may_be_turned_off_inside_its_own_callback_with_others_that_came_in_the_same_turn)
{
    struct seen s = { .loop = hf_loop_new() };
    struct sigaction after;
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, turn_both_off, &s));
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, turn_both_off, &s));
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR2, turn_both_off, &s));
    raise(SIGUSR1);
    raise(SIGUSR2);
    hf_loop_step(s.loop, false);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.signals, 1);
    CHECK(sigaction(SIGUSR1, NULL, &after) == 0 && after.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGUSR2, NULL, &after) == 0 && after.sa_handler == SIG_DFL);
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s)); /* and on again */
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.signals, 1);
    raise(SIGUSR1);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.signals, 2);
    hf_loop_free(s.loop);
}

static int before_count;

static void on_signal_before(int signum)
{
    before_count += signum == SIGUSR1;
}

static void on_signal_of_others(int signum)
{
    (void)signum;
}

TEST(the_handler_of_before_is_back_when_the_last_loop_lets_go)
{
    struct seen one = { .loop = hf_loop_new() }, two = { .loop = hf_loop_new() };
    const struct sigaction before = { .sa_handler = on_signal_before, .sa_flags = SA_NODEFER };
    struct sigaction after;
    REQUIRE_EQ(sigaction(SIGUSR1, &before, NULL), 0);
    REQUIRE(hf_loop_on_signal(one.loop, SIGUSR1, on_signal, &one));
    REQUIRE(hf_loop_on_signal(two.loop, SIGUSR1, on_signal, &two));
    hf_loop_free(one.loop);
    raise(SIGUSR1);
    CHECK_EQ(before_count, 0);
    hf_loop_off_signal(two.loop, SIGUSR1);
    raise(SIGUSR1);
    CHECK_EQ(before_count, 1);
    CHECK(sigaction(SIGUSR1, NULL, &after) == 0 && (after.sa_flags & SA_NODEFER));
    hf_loop_free(two.loop);
    (void)signal(SIGUSR1, SIG_DFL);
}

TEST(a_handler_that_somebody_put_over_ours_stays_when_we_let_go)
{
    struct seen s = { .loop = hf_loop_new() };
    struct sigaction after;
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s));
    (void)signal(SIGUSR1, on_signal_of_others);
    hf_loop_free(s.loop);
    CHECK(sigaction(SIGUSR1, NULL, &after) == 0 && after.sa_handler == on_signal_of_others);
    (void)signal(SIGUSR1, SIG_DFL);
}

/* Calls `fill` with each eventfd of this process; returns how many descriptors it has in all. */
static int each_eventfd(void (*fill)(int fd))
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(all));) {
        char target[64] = "";
        count++;
        if (readlinkat(dirfd(all), entry->d_name, target, sizeof target - 1) > 0 && fill &&
            strcmp(target, "anon_inode:[eventfd]") == 0)
            fill(atoi(entry->d_name));
    }
    closedir(all);
    return count;
}

static void fill_eventfd(int fd)
{
    CHECK_EQ(eventfd_write(fd, UINT64_MAX - 1), 0);
}

TEST(a_signal_leaves_errno_alone_and_is_told_even_if_its_handler_cannot_write)
{
    struct seen s = { .loop = hf_loop_new() };
    REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s));
    (void)each_eventfd(fill_eventfd);
    errno = EILSEQ;
    raise(SIGUSR1);
    CHECK_EQ(errno, EILSEQ);
    hf_loop_step(s.loop, false);
    CHECK_EQ(s.signals, 1);
    hf_loop_free(s.loop);
}

TEST(loops_that_come_and_go_use_the_same_descriptor_for_signals_again)
{
    int before = 0;
    for (int i = 0; i < 50; i++) {
        struct seen s = { .loop = hf_loop_new() };
        REQUIRE(hf_loop_on_signal(s.loop, SIGUSR1, on_signal, &s));
        raise(SIGUSR1); /* and is gone before its turn: the next owner must not hear of it */
        CHECK_EQ(s.signals, 0);
        hf_loop_free(s.loop);
        if (i == 0)
            before = each_eventfd(NULL);
    }
    CHECK_EQ(each_eventfd(NULL), before);
    struct seen last = { .loop = hf_loop_new() };
    REQUIRE(hf_loop_on_signal(last.loop, SIGUSR1, on_signal, &last));
    hf_loop_step(last.loop, false);
    CHECK_EQ(last.signals, 0);
    hf_loop_free(last.loop);
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

TEST(every_turn_is_counted_from_the_moment_on_in_which_that_is_asked_for)
{
    struct hf_loop *loop = hf_loop_new();
    hf_loop_step(loop, false);
    CHECK(!hf_loop_turn_times(loop));
    hf_loop_measure_turns(loop);
    for (int i = 0; i < 3; i++)
        hf_loop_step(loop, false);
    const struct hf_turn_times *times = hf_loop_turn_times(loop);
    uint64_t count = 0;
    for (unsigned i = 0; i <= HF_TURN_BOUNDS; i++)
        count += times->buckets[i];
    CHECK_EQ(count, 3);
    CHECK(times->longest_ns > 0 && times->longest_ns <= times->sum_ns);
    hf_loop_free(loop);
}
