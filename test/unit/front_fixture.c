/* front_fixture.c - see front_fixture.h. */
#include "front_fixture.h"
#include <stdlib.h>

enum { OUT_MAX = 1 << 28, SESSIONS_MAX = 64, ID_MAX = 80 };

static struct front *playing; /* whoever is tested: the functions of io know no more */

/* ---- io, played ---- */

struct hf_http_server *__wrap_hf_http_server_new(struct hf_shell *shell,
                                                 const struct hf_http_spec *spec,
                                                 const struct hf_http_events *events, void *context,
                                                 struct hf_err *err);
const char *__wrap_hf_http_server_url(const struct hf_http_server *server);
bool __wrap_hf_http_server_is_loopback(const struct hf_http_server *server);
void __wrap_hf_http_server_stop(struct hf_http_server *server);
unsigned __wrap_hf_http_server_connections(const struct hf_http_server *server);
void __wrap_hf_http_server_free(struct hf_http_server *server);
const struct hf_http_request *__wrap_hf_exchange_request(const struct hf_exchange *exchange);
struct hf_span __wrap_hf_exchange_body(const struct hf_exchange *exchange);
struct hf_span __wrap_hf_exchange_peer(const struct hf_exchange *exchange);
size_t __wrap_hf_exchange_room(const struct hf_exchange *exchange);
size_t front_room = SIZE_MAX / 4;
void __wrap_hf_exchange_set_context(struct hf_exchange *exchange, void *context);
void *__wrap_hf_exchange_context(const struct hf_exchange *exchange);
void __wrap_hf_exchange_answer(struct hf_exchange *exchange, int status, const char *headers,
                               const char *type, const struct hf_span *pieces,
                               unsigned piece_count);
void __wrap_hf_exchange_begin(struct hf_exchange *exchange, int status, const char *headers,
                              const char *type);
void __wrap_hf_exchange_write(struct hf_exchange *exchange, const struct hf_span *pieces,
                              unsigned piece_count);
void __wrap_hf_exchange_end(struct hf_exchange *exchange);
void __wrap_hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms);
uint64_t __wrap_hf_loop_now_ms(struct hf_loop *loop);
struct hf_now __wrap_hf_loop_time(struct hf_loop *loop);

struct hf_http_server *__wrap_hf_http_server_new(struct hf_shell *shell,
                                                 const struct hf_http_spec *spec,
                                                 const struct hf_http_events *events, void *context,
                                                 struct hf_err *err)
{
    (void)spec;
    (void)err;
    struct front *f = (struct front *)(void *)shell;
    f->events = *events;
    f->context = context;
    return (struct hf_http_server *)(void *)f;
}

const char *__wrap_hf_http_server_url(const struct hf_http_server *server)
{
    (void)server;
    return "http://127.0.0.1:7332";
}

bool __wrap_hf_http_server_is_loopback(const struct hf_http_server *server)
{
    return !((const struct front *)(const void *)server)->is_remote;
}

void __wrap_hf_http_server_stop(struct hf_http_server *server)
{
    ((struct front *)(void *)server)->is_server_stopped = true;
}

unsigned __wrap_hf_http_server_connections(const struct hf_http_server *server)
{
    const struct front *f = (const struct front *)(const void *)server;
    unsigned count = 0;
    for (size_t i = 0; i < f->exchange_count; i++)
        count += !f->exchanges[i]->is_over && !f->exchanges[i]->is_gone;
    return count;
}

void __wrap_hf_http_server_free(struct hf_http_server *server)
{
    (void)server;
}

static void check_is_open(const struct hf_exchange *exchange, bool streams)
{
    if (exchange->is_over || exchange->is_gone || exchange->is_stream != streams) {
        printf("# an exchange was used after its time: %.*s\n", HF_FMT(exchange->request.target));
        abort();
    }
}

const struct hf_http_request *__wrap_hf_exchange_request(const struct hf_exchange *exchange)
{
    check_is_open(exchange, false);
    return &exchange->request;
}

struct hf_span __wrap_hf_exchange_body(const struct hf_exchange *exchange)
{
    check_is_open(exchange, false);
    return exchange->body;
}

struct hf_span __wrap_hf_exchange_peer(const struct hf_exchange *exchange)
{
    check_is_open(exchange, false);
    return HF_SPAN("127.0.0.1");
}

size_t __wrap_hf_exchange_room(const struct hf_exchange *exchange)
{
    check_is_open(exchange, exchange->is_stream);
    return front_room;
}

void __wrap_hf_exchange_set_context(struct hf_exchange *exchange, void *context)
{
    exchange->context = context;
}

void *__wrap_hf_exchange_context(const struct hf_exchange *exchange)
{
    return exchange->context;
}

