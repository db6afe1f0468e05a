/*
 * test_remote_life.c - the life of a runtime whose server is remote: greeted, paced, given up on,
 * drained and closed; under every hand of an operator.
 */
#include "remote_fixture.h"

/* ---- greeted ---- */

TEST(our_initialized_has_arrived_before_any_list_is_asked)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", default_settings());
    manners_of(w, server)->prompts = "[]";
    manners_of(w, server)->http.by_hand = true;
    settle(w);
    struct exchange *hello = last_exchange(w, "initialize");
    CHECK(!hello->session_id && !hello->version && w->exchange_count == 1);
    exchange_gives_session(hello, "a b");
    exchange_says_answer(hello,
                         "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{},"
                         "\"prompts\":{}}}");
    struct exchange *told = last_exchange(w, "notifications/initialized");
    CHECK(is_text(told->session_id, "a b") && is_text(told->version, "2025-06-18"));
    CHECK(exchanges(w, "tools/list") == 0 && exchanges(w, "GET") == 0);
    exchange_sends(told);
    CHECK(exchanges(w, "tools/list") == 0);
    exchange_fails(told, 202);
    CHECK(exchanges(w, "tools/list") == 1 && exchanges(w, "prompts/list") == 1);
    CHECK(is_text(last_exchange(w, "tools/list")->version, "2025-06-18"));
    exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(server, CONNECTED) && exchanges(w, "GET") == 1);
    CHECK(is_text(last_exchange(w, "GET")->session_id, "a b"));
    world_end(w);
}

TEST(a_server_that_keeps_the_answer_to_a_notification_open_has_heard_it)
{
    struct hf_server *server;
    struct world *w = remote_world(default_settings(), BY_HAND, &server);
    exchange_answers(last_exchange(w, "initialize"),
                     "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
    exchange_head(last_exchange(w, "notifications/initialized"), 200, true);
    CHECK(exchanges(w, "tools/list") == 1);
    exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
    CHECK(IS(server, CONNECTED));
    advance(w, 60000); /* and is not listened to for ever */
    CHECK(last_exchange(w, "notifications/initialized")->is_aborted);
    CHECK(IS(server, CONNECTED) && exchanges(w, "tools/list") == 1);
    world_end(w);
}

TEST(an_initialized_that_does_not_arrive_is_a_failed_attempt)
{
    static const int statuses[] = { 0, 404, 502, 503 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct hf_server *server;
        struct world *w = remote_world(default_settings(), BY_HAND, &server);
        exchange_gives_session(last_exchange(w, "initialize"), "x");
        exchange_says_answer(last_exchange(w, "initialize"),
                             "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}");
        struct exchange *told = last_exchange(w, "notifications/initialized");
        if (statuses[i])
            exchange_fails(told, statuses[i]);
        else
            exchange_breaks(told, HF_SENT_WHOLE);
        CHECK(IS(server, RECONNECTING) && exchanges(w, "tools/list") == 0);
        CHECK(is_text(last_exchange(w, "DELETE")->session_id, "x"));
        world_end(w);
    }
}

TEST(a_server_that_does_not_like_our_initialized_is_asked_for_its_lists_all_the_same)
{
    static const int statuses[] = { 400, 405, 500 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct hf_server *server;
        struct world *w = remote_world(default_settings(), BY_HAND, &server);
        exchange_answers(last_exchange(w, "initialize"),
                         "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
        exchange_fails(last_exchange(w, "notifications/initialized"), statuses[i]);
        exchange_answers(last_exchange(w, "tools/list"), "{\"tools\":[]}");
        CHECK(IS(server, CONNECTED));
        advance(w, 300000); /* relistMs */
        CHECK(exchanges(w, "tools/list") == 2);
        world_end(w);
    }
}

TEST(a_version_that_cannot_be_a_header_is_not_made_one)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", default_settings());
    manners_of(w, server)->version = "2025\\r\\nX-Evil: 1";
    settle(w);
    CHECK(IS(server, CONNECTED) && !last_exchange(w, "tools/list")->version);
    world_end(w);
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
        struct world *w = world_new();
        struct hf_server *server = add_remote(w, "s", default_settings());
        manners_of(w, server)->http.hello_status = rows[i].status;
        manners_of(w, server)->http.is_down = rows[i].status == 0;
        settle(w);
        CHECK(IS(server, RECONNECTING) && reason_says(server, rows[i].says));
        advance(w, 1000000);
        CHECK(IS(server, PERMANENTLY_FAILED)); /* firstAttempts */
        world_end(w);
    }
}

