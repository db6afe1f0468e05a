/* park_question.c - which call of a modern client carries a legacy server's question, and whether
 * the client may be asked it at all. How it is asked is in park.c. */
#include "core/bridge/park_question.h"
#include "core/bridge/early_answers.h"
#include "core/bridge/modern_answer.h"
#include "core/bridge/park.h"
#include "core/call/call.h"
#include "core/outbox.h"
#include "core/server/server_request.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum { ROUNDS_MAX = 64 };

bool hf_park_is_for(const struct hf_method *method)
{
    return method->id == HF_METHOD_TOOLS_CALL || method->id == HF_METHOD_PROMPTS_GET ||
           method->id == HF_METHOD_RESOURCES_READ;
}

static bool may_carry(const struct hf_call *call, const struct hf_session *session)
{
    return call->session == session && call->is_modern && call->stage == HF_CALL_SENT &&
           hf_park_is_for(call->method);
}

static struct hf_span capabilities_of(const struct hf_call *call)
{
    return hf_call_park(call) ? hf_span_of(hf_call_park(call)->capabilities)
                              : call->eras->capabilities;
}

/* Whether a call is the likelier one for a question. First: a call whose client is not being asked
 * already, because the server waits in those. Then: one whose client can be asked this. Then: the
 * newest. */
static bool is_better(const struct hf_call *call, const struct hf_call *than,
                      enum hf_method_id method, struct hf_span params)
{
    if (!than)
        return true;
    const bool may = hf_client_can_be_asked(capabilities_of(call), method, params);
    const bool than_may = hf_client_can_be_asked(capabilities_of(than), method, params);
    const bool busy = hf_call_park(call) && hf_park_is_asked(hf_call_park(call));
    const bool than_busy = hf_call_park(than) && hf_park_is_asked(hf_call_park(than));
    if (busy != than_busy)
        return than_busy;
    return may != than_may ? may : call->id > than->id;
}

static struct hf_call *carrier_of(const struct hf_runtime *runtime, struct hf_call *origin,
                                  const struct hf_session *session, enum hf_method_id method,
                                  struct hf_span params)
{
    struct hf_call *best = NULL, *call;
    if (origin && origin->session)
        return may_carry(origin, session) ? origin : NULL;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (may_carry(call, session) && is_better(call, best, method, params))
            best = call;
    }
    return best;
}

/* Whether the client can be asked only in the modern way, in answer to a request of its own. */
static bool is_for_modern(const struct hf_runtime *runtime, const struct hf_call *origin,
                          const struct hf_session *session)
{
    bool some_modern = false;
    const struct hf_call *call;
    if (origin && origin->session)
        return origin->is_modern;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (call->session == session && !call->is_modern)
            return false;
        some_modern |= call->session == session;
    }
    return some_modern || !session->has_greeted;
}

static char *request_of(const struct hf_method *method, struct hf_span params)
{
    struct hf_buf request = hf_draft();
    hf_buf_printf(&request, "{\"method\":\"%s\"", method->name);
    if (params.p) {
        hf_buf_add_str(&request, ",\"params\":");
        hf_buf_add(&request, params);
    }
    hf_buf_add_char(&request, '}');
    char *text = hf_span_dup(hf_buf_span(&request));
    hf_buf_done(&request);
    return text;
}

static void add_ask(struct hf_call *call, const struct hf_method *method, const struct hf_msg *msg)
{
    struct hf_park *park = hf_call_park(call) ? hf_call_park(call) : hf_park_new(call);
    struct hf_server_request *request = hf_new(struct hf_server_request);
    request->session = park->session;
    request->runtime = call->runtime;
    request->server_id = hf_span_dup(msg->id);
    request->park = park;
    request->method = method->id;
    request->key = ++park->last_key;
    request->is_refused =
        !hf_client_can_be_asked(hf_span_of(park->capabilities), method->id, msg->params);
    request->text = request->is_refused ? NULL : request_of(method, msg->params);
    hf_park_charge(park, sizeof *request + msg->text.n);
    hf_link_init(&request->in_session);
    hf_timer_init(&request->timer, HF_TIMER_SERVER_REQUEST, request);
    request->since_ms = call->engine->now_ms;
    if (hf_park_is_asked(park)) /* else askMs begin when the client is asked, within GATHER_MS */
        hf_server_request_arm(request);
    hf_list_push(&park->server_requests, &request->in_park);
    hf_list_push(&call->runtime->server_requests, &request->in_runtime);
    call->runtime->server_request_count++;
    hf_park_gather(park);
}

