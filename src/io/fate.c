/* fate.c - see fate.h. */
#include "io/fate.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hf_fate_open(pid_t pid)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static uint64_t field(const char *text, const char *name, int base)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

enum hf_fate hf_fate_look(int fd)
{
    char text[4096];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return HF_FATE_DYING; /* ESRCH: there is nothing left to look at */
    text[n] = '\0';
    const char *state = strstr(text, "\nState:\t");
    const char now = state ? state[8] : '?';
    /* "fatal" signals of any kind are turned into SIGKILL for each thread */
    const uint64_t own = field(text, "\nSigPnd:\t", 16), shared = field(text, "\nShdPnd:\t", 16);
    if (now == 'Z' || now == 'X' || ((own | shared) & (UINT64_C(1) << (SIGKILL - 1))))
        return HF_FATE_DYING;
    const bool stopped = now == 'T' || now == 't';
    if (!stopped && ((own | shared) & (UINT64_C(1) << (SIGSTOP - 1))))
        return HF_FATE_STOPPING;
    return HF_FATE_NONE;
}
