/*
 * fuzz_sse.c - events do not depend on how the bytes arrive.
 *
 * The first byte sets the limit, the second the cuts; the rest is the stream. What comes out in one
 * piece, in cuts, and from a parser too simple to be wrong must be the same.
 */
#include "fuzz/fuzz.h"
#include "wire/sse.h"

enum { LOG_MAX = 1 << 24, VALUE_MAX = 1024 };

static void note(struct hf_buf *log, const struct hf_json_skim *over, struct hf_sse_event event)
{
    hf_buf_printf(log, "%zu ", event.name.n);
    hf_buf_add(log, event.name);
    hf_buf_printf(log, " id %d %zu ", event.id.p != NULL, event.id.n);
    hf_buf_add(log, event.id);
    hf_buf_printf(log, " retry %lld ", (long long)event.retry_ms);
    const struct hf_span inner = over ? hf_json_skim_id(over) : event.data;
    hf_buf_printf(log, "%s %d %zu ", over ? "over" : "data", over && hf_json_skim_has_method(over),
                  inner.n);
    hf_buf_add(log, inner);
    hf_buf_add_char(log, '\n');
}

/* --- the simple one: the whole stream at hand, line after line --- */

struct simple {
    struct hf_buf data, name, next_id, id, log;
    bool has_data, has_id, has_retry;
    int64_t retry_ms;
};

static void set(struct hf_buf *buf, struct hf_span value)
{
    hf_buf_clear(buf);
    hf_buf_add(buf, value);
}

static void simple_retry(struct simple *s, struct hf_span value)
{
    long double retry_ms = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (!memchr("0123456789", value.p[i], 10))
            return;
        retry_ms = retry_ms * 10 + (value.p[i] - '0');
    }
    if (value.n == 0 || value.n > VALUE_MAX)
        return;
    s->retry_ms = retry_ms > 1e12L ? 1000000000000 : (int64_t)retry_ms;
    s->has_retry = true;
}

static void simple_field(struct simple *s, struct hf_span name, struct hf_span value)
{
    if (hf_span_is(name, "data")) {
        if (s->has_data)
            hf_buf_add_char(&s->data, '\n');
        hf_buf_add(&s->data, value);
        s->has_data = true;
    } else if (hf_span_is(name, "event")) {
        set(&s->name, (struct hf_span) { value.p, value.n < VALUE_MAX ? value.n : VALUE_MAX });
    } else if (hf_span_is(name, "retry")) {
        simple_retry(s, value);
    } else if (hf_span_is(name, "id")) {
        const bool is_over = value.n > VALUE_MAX;
        if (memchr(value.p, '\0', is_over ? VALUE_MAX : value.n))
            return;
        set(&s->next_id, is_over ? HF_SPAN("") : value);
        s->has_id = true;
    }
}

static void simple_event(struct simple *s, size_t max)
{
    if (s->has_id)
        set(&s->id, hf_buf_span(&s->next_id));
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_buf_span(&s->data));
    const bool is_over = hf_buf_len(&s->data) > max;
    struct hf_sse_event event = { hf_buf_span(&s->name), hf_buf_span(&s->data), hf_buf_span(&s->id),
                                  s->retry_ms };
    if (event.name.n == 0)
        event.name = HF_SPAN("message");
    if (event.id.n == 0)
        event.id.p = NULL;
    if (s->has_data || s->has_id || s->has_retry)
        note(&s->log, is_over ? &skim : NULL, event);
    hf_buf_clear(&s->data);
    hf_buf_clear(&s->name);
    s->has_data = s->has_id = s->has_retry = false;
}

/* An event that the end cuts off counts if its data is complete; of a line that was cut, only data
 * is of use. */
static void simple_end(struct simple *s, struct hf_span line, size_t max)
{
    const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
    if (colon && hf_span_is((struct hf_span) { line.p, (size_t)(colon - line.p) }, "data")) {
        struct hf_span value = hf_span_from(line, 5);
        simple_field(s, HF_SPAN("data"),
                     value.n && value.p[0] == ' ' ? hf_span_from(value, 1) : value);
    }
    if (s->has_data && hf_buf_len(&s->data) <= max && hf_json_is_complete(hf_buf_span(&s->data)))
        simple_event(s, max);
}

static void simple_parse(struct simple *s, struct hf_span in, size_t max)
{
    if (hf_span_starts(in, HF_SPAN("\xEF\xBB\xBF")))
        in = hf_span_from(in, 3);
    while (in.n) {
        size_t n = 0;
        while (n < in.n && in.p[n] != '\n' && in.p[n] != '\r')
            n++;
        if (n == in.n)
            break;
        const struct hf_span line = { in.p, n };
        const char *colon = n ? memchr(line.p, ':', n) : NULL;
        const size_t name = colon ? (size_t)(colon - line.p) : n;
        struct hf_span value = hf_span_from(line, name + 1);
        if (value.n && value.p[0] == ' ')
            value = hf_span_from(value, 1);
        if (n == 0)
            simple_event(s, max);
        else
            simple_field(s, (struct hf_span) { line.p, name }, value);
        in = hf_span_from(in, hf_span_starts(hf_span_from(in, n), HF_SPAN("\r\n")) ? n + 2 : n + 1);
    }
    simple_end(s, in, max);
}

/* --- the one under test --- */

/* `seed` 0: in one piece. */
static void parse(struct hf_span in, size_t max, uint32_t seed, struct hf_buf *log)
{
    struct hf_sse *sse = hf_sse_new(max);
    while (in.n) {
        size_t n = in.n;
        if (seed) {
            seed = seed * 1664525 + 1013904223;
            n = 1 + (seed >> 24) % 13;
        }
        struct hf_span part = { in.p, n < in.n ? n : in.n };
        in = hf_span_from(in, part.n);
        struct hf_sse_event event = { .retry_ms = -2 };
        for (enum hf_sse_kind kind; (kind = hf_sse_next(sse, &part, &event)) != HF_SSE_NONE;) {
            MUST(event.data.n <= max);
            note(log, kind == HF_SSE_OVER ? hf_sse_over(sse) : NULL, event);
        }
        MUST(part.n == 0);
    }
    struct hf_sse_event last;
    if (hf_sse_end(sse, &last) == HF_SSE_EVENT)
        note(log, NULL, last);
    MUST(hf_sse_end(sse, &last) == HF_SSE_NONE);
    hf_sse_free(sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const size_t max = 1 + data[0] % 64u;
    const struct hf_span in = { (const char *)data + 2, size - 2 };
    struct simple simple = { .retry_ms = -1 };
    struct hf_buf whole, cut;
    struct hf_buf *all[] = { &simple.data, &simple.name, &simple.id, &simple.next_id,
                             &simple.log,  &whole,       &cut };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hf_buf_init(all[i], LOG_MAX);
    simple_parse(&simple, in, max);
    parse(in, max, 0, &whole);
    parse(in, max, data[1] + 1u, &cut);
    MUST(hf_span_eq(hf_buf_span(&simple.log), hf_buf_span(&whole)));
    MUST(hf_span_eq(hf_buf_span(&simple.log), hf_buf_span(&cut)));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hf_buf_done(all[i]);
    return 0;
}
