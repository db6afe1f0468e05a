/* shell.c - the engine's other shell: performs its effects on the fake world, feeds it what the
 * world does, and moves the clock.
 *
 * It keeps the order of the real one (lib/holdfast.c, backend/): effects in the order they were
 * made, writes at the end of a turn, a line at a time, and no pump inside a pump. The clock
 * stands while anything can be delivered: a loop that reads late would blame the server. */
#include <errno.h>
#include <inttypes.h>
#include "sim.h"

enum { SPANS = 256, LATE_MS = 3 };

/* ---- effects ---- */

static const char *const evidence_names[] = { "unsent", "partial", "unread", "refused",
                                              "dispatched" };

static void take_note(struct sim *sim, const struct hf_note *note)
{
    TRACE(sim, "    note %.*s#%" PRIu64 " %d %.*s %.*s", HF_FMT(note->server), note->generation,
          note->event, HF_FMT(note->reason), HF_FMT(note->what));
    if (note->event == HF_NOTE_BUG)
        sim_broken(sim, PROMISE_INNER, "the engine says: a %.*s that is %.*s was told %.*s",
                   HF_FMT(note->what), HF_FMT(note->from), HF_FMT(note->to));
    sim->stats->never += note->event == HF_NOTE_PARK_EXPIRED;
    for (size_t i = 0; note->event == HF_NOTE_RESEND && i < HF_EVIDENCE_COUNT; i++)
        sim->stats->resends[i] += hf_span_is(note->evidence, evidence_names[i]);
}

static void forget(struct sim *sim, struct hf_server *server)
{
    struct instance *instance = instance_behind(hf_server_config(server));
    TRACE(sim, "    forget server %s", server->name);
    if (!instance->removed)
        sim_broken(sim, PROMISE_INNER, "a server was forgotten that nobody removed");
    instance->forgotten = true;
    instance->server = NULL;
    instance->off_by_ms = 0;
}

static void perform(struct sim *sim, const struct hf_effect *effect)
{
    struct child *child =
        effect->runtime ? child_behind(hf_runtime_backend(effect->runtime)) : NULL;
    switch (effect->kind) {
    case HF_DO_SPAWN: (void)child_spawn(sim, effect->runtime); break;
    case HF_DO_WRITE: child->is_dirty = true; break;
    case HF_DO_TAKE_BACK:
    case HF_DO_CLOSE_STDIN:
    case HF_DO_TERM:
    case HF_DO_KILL: child_perform(sim, child, effect->kind); break;
    case HF_DO_RELEASE: child_release(sim, child); break;
    case HF_DO_SEND:
        client_got(sim, client_behind(hf_session_sink(effect->session)), effect);
        break;
    case HF_DO_NOTE: take_note(sim, effect->note); break;
    case HF_DO_EXCHANGE: exchange_begin(sim, effect->exchange); break;
    case HF_DO_ABORT_EXCHANGE: exchange_abort(sim, effect->exchange); break;
    case HF_DO_DISCONNECT: hf_runtime_disconnected(effect->runtime, at(sim->now_ms)); break;
    case HF_DO_FORGET_SERVER: forget(sim, effect->server); break;
    case HF_DO_ASK_LEAVE: leaves_asked(sim, effect); break;
    }
}

void shell_begin(struct sim *sim, struct hf_runtime *runtime)
{
    sim->events++;
    sim->in_event = true;
    check_before(sim, runtime);
}

void shell_end(struct sim *sim)
{
    struct hf_effect effect;
    while (hf_engine_next_effect(sim->engine, &effect))
        perform(sim, &effect);
    sim->in_event = false;
    if (!sim->has_failed)
        check_after(sim);
    hf_engine_collect(sim->engine);
}

/* ---- writing ---- */

void shell_flush(struct sim *sim)
{
    for (unsigned i = 0; i < sim->child_top && !sim->has_failed; i++) {
        struct child *child = &sim->children[i];
        if (child->in_use && child->is_dirty && child->runtime) {
            child->is_dirty = false;
            child_write(sim, child);
        }
    }
}

