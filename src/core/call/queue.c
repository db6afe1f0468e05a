/* queue.c - calls whose server is not there, or has no place for them: who waits, for how long, and
 * who is told at once that waiting is in vain (DESIGN 6). */
#include "core/call/queue.h"
#include <assert.h>
#include <stdio.h>
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/party.h"
#include "core/call/seam.h"
#include "core/call/send.h"
#include "core/call/use.h"
#include "core/machine/backoff.h"
#include "core/machine/slot.h"
#include "core/machine/stage.h"
#include "core/outbox.h"
#include "core/settings.h"
#include "core/state/party.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

/* Of the calls whose clients are gone, so many are looked at for one that may be cancelled: a
 * server with a long goneMs must not make every arrival slow. */
enum { GONE_LOOKED_AT = 64 };

/* ---- turns: one queue for each client, served in rotation ---- */

static uint64_t turn_hash(const struct hf_slot *slot, const struct hf_session *session)
{
    return hf_map_hash(&slot->server->engine->turns, (uint64_t)(uintptr_t)slot,
                       (struct hf_span) { (const char *)&session, sizeof session });
}

struct hf_turn *hf_slot_turn_of(const struct hf_slot *slot, const struct hf_session *session)
{
    struct hf_turn *turn;
    HF_MAP_EACH(turn, &slot->server->engine->turns, turn_hash(slot, session), struct hf_turn, node)
    {
        if (turn->slot == slot && turn->session == session)
            return turn;
    }
    return NULL;
}

static struct hf_turn *add_turn(struct hf_slot *slot, struct hf_session *session)
{
    struct hf_turn *turn = hf_new(struct hf_turn);
    turn->slot = slot;
    turn->session = session;
    hf_link_init(&turn->calls);
    hf_list_push(&slot->turns, &turn->link);
    hf_map_add(&slot->server->engine->turns, &turn->node, turn_hash(slot, session));
    return turn;
}

void hf_call_wait(struct hf_call *call)
{
    struct hf_slot *slot = call->slot;
    struct hf_turn *turn = hf_slot_turn_of(slot, call->session);
    if (!turn)
        turn = add_turn(slot, call->session);
    /* A call that was lost unread is older than the calls that came since. */
    struct hf_link *after = turn->calls.prev; /* from the end: most calls are the youngest */
    while (after != &turn->calls && HF_ITEM(after, struct hf_call, link)->id > call->id)
        after = after->prev;
    hf_list_add_before(after->next, &call->link);
    slot->waiting++;
    if (call->detour) {
        call->detour->is_resting = call->detour->rest_until_ms > call->engine->now_ms;
        slot->resting += call->detour->is_resting;
    }
    hf_call_set_stage(call, HF_CALL_WAITING);
    call->waiting_since_ms = call->engine->now_ms;
}

void hf_call_unwait(struct hf_call *call)
{
    struct hf_turn *turn = hf_slot_turn_of(call->slot, call->session);
    assert(turn);
    hf_unlink(&call->link);
    call->slot->waiting--;
    if (call->detour) {
        call->slot->resting -= call->detour->is_resting;
        call->detour->is_resting = false;
    }
    hf_call_set_stage(call, HF_CALL_NEW);
    call->waited_ms += call->engine->now_ms - call->waiting_since_ms;
    if (hf_list_empty(&turn->calls)) {
        hf_unlink(&turn->link);
        hf_map_remove(&call->engine->turns, &turn->node);
        hf_free(turn);
    }
}

static struct hf_call *first_ready(const struct hf_turn *turn)
{
    struct hf_call *call;
    HF_LIST_EACH (call, &turn->calls, struct hf_call, link) {
        if (!hf_call_detour(call)->is_resting)
            return call;
    }
    return NULL;
}

static struct hf_call *next_in_turn(struct hf_slot *slot)
{
    struct hf_turn *turn;
    if (slot->waiting == slot->resting)
        return NULL;
    HF_LIST_EACH (turn, &slot->turns, struct hf_turn, link) {
        struct hf_call *call = first_ready(turn);
        if (!call)
            continue;
        hf_unlink(&turn->link);
        hf_list_push(&slot->turns, &turn->link);
        hf_call_unwait(call);
        return call;
    }
    return NULL;
}

/* ---- deadlines ---- */

