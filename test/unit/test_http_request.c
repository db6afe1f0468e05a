/* test_http_request.c - requests: what is taken, what is refused and how, and that cuts make no
 * difference. */
#include "test.h"
#include "unit/http_reader.h"

#define LINE  "POST /mcp HTTP/1.1\r\n"
#define HOST  "Host: a\r\n"
#define CHUNK "Transfer-Encoding: chunked\r\n\r\n"

static struct hf_span span_of(const char *text, size_t n)
{
    return (struct hf_span) { text, n };
}

static bool same_request(const struct hf_http_request *a, const struct hf_http_request *b)
{
    bool same = hf_span_eq(a->method, b->method) && hf_span_eq(a->target, b->target) &&
                hf_span_eq(a->path, b->path) && a->head.minor == b->head.minor &&
                a->head.header_count == b->head.header_count &&
                a->head.content_length == b->head.content_length &&
                a->head.is_chunked == b->head.is_chunked &&
                a->head.keeps_alive == b->head.keeps_alive &&
                a->expects_continue == b->expects_continue;
    for (size_t i = 0; same && i < a->head.header_count; i++)
        same = hf_span_eq(a->head.headers[i].name, b->head.headers[i].name) &&
               hf_span_eq(a->head.headers[i].value, b->head.headers[i].value);
    return same;
}

static bool same_reading(const struct reader *a, const struct reader *b)
{
    if (a->at != b->at)
        return false;
    if (a->at == READER_REFUSED)
        return a->status == b->status;
    return a->at != READER_DONE || (same_request(&a->request, &b->request) &&
                                    hf_span_eq(hf_buf_span(&a->body), hf_buf_span(&b->body)));
}

/* Cut in two at every byte, and into single bytes: always the same request, the same rest. */
static bool cuts_make_no_difference(struct hf_span text)
{
    struct reader whole;
    struct hf_span rest = text;
    bool same = true;
    reader_init(&whole);
    reader_take(&whole, &rest);
    for (size_t cut = 0; cut <= text.n && same; cut++) {
        struct reader r;
        struct hf_span first = { text.p, cut }, second = hf_span_from(text, cut);
        reader_init(&r);
        if (cut)
            reader_take(&r, &first);
        else
            reader_take_in_steps(&r, &second, 1);
        if (r.at < READER_DONE)
            reader_take(&r, &second);
        same = same_reading(&whole, &r) && (r.at != READER_DONE || first.n + second.n == rest.n);
        reader_done(&r);
    }
    reader_done(&whole);
    return same;
}

/* ---- what is taken ---- */

TEST(a_head_becomes_spans_and_a_query_is_no_part_of_the_path)
{
    static const char text[] = "POST /mcp/a?b=c HTTP/1.1\r\nHost: localhost:7332\r\n"
                               "Accept:\t application/json , text/event-stream \t\r\n"
                               "X-Empty:\r\nX-Tilde-~_: y\r\ncontent-LENGTH: 12\r\n\r\n";
    struct hf_http_request request;
    const char *why = NULL;
    REQUIRE_EQ(hf_http_request_parse(span_of(text, sizeof text - 1), &request, &why), 0);
    CHECK(hf_span_is(request.method, "POST") && hf_span_is(request.target, "/mcp/a?b=c"));
    CHECK(hf_span_is(request.path, "/mcp/a") && request.head.minor == 1 &&
          request.head.header_count == 5);
    CHECK_SPAN(hf_http_header(&request.head, HF_HTTP_ACCEPT),
               "application/json , text/event-stream");
    CHECK(hf_http_header_named(&request.head, HF_SPAN("x-empty")).p);
    CHECK_EQ(hf_http_header_named(&request.head, HF_SPAN("x-empty")).n, 0);
    CHECK(!hf_http_header_named(&request.head, HF_SPAN("x-none")).p);
    CHECK(hf_http_header_named(&request.head, HF_SPAN("x-tilde-~_")).p);
    CHECK(!hf_http_header_named(&request.head, HF_SPAN("x-tilde-^_"))
               .p); /* they differ as cases do */
    CHECK(request.head.content_length == 12 && !request.head.is_chunked &&
          request.head.keeps_alive);
    CHECK(!request.expects_continue);
}

TEST(a_header_that_comes_twice_is_counted_and_has_no_single_value)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nOrigin: x\r\noRIGIN: y\r\n\r\n";
    struct hf_http_request request;
    const char *why;
    REQUIRE_EQ(hf_http_request_parse(span_of(text, sizeof text - 1), &request, &why), 0);
    CHECK(!hf_http_header(&request.head, HF_HTTP_ORIGIN).p &&
          request.head.counts[HF_HTTP_ORIGIN] == 2);
    CHECK_SPAN(hf_http_header(&request.head, HF_HTTP_HOST), "a");
}

