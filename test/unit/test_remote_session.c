/*
 * test_remote_session.c - remote servers that forget their sessions: found out by 404, or by one
 * ping where the status may mean something else; made anew once, whoever waits; and never at the
 * cost of what runs under another session.
 */
#include "remote_fixture.h"

/* ---- 404 ---- */

TEST(fifty_calls_refused_with_404_make_one_renewal_and_get_fifty_answers)
{
    struct scene s = scene_with_calls(50);
    http_of(&s)->has_forgotten = true;
    for (size_t i = 0; i < 50; i++)
        exchange_fails(nth_exchange(s.w, CALL, i), 404);
    CHECK(sent(s.w, "initialize") == 2 && exchanges(s.w, "ping") == 2);
    CHECK(!is_text(nth_exchange(s.w, "ping", 0)->session_id, "session-1")); /* as a stranger */
    CHECK_STR(nth_exchange(s.w, "ping", 1)->session_id, "session-2");
    CHECK(sent(s.w, CALL) == 100 && open_exchanges(s.w, CALL) == 50);
    for (size_t i = 50; i < 100; i++)
        CHECK_STR(nth_exchange(s.w, CALL, i)->session_id, "session-2");
    answer_all(&s);
    for (int id = 1; id <= 50; id++)
        CHECK(has_result(s.client, id) && answers_to(s.client, id) == 1);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
    CHECK(status_of(s.server).resends == 50 && status_of(s.server).reconnects == 0);
}

TEST(calls_that_arrive_during_a_renewal_wait_for_it)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    calls(&s, 2, 2);
    CHECK(exchanges(s.w, CALL) == 1 && exchanges(s.w, "initialize") == 1);
    exchange_fails(last_exchange(s.w, "ping"), 404); /* of a stranger: now it is made anew */
    calls(&s, 3, 3);
    CHECK(exchanges(s.w, CALL) == 1 && status_of(s.server).waiting == 2);
    CHECK(IS(s.server, CONNECTED));
    struct exchange *hello = last_exchange(s.w, "initialize");
    CHECK(!hello->session_id && !hello->version);
    http_of(&s)->by_hand = false;
    exchange_gives_session(hello, "session-2");
    http_of(&s)->sessions = 2;
    exchange_says_answer(hello,
                         "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}"
                         ",\"serverInfo\":{\"name\":\"fake\",\"version\":\"2\"}}");
    CHECK(sent(s.w, CALL) == 4 && is_text(last_exchange(s.w, CALL)->version, "2025-06-18"));
    answer_all(&s);
    CHECK(has_result(s.client, 1) && has_result(s.client, 2) && has_result(s.client, 3));
}

TEST(the_ones_that_are_running_under_a_forgotten_session_are_left_alone)
{
    struct scene s = scene_with_calls(2);
    exchange_head(nth_exchange(s.w, CALL, 0), 200, true);
    http_of(&s)->has_forgotten = true;
    exchange_fails(nth_exchange(s.w, CALL, 1), 404);
    CHECK(sent(s.w, "initialize") == 2 && nth_exchange(s.w, CALL, 0)->post);
    exchange_says_answer(nth_exchange(s.w, CALL, 0), RESULT);
    CHECK(has_result(s.client, 1) && sent(s.w, CALL) == 3);
}

TEST(an_exchange_cut_under_a_forgotten_session_does_not_hurt_the_new_one)
{
    for (int when = 0; when < 2; when++) { /* during the renewal, after it */
        struct scene s = scene_with_calls(3);
        exchange_head(nth_exchange(s.w, CALL, 0), 200, true);
        http_of(&s)->by_hand = when == 0;
        exchange_fails(nth_exchange(s.w, CALL, 1), 404);
        if (when == 0)
            exchange_fails(last_exchange(s.w, "ping"), 404);
        exchange_breaks(nth_exchange(s.w, CALL, 0), HF_SENT_WHOLE);
        exchange_fails(nth_exchange(s.w, CALL, 2), 503);
        CHECK(error_of(s.client, 1) == -31002 && error_of(s.client, 3) == -31002);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        CHECK(exchanges(s.w, "initialize") == 2 && answers_to(s.client, 2) == 0);
        world_end(s.w);
    }
}

