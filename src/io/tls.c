/*
 * tls.c - see tls.h.
 *
 * A BIO of our own reads and writes the stream directly. With memory BIOs every connection would
 * keep two buffers as large as its largest record; this way an idle connection has none
 * (SSL_MODE_RELEASE_BUFFERS).
 */
#include "io/tls.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <unistd.h>

/* ---- OpenSSL, by name ---- */

#define SSL_FUNCTIONS(X)                                                                           \
    X(SSL_CTX_check_private_key)                                                                   \
    X(SSL_CTX_ctrl)                                                                                \
    X(SSL_CTX_free)                                                                                \
    X(SSL_CTX_new)                                                                                 \
    X(SSL_CTX_set_cipher_list)                                                                     \
    X(SSL_CTX_set_default_passwd_cb)                                                               \
    X(SSL_CTX_set_options)                                                                         \
    X(SSL_CTX_use_PrivateKey_file)                                                                 \
    X(SSL_CTX_use_certificate_chain_file)                                                          \
    X(SSL_free)                                                                                    \
    X(SSL_get_error)                                                                               \
    X(SSL_new)                                                                                     \
    X(SSL_read)                                                                                    \
    X(SSL_set_accept_state)                                                                        \
    X(SSL_set_bio)                                                                                 \
    X(SSL_shutdown)                                                                                \
    X(SSL_write)                                                                                   \
    X(TLS_server_method)
#define CRYPTO_FUNCTIONS(X)                                                                        \
    X(BIO_clear_flags)                                                                             \
    X(BIO_get_data)                                                                                \
    X(BIO_meth_free)                                                                               \
    X(BIO_meth_new)                                                                                \
    X(BIO_meth_set_ctrl)                                                                           \
    X(BIO_meth_set_read)                                                                           \
    X(BIO_meth_set_write)                                                                          \
    X(BIO_new)                                                                                     \
    X(BIO_set_data)                                                                                \
    X(BIO_set_flags)                                                                               \
    X(BIO_set_init)                                                                                \
    X(ERR_clear_error)                                                                             \
    X(ERR_peek_error)                                                                              \
    X(ERR_reason_error_string)

#define POINTER(name) __typeof__(name) *name;
static struct {
    SSL_FUNCTIONS(POINTER)
    CRYPTO_FUNCTIONS(POINTER)
    const char *missing; /* the library or function that was not found; NULL: none */
} openssl;

static void load_function(void *library, const char *name, void *ret_pointer)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found && !openssl.missing)
        openssl.missing = name;
    memcpy(ret_pointer, &found, sizeof found);
}

static void load(void)
{
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    void *crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!ssl || !crypto)
        openssl.missing = ssl ? "libcrypto.so.3" : "libssl.so.3";
#define LOAD_SSL(name)    load_function(ssl, #name, &openssl.name);
#define LOAD_CRYPTO(name) load_function(crypto, #name, &openssl.name);
    SSL_FUNCTIONS(LOAD_SSL)
    CRYPTO_FUNCTIONS(LOAD_CRYPTO)
}

static bool is_loaded(struct hf_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return !openssl.missing || hf_fail(err,
                                       "TLS needs OpenSSL 3, and %s is missing: install the "
                                       "package libssl3",
                                       openssl.missing);
}

/* ---- the BIO ---- */

struct hf_tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *method;
};

struct hf_tls {
    SSL *ssl;
    struct hf_stream *stream;
    bool has_read; /* the one read of this turn was made */
    bool is_stuck, is_plain_http;
    bool is_at_end; /* the stream has ended or failed */
};

static int said(BIO *bio, enum hf_io result, size_t moved, int retry)
{
    struct hf_tls *tls = openssl.BIO_get_data(bio);
    openssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (result == HF_IO_DONE)
        return (int)moved;
    if (result == HF_IO_AGAIN)
        openssl.BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    else
        tls->is_at_end = true;
    return -1;
}

