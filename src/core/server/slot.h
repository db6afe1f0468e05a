/* slot.h - what a change of a slot's state does. */
#ifndef HF_CORE_SERVER_SLOT_H
#define HF_CORE_SERVER_SLOT_H

#include <stdbool.h>
#include "core/machine/slot.h"

struct hf_server;
struct hf_session;
struct hf_slot;

void hf_slot_begin_attempt(struct hf_slot *slot, bool is_extra);
void hf_slot_probe_later(struct hf_slot *slot);
/* Replaces the running attempt, because it taught us something; nothing is charged for it. */
void hf_slot_attempt_anew(struct hf_slot *slot);
unsigned hf_slot_event(struct hf_slot *slot, enum hf_slot_event event); /* returns the effects */
void hf_slot_attempt_failed(struct hf_slot *slot, bool is_charged);
void hf_slot_due(struct hf_slot *slot);
void hf_server_review(struct hf_server *server); /* publishes or hides the server's names */

void hf_slot_set_owner(struct hf_slot *slot, struct hf_session *owner); /* NULL: nobody */
void hf_slot_runtime_gone(struct hf_slot *slot); /* a runtime of the slot is gone */
/* The slot's last runtime is gone, or it never had one. */
void hf_slot_emptied(struct hf_slot *slot);
void hf_slot_forget(struct hf_slot *slot);

#endif
