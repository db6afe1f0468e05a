/* list_changes.h - which clients are told that a list changed. */
#ifndef HF_CORE_SUBSCRIPTION_LIST_CHANGES_H
#define HF_CORE_SUBSCRIPTION_LIST_CHANGES_H

struct hf_engine;
struct hf_server;

/* Hands the news of a server's lists to the audiences that see the server. */
void hf_audiences_hear(struct hf_server *server);
/* Tells the clients of audiences that have news, a portion of them in each turn. */
void hf_audiences_tell(struct hf_engine *engine);

#endif