TEST(a_stale_refusal_neither_renews_nor_pings_again)
{
    static const int stale[] = { 404, 400, 401, 403 };
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
        struct scene s = scene_with_calls(2);
        exchange_fails(nth_exchange(s.w, CALL, 0), 404);
        CHECK_EQ(sent(s.w, "initialize"), 2);
        exchange_fails(nth_exchange(s.w, CALL, 1), stale[i]);
        CHECK(sent(s.w, "initialize") == 2 && sent(s.w, "ping") == 2);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        if (stale[i] == 404)
            CHECK(sent(s.w, CALL) == 4 && answers_to(s.client, 2) == 0);
        else /* its own session was refused otherwise: this may be the tool's own word */
            CHECK(error_of(s.client, 2) == -31009 && sent(s.w, CALL) == 3);
        world_end(s.w);
    }
}

TEST(a_refusal_is_compared_with_how_its_own_session_was_refused_and_no_other)
{
    struct scene s = scene_with_calls(3);
    http_of(&s)->has_forgotten = true;
    http_of(&s)->unknown_status = 403;
    http_of(&s)->unknown_status = 404;
    exchange_fails(nth_exchange(s.w, CALL, 0), 404); /* session 1: 404 */
    http_of(&s)->unknown_status = 403;
    CHECK_EQ(http_of(&s)->sessions, 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    calls(&s, 4, 4);
    http_of(&s)->has_forgotten = true;
    exchange_fails(last_exchange(s.w, CALL), 403); /* session 2: 403, and its ping too */
    CHECK_EQ(http_of(&s)->sessions, 3);
    const size_t before = sent(s.w, CALL);
    exchange_fails(nth_exchange(s.w, CALL, 1), 403); /* a tool of session 1 says 403 itself */
    CHECK(error_of(s.client, 2) == -31009 && data_is(s.client, 2, "dispatched", "true"));
    CHECK_EQ(sent(s.w, CALL), before);
}

TEST(a_call_refused_three_times_is_told_so)
{
    struct scene s = scene_with_calls(1);
    for (size_t i = 0; i < 3; i++) {
        CHECK(answers_to(s.client, 1) == 0 && sent(s.w, CALL) == i + 1);
        http_of(&s)->has_forgotten = true;
        exchange_fails(nth_exchange(s.w, CALL, i), 404);
        settle(s.w);
    }
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "reason", "\"refused_again\""));
    CHECK(data_is(s.client, 1, "evidence", "\"refused\"") && sent(s.w, CALL) == 3);
}

TEST(a_session_refused_on_its_first_use_is_a_failed_attempt)
{
    struct scene s = lone_remote(SETTINGS(), HTTP(.list_status = 404));
    CHECK(IS(s.server, RECONNECTING) && sent(s.w, "initialize") == 1);
    CHECK(reason_says(s.server, "refused its own session"));
    advance(s.w, 60000);
    CHECK(sent(s.w, "initialize") < 9); /* 0, 1, 2, 4, 8, 16, 30: no loop */
    advance(s.w, 600000);
    CHECK(IS(s.server, PERMANENTLY_FAILED)); /* firstAttempts */
}

TEST(a_new_session_refused_on_its_first_use_is_a_loss_and_not_another_renewal)
{
    struct scene s = scene_with_calls(2);
    exchange_answers(nth_exchange(s.w, CALL, 0), RESULT); /* the old one has served somebody */
    http_of(&s)->list_status = http_of(&s)->ping_status = 404;
    exchange_fails(last_exchange(s.w, CALL), 404);
    advance(s.w, 20000);
    CHECK(sent(s.w, "initialize") < 9 && IS(s.server, RECONNECTING));
    CHECK(status_of(s.server).failures_k > 0);
    http_of(&s)->list_status = http_of(&s)->ping_status = 0;
    advance(s.w, 24000);
    CHECK(IS(s.server, CONNECTED));
}

