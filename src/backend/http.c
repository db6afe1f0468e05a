/* http.c - see http.h. */
#include "backend/http.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/fold.h"
#include "base/url.h"
#include "wire/sse.h"

enum {
    CONNECT_MS = 10000,
    HEADER_LINE_MAX = 64 * 1024,
    HEADERS_MAX = 8,         /* that we add to those of every request */
    HEADER_TEXT_KEPT = 4096, /* from one request to the next */
    MOVES_MAX = 5,
    STILL_MS = 500, /* silence after which a complete answer counts although its body has no end */
};

struct hf_http_backend {
    struct hf_backend backend;
    struct hf_shell *shell;
    struct hf_runtime *runtime;
    struct hf_peer *peer;
    char *url;             /* of the config, or of the last redirect */
    unsigned moves;        /* redirects so far */
    struct hf_buf headers; /* of every request: "Name: value" and a NUL each */
    size_t headers_count;
    struct hf_buf header_text; /* all headers of the request that is being made */
    const char **header_list;  /* pointers to them, and a NULL */
    size_t header_count, header_cap;
    size_t message_max;
    struct hf_link exchanges;
    struct hf_alarm still; /* for the exchanges whose answer may be complete without an end */
};

struct hf_backend_exchange {
    struct hf_flush flush;
    struct hf_link link; /* in http->exchanges */
    struct hf_http_backend *http;
    struct hf_remote_exchange *post; /* NULL: ended or aborted */
    struct hf_fetch *fetch;
    struct hf_sse *sse; /* the answer is a stream of events */
    struct hf_buf body; /* else it is one message */
    struct hf_json_skim skim;
    bool is_over_limit;
    bool is_error;  /* it has an error status: its body is reported at its end */
    bool may_move;  /* a redirect is followed */
    char *moved_to; /* the target of the redirect; NULL: none */
    bool is_told;   /* its answer was passed to the engine before its end */
    int64_t retry_after_ms;
    uint64_t heard_ms; /* time of its last byte, if unreported bytes may hold the answer; else 0 */
};

/* ---- answers ---- */

static void end_exchange(struct hf_backend_exchange *exchange)
{
    hf_unlink(&exchange->link);
    exchange->post = NULL;
    exchange->fetch = NULL;
    hf_sse_free(exchange->sse);
    exchange->sse = NULL;
    hf_free(exchange->moved_to);
    exchange->moved_to = NULL;
    hf_buf_done(&exchange->body);
    hf_shell_free_later(exchange->http->shell, &exchange->flush);
}

static void on_sending(void *context)
{
    struct hf_backend_exchange *exchange = context;
    struct hf_shell *shell = exchange->http->shell;
    hf_remote_exchange_sending(exchange->post, hf_shell_time(shell));
    hf_shell_pump(shell);
}

/* Seconds only: the form with a date is ignored. */
static int64_t retry_after(const struct hf_fetch *fetch)
{
    const struct hf_span value = hf_fetch_header(fetch, "retry-after");
    int64_t seconds = 0;
    if (!value.p || value.n == 0 || value.n > 6)
        return -1;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return -1;
        seconds = seconds * 10 + (value.p[i] - '0');
    }
    return seconds * 1000;
}

static bool is_event_stream(struct hf_span type)
{
    return hf_fold_starts(type, HF_SPAN("text/event-stream"));
}

/* The target of a redirect. NULL: it is on another host, which the user has not chosen. */
static char *elsewhere(const struct hf_http_backend *http, struct hf_span where)
{
    assert(http->url);
    struct hf_url base, other;
    struct hf_err err;
    struct hf_buf url;
    char *found = NULL;
    hf_buf_init(&url, HEADER_LINE_MAX);
    if (!hf_url_read(hf_span_of(http->url), &base, &err) || where.n == 0 ||
        where.n > HEADER_LINE_MAX / 2)
        goto out;
    if (where.p[0] == '/' && !(where.n > 1 && where.p[1] == '/')) {
        const char *rest = base.rest.p;
        hf_buf_add(&url, (struct hf_span) { http->url, (size_t)(rest - http->url) });
        hf_buf_add(&url, where);
    } else if (hf_url_read(where, &other, &err)) {
        if (!hf_span_eq(base.scheme, other.scheme) ||
            !hf_span_eq(base.authority.host, other.authority.host) ||
            base.authority.port != other.authority.port)
            goto out;
        hf_buf_add(&url, where);
    } else { /* relative to the path */
        struct hf_span dir = base.rest;
        while (dir.n && dir.p[dir.n - 1] != '/')
            dir.n--;
        hf_buf_add(&url, (struct hf_span) { http->url, (size_t)(base.rest.p - http->url) });
        hf_buf_add(&url, dir.n ? dir : HF_SPAN("/"));
        hf_buf_add(&url, where);
    }
    found = hf_span_dup(hf_buf_span(&url));
out:
    hf_buf_done(&url);
    return found;
}

