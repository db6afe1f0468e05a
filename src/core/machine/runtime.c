/* runtime.c - the only legal moves of a runtime; see runtime.h. */
#include "core/machine/runtime.h"
#include <assert.h>

struct cell {
    unsigned char to;
    unsigned char is_written;
    unsigned short effects;
};

#define ON(from, event) [HF_RUNTIME_##from][HF_RUNTIME_EV_##event]
#define MOVE(state, effects)                                                                       \
    {                                                                                              \
        HF_RUNTIME_##state, 1, (effects)                                                           \
    }
#define IGNORED(state)                                                                             \
    {                                                                                              \
        HF_RUNTIME_##state, 1, HF_RUNTIME_DO_NOTHING                                               \
    }

enum {
    FREEZE = HF_RUNTIME_DO_FREEZE,
    SHUT = HF_RUNTIME_DO_FREEZE | HF_RUNTIME_DO_CLOSE_STDIN,
    SHOOT = HF_RUNTIME_DO_FREEZE | HF_RUNTIME_DO_KILL,
};

/* Whatever a server is doing, it can exit, fall silent, be closed or be killed. */
#define ENDS_LIKE_ANY(state)                                                                       \
    ON(state, EXITED) = MOVE(CLOSING, FREEZE), ON(state, STDOUT_EOF) = MOVE(CLOSING, SHUT),        \
              ON(state, CLOSE) = MOVE(CLOSING, SHUT), ON(state, KILL) = MOVE(KILLING, SHOOT)

static const struct cell table[HF_RUNTIME_STATE_COUNT][HF_RUNTIME_EVENT_COUNT] = {
    ENDS_LIKE_ANY(SPAWNING),
    ON(SPAWNING, PROBE) = MOVE(PROBING, 0),
    ON(SPAWNING, GREET) = MOVE(HANDSHAKING, 0),
    ON(SPAWNING, NOT_STARTED) = MOVE(GONE, HF_RUNTIME_DO_RELEASE),
    ON(SPAWNING, TIMEOUT) = MOVE(KILLING, SHOOT),
    ON(SPAWNING, DRAIN) = MOVE(CLOSING, SHUT),

    ENDS_LIKE_ANY(PROBING),
    ON(PROBING, GREET) = MOVE(HANDSHAKING, 0), /* the server is legacy */
    ON(PROBING, GREETED) = MOVE(LISTING, 0),   /* the server is modern: no handshake follows */
    ON(PROBING, TIMEOUT) = MOVE(KILLING, SHOOT),
    ON(PROBING, DRAIN) = MOVE(CLOSING, SHUT),

    ENDS_LIKE_ANY(HANDSHAKING),
    ON(HANDSHAKING, PROBE) = MOVE(PROBING, 0), /* its era is not what it was */
    ON(HANDSHAKING, GREETED) = MOVE(LISTING, 0),
    ON(HANDSHAKING, TIMEOUT) = MOVE(KILLING, SHOOT),
    ON(HANDSHAKING, DRAIN) = MOVE(CLOSING, SHUT),

    ENDS_LIKE_ANY(LISTING),
    ON(LISTING, LISTED) = MOVE(LIVE, 0),
    ON(LISTING, TIMEOUT) = MOVE(KILLING, SHOOT),
    ON(LISTING, DRAIN) = MOVE(CLOSING, SHUT),

    ENDS_LIKE_ANY(LIVE),
    ON(LIVE, DRAIN) = MOVE(DRAINING, 0),

    ENDS_LIKE_ANY(DRAINING),
    ON(DRAINING, DRAIN) = IGNORED(DRAINING),
    ON(DRAINING, DRAINED) = MOVE(CLOSING, SHUT),
    ON(DRAINING, TIMEOUT) = MOVE(KILLING, SHOOT),

    ON(CLOSING, DRAIN) = IGNORED(CLOSING),
    ON(CLOSING, CLOSE) = IGNORED(CLOSING),
    ON(CLOSING, KILL) = MOVE(KILLING, HF_RUNTIME_DO_KILL),
    ON(CLOSING, EXITED) = IGNORED(CLOSING),
    ON(CLOSING, STDOUT_EOF) = IGNORED(CLOSING),
    ON(CLOSING, ENDED) = MOVE(KILLING, HF_RUNTIME_DO_KILL), /* what the server left behind */
    ON(CLOSING, TREE_GONE) = IGNORED(CLOSING),              /* its stdout is still to be read */
    ON(CLOSING, TIMEOUT) = MOVE(TERMING, HF_RUNTIME_DO_TERM),

    ON(TERMING, DRAIN) = IGNORED(TERMING),
    ON(TERMING, CLOSE) = IGNORED(TERMING),
    ON(TERMING, KILL) = MOVE(KILLING, HF_RUNTIME_DO_KILL),
    ON(TERMING, EXITED) = IGNORED(TERMING),
    ON(TERMING, STDOUT_EOF) = IGNORED(TERMING),
    ON(TERMING, ENDED) = MOVE(KILLING, HF_RUNTIME_DO_KILL),
    ON(TERMING, TREE_GONE) = IGNORED(TERMING),
    ON(TERMING, TIMEOUT) = MOVE(KILLING, HF_RUNTIME_DO_KILL),

    ON(KILLING, DRAIN) = IGNORED(KILLING),
    ON(KILLING, CLOSE) = IGNORED(KILLING),
    ON(KILLING, KILL) = IGNORED(KILLING),
    ON(KILLING, EXITED) = IGNORED(KILLING),
    ON(KILLING, STDOUT_EOF) = IGNORED(KILLING),
    ON(KILLING, ENDED) = IGNORED(KILLING),
    ON(KILLING, TREE_GONE) = MOVE(GONE, HF_RUNTIME_DO_RELEASE),
    ON(KILLING, TIMEOUT) = MOVE(GONE, HF_RUNTIME_DO_RELEASE | HF_RUNTIME_DO_CLOSE_FAILED),
};

