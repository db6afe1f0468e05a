/* engine_talk.c - the messages of an engine_fixture world: kept, found, and said by its clients. */
#include <stdarg.h>
#include "engine_fixture.h"

enum { MESSAGE_MAX = 1 << 28 };

/* ---- kept messages ---- */

void keep_message(struct messages *list, struct hf_span text, uint64_t now_ms)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 16;
        list->items = hf_realloc(list->items, list->cap * sizeof *list->items);
    }
    struct message *m = &list->items[list->count];
    struct hf_err err;
    *m = (struct message) { .text = hf_span_dup(text), .at_ms = now_ms };
    if (hf_msg_parse((struct hf_span) { m->text, text.n }, 4096, &m->msg, &err) != HF_MSG_OK) {
        printf("# not a message: %s: %.200s\n", err.text, m->text);
        test_fail(__FILE__, __LINE__, "every line is a JSON-RPC message");
        hf_free(m->text);
        return;
    }
    list->count++;
}

struct message *keep_pieces(struct messages *list, const struct hf_span *pieces, unsigned count,
                            uint64_t now_ms)
{
    struct hf_buf text;
    hf_buf_init(&text, MESSAGE_MAX);
    for (unsigned i = 0; i < count; i++)
        hf_buf_add(&text, pieces[i]);
    const size_t before = list->count;
    keep_message(list, hf_buf_span(&text), now_ms);
    hf_buf_done(&text);
    return list->count > before ? &list->items[before] : NULL;
}

void free_messages(struct messages *list)
{
    for (size_t i = 0; i < list->count; i++)
        hf_free(list->items[i].text);
    hf_free(list->items);
}

static const struct message *last_with_method(const struct messages *list, const char *method)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->items[i].msg.method.p && hf_span_is(list->items[i].msg.method, method))
            return &list->items[i];
    return NULL;
}

static size_t count_with_method(const struct messages *list, const char *method)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].msg.method.p && hf_span_is(list->items[i].msg.method, method);
    return count;
}

bool span_has(struct hf_span text, const char *part)
{
    return text.n && memmem(text.p, text.n, part, strlen(part));
}

char *format_text(const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        abort();
    return text;
}

/* ---- what a child was told ---- */

size_t child_got(const struct child *c, const char *method)
{
    return count_with_method(&c->got, method);
}

const struct message *child_last(const struct child *c, const char *method)
{
    return last_with_method(&c->got, method);
}

struct hf_span child_last_id(const struct child *c, const char *method)
{
    const struct message *m = child_last(c, method);
    return m ? m->msg.id : HF_SPAN("");
}

/* ---- what a well-behaved server answers ---- */

char *reply_with(struct hf_span id, const char *member, const char *value)
{
    char *text = NULL;
    if (asprintf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s}", HF_FMT(id), member, value) <
        0)
        abort();
    return text;
}

static char *reply_to_greeting(const struct manners *m, struct hf_span id, bool is_discover)
{
    char result[1000], capabilities[200];
    (void)snprintf(capabilities, sizeof capabilities, "{\"tools\":{}%s%s}",
                   m->prompts ? ",\"prompts\":{}" : "",
                   m->resources ? ",\"resources\":{\"subscribe\":true}" : "");
    if (is_discover) {
        (void)snprintf(result, sizeof result,
                       "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
                       "\"capabilities\":%s,\"ttlMs\":0,\"cacheScope\":\"public\",\"_meta\":{"
                       "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"fake\","
                       "\"version\":\"1\"}}}",
                       m->capabilities ? m->capabilities : capabilities);
        return reply_with(id, "result", result);
    }
    (void)snprintf(result, sizeof result,
                   "{\"protocolVersion\":\"%s\",\"capabilities\":%s,\"serverInfo\":{\"name\":"
                   "\"fake\",\"version\":\"1\"},\"instructions\":\"be kind\"}",
                   m->version ? m->version : "2025-11-25",
                   m->capabilities ? m->capabilities : capabilities);
    return reply_with(id, "result", result);
}

