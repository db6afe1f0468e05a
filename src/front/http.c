/* http.c - the HTTP front: the form of answers and refusals, its alarm, its lifetime. See http.h.
 */
#include "front/http.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/fold.h"
#include "front/http_parts.h"
#include "io/random.h"
#include "wire/http_text.h"

enum { ORIGIN_MAX = 300, ALLOW_MAX = 8192 };

static const struct hf_span no_id = { NULL, 0 };

/* ---- answers ---- */

/* Adds the CORS headers that a web page of an allowed Origin needs to read the answer. They are
 * written into `room`; without such an Origin, `headers` is returned. */
static const char *with_origin(const struct hf_exchange *exchange, const char *headers, char *room,
                               size_t size)
{
    const struct hf_http_front *front = hf_exchange_owner(exchange);
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct hf_span origin = hf_http_header(head, HF_HTTP_ORIGIN);
    if (!origin.p || origin.n > ORIGIN_MAX ||
        hf_access_place(front->access, hf_http_header(head, HF_HTTP_HOST), origin) != HF_ADMITTED)
        return headers;
    (void)snprintf(room, size,
                   "Access-Control-Allow-Origin: %.*s\r\nVary: Origin\r\n"
                   "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n%s",
                   HF_FMT(origin), headers ? headers : "");
    return room;
}

enum { HEADERS_SIZE = 2 * ORIGIN_MAX + 512 };

void hf_http_answer(struct hf_exchange *exchange, int status, const char *headers, const char *type,
                    const struct hf_span *pieces, unsigned piece_count)
{
    char room[HEADERS_SIZE];
    hf_exchange_answer(exchange, status, with_origin(exchange, headers, room, sizeof room), type,
                       pieces, piece_count);
}

void hf_http_begin_events(struct hf_exchange *exchange, const char *headers)
{
    char ours[256], room[HEADERS_SIZE];
    (void)snprintf(ours, sizeof ours, "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n%s",
                   headers ? headers : "");
    hf_exchange_begin(exchange, 200, with_origin(exchange, ours, room, sizeof room),
                      "text/event-stream");
}

static void refuse(struct hf_exchange *exchange, int status, const char *headers, struct hf_span id,
                   int code, const char *text)
{
    struct hf_buf body;
    hf_buf_init(&body, id.n + 4096);
    hf_buf_add_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
    hf_buf_add(&body, id.p ? id : HF_SPAN("null"));
    hf_buf_printf(&body, ",\"error\":{\"code\":%d,\"message\":", code);
    hf_json_add_string(&body, hf_span_of(text));
    hf_buf_add_str(&body, "}}");
    const struct hf_span piece = hf_buf_span(&body);
    hf_exchange_answer(exchange, status, headers, "application/json", &piece, 1);
    hf_buf_done(&body);
}

