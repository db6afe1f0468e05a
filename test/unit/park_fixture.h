/*
 * park_fixture.h - modern clients in front of a legacy server that asks in the middle of a call.
 *
 * A modern client's capabilities are said with each request; CAN is all of them. The server's
 * requests carry ids from 501 on, so that they cannot be mistaken for anything of ours.
 */
#ifndef HF_PARK_FIXTURE_H
#define HF_PARK_FIXTURE_H

#include "engine_http.h"

#define CAN    "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}}"
#define RESULT "{\"content\":[{\"type\":\"text\",\"text\":\"paid\"}]}"
#define CALL   "tools/call"
#define YES    "{\"elicitation-1\":{\"action\":\"accept\",\"content\":{\"ok\":true}}}"
#define NO     "{\"elicitation-1\":{\"action\":\"decline\"}}"
enum { PARK_MS = 900000, GATHER_MS = 30, PARKED_VIA = 77 };

/* A tools/call of a modern client; `more` are further members of its params, with a comma before.
 */
static inline void calls(struct client *c, uint64_t via, int id, const char *capabilities,
                         const char *more)
{
    (void)client_says_via(
        c, via,
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"amount\":5},\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":%s}%s}}",
        id, capabilities, more);
}

static inline void asks_form(struct child *c, int id)
{
    child_says(c,
               "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"elicitation/create\",\"params\":{"
               "\"message\":\"really?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":"
               "{}}}}",
               id);
}

/* The requestState of the answer to `id`, with its quotes; static memory. */
static inline const char *state_in(const struct client *c, int id)
{
    static char state[1024];
    const struct message *m = answer_to(c, id);
    const struct hf_span raw = m && m->msg.kind == HF_MSG_RESULT
                                   ? hf_json_get(m->msg.result, HF_SPAN("requestState"))
                                   : (struct hf_span) { NULL, 0 };
    (void)snprintf(state, sizeof state, "%.*s", raw.p ? (int)raw.n : 4, raw.p ? raw.p : "null");
    return state;
}

static inline bool is_question(const struct client *c, int id)
{
    const struct message *m = answer_to(c, id);
    return m && m->msg.kind == HF_MSG_RESULT &&
           hf_json_string_is(hf_json_get(m->msg.result, HF_SPAN("resultType")),
                             HF_SPAN("input_required"));
}

static inline bool is_complete(const struct client *c, int id)
{
    const struct message *m = answer_to(c, id);
    return m && m->msg.kind == HF_MSG_RESULT &&
           hf_json_string_is(hf_json_get(m->msg.result, HF_SPAN("resultType")),
                             HF_SPAN("complete")) &&
           span_has(m->msg.result, "paid");
}

/* The members that make a request a retry; static memory. */
static inline const char *retry_of(const char *state, const char *responses)
{
    static char more[4096];
    (void)snprintf(more, sizeof more, ",\"requestState\":%s,\"inputResponses\":%s", state,
                   responses);
    return more;
}

static inline void retries_via(struct client *c, uint64_t via, int id, const char *state,
                               const char *responses)
{
    calls(c, via, id, CAN, retry_of(state, responses));
}

static inline void retries(struct client *c, int id, const char *state, const char *responses)
{
    retries_via(c, 0, id, state, responses);
}

/* What the server was answered to its own request `id`: the last time; p NULL: nothing. */
static inline struct hf_span told(const struct child *c, int id)
{
    struct hf_span found = { NULL, 0 };
    for (size_t i = 0; i < c->got.count; i++) {
        const struct hf_msg *msg = &c->got.items[i].msg;
        int64_t number;
        if (msg->kind >= HF_MSG_RESULT && hf_json_int(msg->id, &number) && number == id)
            found = msg->text;
    }
    return found;
}

static inline size_t times_told(const struct child *c, int id)
{
    size_t count = 0;
    for (size_t i = 0; i < c->got.count; i++) {
        const struct hf_msg *msg = &c->got.items[i].msg;
        int64_t number;
        count += msg->kind >= HF_MSG_RESULT && hf_json_int(msg->id, &number) && number == id;
    }
    return count;
}

static inline struct scene modern_scene_with(struct hf_limits limits)
{
    struct scene s = { .w = world_new_with(limits) };
    s.server = add_server(s.w, "s", default_settings());
    settle(s.w);
    s.client = open_client(s.w, s.server);
    s.first = newest_child(s.w, s.server);
    return s;
}

static inline struct scene modern_scene_of(struct hf_settings settings)
{
    struct scene s = lone_server(settings, MANNERS());
    s.client = open_client(s.w, s.server);
    return s;
}

static inline struct scene modern_scene(void)
{
    return modern_scene_of(default_settings());
}

/* Call 1 is asked one thing in the middle, and its client was told so. */
static inline void park_one(struct scene *s)
{
    calls(s->client, PARKED_VIA, 1, CAN, "");
    asks_form(s->first, 501);
    advance(s->w, GATHER_MS);
}

static inline struct scene parked_scene(void)
{
    struct scene s = modern_scene();
    park_one(&s);
    return s;
}

#endif
