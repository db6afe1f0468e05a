/* nofile.c - see nofile.h. */
#include "io/nofile.h"
#include <sys/resource.h>

static unsigned long before;

void hf_nofile_raise(void)
{
    struct rlimit limit;
    if (before || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    const unsigned long was = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
        before = was;
}

unsigned long hf_nofile_before(void)
{
    return before;
}
