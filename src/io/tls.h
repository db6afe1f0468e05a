/*
 * tls.h - the server's side of TLS, on top of a stream, with the same calls to read and write.
 *
 * OpenSSL 3, loaded with the first certificate: a program that never uses TLS does not pay for its
 * megabytes. TLS 1.2 and later. Never buffers bytes to be written; never waits.
 */
#ifndef HF_IO_TLS_H
#define HF_IO_TLS_H

#include "io/stream.h"

struct hf_tls_context; /* a certificate and its key, for any number of connections */
struct hf_tls;         /* one connection */

/* NULL: `err` says which of the files is wrong and how, or that OpenSSL is missing. */
struct hf_tls_context *hf_tls_context_new(const char *cert, const char *key, struct hf_err *err);
void hf_tls_context_free(struct hf_tls_context *context); /* NULL accepted */

/* The stream stays the caller's and has to outlive the TLS connection. */
struct hf_tls *hf_tls_new(struct hf_tls_context *context, struct hf_stream *stream);
void hf_tls_free(struct hf_tls *tls); /* NULL accepted */

/* The stream is readable: one read of it may be made. Then call hf_tls_read until it returns no
 * more bytes, since bytes that OpenSSL holds already make no descriptor readable. */
void hf_tls_ready(struct hf_tls *tls);
HF_MUST_CHECK enum hf_io hf_tls_read(struct hf_tls *tls, void *into, size_t room, size_t *ret_got);
/* After HF_IO_AGAIN the next call must begin with the same bytes, at any address. */
HF_MUST_CHECK enum hf_io hf_tls_writev(struct hf_tls *tls, const struct iovec *parts, int count,
                                       size_t *ret_written);
/* A read returned HF_IO_AGAIN because TLS itself has to write first. */
bool hf_tls_is_stuck(const struct hf_tls *tls);
/* A read failed because the peer speaks HTTP without TLS. */
bool hf_tls_is_plain_http(const struct hf_tls *tls);
void hf_tls_end(struct hf_tls *tls); /* tells the peer that nothing more comes */

#endif