static void take_head(struct hf_exchange *exchange, int status, const char *headers,
                      const char *type)
{
    struct hf_buf text;
    check_is_open(exchange, false);
    exchange->status = status;
    hf_buf_init(&text, 1 << 16);
    hf_buf_printf(&text, "\r\n%sContent-Type: %s\r\n", headers ? headers : "", type ? type : "");
    exchange->headers = hf_span_dup(hf_buf_span(&text));
    hf_buf_done(&text);
}

void __wrap_hf_exchange_answer(struct hf_exchange *exchange, int status, const char *headers,
                               const char *type, const struct hf_span *pieces, unsigned piece_count)
{
    take_head(exchange, status, headers, type);
    for (unsigned i = 0; i < piece_count; i++)
        hf_buf_add(&exchange->out, pieces[i]);
    exchange->is_over = true;
}

void __wrap_hf_exchange_begin(struct hf_exchange *exchange, int status, const char *headers,
                              const char *type)
{
    take_head(exchange, status, headers, type);
    exchange->is_stream = true;
}

void __wrap_hf_exchange_write(struct hf_exchange *exchange, const struct hf_span *pieces,
                              unsigned piece_count)
{
    check_is_open(exchange, true);
    for (unsigned i = 0; i < piece_count; i++)
        hf_buf_add(&exchange->out, pieces[i]);
}

void __wrap_hf_exchange_end(struct hf_exchange *exchange)
{
    check_is_open(exchange, true);
    exchange->is_over = true;
}

void __wrap_hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms)
{
    playing->alarm = alarm;
    alarm->timer.at_ms = at_ms;
}

uint64_t __wrap_hf_loop_now_ms(struct hf_loop *loop)
{
    (void)loop;
    return playing->w->now_ms;
}

struct hf_now __wrap_hf_loop_time(struct hf_loop *loop)
{
    (void)loop;
    return at(playing->w->now_ms);
}

/* ---- the front ---- */

static void send_on(const struct hf_effect *effect)
{
    struct hf_sink *sink = hf_session_shell(effect->session);
    sink->send(sink, effect);
}

static void pump_front(struct hf_shell *shell)
{
    struct front *f = (struct front *)(void *)shell;
    if (f->is_pumping)
        return;
    f->is_pumping = true;
    settle(f->w);
    f->is_pumping = false;
}

static void end_turn(struct front *f)
{
    pump_front(&f->shell);
    hf_http_front_review(f->http);
    struct hf_flush *dead;
    HF_LIST_EACH_SAFE (dead, &f->shell.dead, struct hf_flush, link) {
        hf_unlink(&dead->link);
        hf_free(dead);
    }
}

static struct front *front_made(uint32_t session_ttl_ms, uint32_t max_sessions,
                                uint64_t max_buffered_bytes, const struct hf_authorizer *authorizer)
{
    struct front *f = hf_new(struct front);
    playing = f;
    f->w = world_new_with((struct hf_limits) { .max_message_bytes = 1 << 26,
                                               .max_buffered_bytes = max_buffered_bytes,
                                               .max_depth = 512,
                                               .page_bytes = 1000000 });
    f->w->send = send_on;
    f->server = add_server(f->w, "s", default_settings());
    settle(f->w);
    f->shell.engine = f->w->engine;
    f->shell.pump = pump_front;
    hf_link_init(&f->shell.dirty);
    hf_link_init(&f->shell.dead);
    const struct hf_http_front_spec spec = { .limits = &f->w->limits,
                                             .authorizer = authorizer,
                                             .session_ttl_ms = session_ttl_ms,
                                             .max_sessions = max_sessions };
    f->http = hf_http_front_new(&f->shell, &spec, hf_access_new(NULL, NULL), NULL);
    return f;
}

struct front *front_new_with(uint32_t session_ttl_ms, uint32_t max_sessions,
                             uint64_t max_buffered_bytes)
{
    return front_made(session_ttl_ms, max_sessions, max_buffered_bytes, NULL);
}

struct front *front_new(uint32_t session_ttl_ms, uint32_t max_sessions)
{
    return front_made(session_ttl_ms, max_sessions, 1 << 28, NULL);
}

struct front *front_new_asking(const struct hf_authorizer *authorizer)
{
    return front_made(1000000, 10, 1 << 28, authorizer);
}

void front_end(struct front *f)
{
    hf_http_front_free(f->http);
    struct hf_flush *dead;
    HF_LIST_EACH_SAFE (dead, &f->shell.dead, struct hf_flush, link)
        hf_free(dead);
    world_end(f->w);
    for (size_t i = 0; i < f->exchange_count; i++) {
        struct hf_exchange *exchange = f->exchanges[i];
        hf_free(exchange->text);
        hf_free(exchange->headers);
        hf_buf_done(&exchange->out);
        hf_free(exchange);
    }
    hf_free(f);
}

