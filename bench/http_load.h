/*
 * http_load.h - one call in flight on each of many keep-alive connections to 127.0.0.1.
 *
 * Nothing of holdfast's. A target is a port and the bytes that every request begins with; its
 * answers may come with a length or in chunks, as JSON or as an event stream.
 */
#ifndef BENCH_HTTP_LOAD_H
#define BENCH_HTTP_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "measure.h"

enum { CONNECTIONS_MAX = 64 };

enum tongue {
    STREAMABLE, /* POST of JSON-RPC, with a session */
    OLD_SSE,    /* HTTP+SSE of 2024-11-05: a session, hence a stream, for each connection; opened
                 * once, because mcp-hub does not survive many ends of sessions */
    REST,       /* mcp-hub's own, which is not MCP */
};

struct target {
    unsigned port;
    enum tongue tongue;
    const char *path;  /* of the endpoint */
    const char *tool;  /* as the proxy calls it */
    char session[256]; /* STREAMABLE: as given at initialize */
};

/* Introduces itself and makes one call; false: nobody is there yet, or not ready. */
bool target_greet(struct target *target);
struct load {
    uint64_t calls; /* that were answered */
    double seconds;
};

/* Calls for a while. False: it closed a connection, fell silent or gave a wrong answer; said on
 * stderr. */
bool target_load(const struct target *target, unsigned connections, struct length length,
                 struct latencies *latencies, struct load *ret_load);

#endif
