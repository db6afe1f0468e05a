/* engine_http.c - see engine_http.h. */
#include "engine_http.h"
#include <stdarg.h>

/* ---- records ---- */

static char *copy(struct hf_span text)
{
    return text.p ? hf_span_dup(text) : NULL;
}

void http_begin(struct world *w, struct hf_remote_exchange *post)
{
    struct exchange *x = hf_new(struct exchange);
    struct hf_remote_exchange_request request;
    const struct exchange *before = exchange_behind(hf_remote_exchange_backend(post));
    CHECK(!before || !before->post); /* begun again only when it was over */
    hf_remote_exchange_request(post, &request);
    *x = (struct exchange) {
        .world = w,
        .child = child_behind(hf_runtime_backend(hf_remote_exchange_runtime(post))),
        .post = post,
        .verb = request.kind,
        .endpoint = copy(request.endpoint),
        .session_id = copy(request.session_id),
        .version = copy(request.version),
        .last_event_id = copy(request.last_event_id),
        .headers = copy(request.headers),
        .begun_ms = w->now_ms,
    };
    if (request.kind == HF_EXCHANGE_MESSAGE)
        (void)keep_pieces(&x->body, request.pieces, request.piece_count, w->now_ms);
    CHECK_EQ(request.kind == HF_EXCHANGE_MESSAGE, request.piece_count > 0);
    hf_buf_init(&x->said, 1 << 20);
    hf_remote_exchange_set_backend(post, hf_backend_exchange_of(x));
    if (w->exchange_count == w->exchange_cap) {
        w->exchange_cap = w->exchange_cap ? 2 * w->exchange_cap : 64;
        w->exchanges = hf_realloc(w->exchanges, w->exchange_cap * sizeof(struct exchange *));
    }
    w->exchanges[w->exchange_count++] = x;
}

void http_abort(struct hf_remote_exchange *post)
{
    struct exchange *x = exchange_behind(hf_remote_exchange_backend(post));
    CHECK_EQ(x->post, post); /* else it was over already */
    x->post = NULL;
    x->is_aborted = true;
    x->ended_ms = x->world->now_ms;
}

void http_hang_up(struct child *c)
{
    CHECK_EQ(c->hang_ups++, 0);
    hf_runtime_disconnected(c->runtime, at(c->world->now_ms));
}

void http_released(const struct child *c)
{
    for (size_t i = 0; i < c->world->exchange_count; i++)
        CHECK(c->world->exchanges[i]->child != c || !c->world->exchanges[i]->post);
}

void http_done(struct world *w)
{
    for (size_t i = 0; i < w->exchange_count; i++) {
        struct exchange *x = w->exchanges[i];
        hf_free(x->endpoint);
        hf_free(x->session_id);
        hf_free(x->version);
        hf_free(x->last_event_id);
        hf_free(x->headers);
        hf_buf_done(&x->said);
        free_messages(&x->body);
        hf_free(x);
    }
    hf_free(w->exchanges);
}

/* ---- finding ---- */

static const struct hf_msg *body_of(const struct exchange *x)
{
    return x->body.count ? &x->body.items[0].msg : NULL;
}

static bool is_a(const struct exchange *x, const char *what)
{
    const struct hf_msg *msg = body_of(x);
    switch (x->verb) {
    case HF_EXCHANGE_STREAM: return strcmp(what, "GET") == 0;
    case HF_EXCHANGE_RESUME: return strcmp(what, "RESUME") == 0;
    case HF_EXCHANGE_DELETE: return strcmp(what, "DELETE") == 0;
    case HF_EXCHANGE_MESSAGE: break;
    }
    if (!msg)
        return false;
    return msg->method.p ? hf_span_is(msg->method, what) : strcmp(what, "response") == 0;
}

bool is_text(const char *text, const char *expected)
{
    return text && strcmp(text, expected) == 0;
}

size_t exchanges(const struct world *w, const char *what)
{
    size_t count = 0;
    for (size_t i = 0; i < w->exchange_count; i++)
        count += is_a(w->exchanges[i], what);
    return count;
}

size_t sent(const struct world *w, const char *what)
{
    size_t count = 0;
    for (size_t i = 0; i < w->exchange_count; i++)
        count += is_a(w->exchanges[i], what) && w->exchanges[i]->is_sending;
    return count;
}

size_t open_exchanges(const struct world *w, const char *what)
{
    size_t count = 0;
    for (size_t i = 0; i < w->exchange_count; i++)
        count += is_a(w->exchanges[i], what) && w->exchanges[i]->post;
    return count;
}

struct exchange *nth_exchange(const struct world *w, const char *what, size_t n)
{
    for (size_t i = 0; i < w->exchange_count; i++)
        if (is_a(w->exchanges[i], what) && n-- == 0)
            return w->exchanges[i];
    printf("# there is no such exchange: %s\n", what);
    (void)fflush(stdout);
    abort();
}

