/* options_text.c - the option table as people read it: --help and docs/OPTIONS.md. */
#include <ctype.h>
#include "ops/options.h"

enum { HELP_COLUMN = 40 };

/* The placeholder of the value on the command line: "<ms>", "eager|lazy". */
static void add_value_word(struct hf_buf *out, const struct hf_option *o)
{
    if (o->type == HF_OPTION_BOOL)
        hf_buf_add_str(out, "true|false");
    else if (o->type == HF_OPTION_INHERIT)
        hf_buf_printf(out, "true|<%s>", o->unit);
    else if (o->type != HF_OPTION_CHOICE)
        hf_buf_printf(out, "<%s>", o->unit);
    for (size_t i = 0; o->choices && o->choices[i]; i++)
        hf_buf_printf(out, "%s%s", i ? "|" : "", o->choices[i]);
}

/* Empty defaults are left out. */
static bool tells_default(const struct hf_option *o)
{
    return o->initial && strcmp(o->initial, "[]") != 0 && strcmp(o->initial, "{}") != 0;
}

static void help_row(struct hf_buf *out, const struct hf_option *o)
{
    char kebab[HF_OPTION_KEBAB_MAX];
    const size_t start = hf_buf_len(out);
    hf_option_kebab(o, kebab);
    hf_buf_printf(out, "  --%s ", kebab);
    add_value_word(out, o);
    hf_buf_add_char(out, ' ');
    if (hf_buf_len(out) - start > HELP_COLUMN)
        hf_buf_printf(out, "\n%*s", HELP_COLUMN, "");
    while (hf_buf_len(out) - start < HELP_COLUMN)
        hf_buf_add_char(out, ' ');
    hf_buf_add_str(out, o->help);
    if (tells_default(o)) {
        hf_buf_add_str(out, " (");
        for (const char *c = o->initial; *c; c++)
            if (!strchr("\"[]", *c))
                hf_buf_add_char(out, *c);
        hf_buf_add_char(out, ')');
    }
    hf_buf_add_char(out, '\n');
}

static void help_section(struct hf_buf *out, const char *title, bool is_top, unsigned command)
{
    size_t count;
    const struct hf_option *options = hf_options(&count);
    hf_buf_printf(out, "%s\n", title);
    for (size_t i = 0; i < count; i++)
        if (hf_option_is_of(&options[i], command) && !!(options[i].where & HF_WHERE_TOP) == is_top)
            help_row(out, &options[i]);
}

size_t hf_options_help(struct hf_buf *out, unsigned command, bool all)
{
    size_t count, left_out = 0;
    const struct hf_option *options = hf_options(&count);
    for (size_t i = 0; !all && i < count; i++) {
        if (!hf_option_is_of(&options[i], command))
            continue;
        if (options[i].common & command)
            help_row(out, &options[i]);
        else
            left_out++;
    }
    if (all) {
        help_section(out, "\nOptions for every server (the defaults in parentheses):", false,
                     command);
        help_section(out, "\nOptions for the whole process:", true, command);
    }
    return left_out;
}

/* A pipe would end the table's cell. */
static void add_cell(struct hf_buf *out, struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '|')
            hf_buf_add_char(out, '\\');
        hf_buf_add_char(out, text.p[i]);
    }
}

static void add_where(struct hf_buf *out, const struct hf_option *o)
{
    char kebab[HF_OPTION_KEBAB_MAX];
    hf_option_kebab(o, kebab);
    if (o->where & HF_WHERE_LINE)
        hf_buf_printf(out, " `--%s` |", kebab);
    else
        hf_buf_add_str(out, " |");
}

static void markdown_row(struct hf_buf *out, const struct hf_option *o)
{
    struct hf_buf allowed;
    hf_buf_init(&allowed, 1024);
    hf_option_allowed(o, &allowed);

    hf_buf_printf(out, "| `%s` |", o->key);
    add_where(out, o);
    hf_buf_add_char(out, ' ');
    add_cell(out, hf_buf_span(&allowed));
    if (o->initial)
        hf_buf_printf(out, " | `%s` | ", o->initial);
    else
        hf_buf_add_str(out, " | | ");
    hf_buf_add_char(out, (char)toupper((unsigned char)o->help[0]));
    add_cell(out, hf_span_of(o->help + 1));
    hf_buf_add_str(out, o->flags & HF_OPTION_RESTARTS ? " **(restart)** |\n" : " |\n");
    hf_buf_done(&allowed);
}

