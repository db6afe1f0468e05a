/* http_chunks.c - see http_chunks.h. */
#include "wire/http_chunks.h"
#include "base/fold.h"
#include "base/hex.h"
#include "wire/http_text.h"

enum { CHUNK_DIGITS_MAX = 15, TRAILERS_MAX = 4096 };

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
        if (hf_fold_is(name, hf_span_of(banned[i])))
            return true;
    return false;
}

static enum mode after_name_byte(struct hf_chunks *chunks, char c)
{
    const struct hf_span name = { chunks->name, chunks->name_length };
    if (c == ':' && name.n)
        return has_no_place_in_trailers(name) ? BROKEN : FIELD;
    if (!hf_http_is(c, HF_HTTP_TOKEN))
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
    default: return c == '\r' ? FIELD_LF : hf_http_is(c, HF_HTTP_VALUE) ? FIELD : BROKEN;
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
