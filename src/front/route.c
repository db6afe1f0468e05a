/* route.c - which handler answers a request: one table of paths, methods, permissions and handlers.
 *
 * At a path for clients, admission is decided before anything else, the method included. The other
 * paths are no secret: there the method comes first. */
#include <stdio.h>
#include "base/hex.h"
#include "front/http_parts.h"
#include "front/metrics.h"
#include "front/ready.h"

enum { UNWANTED_MAX = 16 * 1024 }; /* bytes of a body that the handler does not read */

static const size_t metrics_max = (size_t)256 << 20; /* far above what any config leads to */
static const struct hf_span no_id = { NULL, 0 };

/* ---- paths for monitoring ---- */

static void say_word(struct hf_exchange *exchange, int status, const char *word)
{
    const struct hf_span piece = hf_span_of(word);
    hf_http_answer(exchange, status, "Cache-Control: no-store\r\n", "text/plain", &piece, 1);
}

static void say_healthy(struct hf_http_front *front, const struct hf_caller *caller,
                        struct hf_exchange *exchange)
{
    (void)front;
    (void)caller;
    say_word(exchange, 200, "ok\n");
}

static bool is_shown(const void *context, const char *server)
{
    const struct hf_token *token = context;
    return !token || hf_policy_allows_server(token->policy, server);
}

/* Names of servers are shown only to callers that may use them. */
static void say_ready(struct hf_http_front *front, const struct hf_caller *caller,
                      struct hf_exchange *exchange)
{
    const struct hf_token *token;
    const bool may_come_in =
        hf_access_decide(front->access, hf_exchange_head(exchange), &token) == HF_ADMITTED;
    struct hf_engine_status engine;
    struct hf_buf out;
    (void)caller;
    hf_engine_status(front->shell->engine, &engine);
    hf_buf_init(&out, metrics_max);
    const bool is_ready =
        hf_ready_write(&out, &engine, front->is_stopping, may_come_in ? is_shown : NULL, token);
    const struct hf_span text = hf_buf_span(&out);
    hf_http_answer(exchange, is_ready ? 200 : 503, "Cache-Control: no-store\r\n", "text/plain",
                   &text, 1);
    hf_buf_done(&out);
    hf_engine_status_done(&engine);
}

static uint64_t open_streams(const struct hf_http_front *front)
{
    uint64_t count = 0;
    const struct hf_reply_stream *stream;
    HF_LIST_EACH (stream, &front->open, struct hf_reply_stream, due)
        count += stream->is_streaming;
    return count;
}

static void say_metrics(struct hf_http_front *front, const struct hf_caller *caller,
                        struct hf_exchange *exchange)
{
    hf_tallies_look(front);
    const struct hf_http_status http = {
        .sessions = hf_session_table_count(&front->session_table),
        .connections = hf_http_server_connections(front->server),
        .streams = open_streams(front),
        .replay_bytes = front->kept_bytes.used,
        .tallies = &front->tallies,
        .refusals = &front->refusals,
        .turns = hf_loop_turn_times(front->shell->loop),
    };
    struct hf_engine_status engine;
    struct hf_buf out;
    (void)caller;
    hf_engine_status(front->shell->engine, &engine);
    hf_buf_init(&out, metrics_max);
    hf_metrics_write(&out, &engine, &http);
    const struct hf_span text = hf_buf_span(&out);
    hf_http_answer(exchange, 200, "Cache-Control: no-store\r\n",
                   "text/plain; version=0.0.4; charset=utf-8", &text, 1);
    hf_buf_done(&out);
    hf_engine_status_done(&engine);
}

/* ---- the table ---- */

enum who {
    ANYBODY,
    WATCHERS, /* on loopback a good Host and Origin are enough; else as CLIENTS */
    CLIENTS,  /* admitted by front/access.h; a server's name may follow the path */
};

struct hf_route {
    struct hf_span path;
    struct hf_span method; /* p NULL: every other method */
    enum who who;
    hf_route_handler *handler;
    bool (*takes)(struct hf_exchange *exchange); /* NULL: any head; the body is not read */
};

static const char mcp[] = "/mcp", sse[] = "/sse", healthz[] = "/healthz", readyz[] = "/readyz",
                  metrics[] = "/metrics";

/* clang-format off */
#define TEXT(text) { text, sizeof(text) - 1 }
/* clang-format on */

static bool takes_any(struct hf_exchange *exchange)
{
    (void)exchange;
    return true;
}

/* Rows of one path stand together and share its text: is_of_path compares pointers. */
static const struct hf_route routes[] = {
    { TEXT(mcp), TEXT("GET"), CLIENTS, hf_mcp_get, NULL },
    { TEXT(mcp), TEXT("POST"), CLIENTS, hf_mcp_post, hf_mcp_takes },
    { TEXT(mcp), TEXT("DELETE"), CLIENTS, hf_mcp_delete, NULL },
    { TEXT(mcp), { NULL, 0 }, CLIENTS, hf_mcp_other, NULL },
    { TEXT(sse), TEXT("GET"), CLIENTS, hf_sse_get, NULL },
    { TEXT(sse), TEXT("POST"), CLIENTS, hf_sse_post, takes_any },
    { TEXT(healthz), TEXT("GET"), ANYBODY, say_healthy, NULL },
    { TEXT(readyz), TEXT("GET"), ANYBODY, say_ready, NULL },
    { TEXT(metrics), TEXT("GET"), WATCHERS, say_metrics, NULL },
};
#undef TEXT
static const struct hf_route *const routes_end = routes + sizeof routes / sizeof *routes;

