/* test_http_server_shares.c - silent connections make room for new ones, and no party gets so many
 * connections or bytes that nothing is left to the others. */
#include <sys/socket.h>
#include "io/http_connection.h"
#include "unit/http_world.h"

#define GET(path)     "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(path, n) "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " n "\r\n\r\n"

static struct hf_http_party here; /* whose all connections are until a head says something else */
static struct hf_http_party named;
static bool is_anybody;
static unsigned left_count, refused_count;
static enum hf_share_verdict verdict;

static struct hf_http_party *on_arrived(void *context, const struct hf_address *peer)
{
    struct hf_address local;
    (void)context;
    CHECK(hf_address_read(HF_SPAN("127.0.0.1"), &local));
    CHECK(memcmp(peer, &local, sizeof local) == 0);
    return is_anybody ? NULL : &here;
}

static void on_left(void *context, struct hf_http_party *party)
{
    (void)context;
    (void)party;
    left_count++;
}

static void on_refused(void *context, struct hf_http_party *party, enum hf_http_limit limit)
{
    (void)context;
    (void)party;
    (void)limit;
    refused_count++;
}

/* A path that begins with /now/named belongs to the party of that name. */
static void on_head(void *context, struct hf_exchange *exchange)
{
    const struct hf_span path = hf_exchange_request(exchange)->path, why = HF_SPAN("no");
    (void)context;
    verdict = HF_SHARE_FITS;
    if (hf_span_starts(path, HF_SPAN("/now/named")))
        verdict = hf_exchange_set_party(exchange, &named);
    if (verdict == HF_SHARE_FITS)
        hf_exchange_take_body(exchange, SIZE_MAX);
    else
        hf_exchange_answer(exchange, 429, NULL, "text/plain", &why, 1);
}

static struct world *open_sharing(unsigned connections, size_t held_bytes)
{
    struct hf_http_limits limits = hf_http_limits_default;
    limits.connections = connections;
    limits.held_bytes = held_bytes;
    here = named = (struct hf_http_party) { 0 };
    left_count = refused_count = 0;
    is_anybody = false;
    struct world *w = world_new(&limits);
    w->server->events.arrived = on_arrived;
    w->server->events.left = on_left;
    w->server->events.refused = on_refused;
    w->server->events.head = on_head;
    return w;
}

static struct client *connected(struct world *w)
{
    const unsigned before = hf_http_server_connections(w->server);
    struct client *c = client_new(w);
    WAIT(w, hf_http_server_connections(w->server) > before || c->is_closed);
    return c;
}

TEST(at_the_limit_the_longest_silent_connection_makes_room_for_a_new_one)
{
    struct world *w = open_sharing(4, 1 << 24);
    is_anybody = true;
    struct client *silent = connected(w), *asked = connected(w), *served = connected(w),
                  *half = connected(w);
    client_send(asked, GET("/later"));
    WAIT(w, w->asked_count == 1);
    client_send(half, "GET /");
    hf_loop_step(w->shell.loop, false);
    client_send(served, GET("/now"));
    WAIT(w, client_has(served, "GET /now"));
    struct client *first = client_new(w); /* never spoke: the one that goes */
    WAIT(w, silent->is_closed);
    client_send(first, GET("/now"));
    WAIT(w, client_has(first, "GET /now"));
    CHECK(!asked->is_closed && !served->is_closed && !half->is_closed);
    struct client *second = client_new(w); /* half a head is no request */
    client_send(second, GET("/now"));
    WAIT(w, client_has(second, "GET /now"));
    WAIT(w, half->is_closed);
    CHECK(!asked->is_closed && !served->is_closed);
    answer(w, w->asked[0], "answered");
    WAIT(w, client_has(asked, "answered"));
    CHECK(hf_http_server_connections(w->server) == 4 && refused_count == 0 && w->gone == 0);
}

TEST(ten_times_as_many_silent_connections_as_there_may_be_shut_nobody_out)
{
    struct world *w = open_sharing(20, 1 << 24);
    is_anybody = true;
    for (int i = 0; i < 200; i++) {
        (void)client_new(w);
        if (i % 50 == 49) {
            struct client *c = client_new(w);
            client_send(c, GET("/now"));
            WAIT(w, client_has(c, "GET /now"));
        }
    }
    CHECK(hf_http_server_connections(w->server) <= 20 && refused_count == 0);
}

TEST(a_connection_whose_answer_is_being_written_is_not_closed_for_another)
{
    static char block[8 << 20];
    const struct hf_span piece = { block, sizeof block };
    struct world *w = open_sharing(1, 1 << 26);
    is_anybody = true;
    struct client *slow = connected(w);
    client_send(slow, GET("/later"));
    WAIT(w, w->asked_count == 1);
    client_be_deaf(slow, true);
    hf_exchange_answer(w->asked[0], 200, NULL, "text/plain", &piece, 1);
    for (int i = 0; i < 5; i++)
        hf_loop_step(w->shell.loop, false);
    struct client *other = client_new(w);
    WAIT(w, client_has(other, "503 "));
    CHECK(client_has(other, "there are 1 connections already") && refused_count == 1);
    client_be_deaf(slow, false);
    WAIT(w, hf_buf_len(&slow->got) > sizeof block);
}

