/*
 * sse.c - see sse.h.
 *
 *   field [":" [" "] value] (CR | LF | CRLF)     a line; an empty one ends the event
 *
 * Data goes into the event's buffer as it arrives, every other value into `value` until its line
 * ends. A CR ends its line at once: the LF that may follow is skipped when it comes, so an event
 * never waits for a byte that the server will not send.
 */
#include "wire/sse.h"
#include <assert.h>

enum {
    FIELD_MAX = 9,         /* one more than the longest we know with a byte order mark before it */
    VALUE_MAX = 1024,      /* of a name or an id */
    WINDOW = 512,          /* bytes searched for a line's end at a time */
    KEEP_MAX = 256 * 1024, /* memory that a quiet stream may keep */
};

static const int64_t RETRY_MAX_MS = 1000000000000;

enum field {
    FIELD_OTHER,
    FIELD_DATA,
    FIELD_EVENT,
    FIELD_ID,
    FIELD_RETRY,
};

struct hf_sse {
    size_t event_max;

    /* the line */
    char field_text[FIELD_MAX];
    size_t field_len; /* FIELD_MAX: none that we know */
    enum field field;
    bool in_value, may_skip_space, is_value_over;
    bool is_behind_cr, is_first_line;
    struct hf_buf value;

    /* the event */
    struct hf_buf data, name, next_id;
    bool has_data, has_id, has_retry;
    bool is_over, is_reported;
    struct hf_json_skim skim;

    /* the stream */
    struct hf_buf id;
    int64_t retry_ms;
};

struct hf_sse *hf_sse_new(size_t event_max)
{
    assert(event_max > 0 && event_max < SIZE_MAX / 4);
    struct hf_sse *sse = hf_new(struct hf_sse);
    sse->event_max = event_max;
    sse->is_first_line = true;
    sse->retry_ms = -1;
    hf_buf_init(&sse->data, event_max);
    struct hf_buf *small[] = { &sse->value, &sse->name, &sse->next_id, &sse->id };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        hf_buf_init(small[i], VALUE_MAX);
    return sse;
}

void hf_sse_free(struct hf_sse *sse)
{
    if (!sse)
        return;
    struct hf_buf *all[] = { &sse->data, &sse->value, &sse->name, &sse->next_id, &sse->id };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hf_buf_done(all[i]);
    hf_free(sse);
}

/* --- a line's parts --- */

static void add_data(struct hf_sse *sse, struct hf_span bytes)
{
    if (!sse->is_over && bytes.n > sse->event_max - hf_buf_len(&sse->data)) {
        sse->is_over = true;
        hf_json_skim_init(&sse->skim);
        hf_json_skim_feed(&sse->skim, hf_buf_span(&sse->data));
        hf_buf_done(&sse->data);
    }
    if (sse->is_over)
        hf_json_skim_feed(&sse->skim, bytes);
    else
        hf_buf_add(&sse->data, bytes);
}

static enum field field_of(struct hf_sse *sse)
{
    static const struct {
        struct hf_span name;
        enum field field;
    } known[] = { { { "data", 4 }, FIELD_DATA },
                  { { "event", 5 }, FIELD_EVENT },
                  { { "id", 2 }, FIELD_ID },
                  { { "retry", 5 }, FIELD_RETRY } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (hf_span_eq((struct hf_span) { sse->field_text, sse->field_len }, known[i].name))
            return known[i].field;
    }
    return FIELD_OTHER;
}

static void end_field(struct hf_sse *sse)
{
    const struct hf_span text = { sse->field_text, sse->field_len };
    const struct hf_span mark = HF_SPAN("\xEF\xBB\xBF");
    if (sse->is_first_line && hf_span_starts(text, mark)) {
        sse->field_len -= mark.n;
        memmove(sse->field_text, sse->field_text + mark.n, sse->field_len);
    }
    sse->field = field_of(sse);
    if (sse->field == FIELD_DATA && sse->has_data)
        add_data(sse, HF_SPAN("\n"));
    if (sse->field == FIELD_DATA)
        sse->has_data = true;
}

static void take_value(struct hf_sse *sse, struct hf_span part)
{
    if (part.n && sse->may_skip_space) {
        sse->may_skip_space = false;
        if (part.p[0] == ' ')
            part = hf_span_from(part, 1);
    }
    if (sse->field == FIELD_DATA) {
        add_data(sse, part);
    } else if (sse->field != FIELD_OTHER) {
        const size_t room = VALUE_MAX - hf_buf_len(&sse->value);
        sse->is_value_over = sse->is_value_over || part.n > room;
        hf_buf_add(&sse->value, (struct hf_span) { part.p, part.n < room ? part.n : room });
    }
}

static void take_part(struct hf_sse *sse, struct hf_span part)
{
    if (!sse->in_value && part.n) {
        const char *colon = memchr(part.p, ':', part.n);
        const size_t n = colon ? (size_t)(colon - part.p) : part.n;
        const size_t room = FIELD_MAX - sse->field_len;
        const size_t kept = n < room ? n : room;
        memcpy(sse->field_text + sse->field_len, part.p, kept);
        sse->field_len += kept;
        part = hf_span_from(part, n);
        if (colon) {
            end_field(sse);
            sse->in_value = sse->may_skip_space = true;
            part = hf_span_from(part, 1);
        }
    }
    if (sse->in_value)
        take_value(sse, part);
}

/* --- a line's end --- */

