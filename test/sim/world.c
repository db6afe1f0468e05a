/* world.c - children: their pipes, their readers, their deaths and what they leave behind.
 *
 * A message in a child's stdin is a segment of a stream of bytes. Who read which byte is recorded
 * here, and it is this record that answers are judged by. */
#include <errno.h>
#include <signal.h>
#include "sim.h"

/* ---- coming ---- */

static void add_news(struct child *child, enum news news)
{
    assert(child->news_count < sizeof child->news / sizeof *child->news);
    child->news[child->news_count++] = news;
}

static struct child *free_child(struct sim *sim)
{
    unsigned i = 0;
    while (i < CHILDREN && sim->children[i].in_use)
        i++;
    assert(i < CHILDREN && "more processes than any sane run has");
    if (i == sim->child_top)
        sim->child_top++;
    return &sim->children[i];
}

static void reset(struct sim *sim, struct child *child)
{
    struct hf_buf in = child->in, out = child->out;
    struct hf_lines lines = child->lines;
    memset(child, 0, offsetof(struct child, segments));
    if (!in.max) {
        hf_buf_init(&in, SIZE_MAX / 2);
        hf_buf_init(&out, SIZE_MAX / 2);
    }
    hf_buf_clear(&in);
    hf_buf_clear(&out);
    hf_lines_done(&lines);
    hf_lines_init(&lines, sim->limits.max_message_bytes);
    child->in = in;
    child->out = out;
    child->lines = lines;
}

/* A remote server runs whether we come or not: all we need is an HTTP client. */
static void open_wire(struct sim *sim, struct child *child)
{
    child->is_remote = true;
    if (!sim->is_calm && chance(sim, 50)) /* too many good ones are boring */
        child->is.evil = 50;
    child->life = ELSEWHERE;
    child->wake_ms = UINT64_MAX;
    if (!child->is.no_exec) {
        hf_runtime_started(child->runtime, 0, at(sim->now_ms));
        return;
    }
    sim->failed_at_once = true;
    fault(sim, NULL, FAULT_NO_CLIENT);
    const struct hf_start_failure failure = { .why = "libcurl cannot be loaded" };
    hf_runtime_not_started(child->runtime, &failure, at(sim->now_ms));
}

struct child *child_spawn(struct sim *sim, struct hf_runtime *runtime)
{
    struct child *child = free_child(sim);
    reset(sim, child);
    child->in_use = true;
    child->serial = ++sim->child_serial;
    child->runtime = runtime;
    child->instance = instance_behind(hf_server_config(hf_runtime_server(runtime)));
    child->is = operator_personality(sim);
    child->speaks = child->instance->speaks;
    child->is_sane = sim->is_calm;
    child->capacity = PICK(sim, 64, 300, 4096, 65536, 65536);
    child->wake_ms = sim->now_ms + child->is.start_ms + (chance(sim, 50) ? below(sim, 10) : 0);
    hf_runtime_set_backend(runtime, hf_backend_of(child));
    TRACE(sim, "    spawn child %u for %s#%llu", child->serial, hf_runtime_server(runtime)->name,
          (unsigned long long)hf_runtime_generation(runtime));
    if (hf_runtime_is_remote(runtime)) {
        open_wire(sim, child);
        return child;
    }
    sim->stats->spawns++;
    if (child->is.no_exec) { /* as when hf_proc_start itself fails */
        child->life = DEAD;
        child->wake_ms = UINT64_MAX;
        sim->failed_at_once = true;
        const struct hf_start_failure failure = { .error = EAGAIN, .why = "out of processes" };
        hf_runtime_not_started(runtime, &failure, at(sim->now_ms));
    }
    return child;
}

static void begin_life(struct sim *sim, struct child *child)
{
    child->wake_ms = UINT64_MAX;
    if (child->is.no_exec_later) {
        child->life = DEAD;
        add_news(child, NEWS_NO_EXEC);
        return;
    }
    if (child->is.guard_is_lost) {
        child_die(sim, child, SIGKILL);
        return;
    }
    child->life = ALIVE;
    child->wake_ms = sim->now_ms;
    add_news(child, NEWS_STARTED);
    if (child->is.dies_in_start && chance(sim, 50))
        child_die(sim, child, 1 << 8);
}

/* ---- going ---- */

bool child_has_eof(const struct child *child)
{
    return child->stdout_closed || (child->life == DEAD && !child->stdout_held);
}

