/* test_http_server.c - requests in and answers out, over real sockets. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "unit/http_world.h"

#define GET(path)     "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(path, n) "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " n "\r\n\r\n"

static unsigned count_of(struct client *client, const char *text)
{
    unsigned count = 0;
    for (const char *at = client_text(client); (at = strstr(at, text)); at++)
        count++;
    return count;
}

TEST(a_request_is_answered_at_once_and_the_connection_stays)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/now?a=b"));
    WAIT(w, client_has(c, "\r\n\r\nGET /now?a=b "));
    CHECK(!strncmp(client_text(c), "HTTP/1.1 200 OK\r\nDate: ", 23) && client_has(c, " GMT\r\n"));
    CHECK(
        client_has(c, "\r\nContent-Type: text/plain\r\nX-Test: yes\r\nContent-Length: 13\r\n\r\n"));
    CHECK(!client_has(c, "Connection"));
    client_forget(c);
    client_send(c, POST("/now", "5") "hello");
    WAIT(w, client_has(c, "\r\n\r\nPOST /now hello"));
    CHECK(!c->is_closed && w->requests == 2 && w->gone == 0);
}

TEST(requests_come_cut_anywhere_and_chunked)
{
    static const char text[] = "POST /now HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "5\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n" POST("/now", "3");
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        client_send_bytes(c, (struct hf_span) { text + i, 1 });
        hf_loop_step(w->shell.loop, false);
    }
    WAIT(w, client_has(c, "POST /now hello world"));
    client_send(c, "abc");
    WAIT(w, client_has(c, "POST /now abc"));
    CHECK_EQ(w->requests, 2);
}

TEST(pipelined_requests_are_handed_up_one_at_a_time_and_answered_in_order)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/later1") POST("/later2", "2") "hi" GET("/now") GET("/later3"));
    WAIT(w, w->asked_count == 1);
    hf_loop_step(w->shell.loop, false);
    hf_loop_step(w->shell.loop, false);
    CHECK_EQ(w->requests, 1);
    answer(w, w->asked[0], "one");
    CHECK_EQ(w->requests, 1); /* never from inside */
    WAIT(w, w->asked_count == 1);
    CHECK_SPAN(hf_exchange_request(w->asked[0])->path, "/later2");
    CHECK_SPAN(hf_exchange_body(w->asked[0]), "hi");
    answer(w, w->asked[0], "two");
    WAIT(w, w->asked_count == 1);
    CHECK_EQ(w->requests, 4);
    answer(w, w->asked[0], "four");
    WAIT(w, client_has(c, "four"));
    const char *text = client_text(c);
    const char *one = strstr(text, "one"), *two = strstr(text, "two"),
               *three = strstr(text, "GET /now"), *four = strstr(text, "four");
    CHECK(one && two && three && four && one < two && two < three && three < four);
}

TEST(a_thousand_pipelined_requests_are_all_answered)
{
    struct hf_buf text;
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    hf_buf_init(&text, 1 << 20);
    for (int i = 0; i < 1000; i++)
        hf_buf_add_str(&text, POST("/now", "4") "ping");
    client_send_bytes(c, hf_buf_span(&text));
    WAIT(w, count_of(c, "POST /now ping") == 1000);
    CHECK_EQ(w->requests, 1000);
    hf_buf_done(&text);
}

TEST(a_client_that_leaves_while_its_answer_is_pending_is_noticed)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/later"));
    WAIT(w, w->asked_count == 1);
    struct hf_exchange *exchange = w->asked[0];
    int mark;
    hf_exchange_set_context(exchange, &mark);
    CHECK(hf_exchange_context(exchange) == &mark);
    client_leave(c);
    WAIT(w, w->gone == 1);
    CHECK(w->last_gone == exchange && hf_http_server_connections(w->server) == 0);
}

TEST(a_client_that_leaves_is_noticed_also_when_reading_pauses_at_its_bound)
{
    static char filler[160 * 1024]; /* over our bound, not over the kernel's */
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/later") POST("/now", "163840"));
    memset(filler, 'x', sizeof filler);
    client_send_bytes(c, (struct hf_span) { filler, sizeof filler });
    WAIT(w, w->asked_count == 1);
    for (int i = 0; i < 100; i++) /* it reads to its bound */
        hf_loop_step(w->shell.loop, false);
    CHECK_EQ(w->gone, 0);
    client_leave(c);
    WAIT(w, w->gone == 1);
}

