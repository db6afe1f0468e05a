/* test_errors.c - the errors a client sees, against DESIGN 7's table. */
#include "test.h"
#include "core/machine/errors.h"
#include "wire/json.h"

/* DESIGN 7, written down a second time. */
static const struct {
    enum hf_error error;
    int code;
    const char *name;
    bool dispatched;
    const char *retry;
} table[] = {
    { HF_ERROR_UNAVAILABLE, -31001, "unavailable", false, "later" },
    { HF_ERROR_DIES_ON_IT, -31001, "unavailable", false, "no" },
    { HF_ERROR_OUTCOME_UNKNOWN, -31002, "outcome_unknown", true, "check_first" },
    { HF_ERROR_DISABLED, -31003, "disabled", false, "no" },
    { HF_ERROR_PERMANENTLY_FAILED, -31004, "permanently_failed", false, "later" },
    { HF_ERROR_OVERLOADED, -31005, "overloaded", false, "later" },
    { HF_ERROR_REQUEST_TOO_LARGE, -31006, "too_large", false, "no" },
    { HF_ERROR_RESULT_TOO_LARGE, -31006, "too_large", true, "check_first" },
    { HF_ERROR_DENIED, -31007, "denied", false, "no" },
    { HF_ERROR_KEY_CONFLICT, -31008, "key_conflict", false, "no" },
    { HF_ERROR_REJECTED, -31009, "rejected", false, "no" },
    { HF_ERROR_REJECTED_LATE, -31009, "rejected", true, "check_first" },
    { HF_ERROR_STATE_LOST, -31010, "state_lost", false, "now" },
};
enum { ROWS = sizeof table / sizeof *table };

static struct hf_span data(struct hf_span error, const char *key)
{
    return hf_json_path(error, 2, (struct hf_span[]) { HF_SPAN("data"), hf_span_of(key) });
}

static bool is_string(struct hf_span value, const char *text)
{
    return hf_json_string_is(value, hf_span_of(text));
}

/* @field A13: a failure says for machines what happened and what to do | DESIGN 7: own codes */
/* @field A3: each way to fail has a code of its own */
/* The error, or the result, of a whole answer. */
static struct hf_span written(struct hf_buf *out, enum hf_error error,
                              const struct hf_error_facts *facts, enum hf_failure_form form)
{
    struct hf_json_error bad;
    hf_buf_add_str(out, "{\"id\":1");
    hf_error_write(out, error, facts, form);
    if (!hf_json_check(hf_buf_span(out), 10, &bad))
        return (struct hf_span) { NULL, 0 };
    return hf_json_get(hf_buf_span(out),
                       form == HF_AS_ERROR ? HF_SPAN("error") : HF_SPAN("result"));
}

TEST(each_error_has_its_code_says_whether_it_was_dispatched_and_what_to_do)
{
    CHECK_EQ((int)ROWS, (int)HF_ERROR_COUNT);
    for (size_t i = 0; i < ROWS; i++) {
        struct hf_buf out;
        hf_buf_init(&out, 4096);
        const struct hf_error_facts facts = {
            .sentence = HF_SPAN("A sentence."),
            .reason = HF_SPAN("why"),
            .server = HF_SPAN("s"),
            .state = HF_SPAN("connected"),
            .evidence = table[i].dispatched ? HF_EVIDENCE_DISPATCHED : HF_EVIDENCE_UNREAD,
            .generation = 7,
            .retry_after_ms = -1,
        };
        const struct hf_span error = written(&out, table[i].error, &facts, HF_AS_ERROR);
        int64_t code;
        CHECK(hf_json_int(hf_json_get(error, HF_SPAN("code")), &code) && code == table[i].code);
        CHECK(is_string(hf_json_get(error, HF_SPAN("message")), "A sentence."));
        CHECK_SPAN(data(error, "dispatched"), table[i].dispatched ? "true" : "false");
        CHECK_SPAN(data(error, "retrySafe"), table[i].dispatched ? "false" : "true");
        CHECK(is_string(data(error, "retry"), table[i].retry));
        CHECK(is_string(data(error, "evidence"), table[i].dispatched ? "dispatched" : "unread"));
        CHECK(is_string(data(error, "server"), "s") &&
              is_string(data(error, "state"), "connected"));
        CHECK_SPAN(data(error, "generation"), "7");
        CHECK(is_string(data(error, "reason"), "why"));
        CHECK_EQ(data(error, "retryAfterMs").p, NULL);
        CHECK_EQ(hf_error_code(table[i].error), table[i].code);
        CHECK_STR(hf_error_name(table[i].error), table[i].name);
        CHECK_EQ(hf_error_dispatched(table[i].error), table[i].dispatched);
        hf_buf_done(&out);
    }
}

TEST(our_codes_lie_outside_of_what_json_rpc_reserves)
{
    for (int i = 0; i < HF_ERROR_COUNT; i++)
        CHECK(hf_error_code((enum hf_error)i) > -32000);
}

