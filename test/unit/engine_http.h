/*
 * engine_http.h - remote servers of an engine_fixture world: no socket, no HTTP, no curl.
 *
 * Every HF_DO_EXCHANGE is recorded as an exchange that a test can read and answer, step by step:
 * bytes leave us, a head comes, messages and event ids come, it ends or breaks. A server with good
 * manners (struct http_manners) greets, lists, keeps one session and answers ping by itself; calls
 * are left to the test.
 *
 * Checked in every test: an exchange ends once, by itself or by being aborted, and nothing is told
 * of it afterwards; a runtime is hung up once, and leaves no exchange behind.
 */
#ifndef HF_ENGINE_HTTP_H
#define HF_ENGINE_HTTP_H

#include "engine_fixture.h"

struct exchange {
    struct world *world;
    struct child *child;
    struct hf_remote_exchange *post; /* NULL: it is over, or was aborted */
    enum hf_remote_exchange_kind verb;
    char *endpoint, *session_id, *version, *last_event_id, *headers; /* NULL: none */
    struct messages body;                                            /* one, of a POST */
    uint64_t begun_ms, ended_ms;
    bool is_sending, is_stream, is_aborted;
    int status;                  /* of its head; 0: none came yet */
    const char *type;            /* content type; NULL: none */
    struct hf_buf said;          /* beside an error status: told when it is over */
    bool is_gzip, has_no_length; /* of that */
    bool has_run;                /* for the test to keep in mind */
};

/* ---- finding: by the method in it, or "response", "GET", "RESUME", "DELETE" ---- */

size_t exchanges(const struct world *w, const char *what);
struct exchange *nth_exchange(const struct world *w, const char *what, size_t n); /* from 0 */
struct exchange *last_exchange(const struct world *w, const char *what);
size_t sent(const struct world *w, const char *what); /* of which bytes left us */
size_t open_exchanges(const struct world *w, const char *what);

bool is_text(const char *text, const char *expected); /* NULL: it is not */

/* ---- what becomes of one ---- */

void exchange_sends(struct exchange *x); /* the steps below do it where it was not done */
void exchange_head(struct exchange *x, int status, bool is_stream);
void exchange_gives_session(struct exchange *x, const char *session_id); /* a head, of initialize */
void exchange_says(struct exchange *x, const char *format, ...) HF_PRINTF(2, 3);
void exchange_says_answer(struct exchange *x, const char *result); /* with the id of its request */
void exchange_marks(struct exchange *x, const char *event_id, int64_t retry_ms);
void exchange_ends(struct exchange *x); /* whole */
void exchange_breaks(struct exchange *x, enum hf_sent sent_so_far);

void exchange_answers(struct exchange *x, const char *result); /* 200, JSON, over */
/* `error`: of a JSON-RPC error response with the request's id. */
void exchange_answers_error(struct exchange *x, int status, const char *error);
void exchange_fails(struct exchange *x, int status); /* no JSON-RPC in it, but a few words */
/* `body`: %s in it stands for the id of its request. */
void exchange_fails_with(struct exchange *x, int status, const char *type, const char *body);
void exchange_fails_for(struct exchange *x, int status, int64_t retry_after_ms);
struct exchange *stream_of(struct child *c); /* the newest GET that is open */

/* ---- for engine_fixture.c ---- */

void http_begin(struct world *w, struct hf_remote_exchange *post);
void http_abort(struct hf_remote_exchange *post);
void http_hang_up(struct child *c);
bool http_act(struct child *c); /* one thing that the servers do by themselves */
void http_released(const struct child *c);
void http_done(struct world *w);

#endif
