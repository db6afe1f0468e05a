/* listens.c - modern clients' subscriptions/listen: opened, acknowledged at once, told of what was
 * asked for and nothing else, under their own id, and ended by whoever ends them first. */
#include "sim.h"

enum { LISTENERS_MAX = 4 }; /* of one client; more would only slow the rest down */

static const struct {
    enum hf_part_id part;
    const char *member;
} kinds[] = { { HF_PART_TOOLS, "toolsListChanged" },
              { HF_PART_PROMPTS, "promptsListChanged" },
              { HF_PART_RESOURCES, "resourcesListChanged" } };
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- opening ---- */

static void add_filter(struct sim *sim, const struct request *r)
{
    hf_buf_add_str(&sim->message, "\"notifications\":{");
    for (unsigned i = 0; i < KINDS; i++)
        if (r->listen.asked[kinds[i].part] || chance(sim, 20))
            hf_buf_printf(&sim->message, "\"%s\":%s,", kinds[i].member,
                          r->listen.asked[kinds[i].part] ? "true" : "false");
    hf_buf_add_str(&sim->message, "\"resourceSubscriptions\":[");
    bool is_first = true;
    for (int seat = 0; seat < SERVERS; seat++)
        if (r->listen.uris >> seat & 1) {
            hf_buf_printf(&sim->message, "%s\"res://%d/1\"", is_first ? "" : ",", seat);
            is_first = false;
        }
    hf_buf_add_str(&sim->message, "]},");
}

struct request *listen_open(struct sim *sim, struct client *client, unsigned uris)
{
    unsigned open = 0;
    for (unsigned i = 0; i < client->open_count; i++)
        open += sim->requests[client->open[i]].kind == ASK_LISTEN;
    struct request *r = open < LISTENERS_MAX ? client_plain_request(sim, client, ASK_LISTEN) : NULL;
    if (!r)
        return NULL;
    for (unsigned i = 0; i < KINDS; i++)
        r->listen.asked[kinds[i].part] = chance(sim, 60);
    r->listen.uris = uris;
    sim->stats->listens[LISTENS_OPENED]++;
    client_begin_message(sim, r, "subscriptions/listen");
    add_filter(sim, r);
    client_end_message(sim, client, r);
    if (r->state == OPEN && !r->listen.is_open && client->session && !sim->has_failed)
        sim_broken(sim, PROMISE_P1, "request %d listens, and that is not acknowledged", r->number);
    return r;
}

/* ---- hearing ---- */

static struct request *listener_of(struct sim *sim, const struct client *client, uint64_t via,
                                   struct hf_span id)
{
    for (unsigned i = 0; i < client->open_count; i++) {
        struct request *r = &sim->requests[client->open[i]];
        if (r->kind == ASK_LISTEN && r->via == via && hf_span_is(id, r->id))
            return r;
    }
    return NULL;
}

/* Nothing is promised that was not asked for. */
static void take_acknowledgement(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    const struct hf_span honoured = hf_json_get(msg->params, HF_SPAN("notifications"));
    if (r->listen.is_open)
        sim_broken(sim, PROMISE_P1, "request %d is acknowledged twice", r->number);
    r->listen.is_open = true;
    sim->stats->listens[LISTENS_ACKNOWLEDGED]++;
    for (unsigned i = 0; i < KINDS; i++) {
        const enum hf_part_id part = kinds[i].part;
        r->listen.wants[part] = hf_json_is_true(hf_json_get(honoured, hf_span_of(kinds[i].member)));
        if (r->listen.wants[part] && !r->listen.asked[part])
            sim_broken(sim, PROMISE_P6, "request %d is to hear what it did not ask for", r->number);
    }
    r->listen.wants[HF_PART_TEMPLATES] = r->listen.wants[HF_PART_RESOURCES];
}

static void take_change(struct sim *sim, struct request *r, enum hf_part_id part)
{
    r->listen.news[part]++;
    sim->stats->listens[LISTENS_NEWS]++;
    if (!r->listen.wants[part])
        sim_broken(sim, PROMISE_P6, "request %d hears of list %d, and did not ask", r->number,
                   (int)part);
}

static void take_update(struct sim *sim, const struct request *r, const struct hf_msg *msg)
{
    const struct client *client = &sim->clients[r->client];
    const struct hf_span uri = hf_json_get(msg->params, HF_SPAN("uri"));
    const int seat = uri.n > 7 ? uri.p[7] - '0' : -1;
    sim->stats->listens[LISTENS_UPDATES]++;
    if (seat < 0 || seat >= SERVERS || !(r->listen.uris >> seat & 1))
        sim_broken(sim, PROMISE_P6, "request %d hears of a resource that it did not ask for",
                   r->number);
    if (client->only && client->only->seat != seat)
        sim_broken(sim, PROMISE_P6, "request %d hears of another server's resource", r->number);
}

