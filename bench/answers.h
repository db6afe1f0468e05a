/*
 * answers.h - what the bench's echo servers say, whichever way the bytes travel.
 *
 * It answers `tools/call` with the text it was given and finds its way by searching for the few
 * keys that clients write: no parser, no allocation. It trusts its peer completely; it is a weight
 * on a scale, not a server to copy.
 */
#ifndef BENCH_ANSWERS_H
#define BENCH_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

struct piece {
    const char *p;
    size_t n;
};

struct answers { /* collected until its owner writes them */
    char *p;
    size_t n, room;
};

void put(struct answers *out, const char *p, size_t n);
#define PUT(out, literal) put(out, literal, sizeof(literal) - 1)

/* What stands between `after` and the first of `ends`; p NULL: `after` is not there. */
struct piece between(struct piece text, const char *after, const char *ends);
/* Adds the answer to one message, with a newline; false: a notification, nothing was added. */
bool answer(struct answers *out, struct piece message);

#endif
