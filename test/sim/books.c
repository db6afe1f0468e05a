/* books.c - whether the engine's books balance, and whether anything waits for nothing. */
#include "sim.h"

/* ---- calls, runtimes, exchanges ---- */

struct tally { /* what is found by walking, to be held against what is counted */
    size_t timers, calls, held, posts;
    uint64_t bytes, kept;
};

/* Limits that were lowered hold for what comes, not for what is there. */
bool was_changed(const struct hf_server *server)
{
    return ((const struct instance *)server->shell)->was_changed;
}

static size_t armed(const struct hf_timer *timer)
{
    return timer->at_ms != 0;
}

/* A modern server wants to know something, and a client that still speaks was asked. */
static bool is_asked(const struct hf_call *call)
{
    const struct hf_question *question;
    HF_LIST_EACH (question, &call->session->questions, struct hf_question, link) {
        if (question->call == call)
            return !call->session->is_finished && hf_slot_is_offered(call->slot->machine.state);
    }
    return false;
}

static void check_call_table(struct sim *sim, struct tally *tally)
{
    const struct hf_engine *engine = sim->engine;
    for (uint32_t i = 0, left = engine->call_count; left && i < engine->call_cap; i++) {
        const struct hf_call *call = engine->calls[i];
        if (!call)
            continue;
        left--;
        tally->calls++;
        tally->timers += armed(&call->timer);
        tally->bytes += call->held;
        if (call->stage == HF_CALL_ENDED ? call->held > 0 : call->held < call->text_length)
            sim_broken(sim, PROMISE_P12, "what a call holds is not what is counted for it");
        tally->held += call->stage == HF_CALL_HELD;
        if (call->stage == HF_CALL_ASKING && !call->park && !is_asked(call))
            sim_broken(sim, PROMISE_P1, "a call waits for answers that nobody was asked for");
        const bool is_open = call->session && call->stage != HF_CALL_ENDED;
        if (is_open && !hf_linked(&call->in_session) && !call->park)
            sim_broken(sim, PROMISE_P1, "a call has no client side, and nobody can come for it");
        if (call->stage == HF_CALL_ENDED && call->timer.at_ms)
            sim_broken(sim, PROMISE_INNER, "a call that ended still has a timer");
    }
    if (tally->calls != engine->call_count || tally->held != engine->held_count)
        sim_broken(sim, PROMISE_INNER, "calls in the table and their counts differ");
    if (tally->bytes != engine->held_bytes)
        sim_broken(sim, PROMISE_P12, "held_bytes is %llu, calls hold %llu",
                   (unsigned long long)engine->held_bytes, (unsigned long long)tally->bytes);
}

/* Every post that was begun is an exchange of the world, and every exchange a post. */
static void check_posts(struct sim *sim, const struct hf_runtime *runtime, struct tally *tally)
{
    size_t told = 0, notes = 0;
    const struct hf_post *post;
    HF_LIST_EACH (post, &runtime->remote.posts, struct hf_post, link) {
        const struct exchange *x = post->shell;
        tally->timers += armed(&post->timer);
        tally->posts += post->is_begun;
        told += post->owned_length;
        if (post->is_begun && (!x || x->post != post || !x->in_use))
            sim_broken(sim, PROMISE_INNER, "a post is under way and no exchange is");
        if (!post->is_begun && !post->timer.at_ms)
            sim_broken(sim, PROMISE_P1, "a post is neither under way nor to be resumed");
        const bool is_note = post->verb == HF_POST_MESSAGE && !post->call;
        notes += post->owned != NULL;
        if (is_note && !post->timer.at_ms && post != runtime->remote.initialized)
            sim_broken(sim, PROMISE_P12, "nothing bounds how long a message may take");
        if (post->call && (post->call->post != post || post->call->runtime != runtime))
            sim_broken(sim, PROMISE_INNER, "a post has a call that is elsewhere");
    }
    if (told != runtime->told_bytes || notes != runtime->told_count)
        sim_broken(sim, PROMISE_P12, "told_bytes is %zu, and posts hold %zu", runtime->told_bytes,
                   told);
    const bool is_starting =
        runtime->machine.state > HF_RUNTIME_SPAWNING && runtime->machine.state < HF_RUNTIME_LIVE;
    /* one that was replaced meanwhile needs no session: its calls may wait for that of the next */
    const bool renews = runtime->remote.is_renewing && runtime == runtime->slot->current;
    if ((is_starting || renews) && !runtime->is_frozen &&
        !runtime->client.at_ms && /* its client has not said `initialized` */
        hf_list_empty(&runtime->remote.posts))
        sim_broken(sim, PROMISE_P8, "a remote server is being greeted, and nothing is under way");
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        const struct hf_remote *remote = &runtime->remote;
        const bool is_awaited = call->post || call->doubt || remote->is_sse;
        if (call->doubt && !call->doubt->waits && !remote->known.call && !remote->stranger.call)
            sim_broken(sim, PROMISE_P1, "a call waits for the end of a doubt that is over");
        if (!is_awaited && !runtime->is_frozen)
            sim_broken(sim, PROMISE_P1, "a call waits for an exchange that is over");
    }
}

