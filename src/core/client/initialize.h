/* initialize.h - how clients are received. */
#ifndef HF_CORE_CLIENT_INITIALIZE_H
#define HF_CORE_CLIENT_INITIALIZE_H

#include "base/span.h"

struct hf_buf;
struct hf_engine;
struct hf_msg;
struct hf_session;

void hf_initialize_confirmed(struct hf_session *session); /* it said so, or went on without */
/* What its only server said of itself, also just now; p NULL: nothing yet. */
struct hf_span hf_initialize_server_result(const struct hf_session *session);
/* The one client that can be asked for its roots may be another: servers hear of it. */
void hf_initialize_review_roots(struct hf_engine *engine);
void hf_initialize_params(struct hf_session *session,
                          struct hf_span params); /* of its initialize */
/* One that does not introduce itself is served as one that can do nothing special. */
void hf_initialize_stranger(struct hf_session *session);
struct hf_span hf_initialize_result(struct hf_session *session); /* of its initialize */
void hf_initialize_modern(struct hf_session *session, const struct hf_msg *msg);
void hf_initialize_add_capabilities(struct hf_buf *out, struct hf_span capabilities);
void hf_initialize_add_instructions(struct hf_buf *out, const struct hf_session *session);

#endif
