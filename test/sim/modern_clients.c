/* modern_clients.c - clients of 2026-07-28: every request introduces itself, and over HTTP each has
 * a stream of its own, whose end is how it is cancelled; several of them share a session there. */
#include "sim.h"

void modern_add_meta(struct sim *sim, const struct request *r)
{
    static const struct hf_span levels[] = { { NULL, 0 }, { "\"debug\"", 7 }, { "\"error\"", 7 } };
    if (!r->is_modern)
        return;
    sim->stats->modern_requests++;
    char able[100];
    (void)snprintf(able, sizeof able, "{%s%s%s\"x\":{}}",
                   r->able >> INQUIRE_SAMPLING & 1 ? "\"sampling\":{}," : "",
                   r->able >> INQUIRE_ROOTS & 1 ? "\"roots\":{}," : "",
                   r->able >> INQUIRE_URL & 1 ? "\"elicitation\":{\"form\":{},\"url\":{}},"
                   : r->able >> INQUIRE_ELICITATION & 1 ? "\"elicitation\":{},"
                                                        : "");
    hf_era_add_meta(&sim->message,
                    chance(sim, 80) ? HF_SPAN("{\"name\":\"c\",\"version\":\"1\"}") : HF_SPAN(""),
                    hf_span_of(able), levels[below(sim, 3)]);
}

/* ---- taking back ---- */

static void close_stream(struct sim *sim, struct client *client, uint64_t via)
{
    TRACE(sim, "client %d closes stream %u", (int)(client - sim->clients), (unsigned)via);
    sim->vias[via].is_gone = true;
    sim->stats->modern_cancels++;
    for (unsigned i = client->open_count; i-- > 0;) {
        struct request *r = &sim->requests[client->open[i]];
        if (r->via != via)
            continue;
        r->state = CANCELLED;
        client_take_out(sim, client, r);
        retry_left(sim, r);
        sim->stats->listens[LISTENS_CLOSED] += r->kind == ASK_LISTEN;
        sim->vias[via].nothings++;
    }
    shell_begin(sim, NULL);
    hf_session_via_cancelled(client->session, via, at(sim->now_ms));
    shell_end(sim);
    if (client->session && sim->vias[via].nothings && !sim->has_failed)
        sim_broken(sim, PROMISE_P1, "stream %u was closed, and its request goes on", (unsigned)via);
}

void modern_cancel(struct sim *sim, struct client *client, struct request *r)
{
    if (!sim->vias[r->via].is_gone && r->state == OPEN)
        close_stream(sim, client, r->via);
}

void modern_vanish(struct sim *sim, struct client *client)
{
    const unsigned person = sim->requests[client->open[below(sim, client->open_count)]].person;
    for (unsigned i = client->open_count; i-- > 0 && client->session && !sim->has_failed;)
        if (i < client->open_count && sim->requests[client->open[i]].person == person)
            close_stream(sim, client, sim->requests[client->open[i]].via);
}

/* ---- what comes ---- */

bool modern_knows(enum request_kind kind)
{
    return kind != ASK_SUBSCRIBE && kind != ASK_UNSUBSCRIBE && kind != ASK_LEVEL &&
           kind != ASK_PING;
}

bool modern_judge(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    int64_t code = 0;
    const struct hf_span outcome = outcome_in(msg);
    const struct hf_span error = outcome.p ? outcome : msg->error;
    if (error.p && !hf_json_int(hf_json_get(error, HF_SPAN("code")), &code))
        return false; /* judged elsewhere */
    r->code = (int)code;
    if (retry_judge(sim, r, msg, code))
        return true;
    if (r->kind == ASK_LISTEN)
        listen_judge(sim, r, msg);
    if (!modern_knows(r->kind) && (code != -32601 || r->sends))
        sim_broken(sim, PROMISE_P6, "request %d is for what the revision does not have (%d)",
                   r->number, (int)code);
    if (code == -32002)
        sim_broken(sim, PROMISE_P6, "request %d got a code that the revision does not have",
                   r->number);
    const struct hf_span type = hf_json_get(msg->result, HF_SPAN("resultType"));
    if (msg->kind == HF_MSG_RESULT && !hf_json_string_is(type, HF_SPAN("complete")))
        sim_broken(sim, PROMISE_P6, "request %d got a result without a type", r->number);
    if (r->kind == ASK_DISCOVER && msg->kind == HF_MSG_RESULT &&
        !hf_json_get(msg->result, HF_SPAN("supportedVersions")).p)
        sim_broken(sim, PROMISE_P6, "request %d discovered nothing", r->number);
    return false;
}