/* ---- what children did becomes events ---- */

static void deliver_news(struct sim *sim, struct child *child)
{
    static const char *const names[] = { "started", "no exec", "exited", "tree gone" };
    struct hf_runtime *runtime = child->runtime;
    const enum news news = child->news[child->news_head++];
    TRACE(sim, "child %u: %s", child->serial, names[news]);
    shell_begin(sim, runtime);
    switch (news) {
    case NEWS_STARTED: hf_runtime_started(runtime, (long)child->serial, at(sim->now_ms)); break;
    case NEWS_NO_EXEC: {
        const struct hf_start_failure failure = { HF_START_EXECUTE, ENOENT, "no such file" };
        hf_runtime_not_started(runtime, &failure, at(sim->now_ms));
        break;
    }
    case NEWS_EXITED:
        modern_before_exit(sim, child);
        hf_runtime_exited(runtime, child->wait_status, at(sim->now_ms));
        modern_after_exit(sim);
        break;
    case NEWS_TREE_GONE: hf_runtime_tree_gone(runtime, at(sim->now_ms)); break;
    }
    shell_end(sim);
}

static void take_lines(struct sim *sim, struct child *child, bool is_end)
{
    for (struct hf_span line; child->runtime && !sim->has_failed;) {
        const enum hf_line_kind kind =
            is_end ? hf_lines_last(&child->lines, &line) : hf_lines_next(&child->lines, &line);
        if (kind == HF_LINE_NONE)
            return;
        if (kind == HF_LINE_WHOLE)
            TRACE(sim, "child %u says %.*s", child->serial, (int)(line.n < 300 ? line.n : 300),
                  line.p);
        shell_begin(sim, child->runtime);
        update_before(sim, child->runtime, kind == HF_LINE_WHOLE ? line : HF_SPAN(""));
        if (kind == HF_LINE_WHOLE)
            hf_runtime_line(child->runtime, line, at(sim->now_ms));
        else
            hf_runtime_line_oversized(child->runtime, hf_lines_over(&child->lines),
                                      at(sim->now_ms));
        shell_end(sim);
        update_after(sim);
    }
}

static void deliver_bytes(struct sim *sim, struct child *child)
{
    size_t room;
    const size_t there = hf_buf_len(&child->out);
    size_t n = chance(sim, 60) ? there : 1 + below(sim, (uint32_t)there);
    char *into = hf_lines_room(&child->lines, 4096, &room);
    n = n < room ? n : room;
    memcpy(into, hf_buf_span(&child->out).p, n);
    hf_buf_consume(&child->out, n);
    hf_lines_added(&child->lines, n);
    hf_runtime_bytes_came(child->runtime, at(sim->now_ms));
    take_lines(sim, child, false);
    if (child->runtime && chance(sim, 2))
        hf_runtime_stderr_line(child->runtime, HF_SPAN("something went wrong"));
}

static void deliver_end(struct sim *sim, struct child *child)
{
    take_lines(sim, child, true);
    if (!child->runtime || sim->has_failed)
        return;
    TRACE(sim, "child %u: end of its stdout", child->serial);
    child->said_silent = true;
    shell_begin(sim, child->runtime);
    hf_runtime_eof(child->runtime, at(sim->now_ms));
    shell_end(sim);
}

/* ---- one step ---- */

enum deed { DO_NEWS, DO_BYTES, DO_END, DO_WRITE, DO_ACT };

static bool can_do(const struct sim *sim, const struct child *child, enum deed deed)
{
    if (!child->in_use || (!child->runtime && deed != DO_ACT))
        return false;
    switch (deed) {
    case DO_NEWS: return child->news_head < child->news_count;
    case DO_BYTES: return !child->said_silent && hf_buf_len(&child->out) > 0;
    case DO_END: return !child->said_silent && hf_buf_len(&child->out) == 0 && child_has_eof(child);
    case DO_WRITE:
        return child->is_blocked && !child->frozen &&
               child->readable_end - child->read_total < child->capacity;
    case DO_ACT: return child->wake_ms <= sim->now_ms;
    }
    return false;
}

