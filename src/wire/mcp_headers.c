/* mcp_headers.c - see mcp_headers.h. */
#include "wire/mcp_headers.h"
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const struct hf_span opening = { "=?base64?", 9 }, closing = { "?=", 2 };
#define ANNOTATION HF_SPAN("x-mcp-header")

/* ---- values ---- */

static void add_base64(struct hf_buf *out, struct hf_span bytes)
{
    for (size_t i = 0; i < bytes.n; i += 3) {
        const size_t left = bytes.n - i;
        const unsigned a = (unsigned char)bytes.p[i];
        const unsigned b = left > 1 ? (unsigned char)bytes.p[i + 1] : 0;
        const unsigned c = left > 2 ? (unsigned char)bytes.p[i + 2] : 0;
        hf_buf_add_char(out, digits[a >> 2]);
        hf_buf_add_char(out, digits[(a & 3) << 4 | b >> 4]);
        hf_buf_add_char(out, left > 1 ? digits[(b & 15) << 2 | c >> 6] : '=');
        hf_buf_add_char(out, left > 2 ? digits[c & 63] : '=');
    }
}

static int digit_value(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Strictly: padded, and no bits that mean nothing. */
static bool decode_base64(struct hf_span text, struct hf_buf *out)
{
    if (text.n % 4)
        return false;
    for (size_t i = 0; i < text.n; i += 4) {
        const bool last = i + 4 == text.n;
        const unsigned pad = !last || text.p[i + 3] != '=' ? 0u : text.p[i + 2] == '=' ? 2u : 1u;
        int values[4] = { 0 };
        for (unsigned k = 0; k < 4 - pad; k++)
            if ((values[k] = digit_value(text.p[i + k])) < 0)
                return false;
        if ((pad == 2 && (values[1] & 15)) || (pad == 1 && (values[2] & 3)))
            return false;
        hf_buf_add_char(out, (char)(values[0] << 2 | values[1] >> 4));
        if (pad < 2)
            hf_buf_add_char(out, (char)((values[1] & 15) << 4 | values[2] >> 2));
        if (pad < 1)
            hf_buf_add_char(out, (char)((values[2] & 3) << 6 | values[3]));
    }
    return true;
}

static bool is_wrapped(struct hf_span value)
{
    return value.n >= opening.n + closing.n && hf_span_starts(value, opening) &&
           hf_span_eq(hf_span_from(value, value.n - closing.n), closing);
}

static bool is_plain(struct hf_span value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < 0x20 || value.p[i] > 0x7e)
            return false;
    return value.n && value.p[0] != ' ' && value.p[value.n - 1] != ' ' && !is_wrapped(value);
}

static struct hf_buf scratch(void)
{
    struct hf_buf buf;
    hf_buf_init(&buf, SIZE_MAX / 2);
    return buf;
}

/* The scalar as plain text. */
static bool add_plain(struct hf_buf *out, struct hf_span json)
{
    switch (hf_json_type(json)) {
    case HF_JSON_STRING: return hf_json_unescape(json, out);
    case HF_JSON_NUMBER:
    case HF_JSON_TRUE:
    case HF_JSON_FALSE: hf_buf_add(out, json); return true;
    default: return false;
    }
}

bool hf_mcp_value_add(struct hf_buf *out, struct hf_span json)
{
    struct hf_buf plain = scratch();
    const bool has = add_plain(&plain, json);
    const struct hf_span value = hf_buf_span(&plain);
    if (has && is_plain(value)) {
        hf_buf_add(out, value);
    } else if (has) {
        hf_buf_add(out, opening);
        add_base64(out, value);
        hf_buf_add(out, closing);
    }
    hf_buf_done(&plain);
    return has;
}

bool hf_mcp_value_is(struct hf_span header, struct hf_span json)
{
    struct hf_buf said = scratch(), plain = scratch();
    bool same = false;
    double a, b;
    if (!header.p || !add_plain(&plain, json))
        goto out;
    if (!is_wrapped(header))
        hf_buf_add(&said, header);
    else if (!decode_base64(
                 (struct hf_span) { header.p + opening.n, header.n - opening.n - closing.n },
                 &said))
        goto out;
    same = hf_span_eq(hf_buf_span(&said), hf_buf_span(&plain));
    if (!same && hf_json_type(json) == HF_JSON_NUMBER) {
        struct hf_json_error error;
        same = hf_json_check(hf_buf_span(&said), 1, &error) &&
               hf_json_type(hf_buf_span(&said)) == HF_JSON_NUMBER &&
               hf_json_double(hf_buf_span(&said), &a) && hf_json_double(json, &b) && a == b;
    }
out:
    hf_buf_done(&said);
    hf_buf_done(&plain);
    return same;
}

