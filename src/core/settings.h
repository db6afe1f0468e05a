/*
 * settings.h - the numbers and switches of one server, and of the whole process, that the core
 * obeys.
 *
 * Plain values: who set them (a file, the command line, an embedding program) is the business of
 * ops/options.c, whose table names each one, its bounds, its default and its help text.
 */
#ifndef HF_CORE_SETTINGS_H
#define HF_CORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum hf_retry_policy { HF_RETRY_NEVER, HF_RETRY_IDEMPOTENT };
/* The form in which a failed tool call is answered. */
enum hf_errors_as { HF_ERRORS_AS_RESULT, HF_ERRORS_AS_ERROR, HF_ERRORS_UNSAID };
enum hf_isolation { HF_ISOLATION_SHARED, HF_ISOLATION_SESSION };
enum hf_prefix { HF_PREFIX_ALWAYS, HF_PREFIX_NEVER };
enum hf_era { HF_ERA_UNKNOWN, HF_ERA_LEGACY, HF_ERA_MODERN }; /* of a server's protocol */
enum hf_transport { HF_TRANSPORT_AUTO, HF_TRANSPORT_HTTP, HF_TRANSPORT_SSE };

enum { HF_STATUS_MIN = 400, HF_STATUS_MAX = 599 };
struct hf_status_set { /* a set of HTTP error statuses */
    uint64_t bits[(HF_STATUS_MAX - HF_STATUS_MIN) / 64 + 1];
};

static inline bool hf_status_in(const struct hf_status_set *set, int status)
{
    const unsigned at = (unsigned)(status - HF_STATUS_MIN);
    return status >= HF_STATUS_MIN && status <= HF_STATUS_MAX &&
           (set->bits[at / 64] >> at % 64 & 1);
}

struct hf_backoff_settings {
    uint32_t min_ms, max_ms;
    double jitter; /* 0: none, 1: the whole delay is random */
    uint32_t window_ms;
    int32_t attempts;       /* for a server that was connected once; -1: no limit */
    int32_t first_attempts; /* for a server that never was connected */
    uint32_t probe_ms;      /* 0: no probes */
    /* While calls wait for a server that refuses connections, it is tried at least this often; 0:
     * no more often than otherwise. */
    uint32_t waiting_max_ms;
};

struct hf_liveness_settings {
    uint32_t timeout_ms, gap_ms, failures;
};

struct hf_settings { /* of one server */
    bool lazy;
    bool required;    /* without it nobody should send us requests */
    uint32_t idle_ms; /* 0: never stopped for idleness */
    uint32_t wait_ms, call_timeout_ms, call_timeout_max_ms;
    uint32_t start_timeout_ms, list_wait_ms, relist_ms;
    uint32_t ask_ms;       /* how long a client has to answer a server's request */
    uint32_t gone_ms;      /* a client away for this long is given up where others wait */
    enum hf_era era;       /* UNKNOWN: the server is asked */
    uint32_t era_probe_ms; /* a server silent to the era probe for this long is legacy */
    struct hf_backoff_settings reconnect;
    struct hf_liveness_settings liveness;
    uint32_t close_ms, term_ms, kill_ms, eof_ms, drain_ms, stall_ms;
    bool overlap, stateful;
    enum hf_isolation isolation;
    uint32_t max_runtimes;
    uint32_t max_in_flight; /* 0: no limit */
    uint32_t max_waiting;
    enum hf_retry_policy retry;
    enum hf_prefix prefix;
    enum hf_errors_as errors_as;         /* never UNSAID */
    enum hf_transport transport;         /* of a server with a URL */
    struct hf_status_set refused_status; /* the operator vouches: such a call never ran */
};

/* What the clients of one token may have together, whatever is free; 0: no limit of their own. */
struct hf_token_limits {
    uint32_t calls, sessions, streams, subscriptions, rate_per_minute;
    uint64_t bytes;
};

struct hf_limits { /* of the whole process */
    uint64_t max_message_bytes, max_buffered_bytes;
    uint32_t max_depth;
    uint64_t page_bytes;
    uint32_t park_ms;   /* how long a parked call waits for its client's retry */
    uint32_t max_calls; /* under way at a time; 0: as many as the table can hold */
    uint32_t shares;    /* times what is free, one party may have of each limit; 0: all of it */
};

#endif
