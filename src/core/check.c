/* check.c - see check.h. */
#include "core/check.h"
#include <stdarg.h>
#include <stdio.h>
#include "core/bridge/legacy_input.h"
#include "core/bridge/park.h"
#include "core/call/queue.h"
#include "core/client/audience.h"
#include "core/machine/slot.h"
#include "core/remote/exchange.h"
#include "core/remote/refusal.h"
#include "core/remote/remote.h"
#include "core/server/server_request.h"
#include "core/settings.h"
#include "core/state/engine_state.h"
#include "core/state/party.h"
#include "core/state/server.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"

/* With more parties than this, what each of them holds is not looked at. */
enum { PARTIES_MAX = 64 };

struct check {
    const struct hf_engine *engine;
    hf_broken_hook hook;
    void *context;
    /* What walking the engine finds, to be compared with its counters. */
    size_t timers, calls, held, gone;
    uint64_t shared[HF_SHARED_COUNT];
    struct held_by {
        const struct hf_client_party *party;
        uint64_t shared[HF_SHARED_COUNT];
    } parties[PARTIES_MAX];
    size_t party_count;
};

static void HF_PRINTF(3, 4) broken(const struct check *c, unsigned promise, const char *format, ...)
{
    char sentence[200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    c->hook(c->context, promise, sentence);
}

/* ---- shares ---- */

static struct held_by *party_in(struct check *c, const struct hf_client_party *party)
{
    for (size_t i = 0; i < c->party_count && i < PARTIES_MAX; i++)
        if (c->parties[i].party == party)
            return &c->parties[i];
    if (c->party_count++ >= PARTIES_MAX)
        return NULL;
    struct held_by *by = &c->parties[c->party_count - 1];
    *by = (struct held_by) { .party = party };
    return by;
}

/* `party` and those that it is in hold this much. */
static void count(struct check *c, const struct hf_client_party *party, enum hf_shared what,
                  uint64_t amount)
{
    c->shared[what] += amount;
    for (; party; party = party->within) {
        struct held_by *by = party_in(c, party);
        if (by)
            by->shared[what] += amount;
    }
}

static void check_shares(const struct check *c)
{
    for (enum hf_shared what = HF_SHARED_NONE + 1; what < HF_SHARED_COUNT; what++) {
        const char *name = hf_shared_name(what);
        const uint64_t used = c->engine->bounds[what].used;
        if (used != c->shared[what])
            broken(c, 12, "of %s %llu are counted, and %llu are held", name,
                   (unsigned long long)used, (unsigned long long)c->shared[what]);
        for (size_t i = 0; c->party_count <= PARTIES_MAX && i < c->party_count; i++)
            if (c->parties[i].party->shares[what].used != c->parties[i].shared[what])
                broken(c, 8, "a party is counted for %llu of %s, and holds %llu",
                       (unsigned long long)c->parties[i].party->shares[what].used, name,
                       (unsigned long long)c->parties[i].shared[what]);
    }
}

/* ---- calls, runtimes, exchanges ---- */

static size_t armed(const struct hf_timer *timer)
{
    return timer->at_ms != 0;
}

/* Whether a client that still speaks was asked what a modern server wants to know for the call. */
static bool is_asked(const struct hf_call *call)
{
    const struct hf_question *question;
    HF_LIST_EACH (question, &call->session->questions, struct hf_question, link) {
        if (question->call == call)
            return !call->session->is_finished && hf_slot_is_offered(call->slot->machine.state);
    }
    return false;
}

static void check_call_table(struct check *c)
{
    const struct hf_engine *engine = c->engine;
    for (uint32_t i = 0, left = engine->call_count; left && i < engine->call_cap; i++) {
        const struct hf_call *call = engine->calls[i];
        if (!call)
            continue;
        left--;
        c->calls++;
        c->timers += armed(&call->timer);
        count(c, call->party, HF_SHARED_CALLS, call->party != NULL);
        count(c, call->party, HF_SHARED_HELD, call->held);
        const bool is_gone = hf_call_detour(call)->gone_ms != 0;
        c->gone += is_gone;
        if (is_gone != (call->detour && hf_linked(&call->detour->in_gone)))
            broken(c, 0, "a call whose client is gone is not in its party's list of them");
        if (call->stage == HF_CALL_ENDED ? call->held > 0 : call->held < call->text_length)
            broken(c, 12, "what a call holds is not what is counted for it");
        c->held += call->stage == HF_CALL_HELD;
        if (call->stage == HF_CALL_ASKING && !hf_call_park(call) && !is_asked(call))
            broken(c, 1, "a call waits for answers that nobody was asked for");
        const bool is_open = call->session && call->stage != HF_CALL_ENDED;
        if (is_open && !hf_linked(&call->in_session) && !hf_call_park(call))
            broken(c, 1, "a call has no client side, and nobody can come for it");
        if (call->stage == HF_CALL_ENDED && call->timer.at_ms)
            broken(c, 0, "a call that ended still has a timer");
    }
    if (c->calls != engine->call_count || c->held != engine->held_count)
        broken(c, 0, "calls in the table and their counts differ");
    if (c->gone != engine->gone_count)
        broken(c, 0, "%u calls are counted whose clients are gone, of %zu", engine->gone_count,
               c->gone);
}

static void check_exchanges(struct check *c, const struct hf_runtime *runtime)
{
    size_t told = 0, notes = 0;
    const struct hf_remote_exchange *exchange;
    HF_LIST_EACH (exchange, &runtime->remote->exchanges, struct hf_remote_exchange, link) {
        c->timers += armed(&exchange->timer);
        told += exchange->owned_length;
        if (!exchange->is_begun && !exchange->timer.at_ms)
            broken(c, 1, "an exchange is neither under way nor to be resumed");
        const bool is_note = exchange->kind == HF_EXCHANGE_MESSAGE && !exchange->call;
        notes += exchange->owned != NULL;
        if (is_note && !exchange->timer.at_ms && exchange != runtime->remote->initialized)
            broken(c, 12, "nothing bounds how long a message may take");
        if (exchange->call &&
            (exchange->call->exchange != exchange || exchange->call->runtime != runtime))
            broken(c, 0, "an exchange has a call that is elsewhere");
    }
    if (told != runtime->unsent_bytes || notes != runtime->unsent_count)
        broken(c, 12, "told_bytes is %zu, and exchanges hold %zu", runtime->unsent_bytes, told);
    const bool is_starting =
        runtime->machine.state > HF_RUNTIME_SPAWNING && runtime->machine.state < HF_RUNTIME_LIVE;
    /* a runtime that was replaced needs no session: its calls may wait for the next runtime's */
    const bool renews = hf_runtime_is_renewing(runtime) && runtime == runtime->slot->current;
    if ((is_starting || renews) && !runtime->is_frozen &&
        !runtime->client.at_ms && /* the client has not sent `initialized` */
        hf_list_empty(&runtime->remote->exchanges))
        broken(c, 8, "a remote server is being greeted, and nothing is under way");
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        const struct hf_remote *remote = runtime->remote;
        const bool is_awaited =
            call->exchange || hf_call_refusal(call) || runtime->is_older_transport;
        if (hf_call_refusal(call) && !hf_call_refusal(call)->waits && !remote->known.call &&
            !remote->stranger.call)
            broken(c, 1, "a call waits for the end of a doubt that is over");
        if (!is_awaited && !runtime->is_frozen)
            broken(c, 1, "a call waits for an exchange that is over");
    }
}

