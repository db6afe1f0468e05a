/*
 * children.h - the pids whose parent is a given process.
 *
 * Used by the guard and by the engine that takes over from a killed guard. The pid of a child of
 * our own cannot be given to another process before we reap it; other pids can. Allocates only what
 * opendir() does; never waits, never signals.
 */
#ifndef HF_GUARD_CHILDREN_H
#define HF_GUARD_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

typedef void hf_on_child(void *context, pid_t pid);

/* Dead children that are not reaped yet are listed too. A list read while children come and go may
 * miss some: ask again after every death. False if /proc cannot tell. */
bool hf_children_each(pid_t parent, hf_on_child *on_child, void *context);

/* The two ways it is done; the second is for kernels without CONFIG_PROC_CHILDREN. */
bool hf_children_from_tasks(pid_t parent, hf_on_child *on_child, void *context);
bool hf_children_from_stat(pid_t parent, hf_on_child *on_child, void *context);

pid_t hf_parent_of(pid_t pid); /* 0: no such process */

#endif