TEST(the_session_of_an_initialize_that_failed_is_not_used)
{
    struct scene s = lone_remote(SETTINGS(.era = HF_ERA_UNKNOWN), BY_HAND);
    exchange_fails(last_exchange(s.w, "server/discover"), 404);
    exchange_answers(last_exchange(s.w, "initialize"), HELLO);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(s.server, CONNECTED));
    (void)operate(s.w, s.server, HF_OP_RECONNECT);
    struct exchange *hello = last_exchange(s.w, "initialize");
    CHECK(exchanges(s.w, "server/discover") == 1 && exchanges(s.w, "initialize") == 2);
    exchange_gives_session(hello, "x");
    exchange_says(hello,
                  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32602,\"message\":"
                  "\"no\"}}",
                  HF_FMT(hello->body.items[0].msg.id));
    CHECK_EQ(exchanges(s.w, "server/discover"), 2);
    CHECK(!last_exchange(s.w, "server/discover")->session_id);
    exchange_fails(last_exchange(s.w, "server/discover"), 404);
    CHECK(exchanges(s.w, "initialize") == 3 && !last_exchange(s.w, "initialize")->session_id);
}

static void refuse_pings(const struct scene *s)
{
    for (size_t i = 0; i < exchanges(s->w, "ping"); i++)
        if (nth_exchange(s->w, "ping", i)->post)
            exchange_fails(nth_exchange(s->w, "ping", i), 404);
}

TEST(a_server_that_refuses_one_of_its_lists_again_and_again_is_not_renewed_without_end)
{
    struct scene s = remote_scene();
    struct manners *m = manners_of(s.w, s.server);
    m->http.by_hand = true; /* a balancer without affinity: this list always meets the wrong one */
    client_calls(s.client, 1, "echo");
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    size_t done = exchanges(s.w, "tools/list"), hellos = exchanges(s.w, "initialize");
    for (int i = 0; i < 200; i++) {
        if (exchanges(s.w, "initialize") > hellos - 1 && last_exchange(s.w, "initialize")->post) {
            struct exchange *hello = last_exchange(s.w, "initialize");
            hellos = exchanges(s.w, "initialize") + 1;
            exchange_gives_session(hello, "again");
            exchange_says_answer(hello, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
                                        "\"tools\":{},\"prompts\":{}}}");
        } else if (open_exchanges(s.w, "notifications/initialized")) {
            exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
        } else if (exchanges(s.w, "tools/list") > done) {
            done = exchanges(s.w, "tools/list");
            exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
        } else if (open_exchanges(s.w, "prompts/list")) {
            exchange_fails(last_exchange(s.w, "prompts/list"), 404);
        } else if (open_exchanges(s.w, "ping")) { /* so do our questions whether it is known */
            refuse_pings(&s);
        }
    }
    CHECK(exchanges(s.w, "initialize") < 8);
}

/* ---- renewals that fail ---- */

/* Call 1 runs, call 2 was refused: the session is being made anew, and the test goes on by hand. */
static struct scene renewing_scene(void)
{
    struct scene s = scene_with_calls(2);
    exchange_head(nth_exchange(s.w, CALL, 0), 200, true);
    http_of(&s)->by_hand = true;
    exchange_fails(nth_exchange(s.w, CALL, 1), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    return s;
}

TEST(a_renewal_that_fails_is_a_loss_and_the_calls_wait_for_the_next_generation)
{
    static const int statuses[] = { 0, 400, 404, 405, 429, 500, 503 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = scene_with_calls(1);
        http_of(&s)->by_hand = true;
        exchange_fails(last_exchange(s.w, CALL), 404);
        http_of(&s)->by_hand = false;
        http_of(&s)->is_down = statuses[i] == 0;
        http_of(&s)->hello_status = statuses[i];
        exchange_fails(last_exchange(s.w, "ping"), 404);
        CHECK(IS(s.server, RECONNECTING) && answers_to(s.client, 1) == 0);
        http_of(&s)->hello_status = 0;
        http_of(&s)->is_down = false;
        advance(s.w, 2000);
        CHECK(IS(s.server, CONNECTED) && sent(s.w, CALL) == 2);
        exchange_answers(last_exchange(s.w, CALL), RESULT);
        CHECK(has_result(s.client, 1) && !s.first->runtime);
        world_end(s.w);
    }
}

TEST(a_renewal_answered_with_an_error_is_a_loss)
{
    struct scene s = scene_with_calls(1);
    manners_of(s.w, s.server)->no_init = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(IS(s.server, RECONNECTING) && answers_to(s.client, 1) == 0);
    client_cancels(s.client, 1);
    CHECK(!s.first->runtime); /* nothing is in flight any more: closed at once */
}

TEST(a_renewal_that_wants_credentials_ends_in_permanently_failed_without_a_loop)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->hello_status = 401;
    exchange_fails(last_exchange(s.w, CALL), 404);
    advance(s.w, 1000);
    CHECK(IS(s.server, PERMANENTLY_FAILED) && error_of(s.client, 1) == -31009);
    CHECK(sent(s.w, "initialize") == 3 && data_is(s.client, 1, "dispatched", "true"));
}

