/* http_load.c - see http_load.h. */
#include "http_load.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "http_wire.h"
#include "rig.h"

enum { REQUEST_SIZE = 2048, PATIENCE_S = 20 };

#define TEXT "the quick brown fox jumps over the lazy dog"

struct session { /* OLD_SSE: kept from one load to the next */
    const struct target *target;
    struct inlet stream; /* where the answers come */
    char endpoint[256];  /* where to POST, as the stream said */
};

struct connection {
    struct inlet post;
    struct session *session; /* NULL: answers come where they were asked for */
    char request[REQUEST_SIZE];
    size_t request_length;
    uint64_t sent_ns;
    struct inlet good; /* the last answer that was read with care */
    size_t good_head;
};

/* ---- requests ---- */

static size_t make_request(const struct target *target, const char *path, const char *body,
                           char *out)
{
    const bool has_session = target->tongue == STREAMABLE && target->session[0];
    const int n =
        snprintf(out, REQUEST_SIZE,
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/json\r\n"
                 "Accept: application/json, text/event-stream\r\n%s%s%sContent-Length: %zu\r\n\r\n"
                 "%s",
                 path, target->port, has_session ? "Mcp-Session-Id: " : "",
                 has_session ? target->session : "",
                 has_session ? "\r\nMcp-Protocol-Version: 2025-06-18\r\n" : "", strlen(body), body);
    return (size_t)n;
}

static void make_call(const struct target *target, unsigned id, struct connection *c)
{
    char body[512];
    if (target->tongue == REST)
        (void)snprintf(body, sizeof body, "{%s,\"arguments\":{\"text\":\"" TEXT "\"}}",
                       target->tool);
    else
        (void)snprintf(body, sizeof body,
                       "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"%s\",\"arguments\":{\"text\":\"" TEXT "\"}}}",
                       id, target->tool);
    c->request_length =
        make_request(target, c->session ? c->session->endpoint : target->path, body, c->request);
}

/* ---- answers ---- */

/* Whether the call is answered, and the next one may be sent. */
static bool is_answered(const struct connection *c)
{
    return inlet_is_whole(&c->post) && (!c->session || inlet_has_result(&c->session->stream, TEXT));
}

/* The same call has the same answer but for the date: comparing costs less than reading it again,
 * and what we spend here is taken from whoever is measured. */
static bool is_like_the_good_one(const struct connection *c)
{
    const struct inlet *in = &c->post, *good = &c->good;
    return c->good_head && in->have == good->have &&
           memcmp(in->bytes + c->good_head, good->bytes + c->good_head,
                  good->have - c->good_head) == 0;
}

static void keep_as_good(struct connection *c)
{
    if (c->session)
        return;
    memcpy(c->good.bytes, c->post.bytes, c->post.have);
    c->good.have = c->post.have;
    c->good_head = inlet_head(&c->post);
}

/* ---- connections ---- */

static void send_request(struct connection *c, uint64_t now_ns)
{
    c->post.have = 0;
    if (c->session)
        c->session->stream.have = 0;
    c->sent_ns = now_ns;
    if (send(c->post.fd, c->request, c->request_length, MSG_NOSIGNAL) != (ssize_t)c->request_length)
        give_up("send");
}

/* One request; false: no answer. */
static bool ask(const struct target *target, struct connection *c, const char *path,
                const char *body)
{
    c->request_length = make_request(target, path, body, c->request);
    send_request(c, 0);
    while (!inlet_is_whole(&c->post))
        if (!inlet_read(&c->post))
            return false;
    return true;
}

static bool open_stream(const struct target *target, struct session *session)
{
    char get[256];
    const int n = snprintf(get, sizeof get,
                           "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept: text/event-stream\r\n"
                           "\r\n",
                           target->path, target->port);
    struct inlet *in = &session->stream;
    if (!inlet_open(in, target->port) || send(in->fd, get, (size_t)n, 0) != n)
        return false;
    while (!inlet_header(in, "data: ") || !memmem(in->bytes, in->have, "\n\n", 2))
        if (inlet_is_whole(in) || !inlet_read(in)) /* whole: a refusal */
            return false;
    return sscanf(inlet_header(in, "data: "), "%255[^\r\n]", session->endpoint) == 1;
}

/* The session of a place, opened and greeted when it is used first; NULL: nobody is there. */
static struct session *session_of(const struct target *target, unsigned place, struct connection *c)
{
    static struct session sessions[CONNECTIONS_MAX];
    struct session *session = &sessions[place];
    if (session->target == target)
        return session;
    if (session->target)
        close(session->stream.fd);
    session->target = NULL;
    if (!open_stream(target, session))
        return NULL;
    c->session = session;
    if (!ask(target, c, session->endpoint, HELLO))
        return NULL;
    while (!inlet_has_result(&session->stream, "protocolVersion"))
        if (!inlet_read(&session->stream))
            return NULL;
    if (!ask(target, c, session->endpoint, INITIALIZED))
        return NULL;
    session->target = target;
    return session;
}

