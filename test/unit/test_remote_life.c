/*
 * test_remote_life.c - the life of a runtime whose server is remote: greeted, paced, given up on,
 * drained and closed; under every hand of an operator.
 */
#include "remote_fixture.h"

/* ---- greeted ---- */

TEST(our_initialized_has_arrived_before_any_list_is_asked)
{
    struct scene s = lone_remote_with(SETTINGS(), MANNERS(.prompts = "[]", .http.by_hand = true));
    struct exchange *hello = last_exchange(s.w, "initialize");
    CHECK(!hello->session_id && !hello->version && s.w->exchange_count == 1);
    exchange_gives_session(hello, "a b");
    exchange_says_answer(hello,
                         "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{},"
                         "\"prompts\":{}}}");
    struct exchange *told = last_exchange(s.w, "notifications/initialized");
    CHECK(is_text(told->session_id, "a b") && is_text(told->version, "2025-06-18"));
    CHECK(exchanges(s.w, "tools/list") == 0 && exchanges(s.w, "GET") == 0);
    exchange_sends(told);
    CHECK_EQ(exchanges(s.w, "tools/list"), 0);
    exchange_fails(told, 202);
    CHECK(exchanges(s.w, "tools/list") == 1 && exchanges(s.w, "prompts/list") == 1);
    CHECK_STR(last_exchange(s.w, "tools/list")->version, "2025-06-18");
    exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "GET") == 1);
    CHECK_STR(last_exchange(s.w, "GET")->session_id, "a b");
}

TEST(a_list_that_changes_before_our_initialized_has_arrived_is_asked_for_once_and_after_it)
{
    struct scene s = lone_remote(SETTINGS(), BY_HAND);
    struct exchange *hello = last_exchange(s.w, "initialize");
    exchange_gives_session(hello, "x");
    exchange_says_answer(hello, HELLO);
    exchange_says(hello, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_EQ(exchanges(s.w, "tools/list"), 0);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    CHECK_EQ(exchanges(s.w, "tools/list"), 1);
    exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "tools/list") == 1);
}

TEST(a_server_that_keeps_the_answer_to_a_notification_open_has_heard_it)
{
    struct scene s = lone_remote(SETTINGS(), BY_HAND);
    exchange_answers(last_exchange(s.w, "initialize"), HELLO);
    exchange_head(last_exchange(s.w, "notifications/initialized"), 200, true);
    CHECK_EQ(exchanges(s.w, "tools/list"), 1);
    exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(s.server, CONNECTED));
    advance(s.w, 60000); /* and is not listened to for ever */
    CHECK(last_exchange(s.w, "notifications/initialized")->is_aborted);
    CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "tools/list") == 1);
}

TEST(an_initialized_that_does_not_arrive_is_a_failed_attempt)
{
    static const int statuses[] = { 0, 404, 502, 503 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = lone_remote(SETTINGS(), BY_HAND);
        exchange_gives_session(last_exchange(s.w, "initialize"), "x");
        exchange_says_answer(last_exchange(s.w, "initialize"), NO_TOOLS);
        struct exchange *told = last_exchange(s.w, "notifications/initialized");
        if (statuses[i])
            exchange_fails(told, statuses[i]);
        else
            exchange_breaks(told, HF_SENT_WHOLE);
        CHECK(IS(s.server, RECONNECTING) && exchanges(s.w, "tools/list") == 0);
        CHECK_STR(last_exchange(s.w, "DELETE")->session_id, "x");
        world_end(s.w);
    }
}

TEST(an_initialized_that_takes_its_time_has_that_of_the_whole_start)
{
    struct scene s = lone_remote(SETTINGS(.stall_ms = 10), BY_HAND);
    exchange_answers(last_exchange(s.w, "initialize"), HELLO);
    advance(s.w, 1000);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(s.server, CONNECTED));
}

TEST(a_server_that_does_not_like_our_initialized_is_asked_for_its_lists_all_the_same)
{
    static const int statuses[] = { 400, 405, 500 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = lone_remote(SETTINGS(), BY_HAND);
        exchange_answers(last_exchange(s.w, "initialize"), HELLO);
        exchange_fails(last_exchange(s.w, "notifications/initialized"), statuses[i]);
        exchange_answers(last_exchange(s.w, "tools/list"), "{\"tools\":[]}");
        CHECK(IS(s.server, CONNECTED));
        advance(s.w, 300000); /* relistMs */
        CHECK_EQ(exchanges(s.w, "tools/list"), 2);
        world_end(s.w);
    }
}

