/* server_name.c - see server_name.h. */
#include "ops/server_name.h"
#include "base/mem.h"
#include "base/span.h"
#include "ops/config_parts.h"

static struct hf_span last_part(struct hf_span path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    const size_t after = slash ? (size_t)(slash - path.p) + 1 : 0;
    return after < path.n ? hf_span_from(path, after) : path;
}

/* The text up to the first of `bytes` at or after `from`. */
static struct hf_span cut_at(struct hf_span text, size_t from, const char *bytes)
{
    for (size_t i = from; i < text.n; i++)
        if (strchr(bytes, text.p[i]))
            return (struct hf_span) { text.p, i };
    return text;
}

static bool is_among(struct hf_span word, const char *const *words)
{
    for (; *words; words++)
        if (hf_span_is(word, *words))
            return true;
    return false;
}

/* ---- names in the arguments of a launcher ---- */

/* "@scope/server-foo@1.2" and "github:user/server-foo#main" are a server-foo. */
static struct hf_span name_of_package(struct hf_span word)
{
    word = cut_at(word, 1, "#");
    const struct hf_span last = last_part(word);
    return cut_at(last, 1, "@");
}

/* "mcp-server[extra]==1.0" and "mcp-server@latest" are an mcp-server. */
static struct hf_span name_of_python_package(struct hf_span word)
{
    struct hf_span name = cut_at(last_part(word), 1, "[@=<>~!; ");
    if (name.n > 4 && hf_span_is(hf_span_from(name, name.n - 4), ".git"))
        name.n -= 4;
    return name;
}

/* "ghcr.io/github/server-foo:1.2@sha256:…" is a server-foo. */
static struct hf_span name_of_image(struct hf_span word)
{
    return cut_at(last_part(cut_at(word, 1, "@")), 1, ":");
}

/* Names of files and folders that many servers have, such as build or index. */
static bool says_nothing(struct hf_span word)
{
    static const char *const words[] = { "index", "main", "server", "app",   "cli", "run",
                                         "start", "mcp",  "build",  "dist",  "src", "lib",
                                         "bin",   "out",  ".",      "..",    "",    "__main__",
                                         "cjs",   "esm",  "js",     "stdio", NULL };
    return is_among(word, words);
}

/* "path/weather/build/index.js" is a weather: the last part that is not such a name, without its
 * extension; else the file itself. */
static struct hf_span name_of_script(struct hf_span path)
{
    const struct hf_span file = cut_at(last_part(path), 1, ".");
    struct hf_span rest = path, part = file;
    while (says_nothing(part)) {
        const char *slash = rest.n ? memrchr(rest.p, '/', rest.n) : NULL;
        if (!slash)
            return file;
        rest.n = (size_t)(slash - rest.p);
        part = last_part(rest);
        if (part.n && part.p[part.n - 1] == '/')
            part.n--;
    }
    return part;
}

/* "-m weather.server" is a weather. */
static struct hf_span name_of_module(struct hf_span word)
{
    struct hf_span rest = word, part = word;
    for (const char *dot; (dot = memrchr(rest.p, '.', rest.n));) {
        part = hf_span_from(rest, (size_t)(dot - rest.p) + 1);
        if (!says_nothing(part))
            return part;
        rest.n = (size_t)(dot - rest.p);
        part = rest;
    }
    return part;
}

/* ---- launchers ---- */

struct launcher {
    const char *program, *verb; /* "docker", "run"; verb NULL: none is needed */
    const char *const *valued;  /* options whose value is a word of its own */
    const char *const *flags;   /* if not NULL: options without a value; all others have one */
    const char *const *naming;  /* options whose value gives the name */
    struct hf_span (*name)(struct hf_span word);
    struct hf_span (*name_of_naming)(struct hf_span word); /* NULL: as `name` */
};

static const char *const no_options[] = { NULL };
/* The program's text is in the command line itself, and has no name. */
static const char *const code[] = { "-c", "-e", "--eval", "-p", "--print", NULL };
static const char *const npx_valued[] = { "-c", "--call", "-w", "--workspace", NULL };
static const char *const npx_naming[] = { "-p", "--package", NULL };
static const char *const uv_valued[] = {
    "--with",      "--with-editable",   "--python",    "-p",
    "--index-url", "--index",           "--directory", "--project",
    "--env-file",  "--extra-index-url", "--group",     NULL
};
static const char *const uv_naming[] = { "--from", NULL };
static const char *const pipx_valued[] = { "--python", "--index-url", "--pip-args", NULL };
static const char *const pipx_naming[] = { "--spec", NULL };
static const char *const node_valued[] = { "-r",         "--require", "--import",
                                           "--env-file", "--loader",  NULL };
