/*
 * test_view.c - the lists as an endpoint shows them: names, prefixes, clashes, lengths, rules,
 * pages and cursors, and that a name once given goes on resolving (DESIGN 8).
 */
#include "engine_fixture.h"

static struct hf_server *add_with_tools(struct world *w, const char *name, const char *tools)
{
    struct hf_server *server = add_server(w, name, default_settings());
    manners_of(w, server)->tools = tools;
    settle(w);
    return server;
}

static const char *list_tools(struct client *c)
{
    static int id = 5000;
    client_asks(c, ++id, "tools/list");
    return names_in(c, id, "tools");
}

/* The name under which the newest child was last called. */
static bool was_called(struct world *w, const struct hf_server *server, const char *own)
{
    const struct message *m = child_last(newest_child(w, server), "tools/call");
    return m && hf_json_string_is(hf_json_get(m->msg.params, HF_SPAN("name")), hf_span_of(own));
}

/* ---- names ---- */

TEST(names_depend_on_the_endpoint_and_not_on_the_count)
{
    struct world *w = world_new();
    struct hf_server *s = add_with_tools(w, "s", "[{\"name\":\"echo\"}]");
    struct client *alone = greeted_client(w, s), *many = greeted_client(w, NULL);
    CHECK_STR(list_tools(alone), "echo");
    CHECK_STR(list_tools(many), "s__echo"); /* though there is only one */
    client_calls(many, 1, "s__echo");
    CHECK(was_called(w, s, "echo"));
    client_calls(many, 2, "echo");
    CHECK_EQ(error_of(many, 2), -32602);
}

TEST(lists_are_in_config_order_and_each_servers_own_order)
{
    struct world *w = world_new();
    add_with_tools(w, "zeta", "[{\"name\":\"b\"},{\"name\":\"a\"}]");
    add_with_tools(w, "alpha", "[{\"name\":\"c\"}]");
    struct client *c = greeted_client(w, NULL);
    CHECK_STR(list_tools(c), "zeta__b,zeta__a,alpha__c");
}

TEST(characters_that_do_not_belong_in_a_prefix_become_underscores)
{
    struct world *w = world_new();
    struct hf_server *s = add_with_tools(w, "my server.\xc3\xa9", "[{\"name\":\"x\"}]");
    struct client *c = greeted_client(w, NULL);
    CHECK_STR(list_tools(c), "my_server_____x");
    client_calls(c, 1, "my_server_____x");
    CHECK(was_called(w, s, "x"));
}

/* @field Y12: the absence of a clash of names that fails the whole registry */
TEST(of_two_equal_names_the_first_in_config_order_wins_and_the_other_is_warned_of)
{
    struct world *w = world_new();
    struct hf_settings settings = SETTINGS(.prefix = HF_PREFIX_NEVER);
    struct hf_server *a = add_server(w, "a", settings), *b = add_server(w, "b", settings);
    manners_of(w, b)->tools = "[{\"name\":\"echo\"},{\"name\":\"other\"}]";
    settle(w);
    struct client *c = greeted_client(w, NULL);
    CHECK_STR(list_tools(c), "echo,other");
    CHECK_EQ(notes_with(w, "b g1 NAME_CLASH  echo"), 1);
    client_calls(c, 1, "echo");
    CHECK(was_called(w, a, "echo") && child_got(newest_child(w, b), "tools/call") == 0);
    client_calls(c, 2, "other");
    CHECK(was_called(w, b, "other"));
}

#define TEN   "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

