/*
 * loop.c - see loop.h.
 *
 *   libuv's epoll  <- timer (wakes us for the alarm), signals
 *                  <- our epoll  <- every watched descriptor
 *
 * Watches are not uv_poll handles, because uv_poll (1.44) sets O_NONBLOCK on what it watches
 * (shared with whoever gave us our stdin), turns an error into "EBADF, no events" and stops,
 * refuses the files that epoll refuses, and must be closed in two steps. An epoll of our own,
 * itself watched by libuv, has none of that and costs one more system call a turn.
 */
#include "io/loop.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <uv.h>
#include "base/mem.h"

enum { EVENTS_PER_TURN = 64 };

struct hf_watch {
    struct hf_link link; /* in the loop's live, always_ready or freed list */
    struct hf_loop *loop;
    int fd;
    unsigned wanted;
    bool is_polled; /* epoll holds it; a paused one is taken out, or its hang-up would spin us */
    bool is_always_ready, is_freed;
    hf_on_ready *on_ready;
    void *context;
};

struct signal_watch {
    uv_signal_t handle;
    struct hf_link link;
    hf_on_loop *on_signal;
    void *context;
};

struct hook {
    hf_on_loop *call;
    void *context;
};

struct hf_loop {
    uv_loop_t uv;
    uv_timer_t timer;
    uv_poll_t poll; /* on `epoll` */
    int epoll;
    bool in_turn, is_now_fixed;
    uint64_t now_ms, alarm_at_ms;
    struct hook on_alarm, on_turn;
    struct hf_link live, always_ready, freed, signals, guests;
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
    return events;
}

static void call_watch(struct hf_watch *watch, unsigned events)
{
    events &= watch->wanted; /* an earlier callback of this turn may have paused or freed it */
    if (events)
        watch->on_ready(watch->context, events);
}

static void on_epoll(uv_poll_t *poll, int status, int ignored)
{
    (void)ignored;
    struct hf_loop *loop = poll->data;
    struct epoll_event ready[EVENTS_PER_TURN];
    assert(status == 0); /* an epoll descriptor has no error condition */
    const int count = epoll_wait(loop->epoll, ready, EVENTS_PER_TURN, 0);
    for (int i = 0; i < count; i++)
        call_watch(ready[i].data.ptr, events_of(ready[i].events));
}

