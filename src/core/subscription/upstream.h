/* upstream.h - what we ask servers to tell us of. */
#ifndef HF_CORE_SUBSCRIPTION_UPSTREAM_H
#define HF_CORE_SUBSCRIPTION_UPSTREAM_H

#include <stdbool.h>
#include "base/span.h"

struct hf_call;
struct hf_msg;
struct hf_runtime;
struct hf_upstream;

void hf_upstream_restore(
    struct hf_runtime *runtime); /* it knows nothing yet, or nothing any more */
/* That URI may be wanted now, or not any more. */
void hf_upstream_mark(struct hf_runtime *runtime, struct hf_span uri);
/* In its `uris`, or NULL. */
char *const *hf_upstream_find(const struct hf_upstream *upstream, const char *spelled);
void hf_upstream_review(struct hf_runtime *runtime);
void hf_upstream_timer(struct hf_runtime *runtime);
/* A client's own request was answered by a legacy server. */
void hf_upstream_subscribed(struct hf_runtime *runtime, struct hf_span uri);
void hf_upstream_unsubscribed(struct hf_runtime *runtime, struct hf_span uri);
/* It was sent (NULL: it was not), and ended without an answer: what the server now tells us of is
 * not known. */
void hf_upstream_unsure(struct hf_runtime *runtime, const struct hf_call *call);
/* False: it belongs to a listening of ours that has ended. */
bool hf_upstream_is_current(struct hf_runtime *runtime, const struct hf_call *origin,
                            const struct hf_msg *msg);
/* Requests that only the older revisions have are answered in a modern server's stead. */
bool hf_upstream_can_answer(const struct hf_call *call);
void hf_upstream_answer(struct hf_call *call);

#endif
