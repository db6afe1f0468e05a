/* library_config.c - configuration through the public header. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/edit_distance.h"
#include "base/url.h"
#include "holdfast/holdfast.h"
#include "lib/library_parts.h"
#include "ops/config_expand.h"
#include "ops/config_text.h"
#include "ops/option_checks.h"
#include "ops/option_value.h"
#include "ops/options.h"
#include "ops/token.h"

static_assert((int)HF_TOKEN_TEXT_SIZE <= (int)HF_TOKEN_SIZE, "a token fits");

enum { REPORT_MAX = 1200 };

struct hf_config *hf_config_new(void)
{
    struct hf_config *config = hf_new(struct hf_config);
    hf_config_init(config);
    return config;
}

void hf_config_free(struct hf_config *config)
{
    if (!config)
        return;
    hf_config_done(config);
    hf_free(config);
}

static const char *from_environment(const char *name, void *context)
{
    (void)context;
    return getenv(name);
}

static bool pass(bool done, const struct hf_err *err, char error[HF_ERROR_SIZE])
{
    if (!done)
        (void)snprintf(error, HF_ERROR_SIZE, "%s", err->text);
    return done;
}

bool hf_config_read(struct hf_config *config, const char *text, size_t length,
                    char error[HF_ERROR_SIZE])
{
    struct hf_err err = { "" };
    const struct hf_span span = { text, length };
    if (!pass(hf_config_parse(config, span, from_environment, NULL, &err), &err, error))
        return false;
    hf_config_look(config);
    return true;
}

bool hf_config_read_file(struct hf_config *config, const char *path, char error[HF_ERROR_SIZE])
{
    char *text = hf_alloc(HF_CONFIG_FILE_MAX + 1);
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, HF_CONFIG_FILE_MAX + 1, file) : 0;
    const int why = errno;
    const bool failed = !file || ferror(file) != 0;
    if (failed) {
        (void)snprintf(error, HF_ERROR_SIZE, "it cannot be read: %s", strerror(why));
        hf_config_add_mistake(config, 0, error);
    }
    const bool done = !failed && hf_config_read(config, text, length, error);
    hf_free(text);
    if (file)
        (void)fclose(file);
    return done;
}

bool hf_config_command(struct hf_config *config, const char *name, char *const *argv,
                       char error[HF_ERROR_SIZE])
{
    struct hf_err err = { "" };
    return pass(hf_config_add_command(config, name, argv, &err), &err, error);
}

bool hf_config_url(struct hf_config *config, const char *name, const char *url,
                   char error[HF_ERROR_SIZE])
{
    struct hf_err err = { "" };
    return pass(hf_config_add_url(config, name, url, &err), &err, error);
}

bool hf_config_set(struct hf_config *config, const char *option, const char *value,
                   char error[HF_ERROR_SIZE])
{
    struct hf_err err = { "" };
    return pass(hf_config_option(config, option, value, &err), &err, error);
}

static bool add_header(struct hf_config *config, const char *header, struct hf_err *err)
{
    const char *cut = hf_option_cut(hf_option_find_kebab("headers"), header);
    if (!cut)
        return hf_fail(err, "a header looks like \"Name: value\"");
    if (strlen(header) >= HF_OPTION_STRING_MAX)
        return hf_fail(err, "a header is longer than %d bytes", HF_OPTION_STRING_MAX);

    const char *value = *cut == ':' ? cut + 1 + strspn(cut + 1, " \t") : cut + 1;
    char *pair = hf_span_dup((struct hf_span) { header, (size_t)(cut - header) });
    bool good = hf_check_header_name(pair, err);
    if (good) {
        struct hf_buf text;
        hf_buf_init(&text, HF_OPTION_STRING_MAX);
        hf_buf_printf(&text, "%s=", pair);
        good = hf_expand(hf_span_of(value), from_environment, NULL, &text, err);
        hf_free(pair);
        pair = hf_span_dup(hf_buf_span(&text));
        hf_buf_done(&text);
    }
    good = good && hf_config_option(config, "headers", pair, err);
    hf_free(pair);
    return good;
}

bool hf_config_header(struct hf_config *config, const char *header, char error[HF_ERROR_SIZE])
{
    struct hf_err err = { "" };
    return pass(add_header(config, header, &err), &err, error);
}

bool hf_config_knows(const char *option, const char *command)
{
    const struct hf_option *row = hf_option_find_kebab(option);
    return row && (!command || hf_option_is_of(row, hf_option_command(command)));
}

size_t hf_config_server_count(const struct hf_config *config)
{
    return config->server_count;
}

const char *hf_config_server_name(const struct hf_config *config, size_t at)
{
    return at < config->server_count ? config->servers[at].name : NULL;
}

const char *hf_config_server_problem(const struct hf_config *config, size_t at)
{
    return at < config->server_count ? config->servers[at].problem : NULL;
}

bool hf_config_has_tokens(const struct hf_config *config)
{
    return config->serve.token_count > 0;
}

/* The scheme, host and port of a URL: its path and query may hold keys. */
static struct hf_span shown_url(const char *text)
{
    struct hf_url url;
    if (!text || !hf_url_read(hf_span_of(text), &url, NULL))
        return (struct hf_span) { NULL, 0 };
    return (struct hf_span) { text, strlen(text) - url.rest.n };
}

