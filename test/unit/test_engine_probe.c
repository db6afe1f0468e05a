/* test_engine_probe.c - servers that do not like to be asked which era they speak. */
#include "engine_fixture.h"

static struct hf_server *unknown_server(struct world *w, enum hf_era era)
{
    struct hf_settings settings = default_settings();
    settings.era = era;
    settings.reconnect.first_attempts = 1;
    struct hf_server *server = add_server(w, "s", settings);
    manners_of(w, server)->mute = true;
    settle(w);
    return server;
}

static size_t asked(struct world *w, struct hf_server *server)
{
    return child_got(newest_child(w, server), "server/discover");
}

TEST(a_server_silent_on_the_question_is_greeted_the_older_way_with_no_attempt_charged)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    CHECK(asked(w, server) == 1);
    advance(w, 4999);
    CHECK(child_got(newest_child(w, server), "initialize") == 0);
    advance(w, 1);
    REQUIRE(child_got(newest_child(w, server), "initialize") == 1);
    newest_child(w, server)->manners.mute = false;
    child_answers(newest_child(w, server), "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    settle(w);
    CHECK(IS(server, CONNECTED) && spawns_of(w, server) == 1);
    CHECK(status_of(server).failures_k == 0);
    world_end(w);
}

TEST(a_server_that_exits_on_the_question_is_started_again_without_it_and_no_attempt_charged)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    manners_of(w, server)->mute = false;
    child_dies(newest_child(w, server));
    settle(w);
    CHECK(IS(server, CONNECTED) && spawns_of(w, server) == 2 && asked(w, server) == 0);
    CHECK(status_of(server).failures_k == 0);
    world_end(w);
}

/* Its silence was taken for an answer while it was still starting. */
TEST(one_that_exits_on_the_question_after_we_gave_up_waiting_for_its_answer_is_not_charged_either)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    advance(w, 5000);
    REQUIRE(child_got(newest_child(w, server), "initialize") == 1);
    manners_of(w, server)->mute = false;
    child_dies(newest_child(w, server));
    settle(w);
    CHECK(IS(server, CONNECTED) && spawns_of(w, server) == 2 && asked(w, server) == 0);
    CHECK(status_of(server).failures_k == 0);
    world_end(w);
}

TEST(one_that_has_answered_the_question_and_exits_is_charged)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    child_answers_error(newest_child(w, server), "server/discover", -32601, "no such method");
    settle(w);
    REQUIRE(child_got(newest_child(w, server), "initialize") == 1);
    child_dies(newest_child(w, server));
    settle(w);
    CHECK(IS(server, PERMANENTLY_FAILED) && spawns_of(w, server) == 1);
    world_end(w);
}

TEST(one_that_exits_on_a_question_put_after_it_refused_the_older_greeting_is_charged)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    manners_of(w, server)->no_init = true;
    child_dies(newest_child(w, server)); /* from now on it counts as legacy */
    settle(w);
    child_answers_error(newest_child(w, server), "initialize", -32000, "bad day");
    settle(w);
    REQUIRE(asked(w, server) == 1 && spawns_of(w, server) == 2);
    child_dies(newest_child(w, server));
    settle(w);
    CHECK(IS(server, PERMANENTLY_FAILED) && spawns_of(w, server) == 2);
    world_end(w);
}

TEST(a_server_said_to_be_modern_is_never_taken_for_a_legacy_one)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_MODERN);
    child_dies(newest_child(w, server));
    settle(w);
    CHECK(IS(server, PERMANENTLY_FAILED) && spawns_of(w, server) == 1);
    advance(w, 60000);
    CHECK(spawns_of(w, server) == 2 && asked(w, server) == 1);
    world_end(w);
}

static const char discovered[] =
    "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"resultType\":\"complete\"}";

TEST(a_server_said_to_be_modern_may_be_silent_for_as_long_as_its_start_may_take)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_MODERN);
    advance(w, 100000);
    CHECK(child_got(newest_child(w, server), "initialize") == 0 && asked(w, server) == 1);
    child_answers(newest_child(w, server), "server/discover", discovered);
    settle(w);
    CHECK(IS(server, CONNECTED) && spawns_of(w, server) == 1);
    world_end(w);
}

