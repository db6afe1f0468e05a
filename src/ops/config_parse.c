/*
 * config_parse.c - the file, read member by member through the option table; see config.h.
 *
 * 1. Every refusal says the line, the full key, what was found and what is allowed. Parsing goes on
 *    after it, so that one run reports every mistake.
 * 2. An unknown key inside `holdfast` refuses the file. Inside a server it may belong to another
 *    program, and refuses the file only if it is close to one of our keys.
 */
#include <stdarg.h>
#include <stdio.h>
#include "base/edit_distance.h"
#include "base/strings.h"
#include "ops/config.h"
#include "ops/config_parts.h"
#include "ops/config_plain.h"
#include "ops/config_text.h"
#include "ops/option_value.h"
#include "ops/options.h"
#include "wire/json.h"

enum { DEPTH_MAX = 64, IGNORED_MAX = 100, MISTAKES_MAX = 100 };

struct parse {
    struct hf_config *config;
    struct hf_span text;
    hf_getenv env;
    void *env_context;
    char **ignored; /* keys that were warned about */
};

/* The object whose members are being read. */
struct scope {
    unsigned where; /* one bit */
    const char *group;
    char path[224];                  /* "mcpServers.db.reconnect" */
    void *root;                      /* where the rows' fields are */
    struct hf_server_config *server; /* NULL outside a server */
    struct hf_option_variables *variables;
    struct hf_span type; /* the server's `type`, a key of other programs; p NULL: not given */
};

static size_t line_of(const struct parse *p, const char *at)
{
    return hf_text_place(p->text, (size_t)(at - p->text.p)).line;
}

void hf_config_add_mistake(struct hf_config *c, size_t line, const char *text)
{
    if (c->mistake_count == MISTAKES_MAX)
        return;
    c->mistakes = hf_realloc(c->mistakes, (c->mistake_count + 1) * sizeof *c->mistakes);
    size_t at = c->mistake_count++;
    for (; at > 0 && c->mistakes[at - 1].line > line; at--)
        c->mistakes[at] = c->mistakes[at - 1];
    c->mistakes[at] = (struct hf_mistake) { line, hf_strdup(text) };
}

static bool add_mistake(struct parse *p, size_t line, const char *text)
{
    hf_config_add_mistake(p->config, line, text);
    return false;
}

static bool fail_at(struct parse *p, const char *at, const char *format, ...) HF_PRINTF(3, 4);
static bool fail_at(struct parse *p, const char *at, const char *format, ...)
{
    struct hf_err why, whole;
    if (p->config->mistake_count == MISTAKES_MAX) /* saves counting lines for nothing */
        return false;
    const size_t line = line_of(p, at);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why.text, sizeof why.text, format, args);
    va_end(args);
    (void)hf_fail(&whole, "line %zu: %.480s", line, why.text);
    return add_mistake(p, line, whole.text);
}

static void warn_at(struct parse *p, const char *at, const char *format, ...) HF_PRINTF(3, 4);
static void warn_at(struct parse *p, const char *at, const char *format, ...)
{
    char why[480], line[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    (void)snprintf(line, sizeof line, "line %zu: %s", line_of(p, at), why);
    hf_strings_add(&p->config->warnings, hf_strdup(line));
}

static bool want_object(struct parse *p, const char *path, struct hf_span value)
{
    return hf_json_type(value) == HF_JSON_OBJECT ||
           fail_at(p, value.p, "%s: found %s; allowed is an object", path,
                   hf_option_kind_of(value));
}

/* ---- keys that are not in the table ---- */

/* Names that other programs have for our keys, and whose edit distance is too large. */
static const struct {
    const char *key, *ours;
} synonyms[] = {
    { "cmd", "command" },
    { "arguments", "args" },
    { "environment", "env" },
    { "workingDirectory", "cwd" },
};

static const char *suggestion(const struct scope *s, struct hf_span name)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (s->server && hf_edit_distance(name, hf_span_of(synonyms[i].key)) == 0)
            return synonyms[i].ours;
    return hf_option_nearest(s->where, s->group, name);
}

/* "waitMs" directly in `holdfast`, "maxDepth" in a server: a known key in the wrong object. */
static const char *right_place(const struct scope *s, struct hf_span name)
{
    if (*s->group)
        return NULL;
    if (s->where != HF_WHERE_TOP && hf_option_find(HF_WHERE_TOP, "", name))
        return "in the top-level object \"holdfast\"";
    if (s->where == HF_WHERE_TOP &&
        (hf_option_find(HF_WHERE_DEFAULTS, "", name) || hf_option_group(HF_WHERE_DEFAULTS, name)))
        return "in \"holdfast.defaults\" or in a server";
    if (s->where != HF_WHERE_SERVER && hf_option_find(HF_WHERE_SERVER, "", name))
        return "in a server";
    return NULL;
}

