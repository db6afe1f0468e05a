/*
 * test_lookup.c - names, which are looked up in a thread: of ours, or of libcurl's.
 *
 * getaddrinfo below stands in the place of the C library's: libcurl, loaded later, finds this one.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include "unit/http_fixture.h"

static atomic_int lookups, kept_out;
static pthread_t main_thread;
static sem_t may_find, has_begun; /* of slow.test */

static struct addrinfo *real_address(const char *address, const struct addrinfo *hints,
                                     const char *service)
{
    struct addrinfo *found = NULL;
    __typeof__(getaddrinfo) *real;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof real);
    return real(address, service, hints, &found) == 0 ? found : NULL;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret_found)
{
    const bool is_slow = name && strcmp(name, "slow.test") == 0;
    const bool is_two = name && strcmp(name, "two.test") == 0;
    if (!is_slow && !is_two && (!name || strcmp(name, "server.test") != 0)) {
        *ret_found = real_address(name, hints, service);
        return *ret_found ? 0 : EAI_NONAME;
    }
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    lookups += !pthread_equal(pthread_self(), main_thread);
    kept_out += sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    if (is_slow) {
        sem_post(&has_begun);
        sem_wait(&may_find);
    }
    *ret_found = real_address(is_two ? "127.0.0.2" : "127.0.0.1", hints, service);
    if (is_two)
        (*ret_found)->ai_next = real_address("127.0.0.1", hints, service);
    return 0;
}

static void answer(struct talk *talk)
{
    while (talk_read(talk))
        talk_answer(talk, "here");
}

