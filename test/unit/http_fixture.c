/* http_fixture.c - see http_fixture.h. */
#include "unit/http_fixture.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- certificates --- */

static const char *test_file(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", HF_TEST_DIR, name);
    return path;
}

static void make_certificate(const char *name)
{
    char command[2048], key[64], pem[64];
    snprintf(key, sizeof key, "%s.%d.key", name, (int)getpid());
    snprintf(pem, sizeof pem, "%s.%d.pem", name, (int)getpid());
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
             "-subj /CN=%s -addext subjectAltName=IP:127.0.0.1,DNS:localhost "
             "-keyout '%s' -out '%s' >/dev/null 2>&1",
             name, test_file(key), test_file(pem));
    CHECK_EQ(system(command), 0);
}

static const char *certificate(const char *name, const char *ending)
{
    char file[64];
    snprintf(file, sizeof file, "%s.%d.%s", name, (int)getpid(), ending);
    return test_file(file);
}

const char *other_ca(void)
{
    return certificate("other", "pem");
}

static void remove_certificates(void)
{
    (void)unlink(certificate("server", "key"));
    (void)unlink(certificate("server", "pem"));
    (void)unlink(certificate("other", "key"));
    (void)unlink(certificate("other", "pem"));
}

static SSL_CTX *server_tls(void)
{
    static SSL_CTX *tls;
    if (!tls) {
        make_certificate("server");
        make_certificate("other");
        (void)atexit(remove_certificates);
        tls = SSL_CTX_new(TLS_server_method());
        CHECK_EQ(SSL_CTX_use_certificate_file(tls, certificate("server", "pem"), SSL_FILETYPE_PEM),
                 1);
        CHECK_EQ(SSL_CTX_use_PrivateKey_file(tls, certificate("server", "key"), SSL_FILETYPE_PEM),
                 1);
    }
    return tls;
}

/* --- the server --- */

static ssize_t receive(struct talk *talk, void *into, size_t room)
{
    return talk->tls ? SSL_read(talk->tls, into, (int)room) : recv(talk->fd, into, room, 0);
}

static bool has_whole_request(struct talk *talk)
{
    const struct hf_span in = hf_buf_span(&talk->in);
    const char *end = in.n ? memmem(in.p, in.n, "\r\n\r\n", 4) : NULL;
    if (!end)
        return false;
    talk->head_n = (size_t)(end - in.p) + 4;
    const char *length = memmem(in.p, talk->head_n, "Content-Length: ", 16);
    return in.n >= talk->head_n + (length ? strtoul(length + 16, NULL, 10) : 0);
}

bool talk_read(struct talk *talk)
{
    static const size_t room = 64 * 1024;
    hf_buf_clear(&talk->in);
    while (!has_whole_request(talk)) {
        if (!hf_buf_reserve(&talk->in, room))
            return false;
        const ssize_t n = receive(talk, talk->in.p + talk->in.end, room);
        if (n <= 0)
            return false;
        talk->in.end += (size_t)n;
    }
    talk->server->delivered++;
    return true;
}

struct hf_span talk_body(const struct talk *talk)
{
    return hf_span_from(hf_buf_span(&talk->in), talk->head_n);
}

bool talk_has(const struct talk *talk, const char *part)
{
    return memmem(talk->in.p, talk->head_n, part, strlen(part)) != NULL;
}

void talk_write_n(struct talk *talk, struct hf_span bytes)
{
    while (bytes.n) {
        const ssize_t n = talk->tls ? SSL_write(talk->tls, bytes.p, (int)bytes.n)
                                    : send(talk->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes = hf_span_from(bytes, (size_t)n);
    }
}

void talk_write(struct talk *talk, const char *text)
{
    talk_write_n(talk, hf_span_of(text));
}

void talk_answer(struct talk *talk, const char *body)
{
    char head[256];
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
             strlen(body));
    talk_write(talk, head);
    talk_write(talk, body);
}

void talk_close(struct talk *talk)
{
    if (talk->fd < 0)
        return;
    if (talk->tls)
        (void)SSL_shutdown(talk->tls);
    close(talk->fd);
    talk->fd = -1;
}

