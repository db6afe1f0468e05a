/*
 * test_engine_death.c - what becomes of calls when their server dies, and that the dead stay dead:
 * evidence, answers that came with the death, events of old generations.
 */
#include "engine_fixture.h"

/* @field A7: a restart between calls is invisible: respawn, handshake, then the call */
/* @field A17: mirrored: restart between calls */
/* @field Z7: the absence of a wait before the first reconnect */
/* @field Y1: the absence of a death that only failing calls can discover */
TEST(killed_while_idle_the_next_attempt_starts_at_once_with_no_timer_armed_for_it)
{
    struct scene s = scene();
    child_dies(s.first);
    CHECK_EQ(spawns_of(s.w, s.server), 2);
    CHECK_EQ(s.w->now_ms, T0); /* no time has passed */
    CHECK(IS(s.server, CONNECTED));
    CHECK_EQ(status_of(s.server).next_attempt_ms, -1);
    client_calls(s.client, 1, "echo");
    struct child *second = newest_child(s.w, s.server);
    CHECK_EQ(child_got(second, "initialize"), 1);
    CHECK_EQ(child_got(second, "notifications/initialized"), 1);
    child_answers(second, "tools/call", "{\"content\":[]}");
    CHECK(has_result(s.client, 1));
}

/* @field A2: dispatched, then lost: never sent again, and the caller learns it */
/* @field A4: the tool ran, the server died before it answered: one run, one error */
/* @field A13: a typed error, never a raw pipe error | DESIGN 7: -31002 with data for machines */
/* @field X1: the absence of a re-send after a death in mid-call */
TEST(a_call_that_was_read_is_sent_once_and_answered_outcome_unknown_at_once)
{
    struct scene s = called_scene();
    REQUIRE_EQ(child_got(s.first, "tools/call"), 1);
    child_dies(s.first);
    CHECK_EQ(notes_with(s.w, "CALL_LOST dispatched"), 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(data_is(s.client, 1, "dispatched", "true"));
    CHECK(data_is(s.client, 1, "retrySafe", "false"));
    CHECK(data_is(s.client, 1, "retry", "\"check_first\""));
    CHECK(data_is(s.client, 1, "evidence", "\"dispatched\""));
    CHECK(data_is(s.client, 1, "generation", "1"));
    CHECK(data_is(s.client, 1, "server", "\"s\""));
    CHECK(data_is(s.client, 1, "reason", "\"killed by signal 9\""));
    CHECK_EQ(answer_to(s.client, 1)->at_ms, T0);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 0);
    client_calls(s.client, 2, "echo");
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
}

/* @field Y4: the absence of a call that fails although it was provably never read */
/* @field A1: an unread call is re-sent by itself */
TEST(calls_that_were_never_read_run_once_on_the_next_generation_in_their_order)
{
    struct scene s = scene();
    s.first->manners.reads_nothing = true;
    for (int id = 1; id <= 4; id++)
        client_calls(s.client, id, "echo");
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && child_got(second, "tools/call") == 4);
    CHECK_EQ(child_got(s.first, "tools/call"), 0);
    size_t line = second->got.count - 4;
    for (int id = 1; id <= 4; id++) {
        child_answers_line(second, line++, "{\"content\":[]}");
        CHECK(has_result(s.client, id));
    }
    CHECK_EQ(status_of(s.server).resends, 4);
}

/* Read up to every single byte of the line, then killed: sent again only while the closing brace
 * was still in the pipe. */
TEST(killed_after_reading_up_to_each_byte_a_call_is_run_at_most_once)
{
    for (size_t read = 0;; read++) {
        struct scene s = scene();
        s.first->manners.reads_nothing = true;
        client_calls(s.client, 1, "echo");
        const size_t length = hf_buf_len(&s.first->pipe);
        REQUIRE(length > 10);
        child_reads(s.first, read);
        child_dies(s.first);
        const struct child *second = newest_child(s.w, s.server);
        const bool brace_was_read = read >= length - 1;
        CHECK_EQ(child_got(second, "tools/call"), brace_was_read ? 0 : 1);
        CHECK_EQ(error_of(s.client, 1), brace_was_read ? -31002 : 0);
        world_end(s.w);
        if (read == length)
            break;
    }
}

