/*
 * test_ask.c - servers that ask their clients: not before these have introduced themselves, and not
 * for longer than somebody can answer (DESIGN 6, 9).
 */
#include "engine_fixture.h"

#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define CHANGED     "notifications/roots/list_changed"

static const char everything[] = "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}";

static void server_asks(struct child *c, const char *method)
{
    child_says(c, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\",\"params\":{}}", method);
}

/* The last answer that the server was given to a request of its own, if it says that. */
static bool was_told(const struct child *c, const char *part)
{
    for (size_t i = c->got.count; i-- > 0;)
        if (c->got.items[i].msg.kind >= HF_MSG_RESULT)
            return span_has(c->got.items[i].msg.text, part);
    return false;
}

static size_t answers_got(const struct child *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->got.count; i++)
        count += c->got.items[i].msg.kind >= HF_MSG_RESULT;
    return count;
}

static void greet(struct client *c, const char *capabilities)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-06-18\",\"capabilities\":%s,\"clientInfo\":{\"name\":"
                "\"tester\",\"version\":\"1\"}}}",
                capabilities);
}

/* ---- before its client is there: `run` ---- */

struct own {
    struct world *w;
    struct hf_server *server;
    struct client *client;
    struct child *child;
};

/* The client has said initialize, and its server has answered. */
static struct own own_with(const char *capabilities)
{
    struct own o = { .w = world_new() };
    o.server = add_server(o.w, "s", default_settings());
    hf_server_set_clients_own(o.server);
    settle(o.w);
    o.client = open_client(o.w, o.server);
    greet(o.client, capabilities);
    o.child = newest_child(o.w, o.server);
    return o;
}

TEST(initialize_of_run_is_answered_with_the_servers_words_before_its_lists_are_asked)
{
    struct own o = own_with(everything);
    REQUIRE(has_result(o.client, 0));
    CHECK(!span_has(answer_to(o.client, 0)->msg.result, "\"holdfast\""));
    CHECK_EQ(child_got(o.child, "tools/list"), 0);
    CHECK_EQ(child_got(o.child, "notifications/initialized"), 0);
    client_says(o.client, INITIALIZED);
    CHECK_EQ(child_got(o.child, "notifications/initialized"), 1);
    CHECK(child_got(o.child, "tools/list") == 1 && IS(o.server, CONNECTED));
}

TEST(a_request_of_the_client_stands_for_its_initialized_and_a_ping_does_not)
{
    struct own o = own_with(everything);
    client_asks(o.client, 1, "ping");
    CHECK(has_result(o.client, 1) && child_got(o.child, "notifications/initialized") == 0);
    client_calls(o.client, 2, "echo");
    CHECK_EQ(child_got(o.child, "notifications/initialized"), 1);
    CHECK_EQ(child_got(o.child, "tools/call"), 1);
}

TEST(a_client_that_never_says_initialized_is_waited_for_list_wait_ms)
{
    struct own o = own_with(everything);
    server_asks(o.child, "roots/list");
    child_says(o.child, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    advance(o.w, 9999);
    CHECK(heard(o.client, "roots/list") == 0 && answers_got(o.child) == 0);
    CHECK_EQ(child_got(o.child, "notifications/initialized"), 0);
    CHECK_EQ(child_got(o.child, "tools/list"), 0);
    advance(o.w, 1);
    CHECK_EQ(child_got(o.child, "notifications/initialized"), 1);
    CHECK(answers_got(o.child) == 1 && was_told(o.child, "listWaitMs"));
    CHECK(heard(o.client, "roots/list") == 0 && IS(o.server, CONNECTED));
}

TEST(what_a_server_asks_too_early_is_kept_until_its_client_says_initialized)
{
    struct own o = own_with(everything);
    server_asks(o.child, "roots/list");
    CHECK(heard(o.client, "roots/list") == 0 && answers_got(o.child) == 0);
    client_says(o.client, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}",
                3); /* no such question */
    client_says(o.client, INITIALIZED);
    REQUIRE_EQ(heard(o.client, "roots/list"), 1);
    client_answers(o.client, "roots/list", "{\"roots\":[7]}");
    CHECK(was_told(o.child, "\"id\":\"q\"") && was_told(o.child, "[7]"));
}

