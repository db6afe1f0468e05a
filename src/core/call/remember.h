/* remember.h - what a client makes us remember (its introduction, subscriptions, questions that
 * wait for it) is bounded. */
#ifndef HF_CORE_CALL_REMEMBER_H
#define HF_CORE_CALL_REMEMBER_H

#include <stdbool.h>
#include <stddef.h>

struct hf_session;

/* The bounds hold for each client, and for all clients together. */
bool hf_session_may_remember(const struct hf_session *session, size_t bytes);
void hf_session_remember(struct hf_session *session, size_t bytes);
void hf_session_forget_bytes(struct hf_session *session, size_t bytes);

#endif
