/*
 * era.h - what the two eras of the protocol call things, and how a message is rewritten for each.
 *
 * Legacy (2024-11-05 … 2025-11-25): initialize, then state per connection. Modern (2026-07-28):
 * every request says in its own `_meta` who the client is and what it can do.
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

/* A request that is modern says so in its `_meta`. */
static inline bool hf_era_is_modern(const struct hf_msg *msg)
{
    return msg->meta.p && hf_json_get(msg->meta, HF_SPAN(HF_META_VERSION)).p;
}

/* The members that make a request modern, without braces: version, client, capabilities and, where
 * p is not NULL, the log level (a raw string). */
void hf_era_add_meta(struct hf_buf *out, struct hf_span client_info, struct hf_span capabilities,
                     struct hf_span level);

struct hf_insert { /* bytes to be put into a text at offset `at` */
    size_t at;
    char *bytes; /* owned; NULL: nothing */
    size_t length;
    size_t replaces; /* how many bytes of the text `bytes` stands for */
};
enum { HF_INSERTS_MAX = 2 };
/* Where the members of a modern `_meta` go into a request that has none of them, and with them
 * further members of `params` (`extra`, without braces, may be empty). `ret` is in the order of the
 * text. */
void hf_era_dress(struct hf_span text, struct hf_span meta, struct hf_span extra,
                  struct hf_insert ret[HF_INSERTS_MAX]);

/* The reverse: `_meta` without the members that make a request modern, since a server of both eras
 * would take the request for a modern one in the middle of its session. `token` (raw, in the text;
 * p NULL: none) is the client's progress token; `by` takes its place. */
void hf_era_strip(struct hf_span text, struct hf_span token, struct hf_span by,
                  struct hf_insert ret[HF_INSERTS_MAX]);

size_t hf_era_weight(const struct hf_insert inserts[HF_INSERTS_MAX]); /* bytes of all inserts */
void hf_era_undress(struct hf_insert inserts[HF_INSERTS_MAX]);

/* What a legacy server's result lacks for a modern client: `ret` goes behind the opening braces of
 * the result and of its `_meta`. `server_info` is raw and may be empty; `is_cacheable`: ttlMs and
 * cacheScope too. */
void hf_era_complete(struct hf_span result, struct hf_span server_info, bool is_cacheable,
                     struct hf_insert ret[HF_INSERTS_MAX]);

#endif
