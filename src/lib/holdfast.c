/* holdfast.c - the library's entry points: one loop, one engine, and the engine's effects. */
#include "holdfast/holdfast.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backend/http.h"
#include "backend/stdio.h"
#include "core/check.h"
#include "front/stdio.h"
#include "io/adopt.h"
#include "io/random.h"
#include "io/shell.h"
#include "lib/library_parts.h"
#include "lib/library_log.h"
#include "lib/library_reload.h"

enum { CLOSE_WAIT_MS = 1000 };
/* More than the largest message that the options allow, with our id in it. */
static const size_t message_room = (size_t)2 << 30;

struct hf {
    struct hf_shell shell; /* first member: a pointer to it is a pointer to the hf */
    struct hf_alarm alarm; /* for the engine's next timer */
    struct hf_alarm more;  /* a turn that must come at once, for the rest of the flushes */
    struct hf_limits limits;
    struct hf_library_log log;
    struct hf_library_tokens tokens; /* in use, or would be over HTTP */
    struct hf_link clients;
    struct hf_stdio_front *front;
    struct hf_http_front *http_front;
    struct hf_http_client *http; /* NULL until the first remote server */
    bool is_pumping, is_stopping, is_hasty;
};

struct hf_client {
    struct hf_sink sink; /* first member: a pointer to it is a pointer to the client */
    struct hf_link link;
    struct hf *hf;
    struct hf_session *session; /* NULL: closed; the client is freed after the pump */
    hf_on_message on_message;
    void *context;
    struct hf_buf message;
};

/* ---- performing effects ---- */

static void on_server_stderr(void *context, struct hf_runtime *runtime, struct hf_span line)
{
    struct hf *hf = context;
    hf_library_log_stderr(&hf->log, runtime, line);
}

static void send_to_client(struct hf_sink *sink, const struct hf_effect *effect)
{
    struct hf_client *client = (struct hf_client *)(void *)sink;
    if (!client->session)
        return;
    hf_buf_clear(&client->message);
    for (unsigned i = 0; i < effect->piece_count; i++)
        hf_buf_add(&client->message, effect->pieces[i]);
    const struct hf_span message = hf_buf_span(&client->message);
    client->on_message(client->context, message.p, message.n);
}

static void start_runtime(struct hf *hf, struct hf_runtime *runtime)
{
    const struct hf_server_config *config = hf_server_config(hf_runtime_server(runtime));
    const size_t message_max = hf->limits.max_message_bytes;
    if (!hf_runtime_is_remote(runtime)) {
        hf_child_start(&hf->shell, runtime, config, message_max, on_server_stderr, hf);
        return;
    }
    if (!hf->http)
        hf->http = hf_http_client_new(hf->shell.loop);
    hf_http_backend_start(&hf->shell, hf->http, runtime, config, message_max);
}

static void perform(struct hf *hf, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_DO_SPAWN: start_runtime(hf, effect->runtime); break;
    case HF_DO_EXCHANGE:
        hf_backend_perform(hf_runtime_backend(hf_remote_exchange_runtime(effect->exchange)),
                           effect);
        break;
    case HF_DO_ABORT_EXCHANGE: hf_http_backend_abort(effect->exchange); break;
    case HF_DO_DISCONNECT:
        hf_runtime_disconnected(effect->runtime, hf_shell_time(&hf->shell));
        break;
    case HF_DO_WRITE:
    case HF_DO_TAKE_BACK:
    case HF_DO_CLOSE_STDIN:
    case HF_DO_TERM:
    case HF_DO_KILL: hf_backend_perform(hf_runtime_backend(effect->runtime), effect); break;
    case HF_DO_RELEASE: hf_backend_release(hf_runtime_backend(effect->runtime)); break;
    case HF_DO_SEND: {
        struct hf_sink *sink = hf_session_sink(effect->session);
        size_t bytes = 0;
        for (unsigned i = 0; i < effect->piece_count; i++)
            bytes += effect->pieces[i].n;
        hf_loop_note_message(hf->shell.loop, bytes);
        sink->send(sink, effect);
        break;
    }
    case HF_DO_NOTE: hf_library_log_note(&hf->log, effect->note); break;
    case HF_DO_ASK_LEAVE: break; /* no seam is in use */
    case HF_DO_FORGET_SERVER: {
        struct hf_server_config *config = hf_server_config(effect->server);
        hf_server_config_done(config);
        hf_free(config);
        break;
    }
    }
}