static void check_runtime(struct check *c, const struct hf_runtime *runtime)
{
    const struct hf_settings *settings = &runtime->server->settings;
    const enum hf_runtime_state state = runtime->machine.state;
    uint32_t of_clients = 0;
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        of_clients += call->session != NULL;
        if (call->runtime != runtime || call->stage < HF_CALL_QUEUED ||
            call->stage == HF_CALL_ENDED)
            broken(c, 0, "a call is in a runtime that it is not of");
    }
    c->timers += armed(&runtime->stay) + armed(&runtime->start) + armed(&runtime->eof) +
                 armed(&runtime->check) + armed(&runtime->stall) + armed(&runtime->probe) +
                 armed(&runtime->hold) + (runtime->upstream && armed(&runtime->upstream->timer)) +
                 armed(&runtime->client);
    const struct hf_server_request *request;
    HF_LIST_EACH (request, &runtime->server_requests, struct hf_server_request, in_runtime) {
        c->timers += armed(&request->timer);
        if (!request->park && !armed(&request->timer) && !runtime->slot->owner)
            broken(c, 8, "nothing bounds how long a client may be asked");
    }
    if (runtime->remote) {
        c->timers += armed(&runtime->remote->listen_again);
        check_exchanges(c, runtime);
    }
    if (runtime->holds & HF_HOLD_CORRECTION && runtime == runtime->slot->current &&
        !runtime->listing[HF_PART_TOOLS].building)
        broken(c, 8, "its tools are not listed again, and calls wait for it");
    if (state == HF_RUNTIME_DRAINING && runtime->in_flight == 0)
        broken(c, 9, "a runtime drains, and nothing is in flight");
    if (of_clients != runtime->in_flight)
        broken(c, 0, "in_flight is %u, and there are %u", runtime->in_flight, of_clients);
    if (settings->max_in_flight && runtime->in_flight > settings->max_in_flight &&
        !runtime->server->was_changed)
        broken(c, 12, "more calls in flight than max_in_flight");
    if (runtime->is_silent && runtime->taken_back >= 0 && !runtime->is_loss_pending &&
        !hf_list_empty(&runtime->calls))
        broken(c, 1, "a runtime that cannot answer any more has calls");
    if (state >= HF_RUNTIME_DRAINING && !runtime->stay.at_ms && !runtime->eof.at_ms)
        broken(c, 9, "nothing bounds the stay of a runtime that is %s",
               hf_runtime_state_name(state));
    if (runtime->is_loss_pending && !runtime->eof.at_ms)
        broken(c, 1, "nothing bounds how long a loss may wait for its exit");
    if (state < HF_RUNTIME_LIVE && !runtime->start.at_ms && !runtime->client.at_ms &&
        !runtime->server->is_clients_own)
        broken(c, 8, "nothing bounds the start of a runtime");
    if (!runtime->is_frozen && !hf_list_empty(&runtime->out) && !runtime->stall.at_ms)
        broken(c, 12, "nothing bounds how long a pipe may take no byte");
}

