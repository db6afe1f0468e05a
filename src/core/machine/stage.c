/* stage.c - the only legal moves of a call; see stage.h. */
#include "core/machine/stage.h"
#include <assert.h>

#define TO(stage) (1u << HF_CALL_##stage)

static const unsigned short moves[HF_CALL_STAGE_COUNT] = {
    [HF_CALL_NEW] = TO(ASKING) | TO(HELD) | TO(WAITING) | TO(CLEARING) | TO(QUEUED) | TO(KEEPING) |
                    TO(JOINED) | TO(ENDED),
    [HF_CALL_ASKING] = TO(NEW),
    [HF_CALL_HELD] = TO(ENDED),
    [HF_CALL_WAITING] = TO(NEW),
    [HF_CALL_CLEARING] = TO(NEW),
    [HF_CALL_QUEUED] = TO(WRITING) | TO(SENT) | TO(NEW), /* over HTTP it is SENT at once */
    [HF_CALL_WRITING] = TO(SENT) | TO(NEW),
    [HF_CALL_SENT] = TO(NEW),
    [HF_CALL_KEEPING] = TO(ENDED),
    [HF_CALL_JOINED] = TO(ENDED),
};

#define NAME(id, name) name,
static const char *const names[] = { HF_CALL_STAGES(NAME) };

bool hf_stage_may_follow(enum hf_call_stage from, enum hf_call_stage to)
{
    assert(from < HF_CALL_STAGE_COUNT && to < HF_CALL_STAGE_COUNT);
    return moves[from] >> to & 1;
}

const char *hf_stage_name(enum hf_call_stage stage)
{
    assert(stage < HF_CALL_STAGE_COUNT);
    return names[stage];
}
