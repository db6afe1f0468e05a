/*
 * test_remote_doubt.c - what a remote server means by a 4xx: a ping under a session id that it
 * cannot know, and one under the renewed session, tell. And what a liveness check finds.
 */
#include "remote_fixture.h"

static const int doubtful[] = { 400, 401, 403, 404, 409, 410, 422 };
enum { DOUBTFUL = sizeof doubtful / sizeof *doubtful };
#define NOBODY "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"gone\"},\"id\":null}"
#define NOT_FOUND                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no such session\"},\"id\":%s}"

static bool is_strange(const struct exchange *ping)
{
    return ping->session_id && strncmp(ping->session_id, "session-", 8) != 0;
}

/* ---- it was about the session ---- */

TEST(a_refusal_that_a_stranger_gets_as_well_and_the_next_session_does_not_is_a_forgotten_session)
{
    for (size_t i = 0; i < DOUBTFUL; i++) {
        struct scene s = scene_with_calls(5);
        const bool is_401 = doubtful[i] == 401;
        http_of(&s)->has_forgotten = true;
        http_of(&s)->unknown_status = doubtful[i];
        http_of(&s)->by_hand = true;
        for (size_t n = 0; n < 5; n++)
            exchange_fails(nth_exchange(s.w, CALL, n), doubtful[i]);
        CHECK(exchanges(s.w, "ping") == 1 + (size_t)is_401 && exchanges(s.w, "initialize") == 1);
        CHECK(is_strange(nth_exchange(s.w, "ping", 0)));
        http_of(&s)->by_hand = false;
        exchange_fails(nth_exchange(s.w, "ping", 0), doubtful[i]);
        if (is_401)
            exchange_fails(nth_exchange(s.w, "ping", 1), 401);
        CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 10);
        CHECK_STR(last_exchange(s.w, "ping")->session_id, "session-2");
        answer_all(&s);
        for (int id = 1; id <= 5; id++)
            CHECK(has_result(s.client, id) && answers_to(s.client, id) == 1);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        CHECK_EQ(exchanges(s.w, "ping"), 2 + (size_t)is_401);
        world_end(s.w);
    }
}

TEST(nothing_is_sent_again_before_the_ping_under_the_renewed_session_has_passed)
{
    for (int passes = 0; passes < 3; passes++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails(last_exchange(s.w, CALL), 404);
        exchange_fails(last_exchange(s.w, "ping"), 404);
        exchange_gives_session(last_exchange(s.w, "initialize"), "session-2");
        exchange_says_answer(last_exchange(s.w, "initialize"),
                             "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}"
                             ",\"serverInfo\":{\"name\":\"fake\",\"version\":\"2\"}}");
        exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
        REQUIRE(exchanges(s.w, "ping") == 2 && exchanges(s.w, CALL) == 1);
        CHECK_EQ(answers_to(s.client, 1), 0);
        if (passes == 0)
            exchange_fails(last_exchange(s.w, "ping"), 404);
        else if (passes == 1)
            exchange_fails_with(last_exchange(s.w, "ping"), 400, "text/plain", "no ping here");
        else
            exchange_answers(last_exchange(s.w, "ping"), "{}");
        CHECK_EQ(exchanges(s.w, CALL), passes ? 2 : 1);
        CHECK_EQ(error_of(s.client, 1), passes ? 0 : -31009);
        world_end(s.w);
    }
}

TEST(a_late_refusal_is_judged_by_what_is_known_of_its_session)
{
    struct scene s = scene_with_calls(2);
    http_of(&s)->has_forgotten = true;
    http_of(&s)->unknown_status = 400;
    exchange_fails(nth_exchange(s.w, CALL, 0), 400);
    CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 3);
    exchange_fails(nth_exchange(s.w, CALL, 1), 400); /* the new session is there already */
    CHECK(sent(s.w, CALL) == 4 && sent(s.w, "ping") == 2 && sent(s.w, "initialize") == 2);
    answer_all(&s);
    CHECK(has_result(s.client, 1) && has_result(s.client, 2));
}

