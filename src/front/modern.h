/*
 * modern.h - Streamable HTTP of 2026-07-28, at the same doors as the older versions.
 *
 * Every request is a POST of its own and says itself who asks and what he can do; nobody has a
 * session to come back to. What the body says is repeated in headers for those in between, and both
 * are compared before anything is done. The answer is one JSON body if nothing has to be said
 * before it, else a stream of events without ids.
 *
 * 1. A POST is modern if its body says so, or if its MCP-Protocol-Version is no older version; one
 *    with an Mcp-Session-Id and without such a version is not even looked at.
 * 2. Nothing of a request whose headers say something else than its body reaches the engine.
 * 3. Whoever closes the connection takes his request back.
 * 4. All requests of one token at one door share a session of the engine; none of them is answered
 *    with what another one asked.
 */
#ifndef HF_FRONT_MODERN_H
#define HF_FRONT_MODERN_H

#include "front/http_parts.h"

/* False: it is for the older versions. What is accepted was looked at before: JSON, events. */
bool hf_modern_post(struct hf_http_front *front, const struct hf_visitor *visitor,
                    struct hf_exchange *exchange, bool takes_json, bool takes_events);
/* A GET or DELETE that only a client of no session can mean: 405. False: it is for the older
 * versions. */
bool hf_modern_refuses(struct hf_exchange *exchange);

/* ---- for a session that serves modern requests ---- */

void hf_modern_say(const struct hf_http_session *session, const struct hf_effect *effect);
void hf_modern_gone(struct hf_feed *feed); /* its client is; the feed too, then */

#endif
