/*
 * cookies.h - the cookies of one server (RFC 6265), as far as a client that talks to one host needs
 * them: it sends back what it was given, so that a balancer finds the same machine again.
 *
 * 1. At most HF_COOKIES_MAX are kept; a new one then takes the place of the oldest.
 * 2. One that is longer than HF_COOKIE_BYTES_MAX, or meant for another host, is not kept.
 * 3. What is written for a request is at most HF_COOKIES_LINE_MAX bytes: what does not fit stays
 * out.
 *
 * Never does I/O; the time on the wall is passed in.
 */
#ifndef HF_WIRE_COOKIES_H
#define HF_WIRE_COOKIES_H

#include "base/buf.h"

enum {
    HF_COOKIES_MAX = 50,
    HF_COOKIE_BYTES_MAX = 4096, /* RFC 6265, 6.1 */
    HF_COOKIES_LINE_MAX = 8192,
};

struct hf_cookie {
    char *text; /* "name=value" and then the path, no NUL between them */
    size_t name_n, text_n, path_n;
    uint64_t serial;     /* the order in which they came */
    uint64_t expires_ms; /* 0: never */
};

struct hf_cookies {
    struct hf_cookie *list; /* those with the longest path first; NULL until there is one */
    unsigned count;
    uint64_t serial;
};

void hf_cookies_done(struct hf_cookies *cookies); /* {0} is an empty one */

/* The value of a Set-Cookie that came from `host` in answer to a request for `path`. `is_safe`:
 * nobody listens on the way to that host, so that a cookie may ask for that. */
void hf_cookies_take(struct hf_cookies *cookies, struct hf_span value, struct hf_span host,
                     struct hf_span path, bool is_safe, uint64_t wall_ms);
/* The value of a Cookie for a request for `path`; nothing is added if there is none. */
void hf_cookies_write(struct hf_cookies *cookies, struct hf_span path, uint64_t wall_ms,
                      struct hf_buf *out);

#endif
