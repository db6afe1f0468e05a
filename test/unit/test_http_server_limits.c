/* test_http_server_limits.c - what is over a bound is answered with a status that says which, a
 * peer that does not read is cut off, and a server stops without cutting anybody's answer. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "unit/http_world.h"

#define GET(path)     "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(path, n) "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " n "\r\n\r\n"
#define CHUNKED       "POST /now HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct hf_http_limits tight = {
    .head_bytes = 1000,
    .body_bytes = 2000,
    .connections = 3,
    .head_ms = 60,
    .body_ms = 1000,
    .body_grace_ms = 35,
    .body_rate = 1000,
    .idle_ms = 80,
    .write_ms = 90,
    .linger_ms = 100,
    .unwritten_bytes = 1 << 20,
    .held_bytes = 1 << 21,
};

/* What the only answer on this connection has to look like. */
static void check_refusal(struct world *w, struct client *c, const char *status, const char *why)
{
    char body[256];
    WAIT(w, c->is_closed);
    (void)snprintf(body, sizeof body, "\r\n\r\n{\"error\":\"%s\"}", why);
    const char *text = client_text(c);
    const bool is_right = !strncmp(text, "HTTP/1.1 ", 9) && !strncmp(text + 9, status, 3) &&
                          client_has(c, "\r\nConnection: close\r\n") && !c->is_reset &&
                          client_has(c, "\r\nContent-Type: application/json\r\n") &&
                          strlen(text) > strlen(body) &&
                          !strcmp(text + strlen(text) - strlen(body), body);
    if (!is_right)
        printf("# %s %s:\n# %s\n", status, why, text);
    CHECK(is_right);
    client_leave(c);
}

static void send_refused(struct world *w, const char *text, const char *status, const char *why)
{
    struct client *c = client_new(w);
    client_send(c, text);
    check_refusal(w, c, status, why);
}

TEST(a_refusal_says_why_and_can_be_read_before_the_connection_closes)
{
    struct world *w = world_new(NULL);
    send_refused(w, "GET / HTTP/1.1\r\n\r\n", "400", "an HTTP/1.1 request needs a Host");
    send_refused(w, GET("/now") "GET / HTTP/1.1\n", "200", "the request line does not end in CRLF");
    send_refused(w, "GET / HTTP/2.0\r\n\r\n", "505", "only HTTP/1.1 and HTTP/1.0 are spoken here");
    send_refused(w, CHUNKED "x\r\n", "400", "the chunks of the body are broken");
    send_refused(w, "\026\003\001\002", "400",
                 "the request line does not begin with a method and a space");
    CHECK(w->requests == 1 && w->gone == 0);
}

TEST(each_limit_of_a_request_has_its_status_and_its_name)
{
    char big[2100];
    struct world *w = world_new(&tight);
    memset(big, 'x', sizeof big);
    (void)memcpy(big, "GET / HTTP/1.1\r\nX: ", 19);
    big[sizeof big - 1] = '\0';
    send_refused(w, big, "431", "the head of the request is larger than 1000 bytes");
    send_refused(w, POST("/now", "2001"), "413", "the body is larger than 2000 bytes");
    send_refused(w, "GET /", "408", "the head of the request took longer than 60 ms");
    send_refused(w, POST("/now", "5") "hell", "408",
                 "the body came with less than 1000 bytes a second");
    send_refused(w, CHUNKED "5\r\nhel", "408", "the body came with less than 1000 bytes a second");
    CHECK_EQ(w->requests, 0);
}

TEST(the_limit_of_a_chunked_body_is_checked_on_every_chunk)
{
    struct hf_buf text;
    struct world *w = world_new(&tight);
    hf_buf_init(&text, 1 << 20);
    hf_buf_add_str(&text, CHUNKED);
    for (int i = 0; i < 2000; i++)
        hf_buf_add_str(&text, "1\r\nx\r\n");
    const size_t whole = hf_buf_len(&text);
    hf_buf_add_str(&text, "1\r\nx\r\n");
    struct client *c = client_new(w);
    client_send_bytes(c, hf_buf_span(&text));
    check_refusal(w, c, "413", "the body is larger than 2000 bytes");
    CHECK_EQ(w->requests, 0);

    struct client *fits = client_new(w);
    client_send_bytes(fits, (struct hf_span) { hf_buf_span(&text).p, whole });
    client_send(fits, "0\r\n\r\n");
    WAIT(w, client_has(fits, "POST /now xxx"));
    CHECK(client_has(fits, "Content-Length: 2010\r\n"));
    hf_buf_done(&text);
}

