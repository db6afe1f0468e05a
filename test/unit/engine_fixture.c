/* engine_fixture.c - see engine_fixture.h. */
#include "engine_fixture.h"
#include "core/check.h"
#include <errno.h>
#include <stdarg.h>
#include "engine_http.h"

enum { BUF_MAX = 1 << 28 };

/* ---- effects ---- */

static void write_to(struct child *c)
{
    struct hf_span spans[4];
    c->wants_write = false;
    while (c->runtime && !c->is_stdin_closed && !c->has_exited) {
        const size_t count = hf_runtime_gather(c->runtime, spans, 4);
        const size_t max = c->manners.pipe_capacity;
        size_t room = max ? max - hf_buf_len(&c->pipe) : SIZE_MAX, taken = 0;
        for (size_t i = 0; i < count && taken < room; i++) {
            const size_t n = spans[i].n < room - taken ? spans[i].n : room - taken;
            hf_buf_add(&c->pipe, (struct hf_span) { spans[i].p, n });
            taken += n;
        }
        if (taken == 0) {
            c->wants_write = count > 0;
            return;
        }
        hf_runtime_wrote(c->runtime, taken, at(c->world->now_ms));
    }
}

static void steal_from(struct child *c)
{
    const struct hf_span taken = hf_buf_span(&c->pipe);
    c->was_stolen_from = true;
    hf_runtime_taken_back(c->runtime, &taken, at(c->world->now_ms));
    hf_buf_clear(&c->pipe);
}

static void spawn(struct world *w, struct hf_runtime *runtime)
{
    if (w->child_count == CHILDREN_MAX) {
        printf("# more than %d runtimes\n", CHILDREN_MAX);
        abort();
    }
    struct child *c = &w->children[w->child_count++];
    *c = (struct child) {
        .world = w,
        .runtime = runtime,
        .server = hf_runtime_server(runtime),
        .generation = hf_runtime_generation(runtime),
        .spawned_ms = w->now_ms,
        .is_remote = hf_runtime_is_remote(runtime),
    };
    c->manners = *manners_of(w, c->server);
    hf_buf_init(&c->pipe, BUF_MAX);
    hf_buf_init(&c->line, BUF_MAX);
    hf_runtime_set_backend(runtime, hf_backend_of(c));
}

static void send_to(struct world *w, const struct hf_effect *effect)
{
    struct client *c = client_behind(hf_session_sink(effect->session));
    if (effect->piece_count == 0) {
        CHECK(effect->is_answer && effect->via && c->taken_back_count < TAKEN_BACK_MAX);
        c->taken_back[c->taken_back_count++ % TAKEN_BACK_MAX] = effect->via;
        return;
    }
    struct message *m = keep_pieces(&c->got, effect->pieces, effect->piece_count, w->now_ms);
    if (!m)
        return;
    m->via = effect->via;
    m->is_answer = effect->is_answer;
    m->error_code = effect->error_code;
    c->over = effect->over ? effect->over : c->over;
    CHECK_EQ(m->is_answer, m->msg.kind >= HF_MSG_RESULT);
}

static void keep_note(struct world *w, const struct hf_note *note)
{
#define NAME(id) #id,
    static const char *const names[] = { HF_NOTES(NAME) };
    hf_buf_printf(&w->notes, "%s%.*s g%llu %s %.*s %.*s\n", note->is_routine ? "(routine) " : "",
                  HF_FMT(note->server), (unsigned long long)note->generation, names[note->event],
                  HF_FMT(note->evidence), HF_FMT(note->what));
    if (note->event == HF_NOTE_BUG)
        printf("# bug %u: %.*s %.*s\n", ++w->bugs, HF_FMT(note->what), HF_FMT(note->to));
}

static void perform(struct world *w, const struct hf_effect *effect)
{
    struct child *c = effect->runtime ? child_behind(hf_runtime_backend(effect->runtime)) : NULL;
    switch (effect->kind) {
    case HF_DO_SPAWN: spawn(w, effect->runtime); break;
    case HF_DO_WRITE: c->wants_write = true; break;
    case HF_DO_TAKE_BACK: steal_from(c); break;
    case HF_DO_CLOSE_STDIN:
        c->got_close = c->is_stdin_closed = true;
        c->closed_ms = w->now_ms;
        break;
    case HF_DO_TERM:
        c->got_term = true;
        c->termed_ms = w->now_ms;
        break;
    case HF_DO_KILL:
        c->got_kill = true;
        c->killed_ms = w->now_ms;
        break;
    case HF_DO_RELEASE:
        http_released(c);
        c->runtime = NULL;
        break;
    case HF_DO_SEND: (w->send ? w->send(effect) : send_to(w, effect)); break;
    case HF_DO_NOTE: keep_note(w, effect->note); break;
    case HF_DO_FORGET_SERVER: break;
    case HF_DO_ASK_LEAVE:
        REQUIRE(w->leave_count < LEAVES_MAX);
        w->leaves[w->leave_count++] = (struct leave) { effect->seam, effect->ticket };
        break;
    case HF_DO_EXCHANGE: http_begin(w, effect->exchange); break;
    case HF_DO_ABORT_EXCHANGE: http_abort(effect->exchange); break;
    case HF_DO_DISCONNECT: http_hang_up(c); break;
    }
}