TEST(a_client_without_the_capability_is_not_waited_for)
{
    struct own o = own_with("{}");
    server_asks(o.child, "roots/list");
    CHECK(answers_got(o.child) == 1 && was_told(o.child, "did not declare"));
}

TEST(what_is_kept_for_a_client_ends_with_its_server_or_when_that_takes_it_back)
{
    for (int i = 0; i < 2; i++) {
        struct own o = own_with(everything);
        server_asks(o.child, "roots/list");
        if (i == 0)
            child_dies(o.child);
        else
            child_notifies(o.child, "notifications/cancelled", "{\"requestId\":\"q\"}");
        client_says(o.client, INITIALIZED);
        CHECK_EQ(heard(o.client, "roots/list"), 0);
        CHECK_EQ(heard(o.client, "notifications/cancelled"), 0);
        world_end(o.w);
    }
}

TEST(the_time_that_a_client_takes_for_its_introduction_is_not_that_of_the_start)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", SETTINGS(.start_timeout_ms = 1000));
    hf_server_set_clients_own(server);
    settle(w);
    struct client *c = open_client(w, server);
    greet(c, "{}");
    manners_of(w, server)->stuck_list = true;
    newest_child(w, server)->manners.stuck_list = true;
    advance(w, 5000);
    client_says(c, INITIALIZED);
    CHECK_EQ(spawns_of(w, server), 1);
    advance(w, 1000); /* but that of its lists is */
    CHECK(spawns_of(w, server) == 2 || newest_child(w, server)->got_kill);
}

/* ---- shared servers ---- */

TEST(a_shared_server_is_told_that_nobody_is_there_and_hears_when_somebody_comes)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    server_asks(s.first, "roots/list");
    CHECK(was_told(s.first, "no client is connected"));
    struct client *mute = greeted_client_with(s.w, NULL, "{\"sampling\":{}}");
    CHECK_EQ(child_got(s.first, CHANGED), 0);
    client_leaves(mute);
    struct client *c = open_client(s.w, NULL);
    greet(c, everything);
    CHECK_EQ(child_got(s.first, CHANGED), 0);
    client_says(c, INITIALIZED);
    CHECK_EQ(child_got(s.first, CHANGED), 1);
    client_says(c, INITIALIZED);
    client_calls(c, 1, "s__echo");
    CHECK_EQ(child_got(s.first, CHANGED), 1);
}

TEST(a_shared_server_hears_when_the_one_client_that_can_be_asked_is_another)
{
    struct scene s = lone_server(SETTINGS(), MANNERS());
    struct client *a = greeted_client_with(s.w, NULL, everything);
    CHECK_EQ(child_got(s.first, CHANGED), 1);
    (void)greeted_client_with(s.w, NULL, everything);
    server_asks(s.first, "roots/list");
    CHECK(was_told(s.first, "several clients") && child_got(s.first, CHANGED) == 1);
    client_leaves(a);
    CHECK_EQ(child_got(s.first, CHANGED), 2);
    child_dies(s.first); /* the next one asks for itself, if it wants to know */
    struct child *second = newest_child(s.w, s.server);
    server_asks(second, "roots/list");
    CHECK_EQ(child_got(second, CHANGED), 0);
    struct client *third = greeted_client_with(s.w, NULL, everything);
    client_leaves(third);
    CHECK_EQ(child_got(second, CHANGED), 0);
}

TEST(a_shared_server_that_is_still_listing_hears_of_the_client_too)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    server_asks(newest_child(s.w, s.server), "roots/list");
    (void)greeted_client_with(s.w, NULL, everything);
    CHECK_EQ(child_got(newest_child(s.w, s.server), CHANGED), 1);
}

/* ---- a client that is asked and vanishes ---- */

/* A server for one call at a time, and two clients at its endpoint. */
struct narrow {
    struct world *w;
    struct hf_server *server;
    struct client *a, *b;
    struct child *child;
};

