/* test_json_skim.c - the id of a text that runs by, wherever the text is cut. */
#include "wire/json.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LONG_128                                                                                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                             \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd"

static const struct {
    const char *text, *id; /* NULL: none */
    bool method;
} cases[] = {
    { "{\"id\":1}", "1", false },
    { "{\"id\":1,\"result\":{}}", "1", false },
    { "{\"jsonrpc\":\"2.0\",\"result\":{\"a\":[1,2]},\"id\":\"abc\"}", "\"abc\"", false },
    { " { \"id\" : -1.5e3 , \"method\" : \"x\" } ", "-1.5e3", true },
    { "\t{\"method\":\"x\",\"id\"\n:\r12345678901234567890.0\t}", "12345678901234567890.0", true },
    { "{\"id\":\"a\\\"b\\\\\",\"x\":1}", "\"a\\\"b\\\\\"", false },
    { "{\"id\":\"\\ud800\\u0000\"}", "\"\\ud800\\u0000\"", false },
    { "{\"id\":\"\"}", "\"\"", false },
    { "{\"id\":0,\"x\":\"\\\\\"}", "0", false },
    /* spelled with escapes */
    { "{\"\\u0069d\":2}", "2", false },
    { "{\"i\\u0064\":3}", "3", false },
    { "{\"\\u0069\\u0064\":4}", "4", false },
    { "{\"\\u006d\\u0065\\u0074\\u0068\\u006f\\u0064\":\"x\",\"id\":5}", "5", true },
    /* other keys, other depths, other places */
    { "{\"x\":{\"id\":1},\"y\":[{\"id\":2}]}", NULL, false },
    { "{\"x\":{\"id\":1,\"method\":2},\"id\":3}", "3", false },
    { "{\"id\":4,\"x\":{\"id\":1,\"method\":2}}", "4", false },
    { "{\"x\":[[],{},\"id\",{\"a\":{}}],\"id\":6}", "6", false },
    { "{\"a\":\"id\",\"b\":\"\\\"id\\\":9,\",\"id\":7}", "7", false },
    { "{\"idd\":1,\"i\":2,\"Id\":3,\"\":4,\"id\\u0000\":5,\"\\\\id\":6}", NULL, false },
    { "{\"a\":\"method\",\"id\":8}", "8", false },
    { "{\"a long key that is certainly none of ours, id\":1,\"id\":9}", "9", false },
    { "{\"a long key with a quote at the limit \\\"id\\\":\":1,\"id\":10}", "10", false },
    { "{\"0123456789012345678901234567890123456\\\"\":1,\"id\":11}", "11", false },
    { "{\"01234567890123456789012345678901234\\\"\":1,\"id\":12}", "12", false },
    { "{\"012345678901234567890123456789012345\\\\\":1,\"id\":13}", "13", false },
    { "{}", NULL, false },
    { "", NULL, false },
    { "   ", NULL, false },
    /* no id that could be answered */
    { "{\"id\":null}", NULL, false },
    { "{\"id\":true,\"x\":1}", NULL, false },
    { "{\"id\":{\"id\":1}}", NULL, false },
    { "{\"id\":[1]}", NULL, false },
    { "{\"id\":1,\"id\":null}", NULL, false },
    { "{\"id\":1,\"x\":2,\"\\u0069d\":[3]}", NULL, false },
    /* of several the last counts */
    { "{\"id\":1,\"id\":2}", "2", false },
    { "{\"id\":null,\"id\":1}", "1", false },
    { "{\"id\":1,\"x\":2,\"\\u0069d\":3}", "3", false },
    { "[{\"id\":1}]", NULL, false },
    { "\"id\"", NULL, false },
    { "1", NULL, false },
    /* broken texts: no id rather than a wrong one */
    { "{\"id\":1}{\"id\":2}", NULL, false },
    { "{\"x\":1}{\"id\":2}", NULL, false },
    { "{\"a\":1,{\"id\":5}}", NULL, false },
    { "{\"id\":1}x", NULL, false },
    { "x{\"id\":1}", NULL, false },
    { "{\"id\":01}", NULL, false },
    { "{\"id\":1x}", NULL, false },
    { "{\"id\":1-}", NULL, false },
    { "{\"id\":-}", NULL, false },
    { "{\"id\":\"\x01\"}", NULL, false },
    { "{\"id\":\"\xff\"}", NULL, false },
    { "{\"id\":\"\\q\"}", NULL, false },
    { "{\"id\":12", NULL, false },
    { "{\"id\":\"ab", NULL, false },
    { "{\"id\" 1}", NULL, false },
    { "{\"id\":", NULL, false },
    { "{\"id\"", NULL, false },
    { "{\"id\":14,\"x\":\"cut", "14", false },
    /* exactly as long as may be, and one byte longer */
    { "{\"id\":\"" LONG_128 "\"}", "\"" LONG_128 "\"", false },
    { "{\"id\":\"" LONG_128 "x\",\"id2\":1}", NULL, false },
    { "{\"id\":\"" LONG_128 "\\\"\",\"id2\":1,\"method\":2}", NULL, true },
    { "{\"id\":\"" LONG_128 "\\\\\",\"id2\":1,\"method\":2}", NULL, true },
};