TEST(a_version_that_cannot_be_a_header_is_not_made_one)
{
    struct scene s = lone_remote_with(SETTINGS(), MANNERS(.version = "2025\\r\\nX-Evil: 1"));
    CHECK(IS(s.server, CONNECTED) && !last_exchange(s.w, "tools/list")->version);
}

TEST(a_greeting_that_fails_is_a_failed_attempt_that_says_why)
{
    static const struct {
        int status;
        const char *says;
    } rows[] = { { 301, "HTTP 301 to initialize" },
                 { 422, "HTTP 422 to initialize" },
                 { 500, "HTTP 500 to initialize" },
                 { 503, "HTTP 503 to initialize" },
                 { 200, "no answer" },
                 { 0, "connection refused" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = lone_remote_with(SETTINGS(), MANNERS(.http.hello_status = rows[i].status,
                                                              .http.is_down = rows[i].status == 0));
        CHECK(IS(s.server, RECONNECTING) && reason_says(s.server, rows[i].says));
        advance(s.w, 1000000);
        CHECK(IS(s.server, PERMANENTLY_FAILED)); /* firstAttempts */
        world_end(s.w);
    }
}

TEST(a_greeting_that_breaks_off_says_why)
{
    struct scene s = lone_remote(SETTINGS(), BY_HAND);
    exchange_head(last_exchange(s.w, "initialize"), 200, false);
    exchange_breaks(last_exchange(s.w, "initialize"), HF_SENT_WHOLE);
    CHECK(IS(s.server, RECONNECTING) && reason_says(s.server, "connection reset"));
}

/* ---- credentials ---- */

TEST(a_greeting_that_wants_credentials_is_given_up_on_and_probed_later)
{
    for (int status = 401; status <= 403; status += 2) {
        struct scene s = lone_remote(SETTINGS(), HTTP(.hello_status = status));
        CHECK(IS(s.server, PERMANENTLY_FAILED) && reason_says(s.server, "auth required"));
        struct client *c = greeted_client(s.w, s.server);
        client_calls(c, 1, "echo");
        CHECK(error_of(c, 1) == -31004 && error_says(c, 1, "auth required"));
        advance(s.w, 59999);
        CHECK_EQ(exchanges(s.w, "initialize"), 1);
        advance(s.w, 1);
        CHECK(exchanges(s.w, "initialize") == 2 && IS(s.server, PERMANENTLY_FAILED));
        manners_of(s.w, s.server)->http.hello_status = 0;
        advance(s.w, 60000);
        CHECK(IS(s.server, CONNECTED));
        world_end(s.w);
    }
}

TEST(a_greeting_refused_for_credentials_in_the_words_of_json_rpc_is_no_different)
{
    struct scene s = lone_remote(SETTINGS(), BY_HAND);
    exchange_answers_error(last_exchange(s.w, "initialize"), 401,
                           "{\"code\":-32001,\"message\":\"Unauthorized\"}");
    CHECK(IS(s.server, PERMANENTLY_FAILED) && reason_says(s.server, "auth required"));
}

TEST(a_restart_with_wrong_credentials_leaves_the_old_one_in_place)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    http_of(&s)->hello_status = 401;
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
    client_calls(s.client, 1, "echo");
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
    http_of(&s)->hello_status = 0;
    client_calls(s.client, 2, "echo");
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 3);
}

/* ---- Retry-After ---- */

TEST(retry_after_paces_the_attempts_and_no_call_gets_an_extra_one_inside_it)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", default_settings());
    struct http_manners *http = &manners_of(w, server)->http;
    *http = HTTP(.hello_status = 503, .retry_after_s = 20);
    settle(w);
    struct client *c = open_client(w, server);
    client_calls(c, 1, "echo");
    CHECK(exchanges(w, "initialize") == 1 && answers_to(c, 1) == 0);
    advance(w, 19999);
    CHECK_EQ(exchanges(w, "initialize"), 1);
    *http = HTTP();
    advance(w, 1);
    CHECK(IS(server, CONNECTED) && sent(w, CALL) == 1);
}

