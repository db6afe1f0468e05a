/*
 * json_check.c - the border: is this text JSON, in one pass and without recursion; see json.h.
 *
 * Each step takes the place it begins at and returns the place it ended at, or NULL after it
 * said why. The open containers are one bit each, so that depth costs no C stack.
 */
#include "wire/json.h"
#include "wire/scan.h"
#include "wire/utf8.h"

struct checker {
    const char *begin, *end;
    struct hf_json_error error;
    unsigned depth, depth_max;
    /* What of the top-level object is wanted. */
    const struct hf_span *keys;
    struct hf_span *values;
    size_t key_count;
    size_t wanted; /* the index of the member being read; key_count: not a wanted one */
    const char *value_at;
    uint64_t is_object[HF_JSON_DEPTH_MAX / 64];
};

static const char *fail(struct checker *c, const char *at, const char *what)
{
    c->error = (struct hf_json_error) { .what = what, .at = (size_t)(at - c->begin) };
    return NULL;
}

static bool in_object(const struct checker *c)
{
    const unsigned i = c->depth - 1;
    return c->is_object[i / 64] >> (i % 64) & 1;
}

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_hex(char ch)
{
    return is_digit(ch) || ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'f');
}

/* ---- strings ---- */

static const char *check_unit(struct checker *c, const char *p)
{
    /* A lone surrogate passes: RFC 8259 (8.2) allows it, and peers do send cut emoji. */
    for (size_t i = 2; i < 6; i++) {
        if (i >= (size_t)(c->end - p) || !is_hex(p[i]))
            return fail(c, p, "\\u is not followed by four hexadecimal digits");
    }
    return p + 6;
}

static const char *check_escape(struct checker *c, const char *p)
{
    switch (c->end - p >= 2 ? p[1] : '\0') {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return p + 2;
    case 'u': return check_unit(c, p);
    default: return fail(c, p, "an escape is unknown");
    }
}

/* Stays on non-ASCII text for as long as it lasts: the block scan would stop at every byte. */
static const char *check_utf8_run(struct checker *c, const char *p)
{
    while (p < c->end && (unsigned char)*p >= 0x80) {
        const size_t length = hf_utf8_length(p, (size_t)(c->end - p));
        if (length == 0)
            return fail(c, p, "a string is not UTF-8");
        p += length;
    }
    return p;
}

/* On from a byte that is neither plain nor the closing quote. */
static const char *check_unplain(struct checker *c, const char *p)
{
    while (p) {
        if (p == c->end)
            return fail(c, p, "a string is not closed");
        if (*p == '"')
            return p + 1;
        if (*p == '\\')
            p = check_escape(c, p);
        else if ((unsigned char)*p >= 0x80)
            p = check_utf8_run(c, p);
        else
            p = fail(c, p, "a control character stands unescaped in a string");
        if (p)
            p = hf_scan_unplain(p, c->end);
    }
    return NULL;
}

/* From behind the opening quote to behind the closing one. Most strings are plain and short, and
 * most of a message is strings: their way is kept free of calls. */
static inline const char *check_string(struct checker *c, const char *p)
{
    p = hf_scan_unplain(p, c->end);
    return p < c->end && *p == '"' ? p + 1 : check_unplain(c, p);
}

/* ---- numbers and words ---- */

static const char *check_digits(struct checker *c, const char *p)
{
    if (p == c->end || !is_digit(*p))
        return fail(c, p, "a digit is missing in a number");
    while (p < c->end && is_digit(*p))
        p++;
    return p;
}

static const char *check_number(struct checker *c, const char *p)
{
    if (*p == '-')
        p++;
    if (p < c->end && *p == '0' && p + 1 < c->end && is_digit(p[1]))
        return fail(c, p, "a number begins with a needless zero");
    p = check_digits(c, p);
    if (p && p < c->end && *p == '.')
        p = check_digits(c, p + 1);
    if (p && p < c->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < c->end && (*p == '+' || *p == '-'))
            p++;
        p = check_digits(c, p);
    }
    return p;
}

static const char *check_word(struct checker *c, const char *p, struct hf_span word)
{
    if (!hf_span_starts((struct hf_span) { p, (size_t)(c->end - p) }, word))
        return fail(c, p, "a word is none of true, false and null");
    return p + word.n;
}

/* ---- members and containers ---- */

/* Most keys differ in their first byte or their length: those cost no call. */
static bool same_key(struct hf_span a, struct hf_span b)
{
    return a.n == b.n && a.n > 0 && a.p[0] == b.p[0] && memcmp(a.p, b.p, a.n) == 0;
}

/* `is_plain`: nothing in the key is escaped. */
static bool want_key(struct checker *c, struct hf_span raw_key, bool is_plain)
{
    size_t i = 0; /* hf_json_check has no keys at all: NULL + 0 would be undefined */
    while (i < c->key_count &&
           !(is_plain ? same_key(raw_key, c->keys[i]) : hf_json_key_is(raw_key, c->keys[i])))
        i++;
    c->wanted = i;
    return i == c->key_count || !c->values[i].p;
}