static char *reply_to_list(struct hf_span id, const char *member, const char *array)
{
    char *result = NULL;
    if (asprintf(&result, "{\"%s\":%s}", member, array ? array : "[]") < 0)
        abort();
    char *text = reply_with(id, "result", result);
    free(result);
    return text;
}

char *reply_to(const struct manners *m, const struct hf_msg *msg)
{
    if (msg->kind != HF_MSG_REQUEST || m->mute)
        return NULL;
    if (hf_span_is(msg->method, "initialize"))
        return m->no_init
                   ? reply_with(msg->id, "error", "{\"code\":-32000,\"message\":\"bad day\"}")
                   : reply_to_greeting(m, msg->id, false);
    if (hf_span_is(msg->method, "server/discover"))
        return m->is_modern
                   ? reply_to_greeting(m, msg->id, true)
                   : reply_with(msg->id, "error", "{\"code\":-32601,\"message\":\"what?\"}");
    if (hf_span_is(msg->method, "tools/list")) {
        if (m->no_tools)
            return reply_with(msg->id, "error", "{\"code\":-32000,\"message\":\"no list\"}");
        return m->stuck_list ? NULL : reply_to_list(msg->id, "tools", m->tools);
    }
    if (hf_span_is(msg->method, "prompts/list"))
        return reply_to_list(msg->id, "prompts", m->prompts);
    if (hf_span_is(msg->method, "resources/list"))
        return reply_to_list(msg->id, "resources", m->resources);
    if (hf_span_is(msg->method, "resources/templates/list"))
        return reply_to_list(msg->id, "resourceTemplates", m->templates);
    if (hf_span_is(msg->method, "ping"))
        return m->no_ping ? NULL : reply_with(msg->id, "result", "{}");
    if (hf_span_is(msg->method, "tools/call") && m->answers_calls)
        return reply_with(msg->id, "result", "{\"content\":[]}");
    return NULL;
}

/* ---- clients ---- */

struct client *open_client(struct world *w, struct hf_server *only)
{
    struct client *c = &w->clients[w->client_count++];
    c->world = w;
    c->session = hf_session_open(w->engine, only, hf_sink_of(c), at(w->now_ms));
    settle(w);
    return c;
}

struct client *greeted_client_with(struct world *w, struct hf_server *only,
                                   const char *capabilities)
{
    struct client *c = open_client(w, only);
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-06-18\",\"capabilities\":%s,\"clientInfo\":{\"name\":"
                "\"tester\",\"version\":\"1\"}}}",
                capabilities);
    client_says(c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    return c;
}

struct client *greeted_client(struct world *w, struct hf_server *only)
{
    return greeted_client_with(w, only, "{}");
}

static unsigned say(struct client *c, uint64_t via, const char *format, va_list args)
{
    char *text = format_text(format, args);
    struct hf_msg msg;
    struct hf_err err;
    if (hf_msg_parse(hf_span_of(text), 4096, &msg, &err) == HF_MSG_OK)
        keep_message(&c->sent, hf_span_of(text), c->world->now_ms);
    const unsigned owed = hf_session_message_from(
        c->session, hf_span_of(text), &(struct hf_origin) { .via = via }, at(c->world->now_ms));
    settle(c->world); /* effects point into the text */
    free(text);
    return owed;
}

void client_says(struct client *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)say(c, 0, format, args);
    va_end(args);
}

unsigned client_says_via(struct client *c, uint64_t via, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const unsigned owed = say(c, via, format, args);
    va_end(args);
    return owed;
}

unsigned client_calls_via(struct client *c, uint64_t via, int id, const char *tool)
{
    return client_says_via(c, via,
                           "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                           "\"name\":\"%s\",\"arguments\":{\"via\":%llu}}}",
                           id, tool, (unsigned long long)via);
}