TEST(what_is_not_known_is_left_out_and_the_reason_is_at_least_the_name)
{
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    const struct hf_error_facts facts = { .sentence = HF_SPAN("x"), .retry_after_ms = 0 };
    const struct hf_span error = written(&out, HF_ERROR_OVERLOADED, &facts, HF_AS_ERROR);
    CHECK(data(error, "server").p == NULL && data(error, "generation").p == NULL);
    CHECK_EQ(data(error, "state").p, NULL);
    CHECK_SPAN(data(error, "retryAfterMs"), "0"); /* now is known */
    CHECK(is_string(data(error, "reason"), "overloaded"));
    hf_buf_done(&out);
}

TEST(words_of_peers_in_a_sentence_or_reason_cannot_break_the_message)
{
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    const struct hf_error_facts facts = { .sentence = HF_SPAN("\"},{\n\x01\xff"),
                                          .reason = HF_SPAN("\\\"}"),
                                          .server = HF_SPAN("a\"b"),
                                          .state = HF_SPAN("connected"),
                                          .retry_after_ms = 15000 };
    const struct hf_span error = written(&out, HF_ERROR_UNAVAILABLE, &facts, HF_AS_ERROR);
    CHECK(is_string(data(error, "reason"), "\\\"}") && is_string(data(error, "server"), "a\"b"));
    CHECK_SPAN(data(error, "retryAfterMs"), "15000");
    hf_buf_done(&out);
}

TEST(as_the_result_of_a_tool_it_says_the_same_and_nothing_that_could_be_structured)
{
    for (int is_modern = 0; is_modern < 2; is_modern++) {
        struct hf_buf out;
        int64_t code;
        hf_buf_init(&out, 4096);
        const struct hf_error_facts facts = { .sentence = HF_SPAN("A sentence."),
                                              .reason = HF_SPAN("why"),
                                              .server = HF_SPAN("s"),
                                              .evidence = HF_EVIDENCE_DISPATCHED,
                                              .generation = 7,
                                              .retry_after_ms = -1 };
        const struct hf_span result = written(&out, HF_ERROR_OUTCOME_UNKNOWN, &facts,
                                              is_modern ? HF_AS_MODERN_RESULT : HF_AS_RESULT);
        struct hf_json_iter content = hf_json_iter(hf_json_get(result, HF_SPAN("content")));
        REQUIRE(hf_json_next(&content));
        CHECK(is_string(hf_json_get(content.value, HF_SPAN("text")), "A sentence."));
        CHECK(is_string(hf_json_get(content.value, HF_SPAN("type")), "text"));
        CHECK(hf_json_is_true(hf_json_get(result, HF_SPAN("isError"))));
        CHECK(!hf_json_get(result, HF_SPAN("structuredContent")).p);
        CHECK_EQ(is_modern, is_string(hf_json_get(result, HF_SPAN("resultType")), "complete"));
        const struct hf_span outcome = hf_json_path(
            result, 2, (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_OUTCOME) });
        CHECK(hf_json_int(hf_json_get(outcome, HF_SPAN("code")), &code) && code == -31002);
        CHECK_SPAN(hf_json_get(outcome, HF_SPAN("dispatched")), "true");
        CHECK(is_string(hf_json_get(outcome, HF_SPAN("retry")), "check_first"));
        CHECK(is_string(hf_json_get(outcome, HF_SPAN("reason")), "why"));
        hf_buf_done(&out);
    }
}

static bool why_is(const char *why, const char *in_a_sentence)
{
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    hf_error_add_why(&out, why);
    const bool same = hf_span_is(hf_buf_span(&out), in_a_sentence);
    hf_buf_done(&out);
    return same;
}

TEST(a_sentence_says_why_unless_that_would_make_a_client_send_again)
{
    CHECK(why_is("killed by signal 9", " (killed by signal 9)"));
    CHECK(why_is("exited with status 1", " (exited with status 1)"));
    CHECK(why_is("connection refused", "") && why_is("Connection reset by peer", ""));
    CHECK(why_is("HTTP 503", "") && why_is("gave no new session within 3 ms", ""));
    CHECK(why_is("auth required (HTTP 401 to initialize)", " (auth required)"));
    CHECK(why_is("", "") && why_is("fetch failed", ""));
    char sentence[] = "It said \"no\".";
    hf_error_tidy_sentence(sentence);
    CHECK_STR(sentence, "It said 'no'.");
}

TEST(the_error_of_a_code_is_found_by_whether_it_was_dispatched)
{
    for (size_t i = 0; i < ROWS; i++) {
        enum hf_error error;
        CHECK(hf_error_of_code(table[i].code, table[i].dispatched, &error));
        CHECK_EQ(hf_error_code(error), table[i].code);
        CHECK_EQ(hf_error_dispatched(error), table[i].dispatched);
    }
    enum hf_error error;
    CHECK(!hf_error_of_code(-32602, false, &error) && !hf_error_of_code(-31002, false, &error));
}