static void tree_ends(struct sim *sim, struct child *child)
{
    child->stdout_held = false;
    child->is.descendant_reads = false;
    child->wake_ms = UINT64_MAX;
    add_news(child, NEWS_TREE_GONE);
    if (!child->runtime)
        child_drop(sim, child);
}

void child_die(struct sim *sim, struct child *child, int wait_status)
{
    if (child->life == DEAD)
        return;
    TRACE(sim, "  child %u dies, status %d, read %llu of %llu", child->serial, wait_status,
          (unsigned long long)child->read_total, (unsigned long long)child->written);
    sim->stats->deaths++;
    child->life = DEAD;
    child->wait_status = wait_status;
    add_news(child, NEWS_EXITED);
    if (child->is.leaves_descendant && !child->kill_at_ms) {
        child->stdout_held = true;
        child->wake_ms = sim->now_ms;
        child->eof_asked_ms = sim->now_ms + child->is.descendant_ms; /* when it ends by itself */
        for (unsigned i = 0; i < child->pending_count; i++) /* it was the one who worked on it */
            child->pending[i].due_ms = sim->now_ms + below(sim, 2000);
    } else {
        child->pending_count = 0;
        tree_ends(sim, child);
    }
}

static void be_killed(struct sim *sim, struct child *child)
{
    child->kill_at_ms = sim->now_ms ? sim->now_ms : 1;
    if (child->life == ALIVE && child->is.unkillable_ms && child->pending_count) {
        struct pending last_words = child->pending[--child->pending_count];
        talk_answer(sim, child, &last_words);
    }
    if (child->life == SPAWNING && chance(sim, 50)) {
        child->life = ALIVE;
        add_news(child, NEWS_STARTED);
    }
    if (child->life != DEAD)
        child_die(sim, child, SIGKILL);
    else if (child->stdout_held)
        tree_ends(sim, child);
}

static void kill_child(struct sim *sim, struct child *child)
{
    const bool is_gone = child->life == DEAD && !child->stdout_held;
    if (is_gone || child->kill_at_ms)
        return;
    if (!child->is.unkillable_ms) {
        be_killed(sim, child);
        return;
    }
    child->kill_at_ms = sim->now_ms + child->is.unkillable_ms;
    if (child->kill_at_ms < child->wake_ms)
        child->wake_ms = child->kill_at_ms;
}

void child_drop(struct sim *sim, struct child *child)
{
    child->in_use = false;
    child->is_dirty = false;
    while (sim->child_top && !sim->children[sim->child_top - 1].in_use)
        sim->child_top--;
}

void child_release(struct sim *sim, struct child *child)
{
    TRACE(sim, "    release child %u", child->serial);
    child->runtime = NULL;
    for (unsigned i = 0; i < sim->exchange_top; i++)
        if (sim->exchanges[i].in_use && sim->exchanges[i].post && sim->exchanges[i].wire == child)
            sim_broken(sim, PROMISE_INNER, "a wire was released with exchange %u on it",
                       sim->exchanges[i].serial);
    if (child->is_remote) {
        child_drop(sim, child);
        return;
    }
    child->is_dirty = child->is_blocked = false;
    kill_child(sim, child); /* as hf_proc_free does */
    if (child->in_use && child->life == DEAD && !child->stdout_held)
        child_drop(sim, child);
}

/* What is in the pipe: what it has not read, and what it wrote there itself. */
static struct hf_span pipe_of(struct sim *sim, struct child *child)
{
    const size_t read = (size_t)(child->read_total - child->in_base);
    const size_t left = (size_t)(child->readable_end - child->read_total);
    hf_buf_clear(&sim->scratch);
    hf_buf_add(&sim->scratch, (struct hf_span) { hf_buf_span(&child->in).p + read, left });
    if (child->is.writes_own_stdin) {
        fault(sim, NULL, FAULT_FOREIGN_STDIN);
        for (uint64_t n = below(sim, (uint32_t)child->written + 20); n > 0; n--)
            hf_buf_add_char(&sim->scratch, 'x');
        hf_buf_add_char(&sim->scratch, '\n');
    }
    return hf_buf_span(&sim->scratch);
}

