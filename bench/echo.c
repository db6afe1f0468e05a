/*
 * echo.c - the lightest MCP server that still is one: the far end of `make bench` over pipes.
 *
 *   echo each    one write for each answer, as the SDKs' servers do
 *   echo batch   one write for all it has read: as little as a server can possibly do
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "answers.h"

enum { IN_SIZE = 256 * 1024, OUT_SIZE = 512 * 1024 };

static char in[IN_SIZE], out_bytes[OUT_SIZE];
static struct answers out = { out_bytes, 0, sizeof out_bytes };

static void flush_out(void)
{
    for (size_t done = 0; done < out.n;) {
        const ssize_t n = write(STDOUT_FILENO, out.p + done, out.n - done);
        if (n <= 0)
            exit(0);
        done += (size_t)n;
    }
    out.n = 0;
}

int main(int argc, char **argv)
{
    const bool is_batch = argc == 2 && strcmp(argv[1], "batch") == 0;
    size_t have = 0;
    for (;;) {
        const ssize_t n = read(STDIN_FILENO, in + have, sizeof in - have);
        if (n <= 0)
            return 0;
        have += (size_t)n;
        char *at = in;
        for (char *end; (end = memchr(at, '\n', have - (size_t)(at - in))); at = end + 1) {
            (void)answer(&out, (struct piece) { at, (size_t)(end - at) });
            if (!is_batch)
                flush_out();
        }
        have -= (size_t)(at - in);
        memmove(in, at, have);
        flush_out();
    }
}
