/* runtime.c - the life of a runtime: what the shell saw becomes events of the runtime's machine,
 * the machine's effects become ours. What happens to its calls is in call/, what the server says in
 * handshake.c and inbox/from_server.c. */
#include "core/server/runtime.h"
#include <assert.h>
#include <stdio.h>
#include <sys/wait.h>
#include "base/strings.h"
#include "core/call/call.h"
#include "core/call/frame.h"
#include "core/call/verdict.h"
#include "core/machine/backoff.h"
#include "core/machine/evidence.h"
#include "core/machine/tail.h"
#include "core/outbox.h"
#include "core/server/era_probe.h"
#include "core/server/facts.h"
#include "core/server/listing.h"
#include "core/server/server_request.h"
#include "core/server/slot.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

static void arm_start(struct hf_runtime *runtime)
{
    hf_timer_set(&runtime->server->engine->timers, &runtime->start,
                 runtime->server->engine->now_ms + runtime->server->settings.start_timeout_ms);
}

struct hf_runtime *hf_runtime_new(struct hf_slot *slot)
{
    struct hf_runtime *runtime = hf_new(struct hf_runtime);
    runtime->slot = slot;
    runtime->server = slot->server;
    runtime->generation = ++slot->server->generation;
    runtime->taken_back = -1;
    hf_link_init(&runtime->mark);
    runtime->last_byte_ms = slot->server->engine->now_ms;
    hf_link_init(&runtime->out);
    hf_link_init(&runtime->calls);
    hf_link_init(&runtime->server_requests);
    hf_timer_init(&runtime->stay, HF_TIMER_STAY, runtime);
    hf_timer_init(&runtime->start, HF_TIMER_START, runtime);
    hf_timer_init(&runtime->eof, HF_TIMER_EOF, runtime);
    hf_timer_init(&runtime->check, HF_TIMER_CHECK, runtime);
    hf_timer_init(&runtime->stall, HF_TIMER_STALL, runtime);
    hf_timer_init(&runtime->client, HF_TIMER_INITIALIZED, runtime);
    hf_timer_init(&runtime->probe, HF_TIMER_ERA_PROBE, runtime);
    hf_timer_init(&runtime->hold, HF_TIMER_HOLD, runtime);
    runtime->transport = slot->server->engine->transports[slot->server->is_remote];
    if (runtime->transport->init)
        runtime->transport->init(runtime);
    hf_list_push(&slot->runtimes, &runtime->link);
    if (!slot->server->is_clients_own) /* else the clock starts with the client's own greeting */
        arm_start(runtime);
    hf_emit(slot->server->engine, HF_DO_SPAWN)->runtime = runtime;
    return runtime;
}

static void free_upstream(struct hf_upstream *upstream)
{
    hf_strings_free(upstream->uris);
    for (size_t i = 0; i < upstream->changed_count; i++)
        hf_free(upstream->changed[i]);
    hf_free(upstream->changed);
    hf_free(upstream);
}

static void free_runtime(void *p)
{
    struct hf_runtime *runtime = p;
    if (runtime->transport->forget)
        runtime->transport->forget(runtime);
    if (runtime->upstream)
        free_upstream(runtime->upstream);
    hf_free(runtime->greeting);
    hf_tail_done(&runtime->tail);
    hf_free(runtime);
}

static void clear_timers(struct hf_runtime *runtime)
{
    struct hf_timers *timers = &runtime->server->engine->timers;
    hf_timer_clear(timers, &runtime->stay);
    hf_timer_clear(timers, &runtime->start);
    hf_timer_clear(timers, &runtime->eof);
    hf_timer_clear(timers, &runtime->check);
    hf_timer_clear(timers, &runtime->stall);
    hf_timer_clear(timers, &runtime->client);
    hf_timer_clear(timers, &runtime->probe);
    hf_timer_clear(timers, &runtime->hold);
    if (runtime->upstream)
        hf_timer_clear(timers, &runtime->upstream->timer);
}

