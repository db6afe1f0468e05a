/* metrics.c - see metrics.h. */
#include "front/metrics.h"
#include <stdio.h>
#include <string.h>
#include "core/machine/slot.h"

/* ---- words ---- */

static void add_label(struct hf_buf *out, const char *value)
{
    hf_buf_add_char(out, '"');
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            hf_buf_add_char(out, '\\');
        hf_buf_add_str(out, *value == '\n' ? "\\n" : (char[]) { *value, '\0' });
    }
    hf_buf_add_char(out, '"');
}

static void begin(struct hf_buf *out, const char *name, const char *type, const char *help)
{
    hf_buf_printf(out, "# HELP holdfast_%s %s\n# TYPE holdfast_%s %s\n", name, help, name, type);
}

static void begin_line(struct hf_buf *out, const char *name, const char *server)
{
    hf_buf_printf(out, "holdfast_%s{server=", name);
    add_label(out, server);
}

static void end_line(struct hf_buf *out, const char *label, const char *value, uint64_t number)
{
    if (label)
        hf_buf_printf(out, ",%s=\"%s\"", label, value);
    hf_buf_printf(out, "} %llu\n", (unsigned long long)number);
}

static void add_one(struct hf_buf *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    begin(out, name, type, help);
    hf_buf_printf(out, "holdfast_%s %llu\n", name, (unsigned long long)value);
}

/* ---- servers ---- */

#define EACH_SERVER(server, engine)                                                                \
    for (const struct hf_server_entry *server = (engine)->servers,                                 \
                                      *end_ = server + (engine)->server_count;                     \
         server < end_; server++)

static void add_states(struct hf_buf *out, const struct hf_engine_status *engine)
{
    begin(out, "server_state", "gauge", "1 for the state the server is in, 0 for the others.");
    EACH_SERVER(server, engine)
    {
        for (enum hf_slot_state state = HF_SLOT_NEW + 1; state < HF_SLOT_STATE_COUNT; state++) {
            begin_line(out, "server_state", server->now.name);
            end_line(out, "state", hf_slot_state_name(state), server->now.state == state);
        }
    }
}

typedef uint64_t fact_of(const struct hf_server_status *status);

#define FACT(field)                                                                                \
    static uint64_t field##_of(const struct hf_server_status *status)                              \
    {                                                                                              \
        return status->field;                                                                      \
    }
FACT(generation)
FACT(attempts)
FACT(reconnects)
FACT(calls)
FACT(resends)
FACT(stale_drops)
FACT(in_flight)
FACT(waiting)

static const struct fact {
    const char *name, *type, *help;
    fact_of *of;
} facts[] = {
    { "server_generation", "gauge", "Number of the current or last connection to the server.",
      generation_of },
    { "server_attempts_total", "counter", "Attempts to start or reach the server.", attempts_of },
    { "server_reconnects_total", "counter", "Times it was connected again after it was lost.",
      reconnects_of },
    { "dispatches_total", "counter", "Requests handed to the server.", calls_of },
    { "resends_total", "counter", "Of those, requests handed to it again.", resends_of },
    { "stale_drops_total", "counter", "Messages of earlier connections that were dropped.",
      stale_drops_of },
    { "in_flight", "gauge", "Requests that are with the server now.", in_flight_of },
    { "waiting", "gauge", "Requests that wait for the server now.", waiting_of },
};

static void add_facts(struct hf_buf *out, const struct hf_engine_status *engine)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        begin(out, facts[i].name, facts[i].type, facts[i].help);
        EACH_SERVER(server, engine)
        {
            begin_line(out, facts[i].name, server->now.name);
            end_line(out, NULL, NULL, facts[i].of(&server->now));
        }
    }
}

/* ---- calls ---- */

/* Several errors may share a name; their reasons, which metrics do not show, tell them apart. */
static void add_failures(struct hf_buf *out, const char *server, const struct hf_stats *stats)
{
    for (enum hf_error error = 0; error < HF_ERROR_COUNT; error++) {
        const char *name = hf_error_name(error);
        uint64_t sum = 0;
        bool is_first = true;
        for (enum hf_error other = 0; other < HF_ERROR_COUNT; other++) {
            const bool same = strcmp(hf_error_name(other), name) == 0;
            sum += same ? stats->failed[other] : 0;
            is_first = is_first && !(same && other < error);
        }
        if (!is_first || (sum == 0 && !*server))
            continue;
        begin_line(out, "calls_total", server);
        end_line(out, "outcome", name, sum);
    }
}