TEST(one_party_gets_three_quarters_of_the_connections_and_the_next_is_told_429)
{
    struct client *clients[6];
    struct world *w = open_sharing(8, 1 << 24);
    for (int i = 0; i < 6; i++)
        clients[i] = connected(w);
    CHECK(here.connections.used == 6 && refused_count == 0);
    struct client *over = client_new(w);
    WAIT(w, client_has(over, "HTTP/1.1 429 "));
    CHECK(client_has(over, "your address has its share of the 8 connections") &&
          refused_count == 1 && here.connections.used == 6);
    is_anybody = true;
    struct client *other = connected(w);
    client_send(other, GET("/now"));
    WAIT(w, client_has(other, "GET /now"));
    is_anybody = false;
    client_leave(clients[0]);
    client_leave(clients[1]);
    WAIT(w, here.connections.used == 4);
    (void)connected(w);
    CHECK(here.connections.used == 5 && left_count == 3);
    world_end(w);
    CHECK(here.connections.used == 0 && here.bytes.used == 0);
}

TEST(silent_connections_of_others_count_as_free)
{
    struct world *w = open_sharing(8, 1 << 24);
    is_anybody = true;
    for (int i = 0; i < 8; i++)
        (void)connected(w);
    is_anybody = false;
    for (unsigned i = 0; i < 6; i++) {
        struct client *c = client_new(w);
        client_send(c, GET("/later"));
        WAIT(w, w->asked_count == i + 1);
    }
    CHECK(here.connections.used == 6 && hf_http_server_connections(w->server) == 8);
    struct client *over = client_new(w);
    WAIT(w, client_has(over, "HTTP/1.1 429 "));
    CHECK_EQ(hf_http_server_connections(w->server), 9); /* with the one that was told so */
}

TEST(a_connection_is_counted_for_whoever_its_head_names)
{
    struct client *clients[4];
    struct world *w = open_sharing(4, 1 << 24);
    for (int i = 0; i < 3; i++) {
        clients[i] = connected(w);
        client_send(clients[i], GET("/now/named"));
        WAIT(w, client_has(clients[i], "GET /now/named"));
        CHECK(here.connections.used == 0 && named.connections.used == (unsigned)i + 1);
    }
    clients[3] = connected(w);
    client_send(clients[3], GET("/now/named"));
    WAIT(w, client_has(clients[3], "429 "));
    CHECK(verdict == HF_SHARE_OF_PARTY && here.connections.used == 1 &&
          named.connections.used == 3 && refused_count == 1);
    client_send(clients[3], GET("/now"));
    WAIT(w, client_has(clients[3], "GET /now"));
    world_end(w);
    CHECK(named.connections.used == 0 && named.bytes.used == 0 && here.connections.used == 0);
}

TEST(bodies_of_one_party_leave_a_quarter_of_the_bytes_to_the_others)
{
    static char block[4 << 20];
    struct world *w = open_sharing(100, 16 << 20);
    struct client *first = connected(w), *second = connected(w), *third = connected(w);
    client_send(first, POST("/later", "4194304"));
    client_send_bytes(first, (struct hf_span) { block, sizeof block });
    client_send(second, POST("/later", "4194304"));
    client_send_bytes(second, (struct hf_span) { block, sizeof block });
    WAIT(w, w->asked_count == 2);
    client_send(third, POST("/later", "5242880"));
    WAIT(w, client_has(third, "HTTP/1.1 429 "));
    CHECK(client_has(third, "(maxBufferedBytes)") && refused_count == 1);
    CHECK(here.bytes.used <= 12 << 20);
    is_anybody = true;
    struct client *other = connected(w);
    client_send(other, POST("/later", "1048576"));
    client_send_bytes(other, (struct hf_span) { block, 1 << 20 });
    WAIT(w, w->asked_count == 3);
}

TEST(many_streams_that_nobody_reads_hold_no_more_than_their_partys_share)
{
    enum { STREAMS = 60, BYTES = 1 << 20 };
    static char block[40 * 1024];
    const struct hf_span piece = { block, sizeof block };
    const int small = 4096;
    struct world *w = open_sharing(100, BYTES);
    for (unsigned i = 0; i < STREAMS; i++) {
        struct client *c = connected(w);
        (void)setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        client_send(c, GET("/stream"));
        WAIT(w, w->asked_count == i + 1);
        client_be_deaf(c, true);
        hf_exchange_begin(w->asked[i], 200, NULL, "text/event-stream");
    }
    size_t most = 0;
    for (int round = 0; round < 200; round++) {
        for (unsigned i = 0; i < w->asked_count; i++)
            hf_exchange_write(w->asked[i], &piece, 1);
        hf_loop_step(w->shell.loop, false);
        most = most > w->server->bytes.used ? most : w->server->bytes.used;
    }
    printf("# most: %zu of %d, %u were cut off\n", most, BYTES, w->gone);
    CHECK(w->gone > 0 && most <= BYTES / 4 * 3);
}
