/*
 * modern.h - Streamable HTTP of 2026-07-28, at the same endpoints as the older versions.
 *
 * Every request is a POST of its own and carries its client's version and capabilities; there are
 * no sessions for clients. Headers repeat parts of the body for proxies, and both are compared
 * before anything is done. The answer is one JSON body if no other message precedes it, else a
 * stream of events without ids.
 *
 * 1. A POST is modern if its body says so, or if its MCP-Protocol-Version is no older version. The
 *    body of a POST with an Mcp-Session-Id and without such a version is not looked at.
 * 2. A request whose headers differ from its body never reaches the engine.
 * 3. A client cancels its request by closing the connection.
 * 4. All requests of one token at one endpoint share a session of the engine; each gets its own
 *    answer only.
 */
#ifndef HF_FRONT_MODERN_H
#define HF_FRONT_MODERN_H

#include "front/http_parts.h"

/* False: the POST is for the older versions. `takes_json` and `takes_events` are what the Accept
 * header allows. */
bool hf_modern_post(struct hf_http_front *front, const struct hf_caller *caller,
                    struct hf_exchange *exchange, bool takes_json, bool takes_events);
/* Refuses a GET or DELETE of a modern client, which has no session, with 405. False: the request is
 * for the older versions. */
bool hf_modern_refuses(struct hf_exchange *exchange);

/* ---- for a session that serves modern requests ---- */

void hf_modern_send(const struct hf_http_session *session, const struct hf_effect *effect);
void hf_modern_gone(struct hf_reply_stream *stream); /* its client has gone; frees the stream */

#endif