/* Recognised eight bytes at a time: so each byte is tried with everything else it could be. */
TEST(a_known_header_is_recognised_in_any_case_and_nothing_else_is_taken_for_it)
{
    static const struct {
        enum hf_http_name known;
        const char *name, *value;
    } rows[] = {
        { HF_HTTP_ACCEPT, "aCcept", "x" },
        { HF_HTTP_AUTHORIZATION, "Authorization", "x" },
        { HF_HTTP_CONNECTION, "CONNECTION", "x" },
        { HF_HTTP_CONTENT_LENGTH, "Content-Length", "3" },
        { HF_HTTP_CONTENT_TYPE, "content-Type", "x" },
        { HF_HTTP_EXPECT, "ExpecT", "100-continue" },
        { HF_HTTP_IDEMPOTENCY_KEY, "Idempotency-Key", "x" },
        { HF_HTTP_LAST_EVENT_ID, "Last-Event-ID", "x" },
        { HF_HTTP_MCP_METHOD, "Mcp-Method", "x" },
        { HF_HTTP_MCP_NAME, "Mcp-Name", "x" },
        { HF_HTTP_MCP_PROTOCOL_VERSION, "MCP-Protocol-Version", "x" },
        { HF_HTTP_MCP_SESSION_ID, "mcp-session-iD", "x" },
        { HF_HTTP_ORIGIN, "Origin", "x" },
        { HF_HTTP_ACCESS_CONTROL_REQUEST_HEADERS, "Access-Control-Request-Headers", "x" },
        { HF_HTTP_TRANSFER_ENCODING, "Transfer-Encoding", "chunked" },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        char text[200];
        const int n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s: %s\r\n\r\n",
                               rows[row].name, rows[row].value);
        char *name = strstr(text, rows[row].name);
        struct hf_http_request request;
        const char *why;
        REQUIRE_EQ(hf_http_request_parse(span_of(text, (size_t)n), &request, &why), 0);
        CHECK(request.head.counts[rows[row].known] == 1 && request.head.counts[HF_HTTP_OTHER] == 0);
        CHECK_SPAN(hf_http_header(&request.head, rows[row].known), rows[row].value);
        for (size_t i = 0; rows[row].name[i]; i++) {
            for (int c = 1; c < 256; c++) {
                name[i] = (char)c;
                const bool is_read =
                    hf_http_request_parse(span_of(text, (size_t)n), &request, &why) == 0;
                const bool is_same = (c | 0x20) == (rows[row].name[i] | 0x20) &&
                                     (c == rows[row].name[i] || (rows[row].name[i] & 0x40));
                CHECK(!is_read || request.head.counts[rows[row].known] == is_same);
            }
            name[i] = rows[row].name[i];
        }
    }
}

static struct hf_http_request parsed(const char *text)
{
    struct hf_http_request request = { .head.minor = 9 };
    const char *why;
    if (hf_http_request_parse(hf_span_of(text), &request, &why) != 0)
        request.head.minor = 9;
    return request;
}

TEST(a_word_is_found_in_lists_whatever_its_case_parameters_and_line)
{
    const struct hf_http_request request =
        parsed("GET / HTTP/1.1\r\nHost: a\r\nAccept: Text/Event-Stream;q=0.5 , application/json\r\n"
               "accept:*/*\r\n\r\n");
    const struct hf_span words[] = { HF_SPAN("application/json"), HF_SPAN("text/event"),
                                     HF_SPAN("text/event-stream"), HF_SPAN("application"),
                                     HF_SPAN("*/*") };
    CHECK_EQ(hf_http_lists(&request.head, HF_HTTP_ACCEPT, words, 5), 1 | 4 | 16);
    CHECK_EQ(hf_http_lists(&request.head, HF_HTTP_ACCEPT, words, 1), 1);
    CHECK_EQ(hf_http_lists(&request.head, HF_HTTP_HOST, words, 5), 0);
}

