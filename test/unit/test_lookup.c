/*
 * test_lookup.c - names that libcurl looks up in a thread of its own.
 *
 * getaddrinfo below stands in the place of the C library's: libcurl, loaded later, finds this one.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include "unit/http_fixture.h"

static atomic_int lookups, kept_out;
static pthread_t main_thread;

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret_found)
{
    __typeof__(getaddrinfo) *real;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof real);
    if (!name || strcmp(name, "server.test") != 0)
        return real(name, service, hints, ret_found);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    lookups += !pthread_equal(pthread_self(), main_thread);
    kept_out += sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    return real("127.0.0.1", service, hints, ret_found);
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
