/* settle.h - a client sends nothing more. */
#ifndef HF_CORE_CALL_SETTLE_H
#define HF_CORE_CALL_SETTLE_H

#include <stdint.h>

struct hf_server;
struct hf_session;

void hf_session_settle(struct hf_session *session); /* it has finished */
void hf_session_maybe_settle(struct hf_session *session);
/* Some call of its was, just now. */
void hf_session_dispatched(struct hf_session *session, const struct hf_server *server);
/* When a dispatched call has had its drainMs, counted from the last dispatch of its client. */
uint64_t hf_session_drain_end(const struct hf_session *session, const struct hf_server *server);
/* The timer may come too early, and is set again then: so no call that ends or is dispatched has to
 * look at all the others. */
void hf_session_settle_by(struct hf_session *session, uint64_t at_ms);

#endif