/* ---- slots ---- */

static uint32_t count_waiting(struct check *c, const struct hf_slot *slot)
{
    uint32_t count = 0, resting = 0;
    const bool is_stuck = slot->machine.state == HF_SLOT_RECONNECTING && !hf_slot_has_attempt(slot);
    const struct hf_turn *turn;
    HF_LIST_EACH (turn, &slot->turns, struct hf_turn, link) {
        const struct hf_call *call;
        if (hf_list_empty(&turn->calls) || hf_slot_turn_of(slot, turn->session) != turn)
            broken(c, 0, "a client's turn is empty, or would not be found");
        HF_LIST_EACH (call, &turn->calls, struct hf_call, link) {
            uint64_t until = call->wait_until_ms;
            if (call->end_by_ms && call->end_by_ms < until)
                until = call->end_by_ms;
            if (call->stage != HF_CALL_WAITING || call->slot != slot || !call->timer.at_ms)
                broken(c, 0, "a call in a queue does not wait, or for ever");
            if (is_stuck && slot->due.at_ms > until && !slot->extra.at_ms &&
                !slot->server->was_changed)
                broken(c, 10, "a call waits for an attempt that comes too late");
            const struct hf_detour *detour = hf_call_detour(call);
            if (detour->is_resting && call->timer.at_ms > detour->rest_until_ms)
                broken(c, 10, "a call rests for longer than it was told to");
            resting += detour->is_resting;
            count++;
        }
    }
    if (resting != slot->resting)
        broken(c, 0, "resting is not the number of those that rest");
    return count;
}

static void check_waiting(struct check *c, const struct hf_slot *slot)
{
    const struct hf_settings *settings = &slot->server->settings;
    if (count_waiting(c, slot) != slot->waiting)
        broken(c, 0, "waiting is not the length of the queue");
    if (slot->waiting > settings->max_waiting && !slot->server->was_changed)
        broken(c, 12, "more calls wait than max_waiting");
    if (slot->waiting == 0)
        return;
    switch (slot->machine.state) {
    case HF_SLOT_CONNECTING:
    case HF_SLOT_RECONNECTING: break;
    case HF_SLOT_CONNECTED:
        if (!slot->current->is_loss_pending && !slot->current->holds &&
            slot->waiting > slot->resting &&
            (!settings->max_in_flight || slot->current->in_flight < settings->max_in_flight))
            broken(c, 8, "a call waits although its server has room for it");
        break;
    default:
        broken(c, 10, "calls wait for a server that is %s",
               hf_slot_state_name(slot->machine.state));
    }
}