/* The server ran the call and then wrote `n` bytes into its own stdin. */
static void check_written_into_its_own_stdin(size_t n)
{
    struct scene s = called_scene();
    REQUIRE_EQ(child_got(s.first, "tools/call"), 1);
    REQUIRE_EQ(hf_buf_len(&s.first->pipe), 0);
    for (size_t i = 0; i < n; i++)
        hf_buf_add_char(&s.first->pipe, i + 1 < n ? 'x' : '\n');
    child_dies(s.first);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(data_is(s.client, 1, "evidence", "\"dispatched\""));
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 0);
    CHECK_EQ(notes_with(s.w, "FOREIGN_STDIN"), n > 1); /* one newline is what we wrote, too */
    world_end(s.w);
}

TEST(a_call_whose_server_wrote_into_its_own_stdin_is_not_sent_again)
{
    for (size_t n = 1; n < 300; n++)
        check_written_into_its_own_stdin(n);
    check_written_into_its_own_stdin(5000); /* more than was ever written */
    check_written_into_its_own_stdin(100000);
}

TEST(one_foreign_byte_in_a_pipe_and_no_call_in_it_counts_as_unread)
{
    struct scene s = scene();
    s.first->manners.reads_nothing = true;
    for (int id = 1; id <= 3; id++)
        client_calls(s.client, id, "echo");
    hf_buf_add_char(&s.first->pipe, 'x');
    child_dies(s.first);
    for (int id = 1; id <= 3; id++)
        CHECK_EQ(error_of(s.client, id), -31002);
}

TEST(of_a_pipe_with_foreign_bytes_what_never_entered_it_goes_again)
{
    struct scene s = scene();
    child_stalls(s.first, 30);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    hf_buf_add_char(&s.first->pipe, 'x');
    child_dies(s.first);
    CHECK_EQ(notes_with(s.w, "RESEND partial"), 1);
    CHECK_EQ(notes_with(s.w, "RESEND unsent"), 1);
}

TEST(a_line_that_did_not_fit_into_the_pipe_is_partial_and_goes_again)
{
    struct scene s = scene();
    child_stalls(s.first, 30);
    client_calls(s.client, 1, "echo");
    CHECK_EQ(hf_buf_len(&s.first->pipe), 30);
    child_reads(s.first, 30); /* it even read what there was */
    child_dies(s.first);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 1);
    CHECK_EQ(notes_with(s.w, "RESEND partial"), 1);
}

TEST(a_call_queued_behind_a_full_pipe_is_unsent_and_goes_again)
{
    struct scene s = scene();
    child_stalls(s.first, 30);
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    child_dies(s.first);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 2);
    CHECK_EQ(notes_with(s.w, "RESEND unsent"), 1);
}

/* Call 1 killed the first process that read of it; the second has been greeted. */
static struct child *second_reader(const struct scene *s)
{
    s->first->manners.reads_nothing = true;
    client_calls(s->client, 1, "echo");
    child_reads(s->first, 10);
    s->w->by_hand = true;
    child_dies(s->first);
    struct child *second = newest_child(s->w, s->server);
    child_start(second);
    child_reads(second, SIZE_MAX);
    child_answers(second, "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    return second;
}

/* @field A12: at most a stated number of sends | DESIGN 4: two, once a byte was taken */
TEST(a_call_that_kills_its_reader_twice_is_not_sent_a_third_time)
{
    struct scene s = scene();
    struct child *second = second_reader(&s);
    child_reads(second, strlen("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"));
    child_reads(second, 5);
    s.w->by_hand = false;
    child_dies(second);
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "reason", "\"server_dies_on_it\""));
    CHECK(data_is(s.client, 1, "dispatched", "false"));
    CHECK(data_is(s.client, 1, "retry", "\"no\""));
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 0);
}

TEST(a_call_that_killed_one_reader_is_not_sent_a_third_time_because_the_second_read_nothing_of_it)
{
    struct scene s = scene();
    struct child *second = second_reader(&s);
    REQUIRE(span_has(hf_buf_span(&second->pipe), "tools/call"));
    s.w->by_hand = false;
    child_dies(second);
    CHECK_EQ(error_of(s.client, 1), -31001);
    CHECK(data_is(s.client, 1, "reason", "\"server_dies_on_it\""));
    CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), 0);
}

