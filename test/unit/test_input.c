/*
 * test_input.c - legacy clients in front of a modern server that asks in the middle of a call: the
 * client is asked in its own way, and its answers go out with our retry.
 */
#include "input_fixture.h"

/* ---- asked, answered, sent again ---- */

TEST(a_question_is_put_in_the_clients_own_way_and_the_answer_goes_out_with_the_retry)
{
    struct scene s = modern_server();
    (void)client_says_via(s.client, 7,
                          "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"" CALL "\",\"params\":{"
                          "\"name\":\"echo\",\"arguments\":{\"n\":1e2},\"_meta\":{\"mine\":1}}}");
    const struct hf_span first_id = child_last_id(s.first, CALL);
    asks(s.first, "\"k\\u0065y\\\"\":" A_FORM);
    const struct message *question = last_heard(s.client, FORM);
    REQUIRE(question && question->via == 7 && question->msg.kind == HF_MSG_REQUEST);
    CHECK_SPAN(question->msg.params, "{\"message\":\"really?\",\"requestedSchema\":{}}");
    CHECK(child_got(s.first, CALL) == 1 && answers_via(s.client, 7) == 0);
    client_answers(s.client, FORM, ACCEPT);
    REQUIRE_EQ(child_got(s.first, CALL), 2);
    CHECK_SPAN(sent_param(s.first, "inputResponses"), "{\"k\\u0065y\\\"\":" ACCEPT "}");
    CHECK_SPAN(sent_param(s.first, "requestState"), "\"st\\u0061te\"");
    CHECK_SPAN(sent_param(s.first, "arguments"), "{\"n\":1e2}");
    CHECK(span_has(sent_param(s.first, "_meta"), "\"mine\":1"));
    CHECK(span_has(sent_param(s.first, "_meta"), "protocolVersion\":\"2026-07-28\""));
    CHECK(!hf_span_eq(child_last_id(s.first, CALL), first_id));
    child_answers(s.first, CALL, DONE);
    REQUIRE(answer_via(s.client, 7));
    CHECK(span_has(answer_via(s.client, 7)->msg.text, "paid"));
    CHECK_SPAN(answer_via(s.client, 7)->msg.id, "\"x\"");
}

