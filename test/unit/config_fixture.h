/*
 * config_fixture.h - a file read with an environment of our own, for the tests of the config.
 */
#ifndef HF_TEST_CONFIG_FIXTURE_H
#define HF_TEST_CONFIG_FIXTURE_H

#include "ops/config.h"
#include "test.h"

#define IN_SERVER(members)   "{\n\"mcpServers\":\n{\"a\":\n{" members "}}}"
#define IN_HOLDFAST(members) "{\"mcpServers\":{},\n\"holdfast\":\n{" members "}}"

static inline const char *fake_env(const char *name, void *context)
{
    static const char *const variables[][2] = {
        { "TOKEN", "s3cret" },   { "EMPTY", "" },        { "DOLLAR", "${TOKEN}" },
        { "BREAK", "s3cret\n" }, { "HOST", "mcp.test" }, { "FTP", "ftp://s3cret" },
    };
    (void)context;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (strcmp(variables[i][0], name) == 0)
            return variables[i][1];
    return NULL;
}

static inline bool parse(struct hf_config *config, const char *text, struct hf_err *err)
{
    return hf_config_parse(config, hf_span_of(text), fake_env, NULL, err);
}

static inline void end_of_test(void *config)
{
    hf_config_done(config);
    hf_free(config);
}

static inline struct hf_config *config_new(void) /* ends with its test */
{
    struct hf_config *config = hf_new(struct hf_config);
    hf_config_init(config);
    test_at_end(end_of_test, config);
    return config;
}

static inline bool is(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* It is refused with that sentence, which shows no secret. */
static inline void check_says(bool is_refused, const char *what, const struct hf_err *err,
                              const char *says)
{
    const bool as_said = is_refused && strstr(err->text, says) && !strstr(err->text, "s3cret");
    if (!as_said)
        printf("# %s\n# said: %s\n", what, err->text);
    CHECK(as_said);
}

static inline void check_file_refused(const char *text, const char *says)
{
    struct hf_config c;
    struct hf_err err = { "" };
    hf_config_init(&c);
    check_says(!parse(&c, text, &err), text, &err, says);
    hf_config_done(&c);
}

static inline void check_option_refused(const char *option, const char *value, const char *says)
{
    struct hf_config c;
    struct hf_err err = { "" };
    hf_config_init(&c);
    check_says(!hf_config_option(&c, option, value, &err), option, &err, says);
    CHECK_EQ(c.override_count, 0);
    hf_config_done(&c);
}

/* Whether a server with the members `b` can go on with what was started for one with `a`. */
static inline void check_same(const char *a, const char *b, bool is_same)
{
    const char *const members[] = { a, b };
    struct hf_config configs[2];
    for (size_t i = 0; i < 2; i++) {
        char text[200];
        struct hf_err err;
        hf_config_init(&configs[i]);
        (void)snprintf(text, sizeof text, "{\"mcpServers\":{\"a\":{%s}}}", members[i]);
        CHECK(parse(&configs[i], text, &err));
    }
    const struct hf_server_config *first = configs[0].servers, *second = configs[1].servers;
    CHECK_EQ(hf_server_config_same(first, second), is_same);
    CHECK_EQ(hf_server_config_same(second, first), is_same);
    CHECK(hf_server_config_same(second, second));
    hf_config_done(&configs[0]);
    hf_config_done(&configs[1]);
}

#endif