/* @field B15: prompts, resources and completions take the same way as tools */
/* @field Z8: the absence of prompt calls that get no recovery */
TEST(reads_are_sent_again_although_they_were_dispatched_but_only_once)
{
    struct scene s =
        lone_server(SETTINGS(), MANNERS(.prompts = "[{\"name\":\"p\"}]",
                                        .resources = "[{\"uri\":\"a:b\",\"name\":\"r\"}]"));
    s.client = greeted_client(s.w, s.server);
    client_requests(s.client, 1, "prompts/get", "{\"name\":\"p\"}");
    client_requests(s.client, 2, "resources/read", "{\"uri\":\"a:b\"}");
    client_requests(s.client, 3, "completion/complete",
                    "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}}");
    child_dies(newest_child(s.w, s.server));
    struct child *second = newest_child(s.w, s.server);
    CHECK_EQ(child_got(second, "prompts/get"), 1);
    CHECK_EQ(child_got(second, "resources/read"), 1);
    CHECK_EQ(child_got(second, "completion/complete"), 1);
    child_answers(second, "prompts/get", "{\"messages\":[]}");
    CHECK(has_result(s.client, 1));
    child_dies(second);
    CHECK_EQ(error_of(s.client, 2), -31002); /* read by two generations */
    CHECK_EQ(error_of(s.client, 3), -31002);
}

/* @field A6: a tool is idempotent only if its server says so and the operator trusts that */
TEST(a_tool_is_repeated_only_where_retry_is_idempotent_and_the_tool_is_annotated)
{
    for (int trusted = 0; trusted <= 1; trusted++) {
        struct scene s = lone_server(
            SETTINGS(.retry = trusted ? HF_RETRY_IDEMPOTENT : HF_RETRY_NEVER),
            MANNERS(.tools = "[{\"name\":\"safe\",\"annotations\":{\"idempotentHint\":true}},{"
                             "\"name\":\"look\","
                             "\"annotations\":{\"readOnlyHint\":true}},{\"name\":\"pay\"}]"));
        s.client = greeted_client(s.w, s.server);
        client_calls(s.client, 1, "safe");
        client_calls(s.client, 2, "look");
        client_calls(s.client, 3, "pay");
        child_dies(newest_child(s.w, s.server));
        CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), trusted ? 2 : 0);
        CHECK_EQ(error_of(s.client, 1), trusted ? 0 : -31002);
        CHECK_EQ(error_of(s.client, 2), trusted ? 0 : -31002);
        CHECK_EQ(error_of(s.client, 3), -31002);
        world_end(s.w);
    }
}

TEST(through_an_aggregate_too_an_annotation_alone_repeats_nothing)
{
    for (int trusted = 0; trusted <= 1; trusted++) {
        struct scene s = lone_server(
            SETTINGS(.retry = trusted ? HF_RETRY_IDEMPOTENT : HF_RETRY_NEVER),
            MANNERS(.tools = "[{\"name\":\"safe\",\"annotations\":{\"idempotentHint\":true}}]"));
        s.client = greeted_client(s.w, NULL);
        client_calls(s.client, 1, "s__safe");
        child_dies(newest_child(s.w, s.server));
        CHECK_EQ(child_got(newest_child(s.w, s.server), "tools/call"), (size_t)trusted);
        CHECK_EQ(error_of(s.client, 1), trusted ? 0 : -31002);
        world_end(s.w);
    }
}

/* ---- answer and death together ---- */

/* @field X2: the absence of a received answer that is thrown away because the death came with it */
TEST(an_answer_read_after_the_exit_beats_the_death)
{
    struct scene s = called_scene();
    s.w->by_hand = true;
    child_exits(s.first, KILLED);
    CHECK_EQ(answers_to(s.client, 1), 0); /* its last words are still to be read */
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    CHECK(has_result(s.client, 1));
    child_falls_silent(s.first);
    CHECK_EQ(answers_to(s.client, 1), 1);
    s.w->by_hand = false;
}

TEST(an_answer_read_after_the_kill_of_a_draining_server_still_counts)
{
    struct scene s = called_scene();
    s.first->manners.survives_kill = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 10000);
    CHECK(s.first->got_kill);
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    CHECK(has_result(s.client, 1));
}

TEST(what_a_killed_server_said_last_is_read_although_its_tree_is_gone_already)
{
    struct scene s = called_scene();
    s.w->by_hand = true;
    operate(s.w, s.server, HF_OP_DISABLE);
    advance(s.w, 10000); /* drainMs */
    REQUIRE(s.first->got_kill);
    child_exits(s.first, KILLED);
    child_tree_is_gone(s.first);
    REQUIRE(s.first->runtime && IS(s.server, DISABLING));
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    CHECK(has_result(s.client, 1));
    child_falls_silent(s.first);
    CHECK(!s.first->runtime && IS(s.server, DISABLED));
}

