/* test_http_server_heads.c - a request is decided about by its head: who is refused costs no
 * memory, who is held up is read no further, and a body that comes too slowly is not waited for. */
#include "io/http_connection.h"
#include "unit/http_world.h"

#define POST(path, n) "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " n "\r\n\r\n"
#define CHUNKED(path) "POST " path " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

/* What /hold and /small are about; the rest of what comes in by its head is let in. */
static struct hf_exchange *held;
static unsigned heads;

static void on_head(void *context, struct hf_exchange *exchange)
{
    const struct hf_span path = hf_exchange_request(exchange)->path, why = HF_SPAN("no");
    (void)context;
    heads++;
    if (hf_span_is(path, "/no"))
        hf_exchange_answer(exchange, 401, NULL, "text/plain", &why, 1);
    else if (hf_span_is(path, "/hold"))
        held = exchange;
    else
        hf_exchange_take_body(exchange, hf_span_is(path, "/now/small") ? 10 : SIZE_MAX);
}

static struct world *open_judging(void)
{
    struct world *w = world_new(NULL);
    heads = 0;
    held = NULL;
    w->server->events.head = on_head;
    return w;
}

static void step(struct world *w)
{
    for (int i = 0; i < 20; i++)
        hf_loop_step(w->shell.loop, false);
}

TEST(a_large_body_that_is_refused_by_its_head_is_never_kept_and_its_connection_closes)
{
    static char filler[1 << 20];
    struct world *w = open_judging();
    struct client *c = client_new(w), *chunked = client_new(w);
    client_send(c, POST("/no", "67108864"));
    client_send_bytes(c, (struct hf_span) { filler, sizeof filler });
    client_send(chunked, CHUNKED("/no") "100000\r\n");
    client_send_bytes(chunked, (struct hf_span) { filler, sizeof filler - 10 });
    WAIT(w, c->is_closed && chunked->is_closed);
    CHECK(client_has(c, "HTTP/1.1 401 ") && client_has(c, "Connection: close\r\n") && !c->is_reset);
    CHECK(client_has(chunked, "HTTP/1.1 401 ") && !chunked->is_reset);
    CHECK(w->requests == 0 && w->gone == 0 && heads == 2);
    CHECK(w->server->bytes.used <= 2 * 4096);
}

TEST(a_short_body_of_a_refused_request_is_skipped_and_the_next_request_is_answered)
{
    struct world *w = open_judging();
    struct client *c = client_new(w);
    client_send(c, POST("/no", "11") "hello");
    WAIT(w, client_has(c, "\r\n\r\nno"));
    CHECK(!client_has(c, "Connection: close"));
    client_forget(c);
    client_send(c, " world" POST("/now", "3") "abc" POST("/no", "2") "xx" POST("/now", "1") "d");
    WAIT(w, client_has(c, "POST /now abc") && client_has(c, "POST /now d"));
    CHECK(client_has(c, "401 ") && !c->is_closed && w->requests == 2 && heads == 4);
}

