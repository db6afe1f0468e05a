/*
 * fuzz_http.c - requests do not depend on how the bytes arrive, and say one thing only.
 *
 * The first byte sets the cuts; the rest is what a client sends, request after request. Read in one
 * piece and in cuts it must be the same. Whatever was accepted, written again in the plainest way,
 * must be accepted as the same request.
 */
#include "fuzz/fuzz.h"
#include "unit/http_reader.h"

enum { LOG_MAX = 1 << 26, REQUESTS_MAX = 64 };

static bool lies_in(struct hf_span part, struct hf_span whole)
{
    return part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

static void check_spans(const struct reader *r)
{
    const struct hf_span text = hf_buf_span(&r->head_text);
    MUST(lies_in(r->request.method, text) && r->request.method.n > 0);
    MUST(lies_in(r->request.target, text) && lies_in(r->request.path, r->request.target));
    MUST(r->request.head.minor <= 1 && r->request.head.header_count <= HF_HTTP_HEADERS_MAX);
    MUST(!r->request.head.is_chunked ||
         (r->request.head.content_length < 0 && r->request.head.minor == 1));
    MUST(r->request.head.counts[HF_HTTP_HOST] <= 1);
    for (size_t i = 0; i < r->request.head.header_count; i++) {
        const struct hf_http_header *header = &r->request.head.headers[i];
        MUST(lies_in(header->name, text) && lies_in(header->value, text) && header->name.n > 0);
        for (size_t at = 0; at < header->value.n; at++)
            MUST(header->value.p[at] != '\r' && header->value.p[at] != '\n' &&
                 header->value.p[at] != '\0');
    }
}

static void write_plain(const struct hf_http_request *request, struct hf_span body,
                        struct hf_buf *out)
{
    const struct hf_http_head *head = &request->head;
    hf_buf_add(out, request->method);
    hf_buf_add_char(out, ' ');
    hf_buf_add(out, request->target);
    hf_buf_printf(out, " HTTP/1.%u\r\n", head->minor);
    for (size_t i = 0; i < head->header_count; i++) {
        hf_buf_add(out, head->headers[i].name);
        hf_buf_add_char(out, ':');
        hf_buf_add(out, head->headers[i].value);
        hf_buf_add_str(out, "\r\n");
    }
    hf_buf_add_str(out, "\r\n");
    if (head->is_chunked && body.n) {
        hf_buf_printf(out, "%zx\r\n", body.n);
        hf_buf_add(out, body);
        hf_buf_add_str(out, "\r\n");
    }
    hf_buf_add(out, head->is_chunked ? HF_SPAN("0\r\n\r\n") : body);
}

/* What the requests say, then how it ended. */
static void read_all(struct hf_span in, size_t step, struct hf_buf *log)
{
    for (int i = 0; i < REQUESTS_MAX && in.n; i++) {
        struct reader r;
        reader_init(&r);
        reader_take_in_steps(&r, &in, step);
        if (r.at == READER_DONE) {
            check_spans(&r);
            write_plain(&r.request, hf_buf_span(&r.body), log);
        } else {
            in.n = 0;
            MUST(r.at != READER_REFUSED || (r.status >= 400 && r.status < 600 && r.why));
        }
        reader_done(&r);
    }
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
