/*
 * test_input_rounds.c - what modern servers want to know in a call, asked of legacy clients in
 * their own way: it goes on as one call, whatever becomes of either side meanwhile.
 */
#include "engine_fixture.h"

#define CALL   "tools/call"
#define ELICIT "elicitation/create"
#define ROOTS  "roots/list"
#define CAN    "{\"elicitation\":{},\"roots\":{}}"
#define FORM   "{\"method\":\"" ELICIT "\",\"params\":{\"message\":\"Sure?\"}}"
#define LIST   "{\"method\":\"" ROOTS "\"}"
#define DONE   "{\"resultType\":\"complete\",\"content\":[]}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{}}"
#define NEEDS(requests)                                                                            \
    "{\"resultType\":\"input_required\",\"inputRequests\":" requests ",\"requestState\":\"st\"}"

static struct scene modern_server_with(struct hf_settings settings, const char *capabilities)
{
    struct scene s = { .w = world_new() };
    settings.era = HF_ERA_UNKNOWN;
    s.server = add_server(s.w, "s", settings);
    manners_of(s.w, s.server)->is_modern = true;
    settle(s.w);
    s.client = greeted_client_with(s.w, s.server, capabilities);
    s.first = newest_child(s.w, s.server);
    return s;
}

/* Call 1, to which its server needs to know these. */
static struct scene asked_for(const char *capabilities, const char *needs)
{
    struct scene s = modern_server_with(default_settings(), capabilities);
    client_calls(s.client, 1, "echo");
    child_answers(s.first, CALL, needs);
    return s;
}

static void answers_as(struct client *c, const char *method, const char *member, const char *value)
{
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s}",
                HF_FMT(last_heard(c, method)->msg.id), member, value);
}

static struct hf_span last_params(const struct child *c)
{
    return child_last(c, CALL)->msg.params;
}

/* ---- asked and answered ---- */

TEST(a_call_goes_on_once_with_all_the_answers_and_the_state_of_its_server_and_is_answered_once)
{
    struct scene s = asked_for(CAN, NEEDS("{\"a\":" FORM ",\"\\\"b\":" LIST "}"));
    REQUIRE(heard(s.client, ELICIT) == 1 && heard(s.client, ROOTS) == 1);
    CHECK(span_has(last_heard(s.client, ELICIT)->msg.params, "Sure?"));
    CHECK(answers_to(s.client, 1) == 0);
    answers_as(s.client, ELICIT, "result", ACCEPT);
    CHECK(child_got(s.first, CALL) == 1);
    answers_as(s.client, ROOTS, "result", "{\"roots\":[1.50]}");
    REQUIRE(child_got(s.first, CALL) == 2);
    CHECK(span_has(last_params(s.first), "\"inputResponses\":{\"a\":" ACCEPT
                                         ",\"\\\"b\":{\"roots\":[1.50]}},\"requestState\":\"st\""));
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
    answers_as(s.client, ROOTS, "result", "{\"roots\":[]}"); /* once more, for nothing */
    CHECK(child_got(s.first, CALL) == 2);
    world_end(s.w);
}

TEST(a_server_that_only_gives_a_state_gets_its_call_back_at_once_with_that_state_alone)
{
    struct scene s = asked_for(CAN, "{\"resultType\":\"input_required\",\"requestState\":\"st\"}");
    REQUIRE(child_got(s.first, CALL) == 2);
    CHECK(span_has(last_params(s.first), "\"requestState\":\"st\""));
    CHECK(!span_has(last_params(s.first), "inputResponses"));
    child_answers(s.first, CALL, NEEDS("{\"a\":" FORM "}"));
    answers_as(s.client, ELICIT, "result", ACCEPT);
    child_answers(s.first, CALL, DONE);
    CHECK(has_result(s.client, 1) && child_got(s.first, CALL) == 3);
    world_end(s.w);
}

TEST(a_client_is_not_asked_what_it_did_not_say_it_can_answer_and_its_call_fails_at_once)
{
    static const char *const cannot[] = { "{}", "{\"roots\":{}}", "{\"sampling\":{}}" };
    for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++) {
        struct scene s = asked_for(cannot[i], NEEDS("{\"b\":" LIST ",\"a\":" FORM "}"));
        CHECK(heard(s.client, ELICIT) == 0 && heard(s.client, ROOTS) == 0);
        CHECK(error_of(s.client, 1) == -32603 && answers_to(s.client, 1) == 1);
        CHECK(child_got(s.first, CALL) == 1);
        world_end(s.w);
    }
    struct scene s = asked_for(CAN, NEEDS("{\"a\":{\"method\":\"tools/list\"}}"));
    CHECK(heard(s.client, "tools/list") == 0 && error_of(s.client, 1) == -32603);
    world_end(s.w);
}