static void on_head(void *context, int status)
{
    struct hf_backend_exchange *exchange = context;
    struct hf_shell *shell = exchange->http->shell;
    /* 307 and 308: the request was not processed, and is to be repeated unchanged at the target */
    if (exchange->may_move && (status == 307 || status == 308))
        exchange->moved_to =
            elsewhere(exchange->http, hf_fetch_header(exchange->fetch, "location"));
    if (exchange->moved_to)
        return;
    exchange->is_error = status >= 300;
    const bool is_stream = is_event_stream(hf_fetch_header(exchange->fetch, "content-type"));
    if (is_stream) /* a stream with an error status may still hold the answer */
        exchange->sse = hf_sse_new(exchange->http->message_max);
    exchange->retry_after_ms = retry_after(exchange->fetch);
    hf_remote_exchange_head(exchange->post, status, is_stream,
                            hf_fetch_header(exchange->fetch, "mcp-session-id"),
                            hf_shell_time(shell));
    hf_shell_pump(shell);
}

static void take_endpoint(struct hf_backend_exchange *exchange, struct hf_span where)
{
    char *url = elsewhere(exchange->http, where);
    if (url)
        hf_remote_exchange_endpoint(exchange->post, hf_span_of(url),
                                    hf_shell_time(exchange->http->shell));
    hf_free(url);
}

static void take_event(struct hf_backend_exchange *exchange, const struct hf_sse_event *event)
{
    struct hf_shell *shell = exchange->http->shell;
    if (event->id.p || event->retry_ms >= 0)
        hf_remote_exchange_event(exchange->post, event->id, event->retry_ms);
    if (hf_span_is(event->name, "endpoint"))
        take_endpoint(exchange, event->data);
    else if (event->data.n)
        hf_remote_exchange_message(exchange->post, event->data, hf_shell_time(shell));
}

static void take_events(struct hf_backend_exchange *exchange, struct hf_span bytes)
{
    struct hf_shell *shell = exchange->http->shell;
    struct hf_sse_event event;
    while (exchange->post) {
        switch (hf_sse_next(exchange->sse, &bytes, &event)) {
        case HF_SSE_NONE: return;
        case HF_SSE_EVENT: take_event(exchange, &event); break;
        case HF_SSE_OVER:
            hf_remote_exchange_message_oversized(exchange->post, hf_sse_over(exchange->sse),
                                                 hf_shell_time(shell));
            break;
        }
        hf_shell_pump(shell);
    }
}

/* The alarm is set only if it is not set yet; one that rings too soon is set again. So a busy
 * server does not cost an alarm for each answer. */
static void note_heard(struct hf_backend_exchange *exchange)
{
    struct hf_http_backend *http = exchange->http;
    exchange->heard_ms = hf_shell_now(http->shell);
    if (!http->still.timer.at_ms)
        hf_alarm_set(&http->still, exchange->heard_ms + STILL_MS);
}

static void on_bytes(void *context, struct hf_span bytes)
{
    struct hf_backend_exchange *exchange = context;
    if (exchange->moved_to || exchange->is_told)
        return;
    if (exchange->sse)
        take_events(exchange, bytes);
    if (!exchange->post)
        return;
    if (!exchange->is_error && !(exchange->sse && hf_sse_is_between(exchange->sse)))
        note_heard(exchange);
    if (exchange->sse && !exchange->is_error)
        return;
    if (!exchange->is_over_limit && hf_buf_try_add(&exchange->body, bytes))
        return;
    if (!exchange->is_over_limit) {
        exchange->is_over_limit = true;
        hf_json_skim_init(&exchange->skim);
        hf_json_skim_feed(&exchange->skim, hf_buf_span(&exchange->body));
        hf_buf_done(&exchange->body);
        hf_buf_init(&exchange->body, exchange->http->message_max);
    }
    hf_json_skim_feed(&exchange->skim, bytes);
}

