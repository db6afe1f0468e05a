/* http_world.c - see http_world.h. */
#include "unit/http_world.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, CLIENT_BYTES_MAX = 1 << 29 };

/* ---- the shell, as the library has it ---- */

static void pump(struct hf_shell *shell)
{
    (void)shell;
}

static void on_turn(void *context)
{
    struct world *world = context;
    struct hf_flush *flush;
    while ((flush = HF_LIST_FIRST(&world->shell.dirty, struct hf_flush, link))) {
        hf_unlink(&flush->link);
        flush->flush(flush);
    }
    HF_LIST_EACH_SAFE (flush, &world->shell.dead, struct hf_flush, link) {
        hf_unlink(&flush->link);
        hf_free(flush);
    }
}

static void on_patience_over(void *context)
{
    struct world *world = context;
    world->is_patience_over = true;
    printf("# ten seconds are over\n");
}

void world_be_patient(struct world *world)
{
    world->is_patience_over = false;
    hf_alarm_set(&world->patience, hf_loop_now_ms(world->shell.loop) + PATIENCE_MS);
}

void world_step(struct world *world)
{
    hf_loop_step(world->shell.loop, hf_list_empty(&world->shell.dirty));
}

/* ---- what the server hands up ---- */

void world_forget(struct world *world, struct hf_exchange *exchange)
{
    for (unsigned i = 0; i < world->asked_count; i++) {
        if (world->asked[i] != exchange)
            continue;
        memmove(&world->asked[i], &world->asked[i + 1],
                (world->asked_count - i - 1) * sizeof *world->asked);
        world->asked_count--;
        return;
    }
}

void answer(struct world *world, struct hf_exchange *exchange, const char *body)
{
    const struct hf_span piece = hf_span_of(body);
    world_forget(world, exchange);
    hf_exchange_answer(exchange, 200, NULL, "text/plain", &piece, 1);
}

static void on_request(void *context, struct hf_exchange *exchange)
{
    struct world *world = context;
    const struct hf_http_request *request = hf_exchange_request(exchange);
    world->requests++;
    if (hf_span_starts(request->path, HF_SPAN("/now"))) {
        const struct hf_span pieces[] = { request->method, HF_SPAN(" "), request->target,
                                          HF_SPAN(" "), hf_exchange_body(exchange) };
        hf_exchange_answer(exchange, 200, "X-Test: yes\r\n", "text/plain", pieces, 5);
    } else if (world->asked_count < WORLD_ASKED_MAX) {
        world->asked[world->asked_count++] = exchange;
    }
}

static void on_gone(void *context, struct hf_exchange *exchange)
{
    struct world *world = context;
    world->gone++;
    world->last_gone = exchange;
    world_forget(world, exchange);
}

static bool open_with(struct world *world, const struct hf_http_spec *spec)
{
    static const struct hf_http_events events = { .request = on_request, .gone = on_gone };
    struct hf_err err = { "" };
    *world = (struct world) { .shell = { .loop = hf_loop_new(), .pump = pump } };
    hf_link_init(&world->shell.dirty);
    hf_link_init(&world->shell.dead);
    hf_link_init(&world->clients);
    hf_loop_on_turn(world->shell.loop, on_turn, world);
    hf_alarm_init(&world->patience, world->shell.loop, on_patience_over, world);
    world->server = hf_http_server_new(&world->shell, spec, &events, world, &err);
    if (!world->server)
        printf("# %s\n", err.text);
    return world->server != NULL;
}

bool world_open(struct world *world, const char *listen, const struct hf_http_limits *limits)
{
    const struct hf_http_spec spec = { .listen = listen ? listen : "127.0.0.1:0",
                                       .limits = limits ? *limits : hf_http_limits_default };
    return open_with(world, &spec);
}

bool world_open_tls(struct world *world, const char *listen, const char *cert, const char *key)
{
    const struct hf_http_spec spec = { .listen = listen ? listen : "127.0.0.1:0",
                                       .cert = cert,
                                       .key = key,
                                       .limits = hf_http_limits_default };
    return open_with(world, &spec);
}

void world_close(struct world *world)
{
    struct client *client;
    while ((client = HF_LIST_FIRST(&world->clients, struct client, link)))
        client_leave(client);
    hf_http_server_free(world->server);
    hf_alarm_set(&world->patience, 0);
    hf_loop_step(world->shell.loop, false);
    hf_loop_free(world->shell.loop);
}

