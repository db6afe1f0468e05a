/*
 * json_read.c - finding the way in checked text; see json.h.
 *
 * Text that was never checked gives nonsense, but nothing here reads outside the span it was
 * given.
 */
#include "wire/json.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include "wire/scan.h"

static struct hf_span trim(struct hf_span value)
{
    while (value.n && hf_is_space(value.p[0]))
        value = hf_span_from(value, 1);
    while (value.n && hf_is_space(value.p[value.n - 1]))
        value.n--;
    return value;
}

static enum hf_json_type type_of(char first)
{
    switch (first) {
    case '{': return HF_JSON_OBJECT;
    case '[': return HF_JSON_ARRAY;
    case '"': return HF_JSON_STRING;
    case 't': return HF_JSON_TRUE;
    case 'f': return HF_JSON_FALSE;
    case 'n': return HF_JSON_NULL;
    default: return HF_JSON_NUMBER;
    }
}

enum hf_json_type hf_json_type(struct hf_span value)
{
    while (value.n && hf_is_space(value.p[0]))
        value = hf_span_from(value, 1);
    return value.n ? type_of(value.p[0]) : HF_JSON_NONE;
}

/* ---- skipping ---- */

/* From behind the opening quote to behind the closing one. */
static const char *skip_string(const char *p, const char *end)
{
    for (;;) {
        p = hf_scan_string_stop(p, end);
        if (p == end || *p == '"')
            return p == end ? p : p + 1;
        p = end - p >= 2 ? p + 2 : end;
    }
}

/* Brackets of both kinds count alike: in checked text they match. False: it does not end. */
static bool find_container_end(const char **p, const char *end)
{
    for (size_t depth = 0; (*p = hf_scan_nesting(*p, end)) < end;) {
        const char c = *(*p)++;
        if (c == '"')
            *p = skip_string(*p, end);
        else if ((c | 0x20) == '{')
            depth++;
        else if (--depth == 0)
            return true;
    }
    return false;
}

static const char *skip_container(const char *p, const char *end)
{
    (void)find_container_end(&p, end);
    return p;
}

static const char *skip_plain(const char *p, const char *end)
{
    while (p < end && *p != ',' && *p != ']' && *p != '}' && !hf_is_space(*p))
        p++;
    return p;
}

static const char *skip_value(const char *p, const char *end)
{
    switch (p < end ? *p : ',') {
    case '{':
    case '[': return skip_container(p, end);
    case '"': return skip_string(p + 1, end);
    default: return skip_plain(p, end);
    }
}

/* ---- walking ---- */

struct hf_json_iter hf_json_iter(struct hf_span container)
{
    const enum hf_json_type type = hf_json_type(container);
    if (type != HF_JSON_OBJECT && type != HF_JSON_ARRAY)
        return (struct hf_json_iter) { 0 };
    const char *end = container.p + container.n;
    return (struct hf_json_iter) {
        .at = hf_scan_space(container.p, end) + 1,
        .end = end,
        .is_object = type == HF_JSON_OBJECT,
    };
}

static bool finish(struct hf_json_iter *it)
{
    it->at = it->end;
    return false;
}

struct hf_span hf_json_first(struct hf_span text)
{
    const enum hf_json_type type = hf_json_type(text);
    if (type != HF_JSON_OBJECT && type != HF_JSON_ARRAY)
        return (struct hf_span) { NULL, 0 };
    const char *end = text.p + text.n;
    const char *begin = hf_scan_space(text.p, end), *p = begin;
    return find_container_end(&p, end) ? (struct hf_span) { begin, (size_t)(p - begin) }
                                       : (struct hf_span) { NULL, 0 };
}

bool hf_json_next(struct hf_json_iter *it)
{
    const char *p = hf_scan_space(it->at, it->end);
    if (p < it->end && *p == ',')
        p = hf_scan_space(p + 1, it->end);
    if (p == it->end || *p == '}' || *p == ']')
        return finish(it);
    if (it->is_object) {
        const char *key = p + 1;
        p = skip_string(key, it->end);
        if (p == key)
            return finish(it);
        it->key = (struct hf_span) { key, (size_t)(p - 1 - key) };
        p = hf_scan_space(p, it->end);
        p = hf_scan_space(p < it->end ? p + 1 : p, it->end);
    }
    it->at = skip_value(p, it->end);
    it->value = (struct hf_span) { p, (size_t)(it->at - p) };
    return it->at > p || finish(it);
}

