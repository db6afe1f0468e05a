/* test_jsonrpc.c - which texts are messages, of which kind, and what is said about the others. */
#include "wire/jsonrpc.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define V            "\"jsonrpc\":\"2.0\","

static enum hf_msg_status parse(const char *text, struct hf_msg *msg, struct hf_err *err)
{
    return hf_msg_parse(hf_span_of(text), 512, msg, err);
}

TEST(each_kind_of_message_is_known_by_its_members)
{
    static const struct {
        const char *text;
        enum hf_msg_kind kind;
    } cases[] = {
        { "{" V "\"id\":1,\"method\":\"ping\"}", HF_MSG_REQUEST },
        { "{" V "\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", HF_MSG_REQUEST },
        { "{" V "\"method\":\"a\",\"params\":[1]}", HF_MSG_NOTIFICATION },
        { "{" V "\"id\":1.5,\"result\":{}}", HF_MSG_RESULT },
        { "{" V "\"id\":1,\"result\":null}", HF_MSG_RESULT },
        { "{" V "\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", HF_MSG_ERROR },
        { "{" V "\"id\":null,\"error\":{}}", HF_MSG_ERROR },
        { "{" V "\"error\":{}}", HF_MSG_ERROR },
        { "{\"method\":\"a\",\"unknown\":1,\"unknown\":2,\"jsonrpc\":\"2.0\"}",
          HF_MSG_NOTIFICATION },
        { "{\"\\u006a\\u0073onrpc\":\"2\\u002e0\",\"m\\u0065thod\":\"a\"}", HF_MSG_NOTIFICATION },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_msg msg;
        struct hf_err err;
        CHECK_EQ(parse(cases[i].text, &msg, &err), HF_MSG_OK);
        CHECK_EQ(msg.kind, cases[i].kind);
        CHECK_SPAN(msg.text, cases[i].text);
    }
}

TEST(the_parts_are_spans_into_the_text_and_keep_their_bytes)
{
    const char *text = " \r\n{ " V "\"id\" : 12345678901234567890.0 , \"method\":\"tools/call\","
                       "\"params\": {\"a\":1e400, \"b\" : \"\\ud800\"} } \n";
    struct hf_msg msg;
    REQUIRE_EQ(parse(text, &msg, NULL), HF_MSG_OK);
    CHECK_SPAN(msg.id, "12345678901234567890.0");
    CHECK_SPAN(msg.method, "tools/call");
    CHECK_SPAN(msg.params, "{\"a\":1e400, \"b\" : \"\\ud800\"}");
    CHECK(msg.params.p > text && msg.params.p < text + strlen(text));
    CHECK(msg.text.p[0] == '{' && msg.text.p[msg.text.n - 1] == '}');
    CHECK(!msg.result.p && !msg.error.p);
    REQUIRE_EQ(parse("{" V "\"id\":\"\\u0061\",\"result\":[ 1 ]}", &msg, NULL), HF_MSG_OK);
    CHECK(hf_span_is(msg.id, "\"\\u0061\"") && hf_span_is(msg.result, "[ 1 ]"));
    CHECK(!msg.method.p && !msg.params.p && !msg.error.p);
    REQUIRE_EQ(parse("{" V "\"id\":null,\"error\":{\"code\":-1}}", &msg, NULL), HF_MSG_OK);
    CHECK(hf_span_is(msg.id, "null") && hf_span_is(msg.error, "{\"code\":-1}"));
}

TEST(what_is_not_json_is_told_apart_from_what_is_no_message)
{
    static const char *const bad[] = {
        "",
        "  ",
        "npm WARN deprecated",
        "{",
        "{\"id\":1",
        "{\"id\":1}}",
        "[1",
        "{\"id\":\"\xff\"}",
        "{\"id\":1,\"id\":2",
        "{\"id\":01}",
        "[}",
        "Server ready",
        "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct hf_msg msg;
        struct hf_err err = { "" };
        CHECK_EQ(parse(bad[i], &msg, &err), HF_MSG_NOT_JSON);
        CHECK(!msg.id.p && !msg.method.p);
        CHECK(strstr(err.text, "at byte "));
    }
    struct hf_msg msg;
    CHECK(hf_msg_parse((struct hf_span) { NULL, 0 }, 512, &msg, NULL) == HF_MSG_NOT_JSON);
    CHECK_EQ(hf_msg_parse(HF_SPAN("{" V "\"method\":\"a\",\"x\":[]}"), 1, &msg, NULL),
             HF_MSG_NOT_JSON);
}

