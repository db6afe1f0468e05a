/* test_http_server_tls.c - the same server with TLS, against OpenSSL's own client. The certificates
 * are made by the openssl command. */
#include <openssl/ssl.h>
#include <unistd.h>
#include "io/tls.h"
#include "unit/http_world.h"

#define DIR           HF_TEST_DIR "/tls"
#define CERT          DIR "/cert.pem"
#define KEY           DIR "/key.pem"
#define GET(path)     "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(path, n) "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " n "\r\n\r\n"

/* Made in a directory of our own and moved into place whole, since others may run this test too. */
static const char make_all[] =
    "test -d " DIR " && exit 0\n"
    "set -e; dir=" DIR ".$$; mkdir -p $dir; cd $dir; exec 2>log\n"
    "make() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650"
    " -subj /CN=$1 -keyout $2 -out $3; }\n"
    "make localhost key.pem cert.pem; make other other-key.pem other.pem\n"
    "openssl ec -in key.pem -aes128 -passout pass:secret -out locked-key.pem\n"
    "echo nonsense >nonsense.pem\n"
    "mv -T $dir " DIR " || test -d " DIR "; rm -rf $dir";

static bool has_certificates(void)
{
    return system(make_all) == 0;
}

/* ---- a client ---- */

struct secure {
    struct client *plain;
    SSL_CTX *context;
    SSL *ssl;
    struct hf_buf got; /* in the clear */
    bool is_ended;     /* the server said that nothing more comes */
};