/* The first row of that path, or NULL. `ret_name` is what follows a path for clients. */
static const struct hf_route *find_path(struct hf_span path, struct hf_span *ret_name)
{
    for (const struct hf_route *route = routes; route < routes_end; route++) {
        if (!hf_span_starts(path, route->path))
            continue;
        *ret_name = hf_span_from(path, route->path.n);
        if (ret_name->n == 0 || (route->who == CLIENTS && ret_name->p[0] == '/'))
            return route;
    }
    return NULL;
}

static bool is_of_path(const struct hf_route *route, const struct hf_route *first)
{
    return route < routes_end && route->path.p == first->path.p;
}

static const struct hf_route *find_method(const struct hf_route *first, struct hf_span method)
{
    const struct hf_route *route = first;
    while (is_of_path(route, first) && route->method.p && !hf_span_eq(method, route->method))
        route++;
    return is_of_path(route, first) ? route : NULL;
}

static void refuse_method(const struct hf_route *first, struct hf_exchange *exchange)
{
    char allowed[64] = "";
    size_t n = 0;
    for (const struct hf_route *route = first; is_of_path(route, first); route++)
        n += (size_t)snprintf(allowed + n, sizeof allowed - n, "%s%.*s", n ? ", " : "",
                              HF_FMT(route->method));
    hf_http_refuse_method(exchange, allowed);
}

/* ---- admission ---- */

/* Decodes a server's name in a path (%20 is a space). False: it cannot be a name. */
static bool name_of(struct hf_span raw, char room[HF_ENDPOINT_MAX], struct hf_span *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        uint8_t c = (uint8_t)raw.p[i];
        if (c == '%') {
            const struct hf_span digits = { raw.p + i + 1, raw.n - i > 2 ? 2 : 0 };
            if (!hf_hex_read(digits, &c, 1))
                return false;
            i += 2;
        }
        if (n + 1 == HF_ENDPOINT_MAX || c == '\0')
            return false;
        room[n++] = (char)c;
    }
    room[n] = '\0';
    *ret = (struct hf_span) { room, n };
    return n > 0;
}

/* Reads the server's name after the path, if there is one. False: the request was refused. */
static bool take_name(struct hf_caller *caller, struct hf_exchange *exchange, struct hf_span name,
                      char room[HF_ENDPOINT_MAX])
{
    if (!name.n)
        return true;
    if (!name_of(hf_span_from(name, 1), room, &caller->endpoint)) {
        hf_http_refuse(exchange, 404, no_id, -32000, "There is no such server here");
        return false;
    }
    if (caller->token && !hf_policy_allows_server(caller->token->policy, room)) {
        hf_http_refuse(exchange, 403, no_id, -31007, "This token is not for that server");
        return false;
    }
    return true;
}

/* The route of an admitted request. NULL: the exchange was answered or has to wait. */
static const struct hf_route *admit(struct hf_http_front *front, struct hf_exchange *exchange,
                                    bool is_authorized, struct hf_caller *caller,
                                    char room[HF_ENDPOINT_MAX])
{
    const struct hf_http_request *request = hf_exchange_request(exchange);
    struct hf_span name;
    const struct hf_route *first = find_path(request->path, &name);
    if (!first) {
        hf_http_refuse(exchange, 404, no_id, -32000,
                       "Nothing is here; /mcp serves all servers and /mcp/NAME one of them");
        return NULL;
    }
    if (first->who == CLIENTS &&
        (!hf_admission_of_client(front, exchange, is_authorized, &caller->token) ||
         !take_name(caller, exchange, name, room)))
        return NULL;
    const struct hf_route *route = find_method(first, request->method);
    if (!route)
        refuse_method(first, exchange);
    else if (route->who == WATCHERS && !hf_admission_of_watcher(front, exchange, is_authorized))
        return NULL;
    return route;
}

void hf_route_head(struct hf_http_front *front, struct hf_exchange *exchange, bool is_authorized)
{
    struct hf_judged *judged = &front->judged;
    judged->exchange = NULL;
    judged->session = NULL;
    judged->caller = (struct hf_caller) { 0 };
    judged->route = admit(front, exchange, is_authorized, &judged->caller, judged->endpoint);
    if (!judged->route ||
        (judged->route->who == CLIENTS && !hf_admission_of_party(front, &judged->caller, exchange)))
        return;
    const bool takes_body = judged->route->takes != NULL;
    if (takes_body && !judged->route->takes(exchange))
        return;
    judged->exchange = exchange;
    hf_exchange_take_body(exchange, takes_body ? SIZE_MAX : UNWANTED_MAX);
}

void hf_route_request(struct hf_http_front *front, struct hf_exchange *exchange)
{
    struct hf_judged *judged = &front->judged;
    if (judged->exchange == exchange) {
        judged->route->handler(front, &judged->caller, exchange);
        judged->exchange = NULL;
        return;
    }
    struct hf_caller caller = { 0 };
    char room[HF_ENDPOINT_MAX];
    const struct hf_route *route = admit(front, exchange, true, &caller, room);
    if (route)
        route->handler(front, &caller, exchange);
}
