/* config_plain.c - see config_plain.h. */
#include "ops/config_plain.h"

/* The position after the closing quote, or the end of the text; `at` is after the opening quote. */
static size_t string_end(const char *text, size_t length, size_t at)
{
    for (; at < length; at++) {
        if (text[at] == '\\')
            at++;
        else if (text[at] == '"')
            return at + 1;
    }
    return length;
}

/* The end of the comment that begins at `at`; `at` itself if there is none, or if it has no end. */
static size_t comment_end(const char *text, size_t length, size_t at)
{
    const struct hf_span rest = { text + at, length - at };
    const bool is_line = hf_span_starts(rest, HF_SPAN("//"));
    if (!is_line && !hf_span_starts(rest, HF_SPAN("/*")))
        return at;
    const char *end =
        is_line ? memchr(rest.p, '\n', rest.n) : memmem(rest.p + 2, rest.n - 2, "*/", 2);
    if (!end)
        return is_line ? length : at;
    return (size_t)(end - text) + (is_line ? 0 : 2);
}

static void blank(char *text, size_t from, size_t to)
{
    for (; from < to; from++)
        if (text[from] != '\n' && text[from] != '\r')
            text[from] = ' ';
}

void hf_config_plain(char *text, size_t length)
{
    size_t comma = length;                 /* position of a comma that was the last token so far */
    char before_comma = '\0', last = '\0'; /* characters that are neither space nor comment */
    for (size_t at = 0; at < length;) {
        const char c = text[at];
        const size_t end = comment_end(text, length, at);
        if (end > at || c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            blank(text, at, end);
            at = end > at ? end : at + 1;
            continue;
        }
        if (c == ',') {
            comma = at;
            before_comma = last;
        } else {
            const bool follows_item = before_comma && !strchr("{[,:", before_comma);
            if ((c == '}' || c == ']') && comma < length && follows_item)
                text[comma] = ' ';
            comma = length;
        }
        last = c;
        at = c == '"' ? string_end(text, length, at + 1) : at + 1;
    }
}