static const char *check_key(struct checker *c, const char *p)
{
    if (p == c->end || *p != '"')
        return fail(c, p, "a key in quotes is missing");
    const char *key = p + 1;
    p = hf_scan_unplain(key, c->end);
    const bool is_plain = p < c->end && *p == '"';
    p = is_plain ? p + 1 : check_unplain(c, p);
    if (!p)
        return NULL;
    if (c->depth == 1 && !want_key(c, (struct hf_span) { key, (size_t)(p - 1 - key) }, is_plain))
        return fail(c, key - 1, "a key stands twice");
    p = hf_scan_space(p, c->end);
    if (p == c->end || *p != ':')
        return fail(c, p, "a colon is missing");
    return p + 1;
}

static const char *open_container(struct checker *c, const char *p, bool *ret_ended)
{
    if (c->depth >= c->depth_max)
        return fail(c, p, "it is nested too deeply");
    const bool object = *p == '{';
    const uint64_t bit = UINT64_C(1) << (c->depth % 64);
    uint64_t *word = &c->is_object[c->depth / 64];
    if (bit == 1)
        *word = 0; /* the first level that uses it */
    *word = object ? *word | bit : *word & ~bit;
    c->depth++;
    p = hf_scan_space(p + 1, c->end);
    if (p < c->end && *p == (object ? '}' : ']')) {
        c->depth--;
        *ret_ended = true;
        return p + 1;
    }
    *ret_ended = false;
    return object ? check_key(c, p) : p;
}

/* Reads a scalar or an empty container whole; of any other container only the opening, up to
 * where its first value must be. */
static const char *begin_value(struct checker *c, const char *p, bool *ret_ended)
{
    p = hf_scan_space(p, c->end);
    if (c->depth == 1)
        c->value_at = p;
    *ret_ended = true;
    switch (p < c->end ? *p : '\0') {
    case '{':
    case '[': return open_container(c, p, ret_ended);
    case '"': return check_string(c, p + 1);
    case 't': return check_word(c, p, HF_SPAN("true"));
    case 'f': return check_word(c, p, HF_SPAN("false"));
    case 'n': return check_word(c, p, HF_SPAN("null"));
    case '-': return check_number(c, p);
    default:
        if (p < c->end && is_digit(*p))
            return check_number(c, p);
        return fail(c, p, p < c->end ? "a value is missing" : "it ends where a value must be");
    }
}

/* A value ended at `p`: closes every container that ends with it. */
static const char *end_value(struct checker *c, const char *p, bool *ret_more)
{
    for (;; c->depth--, p++) {
        if (c->depth == 1 && c->wanted < c->key_count)
            c->values[c->wanted] = (struct hf_span) { c->value_at, (size_t)(p - c->value_at) };
        p = hf_scan_space(p, c->end);
        if (c->depth == 0) {
            *ret_more = false;
            return p == c->end ? p : fail(c, p, "something follows the value");
        }
        if (p == c->end)
            return fail(c, p, "an object or array is not closed");
        if (*p == ',') {
            *ret_more = true;
            return in_object(c) ? check_key(c, hf_scan_space(p + 1, c->end)) : p + 1;
        }
        if (*p != (in_object(c) ? '}' : ']'))
            return fail(c, p, "a comma or closing bracket is missing");
    }
}

static bool check_text(struct checker *c)
{
    const char *p = c->begin;
    for (bool more = true; p && more;) {
        bool ended = false;
        p = begin_value(c, p, &ended);
        if (p && ended)
            p = end_value(c, p, &more);
    }
    return p != NULL;
}

static void checker_init(struct checker *c, struct hf_span text, unsigned depth_max)
{
    if (!text.p)
        text = HF_SPAN("");
    c->begin = text.p;
    c->end = text.p + text.n;
    c->depth = 0;
    c->depth_max = depth_max < HF_JSON_DEPTH_MAX ? depth_max : HF_JSON_DEPTH_MAX;
    c->keys = NULL;
    c->values = NULL;
    c->key_count = c->wanted = 0;
    /* is_object stays as it is: a bit is written before it is read. */
}

static bool say(bool good, const struct checker *c, struct hf_json_error *ret_error)
{
    if (!good && ret_error)
        *ret_error = c->error;
    return good;
}

bool hf_json_check(struct hf_span text, unsigned depth_max, struct hf_json_error *ret_error)
{
    struct checker c;
    checker_init(&c, text, depth_max);
    return say(check_text(&c), &c, ret_error);
}

bool hf_json_is_complete(struct hf_span text)
{
    const enum hf_json_type type = hf_json_type(text);
    return (type == HF_JSON_OBJECT || type == HF_JSON_ARRAY) &&
           hf_json_check(text, HF_JSON_DEPTH_MAX, NULL);
}

bool hf_json_check_object(struct hf_span text, unsigned depth_max, const struct hf_span *keys,
                          size_t key_count, struct hf_span *values, struct hf_json_error *ret_error)
{
    struct checker c;
    checker_init(&c, text, depth_max);
    c.keys = keys;
    c.values = values;
    c.key_count = c.wanted = key_count;
    for (size_t i = 0; i < key_count; i++)
        values[i] = (struct hf_span) { NULL, 0 };

    const char *p = hf_scan_space(c.begin, c.end);
    if (p < c.end && *p != '{')
        return say(fail(&c, p, "it is not an object"), &c, ret_error);
    return say(check_text(&c), &c, ret_error);
}