TEST(a_body_over_the_limit_is_refused_before_it_is_read_and_the_answer_survives_its_bytes)
{
    static char filler[1 << 20];
    struct world *w = world_new(&tight);
    struct client *c = client_new(w);
    client_send(c, POST("/now", "104857600"));
    for (int i = 0; i < 2; i++) /* it sends on as if nobody had answered */
        client_send_bytes(c, (struct hf_span) { filler, sizeof filler });
    WAIT(w, client_has(c, "413 Content Too Large") && !hf_buf_len(&c->unsent));
    CHECK(!c->is_reset);
    (void)shutdown(c->fd, SHUT_WR);
    WAIT(w, hf_http_server_connections(w->server) == 0);
}

TEST(a_client_that_sends_for_ever_after_a_refusal_is_closed_in_the_end)
{
    static char filler[16 << 20];
    struct world *w = world_new(&tight);
    struct client *c = client_new(w);
    client_send(c, POST("/now", "104857600"));
    client_send_bytes(c, (struct hf_span) { filler, sizeof filler });
    WAIT(w, hf_http_server_connections(w->server) == 1);
    WAIT(w, hf_http_server_connections(w->server) == 0);
    CHECK(client_has(c, "413 ") && c->sent < sizeof filler);
}

TEST(an_idle_connection_is_closed_in_silence_before_and_after_a_request)
{
    struct world *w = world_new(&tight);
    struct client *silent = client_new(w), *done = client_new(w);
    client_send(done, GET("/now"));
    WAIT(w, silent->is_closed && done->is_closed);
    CHECK(hf_buf_len(&silent->got) == 0 && !silent->is_reset);
    CHECK(client_has(done, "GET /now") && !client_has(done, "error") && !done->is_reset);
    CHECK_EQ(w->gone, 0);
}

TEST(a_pending_answer_and_an_idle_stream_have_no_time_limit)
{
    struct world *w = world_new(&tight);
    struct client *pending = client_new(w), *stream = client_new(w);
    client_send(stream, GET("/stream"));
    WAIT(w, w->asked_count == 1);
    hf_exchange_begin(w->asked[0], 200, NULL, "text/event-stream");
    client_send(pending, GET("/later"));
    WAIT(w, w->asked_count == 2);
    struct client *clock = client_new(w); /* closed when all these times are over */
    WAIT(w, clock->is_closed);
    CHECK(w->gone == 0 && !pending->is_closed && !stream->is_closed);
    answer(w, w->asked[1], "at last");
    WAIT(w, client_has(pending, "at last"));
}

TEST(one_connection_too_many_is_told_so_and_the_others_are_served)
{
    struct world *w = world_new(&tight);
    struct client *three[3];
    for (int i = 0; i < 3; i++) {
        three[i] = client_new(w);
        client_send(three[i], GET("/later"));
    }
    WAIT(w, w->asked_count == 3);
    send_refused(w, GET("/now"), "503", "there are 3 connections already; try again later");
    CHECK_EQ(w->requests, 3);
    for (int i = 0; i < 3; i++)
        answer(w, w->asked[0], "served");
    for (int i = 0; i < 3; i++)
        WAIT(w, client_has(three[i], "served"));
    client_leave(three[0]);
    WAIT(w, hf_http_server_connections(w->server) < 3);
    struct client *next = client_new(w);
    client_send(next, GET("/now"));
    WAIT(w, client_has(next, "GET /now"));
}

/* ---- those who do not read ---- */

static struct client *open_deaf_stream(struct world *w)
{
    struct client *c = client_new(w);
    const int small = 4096;
    (void)setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    client_send(c, GET("/stream"));
    const unsigned before = w->asked_count;
    WAIT(w, w->asked_count == before + 1);
    client_be_deaf(c, true);
    hf_exchange_begin(w->asked[before], 200, NULL, "text/event-stream");
    return c;
}

TEST(a_stream_that_nobody_reads_is_cut_off_at_its_bound)
{
    struct hf_http_limits limits = tight;
    static char block[100 * 1024];
    const struct hf_span piece = { block, sizeof block };
    limits.write_ms = 60000;
    struct world *w = world_new(&limits);
    (void)open_deaf_stream(w);
    int writes = 0;
    for (; writes < 1000 && !w->gone; writes++) {
        hf_exchange_write(w->asked[0], &piece, 1);
        CHECK_EQ(w->gone, 0); /* never from inside */
        hf_loop_step(w->shell.loop, false);
    }
    CHECK(w->gone == 1 && writes > 10 && writes < 200);
    CHECK_EQ(hf_http_server_connections(w->server), 0);
}

/* On a unix socket, since TCP has a limit of its own that we set to the same time. */
static bool open_local(struct world *w, const struct hf_http_limits *limits)
{
    char path[64];
    (void)snprintf(path, sizeof path, "unix:/tmp/hf-test-limits-%d.sock", (int)getpid());
    return world_open(w, path, limits);
}

