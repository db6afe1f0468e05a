/* upstream.h - upstream subscriptions: which updates we ask servers to tell us. */
#ifndef HF_CORE_SUBSCRIPTION_UPSTREAM_H
#define HF_CORE_SUBSCRIPTION_UPSTREAM_H

#include <stdbool.h>
#include "base/span.h"

struct hf_call;
struct hf_msg;
struct hf_runtime;

/* The server of this runtime knows no subscriptions yet, or has lost them: asks for all of them. */
void hf_upstream_restore(struct hf_runtime *runtime);
/* Clients may want this URI now, or not any more: it is looked at in the next review. */
void hf_upstream_mark(struct hf_runtime *runtime, struct hf_span uri);
/* The URI among those that the server was asked for, or NULL. */
char *const *hf_upstream_find(const struct hf_runtime *runtime, const char *spelled);
/* Asks the server for what clients want now, as far as that differs from what it was asked for. */
void hf_upstream_review(struct hf_runtime *runtime);
void hf_upstream_timer(struct hf_runtime *runtime);
/* A legacy server answered a client's own resources/subscribe or resources/unsubscribe. */
void hf_upstream_subscribed(struct hf_runtime *runtime, struct hf_span uri);
void hf_upstream_unsubscribed(struct hf_runtime *runtime, struct hf_span uri);
/* A client's call ended without an answer. After a resources/unsubscribe it is not known whether
 * the server still tells us of the URI. `runtime`: where the call was sent; NULL: nowhere. */
void hf_upstream_unsure(struct hf_runtime *runtime, const struct hf_call *call);
/* False: the notification belongs to a subscriptions/listen of ours that has ended. */
bool hf_upstream_is_current(struct hf_runtime *runtime, const struct hf_call *origin,
                            const struct hf_msg *msg);
/* Requests of legacy clients that modern servers do not know are answered by us in their stead. */
bool hf_upstream_can_answer(const struct hf_call *call);
void hf_upstream_answer(struct hf_call *call);

#endif
