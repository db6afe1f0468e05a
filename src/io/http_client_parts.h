/*
 * http_client_parts.h - what the two ways to make a request share: libcurl's (http_client_curl.c),
 * and our own for plain HTTP without a proxy (http_plain.c). Private to io/http_*.c.
 *
 * A peer has a half for each way, made when the first request goes that way. A half outlives its
 * peer while one of its events is running, so it points to the client and never to the peer.
 */
#ifndef HF_IO_HTTP_CLIENT_PARTS_H
#define HF_IO_HTTP_CLIENT_PARTS_H

#include "io/http_client.h"
#include "io/http_client_sockets.h"

enum {
    HF_ANSWER_HEAD_MAX = 64 * 1024,
    HF_IDLE_CONNECTIONS_MAX = 256, /* of a peer */
    HF_TCP_KEEPALIVE_IDLE_S = 30,
    HF_TCP_KEEPALIVE_GAP_S = 10,
};

struct hf_http_client {
    struct hf_loop *loop;
    struct hf_link peers;
    unsigned halves; /* of peers, also of freed ones */
    bool is_freed;
    bool is_libcurl_only;
    const struct hf_curl *curl; /* NULL until it is needed */
    struct hf_sockets sockets;  /* libcurl's */
    struct hf_lookups *lookups; /* of http_plain.c; NULL until it is needed */
    char *room;                 /* http_plain.c reads into it; NULL until it is needed */
};
/* Called when a half has been freed. The client may be freed by it. */
void hf_http_client_lost_half(struct hf_http_client *client);

struct hf_fetch { /* the first member of a fetch of either way */
    const struct hf_fetch_way *way;
};
struct hf_fetch_way {
    struct hf_span (*header)(const struct hf_fetch *fetch, struct hf_span name);
    void (*abort)(struct hf_fetch *fetch);
};

/* Characters that must not be in a header: a line break would begin another header. */
static inline bool hf_is_control(char c)
{
    return (unsigned char)c < ' ' && c != '\t';
}

/* ---- libcurl ---- */

struct hf_curl_peer;
struct hf_curl_peer *hf_curl_peer_new(struct hf_http_client *client,
                                      const struct hf_peer_spec *spec, struct hf_err *err);
void hf_curl_peer_free(struct hf_curl_peer *peer); /* NULL accepted */
struct hf_fetch *hf_curl_fetch_start(struct hf_curl_peer *peer, const struct hf_fetch_spec *spec,
                                     const struct hf_fetch_events *events, void *context);
/* For hf_sockets_init. */
void hf_curl_on_ready(void *owner, int fd, unsigned events);
void hf_curl_on_early_close(void *owner);

#endif
