/* queue.h - calls whose server is not there, or has no place for them. */
#ifndef HF_CORE_CALL_QUEUE_H
#define HF_CORE_CALL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "core/state/engine_state.h"
#include "core/state/server.h"

struct hf_call;
struct hf_client_party;

void hf_slot_touch(struct hf_slot *slot); /* the slot is used: its idle time starts anew */
void hf_slot_review_waiting(struct hf_slot *slot);
void hf_slot_waited_for(struct hf_slot *slot);    /* calls wait for the slot: an extra attempt */
void hf_slot_tell_waiting(struct hf_slot *slot);  /* sends progress: an attempt begins */
void hf_call_arm(struct hf_call *call);           /* for the nearest of the call's deadlines */
bool hf_slot_is_full(const struct hf_slot *slot); /* connected, and at its maxInFlight */
void hf_call_stop_clock(struct hf_call *call, bool stop); /* stops callTimeoutMs, or lets it run */
void hf_call_arrive(struct hf_call *call, struct hf_slot *slot);
/* The calls of one client that wait for the slot; NULL: there are none. */
struct hf_turn *hf_slot_turn_of(const struct hf_slot *slot, const struct hf_session *session);
void hf_call_wait(struct hf_call *call);   /* puts the call into its client's turn, by age */
void hf_call_unwait(struct hf_call *call); /* takes the call out of its turn */
void hf_call_rested(struct hf_call *call); /* rest_until_ms has come: it may be sent */
int64_t hf_call_retry_after_ms(const struct hf_call *call); /* -1: nobody knows */
void hf_call_refuse_by_state(struct hf_call *call); /* server off or given up, or we shut down */
void hf_slot_flush(struct hf_slot *slot); /* dispatches waiting calls while there is room */
void hf_slot_fail_waiting(struct hf_slot *slot);
bool hf_call_is_forsaken(const struct hf_call *call); /* its client has been gone for goneMs */
/* Whether the call may be cancelled for others: it was sent, and its client is gone for goneMs. */
bool hf_call_gives_way(const struct hf_call *call);
void hf_call_give_way(struct hf_call *call);
/* Nobody waits for the call's answer any more, or somebody does again. */
void hf_call_set_gone(struct hf_call *call, bool is_gone);
/* Cancels the one of the party's calls whose client has been gone for longest; false: none of them
 * has been gone for goneMs. */
bool hf_party_cancel_gone(struct hf_client_party *party);
/* Time until the slot's next attempt; -1: none is scheduled. */
static inline int64_t hf_slot_retry_after_ms(const struct hf_slot *slot)
{
    const uint64_t now = slot->server->engine->now_ms;
    if (!slot->due.at_ms)
        return -1;
    return slot->due.at_ms > now ? (int64_t)(slot->due.at_ms - now) : 0;
}

#endif
