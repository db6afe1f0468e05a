/* choose_client.c - a server asks something of a client: which client the request is for, and
 * whether that client can be asked. The candidates are clients, not calls (DESIGN 9); a client that
 * has been gone for goneMs is no candidate as long as another one is there. */
#include "core/inbox/choose_client.h"
#include "core/bridge/park.h"
#include "core/bridge/park_question.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/remember.h"
#include "core/client/audience.h"
#include "core/server/server_request.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum {
    ASKS_MAX = 1000,       /* server requests of one runtime that wait for clients */
    ASK_ID_MAX = 16 * 1024 /* bytes of the server's own id, kept for each request */
};

/* ---- which client the request is for ---- */

/* The one client whose calls the runtime has; NULL: there are several such clients, or none. */
static struct hf_session *sole_caller(const struct hf_runtime *runtime, bool with_forsaken)
{
    struct hf_session *sole = NULL;
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (!call->session || (!with_forsaken && hf_call_is_forsaken(call)))
            continue;
        if (sole && call->session != sole)
            return NULL;
        sole = call->session;
    }
    return sole;
}

static bool has_present_caller(const struct hf_runtime *runtime)
{
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (call->session && !hf_call_is_forsaken(call))
            return true;
    }
    return false;
}

struct hf_session *hf_choose_client_of(const struct hf_runtime *runtime,
                                       const struct hf_call *origin)
{
    if (origin && origin->session)
        return origin->session;
    if (runtime->in_flight > 0)
        return sole_caller(runtime, !has_present_caller(runtime));
    return runtime->slot->owner ? runtime->slot->owner : hf_audiences_sole_client(runtime->server);
}

/* The `via` under which the client gets the server's request: that of the call it belongs to, or
 * else that of the client's newest call that is with the server. */
static uint64_t via_of(const struct hf_runtime *runtime, const struct hf_call *origin,
                       const struct hf_session *session)
{
    uint64_t via = 0, newest = 0;
    const struct hf_call *call;
    if (origin && origin->session)
        return hf_call_via(origin);
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (call->session != session || call->id < newest)
            continue;
        newest = call->id;
        via = hf_call_via(call);
    }
    return via;
}

/* ---- whether that client can be asked ---- */

/* Why the server's request cannot be passed on, or NULL. */
static const char *refusal(const struct hf_runtime *runtime, const struct hf_session *session,
                           const struct hf_msg *msg)
{
    if (!session)
        return runtime->in_flight || hf_audiences_have_client(runtime->server)
                   ? "holdfast cannot tell which of several clients this request is for; set "
                     "\"isolation\": \"session\" for this server"
                   : "no client is connected that this request could be for";
    if (msg->id.n > ASK_ID_MAX)
        return "the id of this request is too long";
    if (runtime->server_request_count >= ASKS_MAX)
        return "too many requests of this server are open";
    if (!session->has_initialized && !hf_session_may_remember(session, msg->text.n))
        return "the client has not finished its introduction, and holdfast keeps no more for it";
    return NULL;
}

void hf_choose_client(struct hf_runtime *runtime, struct hf_call *origin, const struct hf_msg *msg)
{
    const struct hf_method *method = hf_method_find(msg->method);
    struct hf_session *session = hf_choose_client_of(runtime, origin);
    const char *why = refusal(runtime, session, msg);
    if (why) {
        hf_runtime_respond_error(runtime, msg->id, -32603, why);
        return;
    }
    if (session->has_initialized && hf_park_asked(runtime, origin, session, method, msg))
        return;
    if (!hf_client_can_be_asked(session->capabilities, method->id, msg->params)) {
        hf_runtime_respond_error(runtime, msg->id, -32601, hf_not_declared);
        return;
    }
    hf_server_request_new(runtime, session, via_of(runtime, origin, session), method, msg);
}

void hf_choose_client_timer(struct hf_server_request *request)
{
    struct hf_park *park = request->park;
    hf_server_request_timer(request);
    if (park)
        hf_park_unanswered(park);
}
