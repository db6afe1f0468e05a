/* uri_template.c - see uri_template.h. */
#include "base/uri_template.h"

static struct hf_span literal_at_start(struct hf_span text)
{
    const char *end = text.n ? memchr(text.p, '{', text.n) : NULL;
    return (struct hf_span) { text.p, end ? (size_t)(end - text.p) : text.n };
}

static struct hf_span after_expression(struct hf_span text)
{
    const char *end = memchr(text.p, '}', text.n);
    return hf_span_from(text, end ? (size_t)(end - text.p) + 1 : text.n);
}

static bool ends_with(struct hf_span text, struct hf_span end)
{
    return text.n >= end.n && hf_span_eq(hf_span_from(text, text.n - end.n), end);
}

bool hf_uri_template_matches(struct hf_span uri_template, struct hf_span uri)
{
    struct hf_span rest = uri_template, literal = literal_at_start(rest);
    if (!hf_span_starts(uri, literal))
        return false;
    uri = hf_span_from(uri, literal.n);
    rest = hf_span_from(rest, literal.n);
    if (rest.n == 0)
        return uri.n == 0;
    for (;;) {
        rest = after_expression(rest);
        literal = literal_at_start(rest);
        rest = hf_span_from(rest, literal.n);
        if (rest.n == 0)
            return ends_with(uri, literal);
        /* The first match is as good as any other: the expression takes what is before it, and it
         * leaves the longest rest. memmem is linear. */
        const char *at = uri.n ? memmem(uri.p, uri.n, literal.p, literal.n) : uri.p;
        if (!at || (literal.n && !uri.n))
            return false;
        uri = hf_span_from(uri, (size_t)(at - uri.p) + literal.n);
    }
}
