/* start.c - see start.h. */
#include "core/machine/start.h"
#include <errno.h>
#include <stddef.h>

/* What execve(2) and chdir(2) say of the path itself, or of the file at it. Not EPERM (a policy of
 * the system, which may be changed under us), not ETXTBSY, EIO, ESTALE or whatever is exhausted. */
static const int for_good[] = { ENOENT, EACCES, ENOTDIR, ENOEXEC,      ELOOP,
                                EISDIR, EINVAL, ELIBBAD, ENAMETOOLONG, E2BIG };

bool hf_start_failed_for_good(const struct hf_start_failure *failure)
{
    if (failure->step == HF_START_PREPARE)
        return false;
    for (size_t i = 0; i < sizeof for_good / sizeof *for_good; i++)
        if (failure->error == for_good[i])
            return true;
    return false;
}
