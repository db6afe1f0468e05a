/* clients.c - clients: what they ask, what they take back, how they go, and what reaches them. */
#include <inttypes.h>
#include "sim.h"

/* ---- coming and going ---- */

static struct instance *door_for(struct sim *sim, const struct client *client)
{
    const uint32_t pick = below(sim, 10);
    if (sim->is_run)
        return sim->seats[client == &sim->clients[0] ? 0 : 1 + below(sim, SERVERS - 1)];
    return pick < SERVERS ? sim->seats[pick] : NULL;
}

void client_open(struct sim *sim, struct client *client)
{
    struct instance *only = door_for(sim, client);
    if (sim->is_run && (!only || only->removed))
        return; /* such a client comes with its server and goes with it */
    *client = (struct client) { .next_id = client->next_id + 1, .can_be_asked = chance(sim, 60) };
    client->only = only && !only->removed ? only : NULL;
    TRACE(sim, "client %d comes%s%s", (int)(client - sim->clients), client->only ? " to " : "",
          client->only ? seat_names[client->only->seat] : "");
    client->session = hf_session_open(sim->engine, client->only ? client->only->server : NULL,
                                      client, sim->now_ms);
}

static void drop_requests(struct sim *sim, struct client *client)
{
    for (unsigned i = 0; i < client->open_count; i++)
        sim->requests[client->open[i]].state = DROPPED;
    client->open_count = 0;
}

void client_close(struct sim *sim, struct client *client)
{
    struct hf_session *session = client->session;
    TRACE(sim, "client %d is gone", (int)(client - sim->clients));
    drop_requests(sim, client);
    client->session = NULL;
    if (sim->in_event) { /* its end of the pipe broke while we wrote to it */
        sim->lost_a_client = true;
        hf_session_close(session, sim->now_ms);
        return;
    }
    shell_begin(sim, NULL);
    hf_session_close(session, sim->now_ms);
    shell_end(sim);
}

/* ---- asking ---- */

static struct request *new_request(struct sim *sim, struct client *client, enum request_kind kind)
{
    if (sim->request_count == REQUESTS || client->open_count == OPEN_MAX)
        return NULL;
    const int number = sim->request_count++;
    struct request *r = &sim->requests[number];
    *r = (struct request) { .kind = kind,
                            .number = number,
                            .client = (int)(client - sim->clients),
                            .sent_ms = sim->now_ms };
    (void)snprintf(r->id, sizeof r->id, chance(sim, 80) ? "%d" : "\"i%d\"", ++client->next_id);
    if (!sim->is_calm && client->open_count && chance(sim, 3)) {
        struct request *twin = &sim->requests[client->open[below(sim, client->open_count)]];
        const bool greets = kind == ASK_INITIALIZE || twin->kind == ASK_INITIALIZE;
        if (!greets)
            memcpy(r->id, twin->id, sizeof r->id);
        r->shares_its_id |= !greets;
        twin->shares_its_id |= !greets;
    }
    client->open[client->open_count++] = number;
    return r;
}

static void send_text(struct sim *sim, struct client *client)
{
    const struct hf_span text = hf_buf_span(&sim->message);
    TRACE(sim, "client %d says %.*s", (int)(client - sim->clients),
          (int)(text.n < 300 ? text.n : 300), text.p);
    shell_begin(sim, NULL);
    hf_session_message(client->session, text, sim->now_ms);
    shell_end(sim);
}

static void begin_message(struct sim *sim, const struct request *r, const char *method)
{
    hf_buf_clear(&sim->message);
    hf_buf_printf(&sim->message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{",
                  r->id, method);
}

static void end_message(struct sim *sim, struct client *client)
{
    hf_buf_add_str(&sim->message, "}}");
    send_text(sim, client);
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
    if (chance(sim, 40))
        hf_buf_printf(&sim->message, ",\"progressToken\":%d", r->number);
    hf_buf_add_char(&sim->message, '}');
}

static void add_pad(struct sim *sim)
{
    const uint32_t n = chance(sim, 80) ? 0 : below(sim, PICK(sim, 300, 3000));
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
    "logging/setLevel", "x/unknown",
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
        (void)snprintf(given, sizeof given, "v%d", client->variant[target - sim->instances]);
        hf_buf_add_str(&sim->message, "\"name\":");
        add_name(sim, client, target,
                 r->kind == ASK_PUT     ? "put"
                 : r->kind == ASK_IDEM  ? "idem"
                 : r->kind == ASK_GIVEN ? given
                                        : "p");
        hf_buf_add_str(&sim->message, ",\"arguments\":{\"a\":1.50");
        add_pad(sim);
        hf_buf_add_str(&sim->message, "},");
        break;
    case ASK_COMPLETE:
        hf_buf_add_str(&sim->message, "\"ref\":{\"type\":\"ref/prompt\",\"name\":");
        add_name(sim, client, target, "p");
        hf_buf_add_str(&sim->message, "},");
        break;
    case ASK_LEVEL: hf_buf_add_str(&sim->message, "\"level\":\"info\","); break;
    case ASK_UNKNOWN: break;
    default:
        hf_buf_printf(&sim->message, "\"uri\":\"%s://%d/1\",", chance(sim, 80) ? "res" : "tpl",
                      target->seat);
        break;
    }
    add_meta(sim, r);
}

