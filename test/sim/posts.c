/* posts.c - what leaves us for remote servers, read and held against what each was told before. */
#include "sim.h"

void post_read_body(struct sim *sim, struct exchange *x,
                    const struct hf_remote_exchange_request *request)
{
    struct hf_msg msg;
    struct hf_err err;
    int64_t id = 0;
    hf_buf_clear(&sim->posted);
    for (unsigned i = 0; i < request->piece_count; i++)
        hf_buf_add(&sim->posted, request->pieces[i]);
    const struct hf_span text = hf_buf_span(&sim->posted);
    TRACE(sim, "    exchange %u posts %.*s", x->serial, (int)(text.n < 300 ? text.n : 300), text.p);
    if (hf_msg_parse(text, 64, &msg, &err) != HF_MSG_OK) {
        sim_broken(sim, PROMISE_INNER, "a host was sent what is no message: %s", err.text);
        return;
    }
    x->method = hf_method_find(msg.method)->id;
    x->is_request = msg.kind == HF_MSG_REQUEST;
    x->is_introduction = x->method == HF_METHOD_INITIALIZED;
    if (x->method == HF_METHOD_CANCELLED &&
        hf_json_int(hf_json_get(msg.params, HF_SPAN("requestId")), &id))
        x->cancels = (uint64_t)id;
    if (msg.kind == HF_MSG_RESULT || msg.kind == HF_MSG_ERROR)
        inquire_heard(sim, x->wire, &msg);
    modern_read_post(sim, x, &msg, request);
    if (!x->is_request)
        return;
    if (!hf_json_int(msg.id, &id))
        sim_broken(sim, PROMISE_INNER, "a host was sent a client's own id");
    x->asked = talk_asked(x->method, (uint64_t)id, key_of(text));
    x->asked.exchange = x->serial;
    x->asked.is_second_page = hf_json_get(msg.params, HF_SPAN("cursor")).p != NULL;
    x->asked.asks = modern_may_ask(sim, &msg);
}

/* An id that was made up looks like ours, and is none. */
static void read_session(struct exchange *x, const char *id)
{
    if (!id)
        return;
    x->is_stranger = strncmp(id, "session-", 8) != 0;
    x->session = x->is_stranger ? STRANGER : (unsigned)atoi(id + 8);
}

void post_read_head(struct exchange *x, const struct hf_remote_exchange_request *request)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(request->session_id));
    read_session(x, request->session_id.p ? text : NULL);
    x->is_at_endpoint = request->endpoint.p;
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(request->endpoint));
    const char *at = strchr(text, '=');
    read_session(x, at ? at + 1 : NULL);
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(request->last_event_id));
    if (request->last_event_id.p)
        (void)sscanf(text, "%u-%u-%u", &x->last_life, &x->stream, &x->stream_event);
}

/* Once for each wire, and once more for each session that it was told is gone; and again if the
 * server had to be asked which era it speaks. */
static void check_hello(struct sim *sim, struct exchange *x)
{
    struct child *wire = x->wire;
    wire->era.was_greeted = true;
    const unsigned count = x->is_at_endpoint ? ++wire->wire.older_hellos : ++wire->wire.hellos;
    const unsigned most = x->is_at_endpoint ? 1 : 1 + wire->wire.refused + wire->wire.is_probed;
    if (count > most)
        sim_broken(sim, PROMISE_P5, "initialize was sent %u times, and %u sessions were refused",
                   count, wire->wire.refused);
    if (x->session && !x->is_at_endpoint)
        sim_broken(sim, PROMISE_P5, "initialize carries a session");
    sim->stats->renewals += !x->is_at_endpoint && count > 1;
    wire->wire.session = 0;
    wire->wire.is_greeting = true;
}

/* A cancel may go to the session in which its request was sent, even if there is a newer one. */
static bool is_its_session(const struct sim *sim, const struct exchange *x)
{
    if (x->session == x->wire->wire.session || x->is_at_endpoint)
        return true;
    for (int i = sim->request_count; x->cancels && i-- > 0;)
        if (sim->requests[i].rpc_id == x->cancels)
            return x->session == sim->requests[i].session;
    return false;
}

void post_check(struct sim *sim, struct exchange *x,
                const struct hf_remote_exchange_request *request)
{
    const struct child *wire = x->wire;
    if (x->verb != HF_EXCHANGE_MESSAGE && wire->era.is_modern && !wire->era.was_greeted)
        sim_broken(sim, PROMISE_INNER, "a modern server knows no %s", verb_names[x->verb]);
    if (x->is_request && x->method == HF_METHOD_INITIALIZE) {
        check_hello(sim, x);
        return;
    }
    if (x->is_request && x->method == HF_METHOD_DISCOVER) {
        if (x->session)
            sim_broken(sim, PROMISE_P5, "the question after the era carries a session");
        x->wire->wire.is_probed = true;
        return;
    }
    if (x->verb ==
        HF_EXCHANGE_RESUME) /* of the session under which it was asked, whatever came since */
        return;
    if (x->is_stranger && !(x->is_request && x->method == HF_METHOD_PING))
        sim_broken(sim, PROMISE_P5, "something but a ping goes under a session that is made up");
    if (!x->is_stranger && !is_its_session(sim, x))
        sim_broken(sim, PROMISE_P5, "a %s carries session %u, and the newest is %u",
                   verb_names[x->verb], x->session, wire->wire.session);
    if (x->is_request && wire->wire.is_greeting)
        sim_broken(sim, PROMISE_P5, "something is asked before the server was greeted");
    if (wire->wire.has_version && !request->version.p)
        sim_broken(sim, PROMISE_INNER, "the version that was agreed on is not said");
    if (x->verb == HF_EXCHANGE_DELETE)
        host_part(&x->instance->host, x->session);
}
