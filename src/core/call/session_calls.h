/* session_calls.h - a client's calls, by their ids and by the messages they came in. */
#ifndef HF_CORE_CALL_SESSION_CALLS_H
#define HF_CORE_CALL_SESSION_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

struct hf_call;
struct hf_session;

/* While its client waits for it: once its client has its answer, or a question, it is nobody's. */
void hf_session_add_call(struct hf_session *session, struct hf_call *call);
void hf_session_remove_call(struct hf_call *call); /* also of one that is not there any more */
/* The call of that id, raw; NULL: none, or more than one. */
struct hf_call *hf_session_find_call(struct hf_session *session, struct hf_span id,
                                     bool *ret_are_two);
/* Few are looked through, so that a usual call pays for no map. False: they are few. */
bool hf_session_calls_are_indexed(struct hf_session *session);
uint64_t hf_session_via_hash(const struct hf_session *session, uint64_t via);

#endif
