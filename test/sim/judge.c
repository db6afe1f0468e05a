/* judge.c - what a client is told, held against what the world knows. */
#include "sim.h"

static void count_code(struct sim *sim, int32_t code)
{
    struct stats *stats = sim->stats;
    for (size_t i = 0; i < CODES; i++) {
        if (stats->code_count[i] && stats->code[i] != code)
            continue;
        stats->code[i] = code;
        stats->code_count[i]++;
        return;
    }
}

static bool has_key(const struct request *r)
{
    return r->kind <= ASK_UNKNOWN;
}

/* ---- results ---- */

uint64_t hash_of(struct hf_span text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(1099511628211);
    return hash ? hash : 1;
}

/* Where the name `own` of that server, or one that begins so, stands in a list; NULL: nowhere. */
static const char *find_name(const struct client *client, const struct instance *instance,
                             const char *own, struct hf_span result)
{
    char name[40];
    const bool plain = client->only || instance->settings.prefix == HF_PREFIX_NEVER;
    const int n = snprintf(name, sizeof name, "\"name\":\"%s%s%s",
                           plain ? "" : seat_names[instance->seat], plain ? "" : "__", own);
    const char *at = memmem(result.p, result.n, name, (size_t)n);
    return at ? at + n : NULL;
}

static void judge_list(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    struct client *client = &sim->clients[r->client];
    const uint64_t hash = hash_of(hf_json_get(msg->result, hf_part_traits(r->part)->member));
    if (client->given[r->part] && client->given[r->part] != hash && !client->told[r->part] &&
        !sim->is_stopping &&
        !client->news[r->part == HF_PART_TEMPLATES ? HF_PART_RESOURCES : r->part])
        sim_broken(sim, PROMISE_P7, "list %d changed and nobody was told", (int)r->part);
    if (client->session->has_greeted) /* one whose initialize is not answered hears no news */
        client->given[r->part] = hash;
    client->told[r->part] = false;
    if (r->part != HF_PART_TOOLS)
        return;
    for (unsigned i = 0; i < sim->instance_count; i++) {
        struct instance *instance = &sim->instances[i];
        const struct hf_server *server = instance->server;
        if (!server || instance->removed || (client->only && client->only != instance))
            continue;
        const char *variant = find_name(client, instance, "v", msg->result);
        client->variant[i] = variant ? atoi(variant) : -1;
        client->knows[i] = find_name(client, instance, "put\"", msg->result) != NULL;
        const bool known = server->parts[HF_PART_TOOLS] && server->parts[HF_PART_TOOLS]->count;
        const bool was_offered = instance->seen.is_published; /* before this event */
        const bool may = policy_allows(client, instance, "put");
        if (!policy_allows(client, instance, "idem") &&
            find_name(client, instance, "idem\"", msg->result))
            sim_broken(sim, PROMISE_P6, "client %d is shown what it may not use", r->client);
        if (client->knows[i] != (known && may && server->is_published) &&
            was_offered == server->is_published && instance->lists_tools &&
            !hf_json_get(msg->result, HF_SPAN("nextCursor")).p && !sim->is_stopping)
            sim_broken(sim, PROMISE_P7, "the tools of %s are %s the list", server->name,
                       known ? "missing in" : "wrongly in");
    }
}

/* What modern servers have no more, we answer in their stead. */
static bool is_answered_for_it(const struct request *r)
{
    const struct instance *target = r->target;
    return (r->kind == ASK_SUBSCRIBE || r->kind == ASK_UNSUBSCRIBE || r->kind == ASK_LEVEL) &&
           (target->speaks != SPEAKS_LEGACY || target->may_be_upgraded || request_goes_by_uri(r));
}

