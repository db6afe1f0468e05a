/*
 * test_http_plain.c - the client's own way: what only it can tell exactly, whom it speaks to, and
 * which answers it does not believe.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "unit/http_fixture.h"

static void fetch_path(struct got *got, struct hf_peer *peer, struct server *s, const char *path,
                       const char *body)
{
    got_init(got, got->world);
    go(got, peer, s, path, body);
    wait_over(got);
}

/* --- answers that cannot be read --- */

static const char *answer_text;
static void answer_text_and_wait(struct talk *talk)
{
    while (talk_read(talk))
        talk_write(talk, answer_text);
}

TEST(an_answer_that_cannot_be_read_is_a_failure_and_ends_its_connection)
{
    static const struct {
        const char *text, *why, *log;
        int status;
    } cases[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", "more than one",
          "sending over", 0 },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
          "2\r\nhi\r\n0\r\n\r\n",
          "beside", "sending over", 0 },
        { "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi", "not a number", "sending over", 0 },
        { "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "CRLF", "sending over", 0 },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n", "chunks",
          "sending head bytes over", 200 },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "chunks",
          "sending head over", 200 },
        { "HTTP/1.1 101 Switching Protocols\r\n\r\n", "switches", "sending over", 0 },
        { "220 mail.example ESMTP\r\n", "no HTTP", "sending over", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server s;
        struct world w;
        answer_text = cases[i].text;
        world_open(&w);
        server_start(&s, answer_text_and_wait, false);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        for (int n = 1; n <= 2; n++) {
            struct got got = { .world = &w };
            fetch_path(&got, peer, &s, "/", "{}");
            CHECK(strcmp(got.log, cases[i].log) == 0 && !got.is_whole);
            CHECK(got.end_status == cases[i].status && got.sent == HF_SENT_WHOLE);
            CHECK(strstr(got.why, "cannot be read") && strstr(got.why, cases[i].why));
            CHECK(s.connections == n && s.delivered == n);
            got_done(&got);
        }
        world_close(&w, &s);
    }
}

static struct hf_buf corpus_text;
static void answer_with_corpus(struct talk *talk)
{
    if (talk_read(talk))
        talk_write_n(talk, hf_buf_span(&corpus_text));
}

/* The first byte of an input sets the cuts of the fuzz target. */
static bool read_input(const char *name)
{
    char path[512], byte;
    snprintf(path, sizeof path, "test/fuzz/corpus/response/%s", name);
    FILE *file = fopen(path, "re");
    CHECK(file);
    const bool is_there = name[0] != '.' && file && fread(&byte, 1, 1, file) == 1;
    hf_buf_clear(&corpus_text);
    while (is_there && fread(&byte, 1, 1, file) == 1)
        hf_buf_add_char(&corpus_text, byte);
    if (file)
        fclose(file);
    return is_there;
}

static void fetch_by(struct got *got, bool is_by_libcurl)
{
    struct server s;
    struct world w;
    world_open_by(&w, is_by_libcurl);
    server_start(&s, answer_with_corpus, false);
    got->world = &w;
    fetch_path(got, world_peer(&w, plain_spec), &s, "/", "{}");
    world_close(&w, &s);
}

TEST(what_our_own_way_reads_libcurl_reads_too_and_in_the_same_way)
{
    unsigned inputs = 0, taken = 0;
    hf_buf_init(&corpus_text, 1 << 20);
    DIR *corpus = opendir("test/fuzz/corpus/response");
    REQUIRE(corpus);
    for (struct dirent *entry; (entry = readdir(corpus));) {
        struct got ours, theirs;
        if (!read_input(entry->d_name))
            continue;
        fetch_by(&ours, false);
        fetch_by(&theirs, true);
        CHECK(ours.sent == HF_SENT_WHOLE && theirs.sent == HF_SENT_WHOLE);
        CHECK(!ours.is_whole || (theirs.is_whole && ours.end_status == theirs.end_status));
        CHECK(!ours.is_whole || hf_span_eq(hf_buf_span(&ours.body), hf_buf_span(&theirs.body)));
        taken += ours.is_whole;
        inputs++;
        got_done(&ours);
        got_done(&theirs);
    }
    CHECK(inputs >= 30 && taken >= 10);
    closedir(corpus);
    hf_buf_done(&corpus_text);
}