/* The nearest deadline of a call on a detour: `at`, or one that only a detour has. */
static uint64_t detour_deadline(const struct hf_call *call, uint64_t at)
{
    const struct hf_detour *detour = call->detour;
    if (detour->is_resting && detour->rest_until_ms < at)
        at = detour->rest_until_ms;
    if (detour->gone_ms && call->stage == HF_CALL_SENT) {
        const uint64_t gone_at = detour->gone_ms + call->slot->server->settings.gone_ms;
        if (gone_at > call->engine->now_ms && (!at || gone_at < at))
            at = gone_at;
    }
    if (detour->settle_by_ms && (!at || detour->settle_by_ms < at))
        at = detour->settle_by_ms;
    return at;
}

void hf_call_arm(struct hf_call *call)
{
    const bool is_paused = call->detour && call->detour->paused_left_ms;
    uint64_t at = 0;
    if (hf_stage_is_before_dispatch(call->stage) || call->stage == HF_CALL_KEEPING)
        at = call->wait_until_ms;
    if (call->end_by_ms && !is_paused && (!at || call->end_by_ms < at))
        at = call->end_by_ms;
    if (call->detour)
        at = detour_deadline(call, at);
    hf_timer_set(&call->engine->timers, &call->timer, at);
}

void hf_call_stop_clock(struct hf_call *call, bool stop)
{
    const uint64_t now = call->engine->now_ms;
    if (!call->end_by_ms || (hf_call_detour(call)->paused_left_ms != 0) == stop)
        return;
    struct hf_detour *detour = hf_call_make_detour(call);
    if (stop) {
        detour->paused_left_ms = call->end_by_ms > now ? call->end_by_ms - now : 1;
    } else {
        const uint64_t end_by_ms = now + detour->paused_left_ms;
        if (end_by_ms > call->end_by_ms) /* callTimeoutMaxMs stood still, too */
            call->end_by_max_ms += end_by_ms - call->end_by_ms;
        call->end_by_ms = end_by_ms;
        detour->paused_left_ms = 0;
    }
    hf_call_arm(call);
}

/* ---- dispatching ---- */

bool hf_slot_is_full(const struct hf_slot *slot)
{
    const uint32_t max = slot->server->settings.max_in_flight;
    return max && slot->current && slot->current->in_flight >= max;
}

static bool is_open(const struct hf_slot *slot)
{
    const struct hf_runtime *runtime = slot->current;
    return runtime && runtime->machine.state == HF_RUNTIME_LIVE && !runtime->is_frozen &&
           !runtime->holds;
}

static bool has_place(const struct hf_slot *slot)
{
    return is_open(slot) && !hf_slot_is_full(slot);
}

/* A `stateful` server lost its state: the client must be told before another of its calls runs. */
static bool has_lost_state(const struct hf_call *call)
{
    const struct hf_use *use = call->slot->server->settings.stateful
                                   ? hf_session_find_use(call->session, call->slot->server)
                                   : NULL;
    return use && use->losses < call->slot->losses;
}

static void note_use(struct hf_call *call)
{
    if (call->slot->server->settings.stateful)
        hf_session_use(call->session, call->slot->server)->losses = call->slot->losses;
}

static void tell_state_lost(struct hf_call *call)
{
    note_use(call);
    hf_call_fail(call, HF_ERROR_STATE_LOST, "state_lost",
                 "The server \"%s\" restarted since your last call and lost what it kept in "
                 "memory; this call was not sent. Send it again if it makes sense without that.",
                 call->slot->server->name);
}

/* With waitMs 0 a call waits for no server. But connecting to a remote server that is there takes
 * time: for that, the call has as long as a ping. */
static void allow_connecting(struct hf_call *call)
{
    const struct hf_settings *settings = &call->slot->server->settings;
    if (settings->wait_ms == 0 && call->slot->server->is_remote)
        call->wait_until_ms = call->engine->now_ms + settings->liveness.timeout_ms;
}

static void dispatch(struct hf_call *call)
{
    allow_connecting(call);
    if (has_lost_state(call)) {
        tell_state_lost(call);
        return;
    }
    if (call->owner->answered_instead && call->owner->answered_instead(call))
        return;
    if (call->engine->uses_seam[HF_SEAM_DISPATCH] && hf_seam_must_clear(call)) {
        hf_seam_clear(call);
        return;
    }
    note_use(call);
    hf_call_dispatch(call, call->slot->current);
}

bool hf_call_gives_way(const struct hf_call *call)
{
    return call->session && call->stage == HF_CALL_SENT && !hf_call_is_parked(call) &&
           hf_call_is_forsaken(call);
}

