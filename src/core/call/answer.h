/* answer.h - how a client's call ends: the one exit of every call. */
#ifndef HF_CORE_CALL_ANSWER_H
#define HF_CORE_CALL_ANSWER_H

#include <stdbool.h>
#include "base/err.h"
#include "base/span.h"
#include "core/machine/errors.h"
#include "core/state/answer.h"

struct hf_buf;
struct hf_call;
struct hf_engine;
struct hf_error_facts;
struct hf_incoming;
struct hf_method;
struct hf_msg;
struct hf_server;
struct hf_session;

void hf_call_answer(struct hf_call *call, struct hf_answer answer);
void hf_call_fail(struct hf_call *call, enum hf_error error, const char *reason, const char *format,
                  ...) HF_PRINTF(4, 5);
void hf_call_cancel(struct hf_call *call, struct hf_span reason);
void hf_call_end_ours(struct hf_call *call); /* a call of our own: nobody is told */
/* For seam.c: sends the answer, and ends the call. */
void hf_answer_leave(struct hf_call *call, const struct hf_answer *answer);
/* `rest`: the bytes of the answer behind its id. */
struct hf_answer hf_answer_rest(enum hf_outcome outcome, int code, struct hf_span rest);
struct hf_answer hf_answer_result(struct hf_span result);
struct hf_answer hf_answer_as_it_came(const struct hf_msg *msg); /* the server's own bytes */
/* If a holdfast behind us answered in the stead of its server, the outcome it names counts here
 * too. */
void hf_answer_take_over_outcome(struct hf_answer *answer, const struct hf_msg *msg);
struct hf_answer hf_answer_error(struct hf_engine *engine, int code, const char *text,
                                 struct hf_span data);
struct hf_answer hf_answer_failure(struct hf_engine *engine, enum hf_error error,
                                   const struct hf_error_facts *facts, enum hf_failure_form form);
/* `server` may be NULL: the request was for no known server. */
enum hf_failure_form hf_failure_form_of(const struct hf_session *session,
                                        const struct hf_server *server,
                                        const struct hf_method *method, struct hf_span params,
                                        bool is_modern);
enum hf_failure_form hf_call_failure_form(const struct hf_call *call);
/* " (why)" for a sentence, or "" if there is no reason; valid until hf_engine_collect. */
const char *hf_because(struct hf_engine *engine, const char *why);
void hf_answer_add_rest(struct hf_buf *out, const struct hf_answer *answer);
void hf_reply(const struct hf_incoming *in, struct hf_answer answer);

#endif