TEST(over_long_names_get_a_stable_form_of_64_that_stays_apart_and_resolves)
{
    char first[300] = "", second[300] = "";
    for (int round = 0; round < 2; round++) {
        struct world *w = world_new();
        struct hf_server *s =
            add_with_tools(w, "srv", "[{\"name\":\"" SIXTY "A\"},{\"name\":\"" SIXTY "B\"}]");
        struct client *c = greeted_client(w, NULL);
        client_asks(c, 1, "tools/list");
        char names[300], *comma;
        (void)snprintf(names, sizeof names, "%s", names_in(c, 1, "tools"));
        REQUIRE((comma = strchr(names, ',')));
        *comma = '\0';
        CHECK(strlen(names) == 64 && strlen(comma + 1) == 64);
        CHECK(strcmp(names, comma + 1) != 0);
        client_calls(c, 2, comma + 1);
        CHECK(was_called(w, s, SIXTY "B"));
        if (round == 0) {
            (void)snprintf(first, sizeof first, "%s", names);
            (void)snprintf(second, sizeof second, "%s", comma + 1);
        }
        CHECK(strcmp(first, names) == 0 && strcmp(second, comma + 1) == 0);
        struct client *alone = greeted_client(w, s);
        client_asks(alone, 1, "tools/list");
        CHECK_STR(names_in(alone, 1, "tools"), SIXTY "A," SIXTY "B"); /* unchanged */
        world_end(w);
    }
}

#define LONG_NAME "a_name_of_seventy_characters_which_is_six_more_than_clients_will_take"

TEST(the_short_form_of_a_long_name_does_not_depend_on_what_else_is_listed)
{
    static const char *const lists[] = {
        "[{\"name\":\"" LONG_NAME "\"}]",
        "[{\"name\":\"a\"},{\"name\":\"" LONG_NAME "\"}]",
    };
    char names[2][100] = { "", "" };
    for (size_t i = 0; i < 2; i++) {
        struct scene s = lone_server(SETTINGS(), MANNERS(.tools = lists[i]));
        struct client *c = greeted_client(s.w, NULL);
        client_asks(c, 1, "tools/list");
        const char *all = names_in(c, 1, "tools");
        const char *comma = strrchr(all, ',');
        (void)snprintf(names[i], sizeof names[i], "%s", comma ? comma + 1 : all);
        world_end(s.w);
    }
    CHECK(strlen(names[0]) == 64 && strcmp(names[0], names[1]) == 0);
}

TEST(an_over_long_name_is_never_cut_within_a_character)
{
    struct world *w = world_new();
    /* every place of the cut falls into a two-byte character for one of these */
    add_with_tools(w, "s",
                   "[{\"name\":\"" SIXTY
                   "\"},{\"name\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\"},{\"name\":\"x\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                   "\"}]");
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list"); /* the fixture refuses what is not UTF-8 */
    CHECK(has_result(c, 1));
    CHECK(!span_has(answer_to(c, 1)->msg.result, "\xef\xbf\xbd")); /* nor was it mended */
}

TEST(servers_and_renames_with_enormous_names_are_no_danger)
{
    char huge[5001];
    memset(huge, 'n', 5000);
    huge[5000] = '\0';
    const struct hf_rename renames[] = { { HF_SPAN("a"), { huge, 5000 } },
                                         { HF_SPAN("b"), { huge, 4999 } } };
    struct world *w = world_new();
    const struct hf_server_spec spec = {
        .name = huge, .settings = default_settings(), .renames = renames, .rename_count = 2
    };
    struct hf_server *s = add_spec(w, &spec);
    manners_of(w, s)->tools =
        "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"e\"}]";
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    CHECK(has_result(c, 1) && strlen(names_in(c, 1, "tools")) == 5 * 64 + 4);
    struct client *alone = greeted_client(w, s);
    client_asks(alone, 1, "tools/list");
    client_calls(alone, 2, "c");
    CHECK(was_called(w, s, "c"));
    client_calls(alone, 3, huge);
    CHECK(was_called(w, s, "a"));
}

TEST(descriptions_and_schemas_pass_byte_for_byte)
{
    struct world *w = world_new();
    add_with_tools(w, "s",
                   "[ {\"z\": 1.0e5,\"description\":\"caf\\u00e9\",\"name\" : \"echo\" , "
                   "\"inputSchema\":{ \"type\":\"object\" } } ]");
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    CHECK_SPAN(answer_to(c, 1)->msg.result,
               "{\"tools\":[{\"z\": 1.0e5,\"description\":\"caf\\u00e9\",\"name\" : "
               "\"s__echo\" , \"inputSchema\":{ \"type\":\"object\" } }]}");
}