/* ---- annotations ---- */

enum { ANNOTATIONS_MAX = 64 };

struct found {
    struct hf_span names[ANNOTATIONS_MAX]; /* raw strings */
    size_t count;
    const char *fault;
};

static bool is_token(struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && (!c || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return text.n > 0;
}

static bool same_but_case(struct hf_span a, struct hf_span b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool has_scalar_type(struct hf_span schema)
{
    const struct hf_span type = hf_json_get(schema, HF_SPAN("type"));
    return hf_json_string_is(type, HF_SPAN("string")) ||
           hf_json_string_is(type, HF_SPAN("integer")) ||
           hf_json_string_is(type, HF_SPAN("boolean"));
}

static struct hf_span unquoted(struct hf_span string)
{
    return (struct hf_span) { string.p + 1, string.n - 2 };
}

static void find_one(struct found *found, struct hf_span schema, struct hf_span name)
{
    if (hf_json_type(name) != HF_JSON_STRING || !is_token(unquoted(name)))
        found->fault = "x-mcp-header is not a header name";
    else if (!has_scalar_type(schema))
        found->fault = "x-mcp-header on something else than a string, an integer or a boolean";
    else if (found->count == ANNOTATIONS_MAX)
        found->fault = "too many x-mcp-header";
    for (size_t i = 0; !found->fault && i < found->count; i++)
        if (same_but_case(unquoted(found->names[i]), unquoted(name)))
            found->fault = "the same x-mcp-header twice";
    if (!found->fault)
        found->names[found->count++] = name;
}

/* What can be reached by `properties` alone. */
static void find_reachable(struct found *found, struct hf_span schema)
{
    const struct hf_span properties = hf_json_get(schema, HF_SPAN("properties"));
    for (struct hf_json_iter it = hf_json_iter(properties); hf_json_next(&it) && !found->fault;) {
        const struct hf_span name = hf_json_get(it.value, ANNOTATION);
        if (name.p)
            find_one(found, it.value, name);
        find_reachable(found, it.value);
    }
}

static bool holds_schemas_by_name(struct hf_span key)
{
    return hf_json_key_is(key, HF_SPAN("properties")) ||
           hf_json_key_is(key, HF_SPAN("patternProperties")) ||
           hf_json_key_is(key, HF_SPAN("$defs")) || hf_json_key_is(key, HF_SPAN("definitions"));
}

static bool holds_values(struct hf_span key)
{
    return hf_json_key_is(key, HF_SPAN("default")) || hf_json_key_is(key, HF_SPAN("const")) ||
           hf_json_key_is(key, HF_SPAN("enum")) || hf_json_key_is(key, HF_SPAN("examples"));
}

static size_t count_all(struct hf_span schema)
{
    size_t count = 0;
    for (struct hf_json_iter it = hf_json_iter(schema); hf_json_next(&it);) {
        if (it.is_object && hf_json_key_is(it.key, ANNOTATION)) {
            count++;
        } else if (it.is_object && holds_schemas_by_name(it.key)) {
            for (struct hf_json_iter in = hf_json_iter(it.value); hf_json_next(&in);)
                count += count_all(in.value);
        } else if (!it.is_object || !holds_values(it.key)) {
            count += count_all(it.value);
        }
    }
    return count;
}

const char *hf_mcp_schema_fault(struct hf_span schema)
{
    struct found found = { 0 };
    find_reachable(&found, schema);
    if (!found.fault && count_all(schema) != found.count)
        found.fault = "x-mcp-header where no argument can be told from the schema alone";
    return found.fault;
}

bool hf_mcp_params(struct hf_span schema, struct hf_span arguments, hf_mcp_each *each,
                   void *context)
{
    const struct hf_span properties = hf_json_get(schema, HF_SPAN("properties"));
    for (struct hf_json_iter it = hf_json_iter(properties); hf_json_next(&it);) {
        struct hf_span value = { NULL, 0 };
        for (struct hf_json_iter in = hf_json_iter(arguments); hf_json_next(&in);)
            if (hf_span_eq(in.key, it.key) || hf_json_key_is(in.key, it.key))
                value = in.value;
        const struct hf_span name = hf_json_get(it.value, ANNOTATION);
        const bool is_scalar =
            value.p && hf_json_type(value) >= HF_JSON_STRING && hf_json_type(value) != HF_JSON_NULL;
        if (hf_json_type(name) == HF_JSON_STRING && is_scalar &&
            !each(context, unquoted(name), value))
            return false;
        if (value.p && !hf_mcp_params(it.value, value, each, context))
            return false;
    }
    return true;
}
