/*
 * test_park.c - a legacy server asks something in the middle of a modern client's call: the call is
 * parked, and the client's retry goes on with it (DESIGN 10). One tools/call at the server,
 * whatever the client does.
 */
#include "park_fixture.h"

/* ---- asked ---- */

TEST(what_a_legacy_server_asks_in_a_call_becomes_the_answer_to_it_and_the_call_stays_in_flight)
{
    struct scene s = modern_scene();
    calls(s.client, 7, 1, CAN, "");
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS - 1);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(is_question(s.client, 1) && answers_to(s.client, 1) == 1);
    CHECK_EQ(answers_via(s.client, 7), 1);
    const struct message *m = answer_to(s.client, 1);
    const struct hf_span requests = hf_json_get(m->msg.result, HF_SPAN("inputRequests"));
    CHECK_SPAN(requests, "{\"elicitation-1\":{\"method\":\"elicitation/create\",\"params\":{"
                         "\"message\":\"really?\",\"requestedSchema\":{\"type\":\"object\","
                         "\"properties\":{}}}}}");
    CHECK(span_has(m->msg.result, "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"fake\""));
    CHECK_EQ(heard(s.client, "elicitation/create"), 0);
    CHECK(status_of(s.server).in_flight == 1 && times_told(s.first, 501) == 0);
}

TEST(requests_within_the_window_form_one_round_and_each_gets_its_own_answer)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    asks_form(s.first, 501);
    advance(s.w, 20);
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"roots/list\"}");
    child_asks(s.first, "503", "sampling/createMessage", "{\"messages\":[],\"maxTokens\":1}");
    advance(s.w, 10);
    REQUIRE(is_question(s.client, 1));
    const struct hf_span asked =
        hf_json_get(answer_to(s.client, 1)->msg.result, HF_SPAN("inputRequests"));
    CHECK(hf_json_get(asked, HF_SPAN("elicitation-1")).p);
    CHECK_SPAN(hf_json_get(asked, HF_SPAN("roots-2")), "{\"method\":\"roots/list\"}");
    CHECK(hf_json_get(asked, HF_SPAN("sampling-3")).p);
    retries(
        s.client, 2, state_in(s.client, 1),
        "{\"nobody-asked\":7,\"sampling-3\":{\"role\":\"assistant\"},\"roots-2\":{\"roots\":[]},"
        "\"elicitation-1\":{\"action\":\"accept\"}}");
    CHECK(span_has(told(s.first, 501), "\"result\":{\"action\":\"accept\"}"));
    CHECK(span_has(told(s.first, 503), "\"result\":{\"role\":\"assistant\"}"));
    CHECK(span_has(s.first->got.items[s.first->got.count - 2].msg.text,
                   "\"id\":\"x\",\"result\":{\"roots\":[]}"));
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2) && child_got(s.first, CALL) == 1);
}

TEST(a_capability_that_the_request_did_not_declare_is_never_used)
{
    static const struct {
        const char *capabilities, *method, *params;
        bool may;
    } rows[] = {
        { "{}", "elicitation/create", "{}", false },
        { "{}", "sampling/createMessage", "{}", false },
        { "{}", "roots/list", "{}", false },
        { "{\"elicitation\":{}}", "elicitation/create", "{}", true },
        { "{\"elicitation\":{}}", "elicitation/create", "{\"mode\":\"form\"}", true },
        { "{\"elicitation\":{}}", "elicitation/create", "{\"mode\":\"url\"}", false },
        { "{\"elicitation\":{\"form\":{}}}", "elicitation/create", "{\"mode\":\"url\"}", false },
        { "{\"elicitation\":{\"url\":{}}}", "elicitation/create", "{\"mode\":\"url\"}", true },
        { "{\"elicitation\":{\"url\":{}}}", "elicitation/create", "{}", false },
        { "{\"sampling\":{}}", "sampling/createMessage", "{}", true },
        { "{\"sampling\":{}}", "sampling/createMessage", "{\"tools\":[]}", false },
        { "{\"sampling\":{\"tools\":{}}}", "sampling/createMessage", "{\"tools\":[]}", true },
        { "{\"sampling\":{}}", "roots/list", "{}", false },
        { "{\"roots\":{}}", "roots/list", "{}", true },
        { CAN, "something/new", "{}", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = modern_scene();
        calls(s.client, 0, 1, rows[i].capabilities, "");
        child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":501,\"method\":\"%s\",\"params\":%s}",
                   rows[i].method, rows[i].params);
        advance(s.w, GATHER_MS);
        CHECK_EQ(is_question(s.client, 1), rows[i].may);
        CHECK_EQ(times_told(s.first, 501), !rows[i].may);
        if (!rows[i].may) {
            CHECK(span_has(told(s.first, 501), "-32601"));
            child_answers(s.first, CALL, RESULT);
            CHECK(is_complete(s.client, 1));
        }
        world_end(s.w);
    }
}

