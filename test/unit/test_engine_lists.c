/*
 * test_engine_lists.c - initialize and the lists: what is held until something is known, what is
 * kept when a refresh fails, and when clients hear of a change (DESIGN 8 and 9).
 */
#include <errno.h>
#include "engine_fixture.h"

#define CHANGED     "notifications/tools/list_changed"
#define SAY_CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"" CHANGED "\"}"

static const char two[] = "[{\"name\":\"alpha\"},{\"name\":\"beta\",\"inputSchema\":{\"a\":1.0}}]";
static const char swapped[] =
    "[{\"name\":\"beta\",\"inputSchema\":{\"a\":1.0}},{\"name\":\"alpha\"}]";
static const char others[] = "[{\"name\":\"beta\"},{\"name\":\"gamma\"}]";

static struct scene scene_with(const char *tools)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.tools = tools));
    s.client = greeted_client(s.w, s.server);
    client_asks(s.client, 900, "tools/list");
    return s;
}

/* What the client is given now. */
static const char *tools_now(struct scene *s)
{
    static int id = 1000;
    client_asks(s->client, ++id, "tools/list");
    return names_in(s->client, id, "tools");
}

static size_t news(const struct scene *s)
{
    return heard(s->client, CHANGED);
}

/* ---- changes ---- */

/* @field D8: after a reconnect the lists are fetched anew */
/* @field B12: the last good list stays while nothing better is known */
/* @field Z4: the absence of tools that vanish while reconnecting */
TEST(the_list_stays_through_a_whole_outage_and_a_return_with_the_same_tools_is_silent)
{
    struct scene s = scene_with(two);
    take_away(&s);
    for (int i = 0; i < 20; i++) {
        advance(s.w, 5000);
        CHECK_STR(tools_now(&s), "alpha,beta");
    }
    manners_of(s.w, s.server)->no_exec = false;
    manners_of(s.w, s.server)->tools = swapped; /* another order is the same content */
    advance(s.w, 60000);
    CHECK(IS(s.server, CONNECTED));
    CHECK(news(&s) == 0 && strcmp(tools_now(&s), "alpha,beta") == 0);
}

/* @field D8: tools that are gone after a reconnect disappear, and the host is told */
/* @field X7: the absence of tools that are never listed again after a reconnect */
TEST(a_return_with_other_tools_is_told_exactly_once)
{
    struct scene s = scene_with(two);
    manners_of(s.w, s.server)->tools = others;
    child_dies(s.first);
    CHECK(news(&s) == 1 && strcmp(tools_now(&s), "beta,gamma") == 0);
    manners_of(s.w, s.server)->tools = "[{\"name\":\"beta\"},{\"name\":\"gamma\",\"x\":1}]";
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK_EQ(news(&s), 2); /* the same names, and other content */
}

/* @field B12: a failed refresh never drops the last good list */
TEST(a_refresh_that_fails_keeps_the_last_good_list)
{
    struct scene s = scene_with(two);
    s.first->manners.no_tools = true;
    child_says(s.first, SAY_CHANGED);
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    CHECK(news(&s) == 0 && strcmp(tools_now(&s), "alpha,beta") == 0);
    CHECK(IS(s.server, CONNECTED));
    s.first->manners.no_tools = false;
    s.first->manners.tools = others;
    child_says(s.first, SAY_CHANGED);
    CHECK(news(&s) == 1 && strcmp(tools_now(&s), "beta,gamma") == 0);
}

/* @field Y8: the absence of a list_changed that is lost because a refresh is under way */
TEST(changes_that_come_during_a_refresh_are_remembered_and_fetched_once_more)
{
    struct scene s = scene_with(two);
    s.first->manners.stuck_list = true;
    for (int i = 0; i < 5; i++)
        child_says(s.first, SAY_CHANGED);
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"old\"}]}");
    CHECK_EQ(child_got(s.first, "tools/list"), 3); /* five changes, one more fetch */
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"new\"}]}");
    CHECK_EQ(child_got(s.first, "tools/list"), 3);
    CHECK_STR(tools_now(&s), "new");
}