TEST(a_thread_that_looks_up_a_name_gets_no_signals_and_the_loop_gets_them_all)
{
    struct server s;
    struct world w;
    struct got got;
    char url[64];
    sigset_t before, after;
    main_thread = pthread_self();
    lookups = kept_out = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    world_open(&w);
    server_start(&s, answer, false);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    snprintf(url, sizeof url, "http://server.test:%d/mcp", s.port);
    got_init(&got, &w);
    go(&got, peer, &s, url, "{}");
    wait_over(&got);
    CHECK(got.end_status == 200 && hf_span_is(hf_buf_span(&got.body), "here"));
    CHECK(lookups == 1 && kept_out == 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(sigismember(&before, SIGTERM) == 0 && sigismember(&after, SIGTERM) == 0);
    CHECK(sigismember(&before, SIGUSR1) == 0 && sigismember(&after, SIGUSR1) == 0);
    got_done(&got);
    world_close(&w, &s);
}

#ifndef HF_TEST_BY_LIBCURL /* how libcurl shares its lookups and tries addresses is its own */

static int fds_begun;

static void begin(struct world *w, struct server *s)
{
    main_thread = pthread_self();
    lookups = 0;
    sem_init(&may_find, 0, 0);
    sem_init(&has_begun, 0, 0);
    world_open(w);
    server_start(s, answer, false);
    fds_begun = open_fds();
}

static void go_name(struct got *got, struct world *w, struct hf_peer *peer, const struct server *s,
                    const char *name)
{
    char url[64];
    snprintf(url, sizeof url, "http://%s:%d/mcp", name, s->port);
    got_init(got, w);
    go(got, peer, s, url, "{}");
}

/* A thread that nobody waits for keeps a descriptor until it is done. */
static void wait_for_threads(void)
{
    const time_t until = time(NULL) + LIMIT_MS / 1000;
    while (open_fds() > fds_begun && time(NULL) < until)
        sched_yield();
}

TEST(requests_that_wait_for_the_same_name_share_one_lookup)
{
    struct server s;
    struct world w;
    struct got got[3];
    begin(&w, &s);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    go_name(&got[0], &w, peer, &s, "slow.test");
    go_name(&got[1], &w, peer, &s, "slow.test");
    hf_loop_step(w.loop, false);
    sem_wait(&has_begun);
    CHECK(!got[0].log[0] && !got[1].log[0]);
    sem_post(&may_find);
    wait_over(&got[0]);
    wait_over(&got[1]);
    go_name(&got[2], &w, peer, &s, "slow.test"); /* on one of the connections of before */
    wait_over(&got[2]);
    for (int i = 0; i < 3; i++) {
        CHECK(got[i].is_whole && got[i].sent == HF_SENT_WHOLE);
        CHECK(strcmp(got[i].log, "sending head bytes over") == 0);
        got_done(&got[i]);
    }
    CHECK(lookups == 1 && s.connections == 2);
    world_close(&w, &s);
}

TEST(a_lookup_that_takes_too_long_sends_nothing)
{
    struct server s;
    struct world w;
    struct got got;
    begin(&w, &s);
    struct hf_peer_spec spec = plain_spec;
    spec.connect_ms = 50;
    struct hf_peer *peer = world_peer(&w, spec);
    go_name(&got, &w, peer, &s, "slow.test");
    wait_over(&got);
    CHECK(got.sent == HF_SENT_NOTHING && strcmp(got.log, "over") == 0);
    CHECK(strstr(got.why, "took too long"));
    got_done(&got);
    sem_post(&may_find);
    hf_http_client_free(w.client);
    w.client = NULL;
    wait_for_threads();
    world_close(&w, &s);
    CHECK(s.delivered == 0);
}

TEST(nobody_waits_for_a_lookup_that_nobody_wants_any_more)
{
    static const char *const ways[] = { "abort", "peer", "client" };
    for (int i = 0; i < 3; i++) {
        struct server s;
        struct world w;
        struct got got;
        begin(&w, &s);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        go_name(&got, &w, peer, &s, "slow.test");
        hf_loop_step(w.loop, false);
        sem_wait(&has_begun);
        if (strcmp(ways[i], "abort") == 0)
            hf_fetch_abort(got.fetch);
        if (strcmp(ways[i], "peer") == 0)
            hf_peer_free(peer);
        if (strcmp(ways[i], "client") == 0) {
            hf_http_client_free(w.client);
            w.client = NULL;
        }
        CHECK(!got.log[0]);
        sem_post(&may_find);
        if (w.client) /* what was found comes to nobody */
            hf_loop_step(w.loop, true);
        CHECK(!got.log[0]);
        got_done(&got);
        hf_http_client_free(w.client);
        w.client = NULL;
        wait_for_threads();
        world_close(&w, &s);
        CHECK(s.connections == 0);
    }
}

static void free_client(struct got *got, const char *event)
{
    (void)event;
    hf_http_client_free(got->world->client);
    got->world->client = NULL;
    got->fetch = NULL;
}

TEST(everything_may_be_freed_when_a_name_was_not_found)
{
    /* a label of 64 letters is no name, so nobody is asked over the network */
    static const char name[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid";
    struct server s;
    struct world w;
    struct got got;
    char url[128];
    begin(&w, &s);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    snprintf(url, sizeof url, "http://%s/", name);
    got_init(&got, &w);
    got.on_event = free_client;
    go(&got, peer, &s, url, "{}");
    wait_over(&got);
    CHECK(strcmp(got.log, "over") == 0 && strstr(got.why, "resolved"));
    got_done(&got);
    wait_for_threads();
    world_close(&w, &s);
}

/* On the port of the server, at another address: -1 if nobody is to be there. */
static int listen_in_silence(const struct server *s, int fds[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)s->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 0) == 0);
    for (int i = 0; i < 2; i++) { /* its queue is full: it answers no further connection */
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (struct sockaddr *)&address, sizeof address);
    }
    return listener;
}

TEST(an_address_that_refuses_or_is_silent_does_not_cost_the_next_one)
{
    for (int is_silent = 0; is_silent < 2; is_silent++) {
        struct server s;
        struct world w;
        struct got got;
        int listener = -1, fds[2] = { -1, -1 };
        begin(&w, &s);
        if (is_silent)
            listener = listen_in_silence(&s, fds);
        struct hf_peer *peer = world_peer(&w, plain_spec);
        go_name(&got, &w, peer, &s, "two.test");
        wait_over(&got);
        CHECK(got.is_whole && strcmp(got.log, "sending head bytes over") == 0);
        got_done(&got);
        close(listener);
        close(fds[0]);
        close(fds[1]);
        world_close(&w, &s);
        CHECK(s.delivered == 1);
    }
}

TEST(a_second_name_of_the_same_peer_is_reached_too)
{
    static const char *const names[] = { "server.test", "two.test", "localhost", "server.test" };
    struct server s;
    struct world w;
    begin(&w, &s);
    struct hf_peer *peer = world_peer(&w, plain_spec);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct got got;
        go_name(&got, &w, peer, &s, names[i]);
        wait_over(&got);
        CHECK(got.is_whole && s.connections <= 3);
        got_done(&got);
    }
    world_close(&w, &s);
    CHECK(s.delivered == 4);
}
#endif