TEST(a_server_that_echoes_our_id_in_its_refusal_is_understood)
{
    static const int statuses[] = { 404, 400 };
    for (size_t i = 0; i < 2; i++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails_with(last_exchange(s.w, CALL), statuses[i], "application/json", NOT_FOUND);
        CHECK_EQ(answers_to(s.client, 1), 0);
        http_of(&s)->by_hand = false;
        exchange_fails_with(last_exchange(s.w, "ping"), statuses[i], "application/json", NOT_FOUND);
        CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 2);
        answer_all(&s);
        CHECK(has_result(s.client, 1));
        world_end(s.w);
    }
}

TEST(an_error_to_nobody_under_200_is_understood_where_a_stranger_gets_it_too)
{
    for (int same = 0; same < 2; same++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails_with(last_exchange(s.w, CALL), 200, "application/json", NOBODY);
        REQUIRE(exchanges(s.w, "ping") == 1 && answers_to(s.client, 1) == 0);
        http_of(&s)->by_hand = false;
        if (same)
            exchange_fails_with(last_exchange(s.w, "ping"), 200, "application/json", NOBODY);
        else
            exchange_fails(last_exchange(s.w, "ping"), 404);
        CHECK_EQ(sent(s.w, CALL), same ? 2 : 1);
        CHECK_EQ(error_of(s.client, 1), same ? 0 : -31002);
        world_end(s.w);
    }
}

static void say_in_a_stream(struct exchange *x, const char *first, const char *second)
{
    exchange_head(x, 200, true);
    exchange_says(x, "%s", first);
    if (second)
        exchange_says(x, "%s", second);
    exchange_ends(x);
}

TEST(an_error_to_nobody_is_understood_also_in_an_event_stream_if_nothing_else_is_said_there)
{
    static const char news[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                               "\"params\":{\"level\":\"info\",\"data\":1}}";
    static const struct {
        const char *first, *second;
        bool is_cut, is_refusal;
    } ways[] = {
        { NOBODY, NULL, false, true },
        { NOBODY, news, false, false }, /* whoever says that may have run it */
        { news, NOBODY, false, false },
        { NOBODY, NULL, true, false },
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        last_exchange(s.w, CALL)->has_no_length = ways[i].is_cut;
        say_in_a_stream(last_exchange(s.w, CALL), ways[i].first, ways[i].second);
        CHECK_EQ(exchanges(s.w, "ping"), ways[i].is_refusal ? 1 : 0);
        CHECK_EQ(error_of(s.client, 1), ways[i].is_refusal ? 0 : -31002);
        http_of(&s)->by_hand = false;
        if (ways[i].is_refusal)
            say_in_a_stream(last_exchange(s.w, "ping"), NOBODY, NULL);
        CHECK_EQ(sent(s.w, CALL), ways[i].is_refusal ? 2 : 1);
        world_end(s.w);
    }
}

TEST(an_error_to_nobody_in_an_event_stream_is_not_the_same_as_one_without)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    say_in_a_stream(last_exchange(s.w, CALL), NOBODY, NULL);
    http_of(&s)->by_hand = false;
    exchange_fails_with(last_exchange(s.w, "ping"), 200, "application/json", NOBODY);
    CHECK(sent(s.w, CALL) == 1 && error_of(s.client, 1) == -31002);
}

TEST(a_call_that_was_in_doubt_and_is_sent_again_has_no_doubt_left)
{
    struct scene s = remote_scene_of(SETTINGS(.drain_ms = 1000), HTTP());
    calls(&s, 1, 1);
    http_of(&s)->has_forgotten = true;
    http_of(&s)->unknown_status = 403;
    exchange_fails(last_exchange(s.w, CALL), 403);
    CHECK_EQ(sent(s.w, CALL), 2);
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1000);
    CHECK_EQ(error_of(s.client, 1), -31002); /* this time it was taken */
}

TEST(what_a_stream_once_met_confirms_nothing_later)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    http_of(&s)->by_hand = true;
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "GET"), 400);
    exchange_answers(last_exchange(s.w, "ping"), "{}"); /* the session is known */
    http_of(&s)->by_hand = false;
    http_of(&s)->ping_status = 400;
    calls(&s, 1, 1);
    exchange_fails(last_exchange(s.w, CALL), 403);
    CHECK(error_of(s.client, 1) == -31009 && sent(s.w, "initialize") == 1);
}

