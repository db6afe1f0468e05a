/*
 * tls.h - TLS for connections that came to us, on top of a stream; it reads and writes as one does.
 *
 * OpenSSL 3, loaded when the first certificate is: a program that never uses it does not pay its
 * megabytes. TLS 1.2 and later. Never buffers what it was given to write; never waits.
 */
#ifndef HF_IO_TLS_H
#define HF_IO_TLS_H

#include "io/stream.h"

struct hf_tls_context; /* a certificate and its key, for any number of connections */
struct hf_tls;         /* one connection */

/* NULL: `err` says which of the files is wrong and how, or that OpenSSL is missing. */
struct hf_tls_context *hf_tls_context_new(const char *cert, const char *key, struct hf_err *err);
void hf_tls_context_free(struct hf_tls_context *context); /* NULL accepted */

/* The stream stays the caller's and has to outlive it. */
struct hf_tls *hf_tls_new(struct hf_tls_context *context, struct hf_stream *stream);
void hf_tls_free(struct hf_tls *tls); /* NULL accepted */

/* The stream is ready for reading: one read of it may be made. hf_tls_read is then called until it
 * gives no more bytes, since those that it took already make no descriptor ready. */
void hf_tls_ready(struct hf_tls *tls);
HF_MUST_CHECK enum hf_io hf_tls_read(struct hf_tls *tls, void *into, size_t room, size_t *ret_got);
/* After HF_IO_AGAIN the same bytes have to come first the next time; wherever they lie then. */
HF_MUST_CHECK enum hf_io hf_tls_writev(struct hf_tls *tls, const struct iovec *parts, int count,
                                       size_t *ret_written);
/* A read gave HF_IO_AGAIN because something of TLS itself has to be written first. */
bool hf_tls_is_stuck(const struct hf_tls *tls);
/* A read failed because the peer speaks HTTP without TLS. */
bool hf_tls_is_plain_http(const struct hf_tls *tls);
void hf_tls_end(struct hf_tls *tls); /* tells the peer that nothing more comes */

#endif
