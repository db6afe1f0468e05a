/* send.h - messages of our own making, towards clients and servers. */
#ifndef HF_CORE_CALL_SEND_H
#define HF_CORE_CALL_SEND_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/span.h"
#include "core/engine.h"
#include "core/machine/errors.h"

struct hf_call;
struct hf_incoming;
struct hf_runtime;
struct hf_server;
struct hf_session;

/* `via` 0: the message belongs to no request. */
void hf_session_send(struct hf_session *session, uint64_t via, struct hf_span message);
/* Cancels the request `id` that the client was sent. */
void hf_session_send_cancelled(struct hf_session *session, uint64_t via, uint64_t id);
/* `text` with `by` in the place of `cut` */
void hf_session_send_spliced(struct hf_session *session, uint64_t via, struct hf_span text,
                             struct hf_span cut, struct hf_span by);
/* Ends a stream on which a client was told of updates, without an answer. */
void hf_session_end_stream(struct hf_session *session, uint64_t via);
void hf_reply_error_data(const struct hf_incoming *in, int code, const char *text,
                         struct hf_span data); /* `data`: raw; n 0: none */
void hf_reply_error(const struct hf_incoming *in, int code, const char *format, ...)
    HF_PRINTF(3, 4);
void hf_reply_failure(const struct hf_incoming *in, struct hf_server *server, enum hf_error error,
                      const char *reason, const char *sentence); /* `server` may be NULL */
/* Answers with -31005 a request that would exceed its party's share of `what`, and names the limit;
 * true: it did. Before that the party loses its calls whose clients have been gone for goneMs. */
bool hf_reply_if_over(const struct hf_incoming *in, struct hf_server *server, enum hf_shared what,
                      uint64_t wants);
/* False: the notification was dropped, because the server takes no more. */
bool hf_runtime_notify(struct hf_runtime *runtime, struct hf_span message);
/* A notification about the call, in the session at the server that the call belongs to. */
void hf_call_notify_server(const struct hf_call *call, struct hf_span message);

#endif