TEST(what_cannot_be_asked_is_refused_together_with_the_answers_to_what_can)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, "{\"elicitation\":{}}", "");
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":500,\"method\":\"roots/list\"}");
    asks_form(s.first, 501);
    child_asks(s.first, "502", "sampling/createMessage", "{\"messages\":[]}");
    advance(s.w, GATHER_MS);
    REQUIRE(is_question(s.client, 1));
    const struct hf_span asked =
        hf_json_get(answer_to(s.client, 1)->msg.result, HF_SPAN("inputRequests"));
    CHECK(span_has(asked, "elicitation-2") && !span_has(asked, "roots") &&
          !span_has(asked, "sampling"));
    CHECK(times_told(s.first, 500) == 0 && times_told(s.first, 502) == 0);
    retries(s.client, 2, state_in(s.client, 1), "{\"elicitation-2\":{\"action\":\"accept\"}}");
    CHECK(span_has(told(s.first, 500), "-32601"));
    CHECK(span_has(told(s.first, 501), "accept"));
    CHECK(span_has(told(s.first, 502), "-32601"));
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2));
}

TEST(outside_of_a_call_a_modern_client_is_asked_nothing)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    child_answers(s.first, CALL, RESULT);
    asks_form(s.first, 501);
    advance(s.w, 1000);
    CHECK(span_has(told(s.first, 501), "error") && heard(s.client, "elicitation/create") == 0);
}

TEST(a_server_of_one_modern_clients_own_asks_it_nothing_outside_of_a_call_either)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", default_settings());
    hf_server_set_clients_own(server);
    settle(w);
    struct client *c = open_client(w, server);
    calls(c, 0, 1, CAN, "");
    struct child *child = newest_child(w, server);
    child_answers(child, CALL, RESULT);
    asks_form(child, 501);
    advance(w, 1000);
    CHECK(is_complete(c, 1) && heard(c, "elicitation/create") == 0);
    CHECK(span_has(told(child, 501), "error"));
}

TEST(a_call_that_its_server_has_not_got_yet_carries_no_question)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    child_stalls(s.first, 10);
    calls(s.client, 0, 2, CAN, "");
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 1) && answers_to(s.client, 2) == 0);
}

TEST(the_newest_call_that_may_be_asked_carries_the_question)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, "{\"elicitation\":{}}", "");
    calls(s.client, 0, 2, "{\"elicitation\":{}}", "");
    calls(s.client, 0, 3, "{\"sampling\":{}}", "");
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    CHECK(answers_to(s.client, 1) == 0 && is_question(s.client, 2));
    CHECK_EQ(answers_to(s.client, 3), 0);
    asks_form(s.first, 502); /* rather one whose client is not being asked already */
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 1));
    child_answers_line(s.first, s.first->got.count - 1, RESULT); /* that of call 3 */
    CHECK(is_complete(s.client, 3));
}

TEST(a_call_that_is_parked_already_does_not_take_what_another_one_is_asked_in_vain)
{
    struct scene s = parked_scene();
    calls(s.client, 0, 2, "{}", ""); /* cannot be asked anything */
    asks_form(s.first, 502);
    advance(s.w, GATHER_MS);
    CHECK(span_has(told(s.first, 502), "-32601"));
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2));
}

