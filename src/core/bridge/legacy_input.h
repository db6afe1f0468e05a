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

/* What a legacy client is being asked for a modern server, and was before. */
struct hf_input {
    unsigned rounds;
    unsigned open;         /* questions that are not answered yet */
    char *state;           /* raw: of the round under way; NULL: none */
    struct hf_buf answers; /* to it, so far */
};

/* What a modern server wants to know, with a legacy client. */
struct hf_question {
    struct hf_link link; /* in session->questions */
    struct hf_call *call;
    uint64_t id; /* towards the client */
    char *key;   /* raw, without quotes: the server's name for it */
    bool is_elicitation;
};

bool hf_input_is_required(const struct hf_msg *msg);
void hf_input_ask(struct hf_call *call, const struct hf_msg *msg); /* its client, for its server */
bool hf_input_answered(struct hf_session *session, const struct hf_msg *msg); /* false: not ours */
bool hf_input_answer_oversized(struct hf_session *session,
                               struct hf_span id);  /* it was too large */
void hf_input_timed_out(struct hf_call *call);      /* askMs is over */
void hf_input_drop(struct hf_call *call);           /* its questions; the call is about to end */
void hf_input_free(struct hf_input *input);         /* NULL accepted */
void hf_input_finished(struct hf_session *session); /* it can answer nothing any more */
/* The server went back to the older era since it asked. */
bool hf_input_is_misplaced(const struct hf_call *call);
void hf_input_refuse_misplaced(struct hf_call *call);

#endif