static void judge_result(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    int64_t key = -1, from = 0;
    if (r->kind == ASK_LIST)
        judge_list(sim, r, msg);
    if (r->kind == ASK_INITIALIZE) /* before it there was no news for this client */
        memset(sim->clients[r->client].given, 0, sizeof sim->clients[r->client].given);
    /* what concerns all servers, or was done for another client already, we answer ourselves */
    const bool ours = (r->kind == ASK_LEVEL && !sim->clients[r->client].only) ||
                      (r->kind == ASK_UNSUBSCRIBE && r->sends == 0) ||
                      (!hf_json_get(msg->result, HF_SPAN("_k")).p && is_answered_for_it(r));
    if (!has_key(r) || ours)
        return;
    if (!hf_json_int(hf_json_get(msg->result, HF_SPAN("_k")), &key) || key != r->number)
        sim_broken(sim, PROMISE_P3, "request %d got the answer of %d", r->number, (int)key);
    if (!hf_json_int(hf_json_get(msg->result, HF_SPAN("from")), &from) ||
        (unsigned)from != r->holder_serial)
        sim_broken(sim, PROMISE_P5, "request %d was with child %u, and child %d answered it",
                   r->number, r->holder_serial, (int)from);
    if (r->effects == 0)
        sim_broken(sim, PROMISE_P3, "request %d succeeded and never ran", r->number);
    if (r->effects > 1 && !r->repeatable)
        sim_broken(sim, PROMISE_P2, "request %d succeeded and ran %u times", r->number, r->effects);
    if (hf_json_get(msg->result, HF_SPAN("task")).p) {
        sim->clients[r->client].task = r->number;
        sim->clients[r->client].task_of = r->sent_to;
    }
    const struct child *holder = r->holder;
    sim->stats->answers_after_death +=
        holder && holder->serial == r->holder_serial && holder->life == DEAD;
}

/* ---- errors of ours ---- */

struct told {
    int64_t code, retry_after_ms;
    bool dispatched, retry_safe;
    struct hf_span reason, data;
};

static bool reason_is(const struct told *told, const char *reason)
{
    return hf_json_string_is(told->reason, hf_span_of(reason));
}

/* A clock of the call itself, or its client, ended it; the server's fate did not. */
static bool ended_by_clock(const struct told *told)
{
    return reason_is(told, "timeout") || reason_is(told, "wait_over") ||
           reason_is(told, "client_finished") || reason_is(told, "session_ended") ||
           reason_is(told, "client_gone");
}

static uint64_t least_deadline(const struct request *r)
{
    const uint64_t by = r->sent_ms + r->wait_ms;
    const uint64_t end = r->sent_ms + r->call_timeout_ms;
    return r->call_timeout_ms && end < by ? end : by;
}

/* It may not be sent again, because it was sent as often as it may. */
static void judge_last_send(struct sim *sim, const struct request *r)
{
    const unsigned sends = r->sends - r->nothings;
    const bool was_taken = r->byte_taken || r->steal_failed;
    if (sends < HF_SENDS_MAX && !(was_taken && sends >= HF_SENDS_MAX_ONCE_TAKEN))
        sim_broken(sim, PROMISE_P3, "request %d was given up after %u sends", r->number, sends);
}

static void judge_undispatched(struct sim *sim, struct request *r, const struct told *told)
{
    /* a read that the last server did not have goes on to the next, which never saw it */
    const struct hf_span server = hf_json_get(told->data, HF_SPAN("server"));
    const bool moved = r->kind == ASK_READ && r->sent_to &&
                       (r->sent_to->removed ||
                        !hf_json_string_is(server, hf_span_of(seat_names[r->sent_to->seat])));
    if (moved)
        return;
    r->said_undispatched = true;
    if (r->whole_reads > 0 || r->rounds > r->comes_with || r->effects > 0)
        sim_broken(sim, PROMISE_P3,
                   "request %d was read whole, and its client hears it never was "
                   "sent (%lld, reason %.*s)",
                   r->number, (long long)told->code, HF_FMT(told->reason));
    if (reason_is(told, "refused_again") || reason_is(told, "server_dies_on_it"))
        judge_last_send(sim, r);
    if (reason_is(told, "client_gone") && !(r->via && sim->vias[r->via].gone_ms))
        sim_broken(sim, PROMISE_P3, "request %d was dropped for a client that is there", r->number);
    if (told->code != -31001 || request_goes_by_uri(r) || r->clocks_changed)
        return;
    if (reason_is(told, "wait_over") && sim->now_ms < r->sent_ms + r->wait_ms)
        sim_broken(sim, PROMISE_P10, "request %d did not get its whole wait", r->number);
    if (reason_is(told, "timeout") && sim->now_ms < least_deadline(r))
        sim_broken(sim, PROMISE_P10, "request %d timed out too early", r->number);
    const bool in_vain = !reason_is(told, "wait_over") && !reason_is(told, "timeout") &&
                         !reason_is(told, "shutting_down") && !reason_is(told, "session_ended") &&
                         !reason_is(told, "server_dies_on_it") &&
                         !reason_is(told, "refused_again") && !reason_is(told, "client_gone") &&
                         !reason_is(told, "record_refused") && !reason_is(told, "record_down") &&
                         !reason_is(told, "record_late");
    if (in_vain && told->retry_after_ms < 0)
        sim_broken(sim, PROMISE_P10, "request %d was turned away without a time to retry",
                   r->number);
    if (in_vain && sim->now_ms + (uint64_t)told->retry_after_ms <= least_deadline(r))
        sim_broken(sim, PROMISE_P10,
                   "request %d was turned away although the next attempt (in %lld ms) is in time",
                   r->number, (long long)told->retry_after_ms);
}