/* No answer can come any more: every call still in the runtime is judged by its evidence. */
static void settle_calls(struct hf_runtime *runtime)
{
    if (runtime->is_settled)
        return;
    assert(runtime->is_frozen);
    runtime->is_settled = true;
    hf_listing_drop(runtime);
    hf_server_requests_drop(runtime);
    runtime->check_call = NULL;
    const struct hf_stream_facts facts = { runtime->written, runtime->taken_back };
    while (!hf_list_empty(&runtime->calls))
        hf_call_lost(HF_LIST_FIRST(&runtime->calls, struct hf_call, link), facts);
    while (!hf_list_empty(&runtime->out)) {
        struct hf_frame *frame = HF_LIST_FIRST(&runtime->out, struct hf_frame, link);
        hf_unlink(&frame->link);
        if (frame->call)
            hf_call_abandoned(frame->call); /* it ended while its line was half written */
        else
            hf_free(frame);
    }
}

static void transport_done(struct hf_runtime *runtime)
{
    if (runtime->transport->done)
        runtime->transport->done(runtime);
}

void hf_runtime_discard(struct hf_runtime *runtime)
{
    runtime->is_frozen = true;
    transport_done(runtime);
    settle_calls(runtime);
    clear_timers(runtime);
    hf_unlink(&runtime->mark);
    hf_unlink(&runtime->link);
    hf_bury(runtime->server->engine, free_runtime, runtime);
}

static void report_pending_loss(struct hf_runtime *runtime);

static void release(struct hf_runtime *runtime)
{
    struct hf_slot *slot = runtime->slot;
    report_pending_loss(runtime); /* its exit never came, and is not waited for any more */
    transport_done(runtime);
    hf_emit(runtime->server->engine, HF_DO_RELEASE)->runtime = runtime;
    hf_runtime_discard(runtime);
    hf_slot_runtime_gone(slot);
}

static void freeze(struct hf_runtime *runtime)
{
    if (runtime->is_frozen)
        return;
    runtime->is_frozen = true;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->stall);
    runtime->transport->freeze(runtime);
}

static void pass_on(struct hf_runtime *runtime, unsigned effects)
{
    const struct hf_transport_ops *transport = runtime->transport;
    if (effects & HF_RUNTIME_DO_CLOSE_STDIN)
        transport->close(runtime);
    if (effects & HF_RUNTIME_DO_TERM && transport->term)
        transport->term(runtime);
    if (effects & HF_RUNTIME_DO_KILL)
        transport->kill(runtime);
}

void hf_runtime_event(struct hf_runtime *runtime, enum hf_runtime_event event)
{
    struct hf_engine *engine = runtime->server->engine;
    const enum hf_runtime_state before = runtime->machine.state;
    const unsigned effects = hf_runtime_step(&runtime->machine, event);
    if (effects & HF_RUNTIME_DO_REPORT_BUG) {
        hf_note(engine, runtime->server,
                &(struct hf_note) { .event = HF_NOTE_BUG,
                                    .generation = runtime->generation,
                                    .what = HF_SPAN("runtime"),
                                    .from = hf_span_of(hf_runtime_state_name(before)),
                                    .to = hf_span_of(hf_runtime_event_name(event)) });
        return;
    }
    if (runtime->machine.state != before) {
        int64_t stay_ms = hf_runtime_stay_ms(&runtime->machine, &runtime->server->settings);
        if (runtime->machine.state == HF_RUNTIME_KILLING && stay_ms == 0)
            stay_ms = 1; /* not in this turn: what was taken back is known only after it */
        hf_timer_set(&engine->timers, &runtime->stay,
                     stay_ms < 0 ? 0 : engine->now_ms + (uint64_t)stay_ms);
    }
    if (effects & HF_RUNTIME_DO_FREEZE)
        freeze(runtime);
    pass_on(runtime, effects);
    if (effects & HF_RUNTIME_DO_CLOSE_FAILED) {
        runtime->server->close_failed = true;
        hf_note(
            engine, runtime->server,
            &(struct hf_note) { .event = HF_NOTE_CLOSE_FAILED, .generation = runtime->generation });
    }
    if (effects & HF_RUNTIME_DO_RELEASE)
        release(runtime);
}

/* ---- becoming live ---- */

