/*
 * era.h - what the two eras of the protocol call things, and how a message is dressed for each.
 *
 * Legacy (2024-11-05 … 2025-11-25): initialize, then state per connection. Modern (2026-07-28):
 * every request says who asks and what he can do, in its own `_meta`.
 */
#ifndef HF_CORE_ERA_H
#define HF_CORE_ERA_H

#include "base/buf.h"
#include "core/settings.h"
#include "wire/json.h"
#include "wire/jsonrpc.h"

#define HF_MODERN_VERSION  "2026-07-28"
#define HF_META_PREFIX     "io.modelcontextprotocol/"
#define HF_META_VERSION    HF_META_PREFIX "protocolVersion"
#define HF_META_CAPABLE    HF_META_PREFIX "clientCapabilities"
#define HF_META_CLIENT     HF_META_PREFIX "clientInfo"
#define HF_META_CALLER     "dev.holdfast/caller"
#define HF_META_KEY        "dev.holdfast/idempotencyKey"
#define HF_META_LEVEL      HF_META_PREFIX "logLevel"
#define HF_META_SERVER     HF_META_PREFIX "serverInfo"
#define HF_META_LISTEN     HF_META_PREFIX "subscriptionId"
#define HF_EXTENSION_TASKS HF_META_PREFIX "tasks"

enum { /* error codes of the modern revision */
       HF_CODE_HEADER_MISMATCH = -32020,
       HF_CODE_MISSING_CAPABILITY = -32021,
       HF_CODE_UNSUPPORTED_VERSION = -32022,
};

/* A request that says of itself that it is modern. */
static inline bool hf_era_is_modern(const struct hf_msg *msg)
{
    return msg->meta.p && hf_json_get(msg->meta, HF_SPAN(HF_META_VERSION)).p;
}

/* The members that make a request modern, without braces: version, client, capabilities and, where
 * p is not NULL, the log level (a raw string). */
void hf_era_add_meta(struct hf_buf *out, struct hf_span client_info, struct hf_span capabilities,
                     struct hf_span level);

struct hf_insert { /* bytes to be put into a text, at this place of it */
    size_t at;
    char *bytes; /* owned; NULL: nothing */
    size_t length;
    size_t replaces; /* this many bytes of the text */
};
enum { HF_INSERTS_MAX = 2 };
/* Where the members of a modern `_meta`, and members of `params` beside it (`extra`, without
 * braces, may be empty), go into a request that has none of them yet. `ret` in the order of the
 * text. */
void hf_era_dress(struct hf_span text, struct hf_span meta, struct hf_span extra,
                  struct hf_insert ret[HF_INSERTS_MAX]);

/* The other way: `_meta` without the members that make a request modern. A server of both eras
 * would take it for a modern one in the middle of its session. `token` (raw, in the text; p NULL:
 * none) is the progress token of the client, and `by` stands in its place. */
void hf_era_strip(struct hf_span text, struct hf_span token, struct hf_span by,
                  struct hf_insert ret[HF_INSERTS_MAX]);

size_t hf_era_weight(const struct hf_insert inserts[HF_INSERTS_MAX]); /* bytes */
void hf_era_undress(struct hf_insert inserts[HF_INSERTS_MAX]);

/* What the result of a legacy server lacks for a modern client: `ret_insert` goes behind the
 * result's opening brace. `server_info` raw, may be empty; `is_cacheable`: ttlMs and cacheScope
 * too. */
void hf_era_complete(struct hf_span result, struct hf_span server_info, bool is_cacheable,
                     struct hf_insert ret[HF_INSERTS_MAX]);

#endif
