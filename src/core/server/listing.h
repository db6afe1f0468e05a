/* listing.h - a server's lists: fetched, published, fetched again. */
#ifndef HF_CORE_SERVER_LISTING_H
#define HF_CORE_SERVER_LISTING_H

#include "core/machine/method.h"

struct hf_call;
struct hf_msg;
struct hf_runtime;
struct hf_slot;

void hf_listing_fetch(struct hf_runtime *runtime, enum hf_part_id part);
/* The runtime's initialize result and its lists become the server's. */
void hf_listing_install(struct hf_runtime *runtime);
void hf_listing_answered(struct hf_call *call, const struct hf_msg *msg);
void hf_listing_again(struct hf_runtime *runtime, enum hf_part_id part);
void hf_listing_announced(struct hf_runtime *runtime,
                          enum hf_part_id part); /* the server said that the list changed */
void hf_listing_drop(struct hf_runtime *runtime);
void hf_slot_relist(struct hf_slot *slot);

#endif
