/*
 * http.h - the endpoints for clients that speak HTTP: Streamable HTTP at /mcp and /mcp/NAME,
 * HTTP+SSE of 2024-11-05 at /sse and /sse/NAME, and /healthz, /readyz, /metrics.
 *
 * Whether a request is admitted is decided before anything else. Clients' tokens are never passed
 * on to servers.
 */
#ifndef HF_FRONT_HTTP_H
#define HF_FRONT_HTTP_H

#include "base/err.h"
#include "front/access.h"
#include "io/http_server.h"
#include "io/shell.h"

struct hf_http_front;

/* Decides about requests that struct hf_access has admitted. */
struct hf_authorizer {
    /* HF_UNDECIDED: the request is held until hf_http_front_decide. `token` may be NULL. */
    enum hf_admission (*ask)(void *context, const struct hf_http_request *request,
                             const struct hf_token *token, uint64_t ticket);
    void *context;
};

/* Where the front logs the requests that it refused. */
struct hf_front_log {
    void (*warn)(void *context, struct hf_span text);
    void *context;
};

struct hf_http_front_spec {
    struct hf_http_spec http;
    struct hf_front_log log;                /* `warn` NULL: nowhere */
    const struct hf_authorizer *authorizer; /* NULL: none; has to outlive the front */
    const struct hf_limits *limits;
    uint32_t session_ttl_ms, max_sessions;
};

/* NULL: `err` says why. `access` is taken over in any case. */
struct hf_http_front *hf_http_front_new(struct hf_shell *shell,
                                        const struct hf_http_front_spec *spec,
                                        struct hf_access *access, struct hf_err *err);
void hf_http_front_free(struct hf_http_front *front); /* NULL accepted */
const char *hf_http_front_url(const struct hf_http_front *front);
/* Replaces the rules of admission; takes `access` over. Sessions whose token is gone, or has
 * another policy now, are closed: their clients have to initialize anew. False: `access` has no
 * token and the front listens beyond this machine; the old rules stay. */
HF_MUST_CHECK bool hf_http_front_admit(struct hf_http_front *front, struct hf_access *access);

/* The authorizer's decision about one request. Called from a callback of the loop, but not from
 * inside `ask`. Does nothing if the client has gone or the request was decided before. A request
 * that is admitted is checked by `access` again. */
void hf_http_front_decide(struct hf_http_front *front, uint64_t ticket,
                          enum hf_admission admission);

/* No connection is accepted any more, and GET streams are ended; open requests are still answered.
 */
void hf_http_front_stop(struct hf_http_front *front);
void hf_http_front_review(struct hf_http_front *front); /* at the end of a turn */
bool hf_http_front_is_stopped(const struct hf_http_front *front);

#endif
