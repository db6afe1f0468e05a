/* updates.c - resources/updated of servers: whoever follows the resource hears of it, and nobody
 * else does. Who follows what is the engine's own book: what is judged is whether it keeps to it.
 */
#include "sim.h"

static bool follows(const struct hf_session *session, const struct hf_server *server, int seat)
{
    char uri[32];
    (void)snprintf(uri, sizeof uri, "\"res://%d/1\"", seat);
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, &session->subscriptions, struct hf_subscription, link) {
        if ((!sub->server || sub->server == server) && strcmp(sub->uri, uri) == 0)
            return true;
    }
    return false;
}

/* A modern server tags what it says with the subscription that it is for. Without a tag it need not
 * be heard; under one that has ended it must not be. */
static void read_tag(const struct hf_runtime *runtime, struct hf_span text, bool *ret_may,
                     bool *ret_must)
{
    int64_t id;
    const struct hf_span tag = hf_json_path(
        text, 3,
        (struct hf_span[]) { HF_SPAN("params"), HF_SPAN("_meta"), HF_SPAN(HF_META_LISTEN) });
    const bool is_tagged = hf_json_int(tag, &id);
    const struct hf_upstream *ear = runtime->upstream;
    const bool is_open = is_tagged && ear &&
                         ((ear->call && ear->call->id == (uint64_t)id) ||
                          (ear->next && ear->next->id == (uint64_t)id));
    *ret_may = is_open || !is_tagged;
    *ret_must = is_open || (!is_tagged && !runtime->is_modern);
}

void update_before(struct sim *sim, const struct hf_runtime *runtime, struct hf_span text)
{
    static const char method[] = "\"notifications/resources/updated\"";
    const struct hf_slot *slot = runtime->slot;
    struct hf_msg msg;
    struct hf_err err;
    sim->update.runtime = NULL;
    if (!memmem(text.p, text.n, method, sizeof method - 1) ||
        (runtime != slot->current && runtime != slot->attempt) ||
        hf_msg_parse(text, 64, &msg, &err) != HF_MSG_OK) /* it died in the middle of it */
        return;
    const struct instance *instance = instance_behind(runtime->server->config);
    sim->update.runtime = runtime;
    sim->update.due = sim->update.may = sim->update.heard = 0;
    bool may, must;
    read_tag(runtime, text, &may, &must);
    for (int c = 0; c < CLIENTS && may; c++) {
        const struct hf_session *session = sim->clients[c].session;
        if (session && session->has_greeted && (!slot->owner || slot->owner == session) &&
            hf_session_uses(session, runtime->server) &&
            follows(session, runtime->server, instance->seat))
            sim->update.may |= 1u << c;
    }
    if (must)
        sim->update.due = sim->update.may;
    sim->stats->modern[MODERN_UPDATES] += runtime->is_modern && sim->update.due;
}

void update_heard(struct sim *sim, const struct client *client)
{
    const struct hf_runtime *runtime = sim->update.runtime;
    const unsigned bit = 1u << (client - sim->clients);
    if (!runtime) {
        sim_broken(sim, PROMISE_P6, "client %d hears of an update that nobody told of",
                   (int)(client - sim->clients));
        return;
    }
    sim->update.heard |= bit;
    const bool is_alone = client->only && !runtime->is_modern && /* there all it says passes */
                          runtime->slot->owner == client->session;
    if (!(sim->update.may & bit) && !is_alone)
        sim_broken(sim, PROMISE_P6, "client %d hears of a resource that it does not follow",
                   (int)(client - sim->clients));
}

void update_after(struct sim *sim)
{
    const unsigned missing = sim->update.runtime ? sim->update.due & ~sim->update.heard : 0;
    for (int c = 0; missing && c < CLIENTS; c++)
        if (missing >> c & 1 && sim->clients[c].session && !sim->lost_a_client)
            sim_broken(sim, PROMISE_P7, "client %d hears nothing of a resource that it follows", c);
    sim->update.runtime = NULL;
}
