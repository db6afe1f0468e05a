/* list_changes.h - who is told that a list changed. */
#ifndef HF_CORE_SUBSCRIPTION_LIST_CHANGES_H
#define HF_CORE_SUBSCRIPTION_LIST_CHANGES_H

struct hf_engine;
struct hf_server;

void hf_audiences_hear(
    struct hf_server *server); /* what of it changed, of which nobody was told yet */
void hf_audiences_tell(struct hf_engine *engine); /* in portions of a turn */

#endif
