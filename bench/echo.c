/*
 * echo.c - the lightest MCP server that still is one: the far end of `make bench`.
 *
 *   echo each    one write for each answer, as the SDKs' servers do
 *   echo batch   one write for all it has read: as little as a server can possibly do
 *
 * It answers `tools/call` with the text it was given and finds its way by searching for the few
 * keys the bench's client writes: no parser, no allocation. It trusts its peer completely; it is a
 * weight on a scale, not a server to copy.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IN_SIZE = 256 * 1024, OUT_SIZE = 512 * 1024 };

struct piece {
    const char *p;
    size_t n;
};

static char in[IN_SIZE], out[OUT_SIZE];
static size_t out_used;

static void put(const char *p, size_t n)
{
    if (n > sizeof out - out_used)
        abort();
    memcpy(out + out_used, p, n);
    out_used += n;
}

#define PUT(literal) put(literal, sizeof(literal) - 1)

static void flush_out(void)
{
    for (size_t done = 0; done < out_used;) {
        const ssize_t n = write(STDOUT_FILENO, out + done, out_used - done);
        if (n <= 0)
            exit(0);
        done += (size_t)n;
    }
    out_used = 0;
}

/* What stands between `after` and the first of `ends`; p NULL: `after` is not there. */
static struct piece between(struct piece line, const char *after, const char *ends)
{
    const size_t length = strlen(after);
    const char *p = memmem(line.p, line.n, after, length);
    const char *end = line.p + line.n, *at = p ? p + length : NULL;
    if (!p)
        return (struct piece) { NULL, 0 };
    while (at < end && !strchr(ends, *at))
        at++;
    return (struct piece) { p + length, (size_t)(at - p) - length };
}

static void answer_call(struct piece id, struct piece line)
{
    const struct piece text = between(line, "\"text\":\"", "\"");
    PUT("{\"jsonrpc\":\"2.0\",\"id\":");
    put(id.p, id.n);
    PUT(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
    put(text.p, text.n);
    PUT("\"}]}}\n");
}

static void answer_other(struct piece id, struct piece method)
{
    PUT("{\"jsonrpc\":\"2.0\",\"id\":");
    put(id.p, id.n);
    if (method.n == 10 && memcmp(method.p, "initialize", 10) == 0)
        PUT(",\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
            "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n");
    else if (method.n == 10 && memcmp(method.p, "tools/list", 10) == 0)
        PUT(",\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}}"
            "\n");
    else
        PUT(",\"result\":{}}\n");
}

static void take(struct piece line)
{
    const struct piece id = between(line, "\"id\":", ",}");
    const struct piece method = between(line, "\"method\":\"", "\"");
    if (!id.p)
        return; /* a notification */
    if (method.n == 10 && memcmp(method.p, "tools/call", 10) == 0)
        answer_call(id, line);
    else
        answer_other(id, method);
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
            take((struct piece) { at, (size_t)(end - at) });
            if (!is_batch)
                flush_out();
        }
        have -= (size_t)(at - in);
        memmove(in, at, have);
        flush_out();
    }
}
