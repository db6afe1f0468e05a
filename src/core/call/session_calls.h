/* session_calls.h - a client's calls, by their ids and by the messages they came in. */
#ifndef HF_CORE_CALL_SESSION_CALLS_H
#define HF_CORE_CALL_SESSION_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "base/span.h"
#include "core/state/call.h"
#include "core/state/session.h"

void hf_session_index_call(struct hf_call *call);
void hf_session_unindex_call(struct hf_call *call);
/* A call is in its session while its client waits for it, until the client was sent an answer or a
 * question. */
static inline void hf_session_add_call(struct hf_session *session, struct hf_call *call)
{
    hf_list_push(&session->calls, &call->in_session);
    session->call_count++;
    if (session->has_indexed_calls)
        hf_session_index_call(call);
}
/* The call may have left its session already. */
static inline void hf_session_remove_call(struct hf_call *call)
{
    struct hf_session *session = call->session;
    if (!hf_linked(&call->in_session))
        return;
    hf_unlink(&call->in_session);
    if (session->has_indexed_calls)
        hf_session_unindex_call(call);
    if (--session->call_count == 0)
        session->has_indexed_calls = false;
}
/* The call with that id (raw) of the client; NULL: none, or more than one. */
struct hf_call *hf_session_find_call(struct hf_session *session, struct hf_span id,
                                     bool *ret_are_two);
/* Few calls are searched one by one, so that a usual call pays for no map; many are indexed. False:
 * there are few. */
bool hf_session_calls_are_indexed(struct hf_session *session);
uint64_t hf_session_via_hash(const struct hf_session *session, uint64_t via);

#endif