/* ---- rules ---- */

static struct hf_server *add_ruled(struct world *w, const char *const *allow,
                                   const char *const *deny)
{
    const struct hf_rename renames[] = { { HF_SPAN("old"), HF_SPAN("new") } };
    const struct hf_rename descriptions[] = {
        { HF_SPAN("old"), HF_SPAN("says \"this\"") },
        { HF_SPAN("plain"), HF_SPAN("was none") },
    };
    const struct hf_server_spec spec = { .name = "s",
                                         .settings = default_settings(),
                                         .allow = allow,
                                         .deny = deny,
                                         .renames = renames,
                                         .rename_count = 1,
                                         .descriptions = descriptions,
                                         .description_count = 2 };
    struct hf_server *server = add_spec(w, &spec);
    manners_of(w, server)->tools = "[{\"description\":\"before\",\"name\":\"old\"},{\"name\":"
                                   "\"plain\"},{\"name\":\"secret\"}]";
    settle(w);
    return server;
}

TEST(a_rename_and_a_description_of_the_operator_are_what_clients_see)
{
    struct world *w = world_new();
    struct hf_server *s = add_ruled(w, NULL, NULL);
    struct client *c = greeted_client(w, NULL), *alone = greeted_client(w, s);
    client_asks(c, 1, "tools/list");
    CHECK_SPAN(answer_to(c, 1)->msg.result,
               "{\"tools\":[{\"description\":\"says \\\"this\\\"\",\"name\":\"s__new\"},"
               "{\"description\":\"was none\",\"name\":\"s__plain\"},{\"name\":\"s__secret\"}"
               "]}");
    client_calls(c, 2, "s__new");
    CHECK(was_called(w, s, "old"));
    CHECK_STR(list_tools(alone), "new,plain,secret");
    client_calls(alone, 1, "new");
    CHECK(was_called(w, s, "old") && child_got(newest_child(w, s), "tools/call") == 2);
    client_calls(c, 3, "s__old");
    CHECK_EQ(error_of(c, 3), -32602);
}

TEST(what_is_not_allowed_is_not_listed_and_a_call_of_it_is_denied_before_any_waiting)
{
    static const char *const deny[] = { "sec*", NULL }, *const allow[] = { "p*", "old", NULL };
    struct world *w = world_new();
    struct hf_server *s = add_ruled(w, allow, deny);
    struct client *c = greeted_client(w, NULL), *alone = greeted_client(w, s);
    CHECK_STR(list_tools(c), "s__new,s__plain");
    manners_of(w, s)->no_exec = true;
    child_dies(newest_child(w, s));
    client_calls(c, 1, "s__secret");
    CHECK_EQ(error_of(c, 1), -31007);
    CHECK(data_is(c, 1, "dispatched", "false"));
    CHECK(data_is(c, 1, "retry", "\"no\""));
    client_calls(alone, 1, "secret");
    CHECK_EQ(error_of(alone, 1), -31007);
    client_calls(alone, 2, "unheard_of"); /* nothing allows it */
    CHECK_EQ(error_of(alone, 2), -31007);
    client_calls(alone, 3, "plain");
    CHECK_EQ(answers_to(alone, 3), 0); /* this one waits */
}

TEST(an_empty_allow_list_allows_nothing)
{
    static const char *const none[] = { NULL };
    struct world *w = world_new();
    struct hf_server *s = add_ruled(w, none, NULL);
    struct client *c = greeted_client(w, s);
    CHECK_STR(list_tools(c), "");
    client_calls(c, 1, "plain");
    CHECK_EQ(error_of(c, 1), -31007);
}

