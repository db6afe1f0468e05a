/*
 * test_mutant_finds.c - what `make mutants` found that no other test of the engine would notice.
 *
 * Each was written for a mutant that lived through all of them; its promise stands above it.
 */
#include "engine_fixture.h"

/* ---- P1 ---- */

TEST(an_answer_that_comes_again_is_not_taken_for_that_of_the_next_call)
{
    struct scene s = scene();
    client_calls(s.client, 1, "echo");
    char *first_id = hf_span_dup(child_last_id(s.first, "tools/call"));
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    client_calls(s.client, 2, "echo"); /* it has the place in the table that the first one left */
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[1]}}", first_id);
    CHECK(answers_to(s.client, 2) == 0);
    child_answers(s.first, "tools/call", "{\"content\":[2]}");
    CHECK(has_result(s.client, 2));
    hf_free(first_id);
    world_end(s.w);
}

/* ---- P2 ---- */

TEST(a_call_that_killed_one_reader_is_not_sent_a_third_time_because_the_second_read_nothing_of_it)
{
    struct scene s = scene();
    s.first->manners.reads_nothing = true;
    client_calls(s.client, 1, "echo");
    child_reads(s.first, 10);
    s.w->by_hand = true;
    child_dies(s.first);
    struct child *second = newest_child(s.w, s.server);
    child_start(second);
    child_reads(second, SIZE_MAX);
    child_answers(second, "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    REQUIRE(span_has(hf_buf_span(&second->pipe), "tools/call"));
    s.w->by_hand = false;
    child_dies(second);
    CHECK(error_of(s.client, 1) == -31001);
    CHECK(data_is(s.client, 1, "reason", "\"server_dies_on_it\""));
    CHECK(child_got(newest_child(s.w, s.server), "tools/call") == 0);
    world_end(s.w);
}

TEST(through_an_aggregate_too_an_annotation_alone_repeats_nothing)
{
    for (int trusted = 0; trusted <= 1; trusted++) {
        struct world *w = world_new();
        struct hf_settings settings = default_settings();
        settings.retry = trusted ? HF_RETRY_IDEMPOTENT : HF_RETRY_NEVER;
        struct hf_server *server = add_server(w, "s", settings);
        manners_of(w, server)->tools =
            "[{\"name\":\"safe\",\"annotations\":{\"idempotentHint\":true}}]";
        settle(w);
        struct client *c = greeted_client(w, NULL);
        client_calls(c, 1, "s__safe");
        child_dies(newest_child(w, server));
        CHECK(child_got(newest_child(w, server), "tools/call") == (size_t)trusted);
        CHECK(error_of(c, 1) == (trusted ? 0 : -31002));
        world_end(w);
    }
}

/* ---- P4 ---- */

TEST(what_a_killed_server_said_last_is_read_although_its_tree_is_gone_already)
{
    struct scene s = scene();
    client_calls(s.client, 1, "echo");
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
    world_end(s.w);
}

/* ---- P5 ---- */

TEST(a_generation_that_dies_while_it_drains_does_not_touch_the_one_that_replaced_it)
{
    struct scene s = scene();
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, HF_OP_RESTART);
    struct child *second = newest_child(s.w, s.server);
    REQUIRE(second != s.first && IS(s.server, CONNECTED));
    child_dies(s.first);
    CHECK(error_of(s.client, 1) == -31002); /* its own call is lost, and nothing else */
    CHECK(IS(s.server, CONNECTED) && status_of(s.server).generation == 2);
    CHECK(status_of(s.server).failures_k == 0 && spawns_of(s.w, s.server) == 2);
    client_calls(s.client, 2, "echo");
    CHECK(child_got(second, "tools/call") == 1);
    world_end(s.w);
}

TEST(an_attempt_that_was_given_up_and_cannot_start_after_all_is_not_charged_to_the_next)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", default_settings());
    manners_of(w, server)->never_starts = manners_of(w, server)->survives_kill = true;
    settle(w);
    struct child *first = newest_child(w, server);
    operate(w, server, HF_OP_RESTART);
    struct child *second = newest_child(w, server);
    REQUIRE(second != first && first->got_kill);
    child_fails_to_start(first, "No such file or directory");
    CHECK(IS(server, CONNECTING) && status_of(server).failures_k == 0);
    child_start(second);
    CHECK(IS(server, CONNECTED) && status_of(server).generation == 2);
    world_end(w);
}

TEST(what_an_old_generation_still_answers_does_not_make_the_budget_whole)
{
    struct hf_settings settings = default_settings();
    settings.reconnect.attempts = 2;
    struct scene s = scene_of(settings);
    client_calls(s.client, 1, "echo");
    operate(s.w, s.server, HF_OP_RESTART); /* the call stays with the old one, which drains */
    manners_of(s.w, s.server)->no_exec = true;
    child_dies(newest_child(s.w, s.server)); /* and the first attempt fails at once */
    advance(s.w, 500);
    child_answers(s.first, "tools/call", "{\"content\":[1]}");
    CHECK(has_result(s.client, 1) && IS(s.server, RECONNECTING));
    advance(s.w, 500); /* the second */
    CHECK(IS(s.server, PERMANENTLY_FAILED));
    world_end(s.w);
}