static int on_bio_read(BIO *bio, char *into, int room)
{
    struct hf_tls *tls = openssl.BIO_get_data(bio);
    size_t got = 0;
    const enum hf_io result =
        tls->has_read ? HF_IO_AGAIN : hf_stream_read(tls->stream, into, (size_t)room, &got);
    tls->has_read = true;
    return said(bio, result, got, BIO_FLAGS_READ);
}

static int on_bio_write(BIO *bio, const char *bytes, int length)
{
    struct hf_tls *tls = openssl.BIO_get_data(bio);
    const struct iovec part = { (void *)(uintptr_t)bytes, (size_t)length };
    size_t written = 0;
    const enum hf_io result = hf_stream_writev(tls->stream, &part, 1, &written);
    return said(bio, result, written, BIO_FLAGS_WRITE);
}

static long on_bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH; /* nothing is held back */
}

/* ---- certificates ---- */

/* A key with a pass phrase would make OpenSSL ask the terminal for it. */
static int refuse_to_ask(char *room, int size, int is_for_writing, void *context)
{
    (void)room;
    (void)size;
    (void)is_for_writing;
    (void)context;
    return -1;
}

static bool can_read(const char *what, const char *path, struct hf_err *err)
{
    return access(path, R_OK) == 0 ||
           hf_fail(err, "cannot read the %s %s: %s", what, path, strerror(errno));
}

static const char *reason(void)
{
    const char *text = openssl.ERR_reason_error_string(openssl.ERR_peek_error());
    return text ? text : "unknown reason";
}

static bool fail_with(const char *what, const char *path, struct hf_err *err)
{
    return hf_fail(err, "cannot use the %s %s: %s; a PEM file %s is needed", what, path, reason(),
                   strcmp(what, "key") ? "with the certificate and those that vouch for it"
                                       : "with a key that has no pass phrase");
}