static void on_alarm(void *context)
{
    struct hf *hf = context;
    hf_engine_tick(hf->shell.engine, hf_loop_time(hf->shell.loop));
    hf_shell_pump(&hf->shell);
}

static void free_closed_clients(struct hf *hf)
{
    struct hf_client *client;
    HF_LIST_EACH_SAFE (client, &hf->clients, struct hf_client, link) {
        if (client->session)
            continue;
        hf_unlink(&client->link);
        hf_buf_done(&client->message);
        hf_free(client);
    }
}

#ifdef HF_CHECK_TURNS
static void on_broken(void *context, unsigned promise, const char *sentence)
{
    (void)context;
    (void)fprintf(stderr, "holdfast: a bug of holdfast: %s (P%u)\n", sentence, promise);
    abort();
}
#endif

static void pump(struct hf_shell *shell)
{
    struct hf *hf = (struct hf *)(void *)shell;
    struct hf_effect effect;
    if (hf->is_pumping)
        return;
    hf->is_pumping = true;
    while (hf_engine_next_effect(shell->engine, &effect))
        perform(hf, &effect);
#ifdef HF_CHECK_TURNS
    hf_engine_check(shell->engine, on_broken, NULL);
#endif
    hf_engine_collect(shell->engine);
    hf->is_pumping = false;
    free_closed_clients(hf);
    hf_alarm_set(&hf->alarm, hf_engine_next_ms(shell->engine));
}

static void free_the_dead(struct hf *hf)
{
    struct hf_flush *dead;
    HF_LIST_EACH_SAFE (dead, &hf->shell.dead, struct hf_flush, link) {
        hf_unlink(&dead->link);
        hf_free(dead);
    }
}

static void do_nothing(void *context)
{
    (void)context;
}

static void on_turn(void *context)
{
    struct hf *hf = context;
    if (!hf_shell_flush(&hf->shell))
        hf_alarm_set(&hf->more, hf_loop_now_ms(hf->shell.loop));
    if (hf->front)
        hf_stdio_front_review(hf->front);
    if (hf->http_front)
        hf_http_front_review(hf->http_front);
    free_the_dead(hf);
}

/* ---- lifetime ---- */

static void add_server(struct hf *hf, const struct hf_server_config *from)
{
    struct hf_server_config *config = hf_new(struct hf_server_config);
    hf_server_config_copy(config, from);
    struct hf_spec_room room;
    const struct hf_server_spec spec = hf_library_server_spec(config, &room);
    (void)hf_server_add(hf->shell.engine, &spec, hf_loop_time(hf->shell.loop));
    hf_library_spec_done(&room);
}

struct hf *hf_open(const struct hf_config *config, char error[HF_ERROR_SIZE])
{
    uint8_t secret[HF_SECRET_SIZE];
    uint64_t seed;
    struct hf_loop *loop = hf_loop_new();
    if (!loop) {
        (void)snprintf(error, HF_ERROR_SIZE, "no event loop: %s", strerror(errno));
        return NULL;
    }
    struct hf *hf = hf_new(struct hf);
    hf->limits = config->limits;
    hf_library_log_init(&hf->log, loop, config);
    hf_library_tokens_keep(&hf->tokens, config);
    hf->shell.loop = loop;
    hf_random(&seed, sizeof seed);
    hf_random(secret, sizeof secret);
    hf->shell.engine = hf_engine_new(&config->limits, seed);
    hf_engine_set_secret(hf->shell.engine, secret);
    hf->shell.pump = pump;
    hf_link_init(&hf->shell.dirty);
    hf_link_init(&hf->shell.later);
    hf_link_init(&hf->shell.dead);
    hf_link_init(&hf->clients);
    hf_loop_on_turn(loop, on_turn, hf);
    hf_alarm_init(&hf->alarm, loop, on_alarm, hf);
    hf_alarm_init(&hf->more, loop, do_nothing, hf);
    for (size_t i = 0; i < config->server_count; i++)
        add_server(hf, &config->servers[i]);
    return hf;
}

/* ---- reload: only what changed is touched ---- */

