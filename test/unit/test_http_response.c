/* test_http_response.c - responses: what is taken, what cannot be read, and that cuts make no
 * difference. */
#include "test.h"
#include "wire/http_response.h"

enum { HEAD_LIMIT = 4096, BODY_LIMIT = 1 << 16 };

#define OK    "HTTP/1.1 200 OK\r\n"
#define CHUNK OK "Transfer-Encoding: chunked\r\n\r\n"

struct reading {
    struct hf_http_reply reply;
    struct hf_buf body;
    enum hf_reply_step last;
    unsigned heads;
    size_t rest; /* bytes behind it */
};

/* In pieces of `step` bytes (0: in one), then the end of the connection. */
static void read_all(struct reading *r, struct hf_span text, size_t step)
{
    *r = (struct reading) { .last = HF_REPLY_MORE };
    hf_http_reply_init(&r->reply, HEAD_LIMIT);
    hf_buf_init(&r->body, BODY_LIMIT);
    while (text.n && r->last != HF_REPLY_END && r->last != HF_REPLY_BAD) {
        struct hf_span piece = { text.p, step && step < text.n ? step : text.n }, data;
        text = hf_span_from(text, piece.n);
        do {
            r->last = hf_http_reply_next(&r->reply, &piece, &data);
            r->heads += r->last == HF_REPLY_HEAD;
            if (r->last == HF_REPLY_BYTES)
                hf_buf_add(&r->body, data);
        } while (r->last == HF_REPLY_HEAD || r->last == HF_REPLY_BYTES);
        r->rest = piece.n + text.n;
    }
    if (r->last == HF_REPLY_MORE)
        r->last = hf_http_reply_close(&r->reply);
}

static void forget(struct reading *r)
{
    hf_http_reply_done(&r->reply);
    hf_buf_done(&r->body);
}

static bool cuts_make_no_difference(struct hf_span text)
{
    struct reading whole, cut;
    bool same = true;
    read_all(&whole, text, 0);
    for (size_t step = 1; step <= text.n && step < 600 && same; step++) {
        read_all(&cut, text, step);
        same = whole.last == cut.last && whole.heads == cut.heads &&
               (whole.last != HF_REPLY_END || whole.rest == cut.rest) &&
               hf_span_eq(hf_buf_span(&whole.body), hf_buf_span(&cut.body)) &&
               whole.reply.response.status == cut.reply.response.status &&
               (whole.last != HF_REPLY_BAD || strcmp(whole.reply.why, cut.reply.why) == 0);
        forget(&cut);
    }
    forget(&whole);
    return same;
}