static void warn_ignored(struct parse *p, const struct scope *s, struct hf_span name,
                         const char *at, const char *why)
{
    char shown[HF_SHOWN_MAX];
    const size_t count = hf_strings_count(p->ignored);
    for (size_t i = 0; i < count; i++)
        if (hf_span_is(name, p->ignored[i]))
            return;
    if (count > IGNORED_MAX)
        return;
    hf_strings_add(&p->ignored, hf_span_dup(name));
    hf_text_shown(name, shown);
    if (count == IGNORED_MAX)
        warn_at(p, at, "more keys are ignored");
    else
        warn_at(p, at, "%s.%s: %s; ignored", s->path, shown, why);
}

static bool unknown_key(struct parse *p, const struct scope *s, struct hf_span name, const char *at)
{
    char shown[HF_SHOWN_MAX];
    hf_text_shown(name, shown);
    const bool comes_later = !*s->group && hf_option_comes_later(s->where, name);
    if (comes_later && !s->server)
        return fail_at(p, at, "%s.%s: not known to this version of holdfast", s->path, shown);
    const char *place = right_place(s, name);
    if (place)
        return fail_at(p, at, "%s.%s: it belongs %s", s->path, shown, place);
    const char *near = comes_later ? NULL : suggestion(s, name);
    if (near)
        return fail_at(p, at, "%s.%s: there is no such key; did you mean \"%s\"?", s->path, shown,
                       near);
    if (!s->server || *s->group)
        return fail_at(p, at, "%s.%s: there is no such key", s->path, shown);
    if (hf_span_is(name, "envFile"))
        warn_at(p, at,
                "%s.envFile: holdfast reads no such file; put its variables into \"env\", or let a "
                "shell read it: \"command\": \"sh\", \"args\": [\"-c\", \"set -a; . ./FILE; "
                "exec COMMAND\"]; ignored",
                s->path);
    else
        warn_ignored(p, s, name, at,
                     comes_later ? "not known to this version of holdfast" : "not a key of ours");
    return true;
}

static void set_problem(struct hf_server_config *server, const char *problem)
{
    if (!server->problem)
        server->problem = hf_strdup(problem);
}

/* The row of our own option that a key of another program stands for, or NULL. */
static const struct hf_option *foreign_option(struct scope *s, struct hf_span name)
{
    const bool is_url = hf_span_is(name, "serverUrl") || hf_span_is(name, "httpUrl");
    return s->server && !*s->group && is_url && !s->server->url
               ? hf_option_find(HF_WHERE_SERVER, "", HF_SPAN("url"))
               : NULL;
}

/* Uses keys of other programs that have no row in our table. False: `name` is none of them. */
static bool use_foreign_key(struct scope *s, struct hf_span name, struct hf_span value)
{
    if (!s->server || *s->group)
        return false;
    if (hf_span_is(name, "type")) {
        s->type = value;
        return true;
    }
    if (hf_span_is(name, "enabled")) {
        if (hf_json_type(value) == HF_JSON_FALSE)
            s->server->disabled = true;
        return true;
    }
    return false;
}

/* ---- members ---- */

static bool read_members(struct parse *p, struct scope *s, struct hf_span object);

static bool read_group(struct parse *p, struct scope *outer, const char *group,
                       struct hf_span value)
{
    struct scope s = *outer;
    s.group = group;
    (void)snprintf(s.path, sizeof s.path, "%.180s.%.40s", outer->path, group);
    if (strcmp(group, "defaults") == 0) {
        s.where = HF_WHERE_DEFAULTS;
        s.group = "";
        s.root = &p->config->defaults;
    }
    return want_object(p, s.path, value) && read_members(p, &s, value);
}

static bool read_member(struct parse *p, struct scope *s, struct hf_span object,
                        struct hf_span name, struct hf_json_iter *it)
{
    const struct hf_option *ours = hf_option_find(s->where, s->group, name);
    const struct hf_option *option = ours ? ours : foreign_option(s, name);
    const char *group = *s->group ? NULL : hf_option_group(s->where, name);
    if (!option && !group)
        return use_foreign_key(s, name, it->value) || unknown_key(p, s, name, it->key.p);

    if (hf_json_get(object, name).p != it->value.p)
        return fail_at(p, it->key.p, "%s.%.*s: it is given twice", s->path, HF_FMT(name));
    if (group)
        return read_group(p, s, group, it->value);

    struct hf_option_fault fault;
    if (hf_option_set(option, s->root, it->value, s->variables, &fault))
        return true;
    return fail_at(p, fault.at, "%s.%.*s%s: %s", s->path, HF_FMT(name), fault.item, fault.text);
}

