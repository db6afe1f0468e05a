/*
 * http_world.h - a real server on a real loop with clients on the same loop, in one thread.
 *
 * Nothing sleeps: WAIT steps the loop, which sleeps in its own wait, until what is waited for is
 * true; after ten seconds the test fails.
 */
#ifndef HF_TEST_HTTP_WORLD_H
#define HF_TEST_HTTP_WORLD_H

#include "io/http_server.h"
#include "test.h"

enum { WORLD_ASKED_MAX = 512 };

struct world {
    struct hf_shell shell;
    struct hf_http_server *server;
    struct hf_alarm patience;
    bool is_patience_over;
    /* What was handed up and not answered yet, in the order in which it came. A path that begins
     * with /now is answered at once with "METHOD target body". */
    struct hf_exchange *asked[WORLD_ASKED_MAX];
    unsigned asked_count;
    unsigned requests, gone;
    struct hf_exchange *last_gone;
    struct hf_link clients;
};

struct client {
    struct hf_link link;
    struct world *world;
    int fd;
    struct hf_watch *watch;
    struct hf_buf got, unsent;
    size_t sent;
    bool is_deaf;   /* does not read */
    bool is_closed; /* the server closed it */
    bool is_reset;
};

#define WAIT(world, condition)                                                                     \
    do {                                                                                           \
        world_be_patient(world);                                                                   \
        while (!(condition) && !(world)->is_patience_over)                                         \
            world_step(world);                                                                     \
        CHECK(condition);                                                                          \
    } while (0)

/* On loopback, any port; closed with its test. `limits` NULL: the default ones. */
struct world *world_new(const struct hf_http_limits *limits);
void world_end(struct world *world); /* of world_new, before its test does */
/* `limits` NULL: the default ones. Loopback, any port, unless `listen` says something else. */
bool world_open(struct world *world, const char *listen, const struct hf_http_limits *limits);
bool world_open_tls(struct world *world, const char *listen, const char *cert, const char *key);
void world_close(struct world *world);
void world_be_patient(struct world *world);
void world_step(struct world *world); /* blocks only if nothing waits to be written */
void world_forget(struct world *world, struct hf_exchange *exchange);
void answer(struct world *world, struct hf_exchange *exchange, const char *body);

struct client *client_new(struct world *world);
/* Sent as far as it goes, the rest while the loop runs. */
void client_send(struct client *client, const char *text);
void client_send_bytes(struct client *client, struct hf_span bytes);
bool client_has(const struct client *client, const char *text);
/* What came so far, with a NUL; forgotten by client_forget. */
const char *client_text(struct client *client);
void client_forget(struct client *client);
void client_be_deaf(struct client *client, bool is_deaf);
void client_leave(struct client *client);

unsigned open_descriptors(void);

#endif