TEST(a_change_announced_while_the_first_list_is_fetched_is_not_lost_either)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    child_says(s.first, SAY_CHANGED);
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"old\"}]}");
    CHECK_EQ(child_got(s.first, "tools/list"), 2);
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"new\"}]}");
    struct client *c = greeted_client(s.w, s.server);
    client_asks(c, 1, "tools/list");
    CHECK_STR(names_in(c, 1, "tools"), "new");
}

/* @field Y9: the absence of an older list that is published over a newer one */
/* @field D9: an answer fetched before a change is not what is kept */
TEST(a_list_of_an_old_generation_is_never_published_over_that_of_a_new_one)
{
    struct scene s = scene_with(two);
    client_calls(s.client, 1, "alpha"); /* keeps the old one draining */
    s.first->manners.stuck_list = true;
    child_says(s.first, SAY_CHANGED);
    manners_of(s.w, s.server)->tools = others;
    operate(s.w, s.server, HF_OP_RESTART);
    CHECK_EQ(status_of(s.server).generation, 2);
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"stale\"}]}");
    CHECK_STR(tools_now(&s), "beta,gamma");
    CHECK_EQ(news(&s), 1);
    child_says(s.first, SAY_CHANGED);
    CHECK_EQ(child_got(s.first, "tools/list"), 2); /* and it is not asked again */
}

TEST(the_slow_timer_lists_again)
{
    struct scene s = scene_with(two);
    s.first->manners.tools = others;
    advance(s.w, 299999);
    CHECK_EQ(news(&s), 0);
    advance(s.w, 1);
    CHECK(news(&s) == 1 && strcmp(tools_now(&s), "beta,gamma") == 0);
    advance(s.w, 300000);
    CHECK(child_got(s.first, "tools/list") == 3 && news(&s) == 1);
}

/* @field B18: a part that fails costs the other parts nothing */
TEST(one_part_that_fails_keeps_its_last_good_list_and_the_others_are_new)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.prompts = "[{\"name\":\"p\"}]"));
    s.client = greeted_client(s.w, s.server);
    client_asks(s.client, 1, "prompts/list");
    CHECK_STR(names_in(s.client, 1, "prompts"), "p");
    manners_of(s.w, s.server)->mute = true;
    child_dies(newest_child(s.w, s.server));
    struct child *second = newest_child(s.w, s.server);
    child_answers(second, "initialize",
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},\"prompts\":"
                  "{}},\"serverInfo\":{}}");
    child_answers_error(second, "prompts/list", -32603, "no");
    child_answers(second, "tools/list", "{\"tools\":[{\"name\":\"fresh\"}]}");
    CHECK(IS(s.server, CONNECTED));
    client_asks(s.client, 2, "prompts/list");
    client_asks(s.client, 3, "tools/list");
    CHECK_STR(names_in(s.client, 2, "prompts"), "p");
    CHECK_STR(names_in(s.client, 3, "tools"), "fresh");
}

TEST(a_part_that_a_new_generation_no_longer_declares_is_gone_and_that_is_told)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.prompts = "[{\"name\":\"p\"}]"));
    s.client = greeted_client(s.w, s.server);
    client_asks(s.client, 1, "prompts/list");
    manners_of(s.w, s.server)->prompts = NULL;
    child_dies(newest_child(s.w, s.server));
    CHECK_EQ(heard(s.client, "notifications/prompts/list_changed"), 1);
    client_asks(s.client, 2, "prompts/list");
    CHECK_STR(names_in(s.client, 2, "prompts"), "");
}

/* ---- pages ---- */

/* @field Y13: the absence of ignored pages */
/* @field X7: the absence of an ignored nextCursor */
TEST(a_list_is_fetched_to_its_last_page_before_anything_is_published)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    child_answers(s.first, "tools/list",
                  "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"c\\u0031\"}");
    CHECK(IS(s.server, CONNECTING));
    CHECK(span_has(child_last(s.first, "tools/list")->msg.params, "{\"cursor\":\"c\\u0031\"}"));
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"c2\"}");
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"c\"}]}");
    CHECK(IS(s.server, CONNECTED));
    struct client *c = greeted_client(s.w, s.server);
    client_asks(c, 1, "tools/list");
    CHECK_STR(names_in(c, 1, "tools"), "a,b,c");
}

