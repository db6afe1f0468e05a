/* front_fixture.c - see front_fixture.h. */
#include "front_fixture.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "front/http_parts.h"
#include "io/http_connection.h"

enum { OUT_MAX = 1 << 28, SESSIONS_MAX = 64, ID_MAX = 80, ROUNDS_MAX = 100000 };

/* ---- a client's side of its connection ---- */

static void hang_up(struct trip *trip)
{
    if (trip->fd >= 0)
        close(trip->fd);
    trip->fd = -1;
}

static bool send_some(struct trip *trip)
{
    const struct hf_span left = hf_buf_span(&trip->unsent);
    const ssize_t n = left.n ? send(trip->fd, left.p, left.n, MSG_NOSIGNAL) : 0;
    if (n <= 0)
        return false;
    hf_buf_consume(&trip->unsent, (size_t)n);
    return true;
}

static bool receive_some(struct trip *trip)
{
    char block[65536];
    const ssize_t n = recv(trip->fd, block, sizeof block, 0);
    if (n > 0)
        hf_buf_add(&trip->came, (struct hf_span) { block, (size_t)n });
    else if (n == 0 || errno != EAGAIN)
        trip->is_gone = true;
    return n > 0;
}

/* The head of the answer, once it is whole. */
static void read_head(struct trip *trip)
{
    const struct hf_span came = hf_buf_span(&trip->came);
    const char *end = memmem(came.p, came.n, "\r\n\r\n", 4);
    if (!end)
        return;
    trip->headers = hf_span_dup((struct hf_span) { came.p, (size_t)(end - came.p) + 2 });
    trip->status = atoi(trip->headers + strlen("HTTP/1.1 "));
    trip->is_stream = header_of(trip, "Transfer-Encoding").p != NULL;
    trip->length =
        strtoul(trip->is_stream || trip->status == 204 ? "0" : header_of(trip, "Content-Length").p,
                NULL, 10);
    hf_buf_consume(&trip->came, (size_t)(end - came.p) + 4);
}

static void read_body(struct trip *trip)
{
    struct hf_span bytes = hf_buf_span(&trip->came), data;
    const size_t n = bytes.n;
    enum hf_chunk_status status = HF_CHUNK_MORE;
    while (trip->is_stream && bytes.n && status == HF_CHUNK_MORE) {
        status = hf_chunks_next(&trip->chunks, &bytes, &data);
        hf_buf_add(&trip->out, data);
    }
    if (!trip->is_stream) {
        hf_buf_add(&trip->out, bytes);
        bytes.n = 0;
    }
    hf_buf_consume(&trip->came, n - bytes.n);
    trip->is_over =
        trip->is_stream ? status == HF_CHUNK_END : hf_buf_len(&trip->out) >= trip->length;
}

/* False: nothing moved. A client of ours makes one request and leaves when it is answered. */
static bool travel(struct trip *trip)
{
    if (trip->fd < 0)
        return false;
    bool moved = send_some(trip);
    moved |= receive_some(trip);
    if (!trip->status)
        read_head(trip);
    if (trip->status)
        read_body(trip);
    if (trip->is_over || trip->is_gone) {
        trip->is_gone &= !trip->is_over;
        hang_up(trip);
        moved = true;
    }
    return moved;
}

/* ---- the front ---- */