static bool take_files(SSL_CTX *ssl, const char *cert, const char *key, struct hf_err *err)
{
    if (!can_read("certificate", cert, err) || !can_read("key", key, err))
        return false;
    openssl.ERR_clear_error();
    openssl.SSL_CTX_set_default_passwd_cb(ssl, refuse_to_ask);
    if (openssl.SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
        return fail_with("certificate", cert, err);
    /* this also compares the key with the certificate, if both are of one kind */
    const bool is_taken = openssl.SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) == 1;
    if (is_taken ? openssl.SSL_CTX_check_private_key(ssl) != 1
                 : ERR_GET_REASON(openssl.ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH)
        return hf_fail(err, "the key %s does not belong to the certificate %s", key, cert);
    return is_taken || fail_with("key", key, err);
}

struct hf_tls_context *hf_tls_context_new(const char *cert, const char *key, struct hf_err *err)
{
    if (!is_loaded(err))
        return NULL;
    SSL_CTX *ssl = openssl.SSL_CTX_new(openssl.TLS_server_method());
    BIO_METHOD *method = openssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "holdfast");
    if (!ssl || !method)
        (void)hf_fail(err, "OpenSSL does not start: %s; is its configuration right?", reason());
    if (!ssl || !method || !take_files(ssl, cert, key, err)) {
        openssl.SSL_CTX_free(ssl);
        openssl.BIO_meth_free(method);
        return NULL;
    }
    openssl.SSL_CTX_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    /* of TLS 1.2 only what 1.3 has too: forward secrecy and authenticated encryption */
    const bool is_set = openssl.SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
    assert(is_set); /* OpenSSL 3 has them all */
    (void)is_set;
    openssl.SSL_CTX_ctrl(ssl, SSL_CTRL_MODE,
                         SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                             SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                         NULL);
    openssl.SSL_CTX_ctrl(ssl, SSL_CTRL_SET_READ_AHEAD, 1, NULL); /* one read, not two a record */
    /* clients resume with tickets; a table of sessions would grow with every client */
    openssl.SSL_CTX_ctrl(ssl, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    openssl.SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    openssl.BIO_meth_set_read(method, on_bio_read);
    openssl.BIO_meth_set_write(method, on_bio_write);
    openssl.BIO_meth_set_ctrl(method, on_bio_control);
    struct hf_tls_context *context = hf_new(struct hf_tls_context);
    *context = (struct hf_tls_context) { ssl, method };
    return context;
}

void hf_tls_context_free(struct hf_tls_context *context)
{
    if (!context)
        return;
    openssl.SSL_CTX_free(context->ssl);
    openssl.BIO_meth_free(context->method);
    hf_free(context);
}

/* ---- one connection ---- */

struct hf_tls *hf_tls_new(struct hf_tls_context *context, struct hf_stream *stream)
{
    struct hf_tls *tls = hf_new(struct hf_tls);
    tls->stream = stream;
    tls->ssl = openssl.SSL_new(context->ssl);
    BIO *bio = openssl.BIO_new(context->method);
    assert(tls->ssl && bio); /* fails only without memory, as in mem.h */
    openssl.BIO_set_data(bio, tls);
    openssl.BIO_set_init(bio, 1);
    openssl.SSL_set_bio(tls->ssl, bio, bio);
    openssl.SSL_set_accept_state(tls->ssl);
    return tls;
}

void hf_tls_free(struct hf_tls *tls)
{
    if (!tls)
        return;
    openssl.SSL_free(tls->ssl);
    hf_free(tls);
}

void hf_tls_ready(struct hf_tls *tls)
{
    tls->has_read = false;
}

static int at_most_int(size_t n)
{
    return n < INT_MAX ? (int)n : INT_MAX;
}

/* The result of a call that moved no byte. */
static enum hf_io outcome(struct hf_tls *tls, int result)
{
    const int error = openssl.SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        tls->is_stuck = error == SSL_ERROR_WANT_WRITE;
        return HF_IO_AGAIN;
    }
    tls->is_plain_http =
        error == SSL_ERROR_SSL && ERR_GET_REASON(openssl.ERR_peek_error()) == SSL_R_HTTP_REQUEST;
    return error == SSL_ERROR_ZERO_RETURN || tls->is_at_end ? HF_IO_CLOSED : HF_IO_FAILED;
}

enum hf_io hf_tls_read(struct hf_tls *tls, void *into, size_t room, size_t *ret_got)
{
    assert(room > 0);
    tls->is_stuck = false;
    openssl.ERR_clear_error();
    const int n = openssl.SSL_read(tls->ssl, into, at_most_int(room));
    if (n <= 0)
        return outcome(tls, n);
    *ret_got = (size_t)n;
    return HF_IO_DONE;
}

enum hf_io hf_tls_writev(struct hf_tls *tls, const struct iovec *parts, int count,
                         size_t *ret_written)
{
    size_t written = 0;
    assert(count > 0);
    openssl.ERR_clear_error();
    for (int i = 0; i < count; i++) {
        const char *at = parts[i].iov_base;
        for (size_t left = parts[i].iov_len; left > 0;) {
            const int n = openssl.SSL_write(tls->ssl, at, at_most_int(left));
            if (n <= 0) {
                const enum hf_io result = outcome(tls, n);
                *ret_written = written;
                return written ? HF_IO_DONE : result;
            }
            at += n;
            left -= (size_t)n;
            written += (size_t)n;
        }
    }
    *ret_written = written;
    return HF_IO_DONE;
}

bool hf_tls_is_stuck(const struct hf_tls *tls)
{
    return tls->is_stuck;
}

bool hf_tls_is_plain_http(const struct hf_tls *tls)
{
    return tls->is_plain_http;
}

void hf_tls_end(struct hf_tls *tls)
{
    openssl.ERR_clear_error();
    (void)openssl.SSL_shutdown(tls->ssl);
}
