/* effects_tools.c - the tools of the test server: each one way to work, to fail or to die. */
#include "effects.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BUF_MAX = 1 << 24, BLOCK = 1 << 20, GRANDCHILD_LIFE_S = 300 };
#define NS_PER_MS 1000000u
#define NS_PER_S  1000000000u

long arg_int(struct hf_span args, const char *name, long otherwise)
{
    int64_t value = 0;
    return hf_json_int(hf_json_get(args, hf_span_of(name)), &value) ? (long)value : otherwise;
}

char *arg_text(struct hf_span args, const char *name, const char *otherwise)
{
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    const struct hf_span value = hf_json_get(args, hf_span_of(name));
    const bool is_text = value.p && hf_json_unescape(value, &b);
    char *text = is_text ? hf_span_dup(hf_buf_span(&b)) : hf_strdup(otherwise);
    hf_buf_done(&b);
    return text;
}

static void answer(struct server *s, const struct call *call, const char *text)
{
    out_text(s, call->id, hf_span_of(text));
}

static void answer_pid(struct server *s, const struct call *call)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    answer(s, call, pid);
}

static void write_effect(struct server *s, const char *key)
{
    append_line(s->opt.effects, "%s %d %llu", key, (int)getpid(), (unsigned long long)clock_ns());
}

static void effect_of(struct server *s, const struct call *call)
{
    char *key = arg_text(call->args, "key", "nokey");
    write_effect(s, key);
    hf_free(key);
    (void)die_if_told(s, call->tool);
}

/* ---- working ---- */

static void echo(struct server *s, const struct call *call)
{
    char *text = arg_text(call->args, "text", "");
    answer(s, call, text);
    hf_free(text);
}

/* The params as they came, byte for byte. */
static void params(struct server *s, const struct call *call)
{
    out_text(s, call->id, call->params);
}

/* A result whose bytes a proxy has no business to touch. */
static void spellings(struct server *s, const struct call *call)
{
    out_result(s, call->id,
               HF_SPAN("{\"content\":[],\"n\":[1.0,1E5,-0,12345678901234567890,0.10,1e400],"
                       "\"t\":\"\\u0041\\/\\ud83d\\ude00\\u0000\",\"x\" : {\"k\":1,\"k\":2}}"));
}

static void effect(struct server *s, const struct call *call)
{
    effect_of(s, call);
    answer_pid(s, call);
}

static void environment(struct server *s, const struct call *call)
{
    char *name = arg_text(call->args, "name", "");
    const char *value = getenv(name);
    answer(s, call, value ? value : "(unset)");
    hf_free(name);
}

static void where(struct server *s, const struct call *call)
{
    char path[4096];
    answer(s, call, getcwd(path, sizeof path) ? path : "?");
}

static void tool_error(struct server *s, const struct call *call)
{
    out_result(s, call->id,
               HF_SPAN("{\"content\":[{\"type\":\"text\",\"text\":\"connection refused: EOF\"}],"
                       "\"isError\":true}"));
}

static void rpc_error(struct server *s, const struct call *call)
{
    (void)s;
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_add_str(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
    hf_buf_add(&b, call->id);
    hf_buf_add_str(&b,
                   ",\"error\":{\"code\":-32050,\"message\":\"connection closed: EOF\",\"data\":"
                   "{\"n\":1.50,\"why\":\"session not found\"}}}");
    out_line(&b);
}

/* ---- dying ---- */

static void effect_then_die(struct server *s, const struct call *call)
{
    effect_of(s, call);
    die();
}

static void die_before_effect(struct server *s, const struct call *call)
{
    (void)s;
    (void)call;
    die();
}

/* Everything it was sent is read by then: what lies in the pipe afterwards it wrote itself. */
static void effect_then_write_stdin(struct server *s, const struct call *call)
{
    effect_of(s, call);
    const size_t n = (size_t)arg_int(call->args, "bytes", 1);
    char *text = hf_alloc(n + 1);
    memset(text, 'x', n);
    text[n - 1] = '\n';
    const int own = open("/proc/self/fd/0", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_written = own >= 0 && write(own, text, n) == (ssize_t)n;
    append_line(s->opt.events, "%d own_stdin %d", (int)getpid(), is_written);
    die();
}

static void answer_then_die(struct server *s, const struct call *call)
{
    effect(s, call);
    die();
}

static void answer_then_exit(struct server *s, const struct call *call)
{
    effect(s, call);
    exit((int)arg_int(call->args, "status", 0));
}

static void close_stdout(struct server *s, const struct call *call)
{
    effect_of(s, call);
    close(STDOUT_FILENO);
}

static void swallow(struct server *s, const struct call *call)
{
    effect_of(s, call);
}

static void complain(struct server *s, const struct call *call)
{
    char *text = arg_text(call->args, "text", "");
    fprintf(stderr, "%s\n", text);
    hf_free(text);
    answer_pid(s, call);
}

/* ---- slow ---- */

static void slow(struct server *s, const struct call *call)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        struct slow_call *sc = &s->slow[i];
        if (sc->id)
            continue;
        *sc = (struct slow_call) { .id = hf_span_dup(call->id),
                                   .key = arg_text(call->args, "key", "nokey"),
                                   .due_ns = clock_ns() +
                                             (uint64_t)arg_int(call->args, "ms", 0) * NS_PER_MS };
        append_line(s->opt.events, "%d slow %s", (int)getpid(), sc->key);
        return;
    }
    out_error(s, call->id, -32000, "too many slow calls");
}

