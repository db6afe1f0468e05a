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

/* An answer, from behind its id on. */
struct hf_saying {
    char *rest; /* NULL: it was too much to be kept */
    size_t length;
    int code; /* 0: a result */
};

/* What a modern client is asked at once, and how it answered. */
struct hf_round {
    struct hf_link link; /* in park->rounds, oldest first */
    uint32_t number;
    struct hf_saying question;
    bool was_heard; /* by a client that was there */
    bool is_answered;
    uint8_t digest[HF_SHA256_SIZE]; /* of the inputResponses that answered it */
};

/* A modern client's call whose legacy server asked something in the middle of it: the client's
 * request is answered with the question, and its retry goes on with the same call. */
struct hf_park {
    struct hf_link link; /* in session->parks */
    struct hf_session *session;
    struct hf_call *call; /* NULL: it has ended, and `end` says how */
    uint64_t number;
    char *server;
    uint64_t generation;
    enum hf_failure_form form;
    uint8_t bound[HF_SHA256_SIZE]; /* caller, tool and arguments */
    char *capabilities;            /* of the newest request for it, raw */
    struct hf_link server_requests, rounds;
    struct hf_link waiters; /* calls that are JOINED */
    unsigned last_key;
    bool is_gathering; /* the round to come; the timer says until when */
    bool is_anew;      /* its server wanted something done before it runs: sent anew after that */
    struct hf_saying end;
    bool was_heard; /* the end, by a retry */
    size_t kept;    /* bytes of ours in engine->kept_bytes */
    struct hf_timer timer;
};

extern const struct hf_bridge_ops hf_bridge_ops;
void hf_park_stop_asking(struct hf_park *park); /* its call is about to end */
void hf_park_progress(struct hf_call *call, const struct hf_msg *msg, struct hf_span token);
void hf_park_timer(struct hf_park *park);
void hf_parks_drop(struct hf_session *session, const char *why); /* nobody can come for them */
void hf_parks_stop(struct hf_session *session);
struct hf_park *hf_park_new(struct hf_call *call);
struct hf_round *hf_park_newest(const struct hf_park *park); /* NULL: none yet */
bool hf_park_is_asked(const struct hf_park *park);           /* and not answered yet */
/* Its call is with no server from here on; it may outlive the one it was with, and so may those
 * that wait for it. */
void hf_park_leave_server(struct hf_park *park);
bool hf_park_may_charge(const struct hf_engine *engine, size_t bytes);
void hf_park_charge(struct hf_park *park, size_t bytes);
void hf_park_set_capabilities(struct hf_park *park, struct hf_span capabilities);
void hf_park_gather(struct hf_park *park); /* if there is something to be asked */
/* One of its asks has ended because nobody came: with the last of them its clock runs on. */
void hf_park_unanswered(struct hf_park *park);
void hf_park_rearm(struct hf_park *park);
/* Asks: `requests` are the members of inputRequests. */
void hf_park_put(struct hf_park *park, struct hf_span requests, const struct hf_server *server);
struct hf_answer hf_park_saying(const struct hf_park *park, const struct hf_saying *saying);
struct hf_span hf_park_response(struct hf_span responses, const struct hf_server_request *ask);
/* Tells the server what its client answered in that round. */
void hf_park_tell(struct hf_park *park, uint32_t round, struct hf_span responses);
void hf_park_refuse_asks(struct hf_park *park, bool only_unasked, const char *why);

#endif