static void judge_dispatched(struct sim *sim, struct request *r, const struct told *told)
{
    int64_t generation = 0;
    const bool was_asked = r->rounds > 0; /* it was sent, whatever became of the answers */
    sim->stats->unknowns++;
    if (r->sends == 0)
        sim_broken(sim, PROMISE_P3, "request %d never left, and its client hears it may have run",
                   r->number);
    if (reason_is(told, "wait_over") && r->is_written && !r->repeatable && !was_asked &&
        !r->was_parked && !sim->is_seamed) /* else the rest may have been written since */
        sim_broken(sim, PROMISE_P10, "waitMs ended request %d although it was sent", r->number);
    if (!r->repeatable && !(was_asked && r->whole_reads == 0) &&
        (!hf_json_int(hf_json_get(told->data, HF_SPAN("generation")), &generation) ||
         (uint64_t)generation != r->generation))
        sim_broken(sim, PROMISE_P3, "request %d was with generation %d, and its client hears %d",
                   r->number, (int)r->generation, (int)generation);
    const struct via *via = &sim->vias[r->via];
    const bool was_waiting = via->gone_ms == sim->now_ms; /* and had been sent before */
    if (reason_is(told, "client_gone") && r->sent_to && !r->clocks_changed && !was_waiting &&
        (!via->gone_ms || sim->now_ms < via->gone_ms + r->sent_to->settings.gone_ms))
        sim_broken(sim, PROMISE_P2, "request %d made room for others, and its client is there",
                   r->number);
    if (ended_by_clock(told))
        return;
    const bool no_time = r->sent_to && (!r->sent_to->settings.eof_ms || r->sent_to->was_changed);
    if (r->answered_by && r->answered_by == r->holder_serial && !no_time && r->rounds == r->round)
        sim_broken(sim, PROMISE_P4, "request %d was answered, and its client hears reason %.*s",
                   r->number, HF_FMT(told->reason));
    /* what its server asked about is never sent again, and so nobody looks whether it read it */
    if (r->whole_reads == 0 && !r->steal_failed && !r->may_have_arrived && !was_asked &&
        !r->was_parked)
        sim_broken(sim, PROMISE_P3,
                   "request %d was never read whole, and its client hears it may "
                   "have run (reason %.*s)",
                   r->number, HF_FMT(told->reason));
}

static void judge_state(struct sim *sim, const struct request *r, const struct told *told)
{
    const struct instance *target = r->target;
    const struct hf_span server = hf_json_get(told->data, HF_SPAN("server"));
    if (request_goes_by_uri(r) || target->removed || r->is_forbidden)
        return;
    if (server.p && !hf_json_string_is(server, hf_span_of(seat_names[target->seat])))
        sim_broken(sim, PROMISE_P6, "request %d was for %s and went to %.*s", r->number,
                   seat_names[target->seat], HF_FMT(server));
    if (told->code == -31003 && !sim->is_seamed && target->wanted && !target->removed &&
        !target->off_by_ms)
        sim_broken(sim, PROMISE_P3, "request %d hears that its server is off; it is on", r->number);
    if (told->code == -31010 && !target->settings.stateful && !r->clocks_changed)
        sim_broken(sim, PROMISE_P3, "request %d lost the state of a stateless server", r->number);
}

