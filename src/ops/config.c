/*
 * config.c - the lifetime of a config, and options of the command line; see config.h.
 *
 * A value of the command line is kept as JSON and set in each server last, so that it does not
 * matter whether it came before or after the file.
 */
#include "ops/config.h"
#include <assert.h>
#include "base/buf.h"
#include "base/strings.h"
#include "base/url.h"
#include "ops/config_parts.h"
#include "ops/config_text.h"
#include "ops/option_checks.h"
#include "ops/option_value.h"
#include "ops/options.h"
#include "ops/server_name.h"

struct hf_override {
    const struct hf_option *option;
    char *json;
};

/* Enough for a full list of longest strings, each byte escaped as \u0000. */
enum { OVERRIDE_MAX = 1 << 30 };

/* ---- lifetimes ---- */

void hf_server_config_init(struct hf_server_config *server, const char *name)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    *server = (struct hf_server_config) { .name = hf_strdup(name) };
    for (size_t i = 0; i < count; i++)
        if (rows[i].where & HF_WHERE_SERVER)
            hf_option_set_initial(&rows[i], server);
}

void hf_server_config_done(struct hf_server_config *server)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].where & HF_WHERE_SERVER)
            hf_option_clear(&rows[i], server);
    hf_free(server->name);
    hf_free(server->problem);
    *server = (struct hf_server_config) { 0 };
}

void hf_config_init(struct hf_config *config)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    *config = (struct hf_config) { .warnings = hf_strings_new() };
    for (size_t i = 0; i < count; i++)
        if (rows[i].where & HF_WHERE_TOP)
            hf_option_set_initial(&rows[i], config);
    hf_server_config_init(&config->defaults, "");
}

void hf_config_done(struct hf_config *config)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    for (size_t i = 0; i < config->server_count; i++)
        hf_server_config_done(&config->servers[i]);
    for (size_t i = 0; i < config->override_count; i++)
        hf_free(config->overrides[i].json);
    for (size_t i = 0; i < count; i++)
        if (rows[i].where & HF_WHERE_TOP)
            hf_option_clear(&rows[i], config);
    hf_free(config->servers);
    hf_free(config->overrides);
    hf_strings_free(config->warnings);
    for (size_t i = 0; i < config->mistake_count; i++)
        hf_free(config->mistakes[i].text);
    hf_free(config->mistakes);
    hf_server_config_done(&config->defaults);
    *config = (struct hf_config) { 0 };
}

static bool same_options(const struct hf_server_config *a, const struct hf_server_config *b,
                         unsigned flags)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    for (size_t i = 0; i < count; i++)
        if ((rows[i].where & HF_WHERE_SERVER) && (rows[i].flags & flags) == flags &&
            !hf_option_same(&rows[i], a, b))
            return false;
    return true;
}

bool hf_server_config_equal(const struct hf_server_config *a, const struct hf_server_config *b)
{
    return same_options(a, b, 0);
}

bool hf_server_config_same(const struct hf_server_config *a, const struct hf_server_config *b)
{
    if (!same_options(a, b, HF_OPTION_RESTARTS))
        return false;
    return a->problem && b->problem ? strcmp(a->problem, b->problem) == 0
                                    : a->problem == b->problem;
}

/* ---- servers ---- */

static bool same_in_prefixes(const char *a, const char *b)
{
    while (*a && *b && hf_prefix_char(*a) == hf_prefix_char(*b))
        a++, b++;
    return *a == *b;
}

bool hf_config_name_check(const struct hf_config *config, const char *name, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX], other[HF_SHOWN_MAX];
    if (!*name || strlen(name) > HF_CONFIG_NAME_MAX)
        return hf_fail(err, "the name of a server has 1 to %d bytes", HF_CONFIG_NAME_MAX);
    if (config->server_count == HF_CONFIG_SERVERS_MAX)
        return hf_fail(err, "there are more than %d servers", HF_CONFIG_SERVERS_MAX);

    hf_text_shown(hf_span_of(name), shown);
    for (size_t i = 0; i < config->server_count; i++) {
        const char *taken = config->servers[i].name;
        if (!same_in_prefixes(taken, name))
            continue;
        if (strcmp(taken, name) == 0)
            return hf_fail(err, "there are two servers with the name \"%s\"", shown);
        hf_text_shown(hf_span_of(taken), other);
        return hf_fail(err,
                       "\"%s\" and \"%s\" are one name in prefixes, where characters outside "
                       "A-Z a-z 0-9 _ - become \"_\"",
                       other, shown);
    }
    return true;
}

