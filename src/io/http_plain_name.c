/* http_plain_name.c - the host of a peer, if it is a name: looked up in a thread, kept for a while.
 */
#include "io/http_plain_parts.h"

enum { KEPT_MS = 5000 }; /* short, so that a moved server is found at its new address */

static void set_port(union hf_socket_address *at, int port)
{
    if (at->any.sa_family == AF_INET6)
        at->v6.sin6_port = htons((uint16_t)port);
    else
        at->v4.sin_port = htons((uint16_t)port);
}

static bool is_same_host(const union hf_socket_address *a, const union hf_socket_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    return a->any.sa_family == AF_INET6
               ? memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0
               : a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
}

/* Moves `at` to the front, if it is one of the addresses. */
static void prefer(struct hf_plain_name *name, const union hf_socket_address *at)
{
    for (unsigned i = 0; i < name->count; i++) {
        if (!is_same_host(&name->at[i], at))
            continue;
        const union hf_socket_address best = name->at[i];
        memmove(&name->at[1], &name->at[0], i * sizeof *name->at);
        name->at[0] = best;
        return;
    }
}

static void give_addresses(struct hf_plain_fetch *fetch)
{
    const struct hf_plain_name *name = &fetch->peer->name;
    memcpy(fetch->at, name->at, name->count * sizeof *fetch->at);
    fetch->at_count = name->count;
    for (unsigned i = 0; i < fetch->at_count; i++)
        set_port(&fetch->at[i], fetch->port);
}

static void on_found(void *context, const union hf_socket_address *at, unsigned count)
{
    struct hf_plain_peer *peer = context;
    struct hf_plain_name *name = &peer->name;
    struct hf_link waiting;
    struct hf_plain_fetch *fetch;
    name->lookup = NULL;
    hf_alarm_set(&name->lookup_timeout, 0);
    if (count) {
        const union hf_socket_address worked = name->at[0];
        const bool has_worked = name->count > 0;
        memcpy(name->at, at, count * sizeof *at);
        name->count = count;
        if (has_worked)
            prefer(name, &worked);
        name->good_until_ms = hf_loop_now_ms(peer->loop) + KEPT_MS;
    }
    hf_plain_enter(peer);
    hf_list_move(&waiting, &name->waiting);
    while ((fetch = HF_LIST_FIRST(&waiting, struct hf_plain_fetch, link))) {
        hf_unlink(&fetch->link);
        hf_list_push(peer->is_freed ? &peer->aborted : &peer->running, &fetch->link);
        if (peer->is_freed)
            continue;
        if (count) {
            give_addresses(fetch);
            hf_plain_connect(fetch);
        } else {
            hf_plain_fail(fetch, "its name cannot be resolved");
        }
    }
    hf_plain_leave(peer);
}

static void on_timeout(void *context)
{
    struct hf_plain_peer *peer = context;
    struct hf_plain_fetch *fetch;
    hf_plain_enter(peer);
    while ((fetch = HF_LIST_FIRST(&peer->name.waiting, struct hf_plain_fetch, link))) {
        if (fetch->connect_by_ms > hf_loop_now_ms(peer->loop)) {
            hf_alarm_set(&peer->name.lookup_timeout, fetch->connect_by_ms);
            break;
        }
        hf_plain_fail(fetch, "looking up its name took too long");
    }
    hf_plain_leave(peer);
}

static struct hf_lookup *start_lookup(struct hf_plain_peer *peer)
{
    struct hf_http_client *client = peer->client;
    if (!client->lookups)
        client->lookups = hf_lookups_new(peer->loop);
    return client->lookups ? hf_lookup_start(client->lookups, peer->name.text, on_found, peer)
                           : NULL;
}

void hf_plain_name_init(struct hf_plain_peer *peer)
{
    hf_link_init(&peer->name.waiting);
    hf_alarm_init(&peer->name.lookup_timeout, peer->loop, on_timeout, peer);
}

void hf_plain_name_done(struct hf_plain_peer *peer)
{
    hf_alarm_set(&peer->name.lookup_timeout, 0);
    hf_lookup_cancel(peer->name.lookup);
}

bool hf_plain_name_ask(struct hf_plain_fetch *fetch)
{
    struct hf_plain_peer *peer = fetch->peer;
    struct hf_plain_name *name = &peer->name;
    if (hf_loop_now_ms(peer->loop) < name->good_until_ms) {
        give_addresses(fetch);
        return true;
    }
    if (!name->lookup)
        name->lookup = start_lookup(peer);
    if (!name->lookup) {
        hf_plain_fail(fetch, "its name cannot be looked up: too many lookups are running");
        return false;
    }
    hf_unlink(&fetch->link);
    hf_list_push(&name->waiting, &fetch->link);
    if (!name->lookup_timeout.timer.at_ms)
        hf_alarm_set(&name->lookup_timeout, fetch->connect_by_ms);
    return false;
}

void hf_plain_name_works(struct hf_plain_link *link)
{
    if (link->fetch->is_name)
        prefer(&link->peer->name, &link->at);
}

void hf_plain_name_fails(struct hf_plain_fetch *fetch)
{
    if (fetch->is_name)
        fetch->peer->name.good_until_ms = 0;
}