static void check_runtime(struct sim *sim, const struct hf_runtime *runtime, struct tally *tally)
{
    const struct hf_settings *settings = &runtime->server->settings;
    const enum hf_runtime_state state = runtime->machine.state;
    uint32_t of_clients = 0;
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        of_clients += call->session != NULL;
        if (call->runtime != runtime || call->stage < HF_CALL_QUEUED ||
            call->stage == HF_CALL_ENDED)
            sim_broken(sim, PROMISE_INNER, "a call is in a runtime that it is not of");
    }
    tally->timers += armed(&runtime->stay) + armed(&runtime->start) + armed(&runtime->eof) +
                     armed(&runtime->check) + armed(&runtime->stall) + armed(&runtime->probe) +
                     armed(&runtime->remote.listen_again) + armed(&runtime->remote.hold) +
                     armed(&runtime->ear.timer) + armed(&runtime->client);
    const struct hf_ask *ask;
    HF_LIST_EACH (ask, &runtime->asks, struct hf_ask, in_runtime) {
        tally->timers += armed(&ask->timer);
        if (!ask->park && !armed(&ask->timer) && !runtime->slot->owner)
            sim_broken(sim, PROMISE_P8, "nothing bounds how long a client may be asked");
    }
    if (runtime->is_remote)
        check_posts(sim, runtime, tally);
    if (runtime->remote.is_correcting && runtime == runtime->slot->current &&
        !runtime->listing[HF_PART_TOOLS].building)
        sim_broken(sim, PROMISE_P8, "its tools are not listed again, and calls wait for it");
    if (state == HF_RUNTIME_DRAINING && runtime->in_flight == 0)
        sim_broken(sim, PROMISE_P9, "a runtime drains, and nothing is in flight");
    if (of_clients != runtime->in_flight)
        sim_broken(sim, PROMISE_INNER, "in_flight is %u, and there are %u", runtime->in_flight,
                   of_clients);
    if (settings->max_in_flight && runtime->in_flight > settings->max_in_flight &&
        !was_changed(runtime->server))
        sim_broken(sim, PROMISE_P12, "more calls in flight than max_in_flight");
    if (runtime->is_silent && runtime->taken_back >= 0 && !runtime->is_loss_pending &&
        !hf_list_empty(&runtime->calls))
        sim_broken(sim, PROMISE_P1, "a runtime that cannot answer any more has calls");
    if (state >= HF_RUNTIME_DRAINING && !runtime->stay.at_ms && !runtime->eof.at_ms)
        sim_broken(sim, PROMISE_P9, "nothing bounds the stay of a runtime that is %s",
                   hf_runtime_state_name(state));
    if (runtime->is_loss_pending && !runtime->eof.at_ms)
        sim_broken(sim, PROMISE_P1, "nothing bounds how long a loss may wait for its exit");
    if (state < HF_RUNTIME_LIVE && !runtime->start.at_ms && !runtime->client.at_ms &&
        !runtime->server->is_clients_own)
        sim_broken(sim, PROMISE_P8, "nothing bounds the start of a runtime");
    if (!runtime->is_frozen && !hf_list_empty(&runtime->out) && !runtime->stall.at_ms)
        sim_broken(sim, PROMISE_P12, "nothing bounds how long a pipe may take no byte");
}

/* ---- slots ---- */

static uint32_t count_waiting(struct sim *sim, const struct hf_slot *slot)
{
    uint32_t count = 0, resting = 0;
    const bool is_stuck = slot->machine.state == HF_SLOT_RECONNECTING && !hf_slot_has_attempt(slot);
    const struct hf_turn *turn;
    HF_LIST_EACH (turn, &slot->turns, struct hf_turn, link) {
        const struct hf_call *call;
        HF_LIST_EACH (call, &turn->calls, struct hf_call, link) {
            uint64_t until = call->wait_until_ms;
            if (call->end_by_ms && call->end_by_ms < until)
                until = call->end_by_ms;
            if (call->stage != HF_CALL_WAITING || call->slot != slot || !call->timer.at_ms)
                sim_broken(sim, PROMISE_INNER, "a call in a queue does not wait, or for ever");
            if (is_stuck && slot->due.at_ms > until && !slot->extra.at_ms &&
                !was_changed(slot->server))
                sim_broken(sim, PROMISE_P10, "a call waits for an attempt that comes too late");
            if (call->is_resting && call->timer.at_ms > call->rest_until_ms)
                sim_broken(sim, PROMISE_P10, "a call rests for longer than it was told to");
            resting += call->is_resting;
            count++;
        }
    }
    if (resting != slot->resting)
        sim_broken(sim, PROMISE_INNER, "resting is not the number of those that rest");
    return count;
}

