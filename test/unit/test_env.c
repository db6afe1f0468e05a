/* test_env.c - which variables a server's process gets. */
#include "test.h"
#include "base/strings.h"
#include "ops/env.h"

static char *const ours[] = {
    "HOME=/h",        "PATH=/bin", "SECRET=s",         "LC_TIME=C", "XDG_RUNTIME_DIR=/run",
    "TERM=xterm",     "USERX=no",  "HOLDFAST_TOKEN=t", "AWS_KEY=k", "AWS_REGION=r",
    "no equals sign", "EMPTY=",    "HOLDFAST=plain",   NULL
};

static bool has(char **env, const char *entry)
{
    for (; *env; env++)
        if (strcmp(*env, entry) == 0)
            return true;
    return false;
}

static void set_env(struct hf_server_config *s, const char *key, const char *value)
{
    s->env = hf_realloc(s->env, (s->env_count + 1) * sizeof *s->env);
    s->env[s->env_count++] = (struct hf_pair) { hf_strdup(key), hf_strdup(value) };
}

TEST(a_child_gets_only_the_usual_variables)
{
    static char *const all_usual[] = {
        "HOME=1",   "LANG=1", "LC_ALL=1", "LOGNAME=1",         "PATH=1", "SHELL=1", "TERM=1",
        "TMPDIR=1", "TZ=1",   "USER=1",   "XDG_CONFIG_HOME=1", NULL
    };
    struct hf_server_config s;
    hf_server_config_init(&s, "x");
    char **env = hf_env_build(&s, ours);
    CHECK(has(env, "HOME=/h") && has(env, "PATH=/bin") && has(env, "LC_TIME=C"));
    CHECK(has(env, "XDG_RUNTIME_DIR=/run") && has(env, "TERM=xterm"));
    CHECK_EQ(hf_strings_count(env), 5);
    hf_env_free(env);
    env = hf_env_build(&s, all_usual);
    CHECK(hf_strings_same(env, all_usual));
    hf_env_free(env);
    hf_server_config_done(&s);
}

TEST(globs_let_more_of_ours_through)
{
    struct hf_server_config s;
    hf_server_config_init(&s, "x");
    hf_strings_add(&s.inherit_globs, hf_strdup("AWS_*"));
    hf_strings_add(&s.inherit_globs, hf_strdup("EMPTY"));
    char **env = hf_env_build(&s, ours);
    CHECK(has(env, "AWS_KEY=k") && has(env, "AWS_REGION=r") && has(env, "EMPTY="));
    CHECK(!has(env, "SECRET=s"));
    CHECK_EQ(hf_strings_count(env), 8);
    hf_env_free(env);
    hf_server_config_done(&s);
}

TEST(our_own_variables_never_travel)
{
    struct hf_server_config s;
    hf_server_config_init(&s, "x");
    s.inherit = HF_INHERIT_ALL;
    hf_strings_add(&s.inherit_globs, hf_strdup("*"));
    char **env = hf_env_build(&s, ours);
    CHECK(has(env, "SECRET=s") && has(env, "USERX=no") && has(env, "HOLDFAST=plain"));
    CHECK(!has(env, "HOLDFAST_TOKEN=t"));
    CHECK_EQ(hf_strings_count(env), 11);
    hf_env_free(env);
    s.inherit = HF_INHERIT_LISTED;
    env = hf_env_build(&s, ours);
    CHECK(has(env, "SECRET=s") && !has(env, "HOLDFAST_TOKEN=t"));
    hf_env_free(env);
    hf_server_config_done(&s);
}

TEST(its_own_env_replaces_ours_and_may_name_anything)
{
    struct hf_server_config s;
    hf_server_config_init(&s, "x");
    set_env(&s, "PATH", "/opt");
    set_env(&s, "TOKEN", "a=b");
    set_env(&s, "HOLDFAST_TOKEN", "for the inner one");
    char **env = hf_env_build(&s, ours);
    CHECK(has(env, "PATH=/opt") && !has(env, "PATH=/bin"));
    CHECK(has(env, "TOKEN=a=b") && has(env, "HOLDFAST_TOKEN=for the inner one"));
    CHECK_EQ(hf_strings_count(env), 7);
    hf_env_free(env);
    hf_server_config_done(&s);
}

TEST(an_empty_environment_is_an_environment)
{
    static char *const nothing[] = { NULL };
    struct hf_server_config s;
    hf_server_config_init(&s, "x");
    char **env = hf_env_build(&s, nothing);
    CHECK(env && !env[0]);
    hf_env_free(env);
    hf_env_free(NULL);
    hf_server_config_done(&s);
}
