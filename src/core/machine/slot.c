/* slot.c - the only legal moves of a server; see slot.h. */
#include "core/machine/slot.h"
#include <assert.h>

struct cell {
    unsigned char to; /* 0 (NEW): stay */
    unsigned char is_written;
    unsigned short effects;
};

#define ON(from, event) [HF_SLOT_##from][HF_SLOT_EV_##event]
#define MOVE(state, effects)                                                                       \
    {                                                                                              \
        HF_SLOT_##state, 1, (effects)                                                              \
    }
#define STAY(effects)                                                                              \
    {                                                                                              \
        HF_SLOT_NEW, 1, (effects)                                                                  \
    }
#define IGNORED                                                                                    \
    {                                                                                              \
        HF_SLOT_NEW, 1, HF_SLOT_DO_NOTHING                                                         \
    }
#define REFUSED                                                                                    \
    {                                                                                              \
        HF_SLOT_NEW, 1, HF_SLOT_DO_REFUSE                                                          \
    }

/* Effects that several rows share. */
enum {
    RETRY_NOW = HF_SLOT_DO_KILL_ATTEMPT | HF_SLOT_DO_UNSCHEDULE | HF_SLOT_DO_FRESH_BUDGET |
                HF_SLOT_DO_ATTEMPT,
    GIVE_UP = HF_SLOT_DO_FAIL_WAITING | HF_SLOT_DO_PROBE_LATER,
    SWITCH_OFF = HF_SLOT_DO_KILL_ATTEMPT | HF_SLOT_DO_UNSCHEDULE | HF_SLOT_DO_DRAIN |
                 HF_SLOT_DO_FAIL_WAITING,
};