TEST(answers_that_a_call_brought_along_are_not_used_for_what_may_be_about_another_call)
{
    struct scene s = modern_scene();
    calls(s.client, 0, 1, CAN, "");
    calls(s.client, 0, 2, CAN,
          ",\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"ok\":true}}}");
    child_asks(s.first, "501", "elicitation/create",
               "{\"message\":\"delete "
               "all?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{},\"required\":["
               "\"ok\"]}}");
    CHECK_EQ(times_told(s.first, 501), 0);
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 2) && times_told(s.first, 501) == 0);
}

TEST(between_several_clients_nobody_is_asked_and_the_error_names_isolation)
{
    struct scene s = modern_scene();
    struct client *other = open_client(s.w, s.server);
    calls(s.client, 0, 1, CAN, "");
    calls(other, 0, 1, CAN, "");
    asks_form(s.first, 501);
    advance(s.w, 1000);
    CHECK(span_has(told(s.first, 501), "isolation"));
    CHECK(answers_to(s.client, 1) == 0 && answers_to(other, 1) == 0);
}

TEST(two_modern_clients_with_a_process_each_are_parked_apart_and_cannot_use_each_others_state)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", SETTINGS(.isolation = HF_ISOLATION_SESSION));
    struct client *clients[2];
    struct child *children[2];
    char states[2][1024];
    for (int i = 0; i < 2; i++) {
        clients[i] = open_client(w, server);
        calls(clients[i], 0, 1, CAN, "");
        children[i] = newest_child(w, server);
        asks_form(children[i], 501);
        advance(w, GATHER_MS);
        (void)snprintf(states[i], sizeof states[i], "%s", state_in(clients[i], 1));
    }
    retries(clients[0], 2, states[1], YES);
    CHECK_EQ(error_of(clients[0], 2), -32602);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(times_told(children[i], 501), 0);
        retries(clients[i], 3, states[i], i ? NO : YES);
        CHECK(span_has(told(children[i], 501), i ? "decline" : "accept"));
        child_answers(children[i], CALL, RESULT);
        CHECK(is_complete(clients[i], 3) && child_got(children[i], CALL) == 1);
    }
}

TEST(a_remote_server_says_which_call_its_request_belongs_to)
{
    struct scene s = remote_scene();
    struct client *a = open_client(s.w, s.server), *b = open_client(s.w, s.server);
    calls(a, 0, 1, CAN, "");
    struct exchange *of_a = last_exchange(s.w, CALL);
    calls(b, 0, 1, CAN, "");
    struct exchange *of_b = last_exchange(s.w, CALL);
    exchange_head(of_a, 200, true);
    exchange_head(of_b, 200, true);
    exchange_says(of_a, "{\"jsonrpc\":\"2.0\",\"id\":501,\"method\":\"elicitation/create\","
                        "\"params\":{\"message\":\"?\"}}");
    advance(s.w, GATHER_MS);
    CHECK(is_question(a, 1) && answers_to(b, 1) == 0);
    retries(a, 2, state_in(a, 1), YES);
    struct exchange *answer = last_exchange(s.w, "response");
    REQUIRE(answer != NULL);
    CHECK(span_has(answer->body.items[0].msg.text, "\"id\":501,\"result\":{\"action\":\"accept\""));
    exchange_says_answer(of_a, RESULT);
    CHECK(is_complete(a, 2) && sent(s.w, CALL) == 2);
    exchange_ends(of_a);
    exchange_says_answer(of_b, RESULT);
    exchange_ends(of_b);
    CHECK(is_complete(b, 1));
}

/* ---- answered ---- */

TEST(the_retry_gets_the_answer_of_the_same_call_whether_its_user_accepts_or_declines)
{
    static const char *const answers[] = { YES, NO, "{\"elicitation-1\":{\"action\":\"cancel\"}}" };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct scene s = parked_scene();
        retries_via(s.client, 9, 2, state_in(s.client, 1), answers[i]);
        CHECK(times_told(s.first, 501) == 1 && answers_to(s.client, 2) == 0);
        const struct hf_span said = hf_json_get(hf_span_of(answers[i]), HF_SPAN("elicitation-1"));
        CHECK(hf_span_eq(hf_json_get(told(s.first, 501), HF_SPAN("result")), said));
        child_answers(s.first, CALL, RESULT);
        CHECK(is_complete(s.client, 2) && answer_via(s.client, 9) == answer_to(s.client, 2));
        CHECK(child_got(s.first, CALL) == 1 && status_of(s.server).in_flight == 0);
        world_end(s.w);
    }
}