TEST(a_cursor_that_does_not_advance_ends_the_list)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    for (int i = 0; i < 2; i++)
        child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"x\"}");
    CHECK(IS(s.server, CONNECTED) && child_got(s.first, "tools/list") == 2);
}

TEST(cursors_that_go_round_in_a_circle_end_too)
{
    struct scene s = lone_server(SETTINGS(), MANNERS(.stuck_list = true));
    int pages = 0;
    while (IS(s.server, CONNECTING) && pages++ < 3000)
        child_answers(s.first, "tools/list",
                      pages % 2 ? "{\"tools\":[],\"nextCursor\":\"x\"}"
                                : "{\"tools\":[],\"nextCursor\":\"y\"}");
    CHECK(IS(s.server, CONNECTED) && pages <= 1000);
}

TEST(a_page_that_fails_half_way_publishes_nothing_of_the_others)
{
    struct scene s = scene_with(two);
    s.first->manners.stuck_list = true;
    child_says(s.first, SAY_CHANGED);
    child_answers(s.first, "tools/list", "{\"tools\":[{\"name\":\"half\"}],\"nextCursor\":\"x\"}");
    child_answers_error(s.first, "tools/list", -32603, "lost my place");
    CHECK(news(&s) == 0 && strcmp(tools_now(&s), "alpha,beta") == 0);
}

/* ---- held until something is known ---- */

/* @field D17: the first listing is bounded */
/* @field B22: one bad server never fails a list */
TEST(a_list_waits_for_servers_never_listed_and_answers_as_soon_as_all_are)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    manners_of(w, a)->stuck_list = manners_of(w, b)->stuck_list = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    CHECK(has_result(c, 0)); /* initialize does not wait */
    client_asks(c, 1, "tools/list");
    advance(w, 3000);
    child_answers(newest_child(w, a), "tools/list", "{\"tools\":[{\"name\":\"x\"}]}");
    CHECK_EQ(answers_to(c, 1), 0);
    child_answers(newest_child(w, b), "tools/list", "{\"tools\":[{\"name\":\"y\"}]}");
    CHECK_STR(names_in(c, 1, "tools"), "a__x,b__y");
    CHECK_EQ(answer_to(c, 1)->at_ms, T0 + 3000);
    CHECK_EQ(heard(c, CHANGED), 0); /* it had no list yet that could have changed */
}

TEST(after_list_wait_ms_a_list_answers_with_what_is_there_and_the_rest_is_told)
{
    struct world *w = world_new();
    (void)add_server(w, "a", default_settings());
    struct hf_server *b = add_server(w, "b", default_settings());
    manners_of(w, b)->stuck_list = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    advance(w, 9999);
    CHECK_EQ(answers_to(c, 1), 0);
    advance(w, 1);
    CHECK_STR(names_in(c, 1, "tools"), "a__echo");
    child_answers(newest_child(w, b), "tools/list", "{\"tools\":[{\"name\":\"y\"}]}");
    CHECK_EQ(heard(c, CHANGED), 1);
    client_asks(c, 2, "tools/list");
    CHECK_STR(names_in(c, 2, "tools"), "a__echo,b__y");
}

TEST(a_list_does_not_wait_for_servers_that_are_off_given_up_or_were_listed_before)
{
    struct world *w = world_new();
    struct hf_server_spec off = { .name = "off", .settings = default_settings(), .disabled = true };
    (void)add_spec(w, &off);
    struct hf_server *dead = add_server(w, "dead", SETTINGS(.reconnect.first_attempts = 1));
    struct hf_server *known = add_server(w, "known", default_settings());
    manners_of(w, dead)->no_exec = true;
    settle(w);
    manners_of(w, known)->no_exec = true;
    child_dies(newest_child(w, known));
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    CHECK_STR(names_in(c, 1, "tools"), "known__echo");
    CHECK(IS(dead, PERMANENTLY_FAILED));
}

