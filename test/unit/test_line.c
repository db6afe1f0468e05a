/* test_line.c - the same lines come out however the bytes came in. */
#include "wire/line.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MAX = 32 };

/* Lines in brackets, an OVER as <id>: what came out, as one comparable text. */
static void note(struct hf_buf *log, const struct hf_lines *l, enum hf_line_kind kind,
                 struct hf_span line)
{
    if (kind == HF_LINE_WHOLE)
        hf_buf_printf(log, "[%.*s]", HF_FMT(line));
    else
        hf_buf_printf(log, "<%.*s>", HF_FMT(hf_json_skim_id(hf_lines_over(l))));
}

static void feed(struct hf_lines *l, struct hf_span bytes, struct hf_buf *log)
{
    while (bytes.n) {
        size_t room;
        char *p = hf_lines_room(l, bytes.n, &room);
        CHECK(room >= 1 && room <= HF_LINES_READ_MAX);
        const size_t n = bytes.n < room ? bytes.n : room;
        memcpy(p, bytes.p, n);
        hf_lines_added(l, n);
        bytes = hf_span_from(bytes, n);
        struct hf_span line;
        for (enum hf_line_kind kind; (kind = hf_lines_next(l, &line)) != HF_LINE_NONE;)
            note(log, l, kind, line);
    }
}

static void finish(struct hf_lines *l, struct hf_buf *log)
{
    struct hf_span line;
    for (enum hf_line_kind kind; (kind = hf_lines_last(l, &line)) != HF_LINE_NONE;)
        note(log, l, kind, line);
    hf_lines_done(l);
}

static const struct {
    const char *in, *out;
} cases[] = {
    { "", "" },
    { "a\n", "[a]" },
    { "a\nb\n", "[a][b]" },
    { "a\r\nb\r\n", "[a][b]" },
    { "a\rb\n", "[a\rb]" },
    { "a", "[a]" },
    { "a\nb", "[a][b]" },
    { "a\nb\r", "[a][b]" },
    { "\n\r\n \n\t \r\n\r\r\na\n\n", "[a]" },
    { "  \t", "" },
    { " a \n", "[ a ]" },
    { "\v\n", "[\v]" },
    /* exactly the limit, and one byte over it, with each kind of end */
    { "0123456789abcdef0123456789abcdef\nx\n", "[0123456789abcdef0123456789abcdef][x]" },
    { "0123456789abcdef0123456789abcdef\r\nx\n", "[0123456789abcdef0123456789abcdef][x]" },
    { "0123456789abcdef0123456789abcdef", "[0123456789abcdef0123456789abcdef]" },
    { "0123456789abcdef0123456789abcdef\r", "[0123456789abcdef0123456789abcdef]" },
    { "0123456789abcdef0123456789abcdefg\nx\n", "<>[x]" },
    { "0123456789abcdef0123456789abcdefg\r\nx\n", "<>[x]" },
    { "0123456789abcdef0123456789abcdef\r\r\nx\n", "<>[x]" },
    { "0123456789abcdef0123456789abcdef\rg\nx\n", "<>[x]" },
    { "0123456789abcdef0123456789abcdefg", "<>" },
    /* over the limit: whose it was, once, and whole again behind it */
    { "{\"id\":1,\"x\":\"0123456789abcdef0123456789abcdef\"}\nb\n", "<1>[b]" },
    { "{\"x\":\"0123456789abcdef0123456789abcdef\",\"id\":\"z\"}\r\nb\n", "<\"z\">[b]" },
    { "a\n{\"x\":\"0123456789abcdef0123456789abcdef\",\"id\":2}", "[a]<2>" },
    { "{\"id\":1,\"x\":\"0123456789abcdef0123456789abcdef\"}\n"
      "{\"x\":\"0123456789abcdef0123456789abcdef\"}\n{\"id\":3}\n",
      "<1><>[{\"id\":3}]" },
    { "{\"id\":4,\"x\":\"0123456789abcdef0123456789abcdef\"}\n"
      "{\"id\":5,\"x\":\"0123456789abcdef0123456789abcdef\"}\n",
      "<4><5>" },
    { "{\"id\":1,\"id\":2,\"x\":\"0123456789abcdef0123456789abcdef\"}\n", "<2>" },
    { "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n\nx",
      "<>[x]" },
};

TEST(each_line_comes_out_once_without_its_end)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_lines l;
        struct hf_buf log;
        hf_lines_init(&l, MAX);
        hf_buf_init(&log, 4096);
        feed(&l, hf_span_of(cases[i].in), &log);
        finish(&l, &log);
        if (!hf_span_is(hf_buf_span(&log), cases[i].out))
            printf("# %s gave %.*s\n", cases[i].in, HF_FMT(hf_buf_span(&log)));
        CHECK_SPAN(hf_buf_span(&log), cases[i].out);
        hf_buf_done(&log);
    }
}

TEST(two_cuts_anywhere_change_no_line)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hf_span in = hf_span_of(cases[i].in);
        for (size_t first = 0; first <= in.n; first++) {
            for (size_t second = first; second <= in.n; second++) {
                struct hf_lines l;
                struct hf_buf log;
                hf_lines_init(&l, MAX);
                hf_buf_init(&log, 4096);
                feed(&l, (struct hf_span) { in.p, first }, &log);
                feed(&l, (struct hf_span) { in.p + first, second - first }, &log);
                feed(&l, hf_span_from(in, second), &log);
                finish(&l, &log);
                CHECK_SPAN(hf_buf_span(&log), cases[i].out);
                hf_buf_done(&log);
            }
        }
    }
}

