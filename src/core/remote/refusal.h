/* refusal.h - was a call turned away because its session, or its era, is not known any more?  1. */
#ifndef HF_CORE_REMOTE_REFUSAL_H
#define HF_CORE_REMOTE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>
#include "core/machine/http_body.h"

struct hf_call;
struct hf_form;
struct hf_runtime;
struct hf_slot;

/* A call was turned away, and perhaps only because its session or its era is not known any more. */
struct hf_refusal {
    int status;
    struct hf_form form; /* in which way; none: in a way that is like no other */
    uint64_t session;    /* the number of the session it was sent under */
    bool had_session;    /* it carried its id */
    bool is_of_era;      /* it was modern, and no session was in it */
    bool waits;   /* as a stranger is; and is the next session, or era, turned away as well? */
    char *answer; /* an error with its own id: what it gets if it was about the call; or NULL */
};

void hf_refusal_examine(struct hf_call *call,
                        const struct hf_refusal *doubt); /* answer: taken over */
void hf_refusal_unproven(struct hf_call *call); /* its runtime is gone before that, or its time */
void hf_refusal_drop(struct hf_call *call);     /* it leaves its runtime; no doubt: nothing */
/* Something under its current session was turned away; `form` NULL: so that it says in any case
 * that the session is not known. Or its own stream was. */
void hf_remote_refused(struct hf_runtime *runtime, int status, const struct hf_form *form);
void hf_remote_stream_refused(struct hf_runtime *runtime, int status);
/* A client's call was, in a way that proves nothing of the call: whether the session is served at
 * all is looked into, but not soon after it was made anew. */
void hf_remote_call_refused(struct hf_runtime *runtime, int status);
void hf_refusals_next(struct hf_runtime *runtime); /* it has a new session, or is new itself */
void hf_refusals_in_vain(struct hf_slot *slot);    /* the next one is turned away as well */
/* What was asked to find out was turned away; `form` NULL or none: unreadably, or not in time. */
void hf_inquiry_over(struct hf_call *call, int status, bool is_read, const struct hf_form *form);
bool hf_inquiry_is_stranger(const struct hf_call *call); /* NULL: no */

#endif