TEST(a_held_list_is_answered_when_the_last_server_it_waits_for_is_given_up_or_switched_off)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", default_settings());
    manners_of(w, a)->never_starts = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    CHECK_EQ(answers_to(c, 1), 0);
    operate(w, a, HF_OP_DISABLE);
    CHECK(has_result(c, 1) && answer_to(c, 1)->at_ms == T0);
}

/* A refused call must not disturb the count of lists that are held. */
TEST(lists_are_still_answered_in_time_after_calls_were_refused)
{
    struct world *w = world_new();
    struct hf_server_spec off = { .name = "off", .settings = default_settings(), .disabled = true };
    (void)add_spec(w, &off);
    struct hf_server *slow = add_server(w, "slow", default_settings());
    manners_of(w, slow)->stuck_list = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_calls(c, 1, "off__x");
    CHECK_EQ(error_of(c, 1), -31003);
    client_asks(c, 2, "tools/list");
    child_answers(newest_child(w, slow), "tools/list", "{\"tools\":[]}");
    CHECK(has_result(c, 2));
}

TEST(a_list_wakes_a_resting_server_that_was_never_listed)
{
    struct world *w = world_new();
    struct hf_server *a = add_server(w, "a", SETTINGS(.lazy = true));
    settle(w);
    struct client *c = greeted_client(w, NULL);
    CHECK_EQ(spawns_of(w, a), 0);
    client_asks(c, 1, "tools/list");
    CHECK_STR(names_in(c, 1, "tools"), "a__echo");
}

/* ---- initialize ---- */

TEST(an_aggregate_introduces_itself_at_once_with_the_instructions_known_by_then)
{
    struct world *w = world_new();
    (void)add_server(w, "one", default_settings());
    struct hf_server *stuck = add_server(w, "stuck", default_settings());
    manners_of(w, stuck)->never_starts = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    REQUIRE(has_result(c, 0));
    const struct hf_span result = answer_to(c, 0)->msg.result;
    CHECK(span_has(result, "\"serverInfo\":{\"name\":\"holdfast\""));
    CHECK(span_has(result, "\"protocolVersion\":\"2025-06-18\"")); /* the client's own */
    CHECK(span_has(result, "\"tools\":{\"listChanged\":true}"));
    CHECK(span_has(result, "# one\\nbe kind"));
}

static struct world *run_world(struct hf_server **server)
{
    struct world *w = world_new();
    *server = add_server(w, "s", default_settings());
    hf_server_set_clients_own(*server);
    return w;
}

TEST(the_server_of_run_is_greeted_with_its_clients_own_words_and_answers_for_itself)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    manners_of(w, server)->capabilities = "{\"tools\":{\"x\":2},\"own\":{}}";
    settle(w);
    struct child *child = newest_child(w, server);
    CHECK(child->is_running && child_got(child, "initialize") == 0);
    struct client *c = open_client(w, server);
    advance(w, 3600000); /* nobody has said hello: no clock runs */
    CHECK(!child->got_kill && IS(server, CONNECTING));
    client_requests(c, 0, "initialize",
                    "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"roots\":{}},"
                    "\"clientInfo\":{\"name\":\"me\",\"version\":\"9\"}}");
    REQUIRE_EQ(child_got(child, "initialize"), 1);
    CHECK_SPAN(child_last(child, "initialize")->msg.params,
               "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"roots\":{}},"
               "\"clientInfo\":{\"name\":\"me\",\"version\":\"9\"}}");
    REQUIRE(has_result(c, 0));
    const struct hf_span result = answer_to(c, 0)->msg.result;
    CHECK(span_has(result, "\"serverInfo\":{\"name\":\"fake\""));
    CHECK(span_has(result, "{\"listChanged\":true,\"x\":2},\"own\":{}"));
    CHECK(span_has(result, "\"instructions\":\"be kind\""));
}

