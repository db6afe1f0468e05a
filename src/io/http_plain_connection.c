/* http_plain_connection.c - connections: opened, kept while idle, checked before reuse, closed. */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include "io/http_plain_parts.h"

enum {
    EARLY_MS = 1000,  /* a peer that closes so soon after an answer does not keep connections */
    SILENCE_MS = 250, /* time for one of several addresses before the next (RFC 8305, 5) */
    ROUNDS_MAX = 6,   /* how often that time doubles, once a round of all addresses */
};

static bool is_early(const struct hf_plain_link *link)
{
    return hf_loop_now_ms(link->peer->loop) - link->idle_since_ms < EARLY_MS;
}

static void on_ready(void *context, unsigned events)
{
    struct hf_plain_link *link = context;
    if (link->fetch) {
        hf_plain_on_ready(link, events);
        return;
    }
    /* no request is open, so the peer closes or breaks the protocol */
    link->peer->closes_early |= is_early(link);
    hf_plain_link_close(link);
}

static void on_timeout(void *context)
{
    hf_plain_on_connect_timeout(context);
}

static socklen_t size_of(const union hf_socket_address *at)
{
    return at->any.sa_family == AF_INET6 ? sizeof at->v6 : sizeof at->v4;
}

static void set_options(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 },
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, HF_TCP_KEEPALIVE_IDLE_S },
        { IPPROTO_TCP, TCP_KEEPINTVL, HF_TCP_KEEPALIVE_GAP_S },
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof options[i].value);
}

/* The deadline of one attempt: an address that drops all packets must not use up the time of
 * addresses that work. */
static uint64_t attempt_deadline(const struct hf_plain_fetch *fetch)
{
    const unsigned rounds = fetch->rounds < ROUNDS_MAX ? fetch->rounds : ROUNDS_MAX;
    const uint64_t next_ms = hf_loop_now_ms(fetch->peer->loop) + ((uint64_t)SILENCE_MS << rounds);
    return fetch->at_count == 1 || next_ms > fetch->connect_by_ms ? fetch->connect_by_ms : next_ms;
}

struct hf_plain_link *hf_plain_link_open(struct hf_plain_fetch *fetch,
                                         const union hf_socket_address *at)
{
    struct hf_plain_peer *peer = fetch->peer;
    const int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    set_options(fd);
    const bool is_done = connect(fd, &at->any, size_of(at)) == 0;
    if (!is_done && errno != EINPROGRESS) {
        const int error = errno;
        close(fd);
        errno = error;
        return NULL;
    }
    struct hf_plain_link *link = hf_new(struct hf_plain_link);
    hf_link_init(&link->link);
    link->peer = peer;
    link->fetch = fetch;
    link->fd = fd;
    link->at = *at;
    memcpy(link->host, fetch->host, sizeof link->host);
    link->port = fetch->port;
    link->is_connecting = !is_done;
    link->watch = hf_watch_new(peer->loop, fd, on_ready, link);
    hf_watch_set(link->watch, is_done ? HF_READABLE : HF_WRITABLE);
    hf_alarm_init(&link->connect_timeout, peer->loop, on_timeout, link);
    if (!is_done)
        hf_alarm_set(&link->connect_timeout, attempt_deadline(fetch));
    return link;
}

static void leave_idle(struct hf_plain_link *link)
{
    if (!hf_linked(&link->link))
        return;
    hf_unlink(&link->link);
    link->peer->idle_count--;
}

void hf_plain_link_close(struct hf_plain_link *link)
{
    leave_idle(link);
    hf_alarm_set(&link->connect_timeout, 0);
    hf_watch_free(link->watch);
    close(link->fd);
    hf_free(link);
}

/* ---- idle connections ---- */

/* The alarm is set only if it is not set yet; one that rings too soon is set again. */
void hf_plain_link_keep(struct hf_plain_link *link)
{
    struct hf_plain_peer *peer = link->peer;
    link->fetch = NULL;
    link->was_used = true;
    link->idle_since_ms = hf_loop_now_ms(peer->loop);
    hf_list_push_front(&peer->idle, &link->link);
    peer->idle_count++;
    if (!peer->expire.timer.at_ms)
        hf_alarm_set(&peer->expire, link->idle_since_ms + peer->keep_alive_ms);
}

static bool is_too_old(const struct hf_plain_link *link)
{
    return hf_loop_now_ms(link->peer->loop) >= link->idle_since_ms + link->peer->keep_alive_ms;
}

void hf_plain_expire(void *context)
{
    struct hf_plain_peer *peer = context;
    while (!hf_list_empty(&peer->idle)) {
        struct hf_plain_link *oldest = HF_ITEM(peer->idle.prev, struct hf_plain_link, link);
        if (!is_too_old(oldest)) {
            hf_alarm_set(&peer->expire, oldest->idle_since_ms + peer->keep_alive_ms);
            return;
        }
        hf_plain_link_close(oldest);
    }
}

/* The peer may have closed it in this very turn, before the watch could tell. */
static bool is_alive(const struct hf_plain_link *link)
{
    char byte;
    ssize_t n;
    do
        n = recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 && errno == EAGAIN;
}

static bool leads_there(const struct hf_plain_link *link, const struct hf_plain_fetch *fetch)
{
    return link->port == fetch->port && strcmp(link->host, fetch->host) == 0;
}

struct hf_plain_link *hf_plain_link_reuse(struct hf_plain_fetch *fetch)
{
    struct hf_plain_peer *peer = fetch->peer;
    struct hf_plain_link *link;
    HF_LIST_EACH_SAFE (link, &peer->idle, struct hf_plain_link, link) {
        if (!leads_there(link, fetch))
            continue;
        const bool is_old = is_too_old(link);
        if (!is_old && is_alive(link)) {
            leave_idle(link);
            link->fetch = fetch;
            return link;
        }
        peer->closes_early |= !is_old && is_early(link);
        hf_plain_link_close(link);
    }
    return NULL;
}