TEST(a_renewal_that_is_never_answered_is_given_up_after_start_timeout)
{
    struct scene s = remote_scene_of(SETTINGS(.start_timeout_ms = 20000), HTTP());
    calls(&s, 1, 1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    advance(s.w, 19999);
    CHECK(IS(s.server, CONNECTED));
    http_of(&s)->by_hand = false;
    advance(s.w, 2);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1) && nth_exchange(s.w, "initialize", 1)->is_aborted);
}

TEST(a_server_lost_during_a_renewal_is_connected_anew)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    http_of(&s)->by_hand = false;
    exchange_breaks(last_exchange(s.w, "initialize"), HF_SENT_WHOLE);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    CHECK_EQ(sent(s.w, CALL), 2);
}

TEST(a_server_switched_off_during_a_renewal_goes_off)
{
    static const enum hf_op ops[] = { HF_OP_DISABLE, HF_OP_REMOVE };
    for (size_t i = 0; i < 2; i++) {
        struct scene s = renewing_scene();
        operate(s.w, s.server, ops[i]);
        CHECK(error_of(s.client, 2) == -31009 && answers_to(s.client, 1) == 0);
        exchange_gives_session(last_exchange(s.w, "initialize"), "late");
        exchange_says_answer(last_exchange(s.w, "initialize"), NO_TOOLS);
        exchange_says_answer(nth_exchange(s.w, CALL, 0), RESULT);
        CHECK(has_result(s.client, 1));
        CHECK_STR(last_exchange(s.w, "DELETE")->session_id, "late");
        exchange_fails(last_exchange(s.w, "DELETE"), 200);
        CHECK(!s.first->runtime);
        world_end(s.w);
    }
}

TEST(a_renewal_of_a_runtime_that_was_replaced_says_nothing_for_the_new_one)
{
    for (int when = 0; when < 2;
         when++) { /* before its initialize is answered, before initialized */
        struct scene s = renewing_scene();
        struct exchange *hello = last_exchange(s.w, "initialize"), *told = NULL;
        exchange_gives_session(hello, "old");
        if (when == 1) {
            exchange_says_answer(hello, NO_TOOLS);
            told = last_exchange(s.w, "notifications/initialized");
        }
        http_of(&s)->by_hand = false;
        operate(s.w, s.server, HF_OP_RESTART); /* a new one beside it, and the old one drains */
        CHECK(status_of(s.server).generation == 2 && sent(s.w, CALL) == 3);
        client_asks(s.client, 901, "tools/list");
        if (when == 0)
            exchange_says_answer(hello, NO_TOOLS);
        else
            exchange_fails(told, 202);
        CHECK_EQ(heard(s.client, "notifications/tools/list_changed"), 0);
        client_asks(s.client, 902, "tools/list");
        CHECK_STR(names_in(s.client, 902, "tools"), "echo");
        world_end(s.w);
    }
}

TEST(a_renewal_of_a_runtime_that_was_replaced_or_switched_off_wants_no_credentials)
{
    for (int off = 0; off < 2; off++) {
        struct scene s = renewing_scene();
        struct exchange *hello = last_exchange(s.w, "initialize");
        http_of(&s)->by_hand = false;
        operate(s.w, s.server, off ? HF_OP_DISABLE : HF_OP_RESTART);
        exchange_fails(hello, 401);
        CHECK(!strstr(status_of(s.server).last_reason, "auth required"));
        exchange_says_answer(nth_exchange(s.w, CALL, 0), RESULT);
        CHECK(has_result(s.client, 1));
        world_end(s.w);
    }
}

