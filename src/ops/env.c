/* env.c - see env.h. */
#include "ops/env.h"
#include <stdio.h>
#include "base/glob.h"
#include "base/strings.h"

static const char *const usual[] = {
    "HOME", "LANG",   "LC_*", "LOGNAME", "PATH",  "SHELL",
    "TERM", "TMPDIR", "TZ",   "USER",    "XDG_*", NULL,
};

static bool matches(const char *const *globs, struct hf_span name)
{
    for (size_t i = 0; globs && globs[i]; i++)
        if (hf_glob(globs[i], name))
            return true;
    return false;
}

static bool is_replaced(const struct hf_server_config *server, struct hf_span name)
{
    for (size_t i = 0; i < server->env_count; i++)
        if (hf_span_is(name, server->env[i].key))
            return true;
    return false;
}

static bool travels(const struct hf_server_config *server, struct hf_span name)
{
    if (hf_span_starts(name, HF_SPAN("HOLDFAST_")) || is_replaced(server, name))
        return false;
    return server->inherit == HF_INHERIT_ALL || matches(usual, name) ||
           matches((const char *const *)server->inherit_globs, name);
}

char **hf_env_build(const struct hf_server_config *server, char *const *our_environ)
{
    size_t ours = hf_strings_count(our_environ), n = 0;
    char **env = hf_new_array(char *, ours + server->env_count + 1);
    for (size_t i = 0; i < ours; i++) {
        const char *equals = strchr(our_environ[i], '=');
        if (!equals)
            continue;
        if (travels(server, (struct hf_span) { our_environ[i], (size_t)(equals - our_environ[i]) }))
            env[n++] = hf_strdup(our_environ[i]);
    }
    for (size_t i = 0; i < server->env_count; i++) {
        const struct hf_pair *pair = &server->env[i];
        const size_t size = strlen(pair->key) + strlen(pair->value) + 2;
        env[n] = hf_alloc(size);
        (void)snprintf(env[n++], size, "%s=%s", pair->key, pair->value);
    }
    return env;
}

void hf_env_free(char **env)
{
    hf_strings_free(env);
}
