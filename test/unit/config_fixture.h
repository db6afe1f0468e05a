/*
 * config_fixture.h - a file read with an environment of our own, for the tests of the config.
 */
#ifndef HF_TEST_CONFIG_FIXTURE_H
#define HF_TEST_CONFIG_FIXTURE_H

#include "ops/config.h"

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

static inline bool is(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

#endif