enum bound { BOUND_NONE, BOUND_DRAIN, BOUND_CLOSE, BOUND_TERM, BOUND_KILL };
#define TRAIT(id, name, bound) { name, BOUND_##bound },
static const struct {
    const char *name;
    enum bound bound;
} traits[] = { HF_RUNTIME_STATES(TRAIT) };
#define EVENT_NAME(id, name) name,
static const char *const event_names[] = { HF_RUNTIME_EVENTS(EVENT_NAME) };

unsigned hf_runtime_step(struct hf_runtime_machine *runtime, enum hf_runtime_event event)
{
    assert(runtime->state < HF_RUNTIME_STATE_COUNT);
    assert(event < HF_RUNTIME_EVENT_COUNT);
    const struct cell *cell = &table[runtime->state][event];
    if (!cell->is_written)
        return HF_RUNTIME_DO_REPORT_BUG;
    runtime->state = (enum hf_runtime_state)cell->to; /* the only line in the tree that writes it */
    return cell->effects;
}

int64_t hf_runtime_stay_ms(const struct hf_runtime_machine *runtime, const struct hf_settings *s)
{
    switch (traits[runtime->state].bound) {
    case BOUND_NONE: return -1;
    case BOUND_DRAIN: return s->drain_ms;
    case BOUND_CLOSE: return s->close_ms;
    case BOUND_TERM: return s->term_ms;
    case BOUND_KILL: return s->kill_ms;
    }
    return -1;
}

const char *hf_runtime_state_name(enum hf_runtime_state state)
{
    assert(state < HF_RUNTIME_STATE_COUNT);
    return traits[state].name;
}

const char *hf_runtime_event_name(enum hf_runtime_event event)
{
    assert(event < HF_RUNTIME_EVENT_COUNT);
    return event_names[event];
}
