/* clients.c - clients: how they come and go, and what reaches them. */
#include <inttypes.h>
#include "sim.h"

/* ---- coming and going ---- */

static struct instance *endpoint_for(struct sim *sim, const struct client *client)
{
    const uint32_t pick = below(sim, 10);
    if (sim->is_run)
        return sim->seats[client == &sim->clients[0] ? 0 : 1 + below(sim, SERVERS - 1)];
    return pick < SERVERS ? sim->seats[pick] : NULL;
}

/* Two in three come with a token; the others are parties of their own. */
static void join_party(struct sim *sim, struct client *client)
{
    const unsigned which = client->visit % (PARTIES + 1);
    if (which == PARTIES)
        return;
    struct hf_client_party *party = hf_client_party_new(sim->parties[which]);
    hf_session_set_party(client->session, party);
    hf_client_party_unref(party);
}

void client_open(struct sim *sim, struct client *client)
{
    struct instance *only = endpoint_for(sim, client);
    if (sim->is_run && (!only || only->removed))
        return; /* such a client comes with its server and goes with it */
    *client = (struct client) { .next_id = client->next_id + 1, .can_be_asked = chance(sim, 60) };
    client->is_http = !sim->is_run && chance(sim, 50);
    client->is_modern = chance(sim, sim->is_inquisitive ? 75 : 40);
    client->visit = ++sim->visit_count;
    client->only = only && !only->removed ? only : NULL;
    TRACE(sim, "%sclient %d comes%s%s%s", client->is_modern ? "modern " : "",
          (int)(client - sim->clients), client->is_http ? " by HTTP" : "",
          client->only ? " to " : "", client->only ? seat_names[client->only->seat] : "");
    client->session = hf_session_open(sim->engine, client->only ? client->only->server : NULL,
                                      hf_sink_of(client), at(sim->now_ms));
    join_party(sim, client);
    if (client->is_modern && client->is_http)
        hf_session_set_modern(client->session);
    sim->stats->modern_clients += client->is_modern;
    policy_give(sim, client);
}

static void drop_requests(struct sim *sim, struct client *client)
{
    for (unsigned i = 0; i < client->open_count; i++)
        sim->requests[client->open[i]].state = DROPPED;
    client->open_count = 0;
}

/* Its token is not valid any more, or another server is behind its endpoint: before its session
 * ends, whoever waits is told how far it got. */
static void give_up(struct sim *sim, struct client *client)
{
    TRACE(sim, "client %d is given up", (int)(client - sim->clients));
    shell_begin(sim, NULL);
    hf_session_give_up(client->session, at(sim->now_ms));
    shell_end(sim);
    for (unsigned i = 0; i < client->open_count && client->session && !sim->has_failed; i++)
        if (sim->requests[client->open[i]].kind != ASK_LISTEN)
            sim_broken(sim, PROMISE_P1, "request %d was given up without a word", client->open[i]);
}

void client_close(struct sim *sim, struct client *client)
{
    if (client->is_http && !sim->in_event && !sim->is_stopping && chance(sim, 30))
        give_up(sim, client);
    struct hf_session *session = client->session;
    if (!session || sim->has_failed)
        return; /* it went before it could be told */
    TRACE(sim, "client %d is gone", (int)(client - sim->clients));
    drop_requests(sim, client);
    vias_close(sim, client);
    client->session = NULL;
    if (sim->in_event) { /* its end of the pipe broke while we wrote to it */
        sim->lost_a_client = true;
        hf_session_close(session, at(sim->now_ms));
        return;
    }
    shell_begin(sim, NULL);
    hf_session_close(session, at(sim->now_ms));
    shell_end(sim);
}

static void finish(struct sim *sim, struct client *client)
{
    TRACE(sim, "client %d finishes", (int)(client - sim->clients));
    client->is_finished = true;
    shell_begin(sim, NULL);
    hf_session_finish(client->session, at(sim->now_ms));
    shell_end(sim);
}