static void markdown_table(struct hf_buf *out, unsigned with, unsigned without)
{
    size_t count;
    const struct hf_option *options = hf_options(&count);
    hf_buf_add_str(out, "| key | command line | value | default | meaning |\n"
                        "|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        if ((options[i].where & with) && !(options[i].where & without))
            markdown_row(out, &options[i]);
    hf_buf_add_char(out, '\n');
}

static const char intro[] =
    "# Options\n"
    "\n"
    "This page is made from the table in `src/ops/options.c` by `tools/options_doc.c`; change it"
    " there.\n"
    "\n"
    "```json\n"
    "{\n"
    "  \"mcpServers\": {\n"
    "    \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"some-server\"],"
    " \"waitMs\": 20000 },\n"
    "    \"db\": { \"command\": \"db-server\", \"env\": { \"TOKEN\": \"${DB_TOKEN}\" },"
    " \"reconnect\": { \"maxMs\": 5000 } },\n"
    "    \"wiki\": { \"url\": \"https://wiki.example.com/mcp\","
    " \"headers\": { \"Authorization\": \"Bearer ${WIKI_TOKEN}\" } }\n"
    "  },\n"
    "  \"holdfast\": { \"defaults\": { \"start\": \"lazy\" }, \"log\": { \"level\": \"warn\" } }\n"
    "}\n"
    "```\n"
    "\n"
    "The file is the `mcpServers` object that your client already has (`servers` is read if there"
    " is no `mcpServers`). Keys of\n"
    "other programs are used if they mean something here (`type`, `serverUrl`, `enabled`), else"
    " ignored with a warning; a key\n"
    "that looks like a mistyped key of ours refuses the file. Comments (`//` and `/* */`) and a "
    "comma"
    " after the last item are allowed.\n"
    "`holdfast check FILE` reports every mistake in a file, with its line and what to do.\n"
    "\n"
    "- Which value is used, the strongest first: the command line, the server's own entry,"
    " `holdfast.defaults`, the default below.\n"
    "- A list (`allow`) replaces that of a weaker source; an object (`env`, `rename`,"
    " `reconnect`) is joined with it,\n"
    "  member by member.\n"
    "- On the command line every option takes a value: `--overlap false`, `--start lazy`. Options"
    " that are lists or objects in the\n"
    "  file (`--allow`, `--env NAME=VALUE`, `--refused-status`) may be repeated; each adds one."
    " `--headers 'Name: value'`, also\n"
    "  spelled `--header`, replaces `${VAR}` in the value.\n"
    "- A dotted key is a member of an object: `reconnect.minMs` is `\"reconnect\": {\"minMs\":"
    " 250}`.\n"
    "- In a glob `*` is any run of characters and `?` is one character.\n"
    "\n"
    "## Variables\n"
    "\n"
    "In the strings of `command`, `args`, `cwd`, `url`, `ca`, `proxy`, `listen`, `tls`, `tokens`,"
    " `hosts` and `origins`, and in the\n"
    "values of `env` and `headers`, `${NAME}` is replaced by our environment variable `NAME`, and"
    " `${NAME:-text}` by `text` if it\n"
    "is unset or empty; `${env:NAME}` is the same as `${NAME}`. A variable that is missing keeps"
    " that one server from starting;\n"
    "outside a server it refuses the file. The same goes for references that only another program"
    " can resolve (`${input:…}` and\n"
    "`${workspaceFolder}` of VS Code), with a sentence that says what to write. For a literal `${`"
    " write `$${`; a `$` elsewhere is\n"
    "only itself.\n"
    "\n"
    "## One server\n"
    "\n"
    "A server has a `command` or a `url`. Options marked **(restart)** start a new process, or"
    " connect anew, when they change on a\n"
    "reload; the others change while the server runs.\n"
    "\n";

static const char defaults_intro[] =
    "## One server, or all of them\n"
    "\n"
    "Beside `command` or `url`, or for every server in `holdfast.defaults`.\n"
    "\n";

static const char top_intro[] = "## The whole process\n"
                                "\n"
                                "In the top-level object `holdfast`.\n"
                                "\n";

static const char outro[] =
    "## What a server's environment holds\n"
    "\n"
    "`HOME`, `LANG`, `LC_*`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `TZ`, `USER`, `XDG_*`,"
    " what `inheritEnv` adds, and\n"
    "its `env`, which beats them. `holdfast run` passes everything on. Our own `HOLDFAST_*`"
    " variables are never passed on; a\n"
    "server gets such a variable only by its `env`.\n"
    "\n"
    "## Logs and the state directory\n"
    "\n"
    "- Logs go to stderr: sentences, or with `\"log\": { \"format\": \"json\" }` one object a line"
    " with `time`, `level`, `event`,\n"
    "  `server`, `generation`, other fields of the event, and `message`. Of one kind of line"
    " (same server, same event) a hundred\n"
    "  are written in ten seconds and the rest is summed up; at level `debug` all are written.\n"
    "- `run`, `bridge` and `stdio` keep their log in a file too, at least from level `info` on,"
    " because many clients do not show\n"
    "  the stderr of servers: `run-NAME.log`, `bridge-NAME.log` or `stdio.log` in the state"
    " directory. A file over 1 MB is renamed\n"
    "  to `….log.old`, which replaces the old one. Several processes may share a file: each line"
    " begins with the process.\n"
    "- The state directory is `--state-dir` or `stateDir`, else `$HOLDFAST_STATE_DIR`, else"
    " `$XDG_STATE_HOME/holdfast`, else\n"
    "  `~/.local/state/holdfast`. It is made with mode 0700. Without a HOME nothing is kept, and a"
    " warning says so.\n"
    "\n"
    "## Remote servers\n"
    "\n"
    "- `url` begins with `http://` or `https://` and has no user name and no fragment in it. A"
    " `type` that other programs write\n"
    "  beside it must agree: `http` and its spellings, or `sse`, which means `\"transport\":"
    " \"sse\"`.\n"
    "- `headers` go out with every request to that server and to no other; headers of clients are"
    " never passed on. A header that\n"
    "  holdfast sets itself is refused: `Accept`, `Accept-Encoding`, `Connection`,"
    " `Content-Length`, `Content-Type`, `Expect`,\n"
    "  `Keep-Alive`, `Last-Event-ID`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`, `Mcp-Session-Id`,"
    " `MCP-Protocol-Version`,\n"
    "  `Proxy-Connection`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade`. `Host` may be set: a"
    " server behind a tunnel needs it.\n"
    "- A redirect (307, 308) of the first request is followed on the same host, and later requests"
    " go to its target. A redirect to\n"
    "  another host is not followed: set `url` to that host.\n"
    "- `ca` is a PEM file that replaces the system's list of authorities.\n"
    "- `proxy` is `http://`, `https://`, `socks4://`, `socks4a://`, `socks5://` or `socks5h://`."
    " Not given, it follows the\n"
    "  environment as curl does: `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.\n"
    "- `keepAliveMs` should be shorter than the server's own limit for idle connections (5 s is"
    " common): a request that is sent\n"
    "  while the server closes its connection may have an unknown outcome.\n"
    "- `refusedStatus` is your assurance that a gateway answers with these statuses only when the"
    " server never got the call.\n"
    "  Calls answered with such a status are sent again.\n"
    "\n";

static const char serve_outro[] =
    "## Who may use `holdfast serve`\n"
    "\n"
    "```json\n"
    "{ \"holdfast\": { \"tokens\": [\n"
    "  { \"name\": \"ci\", \"hash\": \"sha256:…\", \"servers\": [\"pay*\"], \"allow\":"
    " [\"payments__*\"], \"deny\": [\"payments__refund\"] }\n"
    "] } }\n"
    "```\n"
    "\n"
    "- `holdfast token --name ci` makes a token, prints it once, and prints its entry. Only the"
    " hash is in the file.\n"
    "- `servers` are globs over the names of servers (default `[\"*\"]`). `allow` (default"
    " `[\"*\"]`) and `deny` (default `[]`) are\n"
    "  globs over `server__name`, with the server's own name of a tool, prompt, resource or"
    " template; resources go by their URI, by\n"
    "  `server__URI` and by the templates that match them too. What `allow` matches by none of "
    "these"
    " names, or `deny` by one, is\n"
    "  neither listed nor can it be used.\n"
    "- `errorsAs` (`\"result\"` or `\"error\"`): the form in which a failed tool call of its "
    "clients"
    " is answered; beats that of the\n"
    "  servers.\n"
    "- `limits`: what its clients may have together, whatever is free for all: `{\"calls\": 100,"
    " \"sessions\": 20, \"streams\": 50,\n"
    "  \"bytes\": 10000000, \"subscriptions\": 100, \"ratePerMinute\": 600}`, each of them or"
    " none. `streams` are connections, too;\n"
    "  `ratePerMinute` counts HTTP requests, over which they get 429 with `Retry-After`. One"
    " session alone has three quarters of\n"
    "  its token's calls, bytes and subscriptions (`shares`).\n"
    "- Without tokens every client that reaches the address may use it, so only addresses of this"
    " machine are allowed: 127.0.0.0/8,\n"
    "  `[::1]`, `unix:PATH`.\n"
    "- A request must name us in `Host`: `localhost`, `127.0.0.1`, `[::1]` or the address of"
    " `listen`, with our port; or one of\n"
    "  `hosts`, as `name` (without a port, or with ours), as `name:port`, or as a glob. On a unix"
    " socket any `Host` is accepted.\n"
    "- A request of a web page must come from such a host too, or from one of `origins` (`\"*\"`:"
    " from any).\n"
    "\n"
    "## Limits\n"
    "\n"
    "A file has at most 4 MiB and 1000 servers, a list or object of strings at most 1000 items, a"
    " server's name at most 128\n"
    "bytes, an expanded string at most 131071 bytes (Linux takes no longer argument).\n";

void hf_options_markdown(struct hf_buf *out)
{
    hf_buf_add_str(out, intro);
    markdown_table(out, HF_WHERE_SERVER, HF_WHERE_DEFAULTS);
    hf_buf_add_str(out, defaults_intro);
    markdown_table(out, HF_WHERE_DEFAULTS, 0);
    hf_buf_add_str(out, top_intro);
    markdown_table(out, HF_WHERE_TOP, 0);
    hf_buf_add_str(out, outro);
    hf_buf_add_str(out, serve_outro);
}