TEST(the_same_answers_again_join_while_it_runs_and_get_the_same_answer_after_it)
{
    struct scene s = parked_scene();
    char state[1024];
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    retries_via(s.client, 2, 2, state, YES);
    retries_via(s.client, 3, 3, state, YES);
    CHECK_EQ(times_told(s.first, 501), 1);
    CHECK(answers_to(s.client, 2) == 0 && answers_to(s.client, 3) == 0);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2) && is_complete(s.client, 3));
    advance(s.w, PARK_MS - 1);
    retries_via(s.client, 4, 4, state, YES);
    CHECK(is_complete(s.client, 4));
    CHECK(hf_span_eq(answer_to(s.client, 4)->msg.result, answer_to(s.client, 2)->msg.result));
    for (int id = 2; id <= 4; id++)
        CHECK(answers_to(s.client, id) == 1 && answers_via(s.client, (uint64_t)id) == 1);
    CHECK(times_told(s.first, 501) == 1 && child_got(s.first, CALL) == 1);
}

TEST(other_answers_to_an_answered_round_are_refused_and_never_reach_the_server)
{
    for (int ended = 0; ended < 2; ended++) {
        struct scene s = parked_scene();
        char state[1024];
        (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
        retries(s.client, 2, state, YES);
        if (ended)
            child_answers(s.first, CALL, RESULT);
        retries(s.client, 3, state, NO);
        CHECK_EQ(error_of(s.client, 3), -31008);
        CHECK(data_is(s.client, 3, "dispatched", "false"));
        CHECK(data_is(s.client, 3, "retry", "\"no\""));
        if (!ended)
            child_answers(s.first, CALL, RESULT);
        CHECK(is_complete(s.client, 2));
        CHECK(times_told(s.first, 501) == 1 && child_got(s.first, CALL) == 1);
        world_end(s.w);
    }
}

TEST(answers_that_miss_a_key_are_answered_with_the_question_again_and_nothing_reaches_the_server)
{
    static const char *const rows[] = { "{}", "{\"wrong\":{}}", "{\"Elicitation-1\":{}}" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = parked_scene();
        char state[1024], more[1100];
        (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
        retries(s.client, 2, state, rows[i]);
        CHECK(is_question(s.client, 2) && times_told(s.first, 501) == 0);
        CHECK(hf_span_eq(answer_to(s.client, 2)->msg.result, answer_to(s.client, 1)->msg.result));
        (void)snprintf(more, sizeof more, ",\"requestState\":%s", state); /* no answers at all */
        calls(s.client, 0, 3, CAN, more);
        CHECK(is_question(s.client, 3) && times_told(s.first, 501) == 0);
        retries(s.client, 4, state, YES);
        child_answers(s.first, CALL, RESULT);
        CHECK(is_complete(s.client, 4) && child_got(s.first, CALL) == 1);
        world_end(s.w);
    }
}

TEST(answers_that_are_no_objects_are_refused_and_the_call_waits_on)
{
    static const char *const rows[] = { "7", "[]", "\"x\"", "{\"elicitation-1\":true}" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = parked_scene();
        retries(s.client, 2, state_in(s.client, 1), rows[i]);
        CHECK(error_of(s.client, 2) == -32602 && times_told(s.first, 501) == 0);
        CHECK(error_says(s.client, 2, "inputResponses"));
        retries(s.client, 3, state_in(s.client, 1), YES);
        CHECK_EQ(times_told(s.first, 501), 1);
        world_end(s.w);
    }
}

TEST(every_round_has_its_own_state_and_older_ones_hear_what_was_said_then)
{
    struct scene s = parked_scene();
    char first[1024], second[1024];
    (void)snprintf(first, sizeof first, "%s", state_in(s.client, 1));
    retries(s.client, 2, first, YES);
    advance(s.w, 5000);
    asks_form(s.first, 502);
    advance(s.w, GATHER_MS);
    REQUIRE(is_question(s.client, 2));
    (void)snprintf(second, sizeof second, "%s", state_in(s.client, 2));
    CHECK(strcmp(first, second) != 0);
    CHECK(span_has(answer_to(s.client, 2)->msg.result, "elicitation-2"));
    retries(s.client, 3, first, YES); /* its answer was lost on the way */
    CHECK(hf_span_eq(answer_to(s.client, 3)->msg.result, answer_to(s.client, 2)->msg.result));
    retries(s.client, 4, first, NO);
    CHECK_EQ(error_of(s.client, 4), -31008);
    retries(s.client, 5, second, "{\"elicitation-2\":{\"action\":\"accept\"}}");
    CHECK(times_told(s.first, 501) == 1 && times_told(s.first, 502) == 1);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 5));
    retries(s.client, 6, first, YES);
    CHECK(is_question(s.client, 6));
    CHECK_EQ(child_got(s.first, CALL), 1);
}