static void add_calls(struct hf_buf *out, const struct hf_engine_status *engine)
{
    begin(out, "calls_total", "counter",
          "Requests of clients by what became of them: results and errors of the server, taken "
          "back, and the errors that are ours.");
    EACH_SERVER(server, engine)
    {
        const struct hf_stats *stats = server->calls;
        begin_line(out, "calls_total", server->now.name);
        end_line(out, "outcome", "answered", stats->results);
        begin_line(out, "calls_total", server->now.name);
        end_line(out, "outcome", "error", stats->errors);
        begin_line(out, "calls_total", server->now.name);
        end_line(out, "outcome", "cancelled", stats->cancelled);
        add_failures(out, server->now.name, stats);
    }
    add_failures(out, "", engine->unaddressed); /* calls that named no known server */
    begin(out, "losses_total", "counter",
          "Times a connection went away under a request, by how far the request had got.");
    EACH_SERVER(server, engine)
    {
        for (enum hf_evidence evidence = 0; evidence < HF_EVIDENCE_COUNT; evidence++) {
            begin_line(out, "losses_total", server->now.name);
            end_line(out, "evidence", hf_evidence_name(evidence), server->calls->lost[evidence]);
        }
    }
}

static void add_histogram(struct hf_buf *out, const char *name, const char *server,
                          const struct hf_histogram *histogram)
{
    char bucket[64];
    uint64_t sum = 0;
    (void)snprintf(bucket, sizeof bucket, "%s_bucket", name);
    for (unsigned i = 0; i <= HF_HISTOGRAM_COUNT; i++) {
        char bound[32] = "+Inf";
        if (i < HF_HISTOGRAM_COUNT)
            (void)snprintf(bound, sizeof bound, "%g", hf_histogram_bounds[i] / 1000.0);
        sum += histogram->buckets[i];
        begin_line(out, bucket, server);
        end_line(out, "le", bound, sum);
    }
    hf_buf_printf(out, "holdfast_%s_sum{server=", name);
    add_label(out, server);
    hf_buf_printf(out, "} %.3f\n", (double)histogram->sum_ms / 1000.0);
    hf_buf_printf(out, "holdfast_%s_count{server=", name);
    add_label(out, server);
    end_line(out, NULL, NULL, sum);
}

static void add_times(struct hf_buf *out, const struct hf_engine_status *engine)
{
    begin(out, "call_seconds", "histogram", "From dispatch to the server's answer.");
    EACH_SERVER(server, engine)
    {
        add_histogram(out, "call_seconds", server->now.name, &server->calls->latency);
    }
    begin(out, "wait_seconds", "histogram", "The time a request waited before it was dispatched.");
    EACH_SERVER(server, engine)
    {
        add_histogram(out, "wait_seconds", server->now.name, &server->calls->waiting);
    }
}

/* ---- this process ---- */

static void add_process(struct hf_buf *out, const struct hf_engine_status *engine,
                        const struct hf_http_status *http)
{
    add_one(out, "sessions", "gauge", "Sessions of HTTP clients.", http->sessions);
    add_one(out, "streams", "gauge", "Event streams that are open.", http->streams);
    add_one(out, "connections", "gauge", "Connections of HTTP clients.", http->connections);
    add_one(out, "request_bytes", "gauge", "Bytes of requests that are held.", engine->held_bytes);
    add_one(out, "client_bytes", "gauge", "Bytes that clients made us remember of them.",
            engine->remembered_bytes);
    add_one(out, "replay_bytes", "gauge", "Bytes of events kept for clients that come back.",
            http->replay_bytes);
}

