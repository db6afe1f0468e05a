/*
 * lookup.c - see lookup.h.
 *
 * A lookup is a letter of a mailbox (mailbox.h). It belongs to its thread until it is in the
 * mailbox; before that the loop touches only `on_found`, which the thread never reads.
 */
#include "io/lookup.h"
#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include "io/mailbox.h"
#include "io/signals.h"

struct shared { /* shared with the threads; the last user frees it */
    struct hf_mailbox *mailbox;
    atomic_uint users;
};

struct hf_lookups {
    struct hf_loop *loop;
    struct shared *shared;
    struct hf_watch *watch;
    unsigned running;
    bool is_busy, is_freed;
};

struct hf_lookup {
    struct hf_letter letter;
    struct shared *shared;
    hf_on_found *on_found; /* NULL: cancelled */
    void *context;
    char name[HF_NAME_MAX + 1];
    union hf_socket_address at[HF_ADDRESSES_MAX];
    unsigned count;
};

static void leave(struct shared *shared)
{
    if (atomic_fetch_sub(&shared->users, 1) != 1)
        return;
    hf_mailbox_free(shared->mailbox);
    hf_free(shared);
}

/* ---- in the thread ---- */

static void find(struct hf_lookup *lookup)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *all = NULL;
    if (getaddrinfo(lookup->name, NULL, &hints, &all) != 0)
        return;
    for (const struct addrinfo *one = all; one && lookup->count < HF_ADDRESSES_MAX;
         one = one->ai_next) {
        union hf_socket_address *at = &lookup->at[lookup->count];
        if ((one->ai_family == AF_INET || one->ai_family == AF_INET6) &&
            one->ai_addrlen <= sizeof *at) {
            memcpy(at, one->ai_addr, one->ai_addrlen);
            lookup->count++;
        }
    }
    freeaddrinfo(all);
}

static void *run(void *context)
{
    struct hf_lookup *lookup = context;
    struct shared *shared = lookup->shared;
    find(lookup);
    /* The loop calls leave() for this thread when it takes the letter, so that nothing of a
     * finished lookup is left, however late the thread ends. */
    if (hf_mailbox_put(shared->mailbox, &lookup->letter))
        return NULL;
    hf_free(lookup); /* the loop is gone */
    leave(shared);
    return NULL;
}

/* ---- in the loop ---- */

static void destroy(struct hf_lookups *lookups)
{
    struct hf_link letters;
    hf_watch_free(lookups->watch);
    hf_mailbox_close(lookups->shared->mailbox);
    (void)hf_mailbox_take(lookups->shared->mailbox, &letters);
    struct hf_lookup *lookup;
    HF_LIST_EACH_SAFE (lookup, &letters, struct hf_lookup, letter.link) {
        hf_free(lookup);
        leave(lookups->shared);
    }
    leave(lookups->shared);
    hf_free(lookups);
}

static void on_letters(void *context, unsigned events)
{
    struct hf_lookups *lookups = context;
    struct hf_link letters;
    struct hf_lookup *lookup;
    (void)events;
    (void)hf_mailbox_take(lookups->shared->mailbox, &letters);
    lookups->is_busy = true;
    while ((lookup = HF_LIST_FIRST(&letters, struct hf_lookup, letter.link))) {
        hf_unlink(&lookup->letter.link);
        lookups->running--;
        if (lookup->on_found)
            lookup->on_found(lookup->context, lookup->at, lookup->count);
        hf_free(lookup);
        leave(lookups->shared); /* never the last user: the loop is one itself */
    }
    lookups->is_busy = false;
    if (lookups->is_freed)
        destroy(lookups);
}

struct hf_lookups *hf_lookups_new(struct hf_loop *loop)
{
    struct hf_mailbox *mailbox = hf_mailbox_new(HF_LOOKUPS_MAX);
    if (!mailbox)
        return NULL;
    struct hf_lookups *lookups = hf_new(struct hf_lookups);
    lookups->loop = loop;
    lookups->shared = hf_new(struct shared);
    lookups->shared->mailbox = mailbox;
    atomic_init(&lookups->shared->users, 1);
    lookups->watch = hf_watch_new(loop, hf_mailbox_fd(mailbox), on_letters, lookups);
    hf_watch_set(lookups->watch, HF_READABLE);
    return lookups;
}

void hf_lookups_free(struct hf_lookups *lookups)
{
    if (!lookups)
        return;
    lookups->is_freed = true;
    if (!lookups->is_busy)
        destroy(lookups);
}

/* The thread inherits our signal mask: a signal that it caught would disturb the lookup. */
static bool start_thread(struct hf_lookup *lookup)
{
    pthread_attr_t how;
    pthread_t thread;
    sigset_t before;
    if (pthread_attr_init(&how) != 0)
        return false;
    (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    hf_signals_keep_out(&before);
    const bool is_made = pthread_create(&thread, &how, run, lookup) == 0;
    hf_signals_let_in(&before);
    (void)pthread_attr_destroy(&how);
    return is_made;
}

struct hf_lookup *hf_lookup_start(struct hf_lookups *lookups, const char *name,
                                  hf_on_found *on_found, void *context)
{
    assert(strlen(name) <= HF_NAME_MAX);
    if (lookups->running == HF_LOOKUPS_MAX)
        return NULL;
    struct hf_lookup *lookup = hf_new(struct hf_lookup);
    hf_link_init(&lookup->letter.link);
    lookup->shared = lookups->shared;
    lookup->on_found = on_found;
    lookup->context = context;
    memcpy(lookup->name, name, strlen(name) + 1);
    atomic_fetch_add(&lookups->shared->users, 1);
    if (start_thread(lookup)) {
        lookups->running++;
        return lookup;
    }
    leave(lookups->shared);
    hf_free(lookup);
    return NULL;
}

void hf_lookup_cancel(struct hf_lookup *lookup)
{
    if (lookup)
        lookup->on_found = NULL;
}
