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

/* False: not for a modern client. `origin` NULL: not known. */
bool hf_park_asked(struct hf_runtime *runtime, struct hf_call *origin, struct hf_session *session,
                   const struct hf_method *method, const struct hf_msg *msg);
/* The server's -32042, and its client can be asked that: the call is to wait for the retry. */
bool hf_park_wants_url(const struct hf_call *call, const struct hf_msg *msg);
void hf_park_ask_url(struct hf_call *call, const struct hf_msg *msg);
bool hf_park_is_for(const struct hf_method *method);

#endif
