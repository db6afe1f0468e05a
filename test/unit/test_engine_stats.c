/* test_engine_stats.c - each call is counted once, by what became of it, with the time it took. */
#include "core/status.h"
#include "engine_fixture.h"

static uint64_t sum_of(const struct hf_histogram *histogram)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= HF_HISTOGRAM_COUNT; i++)
        sum += histogram->buckets[i];
    return sum;
}

static uint64_t outcomes(const struct hf_stats *stats)
{
    uint64_t sum = stats->results + stats->errors + stats->cancelled;
    for (enum hf_error error = 0; error < HF_ERROR_COUNT; error++)
        sum += stats->failed[error];
    return sum;
}

TEST(a_time_falls_into_the_first_bucket_whose_bound_it_does_not_exceed)
{
    struct hf_histogram histogram = { 0 };
    static const uint64_t times[] = { 0, 1, 2, 3, 5, 6, 300000, 300001 };
    static const unsigned buckets[] = {
        0, 0, 1, 2, 2, 3, HF_HISTOGRAM_COUNT - 1, HF_HISTOGRAM_COUNT
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const uint64_t before = histogram.buckets[buckets[i]];
        hf_histogram_add(&histogram, times[i]);
        CHECK_EQ(histogram.buckets[buckets[i]], before + 1);
    }
    CHECK(histogram.sum_ms == 600018 && sum_of(&histogram) == 8);
}

TEST(what_a_server_answers_is_counted_as_result_or_error_with_its_time)
{
    struct scene s = scene();
    const struct hf_stats *stats = hf_server_stats(s.server);
    client_calls(s.client, 1, "echo");
    advance(s.w, 7);
    child_answers(s.first, "tools/call", "{\"content\":[]}");
    CHECK(stats->results == 1 && stats->latency.sum_ms == 7 && sum_of(&stats->latency) == 1);
    client_calls(s.client, 2, "echo");
    child_answers_error(s.first, "tools/call", -32603, "no");
    CHECK(stats->errors == 1 && outcomes(stats) == 2);
    client_calls(s.client, 3, "echo");
    client_cancels(s.client, 3);
    CHECK(stats->cancelled == 1 && outcomes(stats) == 3);
    CHECK(sum_of(&stats->waiting) == 3 && stats->waiting.sum_ms == 0);
    CHECK_EQ(sum_of(&stats->latency), 2);
}

TEST(a_call_that_was_lost_is_counted_by_its_evidence_and_once_by_its_outcome)
{
    struct scene s = scene();
    const struct hf_stats *stats = hf_server_stats(s.server);
    client_calls(s.client, 1, "echo");
    child_dies(s.first);
    CHECK_EQ(stats->lost[HF_EVIDENCE_DISPATCHED], 1);
    CHECK(stats->failed[HF_ERROR_OUTCOME_UNKNOWN] == 1 && outcomes(stats) == 1);

    struct child *second = newest_child(s.w, s.server);
    second->manners.reads_nothing = true;
    client_calls(s.client, 2, "echo");
    child_dies(second);
    CHECK(stats->lost[HF_EVIDENCE_UNREAD] == 1 && outcomes(stats) == 1);
    advance(s.w, 5000);
    child_answers(newest_child(s.w, s.server), "tools/call", "{\"content\":[]}");
    CHECK(stats->results == 1 && outcomes(stats) == 2);
}

TEST(the_time_a_call_waited_is_counted_also_if_it_waited_in_vain)
{
    struct scene s = lone_server(SETTINGS(.wait_ms = 3000), MANNERS(.mute = true));
    s.client = open_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    advance(s.w, 3000);
    CHECK_EQ(error_of(s.client, 1), -31001);
    const struct hf_stats *stats = hf_server_stats(s.server);
    CHECK_EQ(stats->failed[HF_ERROR_UNAVAILABLE], 1);
    CHECK(stats->waiting.sum_ms == 3000 && sum_of(&stats->waiting) == 1);
    CHECK_EQ(sum_of(&stats->latency), 0);
}

TEST(a_refusal_is_counted_for_its_server_or_for_none)
{
    struct hf_server_spec spec = { .name = "s",
                                   .settings = default_settings(),
                                   .deny = (const char *const[]) { "echo", NULL } };
    struct world *w = world_new();
    struct hf_server *server = add_spec(w, &spec);
    settle(w);
    struct client *c = greeted_client(w, server);
    client_calls(c, 2, "echo");
    CHECK_EQ(error_of(c, 2), -31007);
    CHECK_EQ(hf_server_stats(server)->failed[HF_ERROR_DENIED], 1);
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, HF_SPAN("{\"id\":3,\"method\":\"x\","));
    hf_session_message_oversized(c->session, &skim, at(w->now_ms));
    settle(w);
    CHECK_EQ(hf_engine_stats(w->engine)->failed[HF_ERROR_REQUEST_TOO_LARGE], 1);
    CHECK_EQ(outcomes(hf_server_stats(server)), 1);
}