/* A complete answer counts even if the last chunk, an announced byte or the blank line of its event
 * never came: the call has run, and this is its result. */
static void take_rest(struct hf_backend_exchange *exchange, bool is_whole)
{
    const struct hf_now now = hf_shell_time(exchange->http->shell);
    const struct hf_span body = hf_buf_span(&exchange->body);
    struct hf_sse_event event;
    if (exchange->sse && hf_sse_end(exchange->sse, &event) == HF_SSE_EVENT)
        take_event(exchange, &event);
    else if (exchange->is_error)
        return;
    else if (is_whole && exchange->is_over_limit)
        hf_remote_exchange_message_oversized(exchange->post, &exchange->skim, now);
    else if (body.n && (is_whole || hf_json_is_complete(body)))
        hf_remote_exchange_message(exchange->post, body, now);
}

/* The server has stopped sending without ending the body. If the bytes so far are a complete
 * answer, the call has ended: there is no use in waiting for a last chunk, a byte or a blank line.
 * The rest has as much time as every stream has after its answer. */
static void take_still(struct hf_backend_exchange *exchange)
{
    const struct hf_span body = hf_buf_span(&exchange->body);
    const struct hf_span text = exchange->sse               ? hf_sse_begun(exchange->sse)
                                : hf_json_is_complete(body) ? body
                                                            : HF_SPAN("");
    exchange->heard_ms = 0;
    if (exchange->is_over_limit || text.n == 0 ||
        !hf_remote_exchange_is_answer(exchange->post, text))
        return;
    exchange->is_told = !exchange->sse;
    take_rest(exchange, true);
    hf_shell_pump(exchange->http->shell);
}

static void on_still(void *context)
{
    struct hf_http_backend *http = context;
    const uint64_t now_ms = hf_shell_now(http->shell);
    uint64_t next_ms = 0;
    struct hf_backend_exchange *exchange, *still = NULL;
    HF_LIST_EACH (exchange, &http->exchanges, struct hf_backend_exchange, link) {
        if (!exchange->heard_ms || !exchange->post || !exchange->fetch)
            continue;
        const uint64_t at_ms = exchange->heard_ms + STILL_MS;
        if (!still && at_ms <= now_ms)
            still = exchange;
        else if (!next_ms || at_ms < next_ms)
            next_ms = at_ms;
    }
    if (next_ms)
        hf_alarm_set(&http->still, next_ms);
    if (still) /* one at a time: its events may end other exchanges, and this runtime too */
        take_still(still);
}

/* The body, with the headers that tell whether it arrived unchanged and complete. */
static struct hf_body body_of(const struct hf_backend_exchange *exchange,
                              const struct hf_fetch *fetch)
{
    const struct hf_span encoding = hf_fetch_header(fetch, "content-encoding");
    const bool is_plain = encoding.n == 0 || hf_fold_is(encoding, HF_SPAN("identity"));
    const bool is_measured =
        hf_fetch_header(fetch, "content-length").p || hf_fetch_header(fetch, "transfer-encoding").p;
    return (struct hf_body) {
        .text = hf_buf_span(&exchange->body),
        .type = hf_fetch_header(fetch, "content-type"),
        .is_plain = is_plain && !exchange->is_over_limit,
        .is_measured = is_measured && (!exchange->sse || hf_sse_is_between(exchange->sse)),
    };
}

static void begin_exchange(struct hf_http_backend *http, struct hf_remote_exchange *post);

/* Follows a redirect, which only messages that may be repeated do. Later messages are sent to the
 * target directly, so calls are never redirected. */
static void move(struct hf_backend_exchange *exchange)
{
    struct hf_http_backend *http = exchange->http;
    struct hf_remote_exchange *post = exchange->post;
    hf_free(http->url);
    http->url = exchange->moved_to;
    http->moves++;
    exchange->moved_to = NULL;
    end_exchange(exchange);
    begin_exchange(http, post);
}

