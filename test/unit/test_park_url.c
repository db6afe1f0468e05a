/*
 * test_park_url.c - a server that wants something done before it runs the call at all (-32042): its
 * client is asked, and the first retry is sent to it anew.
 */
#include "park_fixture.h"

static char state[1024];

#define WANTED                                                                                     \
    "{\"mode\":\"url\",\"elicitationId\":\"e1\",\"url\":\"https://x.test/\",\"message\":\"sign\"}"
#define URL_REQUIRED                                                                               \
    "{\"code\":-32042,\"message\":\"sign first\",\"data\":{\"elicitations\":[" WANTED "]}}"

static void wants_url(struct child *c)
{
    const struct hf_span id = child_last_id(c, CALL);
    child_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":" URL_REQUIRED "}", HF_FMT(id));
}

TEST(url_elicitation_required_asks_the_client_and_its_retry_is_sent_anew_once)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    REQUIRE(is_question(s.client, 1));
    CHECK_SPAN(hf_json_get(answer_to(s.client, 1)->msg.result, HF_SPAN("inputRequests")),
               "{\"elicitation-1\":{\"method\":\"elicitation/create\",\"params\":" WANTED "}}");
    CHECK_EQ(status_of(s.server).in_flight, 0);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    retries(s.client, 2, state, YES);
    retries(s.client, 3, state, YES); /* its stream broke */
    retries(s.client, 4, state, NO);
    CHECK_EQ(error_of(s.client, 4), -31008);
    REQUIRE_EQ(child_got(s.first, CALL), 2);
    CHECK(!span_has(child_last(s.first, CALL)->msg.text, "requestState"));
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2) && is_complete(s.client, 3));
    retries(s.client, 5, state, YES);
    CHECK(is_complete(s.client, 5) && child_got(s.first, CALL) == 2);
}

TEST(url_elicitation_required_passes_as_it_is_to_a_client_that_did_not_declare_it)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, "{\"elicitation\":{}}", "");
    wants_url(s.first);
    CHECK_EQ(error_of(s.client, 1), -32042);
}

TEST(url_elicitation_required_again_is_the_next_round_and_a_death_after_that_is_not_repeated)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    retries(s.client, 2, state_in(s.client, 1), NO);
    wants_url(s.first);
    REQUIRE(is_question(s.client, 2));
    CHECK(span_has(answer_to(s.client, 2)->msg.result, "elicitation-2"));
    retries(s.client, 3, state_in(s.client, 2), "{}");
    CHECK_EQ(child_got(s.first, CALL), 3);
    child_dies(s.first);
    CHECK_EQ(error_of(s.client, 3), -31002);
    CHECK_EQ(child_got(newest_child(s.w, s.server), CALL), 0);
}

TEST(a_call_to_be_sent_anew_that_cannot_be_sent_may_be_asked_for_again)
{
    struct scene s = modern_scene_of(SETTINGS(.wait_ms = 1000));
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    retries_via(s.client, 2, 2, state, YES);
    CHECK(answers_to(s.client, 2) == 0 && status_of(s.server).waiting == 1);
    advance(s.w, 1001);
    CHECK(error_of(s.client, 2) == -31001 && data_is(s.client, 2, "dispatched", "false"));
    retries_via(s.client, 3, 3, state, YES);
    client_via_cancelled(s.client, 3); /* withdrawn: not one byte of it was sent */
    CHECK_EQ(status_of(s.server).waiting, 0);
    retries_via(s.client, 4, 4, state, NO);
    child_start(newest_child(s.w, s.server));
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), CALL), 1);
    child_answers(newest_child(s.w, s.server), CALL, RESULT);
    CHECK(is_complete(s.client, 4));
}

TEST(whoever_waits_for_a_call_to_be_sent_anew_is_told_of_the_waiting_under_its_own_token)
{
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"_meta\":{\"progressToken\":\"t%d\",\"io.modelcontextprotocol/protocolVersion\":"
        "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":" CAN "}%s}}";
    struct scene s = modern_scene();
    (void)client_says_via(s.client, 5, request, 1, 1, "");
    wants_url(s.first);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    (void)client_says_via(s.client, 6, request, 2, 2, retry_of(state, YES));
    advance(s.w, 1000);
    CHECK(status_of(s.server).waiting == 1 && answers_to(s.client, 2) == 0);
    CHECK_EQ(heard_via(s.client, 5, "notifications/progress"), 0);
    REQUIRE(heard_via(s.client, 6, "notifications/progress") > 0);
    CHECK(span_has(last_heard(s.client, "notifications/progress")->msg.text, "\"t2\""));
}

