/*
 * signals.c - see signals.h.
 *
 *   handler, in any thread:   has_come[signum] = true, then write to the eventfd
 *   loop, when it can read:   empty the eventfd, then look at has_come
 *
 * In that order no signal is lost: one that comes between the two steps of the loop is found by the
 * second step, and wakes the loop once more for nothing.
 *
 * 1. The handler takes no lock and allocates nothing: it reads a list that only grows, and atomics.
 * 2. A struct hf_signals is never freed and its eventfd is never closed, since a handler in another
 *    thread may be about to write to it. After hf_signals_free both are kept for the next loop.
 * 3. Everything that is not atomic is protected by `lock`.
 */
#include "io/signals.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/mem.h"

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2 &&
                   ATOMIC_POINTER_LOCK_FREE == 2,
               "a signal handler must not wait for a lock");

struct hf_signals {
    struct hf_signals *next; /* in `all`; never changes */
    int fd;                  /* never changes */
    bool is_used;
    atomic_uint wanted[HF_SIGNALS_END];
    atomic_bool has_come[HF_SIGNALS_END];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hf_signals *_Atomic all;
static unsigned users[HF_SIGNALS_END];
static struct sigaction before[HF_SIGNALS_END];

static void on_signal(int signum)
{
    const int saved = errno;
    const uint64_t one = 1;
    for (struct hf_signals *signals = atomic_load(&all); signals; signals = signals->next)
        if (atomic_load(&signals->wanted[signum]) > 0) {
            atomic_store(&signals->has_come[signum], true);
            (void)!write(signals->fd, &one, sizeof one); /* full: it is readable already */
        }
    errno = saved;
}

static struct hf_signals *make(void)
{
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct hf_signals *signals = hf_new(struct hf_signals);
    signals->fd = fd;
    signals->next = atomic_load(&all);
    atomic_store(&all, signals);
    return signals;
}

struct hf_signals *hf_signals_new(void)
{
    pthread_mutex_lock(&lock);
    struct hf_signals *signals = atomic_load(&all);
    while (signals && signals->is_used)
        signals = signals->next;
    if (!signals)
        signals = make();
    if (signals)
        signals->is_used = true;
    pthread_mutex_unlock(&lock);
    return signals;
}

void hf_signals_free(struct hf_signals *signals)
{
    bool unused[HF_SIGNALS_END];
    if (!signals)
        return;
    hf_signals_take(signals, unused);
    pthread_mutex_lock(&lock);
    for (int signum = 1; signum < HF_SIGNALS_END; signum++)
        assert(atomic_load(&signals->wanted[signum]) == 0);
    signals->is_used = false;
    pthread_mutex_unlock(&lock);
}

int hf_signals_fd(const struct hf_signals *signals)
{
    return signals->fd;
}

/* Marks the signal as wanted before the handler is set, so that the first signal counts. */
static bool want(struct hf_signals *signals, int signum)
{
    struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigfillset(&ours.sa_mask);
    if (atomic_fetch_add(&signals->wanted[signum], 1) == 0)
        atomic_store(&signals->has_come[signum], false); /* it came for an earlier loop */
    const bool is_ours = users[signum] > 0 || sigaction(signum, &ours, &before[signum]) == 0;
    if (is_ours)
        users[signum]++;
    else
        atomic_fetch_sub(&signals->wanted[signum], 1);
    return is_ours;
}

bool hf_signals_want(struct hf_signals *signals, int signum)
{
    if (signum <= 0 || signum >= HF_SIGNALS_END) {
        errno = EINVAL;
        return false;
    }
    pthread_mutex_lock(&lock);
    const bool is_ours = want(signals, signum);
    pthread_mutex_unlock(&lock);
    return is_ours;
}

/* A handler that other code has set over ours stays. */
static void give_back(int signum)
{
    struct sigaction now;
    if (sigaction(signum, NULL, &now) == 0 && now.sa_handler == on_signal)
        (void)sigaction(signum, &before[signum], NULL);
}

void hf_signals_drop(struct hf_signals *signals, int signum)
{
    pthread_mutex_lock(&lock);
    assert(atomic_load(&signals->wanted[signum]) > 0 && users[signum] > 0);
    atomic_fetch_sub(&signals->wanted[signum], 1);
    if (--users[signum] == 0)
        give_back(signum);
    pthread_mutex_unlock(&lock);
}

void hf_signals_take(struct hf_signals *signals, bool ret_came[HF_SIGNALS_END])
{
    uint64_t count;
    (void)!read(signals->fd, &count, sizeof count);
    for (int signum = 0; signum < HF_SIGNALS_END; signum++)
        ret_came[signum] = atomic_exchange(&signals->has_come[signum], false);
}

void hf_signals_keep_out(sigset_t *ret_before)
{
    sigset_t every;
    sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, ret_before);
}

void hf_signals_let_in(const sigset_t *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
}