TEST(one_byte_at_a_time_changes_no_line)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_lines l;
        struct hf_buf log;
        hf_lines_init(&l, MAX);
        hf_buf_init(&log, 4096);
        for (const char *p = cases[i].in; *p; p++)
            feed(&l, (struct hf_span) { p, 1 }, &log);
        finish(&l, &log);
        CHECK_SPAN(hf_buf_span(&log), cases[i].out);
        hf_buf_done(&log);
    }
}

static size_t feed_many(struct hf_lines *l, char c, size_t n)
{
    size_t most = 0;
    while (n) {
        size_t room;
        char *p = hf_lines_room(l, HF_LINES_READ_MAX, &room);
        const size_t part = n < room ? n : room;
        memset(p, c, part);
        hf_lines_added(l, part);
        most = hf_buf_len(&l->buf) > most ? hf_buf_len(&l->buf) : most;
        n -= part;
        struct hf_span line;
        CHECK_EQ(hf_lines_next(l, &line), HF_LINE_NONE);
    }
    return most;
}

TEST(a_line_without_end_holds_no_more_than_the_limit_and_one_read)
{
    struct hf_lines l;
    struct hf_buf log;
    hf_lines_init(&l, 100000);
    hf_buf_init(&log, 4096);
    feed(&l, HF_SPAN("{\"id\":5,\"x\":\""), &log);
    CHECK(feed_many(&l, 'x', 10000000) <= 100000 + 1 + HF_LINES_READ_MAX);
    CHECK(hf_lines_held(&l) <= 4 * HF_LINES_READ_MAX);
    feed(&l, HF_SPAN("\"}\n{}\n"), &log);
    finish(&l, &log);
    CHECK_SPAN(hf_buf_span(&log), "<5>[{}]");
    hf_buf_done(&log);
}

TEST(memory_is_given_back_as_soon_as_a_line_is_known_to_be_too_long)
{
    struct hf_lines l;
    hf_lines_init(&l, 10000000);
    (void)feed_many(&l, 'x', 10000000);
    CHECK(hf_lines_held(&l) >= 10000000);
    (void)feed_many(&l, 'x', 1);
    CHECK(hf_lines_held(&l) <= 4 * HF_LINES_READ_MAX);
    hf_lines_done(&l);
    CHECK_EQ(hf_lines_held(&l), 0);
}

TEST(memory_of_a_huge_line_is_given_back_even_if_another_line_has_begun_behind_it)
{
    static const char *const behind[] = { "", "{\"id\":1,", "\n" };
    for (size_t i = 0; i < COUNT(behind); i++) {
        struct hf_lines l;
        struct hf_span line;
        size_t room;
        hf_lines_init(&l, 64 << 20);
        (void)feed_many(&l, 'x', 20 << 20);
        char *p = hf_lines_room(&l, 100, &room);
        const int n = sprintf(p, "\n%s", behind[i]);
        hf_lines_added(&l, (size_t)n);
        REQUIRE_EQ(hf_lines_next(&l, &line), HF_LINE_WHOLE);
        CHECK(line.n == 20 << 20 && line.p[0] == 'x' && line.p[line.n - 1] == 'x');
        CHECK_EQ(hf_lines_next(&l, &line), HF_LINE_NONE);
        CHECK(hf_lines_held(&l) <= 4 * HF_LINES_READ_MAX);
        struct hf_buf log;
        hf_buf_init(&log, 256);
        feed(&l, HF_SPAN("\"x\":2}\n"), &log);
        CHECK_SPAN(hf_buf_span(&log), i == 1 ? "[{\"id\":1,\"x\":2}]" : "[\"x\":2}]");
        hf_buf_done(&log);
        hf_lines_done(&l);
    }
}

TEST(a_usual_stream_keeps_its_memory)
{
    struct hf_lines l;
    struct hf_buf log;
    hf_lines_init(&l, 64 << 20);
    hf_buf_init(&log, 1 << 20);
    size_t room;
    (void)hf_lines_room(&l, HF_LINES_READ_MAX, &room);
    const size_t held = hf_lines_held(&l);
    for (int i = 0; i < 1000; i++)
        feed(&l, HF_SPAN("{\"jsonrpc\":\"2.0\"}\n{\"json"), &log);
    CHECK_EQ(hf_lines_held(&l), held);
    finish(&l, &log);
    hf_buf_done(&log);
}

TEST(bytes_without_a_newline_are_not_searched_again)
{
    struct hf_lines l;
    struct hf_span line;
    hf_lines_init(&l, 64 << 20);
    (void)feed_many(&l, 'x', 1 << 20);
    CHECK(l.scanned == 1 << 20);
    /* A newline where nobody looks any more proves that nobody does. */
    l.buf.p[l.buf.start + 10] = '\n';
    (void)feed_many(&l, 'x', 10);
    CHECK(hf_lines_last(&l, &line) == HF_LINE_WHOLE && line.n == (1 << 20) + 10);
    CHECK_EQ(hf_lines_last(&l, &line), HF_LINE_NONE);
    hf_lines_done(&l);
}

TEST(room_is_at_least_what_was_wanted_up_to_one_read)
{
    struct hf_lines l;
    size_t room;
    hf_lines_init(&l, 1 << 20);
    (void)hf_lines_room(&l, 0, &room);
    CHECK(room >= 1);
    (void)hf_lines_room(&l, 5000, &room);
    CHECK(room >= 5000);
    (void)hf_lines_room(&l, SIZE_MAX, &room);
    CHECK_EQ(room, HF_LINES_READ_MAX);
    hf_lines_done(&l);
}
