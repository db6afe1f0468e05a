/* options.c - the table, and finding a row in it; see options.h. */
#include "ops/options.h"
#include <stdio.h>
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include "base/fold.h"
#include "base/edit_distance.h"
#include "ops/config.h"
#include "ops/option_checks.h"
#include "wire/json.h"

enum {
    ANYWHERE = HF_WHERE_SERVER | HF_WHERE_DEFAULTS | HF_WHERE_LINE,
    GLOBAL = HF_WHERE_TOP | HF_WHERE_LINE,
};

/* Sets of commands that have an option: those that start processes, that reach URLs, that serve
 * several servers. */
enum {
    EVERY = HF_FOR_RUN | HF_FOR_BRIDGE | HF_FOR_STDIO | HF_FOR_SERVE,
    LOCAL = HF_FOR_RUN | HF_FOR_STDIO | HF_FOR_SERVE | HF_FOR_CHECK,
    REMOTE = HF_FOR_BRIDGE | HF_FOR_STDIO | HF_FOR_SERVE | HF_FOR_CHECK,
    MANY = HF_FOR_STDIO | HF_FOR_SERVE | HF_FOR_CHECK,
    FRONT = HF_FOR_SERVE | HF_FOR_CHECK,
};

#define MS_MAX    INT32_MAX /* 24 days; sums of several do not overflow */
#define COUNT_MAX 1000000
#define BYTES_MAX (INT64_C(1) << 40)

/* Does not compile if the field has another type than the row says. */
#define FIELD(root, type_, field)                                                                  \
    .at = _Generic(((struct root *)0)->field, type_                                                \
                   : offsetof(struct root, field)),                                                \
    .size = sizeof(((struct root *)0)->field)
#define SERVER(type_, field) FIELD(hf_server_config, type_, field)
#define TOP(type_, field)    FIELD(hf_config, type_, field)

#define CHOICES(...)                                                                               \
    .type = HF_OPTION_CHOICE, .choices = (const char *const[])                                     \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define MS(field, least)                                                                           \
    .where = ANYWHERE, .type = HF_OPTION_U32, SERVER(uint32_t, settings.field), .min = (least),    \
    .max = MS_MAX, .unit = "ms"
#define NUMBER(field, least, most)                                                                 \
    .where = ANYWHERE, .type = HF_OPTION_U32, SERVER(uint32_t, settings.field), .min = (least),    \
    .max = (most), .unit = "number"
#define ATTEMPTS(field)                                                                            \
    .where = ANYWHERE, .type = HF_OPTION_I32, SERVER(int32_t, settings.field), .min = -1,          \
    .max = COUNT_MAX, .unit = "number"