void hf_call_give_way(struct hf_call *call)
{
    hf_call_take_back(call, HF_SPAN("\"holdfast: its client is gone, and others wait\""));
    hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, "client_gone",
                 "The call was sent to \"%s\", and its client went away before the answer came. It "
                 "was cancelled to make room for others, but it may have run. Check its effect "
                 "before sending it again.",
                 call->slot->server->name);
}

void hf_call_set_gone(struct hf_call *call, bool is_gone)
{
    struct hf_engine *engine = call->engine;
    if ((hf_call_detour(call)->gone_ms != 0) == is_gone)
        return;
    struct hf_detour *detour = hf_call_make_detour(call);
    detour->gone_ms = is_gone ? engine->now_ms : 0;
    if (is_gone) {
        engine->gone_count++;
        hf_list_push(&hf_client_party_outermost(call->party)->gone, &detour->in_gone);
    } else {
        engine->gone_count--;
        hf_unlink(&detour->in_gone);
    }
}

bool hf_party_cancel_gone(struct hf_client_party *party)
{
    unsigned looked_at = 0;
    struct hf_detour *detour;
    HF_LIST_EACH (detour, &hf_client_party_outermost(party)->gone, struct hf_detour, in_gone) {
        if (hf_call_gives_way(detour->call)) {
            hf_call_give_way(detour->call);
            return true;
        }
        if (++looked_at == GONE_LOOKED_AT)
            return false;
    }
    return false;
}

/* The oldest call whose client has been gone for goneMs gives its place to one that waits for it.
 * False: there is none, or nobody waits. */
static bool make_room(struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    if (!server->engine->gone_count || slot->waiting == slot->resting || !is_open(slot))
        return false;
    struct hf_call *call;
    HF_LIST_EACH (call, &slot->current->calls, struct hf_call, link) {
        if (!hf_call_gives_way(call))
            continue;
        hf_call_give_way(call);
        return true;
    }
    return false;
}

void hf_slot_flush(struct hf_slot *slot)
{
    while (has_place(slot) || make_room(slot)) {
        struct hf_call *call = next_in_turn(slot);
        if (!call)
            break;
        dispatch(call);
    }
}

void hf_call_rested(struct hf_call *call)
{
    call->detour->is_resting = false;
    call->slot->resting--;
    hf_call_arm(call);
    hf_slot_mark(call->slot);
}

/* ---- waiting ---- */

static uint64_t last_moment(const struct hf_call *call)
{
    return call->end_by_ms && call->end_by_ms < call->wait_until_ms ? call->end_by_ms
                                                                    : call->wait_until_ms;
}

static void fail_in_vain(struct hf_call *call)
{
    const struct hf_slot *slot = call->slot;
    const struct hf_server *server = slot->server;
    const bool loops = hf_backoff_k(&server->backoff, &server->settings.reconnect,
                                    call->engine->now_ms) >= HF_CRASH_LOOP_K;
    hf_call_fail(call, HF_ERROR_UNAVAILABLE, loops ? "crash_loop" : server->reason,
                 "The server '%s' is down%s and the next attempt to reach it comes later than this "
                 "call can wait. It was never sent and is safe to send again.",
                 server->name, hf_because(call->engine, server->reason));
}

int64_t hf_call_retry_after_ms(const struct hf_call *call)
{
    const uint64_t now = call->engine->now_ms;
    const uint64_t until = hf_call_detour(call)->rest_until_ms;
    const int64_t rest = until > now ? (int64_t)(until - now) : -1;
    const int64_t attempt = hf_slot_retry_after_ms(call->slot);
    return rest > attempt ? rest : attempt;
}

static void fail_turned_away(struct hf_call *call)
{
    hf_call_fail(call, HF_ERROR_UNAVAILABLE, "refused",
                 "The server \"%s\" turned this call away for now, and wants it later than it can "
                 "wait. It never ran and is safe to send again.",
                 call->slot->server->name);
}

/* ---- a server that refuses connections is tried more often while somebody waits for it ---- */

static bool is_wanted_and_refuses(const struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    return slot->machine.state == HF_SLOT_RECONNECTING && !hf_slot_has_attempt(slot) &&
           slot->refuses_connections && server->settings.reconnect.waiting_max_ms &&
           slot->due.at_ms;
}

/* When the next attempt for waiting calls comes. */
static uint64_t next_attempt_ms(const struct hf_slot *slot)
{
    const uint64_t now = slot->server->engine->now_ms;
    uint64_t at_ms = slot->extra.at_ms ? slot->extra.at_ms
                                       : now + slot->server->settings.reconnect.waiting_max_ms;
    if (slot->server->backoff.retry_after_ms > at_ms)
        at_ms = slot->server->backoff.retry_after_ms;
    return is_wanted_and_refuses(slot) && at_ms < slot->due.at_ms ? at_ms : slot->due.at_ms;
}

