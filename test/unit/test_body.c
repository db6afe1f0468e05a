/* test_body.c - what stands in a body that came with an error status; when two refusals are the
 * same; and session ids that are made up. */
#include "core/machine/http_body.h"
#include "test.h"

enum { ID = 65536, DEPTH = 64 };

static struct hf_body body_of(const char *text)
{
    return (struct hf_body) { .text = hf_span_of(text),
                              .type = HF_SPAN("application/json"),
                              .is_whole = true,
                              .is_plain = true,
                              .is_measured = true };
}

static enum hf_reading read_body(struct hf_body body, char answer[200])
{
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    const enum hf_reading reading = hf_body_read(&body, ID, DEPTH, &out);
    (void)snprintf(answer, 200, "%.*s", HF_FMT(hf_buf_span(&out)));
    hf_buf_done(&out);
    return reading;
}

static enum hf_reading reading_of(const char *text)
{
    char answer[200];
    return read_body(body_of(text), answer);
}

TEST(an_answer_is_found_however_oddly_it_is_wrapped_and_made_clean)
{
    static const char *const wrapped[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{\"a\":1.50}}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{\"a\":1.50},\"error\":null}",
        "{\"id\":65536,\"result\":{\"a\":1.50}}",
        "{\"jsonrpc\":2.0,\"id\":65536,\"result\":{\"a\":1.50}}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536.0,\"result\":{\"a\":1.50}}",
        "{\"jsonrpc\":\"2.0\",\"id\":6.5536e4,\"result\":{\"a\":1.50}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"65536\",\"result\":{\"a\":1.50}}",
        "[{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{\"a\":1.50}}]",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":65536,\"result\":{\"a\":1.50}}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{\"a\":1.50}} trailing",
        "{\"id\":7,\"error\":{}}{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{\"a\":1.50}}",
    };
    char answer[200];
    for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++) {
        struct hf_body body = body_of(wrapped[i]);
        CHECK_EQ(read_body(body, answer), HF_READ_RESULT);
        CHECK(strncmp(answer, "{\"jsonrpc\":\"2.0\",\"id\":", 22) == 0);
        CHECK_STR(strrchr(answer, 'r'), "result\":{\"a\":1.50}}");
        body.is_whole = body.is_plain = body.is_measured =
            false; /* it is all there, all the same */
        CHECK_EQ(read_body(body, answer), HF_READ_RESULT);
    }
    CHECK_EQ(reading_of("{\"id\":65536,\"error\":{\"code\":1},\"result\":null}"), HF_READ_ERROR);
}

TEST(what_cannot_be_read_to_its_end_is_unreadable)
{
    static const char *const bad[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}} trailing",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}{}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"id\":7,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{",
        "{\"jsonrpc\":\"2.0\",\"id\":65536}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"method\":\"x\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":65536,\"result\":{},\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
        "{\"body\":{\"id\":65536,\"result\":{}}}",
        "{\"body\":\"{\\\"id\\\":65536,\\\"result\\\":{}}\"}",
        "data: {\"id\":65536}\n\n",
        "oops { 'id': 65536 }",
        "\x1f\x8b\x08zip",
        "caf\xe9",
        "[[[[",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_EQ(reading_of(bad[i]), HF_READ_UNREADABLE);
    char answer[200], deep[2 * DEPTH + 40] = "{\"error\":";
    for (int i = 0; i <= DEPTH; i++)
        (void)strcat(deep, "[");
    for (int i = 0; i <= DEPTH; i++)
        (void)strcat(deep, "]");
    CHECK_EQ(reading_of(strcat(deep, "}")), HF_READ_UNREADABLE);
    struct hf_body body = body_of("Session not found");
    CHECK_EQ(read_body(body, answer), HF_READ_NO_ANSWER);
    body.is_measured = false;
    CHECK_EQ(read_body(body, answer), HF_READ_UNREADABLE);
    body = body_of("{\"error\":\"no session\"}");
    body.is_measured = false; /* but its last brace is there */
    CHECK_EQ(read_body(body, answer), HF_READ_NO_ANSWER);
    body.is_plain = false;
    CHECK_EQ(read_body(body, answer), HF_READ_UNREADABLE);
    body = body_of("");
    CHECK_EQ(read_body(body, answer), HF_READ_NO_ANSWER);
    body.is_measured = false;
    CHECK_EQ(read_body(body, answer), HF_READ_UNREADABLE);
    body = body_of(": nothing\n\n");
    body.type = HF_SPAN("text/event-stream; charset=utf-8");
    CHECK_EQ(read_body(body, answer), HF_READ_UNREADABLE);
}

static bool same(int status, const char *a, const char *b)
{
    const struct hf_body left = body_of(a), right = body_of(b);
    const struct hf_form x = hf_form_of(status, &left, HF_SPAN("mysession"));
    const struct hf_form y = hf_form_of(status, &right, HF_SPAN("another-one"));
    return hf_form_same(&x, &y);
}

