/*
 * http_rig.h - the proxies between the HTTP bench's client and its echo servers, started and
 * weighed.
 *
 * Each proxy is a program with a port. What it weighs is itself and everything below it, without
 * the echo server. Those that have no way to a remote server of their own get one from a second
 * program, as their users do.
 */
#ifndef BENCH_HTTP_RIG_H
#define BENCH_HTTP_RIG_H

#include <sys/types.h>
#include "http_load.h"

enum proxy {
    NOTHING,
    NGINX, /* these two know nothing of MCP: what HTTP -> HTTP costs at least */
    HAPROXY,
    OURS, /* from here on those that can also serve a program over stdio */
    SUPERGATEWAY,
    MCP_PROXY,
    MCP_HUB,
    MCP_HUB_REST,
    IN_TABLE,
    OURS_SSE = IN_TABLE, /* at the endpoint of HTTP+SSE */
    PROXY_COUNT,
};
enum far { STDIO, HTTP, FAR_COUNT }; /* where the echo server is */

struct places { /* programs and folders, from the command line */
    const char *holdfast, *echo, *http_echo, *npm, *scratch;
};

struct stand { /* one proxy in front of one echo server */
    enum proxy proxy;
    struct target target;
    pid_t pid; /* 0: nothing stands between */
};

struct far_end { /* the HTTP echo server, shared by all */
    pid_t pid;
    int leash; /* closed: it ends */
    unsigned port;
};

const char *proxy_name(enum proxy proxy);
const char *far_name(enum far far);
void far_end_start(struct far_end *end, const struct places *places);
void far_end_stop(struct far_end *end);
/* False: this proxy is not installed, or does not answer; the reason is printed. */
bool stand_start(struct stand *stand, enum proxy proxy, enum far far, const struct places *places,
                 const struct far_end *end);
void stand_stop(struct stand *stand);
/* Of the proxy's whole tree. */
uint64_t stand_cpu_ns(const struct stand *stand);
long stand_rss_kb(const struct stand *stand);

#endif
