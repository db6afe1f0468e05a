/* queue.h - calls whose server is not there, or has no place for them. */
#ifndef HF_CORE_CALL_QUEUE_H
#define HF_CORE_CALL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "core/state/engine_state.h"
#include "core/state/server.h"

struct hf_call;

void hf_slot_touch(struct hf_slot *slot); /* used just now: the idle clock starts anew */
void hf_slot_review_waiting(struct hf_slot *slot);
void hf_slot_waited_for(struct hf_slot *slot);            /* and tried again for that */
void hf_slot_tell_waiting(struct hf_slot *slot);          /* progress: an attempt begins */
void hf_call_arm(struct hf_call *call);                   /* for the nearest of its deadlines */
bool hf_slot_is_full(const struct hf_slot *slot);         /* connected, and at its maxInFlight */
void hf_call_stop_clock(struct hf_call *call, bool stop); /* of callTimeoutMs, or let it go on */
void hf_call_arrive(struct hf_call *call, struct hf_slot *slot);
void hf_call_wait(struct hf_call *call);                    /* joins its client's turn, by age */
void hf_call_unwait(struct hf_call *call);                  /* leaves it */
void hf_call_rested(struct hf_call *call);                  /* it may be sent again */
int64_t hf_call_retry_after_ms(const struct hf_call *call); /* -1: nobody knows */
void hf_call_refuse_by_state(struct hf_call *call); /* switched off, given up, shutting down */
void hf_slot_flush(struct hf_slot *slot); /* dispatches what waits, as far as there is room */
void hf_slot_fail_waiting(struct hf_slot *slot);
bool hf_call_is_forsaken(const struct hf_call *call); /* its client has been gone for goneMs */
/* Until its next attempt; -1: none is due. */
static inline int64_t hf_slot_retry_after_ms(const struct hf_slot *slot)
{
    const uint64_t now = slot->server->engine->now_ms;
    if (!slot->due.at_ms)
        return -1;
    return slot->due.at_ms > now ? (int64_t)(slot->due.at_ms - now) : 0;
}

#endif
