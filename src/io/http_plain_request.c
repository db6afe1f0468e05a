/* http_plain_request.c - a URL, and the text of a request. */
#include <arpa/inet.h>
#include "base/fold.h"
#include "base/url.h"
#include "io/http_plain_parts.h"

enum { PORT = 80, HEAD_REST = 512 }; /* the part of a head that is not the caller's */

/* ---- URLs ---- */

static bool is_localhost(struct hf_span host)
{
    static const struct hf_span name = { "localhost", 9 };
    return host.n >= name.n && hf_fold_is(hf_span_from(host, host.n - name.n), name) &&
           (host.n == name.n || host.p[host.n - name.n - 1] == '.');
}

/* "." or ".." as a segment: libcurl, as other clients, removes them from a path. */
static bool has_dot_segments(struct hf_span target)
{
    const char *query = target.n ? memchr(target.p, '?', target.n) : NULL;
    struct hf_span left = { target.p, query ? (size_t)(query - target.p) : target.n };
    while (left.n) {
        const char *slash = memchr(left.p, '/', left.n);
        const struct hf_span part = { left.p, slash ? (size_t)(slash - left.p) : left.n };
        if (hf_span_is(part, ".") || hf_span_is(part, ".."))
            return true;
        left = hf_span_from(left, part.n + 1);
    }
    return false;
}

static void add_v4(struct hf_plain_url *url, struct in_addr address)
{
    url->at[url->at_count++].v4 = (struct sockaddr_in) { .sin_family = AF_INET,
                                                         .sin_port = htons((uint16_t)url->port),
                                                         .sin_addr = address };
}

static void add_v6(struct hf_plain_url *url, const struct in6_addr *address)
{
    url->at[url->at_count++].v6 = (struct sockaddr_in6) { .sin6_family = AF_INET6,
                                                          .sin6_port = htons((uint16_t)url->port),
                                                          .sin6_addr = *address };
}

/* A host whose last label begins with a digit is no name but a number, in one of many forms. */
static bool is_name(struct hf_span host)
{
    size_t last = host.n;
    while (last > 0 && host.p[last - 1] != '.')
        last--;
    return last < host.n && host.p[0] != '.' && !(host.p[last] >= '0' && host.p[last] <= '9');
}

/* Addresses, and "localhost", which means the same everywhere (RFC 6761). */
static bool find_addresses(struct hf_plain_url *url)
{
    char text[INET6_ADDRSTRLEN + 1];
    struct in_addr v4;
    struct in6_addr v6;
    const bool is_v6 = url->host.p[0] == '[';
    const struct hf_span host =
        is_v6 ? (struct hf_span) { url->host.p + 1, url->host.n - 2 } : url->host;
    url->at_count = 0;
    url->is_loopback = false;
    url->is_name = !is_v6 && !is_localhost(host) && is_name(host);
    if (url->is_name)
        return true;
    if (is_localhost(host)) {
        url->is_loopback = true;
        add_v6(url, &in6addr_loopback);
        add_v4(url, (struct in_addr) { htonl(INADDR_LOOPBACK) });
        return true;
    }
    if (host.n >= sizeof text)
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    if (is_v6 && inet_pton(AF_INET6, text, &v6) == 1) {
        url->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
        add_v6(url, &v6);
    } else if (!is_v6 && inet_pton(AF_INET, text, &v4) == 1) {
        url->is_loopback = ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
        add_v4(url, v4);
    }
    return url->at_count > 0;
}

bool hf_plain_url_read(const char *text, struct hf_plain_url *ret)
{
    struct hf_url url;
    if (strncmp(text, "http://", 7) != 0 || !hf_url_read(hf_span_of(text), &url, NULL) ||
        url.authority.port == 0 || has_dot_segments(url.rest))
        return false;
    ret->host = url.authority.host;
    ret->port = url.authority.port < 0 ? PORT : url.authority.port;
    ret->target = url.rest;
    return find_addresses(ret);
}

bool hf_plain_may_carry(const char *const *headers)
{
    static const struct hf_span framing[] = {
        { "connection:", 11 }, { "content-length:", 15 }, { "transfer-encoding:", 18 },
        { "expect:", 7 },      { "upgrade:", 8 },
    };
    for (; headers && *headers; headers++)
        for (size_t i = 0; i < sizeof framing / sizeof *framing; i++)
            if (strncasecmp(*headers, framing[i].p, framing[i].n) == 0)
                return false;
    return true;
}

/* ---- the text of a request ---- */

struct own_headers { /* which of the headers that we would write are the caller's own */
    bool host, accept, user_agent;
    size_t bytes;
};