TEST(reading_goes_on_after_a_pause_at_the_bound)
{
    static char filler[1 << 20];
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    memset(filler, 'x', sizeof filler);
    client_send(c, GET("/later") POST("/later", "1048576"));
    client_send_bytes(c, (struct hf_span) { filler, sizeof filler });
    client_send(c, GET("/now"));
    WAIT(w, w->asked_count == 1);
    for (int i = 0; i < 100; i++)
        hf_loop_step(w->shell.loop, false);
    answer(w, w->asked[0], "first");
    WAIT(w, w->asked_count == 1);
    CHECK_EQ(hf_exchange_body(w->asked[0]).n, sizeof filler);
    answer(w, w->asked[0], "second");
    WAIT(w, client_has(c, "GET /now"));
}

TEST(a_client_that_shuts_its_sending_side_gets_what_is_answered_at_once)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/now1") GET("/now2"));
    CHECK_EQ(shutdown(c->fd, SHUT_WR), 0);
    WAIT(w, c->is_closed);
    CHECK(client_has(c, "GET /now1") && client_has(c, "GET /now2") && !c->is_reset);
    CHECK_EQ(w->gone, 0);

    struct client *late = client_new(w);
    client_send(late, GET("/later"));
    CHECK_EQ(shutdown(late->fd, SHUT_WR), 0);
    WAIT(w, w->gone == 1 && late->is_closed);
    CHECK(w->requests == 3 && w->asked_count == 0);
}

/* ---- streams ---- */

TEST(a_stream_comes_in_chunks_as_they_are_written_and_the_connection_stays)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/stream"));
    WAIT(w, w->asked_count == 1);
    struct hf_exchange *exchange = w->asked[0];
    hf_exchange_begin(exchange, 200, "Cache-Control: no-store\r\n", "text/event-stream");
    WAIT(w, client_has(c, "\r\n\r\n"));
    CHECK(client_has(c, "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n"));
    CHECK(!client_has(c, "Content-Length"));
    client_forget(c);
    const struct hf_span pieces[] = { HF_SPAN("data: "), HF_SPAN(""), HF_SPAN("x\n\n") };
    hf_exchange_write(exchange, pieces, 3);
    hf_exchange_write(exchange, pieces, 0); /* would be the last chunk */
    WAIT(w, client_has(c, "9\r\ndata: x\n\n\r\n"));
    hf_exchange_end(exchange);
    world_forget(w, exchange);
    WAIT(w, client_has(c, "0\r\n\r\n"));
    CHECK(!strcmp(client_text(c), "9\r\ndata: x\n\n\r\n0\r\n\r\n"));
    client_forget(c);
    client_send(c, GET("/now"));
    WAIT(w, client_has(c, "GET /now"));
    CHECK_EQ(w->gone, 0);
}

TEST(a_client_that_leaves_its_idle_stream_is_noticed)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/stream"));
    WAIT(w, w->asked_count == 1);
    hf_exchange_begin(w->asked[0], 200, NULL, "text/event-stream");
    WAIT(w, client_has(c, "chunked"));
    client_leave(c);
    WAIT(w, w->gone == 1);
    CHECK_EQ(hf_http_server_connections(w->server), 0);
}

TEST(an_exchange_that_ends_before_its_loss_is_noticed_is_not_gone_as_well)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/stream"));
    WAIT(w, w->asked_count == 1);
    struct hf_exchange *exchange = w->asked[0];
    hf_exchange_begin(exchange, 200, NULL, "text/event-stream");
    client_leave(c);
    hf_exchange_end(exchange);
    WAIT(w, hf_http_server_connections(w->server) == 0);
    CHECK_EQ(w->gone, 0);
}

