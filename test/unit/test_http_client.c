/* test_http_client.c - requests and answers of every day, over real sockets. */
#include "unit/http_fixture.h"
#include "wire/cookies.h"

static void echo(struct talk *talk)
{
    while (talk_read(talk)) {
        char head[128];
        const struct hf_span body = talk_body(talk);
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nContent-Type: first\r\nContent-TYPE:  text/x \r\n"
                 "Content-Length: %zu\r\n\r\n",
                 body.n);
        talk_write(talk, head);
        talk_write_n(talk, body);
    }
}

TEST(a_request_is_answered_and_its_events_come_in_order)
{
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct meeting m;
        meet(&m, echo, is_tls);
        fetch(&m, "/mcp", "{\"id\":1}");
        CHECK_STR(m.got.log, "sending head bytes over");
        CHECK(m.got.status == 200 && m.got.end_status == 200 && m.got.is_whole);
        CHECK(m.got.sent == HF_SENT_WHOLE && m.got.why[0] == '\0');
        CHECK_STR(m.got.type, "text/x");
        CHECK_SPAN(hf_buf_span(&m.got.body), "{\"id\":1}");
        part(&m);
        CHECK(m.s.delivered == 1 && m.s.connections == 1);
    }
}

static void show_head(struct talk *talk)
{
    while (talk_read(talk)) {
        talk->in.p[talk->head_n] = '\0';
        talk_answer(talk, talk->in.p);
    }
}

