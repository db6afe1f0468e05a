/* park.h - a legacy server asks something in the middle of a modern client's call. */
#ifndef HF_CORE_BRIDGE_PARK_H
#define HF_CORE_BRIDGE_PARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "base/sha256.h"
#include "base/span.h"
#include "base/timers.h"
#include "core/machine/errors.h"
#include "core/state/answer.h"
#include "core/state/call.h"

struct hf_msg;
struct hf_server_request;

/* An answer that is kept: everything that follows the id. */
struct hf_saying {
    char *rest; /* NULL: the answer was too large to be kept */
    size_t length;
    int code; /* the error code; 0: a result */
};

/* What a modern client is asked with one input_required, and whether it has answered. */
struct hf_round {
    struct hf_link link; /* in park->rounds, oldest first */
    uint32_t number;
    struct hf_saying question;
    bool was_heard; /* the question was sent to a client that waited */
    bool is_answered;
    uint8_t digest[HF_SHA256_SIZE]; /* of the inputResponses that answered this round */
};

/* A modern client's call whose legacy server asked something in the middle of it: the client's
 * request is answered with the question, and its retry goes on with the same call. */
struct hf_park {
    struct hf_link link; /* in session->parks */
    struct hf_session *session;
    struct hf_client_party *party; /* that the call is counted for */
    struct hf_call *call;          /* NULL: the call has ended, and `end` is its answer */
    uint64_t number;
    char *server;
    uint64_t generation;
    enum hf_failure_form form;
    uint8_t bound[HF_SHA256_SIZE]; /* digest of caller, tool and arguments */
    char *capabilities;            /* of the client, from its newest request for this call, raw */
    struct hf_link server_requests, rounds;
    struct hf_link waiters; /* retries (JOINED calls) that wait for what becomes of the call */
    unsigned last_key;
    bool is_gathering; /* the next round is being collected, until the timer fires */
    bool is_anew;      /* the server wants something done first (-32042): then sent anew */
    struct hf_saying end;
    bool was_heard; /* `end` was sent to a retry */
    size_t kept;    /* bytes, as counted for `party` */
    struct hf_timer timer;
};

extern const struct hf_bridge_ops hf_bridge_ops;
void hf_park_stop_asking(struct hf_park *park); /* the call is about to end */
/* Passes a progress notification of the server to the retries that wait. */
void hf_park_progress(struct hf_call *call, const struct hf_msg *msg, struct hf_span token);
void hf_park_timer(struct hf_park *park);
/* Gives up parked calls that no retry waits for: nobody can come for them any more. */
void hf_parks_drop(struct hf_session *session, const char *why);
/* holdfast stops: cancels parked calls that no retry waits for. */
void hf_parks_stop(struct hf_session *session);
struct hf_park *hf_park_new(struct hf_call *call);
struct hf_round *hf_park_newest(const struct hf_park *park); /* NULL: no round yet */
bool hf_park_is_asked(const struct hf_park *park);           /* the newest round is not answered */
/* The call is with no server from here on. The call, and the retries that wait for it, may outlive
 * the server. */
void hf_park_leave_server(struct hf_park *park);
/* Whether so many bytes more may be kept for parked calls. */
bool hf_park_may_charge(const struct hf_engine *engine, const struct hf_client_party *party,
                        size_t bytes);
void hf_park_charge(struct hf_park *park, size_t bytes);
void hf_park_set_capabilities(struct hf_park *park, struct hf_span capabilities);
void hf_park_gather(struct hf_park *park); /* begins the next round, if the server asked more */
/* A server request that the client was asked ended without an answer. After the last such request
 * the call's clock (callTimeoutMs) runs on. */
void hf_park_unanswered(struct hf_park *park);
/* Lets parkMs begin anew, or stops it while a retry waits for the server. */
void hf_park_rearm(struct hf_park *park);
/* Asks the client a round of questions; `requests`: the members of inputRequests. */
void hf_park_put(struct hf_park *park, struct hf_span requests, const struct hf_server *server);
struct hf_answer hf_park_saying(const struct hf_park *park, const struct hf_saying *saying);
/* The client's response to this server request; p NULL: there is none. */
struct hf_span hf_park_response(struct hf_span responses, const struct hf_server_request *request);
/* Tells the server what the client answered in this round. */
void hf_park_tell(struct hf_park *park, uint32_t round, struct hf_span responses);
/* Refuses the server requests that are not answered, or only those not asked yet. */
void hf_park_refuse_asks(struct hf_park *park, bool only_unasked, const char *why);

#endif