static const struct hf_server_config *config_named(const struct hf_config *config, const char *name)
{
    for (size_t i = 0; i < config->server_count; i++)
        if (!strcmp(config->servers[i].name, name))
            return &config->servers[i];
    return NULL;
}

/* Returns whether anything of the server is different now. */
static bool change_server(struct hf *hf, struct hf_server *server,
                          const struct hf_server_config *from)
{
    struct hf_server_config *before = hf_server_config(server);
    struct hf_server_config *config = hf_new(struct hf_server_config);
    const struct hf_now now = hf_loop_time(hf->shell.loop);
    struct hf_spec_room room;
    hf_server_config_copy(config, from);
    const struct hf_server_spec spec = hf_library_server_spec(config, &room);
    const bool restart = !hf_server_config_same(before, config);
    const bool switched = before->disabled != config->disabled;
    const bool differs = restart || !hf_server_config_equal(before, config);
    hf_server_change(server, &spec, restart && !switched, now);
    if (switched) /* what an operator switched stays so until the file's `disabled` changes */
        (void)hf_server_op(server, config->disabled ? HF_OP_DISABLE : HF_OP_ENABLE, now);
    hf_library_spec_done(&room);
    hf_server_config_done(before);
    hf_free(before);
    return differs;
}

void hf_reload(struct hf *hf, const struct hf_config *config)
{
    struct hf_library_reload reload;
    hf_library_reload_init(&reload);
    hf_library_log_warnings(&hf->log, config->warnings);
    struct hf_server *server = hf_engine_next_server(hf->shell.engine, NULL), *next;
    for (; server; server = next) {
        const struct hf_server_config *before = hf_server_config(server);
        next = hf_engine_next_server(hf->shell.engine, server);
        if (config_named(config, before->name))
            continue;
        if (hf_server_op(server, HF_OP_REMOVE, hf_loop_time(hf->shell.loop)))
            hf_library_reload_add(&reload, HF_RELOAD_REMOVED, before->name);
    }
    for (size_t i = 0; i < config->server_count; i++) {
        enum hf_reload_part part = HF_RELOAD_ADDED;
        server = hf_server_find(hf->shell.engine, hf_span_of(config->servers[i].name));
        if (server)
            part = change_server(hf, server, &config->servers[i]) ? HF_RELOAD_CHANGED
                                                                  : HF_RELOAD_UNCHANGED;
        else
            add_server(hf, &config->servers[i]);
        hf_library_reload_add(&reload, part, config->servers[i].name);
    }
    if (!hf->http_front || hf_http_front_admit(hf->http_front, hf_library_access(config)))
        hf_library_reload_tokens(&reload, &hf->tokens, config);
    else
        hf_library_reload_keeps_tokens(&hf->log);
    hf_library_reload_done(&reload, &hf->log);
    hf_shell_pump(&hf->shell);
}

bool hf_log_to(struct hf *hf, int fd, char error[HF_ERROR_SIZE])
{
    struct hf_err err;
    const bool opened = hf_library_log_open(&hf->log, fd, &err);
    if (!opened)
        (void)snprintf(error, HF_ERROR_SIZE, "%s", err.text);
    return opened;
}

bool hf_log_keep_as(struct hf *hf, const struct hf_config *config, const char *kind,
                    const char *name, char error[HF_ERROR_SIZE])
{
    struct hf_err err;
    const bool kept = hf_library_log_keep(&hf->log, config, kind, name, &err);
    if (!kept)
        (void)snprintf(error, HF_ERROR_SIZE, "%s", err.text);
    return kept;
}

void hf_stop(struct hf *hf)
{
    if (hf->is_stopping)
        return;
    hf->is_stopping = true;
    if (hf->http_front)
        hf_http_front_stop(hf->http_front);
    hf_engine_stop(hf->shell.engine, hf_loop_time(hf->shell.loop));
    hf_shell_pump(&hf->shell);
}

bool hf_is_stopped(const struct hf *hf)
{
    return hf->is_hasty || (hf->is_stopping && hf_engine_is_stopped(hf->shell.engine) &&
                            (!hf->front || hf_stdio_front_is_flushed(hf->front)) &&
                            (!hf->http_front || hf_http_front_is_stopped(hf->http_front)) &&
                            !hf_loop_has_guests(hf->shell.loop));
}