/* A descendant holds the pipe: EOF never comes. */
TEST(when_a_descendant_holds_its_stdout_the_death_is_judged_after_eof_ms)
{
    struct scene s = called_scene();
    s.w->by_hand = true;
    child_exits(s.first, KILLED);
    advance(s.w, 999);
    CHECK_EQ(answers_to(s.client, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(s.first->got_kill); /* and what it left behind is killed */
    s.w->by_hand = false;
}

TEST(a_server_that_closed_its_stdout_and_lives_on_is_lost)
{
    struct scene s = called_scene();
    s.first->manners.keeps_on_eof = s.first->manners.deaf_to_term = true;
    child_falls_silent(s.first);
    advance(s.w, 1000);
    CHECK_EQ(error_of(s.client, 1), -31002);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
    advance(s.w, 4000); /* closeMs, termMs */
    CHECK(s.first->got_close && s.first->got_term && s.first->got_kill);
}

/* ---- old generations ---- */

/* @field B4: results of an old generation move nothing */
/* @field A8: an old connection can never answer for a new one */
/* @field A15: the end of an old connection does nothing to the current one */
/* @field Z3: the absence of a late failure that closes the brand-new connection */
/* @field D6: one watcher for each connection: the old one's end is never taken for the new one's */
TEST(a_late_exit_answer_and_end_of_the_old_generation_never_touch_the_new_one)
{
    struct scene s = called_scene();
    s.first->manners.survives_kill = s.first->manners.keeps_on_eof = true;
    s.first->manners.deaf_to_term = true;
    child_falls_silent(s.first);
    advance(s.w, 1000);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && IS(s.server, CONNECTED));
    client_calls(s.client, 2, "echo");
    const uint64_t drops = status_of(s.server).stale_drops;
    /* the old one answers the new one's call, changes its lists, logs */
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[9]}}",
               HF_FMT(child_last_id(second, "tools/call")));
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_EQ(answers_to(s.client, 2), 0);
    CHECK_EQ(child_got(second, "tools/list"), 1);
    CHECK_EQ(status_of(s.server).stale_drops, drops + 2);
    const uint32_t k = status_of(s.server).failures_k;
    child_exits(s.first, KILLED);
    child_tree_is_gone(s.first);
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    CHECK_EQ(status_of(s.server).failures_k, k);
    CHECK_EQ(answers_to(s.client, 2), 0);
    child_answers(second, "tools/call", "{\"content\":[]}");
    CHECK(has_result(s.client, 2));
    CHECK_EQ(spawns_of(s.w, s.server), 2);
}

/* @field B4: generations count from 1 and are never used again */
TEST(every_attempt_has_a_generation_of_its_own)
{
    struct scene s = scene();
    CHECK_EQ(s.first->generation, 1);
    take_away(&s);
    CHECK_EQ(newest_child(s.w, s.server)->generation, 2);
    manners_of(s.w, s.server)->no_exec = false;
    advance(s.w, 1000);
    CHECK_EQ(newest_child(s.w, s.server)->generation, 3);
    CHECK_EQ(status_of(s.server).generation, 3);
}

/* @field A12: a caller's cancel is no death of the server: nothing is restarted */
/* @field B14: neither cancels nor JSON-RPC errors count against a server */
/* @field Z2: the absence of errors taken for transport losses because of their words */
TEST(neither_an_error_nor_a_cancel_is_a_failure_of_the_server)
{
    struct scene s = called_scene();
    child_answers_error(s.first, "tools/call", -32000, "EOF: connection refused, broken pipe");
    CHECK_EQ(error_of(s.client, 1), -32000);
    CHECK(error_says(s.client, 1, "EOF: connection refused, broken pipe"));
    client_calls(s.client, 2, "echo");
    client_cancels(s.client, 2);
    CHECK_EQ(answers_to(s.client, 2), 0);
    const struct hf_server_status status = status_of(s.server);
    CHECK(status.state == HF_SLOT_CONNECTED && status.generation == 1);
    CHECK(status.failures_k == 0 && status.streak == 0);
}

/* @field A13: errors of a server pass with code, message and data unchanged */
TEST(a_servers_own_error_and_result_pass_byte_for_byte_except_for_the_id)
{
    struct scene s = scene();
    client_says(s.client, "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0041\",\"method\":\"tools/call\","
                          "\"params\":{\"name\":\"echo\"}}");
    child_says(s.first,
               "{\"result\" : {\"n\":1.0e+2, \"deep\":[ ]}, \"jsonrpc\":\"2.0\" , \"id\": %.*s }",
               HF_FMT(child_last_id(s.first, "tools/call")));
    CHECK_STR(s.client->got.items[s.client->got.count - 1].text,
              "{\"result\" : {\"n\":1.0e+2, \"deep\":[ ]}, \"jsonrpc\":\"2.0\" , \"id\": "
              "\"x\\u0041\" }");
}