static void copy_options(struct hf_server_config *to, const struct hf_server_config *from)
{
    size_t count;
    const struct hf_option *rows = hf_options(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].where & HF_WHERE_SERVER)
            hf_option_copy(&rows[i], to, from);
}

void hf_server_config_copy(struct hf_server_config *to, const struct hf_server_config *from)
{
    *to = (struct hf_server_config) { .name = hf_strdup(from->name) };
    to->problem = from->problem ? hf_strdup(from->problem) : NULL;
    to->problem_may_pass = from->problem_may_pass;
    copy_options(to, from);
}

struct hf_server_config *hf_config_add_server(struct hf_config *config, const char *name)
{
    config->servers =
        hf_realloc(config->servers, (config->server_count + 1) * sizeof *config->servers);
    struct hf_server_config *server = &config->servers[config->server_count++];
    *server = (struct hf_server_config) { .name = hf_strdup(name) };
    copy_options(server, &config->defaults);
    return server;
}

bool hf_config_add_command(struct hf_config *config, const char *name, char *const *argv,
                           struct hf_err *err)
{
    if (!argv[0] || !*argv[0])
        return hf_fail(err, "there is no command to run");
    char *own_name = name ? hf_strdup(name) : hf_server_name_of(argv);
    struct hf_server_config *server = NULL;
    if (hf_config_name_check(config, own_name, err))
        server = hf_config_add_server(config, own_name);
    hf_free(own_name);
    if (!server)
        return false;
    hf_free(server->command);
    hf_strings_free(server->args);
    server->command = hf_strdup(argv[0]);
    server->args = hf_strings_copy(argv + 1);
    server->inherit = HF_INHERIT_ALL; /* the client's config sets variables for this one server */
    return hf_config_override_server(config, server, err);
}

static void set_url_problem(struct hf_server_config *server, const char *wrong)
{
    struct hf_err problem;
    (void)hf_fail(&problem, "its URL: %s; it looks like https://HOST/PATH",
                  *server->url ? wrong : "it is empty");
    server->problem = hf_strdup(problem.text);
}

bool hf_config_add_url(struct hf_config *config, const char *name, const char *url,
                       struct hf_err *err)
{
    struct hf_url parts;
    struct hf_err wrong;
    struct hf_span host = HF_SPAN("remote");
    const bool is_url = hf_check_url(url, &wrong) && hf_url_read(hf_span_of(url), &parts, &wrong);
    if (is_url)
        host = parts.authority.host;
    if (host.p[0] == '[')
        host = (struct hf_span) { host.p + 1, host.n - 2 };

    char *own_name = name ? hf_strdup(name) : hf_span_dup(host);
    bool good = hf_config_name_check(config, own_name, err);
    if (good) {
        struct hf_server_config *server = hf_config_add_server(config, own_name);
        server->url = hf_strdup(url);
        if (!is_url)
            set_url_problem(server, wrong.text);
        good = hf_config_override_server(config, server, err);
    }
    hf_free(own_name);
    return good;
}

/* ---- the command line ---- */

static bool apply(const struct hf_option *option, void *root, const char *json, struct hf_err *err)
{
    char kebab[HF_OPTION_KEBAB_MAX];
    struct hf_option_fault fault;
    if (hf_option_set(option, root, hf_span_of(json), NULL, &fault))
        return true;
    hf_option_kebab(option, kebab);
    return hf_fail(err, "--%s: %s", kebab, fault.text);
}

bool hf_config_override_server(const struct hf_config *config, struct hf_server_config *server,
                               struct hf_err *err)
{
    for (size_t i = 0; i < config->override_count; i++) {
        const struct hf_override *o = &config->overrides[i];
        if (!(o->option->where & HF_WHERE_TOP) && !apply(o->option, server, o->json, err))
            return false;
    }
    return true;
}

