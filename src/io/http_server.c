/* http_server.c - listening, accepting, and how the server ends. See http_server.h. */
#include "io/http_server.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "io/http_connection.h"
#include "io/portion.h"

enum {
    ACCEPT_AGAIN_MS = 100,
    REFUSALS_MAX = 32, /* connections over the limit that get an answer; others are just closed */
    BACKLOG = 1024,    /* the kernel lowers it to its own limit */
    KEEPALIVE_S = 30,  /* idle time before TCP keep-alive probes */
};

const struct hf_http_limits hf_http_limits_default = {
    .head_bytes = 16 * 1024,
    .body_bytes = 64 * 1024 * 1024,
    .connections = 10000,
    .shares = 3,
    .head_ms = 10000,
    .body_ms = 600000,
    .body_grace_ms = 5000,
    .body_rate = 16 * 1024,
    .idle_ms = 75000,
    .write_ms = 30000,
    .linger_ms = 2000,
    .unwritten_bytes = 72 * 1024 * 1024, /* the largest message and its HTTP framing */
    .held_bytes = 256 * 1024 * 1024,
};

/* ---- listening ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    struct sockaddr_un local;
};

static socklen_t address_of(const struct hf_listen *at, union address *ret)
{
    *ret = (union address) { 0 };
    if (at->is_unix) {
        ret->local.sun_family = AF_UNIX;
        memcpy(ret->local.sun_path, at->address, strlen(at->address));
        return sizeof ret->local;
    }
    if (at->is_ipv6) {
        ret->ipv6.sin6_family = AF_INET6;
        ret->ipv6.sin6_port = htons(at->port);
        (void)inet_pton(AF_INET6, at->address, &ret->ipv6.sin6_addr);
        return sizeof ret->ipv6;
    }
    ret->ipv4.sin_family = AF_INET;
    ret->ipv4.sin_port = htons(at->port);
    (void)inet_pton(AF_INET, at->address, &ret->ipv4.sin_addr);
    return sizeof ret->ipv4;
}

/* Accepted sockets inherit all of these. */
static void set_options(int fd, const struct hf_listen *at, unsigned write_ms)
{
    const int on = 1, quiet_s = KEEPALIVE_S;
    if (at->is_unix) {
        (void)fchmod(fd, 0600); /* bind gives the file this mode */
        return;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &quiet_s, sizeof quiet_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &quiet_s, sizeof quiet_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* a peer whose machine is gone is noticed as one that takes no byte for write_ms */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &write_ms, sizeof write_ms);
}

/* Whether the file is a socket on which no process listens any more. */
static bool is_left_behind(const union address *address, socklen_t length)
{
    struct stat about;
    if (lstat(address->local.sun_path, &about) != 0 || !S_ISSOCK(about.st_mode))
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    const bool is_refused = connect(fd, &address->any, length) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return is_refused;
}

static bool bind_to(int fd, const struct hf_listen *at)
{
    union address address;
    const socklen_t length = address_of(at, &address);
    if (bind(fd, &address.any, length) == 0)
        return true;
    if (errno != EADDRINUSE || !at->is_unix)
        return false;
    if (!is_left_behind(&address, length) || unlink(address.local.sun_path) != 0) {
        errno = EADDRINUSE;
        return false;
    }
    return bind(fd, &address.any, length) == 0;
}

static const char *why_not(int error, const struct hf_listen *at)
{
    if (error == EADDRINUSE)
        return at->is_unix ? "another process listens there, or it is no socket"
                           : "another process listens there";
    return strerror(error);
}

