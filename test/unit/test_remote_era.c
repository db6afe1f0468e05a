/* test_remote_era.c - remote servers of 2026-07-28 that refuse what they are sent, and such as
 * go back to the older era while we are connected. */
#include "engine_http.h"

#define LISTEN   "subscriptions/listen"
#define MISMATCH "{\"code\":-32020,\"message\":\"header mismatch\"}"
#define UNKNOWN  "{\"code\":-32601,\"message\":\"Method not found\"}"

static struct scene remote_modern(struct hf_settings settings)
{
    struct scene s = { .w = world_new() };
    settings.era = HF_ERA_UNKNOWN;
    settings.relist_ms = 0;
    s.server = add_remote(s.w, "s", settings);
    manners_of(s.w, s.server)->is_modern = true;
    manners_of(s.w, s.server)->capabilities = "{\"tools\":{\"listChanged\":true}}";
    settle(s.w);
    s.client = greeted_client(s.w, s.server);
    client_asks(s.client, 900, "tools/list");
    s.first = newest_child(s.w, s.server);
    return s;
}

TEST(a_call_refused_for_its_headers_is_sent_again_once_the_tools_are_listed_anew)
{
    struct scene s = remote_modern(default_settings());
    client_calls(s.client, 1, "echo");
    settle(s.w);
    exchange_answers_error(last_exchange(s.w, "tools/call"), 400, MISMATCH);
    settle(s.w);
    REQUIRE(exchanges(s.w, "tools/list") == 2 && exchanges(s.w, "tools/call") == 2);
    exchange_answers_error(last_exchange(s.w, "tools/call"), 400, MISMATCH);
    CHECK(error_of(s.client, 1) == -32020 && exchanges(s.w, "tools/call") == 2);
}

/* The answer that refused it is not the answer it is waiting for. */
TEST(a_call_that_was_refused_and_ends_before_it_is_sent_again_is_never_sent)
{
    struct scene s = remote_modern(SETTINGS(.wait_ms = 1000));
    client_calls(s.client, 1, "echo");
    settle(s.w);
    manners_of(s.w, s.server)->http.holds_calls = true;
    exchange_answers_error(last_exchange(s.w, "tools/call"), 400, MISMATCH);
    settle(s.w);
    REQUIRE(exchanges(s.w, "tools/call") == 2 && sent(s.w, "tools/call") == 1);
    advance(s.w, 1000);
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "dispatched", "false"));
    CHECK(last_exchange(s.w, "tools/call")->is_aborted && open_exchanges(s.w, "tools/call") == 0);
}

/* ---- gone back ---- */

static void go_back(struct scene *s)
{
    manners_of(s->w, s->server)->is_modern = false;
    manners_of(s->w, s->server)->http.by_hand = false;
}

TEST(a_subscription_turned_away_makes_us_ask_for_the_era_and_a_server_gone_back_is_greeted)
{
    static const int statuses[] = { 400, 404, 405 };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = remote_modern(default_settings());
        manners_of(s.w, s.server)->http.by_hand = true;
        exchange_fails(last_exchange(s.w, LISTEN), statuses[i]);
        REQUIRE_EQ(exchanges(s.w, "server/discover"), 2);
        go_back(&s);
        exchange_fails(last_exchange(s.w, "server/discover"), statuses[i]);
        settle(s.w);
        CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
        CHECK_EQ(exchanges(s.w, "initialize"), 1);
        world_end(s.w);
    }
}

TEST(a_server_that_knows_neither_subscriptions_nor_the_question_any_more_has_gone_back)
{
    struct scene s = remote_modern(default_settings());
    manners_of(s.w, s.server)->http.by_hand = true;
    exchange_answers_error(last_exchange(s.w, LISTEN), 404, UNKNOWN);
    REQUIRE_EQ(exchanges(s.w, "server/discover"), 2);
    go_back(&s);
    exchange_answers_error(last_exchange(s.w, "server/discover"), 200, UNKNOWN);
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
    CHECK_EQ(exchanges(s.w, "initialize"), 1);
}