TEST(an_old_client_gets_its_stream_unchunked_and_the_end_of_the_connection)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    WAIT(w, w->asked_count == 1);
    hf_exchange_begin(w->asked[0], 200, NULL, "text/event-stream");
    const struct hf_span piece = HF_SPAN("data: x\n\n");
    hf_exchange_write(w->asked[0], &piece, 1);
    hf_exchange_end(w->asked[0]);
    WAIT(w, c->is_closed);
    CHECK(client_has(c, "Connection: close\r\n\r\ndata: x\n\n") && !client_has(c, "chunked"));
    CHECK(!strcmp(client_text(c) + c->got.end - 9, "data: x\n\n"));
}

TEST(an_old_client_may_keep_its_connection)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, "GET /now HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    WAIT(w, client_has(c, "GET /now"));
    CHECK(client_has(c, "Connection: keep-alive\r\n") && !c->is_closed);
    client_send(c, "GET /now2 HTTP/1.0\r\n\r\n");
    WAIT(w, c->is_closed);
    CHECK(client_has(c, "Connection: close\r\n") && client_has(c, "GET /now2"));
}

TEST(head_has_the_length_but_no_body_and_204_has_neither)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, "HEAD /now HTTP/1.1\r\nHost: a\r\n\r\nHEAD /s HTTP/1.1\r\nHost: a\r\n\r\n");
    WAIT(w, client_has(c, "Content-Length: 10\r\n\r\n") && w->asked_count == 1);
    CHECK(!client_has(c, "HEAD /now"));
    client_forget(c);
    const struct hf_span piece = HF_SPAN("never seen");
    hf_exchange_begin(w->asked[0], 200, NULL, "text/event-stream");
    hf_exchange_write(w->asked[0], &piece, 1);
    hf_exchange_end(w->asked[0]);
    world_forget(w, w->asked[0]);
    client_send(c, POST("/gone", "0"));
    WAIT(w, w->asked_count == 1 && client_has(c, "event-stream"));
    CHECK(!client_has(c, "never seen") && !client_has(c, "0\r\n\r\n"));
    client_forget(c);
    hf_exchange_answer(w->asked[0], 204, NULL, NULL, NULL, 0);
    WAIT(w, client_has(c, "\r\n\r\n"));
    CHECK(client_has(c, "204 No Content") && !client_has(c, "Content-"));
    client_send(c, GET("/now"));
    WAIT(w, client_has(c, "GET /now"));
}

TEST(a_client_that_waits_for_100_is_told_to_go_on)
{
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, "POST /now HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                   "Content-Length: 2\r\n\r\n");
    WAIT(w, !strcmp(client_text(c), "HTTP/1.1 100 Continue\r\n\r\n"));
    client_send(c, "hi");
    WAIT(w, client_has(c, "POST /now hi"));
}

/* ---- large ---- */

TEST(large_bodies_pass_both_ways_whole)
{
    enum { SIZE = 20 * 1024 * 1024 + 7 };
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    char *body = hf_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + (i * 31 + (i >> 9)) % 26);
    client_send(c, POST("/now", "20971527"));
    client_send_bytes(c, (struct hf_span) { body, SIZE });
    client_send(c, GET("/now2"));
    WAIT(w, client_has(c, "GET /now2"));
    const char *answer_body = strstr(client_text(c), "POST /now ");
    CHECK(client_has(c, "Content-Length: 20971537\r\n"));
    REQUIRE(answer_body && strlen(answer_body) >= SIZE + 10);
    CHECK(memcmp(answer_body + 10, body, SIZE) == 0);
    hf_free(body);
}