bool pump(struct world *w)
{
    bool moved = false;
    struct hf_effect effect;
    while (hf_engine_next_effect(w->engine, &effect)) {
        perform(w, &effect);
        moved = true;
    }
    hf_engine_collect(w->engine);
    for (size_t i = 0; i < w->child_count; i++)
        if (w->children[i].wants_write) {
            write_to(&w->children[i]);
            moved |= !w->children[i].wants_write;
        }
    return moved;
}

/* ---- children that play along ---- */

static void take_line(struct child *c)
{
    const struct hf_span text = hf_buf_span(&c->line);
    keep_message(&c->got, text, c->world->now_ms);
    hf_buf_clear(&c->line);
}

static bool read_pipe(struct child *c, size_t bytes)
{
    const struct hf_span pipe = hf_buf_span(&c->pipe);
    const size_t n = bytes < pipe.n ? bytes : pipe.n;
    for (size_t i = 0; i < n; i++) {
        if (pipe.p[i] == '\n')
            take_line(c);
        else
            hf_buf_add_char(&c->line, pipe.p[i]);
    }
    hf_buf_consume(&c->pipe, n);
    c->bytes_read += n;
    if (n && c->manners.pipe_capacity)
        write_to(c);
    return n > 0;
}

static void say(struct child *c, const char *text)
{
    if (!c->runtime)
        return;
    hf_runtime_bytes_came(c->runtime, at(c->world->now_ms));
    hf_runtime_line(c->runtime, hf_span_of(text), at(c->world->now_ms));
    pump(c->world); /* effects point into the text */
}

static void answer(struct child *c, struct hf_span id, const char *member, const char *value)
{
    char *text = reply_with(id, member, value);
    say(c, text);
    free(text);
}

static void react(struct child *c, const struct hf_msg *msg)
{
    char *text = reply_to(&c->manners, msg);
    if (text)
        say(c, text);
    free(text);
}

static void end_process(struct child *c, int wait_status)
{
    const uint64_t now = c->world->now_ms;
    c->wants_write = false;
    if (!c->has_exited) {
        c->has_exited = true;
        hf_runtime_exited(c->runtime, wait_status, at(now));
        pump(c->world);
    }
    if (!c->is_silent && c->runtime) {
        c->is_silent = true;
        hf_runtime_eof(c->runtime, at(now));
        pump(c->world);
    }
}

static void report_tree(struct child *c)
{
    if (c->tree_is_gone || !c->runtime)
        return;
    c->tree_is_gone = true;
    hf_runtime_tree_gone(c->runtime, at(c->world->now_ms));
}

static void not_started(struct child *c, int error, const char *why)
{
    const struct hf_start_failure failure = { HF_START_EXECUTE, error, why };
    c->has_exited = true;
    hf_runtime_not_started(c->runtime, &failure, at(c->world->now_ms));
}

/* One thing that this child does by itself; false: nothing. */
static bool act(struct child *c)
{
    const struct manners *m = &c->manners;
    if (!c->runtime)
        return false;
    if (!c->is_running && !c->has_exited && !m->never_starts) {
        if (m->no_exec)
            not_started(c, m->exec_error ? m->exec_error : ENOENT, "No such file or directory");
        else
            child_start(c);
        return true;
    }
    if (c->is_remote)
        return http_act(c);
    if (c->got_kill && !m->survives_kill && !c->tree_is_gone) {
        end_process(c, KILLED);
        report_tree(c);
        return true;
    }
    if (c->is_running && !c->has_exited &&
        ((c->is_stdin_closed && !m->keeps_on_eof) || (c->got_term && !m->deaf_to_term))) {
        end_process(c, c->is_stdin_closed && !m->keeps_on_eof ? EXIT_0 : 15);
        return true;
    }
    if (!c->has_exited && !m->reads_nothing && read_pipe(c, SIZE_MAX))
        return true;
    if (c->handled < c->got.count) {
        react(c, &c->got.items[c->handled++].msg);
        return true;
    }
    return false;
}

void settle(struct world *w)
{
    bool moved = true;
    for (int rounds = 0; moved; rounds++) {
        if (rounds == 100000) {
            printf("# the world does not come to rest\n");
            abort();
        }
        moved = pump(w);
        for (size_t i = 0; !w->by_hand && i < w->child_count; i++)
            moved |= act(&w->children[i]);
    }
}

