/* modern.h - requests that carry their own introduction (2026-07-28). */
#ifndef HF_CORE_CLIENT_MODERN_H
#define HF_CORE_CLIENT_MODERN_H

#include <stdbool.h>
#include "base/span.h"

struct hf_buf;
struct hf_incoming;
struct hf_session;

/* Answers to a request that has not become a call. */
void hf_reply_result(const struct hf_incoming *in, struct hf_span result);
/* Refuses what is wrong with its introduction, and says whether it did. */
bool hf_modern_refuse_wrong(const struct hf_incoming *in);
struct hf_span hf_modern_discover_result(struct hf_session *session);
/* A result of ours as a modern client expects it; good until collect. */
struct hf_span hf_modern_dressed(struct hf_session *session, struct hf_span result,
                                 bool is_cacheable);
/* Who answers, for the `_meta` of a result; no comma. */
void hf_modern_add_info(struct hf_buf *out, const struct hf_session *session);

#endif
