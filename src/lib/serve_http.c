/* serve_http.c - starts the HTTP front as the configuration says. */
#include <stdio.h>
#include "front/http.h"
#include "holdfast/holdfast.h"
#include "io/nofile.h"
#include "lib/library_parts.h"

/* A connection can take the largest message and what HTTP adds to it. */
static struct hf_http_limits limits_for(const struct hf_limits *limits)
{
    const struct hf_http_limits *usual = &hf_http_limits_default;
    struct hf_http_limits http = *usual;
    http.body_bytes = limits->max_message_bytes;
    http.unwritten_bytes = limits->max_message_bytes + usual->unwritten_bytes - usual->body_bytes;
    http.held_bytes = limits->max_buffered_bytes;
    http.shares = limits->shares;
    return http;
}

bool hf_serve_http(struct hf *hf, const struct hf_config *config, char url[HF_ERROR_SIZE],
                   char error[HF_ERROR_SIZE])
{
    const struct hf_serve_config *serve = &config->serve;
    struct hf_err err;
    if (!hf_config_may_serve(config, &err)) {
        (void)snprintf(error, HF_ERROR_SIZE, "%s", err.text);
        return false;
    }
    hf_nofile_raise();
    const struct hf_http_front_spec spec = {
        .http = { .listen = serve->listen,
                  .cert = serve->tls_cert,
                  .key = serve->tls_key,
                  .limits = limits_for(&config->limits) },
        .log = { hf_library_log_refusal, hf },
        .limits = &config->limits,
        .session_ttl_ms = serve->session_ttl_ms,
        .max_sessions = serve->max_sessions,
    };
    struct hf_http_front *front =
        hf_http_front_new(hf_library_shell(hf), &spec, hf_library_access(config), &err);
    if (!front) {
        (void)snprintf(error, HF_ERROR_SIZE, "%s", err.text);
        return false;
    }
    hf_library_take_front(hf, front);
    (void)snprintf(url, HF_ERROR_SIZE, "%s", hf_http_front_url(front));
    return true;
}