static void try_while_waiting(struct hf_slot *slot)
{
    const uint64_t at_ms = next_attempt_ms(slot);
    if (slot->waiting && !slot->extra.at_ms && is_wanted_and_refuses(slot) &&
        at_ms < slot->due.at_ms)
        hf_timer_set(&slot->server->engine->timers, &slot->extra, at_ms);
}

void hf_slot_waited_for(struct hf_slot *slot)
{
    if (slot->waiting && is_wanted_and_refuses(slot))
        (void)slot->server->engine->host->slot_event(slot, HF_SLOT_EV_EXTRA);
}

void hf_slot_review_waiting(struct hf_slot *slot)
{
    if (slot->machine.state != HF_SLOT_RECONNECTING || hf_slot_has_attempt(slot))
        return;
    const uint64_t next_ms = next_attempt_ms(slot);
    struct hf_turn *turn;
    HF_LIST_EACH_SAFE (turn, &slot->turns, struct hf_turn, link) {
        struct hf_call *call;
        struct hf_link *calls = &turn->calls;
        bool is_last = false; /* ending the last call frees the turn */
        for (struct hf_link *at = calls->next, *next; !is_last && at != calls; at = next) {
            next = at->next;
            call = HF_ITEM(at, struct hf_call, link);
            if (last_moment(call) >= next_ms)
                continue;
            is_last = calls->next->next == calls;
            fail_in_vain(call);
        }
    }
    try_while_waiting(slot);
}

void hf_slot_fail_waiting(struct hf_slot *slot)
{
    while (!hf_list_empty(&slot->turns)) {
        const struct hf_turn *turn = HF_ITEM(slot->turns.next, struct hf_turn, link);
        hf_call_refuse_by_state(HF_ITEM(turn->calls.next, struct hf_call, link));
    }
    while (!hf_list_empty(&slot->clearing))
        hf_call_refuse_by_state(HF_LIST_FIRST(&slot->clearing, struct hf_call, link));
    while (!hf_list_empty(&slot->asking)) /* the end of each call withdraws its questions */
        hf_call_refuse_by_state(HF_LIST_FIRST(&slot->asking, struct hf_call, link));
}

void hf_call_refuse_by_state(struct hf_call *call)
{
    const struct hf_server *server = call->slot->server;
    if (call->engine->is_stopping)
        hf_call_fail(
            call, HF_ERROR_UNAVAILABLE, "shutting_down",
            "holdfast is shutting down; the call was never sent and is safe to send again.");
    else if (call->slot->machine.state == HF_SLOT_PERMANENTLY_FAILED)
        hf_call_fail(call, HF_ERROR_PERMANENTLY_FAILED, server->reason,
                     "holdfast gave up on the server '%s'%s%s%s%s. The call was not sent.",
                     server->name, hf_because(call->engine, server->reason),
                     hf_because(call->engine, server->problem ? server->problem : ""),
                     hf_because(call->engine, server->last_stderr)[0] ? ", which last said:" : "",
                     hf_because(call->engine, server->last_stderr));
    else
        hf_call_fail(call, HF_ERROR_DISABLED, "disabled",
                     "The server \"%s\" is switched off by its operator. The call was not sent.",
                     server->name);
}

/* `to`: the call itself, or a retry that waits for it. */
static void tell(const struct hf_call *call, const struct hf_call *to)
{
    const struct hf_slot *slot = call->slot;
    if (!to->token.p)
        return;
    struct hf_buf draft = hf_draft();
    hf_msg_begin_notification(&draft, "notifications/progress");
    hf_buf_add_str(&draft, ",\"params\":{\"progressToken\":");
    hf_buf_add(&draft, to->token);
    hf_buf_printf(&draft, ",\"progress\":%.3f,\"message\":", call->progress_sent);
    char text[300];
    (void)snprintf(text, sizeof text, "%s to %s, attempt %u",
                   slot->server->backoff.was_connected ? "reconnecting" : "connecting",
                   slot->server->name, slot->attempt_number);
    hf_json_add_string(&draft, hf_span_of(text));
    hf_buf_add_str(&draft, "}}");
    hf_session_send(to->session, to->via, hf_draft_end(call->engine, &draft));
}

