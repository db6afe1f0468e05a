/* modern_answer.h - results and errors of legacy servers, as modern clients get them. */
#ifndef HF_CORE_BRIDGE_MODERN_ANSWER_H
#define HF_CORE_BRIDGE_MODERN_ANSWER_H

#include <stdbool.h>
#include "base/span.h"

struct hf_buf;
struct hf_call;
struct hf_method;
struct hf_msg;
struct hf_runtime;
struct hf_session;

/* Adds a legacy server's answer as a modern client gets it: everything that follows the id.
 * `ret_code`: the error code; 0: a result. */
void hf_modern_add_rest(struct hf_buf *out, const struct hf_call *call, const struct hf_msg *msg,
                        int *ret_code);
/* A legacy server asked for something that the client of a modern request cannot do. If the call
 * fails because of that, its client is told which capability is missing. */
void hf_modern_lacks(struct hf_runtime *runtime, struct hf_call *origin,
                     const struct hf_session *session, const struct hf_method *method,
                     struct hf_span params);
/* Whether a legacy server's answer must be changed before it goes to a modern client. */
bool hf_modern_changes(const struct hf_call *call, const struct hf_msg *msg);

#endif
