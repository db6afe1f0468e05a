/* test_options.c - the option table: sound rows, names on the command line, near-misses, texts. */
#include "test.h"
#include "base/edit_distance.h"
#include "ops/config.h"
#include "ops/option_value.h"
#include "ops/options.h"
#include "wire/json.h"

static const char *nearest(unsigned where, const char *group, const char *name)
{
    const char *found = hf_option_nearest(where, group, hf_span_of(name));
    return found ? found : "";
}

TEST(every_row_is_sound)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    for (size_t i = 0; i < count; i++) {
        const struct hf_option *o = &rows[i];
        const bool is_top = o->where & HF_WHERE_TOP;
        struct hf_json_error error;
        CHECK(o->help && *o->help && strlen(o->help) <= 60);
        CHECK(is_top != !!(o->where & HF_WHERE_SERVER));
        CHECK_EQ(o->type == HF_OPTION_CHOICE, !!o->choices);
        CHECK(o->min <= o->max);
        CHECK(o->type == HF_OPTION_BOOL || o->type == HF_OPTION_CHOICE || o->unit);
        CHECK(o->type == HF_OPTION_STRING ||
              (o->initial && hf_json_check(hf_span_of(o->initial), 8, &error)));
        CHECK(o->at + o->size <=
              (is_top ? sizeof(struct hf_config) : sizeof(struct hf_server_config)));
        for (size_t k = 0; k < i; k++) {
            CHECK(strcmp(rows[k].key, o->key) != 0);
            CHECK(!!(rows[k].where & HF_WHERE_TOP) != is_top || rows[k].at != o->at);
        }
    }
}

/* Or a correct key would be refused as a slip of another one. */
TEST(every_key_is_found_where_it_may_stand)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    for (size_t i = 0; i < count; i++) {
        const char *dot = strchr(rows[i].key, '.');
        char group[32] = "";
        if (dot)
            memcpy(group, rows[i].key, (size_t)(dot - rows[i].key));
        const struct hf_span name = hf_span_of(dot ? dot + 1 : rows[i].key);
        CHECK(hf_option_find(rows[i].where, group, name) == &rows[i]);
        CHECK(!hf_option_find(~rows[i].where, group, name));
        CHECK(!dot || !hf_option_find(rows[i].where, "", hf_span_of(rows[i].key)));
        CHECK(!dot || hf_option_group(rows[i].where, hf_span_of(group)));
    }
    CHECK(!hf_option_find(HF_WHERE_SERVER, "", hf_span_of("")));
    CHECK(!hf_option_group(HF_WHERE_SERVER, hf_span_of("log")));
    CHECK(!hf_option_group(HF_WHERE_TOP, hf_span_of("reconnect")));
    CHECK(hf_option_group(HF_WHERE_TOP, hf_span_of("defaults")));
}

