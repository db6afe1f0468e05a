/* log_level.h - the log level that clients set, and what servers are told of it. */
#ifndef HF_CORE_CLIENT_LOG_LEVEL_H
#define HF_CORE_CLIENT_LOG_LEVEL_H

struct hf_runtime;
struct hf_server;
struct hf_session;

/* Tells a legacy server the log level that its clients set, if any did. */
void hf_log_level_restore(struct hf_runtime *runtime);
void hf_session_set_level(struct hf_session *session, int level); /* -1: no level */
/* The lowest log level that a client of this server set; -1: none. */
int hf_audiences_lowest_level(const struct hf_server *server);

#endif
