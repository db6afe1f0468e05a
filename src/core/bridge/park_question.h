/* park_question.h - which call of a modern client carries a legacy server's question, and what of
 * it may be asked at all. */
#ifndef HF_CORE_BRIDGE_PARK_QUESTION_H
#define HF_CORE_BRIDGE_PARK_QUESTION_H

#include <stdbool.h>

struct hf_call;
struct hf_method;
struct hf_msg;
struct hf_runtime;
struct hf_session;

/* Takes a legacy server's request for a modern client; false: it is not for a modern client.
 * `origin`: the call that the request belongs to; NULL: not known. */
bool hf_park_asked(struct hf_runtime *runtime, struct hf_call *origin, struct hf_session *session,
                   const struct hf_method *method, const struct hf_msg *msg);
/* Whether the server answered -32042 (a URL is to be visited first) and the client can be asked to
 * do that: then the call is parked until the retry. */
bool hf_park_wants_url(const struct hf_call *call, const struct hf_msg *msg);
void hf_park_ask_url(struct hf_call *call, const struct hf_msg *msg);
/* Whether calls of this method may be parked. */
bool hf_park_is_for(const struct hf_method *method);

#endif
