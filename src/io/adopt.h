/*
 * adopt.h - takes down the tree of a guard that was killed.
 *
 * When a guard is killed -9, its children fall to the nearest subreaper above it: to us, if this
 * process is one. A process may have children that do not come from holdfast, so a process is
 * killed and reaped only if it provably belongs to that tree, as:
 *
 * 1. a child of ours in the guard's session, while the guard is not reaped: until then the number
 *    of the session cannot be used again; or
 * 2. a child of ours whose environment holds the tree's mark, which the server was started with; or
 * 3. a child of a process that belongs to the tree; or
 * 4. any child of ours but a guard, if the caller said that there are no others
 *    (hf_adoption_of_all).
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

/* True if orphans become children of this process. */
bool hf_adoption_is_possible(void);

/* Makes this process a subreaper whose children are guards or orphans and nothing else: then every
 * other child belongs to the tree of a dead guard, whatever it did to its session and environment.
 * Cannot be undone. Only for a process that uses this file in one thread. */
void hf_adoption_of_all(void);

/* A guard that is a child of ours: while it is in the list, it is never adopted. */
struct hf_adoption_guard {
    struct hf_link link;
    pid_t pid;
};
void hf_adoption_spare(struct hf_adoption_guard *guard, pid_t pid);
void hf_adoption_spare_no_more(struct hf_adoption_guard *guard);

/* `mark` is the whole "HF_TREE=...", `guard` the dead guard; `is_held`: the guard is not reaped. */
struct hf_adoption *hf_adoption_new(struct hf_loop *loop, pid_t guard, bool is_held,
                                    const char *mark, const struct hf_adoption_events *events,
                                    void *context);
/* Begins the adoption, and may call all_gone at once: only inside a turn. Continues by itself with
 * every death. */
void hf_adoption_sweep(struct hf_adoption *adoption);
void hf_adoption_free(struct hf_adoption *adoption); /* also inside all_gone; NULL accepted */

#endif