struct exchange *last_exchange(const struct world *w, const char *what)
{
    return nth_exchange(w, what, exchanges(w, what) - 1);
}

struct exchange *stream_of(struct child *c)
{
    const struct world *w = c->world;
    for (size_t i = w->exchange_count; i-- > 0;)
        if (w->exchanges[i]->child == c && w->exchanges[i]->verb == HF_EXCHANGE_STREAM &&
            w->exchanges[i]->post)
            return w->exchanges[i];
    printf("# no stream is open\n");
    (void)fflush(stdout);
    abort();
}

/* ---- what becomes of one: told to the engine, not yet performed ---- */

static bool is_open(const struct exchange *x)
{
    if (x->post)
        return true;
    test_fail(__FILE__, __LINE__, "nothing is told of an exchange that is over");
    return false;
}

static void tell_sending(struct exchange *x)
{
    if (x->is_sending || !is_open(x))
        return;
    x->is_sending = true;
    if (x->body.count)
        keep_message(&x->child->got, body_of(x)->text, x->world->now_ms);
    hf_remote_exchange_sending(x->post, at(x->world->now_ms));
}

static void tell_head(struct exchange *x, int status, bool is_stream, const char *session_id)
{
    if (!is_open(x))
        return;
    tell_sending(x);
    x->status = status;
    x->is_stream = is_stream;
    hf_remote_exchange_head(x->post, status, is_stream, hf_span_of(session_id),
                            at(x->world->now_ms));
}

static void tell_over(struct exchange *x, struct hf_remote_exchange_end end)
{
    struct hf_remote_exchange *post = x->post;
    if (!is_open(x))
        return;
    x->post = NULL;
    x->ended_ms = x->world->now_ms;
    end.status = x->status;
    end.body = (struct hf_body) { .text = hf_buf_span(&x->said),
                                  .type = hf_span_of(x->type),
                                  .is_plain = !x->is_gzip,
                                  .is_measured = !x->has_no_length };
    hf_remote_exchange_ended(post, &end, at(x->world->now_ms));
}

static void tell_whole(struct exchange *x)
{
    tell_over(x, (struct hf_remote_exchange_end) {
                     .sent = HF_SENT_WHOLE, .is_whole = true, .retry_after_ms = -1 });
}

static void finish(struct exchange *x)
{
    if (x->post) /* else its answer was the last that its runtime was there for */
        tell_whole(x);
}

/* What the engine sends because of a message points into it. */
static void tell_message(struct exchange *x, const char *text)
{
    if (x->status >= 300 && !x->is_stream)
        hf_buf_add_str(&x->said, text);
    else if (is_open(x))
        hf_remote_exchange_message(x->post, hf_span_of(text), at(x->world->now_ms));
    (void)pump(x->world);
}

/* ---- the same for tests ---- */

void exchange_sends(struct exchange *x)
{
    tell_sending(x);
    settle(x->world);
}

void exchange_head(struct exchange *x, int status, bool is_stream)
{
    tell_head(x, status, is_stream, NULL);
    settle(x->world);
}

void exchange_gives_session(struct exchange *x, const char *session_id)
{
    tell_head(x, 200, true, session_id);
    settle(x->world);
}

void exchange_says(struct exchange *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    tell_message(x, text);
    free(text);
    settle(x->world);
}

static char *answer_text(const struct exchange *x, const char *member, const char *value)
{
    return reply_with(body_of(x)->id, member, value);
}

void exchange_says_answer(struct exchange *x, const char *result)
{
    char *text = answer_text(x, "result", result);
    tell_message(x, text);
    free(text);
    settle(x->world);
}

void exchange_marks(struct exchange *x, const char *event_id, int64_t retry_ms)
{
    if (is_open(x))
        hf_remote_exchange_event(x->post, hf_span_of(event_id), retry_ms);
    settle(x->world);
}

void exchange_ends(struct exchange *x)
{
    tell_whole(x);
    settle(x->world);
}

void exchange_breaks(struct exchange *x, enum hf_sent sent_so_far)
{
    tell_over(x, (struct hf_remote_exchange_end) {
                     .sent = sent_so_far, .retry_after_ms = -1, .why = "connection reset" });
    settle(x->world);
}

static void answer_with(struct exchange *x, int status, const char *member, const char *value)
{
    char *text = answer_text(x, member, value);
    tell_head(x, status, false, NULL);
    tell_message(x, text);
    free(text);
    finish(x);
    settle(x->world);
}

void exchange_answers(struct exchange *x, const char *result)
{
    answer_with(x, 200, "result", result);
}

void exchange_answers_error(struct exchange *x, int status, const char *error)
{
    answer_with(x, status, "error", error);
}

static void turn_away(struct exchange *x, int status, int64_t retry_after_ms)
{
    tell_head(x, status, false, NULL);
    if (status >= 400) {
        x->type = "text/plain";
        hf_buf_add_str(&x->said, "Turned away");
    }
    tell_over(x, (struct hf_remote_exchange_end) {
                     .sent = HF_SENT_WHOLE, .is_whole = true, .retry_after_ms = retry_after_ms });
}

