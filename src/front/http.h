/*
 * http.h - the door for clients that speak HTTP: Streamable HTTP at /mcp and /mcp/NAME, HTTP+SSE of
 * 2024-11-05 at /sse and /sse/NAME, and /healthz, /readyz, /metrics.
 *
 * Who may not come in is told so before anything else is looked at. A client's token ends here.
 */
#ifndef HF_FRONT_HTTP_H
#define HF_FRONT_HTTP_H

#include "base/err.h"
#include "front/access.h"
#include "io/http_server.h"
#include "io/shell.h"

struct hf_http_front;

/* Somebody who has a say in who comes in, beside struct hf_access and after it. */
struct hf_authorizer {
    /* HF_UNDECIDED: the request is held until hf_http_front_decide. `token` may be NULL. */
    enum hf_admission (*ask)(void *context, const struct hf_http_request *request,
                             const struct hf_token *token, uint64_t ticket);
    void *context;
};

/* Where lines about whom the front refused go. */
struct hf_front_log {
    void (*warn)(void *context, struct hf_span text);
    void *context;
};

struct hf_http_front_spec {
    struct hf_http_spec http;
    struct hf_front_log log;                /* `warn` NULL: nowhere */
    const struct hf_authorizer *authorizer; /* NULL: nobody; has to outlive the front */
    const struct hf_limits *limits;
    uint32_t session_ttl_ms, max_sessions;
};

/* NULL: `err` says why. `access` is taken over in any case. */
struct hf_http_front *hf_http_front_new(struct hf_shell *shell,
                                        const struct hf_http_front_spec *spec,
                                        struct hf_access *access, struct hf_err *err);
void hf_http_front_free(struct hf_http_front *front); /* NULL accepted */
const char *hf_http_front_url(const struct hf_http_front *front);
/* Instead of what was said before, and taken over. Sessions of tokens that are gone, or may do
 * something else now, are closed: their clients have to come in anew. False: without a token in it
 * everybody on other machines could come in; who may stays as it was. */
HF_MUST_CHECK bool hf_http_front_admit(struct hf_http_front *front, struct hf_access *access);

/* What the authorizer found about one request, from a callback of the loop but not from inside
 * `ask`. Nothing happens if the client has left meanwhile, or if it was decided already. One that
 * is admitted must still be one that `access` lets in. */
void hf_http_front_decide(struct hf_http_front *front, uint64_t ticket,
                          enum hf_admission admission);

/* No connection is taken any more and streams that wait for nothing are ended; what was asked is
 * still answered. */
void hf_http_front_stop(struct hf_http_front *front);
void hf_http_front_review(struct hf_http_front *front); /* at the end of a turn */
bool hf_http_front_is_stopped(const struct hf_http_front *front);

#endif