static void on_ended(void *context, const struct hf_fetch_end *end)
{
    struct hf_backend_exchange *exchange = context;
    if (exchange->moved_to) {
        move(exchange);
        return;
    }
    struct hf_shell *shell = exchange->http->shell;
    const struct hf_now now = hf_shell_time(shell);
    const struct hf_fetch *fetch = exchange->fetch;
    exchange->fetch = NULL;
    if (!exchange->is_told)
        take_rest(exchange, end->is_whole);
    struct hf_remote_exchange_end over = {
        .sent = end->sent,
        .status = end->status,
        .is_whole = end->is_whole,
        .retry_after_ms = exchange->retry_after_ms,
        .why = end->why ? end->why : "the connection was lost",
    };
    /* the message may have ended the exchange: then its end is not reported */
    hf_shell_pump(shell);
    if (exchange->post) {
        struct hf_remote_exchange *post = exchange->post;
        exchange->post = NULL;
        if (!hf_remote_exchange_is_answered(post))
            over.body = body_of(exchange, fetch);
        hf_remote_exchange_set_backend(post, NULL);
        hf_remote_exchange_ended(post, &over, now);
        hf_shell_pump(shell);
    }
    end_exchange(exchange);
}

static const struct hf_fetch_events fetch_events = {
    .sending = on_sending,
    .head = on_head,
    .bytes = on_bytes,
    .ended = on_ended,
};

/* ---- requests ---- */

static size_t add_header(struct hf_buf *text, struct hf_span name, struct hf_span value)
{
    if (!value.p || name.n + value.n > HEADER_LINE_MAX)
        return 0;
    hf_buf_add(text, name);
    hf_buf_add(text, HF_SPAN(": "));
    hf_buf_add(text, value);
    hf_buf_add_char(text, '\0');
    return 1;
}

/* "Name: value\n" each. */
static size_t add_lines(struct hf_buf *text, struct hf_span lines)
{
    size_t count = 0;
    for (; lines.n; count++) {
        const char *end = memchr(lines.p, '\n', lines.n);
        const struct hf_span line = { lines.p, (size_t)(end - lines.p) };
        hf_buf_add(text, line);
        hf_buf_add_char(text, '\0');
        lines = hf_span_from(lines, line.n + 1);
    }
    return count;
}

static size_t write_headers(struct hf_buf *text, const struct hf_remote_exchange_request *request)
{
    static const struct hf_span accept = { "Accept", 6 };
    size_t count = 0;
    if (request->kind == HF_EXCHANGE_MESSAGE) {
        count += add_header(text, HF_SPAN("Content-Type"), HF_SPAN("application/json"));
        count += add_header(text, accept, HF_SPAN("application/json, text/event-stream"));
    } else if (request->kind != HF_EXCHANGE_DELETE) {
        count += add_header(text, accept, HF_SPAN("text/event-stream"));
    }
    count += add_lines(text, request->headers);
    count += add_header(text, HF_SPAN("Mcp-Session-Id"), request->session_id);
    count += add_header(text, HF_SPAN("MCP-Protocol-Version"), request->version);
    return count + add_header(text, HF_SPAN("Last-Event-ID"), request->last_event_id);
}

/* Valid until the next request, whose headers use the same memory. */
static const char *const *headers_of(struct hf_http_backend *http,
                                     const struct hf_remote_exchange_request *request)
{
    struct hf_buf *text = &http->header_text;
    const struct hf_span always = hf_buf_span(&http->headers);
    hf_buf_clear(text);
    hf_buf_shrink(text, HEADER_TEXT_KEPT);
    text->max = always.n + request->headers.n + HEADERS_MAX * (HEADER_LINE_MAX + 3);
    hf_buf_add(text, always);
    http->header_count = http->headers_count + write_headers(text, request);
    if (http->header_count >= http->header_cap) {
        http->header_cap = http->header_count + 8;
        http->header_list =
            hf_realloc(http->header_list, http->header_cap * sizeof *http->header_list);
    }
    const char *at = hf_buf_span(text).p;
    for (size_t i = 0; i < http->header_count; i++) {
        http->header_list[i] = at;
        at += strlen(at) + 1;
    }
    http->header_list[http->header_count] = NULL;
    return http->header_list;
}