TEST(what_is_asked_while_the_client_is_being_asked_comes_in_the_next_round)
{
    struct scene s = parked_scene();
    advance(s.w, 1000);
    asks_form(s.first, 502);
    advance(s.w, 1000);
    CHECK_EQ(answers_to(s.client, 1), 1);
    retries(s.client, 2, state_in(s.client, 1), YES);
    CHECK(times_told(s.first, 501) == 1 && answers_to(s.client, 2) == 0);
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 2) &&
          span_has(answer_to(s.client, 2)->msg.result, "\"elicitation-2"));
    CHECK(!span_has(answer_to(s.client, 2)->msg.result, "\"elicitation-1"));
    retries(s.client, 3, state_in(s.client, 2), "{\"elicitation-2\":{\"action\":\"cancel\"}}");
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 3) && child_got(s.first, CALL) == 1);
}

TEST(the_capabilities_of_the_newest_retry_decide_what_may_be_asked_next)
{
    struct scene s = parked_scene();
    calls(s.client, 0, 2, "{\"roots\":{}}", retry_of(state_in(s.client, 1), YES));
    asks_form(s.first, 502);
    advance(s.w, GATHER_MS);
    CHECK(span_has(told(s.first, 502), "-32601") && answers_to(s.client, 2) == 0);
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":503,\"method\":\"roots/list\"}");
    advance(s.w, GATHER_MS);
    CHECK(is_question(s.client, 2));
}

TEST(a_request_that_its_server_takes_back_is_not_asked_or_its_answer_is_dropped)
{
    struct scene s = modern_scene();
    static const char taken_back[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                     "cancelled\",\"params\":{\"requestId\":%d}}";
    calls(s.client, 0, 1, CAN, "");
    asks_form(s.first, 501);
    child_says(s.first, taken_back, 501);
    advance(s.w, GATHER_MS);
    CHECK_EQ(answers_to(s.client, 1), 0);
    asks_form(s.first, 502);
    asks_form(s.first, 503);
    advance(s.w, GATHER_MS);
    REQUIRE(is_question(s.client, 1));
    child_says(s.first, taken_back, 502);
    CHECK_EQ(heard(s.client, "notifications/cancelled"), 0);
    retries(s.client, 2, state_in(s.client, 1),
            "{\"elicitation-2\":{},\"elicitation-3\":{\"action\":\"accept\"}}");
    CHECK(times_told(s.first, 502) == 0 && times_told(s.first, 503) == 1);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 2));
}

TEST(progress_goes_to_whoever_waits_with_a_token_of_its_own)
{
    struct scene s = modern_scene();
    (void)client_says_via(
        s.client, 5,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"_meta\":{\"progressToken\":\"first\",\"io.modelcontextprotocol/protocolVersion\":"
        "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":" CAN "}}}");
    const struct hf_span token =
        hf_json_path(child_last(s.first, CALL)->msg.params, 2,
                     (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN("progressToken") });
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    (void)client_says_via(
        s.client, 6,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"requestState\":%s,\"inputResponses\":" YES
        ",\"_meta\":{\"progressToken\":\"second\",\"io.modelcontextprotocol/protocolVersion\":"
        "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":" CAN "}}}",
        state_in(s.client, 1));
    child_says(s.first,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":1}}",
               HF_FMT(token));
    CHECK_EQ(heard_via(s.client, 6, "notifications/progress"), 1);
    CHECK_EQ(heard_via(s.client, 5, "notifications/progress"), 0);
    const struct message *news = last_heard(s.client, "notifications/progress");
    CHECK(news && span_has(news->msg.text, "\"second\""));
}