static const char *const python_valued[] = { "-W", "-X", NULL };
static const char *const python_naming[] = { "-m", NULL };
static const char *const docker_flags[] = {
    "-i",  "--interactive", "-t",   "--tty",   "-it",          "-ti",
    "-d",  "--detach",      "--rm", "--init",  "--privileged", "--read-only",
    "-P",  "--publish-all", "-q",   "--quiet", "--sig-proxy",  "--no-healthcheck",
    "-di", "-id",           NULL
};
static const char *const docker_naming[] = { "--name", NULL };
static const char *const java_valued[] = { "-cp", "-classpath", "--class-path", NULL };
static const char *const java_naming[] = { "-jar", NULL };

static const struct launcher launchers[] = {
    { "npx", NULL, npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "npm", "exec", npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "npm", "x", npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "pnpx", NULL, npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "pnpm", "dlx", npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "yarn", "dlx", npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "bunx", NULL, npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "bun", "x", npx_valued, NULL, npx_naming, name_of_package, NULL },
    { "bun", "run", node_valued, NULL, no_options, name_of_script, NULL },
    { "bun", NULL, node_valued, NULL, no_options, name_of_script, NULL },
    { "deno", "run", node_valued, NULL, no_options, name_of_script, NULL },
    { "node", NULL, node_valued, NULL, no_options, name_of_script, NULL },
    { "tsx", NULL, node_valued, NULL, no_options, name_of_script, NULL },
    { "ts-node", NULL, node_valued, NULL, no_options, name_of_script, NULL },
    { "uvx", NULL, uv_valued, NULL, uv_naming, name_of_python_package, NULL },
    { "uv", "run", uv_valued, NULL, python_naming, name_of_script, name_of_module },
    { "pipx", "run", pipx_valued, NULL, pipx_naming, name_of_python_package, NULL },
    { "python", NULL, python_valued, NULL, python_naming, name_of_script, name_of_module },
    { "python3", NULL, python_valued, NULL, python_naming, name_of_script, name_of_module },
    { "docker", "run", NULL, docker_flags, docker_naming, name_of_image, last_part },
    { "podman", "run", NULL, docker_flags, docker_naming, name_of_image, last_part },
    { "java", NULL, java_valued, NULL, java_naming, last_part, name_of_script },
};

/* "python3.12" is a python3. */
static bool is_program(struct hf_span program, const char *name)
{
    const struct hf_span known = hf_span_of(name);
    if (!hf_span_starts(program, known))
        return false;
    const struct hf_span rest = hf_span_from(program, known.n);
    return rest.n == 0 || (hf_span_is(known, "python3") && rest.p[0] == '.');
}

static bool takes_value(const struct launcher *l, struct hf_span option)
{
    const bool is_attached = l->flags && option.n > 2 && option.p[1] != '-'; /* -p8080:80 */
    if (is_attached)
        return false;
    return l->flags ? !is_among(option, l->flags) : is_among(option, l->valued);
}

/* The name in `words`, which follow the launcher and its verb; empty if there is none. */
static struct hf_span name_by(const struct launcher *l, char *const *words)
{
    struct hf_span (*naming)(struct hf_span) = l->name_of_naming ? l->name_of_naming : l->name;
    for (; *words; words++) {
        const struct hf_span word = hf_span_of(*words);
        if (word.n == 0 || word.p[0] != '-')
            return l->name(word);
        if (word.n == 1) /* stdin */
            break;
        if (hf_span_is(word, "--"))
            return words[1] ? l->name(hf_span_of(words[1])) : (struct hf_span) { NULL, 0 };
        const struct hf_span option = cut_at(word, 0, "=");
        const bool has_value = option.n < word.n;
        if (l->name == name_of_script && is_among(option, code))
            break;
        if (is_among(option, l->naming) && (has_value || words[1]))
            return naming(has_value ? hf_span_from(word, option.n + 1) : hf_span_of(words[1]));
        if (!has_value && takes_value(l, option) && words[1])
            words++;
    }
    return (struct hf_span) { NULL, 0 };
}

/* "env A=1 -u B npx …" runs the program after its own arguments. */
static char *const *behind_env(char *const *argv)
{
    char *const *rest = argv + 1;
    while (*rest && (strchr(*rest, '=') || (*rest)[0] == '-'))
        rest += strcmp(*rest, "-u") == 0 && rest[1] ? 2 : 1;
    return *rest ? rest : argv;
}

char *hf_server_name_of(char *const *argv)
{
    if (hf_span_is(last_part(hf_span_of(argv[0])), "env"))
        argv = behind_env(argv);
    const struct hf_span program = last_part(hf_span_of(argv[0]));
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *l = &launchers[i];
        char *const *words = argv + 1;
        if (!is_program(program, l->program))
            continue;
        if (l->verb && !(*words && strcmp(*words++, l->verb) == 0))
            continue;
        const struct hf_span name = name_by(l, words);
        if (name.n > 0 && name.n <= HF_CONFIG_NAME_MAX)
            return hf_span_dup(name);
        break;
    }
    return hf_span_dup((struct hf_span) {
        program.p, program.n < HF_CONFIG_NAME_MAX ? program.n : HF_CONFIG_NAME_MAX });
}
