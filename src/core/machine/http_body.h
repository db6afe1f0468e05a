/*
 * http_body.h - what stands in an HTTP answer that is not the plain answer to our request.
 *
 * 1. A body in which the response to our request can be found is that response, however oddly it is
 *    wrapped: a server that ran a call and then says 404 has run it all the same.
 * 2. A body that cannot be read to its end proves nothing: that response may stand in it.
 * 3. Two refusals are the same if they have the same form: status, content type and body, once
 *    what differs from request to request is blanked.
 */
#ifndef HF_CORE_BODY_H
#define HF_CORE_BODY_H

#include "base/buf.h"
#include "base/sha256.h"

struct hf_body {
    struct hf_span text; /* as far as it came and was kept */
    struct hf_span type; /* content type; p NULL: not said */
    bool is_whole;       /* it came to its end, as far as HTTP can tell */
    bool is_plain;       /* unencoded, and within our limits */
    bool is_measured;    /* its length was said, and no event in it is cut: an end is an end */
};

enum hf_reading {
    HF_READ_NO_ANSWER, /* it can be read to its end, and holds no response to our request */
    HF_READ_RESULT,
    HF_READ_ERROR,
    HF_READ_UNREADABLE, /* nobody can tell what it holds */
};

/* Looks for the response to our request `id`. RESULT, ERROR: it is written to `answer`, as the
 * revision wants it; it may have been found although the body is not whole. */
enum hf_reading hf_body_read(const struct hf_body *body, uint64_t id, unsigned depth_max,
                             struct hf_buf *answer);
/* Whether all of it came, and could be read: only then does it prove anything. */
bool hf_body_is_sound(const struct hf_body *body, unsigned depth_max);
/* Of a body that is sound: whether it is a JSON-RPC error that names no request. */
bool hf_body_is_error_to_nobody(const struct hf_body *body);
/* One error to that request, written to the letter: no member twice, nothing around it. */
bool hf_body_is_exact_error(const struct hf_body *body, uint64_t id);

/* ---- in the same way ---- */

struct hf_form {
    uint8_t digest[HF_SHA256_SIZE];
    int status; /* 0: none; it is like no other */
};

/* `name`: what was sent in the place of a session id, blanked as every word with a digit is; n 0:
 * nothing. Of a body that is sound. */
struct hf_form hf_form_of(int status, const struct hf_body *body, struct hf_span name);
bool hf_form_same(const struct hf_form *a, const struct hf_form *b);

/* ---- made up ---- */

/* An id that looks like `name` and is another: digits for digits, letters for letters, and in a URL
 * only what may be the id in it. `random` is called for each of them and gives [0, 1). NULL:
 * nothing in it could be an id; else for hf_free. */
char *hf_made_up(struct hf_span name, double (*random)(void *context), void *context);

#endif
