/*
 * fuzz_mcp_headers.c - what we write into a header, we read as the same.
 *
 * Three lines: a header value, a schema, arguments; the last two only count if they are JSON. Every
 * scalar among the arguments must survive its own header, whatever stands in the first line must be
 * compared without harm, and a schema without faults must be walked to its end.
 */
#include "fuzz/fuzz.h"
#include "wire/mcp_headers.h"

enum { OUT_MAX = 1 << 20, DEPTH_MAX = 512 };

static struct hf_span take_line(struct hf_span *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    const struct hf_span line = { rest->p, end ? (size_t)(end - rest->p) : rest->n };
    *rest = hf_span_from(*rest, line.n + (end != NULL));
    return line;
}

static bool is_json(struct hf_span text)
{
    struct hf_json_error error;
    return text.n && hf_json_check(text, DEPTH_MAX, &error);
}

static void check_value(struct hf_span said, struct hf_span json)
{
    struct hf_buf out;
    hf_buf_init(&out, OUT_MAX);
    (void)hf_mcp_value_is(said, json);
    if (hf_mcp_value_add(&out, json)) {
        const struct hf_span header = hf_buf_span(&out);
        MUST(header.n && header.p[0] != ' ' && header.p[header.n - 1] != ' ');
        for (size_t i = 0; i < header.n; i++)
            MUST(header.p[i] >= 0x20 && header.p[i] <= 0x7e);
        MUST(hf_mcp_value_is(header, json));
    }
    hf_buf_done(&out);
}

static bool count_param(void *context, struct hf_span name, struct hf_span value)
{
    size_t *count = context;
    MUST(name.n && value.n);
    check_value(name, value);
    ++*count;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hf_span rest = { (const char *)data, size };
    const struct hf_span said = take_line(&rest);
    const struct hf_span schema = take_line(&rest), arguments = rest;
    if (size > OUT_MAX / 2 || !is_json(schema) || !is_json(arguments))
        return 0;
    check_value(said, arguments);
    for (struct hf_json_iter it = hf_json_iter(arguments); hf_json_next(&it);)
        check_value(said, it.value);
    size_t count = 0;
    if (!hf_mcp_schema_fault(schema)) {
        MUST(hf_mcp_params(schema, arguments, count_param, &count));
        MUST(count <= 64);
    }
    return 0;
}