void child_start(struct child *c)
{
    c->is_running = true;
    const long pid = c->is_remote ? 0 : 1000 + (long)(c - c->world->children);
    hf_runtime_started(c->runtime, pid, at(c->world->now_ms));
    settle(c->world);
}

void child_fails_to_start(struct child *c, const char *why)
{
    not_started(c, ENOENT, why);
    settle(c->world);
}

void child_reads(struct child *c, size_t bytes)
{
    (void)read_pipe(c, bytes);
    settle(c->world);
}

void child_says(struct child *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    say(c, text);
    free(text);
    settle(c->world);
}

void child_notifies(struct child *c, const char *method, const char *params)
{
    child_says(c, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}", method, params);
}

void child_asks(struct child *c, const char *id, const char *method, const char *params)
{
    child_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}", id, method,
               params);
}

void child_answers(struct child *c, const char *method, const char *result)
{
    const struct message *m = child_last(c, method);
    if (m)
        answer(c, m->msg.id, "result", result);
    else
        test_fail(__FILE__, __LINE__, method);
    settle(c->world);
}

void child_answers_line(struct child *c, size_t line, const char *result)
{
    answer(c, c->got.items[line].msg.id, "result", result);
    settle(c->world);
}

void child_answers_error(struct child *c, const char *method, int code, const char *message)
{
    char *error = NULL;
    const struct message *m = child_last(c, method);
    if (!m || asprintf(&error, "{\"code\":%d,\"message\":\"%s\"}", code, message) < 0)
        abort();
    answer(c, m->msg.id, "error", error);
    free(error);
    settle(c->world);
}

void child_exits(struct child *c, int wait_status)
{
    c->has_exited = true;
    c->wants_write = false;
    hf_runtime_exited(c->runtime, wait_status, at(c->world->now_ms));
    settle(c->world);
}

void child_falls_silent(struct child *c)
{
    c->is_silent = true;
    hf_runtime_eof(c->runtime, at(c->world->now_ms));
    settle(c->world);
}

void child_tree_is_gone(struct child *c)
{
    report_tree(c);
    settle(c->world);
}

void child_stalls(struct child *c, size_t pipe_capacity)
{
    c->manners.reads_nothing = true;
    c->manners.pipe_capacity = pipe_capacity;
}

void child_goes_on(struct child *c)
{
    c->manners.reads_nothing = false;
    settle(c->world);
}

void child_dies(struct child *c)
{
    end_process(c, KILLED);
    settle(c->world);
    report_tree(c);
    settle(c->world);
}

/* ---- the world ---- */

struct hf_settings default_settings(void)
{
    return SETTINGS();
}

static void end_of_test(void *world)
{
    world_end(world);
}

struct world *world_new_with(struct hf_limits limits)
{
    struct world *w = hf_new(struct world);
    test_at_end(end_of_test, w);
    w->now_ms = T0;
    w->limits = limits;
    hf_buf_init(&w->notes, BUF_MAX);
    w->engine = hf_engine_new(&limits, 7);
    return w;
}

struct world *world_new(void)
{
    return world_new_with(LIMITS());
}

static size_t asked(const struct client *c, struct hf_span id)
{
    size_t count = 0;
    for (size_t i = 0; i < c->sent.count; i++)
        count += c->sent.items[i].msg.kind == HF_MSG_REQUEST &&
                 hf_json_same_scalar(c->sent.items[i].msg.id, id);
    return count;
}

static size_t answered(const struct client *c, struct hf_span id)
{
    size_t count = 0;
    for (size_t i = 0; i < c->got.count; i++)
        count += c->got.items[i].msg.kind >= HF_MSG_RESULT && c->got.items[i].msg.id.p &&
                 hf_json_same_scalar(c->got.items[i].msg.id, id);
    return count;
}

static void check_answers(const struct client *c)
{
    for (size_t i = 0; i < c->sent.count; i++) {
        const struct hf_msg *msg = &c->sent.items[i].msg;
        const bool was_checked = /* thousands of one id in a row are one question */
            i > 0 && hf_json_same_scalar(c->sent.items[i - 1].msg.id, msg->id);
        if (msg->kind != HF_MSG_REQUEST || was_checked || answered(c, msg->id) <= asked(c, msg->id))
            continue;
        printf("# answered too often: %.*s\n", HF_FMT(msg->text));
        test_fail(__FILE__, __LINE__, "P1: one answer");
    }
}

/* What a model is told of a call has no double quotes, and none of the words that make some clients
 * take it for a failure of their own and send the call again. */
