/*
 * http_client_curl.c - requests by libcurl: https, proxies, unusual URLs and headers.
 *
 *   hf_curl_fetch_start --> starting --settle()--> running --libcurl is done, or answered--> over
 *                                                     `--abort--> aborted --settle()--> gone
 *
 * Each peer has a libcurl multi handle of its own, and with it its own connections and name cache.
 * libcurl must not be called from inside its own callbacks, and most events come from there: while
 * a peer is busy in libcurl, fetches are only put on its lists, and settle() does the rest when
 * libcurl has returned.
 */
#include "io/http_client_curl.h"
#include <assert.h>
#include "base/fold.h"

enum {
    BUFFER_SIZE = 16 * 1024, /* each way and fetch; also one TLS record */
    NAME_CACHE_S = 5,        /* short, so that a moved server is found at its new address */
};

/* --- handles: what is the same for all fetches of a peer is set once --- */

static CURL *new_easy(struct hf_curl_peer *peer)
{
    const struct hf_curl *curl = peer->client->curl;
    CURL *easy = curl->easy_init();
    assert(easy);
    HF_CURL_SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    HF_CURL_SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    HF_CURL_SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    HF_CURL_SET(easy, CURLOPT_USERAGENT, "holdfast/" HF_VERSION); /* many servers require one */
    HF_CURL_SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    HF_CURL_SET(easy, CURLOPT_NOSIGNAL, 1L);
    HF_CURL_SET(easy, CURLOPT_QUICK_EXIT,
                1L); /* else an abort waits for the thread that looks up a name */
    HF_CURL_SET(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_SIZE);
    HF_CURL_SET(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER_SIZE);
    HF_CURL_SET(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)NAME_CACHE_S);
    HF_CURL_SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)peer->connect_ms);
    HF_CURL_SET(easy, CURLOPT_TCP_NODELAY, 1L);
    HF_CURL_SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    HF_CURL_SET(easy, CURLOPT_TCP_KEEPIDLE, (long)HF_TCP_KEEPALIVE_IDLE_S);
    HF_CURL_SET(easy, CURLOPT_TCP_KEEPINTVL, (long)HF_TCP_KEEPALIVE_GAP_S);
    /* Whole seconds only; http_client_sockets.c keeps the exact limit. */
    HF_CURL_SET(easy, CURLOPT_MAXAGE_CONN,
                peer->keep_alive_ms < 1000 ? 1L : peer->keep_alive_ms / 1000L);
    hf_curl_set_callbacks(easy, peer);
    if (peer->ca)
        HF_CURL_SET(easy, CURLOPT_CAINFO, peer->ca);
    if (peer->proxy)
        HF_CURL_SET(easy, CURLOPT_PROXY, peer->proxy);
    return easy;
}

static void set_request(struct hf_curl_fetch *fetch, const struct hf_fetch_spec *spec)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    CURL *easy = fetch->easy;
    const bool is_alone = fetch->peer->keep_alive_ms == 0 || fetch->peer->closes_early;
    HF_CURL_SET(easy, CURLOPT_URL, spec->url);
    HF_CURL_SET(easy, CURLOPT_FRESH_CONNECT, is_alone ? 1L : 0L);
    HF_CURL_SET(easy, CURLOPT_FORBID_REUSE, is_alone ? 1L : 0L);
    HF_CURL_SET(easy, CURLOPT_HTTPHEADER, fetch->headers);
    if (spec->verb == HF_VERB_POST) {
        HF_CURL_SET(easy, CURLOPT_POST, 1L);
        HF_CURL_SET(easy, CURLOPT_POSTFIELDS, fetch->body);
        HF_CURL_SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body_n);
    } else {
        HF_CURL_SET(easy, CURLOPT_HTTPGET, 1L);
    }
    HF_CURL_SET(easy, CURLOPT_CUSTOMREQUEST, spec->verb == HF_VERB_DELETE ? "DELETE" : NULL);
    hf_curl_set_context(curl, easy, fetch);
    HF_CURL_SET(easy, CURLOPT_ERRORBUFFER, fetch->error);
}

/* The handle goes back to its peer, cleared of everything about the fetch. */
static void give_back_easy(struct hf_curl_fetch *fetch)
{
    struct hf_curl_peer *peer = fetch->peer;
    const struct hf_curl *curl = peer->client->curl;
    if (peer->idle_count == HF_IDLE_EASY_MAX) {
        curl->easy_cleanup(fetch->easy);
    } else {
        hf_curl_set_context(curl, fetch->easy, NULL);
        HF_CURL_SET(fetch->easy, CURLOPT_HTTPHEADER, NULL);
        HF_CURL_SET(fetch->easy, CURLOPT_POSTFIELDS, NULL);
        HF_CURL_SET(fetch->easy, CURLOPT_ERRORBUFFER, NULL);
        HF_CURL_SET(fetch->easy, CURLOPT_URL, NULL);
        peer->idle[peer->idle_count++] = fetch->easy;
    }
    fetch->easy = NULL;
}