/* ---- resolving ---- */

/* @field B13: a name given before a reconnect works after it, on the live runtime */
TEST(names_given_keep_resolving_for_their_client_whatever_the_list_says_by_now)
{
    struct world *w = world_new();
    struct hf_server *s = add_with_tools(w, "s", "[{\"name\":\"alpha\"},{\"name\":\"beta\"}]");
    struct client *old = greeted_client(w, NULL);
    CHECK_STR(list_tools(old), "s__alpha,s__beta");
    manners_of(w, s)->tools = "[{\"name\":\"beta\"}]";
    child_dies(newest_child(w, s));
    struct client *fresh = greeted_client(w, NULL);
    client_calls(fresh, 1, "s__alpha");
    CHECK_EQ(error_of(fresh, 1), -32602);
    client_calls(old, 1, "s__alpha"); /* its server says what it thinks of that */
    CHECK(was_called(w, s, "alpha"));
    CHECK_STR(list_tools(old), "s__beta");
    client_calls(old, 2, "s__alpha");
    CHECK_EQ(error_of(old, 2), -32602); /* now it has been given another list */
}

TEST(a_name_that_changed_hands_stays_with_the_server_it_was_given_for)
{
    struct world *w = world_new();
    struct hf_settings settings = SETTINGS(.prefix = HF_PREFIX_NEVER);
    struct hf_server *a = add_server(w, "a", settings), *b = add_server(w, "b", settings);
    manners_of(w, a)->tools = "[]";
    settle(w);
    struct client *c = greeted_client(w, NULL);
    CHECK_STR(list_tools(c), "echo"); /* that of b */
    manners_of(w, a)->tools = "[{\"name\":\"echo\"}]";
    operate(w, a, HF_OP_RESTART); /* a comes first in the config: echo is a's from now on */
    CHECK_EQ(heard(c, "notifications/tools/list_changed"), 1);
    client_calls(c, 1, "echo");
    CHECK(was_called(w, b, "echo"));
    (void)list_tools(c);
    client_calls(c, 2, "echo");
    CHECK(was_called(w, a, "echo"));
}

/* @field D10: a call of a server that is not there yet waits for it instead of failing */
TEST(a_name_of_a_server_that_was_never_listed_goes_to_that_server)
{
    struct world *w = world_new();
    struct hf_server *s = add_server(w, "s", default_settings());
    manners_of(w, s)->never_starts = true;
    settle(w);
    struct client *c = greeted_client(w, NULL);
    client_calls(c, 1, "s__some\\u0074hing");
    client_calls(c, 2, "t__something");
    client_calls(c, 3, "s__");
    CHECK(error_of(c, 2) == -32602 && error_of(c, 3) == -32602);
    child_start(newest_child(w, s));
    CHECK(was_called(w, s, "something"));
}

TEST(the_names_of_a_server_that_is_off_still_say_why)
{
    struct world *w = world_new();
    struct hf_server *s = add_with_tools(w, "s", "[{\"name\":\"echo\"}]");
    operate(w, s, HF_OP_DISABLE);
    struct client *c = greeted_client(w, NULL);
    CHECK_STR(list_tools(c), "");
    client_calls(c, 1, "s__echo");
    CHECK_EQ(error_of(c, 1), -31003);
    client_calls(c, 2, "s__never");
    CHECK_EQ(error_of(c, 2), -32602);
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
    CHECK_EQ(error_of(c, 2), -32602);
    struct hf_server *after = add_server(w, "s", default_settings());
    manners_of(w, after)->answers_calls = true;
    settle(w);
    client_calls(c, 3, "s__echo");
    CHECK(has_result(c, 3));
}

/* ---- pages ---- */

static struct world *paged_world(uint64_t page_bytes)
{
    return world_new_with(LIMITS(.page_bytes = page_bytes));
}

static void list_from(struct client *c, int id, struct hf_span cursor)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\",\"params\":{\"cursor\":%."
                "*s}}",
                id, HF_FMT(cursor));
}

