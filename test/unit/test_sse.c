/* test_sse.c - the same events come out however the bytes came in. */
#include "wire/sse.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MAX = 32 };

/* name[data]#id~retry, what is not there left out; an OVER as name<json id>. */
static void feed(struct hf_sse *sse, struct hf_span bytes, struct hf_buf *log)
{
    struct hf_sse_event event = { .name = { NULL, 0 } };
    for (enum hf_sse_kind kind; (kind = hf_sse_next(sse, &bytes, &event)) != HF_SSE_NONE;) {
        const bool is_over = kind == HF_SSE_OVER;
        const struct hf_span inner = is_over ? hf_json_skim_id(hf_sse_over(sse)) : event.data;
        if (!hf_span_is(event.name, "message"))
            hf_buf_add(log, event.name);
        hf_buf_printf(log, is_over ? "<%.*s>" : "[%.*s]", HF_FMT(inner));
        if (event.id.p)
            hf_buf_printf(log, "#%.*s", HF_FMT(event.id));
        if (event.retry_ms >= 0)
            hf_buf_printf(log, "~%lld", (long long)event.retry_ms);
    }
    CHECK_EQ(bytes.n, 0);
}

#define S(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
static const struct {
    struct hf_span in, out;
} cases[] = {
    { S(""), S("") },
    { S("data: a\n\n"), S("[a]") },
    { S("data:a\n\ndata:  b\n\n"), S("[a][ b]") },
    { S("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), S("[a][b][c]") },
    { S("data: a\ndata:\ndata: b\n\n"), S("[a\n\nb]") },
    { S("data\n\n"), S("[]") },
    { S("data\ndata\n\n"), S("[\n]") },
    { S("data: a: b\n\n"), S("[a: b]") },
    /* lines that say nothing to us */
    { S(": ping\n\n:\n\n\n\n"), S("") },
    { S(": ping\ndata: a\n: in between\n\n"), S("[a]") },
    { S("datas: x\nDATA: x\n data: x\nx\nextraordinarily: x\ndata: a\n\n"), S("[a]") },
    { S("event: x\n\ndata: a\n\n"), S("[a]") },
    /* the end cuts the last one off */
    { S("data: a\n\ndata: b\n"), S("[a]") },
    { S("data: a\n\ndata: b"), S("[a]") },
    /* names */
    { S("event: endpoint\ndata: /m\n\ndata: a\n\n"), S("endpoint[/m][a]") },
    { S("event: x\nevent: y\ndata: a\n\n"), S("y[a]") },
    { S("event: x\nevent:\ndata: a\n\n"), S("[a]") },
    /* ids: kept until changed, told with the event, alone they prime; empty takes it back */
    { S("id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\n"), S("[a]#1[b]#1[c]#2") },
    { S("id: 1\n\n"), S("[]#1") },
    { S("id: 1\ndata:\n\n"), S("[]#1") },
    { S("id: 1\nid: 2\n\n"), S("[]#2") },
    { S("id: 1\ndata: a\n\nid: 2\n"), S("[a]#1") },
    { S("id: 1\ndata: a\n\nid\ndata: b\n\ndata: c\n\n"), S("[a]#1[b][c]") },
    { S("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"), S("[a]#1[b]#1") },
    /* retry: digits only, and it stays */
    { S("retry: 500\n\ndata: a\n\n"), S("[]~500[a]~500") },
    { S("id: 7\nretry: 0\ndata:\n\n"), S("[]#7~0") },
    { S("retry: 1s\ndata: a\n\nretry:\ndata: b\n\nretry: -1\ndata: c\n\n"), S("[a][b][c]") },
    { S("retry: 99999999999999999999999\ndata: a\n\n"), S("[a]~1000000000000") },
    /* one byte order mark, at the very front only */
    { S("\xEF\xBB\xBF"
        "data: a\n\n\xEF\xBB\xBF"
        "data: b\n\n"),
      S("[a]") },
    { S("\xEF\xBB\xBF\ndata: a\n\n"), S("[a]") },
    { S("\xEF\xBB\xBF: x\ndata: a\n\n"), S("[a]") },
    { S("\xEF\xBB"
        "data: a\ndata: b\n\n"),
      S("[b]") },
    /* exactly the limit, one byte over it, and a joint that makes it one */
    { S("data: 0123456789abcdef0123456789abcdef\n\n"), S("[0123456789abcdef0123456789abcdef]") },
    { S("data: 0123456789abcdef0123456789abcdefg\n\ndata: a\n\n"), S("<>[a]") },
    { S("data: 0123456789abcdef\ndata: 0123456789abcdef\n\ndata: a\n\n"), S("<>[a]") },
    { S("data: 0123456789abcdef\ndata: 0123456789abcde\n\n"),
      S("[0123456789abcdef\n0123456789abcde]") },
    { S("id: 3\nevent: e\ndata: {\"id\":1,\ndata: \"x\":\"0123456789abcdef012345\"}\n\ndata: "
        "a\n\n"),
      S("e<1>#3[a]#3") },
    { S("data: {\"id\":1,\"x\":\"0123456789abcdef012345\"}\ndata\n\n"
        "data: {\"x\":\"0123456789abcdef0123\",\"id\":\"z\"}\n\n"),
      S("<1><\"z\">") },
};

static void check(size_t i, const struct hf_buf *log)
{
    if (!hf_span_eq(hf_buf_span(log), cases[i].out))
        printf("# %.*s gave %.*s\n", HF_FMT(cases[i].in), HF_FMT(hf_buf_span(log)));
    CHECK(hf_span_eq(hf_buf_span(log), cases[i].out));
}

TEST(each_event_comes_out_once_as_its_lines_say)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_sse *sse = hf_sse_new(MAX);
        struct hf_buf log;
        hf_buf_init(&log, 4096);
        feed(sse, cases[i].in, &log);
        check(i, &log);
        hf_buf_done(&log);
        hf_sse_free(sse);
    }
}