/* --- the end of a fetch --- */

static void free_fetch(struct hf_curl_fetch *fetch)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    hf_unlink(&fetch->link);
    if (fetch->easy)
        give_back_easy(fetch);
    curl->slist_free_all(fetch->headers);
    hf_buf_done(&fetch->head);
    hf_free(fetch->url);
    hf_free(fetch->body);
    hf_free(fetch);
}

static void finish(struct hf_curl_fetch *fetch, CURLcode code)
{
    struct hf_curl_peer *peer = fetch->peer;
    const struct hf_fetch_end end = hf_curl_end_of(fetch, code);
    (void)peer->client->curl->multi_remove_handle(peer->multi, fetch->easy);
    fetch->has_ended = true;
    hf_unlink(&fetch->link);
    if (!fetch->is_aborted)
        fetch->events.ended(fetch->context, &end);
    free_fetch(fetch);
}

/* --- a peer and its loop --- */

static void destroy_peer(struct hf_curl_peer *peer)
{
    struct hf_http_client *client = peer->client;
    const struct hf_curl *curl = client->curl;
    while (peer->idle_count)
        curl->easy_cleanup(peer->idle[--peer->idle_count]);
    (void)curl->multi_cleanup(peer->multi);
    hf_sockets_leave(&client->sockets, peer);
    hf_cookies_done(&peer->cookies);
    hf_alarm_set(&peer->timer, 0);
    hf_free(peer->ca);
    hf_free(peer->proxy);
    hf_free(peer);
    hf_http_client_lost_half(client);
}

/* Does what had to wait until libcurl returned. The peer may be freed by it. */
static void settle(struct hf_curl_peer *peer)
{
    const struct hf_curl *curl = peer->client->curl;
    struct hf_curl_fetch *fetch;
    assert(!peer->is_busy);
    while ((fetch = HF_LIST_FIRST(&peer->aborted, struct hf_curl_fetch, link))) {
        (void)curl->multi_remove_handle(peer->multi, fetch->easy);
        free_fetch(fetch);
    }
    while ((fetch = HF_LIST_FIRST(&peer->starting, struct hf_curl_fetch, link))) {
        hf_unlink(&fetch->link);
        hf_list_push(&peer->running, &fetch->link);
        const CURLMcode code = curl->multi_add_handle(peer->multi, fetch->easy);
        assert(code == CURLM_OK);
        (void)code;
    }
    if (peer->is_freed)
        destroy_peer(peer);
}

static void drive(struct hf_curl_peer *peer, curl_socket_t fd, int bits)
{
    const struct hf_curl *curl = peer->client->curl;
    int count = 0;
    assert(!peer->is_busy);
    peer->is_busy = true;
    (void)curl->multi_socket_action(peer->multi, fd, bits, &count);
    if (peer->has_blocked_signals)
        hf_signals_let_in(&peer->signals_before);
    peer->has_blocked_signals = false;
    for (CURLMsg *message; (message = curl->multi_info_read(peer->multi, &count));) {
        const CURLcode code = message->data.result;
        struct hf_curl_fetch *fetch = NULL;
        HF_CURL_GET(message->easy_handle, CURLINFO_PRIVATE, &fetch);
        finish(fetch, code);
    }
    for (struct hf_curl_fetch *fetch;
         (fetch = HF_LIST_FIRST(&peer->answered, struct hf_curl_fetch, link));)
        finish(fetch, CURLE_OK);
    peer->is_busy = false;
    settle(peer);
}

/* Reading comes first, and alone: an error makes a socket ready for everything, and libcurl, told
 * to write as well, would throw away an answer of which it has read only a part. It is told that it
 * can write in the next turn. */
void hf_curl_on_ready(void *owner, int fd, unsigned events)
{
    drive(owner, fd, events & HF_READABLE ? CURL_CSELECT_IN : CURL_CSELECT_OUT);
}

void hf_curl_on_early_close(void *owner)
{
    struct hf_curl_peer *peer = owner;
    peer->closes_early = true;
}

static void on_timer(void *context)
{
    drive(context, CURL_SOCKET_TIMEOUT, 0);
}

struct hf_curl_peer *hf_curl_peer_new(struct hf_http_client *client,
                                      const struct hf_peer_spec *spec, struct hf_err *err)
{
    const struct hf_curl *curl = hf_curl_load(err);
    if (!curl)
        return NULL;
    client->curl = curl;
    struct hf_curl_peer *peer = hf_new(struct hf_curl_peer);
    peer->client = client;
    peer->ca = spec->ca ? hf_strdup(spec->ca) : NULL;
    peer->proxy = spec->proxy ? hf_strdup(spec->proxy) : NULL;
    peer->connect_ms = spec->connect_ms;
    peer->keep_alive_ms = spec->keep_alive_ms;
    client->halves++;
    struct hf_link *lists[] = { &peer->starting, &peer->running, &peer->answered, &peer->aborted };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        hf_link_init(lists[i]);
    hf_alarm_init(&peer->timer, client->loop, on_timer, peer);
    peer->multi = curl->multi_init();
    assert(peer->multi);
    (void)curl->multi_setopt(peer->multi, CURLMOPT_MAXCONNECTS, (long)HF_IDLE_CONNECTIONS_MAX);
    hf_curl_peer_set_callbacks(peer);
    return peer;
}

