/*
 * metrics.h - what is worth watching, in the text format of Prometheus.
 *
 * Made of what it is given and of nothing else.
 */
#ifndef HF_FRONT_METRICS_H
#define HF_FRONT_METRICS_H

#include "base/buf.h"
#include "core/status.h"

/* What is worth knowing of the HTTP front at one moment. */
struct hf_http_status {
    uint64_t sessions, connections;
    uint64_t streams;      /* event streams that are open */
    uint64_t replay_bytes; /* of events kept for clients that come back */
};

void hf_metrics_write(struct hf_buf *out, const struct hf_engine_status *engine,
                      const struct hf_http_status *http);

#endif
