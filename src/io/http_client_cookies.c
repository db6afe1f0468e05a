/*
 * http_client_cookies.c - cookies of what goes by libcurl: kept in our own jar, which is bounded.
 *
 * libcurl's keeps whatever it is given, and looks through all of it for each request.
 */
#include "base/fold.h"
#include "base/url.h"
#include "io/http_client_curl.h"

static uint64_t wall_ms(const struct hf_curl_fetch *fetch)
{
    return hf_loop_time(fetch->peer->client->loop).wall_ms;
}

static struct hf_span path_of(const struct hf_url *url)
{
    return hf_span_starts(url->rest, HF_SPAN("/")) ? url->rest : HF_SPAN("/");
}

void hf_curl_add_cookies(struct hf_curl_fetch *fetch)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    struct hf_url url;
    if (!fetch->peer->cookies.count || !hf_url_read(hf_span_of(fetch->url), &url, NULL))
        return;
    static const struct hf_span name = { "Cookie: ", 8 };
    struct hf_buf line;
    hf_buf_init(&line, name.n + HF_COOKIES_LINE_MAX + 1);
    hf_buf_add(&line, name);
    hf_cookies_write(&fetch->peer->cookies, path_of(&url), wall_ms(fetch), &line);
    if (hf_buf_len(&line) > name.n) {
        hf_buf_add_char(&line, '\0');
        fetch->headers = curl->slist_append(fetch->headers, hf_buf_span(&line).p);
    }
    hf_buf_done(&line);
}

static bool is_printable(struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++)
        if (hf_is_control(text.p[i]))
            return false;
    return true;
}

void hf_curl_take_cookies(struct hf_curl_fetch *fetch)
{
    static const struct hf_span name = { "set-cookie:", 11 };
    struct hf_span head = hf_buf_span(&fetch->head);
    struct hf_url url;
    if (!hf_url_read(hf_span_of(fetch->url), &url, NULL))
        return;
    while (head.n) {
        const char *newline = memchr(head.p, '\n', head.n);
        struct hf_span line = { head.p, newline ? (size_t)(newline - head.p) : head.n };
        head = hf_span_from(head, line.n + 1);
        while (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (!hf_fold_starts(line, name) || !is_printable(line))
            continue;
        hf_cookies_take(&fetch->peer->cookies, hf_span_from(line, name.n), url.authority.host,
                        path_of(&url), hf_fold_is(url.scheme, HF_SPAN("https")), wall_ms(fetch));
    }
}
