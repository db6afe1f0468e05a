/* test_engine_probe.c - servers that do not like to be asked which era they speak. */
#include "engine_http.h"

static struct scene unknown_server(enum hf_era era)
{
    return lone_server(SETTINGS(.era = era, .reconnect.first_attempts = 1), MANNERS(.mute = true));
}

static size_t asked(struct world *w, struct hf_server *server)
{
    return child_got(newest_child(w, server), "server/discover");
}

TEST(a_server_silent_on_the_question_is_greeted_the_older_way_with_no_attempt_charged)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    CHECK_EQ(asked(s.w, s.server), 1);
    advance(s.w, 4999);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "initialize"), 0);
    advance(s.w, 1);
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), "initialize"), 1);
    newest_child(s.w, s.server)->manners.mute = false;
    child_answers(newest_child(s.w, s.server), "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1);
    CHECK_EQ(status_of(s.server).failures_k, 0);
}

TEST(a_server_that_exits_on_the_question_is_started_again_without_it_and_no_attempt_charged)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    manners_of(s.w, s.server)->mute = false;
    child_dies(newest_child(s.w, s.server));
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 0);
    CHECK_EQ(status_of(s.server).failures_k, 0);
}

/* Its silence was taken for an answer while it was still starting. */
TEST(one_that_exits_on_the_question_after_we_gave_up_waiting_for_its_answer_is_not_charged_either)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    advance(s.w, 5000);
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), "initialize"), 1);
    manners_of(s.w, s.server)->mute = false;
    child_dies(newest_child(s.w, s.server));
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 0);
    CHECK_EQ(status_of(s.server).failures_k, 0);
}

TEST(one_that_has_answered_the_question_and_exits_is_charged)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    child_answers_error(newest_child(s.w, s.server), "server/discover", -32601, "no such method");
    settle(s.w);
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), "initialize"), 1);
    child_dies(newest_child(s.w, s.server));
    settle(s.w);
    CHECK(IS(s.server, PERMANENTLY_FAILED) && spawns_of(s.w, s.server) == 1);
}

TEST(one_that_exits_on_a_question_put_after_it_refused_the_older_greeting_is_charged)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    manners_of(s.w, s.server)->no_init = true;
    child_dies(newest_child(s.w, s.server)); /* from now on it counts as legacy */
    settle(s.w);
    child_answers_error(newest_child(s.w, s.server), "initialize", -32000, "bad day");
    settle(s.w);
    REQUIRE(asked(s.w, s.server) == 1 && spawns_of(s.w, s.server) == 2);
    child_dies(newest_child(s.w, s.server));
    settle(s.w);
    CHECK(IS(s.server, PERMANENTLY_FAILED) && spawns_of(s.w, s.server) == 2);
}

TEST(a_server_said_to_be_modern_is_never_taken_for_a_legacy_one)
{
    struct scene s = unknown_server(HF_ERA_MODERN);
    child_dies(newest_child(s.w, s.server));
    settle(s.w);
    CHECK(IS(s.server, PERMANENTLY_FAILED) && spawns_of(s.w, s.server) == 1);
    advance(s.w, 60000);
    CHECK(spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 1);
}

static const char discovered[] =
    "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"resultType\":\"complete\"}";

TEST(a_server_said_to_be_modern_may_be_silent_for_as_long_as_its_start_may_take)
{
    struct scene s = unknown_server(HF_ERA_MODERN);
    advance(s.w, 100000);
    CHECK(child_got(newest_child(s.w, s.server), "initialize") == 0 && asked(s.w, s.server) == 1);
    child_answers(newest_child(s.w, s.server), "server/discover", discovered);
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 1);
}

TEST(a_server_said_to_be_modern_that_says_otherwise_is_not_greeted_the_older_way)
{
    static const char *const others[] = { "{}", "{\"supportedVersions\":[\"2099-01-01\"]}" };
    for (size_t i = 0; i < 3; i++) {
        struct scene s = unknown_server(HF_ERA_MODERN);
        if (i == 2)
            child_answers_error(newest_child(s.w, s.server), "server/discover", -32601, "what?");
        else
            child_answers(newest_child(s.w, s.server), "server/discover", others[i]);
        settle(s.w);
        CHECK(IS(s.server, PERMANENTLY_FAILED));
        CHECK_EQ(child_got(newest_child(s.w, s.server), "initialize"), 0);
        CHECK(span_has(hf_span_of(status_of(s.server).last_reason), "server/discover failed"));
        world_end(s.w);
    }
}

TEST(a_modern_server_that_answers_the_question_too_late_is_waited_for_longer_the_next_time)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    advance(s.w, 7000);
    REQUIRE_EQ(child_got(newest_child(s.w, s.server), "initialize"), 1);
    child_answers(newest_child(s.w, s.server), "server/discover", discovered);
    settle(s.w);
    REQUIRE(spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 1);
    advance(s.w, 7000);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "initialize"), 0);
    child_answers(newest_child(s.w, s.server), "server/discover", discovered);
    settle(s.w);
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2);
    CHECK_EQ(status_of(s.server).failures_k, 0);
}