/* ---- results in the place of errors ---- */

TEST(a_tool_call_that_fails_is_answered_with_a_result_and_everything_else_with_an_error)
{
    struct scene s = called_scene();
    client_requests(s.client, 2, "tools/call",
                    "{\"name\":\"echo\",\"arguments\":{},\"task\":{\"ttl\":1}}");
    client_asks(s.client, 3, "x/y");
    child_dies(s.first);
    CHECK(error_of(s.client, 1) == -31002 && answer_to(s.client, 1)->msg.kind == HF_MSG_RESULT);
    CHECK(error_of(s.client, 2) == -31002 && answer_to(s.client, 2)->msg.kind == HF_MSG_ERROR);
    CHECK(error_of(s.client, 3) == -31002 && answer_to(s.client, 3)->msg.kind == HF_MSG_ERROR);
    CHECK(error_says(s.client, 1, "The call was sent to 's'") &&
          error_says(s.client, 1, "killed by signal 9"));
}

TEST(an_operator_or_a_token_may_want_errors)
{
    struct scene s = scene_of(SETTINGS(.errors_as = HF_ERRORS_AS_ERROR));
    client_calls(s.client, 1, "echo");
    child_dies(s.first);
    CHECK(error_of(s.client, 1) == -31002 && answer_to(s.client, 1)->msg.kind == HF_MSG_ERROR);
    hf_session_set_errors_as(s.client->session, HF_ERRORS_AS_RESULT);
    client_calls(s.client, 2, "echo");
    child_dies(newest_child(s.w, s.server));
    CHECK(error_of(s.client, 2) == -31002 && answer_to(s.client, 2)->msg.kind == HF_MSG_RESULT);
}

TEST(when_to_try_again_is_said_as_people_say_it)
{
    struct hf_settings settings =
        SETTINGS(.wait_ms = 100, .reconnect.min_ms = 30000, .reconnect.max_ms = 30000);
    struct scene s = scene_of(settings);
    take_away(&s);
    advance(s.w, 18000);
    client_calls(s.client, 1, "echo");
    advance(s.w, 100);
    CHECK(error_of(s.client, 1) == -31001 && error_says(s.client, 1, "Try again in 12 s."));
}

TEST(what_a_holdfast_behind_us_says_of_a_call_counts_as_that_here_too)
{
    struct scene s = scene();
    const struct hf_stats *stats = hf_server_stats(s.server);
    client_calls(s.client, 1, "echo");
    child_answers(
        s.first, "tools/call",
        "{\"content\":[{\"type\":\"text\",\"text\":\"It may have run.\"}],\"isError\":true,"
        "\"_meta\":{\"" HF_META_OUTCOME "\":{\"code\":-31002,\"dispatched\":true}}}");
    CHECK(stats->failed[HF_ERROR_OUTCOME_UNKNOWN] == 1 && stats->results == 0);
    CHECK(outcomes(stats) == 1 && error_says(s.client, 1, "It may have run."));
    client_calls(s.client, 2, "echo");
    child_answers(s.first, "tools/call",
                  "{\"content\":[{\"type\":\"text\",\"text\":\"\\\"dev.holdfast/outcome\\\"\"}]}");
    CHECK(stats->results == 1 && outcomes(stats) == 2);
}

TEST(the_status_of_an_engine_is_what_its_servers_and_counters_say_at_that_moment)
{
    struct scene s = scene();
    struct hf_server *other = add_server(s.w, "other", default_settings());
    client_calls(s.client, 1, "echo");
    child_answers(s.first, "tools/call", "{\"content\":[]}");
    client_calls(s.client, 2, "echo");
    struct hf_engine_status status;
    hf_engine_status(s.w->engine, &status);
    REQUIRE_EQ(status.server_count, 2);
    CHECK_STR(status.servers[1].now.name, "other");
    CHECK(status.servers[0].now.in_flight == 1 && status.servers[1].now.in_flight == 0);
    CHECK_EQ(status.servers[0].calls->results, 1);
    CHECK_EQ(status.servers[1].calls, hf_server_stats(other));
    CHECK(status.held_bytes == hf_engine_held_bytes(s.w->engine) && status.held_bytes > 0);
    CHECK_EQ(status.remembered_bytes, hf_engine_remembered_bytes(s.w->engine));
    CHECK_EQ(status.unaddressed, hf_engine_stats(s.w->engine));
    hf_engine_status_done(&status);
    CHECK(!status.servers && status.server_count == 0);
}
