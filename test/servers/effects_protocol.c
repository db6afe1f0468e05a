/* effects_protocol.c - the test server's side of MCP, 2024-11-05 to 2025-11-25; see effects.h. */
#include "effects.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUF_MAX = 1 << 24, DEPTH_MAX = 512, LISTED_MAX = 128 };

typedef void (*method_fn)(struct server *s, const struct hf_msg *msg);

static void on_initialize(struct server *s, const struct hf_msg *msg)
{
    if (s->opt.hang_start)
        return;
    char *version = arg_text(msg->params, "protocolVersion", "2025-11-25");
    append_line(s->opt.events, "%d client %.*s", (int)getpid(), HF_FMT(msg->params));
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_printf(&b,
                  "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{\"listChanged\":true}",
                  version);
    if (!s->opt.bare)
        hf_buf_add_str(&b,
                       ",\"prompts\":{\"listChanged\":true},\"resources\":{\"listChanged\":true,"
                       "\"subscribe\":true},\"completions\":{},\"logging\":{}");
    hf_buf_printf(&b, "},\"serverInfo\":{\"name\":\"%s\",\"version\":\"7.1\",\"x-extra\":1.0}",
                  s->opt.name);
    if (s->opt.instructions) {
        hf_buf_add_str(&b, ",\"instructions\":");
        hf_json_add_string(&b, hf_span_of(s->opt.instructions));
    }
    hf_buf_add_char(&b, '}');
    out_result(s, msg->id, hf_buf_span(&b));
    hf_buf_done(&b);
    hf_free(version);
}

/* ---- tools ---- */

static size_t listed_tools(const struct server *s, const char *listed[LISTED_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < s->tools_from_count; i++)
        listed[n++] = s->tools_from[i];
    for (const struct tool *t = tools; s->tools_from_count == 0 && t->name; t++)
        listed[n++] = t->name;
    if (s->has_extra)
        listed[n++] = "extra";
    return n;
}

static void add_tool(struct hf_buf *b, const char *name)
{
    const struct tool *tool = tool_named(name);
    hf_json_add_comma(b);
    hf_buf_printf(b, "{\"name\":\"%s\",\"description\":\"does %s, in its own \\u0077ords\",", name,
                  name);
    hf_buf_add_str(b, "\"inputSchema\":{\"type\":\"object\",\"properties\":{},\"x-limit\":1.50}");
    if (tool && tool->annotations)
        hf_buf_printf(b, ",\"annotations\":%s", tool->annotations);
    hf_buf_add_char(b, '}');
}

static void on_tools_list(struct server *s, const struct hf_msg *msg)
{
    if (s->opt.hang_list)
        return;
    const char *listed[LISTED_MAX];
    const size_t count = listed_tools(s, listed);
    char *cursor = arg_text(msg->params, "cursor", "0");
    const size_t from = (size_t)atol(cursor);
    const size_t to =
        s->opt.page && from + (size_t)s->opt.page < count ? from + (size_t)s->opt.page : count;
    hf_free(cursor);
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_add_str(&b, "{\"tools\":[");
    for (size_t i = from; i < to; i++)
        add_tool(&b, listed[i]);
    hf_buf_add_char(&b, ']');
    if (to < count)
        hf_buf_printf(&b, ",\"nextCursor\":\"%zu\"", to);
    hf_buf_add_char(&b, '}');
    out_result(s, msg->id, hf_buf_span(&b));
    hf_buf_done(&b);
    if (s->opt.exit_after_list) {
        fprintf(stderr, "effects: leaving right after the list\n");
        exit(3);
    }
}