/* It must not wait for ever: the program may be an older one by now. */
TEST(the_longer_wait_leaves_time_for_the_older_greeting)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    advance(s.w, 100000);
    child_answers(newest_child(s.w, s.server), "server/discover", discovered);
    settle(s.w);
    REQUIRE(spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 1);
    advance(s.w, 59999);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "initialize"), 0);
    advance(s.w, 1);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "initialize"), 1);
}

TEST(one_that_closes_its_stdout_on_the_question_is_started_again_without_it_as_well)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    manners_of(s.w, s.server)->mute = false;
    newest_child(s.w, s.server)->manners.keeps_on_eof = true;
    child_falls_silent(newest_child(s.w, s.server));
    advance(s.w, 100000); /* its exit is not waited for for ever */
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 0);
    CHECK_EQ(status_of(s.server).failures_k, 0);
}

TEST(a_server_that_names_only_other_versions_is_greeted_the_older_way)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    newest_child(s.w, s.server)->manners.mute = false;
    child_answers(newest_child(s.w, s.server), "server/discover",
                  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2099-01-01\"],"
                  "\"capabilities\":{}}");
    settle(s.w);
    CHECK(child_got(newest_child(s.w, s.server), "initialize") == 1 && IS(s.server, CONNECTED));
}

/* Its silence was taken for an answer, and meanwhile somebody asked for a restart. */
TEST(the_late_answer_of_an_old_generation_does_not_begin_the_attempt_of_today_anew)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    advance(s.w, 5000);
    child_answers(s.first, "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}");
    settle(s.w);
    REQUIRE(IS(s.server, CONNECTED));
    CHECK(operate(s.w, s.server, HF_OP_RESTART));
    REQUIRE(spawns_of(s.w, s.server) == 2 && newest_child(s.w, s.server) != s.first);
    child_answers(s.first, "server/discover",
                  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
                  "\"capabilities\":{}}");
    settle(s.w);
    CHECK(spawns_of(s.w, s.server) == 2 && !newest_child(s.w, s.server)->got_kill);
}

/* ---- every answer to the question ---- */

#define OURS "\"supported\":[\"2026-07-28\"]"

enum verdict { LEGACY, MODERN, NEITHER }; /* it is greeted the older way; listed; given up on */

static enum verdict verdict_on(const struct hf_server *server, size_t greetings)
{
    return greetings ? LEGACY : IS(server, CONNECTED) ? MODERN : NEITHER;
}

TEST(what_a_server_answers_decides_how_it_is_greeted)
{
    static const struct {
        const char *member, *value;
        enum verdict verdict;
    } rows[] = {
        { "result", discovered, MODERN },
        { "result", "{\"supportedVersions\":[\"2099-01-01\",\"2026-07-28\"]}", MODERN },
        { "result", "{\"supportedVersions\":\"2026-07-28\",\"capabilities\":{}}", LEGACY },
        { "result", "{\"supportedVersions\":[20260728,null,[\"2026-07-28\"]]}", LEGACY },
        { "result", "{\"protocolVersion\":\"2026-07-28\",\"capabilities\":{}}", LEGACY },
        { "result", "{}", LEGACY },
        { "result", "null", LEGACY },
        { "result", "[\"2026-07-28\"]", LEGACY },
        { "error", "{\"code\":-32601,\"message\":\"no such method\"}", LEGACY },
        { "error", "{\"code\":-32600,\"message\":\"initialize first\"}", LEGACY },
        { "error", "{\"code\":-32602,\"message\":\"not initialized\"}", LEGACY },
        { "error", "{\"code\":-32603,\"message\":\"oh\"}", LEGACY },
        { "error", "{\"code\":-32000,\"message\":\"Server not initialized\"}", LEGACY },
        { "error", "{\"code\":-32019,\"message\":\"\"}", LEGACY },
        { "error", "{\"code\":-32023,\"message\":\"\"}", LEGACY },
        { "error", "{\"code\":\"-32020\",\"message\":\"\"}", LEGACY },
        { "error", "{}", LEGACY },
        { "error", "{\"code\":-32020,\"message\":\"\"}", NEITHER },
        { "error", "{\"code\":-32021,\"message\":\"\"}", NEITHER },
        { "error", "{\"code\":-32022,\"message\":\"\",\"data\":{" OURS "}}", NEITHER },
        { "error", "{\"code\":-32022,\"message\":\"\",\"data\":{\"supported\":[\"2025-11-25\"]}}",
          LEGACY },
        { "error", "{\"code\":-32022,\"message\":\"\"}", LEGACY },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s = unknown_server(HF_ERA_UNKNOWN);
        s.first->manners.mute = false;
        child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s}",
                   HF_FMT(child_last_id(s.first, "server/discover")), rows[i].member,
                   rows[i].value);
        if (verdict_on(s.server, child_got(s.first, "initialize")) != rows[i].verdict)
            printf("# answered with %s\n", rows[i].value);
        CHECK_EQ(verdict_on(s.server, child_got(s.first, "initialize")), rows[i].verdict);
        CHECK(IS(s.server, CONNECTED) == (rows[i].verdict != NEITHER) && asked(s.w, s.server) == 1);
        world_end(s.w);
    }
}

