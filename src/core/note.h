/*
 * note.h - something worth a log line: what happened, and the facts of it.
 *
 * The core says what it knows; how loud that is, how it reads and what its fields are called is
 * decided by whoever writes the log (ops/log_notes.c). Words of peers stand here as they came.
 */
#ifndef HF_CORE_NOTE_H
#define HF_CORE_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

#define HF_NOTES(X)                                                                                \
    X(STARTED)    /* pid */                                                                        \
    X(ATTEMPT)    /* count: since the server was last connected */                                 \
    X(CONNECTING) /* moves of a slot: from, to */                                                  \
    X(CONNECTED)  /* count: tools */                                                               \
    X(LOST)       /* reason, stderr */                                                             \
    X(RESTING)                                                                                     \
    X(DISABLING)                                                                                   \
    X(DISABLED)                                                                                    \
    X(GAVE_UP)        /* reason, problem, stderr */                                                \
    X(ATTEMPT_FAILED) /* reason, stderr */                                                         \
    X(RESTART_FAILED) /* reason, stderr; the runtime of before stays */                            \
    X(NEXT_ATTEMPT)   /* delay_ms, count: failures lately */                                       \
    X(EXITED)         /* reason, pid */                                                            \
    X(CLOSE_FAILED)                                                                                \
    X(FOREIGN_STDIN)     /* count: bytes taken back that we did not write last */                  \
    X(CHECK_FAILED)      /* count, of, what: how */                                                \
    X(ASKED)             /* what: the operation that an operator asked for */                      \
    X(TOOLS_LEFT_OUT)    /* count, reason */                                                       \
    X(LIST_FAILED)       /* method */                                                              \
    X(SESSION_FORGOTTEN) /* count: the session's number; status of the refusal */                  \
    X(RESEND)            /* method, evidence, count: sends so far */                               \
    X(CALL_LOST)         /* method, outcome, evidence, reason: it may have run */                  \
    X(CALL_FAILED)       /* method, outcome, evidence, reason: it did not run */                   \
    X(PARK_EXPIRED)      /* a parked call's client never came back */                              \
    X(NAME_CLASH)        /* what: the name that is hidden */                                       \
    X(STALE)             /* what an old generation said is dropped */                              \
    X(SERVER_LOG)        /* what: a log message for nobody in particular, JSON */                  \
    X(LINE_TOO_LONG)                                                                               \
    X(NOISE) /* what: the beginning of a line that is no message */                                \
    X(BUG)   /* what: the machine; from: its state; to: what it was told */

#define HF_NOTE_ENUM(id) HF_NOTE_##id,
enum hf_note_event { HF_NOTES(HF_NOTE_ENUM) HF_NOTE_EVENT_COUNT };

struct hf_note {
    enum hf_note_event event;
    bool is_routine;       /* expected, or told before: for those who want to see everything */
    struct hf_span server; /* its name; p NULL: the note is about no server */
    uint64_t generation;   /* of the runtime; 0: the note is about none */
    struct hf_span from, to, reason, problem, stderr_line, method, evidence, outcome, what;
    int64_t pid, count, of, delay_ms, status;
};

#endif