TEST(an_error_of_the_client_is_a_cancelled_form_and_else_the_end_of_its_call)
{
    struct scene s = asked_for(CAN, NEEDS("{\"a\":" FORM "}"));
    answers_as(s.client, ELICIT, "error", "{\"code\":-1,\"message\":\"no\"}");
    REQUIRE(child_got(s.first, CALL) == 2);
    CHECK(span_has(last_params(s.first), "{\"a\":{\"action\":\"cancel\"}}"));
    child_answers(s.first, CALL, NEEDS("{\"a\":" FORM ",\"b\":" LIST "}"));
    answers_as(s.client, ROOTS, "error", "{\"code\":-1,\"message\":\"no\"}");
    CHECK(error_of(s.client, 1) == -32603 && answers_to(s.client, 1) == 1);
    answers_as(s.client, ELICIT, "result", ACCEPT); /* nobody waits for it any more */
    CHECK(child_got(s.first, CALL) == 2 && answers_to(s.client, 1) == 1);
    world_end(s.w);
}

TEST(a_server_that_never_has_enough_is_not_sent_the_call_for_ever)
{
    struct scene s = asked_for(CAN, NEEDS("{\"a\":" FORM "}"));
    for (int round = 1; round <= 32; round++) {
        REQUIRE(heard(s.client, ELICIT) == (size_t)round && answers_to(s.client, 1) == 0);
        answers_as(s.client, ELICIT, "result", ACCEPT);
        child_answers(s.first, CALL, NEEDS("{\"a\":" FORM "}"));
    }
    CHECK(heard(s.client, ELICIT) == 32 && child_got(s.first, CALL) == 33);
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "reason", "\"too_many_rounds\""));
    world_end(s.w);
}

/* ---- what happens meanwhile ---- */

TEST(the_clock_of_a_call_stands_still_while_its_client_is_asked)
{
    struct hf_settings settings = default_settings();
    settings.call_timeout_ms = 1000;
    struct scene s = modern_server_with(settings, CAN);
    client_calls(s.client, 1, "echo");
    advance(s.w, 600);
    child_answers(s.first, CALL, NEEDS("{\"a\":" FORM "}"));
    advance(s.w, 3600000);
    CHECK(answers_to(s.client, 1) == 0);
    answers_as(s.client, ELICIT, "result", ACCEPT);
    advance(s.w, 399);
    CHECK(child_got(s.first, CALL) == 2 && answers_to(s.client, 1) == 0);
    advance(s.w, 1);
    CHECK(error_of(s.client, 1) == -31002);
    world_end(s.w);
}

TEST(
    a_server_that_dies_while_the_client_is_asked_has_not_got_the_call_and_the_next_one_gets_it_once)
{
    struct scene s = asked_for(CAN, NEEDS("{\"a\":" FORM "}"));
    child_dies(s.first);
    CHECK(answers_to(s.client, 1) == 0);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && child_got(second, CALL) == 0);
    answers_as(s.client, ELICIT, "result", ACCEPT);
    REQUIRE(child_got(second, CALL) == 1 &&
            span_has(last_params(second), "\"requestState\":\"st\""));
    child_dies(second); /* this one has read it */
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "generation", "2"));
    advance(s.w, 60000);
    struct child *third = newest_child(s.w, s.server);
    CHECK(third != second && IS(s.server, CONNECTED) && child_got(third, CALL) == 0);
    world_end(s.w);
}

TEST(a_server_switched_off_while_the_client_is_asked_ends_its_call_and_no_others)
{
    struct scene s = asked_for(CAN, NEEDS("{\"a\":" FORM ",\"b\":" LIST "}"));
    struct hf_settings settings = default_settings();
    settings.era = HF_ERA_UNKNOWN;
    struct hf_server *other = add_server(s.w, "other", settings);
    manners_of(s.w, other)->is_modern = true;
    settle(s.w);
    struct client *beside = greeted_client_with(s.w, other, CAN);
    client_calls(beside, 1, "echo");
    child_answers(newest_child(s.w, other), CALL, NEEDS("{\"a\":" FORM "}"));
    CHECK(operate(s.w, s.server, HF_OP_DISABLE));
    CHECK(error_of(s.client, 1) == -31003 && answers_to(s.client, 1) == 1);
    CHECK(answers_to(beside, 1) == 0);
    answers_as(s.client, ELICIT, "result", ACCEPT);
    answers_as(s.client, ROOTS, "result", "{\"roots\":[]}");
    CHECK(child_got(s.first, CALL) == 1 && answers_to(s.client, 1) == 1);
    answers_as(beside, ELICIT, "result", ACCEPT);
    CHECK(child_got(newest_child(s.w, other), CALL) == 2);
    world_end(s.w);
}

TEST(a_call_cancelled_while_its_client_is_asked_is_over_and_late_answers_send_nothing)
{
    struct scene s = asked_for(CAN, NEEDS("{\"a\":" FORM "}"));
    client_cancels(s.client, 1);
    answers_as(s.client, ELICIT, "result", ACCEPT);
    advance(s.w, 60000);
    CHECK(child_got(s.first, CALL) == 1 && answers_to(s.client, 1) == 0);
    world_end(s.w);
}