void client_via_gone(struct client *c, uint64_t via)
{
    hf_session_via_gone(c->session, via, at(c->world->now_ms));
    settle(c->world);
}

void client_via_cancelled(struct client *c, uint64_t via)
{
    hf_session_via_cancelled(c->session, via, at(c->world->now_ms));
    settle(c->world);
}

void client_calls(struct client *c, int id, const char *tool)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"%s\",\"arguments\":{}}}",
                id, tool);
}

void client_cancels(struct client *c, int id)
{
    client_says(c,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":%d,\"reason\":\"no need\"}}",
                id);
}

void client_asks(struct client *c, int id, const char *method)
{
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"}", id, method);
}

void client_requests(struct client *c, int id, const char *method, const char *params)
{
    client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}", id, method,
                params);
}

void client_answers(struct client *c, const char *method, const char *result)
{
    const struct message *question = last_heard(c, method);
    if (!question)
        test_fail(__FILE__, __LINE__, "the client is asked something");
    else
        client_says(c, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", HF_FMT(question->msg.id),
                    result);
}

void client_leaves(struct client *c)
{
    hf_session_close(c->session, at(c->world->now_ms));
    c->session = NULL;
    settle(c->world);
}

static bool answers(const struct hf_msg *msg, int id)
{
    int64_t number;
    return msg->kind >= HF_MSG_RESULT && msg->id.p && hf_json_int(msg->id, &number) && number == id;
}

size_t answers_to(const struct client *c, int id)
{
    size_t count = 0;
    for (size_t i = 0; i < c->got.count; i++)
        count += answers(&c->got.items[i].msg, id);
    return count;
}

size_t taken_back_via(const struct client *c, uint64_t via)
{
    size_t count = 0;
    for (size_t i = 0; i < c->taken_back_count; i++)
        count += c->taken_back[i] == via;
    return count;
}

size_t answers_via(const struct client *c, uint64_t via)
{
    size_t count = taken_back_via(c, via);
    for (size_t i = 0; i < c->got.count; i++)
        count += c->got.items[i].is_answer && c->got.items[i].via == via;
    return count;
}

const struct message *answer_via(const struct client *c, uint64_t via)
{
    for (size_t i = c->got.count; i-- > 0;)
        if (c->got.items[i].is_answer && c->got.items[i].via == via)
            return &c->got.items[i];
    return NULL;
}

size_t heard_via(const struct client *c, uint64_t via, const char *method)
{
    size_t count = 0;
    for (size_t i = 0; i < c->got.count; i++)
        count += c->got.items[i].via == via && c->got.items[i].msg.method.p &&
                 hf_span_is(c->got.items[i].msg.method, method);
    return count;
}

const struct message *answer_to(const struct client *c, int id)
{
    for (size_t i = c->got.count; i-- > 0;)
        if (answers(&c->got.items[i].msg, id))
            return &c->got.items[i];
    return NULL;
}

struct hf_span outcome_in(const struct hf_msg *msg)
{
    return hf_json_path(msg->result, 2,
                        (struct hf_span[]) { HF_SPAN("_meta"), HF_SPAN(HF_META_OUTCOME) });
}

static struct hf_span sentence_in(const struct hf_msg *msg)
{
    struct hf_json_iter content = hf_json_iter(hf_json_get(msg->result, HF_SPAN("content")));
    if (msg->kind == HF_MSG_ERROR)
        return hf_json_get(msg->error, HF_SPAN("message"));
    return hf_json_next(&content) ? hf_json_get(content.value, HF_SPAN("text"))
                                  : (struct hf_span) { NULL, 0 };
}

int error_of(const struct client *c, int id)
{
    const struct message *m = answer_to(c, id);
    const struct hf_span outcome = m ? outcome_in(&m->msg) : (struct hf_span) { NULL, 0 };
    int64_t code = 0;
    if (!m)
        return 0;
    const struct hf_span error = outcome.p ? outcome : m->msg.error;
    return hf_json_int(hf_json_get(error, HF_SPAN("code")), &code) ? (int)code : 0;
}