void exchange_fails_for(struct exchange *x, int status, int64_t retry_after_ms)
{
    turn_away(x, status, retry_after_ms);
    settle(x->world);
}

void exchange_fails_with(struct exchange *x, int status, const char *type, const char *body)
{
    const char *hole = strstr(body, "%s");
    tell_head(x, status, false, NULL);
    x->type = type;
    hf_buf_clear(&x->said);
    hf_buf_add(&x->said, (struct hf_span) { body, hole ? (size_t)(hole - body) : strlen(body) });
    if (hole) {
        hf_buf_add(&x->said, body_of(x)->id);
        hf_buf_add_str(&x->said, hole + 2);
    }
    finish(x);
    settle(x->world);
}

void exchange_fails(struct exchange *x, int status)
{
    exchange_fails_for(x, status, -1);
}

/* ---- servers that play along ---- */

static bool knows_session(const struct http_manners *h, const struct exchange *x)
{
    char known[40];
    const char *theirs = h->is_sse ? x->endpoint : x->session_id;
    (void)snprintf(known, sizeof known, h->is_sse ? "http://s/post?id=%u" : "session-%u",
                   h->sessions);
    return h->no_session || (theirs && !h->has_forgotten && strcmp(theirs, known) == 0);
}

static void make_session(struct http_manners *h, char name[40])
{
    h->has_forgotten = false;
    h->sessions++;
    (void)snprintf(name, 40, h->is_sse ? "http://s/post?id=%u" : "session-%u", h->sessions);
}

static void react_to_listen(struct exchange *x, struct http_manners *h)
{
    char url[40];
    if (h->is_sse) {
        make_session(h, url);
        tell_head(x, 200, true, NULL);
        hf_remote_exchange_endpoint(x->post, hf_span_of(url), at(x->world->now_ms));
    } else if (!h->has_stream) {
        turn_away(x, 405, -1);
    } else if (!knows_session(h, x)) {
        turn_away(x, h->unknown_status ? h->unknown_status : 404, -1);
    } else {
        tell_head(x, 200, true, NULL);
    }
}

static int status_for(const struct http_manners *h, const struct hf_msg *msg)
{
    if (!msg->method.p)
        return 0;
    if (hf_span_is(msg->method, "initialize"))
        return h->hello_status;
    if (hf_span_is(msg->method, "ping"))
        return h->ping_status;
    return memmem(msg->method.p, msg->method.n, "/list", 5) ? h->list_status : 0;
}

static void react_to_message(struct exchange *x, const struct manners *m, struct http_manners *h)
{
    char session[40] = "";
    const struct hf_msg *msg = body_of(x);
    const bool is_hello = msg->method.p && hf_span_is(msg->method, "initialize");
    const int status = status_for(h, msg);
    if (is_hello && h->is_sse && !x->endpoint) {
        turn_away(x, 405, -1);
        return;
    }
    if ((!is_hello || h->is_sse) && !m->is_modern && !knows_session(h, x)) {
        turn_away(x, h->unknown_status ? h->unknown_status : 404, -1);
        return;
    }
    if (status) {
        turn_away(x, status, is_hello && h->retry_after_s ? 1000 * h->retry_after_s : -1);
        return;
    }
    char *text = reply_to(m, msg);
    if (is_hello && !h->no_session && !h->is_sse)
        make_session(h, session);
    if (msg->kind != HF_MSG_REQUEST || h->is_sse) {
        turn_away(x, 202, -1);
        if (text)
            tell_message(stream_of(x->child), text);
    } else if (text) {
        tell_head(x, 200, false, session[0] ? session : NULL);
        tell_message(x, text);
        finish(x);
    }
    free(text);
}

static void react(struct exchange *x)
{
    struct manners *m = manners_of(x->world, x->child->server);
    struct http_manners *h = &m->http;
    const bool is_call = is_a(x, "tools/call");
    if (!x->post || h->by_hand || (is_call && h->holds_calls))
        return;
    if (h->is_down) {
        tell_over(x, (struct hf_remote_exchange_end) { .sent = HF_SENT_NOTHING,
                                                       .retry_after_ms = -1,
                                                       .why = "connection refused" });
        return;
    }
    tell_sending(x);
    switch (x->verb) {
    case HF_EXCHANGE_MESSAGE: react_to_message(x, m, h); break;
    case HF_EXCHANGE_STREAM: react_to_listen(x, h); break;
    case HF_EXCHANGE_RESUME: break;
    case HF_EXCHANGE_DELETE:
        if (!h->never_says_bye)
            turn_away(x, 200, -1);
        break;
    }
}

bool http_act(struct child *c)
{
    struct world *w = c->world;
    if (w->exchanges_seen == w->exchange_count)
        return false;
    react(w->exchanges[w->exchanges_seen++]);
    (void)pump(w); /* it may have ended others that are about to react */
    return true;
}
