/* settle.h - a client sends nothing more. */
#ifndef HF_CORE_CALL_SETTLE_H
#define HF_CORE_CALL_SETTLE_H

#include <stdint.h>

struct hf_server;
struct hf_session;

void hf_session_settle(struct hf_session *session); /* its client has finished */
void hf_session_maybe_settle(struct hf_session *session);
/* A call of the session was dispatched just now. */
void hf_session_dispatched(struct hf_session *session, const struct hf_server *server);
/* When dispatched calls have had their drainMs, counted from the last dispatch of their client. */
uint64_t hf_session_drain_end(const struct hf_session *session, const struct hf_server *server);
/* The timer may fire too early, and is set again then: so no call that ends or is dispatched has to
 * look at all other calls. */
void hf_session_settle_by(struct hf_session *session, uint64_t at_ms);

#endif
