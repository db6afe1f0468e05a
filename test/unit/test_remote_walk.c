/*
 * test_remote_walk.c - random walks through the life of a remote server: it forgets sessions, goes
 * away, cuts exchanges in every way; clients call, cancel and leave; operators switch. The world
 * knows of each call whether it ran, and holds every answer against that:
 *
 *   P1  each call is answered once, or was cancelled; at the latest when everything is well again
 *   P2  no call ran twice
 *   P3  "it was not dispatched" is said only of calls that never ran; a result only of ones that
 * did
 *
 * A server here is honest: 404 and 401 come before anything runs, and one that does not know a
 * session says so with the same status to every request. With SEED=n in the environment that walk
 * is gone alone, with WALKS=n so many.
 */
#include "engine_http.h"

#define CALL "tools/call"
enum { WALKS = 400, STEPS = 250, CALLS_MAX = 300, WALKERS = 2 };

struct walk {
    struct world *w;
    struct hf_server *server;
    struct http_manners *http;
    struct client *clients[WALKERS];
    uint64_t random;
    int calls;
    unsigned ran[CALLS_MAX];
    int unknown_status;
};

static unsigned roll(struct walk *k, unsigned sides)
{
    k->random ^= k->random << 13;
    k->random ^= k->random >> 7;
    k->random ^= k->random << 17;
    return (unsigned)(k->random >> 33) % sides;
}

static int number_of(const struct exchange *x)
{
    int64_t n = -1;
    const struct hf_span path[] = { HF_SPAN("arguments"), HF_SPAN("n") };
    if (!hf_json_int(hf_json_path(x->body.items[0].msg.params, 2, path), &n))
        abort();
    return (int)n;
}

static uint64_t via_of(int n)
{
    return (uint64_t)n + 1;
}

static void runs(struct walk *k, struct exchange *x)
{
    k->ran[number_of(x)] += !x->has_run;
    x->has_run = true;
}

static void maybe_runs(struct walk *k, struct exchange *x)
{
    if (roll(k, 2))
        runs(k, x);
}

/* ---- what becomes of a call that the server has, or is about to have ---- */

static void end_with_status(struct walk *k, struct exchange *x)
{
    static const int before_it_ran[] = { 401, 405, 413, 415, 421, 425 };
    static const int perhaps_after[] = {
        200, 202, 307, 400, 403, 409, 422, 429, 500, 502, 503, 504
    };
    if (roll(k, 3) == 0) {
        exchange_fails(x, before_it_ran[roll(k, 6)]);
        return;
    }
    const int status = perhaps_after[roll(k, 12)];
    if (k->http->is_sse && status < 300) { /* that would be no end */
        exchange_breaks(x, HF_SENT_WHOLE);
        return;
    }
    maybe_runs(k, x);
    if (status >= 400 && status < 429) /* in its own words: else nobody could see through it */
        exchange_fails_with(x, status, "text/plain", "The tool says no");
    else
        exchange_fails_for(x, status, roll(k, 4) ? -1 : 1 + (int64_t)roll(k, 3000));
}

static void end_call(struct walk *k, struct exchange *x)
{
    switch (roll(k, 8)) {
    case 0: exchange_breaks(x, HF_SENT_NOTHING); break;
    case 1: exchange_breaks(x, HF_SENT_PART); break;
    case 2:
        maybe_runs(k, x);
        exchange_breaks(x, HF_SENT_WHOLE);
        break;
    case 3: end_with_status(k, x); break;
    case 4:
        runs(k, x);
        exchange_answers_error(x, roll(k, 2) ? 404 : 403, "{\"code\":-32601,\"message\":\"no\"}");
        break;
    default:
        runs(k, x);
        exchange_answers(x, "{}");
        break;
    }
}

/* It is running, and its answer comes as a stream. */
static void stream_call(struct walk *k, struct exchange *x)
{
    static int serial;
    char id[20];
    (void)snprintf(id, sizeof id, "e%d", ++serial);
    if (!x->status) {
        if (x->verb == HF_EXCHANGE_MESSAGE)
            runs(k, x);
        exchange_head(x, 200, true);
    } else if (roll(k, 3) == 0) {
        exchange_marks(x, id, roll(k, 2) ? (int64_t)roll(k, 5000) : -1);
    } else if (roll(k, 2)) {
        exchange_breaks(x, HF_SENT_WHOLE);
    } else {
        exchange_ends(x);
    }
}

