/*
 * input_fixture.h - legacy clients in front of a modern server that asks in the middle of a call.
 *
 * In every test the engine holds nothing in the end.
 */
#ifndef HF_INPUT_FIXTURE_H
#define HF_INPUT_FIXTURE_H

#include "engine_fixture.h"

#define CALL     "tools/call"
#define FORM     "elicitation/create"
#define SAMPLING "sampling/createMessage"
#define CAN      "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"
#define DONE     "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"paid\"}]}"
#define ACCEPT   "{\"action\":\"accept\",\"content\":{\"ok\":true}}"
#define A_FORM                                                                                     \
    "{\"method\":\"" FORM "\",\"params\":{\"message\":\"really?\",\"requestedSchema\":{}}}"
#define A_SAMPLE "{\"method\":\"" SAMPLING "\",\"params\":{\"messages\":[],\"maxTokens\":5}}"
#define ROOTS    "{\"method\":\"roots/list\"}"

#define USUAL(...) SETTINGS(.era = HF_ERA_UNKNOWN, .relist_ms = 0, __VA_ARGS__)

static inline struct scene modern_server_in(struct world *w, struct hf_settings settings,
                                            const char *capabilities)
{
    struct scene s = { .w = w };
    w->must_hold_nothing = true;
    s.server = add_server(w, "s", settings);
    manners_of(w, s.server)->is_modern = true;
    settle(w);
    s.client = greeted_client_with(w, s.server, capabilities);
    s.first = newest_child(w, s.server);
    return s;
}

static inline struct scene modern_server(void)
{
    return modern_server_in(world_new(), USUAL(), CAN);
}

/* Answers the last tools/call so: `requests` are the members of inputRequests. */
static inline void asks_with(struct child *c, const char *requests, const char *more)
{
    char *result = NULL;
    if (asprintf(&result, "{\"resultType\":\"input_required\",\"inputRequests\":{%s}%s}", requests,
                 more) < 0)
        abort();
    child_answers(c, CALL, result);
    free(result);
}

static inline void asks(struct child *c, const char *requests)
{
    asks_with(c, requests, ",\"requestState\":\"st\\u0061te\"");
}

static inline void answers_error(struct client *c, const char *method)
{
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-1,\"message\":\"no\"}}",
                HF_FMT(last_heard(c, method)->msg.id));
}

static inline struct hf_span sent_param(const struct child *c, const char *name)
{
    const struct message *m = child_last(c, CALL);
    return m ? hf_json_get(m->msg.params, hf_span_of(name)) : (struct hf_span) { NULL, 0 };
}

static inline bool is_unknown(const struct client *c, int id, const char *reason)
{
    return error_of(c, id) == -31002 && data_is(c, id, "dispatched", "true") &&
           data_is(c, id, "retrySafe", "false") && data_is(c, id, "retry", "\"check_first\"") &&
           span_has(data_of(c, id, "reason"), reason) && answers_to(c, id) == 1;
}

/* Call 1 is being asked about. */
static inline struct scene asked_scene_of(struct hf_settings settings)
{
    struct scene s = modern_server_in(world_new(), settings, CAN);
    client_calls(s.client, 1, "echo");
    asks(s.first, "\"k\":" A_FORM);
    CHECK_EQ(heard(s.client, FORM), 1);
    return s;
}

static inline struct scene asked_scene(void)
{
    return asked_scene_of(USUAL());
}

#endif