static struct secure *secure_new(struct world *world, int max_version)
{
    struct secure *s = hf_new(struct secure);
    s->plain = client_new(world);
    s->context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(s->context, 0);
    SSL_CTX_set_min_proto_version(s->context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(s->context, max_version);
    s->ssl = SSL_new(s->context);
    SSL_set_bio(s->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(s->ssl);
    hf_buf_init(&s->got, 1 << 28);
    return s;
}

/* What the wire brought goes into OpenSSL, what comes out goes to the wire. */
static void secure_step(struct secure *s)
{
    const struct hf_span came = hf_buf_span(&s->plain->got);
    if (came.n)
        (void)BIO_write(SSL_get_rbio(s->ssl), came.p, (int)came.n);
    hf_buf_consume(&s->plain->got, came.n);
    for (int n = 1; n > 0;) {
        if (!hf_buf_reserve(&s->got, 65536))
            break;
        n = SSL_read(s->ssl, s->got.p + s->got.end, 65536);
        if (n > 0)
            s->got.end += (size_t)n;
        else
            s->is_ended |= SSL_get_error(s->ssl, n) == SSL_ERROR_ZERO_RETURN;
    }
    char out[16384];
    for (int n; (n = BIO_read(SSL_get_wbio(s->ssl), out, sizeof out)) > 0;)
        client_send_bytes(s->plain, (struct hf_span) { out, (size_t)n });
}

static bool secure_has(struct secure *s, const char *text)
{
    secure_step(s);
    const struct hf_span got = hf_buf_span(&s->got);
    return memmem(got.p, got.n, text, strlen(text)) != NULL;
}

static bool secure_is_open(struct secure *s)
{
    secure_step(s);
    return SSL_is_init_finished(s->ssl);
}

static void secure_send_bytes(struct secure *s, struct hf_span bytes)
{
    while (bytes.n) {
        const int n = SSL_write(s->ssl, bytes.p, (int)(bytes.n < 100000 ? bytes.n : 100000));
        if (n <= 0)
            break;
        bytes = hf_span_from(bytes, (size_t)n);
    }
    CHECK_EQ(bytes.n, 0);
    secure_step(s);
}

static void secure_send(struct secure *s, const char *text)
{
    secure_send_bytes(s, hf_span_of(text));
}

static void secure_free(struct secure *s)
{
    SSL_free(s->ssl);
    SSL_CTX_free(s->context);
    hf_buf_done(&s->got);
    hf_free(s);
}

static bool open_secure(struct world *w, struct secure **ret, int max_version)
{
    if (!has_certificates() || !world_open_tls(w, NULL, CERT, KEY))
        return false;
    *ret = secure_new(w, max_version);
    WAIT(w, secure_is_open(*ret));
    return true;
}

/* ---- tests ---- */

TEST(requests_and_answers_pass_over_tls_1_3_and_1_2_and_the_connection_stays)
{
    const int versions[] = { TLS1_3_VERSION, TLS1_2_VERSION };
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct secure *s;
        REQUIRE(open_secure(&w, &s, versions[i]));
        CHECK_EQ(SSL_version(s->ssl), versions[i]);
        CHECK(!strncmp(hf_http_server_url(w.server), "https://127.0.0.1:", 18));
        secure_send(s, GET("/now1") POST("/now2", "5") "hello");
        WAIT(&w, secure_has(s, "POST /now2 hello"));
        CHECK(secure_has(s, "GET /now1"));
        secure_send(s, GET("/later"));
        WAIT(&w, w.asked_count == 1);
        answer(&w, w.asked[0], "at last");
        WAIT(&w, secure_has(s, "at last"));
        CHECK(!s->plain->is_closed && w.requests == 3);
        world_close(&w);
        secure_free(s);
    }
}

TEST(older_versions_of_tls_are_refused)
{
    struct world w;
    REQUIRE(has_certificates() && world_open_tls(&w, NULL, CERT, KEY));
    struct secure *s = secure_new(&w, TLS1_1_VERSION);
    secure_step(s);
    WAIT(&w, s->plain->is_closed);
    CHECK(!secure_is_open(s) && hf_http_server_connections(w.server) == 0);
    world_close(&w);
    secure_free(s);
}

TEST(of_tls_1_2_only_suites_with_ephemeral_keys_and_authenticated_ciphers_are_spoken)
{
    static const struct {
        const char *suite;
        bool is_spoken;
    } rows[] = {
        { "ECDHE-ECDSA-AES128-GCM-SHA256", true }, { "ECDHE-ECDSA-AES256-GCM-SHA384", true },
        { "ECDHE-ECDSA-CHACHA20-POLY1305", true }, { "ECDHE-ECDSA-AES128-SHA256", false },
        { "ECDHE-ECDSA-AES256-SHA", false },       { "AES128-GCM-SHA256", false },
        { "DHE-RSA-AES128-GCM-SHA256", false },    { "AES128-SHA", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;
        REQUIRE(has_certificates() && world_open_tls(&w, NULL, CERT, KEY));
        struct secure *s = secure_new(&w, TLS1_2_VERSION);
        CHECK_EQ(SSL_set_cipher_list(s->ssl, rows[i].suite), 1);
        secure_step(s);
        WAIT(&w, s->plain->is_closed || secure_is_open(s));
        if (secure_is_open(s) != rows[i].is_spoken)
            printf("# %s\n", rows[i].suite);
        CHECK_EQ(secure_is_open(s), rows[i].is_spoken);
        world_close(&w);
        secure_free(s);
    }
}

TEST(bytes_that_come_one_by_one_make_the_same_request)
{
    struct world w;
    REQUIRE(has_certificates() && world_open_tls(&w, NULL, CERT, KEY));
    struct secure *s = secure_new(&w, TLS1_3_VERSION);
    /* each flight is taken from OpenSSL whole and sent in single bytes */
    bool has_sent = false;
    world_be_patient(&w);
    while (!w.is_patience_over && !secure_has(s, "POST /now hello")) {
        char byte;
        (void)SSL_do_handshake(s->ssl);
        if (SSL_is_init_finished(s->ssl) && !has_sent) {
            has_sent = SSL_write(s->ssl, POST("/now", "5") "hello",
                                 sizeof(POST("/now", "5") "hello") - 1) > 0;
        }
        while (BIO_read(SSL_get_wbio(s->ssl), &byte, 1) == 1) {
            client_send_bytes(s->plain, (struct hf_span) { &byte, 1 });
            hf_loop_step(w.shell.loop, false);
        }
        world_step(&w);
    }
    CHECK(secure_has(s, "POST /now hello") && w.requests == 1);
    world_close(&w);
    secure_free(s);
}

TEST(several_records_in_one_read_are_all_taken)
{
    struct world w;
    struct secure *s;
    REQUIRE(open_secure(&w, &s, TLS1_3_VERSION));
    static const char *const records[] = { POST("/now", "5"), "he", "llo", GET("/now2") };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        CHECK(SSL_write(s->ssl, records[i], (int)strlen(records[i])) > 0);
    secure_step(s); /* all in one send */
    WAIT(&w, secure_has(s, "GET /now2"));
    CHECK(secure_has(s, "POST /now hello") && w.requests == 2);
    world_close(&w);
    secure_free(s);
}

TEST(large_bodies_pass_both_ways_whole_over_tls)
{
    enum { SIZE = 5 * 1024 * 1024 };
    struct world w;
    struct secure *s;
    REQUIRE(open_secure(&w, &s, TLS1_3_VERSION));
    char *body = hf_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + (i * 31 + (i >> 9)) % 26);
    secure_send(s, POST("/now", "5242880"));
    secure_send_bytes(s, (struct hf_span) { body, SIZE });
    secure_send(s, GET("/now2"));
    client_be_deaf(s->plain, true);
    WAIT(&w, w.requests == 1);
    for (int i = 0; i < 20; i++) /* it runs into the kernel's bound and has to go on later */
        hf_loop_step(w.shell.loop, false);
    client_be_deaf(s->plain, false);
    WAIT(&w, secure_has(s, "GET /now2"));
    const struct hf_span got = hf_buf_span(&s->got);
    const char *found = memmem(got.p, got.n, "POST /now ", 10);
    CHECK(found && memcmp(found + 10, body, SIZE) == 0);
    hf_free(body);
    world_close(&w);
    secure_free(s);
}

TEST(a_stream_over_tls_comes_as_it_is_written_and_its_client_is_missed_when_it_leaves)
{
    struct world w;
    struct secure *s;
    REQUIRE(open_secure(&w, &s, TLS1_3_VERSION));
    secure_send(s, GET("/stream"));
    WAIT(&w, w.asked_count == 1);
    const struct hf_span piece = HF_SPAN("data: x\n\n");
    hf_exchange_begin(w.asked[0], 200, NULL, "text/event-stream");
    WAIT(&w, secure_has(s, "chunked\r\n\r\n"));
    hf_exchange_write(w.asked[0], &piece, 1);
    WAIT(&w, secure_has(s, "data: x\n\n"));
    client_leave(s->plain);
    WAIT(&w, w.gone == 1);
    CHECK_EQ(hf_http_server_connections(w.server), 0);
    world_close(&w);
    secure_free(s);
}

TEST(the_end_of_a_connection_is_told_inside_tls_too)
{
    struct world w;
    struct secure *s;
    REQUIRE(open_secure(&w, &s, TLS1_3_VERSION));
    secure_send(s, "GET /now HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    WAIT(&w, secure_has(s, "GET /now") && s->is_ended);
    (void)SSL_shutdown(s->ssl);
    secure_step(s);
    WAIT(&w, hf_http_server_connections(w.server) == 0);
    world_close(&w);
    secure_free(s);
}

TEST(a_client_without_tls_is_told_so_and_anything_else_is_closed)
{
    struct world w;
    REQUIRE(has_certificates() && world_open_tls(&w, NULL, CERT, KEY));
    struct client *http = client_new(&w), *nonsense = client_new(&w);
    client_send(http, GET("/now"));
    client_send(nonsense, "\001\002\003\004 nonsense nonsense nonsense");
    WAIT(&w, http->is_closed && nonsense->is_closed);
    CHECK(client_has(http, "HTTP/1.1 400 ") && client_has(http, "use https:// in the URL"));
    CHECK(!http->is_reset && w.requests == 0);
    client_leave(http);
    WAIT(&w, hf_http_server_connections(w.server) == 0);
    world_close(&w);
}

static bool complains(const char *cert, const char *key, const char *what)
{
    struct hf_err err = { "" };
    struct hf_tls_context *context = hf_tls_context_new(cert, key, &err);
    const bool is_right = !context && strstr(err.text, what);
    if (!is_right)
        printf("# %s\n", err.text);
    hf_tls_context_free(context);
    return is_right;
}

TEST(files_that_cannot_be_used_are_named_with_the_reason)
{
    REQUIRE(has_certificates());
    CHECK(complains(DIR "/none.pem", KEY, "cannot read the certificate " DIR "/none.pem: No such"));
    CHECK(complains(CERT, DIR "/none.pem", "cannot read the key " DIR "/none.pem: No such file"));
    CHECK(complains(DIR "/nonsense.pem", KEY, "cannot use the certificate " DIR "/nonsense.pem: "));
    CHECK(complains(CERT, DIR "/nonsense.pem", "cannot use the key " DIR "/nonsense.pem: "));
    CHECK(complains(KEY, KEY, "cannot use the certificate"));
    CHECK(complains(CERT, DIR "/other-key.pem",
                    "the key " DIR "/other-key.pem does not belong to the certificate " CERT));
    CHECK(complains(CERT, DIR "/locked-key.pem", "no pass phrase"));
}

TEST(a_server_with_a_wrong_certificate_or_a_wrong_address_does_not_listen)
{
    struct world w;
    REQUIRE(has_certificates());
    CHECK(!world_open_tls(&w, NULL, CERT, DIR "/other-key.pem"));
    world_close(&w);
    CHECK(!world_open_tls(&w, "192.0.2.1:80", CERT, KEY));
    world_close(&w);
}

TEST(secure_connections_come_and_go_and_leave_nothing_behind)
{
    const unsigned before = open_descriptors();
    struct world w;
    struct secure *some[20];
    REQUIRE(has_certificates() && world_open_tls(&w, NULL, CERT, KEY));
    for (int i = 0; i < 20; i++)
        some[i] = secure_new(&w, TLS1_3_VERSION);
    for (int i = 0; i < 20; i++) {
        WAIT(&w, secure_is_open(some[i]));
        secure_send(some[i], GET("/now"));
        WAIT(&w, secure_has(some[i], "GET /now"));
    }
    for (int i = 0; i < 20; i += 2)
        client_leave(some[i]->plain);
    WAIT(&w, hf_http_server_connections(w.server) == 10);
    world_close(&w);
    for (int i = 0; i < 20; i++)
        secure_free(some[i]);
    CHECK_EQ(open_descriptors(), before);
}