static void steal(struct sim *sim, struct child *child)
{
    const struct hf_span taken = pipe_of(sim, child);
    child->frozen = true;
    child->steal_failed = child->is.steal_fails || child->is.writes_own_stdin;
    if (!child->is.steal_fails) {
        child->readable_end = child->read_total;
        child->in.end = child->in.start + (size_t)(child->read_total - child->in_base);
    }
    for (unsigned i = child->segment_head; child->steal_failed && i < child->segment_count; i++)
        if (child->segments[i].request >= 0)
            sim->requests[child->segments[i].request].steal_failed = true;
    TRACE(sim, "    steal from child %u: %zu of %llu%s", child->serial, taken.n,
          (unsigned long long)child->written, child->steal_failed ? ", proves nothing" : "");
    hf_runtime_taken_back(child->runtime, child->is.steal_fails ? NULL : &taken, at(sim->now_ms));
}

void child_perform(struct sim *sim, struct child *child, enum hf_effect_kind effect)
{
    static const char *const names[] = { "spawn", "write", "steal", "close stdin", "term", "kill" };
    TRACE(sim, "    %s child %u", names[effect], child->serial);
    switch (effect) {
    case HF_DO_TAKE_BACK: steal(sim, child); break;
    case HF_DO_CLOSE_STDIN:
        child->stdin_closed = true;
        child->is_dirty = child->is_blocked = false;
        if (child->life == ALIVE)
            child->wake_ms = sim->now_ms;
        break;
    case HF_DO_TERM:
        if (child->life == ALIVE && !child->is.deaf_to_term)
            child_die(sim, child, child->is.exits_clean ? 0 : SIGTERM);
        break;
    case HF_DO_KILL: kill_child(sim, child); break;
    default: assert(0 && "not for a child");
    }
}

void child_become_sane(struct sim *sim, struct child *child)
{
    child->is = (struct personality) { .reads = child->is.reads, .read_max = 4096 };
    child->is_sane = true;
    if (child->is_remote) {
        for (unsigned i = 0; i < child->pending_count; i++)
            child->pending[i].due_ms = sim->now_ms;
        return;
    }
    if (child->wake_ms > sim->now_ms && child->life == ALIVE)
        child->wake_ms = sim->now_ms;
    for (unsigned i = 0; i < child->pending_count; i++)
        child->pending[i].due_ms = sim->now_ms;
    if (child->kill_at_ms > sim->now_ms)
        be_killed(sim, child);
    else if (child->life == DEAD && child->stdout_held)
        tree_ends(sim, child);
}

/* ---- its stdin: writing ---- */

int key_of(struct hf_span line)
{
    static const char mark[] = "\"_k\":";
    const char *at = memmem(line.p, line.n, mark, sizeof mark - 1);
    return at ? atoi(at + sizeof mark - 1) : -1;
}

/* Finds where messages begin and end in the next `n` bytes of what is to be written. */
static void cut_segments(struct sim *sim, struct child *child, struct hf_span text, size_t n)
{
    uint64_t at = 0;
    if (child->segment_count) {
        const struct segment *last = &child->segments[child->segment_count - 1];
        if (last->newline >= child->written)
            at = last->newline + 1 - child->written;
    }
    while (at < n) {
        const char *newline = memchr(text.p + at, '\n', text.n - at);
        if (!newline || newline[-1] != '}') {
            sim_broken(sim, PROMISE_INNER, "what is written does not end in a brace");
            return;
        }
        const uint64_t end = (uint64_t)(newline - text.p);
        const struct hf_span line = { text.p + at, end - at };
        child->segments[child->segment_count++] = (struct segment) {
            .start = child->written + at,
            .brace = child->written + end - 1,
            .newline = child->written + end,
            .request = key_of(line),
        };
        TRACE(sim, "write to child %u: %.*s", child->serial, (int)(line.n < 300 ? line.n : 300),
              line.p);
        if (child->segments[child->segment_count - 1].request >= 0) {
            const int request = child->segments[child->segment_count - 1].request;
            modern_leaves(sim, request, modern_round_of(line));
            request_leaves(sim, child, request);
        }
        at = end + 1;
    }
}

static void compact_segments(struct child *child)
{
    const unsigned left = child->segment_count - child->segment_head;
    memmove(child->segments, child->segments + child->segment_head, left * sizeof *child->segments);
    child->segment_head = 0;
    child->segment_count = left;
}

