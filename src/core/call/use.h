/* use.h - which servers a client has used, and how often each had lost its state by then. */
#ifndef HF_CORE_CALL_USE_H
#define HF_CORE_CALL_USE_H

struct hf_server;
struct hf_session;
struct hf_use;

void hf_uses_forget(struct hf_server *server); /* the server is removed */
void hf_uses_drop(struct hf_session *session);
struct hf_use *hf_session_use(struct hf_session *session, struct hf_server *server);
struct hf_use *hf_session_find_use(const struct hf_session *session,
                                   const struct hf_server *server); /* NULL: never used */

#endif
