/*
 * http_head.h - what the heads of all HTTP/1.1 messages have in common: where they end, their
 * headers, and what these say about the length of the body and about the connection.
 *
 * A head is buffered until its empty line and parsed once into spans. Strict, because what we
 * accept every proxy in front of us must read the same way: CRLF only, no folding, at most one
 * Content-Length, Transfer-Encoding exactly `chunked` and never beside a length. The first line is
 * another file's business (wire/http_request.h). Never does I/O.
 */
#ifndef HF_WIRE_HTTP_HEAD_H
#define HF_WIRE_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/span.h"

enum { HF_HTTP_HEADERS_MAX = 64 };

/* The headers that mean something to us: each is recognised once, where it is parsed. */
enum hf_http_name {
    HF_HTTP_OTHER,
    HF_HTTP_ACCEPT,
    HF_HTTP_ACCESS_CONTROL_REQUEST_HEADERS,
    HF_HTTP_AUTHORIZATION,
    HF_HTTP_CONNECTION,
    HF_HTTP_CONTENT_LENGTH,
    HF_HTTP_CONTENT_TYPE,
    HF_HTTP_EXPECT,
    HF_HTTP_HOST,
    HF_HTTP_IDEMPOTENCY_KEY,
    HF_HTTP_LAST_EVENT_ID,
    HF_HTTP_MCP_METHOD,
    HF_HTTP_MCP_NAME,
    HF_HTTP_MCP_PROTOCOL_VERSION,
    HF_HTTP_MCP_SESSION_ID,
    HF_HTTP_ORIGIN,
    HF_HTTP_TRANSFER_ENCODING,
    HF_HTTP_NAMES
};

struct hf_http_header {
    struct hf_span name, value; /* value without the white space around it */
    enum hf_http_name known;
};

struct hf_http_head {
    unsigned minor; /* HTTP/1.x */
    struct hf_http_header headers[HF_HTTP_HEADERS_MAX];
    size_t header_count;
    uint8_t counts[HF_HTTP_NAMES]; /* how often each came */
    uint8_t places[HF_HTTP_NAMES]; /* where in `headers` the last of them is, if it came */
    int64_t content_length;        /* -1: none given */
    bool is_chunked;
    bool keeps_alive; /* by version and Connection */
};

/* The length of the head that `text` begins with, its empty line included; 0: more has to come; -1:
 * no more is needed to see that it is none. `*seen` is 0 at first and then belongs to this
 * function: what was looked at is not looked at again. */
HF_MUST_CHECK ptrdiff_t hf_http_head_length(struct hf_span text, size_t *seen);

/* The only header of that name, or p == NULL: none, or several. */
static inline struct hf_span hf_http_header(const struct hf_http_head *head, enum hf_http_name name)
{
    return head->counts[name] == 1 ? head->headers[head->places[name]].value
                                   : (struct hf_span) { NULL, 0 };
}
/* The same for any name (lower case). */
struct hf_span hf_http_header_named(const struct hf_http_head *head, struct hf_span name);
/* Which of these words (lower case) stand in the lists of the headers of that name, parameters and
 * case aside: a bit for each, the first word's is 1. */
unsigned hf_http_lists(const struct hf_http_head *head, enum hf_http_name name,
                       const struct hf_span *words, unsigned word_count);

const char *hf_http_reason(int status); /* "Not Found" */

/* ---- for whoever reads the first line ---- */

/* Takes `HTTP/1.1` or `HTTP/1.0` from the front of `*text`; 0, or 400: it is no version, or 505: it
 * is another one. */
HF_MUST_CHECK int hf_http_head_version(struct hf_span *text, struct hf_http_head *ret_head);
/* All that follows the first line. The version has to be there already. 0, or the status to refuse
 * it with (400, 413, 431, 501); `ret_why` is then a constant sentence. */
HF_MUST_CHECK int hf_http_head_fields(struct hf_span text, struct hf_http_head *head,
                                      const char **ret_why);

#endif
