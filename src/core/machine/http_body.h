/*
 * http_body.h - what stands in an HTTP answer that is not the plain answer to our request.
 *
 * 1. A body in which the response to our request can be found is that response, however oddly it is
 *    wrapped: a server that ran a call and then says 404 has run it all the same.
 * 2. A body that cannot be read to its end proves nothing: the response may stand in it.
 * 3. Two refusals are the same if they have the same form: status, content type and body, once
 *    what differs from request to request is blanked.
 */
#ifndef HF_CORE_BODY_H
#define HF_CORE_BODY_H

#include "base/buf.h"
#include "base/sha256.h"

struct hf_body {
    struct hf_span text; /* as much as came and was kept */
    struct hf_span type; /* content type; p NULL: the server named none */
    bool is_whole;       /* the body came to its end, as far as HTTP can tell */
    bool is_plain;       /* unencoded, and within our limits */
    bool is_measured;    /* its length is known, and no event in it is cut: nothing is missing */
};

enum hf_reading {
    HF_READ_NO_ANSWER, /* the body can be read to its end, and holds no response to our request */
    HF_READ_RESULT,
    HF_READ_ERROR,
    HF_READ_UNREADABLE, /* nobody can tell what the body holds */
};

/* Looks for the response to our request `id`. RESULT, ERROR: the response is written to `answer`,
 * as the revision wants it; it may be found although the body is not whole. */
enum hf_reading hf_body_read(const struct hf_body *body, uint64_t id, unsigned depth_max,
                             struct hf_buf *answer);
/* Whether all of the body came and could be read: only then does it prove anything. */
bool hf_body_is_sound(const struct hf_body *body, unsigned depth_max);
/* Whether a sound body is a JSON-RPC error that names no request. */
bool hf_body_is_error_to_nobody(const struct hf_body *body);
/* Whether the body is one error to request `id`, written to the letter: no member twice, nothing
 * around it. */
bool hf_body_is_exact_error(const struct hf_body *body, uint64_t id);

/* ---- are two refusals the same? ---- */

struct hf_form {
    uint8_t digest[HF_SHA256_SIZE];
    int status; /* 0: no form; it is the same as no other */
};

/* The form of a refusal with a sound body. `name`: the session id that was sent, blanked as every
 * word with a digit is; n 0: none was sent. */
struct hf_form hf_form_of(int status, const struct hf_body *body, struct hf_span name);
bool hf_form_same(const struct hf_form *a, const struct hf_form *b);

/* ---- made-up session ids ---- */

/* An id that looks like `name` and differs from it: digits for digits, letters for letters, and in
 * a URL only the part that may be the id. `random` gives [0, 1) and is called for each character.
 * NULL: nothing in `name` could be an id; else to be freed with hf_free. */
char *hf_made_up(struct hf_span name, double (*random)(void *context), void *context);

#endif