TEST(a_greeting_that_breaks_off_says_why)
{
    struct hf_server *server;
    struct world *w = remote_world(default_settings(), BY_HAND, &server);
    exchange_head(last_exchange(w, "initialize"), 200, false);
    exchange_breaks(last_exchange(w, "initialize"), HF_SENT_WHOLE);
    CHECK(IS(server, RECONNECTING) && reason_says(server, "connection reset"));
    world_end(w);
}

/* ---- credentials ---- */

TEST(a_greeting_that_wants_credentials_is_given_up_on_and_probed_later)
{
    for (int status = 401; status <= 403; status += 2) {
        struct hf_server *server;
        struct world *w = remote_world(default_settings(),
                                       (struct http_manners) { .hello_status = status }, &server);
        CHECK(IS(server, PERMANENTLY_FAILED) && reason_says(server, "auth required"));
        struct client *c = greeted_client(w, server);
        client_calls(c, 1, "echo");
        CHECK(error_of(c, 1) == -31004 && error_says(c, 1, "auth required"));
        advance(w, 59999);
        CHECK(exchanges(w, "initialize") == 1);
        advance(w, 1);
        CHECK(exchanges(w, "initialize") == 2 && IS(server, PERMANENTLY_FAILED));
        manners_of(w, server)->http.hello_status = 0;
        advance(w, 60000);
        CHECK(IS(server, CONNECTED));
        world_end(w);
    }
}

TEST(a_greeting_refused_for_credentials_in_the_words_of_json_rpc_is_no_different)
{
    struct hf_server *server;
    struct world *w = remote_world(default_settings(), BY_HAND, &server);
    exchange_answers_error(last_exchange(w, "initialize"), 401,
                           "{\"code\":-32001,\"message\":\"Unauthorized\"}");
    CHECK(IS(server, PERMANENTLY_FAILED) && reason_says(server, "auth required"));
    world_end(w);
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
    world_end(s.w);
}

/* ---- Retry-After ---- */

TEST(retry_after_paces_the_attempts_and_no_call_gets_an_extra_one_inside_it)
{
    struct world *w = world_new();
    struct hf_server *server = add_remote(w, "s", default_settings());
    struct http_manners *http = &manners_of(w, server)->http;
    *http = (struct http_manners) { .hello_status = 503, .retry_after_s = 20 };
    settle(w);
    struct client *c = open_client(w, server);
    client_calls(c, 1, "echo");
    CHECK(exchanges(w, "initialize") == 1 && answers_to(c, 1) == 0);
    advance(w, 19999);
    CHECK(exchanges(w, "initialize") == 1);
    *http = (struct http_manners) { 0 };
    advance(w, 1);
    CHECK(IS(server, CONNECTED) && sent(w, CALL) == 1);
    world_end(w);
}

TEST(a_call_that_cannot_wait_as_long_as_retry_after_is_told_so_at_once)
{
    struct hf_server *server;
    struct world *w =
        remote_world(default_settings(),
                     (struct http_manners) { .hello_status = 429, .retry_after_s = 90 }, &server);
    struct client *c = open_client(w, server);
    client_calls(c, 1, "echo");
    CHECK(error_of(c, 1) == -31001 && data_is(c, 1, "retryAfterMs", "90000"));
    CHECK(exchanges(w, "initialize") == 1);
    world_end(w);
}

