/*
 * http_reader.h - whole requests out of bytes that are cut anywhere, as the server does it but
 * without a socket; shared by the unit test, the fuzz target and the differential test.
 */
#ifndef HF_TEST_HTTP_READER_H
#define HF_TEST_HTTP_READER_H

#include "base/buf.h"
#include "wire/http_chunks.h"
#include "wire/http_request.h"

enum { READER_BYTES_MAX = 1 << 24 };

struct reader {
    enum { READER_HEAD, READER_LENGTH, READER_CHUNKS, READER_DONE, READER_REFUSED } at;
    struct hf_buf head_text, body;
    size_t seen;
    struct hf_http_request request;
    struct hf_chunks chunks;
    int status; /* of a refusal */
    const char *why;
};

static inline void reader_init(struct reader *r)
{
    *r = (struct reader) { .at = READER_HEAD };
    hf_buf_init(&r->head_text, READER_BYTES_MAX);
    hf_buf_init(&r->body, READER_BYTES_MAX);
}

static inline void reader_done(struct reader *r)
{
    hf_buf_done(&r->head_text);
    hf_buf_done(&r->body);
}

static inline void reader_refuse(struct reader *r, int status, const char *why)
{
    r->at = READER_REFUSED;
    r->status = status;
    r->why = why;
}

static inline void reader_take_head(struct reader *r, struct hf_span *bytes)
{
    const size_t before = hf_buf_len(&r->head_text);
    hf_buf_add(&r->head_text, *bytes);
    struct hf_span text = hf_buf_span(&r->head_text);
    const ptrdiff_t length = hf_http_head_length(text, &r->seen);
    *bytes = hf_span_from(*bytes, length > 0 ? (size_t)length - before : bytes->n);
    if (length == 0)
        return;
    if (length > 0)
        text.n = (size_t)length;
    const int status = hf_http_request_parse(text, &r->request, &r->why);
    if (status)
        reader_refuse(r, status, r->why);
    else if (r->request.head.is_chunked)
        r->at = READER_CHUNKS;
    else
        r->at = r->request.head.content_length > 0 ? READER_LENGTH : READER_DONE;
    hf_chunks_init(&r->chunks);
}

static inline void reader_take_chunks(struct reader *r, struct hf_span *bytes)
{
    struct hf_span data;
    const enum hf_chunk_status status = hf_chunks_next(&r->chunks, bytes, &data);
    hf_buf_add(&r->body, data);
    if (status == HF_CHUNK_BAD)
        reader_refuse(r, 400, "a broken chunk");
    else if (status == HF_CHUNK_END)
        r->at = READER_DONE;
}

/* Takes from the front of `*bytes` until a request is whole or refused, or all is taken. */
static inline void reader_take(struct reader *r, struct hf_span *bytes)
{
    while (bytes->n && r->at < READER_DONE) {
        if (r->at == READER_HEAD) {
            reader_take_head(r, bytes);
        } else if (r->at == READER_CHUNKS) {
            reader_take_chunks(r, bytes);
        } else {
            const size_t left = (size_t)r->request.head.content_length - hf_buf_len(&r->body);
            const size_t n = bytes->n < left ? bytes->n : left;
            hf_buf_add(&r->body, (struct hf_span) { bytes->p, n });
            *bytes = hf_span_from(*bytes, n);
            if (n == left)
                r->at = READER_DONE;
        }
    }
}

/* The same, in pieces of `step` bytes (0: in one). */
static inline void reader_take_in_steps(struct reader *r, struct hf_span *bytes, size_t step)
{
    while (bytes->n && r->at < READER_DONE) {
        struct hf_span piece = { bytes->p, step && step < bytes->n ? step : bytes->n };
        const size_t given = piece.n;
        reader_take(r, &piece);
        *bytes = hf_span_from(*bytes, given - piece.n);
    }
}

#endif