static void answer_stream(struct exchange *x)
{
    if (x->verb == HF_EXCHANGE_MESSAGE)
        exchange_says_answer(x, "{}");
    else
        exchange_breaks(x, HF_SENT_WHOLE);
}

static bool is_call(const struct exchange *x)
{
    return x->body.count && x->body.items[0].msg.method.p &&
           hf_span_is(x->body.items[0].msg.method, CALL);
}

static struct exchange *open_stream(struct walk *k, const struct child *c)
{
    for (size_t i = 0; i < k->w->exchange_count; i++) {
        struct exchange *x = k->w->exchanges[i];
        if (x->child == c && x->verb == HF_EXCHANGE_STREAM && x->post)
            return x;
    }
    return NULL;
}

/* With the older transport a call that was accepted has no exchange any more. */
static bool is_accepted(struct walk *k, const struct exchange *x)
{
    return is_call(x) && !x->post && x->status >= 200 && x->status < 300 && !x->has_run &&
           k->http->is_sse && open_stream(k, x->child);
}

static struct exchange *open_call(struct walk *k)
{
    const size_t count = k->w->exchange_count, from = count ? roll(k, (unsigned)count) : 0;
    for (size_t i = 0; i < count; i++) {
        struct exchange *x = k->w->exchanges[(from + i) % count];
        if (is_accepted(k, x) || (x->post && (x->verb == HF_EXCHANGE_RESUME || is_call(x))))
            return x;
    }
    return NULL;
}

static void answer_accepted(struct walk *k, struct exchange *x)
{
    runs(k, x);
    exchange_says(open_stream(k, x->child), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                  HF_FMT(x->body.items[0].msg.id));
}

static void move_call(struct walk *k)
{
    struct exchange *x = open_call(k);
    if (!x)
        return;
    if (!x->post) {
        if (roll(k, 8))
            answer_accepted(k, x);
        else
            exchange_breaks(open_stream(k, x->child), HF_SENT_WHOLE);
    } else if (x->verb == HF_EXCHANGE_RESUME) {
        if (roll(k, 4) == 0)
            exchange_fails(x, roll(k, 2) ? 404 : 503);
        else
            stream_call(k, x);
    } else if (!x->is_sending) {
        if (roll(k, 2))
            exchange_sends(x);
        else
            exchange_breaks(x, HF_SENT_NOTHING);
    } else if (x->status) {
        if (roll(k, 2))
            answer_stream(x);
        else
            stream_call(k, x);
    } else if (roll(k, 3) == 0 && !k->http->is_sse) {
        stream_call(k, x);
    } else {
        end_call(k, x);
    }
}

/* ---- the others ---- */

static void client_moves(struct walk *k)
{
    const unsigned who = roll(k, WALKERS);
    struct client *c = k->clients[who];
    if (!c->session || k->calls == CALLS_MAX)
        return;
    const unsigned what = roll(k, 10);
    if (what < 7) {
        const int n = k->calls++;
        (void)client_says_via(c, via_of(n),
                              "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"" CALL "\",\"params\":{"
                              "\"name\":\"echo\",\"arguments\":{\"n\":%d}}}",
                              n, n);
    } else if (what < 9 && k->calls) {
        client_cancels(c, (int)roll(k, (unsigned)k->calls));
    } else if (k->calls) {
        client_via_gone(c, via_of((int)roll(k, (unsigned)k->calls)));
    }
}

static void server_moves(struct walk *k)
{
    switch (roll(k, 6)) {
    case 0: k->http->has_forgotten = true; break;
    case 1: k->http->is_down = !k->http->is_down; break;
    case 2: k->http->holds_calls = !k->http->holds_calls; break;
    case 3: k->http->hello_status = roll(k, 2) ? 0 : roll(k, 2) ? 503 : 429; break;
    case 4: k->http->list_status = roll(k, 3) ? 0 : 500; break;
    default: k->http->never_says_bye = !k->http->never_says_bye; break;
    }
}

static void step(struct walk *k)
{
    static const enum hf_op ops[] = { HF_OP_ENABLE, HF_OP_ENABLE, HF_OP_DISABLE, HF_OP_RESTART,
                                      HF_OP_RECONNECT };
    const unsigned what = roll(k, 100);
    if (what < 40)
        client_moves(k);
    else if (what < 75)
        move_call(k);
    else if (what < 82)
        server_moves(k);
    else if (what < 84)
        operate(k->w, k->server, ops[roll(k, 5)]);
    else
        advance(k->w, roll(k, what < 98 ? 2000 : 60000));
}