/* A remote server forgot its session, and a new one is being made. */
static bool is_greeting(const struct hf_runtime *runtime)
{
    const struct child *child = runtime->shell;
    return child->is_remote &&
           (child->wire.is_greeting || runtime->remote.is_correcting || runtime->remote.refusal);
}

static void check_waiting(struct sim *sim, const struct hf_slot *slot)
{
    const struct hf_settings *settings = &slot->server->settings;
    if (count_waiting(sim, slot) != slot->waiting)
        sim_broken(sim, PROMISE_INNER, "waiting is not the length of the queue");
    if (slot->waiting > settings->max_waiting && !was_changed(slot->server))
        sim_broken(sim, PROMISE_P12, "more calls wait than max_waiting");
    if (slot->waiting == 0)
        return;
    switch (slot->machine.state) {
    case HF_SLOT_CONNECTING:
    case HF_SLOT_RECONNECTING: break;
    case HF_SLOT_CONNECTED:
        if (!slot->current->is_loss_pending && !is_greeting(slot->current) &&
            !slot->current->remote.holds && slot->waiting > slot->resting &&
            (!settings->max_in_flight || slot->current->in_flight < settings->max_in_flight))
            sim_broken(sim, PROMISE_P8, "a call waits although its server has room for it");
        break;
    default:
        sim_broken(sim, PROMISE_P10, "calls wait for a server that is %s",
                   hf_slot_state_name(slot->machine.state));
    }
}

static void check_slot_state(struct sim *sim, const struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    const enum hf_slot_state state = slot->machine.state;
    const bool has_attempt = hf_slot_has_attempt(slot);
    if ((state == HF_SLOT_CONNECTED) != (slot->current != NULL))
        sim_broken(sim, PROMISE_INNER, "%s with%s a current runtime", hf_slot_state_name(state),
                   slot->current ? "" : "out");
    if (slot->current && slot->current->machine.state != HF_RUNTIME_LIVE &&
        !slot->current->is_loss_pending)
        sim_broken(sim, PROMISE_INNER, "the current runtime is %s",
                   hf_runtime_state_name(slot->current->machine.state));
    if (slot->attempt && slot->attempt->machine.state >= HF_RUNTIME_LIVE &&
        !slot->attempt->is_loss_pending)
        sim_broken(sim, PROMISE_INNER, "the attempt is %s",
                   hf_runtime_state_name(slot->attempt->machine.state));
    if (slot->attempt_waits && hf_list_empty(&slot->runtimes))
        sim_broken(sim, PROMISE_P10, "an attempt waits for nothing");
    const bool stands = (state == HF_SLOT_CONNECTING && !has_attempt) ||
                        (state == HF_SLOT_RECONNECTING && !has_attempt && !slot->due.at_ms);
    if (stands)
        sim_broken(sim, PROMISE_P10, "%s, and nothing is going to happen",
                   hf_slot_state_name(state));
    if (state == HF_SLOT_PERMANENTLY_FAILED && server->settings.reconnect.probe_ms &&
        (!server->problem || server->problem_may_pass) && !has_attempt && !slot->due.at_ms &&
        !was_changed(server))
        sim_broken(sim, PROMISE_P10, "given up, and no probe will come");
    const bool is_off = state == HF_SLOT_DISABLED || state == HF_SLOT_DISABLING;
    if (is_off && (has_attempt || slot->due.at_ms))
        sim_broken(sim, PROMISE_P9, "an attempt is planned for a server that is %s",
                   hf_slot_state_name(state));
    if (!server->wanted && !is_off && state != HF_SLOT_NEW)
        sim_broken(sim, PROMISE_P9, "%s although it was switched off", hf_slot_state_name(state));
}