static void swap(struct hf_buf *a, struct hf_buf *b)
{
    const struct hf_buf was = *a;
    *a = *b;
    *b = was;
}

static void take_id(struct hf_sse *sse)
{
    const struct hf_span text = hf_buf_span(&sse->value);
    if (text.n && memchr(text.p, '\0', text.n))
        return;
    /* Kept half it would name another event. */
    if (sse->is_value_over)
        hf_buf_clear(&sse->value);
    swap(&sse->next_id, &sse->value);
    sse->has_id = true;
}

static void take_retry(struct hf_sse *sse)
{
    const struct hf_span text = hf_buf_span(&sse->value);
    int64_t retry_ms = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return;
        retry_ms = retry_ms * 10 + (text.p[i] - '0');
        retry_ms = retry_ms < RETRY_MAX_MS ? retry_ms : RETRY_MAX_MS;
    }
    if (text.n == 0 || sse->is_value_over)
        return;
    sse->retry_ms = retry_ms;
    sse->has_retry = true;
}

/* True if it was the empty line that ends an event. */
static bool end_line(struct hf_sse *sse)
{
    if (!sse->in_value)
        end_field(sse);
    const bool is_empty = !sse->in_value && sse->field_len == 0;
    switch (sse->field) {
    case FIELD_EVENT: swap(&sse->name, &sse->value); break;
    case FIELD_ID: take_id(sse); break;
    case FIELD_RETRY: take_retry(sse); break;
    case FIELD_DATA:
    case FIELD_OTHER: break;
    }
    hf_buf_clear(&sse->value);
    sse->field = FIELD_OTHER;
    sse->field_len = 0;
    sse->in_value = sse->may_skip_space = sse->is_value_over = sse->is_first_line = false;
    return is_empty;
}

/* --- events --- */

static void forget_event(struct hf_sse *sse)
{
    hf_buf_clear(&sse->data);
    hf_buf_shrink(&sse->data, KEEP_MAX);
    hf_buf_clear(&sse->name);
    sse->has_data = sse->has_id = sse->has_retry = sse->is_over = sse->is_reported = false;
}

static enum hf_sse_kind end_event(struct hf_sse *sse, struct hf_sse_event *ret)
{
    if (sse->has_id)
        swap(&sse->id, &sse->next_id);
    if (!sse->has_data && !sse->has_id && !sse->has_retry) {
        forget_event(sse);
        return HF_SSE_NONE;
    }
    const struct hf_span name = hf_buf_span(&sse->name), id = hf_buf_span(&sse->id);
    *ret = (struct hf_sse_event) { .name = name.n ? name : HF_SPAN("message"),
                                   .data = hf_buf_span(&sse->data),
                                   .id = id.n ? id : (struct hf_span) { NULL, 0 },
                                   .retry_ms = sse->retry_ms };
    sse->is_reported = true;
    return sse->is_over ? HF_SSE_OVER : HF_SSE_EVENT;
}

/* How many of the bytes belong to the line for certain. A window at a time, because lines that end
 * in CR would make memchr look for an LF to the end of the input, once per line. */
static size_t line_part(struct hf_span bytes)
{
    size_t n = bytes.n < WINDOW ? bytes.n : WINDOW;
    const char *lf = memchr(bytes.p, '\n', n);
    n = lf ? (size_t)(lf - bytes.p) : n;
    const char *cr = n ? memchr(bytes.p, '\r', n) : NULL;
    return cr ? (size_t)(cr - bytes.p) : n;
}

enum hf_sse_kind hf_sse_next(struct hf_sse *sse, struct hf_span *bytes, struct hf_sse_event *ret)
{
    if (sse->is_reported)
        forget_event(sse);
    while (bytes->n) {
        if (sse->is_behind_cr && bytes->p[0] == '\n')
            *bytes = hf_span_from(*bytes, 1);
        sse->is_behind_cr = false;
        if (bytes->n == 0)
            break;
        const size_t n = line_part(*bytes);
        take_part(sse, (struct hf_span) { bytes->p, n });
        *bytes = hf_span_from(*bytes, n);
        if (bytes->n == 0 || (bytes->p[0] != '\n' && bytes->p[0] != '\r'))
            continue;
        sse->is_behind_cr = bytes->p[0] == '\r';
        *bytes = hf_span_from(*bytes, 1);
        const enum hf_sse_kind kind = end_line(sse) ? end_event(sse, ret) : HF_SSE_NONE;
        if (kind != HF_SSE_NONE)
            return kind;
    }
    return HF_SSE_NONE;
}

struct hf_span hf_sse_begun(const struct hf_sse *sse)
{
    const bool is_begun = sse->has_data && !sse->is_over && !sse->is_reported;
    const bool counts = is_begun && hf_json_is_complete(hf_buf_span(&sse->data));
    return counts ? hf_buf_span(&sse->data) : HF_SPAN("");
}

enum hf_sse_kind hf_sse_end(struct hf_sse *sse, struct hf_sse_event *ret)
{
    return hf_sse_begun(sse).n ? end_event(sse, ret) : HF_SSE_NONE;
}

bool hf_sse_is_between(const struct hf_sse *sse)
{
    return sse->is_reported || (!sse->has_data && !sse->in_value && sse->field_len == 0);
}

const struct hf_json_skim *hf_sse_over(const struct hf_sse *sse)
{
    assert(sse->is_over);
    return &sse->skim;
}