TEST(version_and_connection_decide_whether_the_connection_stays)
{
    static const struct {
        const char *version, *connection;
        bool keeps_alive;
    } table[] = {
        { "1.1", "", true },
        { "1.1", "Connection: close\r\n", false },
        { "1.1", "Connection: keep-alive\r\n", true },
        { "1.1", "Connection: x ,\tCLOSE , y\r\n", false },
        { "1.1", "Connection: keep-alive\r\nConnection: close\r\n", false },
        { "1.1", "Connection: closed, not-close\r\n", true },
        { "1.1", "Connection: Upgrade, keep-alive\r\nUpgrade: h2c\r\n", false },
        { "1.0", "", false },
        { "1.0", "Connection: Keep-Alive\r\n", true },
        { "1.0", "Connection: keep-alive, close\r\n", false },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "GET / HTTP/%s\r\nHost: a\r\n%s\r\n", table[i].version,
                       table[i].connection);
        const struct hf_http_request request = parsed(text);
        CHECK(request.head.minor < 9 && request.head.keeps_alive == table[i].keeps_alive);
    }
}

TEST(a_client_that_waits_for_100_is_recognised_only_in_http_1_1)
{
    CHECK(parsed("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n").expects_continue);
    const struct hf_http_request old = parsed("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
    CHECK(old.head.minor == 0 && !old.expects_continue);
}

TEST(the_target_is_a_path_or_for_options_a_star)
{
    CHECK_EQ(parsed("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").head.minor, 1);
    CHECK_EQ(
        parsed("GET /%20~!$&'()*+,;=:@?/?[]{}|\"<>^`\\ HTTP/1.1\r\nHost: a\r\n\r\n").head.minor, 1);
    CHECK_EQ(parsed("GET / HTTP/1.0\r\n\r\n").head.minor, 0);
    CHECK_EQ(parsed("GET / HTTP/1.1\r\nHost:\r\n\r\n").head.minor, 1);
    CHECK_EQ(parsed("GET / HTTP/1.1\r\nHost: [::1]:7332\r\n\r\n").head.minor, 1);
}

TEST(sixty_four_headers_are_taken_and_one_more_is_refused)
{
    struct hf_buf text;
    struct hf_http_request request;
    const char *why = "";
    hf_buf_init(&text, 1 << 16);
    hf_buf_add_str(&text, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 1; i < HF_HTTP_HEADERS_MAX; i++)
        hf_buf_printf(&text, "X-%d: %d\r\n", i, i);
    const size_t before_end = hf_buf_len(&text);
    hf_buf_add_str(&text, "\r\n");
    CHECK(hf_http_request_parse(hf_buf_span(&text), &request, &why) == 0 &&
          request.head.header_count == 64);
    text.end = text.start + before_end;
    hf_buf_add_str(&text, "X: y\r\n\r\n");
    CHECK(hf_http_request_parse(hf_buf_span(&text), &request, &why) == 431 &&
          strstr(why, "64 headers"));
    hf_buf_done(&text);
}

/* ---- what is refused ---- */

struct refusal {
    int status;
    const char *what;
    const char *text;
    size_t length; /* 0: up to the NUL */
};

#define ZERO(text) (text), sizeof(text) - 1
static const struct refusal refusals[] = {
    { 400, "a bare LF ends the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 0 },
    { 400, "bare LF everywhere", "GET / HTTP/1.1\nHost: a\n\n", 0 },
    { 400, "a bare LF ends a header", LINE "Host: a\nX: y\r\n\r\n", 0 },
    { 400, "a bare LF for the empty line", LINE HOST "\n", 0 },
    { 400, "a bare CR in a value", LINE HOST "X: a\rb\r\n\r\n", 0 },
    { 400, "a bare CR ends a header", LINE HOST "X: a\rY: b\r\n\r\n", 0 },
    { 400, "two CRs", LINE HOST "X: a\r\r\n\r\n", 0 },
    { 400, "NUL in a value", ZERO(LINE HOST "X: a\0b\r\n\r\n") },
    { 400, "NUL in a name", ZERO(LINE HOST "X\0: a\r\n\r\n") },
    { 400, "NUL in the target", ZERO("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n") },
    { 400, "DEL in a value", LINE HOST "X: a\177\r\n\r\n", 0 },
    { 400, "an escape in a value", LINE HOST "X: \033[2J\r\n\r\n", 0 },
    { 400, "a folded header", LINE HOST "X: a\r\n b\r\n\r\n", 0 },
    { 400, "a folded header by a tab", LINE HOST "X: a\r\n\tb\r\n\r\n", 0 },
    { 400, "a space before the first header", LINE " Host: a\r\n\r\n", 0 },
    { 400, "a space before the colon", LINE HOST "Content-Length : 5\r\n\r\n", 0 },
    { 400, "a tab before the colon", LINE HOST "X\t: 5\r\n\r\n", 0 },
    { 400, "no colon", LINE HOST "X\r\n\r\n", 0 },
    { 400, "no name", LINE HOST ": x\r\n\r\n", 0 },
    { 400, "a name that is no token", LINE HOST "X(y): x\r\n\r\n", 0 },
    { 400, "a name that is no ASCII", LINE HOST "\303\204: x\r\n\r\n", 0 },
    { 400, "no Host", LINE "X: y\r\n\r\n", 0 },
    { 400, "two Hosts", LINE HOST HOST "\r\n", 0 },
    { 400, "two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\n" HOST HOST "\r\n", 0 },
    { 400, "a Host with a user", LINE "Host: u@a\r\n\r\n", 0 },
    { 400, "a Host with a path", LINE "Host: a/b\r\n\r\n", 0 },
    { 400, "two names as Host", LINE "Host: a, b\r\n\r\n", 0 },
    { 400, "Content-Length with a sign", LINE HOST "Content-Length: +5\r\n\r\n", 0 },
    { 400, "Content-Length below 0", LINE HOST "Content-Length: -1\r\n\r\n", 0 },
    { 400, "Content-Length in hex", LINE HOST "Content-Length: 0x5\r\n\r\n", 0 },
    { 400, "Content-Length as a list", LINE HOST "Content-Length: 5, 5\r\n\r\n", 0 },
    { 400, "Content-Length with a space", LINE HOST "Content-Length: 1 2\r\n\r\n", 0 },
    { 400, "Content-Length and a tab", LINE HOST "Content-Length: 5\t\r\n\r\n", 0 },
    { 400, "Content-Length empty", LINE HOST "Content-Length:\r\n\r\n", 0 },
    { 400, "Content-Length twice", LINE HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 0 },
    { 400, "Content-Length twice, unlike",
      LINE HOST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n", 0 },
    { 413, "Content-Length over 64 bits", LINE HOST "Content-Length: 18446744073709551621\r\n\r\n",
      0 },
    { 400, "length and chunks", LINE HOST "Content-Length: 5\r\n" CHUNK, 0 },
    { 400, "chunks and length", LINE HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
      0 },
    { 400, "chunks in HTTP/1.0", "POST / HTTP/1.0\r\n" CHUNK, 0 },
    { 400, "chunked twice", LINE HOST "Transfer-Encoding: chunked\r\n" CHUNK, 0 },
    { 501, "chunked and more", LINE HOST "Transfer-Encoding: chunked, identity\r\n\r\n", 0 },
    { 501, "something, chunked", LINE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 0 },
    { 501, "chunked and a tab", LINE HOST "Transfer-Encoding: chunked\t\r\n\r\n", 0 },
    { 501, "identity", LINE HOST "Transfer-Encoding: identity\r\n\r\n", 0 },
    { 501, "x, then chunked", LINE HOST "Transfer-Encoding: x\r\n" CHUNK, 0 },
    { 400, "a vertical tab before chunked", LINE HOST "Transfer-Encoding: \013chunked\r\n\r\n", 0 },
    { 417, "an expectation", LINE HOST "Expect: a-miracle\r\n\r\n", 0 },
    { 505, "the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0 },
    { 505, "HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 0 },
    { 505, "HTTP/0.9 with a version", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 0 },
    { 400, "HTTP/0.9", "GET /\r\n\r\n", 0 },
    { 400, "a version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a version of two digits", "GET / HTTP/1.11\r\nHost: a\r\n\r\n", 0 },
    { 400, "a space behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 0 },
    { 400, "two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a tab for a space", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a target that is no ASCII", "GET /\303\244 HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "the absolute form", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "the authority form", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a star without OPTIONS", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "no slash", "GET mcp HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "an empty line first", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a method that is no token", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
    { 400, "a TLS hello", ZERO("\026\003\001\002\000\001\000\001\374\003\003") },
    { 400, "a chunk size with a sign", LINE HOST CHUNK "+5\r\nhello\r\n0\r\n\r\n", 0 },
    { 400, "a chunk size in C's hex", LINE HOST CHUNK "0x5\r\nhello\r\n0\r\n\r\n", 0 },
    { 400, "no chunk size", LINE HOST CHUNK "\r\nhello\r\n0\r\n\r\n", 0 },
    { 400, "a chunk size over 64 bits", LINE HOST CHUNK "10000000000000005\r\nhello\r\n", 0 },
    { 400, "a chunk size of many zeros", LINE HOST CHUNK "0000000000000005\r\nhello\r\n", 0 },
    { 400, "a space behind the chunk size", LINE HOST CHUNK "5 \r\nhello\r\n0\r\n\r\n", 0 },
    { 400, "a chunk extension", LINE HOST CHUNK "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", 0 },
    { 400, "a bare LF behind a chunk size", LINE HOST CHUNK "5\nhello\r\n0\r\n\r\n", 0 },
    { 400, "a bare LF behind a chunk", LINE HOST CHUNK "5\r\nhello\n0\r\n\r\n", 0 },
    { 400, "a chunk longer than said", LINE HOST CHUNK "5\r\nhello!\r\n0\r\n\r\n", 0 },
    { 400, "a CR and something else", LINE HOST CHUNK "5\rxhello\r\n0\r\n\r\n", 0 },
    { 400, "a trailer without a colon", LINE HOST CHUNK "0\r\nx\r\n\r\n", 0 },
    { 400, "a trailer without a name", LINE HOST CHUNK "0\r\n: x\r\n\r\n", 0 },
    { 400, "a folded trailer", LINE HOST CHUNK "0\r\nx: y\r\n z\r\n\r\n", 0 },
    { 400, "a bare LF behind a trailer", LINE HOST CHUNK "0\r\nx: y\n\r\n", 0 },
    { 400, "a length as a trailer", LINE HOST CHUNK "0\r\nContent-LENGTH: 0\r\n\r\n", 0 },
    { 400, "an encoding as a trailer", LINE HOST CHUNK "0\r\nx: y\r\n" CHUNK, 0 },
    { 400, "a host as a trailer", LINE HOST CHUNK "0\r\nhost: b\r\n\r\n", 0 },
    { 400, "a bare LF at the end", LINE HOST CHUNK "0\r\n\n", 0 },
};

TEST(whatever_two_readers_could_read_in_two_ways_is_refused_with_its_status_however_it_is_cut)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *row = &refusals[i];
        struct hf_span text = span_of(row->text, row->length ? row->length : strlen(row->text));
        struct reader r;
        CHECK(cuts_make_no_difference(text));
        reader_init(&r);
        reader_take(&r, &text);
        if (r.at != READER_REFUSED || r.status != row->status || !r.why || strlen(r.why) < 8) {
            printf("# %s: %d %d %s\n", row->what, r.at, r.status, r.why ? r.why : "");
            CHECK(!"refused with the right status");
        }
        reader_done(&r);
    }
}

TEST(a_head_without_its_end_is_waited_for_and_one_with_more_behind_it_is_cut_there)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next";
    size_t seen = 0;
    CHECK_EQ(hf_http_head_length(span_of(text, 0), &seen), 0);
    for (size_t n = 1; n < 27; n++)
        CHECK_EQ(hf_http_head_length(span_of(text, n), &seen), 0);
    CHECK_EQ(hf_http_head_length(span_of(text, sizeof text - 1), &seen), 27);
    struct hf_http_request request;
    const char *why = "";
    CHECK_EQ(hf_http_request_parse(span_of(text, sizeof text - 1), &request, &why), 400);
    CHECK_EQ(hf_http_request_parse(span_of(text, 25), &request, &why), 400);
}

/* ---- bodies ---- */

static void check_body(const char *text, const char *body, const char *rest)
{
    struct hf_span left = hf_span_of(text);
    struct reader r;
    CHECK(cuts_make_no_difference(left));
    reader_init(&r);
    reader_take(&r, &left);
    CHECK(r.at == READER_DONE && hf_span_is(hf_buf_span(&r.body), body));
    CHECK_SPAN(left, rest);
    reader_done(&r);
}

TEST(a_body_is_read_by_its_length_or_its_chunks_and_the_next_request_begins_behind_it)
{
    check_body(LINE HOST "Content-Length: 5\r\n\r\nhelloGET", "hello", "GET");
    check_body(LINE HOST "Content-Length: 005\r\n\r\nhello", "hello", "");
    check_body(LINE HOST "Content-Length: 0\r\n\r\nGET", "", "GET");
    check_body(LINE HOST "\r\nGET", "", "GET");
    check_body(LINE HOST CHUNK "5\r\nhello\r\n0\r\n\r\nGET", "hello", "GET");
    check_body(LINE HOST CHUNK "00A\r\nhello hell\r\n1\r\no\r\n0\r\n\r\n", "hello hello", "");
    check_body(LINE HOST CHUNK "2\r\n\r\n\r\n000\r\n\r\nGET", "\r\n", "GET");
    check_body(LINE HOST CHUNK "0\r\nTransfer-Encodings: x\r\nHosts: y\r\n\r\n", "", "");
    check_body(LINE HOST "transfer-encoding:CHUNKED\r\n\r\n0\r\nA: b\r\nC:\r\n\r\nX", "", "X");
}