TEST(a_large_chunk_to_a_reader_who_pauses_arrives_whole_and_in_order)
{
    enum { SIZE = 8 * 1024 * 1024 };
    struct world *w = world_new(NULL);
    struct client *c = client_new(w);
    client_send(c, GET("/stream"));
    WAIT(w, w->asked_count == 1);
    client_be_deaf(c, true);
    char *body = hf_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + (i * 7 + (i >> 11)) % 26);
    const struct hf_span pieces[] = { { body, SIZE / 2 }, { body + SIZE / 2, SIZE / 2 } };
    const struct hf_span small = HF_SPAN("small");
    hf_exchange_begin(w->asked[0], 200, NULL, "text/event-stream");
    hf_exchange_write(w->asked[0], pieces, 2);
    hf_exchange_write(w->asked[0], &small, 1);
    hf_exchange_write(w->asked[0], pieces, 2);
    hf_exchange_end(w->asked[0]);
    for (int i = 0; i < 10; i++)
        hf_loop_step(w->shell.loop, false);
    client_be_deaf(c, false);
    WAIT(w, client_has(c, "\r\n0\r\n\r\n"));
    const char *first = strstr(client_text(c), "800000\r\n");
    REQUIRE(first && memcmp(first + 8, body, SIZE) == 0);
    const char *second = first + 8 + SIZE;
    CHECK(!strncmp(second, "\r\n5\r\nsmall\r\n800000\r\n", 20));
    CHECK(memcmp(second + 20, body, SIZE) == 0);
    hf_free(body);
}

/* ---- where it listens ---- */

TEST(it_says_where_it_listens)
{
    struct world w;
    char url[64];
    REQUIRE(world_open(&w, "[::1]:0", NULL));
    (void)snprintf(url, sizeof url, "http://[::1]:%u", hf_http_server_port(w.server));
    CHECK(!strcmp(hf_http_server_url(w.server), url) && hf_http_server_port(w.server) > 0);
    CHECK(hf_http_server_is_loopback(w.server));
    struct client *c = client_new(&w);
    client_send(c, GET("/now"));
    WAIT(&w, client_has(c, "GET /now"));
    world_close(&w);
    REQUIRE(world_open(&w, "0.0.0.0:0", NULL));
    CHECK(!hf_http_server_is_loopback(w.server));
    world_close(&w);
}

static bool refuses(const char *listen, const char *why)
{
    static const struct hf_http_events events = { 0 };
    struct hf_err err = { "" };
    struct hf_shell shell = { .loop = hf_loop_new() };
    const struct hf_http_spec spec = { .listen = listen, .limits = hf_http_limits_default };
    struct hf_http_server *server = hf_http_server_new(&shell, &spec, &events, NULL, &err);
    const bool is_refused = !server && strstr(err.text, why) && strstr(err.text, "listen on");
    if (!is_refused)
        printf("# %s\n", err.text);
    hf_http_server_free(server);
    hf_loop_free(shell.loop);
    return is_refused;
}

TEST(an_address_that_is_taken_or_wrong_is_refused_with_the_reason)
{
    struct world *w = world_new(NULL);
    CHECK(refuses(hf_http_server_url(w->server) + 7, "another process"));
    CHECK(refuses("192.0.2.1:80", "cannot"));
    CHECK(refuses("nonsense", "looks like"));
    CHECK(refuses("unix:/nowhere/at/all", "No such file"));
}

TEST(a_unix_socket_is_private_replaces_a_dead_one_and_is_removed_at_the_end)
{
    struct world w;
    char path[64], listen_on[80];
    struct stat about;
    struct sockaddr_un dead = { .sun_family = AF_UNIX };
    (void)snprintf(path, sizeof path, "/tmp/hf-test-%d.sock", (int)getpid());
    (void)snprintf(listen_on, sizeof listen_on, "unix:%s", path);
    (void)snprintf(dead.sun_path, sizeof dead.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&dead, sizeof dead) == 0 && listen(fd, 1) == 0);
    CHECK(refuses(listen_on, "another process"));
    close(fd);
    REQUIRE(world_open(&w, listen_on, NULL));
    CHECK(!strcmp(hf_http_server_url(w.server), listen_on));
    CHECK(hf_http_server_port(w.server) == 0 && hf_http_server_is_loopback(w.server));
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0600);
    struct client *c = client_new(&w);
    client_send(c, GET("/now"));
    WAIT(&w, client_has(c, "GET /now"));
    CHECK(refuses(listen_on, "another process"));
    world_close(&w);
    CHECK(lstat(path, &about) != 0);

    FILE *file = fopen(path, "w");
    REQUIRE(file && fclose(file) == 0);
    CHECK(refuses(listen_on, "no socket"));
    CHECK_EQ(unlink(path), 0);
}