static void abort_fetch(struct hf_fetch *base)
{
    struct hf_curl_fetch *fetch = (struct hf_curl_fetch *)base;
    struct hf_curl_peer *peer = fetch->peer;
    if (fetch->has_ended || fetch->is_aborted)
        return;
    fetch->is_aborted = true;
    hf_unlink(&fetch->link);
    hf_list_push(&peer->aborted, &fetch->link);
    if (!peer->is_busy)
        settle(peer);
}

static void doom_all(struct hf_link *list)
{
    struct hf_curl_fetch *fetch;
    while ((fetch = HF_LIST_FIRST(list, struct hf_curl_fetch, link)))
        abort_fetch(&fetch->base);
}

void hf_curl_peer_free(struct hf_curl_peer *peer)
{
    if (!peer || peer->is_freed)
        return;
    doom_all(&peer->starting);
    doom_all(&peer->running);
    doom_all(&peer->answered);
    peer->is_freed = true;
    if (!peer->is_busy)
        settle(peer);
}

/* --- fetches --- */

static void copy_headers(struct hf_curl_fetch *fetch, const char *const *headers)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    /* no waiting for "100 Continue" before a large body */
    fetch->headers = curl->slist_append(NULL, "Expect:");
    for (; headers && *headers; headers++) {
        const struct hf_span text = hf_span_of(*headers);
        for (size_t i = 0; i < text.n; i++)
            fetch->has_bad_header = fetch->has_bad_header || hf_is_control(text.p[i]);
        size_t n = text.n;
        while (n && text.p[n - 1] == ' ')
            n--;
        /* to libcurl "Name:" means to leave a header out, "Name;" to send it empty */
        char *header = hf_span_dup((struct hf_span) { text.p, n });
        if (n && header[n - 1] == ':')
            header[n - 1] = ';';
        fetch->headers = curl->slist_append(fetch->headers, header);
        hf_free(header);
    }
}

static void copy_body(struct hf_curl_fetch *fetch, const struct hf_span *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fetch->body_n += pieces[i].n;
    fetch->body = hf_realloc(NULL, fetch->body_n + 1);
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        if (pieces[i].n)
            memcpy(fetch->body + at, pieces[i].p, pieces[i].n);
        at += pieces[i].n;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct hf_span header_of(const struct hf_fetch *base, struct hf_span wanted)
{
    const struct hf_curl_fetch *fetch = (const struct hf_curl_fetch *)base;
    struct hf_span value = { NULL, 0 }, head = hf_buf_span(&fetch->head);
    while (head.n) {
        const char *newline = memchr(head.p, '\n', head.n);
        struct hf_span line = { head.p, newline ? (size_t)(newline - head.p) : head.n };
        head = hf_span_from(head, line.n + 1);
        if (line.n <= wanted.n || line.p[wanted.n] != ':' || !hf_fold_starts(line, wanted))
            continue;
        value = hf_span_from(line, wanted.n + 1);
        while (value.n && is_blank(value.p[0]))
            value = hf_span_from(value, 1);
        while (value.n && is_blank(value.p[value.n - 1]))
            value.n--;
    }
    return value;
}

static const struct hf_fetch_way way = { header_of, abort_fetch };

struct hf_fetch *hf_curl_fetch_start(struct hf_curl_peer *peer, const struct hf_fetch_spec *spec,
                                     const struct hf_fetch_events *events, void *context)
{
    assert(!peer->is_freed && events->ended);
    assert(spec->verb == HF_VERB_POST || spec->body_count == 0);
    struct hf_curl_fetch *fetch = hf_new(struct hf_curl_fetch);
    fetch->base.way = &way;
    fetch->peer = peer;
    fetch->events = *events;
    fetch->context = context;
    fetch->may_repeat = spec->may_repeat;
    hf_buf_init(&fetch->head, HF_ANSWER_HEAD_MAX);
    fetch->url = hf_strdup(spec->url);
    copy_headers(fetch, spec->headers);
    hf_curl_add_cookies(fetch);
    copy_body(fetch, spec->body, spec->body_count);
    fetch->easy = peer->idle_count ? peer->idle[--peer->idle_count] : new_easy(peer);
    set_request(fetch, spec);
    hf_list_push(&peer->starting, &fetch->link);
    if (!peer->is_busy)
        settle(peer);
    return &fetch->base;
}