static void add_turns(struct hf_buf *out, const struct hf_turn_times *turns)
{
    uint64_t sum = 0;
    begin(out, "loop_turn_cpu_seconds", "histogram", "CPU time of one turn of the event loop.");
    for (unsigned i = 0; i <= HF_TURN_BOUNDS; i++) {
        char bound[32] = "+Inf";
        if (i < HF_TURN_BOUNDS)
            (void)snprintf(bound, sizeof bound, "%g", hf_turn_bounds_us[i] / 1e6);
        sum += turns->buckets[i];
        hf_buf_printf(out, "holdfast_loop_turn_cpu_seconds_bucket{le=\"%s\"} %llu\n", bound,
                      (unsigned long long)sum);
    }
    hf_buf_printf(out,
                  "holdfast_loop_turn_cpu_seconds_sum %.6f\nholdfast_loop_turn_cpu_seconds_count "
                  "%llu\n",
                  (double)turns->sum_ns / 1e9, (unsigned long long)sum);
    begin(out, "loop_turn_cpu_seconds_max", "gauge", "CPU time of the longest turn.");
    hf_buf_printf(out, "holdfast_loop_turn_cpu_seconds_max %.6f\n",
                  (double)turns->longest_ns / 1e9);
    add_one(out, "loop_turn_longest_bytes", "gauge",
            "Bytes of the largest message that the longest turn took or sent.",
            turns->longest_bytes);
    add_one(out, "loop_turns_too_long_total", "counter",
            "Turns of more than 5 ms of CPU time without a message of 256 KiB or more.",
            turns->over_5_ms_without);
}

static void add_turned_away(struct hf_buf *out, const struct hf_refusals *refusals)
{
    begin(out, "turned_away_total", "counter", "HTTP requests that might not come in, by reason.");
    for (enum hf_refusal kind = 0; kind < HF_REFUSED_LIMIT; kind++)
        hf_buf_printf(out, "holdfast_turned_away_total{reason=\"%s\"} %llu\n",
                      hf_refusal_name(kind), (unsigned long long)refusals->kinds[kind].count);
}

const char *hf_limit_name(enum hf_front_limit limit)
{
    static const char *const names[] = { [HF_LIMIT_CONNECTIONS] = "connections",
                                         [HF_LIMIT_BYTES] = "bytes",
                                         [HF_LIMIT_SESSIONS] = "sessions",
                                         [HF_LIMIT_RATE] = "rate" };
    return limit < HF_LIMIT_OF_ENGINE
               ? names[limit]
               : hf_shared_name((enum hf_shared)(limit - HF_LIMIT_OF_ENGINE));
}

/* Only counts that are not 0: with many tokens most are. */
static void add_refusals(struct hf_buf *out, const struct hf_tallies *tallies)
{
    begin(out, "refused_total", "counter",
          "Requests of HTTP clients refused for a limit, by the name of their token.");
    for (size_t i = 0; i < tallies->count; i++) {
        const struct hf_tally *tally = &tallies->list[i];
        for (unsigned limit = 0; limit < HF_FRONT_LIMITS; limit++) {
            if (!tally->refused[limit])
                continue;
            hf_buf_add_str(out, "holdfast_refused_total{token=");
            add_label(out, tally->token);
            end_line(out, "limit", hf_limit_name(limit), tally->refused[limit]);
        }
    }
}

static void add_by_token(struct hf_buf *out, const char *name, const struct hf_tally *tally,
                         uint64_t value)
{
    hf_buf_printf(out, "holdfast_%s{token=", name);
    add_label(out, tally->token);
    end_line(out, NULL, NULL, value);
}

/* Clients without a token have no line: they are no party together. */
static void add_tokens(struct hf_buf *out, const struct hf_tallies *tallies)
{
    begin(out, "token_answers_total", "counter", "Requests that were answered, by token.");
    for (size_t i = 1; i < tallies->count; i++)
        add_by_token(out, "token_answers_total", &tallies->list[i], tallies->list[i].answered);
    begin(out, "token_calls", "gauge", "Requests that are under way, by token.");
    for (size_t i = 1; i < tallies->count; i++)
        add_by_token(out, "token_calls", &tallies->list[i], tallies->list[i].calls);
    begin(out, "token_sessions", "gauge", "Sessions of clients, by token.");
    for (size_t i = 1; i < tallies->count; i++)
        add_by_token(out, "token_sessions", &tallies->list[i], tallies->list[i].sessions);
}

void hf_metrics_write(struct hf_buf *out, const struct hf_engine_status *engine,
                      const struct hf_http_status *http)
{
    add_states(out, engine);
    add_facts(out, engine);
    add_calls(out, engine);
    add_times(out, engine);
    add_process(out, engine, http);
    add_turned_away(out, http->refusals);
    add_refusals(out, http->tallies);
    add_tokens(out, http->tallies);
    if (http->turns)
        add_turns(out, http->turns);
}
