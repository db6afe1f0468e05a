/* choose_client.h - a server asks something of a client. */
#ifndef HF_CORE_INBOX_CHOOSE_CLIENT_H
#define HF_CORE_INBOX_CHOOSE_CLIENT_H

struct hf_call;
struct hf_msg;
struct hf_runtime;
struct hf_server_request;
struct hf_session;

/* The client that a message of the runtime's server is for; NULL: nobody can tell. */
struct hf_session *hf_choose_client_of(const struct hf_runtime *runtime,
                                       const struct hf_call *origin);
void hf_choose_client(struct hf_runtime *runtime, struct hf_call *origin, const struct hf_msg *msg);
void hf_choose_client_timer(struct hf_server_request *request);

#endif
