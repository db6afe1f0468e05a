/* faults.h - what goes wrong with remote servers, how exchanges with them end, and what modern
 * servers are met with; and the time of it all. */
#ifndef HF_TEST_FAULTS_H
#define HF_TEST_FAULTS_H

#include "core/engine.h"

/* The clock on the wall jumps about: nothing may depend on it. */
static inline struct hf_now at(uint64_t mono_ms)
{
    return (struct hf_now) { mono_ms, UINT64_C(1700000000000) + mono_ms * 7919 % 1000000007 };
}

#define FAULTS(X)                                                                                  \
    X(REFUSED, "connection refused")                                                               \
    X(NO_NAME, "no such host")                                                                     \
    X(NOTHING, "connected, nothing sent")                                                          \
    X(PART, "cut within the body")                                                                 \
    X(UNREAD, "sent whole, never read whole")                                                      \
    X(BALANCER, "5xx before the server")                                                           \
    X(GATE, "4xx before the server")                                                               \
    X(RETRY_AFTER, "Retry-After")                                                                  \
    X(FORGOTTEN_400, "unknown session: 400")                                                       \
    X(FORGOTTEN_401, "unknown session: 401")                                                       \
    X(FORGOTTEN_403, "unknown session: 403")                                                       \
    X(FORGOTTEN_404, "unknown session: 404")                                                       \
    X(BEFORE_EFFECT, "lost before the effect")                                                     \
    X(AFTER_EFFECT, "lost after the effect")                                                       \
    X(HEAD_CUT, "head of the answer cut")                                                          \
    X(BODY_CUT, "JSON answer cut")                                                                 \
    X(RESET, "answered, then reset")                                                               \
    X(STREAM_CUT, "stream without ids cut")                                                        \
    X(STREAM_CUT_LATER, "stream with ids cut")                                                     \
    X(POLLED, "closed in mid-request, to be resumed")                                              \
    X(RESUMED, "resumed")                                                                          \
    X(RESUME_VAIN, "resumed in vain")                                                              \
    X(RESUME_GONE, "resume refused")                                                               \
    X(LATE_4XX, "4xx after the effect")                                                            \
    X(LATE_5XX, "5xx after the effect")                                                            \
    X(EARLY_500, "500 before the effect")                                                          \
    X(ANSWER_IN_4XX, "4xx whose body is the answer")                                               \
    X(EMPTY, "2xx without an answer")                                                              \
    X(REDIRECT, "redirect")                                                                        \
    X(TWICE, "answered twice")                                                                     \
    X(STRANGE_ID, "answer to an unknown id")                                                       \
    X(ELSEWHERE, "answered on another stream")                                                     \
    X(NO_END, "never ends")                                                                        \
    X(TOO_LARGE, "answer too large")                                                               \
    X(MALFORMED, "answer malformed")                                                               \
    X(ASKS, "asks on a call's stream")                                                             \
    X(ASKS_ALONE, "asks on its own stream")                                                        \
    X(NEWS, "list_changed on its own stream")                                                      \
    X(NO_STREAM, "405 to GET")                                                                     \
    X(LISTEN_CUT, "its own stream cut")                                                            \
    X(LISTEN_CLOSED, "its own stream closed")                                                      \
    X(STALE_ID, "Last-Event-ID refused")                                                           \
    X(RESTART, "restart")                                                                          \
    X(DOWN, "down for a while")                                                                    \
    X(FORGETS, "forgets a session")                                                                \
    X(HELLO_AUTH, "initialize: 401 or 403")                                                        \
    X(HELLO_ERROR, "initialize: an error")                                                         \
    X(HELLO_LOST, "initialize: lost or never answered")                                            \
    X(OLDER, "HTTP+SSE spoken")                                                                    \
    X(OLDER_SILENT, "HTTP+SSE: no endpoint")                                                       \
    X(FOREIGN_STDIN, "writes into its own stdin")                                                  \
    X(NO_CLIENT, "no HTTP client to be had")                                                       \
    X(MISMATCH, "-32020: a header is missing")                                                     \
    X(MISMATCH_LIE, "-32020: none is missing")                                                     \
    X(REVISION, "-32022: of the other era")                                                        \
    X(WENT_BACK, "modern request to an older server")                                              \
    X(DISCOVER_ERROR, "server/discover: an error")                                                 \
    X(INPUT, "input wanted")                                                                       \
    X(INPUT_LOST, "input wanted, and lost on the way")                                             \
    X(SUBSCRIPTION_REFUSED, "subscription refused")                                                \
    X(SUBSCRIPTION_MUTE, "subscription not acknowledged")                                          \
    X(SUBSCRIPTION_ENDED, "subscription ended at once")
#define FAULT_ENUM(id, name) FAULT_##id,
enum fault { FAULTS(FAULT_ENUM) FAULT_COUNT };

#define FATES(X) /* of posts, as the engine is told */                                             \
    X(UNSENT, "unsent")                                                                            \
    X(PARTIAL, "partial")                                                                          \
    X(LOST, "lost")                                                                                \
    X(CUT, "cut")                                                                                  \
    X(WHOLE, "whole")                                                                              \
    X(S3XX, "3xx")                                                                                 \
    X(S4XX, "4xx")                                                                                 \
    X(S5XX, "5xx")                                                                                 \
    X(ABORTED_UNSENT, "aborted unsent")                                                            \
    X(ABORTED, "aborted")
#define FATE_ENUM(id, name) FATE_##id,
enum fate { FATES(FATE_ENUM) FATE_COUNT };
enum { VERB_COUNT = HF_EXCHANGE_DELETE + 1 };

#define MODERN(X) /* what modern servers, and the question which era one speaks, were met with */  \
    X(SERVERS, "servers that are modern or both")                                                  \
    X(UPGRADES, "replaced in place by one of another era")                                         \
    X(PROBES, "questions which era it speaks")                                                     \
    X(PROBE_SILENCES, "of which met with silence")                                                 \
    X(PROBE_DEATHS, "with an exit")                                                                \
    X(PROBE_ODDITIES, "with an odd answer")                                                        \
    X(ROUNDS, "rounds of input")                                                                   \
    X(RETRIES, "retries with it")                                                                  \
    X(LISTENS, "listens")                                                                          \
    X(ACKNOWLEDGED, "of which acknowledged")                                                       \
    X(LISTENS_ENDED, "refused or ended by the server")                                             \
    X(UPDATES, "updates of resources somebody follows")                                            \
    X(TASKS, "tasks asked for")
#define MODERN_ENUM(id, name) MODERN_##id,
enum modern { MODERN(MODERN_ENUM) MODERN_COUNT };

enum {
    ODDITIES = 7,       /* ways in which an answer cannot be read */
    STRANGER = 1000000, /* a session that was made up */
};

enum words {                 /* in the body of a refusal */
             WORDS_GATE,     /* of whoever stands before the server */
             WORDS_UNKNOWN,  /* of the server: to a session, or an era, that it does not know */
             WORDS_OWN,      /* of a tool */
             WORDS_ODD,      /* an answer that cannot be read to its end */
             WORDS_REVISION, /* of a modern server: it does not speak this one */
};

#endif
