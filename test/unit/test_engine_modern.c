/* test_engine_modern.c - requests of 2026-07-28 with a server that speaks an older version: what
 * their clients hear of its log. */
#include "engine_fixture.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}%s}"
#define FROM(level) ",\"io.modelcontextprotocol/logLevel\":\"" level "\""

static void call(struct client *c, uint64_t via, const char *more)
{
    client_says_via(c, via,
                    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"echo\"," META "}}",
                    (int)via, more);
    settle(c->world);
}

static void server_logs(struct scene *s, const char *level)
{
    child_says(
        s->first,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"%s\""
        ",\"data\":\"x\"}}",
        level);
    settle(s->w);
}

static size_t logs_via(const struct client *c, uint64_t via)
{
    return heard_via(c, via, "notifications/message");
}

static struct client *modern_client(struct scene *s)
{
    client_leaves(s->client);
    struct client *c = open_client(s->w, s->server);
    hf_session_set_modern(c->session);
    return c;
}

TEST(a_request_that_does_not_ask_for_the_log_hears_nothing_of_it)
{
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1, "");
    server_logs(&s, "emergency");
    CHECK(logs_via(c, 1) == 0 && notes_with(s.w, "SERVER_LOG") == 1);
    call(c, 2, ",\"io.modelcontextprotocol/logLevel\":7");
    server_logs(&s, "emergency");
    CHECK_EQ(heard(c, "notifications/message"), 0);
}

TEST(a_request_hears_of_the_log_from_the_level_on_that_it_names)
{
    static const char *const levels[] = { "debug", "info",     "notice", "warning",
                                          "error", "critical", "alert",  "emergency" };
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1, FROM("warning"));
    for (size_t i = 0; i < 8; i++) {
        const size_t before = logs_via(c, 1);
        server_logs(&s, levels[i]);
        CHECK_EQ(logs_via(c, 1) - before, i >= 3);
    }
    server_logs(&s, "shout"); /* no level at all */
    CHECK_EQ(logs_via(c, 1), 5);
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\"}");
    settle(s.w);
    CHECK_EQ(heard_via(c, 1, "notifications/other"), 1);
}

TEST(where_every_request_is_a_client_of_its_own_a_log_that_may_be_of_two_is_told_to_none)
{
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1, FROM("debug"));
    call(c, 2, "");
    server_logs(&s, "error");
    CHECK_EQ(heard(c, "notifications/message"), 0);
    child_answers(s.first, "tools/call", "{\"content\":[]}"); /* the second one */
    settle(s.w);
    server_logs(&s, "error");
    CHECK_EQ(logs_via(c, 1), 1);
}

TEST(one_client_with_several_requests_hears_what_any_of_them_asked_for)
{
    struct scene s = scene();
    struct client *c = s.client; /* it has introduced itself, and sends modern requests too */
    call(c, 1, FROM("debug"));
    call(c, 2, "");
    server_logs(&s, "error");
    CHECK_EQ(logs_via(c, 1), 1);
    client_calls_via(c, 3, 3, "echo"); /* a legacy one hears everything */
    settle(s.w);
    server_logs(&s, "debug");
    CHECK(logs_via(c, 3) == 1 && logs_via(c, 2) == 0);
}

/* ---- what a client cannot be asked ---- */

static void server_asks(struct scene *s, const char *method, const char *params)
{
    child_says(s->first, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\",\"params\":%s}",
               method, params);
    settle(s->w);
}

TEST(a_call_that_fails_because_its_client_cannot_be_asked_says_what_it_would_have_needed)
{
    static const struct {
        const char *method, *params, *needs;
    } rows[] = {
        { "sampling/createMessage", "{}", "{\"sampling\":{}}" },
        { "sampling/createMessage", "{\"tools\":[]}", "{\"sampling\":{\"tools\":{}}}" },
        { "elicitation/create", "{}", "{\"elicitation\":{}}" },
        { "elicitation/create", "{\"mode\":\"url\"}", "{\"elicitation\":{\"url\":{}}}" },
        { "roots/list", "{}", "{\"roots\":{}}" },
    };
    struct scene s = scene();
    struct client *c = modern_client(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int id = (int)i + 1;
        call(c, (uint64_t)id, "");
        server_asks(&s, rows[i].method, rows[i].params);
        child_answers_error(s.first, "tools/call", -32601, "I was told no");
        settle(s.w);
        CHECK(error_of(c, id) == -32021 && error_says(c, id, "I was told no"));
        CHECK(data_is(c, id, "requiredCapabilities", rows[i].needs));
        CHECK_EQ(answer_to(c, id)->error_code, -32021);
    }
}

TEST(what_else_a_server_answers_passes_as_it_is)
{
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1, "");
    child_answers_error(s.first, "tools/call", -32601, "never asked");
    call(c, 2, "");
    server_asks(&s, "roots/list", "{}");
    child_answers_error(s.first, "tools/call", -32602, "something else");
    call(c, 3, "");
    server_asks(&s, "roots/list", "{}");
    child_answers(s.first, "tools/call", "{\"content\":[]}");
    call(c, 4, "");
    call(c, 5, ""); /* which of the two wanted to know? */
    server_asks(&s, "roots/list", "{}");
    child_answers_error(s.first, "tools/call", -32601, "no");
    settle(s.w);
    CHECK(error_of(c, 1) == -32601 && error_of(c, 2) == -32602 && has_result(c, 3));
    CHECK_EQ(error_of(c, 5), -32601);
}

TEST(a_resource_that_no_server_has_is_not_found_in_the_words_of_its_clients_own_revision)
{
    struct scene s = scene();
    struct client *c = open_client(s.w, NULL); /* this server declares no resources */
    client_requests(c, 1, "resources/read", "{\"uri\":\"file:///a\"}");
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{"
                "\"uri\":\"file:///a\"," META "}}",
                "");
    settle(s.w);
    CHECK(error_of(c, 1) == -32002 && error_of(c, 2) == -32602);
    CHECK_EQ(answer_to(c, 2)->error_code, -32602);
}

TEST(an_error_whose_code_is_another_in_the_revision_keeps_everything_else)
{
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1, "");
    child_says(s.first,
               "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"x\":1.50,\"code\":-32002,\"message\":"
               "\"not here\",\"data\":{\"uri\":\"a:1\"}}}",
               HF_FMT(child_last_id(s.first, "tools/call")));
    settle(s.w);
    REQUIRE_EQ(answers_to(c, 1), 1);
    CHECK_SPAN(answer_to(c, 1)->msg.error,
               "{\"x\":1.50,\"code\":-32602,\"message\":\"not here\",\"data\":{\"uri\":"
               "\"a:1\"}}");
}

/* A server of both eras would take it for a modern request in the middle of its session. */
TEST(a_legacy_server_gets_a_modern_request_without_its_introduction_and_with_the_rest_as_it_was)
{
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1,
         ",\"io.modelcontextprotocol/logLevel\":\"info\" , \"progressToken\" : "
         "\"p\",\"trace\":[1.0]");
    const struct message *got = child_last(s.first, "tools/call");
    REQUIRE(got);
    CHECK(!span_has(got->msg.text, "io.modelcontextprotocol"));
    CHECK(span_has(got->msg.text, "\"trace\":[1.0]") && !span_has(got->msg.text, "\"p\""));
    CHECK(span_has(got->msg.params, "\"name\":\"echo\""));
    child_answers(s.first, "tools/call", "{}");
    CHECK(has_result(c, 1));
    call(c, 2, "");
    CHECK(span_has(child_last(s.first, "tools/call")->msg.text, "\"_meta\":{}"));
}
