/* http_head.c - see http_head.h. */
#include "wire/http_head.h"
#include <assert.h>
#include "base/fold.h"
#include "wire/http_text.h"
#include "wire/scan.h"

enum { LENGTH_DIGITS_MAX = 18 };

/* hf_http_run for header values, whose runs are long. */
static size_t run_of_value(struct hf_span text)
{
    const char *end = text.p + text.n, *p = hf_scan_unprintable(text.p, end);
    while (p < end && hf_http_is(*p, HF_HTTP_VALUE))
        p = hf_scan_unprintable(p + 1, end);
    return (size_t)(p - text.p);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct hf_span trimmed(struct hf_span text)
{
    const char *begin = text.p, *end = begin + text.n;
    while (begin < end && is_blank(*begin))
        begin++;
    while (begin < end && is_blank(end[-1]))
        end--;
    return (struct hf_span) { begin, (size_t)(end - begin) };
}

/* ---- where a head ends ---- */

ptrdiff_t hf_http_head_length(struct hf_span text, size_t *seen)
{
    assert(*seen <= text.n);
    if (text.n && !hf_http_is(text.p[0], HF_HTTP_TOKEN)) /* a TLS hello, most often */
        return -1;
    for (const char *newline; (newline = memchr(text.p + *seen, '\n', text.n - *seen)) != NULL;) {
        const size_t at = (size_t)(newline - text.p);
        if (at < 1 || text.p[at - 1] != '\r')
            return -1;
        *seen = at + 1;
        if (at >= 3 && text.p[at - 2] == '\n')
            return (ptrdiff_t)at + 1;
    }
    *seen = text.n;
    return 0;
}

/* ---- headers ---- */

/* Some readers count white space behind a framing value to it, and then do not know it. */
static bool ends_its_line(struct hf_span value)
{
    return value.p[value.n] == '\r'; /* there is always a byte: the CR of the line at least */
}

static int take_length(struct hf_span value, struct hf_http_head *head, const char **ret_why)
{
    int64_t length = 0;
    if (head->content_length >= 0)
        return hf_http_bad(ret_why, 400, "more than one Content-Length");
    for (size_t i = 0; i < value.n; i++)
        if (!hf_http_is_digit(value.p[i]))
            return hf_http_bad(ret_why, 400, "Content-Length is not a number");
    if (!value.n || !ends_its_line(value))
        return hf_http_bad(ret_why, 400, "Content-Length is empty or has white space behind it");
    if (value.n > LENGTH_DIGITS_MAX)
        return hf_http_bad(ret_why, 413, "Content-Length is over every limit");
    for (size_t i = 0; i < value.n; i++)
        length = length * 10 + (value.p[i] - '0');
    head->content_length = length;
    return 0;
}

static int take_encoding(struct hf_span value, struct hf_http_head *head, const char **ret_why)
{
    if (head->is_chunked)
        return hf_http_bad(ret_why, 400, "more than one Transfer-Encoding");
    if (!hf_fold_is(value, HF_SPAN("chunked")) || !ends_its_line(value))
        return hf_http_bad(ret_why, 501, "the only Transfer-Encoding known here is chunked");
    head->is_chunked = true;
    return 0;
}

/* What was said so far, over all lines of Connection. */
struct wishes {
    bool close, keep_alive, upgrade;
};

static void take_connection(struct hf_span value, struct wishes *wishes)
{
    while (value.n) {
        const char *comma = memchr(value.p, ',', value.n);
        const size_t n = comma ? (size_t)(comma - value.p) : value.n;
        const struct hf_span word = trimmed((struct hf_span) { value.p, n });
        wishes->close |= hf_fold_is(word, HF_SPAN("close"));
        wishes->keep_alive |= hf_fold_is(word, HF_SPAN("keep-alive"));
        wishes->upgrade |= hf_fold_is(word, HF_SPAN("upgrade"));
        value = hf_span_from(value, n + 1);
    }
}

#define ONE(name) (1u << (name))

/* By the length of the name, so that hardly any is compared in vain. */
static enum hf_http_name recognise(struct hf_span name)
{
    static const char *const names[HF_HTTP_NAMES] = {
        [HF_HTTP_ACCEPT] = "accept",
        [HF_HTTP_AUTHORIZATION] = "authorization",
        [HF_HTTP_CONNECTION] = "connection",
        [HF_HTTP_CONTENT_LENGTH] = "content-length",
        [HF_HTTP_CONTENT_TYPE] = "content-type",
        [HF_HTTP_EXPECT] = "expect",
        [HF_HTTP_HOST] = "host",
        [HF_HTTP_IDEMPOTENCY_KEY] = "idempotency-key",
        [HF_HTTP_LAST_EVENT_ID] = "last-event-id",
        [HF_HTTP_MCP_METHOD] = "mcp-method",
        [HF_HTTP_MCP_NAME] = "mcp-name",
        [HF_HTTP_MCP_PROTOCOL_VERSION] = "mcp-protocol-version",
        [HF_HTTP_MCP_SESSION_ID] = "mcp-session-id",
        [HF_HTTP_ORIGIN] = "origin",
        [HF_HTTP_ACCESS_CONTROL_REQUEST_HEADERS] = "access-control-request-headers",
        [HF_HTTP_TRANSFER_ENCODING] = "transfer-encoding",
    };
    static const unsigned by_length[] = {
        [4] = ONE(HF_HTTP_HOST),
        [6] = ONE(HF_HTTP_ACCEPT) | ONE(HF_HTTP_EXPECT) | ONE(HF_HTTP_ORIGIN),
        [8] = ONE(HF_HTTP_MCP_NAME),
        [10] = ONE(HF_HTTP_CONNECTION) | ONE(HF_HTTP_MCP_METHOD),
        [12] = ONE(HF_HTTP_CONTENT_TYPE),
        [13] = ONE(HF_HTTP_AUTHORIZATION) | ONE(HF_HTTP_LAST_EVENT_ID),
        [14] = ONE(HF_HTTP_CONTENT_LENGTH) | ONE(HF_HTTP_MCP_SESSION_ID),
        [15] = ONE(HF_HTTP_IDEMPOTENCY_KEY),
        [17] = ONE(HF_HTTP_TRANSFER_ENCODING),
        [20] = ONE(HF_HTTP_MCP_PROTOCOL_VERSION),
        [30] = ONE(HF_HTTP_ACCESS_CONTROL_REQUEST_HEADERS),
    };
    unsigned left = name.n < sizeof by_length / sizeof *by_length ? by_length[name.n] : 0;
    for (; left; left &= left - 1) {
        const enum hf_http_name known = (enum hf_http_name)__builtin_ctz(left);
        if (hf_fold_is(name, (struct hf_span) { names[known], name.n }))
            return known;
    }
    return HF_HTTP_OTHER;
}

/* The few headers that frame the message; all others are for whoever asks for them. */
static int understand(const struct hf_http_header *header, struct hf_http_head *head,
                      struct wishes *wishes, const char **ret_why)
{
    switch (header->known) {
    case HF_HTTP_CONNECTION: take_connection(header->value, wishes); return 0;
    case HF_HTTP_CONTENT_LENGTH: return take_length(header->value, head, ret_why);
    case HF_HTTP_TRANSFER_ENCODING: return take_encoding(header->value, head, ret_why);
    default: return 0;
    }
}

static int take_header(struct hf_span *text, struct hf_http_header *header, const char **ret_why)
{
    if (text->n && is_blank(text->p[0]))
        return hf_http_bad(ret_why, 400, "a header is folded over several lines");
    header->name = (struct hf_span) { text->p, hf_http_run(*text, HF_HTTP_TOKEN) };
    *text = hf_span_from(*text, header->name.n);
    if (!header->name.n || !hf_span_starts(*text, HF_SPAN(":")))
        return hf_http_bad(ret_why, 400, "a header line does not begin with a name and a colon");
    *text = hf_span_from(*text, 1);
    const struct hf_span value = { text->p, run_of_value(*text) };
    header->value = trimmed(value);
    *text = hf_span_from(*text, value.n);
    if (!hf_http_take_crlf(text))
        return hf_http_bad(ret_why, 400,
                           "a header has a control character or does not end in CRLF");
    header->known = recognise(header->name);
    return 0;
}

static int take_headers(struct hf_span text, struct hf_http_head *head, struct wishes *wishes,
                        const char **ret_why)
{
    while (!hf_http_take_crlf(&text)) {
        if (head->header_count == HF_HTTP_HEADERS_MAX)
            return hf_http_bad(ret_why, 431, "more than 64 headers");
        struct hf_http_header *header = &head->headers[head->header_count];
        int status = take_header(&text, header, ret_why);
        if (status)
            return status;
        head->counts[header->known]++;
        head->places[header->known] = (uint8_t)head->header_count++;
        status = understand(header, head, wishes, ret_why);
        if (status)
            return status;
    }
    return text.n ? hf_http_bad(ret_why, 400, "the head does not end with its empty line") : 0;
}

int hf_http_head_version(struct hf_span *text, struct hf_http_head *ret_head)
{
    static const size_t length = sizeof "HTTP/1.1" - 1;
    const char *p = text->p;
    if (text->n < length || memcmp(p, "HTTP/", 5) != 0 || !hf_http_is_digit(p[5]) || p[6] != '.' ||
        !hf_http_is_digit(p[7]))
        return 400;
    if (p[5] != '1' || p[7] > '1')
        return 505;
    ret_head->minor = (unsigned)(p[7] - '0');
    *text = hf_span_from(*text, length);
    return 0;
}

int hf_http_head_fields(struct hf_span text, struct hf_http_head *head, const char **ret_why)
{
    struct wishes wishes = { 0 };
    head->header_count = 0;
    memset(head->counts, 0, sizeof head->counts);
    head->content_length = -1;
    head->is_chunked = false;
    const int status = take_headers(text, head, &wishes, ret_why);
    if (status)
        return status;
    if (head->is_chunked && head->content_length >= 0)
        return hf_http_bad(ret_why, 400, "Transfer-Encoding beside Content-Length");
    if (head->is_chunked && head->minor == 0)
        return hf_http_bad(ret_why, 400, "HTTP/1.0 has no Transfer-Encoding");
    /* We never upgrade. Others may, and take what follows for another protocol: so nothing does. */
    head->keeps_alive = !wishes.close && !wishes.upgrade && (head->minor == 1 || wishes.keep_alive);
    return 0;
}

/* ---- asking for headers ---- */

struct hf_span hf_http_header_named(const struct hf_http_head *head, struct hf_span name)
{
    struct hf_span found = { NULL, 0 };
    for (size_t i = 0; i < head->header_count; i++) {
        if (!hf_fold_is(head->headers[i].name, name))
            continue;
        if (found.p)
            return (struct hf_span) { NULL, 0 };
        found = head->headers[i].value;
    }
    return found;
}

/* The next of a list: up to its comma, without parameters. */
static struct hf_span take_item(struct hf_span *rest)
{
    const char *end = rest->p + rest->n, *stop = hf_scan_list_stop(rest->p, end);
    const struct hf_span item = { rest->p, (size_t)(stop - rest->p) };
    while (stop < end && *stop != ',')
        stop++;
    *rest = hf_span_from(*rest, (size_t)(stop - rest->p) + 1);
    return trimmed(item);
}

unsigned hf_http_lists(const struct hf_http_head *head, enum hf_http_name name,
                       const struct hf_span *words, unsigned word_count)
{
    unsigned found = 0;
    if (!head->counts[name])
        return 0;
    for (size_t i = 0; i <= head->places[name]; i++) {
        if (head->headers[i].known != name)
            continue;
        for (struct hf_span rest = head->headers[i].value; rest.n;) {
            const struct hf_span item = take_item(&rest);
            for (unsigned w = 0; w < word_count; w++)
                if (item.n == words[w].n && hf_fold_is(item, words[w]))
                    found |= 1u << w;
        }
    }
    return found;
}

const char *hf_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } table[] = {
        { 200, "OK" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 304, "Not Modified" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 411, "Length Required" },
        { 413, "Content Too Large" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 421, "Misdirected Request" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].status == status)
            return table[i].reason;
    return "Unknown";
}
