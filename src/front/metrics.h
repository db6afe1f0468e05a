/*
 * metrics.h - what is worth watching, in the text format of Prometheus.
 *
 * Made of what it is given and of nothing else.
 */
#ifndef HF_FRONT_METRICS_H
#define HF_FRONT_METRICS_H

#include "base/buf.h"
#include "core/status.h"
#include "front/refusals.h"

/* Limits of the HTTP front, of which each party has a share. */
enum hf_front_limit {
    HF_LIMIT_CONNECTIONS, /* streams too */
    HF_LIMIT_BYTES,
    HF_LIMIT_SESSIONS,
    HF_FRONT_LIMITS
};

/* How often those with one token were refused for each limit. */
struct hf_tally {
    char *token; /* its name; "": those without one */
    uint64_t refused[HF_FRONT_LIMITS];
};

struct hf_tallies {
    struct hf_tally *list; /* one for each token that is configured, and the first for none */
    size_t count;
};

/* What is worth knowing of the HTTP front at one moment. */
struct hf_http_status {
    uint64_t sessions, connections;
    uint64_t streams;      /* event streams that are open */
    uint64_t replay_bytes; /* of events kept for clients that come back */
    const struct hf_tallies *tallies;
    const struct hf_refusals *refusals;
};

void hf_metrics_write(struct hf_buf *out, const struct hf_engine_status *engine,
                      const struct hf_http_status *http);

#endif