static void check_sentences(const struct client *c)
{
    static const char *const words[] = { "\\\"",      "onnection", "ession", "not connected",
                                         "etch fail", "HTTP",      "http ",  "isconnected" };
    for (size_t i = 0; i < c->got.count; i++) {
        const struct hf_msg *msg = &c->got.items[i].msg;
        struct hf_json_iter content = hf_json_iter(hf_json_get(msg->result, HF_SPAN("content")));
        if (!outcome_in(msg).p || !hf_json_next(&content))
            continue;
        const struct hf_span text = hf_json_get(content.value, HF_SPAN("text"));
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            if (!span_has(text, words[k]))
                continue;
            printf("# %s in: %.*s\n", words[k], HF_FMT(text));
            test_fail(__FILE__, __LINE__, "a sentence that invites nobody to send again");
        }
    }
}

static void on_broken(void *context, unsigned promise, const char *sentence)
{
    (void)context;
    printf("# P%u: %s\n", promise, sentence);
    test_fail(__FILE__, __LINE__, "the engine's invariants hold");
}

void world_end(struct world *w)
{
    test_has_ended(w);
    settle(w);
    hf_engine_check(w->engine, on_broken, NULL);
    if (w->bugs)
        test_fail(__FILE__, __LINE__, "no machine reports a bug");
    if (w->must_hold_nothing)
        CHECK_EQ(hf_engine_held_bytes(w->engine), 0);
    for (size_t i = 0; i < w->client_count; i++) {
        check_answers(&w->clients[i]);
        check_sentences(&w->clients[i]);
    }
    hf_engine_free(w->engine);
    for (size_t i = 0; i < w->client_count; i++) {
        free_messages(&w->clients[i].got);
        free_messages(&w->clients[i].sent);
    }
    for (size_t i = 0; i < w->child_count; i++) {
        free_messages(&w->children[i].got);
        hf_buf_done(&w->children[i].pipe);
        hf_buf_done(&w->children[i].line);
    }
    http_done(w);
    hf_buf_done(&w->notes);
    hf_free(w);
}

void advance(struct world *w, uint64_t ms)
{
    const uint64_t end = w->now_ms + ms;
    uint64_t next;
    while ((next = hf_engine_next_ms(w->engine)) && next <= end) {
        if (next > w->now_ms)
            w->now_ms = next;
        hf_engine_tick(w->engine, at(w->now_ms));
        settle(w);
    }
    w->now_ms = end;
}

size_t notes_with(const struct world *w, const char *part)
{
    size_t count = 0;
    struct hf_span rest = hf_buf_span(&w->notes);
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        const struct hf_span line = { rest.p, (size_t)(end - rest.p) };
        count += span_has(line, part);
        rest = hf_span_from(rest, line.n + 1);
    }
    return count;
}

struct hf_server *add_spec(struct world *w, const struct hf_server_spec *spec)
{
    struct hf_server_spec with = *spec;
    struct manners *m = &w->manners[w->server_count];
    *m = MANNERS();
    with.config = hf_server_config_of(m);
    struct hf_server *server = hf_server_add(w->engine, &with, at(w->now_ms));
    w->servers[w->server_count++] = server;
    return server; /* not settled: its manners may still be set */
}

struct hf_server *add_server(struct world *w, const char *name, struct hf_settings settings)
{
    return add_spec(w, &(struct hf_server_spec) { .name = name, .settings = settings });
}

struct hf_server *add_remote(struct world *w, const char *name, struct hf_settings settings)
{
    return add_spec(
        w, &(struct hf_server_spec) { .name = name, .settings = settings, .is_remote = true });
}

struct manners *manners_of(struct world *w, const struct hf_server *server)
{
    (void)w;
    return manners_behind(hf_server_config(server));
}

bool operate(struct world *w, struct hf_server *server, enum hf_op op)
{
    const bool done = hf_server_op(server, op, at(w->now_ms));
    settle(w);
    return done;
}

struct hf_server_status status_of(const struct hf_server *server)
{
    struct hf_server_status status;
    hf_server_status(server, &status);
    return status;
}

enum hf_slot_state state_of(const struct hf_server *server)
{
    return status_of(server).state;
}

struct child *newest_child(struct world *w, const struct hf_server *server)
{
    for (size_t i = w->child_count; i-- > 0;)
        if (w->children[i].server == server)
            return &w->children[i];
    return NULL;
}

struct child *child_of(struct world *w, const struct hf_server *server, uint64_t generation)
{
    for (size_t i = 0; i < w->child_count; i++)
        if (w->children[i].server == server && w->children[i].generation == generation)
            return &w->children[i];
    return NULL;
}

size_t spawns_of(const struct world *w, const struct hf_server *server)
{
    size_t count = 0;
    for (size_t i = 0; i < w->child_count; i++)
        count += w->children[i].server == server;
    return count;
}