bool listen_heard(struct sim *sim, const struct client *client, uint64_t via,
                  const struct hf_msg *msg)
{
    const enum hf_method_id method = hf_method_find(msg->method)->id;
    const struct hf_span tag = hf_json_path(
        msg->params, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_LISTEN) });
    struct request *r = tag.p ? listener_of(sim, client, via, tag) : NULL;
    if (method == HF_METHOD_PROGRESS || method == HF_METHOD_MESSAGE)
        return false;
    if (!r)
        sim_broken(sim, PROMISE_P6, "client %d, via %u, hears %.*s under an id that is not open",
                   (int)(client - sim->clients), (unsigned)via, HF_FMT(msg->method));
    else if (method != HF_METHOD_LISTENS && !r->listen.is_open)
        sim_broken(sim, PROMISE_P1, "request %d hears news before it is acknowledged", r->number);
    else
        switch (method) {
        case HF_METHOD_LISTENS: take_acknowledgement(sim, r, msg); break;
        case HF_METHOD_TOOLS_CHANGED: take_change(sim, r, HF_PART_TOOLS); break;
        case HF_METHOD_PROMPTS_CHANGED: take_change(sim, r, HF_PART_PROMPTS); break;
        case HF_METHOD_RESOURCES_CHANGED: take_change(sim, r, HF_PART_RESOURCES); break;
        case HF_METHOD_RESOURCE_UPDATED: take_update(sim, r, msg); break;
        default:
            sim_broken(sim, PROMISE_P6, "request %d hears %.*s", r->number, HF_FMT(msg->method));
        }
    return true;
}

/* It ends with its client, with holdfast or with the only server at its endpoint. */
void listen_judge(struct sim *sim, const struct request *r, const struct hf_msg *msg)
{
    const struct client *client = &sim->clients[r->client];
    const struct hf_span tag = hf_json_path(
        msg->result, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_LISTEN) });
    if (msg->kind == HF_MSG_ERROR && r->listen.is_open)
        sim_broken(sim, PROMISE_P1, "request %d was acknowledged, and then refused", r->number);
    if (msg->kind == HF_MSG_ERROR) {
        sim->stats->listens[LISTENS_REFUSED]++;
        return;
    }
    sim->stats->listens[LISTENS_ENDED]++;
    if (!hf_span_is(tag, r->id))
        sim_broken(sim, PROMISE_P6, "request %d ends under another's id", r->number);
    if (!client->is_finished && !sim->is_stopping && !(client->only && client->only->removed))
        sim_broken(sim, PROMISE_P1, "request %d listens, and nobody ended it", r->number);
}

/* ---- after every event ---- */

void listens_before(struct sim *sim, struct client *client)
{
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        client->had_given[part] = client->session && client->session->given[part];
    for (unsigned i = 0; i < client->open_count; i++) {
        struct request *r = &sim->requests[client->open[i]];
        if (r->kind != ASK_LISTEN)
            continue;
        memset(r->listen.news, 0, sizeof r->listen.news);
        r->listen.was_open = r->listen.is_open;
    }
}

void listens_check(struct sim *sim, const struct client *client, enum hf_part_id part,
                   unsigned changes)
{
    for (unsigned i = 0; changes && i < client->open_count; i++) {
        const struct request *r = &sim->requests[client->open[i]];
        if (r->kind == ASK_LISTEN && r->listen.was_open && r->listen.wants[part] &&
            client->had_given[part] && !r->listen.news[part] && !sim->is_stopping &&
            part != HF_PART_RESOURCES)
            sim_broken(sim, PROMISE_P7, "request %d hears no news of list %d, which changed",
                       r->number, (int)part);
    }
}

/* ---- what servers were asked for it ---- */

void listen_subscribed(struct child *child, const struct hf_msg *msg)
{
    const struct hf_span uri = hf_json_get(msg->params, HF_SPAN("uri"));
    const bool is_listed = uri.n > 7 && uri.p[1] == 'r';
    const unsigned bit = is_listed ? 1u << (uri.p[7] - '0') : 0;
    switch (hf_method_find(msg->method)->id) {
    case HF_METHOD_SUBSCRIBE: child->subscribed |= bit; break;
    case HF_METHOD_UNSUBSCRIBE: child->subscribed &= ~bit; break;
    default: break;
    }
}

static bool is_listened_for(const struct sim *sim, const struct child *child)
{
    const struct hf_slot *slot = child->runtime->slot;
    for (int c = 0; c < CLIENTS; c++) {
        const struct client *client = &sim->clients[c];
        const bool uses = client->session && (!slot->owner || slot->owner == client->session) &&
                          (!client->only || client->only == child->instance) &&
                          policy_allows(client, child->instance, NULL);
        for (unsigned i = 0; uses && i < client->open_count; i++) {
            const struct request *r = &sim->requests[client->open[i]];
            if (r->kind == ASK_LISTEN && r->listen.uris >> child->instance->seat & 1)
                return true;
        }
    }
    return false;
}

/* When that is answered, it is asked for again what others listen for; unless it said no, and then
 * it never forgot. */
static bool was_unsubscribed(const struct sim *sim, const struct child *child)
{
    for (int i = 0; i < sim->request_count; i++)
        if (sim->requests[i].kind == ASK_UNSUBSCRIBE &&
            sim->requests[i].holder_serial == child->serial)
            return true;
    return false;
}

/* In calm: every server that can tell of its resource was asked to, if somebody listens for it. */
void listens_check_servers(struct sim *sim)
{
    for (unsigned i = 0; i < sim->child_top && !sim->has_failed; i++) {
        const struct child *child = &sim->children[i];
        const struct hf_runtime *runtime = child->in_use ? child->runtime : NULL;
        if (!runtime || (child->is_remote && !runtime->is_modern) || !runtime->has_subscribe ||
            runtime != runtime->slot->current || child->era.refused_listen)
            continue;
        if (!(child->subscribed >> child->instance->seat & 1) && is_listened_for(sim, child) &&
            !was_unsubscribed(sim, child))
            sim_broken(sim, PROMISE_CALM, "child %u was not asked for what clients listen for",
                       child->serial);
    }
}
