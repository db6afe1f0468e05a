/*
 * test_remote.c - calls to a remote server: what one exchange proved, and what becomes of its call
 * (DESIGN 4 over HTTP).
 */
#include "remote_fixture.h"

/* ---- answered ---- */

TEST(a_call_is_one_exchange_with_our_id_and_its_answer_comes_back_with_the_clients)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    CHECK(x->is_sending && x->verb == HF_EXCHANGE_MESSAGE);
    CHECK(is_text(x->session_id, "session-1") && is_text(x->version, "2025-11-25"));
    CHECK(!x->endpoint && !x->last_event_id);
    CHECK(!hf_span_is(x->body.items[0].msg.id, "1"));
    exchange_answers(x, RESULT);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
    CHECK(sent(s.w, CALL) == 1 && IS(s.server, CONNECTED));
    CHECK(status_of(s.server).generation == 1 && status_of(s.server).in_flight == 0);
}

TEST(an_answer_counts_whatever_the_status_says_if_it_has_our_id)
{
    static const int statuses[] = { 200, 400, 401, 403, 404, 409, 429, 500, 502, 503, 504 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct scene s = remote_scene();
        exchange_answers_error(call_one(&s), statuses[i],
                               "{\"code\":-32601,\"message\":\"session not found\"}");
        CHECK_EQ(error_of(s.client, 1), -32601);
        CHECK(answers_to(s.client, 1) == 1 && sent(s.w, CALL) == 1);
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        const bool may_be_session = statuses[i] >= 400 && statuses[i] < 500 && statuses[i] != 429;
        CHECK_EQ(sent(s.w, "initialize"), 1);
        CHECK_EQ(sent(s.w, "ping"), 2 * (size_t)may_be_session); /* a stranger's, and its own */
        client_calls(s.client, 2, "echo"); /* the session is as good as before */
        exchange_answers(last_exchange(s.w, CALL), RESULT);
        CHECK(has_result(s.client, 2) && sent(s.w, "initialize") == 1);
        world_end(s.w);
    }
}

TEST(with_an_error_status_nothing_counts_but_the_answer_to_that_request)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    exchange_head(x, 500, false);
    exchange_says(x, "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}");
    exchange_says(x, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}");
    exchange_says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}");
    exchange_says(x, "not json");
    CHECK(answers_to(s.client, 1) == 0 && heard(s.client, "notifications/message") == 0);
    exchange_ends(x);
    CHECK_EQ(error_of(s.client, 1), -31002);
}

TEST(an_answer_counts_on_whichever_exchange_it_comes)
{
    struct scene s = scene_with_calls(1);
    client_calls(s.client, 2, "echo");
    struct exchange *one = nth_exchange(s.w, CALL, 0), *two = nth_exchange(s.w, CALL, 1);
    exchange_head(two, 200, true);
    exchange_says(two, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                  HF_FMT(one->body.items[0].msg.id));
    CHECK(has_result(s.client, 1) && answers_to(s.client, 2) == 0);
    exchange_breaks(one, HF_SENT_WHOLE); /* its answer is there: nothing is lost */
    CHECK_EQ(answers_to(s.client, 1), 1);
    exchange_says_answer(two, RESULT);
    CHECK(has_result(s.client, 2));
}

TEST(the_server_answers_and_resets_at_once_and_that_is_an_answer)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    exchange_head(x, 200, true);
    exchange_says_answer(x, RESULT);
    exchange_breaks(x, HF_SENT_WHOLE);
    CHECK(has_result(s.client, 1) && IS(s.server, CONNECTED));
    CHECK_EQ(status_of(s.server).generation, 1);
}

TEST(a_stream_that_goes_on_after_its_answer_is_ended_by_us)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    exchange_head(x, 200, true);
    exchange_marks(x, "7", -1);
    exchange_says_answer(x, RESULT);
    CHECK(has_result(s.client, 1) && x->post);
    exchange_says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}");
    exchange_says_answer(x, RESULT); /* once is enough */
    CHECK(answers_to(s.client, 1) == 1 && heard(s.client, "notifications/message") == 1);
    advance(s.w, 10000);
    CHECK(x->is_aborted && exchanges(s.w, "RESUME") == 0);
}