/* As slow, but deaf to everything meanwhile: what a single-threaded server does in a long tool. The
 * effect comes after the nap, or with "early" before it: then a death in the nap has something to
 * hide. */
static void busy(struct server *s, const struct call *call)
{
    const uint64_t ns = (uint64_t)arg_int(call->args, "ms", 0) * NS_PER_MS;
    const struct timespec nap = { .tv_sec = (time_t)(ns / NS_PER_S),
                                  .tv_nsec = (long)(ns % NS_PER_S) };
    const bool is_early = arg_int(call->args, "early", 0) != 0;
    if (is_early)
        effect_of(s, call);
    nanosleep(&nap, NULL);
    if (!is_early)
        effect_of(s, call);
    answer_pid(s, call);
}

static void forget_slow(struct slow_call *sc)
{
    hf_free(sc->id);
    hf_free(sc->key);
    *sc = (struct slow_call) { 0 };
}

void tools_tick(struct server *s)
{
    const uint64_t now = clock_ns();
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        struct slow_call *sc = &s->slow[i];
        if (!sc->id || sc->due_ns > now)
            continue;
        write_effect(s, sc->key);
        const struct call call = { .id = hf_span_of(sc->id) };
        answer_pid(s, &call);
        forget_slow(sc);
    }
}

int tools_timeout_ms(const struct server *s)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (s->slow[i].id && s->slow[i].due_ns < first)
            first = s->slow[i].due_ns;
    const uint64_t now = clock_ns();
    return first == UINT64_MAX ? -1 : first <= now ? 0 : (int)((first - now) / NS_PER_MS + 1);
}

void on_cancelled(struct server *s, struct hf_span id)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        struct slow_call *sc = &s->slow[i];
        if (!sc->id || !hf_json_same_scalar(hf_span_of(sc->id), id))
            continue;
        append_line(s->opt.events, "%d cancelled %s", (int)getpid(), sc->key);
        forget_slow(sc);
    }
}

/* ---- talking back ---- */

static void progress(struct server *s, const struct call *call)
{
    const long n = arg_int(call->args, "n", 3);
    for (long i = 1; call->token.p && i <= n; i++) {
        struct hf_buf b;
        hf_buf_init(&b, BUF_MAX);
        hf_buf_add_str(&b, "{\"progressToken\":");
        hf_buf_add(&b, call->token);
        hf_buf_printf(&b, ",\"progress\":%ld,\"total\":%ld,\"message\":\"step %ld\"}", i, n, i);
        out_notification("notifications/progress", hf_buf_span(&b));
        hf_buf_done(&b);
    }
    answer_pid(s, call);
}

static void ask(struct server *s, const struct call *call)
{
    size_t i = 0;
    while (i < ASKS_MAX && s->asks[i].id)
        i++;
    if (i == ASKS_MAX) {
        out_error(s, call->id, -32000, "too many questions");
        return;
    }
    s->asks[i] = (struct ask) { .id = hf_span_dup(call->id), .number = ++s->asked };
    char *method = arg_text(call->args, "method", "roots/list");
    const struct hf_span params = hf_json_get(call->args, HF_SPAN("params"));
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%u\",\"method\":\"%s\"", s->asked, method);
    if (params.p) {
        hf_buf_add_str(&b, ",\"params\":");
        hf_buf_add(&b, params);
    }
    hf_buf_add_char(&b, '}');
    out_line(&b);
    hf_free(method);
}

/* The call that made us ask is answered with what the client said, result or error, as text. */
void on_answer(struct server *s, const struct hf_msg *msg)
{
    for (size_t i = 0; i < ASKS_MAX; i++) {
        char id[32];
        const int n = snprintf(id, sizeof id, "\"ask-%u\"", s->asks[i].number);
        if (!s->asks[i].id || !hf_span_eq(msg->id, (struct hf_span) { id, (size_t)n }))
            continue;
        out_text(s, hf_span_of(s->asks[i].id),
                 msg->kind == HF_MSG_RESULT ? msg->result : msg->error);
        hf_free(s->asks[i].id);
        s->asks[i] = (struct ask) { 0 };
        return;
    }
    append_line(s->opt.events, "%d stray answer %.*s", (int)getpid(), HF_FMT(msg->text));
}

