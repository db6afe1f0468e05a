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
    unsigned depth_max;
    /* What of the top-level object is wanted. */
    const struct hf_span *keys;
    struct hf_span *values;
    size_t key_count;
    size_t wanted; /* the index of the member being read; key_count: not a wanted one */
    const char *value_at;
    uint64_t is_object[HF_JSON_DEPTH_MAX / 64];
};

struct place {
    const char *p;
    unsigned depth; /* containers that are open around it */
    bool in_object; /* the innermost of them is an object: a key comes before each value */
};

static const char *fail(struct checker *c, const char *at, const char *what)
{
    c->error = (struct hf_json_error) { .what = what, .at = (size_t)(at - c->begin) };
    return NULL;
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
static inline const char *check_string(struct checker *c, const char *p, const char *end)
{
    p = hf_scan_unplain(p, end);
    return p < end && *p == '"' ? p + 1 : check_unplain(c, p);
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

/* Most keys differ in their first byte or their length, and all wanted ones are short: no call. */
static inline size_t find_plain_key(const struct hf_span *keys, size_t count, struct hf_span key)
{
    size_t i = 0;
    for (; i < count; i++)
        if (keys[i].n == key.n && key.n > 0 && keys[i].p[0] == key.p[0] &&
            hf_scan_same(keys[i].p, key.p, key.n))
            break;
    return i;
}

static size_t find_escaped_key(const struct hf_span *keys, size_t count, struct hf_span raw_key)
{
    size_t i = 0;
    while (i < count && !hf_json_key_is(raw_key, keys[i]))
        i++;
    return i;
}

/* `is_plain`: nothing in the key is escaped. False: this wanted member was there before. */
static inline bool want_key(struct checker *c, struct hf_span raw_key, bool is_plain)
{
    const size_t i = is_plain ? find_plain_key(c->keys, c->key_count, raw_key)
                              : find_escaped_key(c->keys, c->key_count, raw_key);
    c->wanted = i;
    return i == c->key_count || !c->values[i].p;
}

/* From the key of a member to behind its colon. */
static inline const char *check_key(struct checker *c, const char *p, const char *end, bool is_top)
{
    p = hf_scan_space(p, end);
    if (p == end || *p != '"')
        return fail(c, p, "a key in quotes is missing");
    const char *key = p + 1;
    p = hf_scan_unplain(key, end);
    const bool is_plain = p < end && *p == '"';
    p = is_plain ? p + 1 : check_unplain(c, p);
    if (!p)
        return NULL;
    if (is_top && !want_key(c, (struct hf_span) { key, (size_t)(p - 1 - key) }, is_plain))
        return fail(c, key - 1, "a key stands twice");
    p = hf_scan_space(p, end);
    if (p == end || *p != ':')
        return fail(c, p, "a colon is missing");
    return p + 1;
}

static inline const char *check_scalar(struct checker *c, const char *p, const char *end)
{
    switch (p < end ? *p : '\0') {
    case '"': return check_string(c, p + 1, end);
    case 't': return check_word(c, p, HF_SPAN("true"));
    case 'f': return check_word(c, p, HF_SPAN("false"));
    case 'n': return check_word(c, p, HF_SPAN("null"));
    case '-': return check_number(c, p);
    default:
        if (p < end && is_digit(*p))
            return check_number(c, p);
        return fail(c, p, p < end ? "a value is missing" : "it ends where a value must be");
    }
}

static inline void enter(struct checker *c, struct place *at, bool is_object)
{
    const uint64_t bit = UINT64_C(1) << (at->depth % 64);
    uint64_t *word = &c->is_object[at->depth / 64];
    if (bit == 1)
        *word = 0; /* the first level that uses it */
    *word = is_object ? *word | bit : *word & ~bit;
    at->depth++;
    at->in_object = is_object;
}

static inline void leave(const struct checker *c, struct place *at)
{
    at->depth--;
    const unsigned level = at->depth - 1;
    at->in_object = at->depth > 0 && (c->is_object[level / 64] >> (level % 64) & 1);
}

/* Reads a scalar or an empty container whole; of any other container only its opening. */
static inline bool begin_value(struct checker *c, struct place *at, const char *end,
                               bool *ret_ended)
{
    const char *p = at->p;
    if (at->in_object && !(p = check_key(c, p, end, at->depth == 1)))
        return false;
    p = hf_scan_space(p, end);
    if (at->depth == 1)
        c->value_at = p;
    *ret_ended = true;
    if (p == end || (*p != '{' && *p != '[')) {
        at->p = check_scalar(c, p, end);
        return at->p != NULL;
    }
    if (at->depth >= c->depth_max)
        return fail(c, p, "it is nested too deeply");
    enter(c, at, *p == '{');
    at->p = p = hf_scan_space(p + 1, end);
    if (p == end || *p != (at->in_object ? '}' : ']')) {
        *ret_ended = false;
        return true;
    }
    leave(c, at);
    at->p++;
    return true;
}

/* A value ended: closes every container that ends with it. */
static inline bool end_value(struct checker *c, struct place *at, const char *end, bool *ret_more)
{
    const char *p = at->p;
    for (;; leave(c, at), p++) {
        if (at->depth == 1 && c->wanted < c->key_count)
            c->values[c->wanted] = (struct hf_span) { c->value_at, (size_t)(p - c->value_at) };
        p = hf_scan_space(p, end);
        if (at->depth == 0) {
            *ret_more = false;
            return p == end || fail(c, p, "something follows the value");
        }
        if (p == end)
            return fail(c, p, "an object or array is not closed");
        if (*p == ',') {
            at->p = p + 1;
            *ret_more = true;
            return true;
        }
        if (*p != (at->in_object ? '}' : ']'))
            return fail(c, p, "a comma or closing bracket is missing");
    }
}

/* Every byte of every message comes this way. The steps are inlined and the place is a local
 * variable, so that it stays in registers. */
static bool check_text(struct checker *c)
{
    struct place at = { .p = c->begin };
    for (bool more = true; more;) {
        bool ended = false;
        if (!begin_value(c, &at, c->end, &ended) || (ended && !end_value(c, &at, c->end, &more)))
            return false;
    }
    return true;
}

static void checker_init(struct checker *c, struct hf_span text, unsigned depth_max)
{
    if (!text.p)
        text = HF_SPAN("");
    c->begin = text.p;
    c->end = text.p + text.n;
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