/* --- connections --- */

TEST(a_connection_is_kept_only_if_its_answer_leaves_no_doubt)
{
    static const struct {
        const char *text;
        bool is_kept;
    } cases[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", true },
        { "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", true },
        { "HTTP/1.1 204 No Content\r\n\r\n", true },
        { "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", true },
        { "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false },
        { "HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 2\r\n\r\nhi", false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!", false },
        { "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server s;
        struct world w;
        answer_text = cases[i].text;
        world_open(&w);
        server_start(&s, answer_text_and_wait, false);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        for (int n = 1; n <= 3; n++) {
            struct got got = { .world = &w };
            fetch_path(&got, peer, &s, "/", "{}");
            CHECK(got.is_whole && s.connections == (cases[i].is_kept ? 1 : n));
            got_done(&got);
        }
        world_close(&w, &s);
    }
}

static void speak_out_of_turn(struct talk *talk)
{
    if (!talk_read(talk))
        return;
    talk_answer(talk, "ok");
    if (talk->number == 0) {
        sem_wait(&talk->server->go);
        talk_answer(talk, "to a question that nobody asked");
        server_tell(talk->server);
    }
    (void)talk_is_hung_up(talk);
}

TEST(what_comes_on_an_idle_connection_is_never_taken_for_an_answer)
{
    for (int is_seen_by_the_loop = 0; is_seen_by_the_loop < 2; is_seen_by_the_loop++) {
        struct server s;
        struct world w;
        world_open(&w);
        server_start(&s, speak_out_of_turn, false);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        for (int n = 1; n <= 2; n++) {
            struct got got = { .world = &w };
            fetch_path(&got, peer, &s, "/", "{}");
            CHECK(got.is_whole && hf_span_is(hf_buf_span(&got.body), "ok"));
            CHECK(s.connections == n);
            got_done(&got);
            if (n == 2)
                break;
            sem_post(&s.go);
            if (is_seen_by_the_loop)
                wait_told(&w, &s);
            else
                wait_told_asleep(&s);
        }
        world_close(&w, &s);
        CHECK(s.delivered == 2);
    }
}

/* In one turn of the loop: first the server does what it does, then a request is made. */
struct same_turn {
    struct server *server;
    struct hf_peer *peer;
    struct got *got;
    struct hf_watch *watch;
};

static void on_same_turn(void *context, unsigned events)
{
    struct same_turn *turn = context;
    (void)events;
    hf_watch_free(turn->watch);
    sem_post(&turn->server->go);
    wait_told_asleep(turn->server);
    go(turn->got, turn->peer, turn->server, "/", "{}");
}

static void answer_and_close_when_told(struct talk *talk)
{
    if (!talk_read(talk))
        return;
    talk_answer(talk, "ok");
    if (talk->number == 0)
        sem_wait(&talk->server->go);
    else
        (void)talk_is_hung_up(talk);
    talk_close(talk);
    server_tell(talk->server);
}

/* The wait of that turn is over, so only a look at the connection can tell. */
TEST(a_connection_that_ends_in_the_turn_of_a_request_costs_it_nothing)
{
    on_talk *const ways[] = { speak_out_of_turn, answer_and_close_when_told };
    for (int i = 0; i < 2; i++) {
        struct server s;
        struct world w;
        struct got first = { .world = &w }, second;
        world_open(&w);
        server_start(&s, ways[i], false);
        struct same_turn turn = { &s, world_peer(&w, plain_spec), &second, NULL };
        fetch_path(&first, turn.peer, &s, "/", "{}");
        CHECK(first.is_whole);
        got_init(&second, &w);
        const int always_ready = open("/dev/null", O_RDONLY | O_CLOEXEC);
        turn.watch = hf_watch_new(w.loop, always_ready, on_same_turn, &turn);
        hf_watch_set(turn.watch, HF_READABLE);
        wait_over(&second);
        CHECK(second.is_whole && hf_span_is(hf_buf_span(&second.body), "ok"));
        CHECK(second.sent == HF_SENT_WHOLE && s.connections == 2 && s.delivered == 2);
        close(always_ready);
        got_done(&first);
        got_done(&second);
        world_close(&w, &s);
    }
}

enum { LARGE = 8 << 20 };

static void never_read_the_second(struct talk *talk)
{
    char byte;
    const int small = 4096;
    if (!talk_read(talk))
        return;
    talk_answer(talk, "first");
    (void)setsockopt(talk->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    (void)recv(talk->fd, &byte, 1, MSG_PEEK);
    server_tell(talk->server);
    sem_wait(&talk->server->go);
}

/* libcurl connects anew by itself, and its counters start anew. */
TEST(a_part_that_left_on_a_used_connection_is_known_as_a_part)
{
    char *body = malloc(LARGE + 1);
    struct server s;
    struct world w;
    struct got first, second;
    memset(body, 'x', LARGE);
    body[LARGE] = '\0';
    world_open(&w);
    server_start(&s, never_read_the_second, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    first.world = &w;
    fetch_path(&first, peer, &s, "/", "{}");
    CHECK(first.is_whole);
    got_init(&second, &w);
    go(&second, peer, &s, "/", body);
    wait_told(&w, &s);
    sem_post(&s.go);
    wait_over(&second);
    CHECK(second.sent == HF_SENT_PART && second.end_status == 0 && !second.is_whole);
    CHECK(strcmp(second.log, "sending over") == 0 && second.why[0]);
    got_done(&first);
    got_done(&second);
    world_close(&w, &s);
    CHECK(s.delivered == 1 && s.connections == 1);
    free(body);
}

static void answer_before_reading(struct talk *talk)
{
    char byte;
    (void)recv(talk->fd, &byte, 1, MSG_PEEK);
    talk_write(talk, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno.");
    sem_wait(&talk->server->go);
}

TEST(an_answer_that_comes_before_all_is_sent_ends_the_request)
{
    char *body = malloc(LARGE + 1);
    struct server s;
    struct world w;
    struct got got = { .world = &w };
    memset(body, 'x', LARGE);
    body[LARGE] = '\0';
    world_open(&w);
    server_start(&s, answer_before_reading, false);
    fetch_path(&got, world_peer(&w, plain_spec), &s, "/", body);
    CHECK(got.end_status == 413 && got.is_whole && got.sent == HF_SENT_PART);
    CHECK(hf_span_is(hf_buf_span(&got.body), "no."));
    sem_post(&s.go);
    got_done(&got);
    world_close(&w, &s);
    free(body);
}

/* --- whom it speaks to --- */

static void show_head(struct talk *talk)
{
    while (talk_read(talk)) {
        talk->in.p[talk->head_n] = '\0';
        talk_answer(talk, talk->in.p);
    }
}

TEST(urls_are_written_as_servers_expect_them)
{
    static const struct {
        const char *url, *line, *host; /* with the port in the place of %d */
    } cases[] = {
        { "http://127.0.0.1:%d", "GET / HTTP/1.1\r\n", "\r\nHost: 127.0.0.1:%d\r\n" },
        { "http://127.0.0.1:%d?a=b", "GET /?a=b HTTP/1.1\r\n", "\r\nHost: 127.0.0.1:%d\r\n" },
        { "http://localhost:%d/a%%20b", "GET /a%20b HTTP/1.1\r\n", "\r\nHost: localhost:%d\r\n" },
        { "http://x.LocalHost:%d/", "GET / HTTP/1.1\r\n", "\r\nHost: x.LocalHost:%d\r\n" },
        { "http://127.0.0.1:%d/a/../b", "GET /b HTTP/1.1\r\n", "\r\nHost: 127.0.0.1:%d\r\n" },
        { "http://127.0.0.1:%d/?/../b", "GET /?/../b HTTP/1.1\r\n", "\r\nHost: 127.0.0.1:%d\r\n" },
        { "http://127.1:%d/", "GET / HTTP/1.1\r\n", "\r\nHost: 127." },
    };
    struct server s;
    struct world w;
    world_open(&w);
    server_start(&s, show_head, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct got got = { .world = &w };
        char url[64], host[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(url, sizeof url, cases[i].url, s.port);
        snprintf(host, sizeof host, cases[i].host, s.port);
#pragma GCC diagnostic pop
        fetch_path(&got, world_peer(&w, plain_spec), &s, url, NULL);
        CHECK(got.is_whole);
        hf_buf_add_char(&got.body, '\0');
        CHECK(strncmp(got.body.p, cases[i].line, strlen(cases[i].line)) == 0);
        CHECK(strstr(got.body.p, host));
        CHECK(strstr(got.body.p, "\r\nUser-Agent: holdfast/") &&
              strstr(got.body.p, "\r\nAccept: */*\r\n"));
        got_done(&got);
    }
    world_close(&w, &s);
}

TEST(headers_of_the_caller_take_the_place_of_our_own)
{
    struct server s;
    struct world w;
    struct got got;
    char url[64];
    world_open(&w);
    server_start(&s, show_head, false);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", s.port);
    const char *headers[] = { "HOST: example.org", "user-agent: me", "accept: x/y", NULL };
    const struct hf_fetch_spec spec = { HF_VERB_GET, url, headers, NULL, 0, false };
    got_init(&got, &w);
    go_spec(&got, world_peer(&w, plain_spec), &spec);
    wait_over(&got);
    hf_buf_add_char(&got.body, '\0');
    CHECK(strcmp(got.body.p, "GET / HTTP/1.1\r\nHOST: example.org\r\nuser-agent: me\r\n"
                             "accept: x/y\r\n\r\n") == 0);
    got_done(&got);
    world_close(&w, &s);
}

TEST(an_ipv6_address_is_spoken_to)
{
    struct server s;
    struct world w;
    struct got got = { .world = &w };
    char url[64];
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    socklen_t size = sizeof address;
    world_open(&w);
    server_start(&s, NULL, false);
    close(s.listener);
    s.listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s.listener < 0 || bind(s.listener, (struct sockaddr *)&address, size) != 0) {
        printf("# there is no IPv6 here\n");
    } else {
        CHECK(listen(s.listener, 8) == 0);
        CHECK(getsockname(s.listener, (struct sockaddr *)&address, &size) == 0);
        snprintf(url, sizeof url, "http://[::1]:%d/", ntohs(address.sin6_port));
        got_init(&got, &w);
        go(&got, world_peer(&w, plain_spec), &s, url, NULL);
        while (!got.log[0] && !w.is_late)
            hf_loop_step(w.loop, true);
        CHECK(strcmp(got.log, "sending") == 0);
        hf_fetch_abort(got.fetch);
        got_done(&got);
    }
    world_close(&w, &s);
}

/* --- bounds --- */

static void set_many_cookies(struct talk *talk)
{
    for (int round = 0; talk_read(talk); round++) {
        talk_write(talk, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 50; i++) {
            char line[64];
            snprintf(line, sizeof line, "Set-Cookie: c%d-%d=x\r\n", round, i);
            talk_write(talk, line);
        }
        char head[64];
        snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", talk->head_n);
        talk_write(talk, head);
        talk_write_n(talk, (struct hf_span) { talk->in.p, talk->head_n });
    }
}

TEST(a_server_that_sets_cookies_without_end_gets_the_newest_back)
{
    struct server s;
    struct world w;
    world_open(&w);
    server_start(&s, set_many_cookies, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    for (int n = 0; n < 20; n++) {
        struct got got = { .world = &w };
        fetch_path(&got, peer, &s, "/", "{}");
        CHECK(got.is_whole && hf_buf_len(&got.body) < 1024);
        if (n == 19)
            CHECK(memmem(got.body.p, got.body.end, "c18-49=x", 8));
        got_done(&got);
    }
    world_close(&w, &s);
}
