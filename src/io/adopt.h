/*
 * adopt.h - takes down the tree of a guard that was killed.
 *
 * When a guard is killed -9, its children fall to the nearest subreaper above it: to us, if this
 * process is one. A process may have children that are none of our business, so one is killed and
 * reaped only if it provably belongs to that tree:
 *
 * 1. a child of ours in the guard's session, while the guard is not reaped: so that the session's
 *    number can be nobody else's; or
 * 2. a child of ours whose environment holds the tree's mark, which the server was started with; or
 * 3. a child of one that belongs; or
 * 4. any child of ours but a guard, in a process that has no others (hf_adoption_of_all).
 *
 * The limit without 4: a child of ours that left the session and also cleared its environment (or
 * is dead already, or does not let us read it) is not recognised once its parent is gone: alive it
 * lives on, dead it stays a zombie of ours. With a living guard there is no such limit.
 */
#ifndef HF_IO_ADOPT_H
#define HF_IO_ADOPT_H

#include <stdbool.h>
#include <sys/types.h>
#include "io/loop.h"

#define HF_TREE_VARIABLE "HF_TREE="

struct hf_adoption;

struct hf_adoption_events {
    void (*reaped)(void *context, pid_t pid, int wait_status);
    void (*kill_failed)(void *context, pid_t pid);
    void (*all_gone)(void *context); /* nothing of the tree that we can recognise is left */
};

/* True if orphans fall to this process at all. */
bool hf_adoption_is_possible(void);

/* Makes this process a subreaper whose children are guards or orphans and nothing else: then every
 * other child belongs to the tree of a dead guard, whatever it did to its session and environment.
 * For the whole process, and for good; only one that uses all this in one thread. */
void hf_adoption_of_all(void);

/* A guard of ours, while it is a child of ours: never adopted. */
struct hf_adoption_guard {
    struct hf_link link;
    pid_t pid;
};
void hf_adoption_spare(struct hf_adoption_guard *guard, pid_t pid);
void hf_adoption_spare_no_more(struct hf_adoption_guard *guard);

/* `mark` is the whole "HF_TREE=...", `guard` the dead guard, `is_held`: it is not reaped. */
struct hf_adoption *hf_adoption_new(struct hf_loop *loop, pid_t guard, bool is_held,
                                    const char *mark, const struct hf_adoption_events *events,
                                    void *context);
/* Begins, and may already end: inside a turn only. Goes on by itself with every death. */
void hf_adoption_sweep(struct hf_adoption *adoption);
void hf_adoption_free(struct hf_adoption *adoption); /* also inside all_gone; NULL accepted */

#endif
