/* initialize.h - how a client's initialize is taken and answered. */
#ifndef HF_CORE_CLIENT_INITIALIZE_H
#define HF_CORE_CLIENT_INITIALIZE_H

#include "base/span.h"

struct hf_buf;
struct hf_engine;
struct hf_msg;
struct hf_session;

/* The client sent `initialized`, or went on to another request without it. */
void hf_initialize_confirmed(struct hf_session *session);
/* What the session's only server answered to initialize; p NULL: nothing yet, or the session has
 * several servers. */
struct hf_span hf_initialize_server_result(const struct hf_session *session);
/* Tells shared servers that the roots changed, if their only client is another one than before. */
void hf_initialize_review_roots(struct hf_engine *engine);
/* Keeps the params of the client's initialize. */
void hf_initialize_params(struct hf_session *session, struct hf_span params);
/* A legacy client that sends no initialize is served as one without capabilities. */
void hf_initialize_stranger(struct hf_session *session);
/* The result for the client's initialize; from here on the client counts as greeted. */
struct hf_span hf_initialize_result(struct hf_session *session);
/* Takes the client's introduction from the `_meta` of a modern request, for a server of its own. */
void hf_initialize_modern(struct hf_session *session, const struct hf_msg *msg);
void hf_initialize_add_capabilities(struct hf_buf *out, struct hf_span capabilities);
void hf_initialize_add_instructions(struct hf_buf *out, const struct hf_session *session);

#endif
