/*
 * proc.h - one server process, under its guard.
 *
 * hf_proc_start() never waits; what becomes of the process comes as events out of the loop. Order:
 *
 *   started, exited, all_gone          the usual life; exited long before all_gone if it left
 *                                      descendants, which live on until hf_proc_kill or _free
 *   exec_failed, all_gone              there never was a server
 *   guard_lost [, exited] , all_gone   the guard was killed; if this process is a subreaper
 *                                      (PR_SET_CHILD_SUBREAPER) the tree is killed and reaped
 *                                      the same for one that is freed and does not do its work:
 *                                      its server may have stopped it
 *   guard_lost, close_failed           the same, but we are no subreaper: nobody can tell
 *
 * close_failed also comes for a descendant that may not be killed; all_gone then waits for it.
 *
 * 1. No descriptor of ours reaches a server; the server's ends are blocking and ours are not, and
 *    neither can change the other.
 * 2. While the proc is there, somebody (we) can read the server's stdin: writing to it gives no
 *    EPIPE and no SIGPIPE. The exit, not an error, says when to stop writing.
 * 3. What an owner frees is killed and reaped behind him: no tree, zombie or descriptor is left.
 */
#ifndef HF_IO_PROC_H
#define HF_IO_PROC_H

#include <sys/types.h>
#include "base/err.h"
#include "core/machine/start.h"
#include "io/loop.h"

struct hf_proc;

struct hf_proc_spec {
    const char *command; /* searched in the PATH of `envp` if it has no slash */
    char *const *argv;   /* argv[0] is the command; ended by NULL */
    char *const *envp;   /* the whole environment; a mark of ours is added */
    const char *cwd;     /* NULL: ours */
};

struct hf_proc_events { /* each may be NULL; hf_proc_free() may be called in any of them */
    void (*started)(void *context, pid_t pid);
    void (*exec_failed)(void *context, enum hf_start_step step, int error);
    void (*exited)(void *context, int wait_status);
    void (*all_gone)(void *context);
    void (*close_failed)(void *context, pid_t pid); /* pid 0: it is not known */
    void (*guard_lost)(void *context);
};

/* `spec` is copied, `events` is not. NULL: err says why, and nothing was started. */
struct hf_proc *hf_proc_start(struct hf_loop *loop, const struct hf_proc_spec *spec,
                              const struct hf_proc_events *events, void *context,
                              struct hf_err *err);
/* Free the watches on its descriptors first. NULL accepted. */
void hf_proc_free(struct hf_proc *proc);

void hf_proc_close_stdin(struct hf_proc *proc);
void hf_proc_wake(struct hf_proc *proc); /* its guard, which its server may have stopped */
void hf_proc_term(struct hf_proc *proc); /* SIGTERM to the server's process group */
void hf_proc_kill(struct hf_proc *proc); /* the whole tree */

/* Takes back what nobody has read from the server's stdin, and says how many bytes that was; they
 * are in `*ret_bytes`, which the caller frees. What was taken nobody else can ever read,
 * descendants included. They are the last so many of those written, unless the server itself writes
 * there too. -1: it could not be done, and nothing is proven. Once, and no write after it. */
ssize_t hf_proc_steal(struct hf_proc *proc, char **ret_bytes);

/* Ours, not blocking, owned by the proc. */
int hf_proc_stdin_fd(const struct hf_proc *proc); /* -1 after hf_proc_close_stdin */
int hf_proc_stdout_fd(const struct hf_proc *proc);
int hf_proc_stderr_fd(const struct hf_proc *proc);
pid_t hf_proc_guard_pid(const struct hf_proc *proc); /* for diagnosis */

#endif