TEST(a_call_that_cannot_wait_as_long_as_retry_after_is_told_so_at_once)
{
    struct scene s = lone_remote(SETTINGS(), HTTP(.hello_status = 429, .retry_after_s = 90));
    s.client = open_client(s.w, s.server);
    client_calls(s.client, 1, "echo");
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "retryAfterMs", "90000"));
    CHECK_EQ(exchanges(s.w, "initialize"), 1);
}

TEST(whatever_of_an_attempt_is_told_to_wait_paces_the_next)
{
    struct scene s = lone_remote(SETTINGS(), BY_HAND);
    exchange_answers(last_exchange(s.w, "initialize"), HELLO);
    exchange_fails(last_exchange(s.w, "notifications/initialized"), 202);
    exchange_fails_for(last_exchange(s.w, "tools/list"), 429, 20000);
    CHECK(IS(s.server, RECONNECTING));
    advance(s.w, 19999);
    CHECK_EQ(exchanges(s.w, "initialize"), 1);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, "initialize"), 2);
}

TEST(a_renewal_that_is_told_to_wait_waits)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->hello_status = 429;
    http_of(&s)->retry_after_s = 7;
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(IS(s.server, RECONNECTING) && exchanges(s.w, "initialize") == 2);
    http_of(&s)->hello_status = 0;
    advance(s.w, 6999);
    CHECK_EQ(exchanges(s.w, "initialize"), 2);
    advance(s.w, 1);
    CHECK(IS(s.server, CONNECTED) && sent(s.w, CALL) == 2);
}

TEST(a_lost_servers_retry_after_paces_its_first_attempt_too)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 503);
    http_of(&s)->by_hand = false;
    exchange_fails_for(last_exchange(s.w, "ping"), 503, 5000);
    CHECK(error_of(s.client, 1) == -31002 && IS(s.server, RECONNECTING));
    client_calls(s.client, 2, "echo");
    advance(s.w, 4999);
    CHECK_EQ(exchanges(s.w, "initialize"), 1);
    advance(s.w, 1);
    CHECK(exchanges(s.w, "initialize") == 2 && sent(s.w, CALL) == 2);
}

TEST(what_one_call_was_told_to_wait_is_nothing_to_the_server)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.no_session = 1));
    confirms_losses(&s);
    client_calls(s.client, 1, "echo");
    exchange_fails_for(last_exchange(s.w, CALL), 429, 40000);
    CHECK(error_of(s.client, 1) == -31009 && IS(s.server, CONNECTED));
    client_calls(s.client, 2, "echo");
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
}

TEST(retry_after_is_over_once_the_server_is_connected_or_somebody_asks)
{
    struct scene s = scene_with_calls(1);
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 503);
    http_of(&s)->by_hand = false;
    exchange_fails_for(last_exchange(s.w, "ping"), 503, 600000);
    CHECK(IS(s.server, RECONNECTING));
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK(IS(s.server, CONNECTED));
    client_calls(s.client, 2, "echo");
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
    CHECK(IS(s.server, CONNECTED));
}

TEST(a_probe_of_a_server_given_up_on_waits_for_retry_after_too)
{
    struct hf_settings settings = SETTINGS(.reconnect.first_attempts = 1);
    struct scene s = lone_remote(settings, HTTP(.hello_status = 429, .retry_after_s = 300));
    CHECK(IS(s.server, PERMANENTLY_FAILED));
    advance(s.w, 299999);
    CHECK_EQ(exchanges(s.w, "initialize"), 1);
    advance(s.w, 1);
    CHECK_EQ(exchanges(s.w, "initialize"), 2);
}

/* ---- closed ---- */

TEST(a_session_is_ended_with_delete_under_its_own_id)
{
    struct scene s = remote_scene();
    operate(s.w, s.server, HF_OP_DISABLE);
    const struct exchange *bye = last_exchange(s.w, "DELETE");
    CHECK(is_text(bye->session_id, "session-1") && is_text(bye->version, "2025-11-25"));
    CHECK(IS(s.server, DISABLED) && exchanges(s.w, "DELETE") == 1 && s.first->hang_ups == 0);
}

TEST(without_a_session_there_is_nothing_to_delete_and_hanging_up_is_said_once)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.no_session = 1));
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLED) && exchanges(s.w, "DELETE") == 0 && s.first->hang_ups == 1);
}

TEST(a_delete_that_is_never_answered_is_waited_for_so_long_and_no_longer)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.never_says_bye = 1));
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLING));
    advance(s.w, 5000); /* closeMs, termMs */
    CHECK(IS(s.server, DISABLED) && last_exchange(s.w, "DELETE")->is_aborted);
    CHECK(s.first->hang_ups == 1 && !status_of(s.server).close_failed);
}

