/* test_json_read.c - the way in checked text, and text of our own making. */
#include "wire/json.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct hf_buf buf_of(size_t max)
{
    struct hf_buf b;
    hf_buf_init(&b, max);
    return b;
}

static bool unescapes_to(const char *value, struct hf_span bytes)
{
    struct hf_buf out = buf_of(256);
    const bool same =
        hf_json_unescape(hf_span_of(value), &out) && hf_span_eq(hf_buf_span(&out), bytes);
    hf_buf_done(&out);
    return same;
}

/* ---- walking ---- */

TEST(a_value_is_known_by_its_type)
{
    static const struct {
        const char *text;
        enum hf_json_type type;
    } cases[] = {
        { "", HF_JSON_NONE },        { " ", HF_JSON_NONE },       { "{}", HF_JSON_OBJECT },
        { " \n[1]", HF_JSON_ARRAY }, { "\"a\"", HF_JSON_STRING }, { "-1", HF_JSON_NUMBER },
        { "0", HF_JSON_NUMBER },     { "true", HF_JSON_TRUE },    { "false", HF_JSON_FALSE },
        { "null", HF_JSON_NULL },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK_EQ(hf_json_type(hf_span_of(cases[i].text)), cases[i].type);
    CHECK(hf_json_type((struct hf_span) { NULL, 0 }) == HF_JSON_NONE);
}

TEST(a_walk_gives_every_item_with_its_bytes_untouched)
{
    static const char *const values[] = {
        "12345678901234567890.0",
        "1e400",
        "-0",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"a\\\"]}\\\\\"",
        "[]",
        "{}",
        "[ [ ] , { \"]\" : \"}\" } ]",
        "{\"a\":[{\"b\":\"\\\\\"}]}",
        "true",
        "null",
        "\"0123456789abcdef0123456789abcdef\\\"\"",
        "{\"0123456789abcdef\":\"{[0123456789abcdef\"}",
    };
    static const char *const spaces[] = { "", " ", " \t\r\n" };
    for (size_t k = 0; k < COUNT(spaces); k++) {
        struct hf_buf array = buf_of(4096), object = buf_of(4096);
        hf_buf_printf(&array, "%s[%s", spaces[k], spaces[k]);
        hf_buf_printf(&object, "%s{%s", spaces[k], spaces[k]);
        for (size_t i = 0; i < COUNT(values); i++) {
            hf_buf_printf(&array, "%s%s%s%s", i ? "," : "", spaces[k], values[i], spaces[k]);
            hf_buf_printf(&object, "%s%s\"k\\\"%zu\"%s:%s%s%s", i ? "," : "", spaces[k], i,
                          spaces[k], spaces[k], values[i], spaces[k]);
        }
        hf_buf_printf(&array, "]%s", spaces[k]);
        hf_buf_printf(&object, "}%s", spaces[k]);
        CHECK(hf_json_check(hf_buf_span(&array), 512, NULL));
        CHECK(hf_json_check(hf_buf_span(&object), 512, NULL));

        size_t count = 0;
        struct hf_json_iter it = hf_json_iter(hf_buf_span(&array));
        for (; hf_json_next(&it); count++)
            CHECK(count < COUNT(values) && hf_span_is(it.value, values[count]) && it.key.n == 0);
        CHECK(count == COUNT(values) && !hf_json_next(&it));
        count = 0;
        for (it = hf_json_iter(hf_buf_span(&object)); hf_json_next(&it); count++) {
            char key[32];
            snprintf(key, sizeof key, "k\\\"%zu", count);
            CHECK(count < COUNT(values) && hf_span_is(it.value, values[count]));
            CHECK_SPAN(it.key, key);
        }
        CHECK(count == COUNT(values) && !hf_json_next(&it));
        hf_buf_done(&array);
        hf_buf_done(&object);
    }
}

TEST(only_containers_have_items)
{
    static const char *const none[] = { "", "[]", "{}", "[ ]", " { } ", "1", "\"[1]\"", "null" };
    for (size_t i = 0; i < COUNT(none); i++) {
        struct hf_json_iter it = hf_json_iter(hf_span_of(none[i]));
        CHECK(!hf_json_next(&it));
    }
    struct hf_json_iter it = hf_json_iter((struct hf_span) { NULL, 0 });
    CHECK(!hf_json_next(&it));
}

TEST(a_member_is_found_by_name_and_a_path_leads_through_objects_only)
{
    const struct hf_span text = HF_SPAN("{\"a\":{\"b\":{\"\\u0063\":7}},\"x\":[{\"b\":1}],"
                                        "\"dup\":1,\"dup\":2,\"\":3}");
    const struct hf_span a = HF_SPAN("a"), b = HF_SPAN("b"), c = HF_SPAN("c"), x = HF_SPAN("x");
    CHECK_SPAN(hf_json_get(text, a), "{\"b\":{\"\\u0063\":7}}");
    CHECK_SPAN(hf_json_get(text, HF_SPAN("dup")), "1");
    CHECK_SPAN(hf_json_get(text, HF_SPAN("")), "3");
    CHECK(!hf_json_get(text, b).p);
    CHECK(!hf_json_get(HF_SPAN("[{\"b\":1}]"), b).p);
    CHECK(!hf_json_get(HF_SPAN("[1]"), HF_SPAN("")).p);
    CHECK(!hf_json_get((struct hf_span) { NULL, 0 }, b).p);
    CHECK(hf_span_is(hf_json_path(text, 3, (struct hf_span[]) { a, b, c }), "7"));
    CHECK(!hf_json_path(text, 2, (struct hf_span[]) { x, b }).p);
    CHECK(!hf_json_path(text, 3, (struct hf_span[]) { a, x, c }).p);
    CHECK(hf_span_eq(hf_json_path(text, 0, NULL), text));
}

TEST(text_that_was_never_checked_is_not_read_beyond_its_end)
{
    static const char *const broken[] = {
        "{",  "[",   "{\"", "{\"a", "{\"a\\",   "{\"a\"",   "{\"a\":", "{\"a\":{",       "[\"\\",
        "[[", "{,",  "{x",  "[:",   "{\"a\":}", "{\"a\":]", "[1",      "{\"a\":\"\\u00", "{:",
        "{]", "[}1",
    };
    for (size_t i = 0; i < COUNT(broken); i++) {
        const size_t n = strlen(broken[i]);
        char *copy = hf_alloc(n);
        memcpy(copy, broken[i], n);
        struct hf_buf out = buf_of(64);
        struct hf_json_iter it = hf_json_iter((struct hf_span) { copy, n });
        for (int k = 0; hf_json_next(&it); k++) {
            REQUIRE(k < 10);
            (void)!hf_json_unescape(it.value, &out);
            CHECK(!hf_json_key_is(it.key, HF_SPAN("something")));
        }
        CHECK(it.key.n <= n && it.value.n <= n);
        hf_buf_done(&out);
        hf_free(copy);
    }
}

/* ---- scalars ---- */

TEST(a_key_or_string_is_compared_unescaped)
{
    static const struct {
        const char *raw;
        struct hf_span bytes;
    } same[] = {
        { "id", { "id", 2 } },
        { "\\u0069d", { "id", 2 } },
        { "i\\u0064", { "id", 2 } },
        { "", { "", 0 } },
        { "\\u0000", { "\0", 1 } },
        { "a\\u0000b", { "a\0b", 3 } },
        { "\\\"\\\\\\/\\b\\f\\n\\r\\t", { "\"\\/\b\f\n\r\t", 8 } },
        { "\\u00e4\\u00E4", { "\xc3\xa4\xc3\xa4", 4 } },
        { "\\u20ac", { "\xe2\x82\xac", 3 } },
        { "\\ud83d\\ude00", { "\xf0\x9f\x98\x80", 4 } },
        { "\\uDBFF\\uDFFF", { "\xf4\x8f\xbf\xbf", 4 } },
        { "\xf0\x9f\x98\x80", { "\xf0\x9f\x98\x80", 4 } },
    };
    static const struct {
        const char *raw;
        struct hf_span bytes;
    } other[] = {
        { "id", { "i", 1 } },
        { "i", { "id", 2 } },
        { "\\u0069d", { "i", 1 } },
        { "\\u0069", { "id", 2 } },
        { "\\n", { "\\n", 2 } },
        { "\\\\u0069d", { "id", 2 } },
        { "a\\u0000", { "a", 1 } },
        { "", { "a", 1 } },
        { "a", { "", 0 } },
        { "\\u0069", { "\\u0069", 6 } },
        { "\\ud800", { "\xef\xbf\xbd", 3 } },
    };
    char value[64];
    for (size_t i = 0; i < COUNT(same); i++) {
        snprintf(value, sizeof value, "\"%s\"", same[i].raw);
        CHECK(hf_json_key_is(hf_span_of(same[i].raw), same[i].bytes));
        CHECK(hf_json_string_is(hf_span_of(value), same[i].bytes));
        CHECK(unescapes_to(value, same[i].bytes));
    }
    for (size_t i = 0; i < COUNT(other); i++) {
        snprintf(value, sizeof value, "\"%s\"", other[i].raw);
        CHECK(!hf_json_key_is(hf_span_of(other[i].raw), other[i].bytes));
        CHECK(!hf_json_string_is(hf_span_of(value), other[i].bytes));
    }
    CHECK(!hf_json_string_is(HF_SPAN("12"), HF_SPAN("12")));
    CHECK(!hf_json_string_is((struct hf_span) { NULL, 0 }, HF_SPAN("")));
}

TEST(a_lone_surrogate_unescapes_to_the_replacement_character)
{
    static const struct hf_span two = { "\xef\xbf\xbd\xef\xbf\xbd", 6 };
    CHECK(unescapes_to("\"\\ud800\"", HF_SPAN("\xef\xbf\xbd")));
    CHECK(unescapes_to("\"\\udfff\"", HF_SPAN("\xef\xbf\xbd")));
    CHECK(unescapes_to("\"\\udc00\\ud800\"", two));
    CHECK(unescapes_to("\"\\ud800\\ud800\"", two));
    CHECK(unescapes_to("\"\\ud800\\ue000\"", HF_SPAN("\xef\xbf\xbd\xee\x80\x80")));
    CHECK(unescapes_to("\"\\ud800\\n\"", HF_SPAN("\xef\xbf\xbd\n")));
    CHECK(unescapes_to("\"\\ud800\\ud83d\\ude00\"", HF_SPAN("\xef\xbf\xbd\xf0\x9f\x98\x80")));
}

TEST(unescaping_appends_or_leaves_the_buffer_as_it_was)
{
    struct hf_buf out = buf_of(8);
    hf_buf_add_str(&out, "x");
    CHECK(!hf_json_unescape(HF_SPAN("12"), &out));
    CHECK(!hf_json_unescape((struct hf_span) { NULL, 0 }, &out));
    CHECK(!hf_json_unescape(HF_SPAN("{\"a\":1}"), &out));
    CHECK_SPAN(hf_buf_span(&out), "x");
    /* The memory has a step, the content has not: fill what there is. */
    hf_buf_clear(&out);
    while (hf_buf_try_add(&out, HF_SPAN("y")))
        ;
    const size_t full = hf_buf_len(&out);
    out.end -= 3;
    CHECK(!hf_json_unescape(HF_SPAN("\"ab\\ncd\""), &out));
    CHECK_EQ(hf_buf_len(&out), full - 3);
    CHECK(hf_json_unescape(HF_SPAN("\"a\\u0062c\""), &out));
    CHECK(hf_buf_len(&out) == full && memcmp(out.p + out.end - 3, "abc", 3) == 0);
    hf_buf_done(&out);
}

TEST(ids_are_the_same_by_meaning_for_strings_and_by_bytes_for_the_rest)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "1", "1", true },
        { "1", "1.0", false },
        { "1", "\"1\"", false },
        { "\"1\"", "1", false },
        { "10", "1e1", false },
        { "12345678901234567890", "12345678901234567891", false },
        { "\"a\"", "\"a\"", true },
        { "\"a\"", "\"\\u0061\"", true },
        { "\"\\u0061b\"", "\"a\\u0062\"", true },
        { "\"\\u00e4\"", "\"\xc3\xa4\"", true },
        { "\"a\"", "\"ab\"", false },
        { "\"\\n\"", "\"n\"", false },
        { "\"\\/\"", "\"/\"", true },
        { "\"\\ud800\"", "\"\\uD800\"", true },
        { "\"\\ud800\"", "\"\\ud801\"", false },
        { "\"\\ud800\"", "\"\\ufffd\"", false },
        { "\"\"", "\"\\u0000\"", false },
        { "null", "null", true },
        { " 1", "1 ", true },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hf_span a = hf_span_of(cases[i].a), b = hf_span_of(cases[i].b);
        CHECK_EQ(hf_json_same_scalar(a, b), cases[i].same);
        CHECK_EQ(hf_json_same_scalar(b, a), cases[i].same);
    }
}