TEST(a_call_to_be_sent_anew_that_waits_when_its_client_finishes_was_never_sent)
{
    struct scene s = modern_scene_of(SETTINGS(.wait_ms = 20000));
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    retries(s.client, 2, state, YES);
    hf_session_finish(s.client->session, at(s.w->now_ms));
    advance(s.w, 19999); /* drainMs is for what was sent */
    CHECK_EQ(answers_to(s.client, 2), 0);
    advance(s.w, 1);
    CHECK(error_of(s.client, 2) == -31001 && data_is(s.client, 2, "dispatched", "false"));
    CHECK(hf_session_is_settled(s.client->session));
}

TEST(a_retry_names_the_generation_to_which_its_call_was_sent_anew)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    child_dies(s.first);
    advance(s.w, 30000);
    retries(s.client, 2, state, YES);
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), CALL), 1);
    hf_session_finish(s.client->session, at(s.w->now_ms));
    advance(s.w, 10000);
    CHECK(error_of(s.client, 2) == -31002 && data_is(s.client, 2, "generation", "2"));
}

TEST(a_retry_for_which_there_is_no_room_leaves_a_call_to_be_sent_anew_with_no_server)
{
    struct scene s = modern_scene_with(LIMITS(.max_buffered_bytes = 8000));
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    char more[16000];
    (void)snprintf(more, sizeof more, "%s,\"pad\":\"%08000d\"", retry_of(state, YES), 0);
    calls(s.client, 0, 2, CAN, more);
    CHECK(error_of(s.client, 2) == -31005 && child_got(s.first, CALL) == 1);
    operate(s.w, s.server, HF_OP_REMOVE);
    advance(s.w, PARK_MS);
    retries(s.client, 3, state, YES);
    CHECK_EQ(error_of(s.client, 3), -32602);
}

TEST(a_read_that_was_sent_anew_and_then_asked_about_is_not_repeated)
{
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\","
        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":" CAN "}%s}}";
    struct scene s = modern_scene();
    manners_of(s.w, s.server)->prompts = "[{\"name\":\"p\"}]";
    operate(s.w, s.server, HF_OP_RESTART);
    struct child *child = newest_child(s.w, s.server);
    client_says(s.client, request, 1, "");
    const struct hf_span id = child_last_id(child, "prompts/get");
    child_says(child, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":" URL_REQUIRED "}", HF_FMT(id));
    client_says(s.client, request, 2, retry_of(state_in(s.client, 1), "{}"));
    asks_form(child, 501);
    advance(s.w, GATHER_MS);
    REQUIRE(is_question(s.client, 2));
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 2));
    child_dies(child);
    client_says(s.client, request, 3, retry_of(state, "{\"elicitation-2\":{}}"));
    CHECK_EQ(error_of(s.client, 3), -31002);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "prompts/get"), 0);
}

TEST(a_call_to_be_sent_anew_is_refused_when_its_server_is_removed)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    operate(s.w, s.server, HF_OP_REMOVE);
    advance(s.w, 60000);
    retries(s.client, 2, state, YES);
    CHECK(error_of(s.client, 2) == -32602 && error_says(s.client, 2, "removed"));
    advance(s.w, PARK_MS);
    retries(s.client, 3, state, YES);
    CHECK(error_of(s.client, 3) == -32602 && error_says(s.client, 3, "expired"));
}

/* It may be repeated, and so it waits for the next generation: but one had it. */
TEST(the_retry_of_a_call_that_was_sent_and_waits_to_be_repeated_is_not_told_that_it_never_was)
{
    struct scene s = lone_server(
        SETTINGS(.retry = HF_RETRY_IDEMPOTENT),
        MANNERS(.tools = "[{\"name\":\"echo\",\"annotations\":{\"idempotentHint\":true}}]"));
    s.client = open_client(s.w, s.server);
    calls(s.client, 0, 1, CAN, "");
    wants_url(s.first);
    retries(s.client, 2, state_in(s.client, 1), YES);
    REQUIRE_EQ(child_got(s.first, CALL), 2);
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    CHECK(status_of(s.server).waiting == 1 && answers_to(s.client, 2) == 0);
    hf_session_give_up(s.client->session, at(s.w->now_ms));
    settle(s.w);
    CHECK(error_of(s.client, 2) == -31002 && data_is(s.client, 2, "dispatched", "true"));
}