TEST(a_response_is_read_to_its_end_and_no_further)
{
    static const struct {
        const char *text;
        int status;
        const char *body;
        size_t rest;
        bool keeps_alive;
    } cases[] = {
        { OK "Content-Length: 2\r\n\r\nhi", 200, "hi", 0, true },
        { OK "Content-Length: 2\r\n\r\nhiHTTP/1.1 200", 200, "hi", 12, true },
        { OK "content-length:0\r\n\r\nx", 200, "", 1, true },
        { CHUNK "2\r\nhi\r\n3\r\n yo\r\n0\r\n\r\n", 200, "hi yo", 0, true },
        { CHUNK "002\r\nhi\r\n0\r\nX-Trailer: t\r\n\r\nmore", 200, "hi", 4, true },
        { OK "\r\nuntil the end", 200, "until the end", 0, false },
        { OK "\r\n", 200, "", 0, false },
        { "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1", 200, "1", 0, false },
        { "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n1", 200, "1", 0,
          true },
        { OK "Connection: close\r\nContent-Length: 1\r\n\r\n1", 200, "1", 0, false },
        { "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", 404, "", 0, true },
        { "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", 404, "", 0, true },
        { "HTTP/1.1 500 Nicht m\xf6glich\r\nContent-Length: 0\r\n\r\n", 500, "", 0, true },
        { "HTTP/1.1 204 No Content\r\n\r\nx", 204, "", 1, true },
        { "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\nx", 204, "", 1, false },
        { "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\nx", 204, "", 1, false },
        { "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nx", 304, "", 1, true },
        { "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\n1", 200, "1", 0, true },
        { "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n"
          "HTTP/1.1 102 Processing\r\n\r\n" OK "Content-Length: 1\r\n\r\n1",
          200, "1", 0, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r;
        const struct hf_span text = hf_span_of(cases[i].text);
        read_all(&r, text, 0);
        if (r.last != HF_REPLY_END)
            printf("# %zu: %s\n", i, r.reply.why ? r.reply.why : "no end");
        CHECK(r.last == HF_REPLY_END && r.heads == 1);
        CHECK(r.reply.response.status == cases[i].status);
        CHECK(hf_span_is(hf_buf_span(&r.body), cases[i].body));
        CHECK(r.rest == cases[i].rest);
        CHECK(r.reply.response.keeps_alive == cases[i].keeps_alive);
        forget(&r);
        CHECK(cuts_make_no_difference(text));
    }
}

TEST(what_can_be_read_in_two_ways_or_breaks_its_own_framing_is_not_read)
{
    static const struct {
        const char *text, *why;
        unsigned heads; /* a broken body is seen behind its head */
    } cases[] = {
        { OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", "more than one", 0 },
        { OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "more than one", 0 },
        { OK "Content-Length: 2, 2\r\n\r\nhi", "not a number", 0 },
        { OK "Content-Length: +2\r\n\r\nhi", "not a number", 0 },
        { OK "Content-Length: -1\r\n\r\nhi", "not a number", 0 },
        { OK "Content-Length: 0x2\r\n\r\nhi", "not a number", 0 },
        { OK "Content-Length:\r\n\r\nhi", "empty", 0 },
        { OK "Content-Length: 9999999999999999999\r\n\r\nhi", "over every limit", 0 },
        { OK "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
          "beside", 0 },
        { OK "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nhi", "beside", 0 },
        { OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "only Transfer-Encoding", 0 },
        { OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "more than", 0 },
        { OK "Transfer-Encoding: xchunked\r\n\r\n", "only Transfer-Encoding", 0 },
        { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.0 has no", 0 },
        { CHUNK "x\r\nhi\r\n0\r\n\r\n", "chunks are broken", 1 },
        { CHUNK "-2\r\nhi\r\n0\r\n\r\n", "chunks are broken", 1 },
        { CHUNK "0x2\r\nhi\r\n0\r\n\r\n", "chunks are broken", 1 },
        { CHUNK "2;a=b\r\nhi\r\n0\r\n\r\n", "chunks are broken", 1 },
        { CHUNK "2\nhi\n0\n\n", "chunks are broken", 1 },
        { CHUNK "2\r\nhi0\r\n\r\n", "chunks are broken", 1 },
        { CHUNK "10000000000000002\r\nhi\r\n0\r\n\r\n", "chunks are broken", 1 },
        { CHUNK "2\r\nhi\r\n0\r\nContent-Length: 9\r\n\r\n", "chunks are broken", 1 },
        { OK "Content-Length : 2\r\n\r\nhi", "name and a colon", 0 },
        { OK " Content-Length: 2\r\n\r\nhi", "folded", 0 },
        { OK "X: a\r\n b\r\n\r\nhi", "folded", 0 },
        { OK "X: a\x01\r\n\r\nhi", "control character", 0 },
        { OK "X: a\rb\r\n\r\nhi", "control character", 0 },
        { "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "CRLF", 0 },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi", "CRLF", 0 },
        { "HTTP/1.1 20 OK\r\n\r\n", "status", 0 },
        { "HTTP/1.1 2000 OK\r\n\r\n", "CRLF", 0 },
        { "HTTP/1.1 099 OK\r\n\r\n", "status", 0 },
        { "HTTP/1.1 600 OK\r\n\r\n", "status", 0 },
        { "HTTP/1.1  200 OK\r\n\r\n", "status", 0 },
        { "HTTP/1.1 200\tOK\r\n\r\n", "CRLF", 0 },
        { "HTTP/2.0 200 OK\r\n\r\n", "neither", 0 },
        { "http/1.1 200 OK\r\n\r\n", "no HTTP", 0 },
        { "\r\nHTTP/1.1 200 OK\r\n\r\n", "no HTTP", 0 },
        { "SSH-2.0-OpenSSH", "no HTTP", 0 },
        { "{\"jsonrpc\":\"2.0\"}", "no HTTP", 0 },
        { "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "switches", 0 },
        { "HTTP/1.1 100 Continue\r\nContent-Length: x\r\n\r\n" OK "\r\n", "not a number", 0 },
        { "", "without an answer", 0 },
        { "HTTP", "head of the answer was cut", 0 },
        { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "head of the answer was cut", 0 },
        { "HTTP/1.1 100 Continue\r\n\r\n", "head of the answer was cut", 0 },
        { OK "Content-Length: 3\r\n\r\nhi", "answer was cut", 1 },
        { CHUNK "2\r\nhi\r\n", "answer was cut", 1 },
        { CHUNK "2\r\nhi\r\n0\r\n", "answer was cut", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r;
        const struct hf_span text = hf_span_of(cases[i].text);
        read_all(&r, text, 0);
        CHECK(r.last == HF_REPLY_BAD && r.heads == cases[i].heads);
        CHECK(r.last == HF_REPLY_BAD && strstr(r.reply.why, cases[i].why));
        if (r.last != HF_REPLY_BAD || !strstr(r.reply.why, cases[i].why))
            printf("# %zu: %s\n", i, r.reply.why ? r.reply.why : "accepted");
        forget(&r);
        CHECK(cuts_make_no_difference(text));
    }
}

TEST(what_is_bad_stays_bad)
{
    struct hf_http_reply reply;
    struct hf_span bytes = HF_SPAN("nonsense"), data;
    hf_http_reply_init(&reply, HEAD_LIMIT);
    CHECK(hf_http_reply_next(&reply, &bytes, &data) == HF_REPLY_BAD);
    bytes = HF_SPAN(OK "Content-Length: 0\r\n\r\n");
    CHECK(hf_http_reply_next(&reply, &bytes, &data) == HF_REPLY_BAD);
    CHECK(hf_http_reply_close(&reply) == HF_REPLY_BAD);
    hf_http_reply_reset(&reply);
    CHECK(hf_http_reply_next(&reply, &bytes, &data) == HF_REPLY_HEAD);
    CHECK(hf_http_reply_next(&reply, &bytes, &data) == HF_REPLY_END && bytes.n == 0);
    hf_http_reply_done(&reply);
}

TEST(a_head_may_be_as_long_as_its_limit_and_not_a_byte_longer)
{
    static const char begin[] = OK "Content-Length: 1\r\nX: ";
    for (size_t over = 0; over < 2; over++) {
        char text[HEAD_LIMIT + 2];
        const size_t head = HEAD_LIMIT + over, n = sizeof begin - 1;
        memset(text, 'x', sizeof text);
        memcpy(text, begin, n);
        memcpy(text + head - 4, "\r\n\r\n", 4);
        struct reading r;
        read_all(&r, (struct hf_span) { text, head + 1 }, 0);
        CHECK(r.last == (over ? HF_REPLY_BAD : HF_REPLY_END));
        CHECK(!over || strstr(r.reply.why, "too large"));
        CHECK(hf_span_is(hf_buf_span(&r.body), over ? "" : "x"));
        forget(&r);
        CHECK(cuts_make_no_difference((struct hf_span) { text, head + 1 }));
    }
}

TEST(sixty_five_headers_are_too_many)
{
    for (int count = 64; count <= 65; count++) {
        struct hf_buf text;
        struct reading r;
        hf_buf_init(&text, HEAD_LIMIT);
        hf_buf_add_str(&text, OK "Content-Length: 0\r\n");
        for (int i = 1; i < count; i++)
            hf_buf_add_str(&text, "X: y\r\n");
        hf_buf_add_str(&text, "\r\n");
        read_all(&r, hf_buf_span(&text), 0);
        CHECK(r.last == (count == 64 ? HF_REPLY_END : HF_REPLY_BAD));
        CHECK(count == 64 || strstr(r.reply.why, "64 headers"));
        forget(&r);
        hf_buf_done(&text);
    }
}