static void send_on(const struct hf_effect *effect)
{
    struct hf_sink *sink = hf_session_sink(effect->session);
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

/* The end of each turn, as the library has it. */
static void on_turn(void *context)
{
    struct front *f = context;
    struct hf_flush *flush;
    pump_front(&f->shell);
    hf_http_front_review(f->http);
    while ((flush = HF_LIST_FIRST(&f->shell.dirty, struct hf_flush, link))) {
        hf_unlink(&flush->link);
        flush->flush(flush);
    }
    HF_LIST_EACH_SAFE (flush, &f->shell.dead, struct hf_flush, link) {
        hf_unlink(&flush->link);
        hf_free(flush);
    }
}

/* Until nothing moves any more. */
static void turn(struct front *f)
{
    struct pollfd ready = { .fd = hf_loop_fd(f->shell.loop), .events = POLLIN };
    bool moved = true;
    for (int rounds = 0; moved; rounds++) {
        if (rounds == ROUNDS_MAX) {
            printf("# the front does not come to rest\n");
            abort();
        }
        hf_loop_step(f->shell.loop, false);
        moved = false;
        for (size_t i = 0; i < f->trip_count; i++)
            moved |= travel(f->trips[i]);
        moved |= poll(&ready, 1, 0) == 1;
    }
}

static void take_log(void *context, struct hf_span text)
{
    struct front *f = context;
    const size_t n = strlen(f->log);
    (void)snprintf(f->log + n, sizeof f->log - n, "%.*s\n", HF_FMT(text));
}

static struct hf_now world_time(void *context)
{
    const struct world *w = context;
    return at(w->now_ms);
}

static void end_of_test(void *front)
{
    front_end(front);
}

static struct front *front_made(uint32_t session_ttl_ms, uint32_t max_sessions,
                                uint64_t max_buffered_bytes, const struct hf_authorizer *authorizer)
{
    struct front *f = hf_new(struct front);
    f->w =
        world_new_with(LIMITS(.max_buffered_bytes = max_buffered_bytes, .park_ms = 0, .shares = 3));
    f->w->send = send_on;
    f->server = add_server(f->w, "s", default_settings());
    settle(f->w);
    f->shell.engine = f->w->engine;
    f->shell.pump = pump_front;
    f->shell.loop = hf_loop_new();
    hf_loop_set_clock(f->shell.loop, world_time, f->w);
    hf_loop_on_turn(f->shell.loop, on_turn, f);
    hf_link_init(&f->shell.dirty);
    hf_link_init(&f->shell.dead);
    struct hf_http_limits limits = hf_http_limits_default;
    limits.body_bytes = limits.unwritten_bytes = limits.held_bytes = OUT_MAX;
    const struct hf_http_front_spec spec = { .http = { .listen = "127.0.0.1:0", .limits = limits },
                                             .log = { take_log, f },
                                             .limits = &f->w->limits,
                                             .authorizer = authorizer,
                                             .session_ttl_ms = session_ttl_ms,
                                             .max_sessions = max_sessions };
    f->http = hf_http_front_new(&f->shell, &spec, hf_access_new(NULL, NULL), NULL);
    if (!f->http)
        abort();
    test_at_end(end_of_test, f);
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
    test_has_ended(f);
    hf_http_front_free(f->http);
    struct hf_flush *dead;
    HF_LIST_EACH_SAFE (dead, &f->shell.dead, struct hf_flush, link)
        hf_free(dead);
    hf_loop_free(f->shell.loop);
    world_end(f->w);
    for (size_t i = 0; i < f->trip_count; i++) {
        struct trip *trip = f->trips[i];
        hang_up(trip);
        hf_free(trip->headers);
        hf_buf_done(&trip->unsent);
        hf_buf_done(&trip->came);
        hf_buf_done(&trip->out);
        hf_free(trip);
    }
    hf_free(f);
}

void pass(struct front *f, uint64_t ms)
{
    const uint64_t end = f->w->now_ms + ms;
    for (;;) {
        const int left_ms = hf_loop_timeout_ms(f->shell.loop);
        if (left_ms < 0 || f->w->now_ms + (uint64_t)left_ms > end)
            break;
        if (left_ms > 0)
            advance(f->w, (uint64_t)left_ms);
        turn(f);
    }
    advance(f->w, end - f->w->now_ms);
    turn(f);
}

void front_be_remote(struct front *f)
{
    f->http->server->at.is_loopback = false;
}

bool front_listens(const struct front *f)
{
    return f->http->server->fd >= 0;
}

void front_set_room(struct front *f, size_t bytes)
{
    enum { HEAD_ROOM = 512 }; /* what hf_exchange_room takes off for the head */
    f->http->server->limits.unwritten_bytes = bytes + HEAD_ROOM;
}

/* ---- clients ---- */

struct trip *ask(struct front *f, const char *method, const char *path, const char *headers,
                 const char *body)
{
    return ask_begin(f, method, path, headers, body, strlen(body));
}

void ask_more(struct front *f, struct trip *trip, const char *body)
{
    hf_buf_add_str(&trip->unsent, body);
    turn(f);
}

struct trip *ask_begin(struct front *f, const char *method, const char *path, const char *headers,
                       const char *body, size_t length)
{
    struct trip *trip = hf_new(struct trip);
    struct sockaddr_storage peer = { 0 };
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&peer;
    int fds[2];
    if (f->trip_count == TRIPS_MAX ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        abort();
    f->trips[f->trip_count++] = trip;
    trip->fd = fds[0];
    hf_buf_init(&trip->unsent, OUT_MAX);
    hf_buf_init(&trip->came, OUT_MAX);
    hf_buf_init(&trip->out, OUT_MAX);
    hf_chunks_init(&trip->chunks);
    hf_buf_printf(&trip->unsent, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n%s\r\n%s",
                  method, path, hf_http_front_url(f->http) + strlen("http://"), length, headers,
                  body);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hf_connection_open(f->http->server, fds[1], &peer, NULL, 0, NULL);
    turn(f);
    return trip;
}

struct trip *post(struct front *f, const char *session, const char *body)
{
    char headers[400];
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\n%s%s%s",
                   session ? "Mcp-Session-Id: " : "", session ? session : "",
                   session ? "\r\n" : "");
    return ask(f, "POST", "/mcp/s", headers, body);
}

struct trip *get(struct front *f, const char *session, const char *last_event_id)
{
    char headers[400];
    (void)snprintf(headers, sizeof headers,
                   "Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s%s%s", session,
                   last_event_id ? "Last-Event-ID: " : "", last_event_id ? last_event_id : "",
                   last_event_id ? "\r\n" : "");
    return ask(f, "GET", "/mcp/s", headers, "");
}

void leave(struct front *f, struct trip *trip)
{
    trip->is_gone = true;
    hang_up(trip);
    turn(f);
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

struct trip *call(struct front *f, const char *session, int id)
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
    turn(f);
}

/* ---- what came ---- */

size_t has(const struct trip *trip, const char *part)
{
    struct hf_span rest = hf_buf_span(&trip->out);
    size_t count = 0;
    for (const char *at; (at = memmem(rest.p, rest.n, part, strlen(part)));) {
        count++;
        rest = hf_span_from(rest, (size_t)(at - rest.p) + strlen(part));
    }
    return count;
}

struct hf_span header_of(const struct trip *trip, const char *name)
{
    char start[80];
    (void)snprintf(start, sizeof start, "\r\n%s: ", name);
    const char *at = trip->headers ? strstr(trip->headers, start) : NULL;
    if (!at)
        return (struct hf_span) { NULL, 0 };
    at += strlen(start);
    return (struct hf_span) { at, strcspn(at, "\r") };
}

const char *last_id(const struct trip *trip)
{
    static char id[ID_MAX];
    struct hf_span rest = hf_buf_span(&trip->out);
    id[0] = '\0';
    for (const char *at; (at = memmem(rest.p, rest.n, "id: ", 4));) {
        rest = hf_span_from(rest, (size_t)(at - rest.p) + 4);
        const char *end = memchr(rest.p, '\n', rest.n);
        (void)snprintf(id, sizeof id, "%.*s", end ? (int)(end - rest.p) : 0, rest.p);
    }
    return id;
}