struct hf_span hf_json_get(struct hf_span object, struct hf_span name)
{
    struct hf_json_iter it = hf_json_iter(object);
    if (!it.is_object)
        return (struct hf_span) { NULL, 0 };
    while (hf_json_next(&it)) {
        if (hf_json_key_is(it.key, name))
            return it.value;
    }
    return (struct hf_span) { NULL, 0 };
}

bool hf_json_pick(struct hf_span object, const struct hf_span *names, size_t count,
                  struct hf_span *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (struct hf_span) { NULL, 0 };
    for (struct hf_json_iter it = hf_json_iter(object); it.is_object && hf_json_next(&it);) {
        size_t i = 0;
        while (i < count && !hf_json_key_is(it.key, names[i]))
            i++;
        if (i < count && values[i].p)
            return false;
        if (i < count)
            values[i] = it.value;
    }
    return true;
}

struct hf_span hf_json_path(struct hf_span object, size_t depth, const struct hf_span *names)
{
    for (size_t i = 0; i < depth; i++)
        object = hf_json_get(object, names[i]);
    return object;
}

/* ---- strings, unescaped one character at a time ---- */

struct reader {
    const char *at, *end;
    char bytes[4]; /* what an escape stands for */
    uint8_t have, given;
    bool lone_is_fffd;
};

static unsigned hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* The value of \uXXXX at `p`, or -1 if there is no such thing. */
static int32_t unit_at(const char *p, const char *end)
{
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    return (int32_t)((hex_value(p[2]) & 15) << 12 | (hex_value(p[3]) & 15) << 8 |
                     (hex_value(p[4]) & 15) << 4 | (hex_value(p[5]) & 15));
}

/* A surrogate is written as if it were a character: no text in UTF-8 has those bytes, so two
 * lone surrogates stay different from each other and from everything else. */
static void put_character(struct reader *r, uint32_t c)
{
    r->given = 0;
    if (c < 0x80) {
        r->bytes[0] = (char)c;
        r->have = 1;
        return;
    }
    r->have = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (unsigned i = r->have - 1u; i > 0; i--, c >>= 6)
        r->bytes[i] = (char)(0x80 | (c & 0x3f));
    const unsigned lead = r->have == 2 ? 0xc0 : r->have == 3 ? 0xe0 : 0xf0;
    r->bytes[0] = (char)(lead | c);
}

static void read_unit(struct reader *r, int32_t unit)
{
    r->at += 6;
    uint32_t c = (uint32_t)unit;
    if (c >= 0xd800 && c < 0xdc00) {
        const int32_t low = unit_at(r->at, r->end);
        if (low >= 0xdc00 && low < 0xe000) {
            r->at += 6;
            c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        }
    }
    if (c >= 0xd800 && c < 0xe000 && r->lone_is_fffd)
        c = 0xfffd;
    put_character(r, c);
}

