/*
 * http1.h - HTTP/1.1 request heads and chunked bodies, strictly.
 *
 * A head is buffered until its empty line and parsed once into spans. Strict, because what we
 * accept every proxy in front of us must read the same way: CRLF only, no folding, one Host, at
 * most one Content-Length, Transfer-Encoding exactly `chunked` and never beside a length, no chunk
 * extensions. Never does I/O.
 */
#ifndef HF_WIRE_HTTP1_H
#define HF_WIRE_HTTP1_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
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
    struct hf_span method, target; /* target as sent: origin form, or "*" */
    struct hf_span path;           /* of the target, up to '?' */
    unsigned minor;                /* HTTP/1.x */
    struct hf_http_header headers[HF_HTTP_HEADERS_MAX];
    size_t header_count;
    uint8_t counts[HF_HTTP_NAMES]; /* how often each came */
    uint8_t places[HF_HTTP_NAMES]; /* where in `headers` the last of them is, if it came */
    int64_t content_length;        /* -1: none given */
    bool is_chunked;
    bool keeps_alive; /* by version and Connection */
    bool expects_continue;
};

/* The length of the head that `text` begins with, its empty line included; 0: more has to come; -1:
 * no more is needed to see that it is none. `*seen` is 0 at first and then belongs to this
 * function: what was looked at is not looked at again. */
HF_MUST_CHECK ptrdiff_t hf_http_head_length(struct hf_span text, size_t *seen);

/* 0, or the status to refuse it with (400, 413, 417, 431, 501, 505); `ret_why` is then a constant
 * sentence. Text that hf_http_head_length gave -1 for is always refused. */
HF_MUST_CHECK int hf_http_head_parse(struct hf_span text, struct hf_http_head *ret_head,
                                     const char **ret_why);
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

bool hf_http_is_token(struct hf_span text); /* it could be the name of a header */

const char *hf_http_reason(int status); /* "Not Found" */

/* ---- a chunked body, cut anywhere ---- */

enum hf_chunk_status { HF_CHUNK_MORE, HF_CHUNK_END, HF_CHUNK_BAD };
struct hf_chunks {
    /* private */
    uint64_t left;
    uint8_t mode;
    uint8_t name_length;
    uint16_t line_length; /* of the size line, or of all trailers so far: bounded */
    char name[sizeof "transfer-encoding"]; /* of the trailer being read; a longer one is cut */
};
void hf_chunks_init(struct hf_chunks *chunks);
/* Takes from the front of `*bytes`; gives at most one run of data (n == 0: none) and moves on. MORE
 * with bytes left: call again. Trailers are checked and dropped; one that would change how the
 * message is framed or routed is BAD. */
HF_MUST_CHECK enum hf_chunk_status hf_chunks_next(struct hf_chunks *chunks, struct hf_span *bytes,
                                                  struct hf_span *ret_data);

#endif
