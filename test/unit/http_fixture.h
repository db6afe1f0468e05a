/*
 * http_fixture.h - a server in threads that does what a test tells it, and a client on a loop.
 *
 * The server speaks raw bytes, plain or TLS, so it can be as rude as any. Waits are for events;
 * LIMIT_MS only ends a test that would hang.
 */
#ifndef HF_TEST_HTTP_FIXTURE_H
#define HF_TEST_HTTP_FIXTURE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "base/buf.h"
#include "io/http_client.h"
#include "test.h"

enum { LIMIT_MS = 20000, FETCHES_MAX = 64 };

/* --- the server --- */

struct server;

struct talk { /* one connection, in a thread of its own */
    struct server *server;
    int fd;
    void *tls;        /* SSL *, NULL: plain */
    int number;       /* from 0 */
    struct hf_buf in; /* the request last read: head and body */
    size_t head_n;
};

typedef void on_talk(struct talk *talk);

struct server {
    int listener, port;
    on_talk *serve;
    void *tls; /* SSL_CTX * */
    pthread_t acceptor, talkers[FETCHES_MAX];
    atomic_int connections, delivered; /* delivered: requests read to their last byte */
    int told;                          /* an eventfd: the server tells the test */
    sem_t go;                          /* the test tells the server */
};

void server_start(struct server *server, on_talk *serve, bool is_tls);
void server_gone(struct server *server); /* from a talk: no further connection, ever */
void server_stop(struct server *server); /* NULL accepted */
void server_tell(struct server *server);

bool talk_read(struct talk *talk); /* one request; false: the client is gone */
struct hf_span talk_body(const struct talk *talk);
void talk_write(struct talk *talk, const char *text);
void talk_write_n(struct talk *talk, struct hf_span bytes);
void talk_answer(struct talk *talk, const char *body); /* 200, keep-alive */
void talk_close(struct talk *talk);                    /* also done when the talk returns */
void talk_reset(struct talk *talk);                    /* RST */
bool talk_is_hung_up(struct talk *talk);               /* waits for the client to go */
bool talk_has(const struct talk *talk, const char *part);

/* --- the client --- */

struct world {
    struct hf_loop *loop;
    struct hf_http_client *client;
    struct hf_alarm limit;
    bool is_late;
    int fds_before;
};

struct got { /* what became of one fetch */
    struct world *world;
    struct hf_fetch *fetch;
    char log[128]; /* "sending head bytes over", runs of bytes once */
    struct hf_buf body;
    int status;
    char type[64]; /* content-type, asked in `head` */
    bool is_over, is_whole;
    int end_status;
    enum hf_sent sent;
    char why[512];
    void (*on_event)(struct got *got, const char *event);
    void *extra;
};

/* The same tests are built for both ways of the client: what it does by itself, and what libcurl
 * does (-DHF_TEST_BY_LIBCURL). */
void world_open_by(struct world *world, bool is_by_libcurl);
static inline void world_open(struct world *world)
{
#ifdef HF_TEST_BY_LIBCURL
    world_open_by(world, true);
#else
    world_open_by(world, false);
#endif
}
/* Also stops the server, which began after the world; no descriptor may be left. */
void world_close(struct world *world, struct server *server);
int open_fds(void);
struct hf_peer *world_peer(struct world *world, struct hf_peer_spec spec);

void got_init(struct got *got, struct world *world);
void got_done(struct got *got);
/* GET without a body, POST with one; `path` begins with '/', or is a whole URL */
void go(struct got *got, struct hf_peer *peer, const struct server *server, const char *path,
        const char *body);
void go_spec(struct got *got, struct hf_peer *peer, const struct hf_fetch_spec *spec);
void wait_over(struct got *got);
void wait_bytes(struct got *got, size_t n);
void wait_told(struct world *world, struct server *server); /* turning the loop meanwhile */
void wait_told_asleep(struct server *server);               /* or not */

/* --- both of them, and one fetch --- */

struct meeting {
    struct server s;
    struct world w;
    struct hf_peer *peer;
    struct got got;
};

void meet(struct meeting *m, on_talk *serve, bool is_tls);
void fetch(struct meeting *m, const char *path, const char *body); /* and waits until it is over */
void part(struct meeting *m);

extern const struct hf_peer_spec plain_spec;
struct hf_peer_spec spec_of(const struct server *server); /* with the right CA */
const char *other_ca(void);                               /* of a certificate that no server has */

#endif