static bool read_members(struct parse *p, struct scope *s, struct hf_span object)
{
    struct hf_buf name;
    bool good = true;
    hf_buf_init(&name, HF_CONFIG_FILE_MAX);
    for (struct hf_json_iter it = hf_json_iter(object); hf_json_next(&it);) {
        hf_buf_clear(&name);
        good &= hf_json_unescape((struct hf_span) { it.key.p - 1, it.key.n + 2 }, &name) &&
                read_member(p, s, object, hf_buf_span(&name), &it);
    }
    hf_buf_done(&name);
    return good;
}

/* ---- servers ---- */

/* The name, owned by the caller, or NULL. */
static char *read_name(struct parse *p, struct hf_span raw, const char *list)
{
    struct hf_err why;
    struct hf_buf name;
    char *owned = NULL;
    hf_buf_init(&name, HF_CONFIG_FILE_MAX);
    const bool good = hf_json_unescape((struct hf_span) { raw.p - 1, raw.n + 2 }, &name);
    const struct hf_span span = hf_buf_span(&name);
    if (!good || (span.n && memchr(span.p, '\0', span.n)))
        fail_at(p, raw.p, "%s: the name of a server holds a NUL character", list);
    else
        owned = hf_span_dup(span);
    hf_buf_done(&name);

    if (owned && !hf_config_name_check(p->config, owned, &why)) {
        fail_at(p, raw.p, "%s: %s", list, why.text);
        hf_free(owned);
        owned = NULL;
    }
    return owned;
}

static bool type_is(struct hf_span type, const char *const *names)
{
    for (; *names; names++)
        if (hf_json_string_is(type, hf_span_of(*names)))
            return true;
    return false;
}

/* A server has a command or a url, and its `type`, a key of other programs, must agree. `object` is
 * its entry. */
static void check_kind(const struct scope *s, struct hf_span object)
{
    static const char *const local[] = { "stdio", "local", NULL };
    static const char *const remote[] = {
        "http", "streamable-http", "streamableHttp", "streamable_http", "remote", "sse", NULL
    };
    struct hf_server_config *server = s->server;
    const bool has_command = server->command && *server->command;
    const bool has_url = server->url && *server->url;
    if (has_command && has_url)
        set_problem(
            server,
            "it has a command and a url; a server has only one of them: take the other out");
    else if (!has_command && !has_url)
        set_problem(server, "it has no command and no url: give it \"command\" to start a program, "
                            "or \"url\" to reach a server");
    else if (s->type.p && !type_is(s->type, local) && !type_is(s->type, remote))
        set_problem(server, "its type is not known to holdfast; \"stdio\", \"http\" and \"sse\" "
                            "are");
    else if (s->type.p && type_is(s->type, local) != has_command)
        set_problem(server, has_url ? "its type is \"stdio\", but it has a url and no command"
                                    : "its type is that of a remote server, but it has no url");
    if (s->type.p && hf_json_string_is(s->type, HF_SPAN("sse")) &&
        !hf_json_get(object, HF_SPAN("transport")).p)
        server->settings.transport = HF_TRANSPORT_SSE;
}

static bool read_server(struct parse *p, const char *list, struct hf_json_iter *it)
{
    char shown[HF_SHOWN_MAX];
    struct hf_err why;
    struct hf_option_variables variables = { .env = p->env, .env_context = p->env_context };
    struct scope s = { .where = HF_WHERE_SERVER, .group = "", .variables = &variables };
    char *name = read_name(p, it->key, list);
    if (!name)
        return false;
    hf_text_shown(hf_span_of(name), shown);
    (void)snprintf(s.path, sizeof s.path, "%s.%s", list, shown);
    s.root = s.server = hf_config_add_server(p->config, name);
    hf_free(name);

    bool good = want_object(p, s.path, it->value) && read_members(p, &s, it->value);
    if (variables.problem)
        set_problem(s.server, variables.problem);
    hf_free(variables.problem);
    if (good)
        check_kind(&s, it->value);
    if (good && !hf_config_override_server(p->config, s.server, &why))
        good = fail_at(p, it->key.p, "%s: %s", s.path, why.text);
    if (!good)
        set_problem(s.server, "its entry has an error, told with its line");
    return good;
}

static bool read_servers(struct parse *p, const char *list, struct hf_span value)
{
    if (!want_object(p, list, value))
        return false;
    bool good = true;
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it);) {
        const bool is_full = p->config->server_count == HF_CONFIG_SERVERS_MAX;
        good &= read_server(p, list, &it);
        if (is_full)
            break; /* reported once */
    }
    return good;
}

/* ---- the file ---- */

/* Adds a hint for common mistakes, by the text where the parser stopped. `file` is the text before
 * its comments became spaces: positions are the same, but columns are counted in characters. */