static struct narrow narrow_of(struct hf_settings settings, const char *capabilities)
{
    struct narrow n = { .w = world_new() };
    n.server = add_server(n.w, "s", settings);
    settle(n.w);
    n.a = greeted_client_with(n.w, n.server, capabilities);
    n.b = greeted_client_with(n.w, n.server, capabilities);
    n.child = newest_child(n.w, n.server);
    return n;
}

static struct narrow narrow(uint32_t max_in_flight)
{
    return narrow_of(
        SETTINGS(.max_in_flight = max_in_flight, .ask_ms = 60000, .call_timeout_ms = 5000),
        everything);
}

static void hears(struct client *c, enum hf_stream_state hearing)
{
    hf_session_set_stream(c->session, hearing, at(c->world->now_ms));
    settle(c->world);
}

TEST(a_question_that_is_not_answered_in_ask_ms_is_an_error_and_the_clocks_run_on)
{
    struct narrow n = narrow(1);
    client_calls(n.a, 1, "echo");
    server_asks(n.child, "elicitation/create");
    REQUIRE_EQ(heard(n.a, "elicitation/create"), 1);
    advance(n.w, 59999);
    CHECK_EQ(answers_got(n.child), 0);
    advance(n.w, 1);
    CHECK(answers_got(n.child) == 1 && was_told(n.child, "askMs"));
    CHECK_EQ(heard(n.a, "notifications/cancelled"), 1);
    CHECK_EQ(answers_to(n.a, 1), 0);
    advance(n.w, 5000);
    CHECK_EQ(error_of(n.a, 1), -31002);
    client_answers(n.a, "elicitation/create", "{}");
    CHECK_EQ(answers_got(n.child), 1);
}

TEST(ones_own_server_may_ask_for_ever)
{
    struct own o = own_with(everything);
    client_says(o.client, INITIALIZED);
    server_asks(o.child, "elicitation/create");
    advance(o.w, 100 * 3600 * 1000);
    CHECK(heard(o.client, "elicitation/create") == 1 && answers_got(o.child) == 0);
}

TEST(a_question_that_nobody_can_hear_is_an_error_at_once)
{
    struct narrow n = narrow(0);
    advance(n.w, 6000);
    client_calls_via(n.a, 11, 1, "echo");
    server_asks(n.child, "elicitation/create");
    CHECK_EQ(answers_got(n.child), 0);
    hears(n.a, HF_STREAM_NONE);
    advance(n.w, 1);
    CHECK(answers_got(n.child) == 1 && was_told(n.child, "no open stream"));
}

TEST(a_client_that_has_just_come_may_still_open_its_stream)
{
    struct narrow n = narrow(0);
    client_calls_via(n.a, 11, 1, "echo");
    server_asks(n.child, "elicitation/create");
    hears(n.a, HF_STREAM_NONE);
    advance(n.w, 4000);
    hears(n.a, HF_STREAM_OPEN);
    advance(n.w, 50000);
    CHECK_EQ(answers_got(n.child), 0);
}

TEST(a_client_that_can_come_back_to_its_stream_has_gone_ms_for_that)
{
    struct narrow n = narrow(0);
    advance(n.w, 6000);
    client_calls_via(n.a, 11, 1, "echo");
    server_asks(n.child, "elicitation/create");
    hears(n.a, HF_STREAM_MAY_REOPEN);
    advance(n.w, 29999);
    CHECK_EQ(answers_got(n.child), 0);
    advance(n.w, 1);
    CHECK_EQ(answers_got(n.child), 1);
    server_asks(n.child, "elicitation/create"); /* it has been gone for as long as that */
    advance(n.w, 1);
    CHECK_EQ(answers_got(n.child), 2);
}

/* ---- a client that is gone, and others who wait ---- */

