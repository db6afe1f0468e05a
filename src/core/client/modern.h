/* modern.h - requests that carry their own introduction (2026-07-28). */
#ifndef HF_CORE_CLIENT_MODERN_H
#define HF_CORE_CLIENT_MODERN_H

#include <stdbool.h>
#include "base/span.h"

struct hf_buf;
struct hf_incoming;
struct hf_session;

/* Answers a request that has not become a call. */
void hf_reply_result(const struct hf_incoming *in, struct hf_span result);
/* Refuses a request whose `_meta` (version, capabilities) or method is wrong; true: it did. */
bool hf_modern_refuse_wrong(const struct hf_incoming *in);
/* The result for server/discover; good until hf_engine_collect. */
struct hf_span hf_modern_discover_result(struct hf_session *session);
/* A result of holdfast's own as a modern client expects it; good until hf_engine_collect. */
struct hf_span hf_modern_dressed(struct hf_session *session, struct hf_span result,
                                 bool is_cacheable);
/* Adds serverInfo as a member of a result's `_meta`; no comma before or behind. */
void hf_modern_add_info(struct hf_buf *out, const struct hf_session *session);

#endif
