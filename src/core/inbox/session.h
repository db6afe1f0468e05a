/* session.h - clients come, stop reading, finish and leave. */
#ifndef HF_CORE_INBOX_SESSION_H
#define HF_CORE_INBOX_SESSION_H

struct hf_session;

void hf_session_timer(struct hf_session *session);

#endif