#define SWITCH(field) .where = ANYWHERE, .type = HF_OPTION_BOOL, SERVER(bool, settings.field)
#define LIST(field)   .type = HF_OPTION_LIST, SERVER(char **, field)
#define PAIRS(field)                                                                               \
    .type = HF_OPTION_PAIRS, SERVER(struct hf_pair *, field),                                      \
    .also_at = offsetof(struct hf_server_config, field##_count)
#define BYTES(field, least, most)                                                                  \
    .where = GLOBAL, .type = HF_OPTION_U64, TOP(uint64_t, limits.field), .min = (least),           \
    .max = (most), .unit = "bytes"

static const struct hf_option options[] = {
    { "command", HF_WHERE_SERVER, .type = HF_OPTION_STRING, SERVER(char *, command),
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .unit = "text",
      .help = "the program of the server, a path or a name on PATH" },
    { "args", HF_WHERE_SERVER, LIST(args), .initial = "[]",
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .unit = "text", .help = "its arguments" },
    { "env", HF_WHERE_SERVER | HF_WHERE_LINE, PAIRS(env), .initial = "{}",
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .check_name = hf_check_variable_name,
      .unit = "name=value", .help = "environment variables for the server", .commands = LOCAL,
      .common = HF_FOR_RUN },
    { "cwd", HF_WHERE_SERVER | HF_WHERE_LINE, .type = HF_OPTION_STRING, SERVER(char *, cwd),
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .unit = "directory",
      .help = "the server's working directory; ours if not given", .commands = LOCAL,
      .common = HF_FOR_RUN },
    { "url", HF_WHERE_SERVER, .type = HF_OPTION_STRING, SERVER(char *, url),
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .check = hf_check_url, .unit = "url",
      .help = "the URL of a remote server, instead of `command`" },
    { "headers", HF_WHERE_SERVER | HF_WHERE_LINE, PAIRS(headers), .initial = "{}",
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS | HF_OPTION_CASELESS,
      .check = hf_check_header_value, .check_name = hf_check_header_name, .unit = "name: value",
      .help = "HTTP headers for a remote server", .commands = REMOTE, .common = HF_FOR_BRIDGE },
    { "transport", ANYWHERE, SERVER(enum hf_transport, settings.transport),
      CHOICES("auto", "http", "sse"), .initial = "\"auto\"", .flags = HF_OPTION_RESTARTS,
      .help = "transport of a remote server; auto = detected", .commands = REMOTE,
      .common = HF_FOR_BRIDGE },
    { "refusedStatus", ANYWHERE, .type = HF_OPTION_STATUSES,
      SERVER(struct hf_status_set, settings.refused_status), .min = HF_STATUS_MIN,
      .max = HF_STATUS_MAX, .initial = "[]", .unit = "status",
      .help = "HTTP statuses that mean that the call did not run", .commands = REMOTE },
    { "ca", ANYWHERE, .type = HF_OPTION_STRING, SERVER(char *, ca),
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .check = hf_check_path, .unit = "file",
      .help = "CA file for a remote server's certificate", .commands = REMOTE,
      .common = HF_FOR_BRIDGE },
    { "proxy", ANYWHERE, .type = HF_OPTION_STRING, SERVER(char *, proxy),
      .flags = HF_OPTION_EXPANDS | HF_OPTION_RESTARTS, .check = hf_check_proxy, .unit = "url",
      .help = "the proxy to a remote server; \"\" = none", .commands = REMOTE,
      .common = HF_FOR_BRIDGE },
    { "keepAliveMs", ANYWHERE, .type = HF_OPTION_U32, SERVER(uint32_t, keep_alive_ms),
      .max = MS_MAX, .unit = "ms", .initial = "4000",
      .help = "how long an idle connection is used again", .commands = REMOTE },
    { "disabled", HF_WHERE_SERVER, .type = HF_OPTION_BOOL, SERVER(bool, disabled),
      .initial = "false", .help = "configured, but not started until enabled" },
    { "inheritEnv", ANYWHERE, .type = HF_OPTION_INHERIT, SERVER(enum hf_inherit, inherit),
      .also_at = offsetof(struct hf_server_config, inherit_globs), .initial = "false",
      .flags = HF_OPTION_RESTARTS, .unit = "glob",
      .help = "more of our variables for the server; true = all", .commands = LOCAL },

    { "start", ANYWHERE, SERVER(bool, settings.lazy), CHOICES("eager", "lazy"),
      .initial = "\"eager\"", .help = "start the server at once, or at the first call",
      .common = HF_FOR_STDIO | HF_FOR_SERVE },
    { "required", SWITCH(required), .initial = "false",
      .help = "/readyz of serve says 503 without this server", .commands = FRONT },
    { "idleMs", MS(idle_ms, 0), .initial = "0",
      .help = "a server not used this long is stopped; 0 = never", .common = HF_FOR_STDIO },
    { "waitMs", MS(wait_ms, 0), .initial = "45000",
      .help = "longest time that a call waits to be sent", .common = EVERY },
    { "callTimeoutMs", MS(call_timeout_ms, 0), .initial = "0",
      .help = "longest time of a whole call; 0 = the client decides", .common = EVERY },
    { "callTimeoutMaxMs", MS(call_timeout_max_ms, 0), .initial = "0",
      .help = "how far progress may extend that time; 0 = not" },
    { "startTimeoutMs", MS(start_timeout_ms, 1), .initial = "120000",
      .help = "longest time from start to handshake", .common = HF_FOR_RUN | HF_FOR_STDIO },
    { "listWaitMs", MS(list_wait_ms, 0), .initial = "10000",
      .help = "how long a list waits for servers not yet known" },
    { "askMs", MS(ask_ms, 1), .initial = "900000",
      .help = "time for a client to answer a server's request" },
    { "goneMs", MS(gone_ms, 0), .initial = "30000",
      .help = "how long calls of a gone client keep their place" },
    { "era", ANYWHERE, SERVER(enum hf_era, settings.era), CHOICES("auto", "legacy", "modern"),
      .initial = "\"auto\"", .flags = HF_OPTION_RESTARTS,
      .help = "the server's era of MCP; auto = it is asked" },
    { "eraProbeMs", MS(era_probe_ms, 1), .initial = "5000",
      .help = "no answer to the era probe this long means legacy" },
    { "relistMs", MS(relist_ms, 0), .initial = "300000",
      .help = "time between checks of the server's lists; 0 = none" },

    { "reconnect.minMs", MS(reconnect.min_ms, 0), .initial = "250",
      .help = "delay before the second attempt; doubles from there" },
    { "reconnect.maxMs", MS(reconnect.max_ms, 0), .initial = "30000",
      .help = "longest delay between two attempts" },
    { "reconnect.jitter", ANYWHERE, .type = HF_OPTION_DOUBLE,
      SERVER(double, settings.reconnect.jitter), .max = 1, .unit = "number", .initial = "1",
      .help = "random share of the delay: 0 = none, 1 = all of it" },
    { "reconnect.windowMs", MS(reconnect.window_ms, 1), .initial = "300000",
      .help = "how long a failure counts for the delay" },
    { "reconnect.attempts", ATTEMPTS(reconnect.attempts), .initial = "-1",
      .help = "attempts after a connection was lost; -1 = no limit" },
    { "reconnect.firstAttempts", ATTEMPTS(reconnect.first_attempts), .initial = "10",
      .help = "attempts before the first connection; -1 = no limit" },
    { "reconnect.probeMs", MS(reconnect.probe_ms, 0), .initial = "60000",
      .help = "time between attempts after giving up; 0 = none" },
    { "reconnect.waitingMaxMs", MS(reconnect.waiting_max_ms, 0), .initial = "1000",
      .help = "delay of extra attempts while calls wait; 0 = off", .commands = REMOTE },

    { "liveness.timeoutMs", MS(liveness.timeout_ms, 1), .initial = "5000",
      .help = "time to answer a liveness check" },
    { "liveness.gapMs", MS(liveness.gap_ms, 0), .initial = "10000",
      .help = "time between two failed checks" },
    { "liveness.failures", NUMBER(liveness.failures, 1, 1000), .initial = "3",
      .help = "failed checks in a row until a server is replaced" },

    { "closeMs", MS(close_ms, 0), .initial = "2000",
      .help = "time for a server to exit after its stdin closed", .commands = LOCAL },
    { "termMs", MS(term_ms, 0), .initial = "3000",
      .help = "time for a server to exit after SIGTERM", .commands = LOCAL },
    { "killMs", MS(kill_ms, 0), .initial = "5000",
      .help = "how long to wait for its processes after SIGKILL", .commands = LOCAL },
    { "eofMs", MS(eof_ms, 0), .initial = "1000",
      .help = "reading after exit, while a child holds the pipe", .commands = LOCAL },
    { "drainMs", MS(drain_ms, 0), .initial = "10000",
      .help = "time for calls in flight when a server is stopped" },
    { "stallMs", MS(stall_ms, 1), .initial = "60000",
      .help = "a server that reads nothing this long fails a check", .commands = LOCAL },

    { "overlap", SWITCH(overlap), .initial = "true",
      .help = "the next process starts before the old one is gone" },
    { "stateful", SWITCH(stateful), .initial = "false",
      .help = "calls after a restart are refused once (-31010)" },
    { "isolation", ANYWHERE, SERVER(enum hf_isolation, settings.isolation),
      CHOICES("shared", "session"), .initial = "\"shared\"", .flags = HF_OPTION_RESTARTS,
      .help = "one process for all clients, or one for each" },
    { "maxRuntimes", NUMBER(max_runtimes, 1, 10000), .initial = "16",
      .help = "processes of a server with isolation session" },
    { "maxInFlight", NUMBER(max_in_flight, 0, COUNT_MAX), .initial = "0",
      .help = "calls that a server gets at a time; 0 = no limit" },
    { "maxWaiting", NUMBER(max_waiting, 0, COUNT_MAX), .initial = "1000",
      .help = "calls that may wait for a server" },
    { "retry", ANYWHERE, SERVER(enum hf_retry_policy, settings.retry),
      CHOICES("never", "idempotent"), .initial = "\"never\"",
      .help = "whether its idempotent tools may be called again" },
    { "errorsAs", ANYWHERE, SERVER(enum hf_errors_as, settings.errors_as),
      CHOICES("result", "error"), .initial = "\"result\"",
      .help = "the form in which a failed tool call is answered" },
    { "prefix", ANYWHERE, SERVER(enum hf_prefix, settings.prefix), CHOICES("always", "never"),
      .initial = "\"always\"", .help = "put the server's name before those of its tools",
      .commands = MANY },

    { "allow", ANYWHERE, LIST(allow), .initial = "[\"*\"]", .unit = "glob",
      .help = "the server's tools that clients see", .common = EVERY & ~HF_FOR_SERVE },
    { "deny", ANYWHERE, LIST(deny), .initial = "[]", .unit = "glob",
      .help = "tools that clients do not see; beats allow", .common = EVERY & ~HF_FOR_SERVE },
    { "rename", ANYWHERE, PAIRS(rename), .initial = "{}", .flags = HF_OPTION_UNIQUE,
      .unit = "tool=name", .help = "another name for a tool" },
    { "describe", ANYWHERE, PAIRS(describe), .initial = "{}", .unit = "tool=text",
      .help = "another description for a tool" },

    { "listen", GLOBAL, .type = HF_OPTION_STRING, TOP(char *, serve.listen),
      .flags = HF_OPTION_EXPANDS, .check = hf_check_listen, .unit = "address",
      .initial = "\"127.0.0.1:7332\"", .help = "where serve listens; also unix:PATH",
      .commands = FRONT, .common = HF_FOR_SERVE },
    { "tls.cert", GLOBAL, .type = HF_OPTION_STRING, TOP(char *, serve.tls_cert),
      .flags = HF_OPTION_EXPANDS, .check = hf_check_path, .unit = "file",
      .help = "the certificate chain of serve, as PEM", .commands = FRONT, .common = HF_FOR_SERVE },
    { "tls.key", GLOBAL, .type = HF_OPTION_STRING, TOP(char *, serve.tls_key),
      .flags = HF_OPTION_EXPANDS, .check = hf_check_path, .unit = "file",
      .help = "its private key, as PEM", .commands = FRONT, .common = HF_FOR_SERVE },
    { "tokens", HF_WHERE_TOP, .type = HF_OPTION_TOKENS, TOP(struct hf_token_config *, serve.tokens),
      .also_at = offsetof(struct hf_config, serve.token_count), .initial = "[]",
      .flags = HF_OPTION_EXPANDS, .unit = "token",
      .help = "who may use serve; made by `holdfast token`" },
    { "hosts", GLOBAL, .type = HF_OPTION_LIST, TOP(char **, serve.hosts), .initial = "[]",
      .flags = HF_OPTION_EXPANDS | HF_OPTION_LOWER, .check = hf_check_host, .unit = "host",
      .help = "host names of serve, beside its address", .commands = FRONT,
      .common = HF_FOR_SERVE },
    { "origins", GLOBAL, .type = HF_OPTION_LIST, TOP(char **, serve.origins), .initial = "[]",
      .flags = HF_OPTION_EXPANDS | HF_OPTION_LOWER, .check = hf_check_origin, .unit = "origin",
      .help = "origins of web pages that may use serve", .commands = FRONT,
      .common = HF_FOR_SERVE },
    { "trustedProxies", GLOBAL, .type = HF_OPTION_LIST, TOP(char **, serve.trusted_proxies),
      .initial = "[]", .flags = HF_OPTION_EXPANDS, .check = hf_check_network, .unit = "address",
      .help = "proxies whose X-Forwarded-For serve believes", .commands = FRONT },
    { "sessionTtlMs", GLOBAL, .type = HF_OPTION_U32, TOP(uint32_t, serve.session_ttl_ms), .min = 1,
      .max = MS_MAX, .unit = "ms", .initial = "86400000",
      .help = "how long an unused session of serve is kept", .commands = FRONT },
    { "maxSessions", GLOBAL, .type = HF_OPTION_U32, TOP(uint32_t, serve.max_sessions), .min = 1,
      .max = COUNT_MAX, .unit = "number", .initial = "10000", .help = "sessions of serve at a time",
      .commands = FRONT },

    { "shares", GLOBAL, .type = HF_OPTION_U32, TOP(uint32_t, limits.shares), .min = 1, .max = 1000,
      .unit = "number", .initial = "3", .help = "a client may use this many times what is free",
      .commands = FRONT },

    { "maxMessageBytes", BYTES(max_message_bytes, 1024, INT64_C(1) << 30), .initial = "67108864",
      .help = "longest message" },
    { "maxBufferedBytes", BYTES(max_buffered_bytes, 1024, BYTES_MAX), .initial = "268435456",
      .help = "most bytes held by the whole process" },
    { "maxDepth", GLOBAL, .type = HF_OPTION_U32, TOP(uint32_t, limits.max_depth), .min = 8,
      .max = HF_JSON_DEPTH_MAX, .unit = "number", .initial = "512",
      .help = "deepest nesting of a message" },
    { "pageBytes", BYTES(page_bytes, 1000, INT64_C(1) << 30), .initial = "1000000",
      .help = "lists larger than this come in pages" },
    { "parkMs", GLOBAL, .type = HF_OPTION_U32, TOP(uint32_t, limits.park_ms), .min = 1,
      .max = MS_MAX, .unit = "ms", .initial = "900000",
      .help = "how long a call waits for an answer to its question" },
    { "stateDir", GLOBAL, .type = HF_OPTION_STRING, TOP(char *, state_dir),
      .flags = HF_OPTION_EXPANDS, .check = hf_check_path, .unit = "directory",
      .help = "directory for logs; default in the home directory",
      .common = HF_FOR_RUN | HF_FOR_BRIDGE | HF_FOR_STDIO },
    { "log.level", GLOBAL, TOP(enum hf_log_level, log_level),
      CHOICES("debug", "info", "warn", "error"), .initial = "\"info\"",
      .help = "the lowest level that is logged", .common = EVERY },
    { "log.format", GLOBAL, TOP(enum hf_log_format, log_format), CHOICES("text", "json"),
      .initial = "\"text\"", .help = "how log lines look", .common = HF_FOR_STDIO | HF_FOR_SERVE },
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };

struct place {
    const char *key;
    unsigned where;
};

static const struct place groups[] = {
    { "reconnect", ANYWHERE }, { "liveness", ANYWHERE },     { "tls", GLOBAL },
    { "log", GLOBAL },         { "defaults", HF_WHERE_TOP },
};

static const struct place later[] = {
    { "store", GLOBAL },
};

const struct hf_option *hf_options(size_t *ret_count)
{
    *ret_count = OPTION_COUNT;
    return options;
}

/* The part of a row's key inside `group`; p NULL if the row is not in that group. */
static struct hf_span name_within(const struct hf_option *o, const char *group)
{
    struct hf_span key = hf_span_of(o->key);
    if (!*group)
        return key;
    const size_t n = strlen(group);
    if (!hf_span_starts(key, hf_span_of(group)) || key.p[n] != '.')
        return (struct hf_span) { NULL, 0 };
    return hf_span_from(key, n + 1);
}

const struct hf_option *hf_option_find(unsigned where, const char *group, struct hf_span name)
{
    if (name.n == 0 || memchr(name.p, '.', name.n))
        return NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct hf_span own = name_within(&options[i], group);
        if ((options[i].where & where) && own.p && hf_span_eq(own, name))
            return &options[i];
    }
    return NULL;
}

