/*
 * fuzz_response.c - responses do not depend on how the bytes arrive, and say one thing only.
 *
 * The first byte sets the cuts; the rest is what a server sends, response after response, until it
 * closes. Read in one piece and in cuts it must be the same. Whatever was accepted, written again
 * in the plainest way, must be accepted as the same response. The cookies that they set are kept
 * and sent back within the limits.
 */
#include "fuzz/fuzz.h"
#include "base/fold.h"
#include "wire/cookies.h"
#include "wire/http_response.h"

enum { LOG_MAX = 1 << 26, HEAD_MAX = 4096, RESPONSES_MAX = 64 };

static bool lies_in(struct hf_span part, struct hf_span whole)
{
    return part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

static void take_cookie(struct hf_span value, struct hf_cookies *cookies)
{
    static const uint64_t wall_ms = 1700000000000;
    struct hf_buf line;
    hf_buf_init(&line, HF_COOKIES_LINE_MAX);
    hf_cookies_take(cookies, value, HF_SPAN("a.example"), HF_SPAN("/a/b?c"), false, wall_ms);
    MUST(cookies->count <= HF_COOKIES_MAX);
    hf_cookies_write(cookies, HF_SPAN("/a/b"), wall_ms, &line);
    for (size_t i = 0; i < hf_buf_len(&line); i++)
        MUST(line.p[i] != '\r' && line.p[i] != '\n' && line.p[i] != '\0');
    hf_buf_done(&line);
}

static void check_response(const struct hf_http_reply *reply, struct hf_cookies *cookies)
{
    const struct hf_span text = hf_buf_span(&reply->text);
    const struct hf_http_response *response = &reply->response;
    MUST(text.n <= HEAD_MAX && response->status >= 200 && response->status <= 599);
    MUST(response->head.header_count <= HF_HTTP_HEADERS_MAX);
    MUST(response->framing != HF_HTTP_BY_CHUNKS ||
         (response->head.content_length < 0 && response->head.minor == 1));
    MUST(response->framing != HF_HTTP_BY_CLOSE || !response->keeps_alive);
    for (size_t i = 0; i < response->head.header_count; i++) {
        const struct hf_http_header *header = &response->head.headers[i];
        MUST(lies_in(header->name, text) && lies_in(header->value, text) && header->name.n > 0);
        for (size_t at = 0; at < header->value.n; at++)
            MUST(header->value.p[at] != '\r' && header->value.p[at] != '\n' &&
                 header->value.p[at] != '\0');
        if (hf_fold_is(header->name, HF_SPAN("set-cookie")))
            take_cookie(header->value, cookies);
    }
}

static void write_plain(const struct hf_http_response *response, struct hf_span body,
                        struct hf_buf *out)
{
    hf_buf_printf(out, "HTTP/1.%u %d\r\n", response->head.minor, response->status);
    for (size_t i = 0; i < response->head.header_count; i++) {
        hf_buf_add(out, response->head.headers[i].name);
        hf_buf_add_char(out, ':');
        hf_buf_add(out, response->head.headers[i].value);
        hf_buf_add_str(out, "\r\n");
    }
    hf_buf_add_str(out, "\r\n");
    const bool is_chunked = response->framing == HF_HTTP_BY_CHUNKS;
    if (is_chunked && body.n) {
        hf_buf_printf(out, "%zx\r\n", body.n);
        hf_buf_add(out, body);
        hf_buf_add_str(out, "\r\n");
    }
    hf_buf_add(out, is_chunked ? HF_SPAN("0\r\n\r\n") : body);
}

/* One response in pieces of `step` bytes (0: in one), until it ends or is bad. */
static enum hf_reply_step read_one(struct hf_http_reply *reply, struct hf_span *in, size_t step,
                                   struct hf_buf *body)
{
    for (;;) {
        struct hf_span piece = { in->p, step && step < in->n ? step : in->n }, data;
        const size_t given = piece.n;
        const enum hf_reply_step at = hf_http_reply_next(reply, &piece, &data);
        MUST(piece.n <= given && (at != HF_REPLY_MORE || piece.n == 0));
        *in = hf_span_from(*in, given - piece.n);
        if (at == HF_REPLY_BYTES)
            hf_buf_add(body, data);
        if (at == HF_REPLY_END || at == HF_REPLY_BAD)
            return at;
        if (at == HF_REPLY_MORE && in->n == 0)
            return hf_http_reply_close(reply);
    }
}

/* What the responses say, as far as they are whole. */
static void read_all(struct hf_span in, size_t step, struct hf_buf *log)
{
    struct hf_http_reply reply;
    struct hf_cookies cookies = { .list = NULL };
    struct hf_buf body;
    hf_http_reply_init(&reply, HEAD_MAX);
    hf_buf_init(&body, LOG_MAX);
    for (int i = 0; i < RESPONSES_MAX && in.n; i++) {
        if (read_one(&reply, &in, step, &body) == HF_REPLY_END) {
            check_response(&reply, &cookies);
            write_plain(&reply.response, hf_buf_span(&body), log);
        } else {
            MUST(reply.why);
            in.n = 0;
        }
        hf_buf_clear(&body);
        hf_http_reply_reset(&reply);
    }
    hf_http_reply_done(&reply);
    hf_cookies_done(&cookies);
    hf_buf_done(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const struct hf_span in = { (const char *)data + 1, size - 1 };
    struct hf_buf whole, cut, again;
    hf_buf_init(&whole, LOG_MAX);
    hf_buf_init(&cut, LOG_MAX);
    hf_buf_init(&again, LOG_MAX);
    read_all(in, 0, &whole);
    read_all(in, 1u + data[0], &cut);
    read_all(hf_buf_span(&whole), 0, &again);
    MUST(hf_span_eq(hf_buf_span(&whole), hf_buf_span(&cut)));
    MUST(hf_span_eq(hf_buf_span(&whole), hf_buf_span(&again)));
    hf_buf_done(&whole);
    hf_buf_done(&cut);
    hf_buf_done(&again);
    return 0;
}