TEST(the_command_line_spells_keys_in_kebab_case)
{
    static const char *const rows[][2] = {
        { "wait-ms", "waitMs" },
        { "reconnect-min-ms", "reconnect.minMs" },
        { "reconnect-first-attempts", "reconnect.firstAttempts" },
        { "call-timeout-max-ms", "callTimeoutMaxMs" },
        { "overlap", "overlap" },
        { "inherit-env", "inheritEnv" },
        { "log-level", "log.level" },
        { "max-message-bytes", "maxMessageBytes" },
        { "env", "env" },
        { "cwd", "cwd" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hf_option *o = hf_option_find_kebab(rows[i][0]);
        CHECK(o && strcmp(o->key, rows[i][1]) == 0);
        CHECK_EQ(hf_config_option_arity(rows[i][0]), 1);
    }
    CHECK_EQ(hf_config_option_arity("waitMs"), -1);
    CHECK_EQ(hf_config_option_arity("command"), -1);
    CHECK_EQ(hf_config_option_arity("args"), -1);
    CHECK_EQ(hf_config_option_arity("disabled"), -1);
    CHECK_EQ(hf_config_option_arity(""), -1);
}

TEST(slips_find_the_key_that_was_meant)
{
    static const struct {
        unsigned where;
        const char *group, *slip, *meant;
    } rows[] = {
        { HF_WHERE_SERVER, "", "waitMS", "waitMs" },
        { HF_WHERE_SERVER, "", "wait_ms", "waitMs" },
        { HF_WHERE_SERVER, "", "wait-ms", "waitMs" },
        { HF_WHERE_SERVER, "", "idelMs", "idleMs" },
        { HF_WHERE_SERVER, "", "disable", "disabled" },
        { HF_WHERE_SERVER, "", "Command", "command" },
        { HF_WHERE_SERVER, "", "arg", "args" },
        { HF_WHERE_SERVER, "", "reconect", "reconnect" },
        { HF_WHERE_SERVER, "", "reconnectMinMs", "reconnect.minMs" },
        { HF_WHERE_SERVER, "reconnect", "minMS", "minMs" },
        { HF_WHERE_SERVER, "liveness", "failure", "failures" },
        { HF_WHERE_TOP, "", "default", "defaults" },
        { HF_WHERE_TOP, "", "max_depth", "maxDepth" },
        { HF_WHERE_TOP, "log", "lvl", "" },
        { HF_WHERE_TOP, "log", "levle", "level" },
        { HF_WHERE_TOP, "", "waitMs", "" },
        { HF_WHERE_SERVER, "", "timeout", "" },
        { HF_WHERE_SERVER, "", "name", "" },
        { HF_WHERE_SERVER, "", "dev", "" },
        { HF_WHERE_SERVER, "", "", "" },
        { HF_WHERE_DEFAULTS, "", "comand", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = nearest(rows[i].where, rows[i].group, rows[i].slip);
        if (strcmp(found, rows[i].meant) != 0)
            printf("# %s gave %s\n", rows[i].slip, found);
        CHECK_STR(found, rows[i].meant);
    }
}

TEST(the_nearest_of_several_wins)
{
    CHECK_STR(nearest(HF_WHERE_SERVER, "", "callTimeoutMs2"), "callTimeoutMs");
    CHECK_STR(nearest(HF_WHERE_SERVER, "", "killMss"), "killMs");
    char kebab[HF_OPTION_KEBAB_MAX];
    CHECK(hf_option_nearest_kebab("reconect-min-ms", kebab));
    CHECK_STR(kebab, "reconnect-min-ms");
    CHECK(!hf_option_nearest_kebab("nothing-like-it", kebab));
    CHECK(!hf_option_nearest_kebab("comand", kebab));
}

TEST(short_words_must_be_closer)
{
    CHECK_EQ(hf_edit_distance(hf_span_of("abcd"), hf_span_of("abce")), 1);
    CHECK_EQ(hf_edit_distance(hf_span_of("abcd"), hf_span_of("abef")), HF_TOO_FAR);
    CHECK_EQ(hf_edit_distance(hf_span_of("abcde"), hf_span_of("abcfg")), 2);
    CHECK_EQ(hf_edit_distance(hf_span_of("abcde"), hf_span_of("abfgh")), HF_TOO_FAR);
    CHECK_EQ(hf_edit_distance(hf_span_of("A-b_c.D"), hf_span_of("abcd")), 0);
    CHECK_EQ(hf_edit_distance(hf_span_of(""), hf_span_of("")), HF_TOO_FAR);
    char longest[200];
    memset(longest, 'x', sizeof longest);
    CHECK(hf_edit_distance((struct hf_span) { longest, sizeof longest },
                           (struct hf_span) { longest, sizeof longest }) == HF_TOO_FAR);
}

TEST(keys_of_coming_versions_are_known_as_such)
{
    CHECK(hf_option_comes_later(HF_WHERE_TOP, hf_span_of("store")));
    CHECK(hf_option_comes_later(HF_WHERE_LINE, hf_span_of("store")));
    CHECK(!hf_option_comes_later(HF_WHERE_SERVER, hf_span_of("store")));
    CHECK(!hf_option_comes_later(HF_WHERE_TOP, hf_span_of("storm")));
}

static bool mentions(struct hf_span text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

TEST(help_has_an_aligned_line_for_every_option)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    struct hf_buf out;
    hf_buf_init(&out, 1 << 20);
    CHECK(hf_options_help(&out, HF_FOR_SERVE, true) == 0);
    const struct hf_span text = hf_buf_span(&out);
    for (size_t i = 0; i < count; i++) {
        char kebab[HF_OPTION_KEBAB_MAX], line[80];
        hf_option_kebab(&rows[i], kebab);
        (void)snprintf(line, sizeof line, "\n  --%s ", kebab);
        CHECK_EQ(mentions(text, line), !!(rows[i].where & HF_WHERE_LINE));
    }
    CHECK(mentions(text, "\n  --wait-ms <ms>                        longest time"));
    CHECK(mentions(text, "(45000)\n") && mentions(text, "--start eager|lazy ") &&
          mentions(text, "--overlap true|false ") && mentions(text, "--env <name=value> ") &&
          mentions(text, "(*)\n") && mentions(text, "--inherit-env true|<glob> "));
    for (const char *at = text.p, *end; at < text.p + text.n; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text.p + text.n - at));
        REQUIRE(end);
        CHECK(end - at <= 100);
        CHECK(strncmp(at, "  --", 4) != 0 || (at[39] == ' ' && at[40] != ' '));
    }
    hf_buf_done(&out);
}