void hf_http_refuse(struct hf_exchange *exchange, int status, struct hf_span id, int code,
                    const char *format, ...)
{
    char text[600], room[HEADERS_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    refuse(exchange, status, with_origin(exchange, NULL, room, sizeof room), id, code, text);
}

void hf_http_refuse_for_now(struct hf_exchange *exchange, uint32_t wait_s, const char *text)
{
    char later[64], room[HEADERS_SIZE];
    (void)snprintf(later, sizeof later, "Retry-After: %u\r\n", wait_s);
    refuse(exchange, 429, with_origin(exchange, later, room, sizeof room), no_id, -31005, text);
}

void hf_http_refuse_method(struct hf_exchange *exchange, const char *allowed)
{
    char allow[64], room[HEADERS_SIZE];
    (void)snprintf(allow, sizeof allow, "Allow: %s\r\n", allowed);
    refuse(exchange, 405, with_origin(exchange, allow, room, sizeof room), no_id, -32000,
           "Method Not Allowed");
}

void hf_http_turn_away(struct hf_exchange *exchange, enum hf_admission admission)
{
    const int status = hf_admission_status(admission);
    hf_http_log_refusal(exchange, admission);
    char challenge[120], room[HEADERS_SIZE];
    (void)snprintf(challenge, sizeof challenge, "WWW-Authenticate: Bearer realm=\"holdfast\"%s\r\n",
                   admission == HF_WRONG_TOKEN ? ", error=\"invalid_token\"" : "");
    refuse(exchange, status,
           status == 401 ? with_origin(exchange, challenge, room, sizeof room) : NULL, no_id,
           -32000, hf_admission_text(admission));
}

/* CORS has no pattern for names of headers, and tools define their own Mcp-Param-* headers: those
 * that the page asks for are allowed. */
static void allow_params(struct hf_buf *out, struct hf_span asked)
{
    while (asked.n) {
        const char *comma = memchr(asked.p, ',', asked.n);
        struct hf_span name = { asked.p, comma ? (size_t)(comma - asked.p) : asked.n };
        asked = hf_span_from(asked, name.n + (comma != NULL));
        while (name.n && name.p[0] == ' ')
            name = hf_span_from(name, 1);
        if (hf_fold_starts(name, HF_SPAN("mcp-param-")) && hf_http_is_token(name) &&
            hf_buf_len(out) + name.n + 2 <= ALLOW_MAX)
            hf_buf_printf(out, ", %.*s", HF_FMT(name));
    }
}

void hf_http_answer_preflight(struct hf_exchange *exchange)
{
    const struct hf_span asked =
        hf_http_header(hf_exchange_head(exchange), HF_HTTP_ACCESS_CONTROL_REQUEST_HEADERS);
    char room[HEADERS_SIZE + ALLOW_MAX];
    struct hf_buf headers;
    hf_buf_init(&headers, 2 * ALLOW_MAX);
    hf_buf_add_str(&headers,
                   "Access-Control-Allow-Methods: GET, POST, DELETE\r\n"
                   "Access-Control-Max-Age: 600\r\n"
                   "Access-Control-Allow-Headers: Authorization, Content-Type, Accept, "
                   "Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
                   "Idempotency-Key, traceparent, tracestate");
    allow_params(&headers, asked.p ? asked : HF_SPAN(""));
    hf_buf_add_str(&headers, "\r\n");
    hf_buf_add_char(&headers, '\0'); /* with_origin takes a string */
    hf_exchange_answer(exchange, 204,
                       with_origin(exchange, hf_buf_span(&headers).p, room, sizeof room), NULL,
                       NULL, 0);
    hf_buf_done(&headers);
}

/* ---- events ---- */

static void on_head(void *context, struct hf_exchange *exchange)
{
    hf_route_head(context, exchange, false);
}

static void on_request(void *context, struct hf_exchange *exchange)
{
    hf_route_request(context, exchange);
}

/* ---- parties ---- */

static struct hf_http_party *on_arrived(void *context, const struct hf_address *peer)
{
    struct hf_http_front *front = context;
    struct hf_address address;
    if (!hf_access_address(front->access, peer, NULL, &address))
        return NULL;
    return &hf_party_of_address(&front->parties, &address)->http;
}

static void on_left(void *context, struct hf_http_party *party)
{
    (void)context;
    hf_party_unref(hf_party_of(party));
}

static void on_refused(void *context, struct hf_http_party *party, enum hf_http_limit limit)
{
    hf_http_count_refusal(context, party ? hf_party_of(party) : NULL,
                          limit == HF_HTTP_BYTES ? HF_LIMIT_BYTES : HF_LIMIT_CONNECTIONS);
}

static void on_gone(void *context, struct hf_exchange *exchange)
{
    struct hf_holder *holder = hf_exchange_context(exchange);
    (void)context;
    holder->on_gone(holder);
}

/* ---- time ---- */

void hf_http_wake(struct hf_http_front *front, uint64_t at_ms)
{
    if (!front->alarm.timer.at_ms || at_ms < front->alarm.timer.at_ms)
        hf_alarm_set(&front->alarm, at_ms);
}

static void on_alarm(void *context)
{
    struct hf_http_front *front = context;
    const uint64_t now_ms = hf_shell_now(front->shell);
    hf_reply_streams_tick(front, now_ms);
    hf_http_sessions_expire(front, now_ms);
    hf_http_log_left_out(front, now_ms);
    hf_shell_pump(front->shell);
    const uint64_t nexts_ms[] = { hf_reply_streams_next_ms(front),
                                  hf_refusals_next_ms(&front->refusals) };
    for (int i = 0; i < 2; i++)
        if (nexts_ms[i])
            hf_http_wake(front, nexts_ms[i]);
    if (!hf_list_empty(&front->session_table.by_use)) {
        const struct hf_session_entry *oldest =
            HF_ITEM(front->session_table.by_use.next, struct hf_session_entry, link);
        hf_http_wake(front, oldest->used_ms + front->session_ttl_ms);
    }
}

/* ---- lifetime ---- */

static void take_access(struct hf_http_front *front, struct hf_access *access)
{
    front->access = access;
    front->judged.exchange = NULL; /* it was judged by the old rules */
    hf_access_set_url(access, hf_http_server_url(front->server));
    hf_tallies_renew(front);
    for (const struct hf_token *token = NULL; (token = hf_access_next_token(access, token));) {
        struct hf_party *party = hf_parties_find_token(&front->parties, token->hash);
        if (party)
            hf_party_set_limits(party, &token->limits);
    }
}

struct hf_http_front *hf_http_front_new(struct hf_shell *shell,
                                        const struct hf_http_front_spec *spec,
                                        struct hf_access *access, struct hf_err *err)
{
    static const struct hf_http_events events = { .request = on_request,
                                                  .gone = on_gone,
                                                  .head = on_head,
                                                  .arrived = on_arrived,
                                                  .left = on_left,
                                                  .refused = on_refused };
    struct hf_http_front *front = hf_new(struct hf_http_front);
    front->server = hf_http_server_new(shell, &spec->http, &events, front, err);
    if (!front->server) {
        hf_access_free(access);
        hf_free(front);
        return NULL;
    }
    front->shell = shell;
    front->limits = *spec->limits;
    front->session_ttl_ms = spec->session_ttl_ms;
    front->sessions =
        (struct hf_bound) { .limit = spec->max_sessions, .shares = spec->limits->shares };
    front->kept_bytes = (struct hf_bound) { .limit = spec->limits->max_buffered_bytes / 4,
                                            .shares = spec->limits->shares };
    struct hf_map_key key;
    hf_random(&key, sizeof key);
    hf_parties_init(&front->parties, &key);
    hf_session_table_init(&front->session_table, &key);
    hf_link_init(&front->free_streams);
    hf_link_init(&front->quiet);
    hf_link_init(&front->open);
    hf_link_init(&front->kept);
    hf_link_init(&front->modern);
    hf_link_init(&front->held);
    front->authorizer = spec->authorizer;
    front->log = spec->log;
    hf_alarm_init(&front->alarm, shell->loop, on_alarm, front);
    take_access(front, access);
    return front;
}

void hf_http_front_free(struct hf_http_front *front)
{
    if (!front)
        return;
    hf_http_sessions_close(front);
    hf_http_server_free(front->server);
    hf_admission_drop_all(front);
    hf_alarm_set(&front->alarm, 0);
    hf_session_table_done(&front->session_table);
    for (uint32_t i = 0; i < front->stream_count; i++)
        hf_free(front->streams[i]);
    hf_free(front->streams);
    hf_parties_done(&front->parties);
    hf_tallies_free(&front->tallies);
    hf_access_free(front->access);
    hf_free(front);
}

const char *hf_http_front_url(const struct hf_http_front *front)
{
    return hf_http_server_url(front->server);
}

bool hf_http_front_admit(struct hf_http_front *front, struct hf_access *access)
{
    if (!hf_access_needs_token(access) && !hf_http_server_is_loopback(front->server)) {
        hf_access_free(access);
        return false;
    }
    hf_access_free(front->access);
    take_access(front, access);
    hf_http_sessions_review(front);
    return true;
}

/* ---- the end ---- */

void hf_http_front_stop(struct hf_http_front *front)
{
    front->is_stopping = true;
    for (struct hf_link *at = front->session_table.by_use.next; at != &front->session_table.by_use;
         at = at->next) {
        struct hf_http_session *session = HF_ITEM(at, struct hf_http_session, entry.link);
        if (!session->is_sse)
            hf_reply_streams_end_gets(session);
    }
    hf_http_server_stop(front->server);
}

/* When the engine has stopped, nothing more will be sent: streams of HTTP+SSE are closed. */
void hf_http_front_review(struct hf_http_front *front)
{
    if (front->is_stopping && hf_engine_is_stopped(front->shell->engine))
        hf_http_sessions_close(front);
}

bool hf_http_front_is_stopped(const struct hf_http_front *front)
{
    return front->is_stopping && hf_http_server_connections(front->server) == 0;
}