TEST(headers_verbs_and_bodies_go_out_as_they_were_given)
{
    struct server s;
    struct world w;
    struct got got;
    world_open(&w);
    server_start(&s, show_head, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/a?b=c", s.port);
    const char *headers[] = { "Mcp-Session-Id: abc", "X-Empty:", "Accept: text/event-stream",
                              NULL };
    const struct hf_span body[] = { HF_SPAN("{\"id\":"), HF_SPAN(""), HF_SPAN("7}") };
    const struct {
        struct hf_fetch_spec spec;
        const char *has, *has_not;
    } cases[] = {
        { { HF_VERB_POST, url, headers, body, 3, false }, "POST /a?b=c HTTP/1.1\r\n", "Expect" },
        { { HF_VERB_POST, url, headers, body, 3, false }, "Content-Length: 8\r\n", "Encoding" },
        { { HF_VERB_POST, url, headers, body, 0, false }, "Content-Length: 0\r\n", "Expect" },
        { { HF_VERB_GET, url, headers, NULL, 0, false }, "GET /a?b=c HTTP/1.1\r\n", "Content-" },
        { { HF_VERB_DELETE, url, headers, NULL, 0, false },
          "DELETE /a?b=c HTTP/1.1\r\n",
          "Content-" },
        { { HF_VERB_GET, url, headers, NULL, 0, false }, "\r\nMcp-Session-Id: abc\r\n", "*/*" },
        { { HF_VERB_GET, url, headers, NULL, 0, false }, "\r\nX-Empty:\r\n", "*/*" },
        { { HF_VERB_GET, url, NULL, NULL, 0, false }, "GET /a?b=c HTTP/1.1\r\n", "Mcp-Session-Id" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        got_init(&got, &w);
        go_spec(&got, peer, &cases[i].spec);
        wait_over(&got);
        CHECK(got.is_whole);
        hf_buf_add_char(&got.body, '\0');
        CHECK(strstr(got.body.p, cases[i].has));
        CHECK(!strstr(got.body.p, cases[i].has_not));
        got_done(&got);
    }
    CHECK_EQ(s.connections, 1); /* kept alive */
    world_close(&w, &s);
}

TEST(a_header_with_a_line_break_in_it_is_never_sent)
{
    struct meeting m;
    meet(&m, show_head, false);
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", m.s.port);
    const char *headers[] = { "X-A: b\r\nX-Smuggled: yes", NULL };
    const struct hf_fetch_spec spec = { HF_VERB_GET, url, headers, NULL, 0, false };
    go_spec(&m.got, m.peer, &spec);
    wait_over(&m.got);
    CHECK(strcmp(m.got.log, "over") == 0 && m.got.sent == HF_SENT_NOTHING);
    CHECK(strstr(m.got.why, "line break") && !strstr(m.got.why, "Smuggled"));
    part(&m);
    CHECK_EQ(m.s.delivered, 0);
}

static void drip(struct talk *talk)
{
    static const char *const events[] = { "data: 1\n\n", "data: 2\n\n", "data: 3\n\n" };
    (void)talk_read(talk);
    talk_write(talk, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        char chunk[64];
        snprintf(chunk, sizeof chunk, "9\r\n%s\r\n", events[i]);
        sem_wait(&talk->server->go);
        talk_write(talk, chunk);
    }
    sem_wait(&talk->server->go);
    talk_write(talk, "0\r\nX-Trailer: t\r\n\r\n");
    (void)talk_is_hung_up(talk);
}

TEST(bytes_of_a_stream_come_as_they_arrive)
{
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct meeting m;
        meet(&m, drip, is_tls);
        go(&m.got, m.peer, &m.s, "/", NULL);
        for (size_t n = 1; n <= 3; n++) {
            sem_post(&m.s.go);
            wait_bytes(&m.got, n * 9);
            CHECK(hf_buf_len(&m.got.body) == n * 9 && !m.got.is_over);
        }
        sem_post(&m.s.go);
        wait_over(&m.got);
        CHECK(m.got.is_whole && strcmp(m.got.log, "sending head bytes over") == 0);
        part(&m);
    }
}

static void early_hints(struct talk *talk)
{
    (void)talk_read(talk);
    talk_write(talk, "HTTP/1.1 103 Early Hints\r\nContent-Type: early\r\n\r\n"
                     "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
}

TEST(an_informational_head_is_not_the_answer)
{
    struct meeting m;
    meet(&m, early_hints, false);
    fetch(&m, "/", NULL);
    CHECK(m.got.status == 404 && m.got.is_whole && m.got.type[0] == '\0');
    CHECK_STR(m.got.log, "sending head bytes over");
    part(&m);
}

static void redirect(struct talk *talk)
{
    while (talk_read(talk))
        talk_write(talk, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /other\r\n"
                         "Content-Length: 0\r\n\r\n");
}

TEST(a_redirect_is_told_and_not_followed)
{
    struct meeting m;
    meet(&m, redirect, false);
    fetch(&m, "/", "{}");
    CHECK(m.got.status == 307 && m.got.is_whole);
    CHECK_STR(m.got.log, "sending head over");
    part(&m);
    CHECK_EQ(m.s.delivered, 1);
}

static void endless_head(struct talk *talk)
{
    (void)talk_read(talk);
    talk_write(talk, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 3000; i++)
        talk_write(talk, "X-Much: abcdefghijklmnopqrstuvwxyz\r\n");
    talk_write(talk, "\r\n");
}

TEST(a_head_without_end_ends_the_fetch)
{
    struct meeting m;
    meet(&m, endless_head, false);
    fetch(&m, "/", "{}");
    CHECK(m.got.end_status == 0 && !m.got.is_whole && m.got.sent == HF_SENT_WHOLE);
    CHECK(strstr(m.got.why, "too large"));
    part(&m);
}

/* --- connections --- */

static void set_cookie(struct talk *talk)
{
    while (talk_read(talk)) {
        talk_write(talk, "HTTP/1.1 200 OK\r\nSet-Cookie: route=a1\r\nContent-Length: 3\r\n\r\n");
        talk_write(talk, talk_has(talk, "\r\nCookie: route=a1\r\n") ? "yes" : "no.");
    }
}

TEST(cookies_stay_with_their_peer)
{
    struct server s;
    struct world w;
    world_open(&w);
    server_start(&s, set_cookie, false);
    struct hf_peer *peers[] = { world_peer(&w, plain_spec), world_peer(&w, plain_spec) };
    const struct {
        int peer;
        const char *answer;
    } steps[] = { { 0, "no." }, { 0, "yes" }, { 1, "no." }, { 0, "yes" }, { 1, "yes" } };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct got got;
        got_init(&got, &w);
        go(&got, peers[steps[i].peer], &s, "/", NULL);
        wait_over(&got);
        CHECK_SPAN(hf_buf_span(&got.body), steps[i].answer);
        got_done(&got);
    }
    hf_peer_free(peers[0]);
    world_close(&w, &s);
    CHECK_EQ(s.connections, 2); /* and so do connections */
}

TEST(cookies_are_shared_by_fetches_that_run_at_the_same_time)
{
    struct server s;
    struct world w;
    struct got first, a, b;
    world_open(&w);
    server_start(&s, set_cookie, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    got_init(&first, &w);
    got_init(&a, &w);
    got_init(&b, &w);
    go(&first, peer, &s, "/", NULL);
    wait_over(&first);
    go(&a, peer, &s, "/", NULL);
    go(&b, peer, &s, "/", NULL);
    wait_over(&a);
    wait_over(&b);
    CHECK_SPAN(hf_buf_span(&a.body), "yes");
    CHECK_SPAN(hf_buf_span(&b.body), "yes");
    got_done(&first);
    got_done(&a);
    got_done(&b);
    world_close(&w, &s);
}

/* Sets as many new ones with each answer as are kept in all; says how many it was sent. */
static void set_ever_more_cookies(struct talk *talk)
{
    for (int n = 0; talk_read(talk); n++) {
        const struct hf_span head = { hf_buf_span(&talk->in).p, talk->head_n };
        const char *line = memmem(head.p, head.n, "\r\nCookie: ", 10), *at = line;
        const char *end =
            line ? memchr(line + 2, '\r', head.n - (size_t)(line + 2 - head.p)) : NULL;
        char body[16];
        int count = 0;
        while (line && (at = memchr(at, '=', (size_t)(end - at))))
            at++, count++;
        (void)snprintf(body, sizeof body, "%d", count);
        talk_write(talk, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < HF_COOKIES_MAX; i++) {
            char set[64];
            (void)snprintf(set, sizeof set, "Set-Cookie: c%d-%d=v\r\n", n, i);
            talk_write(talk, set);
        }
        char rest[64];
        (void)snprintf(rest, sizeof rest, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
        talk_write(talk, rest);
    }
}

TEST(a_server_that_sets_ever_more_cookies_gets_back_only_as_many_as_are_kept)
{
    struct server s;
    struct world w;
    world_open(&w);
    server_start(&s, set_ever_more_cookies, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    static const char *const counts[] = { "0", "50", "50", "50" };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct got got;
        got_init(&got, &w);
        go(&got, peer, &s, "/", NULL);
        wait_over(&got);
        CHECK_SPAN(hf_buf_span(&got.body), counts[i]);
        got_done(&got);
    }
    world_close(&w, &s);
}

static void answer_and_await_the_end(struct talk *talk)
{
    while (talk_read(talk))
        talk_answer(talk, "ok");
    server_tell(talk->server);
}

TEST(a_connection_idle_for_longer_than_asked_is_not_used_again)
{
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct server s;
        struct world w;
        world_open(&w);
        server_start(&s, answer_and_await_the_end, is_tls);
        struct hf_peer_spec spec = spec_of(&s);
        spec.keep_alive_ms = 20;
        struct hf_peer *peer = world_peer(&w, spec);
        for (int i = 1; i <= 2; i++) {
            struct got got;
            got_init(&got, &w);
            go(&got, peer, &s, "/", "{}");
            wait_over(&got);
            CHECK(got.is_whole && s.connections == i);
            wait_told(&w, &s); /* it was hung up on, although nobody asked for anything */
            got_done(&got);
        }
        world_close(&w, &s);
        CHECK_EQ(s.delivered, 2);
    }
}

static void wait_for_all(struct talk *talk)
{
    if (!talk_read(talk))
        return;
    /* the last one to come lets everybody go: all are in flight at once */
    if (talk->server->delivered == 50) {
        for (int i = 0; i < 50; i++)
            sem_post(&talk->server->go);
    }
    sem_wait(&talk->server->go);
    const struct hf_span body = talk_body(talk);
    char text[32];
    snprintf(text, sizeof text, "%.*s", HF_FMT(body));
    talk_answer(talk, text);
    (void)talk_is_hung_up(talk);
}

TEST(fifty_fetches_at_once_each_get_their_own_answer)
{
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct server s;
        struct world w;
        struct got gots[50];
        world_open(&w);
        server_start(&s, wait_for_all, is_tls);
        struct hf_peer *peer = world_peer(&w, spec_of(&s));
        for (int i = 0; i < 50; i++) {
            char body[24];
            snprintf(body, sizeof body, "call %d", i);
            got_init(&gots[i], &w);
            go(&gots[i], peer, &s, "/", body);
        }
        for (int i = 0; i < 50; i++) {
            char body[24];
            snprintf(body, sizeof body, "call %d", i);
            wait_over(&gots[i]);
            CHECK(gots[i].is_whole && hf_span_is(hf_buf_span(&gots[i].body), body));
            got_done(&gots[i]);
        }
        world_close(&w, &s);
        CHECK(s.delivered == 50 && s.connections == 50);
    }
}

TEST(a_body_of_64_mib_goes_out_and_comes_back_whole)
{
    enum { SIZE = 64 << 20 };
    char *text = malloc(SIZE + 1);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i % 23);
    text[SIZE] = '\0';
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct meeting m;
        meet(&m, echo, is_tls);
        fetch(&m, "/", text);
        CHECK(m.got.is_whole && m.got.sent == HF_SENT_WHOLE);
        CHECK(hf_span_eq(hf_buf_span(&m.got.body), (struct hf_span) { text, SIZE }));
        part(&m);
        CHECK_EQ(m.s.delivered, 1);
    }
    free(text);
}