TEST(a_call_in_doubt_is_told_also_if_its_runtime_was_replaced_meanwhile)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    calls(&s, 1, 1);
    http_of(&s)->by_hand = true;
    exchange_breaks(stream_of(s.first), HF_SENT_WHOLE);
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "GET"), 404);
    struct exchange *known = last_exchange(s.w, "ping");
    exchange_fails_with(last_exchange(s.w, CALL), 200, "application/json", NOBODY);
    struct exchange *stranger = last_exchange(s.w, "ping");
    REQUIRE(known && stranger != known && exchanges(s.w, "ping") == 2);
    exchange_head(stranger, 200, false);
    exchange_breaks(stranger, HF_SENT_WHOLE);
    operate(s.w, s.server, HF_OP_RECONNECT);
    exchange_fails_with(known, 200, "application/json", NOBODY);
    CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
}

/* ---- it was not, or nobody can tell ---- */

TEST(a_refusal_that_no_stranger_gets_is_the_servers_word_and_not_sent_again)
{
    for (size_t i = 0; i < DOUBTFUL; i++) {
        if (doubtful[i] == 404)
            continue;
        struct scene s = scene_with_calls(2);
        exchange_fails(nth_exchange(s.w, CALL, 0), doubtful[i]);
        CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
        CHECK(sent(s.w, CALL) == 2 && sent(s.w, "initialize") == 1);
        CHECK(IS(s.server, CONNECTED) && nth_exchange(s.w, CALL, 1)->post);
        world_end(s.w);
    }
}

TEST(a_session_that_is_not_served_is_made_anew_although_its_refusals_prove_nothing)
{
    static const char *const bodies[] = { "", " ", "{}", "\xff", "it cannot do tools/call" };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->has_forgotten = true;
        http_of(&s)->unknown_status = 400;
        http_of(&s)->by_hand = true;
        exchange_fails_with(last_exchange(s.w, CALL), 400, "text/plain", bodies[i]);
        if (is_strange(last_exchange(s.w, "ping")))
            exchange_fails(last_exchange(s.w, "ping"), 400);
        CHECK(answers_to(s.client, 1) == 1 && !is_strange(last_exchange(s.w, "ping")));
        client_calls(s.client, 2, "echo"); /* waits until it is known if the session is served */
        CHECK_EQ(exchanges(s.w, CALL), 1);
        http_of(&s)->by_hand = false;
        exchange_fails(last_exchange(s.w, "ping"), 400);
        CHECK(error_of(s.client, 1) != 0 && data_is(s.client, 1, "dispatched", "true"));
        CHECK(sent(s.w, CALL) == 2 && sent(s.w, "initialize") == 2 && IS(s.server, CONNECTED));
        CHECK_STR(last_exchange(s.w, CALL)->session_id, "session-2");
        world_end(s.w);
    }
}

TEST(another_server_behind_the_url_is_asked_how_it_turns_strangers_away)
{
    struct scene s = scene_with_calls(2);
    http_of(&s)->by_hand = true;
    exchange_fails(nth_exchange(s.w, CALL, 0), 403); /* of its tool */
    exchange_fails(last_exchange(s.w, "ping"), 404);
    CHECK(error_of(s.client, 1) == -31009 && sent(s.w, "initialize") == 1);
    exchange_answers(last_exchange(s.w, "ping"), "{}"); /* under its own session */
    exchange_fails(nth_exchange(s.w, CALL, 1), 400); /* of the next one, to a session of the last */
    CHECK(exchanges(s.w, "ping") == 3 && is_strange(last_exchange(s.w, "ping")));
    http_of(&s)->by_hand = false;
    exchange_fails(last_exchange(s.w, "ping"), 400);
    CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 3);
}