/* ---- lost ---- */

TEST(a_call_of_which_nothing_was_sent_waits_for_the_next_generation_and_goes_out_once)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.holds_calls = 1));
    struct exchange *x = call_one(&s);
    CHECK(!x->is_sending);
    manners_of(s.w, s.server)->http.is_down = true;
    exchange_breaks(x, HF_SENT_NOTHING);
    CHECK(IS(s.server, RECONNECTING) && answers_to(s.client, 1) == 0 && sent(s.w, CALL) == 0);
    manners_of(s.w, s.server)->http = HTTP(.sessions = 1);
    advance(s.w, 1000);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 3);
    CHECK(sent(s.w, CALL) == 1 && status_of(s.server).resends == 1);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

TEST(a_call_that_never_left_us_does_not_wait_longer_than_wait_ms)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.holds_calls = 1));
    manners_of(s.w, s.server)->http.is_down = true;
    exchange_breaks(call_one(&s), HF_SENT_NOTHING);
    advance(s.w, 44000);
    CHECK(answers_to(s.client, 1) <= 1);
    advance(s.w, 2000);
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "evidence", "\"unsent\""));
    CHECK(data_is(s.client, 1, "dispatched", "false") && sent(s.w, CALL) == 0);
}

TEST(an_exchange_that_cannot_be_connected_is_given_up_unsent_after_wait_ms)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.holds_calls = 1));
    struct exchange *x = call_one(&s);
    advance(s.w, 45000);
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "evidence", "\"unsent\""));
    CHECK(x->is_aborted && !x->is_sending && sent(s.w, "notifications/cancelled") == 0);
}

TEST(a_call_sent_in_part_is_sent_once_more_and_then_its_server_dies_on_it)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    exchange_breaks(call_one(&s), HF_SENT_PART);
    CHECK(answers_to(s.client, 1) == 0 && IS(s.server, CONNECTED));
    CHECK(status_of(s.server).generation == 2 && sent(s.w, CALL) == 2);
    exchange_breaks(last_exchange(s.w, CALL), HF_SENT_PART);
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "reason", "\"server_dies_on_it\""));
    CHECK(data_is(s.client, 1, "retry", "\"no\"") &&
          data_is(s.client, 1, "evidence", "\"partial\""));
    advance(s.w, 60000);
    CHECK_EQ(sent(s.w, CALL), 2);
}

TEST(a_call_sent_in_part_goes_out_again_and_is_answered)
{
    struct scene s = remote_scene();
    exchange_breaks(call_one(&s), HF_SENT_PART);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1) && answers_to(s.client, 1) == 1);
}

TEST(a_send_of_which_not_one_byte_left_us_is_none)
{
    struct scene s = remote_scene_of(SETTINGS(.reconnect.min_ms = 0), HTTP());
    client_calls(s.client, 1, "echo");
    for (int times = 0; times < 4; times++) {
        exchange_sends(last_exchange(s.w, CALL));
        exchange_breaks(last_exchange(s.w, CALL), HF_SENT_NOTHING);
        CHECK_EQ(answers_to(s.client, 1), 0);
    }
    exchange_fails(last_exchange(s.w, CALL), 421); /* the first time that it is turned away */
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 250);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

TEST(a_whole_call_without_an_answer_is_told_so_at_once_and_the_next_one_works)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    exchange_breaks(call_one(&s), HF_SENT_WHOLE);
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "dispatched", "true"));
    CHECK(data_is(s.client, 1, "evidence", "\"dispatched\""));
    CHECK(data_is(s.client, 1, "reason", "\"connection reset\""));
    CHECK(!error_says(s.client, 1, "connection")); /* some clients send again at that word */
    client_calls(s.client, 2, "echo");
    CHECK_EQ(last_exchange(s.w, CALL)->child->generation, 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 2) && sent(s.w, CALL) == 2);
}

TEST(an_answer_that_breaks_off_in_its_middle_is_no_answer)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    struct exchange *x = call_one(&s);
    exchange_head(x, 200, false);
    exchange_breaks(x, HF_SENT_WHOLE);
    CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
    CHECK_EQ(status_of(s.server).generation, 2); /* and what broke off once is not trusted */
}

