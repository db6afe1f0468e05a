/*
 * slot.h - the seven states of a server, as data (DESIGN 5).
 *
 * Pure: one event in, what to do out. Whether the server is wanted, why it was last lost and when
 * the next attempt comes are facts beside the state, kept by whoever owns the slot.
 *
 * 1. hf_slot_step is the only writer of the state.
 * 2. What a state means for the lists is not an effect but derived: a server's names are published
 * in all states but disabling, disabled and permanently_failed (hf_slot_is_offered).
 * 3. A cell is a move, IGNORED by name, REFUSED by name, or absent; an absent one changes nothing
 * and reports a bug of the caller.
 */
#ifndef HF_CORE_SLOT_H
#define HF_CORE_SLOT_H

#include <stdbool.h>

#define HF_SLOT_STATES(X) /* state, its name everywhere: API, logs, metrics, page */               \
    X(NEW, "new")         /* not yet placed; never shown */                                        \
    X(CONNECTING, "connecting")                                                                    \
    X(CONNECTED, "connected")                                                                      \
    X(RECONNECTING, "reconnecting")                                                                \
    X(DISCONNECTED, "disconnected")                                                                \
    X(DISABLING, "disabling")                                                                      \
    X(DISABLED, "disabled")                                                                        \
    X(PERMANENTLY_FAILED, "permanently_failed")

#define HF_SLOT_EVENTS(X)                                                                          \
    X(START, "start")         /* an eager server at start-up */                                    \
    X(CALL, "call")           /* a call needs the server */                                        \
    X(EXTRA, "extra")         /* a call may have one attempt outside the schedule */               \
    X(DUE, "due")             /* the scheduled attempt, or probe, is due */                        \
    X(READY, "ready")         /* an attempt succeeded: handshake and tools list done */            \
    X(FAILED, "failed")       /* an attempt failed, budget left */                                 \
    X(SPENT, "spent")         /* an attempt failed, budget spent */                                \
    X(LOST, "lost")           /* the current runtime was lost: exit, EOF, liveness */              \
    X(REST, "rest")           /* clean exit of an idle child, or idleMs has passed */              \
    X(RESTART, "restart")     /* by an operator or a new config; beside the old runtime */         \
    X(RECONNECT, "reconnect") /* by an operator; or a restart that must not overlap */             \
    X(ENABLE, "enable")                                                                            \
    X(DISABLE, "disable") /* also removal: then the owner drops the slot once it is DISABLED */    \
    X(GONE, "gone")       /* all its runtimes are gone, or killMs has passed */                    \
    X(GONE_WANTED, "gone_wanted") /* like GONE, and the server is wanted again */

#define HF_SLOT_STATE_ENUM(id, name) HF_SLOT_##id,
enum hf_slot_state { HF_SLOT_STATES(HF_SLOT_STATE_ENUM) HF_SLOT_STATE_COUNT };
#define HF_SLOT_EVENT_ENUM(id, name) HF_SLOT_EV_##id,
enum hf_slot_event { HF_SLOT_EVENTS(HF_SLOT_EVENT_ENUM) HF_SLOT_EVENT_COUNT };

/* bits; performed lowest first */
enum hf_slot_effect {
    HF_SLOT_DO_NOTHING = 0,
    HF_SLOT_DO_KILL_ATTEMPT = 1 << 0, /* an attempt under way is given up, uncharged */
    HF_SLOT_DO_UNSCHEDULE = 1 << 1,
    HF_SLOT_DO_DETACH = 1 << 2,        /* the current runtime is closed, and is current no more */
    HF_SLOT_DO_DRAIN = 1 << 3,         /* the current runtime finishes its calls, then closes */
    HF_SLOT_DO_INSTALL = 1 << 4,       /* the attempt's runtime becomes current, catalog and all */
    HF_SLOT_DO_FAIL_WAITING = 1 << 5,  /* waiting calls are answered: the server will not come */
    HF_SLOT_DO_FRESH_BUDGET = 1 << 6,  /* failures so far are forgotten */
    HF_SLOT_DO_ATTEMPT = 1 << 7,       /* attempt now */
    HF_SLOT_DO_EXTRA_ATTEMPT = 1 << 8, /* attempt now; costs no budget and no backoff step */
    HF_SLOT_DO_SCHEDULE = 1 << 9,      /* the next attempt, by backoff, unless one runs */
    HF_SLOT_DO_PROBE_LATER = 1 << 10,  /* the next attempt after probeMs */
    HF_SLOT_DO_REFUSE = 1 << 11,       /* tell the operator or caller: the server is off */
    HF_SLOT_DO_REPORT_BUG = 1 << 12,   /* no such move: nothing changed, report it */
};

struct hf_slot_machine {
    enum hf_slot_state state;
};

unsigned hf_slot_step(struct hf_slot_machine *slot, enum hf_slot_event event);
bool hf_slot_is_offered(enum hf_slot_state state);
const char *hf_slot_state_name(enum hf_slot_state state);
const char *hf_slot_event_name(enum hf_slot_event event);

#endif
