/*
 * errors.h - the errors a client sees from us (DESIGN 7): one table of code, name and what to do.
 *
 * Each error has a sentence that a model can act on and facts for machines. retrySafe is always
 * the opposite of dispatched.
 *
 * 1. A tools/call is answered with a result that says isError, because an error invites some
 *    clients to send the call again, and loses its words in others.
 * 2. A sentence has no double quotes, which some clients escape, and none of the words of libraries
 *    and networks that make some clients take it for their own failure, and repeat the call.
 */
#ifndef HF_CORE_ERRORS_H
#define HF_CORE_ERRORS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "core/machine/evidence.h"

#define HF_ERRORS(X) /* id, code, name, dispatched, retry */                                       \
    X(UNAVAILABLE, -31001, "unavailable", false, "later")                                          \
    X(DIES_ON_IT, -31001, "unavailable", false, "no")                                              \
    X(OUTCOME_UNKNOWN, -31002, "outcome_unknown", true, "check_first")                             \
    X(DISABLED, -31003, "disabled", false, "no")                                                   \
    X(PERMANENTLY_FAILED, -31004, "permanently_failed", false, "later")                            \
    X(OVERLOADED, -31005, "overloaded", false, "later")                                            \
    X(REQUEST_TOO_LARGE, -31006, "too_large", false, "no")                                         \
    X(RESULT_TOO_LARGE, -31006, "too_large", true, "check_first")                                  \
    X(DENIED, -31007, "denied", false, "no")                                                       \
    X(KEY_CONFLICT, -31008, "key_conflict", false, "no")                                           \
    X(REJECTED, -31009, "rejected", false, "no")                                                   \
    X(REJECTED_LATE, -31009, "rejected", true, "check_first")                                      \
    X(STATE_LOST, -31010, "state_lost", false, "now")
#define HF_ERROR_ENUM(id, code, name, dispatched, retry) HF_ERROR_##id,
enum hf_error { HF_ERRORS(HF_ERROR_ENUM) HF_ERROR_COUNT };

struct hf_error_facts {
    struct hf_span sentence; /* plain text, for a person or a model */
    struct hf_span reason;   /* a word or a short phrase, for machines */
    struct hf_span server, state;
    enum hf_evidence evidence;
    uint64_t generation;
    int64_t retry_after_ms; /* -1: not known */
};

/* The form in which a failure of holdfast's own is told. */
enum hf_failure_form { HF_AS_ERROR, HF_AS_RESULT, HF_AS_MODERN_RESULT };
/* Appends what follows the id of an answer: ,"error":{"code":…,"message":…,"data":{…}}} or, as the
 * result of a tool, ,"result":{"content":[…],"isError":true,"_meta":{…}}} */
void hf_error_write(struct hf_buf *out, enum hf_error error, const struct hf_error_facts *facts,
                    enum hf_failure_form form);
#define HF_META_OUTCOME "dev.holdfast/outcome" /* the member of _meta with the facts */
/* The error with that code that was, or was not, dispatched; false: holdfast has no such error. */
bool hf_error_of_code(int64_t code, bool dispatched, enum hf_error *ret_error);

/* Appends " (why)" without the words that may not stand in a sentence; nothing if none is left. */
void hf_error_add_why(struct hf_buf *out, const char *why);
/* Replaces the double quotes of a sentence, in place. */
void hf_error_tidy_sentence(char *sentence);
int hf_error_code(enum hf_error error);
const char *hf_error_name(enum hf_error error);
bool hf_error_dispatched(enum hf_error error);

#endif