void client_act(struct sim *sim, struct client *client)
{
    if (!client->session) {
        client_open(sim, client);
        if (client->session && chance(sim, 80))
            client_greet(sim, client);
        return;
    }
    if (client->is_finished) {
        if (hf_session_is_settled(client->session) || chance(sim, 5))
            client_close(sim, client);
        return;
    }
    const uint32_t dice = below(sim, 100);
    if (dice < 92)
        client_ask_some(sim, client);
    else if (dice < 94)
        client_greet(sim, client);
    else if (dice < 96)
        client_close(sim, client);
    else if (client->is_http)
        via_vanish(sim, client);
    else if (dice < 98)
        finish(sim, client);
}

/* ---- getting ---- */

static struct request *request_for(struct sim *sim, const struct client *client, uint64_t via,
                                   const struct hf_msg *msg)
{
    struct request *found = NULL;
    int64_t key = -1;
    const struct hf_span raw = hf_json_get(msg->result, HF_SPAN("_k"));
    if (raw.p && !hf_json_int(raw, &key))
        key = -1;
    for (unsigned i = 0; i < client->open_count; i++) {
        struct request *r = &sim->requests[client->open[i]];
        const bool fits = r->number == key || (key < 0 && r->kind > ASK_UNKNOWN);
        if (hf_span_is(msg->id, r->id) && r->via == via && (!found || fits))
            found = r;
    }
    return found;
}

static void got_answer(struct sim *sim, struct client *client, uint64_t via,
                       const struct hf_msg *msg)
{
    if (!msg->id.p || hf_span_is(msg->id, "null"))
        return; /* counted in vias.c */
    struct request *r = request_for(sim, client, via, msg);
    if (!r) {
        sim_broken(sim, PROMISE_P1, "an answer to id %.*s, which is not open at via %u",
                   HF_FMT(msg->id), (unsigned)via);
        return;
    }
    r->state = ANSWERED;
    client_take_out(sim, client, r);
    if (!r->shares_its_id) /* else nobody can say which of the two this is about */
        judge_answer(sim, r, msg);
}

/* What came on the stream of a call, or is about one, comes to the client that made it, and to the
 * message that it was made with. */
static void check_place(struct sim *sim, const struct client *client, const struct request *r,
                        uint64_t via, const char *what)
{
    if (&sim->clients[r->client] != client || via != r->via)
        sim_broken(sim, PROMISE_P6, "%s of request %d of client %d, via %u, comes to client %d, %u",
                   what, r->number, r->client, (unsigned)r->via, (int)(client - sim->clients),
                   (unsigned)via);
}

static struct request *open_request(struct sim *sim, struct hf_span raw_number)
{
    int64_t number;
    struct request *r = raw_number.p && hf_json_int(raw_number, &number) && number >= 0 &&
                                number < sim->request_count
                            ? &sim->requests[number]
                            : NULL;
    return r && r->state == OPEN && !r->shares_its_id ? r : NULL;
}

static void got_progress(struct sim *sim, const struct client *client, uint64_t via,
                         const struct hf_msg *msg)
{
    int64_t number;
    double value = 0;
    if (!hf_json_int(hf_json_get(msg->params, HF_SPAN("progressToken")), &number) || number < 0 ||
        number >= sim->request_count)
        number = 0;
    struct request *r = &sim->requests[number];
    if (r->shares_its_id)
        return;
    if (r->state != OPEN || &sim->clients[r->client] != client)
        sim_broken(sim, PROMISE_P5, "progress of a request that is not open");
    if (!hf_json_double(hf_json_get(msg->params, HF_SPAN("progress")), &value) ||
        value <= r->progress)
        sim_broken(sim, PROMISE_P5, "progress of request %d that does not grow", r->number);
    check_place(sim, client, r, via, "progress");
    r->progress = value;
}