static bool write_once(struct sim *sim, struct child *child)
{
    struct hf_span spans[128];
    const size_t count = hf_runtime_gather(child->runtime, spans, 128);
    const uint64_t there = child->readable_end - child->read_total;
    size_t room = there < child->capacity ? child->capacity - (size_t)there : 0;
    compact_segments(child);
    hf_buf_clear(&sim->scratch);
    for (size_t i = 0; i < count; i++)
        hf_buf_add(&sim->scratch, spans[i]);
    const struct hf_span text = hf_buf_span(&sim->scratch);
    child->is_blocked = false;
    if (text.n == 0)
        return false;
    if (room && chance(sim, 10))
        room = 1 + below(sim, (uint32_t)room);
    /* not more lines than there is a record for, and no line whose end was not gathered */
    const char *last = memrchr(text.p, '\n', text.n);
    const size_t whole = last ? (size_t)(last + 1 - text.p) : text.n;
    size_t n = room < whole ? room : whole;
    if (child->segment_count + 140 > SEGMENTS)
        n = 0;
    child->is_blocked = n < text.n;
    if (n == 0)
        return false;
    cut_segments(sim, child, text, n);
    hf_buf_add(&child->in, (struct hf_span) { text.p, n });
    child->written += n;
    child->readable_end += n;
    for (unsigned i = child->segment_head; i < child->segment_count; i++)
        if (child->segments[i].request >= 0 && child->segments[i].newline < child->written)
            sim->requests[child->segments[i].request].is_written = true;
    if (child->life == ALIVE && child->wake_ms > sim->now_ms && !child->is.stops_reading)
        child->wake_ms = sim->now_ms;
    TRACE(sim, "wrote %zu of %zu to child %u", n, text.n, child->serial);
    shell_begin(sim, child->runtime);
    hf_runtime_wrote(child->runtime, n, at(sim->now_ms));
    shell_end(sim);
    return n == whole && child->runtime;
}

void child_write(struct sim *sim, struct child *child)
{
    while (!child->frozen && !child->stdin_closed && !sim->has_failed && write_once(sim, child))
        ;
}

/* ---- its stdin: reading ---- */

static void note_read(struct sim *sim, struct child *child, struct segment *segment, uint64_t from)
{
    struct request *r = segment->request < 0 ? NULL : &sim->requests[segment->request];
    const uint64_t to = child->read_total;
    if (segment->start >= from)
        segment->leader_began = child->life == ALIVE;
    if (!r)
        return;
    r->byte_taken = true;
    if (segment->brace >= from && segment->brace < to)
        request_is_read(sim, r);
}

static void receive(struct sim *sim, struct child *child, struct segment *segment)
{
    segment->is_received = true;
    const bool leads = child->life == ALIVE;
    if (leads != segment->leader_began || (!leads && chance(sim, 50)))
        return; /* each of them has half of it, or the descendant only swallows */
    const size_t at = (size_t)(segment->start - child->in_base);
    talk_receive(sim, child,
                 (struct hf_span) { hf_buf_span(&child->in).p + at,
                                    (size_t)(segment->brace + 1 - segment->start) },
                 segment->request);
}

static void read_bytes(struct sim *sim, struct child *child, uint64_t n)
{
    const uint64_t from = child->read_total;
    const bool leads = child->life == ALIVE;
    child->read_total += n;
    const uint64_t to = child->read_total;
    for (unsigned i = child->segment_head; i < child->segment_count; i++) {
        if (child->segments[i].start >= to)
            break;
        note_read(sim, child, &child->segments[i], from);
    }
    if (leads && child->is.dies_at_byte && to >= child->is.dies_at_byte) {
        child_die(sim, child, SIGSEGV);
        return;
    }
    for (unsigned i = child->segment_head; i < child->segment_count; i++) {
        struct segment *segment = &child->segments[i];
        const uint64_t end = child->is.reads == BY_BYTE ? segment->brace : segment->newline;
        if (end >= to || !child->in_use || (leads && child->life == DEAD))
            break;
        if (!segment->is_received)
            receive(sim, child, segment);
    }
    while (child->segment_head < child->segment_count &&
           child->segments[child->segment_head].newline < to)
        child->segment_head++;
    const uint64_t keep = child->segment_head < child->segment_count
                              ? child->segments[child->segment_head].start
                              : to;
    if (keep > child->in_base) {
        hf_buf_consume(&child->in, (size_t)(keep - child->in_base));
        child->in_base = keep;
    }
}

static uint64_t how_much(struct sim *sim, const struct child *child)
{
    uint64_t n = child->readable_end - child->read_total;
    if (child->is.reads == BY_LINE) {
        unsigned i = child->segment_head;
        while (i < child->segment_count && child->segments[i].newline < child->read_total)
            i++;
        if (i < child->segment_count && child->segments[i].newline < child->readable_end)
            n = child->segments[i].newline + 1 - child->read_total;
    } else if (n > child->is.read_max) {
        n = 1 + below(sim, child->is.read_max);
    }
    const uint64_t end = child->is.dies_at_byte;
    if (child->life == ALIVE && end > child->read_total && child->read_total + n > end)
        n = end - child->read_total;
    return n;
}