TEST(a_refusal_in_other_words_type_or_code_is_the_servers_own)
{
    static const struct {
        const char *type, *body;
    } own[] = {
        { "text/plain", "turned away" },
        { "text/html", "Turned away" },
        { NULL, "Turned away" },
        { "application/json", "{\"error\":{\"code\":-32002,\"message\":\"no such session\"}}" },
        { "text/plain", "" },
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails_with(last_exchange(s.w, CALL), 403, own[i].type, own[i].body);
        http_of(&s)->by_hand = false;
        if (i == 3)
            exchange_fails_with(last_exchange(s.w, "ping"), 403, "application/json",
                                "{\"error\":{\"code\":-32001,\"message\":\"no such session\"}}");
        else if (i == 4)
            exchange_fails_with(last_exchange(s.w, "ping"), 403, "text/plain", "");
        else
            exchange_fails(last_exchange(s.w, "ping"), 403);
        CHECK(error_of(s.client, 1) == -31009 && sent(s.w, CALL) == 1);
        CHECK(data_is(s.client, 1, "dispatched", "true") && sent(s.w, "initialize") == 1);
        world_end(s.w);
    }
}

TEST(an_empty_404_is_like_any_other_empty_404)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails_with(last_exchange(s.w, CALL), 404, NULL, "");
    http_of(&s)->by_hand = false;
    exchange_fails_with(last_exchange(s.w, "ping"), 404, NULL, "");
    CHECK(sent(s.w, CALL) == 2 && sent(s.w, "initialize") == 2);
}

TEST(an_answer_in_a_body_of_an_error_status_is_passed_on_however_it_is_wrapped)
{
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]},\"error\":null}",
        "{\"id\":%s,\"result\":{\"content\":[]}}",
        "{\"jsonrpc\":2.0,\"id\":%s,\"result\":{\"content\":[]}}",
        "[{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}]",
        "{\"jsonrpc\":\"2.0\",\"id\":%s.0,\"result\":{\"content\":[]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%se0,\"result\":{\"content\":[]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}} and so on",
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}{\"jsonrpc\":\"2.0\",\"id\":null}",
    };
    static const int statuses[] = { 400, 401, 404, 405, 413, 415, 421, 425, 500 };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (size_t k = 0; k < sizeof statuses / sizeof *statuses; k++) {
            struct scene s = scene_with_calls(1);
            exchange_fails_with(last_exchange(s.w, CALL), statuses[k], "application/json",
                                bodies[i]);
            CHECK(has_result(s.client, 1) && sent(s.w, CALL) == 1 && sent(s.w, "ping") == 0);
            world_end(s.w);
        }
}

TEST(an_error_with_the_id_of_its_call_is_its_answer_also_with_a_status_that_means_refused)
{
    static const int statuses[] = { 421, 425, 409 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = remote_scene_of(with_status(409, 503), HTTP());
        calls(&s, 1, 1);
        exchange_answers_error(last_exchange(s.w, CALL), statuses[i],
                               "{\"code\":-32001,\"message\":\"the tool's own\"}");
        CHECK(error_of(s.client, 1) == -32001 && sent(s.w, CALL) == 1);
        world_end(s.w);
    }
}

TEST(a_body_that_cannot_be_read_to_its_end_is_no_refusal_whatever_its_status)
{
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}} and so on",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}{\"jsonrpc\":\"2.0\",\"id\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"\xff\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"resu",
        "{\"answer\":{\"id\":%s,\"result\":{}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
        "\x1f\x8b\x08",
        "event: message\ndata: {\"id\":1}\n\n",
    };
    static const int statuses[] = { 401, 403, 404, 405, 413, 415, 421, 425 };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (size_t k = 0; k < sizeof statuses / sizeof *statuses; k++) {
            struct scene s = remote_scene_of(with_status(statuses[k], 503), HTTP());
            calls(&s, 1, 1);
            exchange_fails_with(last_exchange(s.w, CALL), statuses[k], "text/plain", bodies[i]);
            CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
            world_end(s.w);
        }
}

/* The answer that it may have held is lost: whether it ran nobody can say. */
TEST(a_refusal_whose_body_is_cut_proves_nothing)
{
    static const int statuses[] = { 400, 403, 404, 421, 425 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = scene_with_calls(1);
        exchange_head(last_exchange(s.w, CALL), statuses[i], false);
        exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
        CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "dispatched", "true"));
        CHECK(sent(s.w, CALL) == 1 && sent(s.w, "initialize") == 1);
        CHECK_EQ(sent(s.w, "ping"), 1); /* is its session served at all? it is */
        world_end(s.w);
    }
}