static struct hf_span next_cursor(const struct client *c, int id)
{
    return hf_json_get(answer_to(c, id)->msg.result, HF_SPAN("nextCursor"));
}

static const char five[] =
    "[{\"name\":\"t1\"},{\"name\":\"t2\"},{\"name\":\"t3\"},{\"name\":\"t4\"},{\"name\":\"t5\"}]";

TEST(one_page_unless_it_would_exceed_page_bytes_and_every_item_is_on_exactly_one)
{
    struct world *w = paged_world(40);
    add_with_tools(w, "s", five);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    CHECK_STR(names_in(c, 1, "tools"), "s__t1,s__t2");
    list_from(c, 2, next_cursor(c, 1));
    CHECK_STR(names_in(c, 2, "tools"), "s__t3,s__t4");
    list_from(c, 3, next_cursor(c, 2));
    CHECK_STR(names_in(c, 3, "tools"), "s__t5");
    CHECK_EQ(next_cursor(c, 3).p, NULL);
    client_calls(c, 4, "s__t5"); /* all pages are given names */
    CHECK_EQ(answers_to(c, 4), 0);
}

TEST(an_item_larger_than_a_page_has_a_page_of_its_own)
{
    struct world *w = paged_world(10);
    add_with_tools(w, "s", five);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    int id = 1;
    for (; next_cursor(c, id).p && id < 20; id++)
        list_from(c, id + 1, next_cursor(c, id));
    CHECK_EQ(id, 5);
}

TEST(a_cursor_stays_good_while_the_list_changes_under_it)
{
    struct world *w = paged_world(40);
    struct hf_server *s = add_with_tools(w, "s", five);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    manners_of(w, s)->tools = "[{\"name\":\"u\"}]";
    child_dies(newest_child(w, s));
    struct client *other = greeted_client(w, NULL);
    CHECK_STR(list_tools(other), "s__u");
    list_from(c, 2, next_cursor(c, 1));
    CHECK_STR(names_in(c, 2, "tools"), "s__t3,s__t4");
    advance(w, 299000);
    list_from(c, 3, next_cursor(c, 1));
    CHECK(has_result(c, 3));
    advance(w, 1000); /* five minutes */
    list_from(c, 4, next_cursor(c, 1));
    CHECK_EQ(error_of(c, 4), -32602);
}

TEST(a_cursor_of_the_fifth_list_before_is_told_to_start_again)
{
    struct world *w = paged_world(40);
    struct hf_server *s = add_with_tools(w, "s", five);
    struct client *c = greeted_client(w, NULL), *other = greeted_client(w, NULL);
    client_asks(c, 1, "tools/list");
    for (int i = 0; i < 4; i++) {
        char tools[200];
        (void)snprintf(tools, sizeof tools,
                       "[{\"name\":\"version_number_%d_a\"},{\"name\":\"version_number_%d_b\"}]", i,
                       i);
        manners_of(w, s)->tools = tools;
        operate(w, s, HF_OP_RESTART);
        (void)list_tools(other);
        list_from(c, 10 + i, next_cursor(c, 1));
        CHECK_EQ(has_result(c, 10 + i), i < 3); /* the last four are kept */
    }
}

TEST(a_cursor_that_is_none_of_ours_is_refused_by_name)
{
    static const char *const bad[] = { "\"\"", "\"v1\"", "\"v999-0\"",    "\"v1-99\"",
                                       "7",    "null",   "\"v1-1 or so\"" };
    struct world *w = paged_world(40);
    add_with_tools(w, "s", five);
    struct client *c = greeted_client(w, NULL);
    client_asks(c, 100, "tools/list");
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        list_from(c, i, hf_span_of(bad[i]));
        if (error_of(c, i) != -32602)
            printf("# %s\n", bad[i]);
        CHECK(i == 0 || error_of(c, i) == -32602); /* 0 is the greeting's id as well */
    }
}