TEST(an_exchange_that_ends_well_without_an_answer_loses_the_call_and_not_the_server)
{
    static const int statuses[] = { 200, 202, 204, 500, 501, 505, 599 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char reason[40];
        struct scene s = remote_scene();
        exchange_fails(call_one(&s), statuses[i]);
        (void)snprintf(reason, sizeof reason, "\"HTTP %d", statuses[i]);
        CHECK(error_of(s.client, 1) == -31002 && span_has(data_of(s.client, 1, "reason"), reason));
        CHECK(!error_says(s.client, 1, "was lost"));
        CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 1);
        CHECK(sent(s.w, CALL) == 1 && sent(s.w, "initialize") == 1);
        world_end(s.w);
    }
}

TEST(a_balancer_that_has_nobody_behind_it_loses_what_is_in_flight_and_later_calls_wait)
{
    for (int status = 502; status <= 504; status++) {
        struct scene s = remote_scene();
        confirms_losses(&s);
        struct exchange *x = call_one(&s);
        manners_of(s.w, s.server)->http.hello_status = status;
        exchange_fails(x, status);
        CHECK(error_of(s.client, 1) == -31002 && sent(s.w, CALL) == 1);
        CHECK(IS(s.server, RECONNECTING) && notes_with(s.w, "LOST") > 0);
        client_calls(s.client, 2, "echo");
        CHECK_EQ(answers_to(s.client, 2), 0);
        manners_of(s.w, s.server)->http.hello_status = 0;
        advance(s.w, 2000);
        CHECK(IS(s.server, CONNECTED));
        exchange_answers(last_exchange(s.w, CALL), RESULT);
        CHECK(has_result(s.client, 2) && sent(s.w, CALL) == 2);
        world_end(s.w);
    }
}

TEST(a_reading_request_is_repeated_once_although_it_was_dispatched)
{
    struct scene s = remote_scene();
    client_requests(s.client, 1, "resources/read", "{\"uri\":\"a:b\"}");
    exchange_breaks(last_exchange(s.w, "resources/read"), HF_SENT_WHOLE);
    CHECK(sent(s.w, "resources/read") == 2 && answers_to(s.client, 1) == 0);
    exchange_breaks(last_exchange(s.w, "resources/read"), HF_SENT_WHOLE);
    CHECK(error_of(s.client, 1) == -31002 && sent(s.w, "resources/read") == 2);
}

/* ---- turned away ---- */

TEST(without_a_session_a_4xx_is_rejected_as_the_table_says)
{
    for (int status = 400; status < 500; status++) {
        struct scene s = remote_scene_of(SETTINGS(), HTTP(.no_session = true, .ping_status = 401));
        if (status == 421 || status == 425) {
            world_end(s.w);
            continue;
        }
        const bool early = status == 401 || status == 405 || status == 413 || status == 415;
        exchange_fails(call_one(&s), status);
        CHECK_EQ(error_of(s.client, 1), -31009);
        CHECK(data_is(s.client, 1, "dispatched", early ? "false" : "true"));
        CHECK(data_is(s.client, 1, "retry", early ? "\"no\"" : "\"check_first\""));
        CHECK(data_is(s.client, 1, "evidence", early ? "\"refused\"" : "\"dispatched\""));
        CHECK_EQ(status == 401, error_says(s.client, 1, "credentials"));
        CHECK(sent(s.w, CALL) == 1 && sent(s.w, "ping") == (status == 401));
        CHECK(IS(s.server, CONNECTED));
        CHECK_EQ(status == 401, span_has(data_of(s.client, 1, "reason"), "auth required"));
        world_end(s.w);
    }
}

TEST(a_redirect_is_not_followed_and_nobody_knows_whether_it_ran)
{
    struct scene s = remote_scene();
    exchange_fails(call_one(&s), 307);
    CHECK(error_of(s.client, 1) == -31009 && data_is(s.client, 1, "dispatched", "true"));
    CHECK(IS(s.server, CONNECTED) && sent(s.w, CALL) == 1);
}

