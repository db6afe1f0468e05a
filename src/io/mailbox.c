/* mailbox.c - see mailbox.h. */
#include "io/mailbox.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct hf_mailbox {
    pthread_mutex_t lock; /* for all members below except `fd` */
    struct hf_link letters;
    size_t count, max;
    bool is_closed;
    int fd; /* an eventfd: its counter is 1 while `count` is not 0 or it is closed, else 0 */
};

struct hf_mailbox *hf_mailbox_new(size_t max)
{
    assert(max > 0);
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct hf_mailbox *mailbox = hf_new(struct hf_mailbox);
    (void)pthread_mutex_init(&mailbox->lock, NULL);
    hf_link_init(&mailbox->letters);
    mailbox->max = max;
    mailbox->fd = fd;
    return mailbox;
}

void hf_mailbox_free(struct hf_mailbox *mailbox)
{
    if (!mailbox)
        return;
    close(mailbox->fd);
    (void)pthread_mutex_destroy(&mailbox->lock);
    hf_free(mailbox);
}

int hf_mailbox_fd(const struct hf_mailbox *mailbox)
{
    return mailbox->fd;
}

/* Called when the descriptor was not readable until now, so its counter cannot overflow. */
static void ring(struct hf_mailbox *mailbox)
{
    const uint64_t one = 1;
    (void)!write(mailbox->fd, &one, sizeof one);
}

bool hf_mailbox_put(struct hf_mailbox *mailbox, struct hf_letter *letter)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    const bool is_taken = !mailbox->is_closed && mailbox->count < mailbox->max;
    if (is_taken) {
        hf_list_push(&mailbox->letters, &letter->link);
        if (mailbox->count++ == 0)
            ring(mailbox);
    }
    (void)pthread_mutex_unlock(&mailbox->lock);
    return is_taken;
}

void hf_mailbox_close(struct hf_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    if (!mailbox->is_closed && mailbox->count == 0)
        ring(mailbox);
    mailbox->is_closed = true;
    (void)pthread_mutex_unlock(&mailbox->lock);
}

bool hf_mailbox_take(struct hf_mailbox *mailbox, struct hf_link *ret_letters)
{
    uint64_t counter;
    (void)pthread_mutex_lock(&mailbox->lock);
    const bool has_letters = mailbox->count > 0;
    hf_list_move(ret_letters, &mailbox->letters);
    mailbox->count = 0;
    if (has_letters && !mailbox->is_closed)
        (void)!read(mailbox->fd, &counter, sizeof counter);
    (void)pthread_mutex_unlock(&mailbox->lock);
    return has_letters;
}

bool hf_mailbox_is_closed(struct hf_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    const bool is_closed = mailbox->is_closed;
    (void)pthread_mutex_unlock(&mailbox->lock);
    return is_closed;
}

bool hf_mailbox_wait(struct hf_mailbox *mailbox, struct hf_link *ret_letters)
{
    struct pollfd ready = { .fd = mailbox->fd, .events = POLLIN };
    for (;;) {
        const bool is_closed = hf_mailbox_is_closed(mailbox); /* read before letters are taken */
        if (hf_mailbox_take(mailbox, ret_letters))
            return true;
        if (is_closed)
            return false;
        while (poll(&ready, 1, -1) < 0 && errno == EINTR)
            ;
    }
}
