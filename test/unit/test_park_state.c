/*
 * test_park_state.c - states that were changed, belong to others, or are not ours: refused, and the
 * call that they might continue is neither sent again nor lost.
 */
#include "park_fixture.h"

static void check_refused(struct scene *s, int id, int code)
{
    CHECK(error_of(s->client, id) == code && answers_to(s->client, id) == 1);
    CHECK(times_told(s->first, 501) == 0 && child_got(s->first, CALL) == 1);
}

TEST(a_changed_state_is_refused_and_the_call_is_neither_sent_again_nor_lost)
{
    struct scene s = parked_scene();
    char state[1024], changed[1100];
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    const size_t n = strlen(state) - 2; /* between the quotes */
    (void)snprintf(changed, sizeof changed, "\"%.*s-TAMPERED\"", (int)n, state + 1);
    retries(s.client, 2, changed, YES);
    check_refused(&s, 2, -32602);
    (void)snprintf(changed, sizeof changed, "%s", state);
    changed[n - 3] = changed[n - 3] == '0' ? '1' : '0';
    retries(s.client, 3, changed, YES);
    check_refused(&s, 3, -32602);
    changed[1] = 'H'; /* not even one of ours */
    retries(s.client, 4, changed, YES);
    check_refused(&s, 4, -32602);
    retries(s.client, 5, "\"\"", YES);
    check_refused(&s, 5, -32602);
    retries(s.client, 6, "null", YES);
    check_refused(&s, 6, -32602);
    retries(s.client, 7, state, YES);
    child_answers(s.first, CALL, RESULT);
    CHECK(is_complete(s.client, 7) && child_got(s.first, CALL) == 1);
}

TEST(a_state_is_good_only_for_its_client_its_tool_and_its_arguments)
{
    struct scene s = modern_scene();
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":%s,\"inputResponses\":" YES ",\"requestState\":%s,\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":" CAN "}}}";
    manners_of(s.w, s.server)->tools = "[{\"name\":\"echo\"},{\"name\":\"other\"}]";
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    park_one(&s);
    struct client *other = open_client(s.w, s.server);
    char state[1024];
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    client_says(s.client, request, 2, "other", "{\"amount\":5}", state);
    check_refused(&s, 2, -32602);
    client_says(s.client, request, 3, "echo", "{\"amount\":6}", state);
    check_refused(&s, 3, -32602);
    client_says(other, request, 4, "echo", "{\"amount\":5}", state);
    CHECK(error_of(other, 4) == -32602 && error_says(other, 4, "another client"));
    CHECK_EQ(child_got(s.first, CALL), 1);
    client_says(s.client, request, 5, "echo", "{\"amount\":5}", state);
    CHECK_EQ(times_told(s.first, 501), 1);
}

TEST(white_space_between_tokens_does_not_make_another_request)
{
    struct scene s = modern_scene();
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\n\"amount\":5\r\n},\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":" CAN "}%s}}";
    client_says(s.client, request, 1, "");
    asks_form(s.first, 501);
    advance(s.w, GATHER_MS);
    client_says(s.client, request, 2, retry_of(state_in(s.client, 1), YES));
    CHECK_EQ(times_told(s.first, 501), 1);
}

TEST(a_state_of_a_holdfast_that_is_gone_is_outcome_unknown_and_nothing_is_sent)
{
    static const uint8_t other[HF_SECRET_SIZE] = "another secret of so many bytes.";
    struct scene s = parked_scene();
    char state[1024];
    (void)snprintf(state, sizeof state, "%s", state_in(s.client, 1));
    hf_engine_set_secret(s.w->engine, other); /* as after a restart */
    retries(s.client, 2, state, YES);
    check_refused(&s, 2, -31002);
    CHECK(data_is(s.client, 2, "dispatched", "true"));
}

TEST(a_state_that_is_not_ours_is_for_a_modern_server_and_never_runs_a_call_at_a_legacy_one)
{
    struct scene s = lone_server(SETTINGS(.era = HF_ERA_UNKNOWN), MANNERS(.never_starts = true));
    s.client = open_client(s.w, s.server);
    retries(s.client, 1, "\"somebody elses\"", YES);
    CHECK_EQ(answers_to(s.client, 1), 0); /* nobody knows yet what kind of server it is */
    struct child *child = newest_child(s.w, s.server);
    child_start(child);
    child_answers_error(child, "server/discover", -32601, "Method not found");
    CHECK(error_of(s.client, 1) == -32602 && child_got(child, CALL) == 0);
    retries(s.client, 2, "\"somebody elses\"", YES);
    CHECK(error_of(s.client, 2) == -32602 && child_got(child, CALL) == 0);
}