const char *hf_option_group(unsigned where, struct hf_span name)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if ((groups[i].where & where) && hf_span_is(name, groups[i].key))
            return groups[i].key;
    return NULL;
}

bool hf_option_comes_later(unsigned where, struct hf_span name)
{
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if ((later[i].where & where) && hf_edit_distance(name, hf_span_of(later[i].key)) == 0)
            return true;
    return false;
}

void hf_option_kebab(const struct hf_option *option, char ret_kebab[HF_OPTION_KEBAB_MAX])
{
    size_t n = 0;
    for (const char *c = option->key; *c; c++) {
        assert(n + 3 < HF_OPTION_KEBAB_MAX);
        if (*c == '.') {
            ret_kebab[n++] = '-';
        } else if (*c >= 'A' && *c <= 'Z') {
            ret_kebab[n++] = '-';
            ret_kebab[n++] = hf_lower(*c);
        } else {
            ret_kebab[n++] = *c;
        }
    }
    ret_kebab[n] = '\0';
}

unsigned hf_option_command(const char *name)
{
    static const char *const names[] = { "run", "bridge", "stdio", "serve", "check" };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return 1u << i;
    return 0;
}

bool hf_option_is_of(const struct hf_option *option, unsigned command)
{
    return (option->where & HF_WHERE_LINE) && (!option->commands || (option->commands & command));
}