TEST(whatever_of_an_attempt_is_told_to_wait_paces_the_next)
{
    struct hf_server *server;
    struct world *w = remote_world(default_settings(), BY_HAND, &server);
    exchange_answers(last_exchange(w, "initialize"),
                     "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
    exchange_fails(last_exchange(w, "notifications/initialized"), 202);
    exchange_fails_for(last_exchange(w, "tools/list"), 429, 20000);
    CHECK(IS(server, RECONNECTING));
    advance(w, 19999);
    CHECK(exchanges(w, "initialize") == 1);
    advance(w, 1);
    CHECK(exchanges(w, "initialize") == 2);
    world_end(w);
}

TEST(a_renewal_that_is_told_to_wait_waits)
{
    struct scene s = remote_scene();
    client_calls(s.client, 1, "echo");
    http_of(&s)->hello_status = 429;
    http_of(&s)->retry_after_s = 7;
    exchange_fails(last_exchange(s.w, CALL), 404);
    CHECK(IS(s.server, RECONNECTING) && exchanges(s.w, "initialize") == 2);
    http_of(&s)->hello_status = 0;
    advance(s.w, 6999);
    CHECK(exchanges(s.w, "initialize") == 2);
    advance(s.w, 1);
    CHECK(IS(s.server, CONNECTED) && sent(s.w, CALL) == 2);
    world_end(s.w);
}

TEST(a_lost_servers_retry_after_paces_its_first_attempt_too)
{
    struct scene s = remote_scene();
    client_calls(s.client, 1, "echo");
    http_of(&s)->by_hand = true;
    exchange_fails(last_exchange(s.w, CALL), 503);
    http_of(&s)->by_hand = false;
    exchange_fails_for(last_exchange(s.w, "ping"), 503, 5000);
    CHECK(error_of(s.client, 1) == -31002 && IS(s.server, RECONNECTING));
    client_calls(s.client, 2, "echo");
    advance(s.w, 4999);
    CHECK(exchanges(s.w, "initialize") == 1);
    advance(s.w, 1);
    CHECK(exchanges(s.w, "initialize") == 2 && sent(s.w, CALL) == 2);
    world_end(s.w);
}

TEST(what_one_call_was_told_to_wait_is_nothing_to_the_server)
{
    struct scene s = remote_scene_of(default_settings(), (struct http_manners) { .no_session = 1 });
    confirms_losses(&s);
    client_calls(s.client, 1, "echo");
    exchange_fails_for(last_exchange(s.w, CALL), 429, 40000);
    CHECK(error_of(s.client, 1) == -31009 && IS(s.server, CONNECTED));
    client_calls(s.client, 2, "echo");
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_WHOLE);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    world_end(s.w);
}

TEST(retry_after_is_over_once_the_server_is_connected_or_somebody_asks)
{
    struct scene s = remote_scene();
    client_calls(s.client, 1, "echo");
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
    world_end(s.w);
}

TEST(a_probe_of_a_server_given_up_on_waits_for_retry_after_too)
{
    struct hf_settings settings = default_settings();
    settings.reconnect.first_attempts = 1;
    struct hf_server *server;
    struct world *w = remote_world(
        settings, (struct http_manners) { .hello_status = 429, .retry_after_s = 300 }, &server);
    CHECK(IS(server, PERMANENTLY_FAILED));
    advance(w, 299999);
    CHECK(exchanges(w, "initialize") == 1);
    advance(w, 1);
    CHECK(exchanges(w, "initialize") == 2);
    world_end(w);
}

/* ---- closed ---- */

TEST(a_session_is_ended_with_delete_under_its_own_id)
{
    struct scene s = remote_scene();
    operate(s.w, s.server, HF_OP_DISABLE);
    const struct exchange *bye = last_exchange(s.w, "DELETE");
    CHECK(is_text(bye->session_id, "session-1") && is_text(bye->version, "2025-11-25"));
    CHECK(IS(s.server, DISABLED) && exchanges(s.w, "DELETE") == 1 && s.first->hang_ups == 0);
    world_end(s.w);
}

TEST(without_a_session_there_is_nothing_to_delete_and_hanging_up_is_said_once)
{
    struct scene s = remote_scene_of(default_settings(), (struct http_manners) { .no_session = 1 });
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLED) && exchanges(s.w, "DELETE") == 0 && s.first->hang_ups == 1);
    world_end(s.w);
}