TEST(a_client_that_waits_for_100_is_refused_without_it_and_let_in_with_it)
{
    struct world *w = open_judging();
    struct client *c = client_new(w), *in = client_new(w);
    client_send(c, "POST /no HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                   "Content-Length: 5\r\n\r\n");
    WAIT(w, c->is_closed);
    CHECK(!strncmp(client_text(c), "HTTP/1.1 401 ", 13) && !client_has(c, "100 Continue"));
    client_send(in, "POST /now HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n");
    WAIT(w, client_has(in, "100 Continue"));
    client_send(in, "hello");
    WAIT(w, client_has(in, "POST /now hello"));
}

TEST(a_body_over_what_its_request_may_have_is_413)
{
    struct world *w = open_judging();
    struct client *c = client_new(w), *fits = client_new(w);
    client_send(c, POST("/now/small", "11"));
    client_send(fits, POST("/now/small", "10") "0123456789");
    WAIT(w, c->is_closed && client_has(fits, "0123456789"));
    CHECK(client_has(c, "413 ") && client_has(c, "larger than 10 bytes") && w->requests == 1);
}

TEST(a_request_that_waits_to_be_let_in_is_read_no_further_and_then_whole)
{
    static char filler[8 << 20];
    struct world *w = open_judging();
    struct client *c = client_new(w);
    memset(filler, 'x', sizeof filler);
    client_send(c, POST("/hold", "8388608"));
    client_send_bytes(c, (struct hf_span) { filler, sizeof filler });
    WAIT(w, held != NULL);
    step(w);
    CHECK(w->server->bytes.used <= 2 * HF_HTTP_READ_SIZE && w->requests == 0);
    hf_exchange_take_body(held, SIZE_MAX);
    CHECK_EQ(w->requests, 0); /* never from inside */
    WAIT(w, w->asked_count == 1);
    CHECK(hf_exchange_body(w->asked[0]).n == sizeof filler && w->gone == 0);
    answer(w, w->asked[0], "whole");
    WAIT(w, client_has(c, "whole"));
}

TEST(a_client_that_leaves_while_it_waits_to_be_let_in_is_gone_and_after_that_is_nobodys)
{
    struct world *w = open_judging();
    struct client *c = client_new(w);
    client_send(c, POST("/hold", "5"));
    WAIT(w, held != NULL);
    client_leave(c);
    WAIT(w, w->gone == 1);
    held = NULL;
    struct client *late = client_new(w);
    client_send(late, POST("/hold", "5"));
    WAIT(w, held != NULL);
    hf_exchange_take_body(held, SIZE_MAX);
    client_leave(late);
    WAIT(w, hf_http_server_connections(w->server) == 0);
    CHECK(w->gone == 1 && w->requests == 0);
}

/* ---- time ---- */

static uint64_t clock_ms;

static struct hf_now read_clock(void *context)
{
    (void)context;
    return (struct hf_now) { .mono_ms = clock_ms, .wall_ms = clock_ms };
}

static void pass(struct world *w, uint64_t ms)
{
    clock_ms += ms;
    step(w);
}

static void send_body(struct world *w, struct client *c, size_t bytes)
{
    static char filler[1 << 20];
    client_send_bytes(c, (struct hf_span) { filler, bytes });
    while (hf_buf_len(&c->unsent))
        hf_loop_step(w->shell.loop, false);
    step(w);
}

static struct world *open_timed(void)
{
    struct world *w = open_judging();
    clock_ms = 1000000;
    hf_loop_set_clock(w->shell.loop, read_clock, NULL);
    step(w);
    return w;
}

TEST(a_body_below_16_kb_a_second_is_408_once_five_seconds_are_over)
{
    struct world *w = open_timed();
    struct client *c = client_new(w);
    client_send(c, POST("/now", "67108864"));
    send_body(w, c, 1);
    pass(w, 5000); /* a slow start is forgiven */
    CHECK(!client_has(c, "408"));
    send_body(w, c, 5 * 16 * 1024);
    pass(w, 4999);
    send_body(w, c, 5 * 16 * 1024 - 1); /* in time for the span before */
    pass(w, 1);
    CHECK(!client_has(c, "408"));
    send_body(w, c, 5 * 16 * 1024 - 1);
    pass(w, 4999);
    CHECK(!client_has(c, "408"));
    pass(w, 1);
    CHECK(client_has(c, "HTTP/1.1 408 ") &&
          client_has(c, "the body came with less than 16384 bytes a second"));
    CHECK(w->requests == 0 && w->server->bytes.used < 8192);
}

TEST(a_chunked_body_has_a_least_rate_too_and_its_frames_do_not_count)
{
    struct hf_buf text;
    struct world *w = open_timed();
    struct client *c = client_new(w);
    client_send(c, CHUNKED("/now"));
    hf_buf_init(&text, 1 << 20);
    for (int i = 0; i < 16 * 1024; i++)
        hf_buf_add_str(&text, "1\r\nx\r\n");
    for (int i = 0; i < 2; i++) {
        client_send_bytes(c, hf_buf_span(&text));
        while (hf_buf_len(&c->unsent))
            hf_loop_step(w->shell.loop, false);
        step(w);
        CHECK(!client_has(c, "408"));
        pass(w, 5000);
    }
    CHECK(client_has(c, "HTTP/1.1 408 "));
    hf_buf_done(&text);
}

TEST(a_body_that_takes_longer_than_ten_minutes_is_408_however_fast_it_is)
{
    struct world *w = open_timed();
    struct client *c = client_new(w);
    client_send(c, POST("/now", "67108864"));
    step(w);
    for (int i = 0; i < 119; i++) {
        send_body(w, c, 5 * 16 * 1024);
        pass(w, 5000);
    }
    send_body(w, c, 5 * 16 * 1024);
    pass(w, 4999);
    CHECK(!client_has(c, "408"));
    pass(w, 1);
    CHECK(client_has(c, "HTTP/1.1 408 ") && client_has(c, "the body took longer than 600000 ms"));
}