static struct own_headers look_at_headers(struct hf_plain_fetch *fetch, const char *const *headers)
{
    struct own_headers own = { .bytes = 0 };
    for (; headers && *headers; headers++) {
        const struct hf_span text = hf_span_of(*headers);
        own.bytes += text.n + 2;
        own.host |= hf_fold_starts(text, HF_SPAN("host:"));
        own.accept |= hf_fold_starts(text, HF_SPAN("accept:"));
        own.user_agent |= hf_fold_starts(text, HF_SPAN("user-agent:"));
        for (size_t i = 0; i < text.n; i++)
            if (hf_is_control(text.p[i]))
                fetch->why_not =
                    "a header to be sent holds a line break or another control character";
    }
    return own;
}

static void write_first_line(struct hf_plain_fetch *fetch, enum hf_verb verb, struct hf_span target)
{
    static const char *const verbs[] = {
        [HF_VERB_GET] = "GET ", [HF_VERB_POST] = "POST ", [HF_VERB_DELETE] = "DELETE "
    };
    struct hf_buf *out = &fetch->out;
    hf_buf_add_str(out, verbs[verb]);
    fetch->target_at = out->end;
    if (target.n == 0 || target.p[0] != '/')
        hf_buf_add_str(out, "/");
    hf_buf_add(out, target);
    fetch->target_n = out->end - fetch->target_at;
    hf_buf_add_str(out, " HTTP/1.1\r\n");
}

static void write_host(struct hf_plain_fetch *fetch, const struct hf_plain_url *url)
{
    struct hf_buf *out = &fetch->out;
    hf_buf_add_str(out, "Host: ");
    hf_buf_add(out, url->host);
    if (url->port != PORT) {
        hf_buf_add_str(out, ":");
        hf_buf_add_u64(out, (uint64_t)url->port);
    }
    hf_buf_add_str(out, "\r\n");
}

static void write_headers(struct hf_buf *out, const char *const *headers)
{
    for (; headers && *headers; headers++) {
        struct hf_span text = hf_span_of(*headers);
        while (text.n && text.p[text.n - 1] == ' ')
            text.n--;
        hf_buf_add(out, text);
        hf_buf_add_str(out, "\r\n");
    }
}

static void write_cookies(struct hf_plain_fetch *fetch, struct hf_span target)
{
    struct hf_plain_peer *peer = fetch->peer;
    struct hf_buf *out = &fetch->out;
    const size_t before = out->end;
    if (!peer->cookies.count)
        return;
    hf_buf_add_str(out, "Cookie: ");
    const size_t begin = out->end;
    hf_cookies_write(&peer->cookies, hf_span_starts(target, HF_SPAN("/")) ? target : HF_SPAN("/"),
                     hf_loop_time(peer->loop).wall_ms, out);
    if (out->end == begin)
        out->end = before;
    else
        hf_buf_add_str(out, "\r\n");
}

void hf_plain_write_request(struct hf_plain_fetch *fetch, const struct hf_fetch_spec *spec,
                            const struct hf_plain_url *url)
{
    struct hf_buf *out = &fetch->out;
    const struct own_headers own = look_at_headers(fetch, spec->headers);
    size_t body_n = 0;
    if (fetch->why_not)
        return;
    fetch->is_loopback = url->is_loopback;
    for (unsigned i = 0; i < spec->body_count; i++)
        body_n += spec->body[i].n;
    out->max = HEAD_REST + url->host.n + url->target.n + own.bytes + HF_COOKIES_LINE_MAX + body_n;
    write_first_line(fetch, spec->verb, url->target);
    if (!own.host)
        write_host(fetch, url);
    if (!own.user_agent)
        hf_buf_add_str(out,
                       "User-Agent: holdfast/" HF_VERSION "\r\n"); /* many servers require one */
    if (!own.accept)
        hf_buf_add_str(out, "Accept: */*\r\n");
    write_cookies(fetch, url->target);
    write_headers(out, spec->headers);
    if (spec->verb == HF_VERB_POST) {
        hf_buf_add_str(out, "Content-Length: ");
        hf_buf_add_u64(out, body_n);
        hf_buf_add_str(out, "\r\n");
    }
    hf_buf_add_str(out, "\r\n");
    for (unsigned i = 0; i < spec->body_count; i++)
        hf_buf_add(out, spec->body[i]);
}

/* ---- cookies ---- */

void hf_plain_take_cookies(struct hf_plain_fetch *fetch)
{
    const struct hf_http_head *head = &fetch->reply.response.head;
    struct hf_plain_peer *peer = fetch->peer;
    const struct hf_span target = { fetch->out.p + fetch->target_at, fetch->target_n };
    const struct hf_span host = { fetch->host, strlen(fetch->host) };
    for (size_t i = 0; i < head->header_count; i++)
        if (hf_fold_is(head->headers[i].name, HF_SPAN("set-cookie")))
            hf_cookies_take(&peer->cookies, head->headers[i].value, host, target,
                            fetch->is_loopback, hf_loop_time(peer->loop).wall_ms);
}