TEST(two_cuts_anywhere_change_no_event)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hf_span in = cases[i].in;
        for (size_t first = 0; first <= in.n; first++) {
            for (size_t second = first; second <= in.n; second++) {
                struct hf_sse *sse = hf_sse_new(MAX);
                struct hf_buf log;
                hf_buf_init(&log, 4096);
                feed(sse, (struct hf_span) { in.p, first }, &log);
                feed(sse, (struct hf_span) { in.p + first, second - first }, &log);
                feed(sse, hf_span_from(in, second), &log);
                check(i, &log);
                hf_buf_done(&log);
                hf_sse_free(sse);
            }
        }
    }
}

TEST(an_event_that_ends_in_cr_does_not_wait_for_the_next_byte)
{
    struct hf_sse *sse = hf_sse_new(MAX);
    struct hf_buf log;
    hf_buf_init(&log, 4096);
    feed(sse, HF_SPAN("data: a\r\n\r"), &log);
    CHECK_SPAN(hf_buf_span(&log), "[a]");
    feed(sse, HF_SPAN("\ndata: b\n\n"), &log);
    CHECK_SPAN(hf_buf_span(&log), "[a][b]");
    hf_buf_done(&log);
    hf_sse_free(sse);
}

TEST(an_id_too_long_to_keep_makes_the_stream_one_that_cannot_be_resumed)
{
    struct hf_sse *sse = hf_sse_new(MAX);
    struct hf_buf log, in;
    hf_buf_init(&log, 4096);
    hf_buf_init(&in, 8192);
    feed(sse, HF_SPAN("id: 1\ndata: a\n\n"), &log);
    hf_buf_add_str(&in, "id: ");
    for (int i = 0; i < 1025; i++)
        hf_buf_add_char(&in, '7');
    hf_buf_add_str(&in, "\ndata: b\n\n");
    feed(sse, hf_buf_span(&in), &log);
    CHECK_SPAN(hf_buf_span(&log), "[a]#1[b]");
    hf_buf_clear(&log);
    hf_buf_clear(&in);
    hf_buf_add_str(&in, "id: ");
    for (int i = 0; i < 1024; i++)
        hf_buf_add_char(&in, '7');
    hf_buf_add_str(&in, "\ndata: b\n\n");
    feed(sse, hf_buf_span(&in), &log);
    CHECK_EQ(hf_buf_len(&log), strlen("[b]#") + 1024);
    hf_buf_done(&in);
    hf_buf_done(&log);
    hf_sse_free(sse);
}