void pass(struct front *f, uint64_t ms)
{
    const uint64_t end = f->w->now_ms + ms;
    while (f->alarm && f->alarm->timer.at_ms && f->alarm->timer.at_ms <= end) {
        const uint64_t at = f->alarm->timer.at_ms;
        if (at > f->w->now_ms)
            advance(f->w, at - f->w->now_ms);
        f->alarm->timer.at_ms = 0;
        f->alarm->on_alarm(f->alarm->context);
        end_turn(f);
    }
    advance(f->w, end - f->w->now_ms);
    end_turn(f);
}

/* ---- clients ---- */

struct hf_exchange *ask(struct front *f, const char *method, const char *path, const char *headers,
                        const char *body)
{
    struct hf_exchange *exchange = hf_new(struct hf_exchange);
    struct hf_buf text;
    const char *why = "";
    if (f->exchange_count == EXCHANGES_MAX)
        abort();
    f->exchanges[f->exchange_count++] = exchange;
    hf_buf_init(&exchange->out, OUT_MAX);
    hf_buf_init(&text, OUT_MAX);
    hf_buf_printf(&text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:7332\r\n%s\r\n", method, path, headers);
    exchange->text = hf_span_dup(hf_buf_span(&text));
    exchange->body = hf_span_of(body);
    if (hf_http_request_parse(hf_span_of(exchange->text), &exchange->request, &why) != 0) {
        printf("# %s\n", why);
        abort();
    }
    hf_buf_done(&text);
    f->events.request(f->context, exchange);
    end_turn(f);
    return exchange;
}

struct hf_exchange *post(struct front *f, const char *session, const char *body)
{
    char headers[400];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\n%s%s%s",
                   session ? "Mcp-Session-Id: " : "", session ? session : "",
                   session ? "\r\n" : "");
    return ask(f, "POST", "/mcp/s", headers, body);
}

struct hf_exchange *get(struct front *f, const char *session, const char *last_event_id)
{
    char headers[400];
    (void)snprintf(headers, sizeof headers,
                   "Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s%s%s", session,
                   last_event_id ? "Last-Event-ID: " : "", last_event_id ? last_event_id : "",
                   last_event_id ? "\r\n" : "");
    return ask(f, "GET", "/mcp/s", headers, "");
}

void leave(struct front *f, struct hf_exchange *exchange)
{
    exchange->is_gone = true;
    f->events.gone(f->context, exchange);
    end_turn(f);
}

const char *join(struct front *f, const char *version)
{
    static char ids[SESSIONS_MAX][ID_MAX];
    static unsigned next;
    char *id = ids[next++ % SESSIONS_MAX], body[400];
    (void)snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                   "\"protocolVersion\":\"%s\",\"capabilities\":{\"roots\":{}},"
                   "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                   version);
    const struct hf_span given = header_of(post(f, NULL, body), "Mcp-Session-Id");
    const struct hf_span text = given.p ? given : HF_SPAN("none");
    (void)snprintf(id, ID_MAX, "%.*s", HF_FMT(text));
    return id;
}

struct hf_exchange *call(struct front *f, const char *session, int id)
{
    char body[200];
    (void)snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"echo\",\"_meta\":{\"progressToken\":%d}}}",
                   id, id);
    return post(f, session, body);
}

void answer_call(struct front *f)
{
    child_answers(newest_child(f->w, f->server), "tools/call", "{\"content\":[]}");
    end_turn(f);
}

/* ---- what came ---- */

size_t has(const struct hf_exchange *exchange, const char *part)
{
    struct hf_span rest = hf_buf_span(&exchange->out);
    size_t count = 0;
    for (const char *at; (at = memmem(rest.p, rest.n, part, strlen(part)));) {
        count++;
        rest = hf_span_from(rest, (size_t)(at - rest.p) + strlen(part));
    }
    return count;
}

struct hf_span header_of(const struct hf_exchange *exchange, const char *name)
{
    char start[80];
    (void)snprintf(start, sizeof start, "\r\n%s: ", name);
    const char *at = exchange->headers ? strstr(exchange->headers, start) : NULL;
    if (!at)
        return (struct hf_span) { NULL, 0 };
    at += strlen(start);
    return (struct hf_span) { at, strcspn(at, "\r") };
}

const char *last_id(const struct hf_exchange *exchange)
{
    static char id[ID_MAX];
    struct hf_span rest = hf_buf_span(&exchange->out);
    id[0] = '\0';
    for (const char *at; (at = memmem(rest.p, rest.n, "id: ", 4));) {
        rest = hf_span_from(rest, (size_t)(at - rest.p) + 4);
        const char *end = memchr(rest.p, '\n', rest.n);
        (void)snprintf(id, sizeof id, "%.*s", end ? (int)(end - rest.p) : 0, rest.p);
    }
    return id;
}
