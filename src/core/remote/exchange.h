/* exchange.h - one HTTP exchange of a runtime whose server is behind a URL. */
#ifndef HF_CORE_REMOTE_EXCHANGE_H
#define HF_CORE_REMOTE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "base/timers.h"
#include "core/engine.h"
#include "core/machine/http_body.h"
#include "core/state/runtime.h"

struct hf_body;
struct hf_call;
struct hf_span;

/* One HTTP exchange with a remote server. */
struct hf_remote_exchange {
    struct hf_link link; /* in remote.exchanges */
    struct hf_runtime *runtime;
    struct hf_call *call; /* the call that waits for its answer here; NULL: none, or not any more */
    enum hf_remote_exchange_kind kind;
    struct hf_backend_exchange *backend;
    char *owned; /* the text of a message that belongs to no call */
    size_t owned_length;
    uint64_t session; /* the number of the session that the exchange was begun under */
    char *session_id;
    char *endpoint;         /* NULL: the endpoint of the runtime */
    char *event_id;         /* of the last event, raw; NULL: the stream cannot be resumed */
    unsigned message_count; /* messages that came on a stream of events */
    char *to_nobody; /* the first message, if it is an error that names no request; or NULL */
    int64_t retry_ms;
    uint64_t opened_ms; /* when the head of the answer came */
    int status;
    bool is_stream, is_begun; /* not begun: it has ended, or the timer says when it begins again */
    bool has_progressed;      /* an event came since the exchange was last begun */
    bool is_answered;         /* the call was answered, and `call` is NULL since */
    bool is_exact;            /* the answer is an error to the letter, alone in its body */
    unsigned vain_resumes;
    struct hf_timer timer;
};

enum { HF_RETRY_MS_MIN = 100, HF_RETRY_MS_MAX = 30000 }; /* bounds of what a server may ask for */

void hf_remote_exchange_timer(struct hf_remote_exchange *exchange);
struct hf_remote_exchange *hf_remote_exchange_new(struct hf_runtime *runtime,
                                                  enum hf_remote_exchange_kind verb,
                                                  struct hf_call *call);
void hf_remote_exchange_abort(struct hf_remote_exchange *exchange);
/* Reads a body that came with an error status. RESULT, ERROR: `ret_answer` is the response, good
 * until collect. */
enum hf_reading hf_remote_exchange_read(struct hf_remote_exchange *exchange,
                                        const struct hf_body *body, struct hf_span *ret_answer);
bool hf_call_is_initialize(const struct hf_call *call); /* or the era probe; NULL: no */
bool hf_status_wants_auth(int status);

/* For transport.c: struct hf_transport_ops says what each of these does. */
void hf_remote_send(struct hf_call *call);
void hf_remote_tell(struct hf_runtime *runtime, const struct hf_call *about,
                    struct hf_span message);
void hf_remote_agree(struct hf_runtime *runtime, struct hf_span version);
void hf_remote_introduce(struct hf_runtime *runtime);
void hf_remote_exchange_leave(struct hf_remote_exchange *exchange, bool is_answered);

#endif