TEST(a_large_event_comes_out_whole)
{
    enum { SIZE = 5000000 };
    struct hf_sse *sse = hf_sse_new(SIZE);
    struct hf_buf in;
    hf_buf_init(&in, SIZE + 100);
    hf_buf_add_str(&in, "data: ");
    for (int i = 0; i < SIZE; i++)
        hf_buf_add_char(&in, (char)('a' + i % 23));
    hf_buf_add_str(&in, "\n\n");
    struct hf_span bytes = hf_buf_span(&in);
    struct hf_sse_event event = { .name = { NULL, 0 } };
    REQUIRE_EQ(hf_sse_next(sse, &bytes, &event), HF_SSE_EVENT);
    CHECK(hf_span_eq(event.data, (struct hf_span) { in.p + 6, SIZE }));
    CHECK_EQ(hf_sse_next(sse, &bytes, &event), HF_SSE_NONE);
    hf_buf_done(&in);
    hf_sse_free(sse);
}

TEST(an_event_whose_data_is_complete_needs_no_blank_line_when_the_stream_ends)
{
    static const struct {
        const char *in, *data, *id; /* NULL: none */
    } ends[] = {
        { "data: {\"a\":1}", "{\"a\":1}", NULL },
        { "data: {\"a\":1}\n", "{\"a\":1}", NULL },
        { "data: {\"a\":1}\r", "{\"a\":1}", NULL },
        { "data: [1,\ndata: 2]", "[1,\n2]", NULL },
        { "id: 4\nevent: message\ndata: {}", "{}", "4" },
        { "data: {}\nid: 4", "{}", NULL }, /* perhaps it is 42 */
        { "data: {}\n\ndata: []", "[]", NULL },
        { "data: {}\n\n", NULL, NULL },
        { "data: {\"a\":1", NULL, NULL },
        { "data: {}\ndata: x", NULL, NULL },
        { "data: 12", NULL, NULL }, /* perhaps it is 123 */
        { "data: /messages?id=1", NULL, NULL },
        { "data: [0123456789abcdef0123456789abcdef0123456789abcdef]", NULL, NULL },
        { "id: 4\n", NULL, NULL },
        { "", NULL, NULL },
    };
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct hf_sse *sse = hf_sse_new(MAX);
        struct hf_sse_event event = { .name = { NULL, 0 } };
        struct hf_span in = hf_span_of(ends[i].in);
        while (hf_sse_next(sse, &in, &event) != HF_SSE_NONE)
            ;
        const bool counts = hf_sse_end(sse, &event) == HF_SSE_EVENT;
        if (counts != (ends[i].data != NULL))
            printf("# %s\n", ends[i].in);
        CHECK_EQ(counts, ends[i].data != NULL);
        CHECK(!counts || hf_span_is(event.data, ends[i].data));
        CHECK(!counts || (ends[i].id ? hf_span_is(event.id, ends[i].id) : !event.id.p));
        CHECK_EQ(hf_sse_end(sse, &event), HF_SSE_NONE);
        hf_sse_free(sse);
    }
}

TEST(a_stream_is_between_events_where_nothing_is_begun_that_was_not_told)
{
    static const struct {
        const char *in;
        bool is_between;
    } ends[] = {
        { "", true },
        { "data: {}\n\n", true },
        { "data: {}\n\n: ping\n\n", true },
        { "id: 7\n\n", true },
        { "data: {}\n\ndata: {", false },
        { "data: {}\n\ndata: {\n", false },
        { "data: {}\n\nda", false },
        { "data: {}\n\ndata:", false },
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct hf_sse *sse = hf_sse_new(100);
        struct hf_sse_event event;
        struct hf_span in = hf_span_of(ends[i].in);
        while (hf_sse_next(sse, &in, &event) != HF_SSE_NONE)
            ;
        CHECK_EQ(hf_sse_is_between(sse), ends[i].is_between);
        hf_sse_free(sse);
    }
}
