/* slot.h - what a move of a slot does. */
#ifndef HF_CORE_SERVER_SLOT_H
#define HF_CORE_SERVER_SLOT_H

#include <stdbool.h>
#include "core/machine/slot.h"

struct hf_server;
struct hf_session;
struct hf_slot;

void hf_slot_begin_attempt(struct hf_slot *slot, bool is_extra);
void hf_slot_probe_later(struct hf_slot *slot);
void hf_slot_attempt_anew(
    struct hf_slot *slot); /* the running one taught us something: uncharged */
unsigned hf_slot_event(struct hf_slot *slot, enum hf_slot_event event); /* the effects */
void hf_slot_attempt_failed(struct hf_slot *slot, bool is_charged);
void hf_slot_due(struct hf_slot *slot);
void hf_server_review(struct hf_server *server); /* are its names still to be published? */

void hf_slot_set_owner(struct hf_slot *slot, struct hf_session *owner); /* NULL: nobody */
void hf_slot_runtime_gone(struct hf_slot *slot);                        /* one of its runtimes is */
void hf_slot_emptied(struct hf_slot *slot); /* the last of them is, or it never had one */
void hf_slot_forget(struct hf_slot *slot);

#endif