static void end_streams_of_the_older_kind(struct walk *k)
{
    for (size_t i = 0; k->http->is_sse && i < k->w->exchange_count; i++) {
        struct exchange *x = k->w->exchanges[i];
        if (x->verb == HF_EXCHANGE_STREAM && x->post)
            exchange_breaks(x, HF_SENT_WHOLE);
    }
}

/* Everything is well again: nothing may be left open. */
static void recover(struct walk *k)
{
    *k->http = HTTP(.sessions = k->http->sessions, .unknown_status = k->unknown_status,
                    .has_forgotten = k->http->has_forgotten, .has_stream = k->http->has_stream,
                    .is_sse = k->http->is_sse);
    operate(k->w, k->server, HF_OP_ENABLE);
    for (int round = 0; round < 100; round++) {
        struct exchange *x;
        while ((x = open_call(k))) {
            if (!x->post) {
                answer_accepted(k, x);
            } else if (x->verb == HF_EXCHANGE_RESUME) {
                exchange_fails(x, 404);
            } else {
                if (!x->status)
                    runs(k, x);
                if (x->status)
                    exchange_says_answer(x, "{}");
                else
                    exchange_answers(x, "{}");
                if (x->post)
                    exchange_ends(x);
            }
        }
        if (round == 50) /* until then what was lost on its way may still be answered there */
            end_streams_of_the_older_kind(k);
        advance(k->w, 5000);
    }
}

static void check_call(const struct walk *k, const struct client *c, int n)
{
    const struct message *answer = answer_to(c, n);
    const size_t count = answers_via(c, via_of(n));
    const bool is_result = has_result(c, n);
    const bool was_dispatched = hf_span_is(data_of(c, n, "dispatched"), "true");
    const int code = answer ? error_of(c, n) : 0;
    bool is_bad = k->ran[n] > 1;
    is_bad |= count != 1; /* or taken back, once */
    is_bad |= is_result && k->ran[n] != 1;
    is_bad |= code <= -31001 && code >= -31010 && !was_dispatched && k->ran[n] != 0;
    if (!is_bad)
        return;
    printf("# call %d: ended %zu times, code %d, ran %u times\n", n, count, code, k->ran[n]);
    test_fail(__FILE__, __LINE__, "P1, P2, P3");
}

static bool walk(uint64_t seed)
{
    static const int unknown[] = { 404, 400, 401, 403 };
    struct walk k = { .random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1, .w = world_new() };
    struct hf_settings settings =
        SETTINGS(.reconnect.jitter = 0, .max_in_flight = roll(&k, 3) ? 0 : 2,
                 .call_timeout_ms = roll(&k, 3) ? 0 : 20000, .stateful = roll(&k, 6) == 0);
    k.server = add_remote(k.w, "s", settings);
    k.http = &manners_of(k.w, k.server)->http;
    k.unknown_status = k.http->unknown_status = unknown[roll(&k, 4)];
    k.http->has_stream = roll(&k, 2);
    k.http->is_sse = roll(&k, 4) == 0;
    settle(k.w);
    for (size_t i = 0; i < WALKERS; i++)
        k.clients[i] = open_client(k.w, k.server);
    const bool failed_before = test_failed;
    for (int i = 0; i < STEPS && k.w->child_count < CHILDREN_MAX - 40; i++)
        step(&k);
    recover(&k);
    for (size_t i = 0; i < WALKERS; i++)
        for (size_t m = 0; m < k.clients[i]->sent.count; m++) {
            int64_t n;
            const struct hf_msg *msg = &k.clients[i]->sent.items[m].msg;
            if (msg->kind == HF_MSG_REQUEST && hf_json_int(msg->id, &n))
                check_call(&k, k.clients[i], (int)n);
        }
    CHECK(status_of(k.server).in_flight == 0 && status_of(k.server).waiting == 0);
    world_end(k.w);
    return failed_before || !test_failed;
}

TEST(however_a_remote_server_behaves_no_call_runs_twice_and_every_answer_is_true)
{
    const char *only = getenv("SEED"), *many = getenv("WALKS");
    const uint64_t end = many ? strtoull(many, NULL, 10) : WALKS;
    for (uint64_t seed = 1; seed <= end; seed++) {
        const uint64_t n = only ? strtoull(only, NULL, 10) : seed;
        if (!walk(n))
            printf("# SEED=%llu\n", (unsigned long long)n);
        if (only || test_failed)
            break;
    }
}
