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
    CHECK(logs_via(c, 1) == 0 && notes_with(s.w, "server_log") == 1);
    call(c, 2, ",\"io.modelcontextprotocol/logLevel\":7");
    server_logs(&s, "emergency");
    CHECK(heard(c, "notifications/message") == 0);
    world_end(s.w);
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
        CHECK(logs_via(c, 1) - before == (i >= 3));
    }
    server_logs(&s, "shout"); /* no level at all */
    CHECK(logs_via(c, 1) == 5);
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\"}");
    settle(s.w);
    CHECK(heard_via(c, 1, "notifications/other") == 1);
    world_end(s.w);
}

TEST(where_every_request_is_a_client_of_its_own_a_log_that_may_be_of_two_is_told_to_none)
{
    struct scene s = scene();
    struct client *c = modern_client(&s);
    call(c, 1, FROM("debug"));
    call(c, 2, "");
    server_logs(&s, "error");
    CHECK(heard(c, "notifications/message") == 0);
    child_answers(s.first, "tools/call", "{\"content\":[]}"); /* the second one */
    settle(s.w);
    server_logs(&s, "error");
    CHECK(logs_via(c, 1) == 1);
    world_end(s.w);
}

TEST(one_client_with_several_requests_hears_what_any_of_them_asked_for)
{
    struct scene s = scene();
    struct client *c = s.client; /* it has introduced itself, and sends modern requests too */
    call(c, 1, FROM("debug"));
    call(c, 2, "");
    server_logs(&s, "error");
    CHECK(logs_via(c, 1) == 1);
    client_calls_via(c, 3, 3, "echo"); /* a legacy one hears everything */
    settle(s.w);
    server_logs(&s, "debug");
    CHECK(logs_via(c, 3) == 1 && logs_via(c, 2) == 0);
    world_end(s.w);
}
