/* asking.c - what clients ask, take back, answer, and what they say that means nothing. */
#include <inttypes.h>
#include "sim.h"

struct request *client_plain_request(struct sim *sim, struct client *client, enum request_kind kind)
{
    if (sim->request_count == REQUESTS || client->open_count == OPEN_MAX ||
        !via_is_left(sim, client))
        return NULL;
    const int number = sim->request_count++;
    struct request *r = &sim->requests[number];
    *r = (struct request) { .kind = kind,
                            .number = number,
                            .root = number,
                            .client = (int)(client - sim->clients),
                            .via = via_next(sim, client),
                            .sent_ms = sim->now_ms };
    r->is_modern = client->is_modern;
    r->able = !client->is_modern ? 0 : sim->in_exam || chance(sim, 60) ? 15 : below(sim, 8);
    r->person = client->is_modern && client->is_http ? below(sim, PERSONS) : 0;
    int *next = r->person ? &client->persons_next_id[r->person] : &client->next_id;
    (void)snprintf(r->id, sizeof r->id, chance(sim, 80) ? "%d" : "\"i%d\"", ++*next);
    client->open[client->open_count++] = number;
    return r;
}

/* Some clients use an id again while it is open. */
static struct request *new_request(struct sim *sim, struct client *client, enum request_kind kind)
{
    const unsigned before = client->open_count;
    struct request *r = client_plain_request(sim, client, kind);
    if (!r || sim->is_calm || !before || !chance(sim, 3))
        return r;
    struct request *twin = &sim->requests[client->open[below(sim, before)]];
    if (kind == ASK_INITIALIZE || twin->kind == ASK_INITIALIZE || twin->retry ||
        twin->kind == ASK_LISTEN)
        return r;
    memcpy(r->id, twin->id, sizeof r->id);
    for (unsigned i = 0; i < before; i++) {
        struct request *other = &sim->requests[client->open[i]];
        /* over HTTP each answer comes to the message that it answers */
        const bool shares = other->via == r->via && strcmp(other->id, r->id) == 0;
        r->shares_its_id |= shares;
        other->shares_its_id |= shares;
    }
    return r;
}

