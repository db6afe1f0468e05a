/*
 * serve.h - one `holdfast serve` under the bench, and what its clients say over HTTP.
 *
 * It has a process group of its own, which is killed when the bench gives up.
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "http_wire.h"

enum { ID_SIZE = 64, PATH_SIZE = 1024, REQUEST_SIZE = 2048 };

struct door { /* where a client comes in, and as whom */
    unsigned port;
    const char *path;
    const char *token; /* NULL: it has none */
};

/* The turns of the loop are measured. */
pid_t serve_start(const char *holdfast, const char *config, const char *log, unsigned port);
void serve_stop(pid_t pid);
/* Connects to the port as soon as somebody listens there. */
void serve_connect(struct inlet *in, unsigned port);

/* One request as text; its length. `id` "": there is no session yet. */
size_t serve_request(char text[REQUEST_SIZE], const struct door *door, const char *verb,
                     const char *id, const char *body);
/* Gives up if the answer is not 2xx. */
void serve_ask(struct inlet *in, const struct door *door, const char *verb, const char *id,
               const char *body);
void serve_open_session(struct inlet *in, const struct door *door, char ret_id[ID_SIZE]);
int serve_open_stream(const struct door *door, const char *id);

struct turns { /* of the event loop so far, by their CPU time */
    double longest_ms, over_5_ms;
    double too_long;      /* over 5 ms without a large message */
    double longest_bytes; /* of the largest message in the longest turn */
};
struct turns serve_turns(const struct door *door);

/* Raises the limit of open files of this process; false: so many are not allowed. */
bool serve_allow_files(unsigned count);
double private_mb(pid_t pid);

#endif