static bool syntax_error(struct parse *p, const struct hf_json_error *error, struct hf_span file)
{
    const struct hf_text_place place = hf_text_place(file, error->at);
    const struct hf_span rest = hf_span_from(p->text, error->at);
    struct hf_err whole;
    const char *hint = "";
    if (hf_span_starts(rest, HF_SPAN("/*")))
        hint = " (a comment does not end: close it with */)";
    else if (hf_span_starts(rest, HF_SPAN("#")))
        hint = " (a comment begins with //)";
    else if (hf_span_starts(rest, HF_SPAN("'")))
        hint = " (strings stand in double quotes)";
    (void)hf_fail(&whole, "line %zu, column %zu: %s%s", place.line, place.column, error->what,
                  hint);
    return add_mistake(p, place.line, whole.text);
}

/* Other top-level keys belong to other programs, but a mistyped "mcpServers" would lose all
 * servers.
 */
static bool check_top_key(struct parse *p, struct hf_json_iter *it, struct hf_span file)
{
    static const struct hf_span ours[] = { { "mcpServers", 10 }, { "holdfast", 8 } };
    char shown[HF_SHOWN_MAX];
    hf_text_shown(it->key, shown);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (hf_json_key_is(it->key, ours[i])) {
            return hf_json_get(file, ours[i]).p == it->value.p ||
                   fail_at(p, it->key.p, "%s: it is given twice", shown);
        }
        if (hf_edit_distance(it->key, ours[i]) < HF_TOO_FAR)
            return fail_at(p, it->key.p, "%s: there is no such key; did you mean \"%s\"?", shown,
                           ours[i].p);
    }
    return true;
}

static bool read_file(struct parse *p, struct hf_span file)
{
    struct hf_err why;
    if (hf_json_type(file) != HF_JSON_OBJECT)
        return add_mistake(p, 1, "line 1: the file must be an object with \"mcpServers\" in it");
    bool good = true;
    for (struct hf_json_iter it = hf_json_iter(file); hf_json_next(&it);)
        good &= check_top_key(p, &it, file);

    /* Read first, wherever it is in the file: it has the defaults of the servers. */
    struct hf_option_variables variables = { p->env, p->env_context, .refuses = true };
    struct scope s = { .where = HF_WHERE_TOP,
                       .group = "",
                       .path = "holdfast",
                       .root = p->config,
                       .variables = &variables };
    const struct hf_span holdfast = hf_json_get(file, HF_SPAN("holdfast"));
    if (holdfast.p)
        good &= want_object(p, s.path, holdfast) && read_members(p, &s, holdfast);

    const char *list = "mcpServers";
    struct hf_span servers = hf_json_get(file, hf_span_of(list));
    if (!servers.p) {
        list = "servers";
        servers = hf_json_get(file, hf_span_of(list));
    }
    /* A mistyped "mcpServers" was reported before. */
    if (!servers.p)
        return good && add_mistake(p, 1, "line 1: there is no \"mcpServers\" in the file");
    good &= read_servers(p, list, servers);
    if (good && !hf_config_override_process(p->config, &why))
        good = add_mistake(p, 1, why.text);
    return good;
}

static bool read_text(struct parse *p, char *room, struct hf_span file)
{
    struct hf_json_error error;
    memcpy(room, file.p, file.n);
    hf_config_plain(room, file.n);
    room[file.n] = '\0';
    if (strspn(room, " \t\r\n") == file.n)
        return add_mistake(p, 1,
                           "line 1: the file is empty; the least that it holds is "
                           "{ \"mcpServers\": {} }");
    p->text = (struct hf_span) { room, file.n };
    return hf_json_check(p->text, DEPTH_MAX, &error) ? read_file(p, p->text)
                                                     : syntax_error(p, &error, file);
}

bool hf_config_parse(struct hf_config *config, struct hf_span text, hf_getenv env,
                     void *env_context, struct hf_err *err)
{
    static const struct hf_span byte_order_mark = { "\xef\xbb\xbf", 3 };
    struct parse p = { .config = config, .env = env, .env_context = env_context };
    if (text.n > HF_CONFIG_FILE_MAX) {
        (void)hf_fail(err, "the file is larger than %d MiB", HF_CONFIG_FILE_MAX >> 20);
        return add_mistake(&p, 0, err->text);
    }
    if (hf_span_starts(text, byte_order_mark))
        text = hf_span_from(text, byte_order_mark.n);
    char *room = hf_alloc(text.n + 1);
    const bool good = read_text(&p, room, text);
    hf_free(room);
    hf_strings_free(p.ignored);
    if (good)
        return true;
    const char *first = config->mistake_count ? config->mistakes[0].text : "it cannot be read";
    if (config->mistake_count <= 1)
        return hf_fail(err, "%s", first);
    return hf_fail(err, "%.440s (and %zu more; `holdfast check FILE` tells them all)", first,
                   config->mistake_count - 1);
}