TEST(prompts_and_resources_are_parked_and_continued_like_tools)
{
    static const struct {
        const char *method, *name;
    } rows[] = { { "prompts/get", "\"name\":\"p\"" }, { "resources/read", "\"uri\":\"u://1\"" } };
    for (size_t i = 0; i < 2; i++) {
        struct scene s =
            lone_server(SETTINGS(), MANNERS(.prompts = "[{\"name\":\"p\"}]",
                                            .resources = "[{\"uri\":\"u://1\",\"name\":\"r\"}]"));
        s.client = open_client(s.w, s.server);
        static const char request[] =
            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":" CAN "}%s}}";
        client_says(s.client, request, 1, rows[i].method, rows[i].name, "");
        asks_form(s.first, 501);
        advance(s.w, GATHER_MS);
        REQUIRE(is_question(s.client, 1));
        client_says(s.client, request, 2, rows[i].method, rows[i].name,
                    retry_of(state_in(s.client, 1), YES));
        child_answers(s.first, rows[i].method, RESULT);
        CHECK(is_complete(s.client, 2) && child_got(s.first, rows[i].method) == 1);
        world_end(s.w);
    }
}

/* ---- a client that does not come back ---- */

static struct scene narrow_scene(void)
{
    struct hf_settings settings =
        SETTINGS(.max_in_flight = 1, .ask_ms = 1500, .call_timeout_ms = 5000);
    return modern_scene_of(settings);
}

TEST(what_a_modern_client_does_not_answer_in_ask_ms_is_an_error_to_the_server_which_goes_on)
{
    struct scene s = narrow_scene();
    park_one(&s);
    calls(s.client, 0, 2, CAN, "");
    advance(s.w, 1499);
    CHECK_EQ(times_told(s.first, 501), 0);
    advance(s.w, 1);
    CHECK(times_told(s.first, 501) == 1 && span_has(told(s.first, 501), "askMs"));
    child_answers(s.first, CALL, RESULT);
    CHECK_EQ(child_got(s.first, CALL), 2);
    retries(s.client, 3, state_in(s.client, 1), YES);
    CHECK(is_complete(s.client, 3) && times_told(s.first, 501) == 1);
}

TEST(after_ask_ms_the_clock_of_a_parked_call_runs_on)
{
    struct scene s = narrow_scene();
    park_one(&s);
    advance(s.w, 1500);
    advance(s.w, 4000);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    advance(s.w, 1000);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
    retries(s.client, 2, state_in(s.client, 1), YES);
    CHECK_EQ(error_of(s.client, 2), -31002);
}

TEST(what_a_server_asks_again_of_a_client_that_stays_away_has_ask_ms_too)
{
    struct scene s = narrow_scene();
    park_one(&s);
    advance(s.w, 1000);
    asks_form(s.first, 502);
    advance(s.w, 1499);
    CHECK(times_told(s.first, 501) == 1 && times_told(s.first, 502) == 0);
    advance(s.w, 1);
    CHECK(times_told(s.first, 502) == 1 && span_has(told(s.first, 502), "askMs"));
}

TEST(ones_own_server_waits_for_the_answer_to_its_question_as_long_as_the_call_is_kept)
{
    struct scene s =
        lone_server(SETTINGS(.isolation = HF_ISOLATION_SESSION, .ask_ms = 1500), MANNERS());
    s.client = open_client(s.w, s.server);
    calls(s.client, 0, 1, CAN, "");
    s.first = newest_child(s.w, s.server);
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    REQUIRE(is_question(s.client, 1));
    advance(s.w, PARK_MS - 1000);
    CHECK_EQ(times_told(s.first, 501), 0);
}