static int open_listener(const struct hf_listen *at, const struct hf_http_limits *limits,
                         const char *text, struct hf_err *err)
{
    const int family = at->is_unix ? AF_UNIX : at->is_ipv6 ? AF_INET6 : AF_INET;
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        set_options(fd, at, limits->write_ms);
    if (fd >= 0 && bind_to(fd, at) && listen(fd, BACKLOG) == 0)
        return fd;
    (void)hf_fail(err, "cannot listen on %s: %s", text, why_not(errno, at));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* Reads back the port, or the inode of the socket's file. */
static void look_at_listener(struct hf_http_server *server)
{
    struct hf_listen *at = &server->at;
    if (at->is_unix) {
        struct stat about;
        if (lstat(at->address, &about) == 0)
            server->inode = about.st_ino;
        (void)snprintf(server->url, sizeof server->url, "unix:%s", at->address);
        return;
    }
    union address address = { 0 };
    socklen_t length = sizeof address;
    if (getsockname(server->fd, &address.any, &length) == 0)
        at->port = ntohs(at->is_ipv6 ? address.ipv6.sin6_port : address.ipv4.sin_port);
    (void)snprintf(server->url, sizeof server->url, at->is_ipv6 ? "%s://[%s]:%u" : "%s://%s:%u",
                   server->tls ? "https" : "http", at->address, (unsigned)at->port);
}

/* ---- accepting ---- */

void hf_http_server_refused(struct hf_http_server *server, struct hf_http_party *party,
                            enum hf_http_limit limit)
{
    if (server->events.refused)
        server->events.refused(server->context, party, limit);
}

static uint64_t silent_of(const struct hf_http_party *party)
{
    const struct hf_share *share = party ? &party->silent : NULL;
    while (share && share->within)
        share = share->within;
    return share ? share->used : 0;
}

enum hf_share_verdict hf_http_server_judge(const struct hf_http_server *server,
                                           const struct hf_http_party *party)
{
    struct hf_bound seen = server->connections;
    seen.used -= server->silent.used - silent_of(party);
    return hf_share_judge(&seen, party ? &party->connections : NULL, 1);
}

/* If all connections are in use, the one that was silent longest is closed for the new one. */
static enum hf_share_verdict make_place(struct hf_http_server *server, struct hf_http_party *party)
{
    struct hf_connection *silent = HF_LIST_FIRST(&server->waiting, struct hf_connection, link);
    const enum hf_share_verdict verdict = hf_http_server_judge(server, party);
    if (verdict == HF_SHARE_OF_ALL && silent) /* the silent connections are this party's own */
        return HF_SHARE_OF_PARTY;
    if (verdict != HF_SHARE_FITS || server->connections.used < server->connections.limit)
        return verdict;
    hf_connection_close(silent);
    return HF_SHARE_FITS;
}

static void turn_away(struct hf_http_server *server, int fd, const struct sockaddr_storage *peer,
                      bool is_own_share)
{
    char why[160];
    /* with TLS no answer can be sent before the handshake */
    if (server->tls || server->refusing >= REFUSALS_MAX) {
        (void)close(fd);
        return;
    }
    if (is_own_share)
        (void)snprintf(why, sizeof why,
                       "your address has its share of the %u connections; close some",
                       server->limits.connections);
    else
        (void)snprintf(why, sizeof why, "there are %u connections already; try again later",
                       server->limits.connections);
    hf_connection_open(server, fd, peer, NULL, is_own_share ? 429 : 503, why);
}

static void admit(struct hf_http_server *server, int fd, const struct sockaddr_storage *peer)
{
    const struct hf_http_events *events = &server->events;
    struct hf_address address;
    const bool has_address = hf_address_of_socket(peer, &address);
    struct hf_http_party *party =
        events->arrived ? events->arrived(server->context, has_address ? &address : NULL) : NULL;
    const enum hf_share_verdict verdict = make_place(server, party);
    if (verdict == HF_SHARE_FITS) {
        hf_connection_open(server, fd, peer, party, 0, NULL);
        return;
    }
    hf_http_server_refused(server, party, HF_HTTP_CONNECTIONS);
    turn_away(server, fd, peer, verdict == HF_SHARE_OF_PARTY);
    if (party)
        events->left(server->context, party);
}

/* Out of descriptors or memory: pauses until a connection closes, or ACCEPT_AGAIN_MS. */
static void pause_accepting(struct hf_http_server *server)
{
    hf_watch_set(server->watch, 0);
    hf_alarm_set(&server->accept_again, hf_shell_now(server->shell) + ACCEPT_AGAIN_MS);
}

static void accept_again(void *context)
{
    struct hf_http_server *server = context;
    hf_alarm_set(&server->accept_again, 0);
    if (server->watch)
        hf_watch_set(server->watch, HF_READABLE);
}

static void on_acceptable(void *context, unsigned events)
{
    struct hf_http_server *server = context;
    struct hf_portion portion = { 0 };
    (void)events;
    while (hf_portion_goes_on(&portion, HF_PORTION_ACCEPTS_US)) {
        struct sockaddr_storage peer = { .ss_family = AF_UNIX };
        socklen_t length = sizeof peer;
        const int fd =
            accept4(server->fd, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            admit(server, fd, &peer);
        else if (errno == EAGAIN)
            return;
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(server);
            return;
        } /* else this connection failed before it was accepted */
    }
}

void hf_http_server_closed_one(struct hf_http_server *server)
{
    if (server->accept_again.timer.at_ms)
        accept_again(server);
}

/* ---- lifetime ---- */

struct hf_http_server *hf_http_server_new(struct hf_shell *shell, const struct hf_http_spec *spec,
                                          const struct hf_http_events *events, void *context,
                                          struct hf_err *err)
{
    struct hf_listen at;
    if (!hf_listen_read(spec->listen, &at, err))
        return NULL;
    struct hf_tls_context *tls = NULL;
    if (spec->cert && !(tls = hf_tls_context_new(spec->cert, spec->key, err)))
        return NULL;
    const int fd = open_listener(&at, &spec->limits, spec->listen, err);
    if (fd < 0) {
        hf_tls_context_free(tls);
        return NULL;
    }
    struct hf_http_server *server = hf_new(struct hf_http_server);
    server->shell = shell;
    server->events = *events;
    server->context = context;
    server->limits = spec->limits;
    server->tls = tls;
    server->at = at;
    server->fd = fd;
    hf_link_init(&server->busy);
    hf_link_init(&server->waiting);
    server->connections =
        (struct hf_bound) { .limit = spec->limits.connections, .shares = spec->limits.shares };
    server->bytes =
        (struct hf_bound) { .limit = spec->limits.held_bytes, .shares = spec->limits.shares };
    hf_link_init(&server->spare);
    look_at_listener(server);
    hf_alarm_init(&server->accept_again, shell->loop, accept_again, server);
    server->watch = hf_watch_new(shell->loop, fd, on_acceptable, server);
    hf_watch_set(server->watch, HF_READABLE);
    return server;
}

const char *hf_http_server_url(const struct hf_http_server *server)
{
    return server->url;
}

unsigned hf_http_server_port(const struct hf_http_server *server)
{
    return server->at.port;
}

bool hf_http_server_is_loopback(const struct hf_http_server *server)
{
    return server->at.is_loopback;
}

unsigned hf_http_server_connections(const struct hf_http_server *server)
{
    return (unsigned)server->connections.used + server->refusing;
}

static void stop_listening(struct hf_http_server *server)
{
    struct stat about;
    if (server->fd < 0)
        return;
    hf_alarm_set(&server->accept_again, 0);
    hf_watch_free(server->watch);
    server->watch = NULL;
    (void)close(server->fd);
    server->fd = -1;
    if (server->at.is_unix && lstat(server->at.address, &about) == 0 &&
        about.st_ino == server->inode)
        (void)unlink(server->at.address);
}

void hf_http_server_stop(struct hf_http_server *server)
{
    struct hf_link *const lists[] = { &server->busy, &server->waiting };
    struct hf_connection *connection;
    stop_listening(server);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        HF_LIST_EACH (connection, lists[i], struct hf_connection, link)
            hf_shell_flush_later(server->shell, &connection->flush);
}

void hf_http_server_free(struct hf_http_server *server)
{
    struct hf_connection *connection;
    struct hf_request *request;
    if (!server)
        return;
    stop_listening(server);
    while ((connection = HF_LIST_FIRST(&server->busy, struct hf_connection, link)) ||
           (connection = HF_LIST_FIRST(&server->waiting, struct hf_connection, link)))
        hf_connection_close(connection);
    HF_LIST_EACH_SAFE (request, &server->spare, struct hf_request, link) {
        hf_buf_done(&request->head_text);
        hf_buf_done(&request->body);
        hf_free(request);
    }
    for (unsigned i = 0; i < server->spare_out_count; i++)
        hf_buf_done(&server->spare_out[i]);
    assert(hf_http_server_connections(server) == 0 && server->bytes.used == 0);
    hf_tls_context_free(server->tls);
    hf_free(server);
}
