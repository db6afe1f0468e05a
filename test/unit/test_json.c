/* test_json.c - what is JSON and what is not, and which members of an object are wanted. */
#include "wire/json.h"
#include "wire/scan.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* On the heap and exactly as long, so that the address sanitizer sees one byte too many. */
static bool accepts(struct hf_span text, unsigned depth_max, struct hf_json_error *ret_error)
{
    char *copy = hf_alloc(text.n + 1);
    memcpy(copy + 1, text.p, text.n);
    const bool good = hf_json_check((struct hf_span) { copy + 1, text.n }, depth_max, ret_error);
    hf_free(copy);
    return good;
}

static void expect(struct hf_span text, bool good)
{
    const bool verdict = accepts(text, 512, NULL);
    if (verdict != good)
        printf("# must be %s: %.*s\n", good ? "accepted" : "refused", HF_FMT(text));
    CHECK_EQ(verdict, good);
}

static const char *const good_texts[] = {
    /* numbers */
    "0",
    "-0",
    "-0.0",
    "1",
    "10",
    "1234567890",
    "-1.5",
    "1e5",
    "1E+5",
    "1e-05",
    "0.1e1",
    "0e0",
    "12345678901234567890.0",
    "1e400",
    "-1E-400",
    /* words and strings */
    "true",
    "false",
    "null",
    "\"\"",
    "\"a\"",
    "\"'/\x7f\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uABCD\\uabcd\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud800\\ud800\"",
    /* the first and the last sequence of each length, and around the surrogates */
    "\"\xc2\x80\xdf\xbf\"",
    "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
    /* containers and white space */
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[[]]",
    "[{}]",
    "{\"a\":{}}",
    "[1,2]",
    "[1 , 2]",
    "{\"\":0}",
    "{\"a\":1,\"a\":2}",
    " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n",
    "{ \"a\" : [ true ] }",
    "[1,[2,[3,{\"a\":[4]}],5],{\"b\":{\"c\":{}}},6]",
};

static const char *const bad_texts[] = {
    "",
    " ",
    "\xef\xbb\xbf{}",
    "{}{}",
    "1 2",
    "[] x",
    "nul",
    "nulL",
    "truefalse",
    "True",
    "NaN",
    "Infinity",
    "undefined",
    "'a'",
    "a",
    ",",
    ":",
    "]",
    "}",
    "/**/1",
    "1//",
    /* numbers */
    "-",
    "+1",
    "01",
    "-01",
    "00",
    "1.",
    ".1",
    "-.1",
    "1.e1",
    "1e",
    "1e+",
    "1e1.0",
    "0x10",
    "1_0",
    "--1",
    "1a",
    "0e",
    "\xd9\xa1",
    /* strings */
    "\"",
    "\"a",
    "\"\\",
    "\"\\\"",
    "\"\\x\"",
    "\"\\U0041\"",
    "\"\\u\"",
    "\"\\u1\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\u 123\"",
    "\"\\u-123\"",
    "\"\\u00",
    "\"\n\"",
    "\"\r\"",
    "\"\t\"",
    "\"\x1f\"",
    "\"0123456789abcdef\x01\"",
    /* UTF-8: a tail alone, cut, overlong, a surrogate, too large, never a lead */
    "\"\x80\"",
    "\"\xbf\"",
    "\"\xc3\"",
    "\"\xc3",
    "\"\xe2\x82\"",
    "\"\xe2\x82",
    "\"\xf0\x9f\x98\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xe0\x80\x80\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xf0\x80\x80\x80\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xed\xa0\x80\"",
    "\"\xed\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\"\xff\"",
    "\"\xfe\"",
    "\"\xc3(\"",
    "\"\xe2(\x82\"",
    "\"\xe2\x82(\"",
    "\"\xe2\x82\xc3\"",
    "\"\xf0\x9f(\x98\"",
    "\"\xf0\x9f\x98(\"",
    "\"0123456789abcde\xc3\"",
    /* containers */
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1 2]",
    "[1,,2]",
    "[1}",
    "[}",
    "{]",
    "{",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{\"a\"}",
    "{\"a\",1}",
    "{\"a\" 1}",
    "{a:1}",
    "{1:1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1]",
    "{\"a\"::1}",
    "{null:1}",
    "{[]:1}",
    "[\v1]",
    "[\f]",
    "[\xc2\xa0]",
};

TEST(every_form_of_json_is_accepted)
{
    for (size_t i = 0; i < COUNT(good_texts); i++)
        expect(hf_span_of(good_texts[i]), true);
}

TEST(what_is_not_json_is_refused)
{
    for (size_t i = 0; i < COUNT(bad_texts); i++)
        expect(hf_span_of(bad_texts[i]), false);
    expect((struct hf_span) { "\0", 1 }, false);
    expect((struct hf_span) { "[1]\0", 4 }, false);
    expect((struct hf_span) { "\"\0\"", 3 }, false);
    expect((struct hf_span) { "\"\\\0\"", 4 }, false);
    CHECK(!hf_json_check((struct hf_span) { NULL, 0 }, 512, NULL));
}