TEST(json_that_is_no_message_is_refused_with_the_id_if_there_is_one)
{
    static const struct {
        const char *text, *what, *id, *method;
    } cases[] = {
        { "[]", "not an object", NULL, NULL },
        { "[{" V "\"id\":1,\"method\":\"a\"}]", "not an object", NULL, NULL },
        { "1", "not an object", NULL, NULL },
        { "null", "not an object", NULL, NULL },
        { "{}", "\"jsonrpc\"", NULL, NULL },
        { "{\"id\":1,\"method\":\"a\"}", "\"jsonrpc\"", "1", "a" },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}", "\"jsonrpc\"", "1", "a" },
        { "{\"jsonrpc\":2.0,\"id\":\"x\",\"method\":\"a\"}", "\"jsonrpc\"", "\"x\"", "a" },
        { "{" V "\"id\":1}", "neither", "1", NULL },
        { "{" V "\"id\":1,\"method\":7}", "\"method\" is not", "1", "7" },
        { "{" V "\"id\":1,\"method\":null}", "\"method\" is not", "1", "null" },
        { "{" V "\"id\":1,\"method\":\"a\\u0062\"}", "escape", "1", "a\\u0062" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":1}", "\"params\"", "1", "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":null}", "\"params\"", "1", "a" },
        { "{" V "\"id\":null,\"method\":\"a\"}", "\"id\"", NULL, "a" },
        { "{" V "\"id\":true,\"method\":\"a\"}", "\"id\"", NULL, "a" },
        { "{" V "\"id\":[1],\"method\":\"a\"}", "\"id\"", NULL, "a" },
        { "{" V "\"id\":{},\"error\":{}}", "\"id\"", NULL, NULL },
        { "{" V "\"id\":null,\"result\":1}", "\"id\"", NULL, NULL },
        { "{" V "\"result\":1}", "no \"id\"", NULL, NULL },
        { "{" V "\"id\":1,\"error\":\"boom\"}", "\"error\"", "1", NULL },
        { "{" V "\"id\":1,\"error\":null}", "\"error\"", "1", NULL },
        { "{" V "\"id\":1,\"result\":1,\"error\":{}}", "more than one", "1", NULL },
        { "{" V "\"id\":1,\"method\":\"a\",\"result\":1}", "more than one", "1", "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"error\":{}}", "more than one", "1", "a" },
        /* a key twice */
        { "{" V "\"id\":1,\"id\":1,\"method\":\"a\"}", "twice", NULL, "a" },
        { "{" V "\"id\":1,\"\\u0069d\":2,\"method\":\"a\"}", "twice", NULL, "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"method\":\"b\"}", "twice", "1", "a" },
        { "{" V "\"result\":1,\"result\":2,\"id\":1}", "twice", "1", NULL },
        { "{" V V "\"id\":\"q\",\"method\":\"a\"}", "twice", "\"q\"", "a" },
        { "{" V "\"id\":null,\"params\":1,\"params\":2}", "twice", NULL, NULL },
        /* also where we and a server could take another of the two */
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":{\"name\":1,\"b\":2,\"n\\u0061me\":3}}",
          "twice", "1", "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":{\"uri\":1,\"uri\":1}}", "twice", "1", "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":1,\"_meta\":1}}", "twice", "1",
          "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":{\"arguments\":{},\"arguments\":{}}}",
          "twice", "1", "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":{\"taskId\":1,\"taskId\":1}}", "twice", "1",
          "a" },
        { "{" V "\"id\":1,\"method\":\"a\",\"params\":{\"ref\":{},\"ref\":{}}}", "twice", "1",
          "a" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_msg msg;
        struct hf_err err = { "" };
        CHECK_EQ(parse(cases[i].text, &msg, &err), HF_MSG_NOT_A_REQUEST);
        const bool id = cases[i].id ? hf_span_is(msg.id, cases[i].id) : !msg.id.p;
        const bool method =
            cases[i].method ? hf_span_is(msg.method, cases[i].method) : !msg.method.p;
        if (!strstr(err.text, cases[i].what) || !id || !method)
            printf("# %s: %s\n", cases[i].text, err.text);
        CHECK(strstr(err.text, cases[i].what));
        CHECK(id);
        CHECK(method);
    }
}

TEST(an_answer_that_is_not_quite_right_is_read_as_clients_would_read_it)
{
    static const struct {
        const char *text, *mended; /* NULL: no answer, or nobody can tell which */
    } cases[] = {
        { "{\"id\":1,\"result\":{}}", "\"id\":1,\"result\":{}" },
        { " {\"jsonrpc\":2.0,\"id\":\"a\",\"result\":null} ", "\"id\":\"a\",\"result\":null" },
        { "{" V "\"error\":null,\"id\":1,\"result\":[ 1 ]}", "\"id\":1,\"result\":[ 1 ]" },
        { "{" V "\"error\":\"\",\"id\":1,\"result\":1}", "\"id\":1,\"result\":1" },
        { "{" V "\"error\":{\"code\":1},\"id\":1,\"result\":null}",
          "\"id\":1,\"error\":{\"code\":1}" },
        { "{" V "\"method\":null,\"params\":null,\"id\":1,\"result\":1}", "\"id\":1,\"result\":1" },
        { "{" V "\"id\":1,\"result\":1,\"\\u0069d\":2}", "\"id\":2,\"result\":1" },
        { "{" V "\"result\":1,\"id\":1,\"result\":2}", "\"id\":1,\"result\":2" },
        { "{\"id\":6.5e1,\"error\":{}}", "\"id\":6.5e1,\"error\":{}" },
        { "{" V "\"id\":1,\"result\":1,\"error\":{}}", NULL },
        { "{" V "\"id\":1,\"result\":1,\"method\":\"a\"}", NULL },
        { "{" V "\"id\":1,\"error\":\"boom\"}", NULL },
        { "{" V "\"id\":1}", NULL },
        { "{" V "\"id\":null,\"result\":1}", NULL },
        { "{" V "\"id\":1,\"id\":null,\"result\":1}", NULL },
        { "{" V "\"result\":1}", NULL },
        { "[{\"id\":1,\"result\":1}]", NULL },
        { "{\"id\":1,\"result\":1}x", NULL },
        { "{\"id\":1,\"result\":[[[[[]]]]]}", NULL }, /* too deep */
        { "", NULL },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_buf out;
        char expected[200] = "kept";
        hf_buf_init(&out, 1000);
        hf_buf_add_str(&out, "kept");
        const bool good = hf_msg_mend_answer(hf_span_of(cases[i].text), 4, &out);
        if (cases[i].mended)
            (void)snprintf(expected, sizeof expected, "kept{" V "%s}", cases[i].mended);
        if (!hf_span_is(hf_buf_span(&out), expected))
            printf("# %s: %.*s\n", cases[i].text, HF_FMT(hf_buf_span(&out)));
        CHECK_EQ(good, cases[i].mended != NULL);
        CHECK_SPAN(hf_buf_span(&out), expected);
        hf_buf_done(&out);
    }
}

TEST(newlines_between_tokens_become_spaces_and_nothing_else_changes)
{
    char text[] = "\n{\r\n\"id\":\t1,\n\n\"x\":\"a\\nb\"}\r";
    hf_msg_to_one_line(text, sizeof text - 1);
    CHECK_STR(text, " {  \"id\":\t1,  \"x\":\"a\\nb\"} ");
    char part[] = "\n\n\n";
    hf_msg_to_one_line(part + 1, 1);
    CHECK_STR(part, "\n \n");
    hf_msg_to_one_line(NULL, 0);
}
