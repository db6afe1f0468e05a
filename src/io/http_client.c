/* http_client.c - see http_client.h: peers, and whether libcurl or http_plain.c makes a request. */
#include "io/http_client.h"
#include <assert.h>
#include <stdlib.h>
#include "io/http_client_parts.h"
#include "io/http_plain.h"

struct hf_peer {
    struct hf_link link;
    struct hf_http_client *client;
    char *ca, *proxy;
    uint32_t connect_ms, keep_alive_ms;
    bool may_be_proxied;
    struct hf_curl_peer *curl; /* NULL: libcurl has made no request */
    struct hf_plain_peer *plain;
};

/* ---- the client ---- */

struct hf_http_client *hf_http_client_new(struct hf_loop *loop)
{
    struct hf_http_client *client = hf_new(struct hf_http_client);
    client->loop = loop;
    hf_link_init(&client->peers);
    hf_sockets_init(&client->sockets, loop, hf_curl_on_ready, hf_curl_on_early_close);
    return client;
}

void hf_http_client_use_libcurl(struct hf_http_client *client)
{
    client->is_libcurl_only = true;
}

static void free_client_if_unused(struct hf_http_client *client)
{
    if (!client->is_freed || client->halves > 0)
        return;
    hf_sockets_done(&client->sockets);
    hf_lookups_free(client->lookups);
    hf_free(client->room);
    hf_free(client);
}

void hf_http_client_free(struct hf_http_client *client)
{
    if (!client)
        return;
    struct hf_peer *peer;
    HF_LIST_EACH_SAFE (peer, &client->peers, struct hf_peer, link)
        hf_peer_free(peer);
    client->is_freed = true;
    free_client_if_unused(client);
}

void hf_http_client_lost_half(struct hf_http_client *client)
{
    assert(client->halves > 0);
    client->halves--;
    free_client_if_unused(client);
}

/* ---- peers ---- */

/* Whether a proxy may be used; libcurl decides for which hosts. HTTP_PROXY in capitals is ignored,
 * since web servers set it from a header. */
static bool has_proxy(const char *proxy)
{
    static const char *const names[] = { "http_proxy", "all_proxy", "ALL_PROXY" };
    if (proxy)
        return proxy[0] != '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return true;
    }
    return false;
}

static bool may_go_plain(const struct hf_peer *peer, const char *url, const char *const *headers,
                         struct hf_plain_url *ret)
{
    return !peer->client->is_libcurl_only && !peer->may_be_proxied && hf_plain_url_read(url, ret) &&
           hf_plain_peer_may_ask(peer->plain, ret) && hf_plain_may_carry(headers);
}

static bool make_curl_half(struct hf_peer *peer, struct hf_err *err)
{
    const struct hf_peer_spec spec = { .ca = peer->ca,
                                       .proxy = peer->proxy,
                                       .connect_ms = peer->connect_ms,
                                       .keep_alive_ms = peer->keep_alive_ms };
    if (!peer->curl)
        peer->curl = hf_curl_peer_new(peer->client, &spec, err);
    return peer->curl != NULL;
}

static void make_plain_half(struct hf_peer *peer)
{
    if (!peer->plain)
        peer->plain = hf_plain_peer_new(peer->client, peer->connect_ms, peer->keep_alive_ms);
}

struct hf_peer *hf_peer_new(struct hf_http_client *client, const struct hf_peer_spec *spec,
                            struct hf_err *err)
{
    struct hf_plain_url url;
    struct hf_peer *peer = hf_new(struct hf_peer);
    peer->client = client;
    peer->ca = spec->ca ? hf_strdup(spec->ca) : NULL;
    peer->proxy = spec->proxy ? hf_strdup(spec->proxy) : NULL;
    peer->connect_ms = spec->connect_ms;
    peer->keep_alive_ms = spec->keep_alive_ms;
    peer->may_be_proxied = has_proxy(spec->proxy);
    hf_list_push(&client->peers, &peer->link);
    if (spec->url && !may_go_plain(peer, spec->url, NULL, &url) && !make_curl_half(peer, err)) {
        hf_peer_free(peer);
        return NULL;
    }
    return peer;
}

void hf_peer_free(struct hf_peer *peer)
{
    if (!peer)
        return;
    hf_unlink(&peer->link);
    hf_curl_peer_free(peer->curl);
    hf_plain_peer_free(peer->plain);
    hf_free(peer->ca);
    hf_free(peer->proxy);
    hf_free(peer);
}

/* ---- requests ---- */

struct hf_fetch *hf_fetch_start(struct hf_peer *peer, const struct hf_fetch_spec *spec,
                                const struct hf_fetch_events *events, void *context)
{
    struct hf_plain_url url;
    struct hf_err err;
    assert(events->ended);
    assert(spec->verb == HF_VERB_POST || spec->body_count == 0);
    if (may_go_plain(peer, spec->url, spec->headers, &url)) {
        make_plain_half(peer);
        return hf_plain_fetch_start(peer->plain, spec, &url, events, context);
    }
    if (make_curl_half(peer, &err))
        return hf_curl_fetch_start(peer->curl, spec, events, context);
    make_plain_half(peer);
    return hf_plain_fetch_fail(peer->plain, err.text, events, context);
}

struct hf_span hf_fetch_header(const struct hf_fetch *fetch, const char *name)
{
    return fetch->way->header(fetch, hf_span_of(name));
}

void hf_fetch_abort(struct hf_fetch *fetch)
{
    fetch->way->abort(fetch);
}