TEST(a_body_that_is_encoded_or_whose_end_nobody_said_is_no_refusal)
{
    for (int gzip = 0; gzip < 2; gzip++) {
        struct scene s = scene_with_calls(1);
        struct exchange *call = last_exchange(s.w, CALL);
        call->is_gzip = gzip;
        call->has_no_length = !gzip;
        exchange_fails(call, 404);
        CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
        CHECK_EQ(sent(s.w, "initialize"), 2); /* a 404 is a 404 */
        world_end(s.w);
    }
}

TEST(a_401_that_a_ping_gets_too_came_before_anything_ran)
{
    for (int same = 0; same < 2; same++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails_with(last_exchange(s.w, CALL), 401, "text/plain", "who are you");
        REQUIRE_EQ(exchanges(s.w, "ping"), 2);
        exchange_fails(nth_exchange(s.w, "ping", 0), 404); /* a stranger */
        exchange_fails(nth_exchange(s.w, "ping", 1), same ? 401 : 403);
        CHECK_EQ(error_of(s.client, 1), -31009);
        CHECK(data_is(s.client, 1, "dispatched", same ? "false" : "true"));
        CHECK(sent(s.w, CALL) == 1 && exchanges(s.w, "initialize") == 1);
        world_end(s.w);
    }
}

TEST(replicas_without_stickiness_cost_a_renewal_a_minute_and_no_second_run)
{
    struct scene s = scene_with_calls(1);
    exchange_fails(last_exchange(s.w, CALL), 404); /* at the one; the other knows the session */
    CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 2);
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK(sent(s.w, "initialize") == 2 && IS(s.server, CONNECTED));
    calls(&s, 2, 2);
    answer_all(&s);
    advance(s.w, 60000);
    calls(&s, 3, 3);
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK_EQ(sent(s.w, "initialize"), 3);
}

TEST(a_ping_that_is_not_answered_in_time_confirms_nothing)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 400);
    advance(s.w, 4999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK(error_of(s.client, 1) == -31009 && nth_exchange(s.w, "ping", 0)->is_aborted);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).in_flight == 0);
}

TEST(a_ping_whose_refusal_is_cut_confirms_nothing)
{
    struct scene s = remote_scene();
    manners_of(s.w, s.server)->http.by_hand = true;
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 403);
    exchange_head(last_exchange(s.w, "ping"), 403, false);
    exchange_breaks(last_exchange(s.w, "ping"), HF_SENT_WHOLE);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK_EQ(sent(s.w, "initialize"), 1);
}

TEST(a_call_in_doubt_has_its_own_deadline_and_the_patience_of_one_that_waits)
{
    for (int timed = 0; timed < 2; timed++) {
        struct scene s =
            remote_scene_of(SETTINGS(.call_timeout_ms = timed ? 2000 : 0, .wait_ms = 3000), HTTP());
        calls(&s, 1, 1);
        http_of(&s)->by_hand = true;
        exchange_fails(last_exchange(s.w, CALL), 404);
        exchange_fails(last_exchange(s.w, "ping"), 404);
        advance(s.w, timed ? 1999 : 2999); /* no new session comes */
        CHECK_EQ(answers_to(s.client, 1), 0);
        advance(s.w, 1);
        CHECK(error_of(s.client, 1) == (timed ? -31002 : -31009) && exchanges(s.w, CALL) == 1);
        CHECK(data_is(s.client, 1, "dispatched", "true"));
        world_end(s.w);
    }
}

TEST(a_ping_whose_answer_cannot_be_read_or_is_too_large_confirms_nothing)
{
    for (int large = 0; large < 2; large++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails(last_exchange(s.w, CALL), 400);
        struct exchange *ping = last_exchange(s.w, "ping");
        exchange_head(ping, 200, false);
        if (large) {
            struct hf_json_skim skim;
            hf_json_skim_init(&skim);
            hf_json_skim_feed(&skim, HF_SPAN("{\"id\":"));
            hf_json_skim_feed(&skim, ping->body.items[0].msg.id);
            hf_json_skim_feed(&skim, HF_SPAN(",\"result\":{}}"));
            hf_remote_exchange_message_oversized(ping->post, &skim, at(s.w->now_ms));
            settle(s.w);
        } else {
            exchange_says(ping, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":nul}",
                          HF_FMT(ping->body.items[0].msg.id));
        }
        CHECK(error_of(s.client, 1) == -31009 && status_of(s.server).in_flight == 0);
        CHECK(sent(s.w, CALL) == 1 && IS(s.server, CONNECTED));
        world_end(s.w);
    }
}

