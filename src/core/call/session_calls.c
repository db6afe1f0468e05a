/* session_calls.c - a client's calls, by their ids and by the messages they came in. */
#include "core/call/session_calls.h"
#include "core/outbox.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/session.h"
#include "wire/json.h"

enum { FEW_CALLS = 64 };

/* Ids are compared by value: the same string may be written with escapes or without. */
static uint64_t id_hash(const struct hf_session *session, struct hf_span id)
{
    const struct hf_map *map = &session->engine->calls_by_client_id;
    const uint64_t scope = (uint64_t)(uintptr_t)session;
    if (hf_json_type(id) != HF_JSON_STRING || !memchr(id.p, '\\', id.n))
        return hf_map_hash(map, scope, id);
    struct hf_buf plain = hf_draft(); /* the id as it is written without escapes */
    hf_buf_add_char(&plain, '"');
    if (!hf_json_unescape(id, &plain))
        hf_buf_clear(&plain);
    hf_buf_add_char(&plain, '"');
    const uint64_t hash = hf_map_hash(map, scope, hf_buf_span(&plain));
    hf_buf_done(&plain);
    return hash;
}

uint64_t hf_session_via_hash(const struct hf_session *session, uint64_t via)
{
    return hf_map_hash(&session->engine->calls_by_via, (uint64_t)(uintptr_t)session,
                       (struct hf_span) { (const char *)&via, sizeof via });
}

void hf_session_index_call(struct hf_call *call)
{
    struct hf_engine *engine = call->engine;
    hf_map_add(&engine->calls_by_client_id, &call->by_client_id,
               id_hash(call->session, call->client_id));
    if (call->via)
        hf_map_add(&engine->calls_by_via, &call->by_via,
                   hf_session_via_hash(call->session, call->via));
}

void hf_session_unindex_call(struct hf_call *call)
{
    hf_map_remove(&call->engine->calls_by_client_id, &call->by_client_id);
    if (call->via)
        hf_map_remove(&call->engine->calls_by_via, &call->by_via);
}

/* Few calls are searched one by one, so that a usual call pays for no map; many are indexed. False:
 * there are few. */
bool hf_session_calls_are_indexed(struct hf_session *session)
{
    struct hf_call *call;
    if (session->has_indexed_calls || session->call_count <= FEW_CALLS)
        return session->has_indexed_calls;
    HF_LIST_EACH (call, &session->calls, struct hf_call, in_session)
        hf_session_index_call(call);
    return session->has_indexed_calls = true;
}

/* False: `call` has that id, and so has the call that was found before. */
static bool is_only_one(struct hf_call *call, struct hf_span id, struct hf_call **found)
{
    if (!hf_json_same_scalar(call->client_id, id))
        return true;
    if (*found)
        return false;
    *found = call;
    return true;
}

struct hf_call *hf_session_find_call(struct hf_session *session, struct hf_span id,
                                     bool *ret_are_two)
{
    struct hf_call *found = NULL, *call;
    *ret_are_two = false;
    if (!id.p)
        return NULL;
    if (!hf_session_calls_are_indexed(session)) {
        HF_LIST_EACH (call, &session->calls, struct hf_call, in_session) {
            *ret_are_two |= !is_only_one(call, id, &found);
        }
        return *ret_are_two ? NULL : found;
    }
    HF_MAP_EACH(call, &session->engine->calls_by_client_id, id_hash(session, id), struct hf_call,
                by_client_id)
    {
        *ret_are_two = call->session == session && !is_only_one(call, id, &found);
        if (*ret_are_two)
            return NULL;
    }
    return found;
}
