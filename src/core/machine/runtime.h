/*
 * runtime.h - the little machine of one live connection (DESIGN 5), as data.
 *
 *   spawning -> probing -> handshaking -> listing -> live -> draining -> closing -> terming ->
 * killing -> gone
 *
 * 1. hf_runtime_step is the only writer of the state.
 * 2. Once FREEZE is out, not one byte more is written to the server: that is what makes bytes taken
 *    back from its pipe a proof (DESIGN 4, `unread`).
 * 3. Exit and EOF come in either order; ENDED is said once both are there (or the wait for EOF is
 *    over, when a descendant holds the pipe), and only then is the rest of the tree killed.
 */
#ifndef HF_CORE_RUNTIME_H
#define HF_CORE_RUNTIME_H

#include <stdint.h>
#include "core/settings.h"

#define HF_RUNTIME_STATES(X)      /* state, its name, the setting that bounds the stay */          \
    X(SPAWNING, "spawning", NONE) /* one timer bounds the whole start */                           \
    X(PROBING, "probing", NONE)   /* which era does the server speak? */                           \
    X(HANDSHAKING, "handshaking", NONE)                                                            \
    X(LISTING, "listing", NONE)                                                                    \
    X(LIVE, "live", NONE)                                                                          \
    X(DRAINING, "draining", DRAIN)                                                                 \
    X(CLOSING, "closing", CLOSE)                                                                   \
    X(TERMING, "terming", TERM)                                                                    \
    X(KILLING, "killing", KILL)                                                                    \
    X(GONE, "gone", NONE)

#define HF_RUNTIME_EVENTS(X)                                                                       \
    X(PROBE, "probe")     /* the process runs, and its era is not known */                         \
    X(GREET, "greet")     /* the process runs, and its era is known */                             \
    X(GREETED, "greeted") /* the server answered initialize */                                     \
    X(LISTED, "listed")                                                                            \
    X(NOT_STARTED, "not_started") /* there never was a process */                                  \
    X(DRAIN, "drain")             /* finish calls in flight, take no new ones */                   \
    X(DRAINED, "drained")                                                                          \
    X(CLOSE, "close") /* end the server now, politely */                                           \
    X(KILL, "kill")   /* kill the server now */                                                    \
    X(EXITED, "exited")                                                                            \
    X(STDOUT_EOF, "stdout_eof") /* its stdout ended: no answer can come any more */                \
    X(ENDED, "ended")                                                                              \
    X(TREE_GONE, "tree_gone")                                                                      \
    X(TIMEOUT, "timeout")

#define HF_RUNTIME_STATE_ENUM(id, name, bound) HF_RUNTIME_##id,
enum hf_runtime_state { HF_RUNTIME_STATES(HF_RUNTIME_STATE_ENUM) HF_RUNTIME_STATE_COUNT };
#define HF_RUNTIME_EVENT_ENUM(id, name) HF_RUNTIME_EV_##id,
enum hf_runtime_event { HF_RUNTIME_EVENTS(HF_RUNTIME_EVENT_ENUM) HF_RUNTIME_EVENT_COUNT };

/* bits; performed lowest first */
enum hf_runtime_effect {
    HF_RUNTIME_DO_NOTHING = 0,
    HF_RUNTIME_DO_FREEZE = 1 << 0, /* write nothing more; take back what the server did not read */
    HF_RUNTIME_DO_CLOSE_STDIN = 1 << 1,
    HF_RUNTIME_DO_TERM = 1 << 2,
    HF_RUNTIME_DO_KILL = 1 << 3,
    HF_RUNTIME_DO_RELEASE = 1 << 4,      /* nothing of the runtime is left: forget it */
    HF_RUNTIME_DO_CLOSE_FAILED = 1 << 5, /* killMs has passed and something still lives: report */
    HF_RUNTIME_DO_REPORT_BUG = 1 << 6,
};

struct hf_runtime_machine {
    enum hf_runtime_state state;
};

unsigned hf_runtime_step(struct hf_runtime_machine *runtime, enum hf_runtime_event event);
/* How long the machine may stay where it is; -1: no limit. */
int64_t hf_runtime_stay_ms(const struct hf_runtime_machine *runtime, const struct hf_settings *s);
const char *hf_runtime_state_name(enum hf_runtime_state state);
const char *hf_runtime_event_name(enum hf_runtime_event event);

#endif
