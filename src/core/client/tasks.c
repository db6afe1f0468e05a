/* tasks.c - which server made which task, so that a client's later requests for a task
 * go to its server.
 *
 * Task ids are the servers' own and pass unchanged, in both forms: 2025-11-25 (a result with a
 * "task") and the extension of 2026-07-28 (a result whose resultType is "task"). What is
 * remembered is the server and never a runtime, so a reconnect changes nothing. The least recently
 * used tasks are forgotten. */
#include "core/client/tasks.h"
#include "core/call/send.h"
#include "core/client/session.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/runtime.h"
#include "core/state/server.h"
#include "core/state/session.h"

enum {
    TASKS_MAX = 10000,
    ID_MAX = 256, /* bytes; a task with a longer id is not remembered */
};

struct task {
    struct hf_map_node in_map;
    struct hf_link by_use;
    struct hf_link in_session;  /* in session->tasks */
    struct hf_session *session; /* whose call made the task; NULL: that client has left */
    struct hf_server *server;
    char *id; /* JSON string in our own spelling */
};

struct hf_tasks {
    struct hf_map by_id;
    struct hf_link by_use; /* the least recently used first */
};

static struct hf_tasks *tasks_of(struct hf_engine *engine)
{
    if (engine->tasks)
        return engine->tasks;
    engine->tasks = hf_new(struct hf_tasks);
    hf_link_init(&engine->tasks->by_use);
    hf_map_init(&engine->tasks->by_id, &engine->map_key);
    return engine->tasks;
}

static uint64_t hash_of(const struct hf_tasks *tasks, const char *id)
{
    return hf_map_hash(&tasks->by_id, 0, hf_span_of(id));
}

static struct task *find(const struct hf_tasks *tasks, const struct hf_server *server,
                         const char *id)
{
    struct task *task;
    HF_MAP_EACH(task, &tasks->by_id, hash_of(tasks, id), struct task, in_map)
    {
        if (task->server == server && strcmp(task->id, id) == 0)
            return task;
    }
    return NULL;
}

static void forget(struct hf_tasks *tasks, struct task *task)
{
    hf_map_remove(&tasks->by_id, &task->in_map);
    hf_unlink(&task->by_use);
    hf_unlink(&task->in_session);
    hf_free(task->id);
    hf_free(task);
}

static bool is_usable(struct hf_span raw_id)
{
    return hf_json_type(raw_id) == HF_JSON_STRING && raw_id.n <= ID_MAX;
}

static struct hf_span id_in(struct hf_span result)
{
    const struct hf_span task = hf_json_get(result, HF_SPAN("task"));
    if (hf_json_string_is(hf_json_get(result, HF_SPAN("resultType")), HF_SPAN("task")))
        return hf_json_get(result, HF_SPAN("taskId"));
    return hf_json_get(task, HF_SPAN("taskId"));
}

void hf_task_made(const struct hf_call *call, struct hf_span result)
{
    const struct hf_span raw_id = id_in(result);
    if (!is_usable(raw_id))
        return;
    struct hf_tasks *tasks = tasks_of(call->engine);
    struct task *task = hf_new(struct task);
    task->id = hf_json_canonical_string(raw_id);
    task->server = call->slot->server;
    task->session = call->session;
    struct task *old = find(tasks, task->server, task->id);
    if (old)
        forget(tasks, old);
    hf_map_add(&tasks->by_id, &task->in_map, hash_of(tasks, task->id));
    hf_list_push(&tasks->by_use, &task->by_use);
    hf_list_push(&call->session->tasks, &task->in_session);
    struct task *oldest = HF_LIST_FIRST(&tasks->by_use, struct task, by_use);
    if (tasks->by_id.count > TASKS_MAX && oldest)
        forget(tasks, oldest);
}

struct hf_server *hf_task_server(struct hf_session *session, struct hf_span raw_id)
{
    struct hf_tasks *tasks = session->engine->tasks;
    struct task *found = NULL, *task;
    if (!tasks || !is_usable(raw_id))
        return NULL;
    char *id = hf_json_canonical_string(raw_id);
    HF_MAP_EACH(task, &tasks->by_id, hash_of(tasks, id), struct task, in_map)
    {
        if (strcmp(task->id, id) != 0 || !hf_session_uses(session, task->server))
            continue;
        /* Two servers may use the same id: the task that this session made counts, else the newest,
         * which comes last. */
        if (!found || task->session == session || found->session != session)
            found = task;
    }
    hf_free(id);
    if (!found)
        return NULL;
    hf_unlink(&found->by_use);
    hf_list_push(&tasks->by_use, &found->by_use);
    return found->server;
}

bool hf_task_news(struct hf_runtime *runtime, const struct hf_msg *msg)
{
    struct hf_tasks *tasks = runtime->server->engine->tasks;
    const struct hf_span raw_id = hf_json_get(msg->params, HF_SPAN("taskId"));
    if (!tasks || !hf_span_starts(msg->method, HF_SPAN("notifications/tasks")) ||
        !is_usable(raw_id))
        return false;
    char *id = hf_json_canonical_string(raw_id);
    const struct task *found = find(tasks, runtime->server, id);
    hf_free(id);
    /* a modern client (never greeted) is told nothing that it did not listen for: it polls */
    if (found && found->session && found->session->has_greeted)
        hf_session_send(found->session, 0, msg->text);
    return found != NULL;
}

void hf_tasks_leave(struct hf_session *session)
{
    struct task *task;
    HF_LIST_EACH_SAFE (task, &session->tasks, struct task, in_session) {
        hf_unlink(&task->in_session);
        task->session = NULL;
    }
}

void hf_tasks_forget(struct hf_engine *engine, const struct hf_server *server)
{
    struct task *task;
    if (!engine->tasks)
        return;
    HF_LIST_EACH_SAFE (task, &engine->tasks->by_use, struct task, by_use) {
        if (!server || task->server == server)
            forget(engine->tasks, task);
    }
    if (server)
        return;
    hf_map_done(&engine->tasks->by_id);
    hf_free(engine->tasks);
    engine->tasks = NULL;
}