static void judge_ours(struct sim *sim, struct request *r, struct told *told)
{
    const struct hf_span dispatched = hf_json_get(told->data, HF_SPAN("dispatched"));
    const struct hf_span retry_safe = hf_json_get(told->data, HF_SPAN("retrySafe"));
    told->dispatched = hf_json_is_true(dispatched);
    told->retry_safe = hf_json_is_true(retry_safe);
    told->reason = hf_json_get(told->data, HF_SPAN("reason"));
    if (!hf_json_int(hf_json_get(told->data, HF_SPAN("retryAfterMs")), &told->retry_after_ms))
        told->retry_after_ms = -1;
    if (!dispatched.p || !retry_safe.p || told->dispatched == told->retry_safe)
        sim_broken(sim, PROMISE_P3, "request %d: retrySafe is not the opposite of dispatched",
                   r->number);
    const bool evidence_says =
        hf_json_string_is(hf_json_get(told->data, HF_SPAN("evidence")), HF_SPAN("dispatched"));
    if (evidence_says != told->dispatched)
        sim_broken(sim, PROMISE_P3, "request %d: evidence and dispatched do not agree", r->number);
    /* the servers that are left may be such that the client may not ask for the resource there */
    const bool is_elsewhere =
        r->target && r->target->removed &&
        (r->kind == ASK_READ || r->kind == ASK_SUBSCRIBE || r->kind == ASK_UNSUBSCRIBE);
    if (told->code == -31007 && has_key(r) && !r->is_forbidden && !is_elsewhere)
        sim_broken(sim, PROMISE_P3, "request %d is denied, and its client may", r->number);
    /* the name of a server that is gone, or hidden, may be one of a server without a prefix */
    if (!has_key(r) || ((r->target->removed || r->is_forbidden) && !told->dispatched))
        return;
    if (told->dispatched)
        judge_dispatched(sim, r, told);
    else
        judge_undispatched(sim, r, told);
    judge_state(sim, r, told);
}

/* What a client of a tool is told in the place of an error, or p NULL. */
struct hf_span outcome_in(const struct hf_msg *msg)
{
    return hf_json_path(msg->result, 2,
                        (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_OUTCOME) });
}

static void judge_error(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    const struct hf_span outcome = outcome_in(msg);
    struct told told = { .data = outcome.p ? outcome : hf_json_get(msg->error, HF_SPAN("data")) };
    if (!hf_json_int(hf_json_get(outcome.p ? outcome : msg->error, HF_SPAN("code")), &told.code))
        sim_broken(sim, PROMISE_P3, "request %d failed without a code", r->number);
    const bool is_ours = told.code <= -31001 && told.code >= -31011;
    if (is_ours && r->kind <= ASK_GIVEN && !outcome.p)
        sim_broken(sim, PROMISE_P2, "request %d gets an error, which invites it to come again",
                   r->number);
    count_code(sim, (int32_t)told.code);
    if (told.code <= -31001 && told.code >= -31010)
        judge_ours(sim, r, &told);
    if (told.code == -32602 && r->kind == ASK_TASK && !r->target->removed && !r->is_forbidden)
        sim_broken(sim, PROMISE_P6, "request %d: nobody knows who made the task any more",
                   r->number);
    if (told.code == -32602 && r->knew_its_name && !r->target->removed && r->kind <= ASK_GIVEN)
        sim_broken(sim, PROMISE_P6, "request %d: a name that was given is not known any more",
                   r->number);
}

void judge_answer(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    if (!r->is_modern || !modern_judge(sim, r, msg))
        judge_call(sim, r, msg);
}

void judge_call(struct sim *sim, struct request *r, const struct hf_msg *msg)
{
    if (msg->kind == HF_MSG_ERROR || outcome_in(msg).p) {
        judge_error(sim, r, msg);
        return;
    }
    count_code(sim, 0);
    judge_result(sim, r, msg);
}