/* What the shell keeps for the engine is released before the engine itself. */
static void release_all(struct hf *hf)
{
    struct hf_runtime *runtime = NULL;
    while ((runtime = hf_engine_next_runtime(hf->shell.engine, runtime)))
        hf_backend_release(hf_runtime_backend(runtime));
    for (struct hf_server *server = NULL;
         (server = hf_engine_next_server(hf->shell.engine, server));) {
        struct hf_server_config *config = hf_server_config(server);
        hf_server_config_done(config);
        hf_free(config);
    }
}

/* Guards that were released kill their trees and are reaped: it takes less than a millisecond, and
 * CLOSE_WAIT_MS at most. */
static void reap_guards(struct hf_loop *loop)
{
    const uint64_t until_ms = hf_loop_now_ms(loop) + CLOSE_WAIT_MS;
    struct hf_alarm deadline;
    hf_loop_on_turn(loop, do_nothing, NULL);
    hf_alarm_init(&deadline, loop, do_nothing, NULL);
    hf_alarm_set(&deadline, until_ms);
    while (hf_loop_has_guests(loop) && hf_loop_now_ms(loop) < until_ms)
        hf_loop_step(loop, true);
    hf_alarm_set(&deadline, 0);
}

void hf_adopt_orphans(void)
{
    hf_adoption_of_all();
}

void hf_close(struct hf *hf)
{
    if (!hf)
        return;
    hf_stdio_front_free(hf->front);
    hf_http_front_free(hf->http_front);
    struct hf_client *client;
    HF_LIST_EACH (client, &hf->clients, struct hf_client, link) {
        if (client->session)
            hf_session_close(client->session, hf_loop_time(hf->shell.loop));
        client->session = NULL;
    }
    free_closed_clients(hf);
    release_all(hf);
    hf_http_client_free(hf->http);
    free_the_dead(hf);
    hf_engine_free(hf->shell.engine);
    hf_alarm_set(&hf->alarm, 0);
    hf_alarm_set(&hf->more, 0);
    reap_guards(hf->shell.loop);
    hf_library_log_done(&hf->log);
    hf_library_tokens_done(&hf->tokens);
    hf_loop_free(hf->shell.loop);
    hf_free(hf);
}

int hf_fd(const struct hf *hf)
{
    return hf_loop_fd(hf->shell.loop);
}

/* Output that was queued outside a turn is written in the next turn, which must come at once. */
int hf_timeout_ms(struct hf *hf)
{
    hf_shell_pump(&hf->shell);
    return hf_list_empty(&hf->shell.dirty) ? hf_loop_timeout_ms(hf->shell.loop) : 0;
}

void hf_step(struct hf *hf)
{
    hf_shell_pump(&hf->shell);
    on_turn(hf);
    hf_loop_step(hf->shell.loop, false);
}

void hf_run(struct hf *hf)
{
    hf_shell_pump(&hf->shell);
    on_turn(hf);
    while (!hf_is_stopped(hf))
        hf_loop_step(hf->shell.loop, true);
}

void hf_measure_turns(struct hf *hf)
{
    hf_loop_measure_turns(hf->shell.loop);
}

static void on_stop_signal(void *context)
{
    struct hf *hf = context;
    if (hf->is_stopping)
        hf->is_hasty = true;
    hf_stop(hf);
}

bool hf_stop_on_signal(struct hf *hf, int signum)
{
    return hf_loop_on_signal(hf->shell.loop, signum, on_stop_signal, hf);
}

bool hf_on_signal(struct hf *hf, int signum, void (*on_signal)(void *context), void *context)
{
    return hf_loop_on_signal(hf->shell.loop, signum, on_signal, context);
}

/* ---- clients ---- */

static struct hf_server *find(struct hf *hf, const char *name)
{
    return hf_server_find(hf->shell.engine, hf_span_of(name));
}

struct hf_client *hf_client_open(struct hf *hf, const char *server, hf_on_message on_message,
                                 void *context)
{
    struct hf_server *only = server ? find(hf, server) : NULL;
    if (server && !only)
        return NULL;
    struct hf_client *client = hf_new(struct hf_client);
    client->hf = hf;
    client->sink.send = send_to_client;
    client->on_message = on_message;
    client->context = context;
    hf_buf_init(&client->message, message_room);
    client->session =
        hf_session_open(hf->shell.engine, only, &client->sink, hf_loop_time(hf->shell.loop));
    hf_list_push(&hf->clients, &client->link);
    return client;
}

