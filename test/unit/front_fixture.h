/*
 * front_fixture.h - the real HTTP front on the real HTTP server and the real engine, between
 * clients on socket pairs and a fake world: no process, and no clock but the world's.
 *
 * A trip is a request that a test makes on a connection of its own, and everything that was
 * answered to it. Whatever the functions below do, all is quiet again when they return. A front
 * ends with its test.
 */
#ifndef HF_FRONT_FIXTURE_H
#define HF_FRONT_FIXTURE_H

#include "engine_fixture.h"
#include "front/http.h"
#include "wire/http_chunks.h"

enum { TRIPS_MAX = 256 };

struct trip {
    int fd; /* -1: closed */
    struct hf_buf unsent, came;
    struct hf_chunks chunks;
    int status; /* 0: nothing yet */
    char *headers;
    size_t length;     /* of the answer's body, if it is no stream */
    struct hf_buf out; /* the answer's body */
    bool is_stream, is_over;
    bool is_gone; /* one of the two left before it was over */
};

struct front {
    struct hf_shell shell; /* first: the shell is the front */
    struct world *w;
    struct hf_server *server; /* "s", with a tool "echo" */
    struct hf_http_front *http;
    struct trip *trips[TRIPS_MAX];
    size_t trip_count;
    bool is_pumping;
    char log[4096]; /* what the front said of those it refused, one line each */
};

struct front *front_new(uint32_t session_ttl_ms, uint32_t max_sessions);
struct front *front_new_with(uint32_t session_ttl_ms, uint32_t max_sessions,
                             uint64_t max_buffered_bytes);
struct front *front_new_asking(const struct hf_authorizer *authorizer);
void front_end(struct front *f);         /* before its test does */
void pass(struct front *f, uint64_t ms); /* through every alarm and timer on the way */
void front_be_remote(struct front *f);   /* as if it were reached from other machines */
bool front_listens(const struct front *f);
/* How much each client takes at this moment without being cut off. */
void front_set_room(struct front *f, size_t bytes);

/* Any request; `headers` are lines that end in CRLF. */
struct trip *ask(struct front *f, const char *method, const char *path, const char *headers,
                 const char *body);
/* One whose body has `length` bytes, of which `body` is the beginning. */
struct trip *ask_begin(struct front *f, const char *method, const char *path, const char *headers,
                       const char *body, size_t length);
void ask_more(struct front *f, struct trip *trip, const char *body);
/* With all that a well-behaved client sends; `session` NULL: none. */
struct trip *post(struct front *f, const char *session, const char *body);
struct trip *get(struct front *f, const char *session, const char *last_event_id);
void leave(struct front *f, struct trip *trip); /* the client goes away */

/* Initializes at /mcp/s and gives the id of the session; static memory, for each `at` of its own.
 */
const char *join(struct front *f, const char *version);
struct trip *call(struct front *f, const char *session, int id); /* of the tool echo */
void answer_call(struct front *f); /* the server answers the call it got last */

/* How often `part` stands in what was answered. */
size_t has(const struct trip *trip, const char *part);
struct hf_span header_of(const struct trip *trip, const char *name); /* "Allow" */
/* The id of the last event that came, as a client would keep it; static memory. */
const char *last_id(const struct trip *trip);

#endif
