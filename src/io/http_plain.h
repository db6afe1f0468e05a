/*
 * http_plain.h - our own client for plain HTTP/1.1; connections are kept for the next request.
 * Private to io/http_*.c; other code uses io/http_client.h.
 *
 *   start -> starting --the loop--> on a connection: written, answered --> over
 *                                       ^   |  died before a byte left
 *                                       `---'
 *
 * It counts each byte that the kernel took, so what it reports about a lost request is exact.
 *
 * 1. A request is written to one connection. It goes to another one only if the first was used
 *    before, died without a byte of an answer, and nothing of the request had left; or, once, if
 *    the request may repeat.
 * 2. What has arrived is read before a connection counts as lost: an answer beats a reset.
 * 3. An idle connection is watched, and closed if anything arrives on it. It is checked once more
 *    before it is used again.
 */
#ifndef HF_IO_HTTP_PLAIN_H
#define HF_IO_HTTP_PLAIN_H

#include "io/http_client_parts.h"
#include "io/lookup.h"

struct hf_plain_url { /* its spans point into the text that was read */
    struct hf_span host;
    int port;
    struct hf_span target; /* may lack the slash at its front */
    bool is_loopback;
    bool is_name;                                 /* the host has to be looked up: `at` is empty */
    union hf_socket_address at[HF_ADDRESSES_MAX]; /* to be tried in this order */
    unsigned at_count;
};

/* False: libcurl has to make the request, because of another scheme, a number in an unusual form, a
 * path with dot segments, or because the text is no URL. */
HF_MUST_CHECK bool hf_plain_url_read(const char *url, struct hf_plain_url *ret);
/* False: one of these headers frames the request, so libcurl has to make it. */
HF_MUST_CHECK bool hf_plain_may_carry(const char *const *headers);

struct hf_plain_peer;
struct hf_plain_peer *hf_plain_peer_new(struct hf_http_client *client, uint32_t connect_ms,
                                        uint32_t keep_alive_ms);
void hf_plain_peer_free(struct hf_plain_peer *peer); /* NULL accepted */

/* False: the URL has another name than the first one of this peer; only that one is looked up. */
bool hf_plain_peer_may_ask(const struct hf_plain_peer *peer, const struct hf_plain_url *url);

struct hf_fetch *hf_plain_fetch_start(struct hf_plain_peer *peer, const struct hf_fetch_spec *spec,
                                      const struct hf_plain_url *url,
                                      const struct hf_fetch_events *events, void *context);
/* A fetch that fails without being sent; `why` is copied. */
struct hf_fetch *hf_plain_fetch_fail(struct hf_plain_peer *peer, const char *why,
                                     const struct hf_fetch_events *events, void *context);

#endif