TEST(a_delete_that_fails_is_nobodys_business)
{
    static const int statuses[] = { 0, 404, 405, 500 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = remote_scene_of(SETTINGS(), HTTP(.never_says_bye = 1));
        operate(s.w, s.server, HF_OP_DISABLE);
        if (statuses[i])
            exchange_fails(last_exchange(s.w, "DELETE"), statuses[i]);
        else
            exchange_breaks(last_exchange(s.w, "DELETE"), HF_SENT_NOTHING);
        CHECK(IS(s.server, DISABLED) && !status_of(s.server).close_failed);
        operate(s.w, s.server, HF_OP_ENABLE);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).failures_k == 0);
        world_end(s.w);
    }
}

TEST(a_server_whose_calls_outlast_their_time_to_drain_is_still_told_goodbye)
{
    struct scene s = remote_scene_of(SETTINGS(.drain_ms = 1000), HTTP());
    client_calls(s.client, 1, "echo");
    exchange_sends(last_exchange(s.w, CALL));
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 1000);
    CHECK_EQ(error_of(s.client, 1), -31002); /* at once: no answer can come any more */
    CHECK(exchanges(s.w, "DELETE") == 1 && IS(s.server, DISABLED));
}

/* ---- under the hands of an operator ---- */

/* Brings a scene's server into each state it can be in, one after the other; false: no more. */
static bool bring_into_state(struct scene *s, int which)
{
    *s = (struct scene) { .w = world_new() };
    s->server = add_remote(s->w, "s", SETTINGS(.overlap = which % 2));
    struct http_manners *http = &manners_of(s->w, s->server)->http;
    http->by_hand = which / 2 < 3;
    settle(s->w);
    s->client = open_client(s->w, s->server);
    client_calls(s->client, 1, "echo");
    switch (which / 2) {
    case 0: break; /* greeting */
    case 1: exchange_gives_session(last_exchange(s->w, "initialize"), "x"); break;
    case 2: /* listing */
        exchange_gives_session(last_exchange(s->w, "initialize"), "x");
        exchange_says_answer(last_exchange(s->w, "initialize"), HELLO);
        exchange_fails(last_exchange(s->w, "notifications/initialized"), 202);
        break;
    case 3: break; /* connected, a call in flight */
    case 4:        /* renewing */
        http->by_hand = true;
        exchange_fails(last_exchange(s->w, CALL), 404);
        break;
    case 5: /* in doubt */
        http->by_hand = true;
        exchange_fails(last_exchange(s->w, CALL), 400);
        break;
    case 6: /* waiting to resume */
        exchange_head(last_exchange(s->w, CALL), 200, true);
        exchange_marks(last_exchange(s->w, CALL), "e", 5000);
        exchange_breaks(last_exchange(s->w, CALL), HF_SENT_WHOLE);
        break;
    case 7: /* lost, draining, and the next attempt under way */
        client_calls(s->client, 2, "echo");
        http->by_hand = true;
        exchange_breaks(last_exchange(s->w, CALL), HF_SENT_WHOLE);
        break;
    case 8: /* saying goodbye */
        http->never_says_bye = true;
        exchange_answers(last_exchange(s->w, CALL), RESULT);
        client_calls(s->client, 2, "echo");
        exchange_breaks(last_exchange(s->w, CALL), HF_SENT_WHOLE);
        break;
    default: return false;
    }
    return true;
}

TEST(whatever_a_remote_server_is_doing_it_can_be_switched_off_and_every_call_is_answered)
{
    static const enum hf_op ops[] = { HF_OP_DISABLE, HF_OP_REMOVE };
    struct scene s;
    for (size_t op = 0; op < 2; op++) {
        int which = 0;
        for (; bring_into_state(&s, which); which++) {
            hf_server_op(s.server, ops[op], at(s.w->now_ms));
            if (ops[op] == HF_OP_DISABLE)
                CHECK(IS(s.server, DISABLING));
            settle(s.w);
            advance(s.w, 10000 + 2000 + 3000 + 5000);
            CHECK_EQ(answers_to(s.client, 1), 1);
            for (size_t i = 0; i < s.w->child_count; i++)
                CHECK(!s.w->children[i].runtime);
            if (ops[op] == HF_OP_DISABLE) {
                CHECK(IS(s.server, DISABLED));
                manners_of(s.w, s.server)->http = HTTP();
                operate(s.w, s.server, HF_OP_ENABLE);
                CHECK(IS(s.server, CONNECTED));
            }
            world_end(s.w);
        }
        world_end(s.w);
    }
}

