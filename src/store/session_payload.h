/*
 * session_payload.h - what is kept of a client session beside what it is found by, as JSON.
 *
 *     {"v":1,"version":"2025-06-18","hello":{…},"logLevel":"info","subscriptions":["a://b",…],
 *      "names":[["given","server","its own"],…]}
 *
 * A member that a reader does not know is passed over, so that a newer holdfast may add some. One
 * that is missing has its empty value. A text that is not that JSON, or of another `v`, is refused
 * whole: its session is then one that nobody knows.
 */
#ifndef HF_STORE_SESSION_PAYLOAD_H
#define HF_STORE_SESSION_PAYLOAD_H

#include "base/arena.h"
#include "base/span.h"

struct hf_given_name { /* what a client was told that a thing is called */
    struct hf_span given, server, own;
};

struct hf_session_payload {
    struct hf_span version;   /* of the protocol */
    struct hf_span hello;     /* params of its initialize, raw JSON: capabilities, clientInfo */
    struct hf_span log_level; /* empty: never set */
    struct hf_span *subscriptions;
    struct hf_given_name *names;
    size_t subscription_count, name_count;
    struct hf_arena arena; /* of what was read */
};

enum { HF_SESSION_PAYLOAD_MAX = 4 << 20, HF_SESSION_ITEMS_MAX = 100000 };

/* False: it would be longer than HF_SESSION_PAYLOAD_MAX, and `out` is as it was. */
HF_MUST_CHECK bool hf_session_payload_write(const struct hf_session_payload *payload,
                                            struct hf_buf *out);
/* For hf_session_payload_done. False: it is none. */
HF_MUST_CHECK bool hf_session_payload_read(struct hf_span text,
                                           struct hf_session_payload *ret_payload);
void hf_session_payload_done(struct hf_session_payload *payload);

#endif