TEST(an_answer_that_nobody_can_read_means_an_older_server)
{
    struct scene s = unknown_server(HF_ERA_UNKNOWN);
    s.first->manners.mute = false;
    child_says(s.first, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":nonsense}",
               HF_FMT(child_last_id(s.first, "server/discover")));
    CHECK(child_got(s.first, "initialize") == 1 && IS(s.server, CONNECTED));
}

TEST(a_status_and_what_stands_in_its_body_decide_how_a_remote_server_is_greeted)
{
    static const char old[] = "{\"code\":-32601,\"message\":\"what?\"}";
    static const char modern[] = "{\"code\":-32022,\"message\":\"\",\"data\":{" OURS "}}";
    static const struct {
        int status;
        const char *error; /* with the id of the question; NULL: nothing of the kind */
        enum verdict verdict;
    } rows[] = {
        { 400, NULL, LEGACY },  { 404, NULL, LEGACY },    { 405, NULL, LEGACY },
        { 400, old, LEGACY },   { 404, old, LEGACY },     { 500, old, LEGACY },
        { 200, old, LEGACY },   { 400, modern, NEITHER }, { 401, NULL, NEITHER },
        { 403, NULL, NEITHER }, { 401, old, NEITHER },    { 406, NULL, NEITHER },
        { 415, NULL, NEITHER }, { 429, NULL, NEITHER },   { 500, NULL, NEITHER },
        { 503, NULL, NEITHER }, { 200, NULL, NEITHER },   { 302, NULL, NEITHER },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene s =
            lone_remote_with(SETTINGS(.era = HF_ERA_UNKNOWN, .reconnect.first_attempts = 1),
                             MANNERS(.http.by_hand = true));
        REQUIRE_EQ(exchanges(s.w, "server/discover"), 1);
        if (rows[i].error)
            exchange_answers_error(last_exchange(s.w, "server/discover"), rows[i].status,
                                   rows[i].error);
        else
            exchange_fails(last_exchange(s.w, "server/discover"), rows[i].status);
        if (verdict_on(s.server, exchanges(s.w, "initialize")) != rows[i].verdict)
            printf("# answered with %d %s\n", rows[i].status, rows[i].error ? rows[i].error : "");
        CHECK_EQ(verdict_on(s.server, exchanges(s.w, "initialize")), rows[i].verdict);
        world_end(s.w);
    }
}

TEST(a_remote_server_that_cannot_be_reached_teaches_nothing_about_its_era)
{
    for (enum hf_sent sent_so_far = HF_SENT_NOTHING; sent_so_far <= HF_SENT_WHOLE; sent_so_far++) {
        struct scene s = lone_remote_with(SETTINGS(.era = HF_ERA_UNKNOWN),
                                          MANNERS(.is_modern = true, .http.by_hand = true));
        exchange_breaks(last_exchange(s.w, "server/discover"), sent_so_far);
        manners_of(s.w, s.server)->http.by_hand = false;
        advance(s.w, 5000);
        CHECK(IS(s.server, CONNECTED) && exchanges(s.w, "initialize") == 0);
        CHECK_EQ(exchanges(s.w, "server/discover"), 2);
        world_end(s.w);
    }
}

/* What was learned once is not asked again until it stops being true. */
TEST(an_older_server_is_not_asked_again_until_it_refuses_the_older_greeting)
{
    struct scene s = lone_server(SETTINGS(.era = HF_ERA_UNKNOWN), MANNERS());
    REQUIRE(IS(s.server, CONNECTED) && asked(s.w, s.server) == 1);
    child_dies(newest_child(s.w, s.server));
    CHECK(IS(s.server, CONNECTED) && spawns_of(s.w, s.server) == 2 && asked(s.w, s.server) == 0);
    manners_of(s.w, s.server)->is_modern = manners_of(s.w, s.server)->no_init = true;
    child_dies(newest_child(s.w, s.server));
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED) && asked(s.w, s.server) == 1);
    CHECK_EQ(child_got(newest_child(s.w, s.server), "initialize"), 1);
    child_dies(newest_child(s.w, s.server));
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED) && child_got(newest_child(s.w, s.server), "initialize") == 0);
}
