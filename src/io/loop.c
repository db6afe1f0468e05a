/*
 * loop.c - see loop.h.
 *
 *   epoll  <- every watched descriptor
 *          <- the eventfd of signals.c, once a signal is wanted
 *
 * A turn of plain descriptors costs one system call: the next alarm is the timeout of that call.
 *
 * What one wait reports may take several turns (portion.h), and the next wait comes after the last
 * of it. Waiting again earlier would starve some: epoll turns its list of ready descriptors by as
 * many as it reports, so that of a multiple of these the same would come first for ever.
 */
#include "io/loop.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/portion.h"
#include "io/signals.h"

enum { EVENTS_PER_WAIT = 64 };

struct hf_watch {
    struct hf_link link; /* in the loop's live, always_ready or freed list */
    struct hf_loop *loop;
    int fd;
    unsigned wanted;
    bool is_polled; /* epoll has it; a paused watch is taken out, or its hang-up would wake us */
    bool is_always_ready, is_freed;
    hf_on_ready *on_ready;
    void *context;
};

struct signal_watch {
    struct hf_link link;
    int signum;
    bool is_due;
    hf_on_loop *on_signal;
    void *context;
};

struct hook {
    hf_on_loop *call;
    void *context;
};

struct hf_loop {
    int epoll;
    struct epoll_event ready[EVENTS_PER_WAIT]; /* of the last wait; data.ptr NULL: freed since */
    int next_ready, ready_count;
    bool in_turn, is_now_fixed, is_ringing;
    struct hf_now now;
    hf_read_clock *read_clock;
    void *clock_context;
    struct hf_timers alarms;
    struct hook on_turn;
    bool measures_turns;
    struct hf_turn_times turn_times;
    struct hf_signals *signals; /* NULL: no signal was ever wanted */
    struct hf_link live, always_ready, freed, signal_watches, guests;
};

/* --- watches --- */