TEST(a_peer_that_takes_no_byte_for_too_long_is_cut_off)
{
    struct world w;
    static char block[900 * 1024];
    const struct hf_span piece = { block, sizeof block };
    REQUIRE(open_local(&w, &tight));
    (void)open_deaf_stream(&w);
    hf_exchange_write(w.asked[0], &piece, 1);
    CHECK_EQ(w.gone, 0);
    WAIT(&w, w.gone == 1);
    world_close(&w);
}

TEST(a_peer_that_takes_a_little_now_and_then_is_not_cut_off)
{
    struct world w;
    struct hf_http_limits limits = tight;
    static char block[900 * 1024], room[64 * 1024];
    const struct hf_span piece = { block, sizeof block };
    limits.idle_ms = 150;
    limits.write_ms = 400;
    REQUIRE(open_local(&w, &limits));
    const struct client *c = open_deaf_stream(&w);
    hf_exchange_write(w.asked[0], &piece, 1);
    for (int i = 0; i < 5; i++) { /* longer than the limit, all in all */
        struct client *clock = client_new(&w);
        WAIT(&w, clock->is_closed);
        client_leave(clock);
        for (int n = 0; n < 2; n++)
            CHECK(recv(c->fd, room, sizeof room, MSG_DONTWAIT) > 0);
    }
    CHECK_EQ(w.gone, 0);
    WAIT(&w, w.gone == 1);
    world_close(&w);
}

TEST(a_client_that_takes_its_answer_slowly_is_not_idle)
{
    struct world w;
    struct hf_http_limits limits = tight;
    static char block[3 << 20];
    const struct hf_span piece = { block, sizeof block };
    limits.write_ms = 60000;
    limits.unwritten_bytes = limits.held_bytes = 1 << 24;
    REQUIRE(open_local(&w, &limits));
    struct client *slow = client_new(&w);
    client_send(slow, GET("/later"));
    WAIT(&w, w.asked_count == 1);
    client_be_deaf(slow, true);
    hf_exchange_answer(w.asked[0], 200, NULL, "text/plain", &piece, 1);
    for (int i = 0; i < 2; i++) {
        struct client *clock = client_new(&w); /* closed after the idle time */
        WAIT(&w, clock->is_closed);
    }
    CHECK_EQ(hf_http_server_connections(w.server), 1);
    client_be_deaf(slow, false);
    WAIT(&w, hf_buf_len(&slow->got) > sizeof block);
    world_close(&w);
}

TEST(a_client_that_asks_and_never_reads_is_not_asked_for_more_and_then_cut_off)
{
    static char block[1000];
    struct hf_buf text;
    struct hf_http_limits limits = tight;
    limits.unwritten_bytes = 1 << 26;
    limits.held_bytes = 1 << 27;
    struct world *w = world_new(&limits);
    hf_buf_init(&text, 1 << 26);
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 20000; i++) {
        hf_buf_add_str(&text, POST("/now", "1000"));
        hf_buf_add(&text, (struct hf_span) { block, sizeof block });
    }
    struct client *c = client_new(w);
    client_be_deaf(c, true);
    client_send_bytes(c, hf_buf_span(&text));
    WAIT(w, hf_http_server_connections(w->server) == 1);
    WAIT(w, hf_http_server_connections(w->server) == 0);
    CHECK(w->requests > 100 && w->requests < 20000);
    hf_buf_done(&text);
}

TEST(bytes_held_for_all_connections_together_have_a_bound)
{
    struct hf_http_limits limits = hf_http_limits_default;
    static char block[3 << 20];
    limits.held_bytes = 8 << 20;
    struct world *w = world_new(&limits);
    struct client *first = client_new(w), *second = client_new(w), *third = client_new(w);
    client_send(first, POST("/later", "3145728"));
    client_send_bytes(first, (struct hf_span) { block, sizeof block });
    client_send(second, POST("/later", "3145728"));
    client_send_bytes(second, (struct hf_span) { block, sizeof block });
    WAIT(w, w->asked_count == 2);
    client_send(third, POST("/later", "3145728"));
    client_send_bytes(third, (struct hf_span) { block, sizeof block });
    WAIT(w, client_has(third, "503 Service Unavailable"));
    CHECK(client_has(third, "too many bytes of requests and answers wait here"));
    answer(w, w->asked[0], "one");
    answer(w, w->asked[0], "one");
    WAIT(w, client_has(first, "one") && client_has(second, "one"));
    client_send(first, POST("/later", "3145728"));
    client_send_bytes(first, (struct hf_span) { block, sizeof block });
    WAIT(w, w->asked_count == 1);
}

/* ---- descriptors ---- */

