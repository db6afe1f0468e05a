/* tasks.h - which server made which task, so that whoever asks for it later finds that server. */
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

void hf_task_made(const struct hf_call *call, struct hf_span result); /* if it says so */
/* The server that made it, as far as this client may use it; NULL: not known. */
struct hf_server *hf_task_server(struct hf_session *session, struct hf_span raw_id);
bool hf_task_news(struct hf_runtime *runtime, const struct hf_msg *msg); /* false: not of a task */
void hf_tasks_leave(struct hf_session *session);
void hf_tasks_forget(struct hf_engine *engine, const struct hf_server *server); /* NULL: all */

#endif
