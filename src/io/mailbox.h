/*
 * mailbox.h - letters from any number of threads to one receiver: a loop that watches its
 * descriptor, or a thread that waits.
 *
 * The one thing that two threads of ours may share. A letter is a struct of its sender's that
 * begins with a struct hf_letter; who has it may touch it: the sender until it is put, the receiver
 * from the moment it is taken.
 *
 * 1. Letters of one sender are taken in the order in which they were put.
 * 2. The descriptor is readable as long as letters are there, and for ever once it is closed.
 * 3. There are never more than `max` letters in it: what it does not take stays the sender's.
 */
#ifndef HF_IO_MAILBOX_H
#define HF_IO_MAILBOX_H

#include <stdbool.h>
#include "base/list.h"
#include "base/mem.h"

struct hf_mailbox;

struct hf_letter {
    struct hf_link link;
};

struct hf_mailbox *hf_mailbox_new(size_t max); /* NULL: errno says why */
/* When no other thread knows it any more. Letters that nobody took are not freed: take them first.
 */
void hf_mailbox_free(struct hf_mailbox *mailbox); /* NULL accepted */

/* ---- senders ---- */

/* False: it is full or closed, and the letter is still the caller's. */
HF_MUST_CHECK bool hf_mailbox_put(struct hf_mailbox *mailbox, struct hf_letter *letter);
/* By either side: nothing more is taken in; what is there can still be taken out. */
void hf_mailbox_close(struct hf_mailbox *mailbox);

/* ---- the receiver ---- */

/* For a watch. The receiver of a closed one frees the watch, since it stays readable. */
int hf_mailbox_fd(const struct hf_mailbox *mailbox);
/* All letters that are there, the oldest first; `ret_letters` becomes their list. False: none is,
 * and the list is empty. */
bool hf_mailbox_take(struct hf_mailbox *mailbox, struct hf_link *ret_letters);
/* The same for a thread, which waits for them. False: it is closed, and none will come. */
bool hf_mailbox_wait(struct hf_mailbox *mailbox, struct hf_link *ret_letters);
bool hf_mailbox_is_closed(struct hf_mailbox *mailbox);

#endif
