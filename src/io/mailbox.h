/*
 * mailbox.h - letters from any number of threads to one receiver: a loop that watches its
 * descriptor, or a thread that waits.
 *
 * The only thing that two threads of ours may share. A letter is a struct of its sender's that
 * begins with a struct hf_letter. The sender may touch it until it is put, the receiver from the
 * moment it is taken.
 *
 * 1. Letters of one sender are taken in the order in which they were put.
 * 2. The descriptor is readable as long as letters are there, and for ever once the mailbox is
 *    closed.
 * 3. There are never more than `max` letters in it: a letter that is refused stays the sender's.
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
/* Call it when no other thread uses the mailbox any more. Letters in it are not freed: take them
 * first. */
void hf_mailbox_free(struct hf_mailbox *mailbox); /* NULL accepted */

/* ---- senders ---- */

/* False: the mailbox is full or closed, and the letter is still the caller's. */
HF_MUST_CHECK bool hf_mailbox_put(struct hf_mailbox *mailbox, struct hf_letter *letter);
/* By either side: no more letters can be put; those in it can still be taken. */
void hf_mailbox_close(struct hf_mailbox *mailbox);

/* ---- the receiver ---- */

/* For a watch. The receiver of a closed mailbox frees the watch, since the descriptor stays
 * readable. */
int hf_mailbox_fd(const struct hf_mailbox *mailbox);
/* Moves all letters, the oldest first, to the list `ret_letters`. False: there are none, and the
 * list is empty. */
bool hf_mailbox_take(struct hf_mailbox *mailbox, struct hf_link *ret_letters);
/* The same for a thread, which waits for letters. False: the mailbox is closed and empty. */
bool hf_mailbox_wait(struct hf_mailbox *mailbox, struct hf_link *ret_letters);
bool hf_mailbox_is_closed(struct hf_mailbox *mailbox);

#endif