static unsigned events_of(uint32_t bits)
{
    unsigned events = 0;
    if (bits & (EPOLLIN | EPOLLERR | EPOLLHUP))
        events |= HF_READABLE;
    if (bits & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        events |= HF_WRITABLE;
    if (bits & (EPOLLERR | EPOLLHUP))
        events |= HF_HUNG_UP;
    if (bits & (EPOLLRDHUP | EPOLLERR | EPOLLHUP))
        events |= HF_SENT_ALL;
    return events;
}

static void call_watch(struct hf_watch *watch, unsigned events)
{
    events &= watch->wanted; /* an earlier callback of this turn may have paused or freed it */
    if (events)
        watch->on_ready(watch->context, events);
}

/* A callback may free any watch, its own too, so watches are taken one by one from a second list.
 * Those that the portion has no time for are the first of the next turn. */
static void call_always_ready(struct hf_loop *loop)
{
    struct hf_portion portion = { 0 };
    struct hf_link turn;
    if (hf_list_empty(&loop->always_ready))
        return;
    hf_list_move(&turn, &loop->always_ready);
    struct hf_watch *watch;
    while ((watch = HF_LIST_FIRST(&turn, struct hf_watch, link)) &&
           hf_portion_goes_on(&portion, HF_PORTION_EVENTS_US)) {
        hf_unlink(&watch->link);
        hf_list_push(&loop->always_ready, &watch->link);
        call_watch(watch, HF_READABLE | HF_WRITABLE);
    }
    while (!hf_list_empty(&turn)) {
        struct hf_link *last = turn.prev;
        hf_unlink(last);
        hf_list_push_front(&loop->always_ready, last);
    }
}

static struct signal_watch *next_due(struct hf_loop *loop)
{
    struct signal_watch *watch;
    HF_LIST_EACH (watch, &loop->signal_watches, struct signal_watch, link)
        if (watch->is_due)
            return watch;
    return NULL;
}

/* A callback may remove any signal, its own too, and add others, so each is looked up anew. */
static void call_signals(struct hf_loop *loop)
{
    bool came[HF_SIGNALS_END];
    struct signal_watch *watch;
    hf_signals_take(loop->signals, came);
    HF_LIST_EACH (watch, &loop->signal_watches, struct signal_watch, link)
        watch->is_due = came[watch->signum];
    while ((watch = next_due(loop))) {
        watch->is_due = false;
        watch->on_signal(watch->context);
    }
}

static bool has_ready(const struct hf_loop *loop)
{
    return loop->next_ready < loop->ready_count;
}

/* Calls the watches that are ready, as many as the portion has time for; if none is left from the
 * last wait, waits at most `timeout_ms`. A signal that ends the wait early is seen in the next
 * turn. */
static void call_ready(struct hf_loop *loop, int timeout_ms)
{
    struct hf_portion portion = { 0 };
    bool has_signals = false;
    if (!has_ready(loop)) {
        loop->ready_count = epoll_wait(loop->epoll, loop->ready, EVENTS_PER_WAIT, timeout_ms);
        loop->next_ready = 0;
    }
    const bool is_alone = loop->ready_count == 1; /* the usual case needs no clock */
    while (has_ready(loop) && (is_alone || hf_portion_goes_on(&portion, HF_PORTION_EVENTS_US))) {
        const struct epoll_event *event = &loop->ready[loop->next_ready++];
        if (event->data.ptr == loop)
            has_signals = true;
        else if (event->data.ptr)
            call_watch(event->data.ptr, events_of(event->events));
    }
    if (has_signals)
        call_signals(loop);
}

struct hf_watch *hf_watch_new(struct hf_loop *loop, int fd, hf_on_ready *on_ready, void *context)
{
    assert(fd >= 0 && on_ready);
    struct hf_watch *watch = hf_new(struct hf_watch);
    *watch = (struct hf_watch) { .loop = loop, .fd = fd, .on_ready = on_ready, .context = context };
    hf_list_push(&loop->live, &watch->link);
    return watch;
}

static void file_watch(struct hf_watch *watch)
{
    const bool runs = watch->is_always_ready && (watch->wanted & (HF_READABLE | HF_WRITABLE));
    hf_unlink(&watch->link);
    hf_list_push(runs ? &watch->loop->always_ready : &watch->loop->live, &watch->link);
}

void hf_watch_set(struct hf_watch *watch, unsigned events)
{
    assert(!watch->is_freed && events <= (HF_READABLE | HF_WRITABLE | HF_HUNG_UP | HF_SENT_ALL));
    if (events == watch->wanted)
        return;
    watch->wanted = events;
    if (!watch->is_always_ready) {
        struct epoll_event want = { .data.ptr = watch };
        want.events = (events & HF_READABLE ? (uint32_t)EPOLLIN : 0) |
                      (events & HF_WRITABLE ? (uint32_t)EPOLLOUT : 0) |
                      (events & HF_SENT_ALL ? (uint32_t)EPOLLRDHUP : 0);
        const int how = !events ? EPOLL_CTL_DEL : watch->is_polled ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        if (epoll_ctl(watch->loop->epoll, how, watch->fd, &want) == 0) {
            watch->is_polled = events != 0;
        } else {
            /* EBADF (closed while watched) and EEXIST (watched twice) are our bugs. Otherwise epoll
             * cannot watch it (EPERM: a file; ENOSPC, ENOMEM): calling it in every turn works. */
            assert(how == EPOLL_CTL_ADD && errno != EBADF && errno != EEXIST);
            watch->is_always_ready = true;
        }
    }
    if (watch->is_always_ready)
        file_watch(watch);
}

void hf_watch_free(struct hf_watch *watch)
{
    if (!watch)
        return;
    struct hf_loop *loop = watch->loop;
    hf_watch_set(watch, 0);
    watch->is_freed = true;
    hf_unlink(&watch->link);
    hf_list_push(&loop->freed, &watch->link); /* its own callback may be running */
    for (int i = loop->next_ready; i < loop->ready_count; i++)
        if (loop->ready[i].data.ptr == watch)
            loop->ready[i].data.ptr = NULL;
}

static void free_watches(struct hf_link *list)
{
    struct hf_watch *watch;
    while ((watch = HF_LIST_FIRST(list, struct hf_watch, link))) {
        hf_unlink(&watch->link);
        hf_free(watch);
    }
}

/* --- time --- */

static uint64_t read_clock_ms(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct hf_now read_clocks(void *context)
{
    (void)context;
    return (struct hf_now) { .mono_ms = read_clock_ms(CLOCK_MONOTONIC),
                             .wall_ms = read_clock_ms(CLOCK_REALTIME) };
}

void hf_loop_set_clock(struct hf_loop *loop, hf_read_clock *read_clock, void *context)
{
    loop->read_clock = read_clock;
    loop->clock_context = context;
}

uint64_t hf_loop_now_ms(struct hf_loop *loop)
{
    if (!loop->is_now_fixed) {
        loop->now = loop->read_clock(loop->clock_context);
        loop->is_now_fixed = loop->in_turn;
    }
    return loop->now.mono_ms;
}

struct hf_now hf_loop_time(struct hf_loop *loop)
{
    (void)hf_loop_now_ms(loop);
    return loop->now;
}

void hf_alarm_init(struct hf_alarm *alarm, struct hf_loop *loop, hf_on_loop *on_alarm,
                   void *context)
{
    *alarm = (struct hf_alarm) { .loop = loop, .on_alarm = on_alarm, .context = context };
    hf_timer_init(&alarm->timer, 0, alarm);
}

void hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms)
{
    struct hf_loop *loop = alarm->loop;
    /* an alarm that is set while it rings waits for the next turn, or it could ring for ever */
    if (at_ms && loop->is_ringing && at_ms <= hf_loop_now_ms(loop))
        at_ms = hf_loop_now_ms(loop) + 1;
    hf_timer_set(&loop->alarms, &alarm->timer, at_ms);
}

static bool is_due(const struct hf_loop *loop, uint64_t now_ms)
{
    const uint64_t next_ms = hf_timers_next(&loop->alarms);
    return next_ms && next_ms <= now_ms;
}

static void ring_alarms(struct hf_loop *loop)
{
    if (!hf_timers_next(&loop->alarms))
        return;
    const uint64_t now_ms = hf_loop_now_ms(loop);
    struct hf_portion portion = { 0 };
    loop->is_ringing = true;
    for (size_t left = loop->alarms.count; left > 0; left--) {
        if (!is_due(loop, now_ms) || !hf_portion_goes_on(&portion, HF_PORTION_ALARMS_US))
            break;
        const struct hf_alarm *alarm = hf_timers_pop(&loop->alarms, now_ms)->owner;
        alarm->on_alarm(alarm->context);
    }
    loop->is_ringing = false;
}

/* --- signals --- */

static bool listen_to_signals(struct hf_loop *loop)
{
    struct epoll_event want = { .events = EPOLLIN, .data.ptr = loop };
    if (loop->signals)
        return true;
    struct hf_signals *signals = hf_signals_new();
    if (!signals)
        return false;
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, hf_signals_fd(signals), &want) == 0) {
        loop->signals = signals;
        return true;
    }
    const int error = errno;
    hf_signals_free(signals);
    errno = error;
    return false;
}