static void begin_exchange(struct hf_http_backend *http, struct hf_remote_exchange *post)
{
    static const enum hf_verb verbs[] = {
        [HF_EXCHANGE_MESSAGE] = HF_VERB_POST,
        [HF_EXCHANGE_STREAM] = HF_VERB_GET,
        [HF_EXCHANGE_RESUME] = HF_VERB_GET,
        [HF_EXCHANGE_DELETE] = HF_VERB_DELETE,
    };
    struct hf_remote_exchange_request request;
    hf_remote_exchange_request(post, &request);
    struct hf_backend_exchange *exchange = hf_new(struct hf_backend_exchange);
    hf_link_init(&exchange->flush.link);
    hf_list_push(&http->exchanges, &exchange->link);
    exchange->http = http;
    exchange->post = post;
    exchange->retry_after_ms = -1;
    exchange->may_move = request.may_repeat && !request.endpoint.p && http->moves < MOVES_MAX;
    hf_buf_init(&exchange->body, http->message_max);
    hf_remote_exchange_set_backend(post, exchange);
    char *endpoint = request.endpoint.p ? hf_span_dup(request.endpoint) : NULL;
    const struct hf_fetch_spec spec = {
        .verb = verbs[request.kind],
        .url = endpoint ? endpoint : http->url,
        .headers = headers_of(http, &request),
        .body = request.pieces,
        .body_count = request.piece_count,
        .may_repeat = request.may_repeat,
    };
    exchange->fetch = hf_fetch_start(http->peer, &spec, &fetch_events, exchange);
    hf_free(endpoint);
}

static struct hf_http_backend *http_backend_of(struct hf_backend *backend)
{
    return HF_ITEM(backend, struct hf_http_backend, backend);
}

static void perform(struct hf_backend *backend, const struct hf_effect *effect)
{
    assert(effect->kind == HF_DO_EXCHANGE);
    begin_exchange(http_backend_of(backend), effect->exchange);
}

void hf_http_backend_abort(struct hf_remote_exchange *post)
{
    struct hf_backend_exchange *exchange = hf_remote_exchange_backend(post);
    if (!exchange || !exchange->post)
        return;
    if (!exchange->fetch) { /* its last bytes are being read: on_ended frees it */
        exchange->post = NULL;
        return;
    }
    hf_fetch_abort(exchange->fetch);
    end_exchange(exchange);
}

/* ---- lifetime ---- */

static void set_headers(struct hf_http_backend *http, const struct hf_server_config *config)
{
    struct hf_buf *text = &http->headers;
    hf_buf_init(&http->header_text, HEADER_LINE_MAX);
    hf_buf_init(text, (config->headers_count + 1) * (HEADER_LINE_MAX + 3));
    for (size_t i = 0; i < config->headers_count; i++)
        http->headers_count += add_header(text, hf_span_of(config->headers[i].key),
                                          hf_span_of(config->headers[i].value));
    /* without this header any encoding is acceptable */
    http->headers_count += add_header(text, HF_SPAN("Accept-Encoding"), HF_SPAN("identity"));
}

static void release(struct hf_backend *backend)
{
    struct hf_http_backend *http = http_backend_of(backend);
    hf_alarm_set(&http->still, 0);
    hf_peer_free(http->peer); /* aborts fetches without events */
    struct hf_backend_exchange *exchange;
    HF_LIST_EACH_SAFE (exchange, &http->exchanges, struct hf_backend_exchange, link)
        end_exchange(exchange);
    hf_buf_done(&http->headers);
    hf_buf_done(&http->header_text);
    hf_free(http->header_list);
    hf_free(http->url);
    hf_shell_free_later(http->shell,
                        &http->backend.flush); /* one of its callbacks may be running */
}

void hf_http_backend_start(struct hf_shell *shell, struct hf_http_client *client,
                           struct hf_runtime *runtime, const struct hf_server_config *config,
                           size_t message_max)
{
    struct hf_http_backend *http = hf_new(struct hf_http_backend);
    hf_link_init(&http->backend.flush.link);
    http->backend.perform = perform;
    http->backend.release = release;
    hf_link_init(&http->exchanges);
    hf_alarm_init(&http->still, shell->loop, on_still, http);
    http->shell = shell;
    http->runtime = runtime;
    http->url = hf_strdup(config->url);
    http->message_max = message_max;
    set_headers(http, config);
    hf_runtime_set_backend(runtime, &http->backend);
    const struct hf_peer_spec spec = {
        .url = config->url,
        .ca = config->ca,
        .proxy = config->proxy,
        .connect_ms = CONNECT_MS,
        .keep_alive_ms = config->keep_alive_ms,
    };
    struct hf_err err;
    http->peer = hf_peer_new(client, &spec, &err);
    if (http->peer)
        hf_runtime_started(runtime, 0, hf_shell_time(shell));
    else
        hf_runtime_not_started(runtime, &(struct hf_start_failure) { .why = err.text },
                               hf_shell_time(shell));
}
