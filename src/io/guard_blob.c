/* guard_blob.c - see guard_blob.h. Compiled with HF_LIBEXEC_GUARD, the path of the installed copy.
 */
#include "io/guard_blob.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "guard/protocol.h"

#ifndef MFD_EXEC /* Linux 6.3; glibc 2.36 does not know it */
#define MFD_EXEC 0x10U
#endif

extern const char hf_guard_blob_start[], hf_guard_blob_end[];

static char memory_path[32];
static const char *paths[3];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool fill(int fd)
{
    const char *at = hf_guard_blob_start;
    while (at < hf_guard_blob_end) {
        const ssize_t n = write(fd, at, (size_t)(hf_guard_blob_end - at));
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
    }
    return true;
}

/* Above the descriptors of the guard, which are overwritten before it is started. */
static int make_memory_file(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int low = memfd_create(HF_GUARD_NAME, flags | MFD_EXEC);
    if (low < 0 && errno == EINVAL) /* an older kernel, where every memory file may be executed */
        low = memfd_create(HF_GUARD_NAME, flags);
    if (low < 0)
        return -1;
    const int fd = fcntl(low, F_DUPFD_CLOEXEC, HF_GUARD_CONTROL_FD + 1);
    close(low);
    if (fd >= 0 && fill(fd) &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void find_paths(void)
{
    const char **next = paths;
    const int fd = make_memory_file();
    if (fd >= 0) {
        snprintf(memory_path, sizeof memory_path, "/proc/self/fd/%d", fd);
        *next++ = memory_path;
    }
    *next = HF_LIBEXEC_GUARD;
}

const char *const *hf_guard_paths(void)
{
    (void)pthread_once(&once, find_paths);
    return paths;
}