static void add_request(struct sim *sim, const struct request *r, const char *method)
{
    hf_buf_printf(&sim->message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{",
                  r->id, method);
}

void client_begin_message(struct sim *sim, const struct request *r, const char *method)
{
    hf_buf_clear(&sim->message);
    add_request(sim, r, method);
}

void client_end_message(struct sim *sim, struct client *client, const struct request *r)
{
    if (r->is_modern) {
        hf_buf_add_str(&sim->message, "\"_meta\":{");
        modern_add_meta(sim, r);
        hf_buf_add_char(&sim->message, '}');
    }
    hf_buf_add_str(&sim->message, "}}");
    client_say(sim, client, 1, 0);
}

/* What a client calls a thing of that server. */
static void add_name(struct sim *sim, const struct client *client, const struct instance *target,
                     const char *own)
{
    const bool plain = client->only || target->settings.prefix == HF_PREFIX_NEVER;
    hf_buf_printf(&sim->message, "\"%s%s%s\"", plain ? "" : seat_names[target->seat],
                  plain ? "" : "__", own);
}

static void add_meta(struct sim *sim, const struct request *r)
{
    hf_buf_printf(&sim->message, "\"_meta\":{\"_k\":%d", r->number);
    if (r->is_modern) {
        hf_buf_add_char(&sim->message, ',');
        modern_add_meta(sim, r);
    }
    if (chance(sim, 40))
        hf_buf_printf(&sim->message, ",\"progressToken\":%d", r->number);
    hf_buf_add_char(&sim->message, '}');
}

static void add_pad(struct sim *sim, uint32_t n)
{
    if (n == 0)
        return;
    hf_buf_add_str(&sim->message, ",\"pad\":\"");
    if (!hf_buf_reserve(&sim->message, n))
        abort();
    memset(sim->message.p + sim->message.end, 'p', n);
    sim->message.end += n;
    hf_buf_add_char(&sim->message, '"');
}

static const char *const methods[] = {
    "tools/call",       "tools/call",          "tools/call",          "prompts/get",
    "resources/read",   "completion/complete", "resources/subscribe", "resources/unsubscribe",
    "logging/setLevel", "tasks/get",           "x/unknown",
};

static void add_params(struct sim *sim, const struct client *client, const struct request *r)
{
    const struct instance *target = r->target;
    char given[16];
    switch (r->kind) {
    case ASK_PUT:
    case ASK_IDEM:
    case ASK_GIVEN:
    case ASK_PROMPT:
        (void)snprintf(given, sizeof given, "v%d", r->variant);
        hf_buf_add_str(&sim->message, "\"name\":");
        add_name(sim, client, target,
                 r->kind == ASK_PUT     ? "put"
                 : r->kind == ASK_IDEM  ? "idem"
                 : r->kind == ASK_GIVEN ? given
                                        : "p");
        hf_buf_add_str(&sim->message, ",\"arguments\":{\"a\":1.50");
        add_pad(sim, r->pad);
        hf_buf_add_str(&sim->message, "},");
        break;
    case ASK_COMPLETE:
        hf_buf_add_str(&sim->message, "\"ref\":{\"type\":\"ref/prompt\",\"name\":");
        add_name(sim, client, target, "p");
        hf_buf_add_str(&sim->message, "},");
        break;
    case ASK_LEVEL: hf_buf_add_str(&sim->message, "\"level\":\"info\","); break;
    case ASK_TASK:
        hf_buf_printf(&sim->message, "\"taskId\":\"t%d.%d\",", (int)(target - sim->instances),
                      r->task);
        break;
    case ASK_UNKNOWN: break;
    default:
        hf_buf_printf(&sim->message, "\"uri\":\"%s://%d/1\",", r->by_template ? "tpl" : "res",
                      target->seat);
        break;
    }
    add_meta(sim, r);
}

static bool is_repeatable(const struct request *r)
{
    switch (r->kind) {
    case ASK_PROMPT:
    case ASK_TASK:
    case ASK_READ:
    case ASK_COMPLETE: return true;
    case ASK_IDEM: return r->target->settings.retry == HF_RETRY_IDEMPOTENT;
    default: return false;
    }
}

/* A server that is there, has nothing to do and room in its pipe: then nothing may delay a call. */
static bool must_go_at_once(const struct sim *sim, const struct client *client,
                            const struct request *r)
{
    const struct hf_server *server = r->target->server;
    const struct hf_slot *slot = server ? hf_slot_of(r->target->server, client->session) : NULL;
    if (!slot || r->kind > ASK_GIVEN || slot->machine.state != HF_SLOT_CONNECTED || slot->waiting ||
        slot->current->is_frozen || r->target->settings.stateful || sim->is_stopping)
        return false;
    const struct child *child = child_behind(slot->current->backend);
    const uint32_t max = r->target->settings.max_in_flight;
    const bool has_room =
        child->is_remote
            ? !child->wire.is_greeting && !(slot->current->holds & ~(unsigned)HF_HOLD_RENEWAL)
            : hf_list_empty(&slot->current->out) &&
                  child->readable_end - child->read_total + 8192 < child->capacity;
    return has_room && !r->is_forbidden && !(max && slot->current->in_flight >= max) &&
           slot->server->parts[HF_PART_TOOLS] && r->knew_its_name &&
           hf_party_may_take(sim->engine, client->session->party, HF_SHARED_CALLS, 2) &&
           hf_party_may_take(sim->engine, client->session->party, HF_SHARED_HELD, 8192);
}

static bool is_forbidden(const struct client *client, const struct request *r)
{
    switch (r->kind) {
    case ASK_PUT: return !policy_allows(client, r->target, "put");
    case ASK_IDEM: return !policy_allows(client, r->target, "idem");
    case ASK_GIVEN: return !policy_allows(client, r->target, "v");
    case ASK_PROMPT:
    case ASK_COMPLETE: return !policy_allows(client, r->target, "p");
    case ASK_READ:
    case ASK_SUBSCRIBE:
    case ASK_UNSUBSCRIBE: return !policy_allows(client, r->target, "res:");
    default: return !policy_allows(client, r->target, NULL);
    }
}

static void aim(struct request *r, const struct client *client, struct instance *target)
{
    r->target = target;
    r->wait_ms = target->settings.wait_ms;
    r->call_timeout_ms = target->settings.call_timeout_ms;
    r->call_timeout_max_ms = target->settings.call_timeout_max_ms;
    r->repeatable = is_repeatable(r);
    r->is_forbidden = is_forbidden(client, r);
}

/* Appends a request for something that a server does. */
static struct request *add_call(struct sim *sim, struct client *client, enum request_kind kind,
                                struct instance *target)
{
    struct request *r = new_request(sim, client, kind);
    if (!r)
        return NULL;
    aim(r, client, target);
    r->knew_its_name = client->knows[target - sim->instances] && target->lists_tools;
    r->variant = client->variant[target - sim->instances];
    r->pad = chance(sim, 80) ? 0 : below(sim, PICK(sim, 300, 3000));
    r->by_template = chance(sim, 20);
    r->task = client->task;
    r->brings_answers = r->is_modern && !sim->in_exam && chance(sim, 15);
    sim->stats->calls++;
    add_request(sim, r, methods[kind]);
    add_params(sim, client, r);
    if (r->brings_answers)
        retry_add_given(sim, r);
    hf_buf_add_str(&sim->message, "}}");
    return r;
}

/* The same call in another request. */
static struct request *repeat(struct sim *sim, struct client *client, const struct request *first)
{
    struct request *r = client_plain_request(sim, client, first->kind);
    if (!r)
        return NULL;
    aim(r, client, client->only ? client->only : first->target);
    r->variant = first->variant;
    r->pad = first->pad;
    r->by_template = first->by_template;
    r->able = first->able;
    hf_buf_clear(&sim->message);
    return r;
}

struct request *client_retry(struct sim *sim, struct client *client, unsigned question,
                             enum retry retry)
{
    const struct request *root = &sim->requests[sim->questions[question].root];
    struct request *r = repeat(sim, client, root);
    if (!r)
        return NULL;
    r->root = root->number;
    r->retry = retry;
    r->question = question;
    add_request(sim, r, methods[r->kind]);
    add_params(sim, client, r);
    retry_add(sim, r);
    hf_buf_add_str(&sim->message, "}}");
    client_say(sim, client, 1, 0);
    return r;
}

void client_come_again(struct sim *sim, struct client *client)
{
    const struct request *first = &sim->requests[client->passed - 1];
    struct request *r = repeat(sim, client, first);
    client->passed = 0;
    if (!r)
        return;
    r->comes_with = first->rounds;
    r->asked = first->asked;
    sim->stats->passed++;
    add_request(sim, r, methods[r->kind]);
    add_params(sim, client, r);
    hf_buf_printf(&sim->message, ",\"requestState\":\"r%u of %d\",\"inputResponses\":{",
                  r->comes_with, first->number);
    for (unsigned i = 0; i < r->asked; i++)
        hf_buf_printf(&sim->message, "%s\"q%u_%u\":{\"action\":\"accept\"}", i ? "," : "",
                      r->comes_with, i);
    hf_buf_add_str(&sim->message, "}}}");
    client_say(sim, client, 1, 0);
}

struct request *client_call(struct sim *sim, struct client *client, enum request_kind kind,
                            struct instance *target)
{
    hf_buf_clear(&sim->message);
    struct request *r = add_call(sim, client, kind, target);
    if (!r)
        return NULL;
    const bool at_once = must_go_at_once(sim, client, r);
    const unsigned before = sim->child_serial;
    client_say(sim, client, 1, 0);
    if (at_once && !sim->has_failed && !sim->engine->uses_seam[HF_SEAM_DISPATCH]) {
        shell_flush(sim);
        if (r->sends + r->posts == 0 && r->state == OPEN && before == sim->child_serial)
            sim_broken(sim, PROMISE_P8, "request %d was not written at once", r->number);
    }
    return r;
}

static void ask_list(struct sim *sim, struct client *client)
{
    struct request *r = new_request(sim, client, ASK_LIST);
    if (!r)
        return;
    r->part = (enum hf_part_id)below(sim, HF_PART_COUNT);
    client_begin_message(sim, r, hf_method(hf_part_traits(r->part)->list)->name);
    client_end_message(sim, client, r);
}

void client_greet(struct sim *sim, struct client *client)
{
    struct request *r = new_request(sim, client, client->is_modern ? ASK_DISCOVER : ASK_INITIALIZE);
    if (!r)
        return;
    client_begin_message(sim, r, client->is_modern ? "server/discover" : "initialize");
    if (!client->is_modern)
        hf_buf_printf(&sim->message, "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{%s}",
                      client->can_be_asked ? "\"sampling\":{},\"roots\":{},\"elicitation\":{}"
                                           : "");
    client_end_message(sim, client, r);
}

static void ask_ping(struct sim *sim, struct client *client)
{
    struct request *r = new_request(sim, client, ASK_PING);
    if (!r)
        return;
    client_begin_message(sim, r, "ping");
    client_end_message(sim, client, r);
    if (r->state == OPEN && client->session && !sim->has_failed)
        sim_broken(sim, PROMISE_P8, "a ping was not answered at once");
}

/* 2025-03-26 had batches; what is in one is answered one by one. */
static void ask_batch(struct sim *sim, struct client *client)
{
    static const char *const strays[] = {
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}", "7"
    };
    unsigned owed = 0, nulls = 0;
    if (!via_is_left(sim, client) || (client->is_modern && client->is_http))
        return; /* in the last case the front refuses it */
    hf_buf_clear(&sim->message);
    for (uint32_t left = 2 + below(sim, 3); left > 0; left--) {
        struct instance *target = client->only ? client->only : sim->seats[below(sim, SERVERS)];
        const struct request *r = NULL;
        hf_buf_add_char(&sim->message, owed || hf_buf_len(&sim->message) ? ',' : '[');
        if (target && chance(sim, 50))
            r = add_call(sim, client, ASK_PUT, target);
        else if (chance(sim, 70) && (r = new_request(sim, client, ASK_PING))) {
            add_request(sim, r, "ping");
            if (r->is_modern)
                add_meta(sim, r);
            hf_buf_add_str(&sim->message, "}}");
        }
        if (!r) {
            const uint32_t i = below(sim, 2);
            hf_buf_add_str(&sim->message, strays[i]);
            nulls += i;
        }
        owed += r != NULL;
    }
    hf_buf_add_char(&sim->message, ']');
    client_say(sim, client, owed + nulls, nulls);
}