/* What a reader makes of text that is not followed by a newline when the pipe ends. */
static void read_last(struct sim *sim, struct child *child)
{
    if (!child->is.answers_at_end_of_pipe || child->segment_head == child->segment_count)
        return;
    struct segment *segment = &child->segments[child->segment_head];
    if (segment->brace < child->read_total && !segment->is_received)
        receive(sim, child, segment);
}

/* ---- one deed of a child ---- */

static void set_wake(struct sim *sim, struct child *child)
{
    if (child->life != ALIVE)
        return;
    uint64_t wake = UINT64_MAX;
    for (unsigned i = 0; i < child->pending_count; i++)
        if (child->pending[i].due_ms < wake)
            wake = child->pending[i].due_ms;
    if (child->is.dies_at_ms && child->is.dies_at_ms < wake)
        wake = child->is.dies_at_ms;
    if (child->kill_at_ms && child->kill_at_ms < wake)
        wake = child->kill_at_ms;
    if (!child->is.stops_reading && (child->readable_end > child->read_total ||
                                     (child->stdin_closed && !child->is.deaf_to_eof)))
        wake = sim->now_ms;
    child->wake_ms = wake;
}

static bool answer_one(struct sim *sim, struct child *child)
{
    for (unsigned i = 0; i < child->pending_count; i++)
        if (child->pending[i].due_ms <= sim->now_ms) {
            struct pending pending = child->pending[i];
            child->pending[i] = child->pending[--child->pending_count];
            talk_answer(sim, child, &pending);
            return true;
        }
    return false;
}

static void descendant_acts(struct sim *sim, struct child *child)
{
    if (sim->now_ms >= child->eof_asked_ms) {
        tree_ends(sim, child);
        return;
    }
    if (answer_one(sim, child))
        return;
    if (child->is.descendant_reads && child->readable_end > child->read_total)
        read_bytes(sim, child, how_much(sim, child));
    uint64_t wake = child->eof_asked_ms;
    if (child->is.descendant_reads && wake > sim->now_ms + 50)
        wake = sim->now_ms + 1 + below(sim, 50);
    for (unsigned i = 0; i < child->pending_count; i++)
        if (child->pending[i].due_ms < wake)
            wake = child->pending[i].due_ms;
    child->wake_ms = child->kill_at_ms && child->kill_at_ms < wake ? child->kill_at_ms : wake;
}

static void leader_acts(struct sim *sim, struct child *child)
{
    if (child->is.closes_stdout && chance(sim, 20)) {
        TRACE(sim, "  child %u closes its stdout and lives on", child->serial);
        child->stdout_closed = true;
        child->is.closes_stdout = false;
    }
    if (child->is.dies_at_ms && child->is.dies_at_ms <= sim->now_ms) {
        child_die(sim, child, child->is.exits_clean ? 0 : SIGKILL);
        return;
    }
    if (answer_one(sim, child))
        return;
    if (child->noise_ms != sim->now_ms && chance(sim, child->is.noise)) {
        child->noise_ms = sim->now_ms; /* else a slow reader could fill a moment for ever */
        talk_noise(sim, child);
    }
    if (child->is.stops_reading || child->life != ALIVE)
        return;
    if (child->readable_end > child->read_total) {
        read_bytes(sim, child, how_much(sim, child));
    } else if (child->stdin_closed && !child->is.deaf_to_eof) {
        read_last(sim, child);
        child_die(sim, child, chance(sim, 90) ? 0 : 1 << 8);
    }
}

void child_act(struct sim *sim, struct child *child)
{
    if (child->kill_at_ms && child->kill_at_ms <= sim->now_ms) {
        be_killed(sim, child);
        return;
    }
    if (child->life == SPAWNING)
        begin_life(sim, child);
    else if (child->life == ALIVE && child->stdout_closed) {
        const size_t said = child->out.end;
        leader_acts(sim, child);
        child->out.end = said; /* into the void */
    } else if (child->life == ALIVE)
        leader_acts(sim, child);
    else if (child->stdout_held)
        descendant_acts(sim, child);
    else
        child->wake_ms = UINT64_MAX;
    if (child->in_use)
        set_wake(sim, child);
}
