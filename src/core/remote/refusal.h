/* refusal.h - was a call turned away because its session, or its era, is not known any more? */
#ifndef HF_CORE_REMOTE_REFUSAL_H
#define HF_CORE_REMOTE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>
#include "core/machine/http_body.h"

struct hf_call;
struct hf_form;
struct hf_runtime;
struct hf_slot;

/* The refusal of a call that is being examined: perhaps the call was turned away only because its
 * session or its era is not known any more. */
struct hf_refusal {
    int status;
    struct hf_form form; /* how the call was turned away; status 0: like nothing else */
    uint64_t session;    /* the number of the session that the call was sent under */
    bool had_session;    /* the call carried a session id */
    bool is_of_era;      /* the call was modern, and carried no session id */
    bool waits;   /* turned away as a made-up session id is: the next session (or era) will tell */
    char *answer; /* an error with the call's id: its answer if it is about the call; or NULL */
};

void hf_refusal_examine(struct hf_call *call,
                        const struct hf_refusal *doubt); /* `answer` is taken over */
void hf_refusal_unproven(struct hf_call *call); /* the runtime is gone, or the time is up */
void hf_refusal_drop(struct hf_call *call);     /* the call leaves its runtime */
/* Something under the runtime's current session was turned away; `form` NULL: in a way that says in
 * any case that the session is not known. The second: the server's own stream was turned away. */
void hf_remote_refused(struct hf_runtime *runtime, int status, const struct hf_form *form);
void hf_remote_stream_refused(struct hf_runtime *runtime, int status);
/* A client's call was turned away in a way that proves nothing about the call: an inquiry finds out
 * whether the session is served at all, but not soon after a renewal. */
void hf_remote_call_refused(struct hf_runtime *runtime, int status);
void hf_refusals_next(struct hf_runtime *runtime); /* the runtime is new, or has a new session */
void hf_refusals_in_vain(struct hf_slot *slot);    /* no next session will come */
/* An inquiry was turned away; `form` NULL or with status 0: unreadably, or not answered in time. */
void hf_inquiry_over(struct hf_call *call, int status, bool is_read, const struct hf_form *form);
/* Whether the call is the inquiry under a made-up session id; NULL: no. */
bool hf_inquiry_is_stranger(const struct hf_call *call);

#endif