/* ---- P6 ---- */

#define LONG_NAME "a_name_of_seventy_characters_which_is_six_more_than_clients_will_take"

TEST(the_short_form_of_a_long_name_does_not_depend_on_what_else_is_listed)
{
    static const char *const lists[] = {
        "[{\"name\":\"" LONG_NAME "\"}]",
        "[{\"name\":\"a\"},{\"name\":\"" LONG_NAME "\"}]",
    };
    char names[2][100] = { "", "" };
    for (size_t i = 0; i < 2; i++) {
        struct world *w = world_new();
        struct hf_server *server = add_server(w, "s", default_settings());
        manners_of(w, server)->tools = lists[i];
        settle(w);
        struct client *c = greeted_client(w, NULL);
        client_asks(c, 1, "tools/list");
        const char *all = names_in(c, 1, "tools");
        const char *comma = strrchr(all, ',');
        (void)snprintf(names[i], sizeof names[i], "%s", comma ? comma + 1 : all);
        world_end(w);
    }
    CHECK(strlen(names[0]) == 64 && strcmp(names[0], names[1]) == 0);
}

TEST(a_name_of_a_server_that_was_removed_and_came_back_works_for_those_who_knew_it_before)
{
    struct world *w = world_new();
    struct hf_server *before = add_server(w, "s", default_settings());
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    operate(w, before, HF_OP_REMOVE);
    client_calls(c, 2, "s__echo");
    CHECK(error_of(c, 2) == -32602);
    struct hf_server *after = add_server(w, "s", default_settings());
    manners_of(w, after)->answers_calls = true;
    settle(w);
    client_calls(c, 3, "s__echo");
    CHECK(has_result(c, 3));
    world_end(w);
}

/* ---- P8 ---- */

static void check_start_is_bounded(struct manners how)
{
    struct world *w = world_new();
    struct hf_server *server = add_server(w, "s", default_settings());
    how.tools = manners_of(w, server)->tools;
    *manners_of(w, server) = how;
    settle(w);
    const struct child *first = newest_child(w, server);
    advance(w, 119999);
    CHECK(!first->got_kill && IS(server, CONNECTING));
    manners_of(w, server)->never_starts = manners_of(w, server)->stuck_list = false;
    advance(w, 1); /* startTimeoutMs */
    CHECK(first->got_kill && IS(server, RECONNECTING));
    advance(w, 1000);
    CHECK(IS(server, CONNECTED));
    world_end(w);
}

TEST(a_server_that_hangs_in_its_first_list_is_killed_after_start_timeout_and_tried_again)
{
    check_start_is_bounded((struct manners) { .stuck_list = true });
}

TEST(a_process_that_is_neither_started_nor_refused_is_given_up_after_start_timeout)
{
    check_start_is_bounded((struct manners) { .never_starts = true });
}

/* ---- P10 ---- */

TEST(what_a_call_waited_before_it_was_sent_counts_when_it_waits_to_be_sent_again)
{
    struct world *w = world_new();
    struct hf_settings settings = default_settings();
    settings.wait_ms = 8000;
    struct hf_server *server = add_server(w, "s", settings);
    manners_of(w, server)->prompts = "[{\"name\":\"p\"}]";
    settle(w);
    struct client *c = greeted_client(w, server);
    manners_of(w, server)->never_starts = true;
    child_dies(newest_child(w, server));
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":"
                   "\"p\"}}");
    advance(w, 5000);
    struct child *second = newest_child(w, server);
    child_start(second);
    REQUIRE(child_got(second, "prompts/get") == 1);
    child_dies(second); /* it only reads, so it waits for the third */
    advance(w, 2999);
    CHECK(answers_to(c, 1) == 0);
    advance(w, 1);
    CHECK(answers_to(c, 1) == 1 && data_is(c, 1, "reason", "\"wait_over\""));
    world_end(w);
}

TEST(a_call_with_a_long_budget_is_turned_away_at_once_when_the_next_attempt_lies_behind_its_wait)
{
    struct hf_settings settings = default_settings();
    settings.wait_ms = 10000;
    settings.call_timeout_ms = 600000;
    struct scene s = scene_of(settings);
    manners_of(s.w, s.server)->no_exec = true;
    child_dies(s.first);
    advance(s.w, 16000); /* attempts at 0, 1, 3, 7 and 15; the next at 31 */
    client_calls(s.client, 1, "echo");
    REQUIRE(error_of(s.client, 1) == -31001);
    CHECK(data_is(s.client, 1, "retryAfterMs", "15000"));
    CHECK(answer_to(s.client, 1)->at_ms == T0 + 16000);
    world_end(s.w);
}