static void check_slot_state(struct check *c, const struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    const enum hf_slot_state state = slot->machine.state;
    const bool has_attempt = hf_slot_has_attempt(slot);
    if ((state == HF_SLOT_CONNECTED) != (slot->current != NULL))
        broken(c, 0, "%s with%s a current runtime", hf_slot_state_name(state),
               slot->current ? "" : "out");
    if (slot->current && slot->current->machine.state != HF_RUNTIME_LIVE &&
        !slot->current->is_loss_pending)
        broken(c, 0, "the current runtime is %s",
               hf_runtime_state_name(slot->current->machine.state));
    if (slot->attempt && slot->attempt->machine.state >= HF_RUNTIME_LIVE &&
        !slot->attempt->is_loss_pending)
        broken(c, 0, "the attempt is %s", hf_runtime_state_name(slot->attempt->machine.state));
    if (slot->attempt_waits && hf_list_empty(&slot->runtimes))
        broken(c, 10, "an attempt waits for nothing");
    const bool stands = (state == HF_SLOT_CONNECTING && !has_attempt) ||
                        (state == HF_SLOT_RECONNECTING && !has_attempt && !slot->due.at_ms);
    if (stands)
        broken(c, 10, "%s, and nothing is going to happen", hf_slot_state_name(state));
    if (state == HF_SLOT_PERMANENTLY_FAILED && server->settings.reconnect.probe_ms &&
        (!server->problem || server->problem_may_pass) && !server->cannot_start && !has_attempt &&
        !slot->due.at_ms && !server->was_changed)
        broken(c, 10, "given up, and no probe will come");
    const bool is_off = state == HF_SLOT_DISABLED || state == HF_SLOT_DISABLING;
    if (is_off && (has_attempt || slot->due.at_ms))
        broken(c, 9, "an attempt is planned for a server that is %s", hf_slot_state_name(state));
    if (!server->wanted && !is_off && state != HF_SLOT_NEW)
        broken(c, 9, "%s although it was switched off", hf_slot_state_name(state));
}

static void check_slot(struct check *c, const struct hf_slot *slot)
{
    unsigned count = 0;
    c->timers +=
        armed(&slot->due) + armed(&slot->idle) + armed(&slot->relist) + armed(&slot->extra);
    const struct hf_runtime *runtime;
    HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
        count += !runtime->remote;
        check_runtime(c, runtime);
    }
    if (count > 1 && !slot->server->settings.overlap && !slot->server->was_changed)
        broken(c, 9, "two processes of a server that must not overlap");
    check_slot_state(c, slot);
    check_waiting(c, slot);
}

/* Derived from the states of its slots, not from what the server was last told to publish. */
static bool is_offered(const struct hf_server *server)
{
    bool has_slot = false;
    const struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        const enum hf_slot_state state = slot->machine.state;
        if (slot->is_removed)
            continue;
        has_slot = true;
        if (state == HF_SLOT_CONNECTING || state == HF_SLOT_CONNECTED ||
            state == HF_SLOT_RECONNECTING || state == HF_SLOT_DISCONNECTED)
            return !server->is_removed;
        if (state == HF_SLOT_PERMANENTLY_FAILED && !server->is_clients_own &&
            server->settings.isolation == HF_ISOLATION_SESSION)
            return !server->is_removed;
    }
    return !has_slot && server->wanted && !server->is_removed;
}

static void check_server(struct check *c, const struct hf_server *server)
{
    uint32_t count = 0;
    const struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        count++;
        check_slot(c, slot);
    }
    if (count > server->settings.max_runtimes && !server->was_changed)
        broken(c, 12, "more slots than max_runtimes");
    if (is_offered(server) != server->is_published)
        broken(c, 7, "%s is %spublished, which its state does not say", server->name,
               server->is_published ? "" : "not ");
}

/* ---- parked calls ---- */

static size_t weight_of(const struct hf_park *park)
{
    size_t weight = sizeof *park + strlen(park->capabilities) + park->end.length;
    const struct hf_round *round;
    HF_LIST_EACH (round, &park->rounds, struct hf_round, link) {
        weight += sizeof *round + round->question.length;
    }
    return weight;
}

