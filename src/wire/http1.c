/*
 * http1.c - see http1.h.
 *
 * RFC 9112 and 9110. Where they let a server be lenient, it is not.
 */
#include "wire/http1.h"
#include <assert.h>
#include "base/hex.h"
#include "wire/scan.h"

enum {
    TOKEN = 1,  /* of methods and header names */
    VALUE = 2,  /* of header values: no control but the tab */
    TARGET = 4, /* of request targets: visible ASCII but '#' */
    HOST = 8,   /* of a host and its port */
    LENGTH_DIGITS_MAX = 18,
    CHUNK_DIGITS_MAX = 15,
    TRAILERS_MAX = 4096,
};

/* The sum of its kinds for each byte; those above ASCII are only good in values. */
/* clang-format off */
static const unsigned char kinds[256] = {
     0,  0,  0,  0,  0,  0,  0,  0,  0,  2,  0,  0,  0,  0,  0,  0, /* controls: only the tab */
     0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
     2, 15,  6,  3, 15, 15, 15, 15,  6,  6, 15, 15,  6, 15, 15,  6, /*  !"#$%&'()*+,-./ */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 14,  6,  6,  6,  6,  6, /* 0123456789:;<=>? */
     6, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* @ABCDEFGHIJKLMNO */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 14,  6, 14,  7, 15, /* PQRSTUVWXYZ[\]^_ */
     7, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* `abcdefghijklmno */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,  6,  7,  6, 15,  0, /* pqrstuvwxyz{|}~. */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
};
/* clang-format on */

static bool is(char c, unsigned kind)
{
    return kinds[(unsigned char)c] & kind;
}

/* How many bytes from the front on are of that kind. */
static size_t run_of(struct hf_span text, unsigned kind)
{
    size_t n = 0;
    while (n < text.n && is(text.p[n], kind))
        n++;
    return n;
}

/* The same for VALUE, whose runs are long. */
static size_t run_of_value(struct hf_span text)
{
    const char *end = text.p + text.n, *p = hf_scan_unprintable(text.p, end);
    while (p < end && is(*p, VALUE))
        p = hf_scan_unprintable(p + 1, end);
    return (size_t)(p - text.p);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static uint64_t word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes at once: 0x20 may be missing in `text` where `name` has a letter. */
static bool is_word(uint64_t text, uint64_t name)
{
    const uint64_t low = name & EACH(0x7f);
    const uint64_t over_z = low + EACH(0x7f - 'z'), from_a = low + EACH(0x80 - 'a');
    const uint64_t is_letter = from_a & ~over_z & ~name & EACH(0x80);
    return (text | is_letter >> 2) == name;
}

/* `name` is in lower case. */
static bool is_named(struct hf_span text, struct hf_span name)
{
    const size_t n = name.n;
    size_t i = 0;
    if (text.n != n)
        return false;
    for (; i + 8 <= n; i += 8)
        if (!is_word(word_at(text.p + i), word_at(name.p + i)))
            return false;
    if (i && i < n) /* what is left, and some of what was looked at */
        return is_word(word_at(text.p + n - 8), word_at(name.p + n - 8));
    for (; i < n; i++)
        if (lower(text.p[i]) != name.p[i])
            return false;
    return true;
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
    if (text.n && !is(text.p[0], TOKEN)) /* a TLS hello, most often */
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

/* ---- the request line ---- */

static int refuse(const char **ret_why, int status, const char *why)
{
    *ret_why = why;
    return status;
}

static bool take_crlf(struct hf_span *text)
{
    if (!hf_span_starts(*text, HF_SPAN("\r\n")))
        return false;
    *text = hf_span_from(*text, 2);
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int take_version(struct hf_span *text, struct hf_http_head *head, const char **ret_why)
{
    static const size_t length = sizeof "HTTP/1.1" - 1;
    const char *p = text->p;
    if (text->n < length || memcmp(p, "HTTP/", 5) != 0 || !is_digit(p[5]) || p[6] != '.' ||
        !is_digit(p[7]))
        return refuse(ret_why, 400, "the request line is not METHOD TARGET HTTP/1.1");
    if (p[5] != '1' || p[7] > '1')
        return refuse(ret_why, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    head->minor = (unsigned)(p[7] - '0');
    *text = hf_span_from(*text, length);
    return take_crlf(text) ? 0 : refuse(ret_why, 400, "the request line does not end in CRLF");
}

static int take_request_line(struct hf_span *text, struct hf_http_head *head, const char **ret_why)
{
    head->method = (struct hf_span) { text->p, run_of(*text, TOKEN) };
    *text = hf_span_from(*text, head->method.n);
    if (!head->method.n || !hf_span_starts(*text, HF_SPAN(" ")))
        return refuse(ret_why, 400, "the request line does not begin with a method and a space");
    *text = hf_span_from(*text, 1);
    head->target = (struct hf_span) { text->p, run_of(*text, TARGET) };
    *text = hf_span_from(*text, head->target.n);
    if (!head->target.n || !hf_span_starts(*text, HF_SPAN(" ")))
        return refuse(ret_why, 400, "the target is empty or has a byte that must be escaped");
    *text = hf_span_from(*text, 1);
    const int status = take_version(text, head, ret_why);
    if (status)
        return status;
    const bool is_star = hf_span_is(head->target, "*") && hf_span_is(head->method, "OPTIONS");
    if (head->target.p[0] != '/' && !is_star)
        return refuse(ret_why, 400, "the target has to be a path that begins with '/'");
    const char *query = memchr(head->target.p, '?', head->target.n);
    head->path = head->target;
    if (query)
        head->path.n = (size_t)(query - head->target.p);
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
        return refuse(ret_why, 400, "more than one Content-Length");
    for (size_t i = 0; i < value.n; i++)
        if (!is_digit(value.p[i]))
            return refuse(ret_why, 400, "Content-Length is not a number");
    if (!value.n || !ends_its_line(value))
        return refuse(ret_why, 400, "Content-Length is empty or has white space behind it");
    if (value.n > LENGTH_DIGITS_MAX)
        return refuse(ret_why, 413, "Content-Length is over every limit");
    for (size_t i = 0; i < value.n; i++)
        length = length * 10 + (value.p[i] - '0');
    head->content_length = length;
    return 0;
}

static int take_encoding(struct hf_span value, struct hf_http_head *head, const char **ret_why)
{
    if (head->is_chunked)
        return refuse(ret_why, 400, "more than one Transfer-Encoding");
    if (!is_named(value, HF_SPAN("chunked")) || !ends_its_line(value))
        return refuse(ret_why, 501, "the only Transfer-Encoding known here is chunked");
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
        wishes->close |= is_named(word, HF_SPAN("close"));
        wishes->keep_alive |= is_named(word, HF_SPAN("keep-alive"));
        wishes->upgrade |= is_named(word, HF_SPAN("upgrade"));
        value = hf_span_from(value, n + 1);
    }
}

static int take_expect(struct hf_span value, struct hf_http_head *head, const char **ret_why)
{
    if (!is_named(value, HF_SPAN("100-continue")))
        return refuse(ret_why, 417, "the only Expect known here is 100-continue");
    head->expects_continue = true;
    return 0;
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
        if (is_named(name, (struct hf_span) { names[known], name.n }))
            return known;
    }
    return HF_HTTP_OTHER;
}

/* The few headers that frame the message; all others are for whoever asks for them. */
static int understand(const struct hf_http_header *header, struct hf_http_head *head,
                      struct wishes *wishes, const char **ret_why)
{
    const struct hf_span value = header->value;
    switch (header->known) {
    case HF_HTTP_HOST:
        if (head->counts[HF_HTTP_HOST] > 1)
            return refuse(ret_why, 400, "more than one Host");
        if (run_of(value, HOST) != value.n)
            return refuse(ret_why, 400, "Host is not a name and a port");
        return 0;
    case HF_HTTP_EXPECT: return take_expect(value, head, ret_why);
    case HF_HTTP_CONNECTION: take_connection(value, wishes); return 0;
    case HF_HTTP_CONTENT_LENGTH: return take_length(value, head, ret_why);
    case HF_HTTP_TRANSFER_ENCODING: return take_encoding(value, head, ret_why);
    default: return 0;
    }
}

static int take_header(struct hf_span *text, struct hf_http_header *header, const char **ret_why)
{
    if (text->n && is_blank(text->p[0]))
        return refuse(ret_why, 400, "a header is folded over several lines");
    header->name = (struct hf_span) { text->p, run_of(*text, TOKEN) };
    *text = hf_span_from(*text, header->name.n);
    if (!header->name.n || !hf_span_starts(*text, HF_SPAN(":")))
        return refuse(ret_why, 400, "a header line does not begin with a name and a colon");
    *text = hf_span_from(*text, 1);
    const struct hf_span value = { text->p, run_of_value(*text) };
    header->value = trimmed(value);
    *text = hf_span_from(*text, value.n);
    if (!take_crlf(text))
        return refuse(ret_why, 400, "a header has a control character or does not end in CRLF");
    header->known = recognise(header->name);
    return 0;
}

static int take_headers(struct hf_span *text, struct hf_http_head *head, struct wishes *wishes,
                        const char **ret_why)
{
    while (!take_crlf(text)) {
        if (head->header_count == HF_HTTP_HEADERS_MAX)
            return refuse(ret_why, 431, "more than 64 headers");
        struct hf_http_header *header = &head->headers[head->header_count];
        int status = take_header(text, header, ret_why);
        if (status)
            return status;
        head->counts[header->known]++;
        head->places[header->known] = (uint8_t)head->header_count++;
        status = understand(header, head, wishes, ret_why);
        if (status)
            return status;
    }
    return text->n ? refuse(ret_why, 400, "the head does not end with its empty line") : 0;
}

int hf_http_head_parse(struct hf_span text, struct hf_http_head *ret_head, const char **ret_why)
{
    struct hf_http_head *head = ret_head;
    struct wishes wishes = { 0 };
    head->header_count = 0;
    memset(head->counts, 0, sizeof head->counts);
    head->content_length = -1;
    head->is_chunked = head->expects_continue = false;
    int status = take_request_line(&text, head, ret_why);
    if (!status)
        status = take_headers(&text, head, &wishes, ret_why);
    if (status)
        return status;
    if (head->minor == 1 && !head->counts[HF_HTTP_HOST])
        return refuse(ret_why, 400, "an HTTP/1.1 request needs a Host");
    if (head->is_chunked && head->content_length >= 0)
        return refuse(ret_why, 400, "Transfer-Encoding beside Content-Length");
    if (head->is_chunked && head->minor == 0)
        return refuse(ret_why, 400, "HTTP/1.0 has no Transfer-Encoding");
    /* We never upgrade. Others may, and take what follows for another protocol: so nothing does. */
    head->keeps_alive = !wishes.close && !wishes.upgrade && (head->minor == 1 || wishes.keep_alive);
    head->expects_continue &= head->minor == 1;
    return 0;
}

bool hf_http_is_token(struct hf_span text)
{
    return text.n && run_of(text, TOKEN) == text.n;
}

struct hf_span hf_http_header_named(const struct hf_http_head *head, struct hf_span name)
{
    struct hf_span found = { NULL, 0 };
    for (size_t i = 0; i < head->header_count; i++) {
        if (!is_named(head->headers[i].name, name))
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
                if (item.n == words[w].n && is_named(item, words[w]))
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

/* ---- chunks ---- */

enum mode {
    SIZE,    /* digits of a size, at least one */
    SIZE_LF, /* the LF of its line */
    DATA,    /* `left` bytes */
    DATA_CR, /* the CRLF behind them */
    DATA_LF,
    TRAILER, /* the beginning of a line behind the last chunk */
    NAME,    /* in the name of a trailer */
    FIELD,   /* in its value */
    FIELD_LF,
    LAST_LF, /* the LF of the empty line that ends it all */
    BEHIND,
    BROKEN,
};

void hf_chunks_init(struct hf_chunks *chunks)
{
    *chunks = (struct hf_chunks) { .mode = SIZE };
}

static enum mode after_size_byte(struct hf_chunks *chunks, char c)
{
    const int digit = hf_hex_digit(c);
    if (digit < 0)
        return c == '\r' && chunks->line_length ? SIZE_LF : BROKEN;
    if (++chunks->line_length > CHUNK_DIGITS_MAX)
        return BROKEN;
    chunks->left = chunks->left << 4 | (unsigned)digit;
    return SIZE;
}

/* RFC 9110, 6.5.1. Some readers act on them all the same. */
static bool has_no_place_in_trailers(struct hf_span name)
{
    static const char *const banned[] = { "connection", "content-length", "host",
                                          "transfer-encoding", "upgrade" };
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (is_named(name, hf_span_of(banned[i])))
            return true;
    return false;
}

static enum mode after_name_byte(struct hf_chunks *chunks, char c)
{
    const struct hf_span name = { chunks->name, chunks->name_length };
    if (c == ':' && name.n)
        return has_no_place_in_trailers(name) ? BROKEN : FIELD;
    if (!is(c, TOKEN))
        return BROKEN;
    if (name.n < sizeof chunks->name)
        chunks->name[chunks->name_length++] = c;
    return NAME;
}

static enum mode after_trailer_byte(struct hf_chunks *chunks, char c)
{
    if (++chunks->line_length > TRAILERS_MAX)
        return BROKEN;
    switch (chunks->mode) {
    case TRAILER: chunks->name_length = 0; return c == '\r' ? LAST_LF : after_name_byte(chunks, c);
    case NAME: return after_name_byte(chunks, c);
    default: return c == '\r' ? FIELD_LF : is(c, VALUE) ? FIELD : BROKEN;
    }
}

/* What the machine expects after this byte of the framing. */
static enum mode after_byte(struct hf_chunks *chunks, char c)
{
    switch ((enum mode)chunks->mode) {
    case SIZE: return after_size_byte(chunks, c);
    case SIZE_LF:
        chunks->line_length = 0;
        return c != '\n' ? BROKEN : chunks->left ? DATA : TRAILER;
    case DATA_CR: return c == '\r' ? DATA_LF : BROKEN;
    case DATA_LF: return c == '\n' ? SIZE : BROKEN;
    case TRAILER:
    case NAME:
    case FIELD: return after_trailer_byte(chunks, c);
    case FIELD_LF: return c == '\n' ? TRAILER : BROKEN;
    case LAST_LF: return c == '\n' ? BEHIND : BROKEN;
    case DATA:
    case BEHIND:
    case BROKEN: break;
    }
    return BROKEN;
}

enum hf_chunk_status hf_chunks_next(struct hf_chunks *chunks, struct hf_span *bytes,
                                    struct hf_span *ret_data)
{
    *ret_data = (struct hf_span) { bytes->p, 0 };
    while (bytes->n && chunks->mode != DATA && chunks->mode != BEHIND && chunks->mode != BROKEN) {
        chunks->mode = (uint8_t)after_byte(chunks, bytes->p[0]);
        *bytes = hf_span_from(*bytes, 1);
    }
    if (chunks->mode == DATA && bytes->n) {
        const size_t n = bytes->n < chunks->left ? bytes->n : (size_t)chunks->left;
        *ret_data = (struct hf_span) { bytes->p, n };
        *bytes = hf_span_from(*bytes, n);
        chunks->left -= n;
        if (!chunks->left)
            chunks->mode = DATA_CR;
    }
    return chunks->mode == BROKEN   ? HF_CHUNK_BAD
           : chunks->mode == BEHIND ? HF_CHUNK_END
                                    : HF_CHUNK_MORE;
}
