/* answers.c - see answers.h. */
#include "answers.h"
#include <stdlib.h>
#include <string.h>

void put(struct answers *out, const char *p, size_t n)
{
    if (n > out->room - out->n)
        abort();
    memcpy(out->p + out->n, p, n);
    out->n += n;
}

struct piece between(struct piece text, const char *after, const char *ends)
{
    const size_t length = strlen(after);
    const char *p = memmem(text.p, text.n, after, length);
    const char *end = text.p + text.n, *at = p ? p + length : NULL;
    if (!p)
        return (struct piece) { NULL, 0 };
    while (at < end && !strchr(ends, *at))
        at++;
    return (struct piece) { p + length, (size_t)(at - p) - length };
}

static bool is(struct piece piece, const char *word)
{
    return piece.n == strlen(word) && memcmp(piece.p, word, piece.n) == 0;
}

bool answer(struct answers *out, struct piece message)
{
    const struct piece id = between(message, "\"id\":", ",}");
    const struct piece method = between(message, "\"method\":\"", "\"");
    if (!id.p)
        return false;
    PUT(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put(out, id.p, id.n);
    if (is(method, "tools/call")) {
        const struct piece text = between(message, "\"text\":\"", "\"");
        PUT(out, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        put(out, text.p, text.n);
        PUT(out, "\"}]}}\n");
    } else if (is(method, "initialize")) {
        PUT(out, ",\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
                 "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n");
    } else if (is(method, "tools/list")) {
        PUT(out,
            ",\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}}"
            "\n");
    } else {
        PUT(out, ",\"result\":{}}\n");
    }
    return true;
}