static void check_slot(struct sim *sim, const struct hf_slot *slot, struct tally *tally)
{
    unsigned count = 0;
    tally->timers +=
        armed(&slot->due) + armed(&slot->idle) + armed(&slot->relist) + armed(&slot->extra);
    const struct hf_runtime *runtime;
    HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
        count += !runtime->is_remote;
        check_runtime(sim, runtime, tally);
    }
    if (count > 1 && !slot->server->settings.overlap && !was_changed(slot->server))
        sim_broken(sim, PROMISE_P9, "two processes of a server that must not overlap");
    check_slot_state(sim, slot);
    check_waiting(sim, slot);
}

bool is_offered(const struct hf_server *server)
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
        const struct instance *instance = server->shell;
        if (state == HF_SLOT_PERMANENTLY_FAILED && !instance->clients_own &&
            instance->settings.isolation == HF_ISOLATION_SESSION)
            return !server->is_removed;
    }
    return !has_slot && server->wanted && !server->is_removed;
}

static void check_server(struct sim *sim, const struct hf_server *server, struct tally *tally)
{
    uint32_t count = 0;
    const struct hf_slot *slot;
    HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
        count++;
        check_slot(sim, slot, tally);
    }
    if (count > server->settings.max_runtimes && !was_changed(server))
        sim_broken(sim, PROMISE_P12, "more slots than max_runtimes");
    if (is_offered(server) != server->is_published)
        sim_broken(sim, PROMISE_P7, "%s is %spublished, which its state does not say", server->name,
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

/* Somebody waits for what comes next, or a clock runs until it is given up. */
static void check_park(struct sim *sim, const struct hf_park *park, struct tally *tally)
{
    const bool is_attached = park->call && hf_linked(&park->call->in_session);
    const bool is_asked = hf_park_is_asked(park);
    const bool is_awaited = !hf_list_empty(&park->waiters);
    const struct hf_call *waiter;
    tally->timers += armed(&park->timer);
    tally->kept += park->kept;
    if (park->call && (park->call->park != park || park->call->session != park->session))
        sim_broken(sim, PROMISE_INNER, "a parked call is not where it is parked");
    HF_LIST_EACH (waiter, &park->waiters, struct hf_call, link) {
        if (waiter->stage != HF_CALL_JOINED || waiter->park != park)
            sim_broken(sim, PROMISE_INNER, "a retry waits elsewhere");
    }
    if (is_awaited && (!park->call || is_asked || is_attached))
        sim_broken(sim, PROMISE_P1, "a retry waits for what has been said");
    if (!is_attached && !is_awaited && !park->timer.at_ms)
        sim_broken(sim, PROMISE_P12, "nothing bounds how long a call is parked");
    if (is_awaited && !park->is_gathering && park->timer.at_ms)
        sim_broken(sim, PROMISE_P1, "a call may be given up while its client waits for it");
    if (park->timer.at_ms > sim->now_ms + sim->limits.park_ms + 30)
        sim_broken(sim, PROMISE_P12, "a call is parked for longer than parkMs");
    if (park->kept < weight_of(park))
        sim_broken(sim, PROMISE_P12, "a parked call keeps %zu bytes, and counts %zu",
                   weight_of(park), park->kept);
}

void check_books(struct sim *sim)
{
    struct tally tally = { 0 };
    size_t exchanges = 0;
    check_call_table(sim, &tally);
    const struct hf_server *server;
    HF_LIST_EACH (server, &sim->engine->servers, struct hf_server, link) {
        check_server(sim, server, &tally);
    }
    const struct hf_session *session;
    HF_LIST_EACH (session, &sim->engine->sessions, struct hf_session, link) {
        tally.timers += armed(&session->settle);
        const struct hf_park *park;
        HF_LIST_EACH (park, &session->parks, struct hf_park, link) {
            check_park(sim, park, &tally);
        }
    }
    if (tally.kept != sim->engine->kept_bytes)
        sim_broken(sim, PROMISE_P12, "kept_bytes is %llu, parked calls keep %llu",
                   (unsigned long long)sim->engine->kept_bytes, (unsigned long long)tally.kept);
    if (tally.kept > sim->limits.max_buffered_bytes / 2 + sizeof(struct hf_park))
        sim_broken(sim, PROMISE_P12, "parked calls keep %llu bytes",
                   (unsigned long long)tally.kept);
    if (tally.timers != sim->engine->timers.count)
        sim_broken(sim, PROMISE_INNER, "%zu timers are set, of which %zu have an owner",
                   sim->engine->timers.count, tally.timers);
    for (unsigned i = 0; i < sim->exchange_top; i++)
        exchanges += sim->exchanges[i].in_use && sim->exchanges[i].post;
    if (exchanges != tally.posts)
        sim_broken(sim, PROMISE_INNER, "%zu exchanges are under way for %zu posts", exchanges,
                   tally.posts);
}
