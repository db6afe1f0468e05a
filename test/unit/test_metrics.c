/* test_metrics.c - the text that Prometheus reads, made of a status that a test made up. */
#include "core/machine/slot.h"
#include "front/metrics.h"
#include "test.h"

static struct hf_stats stats, unaddressed;
static struct hf_turn_times *turns;

static const char *text_of(struct hf_server_entry *servers, size_t count)
{
    static char text[1 << 17];
    const struct hf_engine_status engine = { .servers = servers,
                                             .server_count = count,
                                             .unaddressed = &unaddressed,
                                             .held_bytes = 11,
                                             .remembered_bytes = 12 };
    struct hf_tally refusals[] = { { .token = "" },
                                   { .token = "a\"b",
                                     .answered = 7,
                                     .refused = { [HF_LIMIT_SESSIONS] = 5, [HF_LIMIT_RATE] = 6 },
                                     .calls = 8,
                                     .sessions = 9 } };
    const struct hf_tallies tallies = { refusals, 2 };
    const struct hf_refusals turned_away = { .kinds = {
                                                 [HF_REFUSED_WRONG_TOKEN] = { .count = 6 } } };
    const struct hf_http_status http = { .sessions = 1,
                                         .connections = 2,
                                         .streams = 3,
                                         .replay_bytes = 4,
                                         .tallies = &tallies,
                                         .refusals = &turned_away,
                                         .turns = turns };
    struct hf_buf out;
    hf_buf_init(&out, sizeof text);
    hf_metrics_write(&out, &engine, &http);
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(hf_buf_span(&out)));
    hf_buf_done(&out);
    return text;
}

/* Of the name `name`, connected, and without any call in `stats` yet. */
static struct hf_server_entry a_server(const char *name)
{
    memset(&stats, 0, sizeof stats);
    return (struct hf_server_entry) { .now = { .name = name, .state = HF_SLOT_CONNECTED },
                                      .calls = &stats };
}

static bool has_line(const char *text, const char *line)
{
    const size_t n = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at += n)
        if ((at == text || at[-1] == '\n') && at[n] == '\n')
            return true;
    return false;
}

TEST(a_server_is_told_by_its_state_its_facts_and_its_calls)
{
    struct hf_server_entry server = a_server("a");
    stats.results = 5;
    stats.errors = 6;
    stats.cancelled = 7;
    server.now.generation = 8;
    server.now.in_flight = 9;
    const char *text = text_of(&server, 1);
    CHECK(has_line(text, "holdfast_server_state{server=\"a\",state=\"connected\"} 1"));
    CHECK(has_line(text, "holdfast_server_state{server=\"a\",state=\"disabled\"} 0"));
    CHECK(has_line(text, "holdfast_server_generation{server=\"a\"} 8"));
    CHECK(has_line(text, "holdfast_in_flight{server=\"a\"} 9"));
    CHECK(has_line(text, "holdfast_calls_total{server=\"a\",outcome=\"answered\"} 5"));
    CHECK(has_line(text, "holdfast_calls_total{server=\"a\",outcome=\"error\"} 6"));
    CHECK(has_line(text, "holdfast_calls_total{server=\"a\",outcome=\"cancelled\"} 7"));
}

TEST(the_buckets_of_a_histogram_add_up)
{
    struct hf_server_entry server = a_server("a");
    hf_histogram_add(&stats.latency, 1);
    hf_histogram_add(&stats.latency, 3);
    hf_histogram_add(&stats.latency, 1000000);
    const char *text = text_of(&server, 1);
    CHECK(has_line(text, "holdfast_call_seconds_bucket{server=\"a\",le=\"0.001\"} 1"));
    CHECK(has_line(text, "holdfast_call_seconds_bucket{server=\"a\",le=\"0.002\"} 1"));
    CHECK(has_line(text, "holdfast_call_seconds_bucket{server=\"a\",le=\"0.005\"} 2"));
    CHECK(has_line(text, "holdfast_call_seconds_bucket{server=\"a\",le=\"300\"} 2"));
    CHECK(has_line(text, "holdfast_call_seconds_bucket{server=\"a\",le=\"+Inf\"} 3"));
    CHECK(has_line(text, "holdfast_call_seconds_sum{server=\"a\"} 1000.004"));
    CHECK(has_line(text, "holdfast_call_seconds_count{server=\"a\"} 3"));
    CHECK(has_line(text, "holdfast_wait_seconds_count{server=\"a\"} 0"));
}

TEST(a_name_is_escaped_and_without_servers_there_is_still_the_process)
{
    struct hf_server_entry server = a_server("a\"b\\c\nd");
    CHECK(has_line(text_of(&server, 1), "holdfast_waiting{server=\"a\\\"b\\\\c\\nd\"} 0"));
    const char *text = text_of(&server, 0);
    CHECK(!strstr(text, "holdfast_waiting{") && has_line(text, "holdfast_sessions 1"));
    CHECK(has_line(text, "holdfast_connections 2") && has_line(text, "holdfast_streams 3"));
    CHECK(has_line(text, "holdfast_replay_bytes 4") && has_line(text, "holdfast_request_bytes 11"));
    CHECK(has_line(text, "holdfast_client_bytes 12"));
}

TEST(refusals_are_told_by_token_and_limit_and_only_those_that_happened)
{
    const char *text = text_of(NULL, 0);
    CHECK(has_line(text, "holdfast_refused_total{token=\"a\\\"b\",limit=\"sessions\"} 5"));
    CHECK(has_line(text, "holdfast_turned_away_total{reason=\"wrong_token\"} 6"));
    CHECK(has_line(text, "holdfast_turned_away_total{reason=\"host\"} 0"));
    CHECK(!strstr(text, "limit=\"bytes\"") && !strstr(text, "token=\"\""));
}

TEST(turns_of_the_loop_are_told_only_if_they_are_measured)
{
    struct hf_turn_times times = { .sum_ns = 0 };
    CHECK(!strstr(text_of(NULL, 0), "loop_turn"));
    times.largest_bytes = 5;
    hf_turn_times_add(&times, 400000);
    hf_turn_times_add(&times, 5000000);
    hf_turn_times_add(&times, 5000001);
    times.largest_bytes = 1000000;
    hf_turn_times_add(&times, 250000000);
    times.largest_bytes = 7;
    hf_turn_times_add(&times, 1);
    turns = &times;
    const char *text = text_of(NULL, 0);
    turns = NULL;
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_bucket{le=\"0.0005\"} 2"));
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_bucket{le=\"0.005\"} 3"));
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_bucket{le=\"0.01\"} 4"));
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_bucket{le=\"+Inf\"} 5"));
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_count 5"));
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_sum 0.260400"));
    CHECK(has_line(text, "holdfast_loop_turn_cpu_seconds_max 0.250000"));
    CHECK(has_line(text, "holdfast_loop_turn_longest_bytes 1000000"));
    CHECK(has_line(text, "holdfast_loop_turns_too_long_total 1"));
}