TEST(an_integer_is_read_only_if_it_is_one_and_fits)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        { "0", 0 },
        { "-0", 0 },
        { "7", 7 },
        { "-42", -42 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808", INT64_MIN },
        { " 5 ", 5 },
    };
    static const char *const bad[] = {
        "",
        "-",
        "1.0",
        "1e3",
        "9223372036854775808",
        "-9223372036854775809",
        "true",
        "null",
        "\"1\"",
        "99999999999999999999999",
        "[1]",
        "12345678901234567890.0",
    };
    int64_t value = 0;
    for (size_t i = 0; i < COUNT(good); i++)
        CHECK(hf_json_int(hf_span_of(good[i].text), &value) && value == good[i].value);
    value = 77;
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(!hf_json_int(hf_span_of(bad[i]), &value));
    CHECK(!hf_json_int((struct hf_span) { NULL, 0 }, &value));
    CHECK(value == 77);
}

TEST(a_double_is_read_exactly_or_not_at_all)
{
    double value = 0;
    CHECK(hf_json_double(HF_SPAN("0.5"), &value) && value == 0.5);
    CHECK(hf_json_double(HF_SPAN("-1.5e2"), &value) && value == -150.0);
    CHECK(hf_json_double(HF_SPAN("3"), &value) && value == 3.0);
    CHECK(hf_json_double(HF_SPAN("1e-400"), &value) && value == 0.0);
    char digits[410] = "1";
    memset(digits + 1, '0', 400);
    strcpy(digits + 401, "e-400");
    CHECK(hf_json_double(hf_span_of(digits), &value) && value == 1.0);
    value = 77;
    static const char *const bad[] = { "1e400", "-1e400", "true", "\"1\"", "", "null", "[1]" };
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(!hf_json_double(hf_span_of(bad[i]), &value));
    CHECK(!hf_json_double((struct hf_span) { NULL, 0 }, &value));
    CHECK(value == 77);
}

