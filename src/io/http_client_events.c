/*
 * http_client_events.c - libcurl's callbacks, which come from inside our calls to libcurl.
 *
 * Nothing here may call libcurl, except to read information of a handle.
 */
#include "io/http_client_curl.h"

/* libcurl's thread inherits our signal mask, and a signal that it caught would disturb the lookup.
 * drive() unblocks the signals. */
static int on_lookup(void *unused, void *reserved, void *context)
{
    struct hf_curl_peer *peer = context;
    (void)unused, (void)reserved;
    if (!peer->has_blocked_signals)
        hf_signals_keep_out(&peer->signals_before);
    peer->has_blocked_signals = true;
    return 0;
}

static curl_socket_t on_open_socket(void *context, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    struct hf_curl_fetch *fetch = context;
    struct hf_curl_peer *peer = fetch->peer;
    (void)purpose;
    if (fetch->sends > 0)
        fetch->sockets_behind++;
    return hf_sockets_open(&peer->client->sockets, peer, peer->keep_alive_ms, address->family,
                           address->socktype, address->protocol);
}

static int on_close_socket(void *context, curl_socket_t fd)
{
    struct hf_curl_peer *peer = context;
    hf_sockets_close(&peer->client->sockets, fd);
    return 0;
}

/* A server may answer before it has read the whole request. libcurl then goes on writing, for ever
 * if the server does not read, and reports a failure if a write fails. */
static void notice_early_answer(struct hf_curl_peer *peer, CURL *easy, int what)
{
    const struct hf_curl *curl = peer->client->curl;
    struct hf_curl_fetch *fetch = NULL;
    if (what != CURL_POLL_OUT)
        return;
    HF_CURL_GET(easy, CURLINFO_PRIVATE, &fetch);
    if (!fetch || fetch->is_aborted || fetch->status == 0)
        return;
    hf_unlink(&fetch->link);
    hf_list_push(&peer->answered, &fetch->link);
}

static int on_want(CURL *easy, curl_socket_t fd, int what, void *context, void *unused)
{
    struct hf_curl_peer *peer = context;
    (void)unused;
    notice_early_answer(peer, easy, what);
    unsigned events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= HF_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= HF_WRITABLE;
    hf_sockets_want(&peer->client->sockets, peer, fd, events);
    return 0;
}

static int on_timer_wanted(CURLM *multi, long timeout_ms, void *context)
{
    struct hf_curl_peer *peer = context;
    (void)multi;
    hf_alarm_set(&peer->timer,
                 timeout_ms < 0 ? 0 : hf_loop_now_ms(peer->client->loop) + (uint64_t)timeout_ms);
    return 0;
}

/* Called before every send, the first one and those that libcurl adds by itself when a connection
 * that it used again died (Curl_retry_request; 417, 401 and others too). Those are allowed only
 * while nothing can have reached the peer, and once for a request that may repeat. */
static int on_about_to_send(void *context, char *remote, char *local, int remote_port,
                            int local_port)
{
    struct hf_curl_fetch *fetch = context;
    const struct hf_curl *curl = fetch->peer->client->curl;
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    if (fetch->is_aborted || fetch->has_bad_header)
        return CURL_PREREQFUNC_ABORT;
    long size = 0;
    HF_CURL_GET(fetch->easy, CURLINFO_REQUEST_SIZE, &size);
    if (fetch->sends++ == 0) {
        fetch->size_before = size;
        if (fetch->events.sending)
            fetch->events.sending(fetch->context);
        return fetch->is_aborted ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
    }
    const bool may_have_arrived = size != fetch->size_before || fetch->uploaded > 0;
    fetch->peer->closes_early |= may_have_arrived;
    fetch->is_resend_refused = may_have_arrived && !(fetch->may_repeat && fetch->sends == 2);
    return fetch->is_resend_refused ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* CURLINFO_REQUEST_SIZE counts only what the first call to send() took, and CURLINFO_SIZE_UPLOAD_T
 * starts anew when libcurl connects again, even if it gets no further. This callback comes after
 * every send, so the largest value ever seen is that of the first connection. */
static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct hf_curl_fetch *fetch = context;
    (void)down_total, (void)down, (void)up_total;
    if (up > fetch->uploaded)
        fetch->uploaded = up;
    return 0;
}

static size_t on_head_line(char *bytes, size_t one, size_t n, void *context)
{
    struct hf_curl_fetch *fetch = context;
    const struct hf_curl *curl = fetch->peer->client->curl;
    const struct hf_span line = { bytes, n };
    (void)one;
    if (fetch->is_aborted)
        return 0;
    if (fetch->status != 0)
        return n; /* a trailer */
    if (hf_span_starts(line, HF_SPAN("HTTP/")))
        hf_buf_clear(&fetch->head);
    if (line.p[0] != '\r' && line.p[0] != '\n') {
        fetch->is_head_too_large = !hf_buf_try_add(&fetch->head, line);
        return fetch->is_head_too_large ? 0 : n;
    }
    long status = 0;
    HF_CURL_GET(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return n; /* 1xx: the real answer follows */
    fetch->status = (int)status;
    hf_curl_take_cookies(fetch);
    if (fetch->events.head)
        fetch->events.head(fetch->context, fetch->status);
    return fetch->is_aborted ? 0 : n;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *context)
{
    struct hf_curl_fetch *fetch = context;
    (void)one;
    if (!fetch->is_aborted && fetch->events.bytes)
        fetch->events.bytes(fetch->context, (struct hf_span) { bytes, n });
    return fetch->is_aborted ? 0 : n;
}

void hf_curl_peer_set_callbacks(struct hf_curl_peer *peer)
{
    const struct hf_curl *curl = peer->client->curl;
    (void)curl->multi_setopt(peer->multi, CURLMOPT_SOCKETFUNCTION, on_want);
    (void)curl->multi_setopt(peer->multi, CURLMOPT_SOCKETDATA, peer);
    (void)curl->multi_setopt(peer->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
    (void)curl->multi_setopt(peer->multi, CURLMOPT_TIMERDATA, peer);
}

void hf_curl_set_callbacks(CURL *easy, struct hf_curl_peer *peer)
{
    const struct hf_curl *curl = peer->client->curl;
    HF_CURL_SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
    HF_CURL_SET(easy, CURLOPT_CLOSESOCKETDATA, peer); /* connections outlive fetches */
    HF_CURL_SET(easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup);
    HF_CURL_SET(easy, CURLOPT_RESOLVER_START_DATA, peer);
    HF_CURL_SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    HF_CURL_SET(easy, CURLOPT_PREREQFUNCTION, on_about_to_send);
    HF_CURL_SET(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    HF_CURL_SET(easy, CURLOPT_NOPROGRESS, 0L);
    HF_CURL_SET(easy, CURLOPT_HEADERFUNCTION, on_head_line);
    HF_CURL_SET(easy, CURLOPT_WRITEFUNCTION, on_body);
}

void hf_curl_set_context(const struct hf_curl *curl, CURL *easy, struct hf_curl_fetch *fetch)
{
    static const CURLoption options[] = { CURLOPT_PRIVATE,    CURLOPT_OPENSOCKETDATA,
                                          CURLOPT_PREREQDATA, CURLOPT_XFERINFODATA,
                                          CURLOPT_HEADERDATA, CURLOPT_WRITEDATA };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        HF_CURL_SET(easy, options[i], fetch);
}