static void do_deed(struct sim *sim, struct child *child, enum deed deed)
{
    switch (deed) {
    case DO_NEWS: deliver_news(sim, child); break;
    case DO_BYTES: deliver_bytes(sim, child); break;
    case DO_END: deliver_end(sim, child); break;
    case DO_WRITE: child_write(sim, child); break;
    case DO_ACT: child_act(sim, child); break;
    }
}

bool shell_is_quiet(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->child_top; i++)
        for (enum deed deed = DO_NEWS; deed <= DO_ACT; deed++)
            if (can_do(sim, &sim->children[i], deed) || sim->children[i].is_dirty)
                return false;
    for (unsigned i = 0; i < sim->exchange_top; i++)
        if (sim->exchanges[i].in_use && sim->exchanges[i].wake_ms <= sim->now_ms)
            return false;
    return true;
}

static void tick(struct sim *sim)
{
    TRACE(sim, "tick");
    shell_begin(sim, NULL);
    hf_engine_tick(sim->engine, at(sim->now_ms));
    shell_end(sim);
    const uint64_t next = hf_engine_next_ms(sim->engine);
    if (!sim->has_failed && (!next || next > sim->now_ms)) /* else the next tick comes first */
        check_time(sim);
}

static void pass_time(struct sim *sim)
{
    uint64_t next = hf_engine_next_ms(sim->engine);
    const uint64_t engine_next = next;
    for (unsigned i = 0; i < sim->child_top; i++) {
        const struct child *child = &sim->children[i];
        if (child->in_use && child->wake_ms != UINT64_MAX && (!next || child->wake_ms < next))
            next = child->wake_ms;
    }
    for (unsigned i = 0; i < sim->exchange_top; i++) {
        const struct exchange *x = &sim->exchanges[i];
        if (x->in_use && x->wake_ms != UINT64_MAX && (!next || x->wake_ms < next))
            next = x->wake_ms;
    }
    const uint64_t leave = leaves_next_ms(sim);
    if (leave && (!next || leave < next))
        next = leave;
    if (!next)
        return;
    if (next > sim->now_ms) {
        const uint64_t gap = next - sim->now_ms;
        sim->now_ms = chance(sim, 25) ? sim->now_ms + 1 + sim_random(sim) % gap : next;
        if (chance(sim, 5))
            sim->now_ms += below(sim, LATE_MS);
    }
    if (engine_next && engine_next <= sim->now_ms)
        tick(sim);
}

void shell_step(struct sim *sim)
{
    struct child *chosen = NULL;
    struct exchange *exchange = NULL;
    enum deed how = DO_ACT;
    uint32_t seen = 0;
    for (unsigned i = 0; i < sim->child_top; i++)
        for (enum deed deed = DO_NEWS; deed <= DO_ACT; deed++)
            if (can_do(sim, &sim->children[i], deed) && below(sim, ++seen) == 0) {
                chosen = &sim->children[i];
                how = deed;
            }
    for (unsigned i = 0; i < sim->exchange_top; i++)
        if (sim->exchanges[i].in_use && sim->exchanges[i].wake_ms <= sim->now_ms &&
            below(sim, ++seen) == 0)
            exchange = &sim->exchanges[i];
    const uint64_t next = hf_engine_next_ms(sim->engine);
    const uint64_t leave = leaves_next_ms(sim);
    const bool is_asked = leave && leave <= sim->now_ms;
    seen += is_asked;
    if (seen && next && next <= sim->now_ms && chance(sim, 50))
        tick(sim); /* a loop looks at its timers before its descriptors */
    else if (is_asked && chance(sim, 50))
        leaves_act(sim);
    else if (exchange)
        exchange_act(sim, exchange);
    else if (chosen)
        do_deed(sim, chosen, how);
    if (!seen || chance(sim, 85))
        shell_flush(sim);
    if (!seen && shell_is_quiet(sim))
        pass_time(sim);
}