static void end_of_test(void *world)
{
    world_end(world);
}

void world_end(struct world *world)
{
    test_has_ended(world);
    world_close(world);
    hf_free(world);
}

struct world *world_new(const struct hf_http_limits *limits)
{
    struct world *world = hf_new(struct world);
    if (!world_open(world, NULL, limits))
        abort();
    test_at_end(end_of_test, world);
    return world;
}

/* ---- clients ---- */

static int connect_to(const struct hf_http_server *server)
{
    const char *url = hf_http_server_url(server);
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct sockaddr_in ipv4 = { .sin_family = AF_INET,
                                .sin_port = htons((uint16_t)hf_http_server_port(server)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6, .sin6_port = ipv4.sin_port };
    struct sockaddr *to = (struct sockaddr *)&ipv4;
    socklen_t length = sizeof ipv4;
    if (!strncmp(url, "unix:", 5)) {
        memcpy(local.sun_path, url + 5, strlen(url + 5) + 1);
        to = (struct sockaddr *)&local;
        length = sizeof local;
    } else if (strchr(url, '[')) {
        ipv6.sin6_addr = in6addr_loopback;
        to = (struct sockaddr *)&ipv6;
        length = sizeof ipv6;
    }
    const int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, to, length) != 0)
        return -1;
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void watch_client(struct client *client)
{
    const unsigned reads = client->is_deaf || client->is_closed ? 0 : HF_READABLE;
    hf_watch_set(client->watch, reads | (hf_buf_len(&client->unsent) ? HF_WRITABLE : 0));
}

static void read_client(struct client *client)
{
    if (!hf_buf_reserve(&client->got, 65536))
        return;
    const ssize_t n = recv(client->fd, client->got.p + client->got.end, 65536, MSG_DONTWAIT);
    if (n > 0)
        client->got.end += (size_t)n;
    else if (n == 0 || errno != EAGAIN)
        client->is_closed = true;
    client->is_reset |= n < 0 && errno == ECONNRESET;
}

static void write_client(struct client *client)
{
    const struct hf_span span = hf_buf_span(&client->unsent);
    if (!span.n)
        return;
    const ssize_t n = send(client->fd, span.p, span.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
        client->sent += (size_t)n;
        hf_buf_consume(&client->unsent, (size_t)n);
    } else if (n < 0 && errno != EAGAIN) {
        hf_buf_clear(&client->unsent); /* the reading side tells why */
    }
}

static void on_client(void *context, unsigned events)
{
    struct client *client = context;
    if (events & HF_READABLE)
        read_client(client);
    if (events & HF_WRITABLE)
        write_client(client);
    watch_client(client);
}

struct client *client_new(struct world *world)
{
    struct client *client = hf_new(struct client);
    client->world = world;
    client->fd = connect_to(world->server);
    if (client->fd < 0) {
        perror("# connect");
        abort();
    }
    hf_buf_init(&client->got, CLIENT_BYTES_MAX);
    hf_buf_init(&client->unsent, CLIENT_BYTES_MAX);
    hf_list_push(&world->clients, &client->link);
    client->watch = hf_watch_new(world->shell.loop, client->fd, on_client, client);
    watch_client(client);
    return client;
}

void client_send_bytes(struct client *client, struct hf_span bytes)
{
    hf_buf_add(&client->unsent, bytes);
    write_client(client);
    watch_client(client);
}

void client_send(struct client *client, const char *text)
{
    client_send_bytes(client, hf_span_of(text));
}

bool client_has(const struct client *client, const char *text)
{
    const struct hf_span got = hf_buf_span(&client->got);
    return memmem(got.p, got.n, text, strlen(text)) != NULL;
}

const char *client_text(struct client *client)
{
    hf_buf_add_char(&client->got, '\0');
    client->got.end--;
    return hf_buf_span(&client->got).p;
}

void client_forget(struct client *client)
{
    hf_buf_clear(&client->got);
}

void client_be_deaf(struct client *client, bool is_deaf)
{
    client->is_deaf = is_deaf;
    watch_client(client);
}

void client_leave(struct client *client)
{
    hf_watch_free(client->watch);
    (void)close(client->fd);
    hf_buf_done(&client->got);
    hf_buf_done(&client->unsent);
    hf_unlink(&client->link);
    hf_free(client);
}

unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        (void)closedir(directory);
    return count;
}
