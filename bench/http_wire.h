/*
 * http_wire.h - one socket to 127.0.0.1 and what came on it, for the bench's clients of HTTP.
 *
 * An answer may come with a length or in chunks, as JSON or as an event stream.
 */
#ifndef BENCH_HTTP_WIRE_H
#define BENCH_HTTP_WIRE_H

#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_SIZE = 16 * 1024 };

#define HELLO                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

struct inlet { /* what came on one socket since the last request */
    int fd;
    char bytes[ANSWER_SIZE];
    size_t have;
};

/* A port that nobody listens on at this moment. */
unsigned free_port(void);
/* False: nobody listens there. */
bool inlet_open(struct inlet *in, unsigned port);
/* Reads what is there; false: the other end closed, or was silent for too long. */
bool inlet_read(struct inlet *in);
/* Sends one request and reads its whole answer; false: there was none. */
bool inlet_ask(struct inlet *in, const char *request, size_t length);

/* The value of a header, up to the end of its line; NULL: there is none. */
const char *inlet_header(const struct inlet *in, const char *name);
/* Where the body begins; 0: not there yet. */
size_t inlet_head(const struct inlet *in);
/* Whether a whole answer of HTTP is there. */
bool inlet_is_whole(const struct inlet *in);
bool inlet_has_result(const struct inlet *in, const char *text);

#endif