TEST(refusals_are_the_same_but_for_ids_and_words_with_digits)
{
    CHECK(same(404, "no session mysession", "no session another-one"));
    CHECK(same(404, "no session 0b1e-77", "no session 91"));
    CHECK_EQ(same(400, "{\"id\":65536,\"error\":{\"code\":-32001}}",
                  "{\"id\":\"a7\",\"error\":{\"code\":-32001}}"),
             false); /* quotes are no digits */
    CHECK(same(400, "{\"id\":65536,\"error\":{\"code\":-32001}}",
               "{\"id\":7,\"error\":{\"code\":-32001}}"));
    CHECK(!same(400, "{\"id\":65536,\"error\":{\"code\":-32001}}",
                "{\"id\":65536,\"error\":{\"code\":-32002}}"));
    CHECK(!same(403, "no such session", "no such file"));
    CHECK(!same(403, "no mysessions", "no another-ones"));
    CHECK(same(404, "", "") && !same(400, "", "") && !same(200, "", ""));
}

TEST(a_refusal_that_says_nothing_or_two_things_is_like_no_other)
{
    static const char *const nothings[] = { " ", "\n", "12345", "{}", "[]", "null", "\"\"", "[7]" };
    for (size_t i = 0; i < sizeof nothings / sizeof *nothings; i++)
        CHECK(!same(400, nothings[i], nothings[i]) && !same(404, nothings[i], nothings[i]));
    CHECK(!same(404, "{\"error\":{\"code\":-32001,\"code\":-32050,\"message\":\"gone\"}}",
                "{\"error\":{\"code\":-32001,\"code\":-32001,\"message\":\"gone\"}}"));
    CHECK(!same(404, "{\"error\":{\"code\":1},\"error\":{\"code\":2}}",
                "{\"error\":{\"code\":1},\"error\":{\"code\":3}}"));
    CHECK(same(400, "gone", "gone") && same(403, "nein: \xc3\xa9", "nein: \xc3\xa9"));
}

TEST(an_error_to_the_letter_is_one_object_with_our_id_and_nothing_twice)
{
    static const char *const others[] = {
        "[{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1}}]",
        "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7.0,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":1}}",
        "{\"id\":7,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1},\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"code\":2}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1}} and more",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}",
    };
    const struct hf_body good = body_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1}}");
    CHECK(hf_body_is_exact_error(&good, 7));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct hf_body body = body_of(others[i]);
        CHECK(!hf_body_is_exact_error(&body, 7));
    }
}

TEST(refusals_of_another_status_or_type_are_others)
{
    struct hf_body a = body_of("no"), b = body_of("no");
    struct hf_form x = hf_form_of(403, &a, HF_SPAN("")), y = hf_form_of(404, &b, HF_SPAN(""));
    CHECK(!hf_form_same(&x, &y));
    b.type = HF_SPAN("text/plain");
    y = hf_form_of(403, &b, HF_SPAN(""));
    CHECK(!hf_form_same(&x, &y));
    const struct hf_form none = { 0 };
    CHECK(!hf_form_same(&none, &none));
}

static double share(void *context)
{
    double *next = context;
    *next = *next * 7.13 + 0.37;
    *next -= (double)(int)*next;
    return *next;
}

static bool has_class_of(char made, char c)
{
    return c >= '0' && c <= '9'   ? made >= '0' && made <= '9'
           : c >= 'a' && c <= 'z' ? made >= 'a' && made <= 'z'
           : c >= 'A' && c <= 'Z' ? made >= 'A' && made <= 'Z'
                                  : made == c;
}

TEST(a_made_up_id_looks_like_the_real_one_and_is_another)
{
    static const struct {
        const char *name;
        size_t from; /* what stands before it is kept */
    } ids[] = {
        { "session-1", 0 },
        { "0b1e5a1c-93aa-4c1e-8f00-aa00bb11cc22", 0 },
        { "ZXlKaGJHY2lPaUpJVXpJMU5pSjk.x_y", 0 },
        { "http://h:80/messages?sessionId=0b1e5a1c", 31 },
        { "http://h:80/messages/abc-123", 21 },
    };
    double seed = 0.5;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const char *name = ids[i].name;
        char *made = hf_made_up(hf_span_of(name), share, &seed);
        REQUIRE(made && strlen(made) == strlen(name));
        CHECK(strcmp(made, name) != 0 && strncmp(made, name, ids[i].from) == 0);
        for (size_t k = 0; name[k]; k++)
            CHECK(has_class_of(made[k], name[k]));
        if (i == 1)
            CHECK(made[14] == '4' && made[19] == '8');
        hf_free(made);
    }
    CHECK(!hf_made_up(HF_SPAN("-_-"), share, &seed) && !hf_made_up(HF_SPAN(""), share, &seed));
    CHECK(!hf_made_up(HF_SPAN("http://h/messages/"), share, &seed));
}
