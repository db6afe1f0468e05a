/* http_response.c - see http_response.h. */
#include "wire/http_response.h"
#include "wire/http_text.h"

enum {
    PIECE = 1024, /* so much is searched for the end of a head at a time: most are shorter */
};

enum mode { IN_HEAD, BEHIND_HEAD, IN_LENGTH, IN_CHUNKS, UNTIL_CLOSE, WHOLE, BROKEN };

/* ---- a head ---- */

static bool fail(const char **ret_why, const char *why)
{
    *ret_why = why;
    return false;
}

/* `HTTP/1.1 200 OK`. The reason may be empty, and many servers leave out the space before it. */
static bool take_status_line(struct hf_span *text, struct hf_http_response *response,
                             const char **ret_why)
{
    switch (hf_http_head_version(text, &response->head)) {
    case 0: break;
    case 505: return fail(ret_why, "it speaks neither HTTP/1.1 nor HTTP/1.0");
    default: return fail(ret_why, "it is no HTTP");
    }
    const char *p = text->p;
    if (text->n < 4 || p[0] != ' ' || p[1] < '1' || p[1] > '5' || !hf_http_is_digit(p[2]) ||
        !hf_http_is_digit(p[3]))
        return fail(ret_why, "its status is no number from 100 to 599");
    response->status = (p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0');
    *text = hf_span_from(*text, 4);
    if (hf_span_starts(*text, HF_SPAN(" ")))
        *text = hf_span_from(*text, hf_http_run(*text, HF_HTTP_VALUE));
    return hf_http_take_crlf(text) || fail(ret_why, "its status line does not end in CRLF");
}

/* RFC 9112, 6.3. Who announces a body where none may be is not to be spoken to again on that
 * connection: the body may come, and would be taken for the next response. */
static void frame(struct hf_http_response *response)
{
    const struct hf_http_head *head = &response->head;
    const bool has_no_body =
        response->status < 200 || response->status == 204 || response->status == 304;
    const bool announces_one =
        head->is_chunked || (head->content_length > 0 && response->status != 304);
    response->framing = has_no_body || head->content_length >= 0 ? HF_HTTP_BY_LENGTH
                        : head->is_chunked                       ? HF_HTTP_BY_CHUNKS
                                                                 : HF_HTTP_BY_CLOSE;
    response->length = has_no_body || head->content_length < 0 ? 0 : (uint64_t)head->content_length;
    response->keeps_alive = head->keeps_alive && response->framing != HF_HTTP_BY_CLOSE &&
                            !(has_no_body && announces_one);
}

bool hf_http_response_parse(struct hf_span text, struct hf_http_response *ret, const char **ret_why)
{
    if (!take_status_line(&text, ret, ret_why) ||
        hf_http_head_fields(text, &ret->head, ret_why) != 0)
        return false;
    if (ret->status == 101)
        return fail(ret_why, "it switches to another protocol, which nobody asked for");
    frame(ret);
    return true;
}

/* ---- one response after the other ---- */

void hf_http_reply_init(struct hf_http_reply *reply, size_t head_max)
{
    reply->head_max = head_max;
    hf_buf_init(&reply->text, head_max);
    hf_http_reply_reset(reply);
}

void hf_http_reply_done(struct hf_http_reply *reply)
{
    hf_buf_done(&reply->text);
}

void hf_http_reply_reset(struct hf_http_reply *reply)
{
    hf_buf_clear(&reply->text);
    reply->response.status = 0;
    reply->response.head.header_count = 0;
    reply->why = NULL;
    reply->seen = 0;
    reply->mode = IN_HEAD;
    reply->has_begun = false;
}

static enum hf_reply_step broken(struct hf_http_reply *reply, const char *why)
{
    reply->mode = BROKEN;
    reply->why = why;
    return HF_REPLY_BAD;
}

/* Seen before a line is whole: who speaks something else may wait for us, and never end one. */
static bool begins_as_http(struct hf_span text)
{
    static const size_t n = sizeof "HTTP/" - 1;
    return memcmp(text.p, "HTTP/", text.n < n ? text.n : n) == 0;
}

static enum hf_reply_step take_whole_head(struct hf_http_reply *reply)
{
    if (!hf_http_response_parse(hf_buf_span(&reply->text), &reply->response, &reply->why))
        return broken(reply, reply->why);
    if (reply->response.status < 200) { /* the real one follows */
        hf_buf_clear(&reply->text);
        reply->seen = 0;
        return HF_REPLY_MORE;
    }
    reply->mode = BEHIND_HEAD;
    return HF_REPLY_HEAD;
}

/* MORE: all was taken, or a head of no interest. */
static enum hf_reply_step take_head(struct hf_http_reply *reply, struct hf_span *bytes)
{
    const size_t before = hf_buf_len(&reply->text), room = reply->head_max - before;
    const size_t piece = bytes->n < PIECE ? bytes->n : PIECE;
    if (room == 0)
        return broken(reply, "its head is too large");
    const struct hf_span added = { bytes->p, piece < room ? piece : room };
    if (!hf_buf_try_add(&reply->text, added))
        return broken(reply, "its head is too large");
    const struct hf_span text = hf_buf_span(&reply->text);
    const ptrdiff_t length = hf_http_head_length(text, &reply->seen);
    if (!begins_as_http(text))
        return broken(reply, "it is no HTTP");
    if (length < 0)
        return broken(reply, "a line of its head does not end in CRLF");
    *bytes = hf_span_from(*bytes, length ? (size_t)length - before : added.n);
    if (length == 0)
        return HF_REPLY_MORE;
    reply->text.end = reply->text.start + (size_t)length;
    return take_whole_head(reply);
}

static void begin_body(struct hf_http_reply *reply)
{
    static const enum mode modes[] = { [HF_HTTP_BY_LENGTH] = IN_LENGTH,
                                       [HF_HTTP_BY_CHUNKS] = IN_CHUNKS,
                                       [HF_HTTP_BY_CLOSE] = UNTIL_CLOSE };
    const struct hf_http_response *response = &reply->response;
    reply->left = response->length;
    hf_chunks_init(&reply->chunks);
    reply->mode = response->framing == HF_HTTP_BY_LENGTH && response->length == 0
                      ? WHOLE
                      : (uint8_t)modes[response->framing];
}

static enum hf_reply_step take_length(struct hf_http_reply *reply, struct hf_span *bytes,
                                      struct hf_span *ret_data)
{
    const size_t n = bytes->n < reply->left ? bytes->n : (size_t)reply->left;
    *ret_data = (struct hf_span) { bytes->p, n };
    *bytes = hf_span_from(*bytes, n);
    reply->left -= n;
    if (reply->left == 0)
        reply->mode = WHOLE;
    return HF_REPLY_BYTES;
}

static enum hf_reply_step take_chunks(struct hf_http_reply *reply, struct hf_span *bytes,
                                      struct hf_span *ret_data)
{
    switch (hf_chunks_next(&reply->chunks, bytes, ret_data)) {
    case HF_CHUNK_BAD: return broken(reply, "its chunks are broken");
    case HF_CHUNK_END: reply->mode = WHOLE; break;
    case HF_CHUNK_MORE: break;
    }
    return ret_data->n ? HF_REPLY_BYTES : HF_REPLY_MORE;
}

enum hf_reply_step hf_http_reply_next(struct hf_http_reply *reply, struct hf_span *bytes,
                                      struct hf_span *ret_data)
{
    enum hf_reply_step step = HF_REPLY_MORE;
    reply->has_begun |= bytes->n > 0;
    if (reply->mode == BEHIND_HEAD)
        begin_body(reply);
    while (step == HF_REPLY_MORE) {
        if (reply->mode == WHOLE)
            return HF_REPLY_END;
        if (reply->mode == BROKEN)
            return HF_REPLY_BAD;
        if (bytes->n == 0)
            return HF_REPLY_MORE;
        if (reply->mode == IN_HEAD) {
            step = take_head(reply, bytes);
        } else if (reply->mode == IN_LENGTH) {
            step = take_length(reply, bytes, ret_data);
        } else if (reply->mode == IN_CHUNKS) {
            step = take_chunks(reply, bytes, ret_data);
        } else {
            *ret_data = *bytes;
            *bytes = hf_span_from(*bytes, bytes->n);
            step = HF_REPLY_BYTES;
        }
    }
    return step;
}

enum hf_reply_step hf_http_reply_close(struct hf_http_reply *reply)
{
    if (reply->mode == BEHIND_HEAD)
        begin_body(reply);
    switch ((enum mode)reply->mode) {
    case WHOLE:
    case UNTIL_CLOSE: reply->mode = WHOLE; return HF_REPLY_END;
    case BROKEN: return HF_REPLY_BAD;
    case IN_HEAD:
        return broken(reply, reply->has_begun ? "the head of the answer was cut off"
                                              : "the connection closed without an answer");
    default: return broken(reply, "the answer was cut off");
    }
}