bool hf_loop_on_signal(struct hf_loop *loop, int signum, hf_on_loop *on_signal, void *context)
{
    if (!listen_to_signals(loop) || !hf_signals_want(loop->signals, signum))
        return false;
    struct signal_watch *watch = hf_new(struct signal_watch);
    watch->signum = signum;
    watch->on_signal = on_signal;
    watch->context = context;
    hf_list_push(&loop->signal_watches, &watch->link);
    return true;
}

void hf_loop_off_signal(struct hf_loop *loop, int signum)
{
    struct signal_watch *watch;
    HF_LIST_EACH_SAFE (watch, &loop->signal_watches, struct signal_watch, link)
        if (watch->signum == signum) {
            hf_signals_drop(loop->signals, signum);
            hf_unlink(&watch->link);
            hf_free(watch);
        }
}

static void forget_signals(struct hf_loop *loop)
{
    struct signal_watch *watch;
    while ((watch = HF_LIST_FIRST(&loop->signal_watches, struct signal_watch, link)))
        hf_loop_off_signal(loop, watch->signum);
    if (loop->signals)
        (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, hf_signals_fd(loop->signals), NULL);
    hf_signals_free(loop->signals);
}

/* --- the loop --- */

struct hf_loop *hf_loop_new(void)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return NULL;
    struct hf_loop *loop = hf_new(struct hf_loop);
    struct hf_link *lists[] = { &loop->live, &loop->always_ready, &loop->freed,
                                &loop->signal_watches, &loop->guests };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        hf_link_init(lists[i]);
    loop->epoll = epoll;
    loop->read_clock = read_clocks;
    return loop;
}