static bool is_repeatable(const struct request *r)
{
    switch (r->kind) {
    case ASK_PROMPT:
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
    const struct hf_slot *slot =
        server ? hf_slot_for(r->target->server, client->session, false) : NULL;
    if (!slot || r->kind > ASK_GIVEN || slot->machine.state != HF_SLOT_CONNECTED || slot->waiting ||
        slot->current->is_frozen || r->target->settings.stateful || sim->is_stopping)
        return false;
    const struct child *child = slot->current->shell;
    const uint32_t max = r->target->settings.max_in_flight;
    return !(max && slot->current->in_flight >= max) && hf_list_empty(&slot->current->out) &&
           child->readable_end - child->read_total + 8192 < child->capacity &&
           slot->server->parts[HF_PART_TOOLS] && r->knew_its_name &&
           sim->engine->held_bytes + 8192 < sim->limits.max_buffered_bytes;
}

struct request *client_call(struct sim *sim, struct client *client, enum request_kind kind,
                            struct instance *target)
{
    struct request *r = new_request(sim, client, kind);
    if (!r)
        return NULL;
    r->target = target;
    r->wait_ms = target->settings.wait_ms;
    r->call_timeout_ms = target->settings.call_timeout_ms;
    r->call_timeout_max_ms = target->settings.call_timeout_max_ms;
    r->repeatable = is_repeatable(r);
    r->knew_its_name = client->knows[target - sim->instances] && target->lists_tools;
    begin_message(sim, r, methods[kind]);
    add_params(sim, client, r);
    const bool at_once = must_go_at_once(sim, client, r);
    const unsigned before = sim->child_serial;
    sim->stats->calls++;
    end_message(sim, client);
    if (at_once && !sim->has_failed) {
        shell_flush(sim);
        if (r->sends != 1 && r->state == OPEN && before == sim->child_serial)
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
    begin_message(sim, r, hf_method(hf_part_traits(r->part)->list)->name);
    end_message(sim, client);
}

void client_greet(struct sim *sim, struct client *client)
{
    struct request *r = new_request(sim, client, ASK_INITIALIZE);
    if (!r)
        return;
    begin_message(sim, r, "initialize");
    hf_buf_printf(&sim->message, "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{%s}",
                  client->can_be_asked ? "\"sampling\":{},\"roots\":{},\"elicitation\":{}" : "");
    end_message(sim, client);
}

static void ask_ping(struct sim *sim, struct client *client)
{
    struct request *r = new_request(sim, client, ASK_PING);
    if (!r)
        return;
    begin_message(sim, r, "ping");
    end_message(sim, client);
    if (r->state == OPEN && client->session && !sim->has_failed)
        sim_broken(sim, PROMISE_P8, "a ping was not answered at once");
}

/* 2025-03-26 had batches; what is in one is answered one by one. */
static void ask_batch(struct sim *sim, struct client *client)
{
    const struct request *a = new_request(sim, client, ASK_PING);
    const struct request *b = a ? new_request(sim, client, ASK_PING) : NULL;
    hf_buf_clear(&sim->message);
    hf_buf_add_char(&sim->message, '[');
    for (const struct request *r = a; r; r = r == a ? b : NULL)
        hf_buf_printf(&sim->message, "%s{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}",
                      r == a ? "" : ",", r->id);
    hf_buf_add_char(&sim->message, ']');
    send_text(sim, client);
}

/* What is too long is not kept: only its id is, and that is answered. */
static void ask_too_much(struct sim *sim, struct client *client)
{
    const struct request *r = new_request(sim, client, ASK_PING);
    struct hf_json_skim skim;
    if (!r)
        return;
    hf_buf_clear(&sim->message);
    hf_buf_printf(&sim->message, "{\"method\":\"tools/call\",\"params\":{\"id\":1},\"id\":%s}",
                  r->id);
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_buf_span(&sim->message));
    TRACE(sim, "client %d says far too much, id %s", r->client, r->id);
    shell_begin(sim, NULL);
    hf_session_message_over(client->session, &skim, sim->now_ms);
    shell_end(sim);
    if (r->state == OPEN && client->session && !sim->has_failed)
        sim_broken(sim, PROMISE_P12, "a message over the limit was not answered at once");
}

/* ---- taking back, answering, nonsense ---- */

static void take_out(struct sim *sim, struct client *client, const struct request *r)
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
    const bool ends =
        r->state == OPEN && r->kind != ASK_INITIALIZE && count_of_id(sim, client, r->id) == 1;
    hf_buf_clear(&sim->message);
    hf_buf_printf(&sim->message,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":%s,\"reason\":\"enough\"}}",
                  r->id);
    if (ends) {
        r->state = CANCELLED;
        take_out(sim, client, r);
    }
    send_text(sim, client);
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
    if (client->ask_count == 0)
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
    send_text(sim, client);
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
    hf_buf_clear(&sim->message);
    hf_buf_add_str(&sim->message, nonsense[i].text);
    client->null_answers += nonsense[i].answers;
    send_text(sim, client);
}