TEST(a_server_that_only_knows_no_subscriptions_stays_as_it_is)
{
    struct scene s = remote_modern(default_settings());
    exchange_answers_error(last_exchange(s.w, LISTEN), 404, UNKNOWN);
    advance(s.w, 3600000);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1);
    CHECK(exchanges(s.w, LISTEN) == 1 && exchanges(s.w, "server/discover") == 2);
}

/* A call in doubt is not proven unrun by an error in other words. */
TEST(a_question_answered_in_other_words_says_nothing_of_the_calls_in_doubt)
{
    struct scene s = remote_modern(default_settings());
    client_calls(s.client, 1, "echo");
    settle(s.w);
    manners_of(s.w, s.server)->http.by_hand = true;
    exchange_fails(last_exchange(s.w, "tools/call"), 404);
    REQUIRE_EQ(exchanges(s.w, "server/discover"), 2);
    go_back(&s);
    exchange_answers_error(last_exchange(s.w, "server/discover"), 404, UNKNOWN);
    settle(s.w);
    CHECK(data_is(s.client, 1, "dispatched", "true") && exchanges(s.w, "tools/call") == 1);
    CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "initialize") == 1);
}

/* ---- a greeting that nobody waits for any more ---- */

TEST(a_runtime_that_was_lost_while_it_was_greeted_anew_asks_nothing_more)
{
    static const int statuses[] = { 400, 401, 404, 500 };
    for (size_t i = 0; i < 4; i++) {
        struct scene s = remote_scene_of(SETTINGS(.era = HF_ERA_UNKNOWN), HTTP());
        operate(s.w, s.server, HF_OP_RECONNECT); /* from now on it is known to be a legacy one */
        settle(s.w);
        client_calls(s.client, 1, "echo");
        client_calls(s.client, 2, "echo");
        client_calls(s.client, 3, "echo");
        settle(s.w);
        manners_of(s.w, s.server)->http.by_hand = true;
        exchange_fails(nth_exchange(s.w, "tools/call", 0), 404);
        exchange_fails(last_exchange(s.w, "ping"), 404);
        struct exchange *hello = last_exchange(s.w, "initialize");
        REQUIRE_EQ(exchanges(s.w, "initialize"), 3);
        exchange_answers_error(nth_exchange(s.w, "tools/call", 1), 400,
                               "{\"code\":-32022,\"message\":\"unsupported version\",\"data\":"
                               "{\"supported\":[\"2026-07-28\"]}}");
        REQUIRE(spawns_of(s.w, s.server) == 3 && nth_exchange(s.w, "tools/call", 2)->post);
        const size_t asked = exchanges(s.w, "server/discover");
        exchange_fails(hello, statuses[i]);
        CHECK(exchanges(s.w, "server/discover") == asked && exchanges(s.w, "initialize") == 3);
        CHECK(spawns_of(s.w, s.server) == 3 && IS(s.server, RECONNECTING));
        world_end(s.w);
    }
}