TEST(a_verdict_does_not_depend_on_where_in_a_block_the_text_stands)
{
    char padded[256];
    for (size_t pad = 0; pad < 40; pad++) {
        for (size_t i = 0; i < COUNT(good_texts); i++) {
            const int n = snprintf(padded, sizeof padded, "[\"%.*s\",%s]", (int)pad,
                                   "0123456789012345678901234567890123456789", good_texts[i]);
            expect((struct hf_span) { padded, (size_t)n }, true);
        }
        for (size_t i = 0; i < COUNT(bad_texts); i++) {
            const int n = snprintf(padded, sizeof padded, "{\"%.*s\":%s}", (int)pad,
                                   "0123456789012345678901234567890123456789", bad_texts[i]);
            expect((struct hf_span) { padded, (size_t)n }, false);
        }
    }
}

TEST(no_beginning_of_a_container_is_a_whole_text)
{
    const struct hf_span text = HF_SPAN("[{\"a\\u0041\xc3\xa4\":[true,-1.5e+3,\"\\n\"]},null]");
    for (size_t n = 0; n < text.n; n++)
        expect((struct hf_span) { text.p, n }, false);
    expect(text, true);
}

TEST(depth_counts_open_containers_of_both_kinds_up_to_the_limit)
{
    char text[2 * HF_JSON_DEPTH_MAX + 2];
    for (unsigned depth = 1; depth <= HF_JSON_DEPTH_MAX; depth = depth * 2 + (depth % 3 == 0)) {
        size_t n = 0;
        for (unsigned i = 0; i < depth; i++)
            text[n++] = '[';
        for (unsigned i = 0; i < depth; i++)
            text[n++] = ']';
        CHECK(accepts((struct hf_span) { text, n }, depth, NULL));
        CHECK(!accepts((struct hf_span) { text, n }, depth - 1, NULL));
    }
    expect(HF_SPAN("[[[],[]],[[],[]]]"), true);
    CHECK(accepts(HF_SPAN("{\"a\":[{}],\"b\":[{}]}"), 3, NULL));
    CHECK(!accepts(HF_SPAN("{\"a\":[{}],\"b\":[{}]}"), 2, NULL));
    CHECK(accepts(HF_SPAN("7"), 0, NULL));
    CHECK(!accepts(HF_SPAN("[]"), 0, NULL));
}

TEST(the_deepest_text_of_all_is_refused_without_harm)
{
    struct hf_buf text;
    hf_buf_init(&text, 1 << 20);
    for (int i = 0; i < 100000; i++)
        hf_buf_add_str(&text, i % 2 ? "[" : "{\"a\":");
    struct hf_json_error error = { NULL, 0 };
    CHECK(!hf_json_check(hf_buf_span(&text), 1000000, &error));
    CHECK_EQ(error.at, HF_JSON_DEPTH_MAX / 2 * 6);
    hf_buf_done(&text);
}

TEST(a_closing_bracket_must_be_of_the_kind_that_is_open_at_any_depth)
{
    char text[512];
    for (unsigned depth = 1; depth < 140; depth++) {
        size_t n = 0;
        for (unsigned i = 0; i < depth; i++)
            text[n++] = '[';
        memcpy(text + n, "{\"a\":0}", 7);
        n += 7;
        memset(text + n, ']', depth);
        expect((struct hf_span) { text, n + depth }, true);
        text[n - 1] = ']';
        expect((struct hf_span) { text, n + depth }, false);
        text[n - 1] = '}';
        text[n + depth - 1] = '}';
        expect((struct hf_span) { text, n + depth }, false);
    }
}

