/*
 * http_client_end.c - how a fetch by libcurl ended: how far it got, and in words why it failed.
 */
#include <stdio.h>
#include "base/fold.h"
#include "io/http_client_curl.h"

/* When in doubt: WHOLE. */
static enum hf_sent sent_of(const struct hf_curl_fetch *fetch)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    long size = 0;
    HF_CURL_GET(fetch->easy, CURLINFO_REQUEST_SIZE, &size);
    if (fetch->sends == 0 || (size == fetch->size_before && fetch->uploaded == 0))
        return HF_SENT_NOTHING;
    const bool is_one_send = fetch->sends == 1 && fetch->sockets_behind == 0;
    return is_one_send && (size_t)fetch->uploaded < fetch->body_n ? HF_SENT_PART : HF_SENT_WHOLE;
}

static const char *why_not_connected(struct hf_curl_fetch *fetch)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    long error = 0;
    HF_CURL_GET(fetch->easy, CURLINFO_OS_ERRNO, &error);
    if (error == 0)
        return "no connection";
    snprintf(fetch->why, sizeof fetch->why, "%s", strerror((int)error));
    fetch->why[0] = hf_lower(fetch->why[0]);
    return fetch->why;
}

/* libcurl's own words name hosts, files and certificates; never the URL, headers or passwords. */
static const char *why_in_libcurls_words(struct hf_curl_fetch *fetch, const char *before,
                                         CURLcode code)
{
    const struct hf_curl *curl = fetch->peer->client->curl;
    snprintf(fetch->why, sizeof fetch->why, "%s%s", before,
             fetch->error[0] ? fetch->error : curl->easy_strerror(code));
    for (char *p = fetch->why; *p; p++) {
        if ((unsigned char)*p < ' ')
            *p = ' ';
    }
    return fetch->why;
}

static const char *why_of(struct hf_curl_fetch *fetch, CURLcode code)
{
    if (fetch->is_resend_refused)
        return "the connection closed without an answer";
    if (fetch->has_bad_header)
        return "a header to be sent holds a line break or another control character";
    if (fetch->is_head_too_large)
        return "the head of the answer is too large";
    switch (code) {
    case CURLE_OK: return fetch->status ? "" : "the head of the answer was cut off";
    case CURLE_COULDNT_RESOLVE_HOST: return "its name cannot be resolved";
    case CURLE_COULDNT_RESOLVE_PROXY: return "the name of the proxy cannot be resolved";
    case CURLE_COULDNT_CONNECT: return why_not_connected(fetch);
    case CURLE_OPERATION_TIMEDOUT: return "connecting took too long";
    case CURLE_GOT_NOTHING: return "the connection closed without an answer";
    case CURLE_PARTIAL_FILE: return "the answer was cut off";
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        if (fetch->sends > 0)
            return fetch->status ? "the answer was cut off" : "the connection broke";
        return why_in_libcurls_words(fetch, "", code);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return why_in_libcurls_words(fetch, "TLS: ", code);
    default: return why_in_libcurls_words(fetch, "", code);
    }
}

struct hf_fetch_end hf_curl_end_of(struct hf_curl_fetch *fetch, CURLcode code)
{
    return (struct hf_fetch_end) { .sent = sent_of(fetch),
                                   .status = fetch->status,
                                   .is_whole = code == CURLE_OK && fetch->status != 0,
                                   .why = why_of(fetch, code) };
}