/* Ready to call; false: nobody is there. */
static bool open_connection(const struct target *target, unsigned place, struct connection *c)
{
    c->session = NULL;
    c->good_head = 0;
    if (!inlet_open(&c->post, target->port))
        return false;
    if (target->tongue == OLD_SSE && !(c->session = session_of(target, place, c))) {
        close(c->post.fd);
        return false;
    }
    make_call(target, place + 1, c);
    return true;
}

static bool introduce(struct target *target, struct connection *c)
{
    target->session[0] = '\0';
    if (!ask(target, c, target->path, HELLO) || !inlet_has_result(&c->post, "protocolVersion"))
        return false;
    const char *session = inlet_header(&c->post, "mcp-session-id:");
    if (session)
        (void)sscanf(session, " %255[^\r\n]", target->session);
    return ask(target, c, target->path, INITIALIZED);
}

static const struct inlet *answer_of(const struct connection *c)
{
    return c->session ? &c->session->stream : &c->post;
}

static bool call_once(struct connection *c)
{
    send_request(c, 0);
    while (!inlet_is_whole(&c->post))
        if (!inlet_read(&c->post))
            return false;
    while (c->session && !memmem(c->session->stream.bytes, c->session->stream.have, "\n\n", 2))
        if (!inlet_read(&c->session->stream))
            return false;
    return inlet_has_result(answer_of(c), TEXT);
}

bool target_greet(struct target *target)
{
    static struct connection c;
    if (!open_connection(target, 0, &c))
        return false;
    bool is_good = target->tongue != STREAMABLE || introduce(target, &c);
    make_call(target, 1, &c);
    is_good = is_good && call_once(&c);
    close(c.post.fd);
    return is_good;
}

/* ---- load ---- */

static struct connection connections[CONNECTIONS_MAX];

static void watch(int epoll, unsigned place, const struct inlet *in, uint32_t is_stream)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = place | (uint64_t)is_stream << 32 };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, in->fd, &event) != 0)
        give_up("epoll_ctl");
}

/* False: nobody is there any more. */
static bool open_all(const struct target *target, unsigned count, int epoll)
{
    /* Sessions first: they take a while, and idle connections are not kept for long. */
    for (unsigned i = 0; target->tongue == OLD_SSE && i < count; i++) {
        if (!open_connection(target, i, &connections[i]))
            return false;
        close(connections[i].post.fd);
    }
    for (unsigned i = 0; i < count; i++) {
        if (!open_connection(target, i, &connections[i]))
            return false;
        watch(epoll, i, &connections[i].post, 0);
        if (connections[i].session)
            watch(epoll, i, &connections[i].session->stream, 1);
    }
    return true;
}

static bool complain(const char *what, const struct inlet *in)
{
    fprintf(stderr, "bench: %s%s%.*s\n", what, in ? ": " : "", in ? (int)in->have : 0,
            in ? in->bytes : "");
    return false;
}

/* What came on one socket. False: it is of no use. */
static bool on_readable(uint64_t which, bool *ret_is_answered)
{
    struct connection *c = &connections[(uint32_t)which];
    if (!inlet_read(which >> 32 ? &c->session->stream : &c->post))
        return complain("a connection was closed under load", NULL);
    *ret_is_answered = is_like_the_good_one(c);
    if (*ret_is_answered)
        return true;
    *ret_is_answered = is_answered(c);
    if (!*ret_is_answered)
        return true;
    keep_as_good(c);
    return inlet_has_result(answer_of(c), TEXT) || complain("an answer that is none", answer_of(c));
}

static bool run(unsigned count, int epoll, struct length length, struct latencies *latencies,
                struct load *load)
{
    struct epoll_event events[CONNECTIONS_MAX];
    unsigned open = count;
    uint64_t sent = count;
    const uint64_t until = clock_ns() + length.ms * 1000000u;
    for (unsigned i = 0; i < count; i++)
        send_request(&connections[i], clock_ns());
    while (open) {
        const int ready = epoll_wait(epoll, events, CONNECTIONS_MAX, PATIENCE_S * 1000);
        if (ready <= 0)
            return complain("no answer for a long time", NULL);
        for (int i = 0; i < ready; i++) {
            struct connection *c = &connections[events[i].data.u32];
            bool is_done;
            if (!on_readable(events[i].data.u64, &is_done))
                return false;
            if (!is_done)
                continue;
            const uint64_t now_ns = clock_ns();
            latencies_add(latencies, now_ns - c->sent_ns);
            load->calls++;
            if (now_ns < until && sent < length.calls) {
                send_request(c, now_ns);
                sent++;
            } else
                open--;
        }
    }
    return true;
}

bool target_load(const struct target *target, unsigned count, struct length length,
                 struct latencies *latencies, struct load *ret_load)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    *ret_load = (struct load) { 0, 0 };
    const bool is_open = open_all(target, count, epoll);
    const uint64_t began = clock_ns();
    const bool is_good = is_open && run(count, epoll, length, latencies, ret_load);
    ret_load->seconds = (double)(clock_ns() - began) / 1e9;
    for (unsigned i = 0; i < count && is_open; i++)
        close(connections[i].post.fd);
    close(epoll);
    return is_good;
}