static void on_tools_call(struct server *s, const struct hf_msg *msg)
{
    char *name = arg_text(msg->params, "name", "");
    const struct hf_span meta = hf_json_get(msg->params, HF_SPAN("_meta"));
    const struct call call = { .id = msg->id,
                               .params = msg->params,
                               .args = hf_json_get(msg->params, HF_SPAN("arguments")),
                               .token = hf_json_get(meta, HF_SPAN("progressToken")),
                               .tool = name };
    const struct tool *tool = tool_named(name);
    bool listed = s->has_extra && strcmp(name, "extra") == 0;
    for (size_t i = 0; i < s->tools_from_count; i++)
        listed = listed || strcmp(name, s->tools_from[i]) == 0;
    if (tool)
        tool->run(s, &call);
    else if (listed)
        tool_named("echo")->run(s, &call);
    else
        out_error(s, msg->id, -32602, "no such tool here");
    hf_free(name);
}

/* ---- prompts, resources, completion ---- */

static void on_prompts_list(struct server *s, const struct hf_msg *msg)
{
    out_result(
        s, msg->id,
        HF_SPAN("{\"prompts\":[{\"name\":\"greet\",\"description\":\"says hello\",\"arguments\":"
                "[{\"name\":\"who\",\"required\":false}]}]}"));
}

