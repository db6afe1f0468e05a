/*
 * test_http_client_loss.c - what is known about a request whose answer did not come.
 *
 * The rows of the evidence table, each produced by a real server, plain and TLS. `delivered` is
 * the server's own count: whatever happens, nothing is delivered twice.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include "unit/http_fixture.h"

static bool is_why(const struct got *got, const char *part)
{
    if (!strstr(got->why, part))
        printf("# why: %s\n", got->why);
    return strstr(got->why, part) != NULL;
}

/* --- nothing was sent --- */

TEST(a_refused_connection_sends_nothing)
{
    struct meeting m;
    meet(&m, NULL, false);
    close(m.s.listener);
    m.s.listener = dup(m.s.told); /* something to close */
    fetch(&m, "/", "{}");
    CHECK(m.got.sent == HF_SENT_NOTHING && m.got.end_status == 0 && !m.got.is_whole);
    CHECK(strcmp(m.got.log, "over") == 0 && is_why(&m.got, "connection refused"));
    part(&m);
}

TEST(a_name_that_cannot_be_resolved_sends_nothing)
{
    /* a label of 64 letters is no name, so nobody is asked over the network */
    static const char url[] =
        "http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid/";
    struct world w;
    struct got got;
    world_open(&w);
    got_init(&got, &w);
    go(&got, world_peer(&w, plain_spec), NULL, url, "{}");
    wait_over(&got);
    CHECK(got.sent == HF_SENT_NOTHING && strcmp(got.log, "over") == 0);
    CHECK(is_why(&got, "resolved"));
    got_done(&got);
    world_close(&w, NULL);
}

TEST(a_url_that_is_none_sends_nothing)
{
    static const char *const urls[] = { "", "http://", "ftp://127.0.0.1/", "file:///etc/passwd",
                                        "http://user:secret@127.0.0.1:99999/" };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct world w;
        struct got got;
        world_open(&w);
        got_init(&got, &w);
        go(&got, world_peer(&w, plain_spec), NULL, urls[i], "{}");
        wait_over(&got);
        CHECK(got.sent == HF_SENT_NOTHING && strcmp(got.log, "over") == 0);
        CHECK(got.why[0] && !strstr(got.why, "secret"));
        got_done(&got);
        world_close(&w, NULL);
    }
}

static void read_and_answer(struct talk *talk)
{
    while (talk_read(talk))
        talk_answer(talk, "ok");
}

TEST(a_server_whose_certificate_is_not_trusted_gets_nothing)
{
    struct server s;
    struct world w;
    world_open(&w);
    server_start(&s, read_and_answer, true);
    const char *cas[] = { other_ca(), "/nonexistent.pem", NULL };
    for (int i = 0; i < 3; i++) {
        struct got got;
        struct hf_peer_spec spec = plain_spec;
        spec.ca = cas[i];
        got_init(&got, &w);
        go(&got, world_peer(&w, spec), &s, "/", "{}");
        wait_over(&got);
        CHECK(got.sent == HF_SENT_NOTHING && strcmp(got.log, "over") == 0);
        CHECK(strncmp(got.why, "TLS: ", 5) == 0);
        got_done(&got);
    }
    world_close(&w, &s);
    CHECK_EQ(s.delivered, 0);
}

static void hang_up(struct talk *talk)
{
    (void)talk;
}

static void say_nothing(struct talk *talk)
{
    char bytes[4096];
    while (recv(talk->fd, bytes, sizeof bytes, 0) > 0)
        continue;
}

/* The client speaks TLS, the server does not. */
static void fetch_over_half_tls(on_talk *serve, uint32_t connect_ms, const char *why)
{
    char url[64];
    struct meeting m;
    meet(&m, serve, false);
    struct hf_peer_spec spec = plain_spec;
    spec.connect_ms = connect_ms;
    snprintf(url, sizeof url, "https://127.0.0.1:%d/", m.s.port);
    go(&m.got, world_peer(&m.w, spec), &m.s, url, "{}");
    wait_over(&m.got);
    CHECK(m.got.sent == HF_SENT_NOTHING && strcmp(m.got.log, "over") == 0);
    CHECK(is_why(&m.got, why));
    part(&m);
    CHECK_EQ(m.s.delivered, 0);
}

TEST(a_handshake_that_fails_or_never_ends_sends_nothing)
{
    fetch_over_half_tls(hang_up, 10000, "TLS: ");
    fetch_over_half_tls(say_nothing, 50, "connecting took too long");
}