static void call_some(struct sim *sim, struct client *client)
{
    struct instance *target = client->only ? client->only : sim->seats[below(sim, SERVERS)];
    enum request_kind kind = chance(sim, 75) ? ASK_PUT : ASK_IDEM;
    if (chance(sim, 40))
        kind = (enum request_kind)(ASK_PROMPT + below(sim, ASK_UNKNOWN - ASK_PROMPT + 1));
    if (!target)
        return;
    const size_t i = (size_t)(target - sim->instances);
    if (chance(sim, 10) && client->knows[i] && client->variant[i] >= 0)
        kind = ASK_GIVEN;
    (void)client_call(sim, client, kind, target);
}

static void finish(struct sim *sim, struct client *client)
{
    TRACE(sim, "client %d finishes", (int)(client - sim->clients));
    client->is_finished = true;
    shell_begin(sim, NULL);
    hf_session_finish(client->session, sim->now_ms);
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
    if (dice < 55)
        call_some(sim, client);
    else if (dice < 68)
        ask_list(sim, client);
    else if (dice < 78)
        cancel_some(sim, client);
    else if (dice < 86)
        answer_ask(sim, client);
    else if (dice < 89)
        ask_ping(sim, client);
    else if (dice < 90)
        (chance(sim, 50) ? ask_batch : ask_too_much)(sim, client);
    else if (dice < 94)
        talk_nonsense(sim, client);
    else if (dice < 96)
        client_greet(sim, client);
    else if (dice < 98)
        client_close(sim, client);
    else
        finish(sim, client);
}

/* ---- getting ---- */

static struct request *request_for(struct sim *sim, const struct client *client,
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
        if (hf_span_is(msg->id, r->id) && (!found || fits))
            found = r;
    }
    return found;
}

static void got_answer(struct sim *sim, struct client *client, const struct hf_msg *msg)
{
    if (!msg->id.p || hf_span_is(msg->id, "null")) {
        if (client->null_answers == 0)
            sim_broken(sim, PROMISE_P1, "an answer that belongs to nothing");
        else
            client->null_answers--;
        return;
    }
    struct request *r = request_for(sim, client, msg);
    if (!r) {
        sim_broken(sim, PROMISE_P1, "an answer to id %.*s, which is not open", HF_FMT(msg->id));
        return;
    }
    r->state = ANSWERED;
    take_out(sim, client, r);
    if (!r->shares_its_id) /* else nobody can say which of the two this is about */
        judge_answer(sim, r, msg);
}

static void got_progress(struct sim *sim, const struct client *client, const struct hf_msg *msg)
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
    r->progress = value;
}

static void got_log(struct sim *sim, const struct hf_msg *msg)
{
    int64_t from = 0;
    if (!hf_json_int(hf_json_get(msg->params, HF_SPAN("data")), &from))
        sim_broken(sim, PROMISE_INNER, "a log message was changed on its way");
    for (unsigned i = 0; i < sim->child_top; i++) {
        const struct child *child = &sim->children[i];
        const struct hf_runtime *runtime = child->in_use ? child->runtime : NULL;
        if (child->serial == (unsigned)from && runtime && runtime != runtime->slot->current &&
            runtime != runtime->slot->attempt)
            sim_broken(sim, PROMISE_P5, "a client hears the log of an old generation");
    }
}

static void got_news(struct sim *sim, struct client *client, const struct hf_msg *msg)
{
    switch (hf_method_find(msg->method)->id) {
    case HF_METHOD_PROGRESS: got_progress(sim, client, msg); break;
    case HF_METHOD_MESSAGE: got_log(sim, msg); break;
    case HF_METHOD_TOOLS_CHANGED: client->news[HF_PART_TOOLS]++; break;
    case HF_METHOD_PROMPTS_CHANGED: client->news[HF_PART_PROMPTS]++; break;
    case HF_METHOD_RESOURCES_CHANGED: client->news[HF_PART_RESOURCES]++; break;
    default: break;
    }
}

static void got_ask(struct sim *sim, struct client *client, const struct hf_msg *msg)
{
    int64_t id;
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
    hf_buf_clear(&sim->got);
    for (unsigned i = 0; i < effect->piece_count; i++)
        hf_buf_add(&sim->got, effect->pieces[i]);
    const struct hf_span text = hf_buf_span(&sim->got);
    TRACE(sim, "    client %d gets %.*s", (int)(client - sim->clients),
          (int)(text.n < 400 ? text.n : 400), text.p);
    if (hf_msg_parse(text, 64, &msg, &err) != HF_MSG_OK) {
        sim_broken(sim, PROMISE_INNER, "a client was sent what is no message: %s", err.text);
        return;
    }
    switch (msg.kind) {
    case HF_MSG_REQUEST: got_ask(sim, client, &msg); break;
    case HF_MSG_NOTIFICATION: got_news(sim, client, &msg); break;
    case HF_MSG_RESULT:
    case HF_MSG_ERROR: got_answer(sim, client, &msg); break;
    }
}