/* @field A7: initialize is run again, in the client's own words */
TEST(the_server_of_run_is_greeted_in_the_same_words_after_each_death)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    settle(w);
    struct client *c = greeted_client_with(w, server, "{\"sampling\":{}}");
    CHECK(has_result(c, 0));
    child_dies(newest_child(w, server));
    struct child *second = newest_child(w, server);
    CHECK(span_has(child_last(second, "initialize")->msg.params, "{\"sampling\":{}}"));
    CHECK(IS(server, CONNECTED));
}

TEST(initialize_of_run_waits_list_wait_ms_and_then_answers_for_the_server)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    manners_of(w, server)->mute = true;
    settle(w);
    struct client *c = greeted_client(w, server);
    advance(w, 9999);
    CHECK_EQ(answers_to(c, 0), 0);
    advance(w, 1);
    REQUIRE(has_result(c, 0));
    const struct hf_span result = answer_to(c, 0)->msg.result;
    CHECK(span_has(result, "\"name\":\"holdfast\"") && span_has(result, "\"prompts\":{"));
}

/* Is the server of `run` given up on, after its first start failed with this errno? */
static bool ends_run(int error)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    manners_of(w, server)->no_exec = true;
    manners_of(w, server)->exec_error = error;
    struct client *c = open_client(w, server);
    settle(w);
    const bool ends = hf_session_cannot_be_served(c->session);
    world_end(w);
    return ends;
}

TEST(run_gives_up_at_once_only_where_trying_again_cannot_help)
{
    static const struct {
        int error;
        bool ends;
    } rows[] = {
        { ENOENT, true },  { EACCES, true },  { ENOTDIR, true },  { ENOEXEC, true },
        { ELOOP, true },   { EINVAL, true },  { E2BIG, true },    { ENAMETOOLONG, true },
        { EAGAIN, false }, { ENOMEM, false }, { ETXTBSY, false }, { EIO, false },
        { EMFILE, false }, { ENFILE, false }, { EPERM, false },   { ESTALE, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK_EQ(ends_run(rows[i].error), rows[i].ends);
}

TEST(each_request_of_run_is_told_why_its_first_start_failed_for_good)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    manners_of(w, server)->no_exec = true;
    w->by_hand = true;
    struct client *c = greeted_client(w, server);
    client_asks(c, 1, "tools/list");
    client_calls(c, 2, "x");
    CHECK(answers_to(c, 0) + answers_to(c, 1) + answers_to(c, 2) == 0);
    CHECK(hf_session_awaits_start(c->session));
    w->by_hand = false;
    settle(w);
    client_asks(c, 3, "prompts/list");
    client_calls(c, 4, "x");
    client_asks(c, 5, "ping");
    for (int id = 0; id < 5; id++) {
        CHECK_EQ(answers_to(c, id), 1);
        CHECK_EQ(error_of(c, id), -31004);
        CHECK(error_says(c, id, "could not start: No such file or directory"));
    }
    CHECK(has_result(c, 5) && hf_session_cannot_be_served(c->session));
    CHECK(!hf_session_awaits_start(c->session) && IS(server, PERMANENTLY_FAILED));
    advance(w, 3600 * 1000);
    CHECK_EQ(w->child_count, 1); /* there is no probe either */
}

TEST(later_failures_of_run_never_end_it)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    struct client *c = greeted_client(w, server);
    settle(w);
    REQUIRE(has_result(c, 0));
    manners_of(w, server)->no_exec = true;
    child_dies(newest_child(w, server));
    advance(w, 60000);
    CHECK(!hf_session_cannot_be_served(c->session) && IS(server, RECONNECTING));
}

TEST(a_start_that_fails_after_run_has_answered_initialize_does_not_end_it)
{
    struct hf_server *server;
    struct world *w = run_world(&server);
    manners_of(w, server)->never_starts = true;
    struct client *c = greeted_client(w, server);
    advance(w, 10000);
    REQUIRE(has_result(c, 0)); /* in our own name */
    child_fails_to_start(newest_child(w, server), "No such file or directory");
    CHECK(!hf_session_cannot_be_served(c->session) && IS(server, RECONNECTING));
}
