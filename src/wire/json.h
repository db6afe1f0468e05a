/*
 * json.h - JSON as spans: checked once at the border, then read and spliced without a tree.
 *
 * Text is checked whole by hf_json_check (RFC 8259, UTF-8, depth); every other reader here may
 * assume checked text and only finds its way in it. Nothing is rewritten: numbers, escapes and
 * unknown members keep their bytes. Keys are compared unescaped ("\u0069d" is "id").
 */
#ifndef HF_WIRE_JSON_H
#define HF_WIRE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

enum hf_json_type {
    HF_JSON_NONE, /* no text at all */
    HF_JSON_OBJECT,
    HF_JSON_ARRAY,
    HF_JSON_STRING,
    HF_JSON_NUMBER,
    HF_JSON_TRUE,
    HF_JSON_FALSE,
    HF_JSON_NULL,
};

/* ---- at the border: one value, white space around it allowed, nothing else ---- */

enum { HF_JSON_DEPTH_MAX = 4096 }; /* a larger depth_max counts as this one */

struct hf_json_error {
    const char *what; /* a constant sentence part: "a string is not closed" */
    size_t at;        /* byte offset in the text */
};
HF_MUST_CHECK bool hf_json_check(struct hf_span text, unsigned depth_max,
                                 struct hf_json_error *ret_error);

/* Whether it is a whole object or array, with nothing missing at its end: what is cut off anywhere
 * else than behind its last bracket is not. */
bool hf_json_is_complete(struct hf_span text);

/* As hf_json_check for a text that must be an object; also gives the raw spans of the top-level
 * members named in `keys` (values[i].p == NULL where absent). One of them twice is an error. After
 * a failure `values` mean nothing. */
HF_MUST_CHECK bool hf_json_check_object(struct hf_span text, unsigned depth_max,
                                        const struct hf_span *keys, size_t key_count,
                                        struct hf_span *values, struct hf_json_error *ret_error);

/* ---- in checked text ---- */

enum hf_json_type hf_json_type(struct hf_span value);

/* Walks an object or an array: `for (it = hf_json_iter(v); hf_json_next(&it);)`. In an array
 * `key` is empty. `key` is the raw text between the quotes, `value` has no white space around. */
struct hf_json_iter {
    const char *at, *end;
    struct hf_span key, value;
    bool is_object;
};
struct hf_json_iter hf_json_iter(struct hf_span container); /* of any other value: no items */
bool hf_json_next(struct hf_json_iter *it);
bool hf_json_key_is(struct hf_span raw_key, struct hf_span name); /* unescaping */

/* The object or array that the text begins with, and nothing behind it; n == 0: it begins with
 * neither, or that one does not end. The text need not be checked, what is found must be. */
struct hf_span hf_json_first(struct hf_span text);

/* The first member of that name, or a span with p == NULL (also if `object` is no object). */
struct hf_span hf_json_get(struct hf_span object, struct hf_span name);
/* As get, for several names in one walk. False: one of them stands there twice. */
HF_MUST_CHECK bool hf_json_pick(struct hf_span object, const struct hf_span *names, size_t count,
                                struct hf_span *values);
/* As get, along a path: hf_json_path(params, 2, (struct hf_span[]){HF_SPAN("_meta"), …}) */
struct hf_span hf_json_path(struct hf_span object, size_t depth, const struct hf_span *names);

bool hf_json_is_true(struct hf_span value);
/* An integer that fits; "1.0" and "1e3" are none. */
HF_MUST_CHECK bool hf_json_int(struct hf_span value, int64_t *ret);
HF_MUST_CHECK bool hf_json_double(struct hf_span value, double *ret); /* not if infinite: 1e400 */
/* Appends the unescaped string; false if it is no string or does not fit the buffer, which then
 * is as it was. A lone surrogate becomes U+FFFD. */
HF_MUST_CHECK bool hf_json_unescape(struct hf_span string_value, struct hf_buf *out);
/* A string value compared with plain bytes. A lone surrogate equals no bytes. */
bool hf_json_string_is(struct hf_span string_value, struct hf_span bytes);
/* Same value by meaning as far as ids need it: strings unescaped, everything else by bytes. */
bool hf_json_same_scalar(struct hf_span a, struct hf_span b);

/* ---- writing; all append to a buffer of our own making ---- */

/* With quotes and escapes; bytes that are not UTF-8 become U+FFFD. */
void hf_json_add_string(struct hf_buf *out, struct hf_span bytes);
/* `"name":` with a comma before it unless the last byte is '{', '[' or the buffer is empty. */
void hf_json_add_key(struct hf_buf *out, const char *name);
/* A comma unless the last byte is '{', '[', ':' or the buffer is empty. */
void hf_json_add_comma(struct hf_buf *out);

/* ---- too long to keep: find the top-level id while the bytes run by ---- */

enum { HF_JSON_SKIM_ID_MAX = 128 };
struct hf_json_skim {
    /* private */
    uint64_t depth;
    uint8_t mode, flags;
    uint8_t key_len;
    char key[42]; /* "jsonrpc" with every letter escaped just fits */
    uint8_t id_len;
    char id[HF_JSON_SKIM_ID_MAX];
};
void hf_json_skim_init(struct hf_json_skim *s);
void hf_json_skim_feed(struct hf_json_skim *s, struct hf_span bytes); /* cut anywhere */
/* The raw text of the top-level "id", itself checked, the last one if there are several; or an
 * empty span: none seen, too long, neither string nor number, or the text is no object. */
struct hf_span hf_json_skim_id(const struct hf_json_skim *s);
/* Whether a top-level "method" was seen: then the id is the peer's own. */
bool hf_json_skim_has_method(const struct hf_json_skim *s);
/* Whether it was meant to be an answer: an id, no "method", and a "result" or at least "jsonrpc".
 * Without those it is somebody's log that happens to have an id. */
bool hf_json_skim_is_answer(const struct hf_json_skim *s);

/* Of all spellings of a JSON string that mean the same the one we compare by; for hf_free. */
char *hf_json_canonical_string(struct hf_span raw_string);

#endif