TEST(what_was_misdirected_or_too_early_is_sent_again_up_to_three_times)
{
    for (int status = 421; status <= 425; status += 4) {
        struct scene s = remote_scene();
        exchange_fails(call_one(&s), status);
        advance(s.w, 249);
        CHECK_EQ(exchanges(s.w, CALL), 1);
        advance(s.w, 1);
        CHECK(sent(s.w, CALL) == 2 && answers_to(s.client, 1) == 0);
        exchange_fails(last_exchange(s.w, CALL), status);
        advance(s.w, 499);
        CHECK_EQ(exchanges(s.w, CALL), 2);
        advance(s.w, 1);
        CHECK(sent(s.w, CALL) == 3 && answers_to(s.client, 1) == 0);
        exchange_fails(last_exchange(s.w, CALL), status);
        CHECK(error_of(s.client, 1) == -31001 && sent(s.w, CALL) == 3);
        CHECK(data_is(s.client, 1, "reason", "\"refused_again\""));
        CHECK(data_is(s.client, 1, "retry", "\"no\""));
        CHECK(data_is(s.client, 1, "evidence", "\"refused\"") && sent(s.w, "ping") == 0);
        world_end(s.w);
    }
}

TEST(a_status_that_the_operator_vouches_for_is_sent_again)
{
    struct scene s = remote_scene_of(with_status(429, 503), HTTP());
    confirms_losses(&s);
    exchange_fails(call_one(&s), 429);
    advance(s.w, 250);
    CHECK(sent(s.w, CALL) == 2 && sent(s.w, "ping") == 0 && status_of(s.server).generation == 1);
    exchange_fails(last_exchange(s.w, CALL), 503); /* also says that the server is not there */
    CHECK_EQ(status_of(s.server).generation, 2);
    advance(s.w, 500);
    CHECK_EQ(sent(s.w, CALL), 3);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

/* ---- the others, when one is lost ---- */

TEST(a_lost_runtime_drains_and_the_other_exchanges_still_deliver_their_answers)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    for (int id = 1; id <= 4; id++)
        client_calls(s.client, id, "echo");
    exchange_breaks(nth_exchange(s.w, CALL, 1), HF_SENT_WHOLE);
    CHECK(error_of(s.client, 2) == -31002 && status_of(s.server).generation == 2);
    advance(s.w, 300000); /* however long they take */
    CHECK(answers_to(s.client, 1) == 0 && answers_to(s.client, 3) == 0);
    exchange_answers(nth_exchange(s.w, CALL, 0), RESULT);
    CHECK(has_result(s.client, 1));
    exchange_breaks(nth_exchange(s.w, CALL, 2), HF_SENT_WHOLE);
    CHECK_EQ(error_of(s.client, 3), -31002);
    CHECK(data_is(s.client, 3, "reason", "\"connection reset\""));
    CHECK_EQ(status_of(s.server).generation, 2); /* what befalls an old one moves nothing */
    CHECK_EQ(exchanges(s.w, "DELETE"), 0);
    exchange_answers(nth_exchange(s.w, CALL, 3), RESULT);
    CHECK(has_result(s.client, 4));
    CHECK(sent(s.w, "DELETE") == 1 && !s.first->runtime); /* empty: closed politely */
    CHECK(sent(s.w, CALL) == 4 && status_of(s.server).attempts == 2);
}

TEST(what_befalls_the_exchanges_of_a_lost_runtime_is_nothing_to_the_next_one)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    for (int id = 1; id <= 3; id++)
        client_calls(s.client, id, "echo");
    exchange_breaks(nth_exchange(s.w, CALL, 0), HF_SENT_WHOLE);
    CHECK_STR(status_of(s.server).last_reason, "HTTP 502");
    exchange_fails_for(nth_exchange(s.w, CALL, 1), 503, 30000); /* its wish for patience too */
    CHECK_STR(status_of(s.server).last_reason, "HTTP 502");
    http_of(&s)->ping_status = 504;
    client_calls(s.client, 4, "echo");
    exchange_fails(last_exchange(s.w, CALL), 502);
    CHECK_STR(status_of(s.server).last_reason, "HTTP 504");
    advance(s.w, 1000);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 3);
}