void talk_reset(struct talk *talk)
{
    const struct linger now = { .l_onoff = 1, .l_linger = 0 };
    (void)setsockopt(talk->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(talk->fd);
    talk->fd = -1;
}

bool talk_is_hung_up(struct talk *talk)
{
    char byte;
    return receive(talk, &byte, 1) <= 0;
}

static void *run_talk(void *context)
{
    struct talk *talk = context;
    const int on = 1;
    (void)setsockopt(talk->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (talk->server->tls) {
        talk->tls = SSL_new(talk->server->tls);
        (void)SSL_set_fd(talk->tls, talk->fd);
    }
    if (!talk->tls || SSL_accept(talk->tls) == 1)
        talk->server->serve(talk);
    talk_close(talk);
    SSL_free(talk->tls);
    hf_buf_done(&talk->in);
    free(talk);
    return NULL;
}

static void *run_acceptor(void *context)
{
    struct server *server = context;
    for (;;) {
        const int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        struct talk *talk = calloc(1, sizeof *talk);
        talk->server = server;
        talk->fd = fd;
        /* counted before the thread runs: its client may look at the number once it is answered */
        talk->number = server->connections++;
        hf_buf_init(&talk->in, 128 << 20);
        pthread_create(&server->talkers[talk->number % FETCHES_MAX], NULL, run_talk, talk);
    }
}

static void listen_on_loopback(struct server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(server->listener, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(listen(server->listener, 128), 0);
    CHECK_EQ(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
}

void server_start(struct server *server, on_talk *serve, bool is_tls)
{
    *server = (struct server) { .serve = serve, .tls = is_tls ? server_tls() : NULL };
    (void)signal(SIGPIPE, SIG_IGN);
    server->told = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
    sem_init(&server->go, 0, 0);
    listen_on_loopback(server);
    if (serve)
        pthread_create(&server->acceptor, NULL, run_acceptor, server);
}

void server_gone(struct server *server)
{
    (void)shutdown(server->listener, SHUT_RDWR);
}

void server_tell(struct server *server)
{
    (void)eventfd_write(server->told, 1);
}

void server_stop(struct server *server)
{
    if (!server)
        return;
    server_gone(server);
    if (server->serve) {
        pthread_join(server->acceptor, NULL);
        for (int i = 0; i < server->connections; i++)
            pthread_join(server->talkers[i], NULL);
    }
    close(server->listener);
    close(server->told);
    sem_destroy(&server->go);
}

/* --- the client --- */

const struct hf_peer_spec plain_spec = { .proxy = "", .connect_ms = 10000, .keep_alive_ms = 4000 };

struct hf_peer_spec spec_of(const struct server *server)
{
    struct hf_peer_spec spec = plain_spec;
    if (server->tls)
        spec.ca = certificate("server", "pem");
    return spec;
}

int open_fds(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

static void on_limit(void *context)
{
    struct world *world = context;
    world->is_late = true;
}

void world_open_by(struct world *world, bool is_by_libcurl)
{
    *world = (struct world) { .fds_before = open_fds() };
    world->loop = hf_loop_new();
    world->client = hf_http_client_new(world->loop);
    if (is_by_libcurl)
        hf_http_client_use_libcurl(world->client);
    hf_alarm_init(&world->limit, world->loop, on_limit, world);
    hf_alarm_set(&world->limit, hf_loop_now_ms(world->loop) + LIMIT_MS);
}

void world_close(struct world *world, struct server *server)
{
    CHECK(!world->is_late);
    hf_http_client_free(world->client);
    hf_loop_free(world->loop);
    server_stop(server);
    CHECK_EQ(open_fds(), world->fds_before);
}

struct hf_peer *world_peer(struct world *world, struct hf_peer_spec spec)
{
    struct hf_err err;
    spec.url = "http://127.0.0.1/"; /* what libcurl needs for itself is there from the start */
    struct hf_peer *peer = hf_peer_new(world->client, &spec, &err);
    if (!peer)
        printf("# %s\n", err.text);
    CHECK(peer);
    return peer;
}

static void note(struct got *got, const char *event)
{
    const size_t n = strlen(got->log), length = strlen(event);
    if (!(n >= length && strcmp(got->log + n - length, event) == 0))
        snprintf(got->log + n, sizeof got->log - n, "%s%s", n ? " " : "", event);
    if (got->on_event)
        got->on_event(got, event);
}

static void on_sending(void *context)
{
    note(context, "sending");
}

static void on_head(void *context, int status)
{
    struct got *got = context;
    const struct hf_span type = hf_fetch_header(got->fetch, "content-type");
    got->status = status;
    snprintf(got->type, sizeof got->type, "%.*s", HF_FMT(type));
    note(got, "head");
}

static void on_bytes(void *context, struct hf_span bytes)
{
    struct got *got = context;
    hf_buf_add(&got->body, bytes);
    note(got, "bytes");
}

static void on_over(void *context, const struct hf_fetch_end *end)
{
    struct got *got = context;
    got->is_over = true;
    got->is_whole = end->is_whole;
    got->end_status = end->status;
    got->sent = end->sent;
    snprintf(got->why, sizeof got->why, "%s", end->why);
    note(got, "over");
}

void got_init(struct got *got, struct world *world)
{
    *got = (struct got) { .world = world };
    hf_buf_init(&got->body, 128 << 20);
}

void got_done(struct got *got)
{
    hf_buf_done(&got->body);
}

void go_spec(struct got *got, struct hf_peer *peer, const struct hf_fetch_spec *spec)
{
    static const struct hf_fetch_events events = { on_sending, on_head, on_bytes, on_over };
    got->fetch = hf_fetch_start(peer, spec, &events, got);
    CHECK_EQ(got->log[0], '\0');
}

void go(struct got *got, struct hf_peer *peer, const struct server *server, const char *path,
        const char *body)
{
    char url[512] = "";
    const struct hf_span piece = hf_span_of(body);
    if (path[0] == '/')
        snprintf(url, sizeof url, "%s://127.0.0.1:%d", server->tls ? "https" : "http",
                 server->port);
    snprintf(url + strlen(url), sizeof url - strlen(url), "%s", path);
    const struct hf_fetch_spec spec = { .verb = body ? HF_VERB_POST : HF_VERB_GET,
                                        .url = url,
                                        .body = &piece,
                                        .body_count = body ? 1 : 0 };
    go_spec(got, peer, &spec);
}

void wait_over(struct got *got)
{
    while (!got->is_over && !got->world->is_late)
        hf_loop_step(got->world->loop, true);
}

void wait_bytes(struct got *got, size_t n)
{
    while (hf_buf_len(&got->body) < n && !got->is_over && !got->world->is_late)
        hf_loop_step(got->world->loop, true);
}

static void on_told(void *context, unsigned events)
{
    (void)context, (void)events; /* wait_told looks itself */
}

void wait_told(struct world *world, struct server *server)
{
    eventfd_t one;
    struct hf_watch *watch = hf_watch_new(world->loop, server->told, on_told, NULL);
    hf_watch_set(watch, HF_READABLE);
    while (eventfd_read(server->told, &one) != 0 && !world->is_late)
        hf_loop_step(world->loop, true);
    hf_watch_free(watch);
}

void wait_told_asleep(struct server *server)
{
    struct pollfd told = { .fd = server->told, .events = POLLIN };
    eventfd_t one;
    CHECK(poll(&told, 1, LIMIT_MS) == 1 && eventfd_read(server->told, &one) == 0);
}

/* --- both of them, and one fetch --- */

void meet(struct meeting *m, on_talk *serve, bool is_tls)
{
    world_open(&m->w);
    server_start(&m->s, serve, is_tls);
    m->peer = world_peer(&m->w, spec_of(&m->s));
    got_init(&m->got, &m->w);
}

void fetch(struct meeting *m, const char *path, const char *body)
{
    go(&m->got, m->peer, &m->s, path, body);
    wait_over(&m->got);
}

void part(struct meeting *m)
{
    got_done(&m->got);
    world_close(&m->w, &m->s);
}
