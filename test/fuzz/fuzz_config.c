/*
 * fuzz_config.c - any bytes as a config file, with options of the command line before it.
 *
 * Input: the file, then (after a NUL) option, NUL, value, NUL, and so on. Beside not crashing: what
 * is accepted is whole, and what is refused says why without a byte that a terminal would obey.
 */
#include <stdint.h>
#include <stdlib.h>
#include "base/strings.h"
#include "ops/config.h"
#include "ops/env.h"
#include "ops/option_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *any_variable(const char *name, void *context)
{
    (void)context;
    return name[0] == 'A' ? NULL : name;
}

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_sentence(const char *text)
{
    must(*text);
    for (; *text; text++)
        must((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_server(struct hf_server_config *s)
{
    static char *const ours[] = { "PATH=/bin", "HOLDFAST_X=1", "SECRET=1", NULL };
    must(s->name && s->args && s->inherit_globs && s->allow && s->deny);
    const bool has_command = s->command && *s->command, has_url = s->url && *s->url;
    must(s->problem || has_command != has_url);
    must(s->problem || !has_url || hf_check_url(s->url, NULL));
    for (size_t i = 0; i < s->headers_count; i++) {
        must(hf_check_header_name(s->headers[i].key, NULL));
        must(s->problem || hf_check_header_value(s->headers[i].value, NULL));
    }
    must(s->settings.reconnect.jitter >= 0 && s->settings.reconnect.jitter <= 1);
    must(hf_server_config_same(s, s));
    char **env = hf_env_build(s, ours);
    must(hf_strings_count(env) <= s->env_count + 2);
    hf_env_free(env);
    if (s->problem)
        check_sentence(s->problem);
}

static void check_serve(const struct hf_config *config)
{
    struct hf_err err;
    const struct hf_serve_config *serve = &config->serve;
    must(serve->hosts && serve->origins && hf_check_listen(serve->listen, NULL));
    for (size_t i = 0; i < serve->token_count; i++)
        must(*serve->tokens[i].name && serve->tokens[i].servers && serve->tokens[i].allow &&
             serve->tokens[i].deny);
    if (!hf_config_may_serve(config, &err))
        check_sentence(err.text);
}

static struct hf_span cut(struct hf_span *rest)
{
    const char *nul = rest->n ? memchr(rest->p, '\0', rest->n) : NULL;
    const struct hf_span part = { rest->p, nul ? (size_t)(nul - rest->p) : rest->n };
    *rest = hf_span_from(*rest, part.n + 1);
    return part;
}

static void give_options(struct hf_config *config, struct hf_span rest)
{
    struct hf_err err;
    for (unsigned i = 0; rest.n > 0 && i < 64; i++) {
        char *option = hf_span_dup(cut(&rest));
        char *value = hf_span_dup(cut(&rest));
        if (!hf_config_option(config, option, value, &err))
            check_sentence(err.text);
        hf_free(option);
        hf_free(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hf_config config;
    struct hf_err err;
    struct hf_span rest = { (const char *)data, size };
    const struct hf_span text = cut(&rest);

    hf_config_init(&config);
    give_options(&config, rest);
    if (hf_config_parse(&config, text, any_variable, NULL, &err)) {
        for (size_t i = 0; i < config.server_count; i++)
            check_server(&config.servers[i]);
        for (size_t i = 0; config.warnings[i]; i++)
            check_sentence(config.warnings[i]);
        check_serve(&config);
        must(config.limits.max_depth >= 8 && config.limits.page_bytes >= 1000);
    } else {
        check_sentence(err.text);
    }
    hf_config_done(&config);
    return 0;
}