/* What is too long is not kept: only its id is, and that is answered. */
static void ask_too_much(struct sim *sim, struct client *client)
{
    struct hf_json_skim skim;
    struct request *r = client->is_http ? NULL : new_request(sim, client, ASK_PING);
    if (!r) /* over HTTP the front refuses it without us */
        return;
    r->is_modern = false; /* as far as anybody can see */
    hf_buf_clear(&sim->message);
    hf_buf_printf(&sim->message, "{\"method\":\"tools/call\",\"params\":{\"id\":1},\"id\":%s}",
                  r->id);
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_buf_span(&sim->message));
    TRACE(sim, "client %d says far too much, id %s", r->client, r->id);
    shell_begin(sim, NULL);
    hf_session_message_oversized(client->session, &skim, at(sim->now_ms));
    shell_end(sim);
    if (r->state == OPEN && client->session && !sim->has_failed)
        sim_broken(sim, PROMISE_P12, "a message over the limit was not answered at once");
}

/* ---- taking back, answering, nonsense ---- */

void client_take_out(struct sim *sim, struct client *client, const struct request *r)
{
    for (unsigned i = 0; i < client->open_count; i++)
        if (client->open[i] == r->number) {
            client->open[i] = client->open[--client->open_count];
            return;
        }
    sim_broken(sim, PROMISE_INNER, "request %d is not among the open ones", r->number);
}