/* Its queue is full, so that the kernel answers no further connection. */
static void fill_queue(struct server *s, int fds[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons((uint16_t)s->port) };
    (void)listen(s->listener, 0);
    for (int i = 0; i < 2; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (struct sockaddr *)&address, sizeof address);
    }
}

TEST(a_connection_given_up_half_way_sends_nothing_and_leaves_nothing_behind)
{
    for (int is_aborted = 0; is_aborted < 2; is_aborted++) {
        struct server s;
        struct world w;
        struct got got;
        int fds[2];
        world_open(&w);
        server_start(&s, NULL, false);
        fill_queue(&s, fds);
        struct hf_peer_spec spec = plain_spec;
        spec.connect_ms = is_aborted ? 10000 : 50;
        struct hf_peer *peer = world_peer(&w, spec);
        const int fds_before = open_fds();
        got_init(&got, &w);
        go(&got, peer, &s, "/", "{}");
        if (is_aborted) {
            hf_loop_step(w.loop, true);
            hf_loop_step(w.loop, false);
            hf_fetch_abort(got.fetch);
            CHECK_EQ(got.log[0], '\0');
        } else {
            wait_over(&got);
            CHECK(got.sent == HF_SENT_NOTHING && is_why(&got, "took too long"));
        }
        CHECK_EQ(open_fds(), fds_before);
        got_done(&got);
        close(fds[0]);
        close(fds[1]);
        world_close(&w, &s);
    }
}