static const struct cell table[HF_SLOT_STATE_COUNT][HF_SLOT_EVENT_COUNT] = {
    ON(NEW, START) = MOVE(CONNECTING, HF_SLOT_DO_ATTEMPT),
    ON(NEW, REST) = MOVE(DISCONNECTED, 0),
    ON(NEW, DISABLE) = MOVE(DISABLED, 0),
    ON(NEW, SPENT) = MOVE(PERMANENTLY_FAILED, 0), /* the config is wrong: no probe can help */

    ON(DISCONNECTED, START) = MOVE(CONNECTING, HF_SLOT_DO_ATTEMPT),
    ON(DISCONNECTED, CALL) = MOVE(CONNECTING, HF_SLOT_DO_ATTEMPT),
    ON(DISCONNECTED, RESTART) = MOVE(CONNECTING, RETRY_NOW),
    ON(DISCONNECTED, RECONNECT) = MOVE(CONNECTING, RETRY_NOW),
    ON(DISCONNECTED, ENABLE) = IGNORED,
    ON(DISCONNECTED, DISABLE) = MOVE(DISABLING, SWITCH_OFF),
    ON(DISCONNECTED, GONE) = IGNORED,

    ON(CONNECTING, START) = IGNORED,
    ON(CONNECTING, CALL) = IGNORED, /* the call waits for the attempt */
    ON(CONNECTING, READY) = MOVE(CONNECTED, HF_SLOT_DO_INSTALL),
    ON(CONNECTING, FAILED) = MOVE(RECONNECTING, HF_SLOT_DO_SCHEDULE),
    ON(CONNECTING, SPENT) = MOVE(PERMANENTLY_FAILED, GIVE_UP),
    ON(CONNECTING, RESTART) = STAY(RETRY_NOW),
    ON(CONNECTING, RECONNECT) = STAY(RETRY_NOW),
    ON(CONNECTING, ENABLE) = IGNORED,
    ON(CONNECTING, DISABLE) = MOVE(DISABLING, SWITCH_OFF),
    ON(CONNECTING, GONE) = IGNORED,

    ON(RECONNECTING, START) = IGNORED,
    ON(RECONNECTING, CALL) = IGNORED,
    ON(RECONNECTING, EXTRA) = STAY(HF_SLOT_DO_EXTRA_ATTEMPT),
    ON(RECONNECTING, DUE) = STAY(HF_SLOT_DO_ATTEMPT),
    ON(RECONNECTING, READY) = MOVE(CONNECTED, HF_SLOT_DO_INSTALL),
    ON(RECONNECTING, FAILED) = STAY(HF_SLOT_DO_SCHEDULE),
    ON(RECONNECTING, SPENT) = MOVE(PERMANENTLY_FAILED, GIVE_UP),
    ON(RECONNECTING, RESTART) = MOVE(CONNECTING, RETRY_NOW),
    ON(RECONNECTING, RECONNECT) = MOVE(CONNECTING, RETRY_NOW),
    ON(RECONNECTING, ENABLE) = IGNORED,
    ON(RECONNECTING, DISABLE) = MOVE(DISABLING, SWITCH_OFF),
    ON(RECONNECTING, GONE) = IGNORED,

    ON(CONNECTED, START) = IGNORED,
    ON(CONNECTED, CALL) = IGNORED,
    ON(CONNECTED, READY) = STAY(HF_SLOT_DO_DRAIN | HF_SLOT_DO_INSTALL), /* swap the runtimes */
    ON(CONNECTED, FAILED) = IGNORED, /* the attempt beside failed: the old runtime stays */
    ON(CONNECTED, LOST) = MOVE(RECONNECTING, HF_SLOT_DO_DETACH | HF_SLOT_DO_SCHEDULE),
    ON(CONNECTED, REST) =
        MOVE(DISCONNECTED, HF_SLOT_DO_KILL_ATTEMPT | HF_SLOT_DO_UNSCHEDULE | HF_SLOT_DO_DRAIN),
    ON(CONNECTED, RESTART) = STAY(HF_SLOT_DO_KILL_ATTEMPT | HF_SLOT_DO_ATTEMPT) /* beside it */,
    ON(CONNECTED, RECONNECT) =
        MOVE(RECONNECTING, HF_SLOT_DO_KILL_ATTEMPT | HF_SLOT_DO_DRAIN | HF_SLOT_DO_ATTEMPT),
    ON(CONNECTED, ENABLE) = IGNORED,
    ON(CONNECTED, DISABLE) = MOVE(DISABLING, SWITCH_OFF),
    ON(CONNECTED, GONE) = IGNORED,

    ON(PERMANENTLY_FAILED, START) = IGNORED,
    ON(PERMANENTLY_FAILED, CALL) = IGNORED, /* told retryAfterMs; never starts a probe */
    ON(PERMANENTLY_FAILED, DUE) = STAY(HF_SLOT_DO_EXTRA_ATTEMPT),
    ON(PERMANENTLY_FAILED, READY) = MOVE(CONNECTED, HF_SLOT_DO_INSTALL),
    ON(PERMANENTLY_FAILED, FAILED) = STAY(HF_SLOT_DO_PROBE_LATER),
    ON(PERMANENTLY_FAILED, SPENT) = STAY(HF_SLOT_DO_PROBE_LATER),
    ON(PERMANENTLY_FAILED, RESTART) = MOVE(CONNECTING, RETRY_NOW),
    ON(PERMANENTLY_FAILED, RECONNECT) = MOVE(CONNECTING, RETRY_NOW),
    ON(PERMANENTLY_FAILED, ENABLE) = MOVE(CONNECTING, RETRY_NOW),
    ON(PERMANENTLY_FAILED, DISABLE) = MOVE(DISABLING, SWITCH_OFF),
    ON(PERMANENTLY_FAILED, GONE) = IGNORED,

    ON(DISABLING, START) = IGNORED,
    ON(DISABLING, CALL) = REFUSED,
    ON(DISABLING, RESTART) = REFUSED,
    ON(DISABLING, RECONNECT) = REFUSED,
    ON(DISABLING, ENABLE) = IGNORED, /* wanted is on now; connecting follows the old tree's end */
    ON(DISABLING, DISABLE) = IGNORED,
    ON(DISABLING, GONE) = MOVE(DISABLED, 0),
    ON(DISABLING, GONE_WANTED) = MOVE(CONNECTING, RETRY_NOW),

    ON(DISABLED, START) = IGNORED,
    ON(DISABLED, CALL) = REFUSED,
    ON(DISABLED, RESTART) = REFUSED,
    ON(DISABLED, RECONNECT) = REFUSED,
    ON(DISABLED, ENABLE) = MOVE(CONNECTING, RETRY_NOW),
    ON(DISABLED, DISABLE) = IGNORED,
    ON(DISABLED, GONE) = IGNORED, /* a process tree that outlived killMs */
};

#define NAME(id, name) name,
static const char *const state_names[] = { HF_SLOT_STATES(NAME) };
static const char *const event_names[] = { HF_SLOT_EVENTS(NAME) };

unsigned hf_slot_step(struct hf_slot_machine *slot, enum hf_slot_event event)
{
    assert(slot->state < HF_SLOT_STATE_COUNT);
    assert(event < HF_SLOT_EVENT_COUNT);
    const struct cell *cell = &table[slot->state][event];
    if (!cell->is_written)
        return HF_SLOT_DO_REPORT_BUG;
    if (cell->to != HF_SLOT_NEW)
        slot->state = (enum hf_slot_state)cell->to; /* the only line in the tree that writes it */
    return cell->effects;
}

bool hf_slot_is_offered(enum hf_slot_state state)
{
    return state == HF_SLOT_CONNECTING || state == HF_SLOT_CONNECTED ||
           state == HF_SLOT_RECONNECTING || state == HF_SLOT_DISCONNECTED;
}

const char *hf_slot_state_name(enum hf_slot_state state)
{
    assert(state < HF_SLOT_STATE_COUNT);
    return state_names[state];
}

const char *hf_slot_event_name(enum hf_slot_event event)
{
    assert(event < HF_SLOT_EVENT_COUNT);
    return event_names[event];
}
