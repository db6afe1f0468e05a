/* http_load.c - see http_load.h. */
#include "http_load.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "rig.h"

enum { REQUEST_SIZE = 2048, ANSWER_SIZE = 16 * 1024, PATIENCE_S = 20 };

#define TEXT "the quick brown fox jumps over the lazy dog"

#define HELLO                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

struct inlet { /* what came on one socket since the last request */
    int fd;
    char bytes[ANSWER_SIZE];
    size_t have;
};

struct session { /* OLD_SSE: kept from one load to the next */
    const struct target *target;
    struct inlet stream; /* where the answers come */
    char door[256];      /* where to POST, as the stream said */
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
        make_request(target, c->session ? c->session->door : target->path, body, c->request);
}

/* ---- answers ---- */

/* The value of a header, up to the end of its line; NULL: there is none. */
static const char *header(const struct inlet *in, const char *name)
{
    const size_t length = strlen(name);
    const char *end = in->bytes + in->have;
    for (const char *at = in->bytes; (at = memchr(at, '\n', (size_t)(end - at)));) {
        at++;
        if ((size_t)(end - at) > length && strncasecmp(at, name, length) == 0)
            return at + length;
    }
    return NULL;
}

/* Where the body begins; 0: not there yet. */
static size_t head_of(const struct inlet *in)
{
    const char *end = memmem(in->bytes, in->have, "\r\n\r\n", 4);
    return end ? (size_t)(end + 4 - in->bytes) : 0;
}

/* Whether a whole answer of HTTP is there. */
static bool is_whole(const struct inlet *in)
{
    const size_t head = head_of(in);
    if (!head)
        return false;
    const char *length = header(in, "content-length:");
    if (length)
        return in->have >= head + strtoul(length, NULL, 10);
    /* chunks, then: none of our answers holds its end before it ends */
    return in->have >= head + 5 && memcmp(in->bytes + in->have - 5, "0\r\n\r\n", 5) == 0;
}

static bool has_result(const struct inlet *in, const char *text)
{
    return memmem(in->bytes, in->have, "\"result\"", 8) &&
           memmem(in->bytes, in->have, text, strlen(text));
}

/* Whether the call is answered, and the next one may be sent. */
static bool is_answered(const struct connection *c)
{
    return is_whole(&c->post) && (!c->session || has_result(&c->session->stream, TEXT));
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
    c->good_head = head_of(&c->post);
}

/* ---- connections ---- */

static bool open_socket(const struct target *target, struct inlet *in)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)target->port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    const int one = 1;
    in->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    in->have = 0;
    if (in->fd < 0)
        give_up("socket");
    (void)setsockopt(in->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(in->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(in->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    close(in->fd);
    in->fd = -1;
    return false;
}

static void send_request(struct connection *c, uint64_t now_ns)
{
    c->post.have = 0;
    if (c->session)
        c->session->stream.have = 0;
    c->sent_ns = now_ns;
    if (send(c->post.fd, c->request, c->request_length, MSG_NOSIGNAL) != (ssize_t)c->request_length)
        give_up("send");
}

/* Reads what is there; false: the other end closed. */
static bool read_some(struct inlet *in)
{
    const ssize_t n = recv(in->fd, in->bytes + in->have, sizeof in->bytes - in->have, 0);
    if (n > 0)
        in->have += (size_t)n;
    return n > 0;
}

/* One request; false: no answer. */
static bool ask(const struct target *target, struct connection *c, const char *path,
                const char *body)
{
    c->request_length = make_request(target, path, body, c->request);
    send_request(c, 0);
    while (!is_whole(&c->post))
        if (!read_some(&c->post))
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
    if (!open_socket(target, in) || send(in->fd, get, (size_t)n, 0) != n)
        return false;
    while (!header(in, "data: ") || !memmem(in->bytes, in->have, "\n\n", 2))
        if (is_whole(in) || !read_some(in)) /* whole: a refusal */
            return false;
    return sscanf(header(in, "data: "), "%255[^\r\n]", session->door) == 1;
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
    if (!ask(target, c, session->door, HELLO))
        return NULL;
    while (!has_result(&session->stream, "protocolVersion"))
        if (!read_some(&session->stream))
            return NULL;
    if (!ask(target, c, session->door, INITIALIZED))
        return NULL;
    session->target = target;
    return session;
}

/* Ready to call; false: nobody is there. */
static bool open_connection(const struct target *target, unsigned place, struct connection *c)
{
    c->session = NULL;
    c->good_head = 0;
    if (!open_socket(target, &c->post))
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
    if (!ask(target, c, target->path, HELLO) || !has_result(&c->post, "protocolVersion"))
        return false;
    const char *session = header(&c->post, "mcp-session-id:");
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
    while (!is_whole(&c->post))
        if (!read_some(&c->post))
            return false;
    while (c->session && !memmem(c->session->stream.bytes, c->session->stream.have, "\n\n", 2))
        if (!read_some(&c->session->stream))
            return false;
    return has_result(answer_of(c), TEXT);
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
    if (!read_some(which >> 32 ? &c->session->stream : &c->post))
        return complain("a connection was closed under load", NULL);
    *ret_is_answered = is_like_the_good_one(c);
    if (*ret_is_answered)
        return true;
    *ret_is_answered = is_answered(c);
    if (!*ret_is_answered)
        return true;
    keep_as_good(c);
    return has_result(answer_of(c), TEXT) || complain("an answer that is none", answer_of(c));
}

static bool run(unsigned count, int epoll, uint64_t until, struct latencies *latencies,
                struct load *load)
{
    struct epoll_event events[CONNECTIONS_MAX];
    unsigned open = count;
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
            if (now_ns < until)
                send_request(c, now_ns);
            else
                open--;
        }
    }
    return true;
}

bool target_load(const struct target *target, unsigned count, uint64_t ms,
                 struct latencies *latencies, struct load *ret_load)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    *ret_load = (struct load) { 0, 0 };
    const bool is_open = open_all(target, count, epoll);
    const uint64_t began = clock_ns();
    const bool is_good = is_open && run(count, epoll, began + ms * 1000000u, latencies, ret_load);
    ret_load->seconds = (double)(clock_ns() - began) / 1e9;
    for (unsigned i = 0; i < count && is_open; i++)
        close(connections[i].post.fd);
    close(epoll);
    return is_good;
}