const struct hf_option *hf_option_find_kebab(const char *option)
{
    char kebab[HF_OPTION_KEBAB_MAX];
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        hf_option_kebab(&options[i], kebab);
        if ((options[i].where & HF_WHERE_LINE) && strcmp(kebab, option) == 0)
            return &options[i];
    }
    return NULL;
}

const char *hf_option_nearest(unsigned where, const char *group, struct hf_span name)
{
    const char *best = NULL;
    unsigned distance, best_distance = HF_TOO_FAR;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct hf_span own = name_within(&options[i], group);
        if (!(options[i].where & where) || !own.p)
            continue;
        if ((distance = hf_edit_distance(name, own)) < best_distance) {
            best_distance = distance;
            best = own.p;
        }
    }
    for (size_t i = 0; !*group && i < sizeof groups / sizeof groups[0]; i++) {
        if (!(groups[i].where & where))
            continue;
        if ((distance = hf_edit_distance(name, hf_span_of(groups[i].key))) < best_distance) {
            best_distance = distance;
            best = groups[i].key;
        }
    }
    return best;
}

/* The unit at the end of a key is what people leave out. */
static unsigned distance_to_key(const char *option, const char *key)
{
    char with_unit[HF_OPTION_KEBAB_MAX + 4];
    (void)snprintf(with_unit, sizeof with_unit, "%s-ms", option);
    return hf_edit_distance(hf_span_of(with_unit), hf_span_of(key)) == 0
               ? 0
               : hf_edit_distance(hf_span_of(option), hf_span_of(key));
}