TEST(a_ping_that_cannot_be_sent_loses_the_server_and_rejects_the_call)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 400);
    exchange_breaks(last_exchange(s.w, "ping"), HF_SENT_NOTHING);
    CHECK(error_of(s.client, 1) == -31009 && status_of(s.server).generation == 2);
    CHECK_EQ(sent(s.w, CALL), 1);
}

TEST(a_call_in_doubt_when_its_runtime_is_cut_is_rejected_by_the_table)
{
    struct hf_settings settings = SETTINGS(.drain_ms = 1000);
    struct scene s = remote_scene_of(settings, HTTP());
    calls(&s, 1, 1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 405);
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1000);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "false"));
    advance(s.w, settings.close_ms + settings.term_ms + settings.kill_ms); /* to say goodbye in */
    CHECK(IS(s.server, DISABLED));
}

TEST(a_call_cancelled_while_in_doubt_gets_no_answer_and_tells_the_server_nothing)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 400);
    client_cancels(s.client, 1);
    CHECK_EQ(exchanges(s.w, "notifications/cancelled"), 0);
    exchange_fails(last_exchange(s.w, "ping"), 400);
    CHECK(answers_to(s.client, 1) == 0 && exchanges(s.w, CALL) == 1);
}

TEST(a_session_refused_on_its_first_use_is_a_failed_attempt_whatever_the_status)
{
    struct scene s = lone_remote(SETTINGS(), HTTP(.list_status = 400, .ping_status = 400));
    advance(s.w, 60000);
    CHECK(sent(s.w, "initialize") < 9);
    CHECK(reason_says(s.server, "HTTP 400"));
}

/* ---- liveness ---- */

TEST(a_liveness_check_that_meets_any_status_has_found_a_living_server)
{
    static const int statuses[] = { 400, 403, 429, 500 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = remote_scene_of(SETTINGS(.call_timeout_ms = 3000), HTTP());
        http_of(&s)->ping_status = statuses[i];
        calls(&s, 1, 1);
        advance(s.w, 3000);
        /* and a stranger is heard of, where it may have been about the session */
        const size_t strangers = statuses[i] == 400 || statuses[i] == 403;
        CHECK(error_of(s.client, 1) == -31002 && sent(s.w, "ping") == 1 + strangers);
        advance(s.w, 200000);
        CHECK(sent(s.w, "ping") == 1 + strangers && status_of(s.server).generation == 1);
        calls(&s, 2, 2);
        advance(s.w, 3000);
        CHECK_EQ(sent(s.w, "ping"), 2 + strangers); /* and the next one is not kept from looking */
        world_end(s.w);
    }
}

TEST(a_remote_server_that_answers_no_ping_is_connected_anew_after_three)
{
    struct scene s = remote_scene_of(SETTINGS(.call_timeout_ms = 3000), HTTP());
    manners_of(s.w, s.server)->no_ping = true;
    calls(&s, 1, 1);
    advance(s.w, 3000 + 5000 + 10000 + 5000 + 10000 + 4999);
    CHECK(sent(s.w, "ping") == 3 && status_of(s.server).generation == 1);
    advance(s.w, 1);
    CHECK(status_of(s.server).generation == 2 && IS(s.server, CONNECTED));
    CHECK(last_exchange(s.w, "ping")->is_aborted && !s.first->runtime);
}

TEST(no_liveness_check_falls_into_a_renewal)
{
    struct scene s = remote_scene_of(SETTINGS(.call_timeout_ms = 3000), HTTP());
    manners_of(s.w, s.server)->no_ping = true;
    calls(&s, 1, 1);
    advance(s.w, 3000 + 5000); /* one has failed, the next is set */
    calls(&s, 2, 2);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404); /* of a stranger */
    const size_t asked = exchanges(s.w, "ping");
    advance(s.w, 20000);
    CHECK(exchanges(s.w, "ping") == asked && exchanges(s.w, "initialize") == 2);
}