static void tell_one(struct hf_call *call)
{
    if (!call->session || call->told_attempt == call->slot->attempt_number)
        return;
    call->told_attempt = call->slot->attempt_number;
    call->progress_sent += 0.001;
    if (!hf_call_is_parked(call)) {
        tell(call, call);
        return;
    }
    call->engine->bridge->each_waiter(call, tell);
}

void hf_slot_tell_waiting(struct hf_slot *slot)
{
    struct hf_turn *turn;
    HF_LIST_EACH (turn, &slot->turns, struct hf_turn, link) {
        struct hf_call *call;
        for (struct hf_link *at = turn->calls.next; at != &turn->calls; at = at->next) {
            call = HF_ITEM(at, struct hf_call, link);
            tell_one(call);
        }
    }
}

/* Only a call that arrives may start an attempt outside the schedule, and only one in each step of
 * the schedule. */
static bool deserves_an_extra(const struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    const uint64_t now = server->engine->now_ms;
    return !slot->extra_used && slot->due.at_ms > now + 1000 &&
           server->backoff.retry_after_ms <= now &&
           hf_backoff_k(&server->backoff, &server->settings.reconnect, now) < HF_CRASH_LOOP_K;
}

static void arrive_while_down(struct hf_call *call)
{
    struct hf_slot *slot = call->slot;
    const struct hf_call_host *host = call->engine->host;
    hf_call_wait(call);
    hf_call_arm(call);
    if (slot->machine.state == HF_SLOT_DISCONNECTED)
        (void)host->slot_event(slot, HF_SLOT_EV_CALL);
    if (slot->machine.state == HF_SLOT_RECONNECTING && !hf_slot_has_attempt(slot)) {
        if (deserves_an_extra(slot)) {
            slot->extra_used = true;
            (void)host->slot_event(slot, HF_SLOT_EV_EXTRA);
        } else if (last_moment(call) < next_attempt_ms(slot)) {
            fail_in_vain(call);
            return;
        } else {
            try_while_waiting(slot);
        }
    }
    if (call->stage == HF_CALL_WAITING && hf_slot_has_attempt(slot))
        tell_one(call);
}

void hf_call_arrive(struct hf_call *call, struct hf_slot *slot)
{
    const struct hf_settings *settings = &slot->server->settings;
    const uint64_t now = call->engine->now_ms;
    call->slot = slot;
    const uint64_t waited =
        call->waited_ms < settings->wait_ms ? call->waited_ms : settings->wait_ms;
    call->wait_until_ms = now + settings->wait_ms - waited;
    if (settings->call_timeout_ms && !call->end_by_ms) {
        call->end_by_ms = now + settings->call_timeout_ms;
        call->end_by_max_ms = now + settings->call_timeout_max_ms;
    }
    const enum hf_slot_state state = slot->machine.state;
    const uint64_t rest_until_ms = hf_call_detour(call)->rest_until_ms;
    const bool is_ready = rest_until_ms <= now;
    if (call->engine->is_stopping || state == HF_SLOT_PERMANENTLY_FAILED ||
        state == HF_SLOT_DISABLING || state == HF_SLOT_DISABLED) {
        (void)call->engine->host->slot_event(slot, HF_SLOT_EV_CALL);
        hf_call_refuse_by_state(call);
    } else if (!is_ready && last_moment(call) <= rest_until_ms) {
        fail_turned_away(call);
    } else if (has_place(slot) && slot->waiting == slot->resting && is_ready) {
        dispatch(call);
    } else if (slot->waiting >= settings->max_waiting) {
        hf_call_fail(
            call, HF_ERROR_OVERLOADED, "max_waiting",
            "%u calls already wait for the server \"%s\"; this one was not sent. Try again "
            "later.",
            slot->waiting, slot->server->name);
    } else if (state == HF_SLOT_CONNECTED) {
        hf_call_wait(call);
        hf_call_arm(call);
        if (call->engine->gone_count)
            hf_slot_mark(slot);
    } else {
        arrive_while_down(call);
    }
}

bool hf_call_is_forsaken(const struct hf_call *call)
{
    const uint64_t gone_ms = hf_call_detour(call)->gone_ms;
    return gone_ms && !call->is_modern &&
           call->engine->now_ms >= gone_ms + call->slot->server->settings.gone_ms;
}

void hf_slot_touch(struct hf_slot *slot)
{
    struct hf_engine *engine = slot->server->engine;
    if (slot->server->settings.idle_ms && slot->current)
        hf_timer_set(&engine->timers, &slot->idle, engine->now_ms + slot->server->settings.idle_ms);
}