bool hf_option_nearest_kebab(const char *option, char ret_kebab[HF_OPTION_KEBAB_MAX])
{
    unsigned best_distance = HF_TOO_FAR;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const unsigned distance =
            options[i].where & HF_WHERE_LINE ? distance_to_key(option, options[i].key) : HF_TOO_FAR;
        if (distance < best_distance) {
            best_distance = distance;
            hf_option_kebab(&options[i], ret_kebab);
        }
    }
    return best_distance < HF_TOO_FAR;
}

void hf_option_allowed(const struct hf_option *o, struct hf_buf *out)
{
    static const char *const words[] = {
        [HF_OPTION_BOOL] = "true or false",
        [HF_OPTION_STRING] = "a string",
        [HF_OPTION_LIST] = "an array of strings",
        [HF_OPTION_PAIRS] = "an object of strings",
        [HF_OPTION_INHERIT] = "true, false or an array of strings",
        [HF_OPTION_TOKENS] = "an array of tokens",
    };
    switch (o->type) {
    case HF_OPTION_CHOICE:
        for (size_t i = 0; o->choices[i]; i++)
            hf_buf_printf(out, "%s\"%s\"", i ? " or " : "", o->choices[i]);
        break;
    case HF_OPTION_DOUBLE:
        hf_buf_printf(out, "a number from %" PRId64 " to %" PRId64, o->min, o->max);
        break;
    case HF_OPTION_U32:
    case HF_OPTION_I32:
    case HF_OPTION_U64:
        hf_buf_printf(out, "a whole number from %" PRId64 " to %" PRId64, o->min, o->max);
        if (strcmp(o->unit, "number") != 0)
            hf_buf_printf(out, " (%s)", o->unit);
        break;
    case HF_OPTION_STATUSES:
        hf_buf_printf(out, "an array of statuses from %" PRId64 " to %" PRId64, o->min, o->max);
        break;
    default: hf_buf_add_str(out, words[o->type]);
    }
}
