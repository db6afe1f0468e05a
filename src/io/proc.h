/*
 * proc.h - one server process, under its guard.
 *
 * hf_proc_start() never waits; events of the process come from the loop. Their order:
 *
 *   started, exited, all_gone          the usual life; exited long before all_gone if the server
 *                                      left descendants, which live until hf_proc_kill or _free
 *   exec_failed, all_gone              the server could not be started
 *   guard_lost [, exited] , all_gone   the guard was killed; if this process is a subreaper
 *                                      (PR_SET_CHILD_SUBREAPER) the tree is killed and reaped.
 *                                      The same if the proc is freed and its guard, which the
 *                                      server may have stopped, does not end in time
 *   guard_lost, close_failed           the same, but we are no subreaper: what is left of the tree
 *                                      is not known
 *
 * close_failed also comes for a descendant that may not be killed; all_gone then waits for it.
 *
 * 1. No descriptor of ours reaches a server; the server's ends are blocking and ours are not, and
 *    neither can change the other.
 * 2. While the proc exists, we hold a read end of the server's stdin: writing to it gives no EPIPE
 *    and no SIGPIPE. The exit, not an error, says when to stop writing.
 * 3. After hf_proc_free the tree is killed and reaped: no process, zombie or descriptor is left.
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
    char *const *envp;   /* the whole environment; the tree's mark (io/adopt.h) is added */
    const char *cwd;     /* NULL: ours */
};

struct hf_proc_events { /* each may be NULL; hf_proc_free() may be called in any of them */
    void (*started)(void *context, pid_t pid);
    void (*exec_failed)(void *context, enum hf_start_step step, int error);
    void (*exited)(void *context, int wait_status);
    void (*all_gone)(void *context);
    void (*close_failed)(void *context, pid_t pid); /* pid 0: unknown */
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

/* Takes back the bytes of the server's stdin that no process has read, and returns their number;
 * they are in `*ret_bytes`, which the caller frees. No process, descendants included, can ever read
 * them. They are the last of the bytes that were written, unless the server itself writes there
 * too. -1: it could not be done, and nothing is proven. Call it once; do not write after it. */
ssize_t hf_proc_steal(struct hf_proc *proc, char **ret_bytes);

/* Our ends, non-blocking, owned by the proc. */
int hf_proc_stdin_fd(const struct hf_proc *proc); /* -1 after hf_proc_close_stdin */
int hf_proc_stdout_fd(const struct hf_proc *proc);
int hf_proc_stderr_fd(const struct hf_proc *proc);
pid_t hf_proc_guard_pid(const struct hf_proc *proc); /* for diagnosis */

#endif