/* Whoever is called may free any watch, himself too: so one at a time, from a list of its own. */
static void call_always_ready(struct hf_loop *loop)
{
    struct hf_link turn;
    hf_link_init(&turn);
    while (!hf_list_empty(&loop->always_ready)) {
        struct hf_link *first = loop->always_ready.next;
        hf_unlink(first);
        hf_list_push(&turn, first);
    }
    struct hf_watch *watch;
    while ((watch = HF_LIST_FIRST(&turn, struct hf_watch, link))) {
        hf_unlink(&watch->link);
        hf_list_push(&loop->always_ready, &watch->link);
        call_watch(watch, HF_READABLE | HF_WRITABLE);
    }
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
    assert(!watch->is_freed && events <= (HF_READABLE | HF_WRITABLE | HF_HUNG_UP));
    if (events == watch->wanted)
        return;
    watch->wanted = events;
    if (!watch->is_always_ready) {
        struct epoll_event want = { .data.ptr = watch };
        want.events = (events & HF_READABLE ? (uint32_t)EPOLLIN : 0) |
                      (events & HF_WRITABLE ? (uint32_t)EPOLLOUT : 0);
        const int how = !events ? EPOLL_CTL_DEL : watch->is_polled ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        if (epoll_ctl(watch->loop->epoll, how, watch->fd, &want) == 0) {
            watch->is_polled = events != 0;
        } else {
            /* Closed under us, or watched twice: our bug. Else epoll cannot hold it (EPERM: a file;
             * ENOSPC, ENOMEM): trying in every turn is always right. */
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
    hf_watch_set(watch, 0);
    watch->is_freed = true;
    hf_unlink(&watch->link);
    hf_list_push(&watch->loop->freed, &watch->link); /* this turn's events may still name it */
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

uint64_t hf_loop_now_ms(struct hf_loop *loop)
{
    if (!loop->is_now_fixed) {
        uv_update_time(&loop->uv);
        loop->now_ms = uv_now(&loop->uv);
        loop->is_now_fixed = loop->in_turn;
    }
    return loop->now_ms;
}

/* It only ends the wait: the turn looks at the alarm by its own now. libuv also runs timers before
 * it waits, and then, with no timer left, would wait for ever: hence the stop. */
static void on_timer(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void arm_timer(struct hf_loop *loop)
{
    const uint64_t uv_now_ms = uv_now(&loop->uv);
    const uint64_t at_ms = loop->alarm_at_ms;
    if (at_ms)
        (void)uv_timer_start(&loop->timer, on_timer, at_ms > uv_now_ms ? at_ms - uv_now_ms : 0, 0);
    else
        (void)uv_timer_stop(&loop->timer);
}

void hf_loop_set_alarm(struct hf_loop *loop, uint64_t at_ms, hf_on_loop *on_alarm, void *context)
{
    assert(!at_ms || on_alarm);
    loop->on_alarm = (struct hook) { on_alarm, context };
    if (at_ms == loop->alarm_at_ms)
        return;
    loop->alarm_at_ms = at_ms;
    arm_timer(loop);
}

static void ring_alarm(struct hf_loop *loop)
{
    if (!loop->alarm_at_ms)
        return;
    if (loop->alarm_at_ms <= hf_loop_now_ms(loop)) {
        const struct hook alarm = loop->on_alarm;
        hf_loop_set_alarm(loop, 0, NULL, NULL);
        alarm.call(alarm.context);
    } else if (!uv_is_active((uv_handle_t *)&loop->timer)) {
        arm_timer(loop); /* libuv's clock went on after this turn's now was fixed */
    }
}

/* --- signals --- */

static void on_uv_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    const struct signal_watch *watch = handle->data;
    watch->on_signal(watch->context);
}

static void on_signal_closed(uv_handle_t *handle)
{
    struct signal_watch *watch = handle->data;
    hf_unlink(&watch->link);
    hf_free(watch);
}

bool hf_loop_on_signal(struct hf_loop *loop, int signum, hf_on_loop *on_signal, void *context)
{
    struct signal_watch *watch = hf_new(struct signal_watch);
    watch->on_signal = on_signal;
    watch->context = context;
    hf_list_push(&loop->signals, &watch->link);
    int error = uv_signal_init(&loop->uv, &watch->handle);
    assert(error == 0); /* fails only when the process cannot have a pipe, which hf_loop_new saw */
    watch->handle.data = watch;
    error = uv_signal_start(&watch->handle, on_uv_signal, signum);
    if (error) {
        uv_close((uv_handle_t *)&watch->handle, on_signal_closed);
        errno = -error;
    }
    return error == 0;
}

/* --- the loop --- */

struct hf_loop *hf_loop_new(void)
{
    struct hf_loop *loop = hf_new(struct hf_loop);
    struct hf_link *lists[] = { &loop->live, &loop->always_ready, &loop->freed, &loop->signals,
                                &loop->guests };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        hf_link_init(lists[i]);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    int error = loop->epoll < 0 ? -errno : uv_loop_init(&loop->uv);
    if (error == 0) {
        (void)uv_timer_init(&loop->uv, &loop->timer);
        error = uv_poll_init(&loop->uv, &loop->poll, loop->epoll);
        if (error) {
            uv_close((uv_handle_t *)&loop->timer, NULL);
            (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
            (void)uv_loop_close(&loop->uv);
        }
    }
    if (error) {
        if (loop->epoll >= 0)
            close(loop->epoll);
        hf_free(loop);
        errno = -error;
        return NULL;
    }
    loop->poll.data = loop;
    (void)uv_poll_start(&loop->poll, UV_READABLE, on_epoll);
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
    struct signal_watch *signal;
    HF_LIST_EACH (signal, &loop->signals, struct signal_watch, link)
        if (!uv_is_closing((uv_handle_t *)&signal->handle))
            uv_close((uv_handle_t *)&signal->handle, on_signal_closed);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_close((uv_handle_t *)&loop->poll, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    const int left = uv_loop_close(&loop->uv);
    assert(left == 0);
    (void)left;
    close(loop->epoll);
    free_watches(&loop->live);
    free_watches(&loop->always_ready);
    free_watches(&loop->freed);
    hf_free(loop);
}

int hf_loop_fd(const struct hf_loop *loop)
{
    return uv_backend_fd(&loop->uv);
}

int hf_loop_timeout_ms(struct hf_loop *loop)
{
    uv_update_time(&loop->uv);
    return hf_list_empty(&loop->always_ready) ? uv_backend_timeout(&loop->uv) : 0;
}

void hf_loop_step(struct hf_loop *loop, bool block)
{
    assert(!loop->in_turn);
    loop->in_turn = true;
    loop->is_now_fixed = false;
    const bool waits = block && hf_list_empty(&loop->always_ready);
    (void)uv_run(&loop->uv, waits ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    call_always_ready(loop);
    ring_alarm(loop);
    if (loop->on_turn.call)
        loop->on_turn.call(loop->on_turn.context);
    free_watches(&loop->freed);
    loop->in_turn = false;
    loop->is_now_fixed = false;
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