/* --- proxies --- */

TEST(the_environments_proxy_is_used_unless_another_or_none_is_asked_for)
{
    struct server s;
    struct world w;
    char url[64];
    world_open(&w);
    server_start(&s, show_head, false);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", s.port);
    (void)setenv("http_proxy", url, 1);
    const char *proxies[] = { NULL, url, "" };
    for (int i = 0; i < 3; i++) {
        struct got got;
        struct hf_peer_spec spec = plain_spec;
        spec.proxy = proxies[i];
        got_init(&got, &w);
        go(&got, world_peer(&w, spec), &s, i < 2 ? "http://holdfast.invalid/x" : "/x", NULL);
        wait_over(&got);
        hf_buf_add_char(&got.body, '\0');
        CHECK(got.is_whole);
        CHECK(strstr(got.body.p, i < 2 ? "GET http://holdfast.invalid/x " : "GET /x "));
        got_done(&got);
    }
    (void)unsetenv("http_proxy");
    world_close(&w, &s);
}

/* --- what may happen inside events --- */

static void abort_the_other(struct got *got, const char *event)
{
    struct got *other = got->extra;
    if (strcmp(event, "head") == 0 && other->fetch) {
        hf_fetch_abort(other->fetch);
        other->fetch = NULL;
    }
}