static void change_tools(struct server *s, const struct call *call)
{
    if (arg_int(call->args, "same", 0) == 0)
        s->has_extra = !s->has_extra;
    out_notification("notifications/tools/list_changed", (struct hf_span) { NULL, 0 });
    answer_pid(s, call);
}

static void log_message(struct server *s, const struct call *call)
{
    char *text = arg_text(call->args, "text", "");
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_add_str(&b, "{\"level\":\"warning\",\"logger\":\"effects\",\"data\":");
    hf_json_add_string(&b, hf_span_of(text));
    hf_buf_add_char(&b, '}');
    out_notification("notifications/message", hf_buf_span(&b));
    hf_buf_done(&b);
    hf_free(text);
    answer_pid(s, call);
}

static void touch_resource(struct server *s, const struct call *call)
{
    char *uri = arg_text(call->args, "uri", "");
    for (size_t i = 0; i < SUBSCRIPTIONS_MAX; i++) {
        if (!s->subscriptions[i] || strcmp(s->subscriptions[i], uri) != 0)
            continue;
        struct hf_buf b;
        hf_buf_init(&b, BUF_MAX);
        hf_buf_add_str(&b, "{\"uri\":");
        hf_json_add_string(&b, hf_span_of(uri));
        hf_buf_add_char(&b, '}');
        out_notification("notifications/resources/updated", hf_buf_span(&b));
        hf_buf_done(&b);
    }
    hf_free(uri);
    answer_pid(s, call);
}

/* ---- too much, and nonsense ---- */

static void out_repeated(char c, size_t n)
{
    char *block = hf_alloc(BLOCK);
    memset(block, c, BLOCK);
    for (size_t left = n; left > 0;) {
        const size_t now = left < BLOCK ? left : BLOCK;
        out_bytes((struct hf_span) { block, now });
        left -= now;
    }
    hf_free(block);
}

static void out_id(const char *before, struct hf_span id, const char *after)
{
    out_bytes(hf_span_of(before));
    out_bytes(id);
    out_bytes(hf_span_of(after));
}

static void big(struct server *s, const struct call *call)
{
    effect_of(s, call);
    char *order = arg_text(call->args, "id", "first");
    const bool is_first = strcmp(order, "first") == 0;
    if (is_first)
        out_id("{\"jsonrpc\":\"2.0\",\"id\":", call->id, ",\"result\":{");
    else
        out_bytes(HF_SPAN("{\"jsonrpc\":\"2.0\",\"result\":{"));
    if (strcmp(order, "nested") == 0)
        out_bytes(HF_SPAN("\"id\":1,\"deeper\":{\"id\":2,\"s\":\"\\\"id\\\":3\"},"));
    out_bytes(HF_SPAN("\"content\":[{\"type\":\"text\",\"text\":\""));
    out_repeated('x', (size_t)arg_int(call->args, "bytes", 1000));
    if (is_first)
        out_bytes(HF_SPAN("\"}]}}\n"));
    else
        out_id("\"}]},\"id\":", call->id, "}\n");
    hf_free(order);
}

enum { DEEP = 100000 };

static void noise(const char *kind)
{
    if (strcmp(kind, "text") == 0)
        out_bytes(HF_SPAN("npm WARN this is no JSON at all\n\n   \nListening on stdio...\n"));
    else if (strcmp(kind, "utf8") == 0)
        out_bytes(
            HF_SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/\xff\xfe\"}\n\xc3\x28\n"));
    else if (strcmp(kind, "json") == 0)
        out_bytes(
            HF_SPAN("42\n\"text\"\nnull\n[]\n{}\n{\"hello\":1}\n{\"jsonrpc\":\"1.0\",\"id\":1}\n"));
    else if (strcmp(kind, "half") == 0)
        out_bytes(HF_SPAN("{\"jsonrpc\":\"2.0\",\"id\":\n"));
    else if (strcmp(kind, "unknown_id") == 0)
        out_bytes(HF_SPAN(
            "{\"jsonrpc\":\"2.0\",\"id\":\"nobody's\",\"result\":{}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":987654321,\"error\":{\"code\":1,\"message\":\"x\"}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}\n"));
    else if (strcmp(kind, "duplicate") == 0)
        out_bytes(HF_SPAN("{\"jsonrpc\":\"2.0\",\"id\":5,\"id\":6,\"result\":{}}\n"
                          "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"method\":\"b\"}\n"));
    else if (strcmp(kind, "notification") == 0)
        out_bytes(HF_SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/never/"
                          "heard\",\"params\":{\"a\":1}}\n"));
    else if (strcmp(kind, "deep") == 0) {
        out_repeated('[', DEEP);
        out_repeated(']', DEEP);
        out_bytes(HF_SPAN("\n"));
    }
}

