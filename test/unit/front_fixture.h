/*
 * front_fixture.h - the real HTTP front and the real engine, between fake exchanges and a fake
 * world: no socket, no clock.
 *
 * An exchange is a request that a test makes and everything that was answered to it. The front's
 * alarm rings when pass() comes by. Linked with --wrap for the functions of io that are played
 * here.
 */
#ifndef HF_FRONT_FIXTURE_H
#define HF_FRONT_FIXTURE_H

#include "engine_fixture.h"
#include "front/http.h"

enum { EXCHANGES_MAX = 256 };

extern size_t front_room; /* how much each exchange takes at this moment */

struct hf_exchange {
    void *context;
    char *text; /* the head as it was sent */
    struct hf_http_request request;
    struct hf_span body;
    int status; /* 0: nothing yet */
    char *headers;
    struct hf_buf out;                /* the answer's body */
    bool is_stream, is_over, is_gone; /* ended by the front, or left by the client */
};

struct front {
    struct hf_shell shell; /* first: the shell is the front */
    struct world *w;
    struct hf_server *server; /* "s", with a tool "echo" */
    struct hf_http_front *http;
    struct hf_http_events events;
    void *context;
    struct hf_alarm *alarm;
    struct hf_exchange *exchanges[EXCHANGES_MAX];
    size_t exchange_count;
    bool is_pumping, is_server_stopped, is_remote; /* reached from other machines */
};

struct front *front_new(uint32_t session_ttl_ms, uint32_t max_sessions);
struct front *front_new_with(uint32_t session_ttl_ms, uint32_t max_sessions,
                             uint64_t max_buffered_bytes);
struct front *front_new_asking(const struct hf_authorizer *authorizer);
void front_end(struct front *f);
void pass(struct front *f, uint64_t ms); /* through every alarm and timer on the way */

/* Any request; `headers` are lines that end in CRLF. */
struct hf_exchange *ask(struct front *f, const char *method, const char *path, const char *headers,
                        const char *body);
/* With all that a well-behaved client sends; `session` NULL: none. */
struct hf_exchange *post(struct front *f, const char *session, const char *body);
struct hf_exchange *get(struct front *f, const char *session, const char *last_event_id);
void leave(struct front *f, struct hf_exchange *exchange); /* the client goes away */

/* Initializes at /mcp/s and gives the id of the session; static memory, for each `at` of its own.
 */
const char *join(struct front *f, const char *version);
struct hf_exchange *call(struct front *f, const char *session, int id); /* of the tool echo */
void answer_call(struct front *f); /* the server answers the call it got last */

/* How often `part` stands in what was answered. */
size_t has(const struct hf_exchange *exchange, const char *part);
struct hf_span header_of(const struct hf_exchange *exchange, const char *name); /* "Allow" */
/* The id of the last event that came, as a client would keep it; static memory. */
const char *last_id(const struct hf_exchange *exchange);

#endif
