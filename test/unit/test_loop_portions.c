/* test_loop_portions.c - of many descriptors and alarms at once, each turn takes some. */
#include <sys/eventfd.h>
#include <unistd.h>
#include "io/loop.h"
#include "io/portion.h"
#include "busy.h"
#include "test.h"

enum { CROWD = 128 }; /* twice what one wait reports */

struct one {
    struct hf_watch *watch;
    struct hf_alarm alarm;
    int fd, calls;
};

static void work_for_a_portion(void *context)
{
    struct one *one = context;
    one->calls++;
    be_busy(HF_PORTION_EVENTS_US);
}

static void on_ready_work(void *context, unsigned events)
{
    (void)events;
    work_for_a_portion(context);
}

static void count_call(void *context)
{
    (*(int *)context)++;
}

static int calls_of(const struct one *crowd)
{
    int calls = 0;
    for (int i = 0; i < CROWD; i++)
        calls += crowd[i].calls;
    return calls;
}

/* All are readable and stay so, as those of clients that send without end. */
static void gather(struct hf_loop *loop, struct one *crowd)
{
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct one) { .fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK) };
        crowd[i].watch = hf_watch_new(loop, crowd[i].fd, on_ready_work, &crowd[i]);
        hf_watch_set(crowd[i].watch, HF_READABLE);
    }
}

static void scatter(struct one *crowd)
{
    for (int i = 0; i < CROWD; i++) {
        hf_watch_free(crowd[i].watch);
        close(crowd[i].fd);
    }
}

TEST(of_many_ready_descriptors_a_turn_takes_a_portion_and_none_waits_for_a_second_call_of_another)
{
    static struct one crowd[CROWD];
    struct hf_loop *loop = hf_loop_new();
    gather(loop, crowd);
    for (int turn = 1; turn <= CROWD; turn++) {
        hf_loop_step(loop, true);
        CHECK_EQ(calls_of(crowd), turn);
    }
    for (int i = 0; i < CROWD; i++)
        CHECK_EQ(crowd[i].calls, 1);
    scatter(crowd);
    hf_loop_free(loop);
}

TEST(an_alarm_and_the_end_of_the_turn_do_not_wait_until_all_descriptors_had_their_turn)
{
    static struct one crowd[CROWD];
    struct hf_loop *loop = hf_loop_new();
    struct hf_alarm alarm;
    int alarms = 0, turns = 0;
    gather(loop, crowd);
    hf_alarm_init(&alarm, loop, count_call, &alarms);
    hf_loop_on_turn(loop, count_call, &turns);
    hf_alarm_set(&alarm, hf_loop_now_ms(loop));
    hf_loop_step(loop, true);
    CHECK(alarms == 1 && turns == 1 && calls_of(crowd) == 1);
    CHECK_EQ(hf_loop_timeout_ms(loop), 0);
    scatter(crowd);
    hf_loop_free(loop);
}

TEST(a_descriptor_that_is_freed_before_its_turn_is_not_called)
{
    static struct one crowd[CROWD];
    struct hf_loop *loop = hf_loop_new();
    gather(loop, crowd);
    hf_loop_step(loop, true);
    scatter(crowd);
    for (int i = 0; i < CROWD; i++)
        hf_loop_step(loop, false);
    CHECK_EQ(calls_of(crowd), 1);
    hf_loop_free(loop);
}

TEST(of_many_alarms_that_are_due_a_turn_rings_a_portion_the_earliest_first)
{
    static struct one crowd[CROWD];
    struct hf_loop *loop = hf_loop_new();
    const uint64_t now_ms = hf_loop_now_ms(loop);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct one) { 0 };
        hf_alarm_init(&crowd[i].alarm, loop, work_for_a_portion, &crowd[i]);
        hf_alarm_set(&crowd[i].alarm, now_ms - CROWD + (uint64_t)i);
    }
    for (int turn = 0; turn < CROWD; turn++) {
        CHECK_EQ(crowd[turn].calls, 0);
        hf_loop_step(loop, false);
        CHECK(crowd[turn].calls == 1 && calls_of(crowd) == turn + 1);
    }
    hf_loop_free(loop);
}