static void garbage(struct server *s, const struct call *call)
{
    char *kind = arg_text(call->args, "kind", "text");
    if (strcmp(kind, "long") == 0) {
        out_repeated('z', (size_t)arg_int(call->args, "bytes", 1000));
        out_bytes(HF_SPAN("\n"));
    }
    noise(kind);
    hf_free(kind);
    answer_pid(s, call);
}

/* The answer to this very call is broken. */
static void bad_answer(struct server *s, const struct call *call)
{
    effect_of(s, call);
    char *kind = arg_text(call->args, "kind", "half");
    if (strcmp(kind, "duplicate_id") == 0) {
        out_id("{\"jsonrpc\":\"2.0\",\"id\":", call->id, ",");
        out_id("\"id\":", call->id, ",\"result\":{\"content\":[]}}\n");
        hf_free(kind);
        return;
    }
    out_id("{\"jsonrpc\":\"2.0\",\"id\":", call->id, ",\"result\":");
    if (strcmp(kind, "half") == 0) {
        out_bytes(HF_SPAN("{\"content\":[\n"));
    } else if (strcmp(kind, "utf8") == 0) {
        out_bytes(HF_SPAN("{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}}\n"));
    } else if (strcmp(kind, "deep") == 0) {
        out_repeated('[', DEEP);
        out_repeated(']', DEEP);
        out_bytes(HF_SPAN("}\n"));
    } else if (strcmp(kind, "duplicate_result") == 0) {
        out_bytes(HF_SPAN("{\"content\":[]},\"result\":{\"content\":[]}}\n"));
    } else if (strcmp(kind, "both") == 0) {
        out_bytes(HF_SPAN("{\"content\":[]},\"error\":{\"code\":1,\"message\":\"x\"}}\n"));
    } else { /* twice */
        out_bytes(HF_SPAN("{\"content\":[]}}\n"));
        answer_pid(s, call);
    }
    hf_free(kind);
}

/* ---- a descendant that clings ---- */

static _Noreturn void cling(struct server *s, const char *hold)
{
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGALRM)
            signal(sig, SIG_IGN);
    alarm(GRANDCHILD_LIFE_S);
    if (!strchr(hold, 'i'))
        close(STDIN_FILENO);
    if (!strchr(hold, 'o'))
        close(STDOUT_FILENO);
    if (!strchr(hold, 'e'))
        close(STDERR_FILENO);
    append_line(s->opt.instances, "grandchild %d", (int)getpid());
    for (;;)
        pause();
}

/* hold: which of i(n), o(ut), e(rr) the grandchild keeps open */
static void spawn_grandchild(struct server *s, const struct call *call)
{
    char *hold = arg_text(call->args, "hold", "ioe");
    if (fork() == 0)
        cling(s, hold);
    hf_free(hold);
    answer_pid(s, call);
}

#define READS "{\"readOnlyHint\":true}"
const struct tool tools[] = {
    { "echo", READS, echo },
    { "params", NULL, params },
    { "spellings", NULL, spellings },
    { "effect", NULL, effect },
    { "idempotent", "{\"idempotentHint\":true}", effect },
    { "env", NULL, environment },
    { "where", NULL, where },
    { "tool_error", NULL, tool_error },
    { "rpc_error", NULL, rpc_error },
    { "effect_then_die", NULL, effect_then_die },
    { "effect_then_write_stdin", NULL, effect_then_write_stdin },
    { "die_before_effect", NULL, die_before_effect },
    { "answer_then_die", NULL, answer_then_die },
    { "answer_then_exit", NULL, answer_then_exit },
    { "close_stdout", NULL, close_stdout },
    { "swallow", NULL, swallow },
    { "complain", NULL, complain },
    { "slow", NULL, slow },
    { "busy", NULL, busy },
    { "progress", NULL, progress },
    { "ask", NULL, ask },
    { "change_tools", NULL, change_tools },
    { "log", NULL, log_message },
    { "touch", NULL, touch_resource },
    { "big", NULL, big },
    { "garbage", NULL, garbage },
    { "bad_answer", NULL, bad_answer },
    { "spawn_grandchild", NULL, spawn_grandchild },
    { NULL, NULL, NULL },
};

const struct tool *tool_named(const char *name)
{
    for (const struct tool *t = tools; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}