static void stream_for_ever(struct talk *talk)
{
    if (!talk_read(talk))
        return;
    talk_write(talk, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    if (talk_is_hung_up(talk))
        server_tell(talk->server);
}

TEST(an_abort_is_seen_by_the_server_and_nothing_is_told_any_more)
{
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        struct meeting m;
        meet(&m, stream_for_ever, is_tls);
        go(&m.got, m.peer, &m.s, "/", "{}");
        wait_bytes(&m.got, 2);
        hf_fetch_abort(m.got.fetch);
        wait_told(&m.w, &m.s);
        CHECK_STR(m.got.log, "sending head bytes");
        part(&m);
    }
}

TEST(a_fetch_may_be_aborted_inside_an_event_of_another_fetch_or_its_own)
{
    for (size_t self = 0; self < 2; self++) {
        struct server s;
        struct world w;
        world_open(&w);
        server_start(&s, stream_for_ever, false);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        struct got a, b;
        got_init(&a, &w);
        got_init(&b, &w);
        a.on_event = b.on_event = abort_the_other;
        a.extra = self ? &a : &b;
        b.extra = self ? &b : &a;
        go(&a, peer, &s, "/", "{}");
        go(&b, peer, &s, "/", "{}");
        wait_told(&w, &s);
        if (self)
            wait_told(&w, &s);
        CHECK(!a.is_over && !b.is_over);
        CHECK(self ? strcmp(a.log, "sending head") == 0 && strcmp(b.log, "sending head") == 0
                   : !a.fetch != !b.fetch);
        got_done(&a);
        got_done(&b);
        world_close(&w, &s);
    }
}

