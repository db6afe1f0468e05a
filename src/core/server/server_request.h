/* server_request.h - requests of servers that are with a client. */
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

/* A request of a server that is with a client. */
struct hf_server_request {
    struct hf_link in_session, in_runtime;
    struct hf_session *session;
    struct hf_runtime *runtime;
    uint64_t via;    /* of the call it belongs to, if one is known */
    uint64_t id;     /* towards the client */
    char *server_id; /* raw */
    uint64_t since_ms;
    struct hf_timer timer; /* its client is not waited for any longer */
    /* of a modern client's call: it goes into a round of its park, and is in no session */
    struct hf_park *park; /* NULL: a legacy client was asked */
    struct hf_link in_park;
    enum hf_method_id method;
    unsigned key;
    uint32_t round;  /* 0: not asked yet */
    char *request;   /* until it is asked; of a legacy client: until that is initialized */
    bool is_refused; /* its client cannot be asked this: told with the answers of the round */
};

bool hf_client_can_be_asked(struct hf_span capabilities, enum hf_method_id method,
                            struct hf_span params);
void hf_server_request_new(struct hf_runtime *runtime, struct hf_session *session, uint64_t via,
                           const struct hf_method *method, const struct hf_msg *msg);
void hf_server_request_cancelled(struct hf_runtime *runtime, const struct hf_msg *msg);
void hf_server_requests_send_early(struct hf_session *session); /* it has said `initialized` */
void hf_server_request_timer(struct hf_server_request *ask);
void hf_server_request_arm(struct hf_server_request *ask); /* its time runs from since_ms on */
void hf_server_requests_drop(struct hf_runtime *runtime);
bool hf_server_request_answered(struct hf_session *session,
                                const struct hf_msg *msg); /* false: not ours */
void hf_server_request_end(struct hf_server_request *ask);
extern const char hf_not_declared[]; /* said of what a client cannot be asked */
bool hf_server_request_answer_oversized(struct hf_session *session,
                                        struct hf_span id); /* it was too large */

/* Responses to what a server asked. */
void hf_runtime_respond(struct hf_runtime *runtime, struct hf_span message);
void hf_runtime_respond_error(struct hf_runtime *runtime, struct hf_span id, int code,
                              const char *text);

#endif