static unsigned count_of_id(const struct sim *sim, const struct client *client, const char *id)
{
    unsigned count = 0;
    for (unsigned i = 0; i < client->open_count; i++)
        count += strcmp(sim->requests[client->open[i]].id, id) == 0;
    return count;
}

void client_cancel(struct sim *sim, struct client *client, struct request *r)
{
    if (client->is_modern && client->is_http) {
        modern_cancel(sim, client, r);
        return;
    }
    if (!via_is_left(sim, client))
        return;
    const bool ends =
        r->state == OPEN && r->kind != ASK_INITIALIZE && count_of_id(sim, client, r->id) == 1;
    hf_buf_clear(&sim->message);
    hf_buf_printf(&sim->message,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":%s,\"reason\":\"enough\"}}",
                  r->id);
    if (ends) {
        r->state = CANCELLED;
        client_take_out(sim, client, r);
        retry_left(sim, r);
        sim->stats->listens[LISTENS_CLOSED] += r->kind == ASK_LISTEN;
        if (r->via) /* whoever waits there hears that nothing comes */
            sim->vias[r->via].nothings++;
    }
    client_say(sim, client, 0, 0);
}

static void cancel_some(struct sim *sim, struct client *client)
{
    if (client->open_count && chance(sim, 80)) {
        struct request *open = &sim->requests[client->open[below(sim, client->open_count)]];
        if (!open->shares_its_id || count_of_id(sim, client, open->id) > 1)
            client_cancel(sim, client, open);
        return;
    }
    if (sim->request_count == 0)
        return;
    struct request *r = &sim->requests[below(sim, (uint32_t)sim->request_count)];
    if (r->client == (int)(client - sim->clients) && r->state == ANSWERED &&
        count_of_id(sim, client, r->id) == 0)
        client_cancel(sim, client, r);
}

