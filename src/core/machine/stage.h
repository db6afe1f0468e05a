/*
 * stage.h - where a call is on its way, as data.
 *
 *            ┌────────► HELD ─────────────────────────────────────────────┐
 *   NEW ─────┼─► WAITING ─► NEW                                           │
 *    ▲       ├─► CLEARING ─► NEW      before dispatch: leave is asked for │
 *    │       ├─► QUEUED ─► WRITING ─► SENT                                ├─► ENDED
 *    └───────┴──────┴─────────┴────────┘  (lost, moved, or about to end)  │
 *            ├─► ASKING ─► NEW                                            │
 *            ├─► JOINED ──────────────────────────────────────────────────┤
 *            └─► KEEPING      before the answer leaves: it is being kept ─┘
 *
 * Pure: a table of moves. A call between two lists is NEW. hf_call_set_stage (call.c) is the only
 * writer of a call's stage; a move that is not in the table is reported as a bug.
 */
#ifndef HF_CORE_STAGE_H
#define HF_CORE_STAGE_H

#include <stdbool.h>

#define HF_CALL_STAGES(X)                                                                          \
    X(NEW, "new")           /* in no list: just made, or between two of the following */           \
    X(ASKING, "asking")     /* its client is being asked what a modern server wants to know */     \
    X(HELD, "held")         /* answered by us as soon as something is known: initialize, lists */  \
    X(WAITING, "waiting")   /* waits for its server, or for a place */                             \
    X(CLEARING, "clearing") /* waits for leave to be sent (seam.h) */                              \
    X(QUEUED, "queued")     /* in a runtime's out list, no byte written */                         \
    X(WRITING, "writing")   /* its first bytes are in the pipe */                                  \
    X(SENT, "sent")         /* the whole line is in the pipe */                                    \
    X(KEEPING, "keeping")   /* its answer is known, and leaves once it is kept (seam.h) */         \
    X(JOINED, "joined")     /* a retry in a park: it is answered with the parked call */           \
    X(ENDED, "ended")       /* answered, cancelled or dropped; its frame may still be written */

#define HF_CALL_STAGE_ENUM(id, name) HF_CALL_##id,
enum hf_call_stage { HF_CALL_STAGES(HF_CALL_STAGE_ENUM) HF_CALL_STAGE_COUNT };

bool hf_stage_may_follow(enum hf_call_stage from, enum hf_call_stage to);
const char *hf_stage_name(enum hf_call_stage stage);

/* The call is in a runtime's list of calls. */
static inline bool hf_stage_is_with_server(enum hf_call_stage stage)
{
    return stage == HF_CALL_QUEUED || stage == HF_CALL_WRITING || stage == HF_CALL_SENT;
}
/* At least one byte of the call may have left us. */
static inline bool hf_stage_is_begun(enum hf_call_stage stage)
{
    return stage == HF_CALL_WRITING || stage == HF_CALL_SENT;
}
/* The call's time counts as waiting. */
static inline bool hf_stage_is_waiting(enum hf_call_stage stage)
{
    return stage == HF_CALL_WAITING || stage == HF_CALL_CLEARING;
}
/* waitMs bounds the call. */
static inline bool hf_stage_is_before_dispatch(enum hf_call_stage stage)
{
    return stage <= HF_CALL_QUEUED;
}

#endif