TEST(a_call_that_was_being_connected_when_its_runtime_was_lost_goes_to_the_next)
{
    struct scene s = scene_with_calls(1);
    manners_of(s.w, s.server)->http.holds_calls = true;
    client_calls(s.client, 2, "echo");
    manners_of(s.w, s.server)->http.holds_calls = false;
    exchange_breaks(nth_exchange(s.w, CALL, 0), HF_SENT_WHOLE);
    exchange_breaks(nth_exchange(s.w, CALL, 1), HF_SENT_NOTHING);
    CHECK(exchanges(s.w, CALL) == 3 && last_exchange(s.w, CALL)->child->generation == 2);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 2) && status_of(s.server).generation == 2);
}

TEST(disable_gives_a_lost_runtimes_calls_drain_ms_and_then_cuts_them)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    exchange_breaks(nth_exchange(s.w, CALL, 0), HF_SENT_WHOLE);
    advance(s.w, 9000); /* most of the time it would have had if nobody had looked */
    operate(s.w, s.server, HF_OP_DISABLE);
    CHECK(IS(s.server, DISABLING) && answers_to(s.client, 2) == 0);
    advance(s.w, 9999);
    CHECK(answers_to(s.client, 2) == 0 && IS(s.server, DISABLING));
    advance(s.w, 2);
    CHECK(error_of(s.client, 2) == -31002 && nth_exchange(s.w, CALL, 1)->is_aborted);
    CHECK(IS(s.server, DISABLED) && sent(s.w, CALL) == 2);
}

TEST(a_server_given_up_on_still_delivers_what_its_lost_runtime_answers)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    manners_of(s.w, s.server)->http.hello_status = 401;
    exchange_breaks(nth_exchange(s.w, CALL, 0), HF_SENT_WHOLE);
    CHECK(IS(s.server, PERMANENTLY_FAILED));
    advance(s.w, 30000);
    exchange_answers(nth_exchange(s.w, CALL, 1), RESULT);
    CHECK(has_result(s.client, 2));
}

/* ---- cancelled, timed out ---- */

TEST(a_call_cancelled_before_it_was_sent_is_aborted_and_its_server_never_hears_of_it)
{
    struct scene s = remote_scene_of(SETTINGS(), HTTP(.holds_calls = 1));
    struct exchange *x = call_one(&s);
    client_cancels(s.client, 1);
    CHECK(x->is_aborted && !x->is_sending);
    CHECK(exchanges(s.w, "notifications/cancelled") == 0 && answers_to(s.client, 1) == 0);
    CHECK(status_of(s.server).in_flight == 0 && IS(s.server, CONNECTED));
}

TEST(a_call_cancelled_after_it_was_sent_is_cancelled_at_its_server_and_its_exchange_ended)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    client_cancels(s.client, 1);
    CHECK(x->is_aborted && sent(s.w, "notifications/cancelled") == 1);
    const struct exchange *news = last_exchange(s.w, "notifications/cancelled");
    const struct hf_msg *msg = &news->body.items[0].msg;
    CHECK_STR(news->session_id, "session-1");
    CHECK(hf_span_eq(hf_json_get(msg->params, HF_SPAN("requestId")), x->body.items[0].msg.id));
    CHECK(answers_to(s.client, 1) == 0 && IS(s.server, CONNECTED));
}

TEST(a_call_that_runs_out_of_time_is_cancelled_and_its_exchange_ended)
{
    struct scene s = remote_scene_of(SETTINGS(.call_timeout_ms = 3000), HTTP());
    struct exchange *x = call_one(&s);
    advance(s.w, 3000);
    CHECK(error_of(s.client, 1) == -31002 && data_is(s.client, 1, "reason", "\"timeout\""));
    CHECK(x->is_aborted && sent(s.w, "notifications/cancelled") == 1 && sent(s.w, "ping") == 1);
    CHECK(IS(s.server, CONNECTED));
}

TEST(a_client_that_leaves_cancels_what_it_had_sent_and_drops_the_rest)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    manners_of(s.w, s.server)->http.holds_calls = true;
    client_calls(s.client, 2, "echo");
    client_leaves(s.client);
    CHECK(x->is_aborted && last_exchange(s.w, CALL)->is_aborted && sent(s.w, CALL) == 1);
    CHECK(sent(s.w, "notifications/cancelled") == 1 && IS(s.server, CONNECTED));
}