TEST(help_of_a_command_has_about_ten_lines_and_only_what_it_has)
{
    static const struct {
        const char *name, *has, *lacks;
    } rows[] = {
        { "run", "--env ", "--headers " },    { "run", "--cwd ", "--listen " },
        { "bridge", "--headers ", "--env " }, { "bridge", "--ca ", "--term-ms " },
        { "stdio", "--start ", "--listen " }, { "serve", "--listen ", "--relist-ms " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const unsigned command = hf_option_command(rows[i].name);
        struct hf_buf some, all;
        hf_buf_init(&some, 1 << 20);
        hf_buf_init(&all, 1 << 20);
        const size_t left_out = hf_options_help(&some, command, false);
        CHECK(hf_options_help(&all, command, true) == 0);
        size_t lines = 0;
        for (size_t k = 0; k < hf_buf_len(&some); k++)
            lines += hf_buf_span(&some).p[k] == '\n';
        CHECK(lines >= 8 && lines <= 10 && left_out > 20);
        CHECK(mentions(hf_buf_span(&some), rows[i].has));
        CHECK(!mentions(hf_buf_span(&some), rows[i].lacks));
        CHECK(mentions(hf_buf_span(&all), rows[i].lacks) == (command == HF_FOR_SERVE));
        hf_buf_done(&some);
        hf_buf_done(&all);
    }
    CHECK(hf_option_command("token") == 0);
}

TEST(the_page_has_a_row_for_every_key)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    struct hf_buf out;
    hf_buf_init(&out, 1 << 20);
    hf_options_markdown(&out);
    for (size_t i = 0; i < count; i++) {
        char cell[80];
        (void)snprintf(cell, sizeof cell, "\n| `%s` | ", rows[i].key);
        CHECK(mentions(hf_buf_span(&out), cell));
    }
    hf_buf_done(&out);
}

TEST(a_refused_value_leaves_the_field_as_it_was)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    struct hf_server_config before, after;
    struct hf_option_fault fault;
    hf_server_config_init(&before, "x");
    hf_server_config_init(&after, "x");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].where & HF_WHERE_TOP)
            continue;
        static const char *const wrong[] = {
            "null", "[1]", "{\"a\":1}", "1e99", "-2", "{\"\":\"\"}"
        };
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
            CHECK(!hf_option_set(&rows[i], &after, hf_span_of(wrong[k]), NULL, &fault));
        CHECK(hf_option_same(&rows[i], &before, &after));
    }
    hf_server_config_done(&before);
    hf_server_config_done(&after);
}
