/* fate.c - see fate.h. */
#include "io/fate.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

struct hf_fate hf_fate_open_status(pid_t pid)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    return (struct hf_fate) { .fd = open(path, O_RDONLY | O_CLOEXEC) };
}

struct hf_fate hf_fate_open(pid_t pid)
{
    struct hf_fate fate = { .fd = pidfd_open(pid, 0), .is_pidfd = true };
    if (fate.fd < 0)
        return hf_fate_open_status(pid);
    if (process_mrelease(fate.fd, 0) != 0 && errno != EINVAL && errno != ESRCH) {
        hf_fate_close(&fate);
        return hf_fate_open_status(pid);
    }
    return fate;
}

void hf_fate_close(struct hf_fate *fate)
{
    if (fate->fd >= 0)
        (void)close(fate->fd);
    *fate = HF_FATE_NONE;
}

static uint64_t field(const char *text, const char *name, int base)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static bool status_says_dying(int fd)
{
    char text[4096];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return true; /* ESRCH: there is nothing left to look at */
    text[n] = '\0';
    const char *state = strstr(text, "\nState:\t");
    const char now = state ? state[8] : '?';
    /* "fatal" signals of any kind are turned into SIGKILL for each thread */
    const uint64_t pending = field(text, "\nSigPnd:\t", 16) | field(text, "\nShdPnd:\t", 16);
    return now == 'Z' || now == 'X' || (pending & (UINT64_C(1) << (SIGKILL - 1)));
}

bool hf_fate_is_dying(const struct hf_fate *fate)
{
    if (fate->fd < 0)
        return false;
    if (!fate->is_pidfd)
        return status_says_dying(fate->fd);
    return process_mrelease(fate->fd, 0) == 0 || errno != EINVAL;
}
