/* legacy_input.h - what a modern server wants to know before it goes on, asked of a legacy client.
 */
#ifndef HF_CORE_BRIDGE_LEGACY_INPUT_H
#define HF_CORE_BRIDGE_LEGACY_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "base/span.h"

struct hf_call;
struct hf_msg;
struct hf_session;

/* The rounds of questions that a legacy client is asked in one call to a modern server. */
struct hf_input {
    unsigned rounds;       /* so far, the current one included */
    unsigned open;         /* questions of this round that are not answered yet */
    char *state;           /* the server's requestState of this round, raw; NULL: none */
    struct hf_buf answers; /* of this round so far: members of inputResponses */
};

/* A question of a modern server that a legacy client has been asked and not answered yet. */
struct hf_question {
    struct hf_link link; /* in session->questions */
    struct hf_call *call;
    uint64_t id; /* of the request that asks the client */
    char *key;   /* the server's key for the question, raw, without quotes */
    bool is_elicitation;
};

/* Whether a modern server's answer is `input_required`. */
bool hf_input_is_required(const struct hf_msg *msg);
/* Asks the call's client what its server wants to know. */
void hf_input_ask(struct hf_call *call, const struct hf_msg *msg);
/* The client answered a question; false: the answer is to no question of ours. */
bool hf_input_answered(struct hf_session *session, const struct hf_msg *msg);
/* The client's answer to the question with this id was larger than maxMessageBytes; false: there is
 * no such question. */
bool hf_input_answer_oversized(struct hf_session *session, struct hf_span id);
void hf_input_timed_out(struct hf_call *call); /* the client did not answer within askMs */
void hf_input_drop(struct hf_call *call);      /* cancels its questions: the call is about to end */
void hf_input_free(struct hf_input *input);    /* NULL accepted */
void hf_input_finished(struct hf_session *session); /* the client can answer nothing any more */
/* Whether the call's server, which asked as a modern one, is a legacy one since then. */
bool hf_input_is_misplaced(const struct hf_call *call);
void hf_input_refuse_misplaced(struct hf_call *call);

#endif