TEST(whatever_a_remote_server_is_doing_a_restart_brings_it_back_and_nothing_is_sent_twice)
{
    static const enum hf_op ops[] = { HF_OP_RESTART, HF_OP_RECONNECT };
    struct scene s;
    for (size_t op = 0; op < 2; op++) {
        for (int which = 0; bring_into_state(&s, which); which++) {
            const size_t before = sent(s.w, CALL);
            manners_of(s.w, s.server)->http = HTTP(.sessions = 9);
            operate(s.w, s.server, ops[op]);
            advance(s.w, 30000);
            CHECK(IS(s.server, CONNECTED));
            client_calls(s.client, 50, "echo");
            exchange_answers(last_exchange(s.w, CALL), RESULT);
            CHECK(has_result(s.client, 50));
            /* call 1, if it never ran, and call 50 */
            CHECK(sent(s.w, CALL) <= before + 2);
            world_end(s.w);
        }
        world_end(s.w);
    }
}

TEST(whatever_a_remote_server_is_doing_holdfast_can_stop)
{
    struct scene s;
    for (int which = 0; bring_into_state(&s, which); which++) {
        hf_engine_stop(s.w->engine, at(s.w->now_ms));
        settle(s.w);
        advance(s.w, 10000 + 2000 + 3000 + 5000);
        CHECK(hf_engine_is_stopped(s.w->engine) && answers_to(s.client, 1) == 1);
        world_end(s.w);
    }
}

TEST(whatever_a_remote_server_is_doing_its_only_client_can_leave)
{
    struct scene s;
    for (int which = 0; bring_into_state(&s, which); which++) {
        client_leaves(s.client);
        manners_of(s.w, s.server)->http = HTTP(.sessions = 9);
        advance(s.w, 300000);
        world_end(s.w);
    }
}

/* ---- resting, and one for each client ---- */

TEST(an_idle_remote_server_rests_and_the_next_call_wakes_it)
{
    struct scene s = remote_scene_of(SETTINGS(.idle_ms = 5000), HTTP());
    client_calls(s.client, 1, "echo");
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED)); /* a call is in flight */
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    advance(s.w, 5000);
    CHECK(IS(s.server, DISCONNECTED) && exchanges(s.w, "DELETE") == 1);
    client_calls(s.client, 2, "echo");
    CHECK(IS(s.server, CONNECTED) && last_exchange(s.w, CALL)->child->generation == 2);
}

TEST(each_client_has_a_session_of_its_own_at_the_server_where_that_is_configured)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", SETTINGS(.isolation = HF_ISOLATION_SESSION));
    manners_of(w, server)->http.by_hand = true;
    struct client *clients[2];
    for (size_t i = 0; i < 2; i++) {
        char id[4] = { 'x', (char)('0' + i), '\0' };
        clients[i] = open_client(w, server);
        client_requests(clients[i], 0, "initialize",
                        "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
                        "\"name\":\"own\",\"version\":\"1\"}}");
        client_calls(clients[i], 1, "echo");
        struct exchange *hello = last_exchange(w, "initialize");
        CHECK(span_has(hello->body.items[0].msg.params, "\"own\""));
        exchange_gives_session(hello, id);
        exchange_says_answer(hello, "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{"
                                    "\"tools\":{}}}");
        exchange_fails(last_exchange(w, "notifications/initialized"), 202);
        exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
        CHECK(is_text(last_exchange(w, CALL)->session_id, id));
    }
    exchange_fails(nth_exchange(w, CALL, 0), 404); /* the first is forgotten, and only that */
    exchange_fails(last_exchange(w, "ping"), 404);
    CHECK_EQ(exchanges(w, "initialize"), 3);
    CHECK(span_has(last_exchange(w, "initialize")->body.items[0].msg.params, "\"own\""));
    exchange_answers(nth_exchange(w, CALL, 1), RESULT);
    CHECK(has_result(clients[1], 1) && answers_to(clients[0], 1) == 0);
    client_leaves(clients[0]);
    client_leaves(clients[1]);
    CHECK_STR(last_exchange(w, "DELETE")->session_id, "x1");
}