void hf_runtime_maybe_greet(struct hf_runtime *runtime)
{
    if (runtime->machine.state != HF_RUNTIME_SPAWNING || !runtime->is_started)
        return;
    const struct hf_session *owner = runtime->slot->owner;
    if (runtime->server->is_clients_own && !(owner && owner->initialize_params))
        return; /* the server gets the client's own initialize params, which are still to come */
    if (!runtime->start.at_ms)
        arm_start(runtime);
    if (runtime->server->era != HF_ERA_LEGACY && !runtime->is_older_transport) {
        hf_era_probe_begin(runtime);
        return;
    }
    hf_runtime_event(runtime, HF_RUNTIME_EV_GREET);
    runtime->transport->greet(runtime);
}

void hf_runtime_started(struct hf_runtime *runtime, long pid, struct hf_now now)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_set_now(engine, now);
    runtime->pid = pid;
    runtime->is_started = true;
    if (!runtime->remote)
        hf_note(engine, runtime->server,
                &(struct hf_note) {
                    .event = HF_NOTE_STARTED, .generation = runtime->generation, .pid = pid });
    hf_runtime_maybe_greet(runtime);
}

/* ---- ending ---- */

/* A runtime ends that was not told to: its slot is told before anything else happens. */
static void report_loss(struct hf_runtime *runtime)
{
    struct hf_slot *slot = runtime->slot;
    const bool is_dead = runtime->has_exited || runtime->is_silent;
    if (runtime == slot->attempt && runtime->may_die_of_probe && is_dead) {
        slot->attempt = NULL; /* the server exits when it gets the era probe */
        runtime->server->era = HF_ERA_LEGACY;
        hf_slot_begin_attempt(slot, slot->attempt_is_extra);
        return;
    }
    if (runtime == slot->attempt) {
        slot->attempt = NULL;
        hf_slot_attempt_failed(slot, true);
        return;
    }
    if (runtime != slot->current)
        return;
    slot->losses++;
    const bool clean = runtime->has_exited && WIFEXITED(runtime->wait_status) &&
                       WEXITSTATUS(runtime->wait_status) == 0;
    const bool is_idle = runtime->in_flight == 0 && slot->waiting == 0;
    if (clean && is_idle && !slot->attempt) {
        hf_slot_event(slot, HF_SLOT_EV_REST);
        return;
    }
    hf_backoff_died(&runtime->server->backoff, runtime->completed_a_call,
                    runtime->server->engine->now_ms);
    hf_slot_event(slot, HF_SLOT_EV_LOST);
}

/* EOF often comes a moment before the exit that explains it, and only the exit tells whether the
 * server ended cleanly: the loss is reported when the exit is known, or after eofMs. */
static void report_loss_once_known(struct hf_runtime *runtime)
{
    if (runtime->has_exited || !runtime->is_silent) {
        report_loss(runtime);
        return;
    }
    runtime->is_loss_pending = true;
    hf_timer_set(&runtime->server->engine->timers, &runtime->eof,
                 runtime->server->engine->now_ms + runtime->server->settings.eof_ms);
}

static void report_pending_loss(struct hf_runtime *runtime)
{
    if (!runtime->is_loss_pending)
        return;
    runtime->is_loss_pending = false;
    report_loss(runtime);
}

void hf_runtime_lose(struct hf_runtime *runtime, enum hf_runtime_event how)
{
    const bool was_up = runtime->machine.state < HF_RUNTIME_CLOSING;
    hf_runtime_event(runtime, how);
    if (was_up)
        report_loss_once_known(runtime);
}

/* What was taken back is known only after the shell has performed HF_DO_TAKE_BACK; the calls are
 * judged then, or as soon as no answer can come any more and the loss has been reported. */
void hf_runtime_maybe_settle(struct hf_runtime *runtime)
{
    if (runtime->is_silent && runtime->taken_back >= 0 && !runtime->is_loss_pending)
        settle_calls(runtime);
}

