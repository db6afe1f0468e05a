/* server_request.h - server requests: what servers ask clients. */
#ifndef HF_CORE_SERVER_SERVER_REQUEST_H
#define HF_CORE_SERVER_SERVER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "base/span.h"
#include "base/timers.h"
#include "core/machine/method.h"

struct hf_method;
struct hf_msg;
struct hf_park;
struct hf_runtime;
struct hf_session;

/* A server's request that is with a client, or is kept for one. */
struct hf_server_request {
    struct hf_link in_session, in_runtime;
    struct hf_session *session;
    struct hf_runtime *runtime;
    uint64_t via;    /* of the call that the request belongs to, if one is known */
    uint64_t id;     /* our id towards the client */
    char *server_id; /* the server's id, raw */
    uint64_t since_ms;
    struct hf_timer timer; /* when the client is not waited for any longer */
    /* In a modern client's call the request goes into a round of the call's park, and is in no
     * session. */
    struct hf_park *park; /* NULL: a legacy client was asked */
    struct hf_link in_park;
    enum hf_method_id method;
    unsigned key;
    uint32_t round;  /* 0: the client was not asked yet */
    char *text;      /* raw, until the client is asked: a legacy one when it is initialized */
    bool is_refused; /* the client cannot be asked this; the server hears it with the round */
};

bool hf_client_can_be_asked(struct hf_span capabilities, enum hf_method_id method,
                            struct hf_span params);
void hf_server_request_new(struct hf_runtime *runtime, struct hf_session *session, uint64_t via,
                           const struct hf_method *method, const struct hf_msg *msg);
void hf_server_request_cancelled(struct hf_runtime *runtime, const struct hf_msg *msg);
/* The client has said `initialized`: requests that were kept for it are sent. */
void hf_server_requests_send_early(struct hf_session *session);
void hf_server_request_timer(struct hf_server_request *request);
void hf_server_request_arm(struct hf_server_request *request); /* the time runs from since_ms on */
void hf_server_requests_drop(struct hf_runtime *runtime);
/* False: `msg` answers no server request. */
bool hf_server_request_answered(struct hf_session *session, const struct hf_msg *msg);
void hf_server_request_end(struct hf_server_request *request);
extern const char hf_not_declared[]; /* error text for what a client cannot be asked */
/* The client's answer was larger than maxMessageBytes. False: `id` is no server request. */
bool hf_server_request_answer_oversized(struct hf_session *session, struct hf_span id);

/* Responses to server requests. */
void hf_runtime_respond(struct hf_runtime *runtime, struct hf_span message);
void hf_runtime_respond_error(struct hf_runtime *runtime, struct hf_span id, int code,
                              const char *text);

#endif