TEST(a_server_said_to_be_modern_that_says_otherwise_is_not_greeted_the_older_way)
{
    static const char *const others[] = { "{}", "{\"supportedVersions\":[\"2099-01-01\"]}" };
    for (size_t i = 0; i < 3; i++) {
        struct world *w = world_new();
        struct hf_server *server = unknown_server(w, HF_ERA_MODERN);
        if (i == 2)
            child_answers_error(newest_child(w, server), "server/discover", -32601, "what?");
        else
            child_answers(newest_child(w, server), "server/discover", others[i]);
        settle(w);
        CHECK(IS(server, PERMANENTLY_FAILED));
        CHECK(child_got(newest_child(w, server), "initialize") == 0);
        CHECK(span_has(hf_span_of(status_of(server).last_reason), "server/discover failed"));
        world_end(w);
    }
}

TEST(a_modern_server_that_answers_the_question_too_late_is_waited_for_longer_the_next_time)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    advance(w, 7000);
    REQUIRE(child_got(newest_child(w, server), "initialize") == 1);
    child_answers(newest_child(w, server), "server/discover", discovered);
    settle(w);
    REQUIRE(spawns_of(w, server) == 2 && asked(w, server) == 1);
    advance(w, 7000);
    CHECK(child_got(newest_child(w, server), "initialize") == 0);
    child_answers(newest_child(w, server), "server/discover", discovered);
    settle(w);
    CHECK(IS(server, CONNECTED) && spawns_of(w, server) == 2);
    CHECK(status_of(server).failures_k == 0);
    world_end(w);
}

/* It must not wait for ever: the program may be an older one by now. */
TEST(the_longer_wait_leaves_time_for_the_older_greeting)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    advance(w, 100000);
    child_answers(newest_child(w, server), "server/discover", discovered);
    settle(w);
    REQUIRE(spawns_of(w, server) == 2 && asked(w, server) == 1);
    advance(w, 59999);
    CHECK(child_got(newest_child(w, server), "initialize") == 0);
    advance(w, 1);
    CHECK(child_got(newest_child(w, server), "initialize") == 1);
    world_end(w);
}

TEST(one_that_closes_its_stdout_on_the_question_is_started_again_without_it_as_well)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    manners_of(w, server)->mute = false;
    newest_child(w, server)->manners.keeps_on_eof = true;
    child_falls_silent(newest_child(w, server));
    advance(w, 100000); /* its exit is not waited for for ever */
    CHECK(IS(server, CONNECTED) && spawns_of(w, server) == 2 && asked(w, server) == 0);
    CHECK(status_of(server).failures_k == 0);
    world_end(w);
}

TEST(a_server_that_names_only_other_versions_is_greeted_the_older_way)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    newest_child(w, server)->manners.mute = false;
    child_answers(newest_child(w, server), "server/discover",
                  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2099-01-01\"],"
                  "\"capabilities\":{}}");
    settle(w);
    CHECK(child_got(newest_child(w, server), "initialize") == 1 && IS(server, CONNECTED));
    world_end(w);
}

/* Its silence was taken for an answer, and meanwhile somebody asked for a restart. */
TEST(the_late_answer_of_an_old_generation_does_not_begin_the_attempt_of_today_anew)
{
    struct world *w = world_new();
    struct hf_server *server = unknown_server(w, HF_ERA_UNKNOWN);
    struct child *first = newest_child(w, server);
    advance(w, 5000);
    child_answers(first, "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    settle(w);
    REQUIRE(IS(server, CONNECTED));
    CHECK(operate(w, server, HF_OP_RESTART));
    REQUIRE(spawns_of(w, server) == 2 && newest_child(w, server) != first);
    child_answers(first, "server/discover",
                  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
                  "\"capabilities\":{}}");
    settle(w);
    CHECK(spawns_of(w, server) == 2 && !newest_child(w, server)->got_kill);
    world_end(w);
}
