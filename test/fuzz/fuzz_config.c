/*
 * fuzz_config.c - any bytes as a config file, with options of the command line before it.
 *
 * Input: the file, then (after a NUL) option, NUL, value, NUL, and so on. Beside not crashing: what
 * is accepted is whole, and what is refused says why without a character that a terminal would
 * obey. Blanking comments moves no line, changes no JSON, and leaves nothing to blank.
 */
#include <stdint.h>
#include <stdlib.h>
#include "base/strings.h"
#include "ops/config.h"
#include "ops/config_plain.h"
#include "ops/config_text.h"
#include "ops/env.h"
#include "ops/option_checks.h"
#include "wire/json.h"

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
    size_t length;
    const struct hf_span span = hf_span_of(text);
    must(span.n > 0);
    for (size_t i = 0; i < span.n; i += length) {
        const unsigned control = hf_text_control(span, i, &length);
        /* A sentence that was cut may end within a character. */
        must(control == 0 || ((unsigned char)text[i] >= 0xc0 && span.n - i < 4));
    }
}

static void check_plain(struct hf_span text)
{
    struct hf_json_error ignored;
    char *once = hf_alloc(text.n + 1), *twice = hf_alloc(text.n + 1);
    memcpy(once, text.p, text.n);
    hf_config_plain(once, text.n);
    memcpy(twice, once, text.n);
    hf_config_plain(twice, text.n);
    must(memcmp(once, twice, text.n) == 0);
    for (size_t i = 0; i < text.n; i++)
        must(once[i] == text.p[i] || (once[i] == ' ' && text.p[i] != '\n'));
    must(!hf_json_check(text, 64, &ignored) || memcmp(once, text.p, text.n) == 0);
    hf_free(once);
    hf_free(twice);
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

    check_plain(text);
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
        must(config.mistake_count > 0 || text.n > HF_CONFIG_FILE_MAX);
        for (size_t i = 0; i < config.mistake_count; i++)
            check_sentence(config.mistakes[i].text);
    }
    hf_config_done(&config);
    return 0;
}