TEST(the_oldest_call_of_a_gone_client_makes_room_when_somebody_waits_and_not_before)
{
    struct narrow n = narrow_of(SETTINGS(.max_in_flight = 2, .wait_ms = 600000), "{}");
    client_calls_via(n.a, 11, 1, "echo");
    client_calls_via(n.a, 12, 2, "echo");
    client_via_gone(n.a, 12);
    client_via_gone(n.a, 11);
    advance(n.w, 100000); /* nobody wants their places */
    CHECK(answers_via(n.a, 11) == 0 && child_got(n.child, "notifications/cancelled") == 0);
    client_calls(n.b, 1, "echo");
    CHECK_EQ(child_got(n.child, "tools/call"), 3);
    CHECK_EQ(child_got(n.child, "notifications/cancelled"), 1);
    REQUIRE(answers_via(n.a, 11) == 1 && answers_via(n.a, 12) == 0);
    CHECK(error_of(n.a, 1) == -31002 && data_is(n.a, 1, "reason", "\"client_gone\""));
}

TEST(a_call_that_is_being_served_is_not_ended_by_wait_ms_when_its_client_has_been_gone_for_gone_ms)
{
    struct narrow n = narrow_of(SETTINGS(.wait_ms = 15000, .gone_ms = 30000), "{}");
    client_calls_via(n.a, 11, 1, "echo");
    client_via_gone(n.a, 11);
    advance(n.w, 30000);
    CHECK(answers_via(n.a, 11) == 0 && child_got(n.child, "notifications/cancelled") == 0);
    child_answers(n.child, "tools/call", "{\"content\":[]}");
    CHECK(answers_via(n.a, 11) == 1 && has_result(n.a, 1));
}

TEST(a_call_waits_for_gone_ms_and_takes_the_place_then_unless_the_client_comes_back)
{
    for (int is_back = 0; is_back < 2; is_back++) {
        struct narrow n = narrow_of(SETTINGS(.max_in_flight = 1), "{}");
        client_calls_via(n.a, 11, 1, "echo");
        client_calls(n.b, 1, "echo");
        client_via_gone(n.a, 11);
        advance(n.w, 29999);
        CHECK_EQ(child_got(n.child, "tools/call"), 1);
        if (is_back) {
            hf_session_via_back(n.a->session, 11, at(n.w->now_ms));
            settle(n.w);
        }
        advance(n.w, 1);
        CHECK_EQ(child_got(n.child, "tools/call"), is_back ? 1 : 2);
        CHECK_EQ(answers_via(n.a, 11), is_back ? 0 : 1);
        world_end(n.w);
    }
}

TEST(a_client_that_goes_while_its_call_is_half_written_loses_the_place_after_gone_ms_too)
{
    struct narrow n = narrow_of(SETTINGS(.max_in_flight = 1), "{}");
    child_stalls(n.child, 40);
    client_calls_via(n.a, 11, 1, "echo");
    client_calls(n.b, 1, "echo");
    client_via_gone(n.a, 11);
    child_goes_on(n.child);
    advance(n.w, 29999);
    CHECK(child_got(n.child, "tools/call") == 1 && answers_via(n.a, 11) == 0);
    advance(n.w, 1);
    CHECK(child_got(n.child, "tools/call") == 2 && answers_via(n.a, 11) == 1);
}

TEST(the_calls_of_a_gone_client_do_not_make_it_a_second_candidate)
{
    struct narrow n = narrow(0);
    client_calls_via(n.a, 11, 1, "echo");
    server_asks(n.child, "sampling/createMessage"); /* so its clock stands still */
    client_via_gone(n.a, 11);
    advance(n.w, 29999);
    client_calls(n.b, 1, "echo");
    server_asks(n.child, "elicitation/create");
    CHECK(was_told(n.child, "several clients"));
    advance(n.w, 1);
    server_asks(n.child, "elicitation/create");
    CHECK(heard(n.b, "elicitation/create") == 1 && heard(n.a, "elicitation/create") == 0);
}

TEST(a_gone_client_is_still_the_one_that_is_asked_where_nobody_else_calls)
{
    struct narrow n = narrow(0);
    client_calls_via(n.a, 11, 1, "echo");
    server_asks(n.child, "sampling/createMessage");
    client_via_gone(n.a, 11);
    advance(n.w, 30001);
    server_asks(n.child, "elicitation/create");
    CHECK(heard(n.a, "elicitation/create") == 1 && heard(n.b, "elicitation/create") == 0);
}
