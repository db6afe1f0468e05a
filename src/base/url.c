/* url.c - see url.h. */
#include "base/url.h"

enum { HOST_MAX = 255, PORT_MAX = 65535 };

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Names and IPv4 addresses. Other characters are legal in a URL, but in no name that resolves. */
static bool is_name_char(char c)
{
    return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
}

static bool is_address_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}

static bool read_port(struct hf_span digits, int *ret)
{
    int port = 0;
    if (digits.n == 0 || digits.n > 5)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        if (!is_digit(digits.p[i]))
            return false;
        port = port * 10 + (digits.p[i] - '0');
    }
    *ret = port;
    return port <= PORT_MAX;
}

bool hf_authority_read(struct hf_span text, struct hf_authority *ret)
{
    const bool is_literal = text.n > 0 && text.p[0] == '[';
    size_t n = is_literal;
    while (n < text.n && (is_literal ? is_address_char(text.p[n]) : is_name_char(text.p[n])))
        n++;
    if (is_literal && (n == text.n || n == 1 || text.p[n++] != ']'))
        return false;
    if (n == 0 || n > HOST_MAX)
        return false;

    struct hf_authority found = { { text.p, n }, -1 };
    const struct hf_span rest = hf_span_from(text, n);
    if (rest.n > 0 && (rest.p[0] != ':' || !read_port(hf_span_from(rest, 1), &found.port)))
        return false;
    *ret = found;
    return true;
}

/* Backslashes are refused: some readers take them for slashes, others do not. */
static bool stays_as_it_is(struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] <= ' ' || text.p[i] > '~' || strchr("\"<>\\", text.p[i]))
            return false;
    return true;
}

static size_t scheme_length(struct hf_span text)
{
    size_t n = 0;
    while (n < text.n &&
           (is_alpha(text.p[n]) || (n > 0 && (is_digit(text.p[n]) || strchr("+-.", text.p[n])))))
        n++;
    return hf_span_starts(hf_span_from(text, n), HF_SPAN("://")) ? n : 0;
}

bool hf_url_read(struct hf_span text, struct hf_url *ret, struct hf_err *err)
{
    if (!stays_as_it_is(text))
        return hf_fail(err, "a URL has no spaces, control characters, quotes, backslashes or "
                            "letters outside ASCII; write them percent-encoded");
    const size_t n = scheme_length(text);
    if (n == 0)
        return hf_fail(err, "a URL begins with a scheme and two slashes, as in https://");
    if (memchr(text.p, '#', text.n))
        return hf_fail(err, "a URL of a server has no fragment (#…)");

    const struct hf_span after = hf_span_from(text, n + 3);
    size_t end = 0;
    while (end < after.n && after.p[end] != '/' && after.p[end] != '?')
        end++;
    struct hf_url found = { .scheme = { text.p, n }, .rest = hf_span_from(after, end) };
    if (end > 0 && memchr(after.p, '@', end))
        return hf_fail(err, "a URL with a user name in it is not accepted; put it into an "
                            "Authorization header");
    if (!hf_authority_read((struct hf_span) { after.p, end }, &found.authority))
        return hf_fail(err, "its host must be a name, an IPv4 address or an IPv6 address in "
                            "brackets, and its port a number up to 65535");
    *ret = found;
    return true;
}

int hf_scheme_port(struct hf_span scheme)
{
    if (hf_span_is(scheme, "http"))
        return 80;
    return hf_span_is(scheme, "https") ? 443 : -1;
}
