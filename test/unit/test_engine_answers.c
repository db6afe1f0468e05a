/*
 * test_engine_answers.c - answers of servers that do not quite say what they should: what is an
 * answer, whose it is, and what is only a log line (DESIGN 4).
 */
#include "engine_fixture.h"

/* What strict readers refuse and most clients take: the call ran, and this is its answer. */
TEST(an_answer_that_is_oddly_written_is_passed_on_as_it_should_have_been)
{
    static const char *const forms[] = {
        "{\"id\":%.*s,\"result\":{\"x\":1}}",
        "{\"jsonrpc\":2.0,\"id\":%.*s,\"result\":{\"x\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":1},\"error\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s.0,\"result\":{\"x\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%.*se0,\"result\":{\"x\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":1},\"id\":%.*s}",
        "[{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":1}}]",
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":1}} done.",
        "{\"level\":\"info\"}{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":1}}",
        "DEBUG done {\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":1}}",
        "[INFO] {pay} {} done: {\"jsonrpc\":2,\"id\":\"%.*s\",\"result\":{\"x\":1}}.",
        "{\"jsonrpc\":\"2.0\",\"me{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":1}}",
        "{{{{{{{{}}}}}}}} {}{}{}{}{}{}{}{}{\"a\":{}}{\"jsonrpc\":\"2.0\",\"id\":%.*s,"
        "\"result\":{\"x\":1}}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct scene s = called_scene();
        char line[200];
        (void)snprintf(line, sizeof line, forms[i], HF_FMT(child_last_id(s.first, "tools/call")));
        child_says(s.first, "%s", line);
        if (!has_result(s.client, 1))
            printf("# %s\n", line);
        CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
        CHECK(answer_to(s.client, 1) &&
              hf_span_is(answer_to(s.client, 1)->msg.result, "{\"x\":1}"));
        world_end(s.w);
    }
}

TEST(an_id_in_floating_point_is_ours_only_if_it_is_exactly_ours)
{
    static const char *const others[] = { "%.*s.5", "%.*se1", "-%.*s.0", "%.*se400",
                                          "%.*s.00000000000000000000000000000000000000000" };
    struct scene s = called_scene();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char id[100];
        (void)snprintf(id, sizeof id, others[i], HF_FMT(child_last_id(s.first, "tools/call")));
        child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", id);
        CHECK_EQ(answers_to(s.client, 1), 0);
    }
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(s.client, 1));
}

TEST(a_log_line_with_the_id_of_a_call_is_noise_and_the_answer_behind_it_counts)
{
    static const char *const logs[] = {
        "{\"id\":%.*s,\"level\":\"info\",\"msg\":\"charging\"}",
        "{\"id\":%.*s,\"error\":\"card was declined, trying again\"}",
        "{\"id\":%.*s,\"error\":null}",
        "{\"id\":%.*s,\"took\":1.5,",
        "{\"id\":%.*s,\"method\":\"GET\",\"result\":200}",
        "INFO done {\"id\":%.*s,\"result\":\"ok\"}",
        "WARN {\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":\"declined, trying again\"}",
        "got {\"jsonrpc\":\"2.0\",\"id\":%.*s,\"method\":\"tools/call\",\"result\":1}",
        "sent {\"response\":{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}}",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct scene s = called_scene();
        char line[200];
        (void)snprintf(line, sizeof line, logs[i], HF_FMT(child_last_id(s.first, "tools/call")));
        child_says(s.first, "%s", line);
        CHECK_EQ(answers_to(s.client, 1), 0);
        child_answers(s.first, "tools/call", "{}");
        CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
        world_end(s.w);
    }
}

TEST(two_answers_on_one_line_go_each_to_its_call)
{
    static const char *const between[] = { "", "  ", "[]", "{}", "[],", " and " };
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        struct scene s = called_scene();
        char *first = hf_span_dup(child_last_id(s.first, "tools/call"));
        client_calls(s.client, 2, "echo");
        child_says(s.first,
                   "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"n\":\"}{\"}}%s"
                   "[{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"n\":1}}]",
                   HF_FMT(child_last_id(s.first, "tools/call")), between[i], first);
        CHECK(has_result(s.client, 1) && has_result(s.client, 2));
        hf_free(first);
        world_end(s.w);
    }
}

TEST(of_a_line_that_breaks_off_behind_an_answer_both_calls_hear)
{
    struct scene s = called_scene();
    char *first = hf_span_dup(child_last_id(s.first, "tools/call"));
    client_calls(s.client, 2, "echo");
    child_says(s.first,
               "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}{\"id\":%.*s,\"result\":{\"n\":",
               first, HF_FMT(child_last_id(s.first, "tools/call")));
    CHECK(has_result(s.client, 1));
    CHECK_EQ(error_of(s.client, 2), -31002);
    hf_free(first);
}

TEST(an_answer_that_comes_again_is_not_taken_for_that_of_the_next_call)
{
    struct scene s = called_scene();
    char *first_id = hf_span_dup(child_last_id(s.first, "tools/call"));
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    client_calls(s.client, 2, "echo"); /* it has the place in the table that the first one left */
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[1]}}", first_id);
    CHECK_EQ(answers_to(s.client, 2), 0);
    child_answers(s.first, "tools/call", "{\"content\":[2]}");
    CHECK(has_result(s.client, 2));
    hf_free(first_id);
}
