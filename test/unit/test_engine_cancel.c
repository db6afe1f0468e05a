/*
 * test_engine_cancel.c - calls that are no longer wanted, in each stage of their way, ids used
 * twice, and what a waiting client is told.
 */
#include "engine_fixture.h"

/* ---- cancel, in each stage ---- */

/* @field D5: a cancel ends the wait at once */
/* @field Y3: the absence of a reconnect that belongs to a caller and is lost with it */
TEST(a_waiting_call_that_is_cancelled_is_gone_without_an_answer_and_the_attempt_goes_on)
{
    struct scene s = scene();
    manners_of(s.w, s.server)->never_starts = true;
    child_dies(s.first);
    client_calls(s.client, 1, "echo");
    client_cancels(s.client, 1);
    CHECK_EQ(status_of(s.server).waiting, 0);
    struct child *attempt = newest_child(s.w, s.server);
    child_start(attempt);
    CHECK(IS(s.server, CONNECTED) && child_got(attempt, "tools/call") == 0);
    CHECK_EQ(answers_to(s.client, 1), 0);
}

TEST(a_queued_call_that_is_cancelled_is_withdrawn)
{
    struct scene s = scene();
    child_stalls(s.first, 40);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    client_cancels(s.client, 2);
    child_goes_on(s.first);
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    CHECK_EQ(answers_to(s.client, 2), 0);
}

TEST(a_half_written_call_that_is_cancelled_is_finished_and_then_cancelled)
{
    struct scene s = scene();
    child_stalls(s.first, 40);
    client_calls(s.client, 1, "echo");
    client_cancels(s.client, 1);
    child_goes_on(s.first);
    CHECK_EQ(child_got(s.first, "tools/call"), 1);
    const struct message *cancel = child_last(s.first, "notifications/cancelled");
    REQUIRE(cancel);
    CHECK(hf_span_eq(hf_json_get(cancel->msg.params, HF_SPAN("requestId")),
                     child_last_id(s.first, "tools/call")));
    CHECK_EQ(answers_to(s.client, 1), 0);
}

TEST(a_sent_call_that_is_cancelled_is_cancelled_at_the_server_with_our_id_and_its_reason)
{
    struct scene s = called_scene();
    client_cancels(s.client, 1);
    const struct message *cancel = child_last(s.first, "notifications/cancelled");
    REQUIRE(cancel);
    CHECK(hf_span_eq(hf_json_get(cancel->msg.params, HF_SPAN("requestId")),
                     child_last_id(s.first, "tools/call")));
    CHECK_SPAN(hf_json_get(cancel->msg.params, HF_SPAN("reason")), "\"no need\"");
    child_answers(s.first, "tools/call", "{}"); /* too late: nobody is told */
    CHECK_EQ(answers_to(s.client, 1), 0);
}

TEST(a_cancelled_call_is_not_sent_again_when_its_server_dies)
{
    struct scene s = scene();
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 1, "echo");
    client_cancels(s.client, 1);
    child_dies(s.first);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 0);
    CHECK_EQ(answers_to(s.client, 1), 0);
}

TEST(a_client_that_vanishes_takes_its_calls_with_it_and_nobody_elses)
{
    struct scene s = scene();
    struct client *other = greeted_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    client_calls(other, 2, "echo");
    client_leaves(s.client);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(other, 2));
}

/* ---- duplicate ids ---- */

TEST(two_requests_with_the_same_id_get_two_answers_and_a_cancel_hits_neither)
{
    struct scene s = called_scene();
    client_calls(s.client, 1, "echo");
    REQUIRE_EQ(child_got(s.first, "tools/call"), 2);
    client_cancels(s.client, 1);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 0);
    const size_t last = s.first->got.count - 1;
    child_answers_line(s.first, last, "{\"content\":[2]}");
    CHECK_EQ(answers_to(s.client, 1), 1);
    child_answers_line(s.first, last - 1, "{\"content\":[1]}");
    CHECK_EQ(answers_to(s.client, 1), 2);
}

TEST(an_answer_given_twice_reaches_the_client_once)
{
    struct scene s = called_scene();
    child_answers(s.first, "tools/call", "{}");
    child_answers(s.first, "tools/call", "{}");
    CHECK_EQ(answers_to(s.client, 1), 1);
    CHECK_EQ(status_of(s.server).stale_drops, 1);
}

/* ---- told while waiting ---- */

static void call_with_token(struct client *c, int id)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"echo\",\"_meta\":{\"progressToken\":\"mine\"}}}",
                id);
}

TEST(a_waiting_client_that_gave_a_token_is_told_of_each_attempt_and_values_only_grow)
{
    struct scene s = scene();
    take_away(&s);
    call_with_token(s.client, 1);
    advance(s.w, 3000); /* attempts at 1 and 3 */
    const size_t told = heard(s.client, "notifications/progress");
    CHECK(told >= 2);
    const struct message *last = last_heard(s.client, "notifications/progress");
    CHECK(span_has(last->msg.params, "\"progressToken\":\"mine\""));
    CHECK(span_has(last->msg.params, "reconnecting to s, attempt 3"));
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 4000);
    struct child *child = newest_child(s.w, s.server);
    const size_t before = heard(s.client, "notifications/progress");
    child_says(child,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":0}}",
               HF_FMT(child_last_id(child, "tools/call")));
    CHECK_EQ(heard(s.client, "notifications/progress"), before); /* not greater than the last one */
    child_says(child,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%.*s,\"progress\":1,\"message\":\"go\"}}",
               HF_FMT(child_last_id(child, "tools/call")));
    CHECK_EQ(heard(s.client, "notifications/progress"), before + 1);
}

TEST(a_cancel_names_its_call_by_what_the_id_means_and_never_that_of_another_client)
{
    static const struct {
        const char *id, *cancelled;
        bool is_meant;
    } rows[] = {
        { "\"a\"", "\"a\"", true },
        { "\"a\"", "\"\\u0061\"", true },
        { "\"\\u0061\"", "\"a\"", true },
        { "\"\\ud83d\\ude00\"", "\"😀\"", true },
        { "\"\\u007f\"", "\"\x7f\"", true },
        { "\"\"", "\"\"", true },
        { "7", "7", true },
        { "7", "\"7\"", false },
        { "\"7\"", "7", false },
        { "\"a\"", "\"A\"", false },
    };
    struct scene s = scene();
    struct client *other = greeted_client(s.w, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t before = child_got(s.first, "notifications/cancelled");
        client_says(s.client,
                    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"echo\",\"arguments\":{}}}",
                    rows[i].id);
        for (int turn = 0; turn < 2; turn++) {
            client_says(turn ? s.client : other,
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                        "\"requestId\":%s}}",
                        rows[i].cancelled);
            const size_t now = child_got(s.first, "notifications/cancelled");
            CHECK(now == before + (turn && rows[i].is_meant));
        }
        child_answers(s.first, "tools/call", "{}");
    }
    world_end(s.w);
}

TEST(of_many_calls_each_cancel_ends_its_own)
{
    enum { FIRST = 2001, LAST = 3000 };
    struct scene s = scene();
    for (int id = FIRST; id <= LAST; id++)
        client_calls(s.client, id, "echo");
    for (int id = LAST; id >= FIRST; id -= 2)
        client_cancels(s.client, id);
    CHECK(child_got(s.first, "notifications/cancelled") == (LAST - FIRST + 1) / 2);
    child_dies(s.first);
    settle(s.w);
    for (int id = FIRST; id <= LAST; id++)
        CHECK(answers_to(s.client, id) == (size_t)(id % 2));
    world_end(s.w);
}