void hf_loop_free(struct hf_loop *loop)
{
    if (!loop)
        return;
    assert(!loop->in_turn);
    struct hf_guest *guest;
    while ((guest = HF_LIST_FIRST(&loop->guests, struct hf_guest, link)))
        guest->on_loop_free(guest);
    forget_signals(loop);
    close(loop->epoll);
    free_watches(&loop->live);
    free_watches(&loop->always_ready);
    free_watches(&loop->freed);
    hf_timers_done(&loop->alarms);
    hf_free(loop);
}

int hf_loop_fd(const struct hf_loop *loop)
{
    return loop->epoll;
}

int hf_loop_timeout_ms(struct hf_loop *loop)
{
    if (has_ready(loop) || !hf_list_empty(&loop->always_ready))
        return 0;
    const uint64_t next_ms = hf_timers_next(&loop->alarms);
    if (!next_ms)
        return -1;
    const uint64_t now_ms = hf_loop_now_ms(loop);
    const uint64_t left_ms = next_ms > now_ms ? next_ms - now_ms : 0;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

void hf_loop_step(struct hf_loop *loop, bool block)
{
    assert(!loop->in_turn);
    const int timeout_ms = block ? hf_loop_timeout_ms(loop) : 0;
    loop->in_turn = true;
    loop->is_now_fixed = false;
    call_ready(loop, timeout_ms);
    call_always_ready(loop);
    ring_alarms(loop);
    if (loop->on_turn.call)
        loop->on_turn.call(loop->on_turn.context);
    free_watches(&loop->freed);
    loop->in_turn = false;
    loop->is_now_fixed = false;
    if (loop->measures_turns)
        hf_turn_times_turned(&loop->turn_times);
}

void hf_loop_measure_turns(struct hf_loop *loop)
{
    hf_turn_times_begin(&loop->turn_times);
    loop->measures_turns = true;
}

void hf_loop_note_message(struct hf_loop *loop, size_t bytes)
{
    if (bytes > loop->turn_times.largest_bytes)
        loop->turn_times.largest_bytes = bytes;
}

const struct hf_turn_times *hf_loop_turn_times(const struct hf_loop *loop)
{
    return loop->measures_turns ? &loop->turn_times : NULL;
}

void hf_loop_on_turn(struct hf_loop *loop, hf_on_loop *on_turn, void *context)
{
    loop->on_turn = (struct hook) { on_turn, context };
}

void hf_loop_enter(struct hf_loop *loop, struct hf_guest *guest)
{
    hf_list_push(&loop->guests, &guest->link);
}

void hf_loop_leave(struct hf_guest *guest)
{
    hf_unlink(&guest->link);
}

bool hf_loop_has_guests(const struct hf_loop *loop)
{
    return !hf_list_empty(&loop->guests);
}