static bool gives(const struct hf_json_skim *s, const char *id, bool method)
{
    const struct hf_span got = hf_json_skim_id(s);
    const bool same = id ? hf_span_is(got, id) : got.n == 0;
    return same && hf_json_skim_has_method(s) == method;
}

TEST(the_top_level_id_is_found_or_none_is)
{
    CHECK_EQ(strlen(LONG_128) + 2, HF_JSON_SKIM_ID_MAX);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_json_skim s;
        hf_json_skim_init(&s);
        hf_json_skim_feed(&s, hf_span_of(cases[i].text));
        if (!gives(&s, cases[i].id, cases[i].method))
            printf("# %s gave %.*s\n", cases[i].text, HF_FMT(hf_json_skim_id(&s)));
        CHECK(gives(&s, cases[i].id, cases[i].method));
    }
}

TEST(a_cut_at_any_byte_changes_nothing)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hf_span text = hf_span_of(cases[i].text);
        for (size_t cut = 0; cut <= text.n; cut++) {
            struct hf_json_skim s;
            hf_json_skim_init(&s);
            hf_json_skim_feed(&s, (struct hf_span) { text.p, cut });
            hf_json_skim_feed(&s, (struct hf_span) { NULL, 0 });
            hf_json_skim_feed(&s, hf_span_from(text, cut));
            CHECK(gives(&s, cases[i].id, cases[i].method));
        }
    }
}

TEST(one_byte_at_a_time_changes_nothing)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_json_skim s;
        hf_json_skim_init(&s);
        for (const char *p = cases[i].text; *p; p++)
            hf_json_skim_feed(&s, (struct hf_span) { p, 1 });
        CHECK(gives(&s, cases[i].id, cases[i].method));
    }
}

TEST(a_number_of_the_full_length_is_an_id_and_a_longer_one_is_not)
{
    char text[256], digits[HF_JSON_SKIM_ID_MAX + 2];
    for (size_t n = HF_JSON_SKIM_ID_MAX - 1; n <= HF_JSON_SKIM_ID_MAX + 1; n++) {
        memset(digits, '7', n);
        digits[n] = '\0';
        const int length = snprintf(text, sizeof text, "{\"id\":%s,\"method\":0}", digits);
        struct hf_json_skim s;
        hf_json_skim_init(&s);
        hf_json_skim_feed(&s, (struct hf_span) { text, (size_t)length });
        CHECK(gives(&s, n <= HF_JSON_SKIM_ID_MAX ? digits : NULL, true));
    }
}

TEST(an_id_behind_megabytes_is_found)
{
    struct hf_buf text;
    hf_buf_init(&text, 1 << 24);
    hf_buf_add_str(&text, "{\"result\":{\"content\":[{\"text\":\"");
    for (int i = 0; i < 100000; i++)
        hf_buf_add_str(&text, "some text, \\\"id\\\":1, \\\\ ");
    hf_buf_add_str(&text, "\"}],\"deep\":");
    for (int i = 0; i < 100000; i++)
        hf_buf_add_str(&text, "[{\"id\":0,\"a\":");
    hf_buf_add_str(&text, "\"id\"");
    for (int i = 0; i < 100000; i++)
        hf_buf_add_str(&text, "}]");
    hf_buf_add_str(&text, "},\"id\":\"last\"}");
    for (size_t step = 1; step < 100000; step = step * 7 + 1) {
        struct hf_json_skim s;
        hf_json_skim_init(&s);
        for (struct hf_span rest = hf_buf_span(&text); rest.n; rest = hf_span_from(rest, step))
            hf_json_skim_feed(&s, (struct hf_span) { rest.p, rest.n < step ? rest.n : step });
        CHECK(gives(&s, "\"last\"", false));
    }
    hf_buf_done(&text);
}

TEST(an_id_beside_a_result_or_a_version_is_an_answers_and_any_other_is_a_logs)
{
    static const struct {
        const char *text;
        bool is_answer;
    } said[] = {
        { "{\"id\":1,\"level\":\"info\",\"msg\":\"jsonrpc result\"}", false },
        { "{\"id\":1,\"data\":{\"result\":1,\"jsonrpc\":\"2.0\"}}", false },
        { "{\"id\":1,\"error\":\"boom\"}", false },
        { "{\"id\":1,\"result\":{}", true },
        { "{\"r\\u0065sult\":{},\"id\":1,\"x\":\"cut", true },
        { "{\"id\":1,\"jsonrpc\":2}", true },
        { "{\"\\u006a\\u0073\\u006f\\u006e\\u0072\\u0070\\u0063\":\"2.0\",\"id\":1}", true },
        { "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"x\"}", false },
        { "{\"id\":null,\"jsonrpc\":\"2.0\",\"result\":1}", false },
        { "{\"jsonrpc\":\"2.0\",\"result\":1}", false },
    };
    for (size_t i = 0; i < COUNT(said); i++) {
        struct hf_json_skim s;
        hf_json_skim_init(&s);
        hf_json_skim_feed(&s, hf_span_of(said[i].text));
        if (hf_json_skim_is_answer(&s) != said[i].is_answer)
            printf("# %s\n", said[i].text);
        CHECK_EQ(hf_json_skim_is_answer(&s), said[i].is_answer);
    }
}
