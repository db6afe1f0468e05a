/*
 * http_client_curl.h - what the files that use libcurl share. Private to io/http_client*.c.
 */
#ifndef HF_IO_HTTP_CLIENT_CURL_H
#define HF_IO_HTTP_CLIENT_CURL_H

#include "base/buf.h"
#include "io/curl_load.h"
#include "io/http_client_parts.h"
#include "io/signals.h"
#include "wire/cookies.h"

enum { HF_IDLE_EASY_MAX = 16 }; /* handles kept for the next fetches of a peer */

struct hf_curl_peer {
    struct hf_http_client *client;
    CURLM *multi;
    struct hf_cookies cookies;
    char *ca, *proxy;
    uint32_t connect_ms, keep_alive_ms;
    struct hf_alarm timer; /* libcurl's */
    struct hf_link starting, running, answered, aborted;
    CURL *idle[HF_IDLE_EASY_MAX];
    unsigned idle_count;
    bool is_busy, is_freed;
    bool has_blocked_signals; /* libcurl is making a thread that looks up a name: signals are kept
                                 out */
    sigset_t signals_before;
    bool closes_early; /* it has closed a connection right after an answer, unannounced */
};

struct hf_curl_fetch {
    struct hf_fetch base;
    struct hf_link link; /* in one of its peer's lists */
    struct hf_curl_peer *peer;
    CURL *easy;
    struct hf_fetch_events events;
    void *context;
    struct curl_slist *headers;
    char *url, *body;
    size_t body_n;
    bool has_bad_header; /* a header to be sent is invalid: the request is not sent */
    bool may_repeat;
    bool is_aborted, has_ended;

    struct hf_buf head; /* lines of the answer's head */
    int status;         /* 0: no whole head yet */
    bool is_head_too_large;

    /* evidence */
    unsigned sends;      /* how often libcurl was about to send the request */
    long size_before;    /* CURLINFO_REQUEST_SIZE before that: bytes of the CONNECT to a proxy */
    curl_off_t uploaded; /* most bytes of the body that were ever reported as sent */
    unsigned sockets_behind; /* opened after the first send */
    bool is_resend_refused;

    char error[CURL_ERROR_SIZE]; /* libcurl's own words */
    char why[CURL_ERROR_SIZE + 64];
};

/* both need `curl` in scope */
#define HF_CURL_SET(easy, option, value) ((void)curl->easy_setopt(easy, option, value))
#define HF_CURL_GET(easy, info, ret)     ((void)curl->easy_getinfo(easy, info, ret))

/* Called once per handle. */
void hf_curl_set_callbacks(CURL *easy, struct hf_curl_peer *peer);
/* Called once per fetch; NULL: the handle belongs to no fetch any more. */
void hf_curl_set_context(const struct hf_curl *curl, CURL *easy, struct hf_curl_fetch *fetch);
void hf_curl_peer_set_callbacks(struct hf_curl_peer *peer);

/* The peer's cookies for a request, as one header; and those of an answer whose head is whole. */
void hf_curl_add_cookies(struct hf_curl_fetch *fetch);
void hf_curl_take_cookies(struct hf_curl_fetch *fetch);

/* How the fetch ended. `why` is valid as long as the fetch. */
struct hf_fetch_end hf_curl_end_of(struct hf_curl_fetch *fetch, CURLcode code);

#endif