TEST(when_descriptors_run_out_clients_wait_until_one_is_free)
{
    struct rlimit before, low;
    int taken[256];
    unsigned count = 0;
    REQUIRE_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct world *w = world_new(NULL);
    struct client *first = client_new(w);
    client_send(first, GET("/now"));
    WAIT(w, client_has(first, "GET /now"));
    struct client *second = client_new(w); /* connected by the kernel; not yet accepted */
    low = before;
    low.rlim_cur = 256;
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int fd; count < 256 && (fd = dup(0)) >= 0;)
        taken[count++] = fd;
    client_send(second, GET("/now2"));
    for (int i = 0; i < 20; i++)
        hf_loop_step(w->shell.loop, false);
    CHECK(hf_http_server_connections(w->server) == 1 && !second->is_closed);
    struct pollfd busy = { .fd = hf_loop_fd(w->shell.loop), .events = POLLIN };
    CHECK_EQ(poll(&busy, 1, 0), 0); /* it waits, it does not spin */
    client_forget(first);
    client_send(first, GET("/now"));
    WAIT(w, client_has(first, "GET /now")); /* the others are served meanwhile */
    client_leave(first);
    WAIT(w, client_has(second, "GET /now2"));
    while (count)
        close(taken[--count]);
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(two_hundred_connections_come_and_go_and_leave_nothing_behind)
{
    const unsigned before = open_descriptors();
    struct world w;
    struct client *clients[200];
    REQUIRE(world_open(&w, NULL, NULL));
    for (int i = 0; i < 200; i++) {
        clients[i] = client_new(&w);
        client_send(clients[i], i % 3 ? GET("/stream") : GET("/now"));
    }
    WAIT(&w, w.requests == 200 && hf_http_server_connections(w.server) == 200);
    const unsigned streams = w.asked_count;
    for (unsigned i = 0; i < streams; i++)
        hf_exchange_begin(w.asked[i], 200, NULL, "text/event-stream");
    for (int i = 0; i < 200; i++)
        WAIT(&w, client_has(clients[i], "200 OK"));
    for (int i = 0; i < 200; i += 2)
        client_leave(clients[i]);
    WAIT(&w, hf_http_server_connections(w.server) == 100);
    CHECK_EQ(w.gone + w.asked_count, streams);
    world_close(&w); /* with a hundred still open */
    CHECK_EQ(open_descriptors(), before);
}

/* ---- stopping ---- */

TEST(a_server_that_stops_closes_idle_connections_and_lets_the_others_finish)
{
    struct world *w = world_new(NULL);
    struct client *idle = client_new(w), *pending = client_new(w), *stream = client_new(w),
                  *half = client_new(w);
    client_send(idle, GET("/now"));
    client_send(pending, GET("/later"));
    WAIT(w, client_has(idle, "GET /now") && w->asked_count == 1);
    client_send(stream, GET("/stream"));
    WAIT(w, w->asked_count == 2);
    hf_exchange_begin(w->asked[1], 200, NULL, "text/event-stream");
    client_send(half, POST("/now", "4") "ha");
    WAIT(w, client_has(stream, "chunked"));
    for (int i = 0; i < 5; i++)
        hf_loop_step(w->shell.loop, false);

    char url[64];
    (void)snprintf(url, sizeof url, "%s", hf_http_server_url(w->server) + 7);
    hf_http_server_stop(w->server);
    WAIT(w, idle->is_closed);
    CHECK(!pending->is_closed && !stream->is_closed && !half->is_closed);
    struct world again;
    REQUIRE(world_open(&again, url, NULL)); /* the address is free at once */
    world_close(&again);

    client_send(half, "lf");
    WAIT(w, half->is_closed);
    CHECK(client_has(half, "Connection: close\r\n") && client_has(half, "POST /now half"));
    answer(w, w->asked[0], "finished");
    WAIT(w, pending->is_closed);
    CHECK(client_has(pending, "Connection: close\r\n") && client_has(pending, "finished"));
    hf_exchange_end(w->asked[0]);
    WAIT(w, stream->is_closed);
    CHECK(client_has(stream, "0\r\n\r\n") && w->gone == 0);
    idle = pending = stream = half = NULL;
    WAIT(w, hf_http_server_connections(w->server) <= 3);
}

TEST(an_exchange_may_ask_for_the_connection_to_be_closed_behind_it)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/later") GET("/now"));
    WAIT(w, w->asked_count == 1);
    hf_exchange_close_after(w->asked[0]);
    answer(w, w->asked[0], "bye");
    WAIT(w, c->is_closed);
    CHECK(client_has(c, "Connection: close\r\n") && client_has(c, "bye"));
    CHECK(w->requests == 1 && !c->is_reset);
}