TEST(max_in_flight_holds_for_exchanges_too)
{
    struct scene s = remote_scene_of(SETTINGS(.max_in_flight = 2), HTTP());
    for (int id = 1; id <= 4; id++)
        client_calls(s.client, id, "echo");
    CHECK_EQ(sent(s.w, CALL), 2);
    exchange_answers(nth_exchange(s.w, CALL, 0), RESULT);
    CHECK(sent(s.w, CALL) == 3 && has_result(s.client, 1));
    client_cancels(s.client, 2);
    CHECK_EQ(sent(s.w, CALL), 4);
}

/* ---- answers that are too large to pass on ---- */

static void says_too_much(struct exchange *x, const char *begins_with)
{
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    hf_json_skim_feed(&skim, hf_span_of(begins_with));
    hf_remote_exchange_message_oversized(x->post, &skim, at(x->world->now_ms));
    settle(x->world);
}

TEST(an_answer_that_is_too_large_is_told_as_such_and_its_call_ran)
{
    struct scene s = remote_scene();
    struct exchange *x = call_one(&s);
    char start[100];
    (void)snprintf(start, sizeof start, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"x\":\"",
                   HF_FMT(x->body.items[0].msg.id));
    exchange_head(x, 200, false);
    says_too_much(x, start);
    CHECK(error_of(s.client, 1) == -31006 && data_is(s.client, 1, "dispatched", "true"));
    exchange_ends(x);
    CHECK(answers_to(s.client, 1) == 1 && IS(s.server, CONNECTED) && sent(s.w, CALL) == 1);
}

TEST(too_much_of_something_else_says_nothing_of_the_call)
{
    struct scene s = remote_scene();
    confirms_losses(&s);
    struct exchange *x = call_one(&s);
    exchange_head(x, 200, true);
    says_too_much(x,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"d\":\"");
    CHECK_EQ(answers_to(s.client, 1), 0);
    exchange_says_answer(x, RESULT);
    CHECK(has_result(s.client, 1));
    x = call_one(&s);
    exchange_head(x, 503, false); /* a very long page that explains an error */
    says_too_much(x, "<html>");
    exchange_ends(x);
    CHECK(error_of(s.client, 1) == -31002 && status_of(s.server).generation == 2);
}

/* ---- deadlines (P10) ---- */

/* A server whose attempts failed at 0, 1 s and 3 s; the next is at 7 s. It is 3 s. */
static struct scene scene_between_attempts(uint32_t wait_ms)
{
    struct scene s = { .w = world_new() };
    s.server = add_remote(s.w, "s", SETTINGS(.wait_ms = wait_ms));
    manners_of(s.w, s.server)->http.is_down = true;
    settle(s.w);
    advance(s.w, 3000);
    s.client = open_client(s.w, s.server);
    return s;
}

TEST(a_call_that_the_next_attempt_can_serve_waits_for_it)
{
    struct scene s = scene_between_attempts(4500);
    const size_t before = exchanges(s.w, "initialize");
    client_calls(s.client, 1, "echo");
    CHECK_EQ(exchanges(s.w, "initialize"), before + 1); /* one extra attempt, now */
    CHECK(answers_to(s.client, 1) == 0 && status_of(s.server).waiting == 1);
    manners_of(s.w, s.server)->http.is_down = false;
    advance(s.w, 3999);
    CHECK(answers_to(s.client, 1) == 0 && sent(s.w, CALL) == 0);
    advance(s.w, 1);
    exchange_answers(last_exchange(s.w, CALL), RESULT);
    CHECK(has_result(s.client, 1));
}

TEST(a_call_that_no_attempt_can_serve_is_told_so_at_once)
{
    struct scene s = scene_between_attempts(3999);
    client_calls(s.client, 1, "echo");
    CHECK(error_of(s.client, 1) == -31001 && data_is(s.client, 1, "retryAfterMs", "4000"));
    CHECK(data_is(s.client, 1, "evidence", "\"unsent\"") && sent(s.w, CALL) == 0);
}