TEST(only_true_is_true)
{
    CHECK(hf_json_is_true(HF_SPAN("true")));
    static const char *const bad[] = { "false", "1", "\"true\"", "null", "", "tru", "[true]" };
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(!hf_json_is_true(hf_span_of(bad[i])));
    CHECK(!hf_json_is_true((struct hf_span) { NULL, 0 }));
}

/* ---- writing ---- */

static bool written_as(struct hf_span bytes, const char *text)
{
    struct hf_buf out = buf_of(1024);
    hf_json_add_string(&out, bytes);
    const bool same = hf_span_is(hf_buf_span(&out), text);
    if (!same)
        printf("# %.*s\n", HF_FMT(hf_buf_span(&out)));
    CHECK(hf_json_check(hf_buf_span(&out), 0, NULL));
    hf_buf_done(&out);
    return same;
}

TEST(a_string_is_written_with_no_more_escapes_than_it_needs)
{
    CHECK(written_as(HF_SPAN(""), "\"\""));
    CHECK(written_as((struct hf_span) { NULL, 0 }, "\"\""));
    CHECK(written_as(HF_SPAN("a/b'\x7f"), "\"a/b'\x7f\""));
    CHECK(written_as(HF_SPAN("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\""));
    CHECK(written_as((struct hf_span) { "\0\x01\x1f", 3 }, "\"\\u0000\\u0001\\u001f\""));
    CHECK(written_as(HF_SPAN("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
                     "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""));
}

TEST(bytes_that_are_not_utf8_are_written_as_replacement_characters)
{
    CHECK(written_as(HF_SPAN("a\xff"
                             "b"),
                     "\"a\xef\xbf\xbd"
                     "b\""));
    CHECK(written_as(HF_SPAN("\xc3"), "\"\xef\xbf\xbd\""));
    CHECK(written_as(HF_SPAN("\xc3\xa4\xc3"), "\"\xc3\xa4\xef\xbf\xbd\""));
    CHECK(written_as(HF_SPAN("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
    CHECK(written_as(HF_SPAN("\xff\n"), "\"\xef\xbf\xbd\\n\""));
}

TEST(what_is_written_as_a_string_reads_back_the_same)
{
    struct hf_buf bytes = buf_of(4096);
    for (unsigned c = 0; c < 0x80; c++)
        hf_buf_add_char(&bytes, (char)c);
    hf_buf_add_str(&bytes, "0123456789abcdef \xc3\xa4\xe2\x82\xac plain again \xf0\x9f\x98\x80");
    const struct hf_span all = hf_buf_span(&bytes);
    for (size_t from = 0; from < all.n; from++) {
        struct hf_span part = hf_span_from(all, from);
        if (((unsigned char)part.p[0] & 0xc0) == 0x80)
            continue;
        struct hf_buf text = buf_of(4096), back = buf_of(4096);
        hf_json_add_string(&text, part);
        CHECK(hf_json_unescape(hf_buf_span(&text), &back));
        CHECK(hf_span_eq(hf_buf_span(&back), part));
        CHECK(hf_json_string_is(hf_buf_span(&text), part));
        hf_buf_done(&text);
        hf_buf_done(&back);
    }
    hf_buf_done(&bytes);
}

TEST(commas_stand_between_members_and_nowhere_else)
{
    struct hf_buf out = buf_of(256);
    hf_json_add_key(&out, "bare");
    CHECK_SPAN(hf_buf_span(&out), "\"bare\":");
    hf_buf_clear(&out);
    hf_buf_add_char(&out, '[');
    hf_json_add_key(&out, "a");
    CHECK_SPAN(hf_buf_span(&out), "[\"a\":");
    hf_buf_clear(&out);
    hf_json_add_comma(&out);
    CHECK_EQ(hf_buf_len(&out), 0);
    hf_buf_add_char(&out, '{');
    hf_json_add_key(&out, "a");
    hf_json_add_comma(&out);
    hf_buf_add_char(&out, '[');
    for (int i = 0; i < 2; i++) {
        hf_json_add_comma(&out);
        hf_buf_add_char(&out, '{');
        hf_json_add_comma(&out);
        hf_json_add_key(&out, "b\"");
        hf_json_add_string(&out, HF_SPAN("{"));
        hf_json_add_key(&out, "c");
        hf_buf_add_str(&out, "0}");
    }
    hf_buf_add_str(&out, "]}");
    CHECK_SPAN(hf_buf_span(&out), "{\"a\":[{\"b\\\"\":\"{\",\"c\":0},"
                                  "{\"b\\\"\":\"{\",\"c\":0}]}");
    hf_buf_done(&out);
}