static void got_log(struct sim *sim, const struct client *client, uint64_t via,
                    const struct hf_msg *msg)
{
    int64_t from = 0;
    const struct request *r = open_request(sim, hf_json_get(msg->params, HF_SPAN("_k")));
    if (r)
        check_place(sim, client, r, via, "a log message");
    if (!hf_json_int(hf_json_get(msg->params, HF_SPAN("data")), &from))
        sim_broken(sim, PROMISE_INNER, "a log message was changed on its way");
    for (unsigned i = 0; i < sim->child_top; i++) {
        const struct child *child = &sim->children[i];
        const struct hf_runtime *runtime = child->in_use ? child->runtime : NULL;
        if (child->serial == (unsigned)from && runtime && runtime != runtime->slot->current &&
            runtime != runtime->slot->attempt)
            sim_broken(sim, PROMISE_P5, "a client hears the log of an old generation");
        if (child->in_use && child->serial == (unsigned)from &&
            !policy_allows(client, child->instance, NULL))
            sim_broken(sim, PROMISE_P6, "a client hears the log of a server it may not use");
    }
}

static void got_news(struct sim *sim, struct client *client, uint64_t via, const struct hf_msg *msg)
{
    if (client->is_modern && listen_heard(sim, client, via, msg))
        return;
    switch (hf_method_find(msg->method)->id) {
    case HF_METHOD_PROGRESS: got_progress(sim, client, via, msg); return;
    case HF_METHOD_MESSAGE: got_log(sim, client, via, msg); return;
    case HF_METHOD_CANCELLED: return; /* of something it was asked, wherever that was */
    case HF_METHOD_TOOLS_CHANGED: client->news[HF_PART_TOOLS]++; break;
    case HF_METHOD_PROMPTS_CHANGED: client->news[HF_PART_PROMPTS]++; break;
    case HF_METHOD_RESOURCES_CHANGED: client->news[HF_PART_RESOURCES]++; break;
    case HF_METHOD_RESOURCE_UPDATED: update_heard(sim, client); break;
    default: break;
    }
    if (via)
        sim_broken(sim, PROMISE_P6, "news that belong to no request come with one");
}

static void got_ask(struct sim *sim, struct client *client, uint64_t via, const struct hf_msg *msg)
{
    int64_t id;
    const struct request *r = open_request(sim, hf_json_get(msg->params, HF_SPAN("_k")));
    if (client->is_modern)
        sim_broken(sim, PROMISE_P6, "client %d is modern, and was asked something",
                   (int)(client - sim->clients));
    if (r)
        check_place(sim, client, r, via, "a question");
    if (!hf_json_int(msg->id, &id))
        sim_broken(sim, PROMISE_INNER, "a client was asked under a server's own id");
    if (client->ask_count < ASKS_MAX)
        client->asks[client->ask_count++] = (uint64_t)id;
    for (unsigned i = 0; i < client->open_count; i++)
        sim->requests[client->open[i]].was_asked = true;
}

void client_got(struct sim *sim, struct client *client, const struct hf_effect *effect)
{
    struct hf_msg msg;
    struct hf_err err;
    if (client->session != effect->session || sim->has_failed)
        return;
    if (!sim->is_calm && chance(sim, 1) && chance(sim, 20)) {
        client_close(sim, client);
        return;
    }
    if (effect->piece_count == 0) {
        via_check(sim, client, effect, NULL);
        return;
    }
    hf_buf_clear(&sim->got);
    for (unsigned i = 0; i < effect->piece_count; i++)
        hf_buf_add(&sim->got, effect->pieces[i]);
    const struct hf_span text = hf_buf_span(&sim->got);
    TRACE(sim, "    client %d gets via %u: %.*s", (int)(client - sim->clients),
          (unsigned)effect->via, (int)(text.n < 400 ? text.n : 400), text.p);
    if (hf_msg_parse(text, 64, &msg, &err) != HF_MSG_OK) {
        sim_broken(sim, PROMISE_INNER, "a client was sent what is no message: %s", err.text);
        return;
    }
    via_check(sim, client, effect, &msg);
    switch (msg.kind) {
    case HF_MSG_REQUEST: got_ask(sim, client, effect->via, &msg); break;
    case HF_MSG_NOTIFICATION: got_news(sim, client, effect->via, &msg); break;
    case HF_MSG_RESULT:
    case HF_MSG_ERROR: got_answer(sim, client, effect->via, &msg); break;
    }
}