/* Whether every other call of this client at the server waits for answers already: then a question
 * can hardly be about another call. */
static bool is_alone(const struct hf_call *call)
{
    const struct hf_call *other;
    HF_LIST_EACH (other, &call->runtime->calls, struct hf_call, link) {
        const bool is_busy = hf_call_park(other) && hf_park_is_asked(hf_call_park(other));
        if (other != call && other->session == call->session && !is_busy)
            return false;
    }
    return true;
}

bool hf_park_asked(struct hf_runtime *runtime, struct hf_call *origin, struct hf_session *session,
                   const struct hf_method *method, const struct hf_msg *msg)
{
    if (!is_for_modern(runtime, origin, session))
        return false;
    const bool is_known = method->id == HF_METHOD_SAMPLING || method->id == HF_METHOD_ELICITATION ||
                          method->id == HF_METHOD_ROOTS;
    struct hf_call *call = carrier_of(runtime, origin, session, method->id, msg->params);
    const struct hf_round *newest =
        call && hf_call_park(call) ? hf_park_newest(hf_call_park(call)) : NULL;
    const bool may = call && hf_client_can_be_asked(capabilities_of(call), method->id, msg->params);
    if (!may)
        hf_modern_lacks(runtime, origin, session, method, msg->params);
    else if (!hf_call_park(call) && (call == origin || is_alone(call)) &&
             hf_early_answer(call, method->id, msg))
        return true;
    if (!is_known || !call)
        hf_runtime_respond_error(
            runtime, msg->id, -32601,
            "the client can be asked this only in the middle of a call, or not at all");
    else if (!hf_park_may_charge(session->engine, call->party,
                                 sizeof(struct hf_park) + 2 * msg->text.n) ||
             (newest && newest->number >= ROUNDS_MAX))
        hf_runtime_respond_error(runtime, msg->id, -32603,
                                 "holdfast keeps too many questions of servers already");
    else
        add_ask(call, method, msg);
    return true;
}

/* ---- a server that wants something done before it runs the call at all ---- */

/* The elicitations of a -32042; p NULL: the answer is another one, or has none. */
static struct hf_span urls_wanted(const struct hf_msg *msg)
{
    static const int url_elicitation_required = -32042;
    const struct hf_span wanted = hf_json_path(
        msg->error, 2, (struct hf_span[]) { HF_SPAN("data"), HF_SPAN("elicitations") });
    const bool is_wanted =
        hf_msg_error_code(msg) == url_elicitation_required && hf_json_type(wanted) == HF_JSON_ARRAY;
    return is_wanted ? wanted : (struct hf_span) { NULL, 0 };
}

bool hf_park_wants_url(const struct hf_call *call, const struct hf_msg *msg)
{
    const struct hf_span wanted = urls_wanted(msg);
    const struct hf_round *newest = hf_call_park(call) ? hf_park_newest(hf_call_park(call)) : NULL;
    unsigned count = 0;
    if (!wanted.p || !hf_park_is_for(call->method) || (newest && newest->number >= ROUNDS_MAX) ||
        !hf_park_may_charge(call->engine, call->party, sizeof(struct hf_park) + 2 * msg->text.n))
        return false;
    for (struct hf_json_iter it = hf_json_iter(wanted); hf_json_next(&it); count++)
        if (!hf_client_can_be_asked(capabilities_of(call), HF_METHOD_ELICITATION, it.value))
            return false;
    return count > 0;
}

void hf_park_ask_url(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_park *park = hf_call_park(call) ? hf_call_park(call) : hf_park_new(call);
    const struct hf_server *server = call->slot->server;
    struct hf_buf requests = hf_draft();
    for (struct hf_json_iter it = hf_json_iter(urls_wanted(msg)); hf_json_next(&it);)
        hf_buf_printf(&requests,
                      "%s\"elicitation-%u\":{\"method\":\"elicitation/create\","
                      "\"params\":%.*s}",
                      hf_buf_len(&requests) ? "," : "", ++park->last_key, HF_FMT(it.value));
    park->is_anew = true;
    hf_park_stop_asking(park);
    hf_call_pause(call);
    hf_park_leave_server(park);
    hf_park_put(park, hf_buf_span(&requests), server);
    hf_buf_done(&requests);
}
