/*
 * fate.h - is a process about to die?
 *
 * kill() returns before its signal has been taken. A server that sleeps in read() and is woken by
 * SIGKILL still takes what lies in its pipe by then, and dies with it: nobody can prove afterwards
 * that it was never run. So a server that was idle is looked at before it is written to, and one
 * whose end is already on its way is not written to at all. What remains is the moment between the
 * look and the write.
 *
 * The look asks the kernel to give back the memory of a dying process (process_mrelease), which it
 * refuses while the process has no end in sight: one system call of less than half a microsecond.
 * Where that call is not there (Linux before 5.15, some sandboxes) /proc/PID/status is read, which
 * costs twenty times as much.
 */
#ifndef HF_IO_FATE_H
#define HF_IO_FATE_H

#include <stdbool.h>
#include <sys/types.h>

struct hf_fate {
    int fd; /* -1: the process cannot be looked at */
    bool is_pidfd;
};

/* What is known of a process that is not looked at. */
#define HF_FATE_NONE ((struct hf_fate) { .fd = -1 })

struct hf_fate hf_fate_open(pid_t pid);
/* The way without process_mrelease. */
struct hf_fate hf_fate_open_status(pid_t pid);
void hf_fate_close(struct hf_fate *fate);

/* Its end is on its way, or it is dead already. */
bool hf_fate_is_dying(const struct hf_fate *fate);

#endif
