/*
 * fate.h - whether a process is about to die.
 *
 * kill() returns before its signal is delivered. A server that sleeps in read() and is woken by
 * SIGKILL still reads what is in its pipe by then, and dies with it: afterwards it cannot be proven
 * that the call never ran. So an idle server is looked at before it is written to, and a server
 * that is about to die is not written to at all. What remains is the moment between the look and
 * the write.
 *
 * The look asks the kernel to free the memory of a dying process (process_mrelease), which fails if
 * the process is not dying: one system call of less than half a microsecond. Where that call is
 * missing (Linux before 5.15, some sandboxes) /proc/PID/status is read, which costs twenty times as
 * much.
 */
#ifndef HF_IO_FATE_H
#define HF_IO_FATE_H

#include <stdbool.h>
#include <sys/types.h>

struct hf_fate {
    int fd; /* -1: the process cannot be looked at */
    bool is_pidfd;
};

/* For a process that is not looked at. */
#define HF_FATE_NONE ((struct hf_fate) { .fd = -1 })

struct hf_fate hf_fate_open(pid_t pid);
/* Uses /proc/PID/status instead of process_mrelease. */
struct hf_fate hf_fate_open_status(pid_t pid);
void hf_fate_close(struct hf_fate *fate);

/* A signal that kills it is pending, or it is dead already. */
bool hf_fate_is_dying(const struct hf_fate *fate);

#endif