static void describe(const struct hf_server_config *server, char *line, size_t size)
{
    const struct hf_span url = shown_url(server->url);
    const char *state = server->disabled ? "disabled" : "ok";
    if (server->problem)
        (void)snprintf(line, size, "%s: cannot start: %s", server->name, server->problem);
    else if (url.p)
        (void)snprintf(line, size, "%s: %s, %.*s", server->name, state, HF_FMT(url));
    else
        (void)snprintf(line, size, "%s: %s", server->name, state);
}

/* Receives the lines that a check of the config reports. */
struct report {
    void (*say)(void *context, const char *line);
    void *context;
};

/* Control characters of the config file are escaped: lines go to a terminal. */
static void tell(const struct report *to, const char *format, ...) HF_PRINTF(2, 3);
static void tell(const struct report *to, const char *format, ...)
{
    char line[REPORT_MAX];
    struct hf_buf shown;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    hf_buf_init(&shown, 8 * REPORT_MAX);
    hf_text_add_escaped(&shown, hf_span_of(line));
    hf_buf_add_char(&shown, '\0');
    to->say(to->context, hf_buf_span(&shown).p);
    hf_buf_done(&shown);
}

static void tell_servers(const struct hf_config *config, const struct report *to)
{
    char line[REPORT_MAX];
    for (size_t i = 0; i < config->server_count; i++) {
        describe(&config->servers[i], line, sizeof line);
        tell(to, "%s", line);
        if (config->servers[i].settings.isolation == HF_ISOLATION_SESSION)
            tell(to,
                 "warning: %s: isolation \"session\": clients of 2026-07-28 have no sessions, and "
                 "behind serve all those with one token share a process",
                 config->servers[i].name);
    }
    if (config->server_count == 0 && config->mistake_count == 0)
        tell(to, "warning: there is no server in \"mcpServers\"; one looks like \"files\": { "
                 "\"command\": \"npx\", \"args\": [\"-y\", \"PACKAGE\"] }, or \"wiki\": { "
                 "\"url\": \"https://…\" }");
}

size_t hf_config_check(struct hf_config *config, void (*say)(void *context, const char *line),
                       void *context)
{
    const struct report to = { say, context };
    struct hf_err err;
    size_t problems = config->mistake_count;
    hf_config_look(config);
    for (size_t i = 0; i < config->mistake_count; i++)
        tell(&to, "error: %s", config->mistakes[i].text);
    for (size_t i = 0; config->warnings && config->warnings[i]; i++)
        tell(&to, "warning: %s", config->warnings[i]);
    for (size_t i = 0; i < config->server_count; i++)
        problems += config->servers[i].problem != NULL;
    tell_servers(config, &to);
    if (!hf_config_may_serve(config, &err)) {
        problems++;
        tell(&to, "holdfast serve: cannot start: %s", err.text);
    }
    if (config->mistake_count)
        tell(&to, "no server of this file starts until the lines that say \"error\" are mended");
    return problems;
}