static void refuse_tunnel(struct talk *talk)
{
    (void)talk_read(talk);
    talk_write(talk, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
}

TEST(a_proxy_that_makes_no_tunnel_gets_nothing_of_the_request)
{
    char proxy[64];
    struct meeting m;
    meet(&m, refuse_tunnel, false);
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", m.s.port);
    struct hf_peer_spec spec = plain_spec;
    spec.proxy = proxy;
    go(&m.got, world_peer(&m.w, spec), &m.s, "https://holdfast.invalid/", "{}");
    wait_over(&m.got);
    CHECK(m.got.sent == HF_SENT_NOTHING && m.got.end_status == 0);
    CHECK_STR(m.got.log, "over");
    part(&m);
}

/* --- everything was sent, and nobody answered --- */

static void read_and_close(struct talk *talk)
{
    (void)talk_read(talk);
}

static void read_and_reset(struct talk *talk)
{
    if (talk_read(talk))
        talk_reset(talk);
}

TEST(a_server_that_reads_and_closes_was_given_it_once)
{
    on_talk *const ways[] = { read_and_close, read_and_reset };
    for (int i = 0; i < 4; i++) {
        struct meeting m;
        meet(&m, ways[i % 2], i / 2);
        fetch(&m, "/", "{}");
        CHECK(m.got.sent == HF_SENT_WHOLE && m.got.end_status == 0 && !m.got.is_whole);
        CHECK(strcmp(m.got.log, "sending over") == 0 && m.got.why[0]);
        part(&m);
        CHECK_EQ(m.s.delivered, 1);
    }
}

static void second_is_read_and_closed(struct talk *talk)
{
    if (!talk_read(talk))
        return;
    talk_answer(talk, "first");
    (void)talk_read(talk);
}

static void second_is_read_and_reset(struct talk *talk)
{
    second_is_read_and_closed(talk);
    talk_reset(talk);
}

static void second_is_read_and_the_server_gone(struct talk *talk)
{
    second_is_read_and_closed(talk);
    server_gone(talk->server);
}

/* libcurl would send it again by itself: the connection was used before, and died without a byte.
 * In the third way its new connection is refused, and its own counters say that nothing was sent.
 */
TEST(a_server_that_reads_and_closes_a_used_connection_was_given_it_once)
{
    on_talk *const ways[] = { second_is_read_and_closed, second_is_read_and_reset,
                              second_is_read_and_the_server_gone };
    static const char *const bodies[] = { "{}", NULL };
    for (int i = 0; i < 12; i++) {
        struct server s;
        struct world w;
        struct got first, second;
        world_open(&w);
        server_start(&s, ways[i % 3], i / 3 % 2);
        struct hf_peer *peer = world_peer(&w, spec_of(&s));
        got_init(&first, &w);
        got_init(&second, &w);
        go(&first, peer, &s, "/", bodies[i / 6]);
        wait_over(&first);
        CHECK(first.is_whole);
        go(&second, peer, &s, "/", bodies[i / 6]);
        wait_over(&second);
        CHECK(second.sent == HF_SENT_WHOLE && second.end_status == 0 && !second.is_whole);
        CHECK(strcmp(second.log, "sending over") == 0 && second.why[0]);
        got_done(&first);
        got_done(&second);
        world_close(&w, &s);
        CHECK_EQ(s.delivered, 2);
    }
}

/* And whoever closed like that once gets a new connection for each request from then on. */
TEST(what_may_repeat_is_sent_once_more_when_a_used_connection_dies_under_it)
{
    for (int tls = 0; tls < 2; tls++) {
        struct server s;
        struct world w;
        world_open(&w);
        server_start(&s, second_is_read_and_closed, tls);
        struct hf_peer *peer = world_peer(&w, spec_of(&s));
        char url[64];
        snprintf(url, sizeof url, "%s://127.0.0.1:%d/", tls ? "https" : "http", s.port);
        const struct hf_span body = HF_SPAN("{}");
        const struct hf_fetch_spec spec = {
            .verb = HF_VERB_POST, .url = url, .body = &body, .body_count = 1, .may_repeat = true
        };
        static const int connections[] = { 1, 2, 3 }, delivered[] = { 1, 3, 4 };
        for (int n = 0; n < 3; n++) {
            struct got got;
            got_init(&got, &w);
            go_spec(&got, peer, &spec);
            wait_over(&got);
            CHECK(got.is_whole && got.sent == HF_SENT_WHOLE);
            CHECK_STR(got.log, "sending head bytes over");
            got_done(&got);
            CHECK(s.connections == connections[n] && s.delivered == delivered[n]);
        }
        world_close(&w, &s);
    }
}

TEST(what_may_repeat_and_cannot_be_sent_again_may_have_arrived_the_first_time)
{
    for (int tls = 0; tls < 2; tls++) {
        struct server s;
        struct world w;
        struct got first, second;
        char url[64];
        world_open(&w);
        server_start(&s, second_is_read_and_the_server_gone, tls);
        struct hf_peer *peer = world_peer(&w, spec_of(&s));
        snprintf(url, sizeof url, "%s://127.0.0.1:%d/", tls ? "https" : "http", s.port);
        const struct hf_fetch_spec spec = { .verb = HF_VERB_GET, .url = url, .may_repeat = true };
        got_init(&first, &w);
        got_init(&second, &w);
        go_spec(&first, peer, &spec);
        wait_over(&first);
        CHECK(first.is_whole);
        go_spec(&second, peer, &spec);
        wait_over(&second);
        CHECK(second.sent == HF_SENT_WHOLE && second.end_status == 0 && !second.is_whole);
        got_done(&first);
        got_done(&second);
        world_close(&w, &s);
        CHECK(s.delivered == 2);
    }
}

/* --- the connection had died before --- */

static void answer_one_and_close(struct talk *talk)
{
    if (talk_read(talk))
        talk_answer(talk, "ok");
    talk_close(talk);
    if (talk->number == 0)
        server_tell(talk->server);
}

static void answer_one_and_reset(struct talk *talk)
{
    if (talk_read(talk))
        talk_answer(talk, "ok");
    sem_wait(&talk->server->go); /* the client has read the answer */
    talk_reset(talk);
    if (talk->number == 0)
        server_tell(talk->server);
}

TEST(a_connection_that_died_while_idle_costs_no_request)
{
    on_talk *const ways[] = { answer_one_and_close, answer_one_and_reset };
    for (int i = 0; i < 4; i++) {
        struct server s;
        struct world w;
        world_open(&w);
        server_start(&s, ways[i % 2], i / 2);
        struct hf_peer *peer = world_peer(&w, spec_of(&s));
        for (int n = 1; n <= 2; n++) {
            struct got got;
            got_init(&got, &w);
            go(&got, peer, &s, "/", "{}");
            wait_over(&got);
            sem_post(&s.go);
            if (n == 1)
                wait_told_asleep(&s);
            CHECK(got.is_whole && got.sent == HF_SENT_WHOLE);
            CHECK_STR(got.log, "sending head bytes over");
            got_done(&got);
        }
        world_close(&w, &s);
        CHECK(s.delivered == 2 && s.connections == 2);
    }
}

/* --- a part was sent --- */

enum { LARGE = 8 << 20 };

static char *large_body(void)
{
    char *body = malloc(LARGE + 1);
    memset(body, 'x', LARGE);
    body[LARGE] = '\0';
    return body;
}

static void never_read(struct talk *talk)
{
    char byte;
    const int small = 4096;
    (void)setsockopt(talk->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    (void)recv(talk->fd, &byte, 1, MSG_PEEK);
    server_tell(talk->server);
    sem_wait(&talk->server->go);
}

TEST(a_body_that_was_not_taken_whole_was_sent_in_part)
{
    char *body = large_body();
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct meeting m;
        meet(&m, never_read, is_tls);
        go(&m.got, m.peer, &m.s, "/", body);
        wait_told(&m.w, &m.s);
        sem_post(&m.s.go);
        wait_over(&m.got);
        CHECK(m.got.sent == HF_SENT_PART && m.got.end_status == 0 && !m.got.is_whole);
        CHECK(strcmp(m.got.log, "sending over") == 0 && m.got.why[0]);
        part(&m);
        CHECK_EQ(m.s.delivered, 0);
    }
    free(body);
}

/* --- answers that are worth having --- */

enum { ANSWER = 40000 }; /* more than libcurl reads at once, less than a window of TCP */

static void answer_at_once_and_reset(struct talk *talk)
{
    char byte, head[128];
    char *text = malloc(ANSWER);
    memset(text, 'y', ANSWER);
    (void)recv(talk->fd, &byte, 1, MSG_PEEK);
    sem_wait(&talk->server->go);
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", ANSWER);
    talk_write(talk, head);
    talk_write_n(talk, (struct hf_span) { text, ANSWER });
    free(text);
    talk_reset(talk);
    server_tell(talk->server);
}

/* The socket is ready for everything, because of the error: who writes first loses the answer. */
TEST(an_answer_followed_by_a_reset_arrives_whole)
{
    char *body = large_body();
    const char *bodies[] = { "{}", body };
    for (int i = 0; i < 2; i++) {
        struct meeting m;
        meet(&m, answer_at_once_and_reset, false);
        go(&m.got, m.peer, &m.s, "/", bodies[i]);
        while (!m.got.log[0] && !m.w.is_late)
            hf_loop_step(m.w.loop, true);
        sem_post(&m.s.go);
        wait_told_asleep(&m.s);
        wait_over(&m.got);
        CHECK(m.got.status == 200 && m.got.is_whole && hf_buf_len(&m.got.body) == ANSWER);
        CHECK_EQ(m.got.sent, i ? HF_SENT_PART : HF_SENT_WHOLE);
        part(&m);
    }
    free(body);
}

/* --- answers that were cut --- */

static const char *cut_text;
static void answer_cut(struct talk *talk)
{
    if (talk_read(talk))
        talk_write(talk, cut_text);
}

TEST(a_head_that_was_cut_is_no_answer)
{
    static const char *const cuts[] = { "HTTP/1.1 200 OK\r\nContent-Le",
                                        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
                                        "HTTP/1.1 200 OK",
                                        "HTTP/1.1 200 OK\r\n",
                                        "HTTP",
                                        "HTTP/1.1 100 Continue\r\n\r\n" };
    for (size_t i = 0; i < 2 * sizeof cuts / sizeof *cuts; i++) {
        cut_text = cuts[i / 2];
        struct meeting m;
        meet(&m, answer_cut, i % 2);
        fetch(&m, "/", "{}");
        CHECK(m.got.end_status == 0 && !m.got.is_whole && m.got.sent == HF_SENT_WHOLE);
        CHECK(strcmp(m.got.log, "sending over") == 0 && m.got.why[0]);
        part(&m);
        CHECK_EQ(m.s.delivered, 1);
    }
}

TEST(a_body_that_was_cut_is_not_whole)
{
    static const struct {
        const char *text;
        bool is_whole;
    } cuts[] = {
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", false },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi", false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", false },
        /* nobody can tell */
        { "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nhi", true },
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        cut_text = cuts[i].text;
        struct meeting m;
        meet(&m, answer_cut, false);
        fetch(&m, "/", "{}");
        CHECK(m.got.end_status == 200 && m.got.is_whole == cuts[i].is_whole);
        CHECK(hf_span_is(hf_buf_span(&m.got.body), "hi") && m.got.sent == HF_SENT_WHOLE);
        CHECK(!m.got.why[0] == cuts[i].is_whole);
        part(&m);
        CHECK_EQ(m.s.delivered, 1);
    }
}