bool has_result(const struct client *c, int id)
{
    const struct message *m = answer_to(c, id);
    return m && m->msg.kind == HF_MSG_RESULT && !outcome_in(&m->msg).p;
}

struct hf_span data_of(const struct client *c, int id, const char *key)
{
    const struct message *m = answer_to(c, id);
    if (!m)
        return (struct hf_span) { NULL, 0 };
    const struct hf_span outcome = outcome_in(&m->msg);
    return hf_json_get(outcome.p ? outcome : hf_json_get(m->msg.error, HF_SPAN("data")),
                       hf_span_of(key));
}

bool data_is(const struct client *c, int id, const char *key, const char *raw)
{
    const struct hf_span value = data_of(c, id, key);
    const bool same = value.p && hf_span_is(value, raw);
    if (!same)
        printf("# data.%s of the answer to %d is %.*s\n", key, id, (int)value.n,
               value.p ? value.p : "");
    return same;
}

bool error_says(const struct client *c, int id, const char *part)
{
    const struct message *m = answer_to(c, id);
    return m && span_has(sentence_in(&m->msg), part);
}

size_t heard(const struct client *c, const char *method)
{
    return count_with_method(&c->got, method);
}

const struct message *last_heard(const struct client *c, const char *method)
{
    return last_with_method(&c->got, method);
}

const char *names_in(const struct client *c, int id, const char *member)
{
    static char joined[4096];
    const struct message *m = answer_to(c, id);
    joined[0] = '\0';
    if (!m || m->msg.kind != HF_MSG_RESULT)
        return "(no result)";
    const struct hf_span list = hf_json_get(m->msg.result, hf_span_of(member));
    for (struct hf_json_iter it = hf_json_iter(list); hf_json_next(&it);) {
        struct hf_span name = hf_json_get(it.value, HF_SPAN("name"));
        if (!name.p)
            name = hf_json_get(it.value, HF_SPAN("uri"));
        const size_t at = strlen(joined);
        (void)snprintf(joined + at, sizeof joined - at, "%s%.*s", at ? "," : "",
                       name.n > 2 ? (int)name.n - 2 : 0, name.n > 2 ? name.p + 1 : "");
    }
    return joined;
}

/* ---- a scene ---- */

static struct scene lone(struct hf_settings settings, struct manners manners, bool is_remote)
{
    struct scene s = { .w = world_new() };
    s.server = is_remote ? add_remote(s.w, "s", settings) : add_server(s.w, "s", settings);
    *manners_of(s.w, s.server) = manners;
    settle(s.w);
    s.first = newest_child(s.w, s.server);
    return s;
}

struct scene lone_server(struct hf_settings settings, struct manners manners)
{
    return lone(settings, manners, false);
}

struct scene lone_remote(struct hf_settings settings, struct http_manners http)
{
    return lone(settings, MANNERS(.http = http), true);
}

struct scene lone_remote_with(struct hf_settings settings, struct manners manners)
{
    return lone(settings, manners, true);
}

static struct scene with_client(struct scene s)
{
    s.client = greeted_client(s.w, s.server);
    client_asks(s.client, 900, "tools/list");
    s.first = newest_child(s.w, s.server);
    return s;
}

struct scene scene_of(struct hf_settings settings)
{
    return with_client(lone_server(settings, MANNERS()));
}

struct scene remote_scene_of(struct hf_settings settings, struct http_manners http)
{
    return with_client(lone_remote(settings, http));
}

struct scene remote_scene(void)
{
    return remote_scene_of(SETTINGS(), HTTP());
}

struct scene scene(void)
{
    return scene_of(SETTINGS());
}

struct scene called_scene(void)
{
    struct scene s = scene();
    client_calls(s.client, 1, "echo");
    return s;
}

void take_away(const struct scene *s)
{
    manners_of(s->w, s->server)->no_exec = true;
    child_dies(s->first);
}