static void maybe_over(struct hf_runtime *runtime)
{
    if (runtime->is_over || !runtime->has_exited || !runtime->is_silent)
        return;
    runtime->is_over = true;
    hf_timer_clear(&runtime->server->engine->timers, &runtime->eof);
    if (runtime->machine.state != HF_RUNTIME_GONE)
        hf_runtime_event(runtime, HF_RUNTIME_EV_ENDED);
    if (runtime->is_tree_gone && runtime->machine.state == HF_RUNTIME_KILLING)
        hf_runtime_event(runtime, HF_RUNTIME_EV_TREE_GONE);
}

void hf_runtime_eof(struct hf_runtime *runtime, struct hf_now now)
{
    hf_set_now(runtime->server->engine, now);
    if (runtime->is_silent || runtime->machine.state == HF_RUNTIME_GONE)
        return;
    runtime->is_silent = true;
    const bool is_running = runtime->machine.state > HF_RUNTIME_SPAWNING && !runtime->has_exited;
    if (is_running && runtime->machine.state < HF_RUNTIME_CLOSING)
        hf_server_reason(runtime->server, "closed its stdout"); /* else the guard says why */
    hf_runtime_lose(runtime, HF_RUNTIME_EV_STDOUT_EOF);
    hf_runtime_maybe_settle(runtime);
    maybe_over(runtime);
}

static void describe_exit(struct hf_runtime *runtime)
{
    const int status = runtime->wait_status;
    if (WIFSIGNALED(status))
        hf_server_reason(runtime->server, "killed by signal %d", WTERMSIG(status));
    else
        hf_server_reason(runtime->server, "exited with status %d", WEXITSTATUS(status));
}

void hf_runtime_exited(struct hf_runtime *runtime, int wait_status, struct hf_now now)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_set_now(engine, now);
    if (runtime->has_exited || runtime->machine.state == HF_RUNTIME_GONE)
        return;
    runtime->has_exited = true;
    runtime->wait_status = wait_status;
    if (runtime->machine.state < HF_RUNTIME_CLOSING || runtime->is_loss_pending) {
        describe_exit(runtime);
        hf_note(engine, runtime->server,
                &(struct hf_note) { .event = HF_NOTE_EXITED,
                                    .generation = runtime->generation,
                                    .pid = runtime->pid,
                                    .reason = hf_span_of(runtime->server->reason) });
    }
    hf_runtime_lose(runtime, HF_RUNTIME_EV_EXITED);
    report_pending_loss(runtime);
    hf_runtime_maybe_settle(runtime);
    if (runtime->machine.state != HF_RUNTIME_KILLING) /* from here on EOF is waited for */
        hf_timer_clear(&engine->timers, &runtime->stay);
    if (!runtime->is_silent)
        hf_timer_set(&engine->timers, &runtime->eof,
                     now.mono_ms + runtime->server->settings.eof_ms);
    maybe_over(runtime);
}

void hf_runtime_disconnected(struct hf_runtime *runtime, struct hf_now now)
{
    hf_set_now(runtime->server->engine, now);
    if (runtime->machine.state == HF_RUNTIME_GONE)
        return;
    runtime->has_exited = runtime->is_silent = runtime->is_tree_gone = true;
    hf_runtime_maybe_settle(runtime);
    maybe_over(runtime);
}

/* Bytes in the pipe that we did not write were put there by the server itself: then nobody can tell
 * which of our bytes it read, and all that was written counts as read. */
void hf_runtime_taken_back(struct hf_runtime *runtime, const struct hf_span *taken,
                           struct hf_now now)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_set_now(engine, now);
    assert(runtime->is_frozen);
    const bool is_proof = taken && hf_tail_is(&runtime->tail, *taken);
    if (taken && !is_proof)
        hf_note(engine, runtime->server,
                &(struct hf_note) { .event = HF_NOTE_FOREIGN_STDIN,
                                    .generation = runtime->generation,
                                    .count = (int64_t)taken->n });
    runtime->taken_back = is_proof ? (int64_t)taken->n : 0;
    hf_runtime_maybe_settle(runtime);
}