TEST(an_error_says_what_and_where)
{
    static const struct {
        const char *text, *what;
        size_t at;
    } cases[] = {
        { "", "ends", 0 },
        { "[1,", "ends", 3 },
        { "[1,]", "value is missing", 3 },
        { "{\"a\":1,}", "key in quotes", 7 },
        { "{\"a\" 1}", "colon", 5 },
        { "[1 2]", "comma or closing", 3 },
        { "[1", "not closed", 2 },
        { "\"abc", "string is not closed", 4 },
        { "[\"abc\x01\"]", "control character", 5 },
        { "[\"ab\xff\"]", "UTF-8", 4 },
        { "\"\\q\"", "escape", 1 },
        { "\"\\u12x4\"", "hexadecimal", 1 },
        { "[01]", "zero", 1 },
        { "[1.]", "digit", 3 },
        { "[nil]", "true, false and null", 1 },
        { "{} {}", "follows", 3 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_json_error error = { "", 999 };
        CHECK(!accepts(hf_span_of(cases[i].text), 512, &error));
        if (!strstr(error.what, cases[i].what) || error.at != cases[i].at)
            printf("# %s: \"%s\" at %zu\n", cases[i].text, error.what, error.at);
        CHECK(strstr(error.what, cases[i].what));
        CHECK_EQ(error.at, cases[i].at);
    }
}

/* ---- wanted members ---- */

static const struct hf_span wanted[] = { { "id", 2 }, { "method", 6 }, { "params", 6 } };

static bool find(const char *text, struct hf_span values[3], struct hf_json_error *ret_error)
{
    return hf_json_check_object(hf_span_of(text), 512, wanted, 3, values, ret_error);
}

TEST(wanted_members_come_as_raw_spans_without_the_space_around)
{
    struct hf_span v[3];
    REQUIRE(find(" { \"x\" : [ { \"id\" : 3 } ] , \"id\" : 12345678901234567890.0 , "
                 "\"params\" : { \"id\" : 4 , \"method\" : 5 } } ",
                 v, NULL));
    CHECK_SPAN(v[0], "12345678901234567890.0");
    CHECK(v[1].p == NULL && v[1].n == 0);
    CHECK_SPAN(v[2], "{ \"id\" : 4 , \"method\" : 5 }");
    REQUIRE(find("{\"params\":{},\"method\":\"a\\u0000\\ud800\",\"id\":-0}", v, NULL));
    CHECK_SPAN(v[0], "-0");
    CHECK_SPAN(v[1], "\"a\\u0000\\ud800\"");
    CHECK_SPAN(v[2], "{}");
    REQUIRE(find("{\"id\":[],\"params\":[[],{\"id\":[1]}]}", v, NULL));
    CHECK_SPAN(v[0], "[]");
    CHECK_SPAN(v[2], "[[],{\"id\":[1]}]");
    REQUIRE(find("{}", v, NULL));
    CHECK(!v[0].p && !v[1].p && !v[2].p);
}

TEST(a_wanted_key_is_known_by_its_meaning_not_its_spelling)
{
    static const char *const same[] = {
        "{\"\\u0069d\":1}",
        "{\"i\\u0064\":1}",
        "{\"\\u0069\\u0064\":1}",
        "{\"\\u0069\\u0064\" :1}",
    };
    static const char *const other[] = {
        "{\"Id\":1}",  "{\"id \":1}",       "{\"i\":1}",          "{\"\":1}",
        "{\"idd\":1}", "{\"id\\u0000\":1}", "{\"\\\\u0069d\":1}", "{\"i\\\\d\":1}",
    };
    struct hf_span v[3];
    for (size_t i = 0; i < COUNT(same); i++)
        CHECK(find(same[i], v, NULL) && hf_span_is(v[0], "1"));
    for (size_t i = 0; i < COUNT(other); i++)
        CHECK(find(other[i], v, NULL) && !v[0].p);
}

TEST(a_wanted_key_may_not_stand_twice_and_any_other_may)
{
    struct hf_span v[3];
    struct hf_json_error error;
    REQUIRE(!find("{\"id\":1,\"id\":1}", v, &error));
    CHECK(strcmp(error.what, "a key stands twice") == 0 && error.at == 8);
    CHECK(!find("{\"id\":1,\"x\":0,\"\\u0069d\":2}", v, NULL));
    CHECK(!find("{\"params\":{},\"params\":[]}", v, NULL));
    CHECK(find("{\"x\":1,\"x\":2,\"id\":3,\"y\":{\"id\":1,\"id\":2}}", v, NULL));
    CHECK_SPAN(v[0], "3");
}

TEST(an_object_is_checked_as_strictly_as_any_text)
{
    static const char *const bad[] = {
        "",
        " ",
        "[]",
        "1",
        "\"id\"",
        "null",
        "{",
        "{\"id\":1",
        "{\"id\":1}}",
        "{\"id\":1}x",
        "{\"id\":}",
        "{\"id\":01}",
        "{\"id\":\"\xff\"}",
        "{\"id\":[[[[[}",
    };
    struct hf_span v[3];
    struct hf_json_error error;
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(!find(bad[i], v, NULL));
    CHECK(!find(" [{}]", v, &error) && error.at == 1 && strstr(error.what, "not an object"));
    CHECK(!hf_json_check_object(HF_SPAN("{\"a\":[]}"), 1, wanted, 3, v, NULL));
    CHECK(hf_json_check_object(HF_SPAN("{\"a\":[]}"), 2, wanted, 3, v, NULL));
    CHECK(hf_json_check_object(HF_SPAN("{\"a\":1}"), 1, NULL, 0, NULL, NULL));
}

/* ---- the scan underneath ---- */

TEST(a_scan_stops_at_the_first_byte_of_its_set_wherever_it_stands)
{
    for (size_t n = 0; n < 50; n++) {
        char *text = hf_alloc(n + 1);
        for (unsigned c = 0; c < 256; c++) {
            for (size_t at = 0; at < n; at++) {
                memset(text, 'x', n);
                text[at] = (char)c;
                text[n - 1] = at < n - 1 ? '"' : text[n - 1];
                const char *end = text + n, *hit = text + at, *last = n > 0 ? end - 1 : end;
                const char *next = at < n - 1 ? last : end;
                const bool stop = c == '"' || c == '\\', nest = c && strchr("[]{}\"", (int)c);
                CHECK_EQ(hf_scan_string_stop(text, end), stop ? hit : next);
                CHECK_EQ(hf_scan_nesting(text, end), nest ? hit : next);
                CHECK_EQ(hf_scan_unplain(text, end), stop || c < 32 || c > 127 ? hit : next);
            }
        }
        hf_free(text);
    }
}
