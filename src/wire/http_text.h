/*
 * http_text.h - the bytes that HTTP/1.1 is written in: what may stand where (RFC 9110 and 9112).
 *
 * For the files that read heads and chunks. Where the RFCs let a reader be lenient, ours is not.
 */
#ifndef HF_WIRE_HTTP_TEXT_H
#define HF_WIRE_HTTP_TEXT_H

#include "base/span.h"

enum {
    HF_HTTP_TOKEN = 1,     /* of methods and header names */
    HF_HTTP_VALUE = 2,     /* of header values: no control but the tab */
    HF_HTTP_TARGET = 4,    /* of request targets: visible ASCII but '#' */
    HF_HTTP_AUTHORITY = 8, /* of a host and its port */
};

/* The sum of its kinds for each byte. */
extern const unsigned char hf_http_kinds[256];

static inline bool hf_http_is(char c, unsigned kind)
{
    return hf_http_kinds[(unsigned char)c] & kind;
}

/* How many bytes from the front on are of that kind. */
static inline size_t hf_http_run(struct hf_span text, unsigned kind)
{
    size_t n = 0;
    while (n < text.n && hf_http_is(text.p[n], kind))
        n++;
    return n;
}

static inline bool hf_http_is_token(struct hf_span text) /* it could be the name of a header */
{
    return text.n && hf_http_run(text, HF_HTTP_TOKEN) == text.n;
}

static inline bool hf_http_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool hf_http_take_crlf(struct hf_span *text)
{
    if (!hf_span_starts(*text, HF_SPAN("\r\n")))
        return false;
    *text = hf_span_from(*text, 2);
    return true;
}

/* A refusal: the status it is told with, and a constant sentence. */
static inline int hf_http_bad(const char **ret_why, int status, const char *why)
{
    *ret_why = why;
    return status;
}

#endif
