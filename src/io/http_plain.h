/*
 * http_plain.h - plain HTTP/1.1 requests of our own, over one connection each that is kept for the
 * next. Private to io/http_*.c; who wants a request made uses io/http_client.h.
 *
 *   start -> starting --the loop--> on a connection: written, answered --> over
 *                                       ^   |  died before a byte left
 *                                       `---'
 *
 * It knows each byte that it gave to the kernel, so what is told about a lost request is exact.
 *
 * 1. A request is written to one connection. It goes to another one only if the first was used
 *    before, died without a byte of an answer, and nothing of the request had left; or, once, if
 * the request may repeat.
 * 2. What has arrived is read before a connection counts as lost: an answer beats a reset.
 * 3. An idle connection is watched; whatever comes on it ends it. It is looked at once more before
 *    it is used again.
 */
#ifndef HF_IO_HTTP_PLAIN_H
#define HF_IO_HTTP_PLAIN_H

#include "io/http_client_parts.h"
#include "io/lookup.h"

struct hf_plain_url { /* points into the text that was read */
    struct hf_span host;
    int port;
    struct hf_span target; /* may lack the slash at its front */
    bool is_loopback;
    bool is_name; /* it has to be looked up: there are no addresses yet */
    union hf_socket_address at[HF_ADDRESSES_MAX]; /* to be tried in this order */
    unsigned at_count;
};

/* False: it is for libcurl: another scheme, a number that is not written as addresses are, a path
 * that has to be straightened, no URL at all. */
HF_MUST_CHECK bool hf_plain_url_read(const char *url, struct hf_plain_url *ret);
/* False: one of these headers says how the request is framed, and libcurl knows what to do then. */
HF_MUST_CHECK bool hf_plain_may_carry(const char *const *headers);

struct hf_plain_peer;
struct hf_plain_peer *hf_plain_peer_new(struct hf_http_client *client, uint32_t connect_ms,
                                        uint32_t keep_alive_ms);
void hf_plain_peer_free(struct hf_plain_peer *peer); /* NULL accepted */

/* One name is looked up for a peer, the first that it is asked for. */
bool hf_plain_peer_may_ask(const struct hf_plain_peer *peer, const struct hf_plain_url *url);

struct hf_fetch *hf_plain_fetch_start(struct hf_plain_peer *peer, const struct hf_fetch_spec *spec,
                                      const struct hf_plain_url *url,
                                      const struct hf_fetch_events *events, void *context);
/* One that is over before it began; `why` is copied. */
struct hf_fetch *hf_plain_fetch_fail(struct hf_plain_peer *peer, const char *why,
                                     const struct hf_fetch_events *events, void *context);

#endif