TEST(nothing_is_sent_before_all_questions_of_a_round_are_answered_in_whatever_order)
{
    struct scene s = modern_server();
    client_calls(s.client, 1, "echo");
    asks(s.first, "\"a\":" A_FORM ",\"b\":" A_SAMPLE ",\"c\":" ROOTS);
    CHECK(heard(s.client, FORM) == 1 && heard(s.client, SAMPLING) == 1);
    REQUIRE(last_heard(s.client, "roots/list"));
    CHECK(!last_heard(s.client, "roots/list")->msg.params.p);
    client_answers(s.client, "roots/list", "{\"roots\":[]}");
    client_answers(s.client, SAMPLING, "{\"role\":\"assistant\"}");
    CHECK_EQ(child_got(s.first, CALL), 1);
    client_answers(s.client, SAMPLING,
                   "{\"role\":\"again\"}"); /* it was answered: nobody's answer */
    CHECK_EQ(child_got(s.first, CALL), 1);
    client_answers(s.client, FORM, ACCEPT);
    CHECK_SPAN(sent_param(s.first, "inputResponses"),
               "{\"c\":{\"roots\":[]},\"b\":{\"role\":\"assistant\"},\"a\":" ACCEPT "}");
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

TEST(every_round_has_a_state_and_answers_of_its_own)
{
    struct scene s = modern_server();
    client_calls(s.client, 1, "echo");
    asks_with(s.first, "\"k\":" A_FORM, ",\"requestState\":\"one\"");
    client_answers(s.client, FORM, "{\"action\":\"decline\"}");
    asks_with(s.first, "\"k\":" A_FORM, ""); /* the same key again, and no state */
    CHECK_EQ(heard(s.client, FORM), 2);
    client_answers(s.client, FORM, ACCEPT);
    CHECK_SPAN(sent_param(s.first, "inputResponses"), "{\"k\":" ACCEPT "}");
    CHECK(!sent_param(s.first, "requestState").p);
    child_answers(s.first, CALL, "{\"resultType\":\"input_required\",\"requestState\":\"three\"}");
    REQUIRE_EQ(child_got(s.first, CALL), 4); /* nothing to ask: at once */
    CHECK(!sent_param(s.first, "inputResponses").p);
    CHECK_SPAN(sent_param(s.first, "requestState"), "\"three\"");
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
}

TEST(a_server_that_never_has_enough_is_not_asked_for_ever)
{
    struct scene s = modern_server();
    client_calls(s.client, 1, "echo");
    for (int i = 0; i < 40 && !error_of(s.client, 1); i++)
        child_answers(s.first, CALL, "{\"resultType\":\"input_required\",\"requestState\":\"x\"}");
    CHECK(is_unknown(s.client, 1, "too_many_rounds") && child_got(s.first, CALL) == 33);
}

TEST(an_answer_on_many_lines_stays_in_the_servers_line)
{
    struct scene s = asked_scene();
    client_answers(s.client, FORM, "{\n\t\"action\":\r\n\"accept\"\n}");
    REQUIRE_EQ(child_got(s.first, CALL), 2);
    CHECK_SPAN(sent_param(s.first, "inputResponses"), "{\"k\":{ \t\"action\":  \"accept\" }}");
    child_answers(s.first, CALL, DONE);
}

/* ---- questions that cannot be put ---- */

TEST(a_question_that_makes_no_sense_is_an_unknown_outcome)
{
    static const char *const results[] = {
        "{\"resultType\":\"input_required\"}",
        "{\"resultType\":\"input_required\",\"inputRequests\":{}}",
        "{\"resultType\":\"input_required\",\"requestState\":7}",
        "{\"resultType\":\"input_required\",\"inputRequests\":[" ROOTS "],\"requestState\":\"x\"}",
        "{\"resultType\":\"input_required\",\"inputRequests\":\"k\",\"requestState\":\"x\"}",
        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":" ROOTS ",\"k\":" ROOTS "}}",
        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":\"roots/list\","
        "\"params\":[]}}}",
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        struct scene s = modern_server();
        client_calls(s.client, 1, "echo");
        child_answers(s.first, CALL, results[i]);
        CHECK(is_unknown(s.client, 1, "malformed_answer") && heard(s.client, "roots/list") == 0);
        CHECK_EQ(child_got(s.first, CALL), 1);
        world_end(s.w);
    }
}

TEST(a_hundred_questions_are_put_and_one_more_is_not)
{
    for (size_t count = 100; count <= 101; count++) {
        struct scene s = modern_server();
        struct hf_buf requests;
        hf_buf_init(&requests, 1 << 16);
        for (size_t i = 0; i < count; i++)
            hf_buf_printf(&requests, "%s\"k%zu\":" ROOTS, i ? "," : "", i);
        hf_buf_add_char(&requests, '\0');
        client_calls(s.client, 1, "echo");
        asks(s.first, hf_buf_span(&requests).p);
        CHECK_EQ(heard(s.client, "roots/list"), count == 100 ? 100 : 0);
        CHECK_EQ(error_of(s.client, 1) == 0, count == 100);
        client_cancels(s.client, 1);
        hf_buf_done(&requests);
        world_end(s.w);
    }
}

TEST(a_client_is_not_asked_what_it_did_not_say_it_can_answer)
{
    static const struct {
        const char *can, *requests;
    } rows[] = {
        { "{}", "\"k\":" A_FORM },
        { "{\"elicitation\":{},\"roots\":{}}", "\"f\":" A_FORM ",\"k\":" A_SAMPLE },
        { "{\"sampling\":{}}", "\"k\":" ROOTS },
        { "{\"elicitation\":{}}", "\"k\":{\"method\":\"" FORM "\",\"params\":{\"mode\":\"url\"}}" },
        { "{\"sampling\":{}}", "\"k\":{\"method\":\"" SAMPLING "\",\"params\":{\"tools\":[]}}" },
        { CAN, "\"k\":{\"method\":\"ping\"}" }, /* and nothing else is asked in this way */
        { CAN, "\"k\":{\"method\":7}" },
        { CAN, "\"k\":7" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = modern_server_in(world_new(), USUAL(), rows[i].can);
        client_calls(s.client, 1, "echo");
        asks(s.first, rows[i].requests);
        CHECK(is_unknown(s.client, 1, "no_such_capability") && child_got(s.first, CALL) == 1);
        CHECK_EQ(heard(s.client, FORM) + heard(s.client, SAMPLING) + heard(s.client, "ping"), 0);
        CHECK_EQ(hf_server_stats(s.server)->failed[HF_ERROR_OUTCOME_UNKNOWN], 1);
        world_end(s.w);
    }
}

/* ---- how clients answer ---- */

TEST(an_error_to_an_elicitation_is_passed_on_as_its_cancel)
{
    struct scene s = asked_scene();
    answers_error(s.client, FORM);
    CHECK_SPAN(sent_param(s.first, "inputResponses"), "{\"k\":{\"action\":\"cancel\"}}");
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1));
}

TEST(an_error_to_anything_else_ends_the_call_and_its_other_questions)
{
    struct scene s = modern_server();
    client_calls(s.client, 1, "echo");
    asks(s.first, "\"a\":" A_FORM ",\"b\":" A_SAMPLE);
    answers_error(s.client, SAMPLING);
    CHECK(is_unknown(s.client, 1, "client_refused"));
    client_answers(s.client, FORM, ACCEPT); /* too late */
    CHECK(child_got(s.first, CALL) == 1 && answers_to(s.client, 1) == 1);
}

TEST(an_answer_that_is_too_large_ends_the_call)
{
    struct scene s = asked_scene();
    char text[100];
    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":",
                   HF_FMT(last_heard(s.client, FORM)->msg.id));
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_span_of(text));
    hf_session_message_oversized(s.client->session, &skim, at(s.w->now_ms));
    settle(s.w);
    CHECK(is_unknown(s.client, 1, "max_message_bytes") && child_got(s.first, CALL) == 1);
}

/* ---- asked in the older way ---- */

TEST(a_modern_server_that_sends_requests_is_told_that_there_are_none)
{
    struct scene s = modern_server();
    client_calls(s.client, 1, "echo");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}");
    CHECK_EQ(heard(s.client, "roots/list"), 0);
    const struct hf_msg *told = &s.first->got.items[s.first->got.count - 1].msg;
    CHECK(told->kind == HF_MSG_ERROR && hf_span_is(told->id, "\"q\""));
    CHECK(span_has(told->error, "-32601"));
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1));
}