const char *hf_plain_text(const char *text, char room[HF_ERROR_SIZE])
{
    struct hf_buf shown;
    struct hf_span span = hf_span_of(text);
    span.n = span.n < HF_ERROR_SIZE ? span.n : HF_ERROR_SIZE;
    hf_buf_init(&shown, 8 * HF_ERROR_SIZE);
    hf_text_add_escaped(&shown, span);
    (void)snprintf(room, HF_ERROR_SIZE, "%.*s", HF_FMT(hf_buf_span(&shown)));
    hf_buf_done(&shown);
    return room;
}

const char *hf_did_you_mean(const char *word, const char *const *known)
{
    const char *best = NULL;
    unsigned distance, best_distance = HF_TOO_FAR;
    for (; *known; known++) {
        if ((distance = hf_edit_distance(hf_span_of(word), hf_span_of(*known))) >= best_distance)
            continue;
        best_distance = distance;
        best = *known;
    }
    return best;
}

bool hf_token_make(const char *name, char ret_token[HF_TOKEN_SIZE], char ret_entry[HF_ERROR_SIZE],
                   char error[HF_ERROR_SIZE])
{
    struct hf_err err = { "" };
    struct hf_buf entry;
    hf_buf_init(&entry, HF_ERROR_SIZE);
    const bool made = hf_token_new(name, ret_token, &entry, &err);
    (void)snprintf(ret_entry, HF_ERROR_SIZE, "%.*s", HF_FMT(hf_buf_span(&entry)));
    hf_buf_done(&entry);
    return pass(made, &err, error);
}

const char *hf_options_text(const char *command, bool all, size_t *ret_left_out)
{
    static char *text; /* returned by the last call, and freed by the next */
    struct hf_buf buf;
    hf_buf_init(&buf, 1 << 20);
    *ret_left_out = hf_options_help(&buf, hf_option_command(command), all);
    hf_free(text);
    text = hf_span_dup(hf_buf_span(&buf));
    hf_buf_done(&buf);
    return text;
}

/* ---- a server's config as the engine wants it ---- */

static struct hf_rename *renames_of(const struct hf_pair *pairs, size_t count)
{
    struct hf_rename *renames = count ? hf_new_array(struct hf_rename, count) : NULL;
    for (size_t i = 0; i < count; i++)
        renames[i] = (struct hf_rename) { hf_span_of(pairs[i].key), hf_span_of(pairs[i].value) };
    return renames;
}

/* Allowing everything is the same as having no rule, and cheaper; allowing nothing is a rule. */
static const char *const *allow_rule(char **globs)
{
    const bool is_all = !globs || (globs[0] && !strcmp(globs[0], "*") && !globs[1]);
    return is_all ? NULL : (const char *const *)globs;
}

static const char *const *deny_rule(char **globs)
{
    return globs && globs[0] ? (const char *const *)globs : NULL;
}

struct hf_server_spec hf_library_server_spec(struct hf_server_config *config,
                                             struct hf_spec_room *room)
{
    room->renames = renames_of(config->rename, config->rename_count);
    room->descriptions = renames_of(config->describe, config->describe_count);
    return (struct hf_server_spec) {
        .name = config->name,
        .settings = config->settings,
        .allow = allow_rule(config->allow),
        .deny = deny_rule(config->deny),
        .renames = room->renames,
        .rename_count = config->rename_count,
        .descriptions = room->descriptions,
        .description_count = config->describe_count,
        .disabled = config->disabled,
        .is_remote = config->url != NULL,
        .problem = config->problem,
        .problem_may_pass = config->problem_may_pass,
        .config = config,
    };
}

void hf_library_spec_done(struct hf_spec_room *room)
{
    hf_free(room->renames);
    hf_free(room->descriptions);
}

struct hf_access *hf_library_access(const struct hf_config *config)
{
    const struct hf_serve_config *serve = &config->serve;
    struct hf_access *access = hf_access_new(serve->hosts, serve->origins);
    hf_access_trust(access, serve->trusted_proxies);
    for (size_t i = 0; i < serve->token_count; i++) {
        const struct hf_token_config *token = &serve->tokens[i];
        const char *const *servers = allow_rule(token->servers);
        const char *const *allow = allow_rule(token->allow);
        const char *const *deny = deny_rule(token->deny);
        struct hf_policy *policy =
            servers || allow || deny ? hf_policy_new(servers, allow, deny) : NULL;
        hf_access_add_token(access, token->name, token->hash, policy, token->errors_as);
        hf_access_set_limits(access, &token->limits);
    }
    return access;
}