TEST(what_befalls_a_renewal_of_a_runtime_that_was_replaced_is_not_held_against_the_new_one)
{
    struct scene s = renewing_scene();
    struct exchange *hello = last_exchange(s.w, "initialize");
    http_of(&s)->by_hand = false;
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK(status_of(s.server).generation == 2 && IS(s.server, CONNECTED));
    exchange_fails_for(hello, 503, 60000);
    CHECK(!reason_says(s.server, "503"));
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_NOTHING); /* now the new one is lost */
    CHECK(status_of(s.server).generation == 3 && IS(s.server, CONNECTED)); /* and did not wait */
}

/* ---- what a new session is given back ---- */

TEST(after_a_renewal_lists_are_fetched_again_and_only_a_difference_is_news)
{
    struct scene s = scene_with_calls(1);
    const size_t lists = sent(s.w, "tools/list");
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK_EQ(sent(s.w, "tools/list"), lists + 1);
    CHECK_EQ(heard(s.client, "notifications/tools/list_changed"), 0);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    calls(&s, 2, 2);
    manners_of(s.w, s.server)->tools = "[{\"name\":\"echo\"},{\"name\":\"new\"}]";
    http_of(&s)->has_forgotten = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK_EQ(heard(s.client, "notifications/tools/list_changed"), 1);
}

TEST(a_list_that_was_being_fetched_when_the_session_was_forgotten_is_fetched_anew)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.has_stream = true));
    http_of(&s)->by_hand = true;
    exchange_says(stream_of(s.first),
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_EQ(open_exchanges(s.w, "tools/list"), 1);
    calls(&s, 1, 1);
    http_of(&s)->by_hand = false;
    manners_of(s.w, s.server)->tools = "[{\"name\":\"new\"}]";
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK_EQ(open_exchanges(s.w, "tools/list"), 0);
    CHECK_EQ(heard(s.client, "notifications/tools/list_changed"), 1);
}

TEST(what_a_server_can_do_may_be_less_after_a_renewal)
{
    struct scene s = lone_remote_with(SETTINGS(), MANNERS(.prompts = "[{\"name\":\"p\"}]"));
    s.client = greeted_client(s.w, s.server);
    client_asks(s.client, 1, "prompts/list");
    CHECK_STR(names_in(s.client, 1, "prompts"), "p");
    client_calls(s.client, 2, "echo");
    manners_of(s.w, s.server)->prompts = NULL;
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK_EQ(heard(s.client, "notifications/prompts/list_changed"), 1);
    client_asks(s.client, 3, "prompts/list");
    CHECK_STR(names_in(s.client, 3, "prompts"), "");
}

TEST(a_server_that_lists_nothing_is_renewed_and_served_all_the_same)
{
    struct scene s = lone_remote_with(SETTINGS(), MANNERS(.capabilities = "{}"));
    s.client = greeted_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    client_calls(s.client, 2, "echo");
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(sent(s.w, "initialize") == 2 && sent(s.w, CALL) == 3);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 2));
}

TEST(after_a_renewal_log_level_and_subscriptions_are_set_again_under_the_new_session)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", default_settings());
    struct manners *m = manners_of(w, server);
    m->resources = "[{\"uri\":\"a:b\",\"name\":\"b\"}]";
    m->capabilities = "{\"tools\":{},\"logging\":{},\"resources\":{\"subscribe\":true}}";
    settle(w);
    struct client *c = greeted_client(w, server);
    client_requests(c, 1, "logging/setLevel", "{\"level\":\"debug\"}");
    exchange_answers(last_exchange(w, "logging/setLevel"), "{}");
    client_requests(c, 2, "resources/subscribe", "{\"uri\":\"a:b\"}");
    exchange_answers(last_exchange(w, "resources/subscribe"), "{}");
    client_calls(c, 3, "echo");
    exchange_fails(last_exchange(w, CALL), 404);
    CHECK(sent(w, "logging/setLevel") == 2 && sent(w, "resources/subscribe") == 2);
    CHECK_STR(last_exchange(w, "logging/setLevel")->session_id, "session-2");
    CHECK_STR(last_exchange(w, "resources/subscribe")->session_id, "session-2");
}