TEST(a_delete_that_is_never_answered_is_waited_for_so_long_and_no_longer)
{
    struct scene s =
        remote_scene_of(default_settings(), (struct http_manners) { .never_says_bye = 1 });
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLING));
    advance(s.w, 5000); /* closeMs, termMs */
    CHECK(IS(s.server, DISABLED) && last_exchange(s.w, "DELETE")->is_aborted);
    CHECK(s.first->hang_ups == 1 && !status_of(s.server).close_failed);
    world_end(s.w);
}

TEST(a_delete_that_fails_is_nobodys_business)
{
    static const int statuses[] = { 0, 404, 405, 500 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s =
            remote_scene_of(default_settings(), (struct http_manners) { .never_says_bye = 1 });
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

/* ---- under the hands of an operator ---- */

/* Brings a scene's server into each state it can be in, one after the other; false: no more. */
static bool bring_into_state(struct scene *s, int which)
{
    struct hf_settings settings = default_settings();
    settings.overlap = which % 2;
    *s = (struct scene) { .w = world_new() };
    s->server = add_remote(s->w, "s", settings);
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
        exchange_says_answer(
            last_exchange(s->w, "initialize"),
            "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
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
            CHECK(answers_to(s.client, 1) == 1);
            for (size_t i = 0; i < s.w->child_count; i++)
                CHECK(!s.w->children[i].runtime);
            if (ops[op] == HF_OP_DISABLE) {
                CHECK(IS(s.server, DISABLED));
                manners_of(s.w, s.server)->http = (struct http_manners) { 0 };
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
            manners_of(s.w, s.server)->http = (struct http_manners) { .sessions = 9 };
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
    world_end(s.w);
}

TEST(whatever_a_remote_server_is_doing_its_only_client_can_leave)
{
    struct scene s;
    for (int which = 0; bring_into_state(&s, which); which++) {
        client_leaves(s.client);
        manners_of(s.w, s.server)->http = (struct http_manners) { .sessions = 9 };
        advance(s.w, 300000);
        world_end(s.w);
    }
    world_end(s.w);
}

/* ---- resting, and one for each client ---- */

TEST(an_idle_remote_server_rests_and_the_next_call_wakes_it)
{
    struct hf_settings settings = default_settings();
    settings.idle_ms = 5000;
    struct scene s = remote_scene_of(settings, (struct http_manners) { 0 });
    client_calls(s.client, 1, "echo");
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED)); /* a call is in flight */
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    advance(s.w, 5000);
    CHECK(IS(s.server, DISCONNECTED) && exchanges(s.w, "DELETE") == 1);
    client_calls(s.client, 2, "echo");
    CHECK(IS(s.server, CONNECTED) && last_exchange(s.w, CALL)->child->generation == 2);
    world_end(s.w);
}

TEST(each_client_has_a_session_of_its_own_at_the_server_where_that_is_configured)
{
    struct world *w = world_new();
    struct hf_settings settings = default_settings();
    settings.isolation = HF_ISOLATION_SESSION;
    struct hf_server *server = add_remote(w, "s", settings);
    manners_of(w, server)->http.by_hand = true;
    struct client *clients[2];
    for (size_t i = 0; i < 2; i++) {
        char id[4] = { 'x', (char)('0' + i), '\0' };
        clients[i] = open_client(w, server);
        client_says(clients[i],
                    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                    "\"clientInfo\":{\"name\":\"own\",\"version\":\"1\"}}}");
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
    CHECK(exchanges(w, "initialize") == 3);
    CHECK(span_has(last_exchange(w, "initialize")->body.items[0].msg.params, "\"own\""));
    exchange_answers(nth_exchange(w, CALL, 1), RESULT);
    CHECK(has_result(clients[1], 1) && answers_to(clients[0], 1) == 0);
    client_leaves(clients[0]);
    client_leaves(clients[1]);
    CHECK(is_text(last_exchange(w, "DELETE")->session_id, "x1"));
    world_end(w);
}