bool hf_config_override_process(struct hf_config *config, struct hf_err *err)
{
    for (size_t i = 0; i < config->override_count; i++) {
        const struct hf_override *o = &config->overrides[i];
        if ((o->option->where & HF_WHERE_TOP) && !apply(o->option, config, o->json, err))
            return false;
    }
    return true;
}

static struct hf_override *find_override(struct hf_config *config, const struct hf_option *option)
{
    /* Pairs are recorded one by one: setting joins them. */
    for (size_t i = 0; option->type != HF_OPTION_PAIRS && i < config->override_count; i++)
        if (config->overrides[i].option == option)
            return &config->overrides[i];
    return NULL;
}

/* ["a"] given before and ["b"] given now make ["a","b"]. */
static char *join_lists(const char *before, const char *now)
{
    struct hf_buf joined;
    hf_buf_init(&joined, OVERRIDE_MAX);
    hf_buf_add(&joined, (struct hf_span) { before, strlen(before) - 1 });
    hf_buf_add_char(&joined, ',');
    hf_buf_add_str(&joined, now + 1);
    char *json = hf_span_dup(hf_buf_span(&joined));
    hf_buf_done(&joined);
    return json;
}

/* The JSON to be recorded for this value, owned by the caller, or NULL. */
static char *json_of(struct hf_config *config, const struct hf_option *option, const char *value,
                     struct hf_err *err)
{
    struct hf_buf buf;
    char *json = NULL;
    hf_buf_init(&buf, OVERRIDE_MAX);
    if (strlen(value) > HF_OPTION_STRING_MAX)
        hf_fail(err, "the value is longer than %d bytes", HF_OPTION_STRING_MAX);
    else if (hf_option_json_of_text(option, value, &buf, err))
        json = hf_span_dup(hf_buf_span(&buf));
    hf_buf_done(&buf);

    const struct hf_override *before = json ? find_override(config, option) : NULL;
    const bool adds = option->type == HF_OPTION_LIST || option->type == HF_OPTION_INHERIT ||
                      option->type == HF_OPTION_STATUSES;
    if (before && adds && before->json[0] == '[' && json[0] == '[') {
        char *joined = join_lists(before->json, json);
        hf_free(json);
        json = joined;
    }
    return json;
}

/* Takes `json` over. */
static void record(struct hf_config *config, const struct hf_option *option, char *json)
{
    struct hf_override *o = find_override(config, option);
    if (!o) {
        config->overrides = hf_realloc(config->overrides, (config->override_count + 1) * sizeof *o);
        o = &config->overrides[config->override_count++];
        *o = (struct hf_override) { .option = option };
    }
    hf_free(o->json);
    o->json = json;
}

static bool apply_everywhere(struct hf_config *config, const struct hf_option *option,
                             const char *json, struct hf_err *err)
{
    if (option->where & HF_WHERE_TOP)
        return apply(option, config, json, err);
    /* The defaults come first: a value that is wrong anywhere is wrong there. */
    bool good = apply(option, &config->defaults, json, err);
    for (size_t i = 0; good && i < config->server_count; i++)
        good = apply(option, &config->servers[i], json, err);
    return good;
}

static bool no_such_option(const char *option, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX], nearest[HF_OPTION_KEBAB_MAX];
    hf_text_shown(hf_span_of(option), shown);
    if (hf_option_comes_later(HF_WHERE_LINE, hf_span_of(option)))
        return hf_fail(err, "--%s is not known to this version of holdfast", shown);
    if (hf_option_nearest_kebab(option, nearest))
        return hf_fail(err, "there is no option --%s; did you mean --%s?", shown, nearest);
    return hf_fail(err, "there is no option --%s", shown);
}

bool hf_config_option(struct hf_config *config, const char *option, const char *value,
                      struct hf_err *err)
{
    struct hf_err why;
    const struct hf_option *row = hf_option_find_kebab(option);
    if (!row)
        return no_such_option(option, err);
    if (!value)
        return hf_fail(err, "--%s needs a value", option);
    char *json = json_of(config, row, value, &why);
    if (!json)
        return hf_fail(err, "--%s: %s", option, why.text);
    if (!apply_everywhere(config, row, json, err)) {
        hf_free(json);
        return false;
    }
    record(config, row, json);
    return true;
}

int hf_config_option_arity(const char *option)
{
    return hf_option_find_kebab(option) ? 1 : -1;
}