static void answer_ask(struct sim *sim, struct client *client)
{
    if (client->ask_count == 0 || !via_is_left(sim, client))
        return;
    const uint64_t id = client->asks[--client->ask_count];
    hf_buf_clear(&sim->message);
    if (chance(sim, 50))
        hf_buf_printf(&sim->message, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":{}}", id);
    else
        hf_buf_printf(&sim->message,
                      "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64
                      ",\"error\":{\"code\":-1,\"message\":\"no\"}}",
                      id);
    client_say(sim, client, 0, 0);
}

static void talk_nonsense(struct sim *sim, struct client *client)
{
    static const struct {
        const char *text;
        unsigned answers; /* under id null */
    } nonsense[] = {
        { "hello", 1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":77777777,\"result\":{}}", 0 },
        { "[]", 1 },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}", 0 },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}", 0 },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 0 },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", 0 },
    };
    const uint32_t i = below(sim, sizeof nonsense / sizeof *nonsense);
    const bool passes = !client->is_modern || !client->is_http || (i > 3 && i < 7);
    if (!via_is_left(sim, client) || !passes) /* the front refuses it, or means something else */
        return;
    hf_buf_clear(&sim->message);
    hf_buf_add_str(&sim->message, nonsense[i].text);
    client_say(sim, client, nonsense[i].answers, nonsense[i].answers);
}

static void call_some(struct sim *sim, struct client *client)
{
    struct instance *target = client->only ? client->only : sim->seats[below(sim, SERVERS)];
    enum request_kind kind = chance(sim, 75) ? ASK_PUT : ASK_IDEM;
    if (chance(sim, 40))
        kind = (enum request_kind)(ASK_PROMPT + below(sim, ASK_UNKNOWN - ASK_PROMPT + 1));
    if (client->is_modern && !modern_knows(kind) && chance(sim, 80))
        kind = ASK_READ;
    if (kind == ASK_TASK && client->task_of)
        target = client->task_of;
    else if (kind == ASK_TASK)
        kind = ASK_IDEM;
    if (!target)
        return;
    const size_t i = (size_t)(target - sim->instances);
    if (chance(sim, 10) && client->knows[i] && client->variant[i] >= 0)
        kind = ASK_GIVEN;
    (void)client_call(sim, client, kind, target);
}

void client_ask_some(struct sim *sim, struct client *client)
{
    const uint32_t dice = below(sim, 92);
    if (client->passed && chance(sim, 50)) {
        client_come_again(sim, client);
        return;
    }
    if (client->is_modern && chance(sim, 45) && retry_some(sim, client))
        return;
    if (client->is_modern && chance(sim, 8))
        (void)listen_open(sim, client, chance(sim, 50) ? 0 : below(sim, 1u << SERVERS));
    else if (dice < 55)
        call_some(sim, client);
    else if (dice < 66)
        ask_list(sim, client);
    else if (dice < 76)
        cancel_some(sim, client);
    else if (dice < 83)
        answer_ask(sim, client);
    else if (dice < 86)
        ask_ping(sim, client);
    else if (dice < 88)
        (chance(sim, 50) ? ask_batch : ask_too_much)(sim, client);
    else
        talk_nonsense(sim, client);
}