void hf_client_send(struct hf_client *client, const char *message, size_t length)
{
    struct hf *hf = client->hf;
    if (!client->session)
        return;
    hf_session_message(client->session, (struct hf_span) { message, length },
                       hf_loop_time(hf->shell.loop));
    hf_shell_pump(&hf->shell);
}

void hf_client_close(struct hf_client *client)
{
    struct hf *hf = client->hf;
    hf_session_close(client->session, hf_loop_time(hf->shell.loop));
    client->session = NULL;
    hf_shell_pump(&hf->shell);
}

static void on_front_finished(void *context)
{
    hf_stop(context);
}

bool hf_serve_stdio(struct hf *hf, const char *server, int in_fd, int out_fd,
                    char error[HF_ERROR_SIZE])
{
    struct hf_err err;
    struct hf_server *only = server ? find(hf, server) : NULL;
    assert(!hf->front);
    if (server && !only) {
        (void)snprintf(error, HF_ERROR_SIZE, "there is no server \"%s\"", server);
        return false;
    }
    hf->front = hf_stdio_front_new(&hf->shell, only, in_fd, out_fd, &hf->limits, on_front_finished,
                                   hf, &err);
    if (!hf->front)
        (void)snprintf(error, HF_ERROR_SIZE, "%s", err.text);
    else if (only)
        hf_server_set_clients_own(only);
    return hf->front != NULL;
}

bool hf_has_failed(const struct hf *hf)
{
    return hf->front && hf_stdio_front_has_failed(hf->front);
}

struct hf_shell *hf_library_shell(struct hf *hf)
{
    return &hf->shell;
}

void hf_library_log_refusal(void *hf, struct hf_span text)
{
    hf_library_log_write(&((struct hf *)hf)->log,
                         &(struct hf_log_entry) {
                             .level = HF_LOG_WARN, .event = HF_SPAN("refused"), .sentence = text });
}

void hf_library_take_front(struct hf *hf, struct hf_http_front *front)
{
    assert(!hf->http_front);
    hf->http_front = front;
}

/* ---- operators ---- */

static enum hf_answer operate(struct hf *hf, const char *name, enum hf_op op)
{
    struct hf_server *server = find(hf, name);
    if (!server)
        return HF_NO_SUCH_SERVER;
    const bool done = hf_server_op(server, op, hf_loop_time(hf->shell.loop));
    hf_shell_pump(&hf->shell);
    return done ? HF_DONE : HF_REFUSED;
}

enum hf_answer hf_enable(struct hf *hf, const char *server)
{
    return operate(hf, server, HF_OP_ENABLE);
}
enum hf_answer hf_disable(struct hf *hf, const char *server)
{
    return operate(hf, server, HF_OP_DISABLE);
}
enum hf_answer hf_restart(struct hf *hf, const char *server)
{
    return operate(hf, server, HF_OP_RESTART);
}
enum hf_answer hf_reconnect(struct hf *hf, const char *server)
{
    return operate(hf, server, HF_OP_RECONNECT);
}
enum hf_answer hf_remove(struct hf *hf, const char *server)
{
    return operate(hf, server, HF_OP_REMOVE);
}

static bool status_of(struct hf *hf, const char *name, struct hf_server_status *ret_status)
{
    const struct hf_server *server = find(hf, name);
    if (server)
        hf_server_status(server, ret_status);
    return server != NULL;
}

const char *hf_state(struct hf *hf, const char *server)
{
    struct hf_server_status status;
    return status_of(hf, server, &status) ? hf_slot_state_name(status.state) : NULL;
}
const char *hf_reason(struct hf *hf, const char *server)
{
    struct hf_server_status status;
    return status_of(hf, server, &status) ? status.last_reason : NULL;
}
const char *hf_last_stderr(struct hf *hf, const char *server)
{
    struct hf_server_status status;
    return status_of(hf, server, &status) ? status.last_stderr : NULL;
}
long hf_pid(struct hf *hf, const char *server)
{
    struct hf_server_status status;
    return status_of(hf, server, &status) ? status.pid : 0;
}
uint64_t hf_generation(struct hf *hf, const char *server)
{
    struct hf_server_status status;
    return status_of(hf, server, &status) ? status.generation : 0;
}
