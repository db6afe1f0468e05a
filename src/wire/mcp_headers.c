/* mcp_headers.c - see mcp_headers.h. */
#include "wire/mcp_headers.h"
#include <string.h>
#include "base/fold.h"
#include "wire/http_text.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const struct hf_span opening = { "=?base64?", 9 }, closing = { "?=", 2 };
#define ANNOTATION HF_SPAN("x-mcp-header")

/* ---- names ---- */

struct hf_span hf_mcp_name_member(struct hf_span method)
{
    static const struct {
        const char *method;
        struct hf_span member;
    } named[] = {
        { "tools/call", { "name", 4 } },     { "prompts/get", { "name", 4 } },
        { "resources/read", { "uri", 3 } },  { "tasks/get", { "taskId", 6 } },
        { "tasks/update", { "taskId", 6 } }, { "tasks/cancel", { "taskId", 6 } },
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (hf_span_is(method, named[i].method))
            return named[i].member;
    return (struct hf_span) { NULL, 0 };
}

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

static bool is_ascii(struct hf_span value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] != '\t' && (value.p[i] < 0x20 || value.p[i] > 0x7e))
            return false;
    return true;
}

static bool is_plain(struct hf_span value)
{
    return value.n && is_ascii(value) && !memchr(value.p, '\t', value.n) && value.p[0] != ' ' &&
           value.p[value.n - 1] != ' ' && !is_wrapped(value);
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
    if (!header.p || !is_ascii(header) || !add_plain(&plain, json))
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

enum {
    ANNOTATIONS_MAX = 64,
    NESTING_MAX = 32, /* of schemas around one: a walk costs that times their size */
};

struct found {
    struct hf_span names[ANNOTATIONS_MAX]; /* raw strings */
    size_t count;
    const char *fault;
};

/* Most schemas have none, and that is seen at a glance. */
static bool mentions(struct hf_span schema)
{
    return schema.n && memmem(schema.p, schema.n, "x-mcp-header", 12);
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
    if (hf_json_type(name) != HF_JSON_STRING || !hf_http_is_token(unquoted(name)))
        found->fault = "x-mcp-header is not a header name";
    else if (!has_scalar_type(schema))
        found->fault = "x-mcp-header on something else than a string, an integer or a boolean";
    else if (found->count == ANNOTATIONS_MAX)
        found->fault = "too many x-mcp-header";
    for (size_t i = 0; !found->fault && i < found->count; i++)
        if (hf_fold_same(unquoted(found->names[i]), unquoted(name)))
            found->fault = "the same x-mcp-header twice";
    if (!found->fault)
        found->names[found->count++] = name;
}

/* What can be reached by `properties` alone. */
static void find_reachable(struct found *found, struct hf_span schema, unsigned depth)
{
    const struct hf_span properties = hf_json_get(schema, HF_SPAN("properties"));
    for (struct hf_json_iter it = hf_json_iter(properties); hf_json_next(&it) && !found->fault;) {
        if (!mentions(it.value))
            continue;
        const struct hf_span name = hf_json_get(it.value, ANNOTATION);
        if (name.p)
            find_one(found, it.value, name);
        if (depth < NESTING_MAX)
            find_reachable(found, it.value, depth + 1);
    }
}

static bool holds_schemas_by_name(struct hf_span key)
{
    return hf_json_key_is(key, HF_SPAN("properties")) ||
           hf_json_key_is(key, HF_SPAN("patternProperties")) ||
           hf_json_key_is(key, HF_SPAN("dependentSchemas")) ||
           hf_json_key_is(key, HF_SPAN("$defs")) || hf_json_key_is(key, HF_SPAN("definitions"));
}

static bool holds_values(struct hf_span key)
{
    return hf_json_key_is(key, HF_SPAN("default")) || hf_json_key_is(key, HF_SPAN("const")) ||
           hf_json_key_is(key, HF_SPAN("enum")) || hf_json_key_is(key, HF_SPAN("examples"));
}

/* Too deep to look: as if one were there. */
static size_t count_all(struct hf_span schema, unsigned depth)
{
    size_t count = 0;
    if (!mentions(schema))
        return 0;
    if (depth > 2 * NESTING_MAX)
        return 1;
    for (struct hf_json_iter it = hf_json_iter(schema); hf_json_next(&it);) {
        if (it.is_object && hf_json_key_is(it.key, ANNOTATION)) {
            count++;
        } else if (it.is_object && holds_schemas_by_name(it.key)) {
            for (struct hf_json_iter in = hf_json_iter(it.value); hf_json_next(&in);)
                count += count_all(in.value, depth + 1);
        } else if (!it.is_object || !holds_values(it.key)) {
            count += count_all(it.value, depth + 1);
        }
    }
    return count;
}

const char *hf_mcp_schema_fault(struct hf_span schema)
{
    struct found found = { 0 };
    if (!mentions(schema))
        return NULL;
    find_reachable(&found, schema, 0);
    if (!found.fault && count_all(schema, 0) != found.count)
        found.fault = "x-mcp-header where no argument can be told from the schema alone";
    return found.fault;
}

/* ---- arguments ---- */

struct marked { /* a property with an annotation, or with one somewhere inside */
    struct hf_span key, schema, value;
};

/* null has no header, and a number that not everybody reads as the same one has none either. */
static bool has_header(struct hf_span value)
{
    static const double safe_max = 9007199254740991;
    double number;
    switch (hf_json_type(value)) {
    case HF_JSON_STRING:
    case HF_JSON_TRUE:
    case HF_JSON_FALSE: return true;
    case HF_JSON_NUMBER:
        return hf_json_double(value, &number) && number >= -safe_max && number <= safe_max;
    default: return false;
    }
}

/* Both raw: a schema may escape what a client does not. */
static bool same_key(struct hf_span a, struct hf_span b)
{
    if (!memchr(b.p, '\\', b.n))
        return hf_json_key_is(a, b);
    struct hf_buf plain = scratch();
    const bool same = hf_json_unescape((struct hf_span) { b.p - 1, b.n + 2 }, &plain) &&
                      hf_json_key_is(a, hf_buf_span(&plain));
    hf_buf_done(&plain);
    return same;
}

static size_t find_marked(struct hf_span schema, struct marked *ret)
{
    size_t count = 0;
    const struct hf_span properties = hf_json_get(schema, HF_SPAN("properties"));
    for (struct hf_json_iter it = hf_json_iter(properties); hf_json_next(&it);)
        if (count < ANNOTATIONS_MAX && mentions(it.value))
            ret[count++] = (struct marked) { it.key, it.value, { NULL, 0 } };
    return count;
}

static bool walk(struct hf_span schema, struct hf_span arguments, hf_mcp_each *each, void *context,
                 unsigned depth)
{
    struct marked marked[ANNOTATIONS_MAX];
    const size_t count = mentions(schema) && depth <= NESTING_MAX ? find_marked(schema, marked) : 0;
    /* of several arguments of one name the last one counts, as it does for servers */
    for (struct hf_json_iter it = hf_json_iter(arguments); count && hf_json_next(&it);)
        for (size_t i = 0; i < count; i++)
            if (same_key(it.key, marked[i].key))
                marked[i].value = it.value;
    bool goes_on = true;
    for (size_t i = 0; i < count && goes_on; i++) {
        const struct hf_span name = hf_json_get(marked[i].schema, ANNOTATION);
        if (hf_json_type(name) == HF_JSON_STRING && has_header(marked[i].value))
            goes_on = each(context, unquoted(name), marked[i].value);
        if (goes_on && hf_json_type(marked[i].value) == HF_JSON_OBJECT)
            goes_on = walk(marked[i].schema, marked[i].value, each, context, depth + 1);
    }
    return goes_on;
}

bool hf_mcp_params(struct hf_span schema, struct hf_span arguments, hf_mcp_each *each,
                   void *context)
{
    return walk(schema, arguments, each, context, 0);
}
