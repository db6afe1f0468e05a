/*
 * metrics.h - metrics in the text format of Prometheus. Pure: reads only its arguments.
 */
#ifndef HF_FRONT_METRICS_H
#define HF_FRONT_METRICS_H

#include "base/buf.h"
#include "core/status.h"
#include "front/refusals.h"
#include "io/turn_times.h"

/* Limits of the HTTP front, of which each party has a share. */
enum hf_front_limit {
    HF_LIMIT_CONNECTIONS, /* streams too */
    HF_LIMIT_BYTES,
    HF_LIMIT_SESSIONS,
    HF_LIMIT_RATE,
    HF_LIMIT_OF_ENGINE, /* and those behind it: of what the engine shares */
    HF_FRONT_LIMITS = HF_LIMIT_OF_ENGINE + HF_SHARED_COUNT
};
static inline enum hf_front_limit hf_limit_of_engine(enum hf_shared what)
{
    return (enum hf_front_limit)(HF_LIMIT_OF_ENGINE + what);
}
const char *hf_limit_name(enum hf_front_limit limit); /* as in the metrics */

/* How often clients with one token were refused because of each limit. */
struct hf_tally {
    char *token;       /* its name; "": clients without a token */
    uint64_t answered; /* requests */
    uint64_t refused[HF_FRONT_LIMITS];
    uint64_t calls, sessions; /* of a token, now */
};

struct hf_tallies {
    struct hf_tally *list; /* the first for clients without a token, then one for each token */
    size_t count;
};

/* The HTTP front at one moment. */
struct hf_http_status {
    uint64_t sessions, connections;
    uint64_t streams;      /* event streams that are open */
    uint64_t replay_bytes; /* of events kept for clients that come back */
    const struct hf_tallies *tallies;
    const struct hf_refusals *refusals;
    const struct hf_turn_times *turns; /* NULL: they are not measured */
};

void hf_metrics_write(struct hf_buf *out, const struct hf_engine_status *engine,
                      const struct hf_http_status *http);

#endif