/* Somebody waits for the next answer of the parked call, or a timer bounds how long it is kept. */
static void check_park(struct check *c, const struct hf_park *park)
{
    const bool is_attached = park->call && hf_linked(&park->call->in_session);
    const bool is_asked = hf_park_is_asked(park);
    const bool is_awaited = !hf_list_empty(&park->waiters);
    const struct hf_call *waiter;
    c->timers += armed(&park->timer);
    count(c, park->party, HF_SHARED_PARKED, park->kept);
    if (park->call && (hf_call_park(park->call) != park || park->call->session != park->session))
        broken(c, 0, "a parked call is not where it is parked");
    HF_LIST_EACH (waiter, &park->waiters, struct hf_call, link) {
        if (waiter->stage != HF_CALL_JOINED || hf_call_park(waiter) != park)
            broken(c, 0, "a retry waits elsewhere");
    }
    if (is_awaited && (!park->call || is_asked || is_attached))
        broken(c, 1, "a retry waits for what has been said");
    if (!is_attached && !is_awaited && !park->timer.at_ms)
        broken(c, 12, "nothing bounds how long a call is parked");
    if (is_awaited && !park->is_gathering && park->timer.at_ms)
        broken(c, 1, "a call may be given up while its client waits for it");
    if (park->timer.at_ms > c->engine->now_ms + c->engine->limits.park_ms + 30)
        broken(c, 12, "a call is parked for longer than parkMs");
    if (park->kept < weight_of(park))
        broken(c, 12, "a parked call keeps %zu bytes, and counts %zu", weight_of(park), park->kept);
}

static void count_subscriptions(struct check *c, const struct hf_link *list)
{
    const struct hf_subscription *sub;
    HF_LIST_EACH (sub, list, struct hf_subscription, link)
        count(c, sub->party, HF_SHARED_SUBSCRIPTIONS, 1);
}

static void check_sessions(struct check *c)
{
    const struct hf_session *session;
    HF_LIST_EACH (session, &c->engine->sessions, struct hf_session, link) {
        c->timers += armed(&session->settle);
        count(c, session->party, HF_SHARED_REMEMBERED, session->remembered_bytes);
        count_subscriptions(c, &session->subscriptions);
        const struct hf_listener *listener;
        HF_LIST_EACH (listener, &session->listeners, struct hf_listener, link)
            count_subscriptions(c, &listener->subscriptions);
        const struct hf_park *park;
        HF_LIST_EACH (park, &session->parks, struct hf_park, link) {
            check_park(c, park);
        }
    }
    const uint64_t parked = c->shared[HF_SHARED_PARKED];
    if (parked > c->engine->limits.max_buffered_bytes / 2 + sizeof(struct hf_park))
        broken(c, 12, "parked calls keep %llu bytes", (unsigned long long)parked);
}

static void check_views(const struct check *c)
{
    uint64_t bytes = 0;
    const struct hf_audience *audience;
    HF_LIST_EACH (audience, &c->engine->audiences, struct hf_audience, link)
        bytes += audience->view_bytes;
    if (bytes != c->engine->view_bytes)
        broken(c, 12, "lists hold %llu bytes, and %llu are counted", (unsigned long long)bytes,
               (unsigned long long)c->engine->view_bytes);
}

/* No update is kept that nothing will pass on, and only the first of them is half-way. */
static void check_updates(struct check *c)
{
    const struct hf_engine *engine = c->engine;
    const struct hf_update *update;
    size_t found = 0;
    HF_LIST_EACH (update, &engine->updates, struct hf_update, link) {
        if (found++ > 0 && update->serial)
            broken(c, 0, "two updates of resources are half-way");
        if (update->owner || strlen(update->text) > HF_UPDATE_TEXT_MAX)
            broken(c, 12, "an update is kept that is to be passed on at once");
    }
    if (found != engine->update_count || found > HF_UPDATES_MAX)
        broken(c, 12, "%zu updates of resources are kept", found);
    if ((found > 0) != (engine->more_updates.at_ms != 0))
        broken(c, 0, "updates of resources wait for nothing");
}

void hf_engine_check(const struct hf_engine *engine, hf_broken_hook hook, void *context)
{
    struct check c = { .engine = engine, .hook = hook, .context = context };
    c.timers += armed(&engine->more_news) + armed(&engine->more_updates);
    check_updates(&c);
    check_call_table(&c);
    const struct hf_server *server;
    HF_LIST_EACH (server, &engine->servers, struct hf_server, link) {
        check_server(&c, server);
    }
    check_sessions(&c);
    check_shares(&c);
    check_views(&c);
    if (c.timers != engine->timers.count)
        broken(&c, 0, "%zu timers are set, of which %zu have an owner", engine->timers.count,
               c.timers);
}
