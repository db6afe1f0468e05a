/*
 * url.h - the parts of a URL, a Host and an Origin.
 *
 * Only finds the parts: nothing is decoded, resolved or normalised, and every span points into the
 * caller's text. So two URLs are the same only if they are written in the same way.
 */
#ifndef HF_BASE_URL_H
#define HF_BASE_URL_H

#include "base/err.h"
#include "base/span.h"

struct hf_authority {    /* "host", "host:80", "[::1]:80" */
    struct hf_span host; /* an IPv6 address keeps its brackets */
    int port;            /* -1: not given */
};

struct hf_url {
    struct hf_span scheme;
    struct hf_authority authority;
    struct hf_span rest; /* path and query, may be empty */
};

/* False: the text is no authority. A user name before the host is refused, too. */
HF_MUST_CHECK bool hf_authority_read(struct hf_span text, struct hf_authority *ret);
/* An absolute URL with a host, printable and without a fragment. `err` never quotes it: URLs hold
 * secrets. */
HF_MUST_CHECK bool hf_url_read(struct hf_span text, struct hf_url *ret, struct hf_err *err);

/* The port that `http` or `https` means if none is given; -1 for any other scheme. */
int hf_scheme_port(struct hf_span scheme);

#endif
