/* tasks.h - which server made which task, so that later requests for a task go to its server. */
#ifndef HF_CORE_CLIENT_TASKS_H
#define HF_CORE_CLIENT_TASKS_H

#include <stdbool.h>
#include "base/span.h"

struct hf_call;
struct hf_engine;
struct hf_msg;
struct hf_runtime;
struct hf_server;
struct hf_session;

/* Remembers the task that this result of the call announces, if it announces one. */
void hf_task_made(const struct hf_call *call, struct hf_span result);
/* The server that made the task; NULL: not known, or this client may not use that server. */
struct hf_server *hf_task_server(struct hf_session *session, struct hf_span raw_id);
/* Passes a server's notification about a task to its client; false: not about a task we know. */
bool hf_task_news(struct hf_runtime *runtime, const struct hf_msg *msg);
/* The client is leaving: its tasks stay known, without a client to be told of them. */
void hf_tasks_leave(struct hf_session *session);
/* Forgets the tasks of this server; NULL: of all servers. */
void hf_tasks_forget(struct hf_engine *engine, const struct hf_server *server);

#endif