TEST(a_runtime_that_was_replaced_while_it_was_greeted_anew_wants_no_credentials)
{
    struct scene s = remote_scene();
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    settle(s.w);
    manners_of(s.w, s.server)->http.by_hand = true;
    exchange_fails(nth_exchange(s.w, "tools/call", 0), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    struct exchange *hello = last_exchange(s.w, "initialize");
    REQUIRE_EQ(exchanges(s.w, "initialize"), 2);
    manners_of(s.w, s.server)->http.by_hand = false;
    manners_of(s.w, s.server)->http.is_down = true;
    operate(s.w, s.server, HF_OP_RECONNECT);
    REQUIRE(!IS(s.server, CONNECTED) && hello->post);
    exchange_fails(hello, 401);
    CHECK(!IS(s.server, PERMANENTLY_FAILED));
    CHECK(!span_has(hf_span_of(status_of(s.server).last_reason), "auth required"));
}

TEST(a_stream_of_news_that_is_cut_or_turned_away_makes_nobody_suspect_its_server)
{
    for (int status = 0; status <= 503; status += 503) {
        struct scene s = remote_modern(default_settings());
        REQUIRE_EQ(open_exchanges(s.w, LISTEN), 1);
        const size_t asked = exchanges(s.w, "server/discover");
        if (status)
            exchange_fails(last_exchange(s.w, LISTEN), status);
        else
            exchange_breaks(last_exchange(s.w, LISTEN), HF_SENT_WHOLE);
        client_calls(s.client, 1, "echo");
        CHECK(exchanges(s.w, "tools/call") == 1 && exchanges(s.w, "server/discover") == asked);
        CHECK_EQ(status_of(s.server).generation, 1);
        world_end(s.w);
    }
}

TEST(a_call_whose_retry_was_never_sent_is_told_of_the_generation_that_asked)
{
    struct scene s = remote_modern(SETTINGS(.wait_ms = 5000));
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    settle(s.w);
    manners_of(s.w, s.server)->http.by_hand = true;
    exchange_fails(nth_exchange(s.w, "tools/call", 1), 503);
    manners_of(s.w, s.server)->http.by_hand = false;
    exchange_fails(last_exchange(s.w, "server/discover"), 503);
    REQUIRE(spawns_of(s.w, s.server) == 2 && IS(s.server, CONNECTED));
    manners_of(s.w, s.server)->http.holds_calls = true;
    exchange_answers(nth_exchange(s.w, "tools/call", 0),
                     "{\"resultType\":\"input_required\",\"requestState\":\"s\"}");
    REQUIRE(exchanges(s.w, "tools/call") == 3 && sent(s.w, "tools/call") == 2);
    advance(s.w, 5000);
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "generation", "1"));
}

/* ---- was it about the era? ---- */

static struct scene modern_with_call(void)
{
    struct scene s = remote_modern(default_settings());
    client_calls(s.client, 1, "echo");
    settle(s.w);
    manners_of(s.w, s.server)->http.by_hand = true;
    return s;
}

TEST(a_bare_refusal_is_sent_again_in_the_older_era_once_the_next_runtime_was_let_in)
{
    static const int statuses[] = { 400, 404, 405 };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = modern_with_call();
        exchange_fails(last_exchange(s.w, "tools/call"), statuses[i]);
        REQUIRE(exchanges(s.w, "server/discover") == 2 && answers_to(s.client, 1) == 0);
        exchange_fails(last_exchange(s.w, "server/discover"), statuses[i]);
        settle(s.w);
        CHECK(exchanges(s.w, "tools/call") == 1 && answers_to(s.client, 1) == 0);
        go_back(&s);
        exchange_fails(last_exchange(s.w, "server/discover"), statuses[i]); /* of the next one */
        settle(s.w);
        REQUIRE(IS(s.server, CONNECTED) && sent(s.w, "tools/call") == 2);
        exchange_answers(last_exchange(s.w, "tools/call"), "{\"content\":[]}");
        CHECK(has_result(s.client, 1));
        world_end(s.w);
    }
}

TEST(a_bare_refusal_is_not_sent_again_if_the_question_is_refused_in_other_words)
{
    struct scene s = modern_with_call();
    exchange_fails_with(last_exchange(s.w, "tools/call"), 404, "text/plain", "The tool says no");
    exchange_fails(last_exchange(s.w, "server/discover"), 404);
    settle(s.w);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK_EQ(exchanges(s.w, "tools/call"), 1);
}

TEST(a_bare_refusal_is_not_sent_again_if_nobody_is_let_in_in_time)
{
    struct hf_settings settings = default_settings();
    struct scene s = modern_with_call();
    exchange_fails(last_exchange(s.w, "tools/call"), 404);
    exchange_fails(last_exchange(s.w, "server/discover"), 404);
    manners_of(s.w, s.server)->http.by_hand = false;
    manners_of(s.w, s.server)->http.is_down = true;
    exchange_breaks(last_exchange(s.w, "server/discover"), HF_SENT_NOTHING);
    advance(s.w, settings.wait_ms);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK_EQ(exchanges(s.w, "tools/call"), 1);
}