/* @field B22: one bad server costs the others nothing */
/* @field A16: a dead server is skipped, the others stay usable */
TEST(a_death_touches_only_the_calls_of_its_own_server)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_calls(c, 1, "a__echo");
    client_calls(c, 2, "b__echo");
    child_dies(newest_child(w, a));
    CHECK_EQ(error_of(c, 1), -31002);
    CHECK(answers_to(c, 2) == 0 && IS(b, CONNECTED) && spawns_of(w, b) == 1);
    child_answers(newest_child(w, b), "tools/call", "{\"content\":[]}");
    CHECK(has_result(c, 2));
}

/* @field Y15: the absence of a call that is filed just after its runtime's calls were settled */
TEST(a_call_that_comes_between_eof_and_exit_waits_and_is_served_by_the_next)
{
    struct scene s = scene();
    s.w->by_hand = true;
    child_falls_silent(s.first);
    client_calls(s.client, 1, "echo");
    CHECK(answers_to(s.client, 1) == 0 && hf_buf_len(&s.first->pipe) == 0);
    s.w->by_hand = false;
    child_dies(s.first);
    child_answers(newest_child(s.w, s.server), "tools/call", "{\"content\":[]}");
    CHECK(has_result(s.client, 1));
}

/* A streaming decoder needs no newline: it may answer while the newline is still ours. */
TEST(an_answer_given_before_the_newline_was_written_is_an_answer)
{
    struct scene s = scene();
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 1, "echo");
    const size_t length = hf_buf_len(&s.first->pipe);
    world_end(s.w);
    for (size_t missing = 1; missing <= 2; missing++) { /* the newline; the brace as well */
        s = scene();
        child_stalls(s.first, length - missing);
        client_calls(s.client, 1, "echo");
        char text[400];
        (void)snprintf(text, sizeof text, "%.*s%s", HF_FMT(hf_buf_span(&s.first->pipe)),
                       missing == 2 ? "}" : "");
        struct hf_msg msg;
        struct hf_err err;
        REQUIRE_EQ(hf_msg_parse(hf_span_of(text), 10, &msg, &err), HF_MSG_OK);
        child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}", HF_FMT(msg.id));
        CHECK_EQ(has_result(s.client, 1), missing == 1);
        child_goes_on(s.first);
        CHECK_EQ(child_got(s.first, "tools/call"), 1); /* the line is finished in any case */
        world_end(s.w);
    }
}

TEST(calls_lost_unread_are_older_than_those_that_came_since_and_go_first)
{
    struct scene s = scene();
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 1, "echo");
    client_calls(s.client, 2, "echo");
    s.w->by_hand = true;
    child_falls_silent(s.first); /* its exit is still to come */
    client_calls(s.client, 3, "echo");
    s.w->by_hand = false;
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE_EQ(child_got(second, "tools/call"), 3);
    for (int id = 1; id <= 3; id++) {
        child_answers_line(second, second->got.count - 4 + (size_t)id, "{}");
        CHECK(has_result(s.client, id));
        CHECK_EQ(answers_to(s.client, id + 1), 0);
    }
}

/* The guard tells of the exit before it tells of the end of the tree; EOF comes when it likes. */
TEST(a_runtime_is_gone_once_exit_eof_and_the_end_of_its_tree_are_known_whenever_eof_comes)
{
    static const char *const orders[] = { "xet", "xte", "ext" };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct scene s = called_scene();
        s.w->by_hand = true;
        for (const char *c = orders[i]; *c; c++) {
            CHECK(s.first->runtime != NULL);
            if (*c == 'x')
                child_exits(s.first, KILLED);
            else if (*c == 'e')
                child_falls_silent(s.first);
            else
                child_tree_is_gone(s.first);
        }
        CHECK_EQ(error_of(s.client, 1), -31002);
        if (s.first->runtime)
            printf("# %s\n", orders[i]);
        CHECK(s.first->runtime == NULL && !status_of(s.server).close_failed);
        s.w->by_hand = false;
        settle(s.w);
        CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
        world_end(s.w);
    }
}
