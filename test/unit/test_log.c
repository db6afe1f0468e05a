/* test_log.c - lines of the log: their two forms, what is escaped in them, and floods. */
#include "log_fixture.h"
#include "wire/json.h"

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* An entry whose event is the first word of the sentence. */
static void say(struct world *w, enum hf_log_level level, const char *server, const char *text,
                uint64_t now_ms)
{
    const struct hf_log_entry entry = {
        .level = level,
        .event = { text, strspn(text, "abcdefghijklmnopqrstuvwxyz_") },
        .server = hf_span_of(server),
        .generation = *server ? 3 : 0,
        .sentence = hf_span_of(text),
    };
    hf_log_write(w->log, &entry, now_ms);
}

static void note(struct world *w, const char *server, const char *text, uint64_t now_ms)
{
    say(w, HF_LOG_INFO, server, text, now_ms);
}

TEST(a_text_line_has_time_level_server_and_the_sentence)
{
    static struct world w;
    open_log(&w, HF_LOG_INFO, HF_LOG_TEXT);
    note(&w, "pay", "connected tools=4", 1);
    const char *line = read_log(&w);
    CHECK(strlen(line) > 24 && line[4] == '-' && line[23] == 'Z');
    CHECK(strcmp(line + 24, " info server=pay generation=3 connected tools=4\n") == 0);
    say(&w, HF_LOG_DEBUG, "", "hidden", 1);
    CHECK(!*read_log(&w));
    close_log(&w);
}

TEST(a_field_is_told_once_and_never_in_the_place_of_ours)
{
    const struct hf_log_field fields[] = {
        { .key = HF_SPAN("level"), .words = HF_SPAN("1") },
        { .key = HF_SPAN("x"), .type = HF_LOG_NUMBER, .number = 1 },
        { .key = HF_SPAN("x"), .type = HF_LOG_NUMBER, .number = 2 },
        { .key = HF_SPAN("server"), .words = HF_SPAN("b") },
    };
    static struct world w;
    open_log(&w, HF_LOG_INFO, HF_LOG_JSON);
    const struct hf_log_entry entry = { .level = HF_LOG_INFO,
                                        .event = HF_SPAN("odd"),
                                        .server = HF_SPAN("pay"),
                                        .fields = fields,
                                        .field_count = 4,
                                        .sentence = HF_SPAN("odd") };
    hf_log_write(w.log, &entry, 1);
    CHECK(strstr(read_log(&w), "\"server\":\"pay\",\"x\":1,\"message\":\"odd\"}"));
    close_log(&w);
}

TEST(what_a_terminal_obeys_is_escaped_in_both_forms)
{
    static const struct {
        const char *said, *text, *json;
    } rows[] = {
        { "\x1b[2J", "\\x1b[2J", "\\u001b[2J" },
        { "a\nb\x7f", "a\\x0ab\\x7f", "a\\nb\\u007f" },
        { "\xc2\x80 \xc2\x9b[1m \xc2\x9f \xc2\xa0", "\\u0080 \\u009b[1m \\u009f \xc2\xa0",
          "\\u0080 \\u009b[1m \\u009f \xc2\xa0" },
        { "\xd8\x9c \xe2\x80\x8e\xe2\x80\x8f \xe2\x80\xaa\xe2\x80\xae \xe2\x81\xa6\xe2\x81\xa9",
          "\\u061c \\u200e\\u200f \\u202a\\u202e \\u2066\\u2069",
          "\\u061c \\u200e\\u200f \\u202a\\u202e \\u2066\\u2069" },
        { "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xaa", "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xaa",
          "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xaa" },
        { "\x9b[1m", "\\x9b[1m", "\xef\xbf\xbd[1m" },
        { "À é … 😀", "À é … 😀", "À é … 😀" },
        { "cut \xe2\x80", "cut \\xe2\\x80", "cut \xef\xbf\xbd\xef\xbf\xbd" },
    };
    static struct world w;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const bool is_json = i % 2;
        const char *want = is_json ? rows[i / 2].json : rows[i / 2].text;
        open_log(&w, HF_LOG_INFO, is_json ? HF_LOG_JSON : HF_LOG_TEXT);
        note(&w, rows[i / 2].said, rows[i / 2].said, 1);
        const char *first = strstr(read_log(&w), want);
        if (!first)
            printf("# row %zu: %s\n", i / 2, w.text);
        CHECK(first && strstr(first + 1, want)); /* in the name and in the words */
        close_log(&w);
    }
}

