/* test_mcp_headers.c - what of a request stands in headers, in which form, and when two say the
 * same. */
#include "wire/mcp_headers.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is(const char *header, const char *json)
{
    return hf_mcp_value_is(header ? hf_span_of(header) : (struct hf_span) { NULL, 0 },
                           hf_span_of(json));
}

/* ---- names ---- */

TEST(a_name_is_repeated_for_six_methods)
{
    static const struct {
        const char *method, *member;
    } rows[] = {
        { "tools/call", "name" },    { "prompts/get", "name" },    { "resources/read", "uri" },
        { "tasks/get", "taskId" },   { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
        { "tools/list", NULL },      { "resources/list", NULL },   { "completion/complete", NULL },
        { "server/discover", NULL }, { "tools/callx", NULL },      { "", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct hf_span member = hf_mcp_name_member(hf_span_of(rows[i].method));
        CHECK(rows[i].member ? member.p && hf_span_is(member, rows[i].member) : !member.p);
    }
}

/* ---- values ---- */

TEST(a_value_goes_out_as_it_is_unless_a_header_would_change_it)
{
    static const struct {
        const char *json, *header; /* NULL: it has none */
    } rows[] = {
        { "\"us-west1\"", "us-west1" },
        { "\"a b\"", "a b" },
        { "\"\\u0061\\/\"", "a/" },
        { "42", "42" },
        { "-7", "-7" },
        { "true", "true" },
        { "false", "false" },
        { "\"Hello, \\u4e16\\u754c\"", "=?base64?SGVsbG8sIOS4lueVjA==?=" },
        { "\"Hello, \xe4\xb8\x96\xe7\x95\x8c\"", "=?base64?SGVsbG8sIOS4lueVjA==?=" },
        { "\" padded \"", "=?base64?IHBhZGRlZCA=?=" },
        { "\"line1\\nline2\"", "=?base64?bGluZTEKbGluZTI=?=" },
        { "\"\\tindented\"", "=?base64?CWluZGVudGVk?=" },
        { "\"\x7f\"", "=?base64?fw==?=" },
        { "\"=?base64?literal?=\"", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=" },
        { "\"=?base64?open\"", "=?base64?open" },
        { "\"\"", "=?base64?"
                  "?=" },
        { "null", NULL },
        { "{}", NULL },
        { "[1]", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hf_buf out;
        hf_buf_init(&out, 1000);
        const bool has = hf_mcp_value_add(&out, hf_span_of(rows[i].json));
        CHECK_EQ(has, rows[i].header != NULL);
        CHECK_SPAN(hf_buf_span(&out), rows[i].header ? rows[i].header : "");
        if (rows[i].header)
            CHECK(is(rows[i].header, rows[i].json));
        hf_buf_done(&out);
    }
}

TEST(a_header_says_the_same_only_byte_for_byte)
{
    CHECK(is("a", "\"a\"") && is("a", "\"\\u0061\"") && is("", "\"\""));
    CHECK(is("a\tb", "\"a\\tb\"")); /* a header may have one, though ours never do */
    CHECK(!is("A", "\"a\"") && !is("ab", "\"a\"") && !is("a", "\"ab\"") && !is("\"a\"", "\"a\""));
    CHECK(!is(NULL, "\"a\"") && !is(NULL, "\"\"") && !is("", "null") && !is("null", "null"));
    CHECK(is("true", "true") && !is("True", "true") && !is("1", "true") && !is("true", "\"True\""));
    CHECK(is("true", "\"true\"") && !is("", "") && !is("{}", "{}"));
    /* what no header may have, even if the body has it too */
    CHECK(!is("gr\xc3\xbcn", "\"gr\xc3\xbcn\"") && !is("a\x01", "\"a\\u0001\""));
    CHECK(!is("\x7f", "\"\x7f\""));
}

TEST(base64_is_read_strictly)
{
    CHECK(is("=?base64?SGVsbG8=?=", "\"Hello\"") && is("=?base64?SGk=?=", "\"Hi\""));
    CHECK(is("=?base64?SGV5?=", "\"Hey\"") && is("=?base64?SA==?=", "\"H\""));
    CHECK(is("=?base64?8J+Ygv+/?=", "\"\\ud83d\\ude02\\uffff\"") == false); /* other bytes */
    CHECK(is("=?base64?8J+Ygg==?=", "\"\\ud83d\\ude02\""));
    static const char *const broken[] = {
        "=?base64?SGVsbG8?=",   /* no padding */
        "=?base64?SGVsbG8==?=", /* too much of it */
        "=?base64?SGVs!!!bG8=?=", "=?base64?SGVs bG8=?=", "=?base64?SGVsbG9=?=", /* bits that mean
                                                                                    nothing */
        "=?base64?SB==?=",        "=?base64?SGVsbG8-?=", /* the alphabet of URLs */
        "=?base64?=SGVsbG8?=",    "=?base64?SG=sbG8=?=",  "=?base64?====?=",     "=?base64?S===?=",
    };
    for (size_t i = 0; i < COUNT(broken); i++)
        CHECK(!is(broken[i], "\"Hello\"") && !is(broken[i], "\"H\"") && !is(broken[i], "\"\""));
    /* without both ends, or in other letters, it is text */
    CHECK(is("=?base64?SGk=", "\"=?base64?SGk=\"") && is("SGk=?=", "\"SGk=?=\""));
    CHECK(is("=?BASE64?SGk=?=", "\"=?BASE64?SGk=?=\"") && !is("=?BASE64?SGk=?=", "\"Hi\""));
    CHECK(is("=?base64?=", "\"=?base64?=\"")); /* both ends, but the same characters */
}

TEST(numbers_are_compared_by_their_value)
{
    CHECK(is("42", "42") && is("42.0", "42") && is("42", "42.0") && is("4.2e1", "42"));
    CHECK(is("-0", "0") && is("=?base64?NDIuMA==?=", "42"));
    CHECK(!is("43", "42") && !is("042", "42") && !is("+42", "42") && !is("0x2a", "42"));
    CHECK(!is("\"42\"", "42") && !is("", "0") && !is("nan", "0") && !is("true", "1"));
    CHECK(!is("42.0", "\"42\"")); /* that is text */
    CHECK(!is("[42]", "42") && !is("1e400", "1e401"));
}

/* ---- annotations ---- */

#define STRING(name) "{\"type\":\"string\",\"x-mcp-header\":\"" name "\"}"
#define OBJECT(in)   "{\"type\":\"object\",\"properties\":{" in "}}"

static bool is_faulty(const char *schema)
{
    return hf_mcp_schema_fault(hf_span_of(schema)) != NULL;
}

TEST(marks_are_good_on_scalars_that_are_reached_by_properties_alone)
{
    static const char *const good[] = {
        "",
        "true",
        "{}",
        OBJECT(""),
        OBJECT("\"a\":" STRING("A")),
        OBJECT("\"a\":" STRING("A") ",\"b\":" STRING("B")),
        OBJECT("\"a\":{\"type\":\"integer\",\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"type\":\"boolean\",\"x-mcp-header\":\"!#$%&'*+-.^_`|~09azAZ\"}"),
        OBJECT("\"a\":" OBJECT("\"b\":" OBJECT("\"c\":" STRING("C")))),
        OBJECT("\"properties\":" STRING("A")),
        OBJECT("\"items\":" STRING("A")),
        /* not a mark: a value, or a property of that name */
        OBJECT("\"a\":{\"type\":\"object\",\"default\":{\"x-mcp-header\":\"A\"}}"),
        OBJECT("\"a\":{\"enum\":[{\"x-mcp-header\":1}],\"const\":{\"x-mcp-header\":1},"
               "\"examples\":[{\"x-mcp-header\":1}]}"),
        OBJECT("\"x-mcp-header\":{\"type\":\"string\"}"),
        OBJECT("\"a\":{\"type\":\"string\",\"description\":\"says \\\"x-mcp-header\\\"\"}"),
    };
    static const char *const bad[] = {
        "{\"x-mcp-header\":\"A\"}",
        "{\"type\":\"string\",\"x-mcp-header\":\"A\"}",
        OBJECT("\"a\":" STRING("")),
        OBJECT("\"a\":" STRING("a b")),
        OBJECT("\"a\":" STRING("a:b")),
        OBJECT("\"a\":" STRING("a\\r\\nb")),
        OBJECT("\"a\":" STRING("gr\xc3\xbcn")),
        OBJECT("\"a\":{\"type\":\"string\",\"x-mcp-header\":7}"),
        OBJECT("\"a\":{\"type\":\"string\",\"x-mcp-header\":null}"),
        OBJECT("\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"type\":\"object\",\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"type\":\"array\",\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"type\":\"null\",\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":" STRING("A") ",\"b\":" STRING("a")),
        OBJECT("\"a\":" STRING("A") ",\"b\":" OBJECT("\"c\":" STRING("A"))),
        OBJECT("\"a\":{\"type\":\"array\",\"items\":" STRING("A") "}"),
        OBJECT("\"a\":{\"type\":\"array\",\"prefixItems\":[" STRING("A") "]}"),
        OBJECT("\"a\":{\"anyOf\":[" STRING("A") "]}"),
        OBJECT("\"a\":{\"oneOf\":[" STRING("A") "]}"),
        OBJECT("\"a\":{\"allOf\":[" STRING("A") "]}"),
        OBJECT("\"a\":{\"not\":" STRING("A") "}"),
        OBJECT("\"a\":{\"if\":" STRING("A") "}"),
        OBJECT("\"a\":{\"then\":" STRING("A") "}"),
        "{\"additionalProperties\":" STRING("A") "}",
        "{\"patternProperties\":{\"^a\":" STRING("A") "}}",
        "{\"dependentSchemas\":{\"a\":" STRING("A") "}}",
        "{\"$defs\":{\"a\":" STRING("A") "}}",
        "{\"definitions\":{\"default\":" STRING("A") "}}",
        "{\"allOf\":[" OBJECT("\"a\":" STRING("A")) "]}",
    };
    for (size_t i = 0; i < COUNT(good); i++)
        CHECK(!is_faulty(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(is_faulty(bad[i]));
}

TEST(there_may_be_64_marks_and_32_levels)
{
    struct hf_buf schema;
    hf_buf_init(&schema, 1 << 20);
    for (int count = 64; count <= 65; count++) {
        hf_buf_clear(&schema);
        hf_buf_add_str(&schema, "{\"properties\":{");
        for (int i = 0; i < count; i++)
            hf_buf_printf(&schema, "%s\"a%d\":{\"type\":\"string\",\"x-mcp-header\":\"A%d\"}",
                          i ? "," : "", i, i);
        hf_buf_add_str(&schema, "}}");
        CHECK_EQ(hf_mcp_schema_fault(hf_buf_span(&schema)) != NULL, count == 65);
    }
    for (int levels = 33; levels <= 34; levels++) {
        hf_buf_clear(&schema);
        for (int i = 0; i < levels; i++)
            hf_buf_add_str(&schema, "{\"properties\":{\"a\":");
        hf_buf_add_str(&schema, STRING("A"));
        for (int i = 0; i < levels; i++)
            hf_buf_add_str(&schema, "}}");
        CHECK_EQ(hf_mcp_schema_fault(hf_buf_span(&schema)) != NULL, levels == 34);
    }
    hf_buf_clear(&schema); /* and a hostile one costs neither the stack nor time */
    for (int i = 0; i < 400; i++)
        hf_buf_add_str(&schema, "{\"not\":");
    hf_buf_add_str(&schema, STRING("A"));
    for (int i = 0; i < 400; i++)
        hf_buf_add_char(&schema, '}');
    CHECK(hf_mcp_schema_fault(hf_buf_span(&schema)) != NULL);
    hf_buf_done(&schema);
}

/* ---- arguments ---- */

static bool note(void *context, struct hf_span name, struct hf_span value)
{
    struct hf_buf *out = context;
    hf_buf_printf(out, "%.*s=%.*s ", HF_FMT(name), HF_FMT(value));
    return !hf_span_is(name, "Stop");
}

static bool params_are(const char *schema, const char *arguments, const char *expected)
{
    struct hf_buf out;
    hf_buf_init(&out, 10000);
    const bool to_the_end = hf_mcp_params(hf_span_of(schema), hf_span_of(arguments), note, &out);
    const bool same = hf_span_is(hf_buf_span(&out), expected);
    if (!same)
        printf("# %.*s\n", HF_FMT(hf_buf_span(&out)));
    hf_buf_done(&out);
    return same && to_the_end == !strstr(expected, "Stop=");
}

TEST(each_marked_argument_that_has_a_value_is_told_with_the_name_of_its_header)
{
    static const char schema[] = OBJECT("\"a\":" STRING(
        "A") ",\"plain\":{\"type\":\"string\"},"
             "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
             "\"in\":" OBJECT("\"b\":" STRING("B") ",\"deep\":" OBJECT("\"c\":" STRING("C"))));
    CHECK(params_are(schema, "{\"a\":\"x\",\"plain\":\"y\",\"n\":-5}", "A=\"x\" N=-5 "));
    CHECK(params_are(schema, "{\"in\":{\"b\":\"y\",\"deep\":{\"c\":true}}}", "B=\"y\" C=true "));
    CHECK(params_are(schema, "{\"b\":\"y\",\"c\":1,\"deep\":{\"c\":2}}", ""));
    CHECK(params_are(schema, "{\"a\":null,\"n\":{},\"in\":[{\"b\":1}]}", ""));
    CHECK(params_are(schema, "{\"in\":\"b\"}", "") && params_are(schema, "{}", ""));
    CHECK(params_are(schema, "", "") && params_are(schema, "[\"x\"]", ""));
    CHECK(params_are("{}", "{\"a\":1}", "") && params_are("true", "{\"a\":1}", ""));
    /* the last of several counts, for us as for servers */
    CHECK(params_are(schema, "{\"a\":\"x\",\"a\":\"y\"}", "A=\"y\" "));
    CHECK(params_are(schema, "{\"a\":\"x\",\"a\":null}", ""));
}

TEST(integers_that_javascript_rounds_have_no_header)
{
    static const char schema[] = OBJECT("\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}");
    CHECK(params_are(schema, "{\"n\":9007199254740991}", "N=9007199254740991 "));
    CHECK(params_are(schema, "{\"n\":-9007199254740991}", "N=-9007199254740991 "));
    CHECK(params_are(schema, "{\"n\":9007199254740992}", ""));
    CHECK(params_are(schema, "{\"n\":-9007199254740992}", ""));
    CHECK(params_are(schema, "{\"n\":1e400}", ""));
}

TEST(keys_are_compared_as_they_are_meant)
{
    CHECK(params_are(OBJECT("\"gr\\u00fcn\":" STRING("A")), "{\"gr\xc3\xbcn\":1}", "A=1 "));
    CHECK(params_are(OBJECT("\"gr\xc3\xbcn\":" STRING("A")), "{\"gr\\u00fcn\":1}", "A=1 "));
    CHECK(params_are(OBJECT("\"\\u0061\":" STRING("A")), "{\"\\u0061\":1}", "A=1 "));
    CHECK(params_are(OBJECT("\"\\u0061\":" STRING("A")), "{\"b\":1}", ""));
}

TEST(whoever_has_heard_enough_ends_it)
{
    static const char schema[] = OBJECT(
        "\"a\":" STRING("A") ",\"in\":" OBJECT("\"s\":" STRING("Stop")) ",\"z\":" STRING("Z"));
    CHECK(params_are(schema, "{\"a\":1,\"z\":2}", "A=1 Z=2 "));
    CHECK(params_are(schema, "{\"z\":2,\"in\":{\"s\":3},\"a\":1}", "A=1 Stop=3 "));
}