static void end_it_all(struct got *got, const char *event)
{
    const char *const *when_and_what = got->extra;
    if (strcmp(event, when_and_what[0]) != 0)
        return;
    if (strcmp(when_and_what[1], "abort") == 0)
        hf_fetch_abort(got->fetch);
    if (strcmp(when_and_what[1], "client") == 0) {
        hf_http_client_free(got->world->client);
        got->world->client = NULL;
    }
    got->fetch = NULL;
}

TEST(everything_may_be_freed_inside_any_event)
{
    static const char *const moments[] = { "sending", "head", "bytes", "over" };
    static const char *const whats[] = { "abort", "client" };
    for (size_t i = 0; i < 8; i++) {
        const char *const plan[] = { moments[i % 4], whats[i / 4] };
        struct server s;
        struct world w;
        struct got got, idle;
        world_open(&w);
        server_start(&s, echo, false);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        got_init(&idle, &w);
        go(&idle, peer, &s, "/", "{}");
        wait_over(&idle); /* so that there is a connection and a handle to be freed too */
        got_init(&got, &w);
        got.on_event = end_it_all;
        got.extra = (void *)(uintptr_t)plan;
        go(&got, peer, &s, "/", "{}");
        while (got.fetch && !w.is_late)
            hf_loop_step(w.loop, true);
        hf_loop_step(w.loop, false);
        CHECK_STR(got.log + strlen(got.log) - strlen(plan[0]), plan[0]);
        got_done(&got);
        got_done(&idle);
        world_close(&w, &s);
    }
}

struct another {
    const char *when, *url;
    struct hf_peer *peer;
    struct got got;
};

static void start_another(struct got *got, const char *event)
{
    struct another *another = got->extra;
    const struct hf_fetch_spec spec = { .verb = HF_VERB_GET, .url = another->url };
    if (!another->got.fetch && strcmp(event, another->when) == 0)
        go_spec(&another->got, another->peer, &spec);
}

TEST(a_fetch_may_be_started_inside_any_event)
{
    static const char *const moments[] = { "sending", "head", "bytes", "over" };
    for (size_t i = 0; i < 4; i++) {
        struct server s;
        struct world w;
        struct got got;
        char url[64];
        world_open(&w);
        server_start(&s, show_head, false);
        snprintf(url, sizeof url, "http://127.0.0.1:%d/next", s.port);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        struct another another = { .when = moments[i], .url = url, .peer = peer };
        got_init(&got, &w);
        got_init(&another.got, &w);
        got.on_event = start_another;
        got.extra = &another;
        go(&got, peer, &s, "/", "{}");
        wait_over(&got);
        wait_over(&another.got);
        CHECK(got.is_whole && another.got.is_whole);
        got_done(&got);
        got_done(&another.got);
        world_close(&w, &s);
        CHECK_EQ(s.delivered, 2);
    }
}

TEST(a_peer_that_is_freed_hangs_up_at_once)
{
    struct server s;
    struct world w;
    struct got a, b;
    world_open(&w);
    server_start(&s, stream_for_ever, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    got_init(&a, &w);
    got_init(&b, &w);
    go(&a, peer, &s, "/", "{}");
    wait_bytes(&a, 2);
    go(&b, peer, &s, "/", "{}"); /* not even begun */
    hf_peer_free(peer);
    wait_told_asleep(&s);
    CHECK(!a.is_over && strcmp(b.log, "") == 0);
    got_done(&a);
    got_done(&b);
    world_close(&w, &s);
    CHECK_EQ(s.connections, 1);
}