TEST(a_flood_of_one_kind_is_summed_up_and_other_kinds_are_not_touched)
{
    static struct world w;
    open_log(&w, HF_LOG_INFO, HF_LOG_TEXT);
    for (unsigned i = 0; i < 412; i++)
        note(&w, "pay", "stderr: x", 1000 + i);
    CHECK(count_lines(read_log(&w)) == 100);
    note(&w, "pay", "exited", 2000);
    note(&w, "other", "stderr: x", 2000);
    CHECK(count_lines(read_log(&w)) == 2);
    CHECK(hf_log_review(w.log, 2000) == 11000);
    CHECK(!*read_log(&w));
    CHECK(hf_log_review(w.log, 11000) == 0);
    CHECK(strstr(read_log(&w),
                 " info server=pay … and 312 more like it (stderr) in the last 10 s\n"));
    note(&w, "pay", "stderr: x", 11001);
    CHECK(count_lines(read_log(&w)) == 1);
    close_log(&w);
}

TEST(what_was_held_back_is_told_by_the_next_such_line_and_at_the_end)
{
    static struct world w;
    open_log(&w, HF_LOG_INFO, HF_LOG_JSON);
    for (unsigned i = 0; i < 101; i++)
        note(&w, "pay", "stderr: x", 1000);
    (void)read_log(&w);
    note(&w, "pay", "stderr: y", 11000);
    CHECK(strstr(read_log(&w),
                 "\"event\":\"more\",\"server\":\"pay\",\"of\":\"stderr\",\"count\":1,"));
    CHECK(count_lines(w.text) == 2);
    for (unsigned i = 0; i < 105; i++)
        note(&w, "pay", "stderr: x", 11000);
    (void)read_log(&w);
    hf_log_free(w.log);
    CHECK(strstr(read_log(&w), "\"count\":6,"));
    w.log = NULL;
    close_log(&w);
}

static void note_of_many(struct world *w, unsigned from, unsigned to, uint64_t now_ms)
{
    for (unsigned i = from; i < to; i++) {
        char server[16];
        (void)snprintf(server, sizeof server, "s%u", i);
        note(w, server, "x", now_ms);
    }
}

TEST(more_kinds_than_the_table_holds_share_what_they_may_say)
{
    static struct world w;
    open_log(&w, HF_LOG_INFO, HF_LOG_TEXT);
    for (unsigned i = 0; i < 101; i++)
        note(&w, "first", "x", 100001);
    (void)read_log(&w);
    note_of_many(&w, 0, 255, 100002);
    CHECK(count_lines(read_log(&w)) == 255);
    for (unsigned i = 0; i < 1100; i += 100) { /* the pipe holds no more at a time */
        note_of_many(&w, 1000 + i, 1100 + i, 100003);
        CHECK(count_lines(read_log(&w)) == (i < 1000 ? 100 : 0));
    }
    say(&w, HF_LOG_WARN, "s", "exited", 100004);
    CHECK(count_lines(read_log(&w)) == 1);
    note_of_many(&w, 5000, 5001,
                 110001); /* takes the place of the first, which has held one back */
    CHECK(count_lines(read_log(&w)) == 2 && strstr(w.text, "server=first … and 1 more like it"));
    CHECK(hf_log_review(w.log, 110002) == 110003 && hf_log_review(w.log, 110003) == 0);
    CHECK(strstr(read_log(&w), "… and 100 more like it (others)"));
    close_log(&w);
}

TEST(at_debug_every_line_is_told)
{
    static struct world w;
    open_log(&w, HF_LOG_DEBUG, HF_LOG_TEXT);
    for (unsigned i = 0; i < 200; i++)
        note(&w, "pay", "stderr: x", 1);
    CHECK(count_lines(read_log(&w)) == 200);
    close_log(&w);
}

TEST(a_reader_that_does_not_keep_up_is_told_how_much_it_lost)
{
    for (unsigned form = 0; form < 2; form++) {
        static struct world w;
        open_log(&w, HF_LOG_DEBUG, form ? HF_LOG_JSON : HF_LOG_TEXT);
        char words[4000];
        memset(words, 0x1b, sizeof words - 1);
        words[sizeof words - 1] = '\0';
        for (unsigned i = 0; i < 40; i++)
            note(&w, "pay", words, 1);
        while (*read_log(&w))
            ;
        note(&w, "pay", "again", 1);
        CHECK(strstr(read_log(&w), form ? "\"lost\":" : " lines before it were lost)"));
        note(&w, "pay", "again", 1);
        CHECK(!strstr(read_log(&w), "lost"));
        close_log(&w);
    }
}