TEST(clients_of_a_stateful_server_are_told_of_a_renewal_once)
{
    struct scene s = remote_scene_of(SETTINGS(.stateful = true), HTTP());
    struct client *other = greeted_client(s.w, s.server), *fresh = greeted_client(s.w, s.server);
    client_calls(other, 1, "echo");
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    calls(&s, 1, 2);
    http_of(&s)->has_forgotten = true;
    exchange_fails(nth_exchange(s.w, CALL, 1), 404);
    exchange_fails(nth_exchange(s.w, CALL, 2), 404);
    CHECK(error_of(s.client, 1) == -31010 && data_is(s.client, 1, "dispatched", "false"));
    CHECK_EQ(answers_to(s.client, 2), 0); /* and then it goes on */
    client_calls(other, 2, "echo");
    client_calls(other, 3, "echo");
    client_calls(fresh, 1, "echo");
    CHECK(error_of(other, 2) == -31010 && answers_to(other, 3) == 0 && answers_to(fresh, 1) == 0);
    answer_all(&s);
    CHECK(has_result(s.client, 2) && has_result(other, 3) && has_result(fresh, 1));
}

TEST(a_renewal_that_fails_costs_the_clients_of_a_stateful_server_one_message_and_not_two)
{
    struct scene s = remote_scene_of(SETTINGS(.stateful = true), HTTP());
    calls(&s, 1, 2);
    http_of(&s)->hello_status = 500;
    exchange_fails(nth_exchange(s.w, CALL, 0), 404);
    exchange_fails(nth_exchange(s.w, CALL, 1), 404);
    http_of(&s)->hello_status = 0;
    advance(s.w, 2000);
    CHECK(error_of(s.client, 1) == -31010 && answers_to(s.client, 2) == 0);
    answer_all(&s);
    CHECK(has_result(s.client, 2));
}

TEST(a_request_of_the_server_that_was_with_a_client_is_forgotten_with_its_session)
{
    struct scene s = lone_remote(SETTINGS(), HTTP());
    s.client = greeted_client_with(s.w, s.server, "{\"sampling\":{}}");
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    exchange_head(nth_exchange(s.w, CALL, 0), 200, true);
    exchange_says(nth_exchange(s.w, CALL, 0), "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":"
                                              "\"sampling/createMessage\",\"params\":{}}");
    CHECK_EQ(heard(s.client, "sampling/createMessage"), 1);
    exchange_fails(nth_exchange(s.w, CALL, 1), 404);
    client_answers(s.client, "sampling/createMessage", "{}");
    CHECK_EQ(exchanges(s.w, "response"), 0);
}

TEST(what_a_client_says_in_passing_during_a_renewal_is_not_sent_without_a_session)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 404);
    exchange_fails(last_exchange(s.w, "ping"), 404);
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
    CHECK_EQ(exchanges(s.w, "notifications/roots/list_changed"), 0);
}

/* ---- cancelling under the right session ---- */

TEST(a_call_of_a_forgotten_session_is_cancelled_under_its_own_session_id)
{
    for (int when = 0; when < 2; when++) { /* during the renewal, after it */
        struct scene s = scene_with_calls(2);
        exchange_head(nth_exchange(s.w, CALL, 0), 200, true);
        http_of(&s)->by_hand = when == 0;
        exchange_fails(nth_exchange(s.w, CALL, 1), 404);
        if (when == 0)
            exchange_fails(last_exchange(s.w, "ping"), 404);
        client_cancels(s.client, 1);
        CHECK(nth_exchange(s.w, CALL, 0)->is_aborted);
        CHECK_STR(last_exchange(s.w, "notifications/cancelled")->session_id, "session-1");
        if (when == 0)
            exchange_fails(last_exchange(s.w, "notifications/cancelled"), 404);
        CHECK(exchanges(s.w, "initialize") == 2 && IS(s.server, CONNECTED));
        world_end(s.w);
    }
}
