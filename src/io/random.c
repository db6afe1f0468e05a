/* random.c - see random.h. */
#include "io/random.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void hf_random(void *ret_bytes, size_t size)
{
    char *bytes = ret_bytes;
    for (size_t n = 0; n < size;) {
        const ssize_t got = getrandom(bytes + n, size - n, 0);
        if (got < 0 && errno != EINTR) {
            fprintf(stderr, "holdfast: the system gives no random bytes: %s\n", strerror(errno));
            abort();
        }
        n += got > 0 ? (size_t)got : 0;
    }
}