void hf_runtime_tree_gone(struct hf_runtime *runtime, struct hf_now now)
{
    hf_set_now(runtime->server->engine, now);
    runtime->is_tree_gone = true;
    if (runtime->machine.state != HF_RUNTIME_KILLING) {
        if (runtime->machine.state != HF_RUNTIME_GONE)
            hf_runtime_event(runtime, HF_RUNTIME_EV_TREE_GONE);
        return;
    }
    /* The tree was killed, but the server's last output may still be in the pipe (P4): EOF follows
     * at once now. */
    if (runtime->is_silent)
        hf_runtime_event(runtime, HF_RUNTIME_EV_TREE_GONE);
    else
        hf_timer_set(&runtime->server->engine->timers, &runtime->eof,
                     now.mono_ms + runtime->server->settings.eof_ms);
}

/* Only before anything is known of the server and its client was told anything: what was there once
 * may come back. */
static bool is_very_first_start(const struct hf_slot *slot)
{
    const struct hf_server *server = slot->server;
    if (!server->is_clients_own || server->attempts > 1 || server->greeting)
        return false;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        if (server->parts[part])
            return false;
    return !slot->owner || !slot->owner->was_greeted_blind;
}

void hf_runtime_not_started(struct hf_runtime *runtime, const struct hf_start_failure *failure,
                            struct hf_now now)
{
    struct hf_engine *engine = runtime->server->engine;
    hf_set_now(engine, now);
    struct hf_slot *slot = runtime->slot;
    const bool was_attempt = runtime == slot->attempt;
    hf_server_reason(runtime->server, "could not start: %s", failure->why);
    if (was_attempt) {
        slot->attempt = NULL;
        runtime->server->cannot_start =
            is_very_first_start(slot) && hf_start_failed_for_good(failure);
    }
    runtime->is_frozen = true;
    runtime->taken_back = 0;
    if (runtime->machine.state == HF_RUNTIME_SPAWNING) {
        hf_runtime_event(runtime, HF_RUNTIME_EV_NOT_STARTED);
    } else { /* the attempt was given up before this report came */
        runtime->has_exited = runtime->is_silent = runtime->is_tree_gone = true;
        maybe_over(runtime);
    }
    if (was_attempt)
        hf_slot_attempt_failed(slot, true);
}

/* ---- time and draining ---- */

void hf_runtime_maybe_drained(struct hf_runtime *runtime)
{
    if (runtime->machine.state == HF_RUNTIME_DRAINING && runtime->in_flight == 0)
        hf_runtime_event(runtime, HF_RUNTIME_EV_DRAINED);
}

void hf_runtime_eof_timer(struct hf_runtime *runtime)
{
    /* If the server has exited, a descendant holds its stdout, and what the descendant writes is
     * nobody's answer any more. If its stdout was closed, the server lives on without one, and is
     * as good as lost. */
    runtime->is_silent = true;
    report_pending_loss(runtime);
    hf_runtime_maybe_settle(runtime);
    maybe_over(runtime);
    if (runtime->machine.state == HF_RUNTIME_KILLING && runtime->is_tree_gone)
        hf_runtime_event(runtime, HF_RUNTIME_EV_TREE_GONE);
}

void hf_runtime_stay_timer(struct hf_runtime *runtime)
{
    if (!runtime->transport->outstayed || !runtime->transport->outstayed(runtime))
        hf_runtime_event(runtime, HF_RUNTIME_EV_TIMEOUT);
}

void hf_runtime_start_timer(struct hf_runtime *runtime)
{
    if (runtime->machine.state < HF_RUNTIME_LIVE) {
        hf_server_reason(runtime->server, "did not finish starting within %u ms",
                         runtime->server->settings.start_timeout_ms);
        hf_runtime_lose(runtime, HF_RUNTIME_EV_TIMEOUT);
    } else if (runtime->transport->start_timed_out) {
        runtime->transport->start_timed_out(runtime);
    }
}

/* ---- what the shell asks ---- */

struct hf_server *hf_runtime_server(const struct hf_runtime *runtime)
{
    return runtime->server;
}
bool hf_runtime_is_remote(const struct hf_runtime *runtime)
{
    return runtime->remote != NULL;
}
uint64_t hf_runtime_generation(const struct hf_runtime *runtime)
{
    return runtime->generation;
}
enum hf_runtime_state hf_runtime_state(const struct hf_runtime *runtime)
{
    return runtime->machine.state;
}
