/*
 * fate.h - is a process about to die or to stop?
 *
 * kill() returns before its signal has been taken. A server that sleeps in read() and is woken by
 * SIGKILL or SIGSTOP still takes what lies in its pipe by then, and dies or stops with it: nobody
 * can prove afterwards that it was never run. So a server that was idle is looked at before it is
 * written to, and one whose end is already on its way is not written to at all. What remains is the
 * moment between the look and the write.
 */
#ifndef HF_IO_FATE_H
#define HF_IO_FATE_H

#include <sys/types.h>

enum hf_fate {
    HF_FATE_NONE,     /* nothing is known to be coming */
    HF_FATE_STOPPING, /* SIGSTOP is on its way: look again soon */
    HF_FATE_DYING,    /* SIGKILL is, or it is dead already: its exit will be told */
};

int hf_fate_open(pid_t pid); /* a descriptor to look at; -1: it cannot be watched */
enum hf_fate hf_fate_look(int fd);

#endif