static void read_escape(struct reader *r)
{
    const int32_t unit = unit_at(r->at, r->end);
    if (unit >= 0) {
        read_unit(r, unit);
        return;
    }
    static const char names[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char c = r->end - r->at >= 2 ? r->at[1] : '\\';
    const char *name = c ? strchr(names, c) : NULL;
    r->at = r->end - r->at >= 2 ? r->at + 2 : r->end;
    put_character(r, (unsigned char)(name ? meant[name - names] : c) & 0x7f);
}

/* The next byte of the unescaped text, or -1 at its end. */
static int read_byte(struct reader *r)
{
    if (r->given == r->have) {
        if (r->at == r->end)
            return -1;
        if (*r->at != '\\')
            return (unsigned char)*r->at++;
        read_escape(r);
    }
    return (unsigned char)r->bytes[r->given++];
}

static struct reader reader_of(struct hf_span raw)
{
    return (struct reader) { .at = raw.p, .end = raw.p ? raw.p + raw.n : NULL };
}

/* `raw` is what stands between quotes. */
static bool raw_is(struct hf_span raw, struct hf_span bytes)
{
    /* An escape is longer than what it stands for. */
    if (raw.n < bytes.n)
        return false;
    if (raw.n == bytes.n)
        return hf_span_eq(raw, bytes) && !(raw.n && memchr(raw.p, '\\', raw.n));
    if (!memchr(raw.p, '\\', raw.n))
        return false;
    struct reader r = reader_of(raw);
    for (size_t i = 0; i < bytes.n; i++) {
        if (read_byte(&r) != (unsigned char)bytes.p[i])
            return false;
    }
    return read_byte(&r) < 0;
}

static bool same_raw(struct hf_span a, struct hf_span b)
{
    struct reader left = reader_of(a), right = reader_of(b);
    for (;;) {
        const int byte = read_byte(&left);
        if (byte != read_byte(&right))
            return false;
        if (byte < 0)
            return true;
    }
}

static bool between_quotes(struct hf_span value, struct hf_span *ret_raw)
{
    value = trim(value);
    if (value.n < 2 || value.p[0] != '"')
        return false;
    *ret_raw = (struct hf_span) { value.p + 1, value.n - 2 };
    return true;
}

bool hf_json_key_is(struct hf_span raw_key, struct hf_span name)
{
    return raw_is(raw_key, name);
}

bool hf_json_string_is(struct hf_span string_value, struct hf_span bytes)
{
    struct hf_span raw;
    return between_quotes(string_value, &raw) && raw_is(raw, bytes);
}

bool hf_json_same_scalar(struct hf_span a, struct hf_span b)
{
    struct hf_span raw_a, raw_b;
    if (between_quotes(a, &raw_a) && between_quotes(b, &raw_b))
        return same_raw(raw_a, raw_b);
    return hf_span_eq(trim(a), trim(b));
}

bool hf_json_unescape(struct hf_span string_value, struct hf_buf *out)
{
    struct hf_span raw;
    if (!between_quotes(string_value, &raw))
        return false;
    const size_t before = hf_buf_len(out);
    struct reader r = reader_of(raw);
    r.lone_is_fffd = true;
    while (r.at < r.end) {
        const char *escape = memchr(r.at, '\\', (size_t)(r.end - r.at));
        struct hf_span piece = { r.at, (size_t)((escape ? escape : r.end) - r.at) };
        if (piece.n) {
            r.at += piece.n;
        } else {
            read_escape(&r);
            piece = (struct hf_span) { r.bytes, r.have };
        }
        if (!hf_buf_try_add(out, piece)) {
            out->end = out->start + before;
            return false;
        }
    }
    return true;
}

/* ---- numbers and words ---- */

bool hf_json_is_true(struct hf_span value)
{
    return hf_span_eq(trim(value), HF_SPAN("true"));
}

bool hf_json_int(struct hf_span value, int64_t *ret)
{
    value = trim(value);
    const bool negative = value.n && value.p[0] == '-';
    if (negative)
        value = hf_span_from(value, 1);
    if (value.n == 0)
        return false;
    int64_t sum = 0; /* kept negative: that side reaches one further */
    for (size_t i = 0; i < value.n; i++) {
        const int digit = value.p[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_sub_overflow(sum, digit, &sum))
            return false;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *ret = negative ? sum : -sum;
    return true;
}

bool hf_json_double(struct hf_span value, double *ret)
{
    value = trim(value);
    if (value.n == 0 || (value.p[0] != '-' && (value.p[0] < '0' || value.p[0] > '9')))
        return false;
    /* strtod wants a NUL; a number may be as long as a message, and cutting it would change it.
     * An embedding program may have set a locale with a decimal comma. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *text = hf_span_dup(value), *end;
    const double number = strtod_l(text, &end, plain);
    const bool good = end == text + value.n && isfinite(number);
    hf_free(text);
    freelocale(plain);
    if (good)
        *ret = number;
    return good;
}