static void on_prompts_get(struct server *s, const struct hf_msg *msg)
{
    char *name = arg_text(msg->params, "name", "");
    char *who = arg_text(hf_json_get(msg->params, HF_SPAN("arguments")), "who", "nobody");
    if (strcmp(name, "greet") != 0) {
        out_error(s, msg->id, -32602, "no such prompt here");
    } else {
        struct hf_buf b;
        hf_buf_init(&b, BUF_MAX);
        hf_buf_add_str(
            &b, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
        hf_json_add_string(&b, hf_span_of(who));
        hf_buf_add_str(&b, "}}]}");
        out_result(s, msg->id, hf_buf_span(&b));
        hf_buf_done(&b);
    }
    hf_free(name);
    hf_free(who);
}

static void on_resources_list(struct server *s, const struct hf_msg *msg)
{
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_printf(&b, "{\"resources\":[{\"uri\":\"%s://one\",\"name\":\"one\"},", s->opt.name);
    hf_buf_printf(&b, "{\"uri\":\"%s://two\",\"name\":\"two\"}]}", s->opt.name);
    out_result(s, msg->id, hf_buf_span(&b));
    hf_buf_done(&b);
}

static void on_templates_list(struct server *s, const struct hf_msg *msg)
{
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_printf(
        &b, "{\"resourceTemplates\":[{\"uriTemplate\":\"%s://item/{id}\",\"name\":\"item\"}]}",
        s->opt.name);
    out_result(s, msg->id, hf_buf_span(&b));
    hf_buf_done(&b);
}

static void on_resources_read(struct server *s, const struct hf_msg *msg)
{
    char *uri = arg_text(msg->params, "uri", "");
    const size_t name = strlen(s->opt.name);
    if (strncmp(uri, s->opt.name, name) != 0 || strncmp(uri + name, "://", 3) != 0) {
        out_error(s, msg->id, -32002, "no such resource here");
    } else {
        struct hf_buf b;
        hf_buf_init(&b, BUF_MAX);
        hf_buf_add_str(&b, "{\"contents\":[{\"uri\":");
        hf_json_add_string(&b, hf_span_of(uri));
        hf_buf_printf(&b, ",\"text\":\"read by %d\"}]}", (int)getpid());
        out_result(s, msg->id, hf_buf_span(&b));
        hf_buf_done(&b);
    }
    hf_free(uri);
}

static char **subscription(struct server *s, const char *uri) /* uri NULL: a free place */
{
    for (size_t i = 0; i < SUBSCRIPTIONS_MAX; i++)
        if (uri ? s->subscriptions[i] && strcmp(s->subscriptions[i], uri) == 0
                : !s->subscriptions[i])
            return &s->subscriptions[i];
    return NULL;
}

static void on_subscribe(struct server *s, const struct hf_msg *msg)
{
    char *uri = arg_text(msg->params, "uri", "");
    append_line(s->opt.events, "%d subscribe %s", (int)getpid(), uri);
    char **place = subscription(s, uri);
    if (!place && (place = subscription(s, NULL)))
        *place = hf_strdup(uri);
    hf_free(uri);
    out_result(s, msg->id, HF_SPAN("{}"));
}

static void on_unsubscribe(struct server *s, const struct hf_msg *msg)
{
    char *uri = arg_text(msg->params, "uri", "");
    append_line(s->opt.events, "%d unsubscribe %s", (int)getpid(), uri);
    char **place = subscription(s, uri);
    if (place) {
        hf_free(*place);
        *place = NULL;
    }
    hf_free(uri);
    out_result(s, msg->id, HF_SPAN("{}"));
}

static void on_complete(struct server *s, const struct hf_msg *msg)
{
    char *value = arg_text(hf_json_get(msg->params, HF_SPAN("argument")), "value", "");
    struct hf_buf b;
    hf_buf_init(&b, BUF_MAX);
    hf_buf_add_str(&b, "{\"completion\":{\"values\":[");
    hf_json_add_string(&b, hf_span_of(value));
    hf_buf_add_str(&b, "],\"hasMore\":false}}");
    out_result(s, msg->id, hf_buf_span(&b));
    hf_buf_done(&b);
    hf_free(value);
}

static void on_set_level(struct server *s, const struct hf_msg *msg)
{
    char *level = arg_text(msg->params, "level", "?");
    append_line(s->opt.events, "%d level %s", (int)getpid(), level);
    hf_free(level);
    out_result(s, msg->id, HF_SPAN("{}"));
}

static void on_ping(struct server *s, const struct hf_msg *msg)
{
    append_line(s->opt.events, "%d ping", (int)getpid());
    out_result(s, msg->id, HF_SPAN("{}"));
}

static const struct {
    const char *name;
    method_fn run;
    bool is_optional; /* not there under --bare */
} methods[] = {
    { "initialize", on_initialize, false },
    { "ping", on_ping, false },
    { "tools/list", on_tools_list, false },
    { "tools/call", on_tools_call, false },
    { "prompts/list", on_prompts_list, true },
    { "prompts/get", on_prompts_get, true },
    { "resources/list", on_resources_list, true },
    { "resources/templates/list", on_templates_list, true },
    { "resources/read", on_resources_read, true },
    { "resources/subscribe", on_subscribe, true },
    { "resources/unsubscribe", on_unsubscribe, true },
    { "completion/complete", on_complete, true },
    { "logging/setLevel", on_set_level, true },
};

static void on_request(struct server *s, const struct hf_msg *msg)
{
    char *method = hf_span_dup(msg->method);
    append_line(s->opt.events, "%d got %s", (int)getpid(), method);
    (void)die_if_told(s, method);
    size_t i = 0;
    while (i < sizeof methods / sizeof *methods && strcmp(methods[i].name, method) != 0)
        i++;
    if (i == sizeof methods / sizeof *methods || (methods[i].is_optional && s->opt.bare))
        out_error(s, msg->id, -32601, "no such method here");
    else
        methods[i].run(s, msg);
    hf_free(method);
}

static void on_notification(struct server *s, const struct hf_msg *msg)
{
    append_line(s->opt.events, "%d got %.*s %.*s", (int)getpid(), HF_FMT(msg->method),
                HF_FMT(msg->params.p ? msg->params : HF_SPAN("{}")));
    if (hf_span_is(msg->method, "notifications/cancelled"))
        on_cancelled(s, hf_json_get(msg->params, HF_SPAN("requestId")));
}

void on_message(struct server *s, struct hf_span text)
{
    struct hf_msg msg;
    struct hf_err err;
    if (hf_msg_parse(text, DEPTH_MAX, &msg, &err) != HF_MSG_OK) {
        append_line(s->opt.events, "%d bad %s", (int)getpid(), err.text);
        return;
    }
    if (msg.kind == HF_MSG_REQUEST)
        on_request(s, &msg);
    else if (msg.kind == HF_MSG_NOTIFICATION)
        on_notification(s, &msg);
    else
        on_answer(s, &msg);
}
